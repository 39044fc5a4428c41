//! A network on which nobody is in anybody's way: each message costs what LogGP says.
use super::fault::Fate;
use super::nodes::{Nodes, PARCEL};
use super::parcel::{Kind, Parcel};
use super::wire::{Model, Wire};
use crate::event::{Class, Event, Queue};
use foregather_machine::{Error, LogGp, Nanos, Rank};
use std::cell::Cell;

/// The longest message that counts as short, in bytes: a cache line less its header.
const SHORT_LIMIT: usize = 56;

pub struct Free {
    model: LogGp,
    /// When each node may send again; empty if that is never later than its program is ready.
    ready: Box<[Cell<Nanos>]>,
}

impl Model for LogGp {
    type Wire = Free;

    fn wire(self, size: u32) -> Result<Free, Error> {
        let free = self.gap <= self.send_overhead && self.byte_ps == 0;
        Ok(Free { model: self, ready: vec![Cell::new(Nanos::ZERO); if free { 0 } else { size as usize }].into() })
    }
}

impl Free {
    /// When the node can begin to send so many bytes.
    #[inline]
    fn begin(&self, node: Rank, now: Nanos, bytes: u32) -> Nanos {
        let Some(ready) = self.ready.get(node as usize) else { return now };
        let begin = ready.get().max(now);
        ready.set(begin + self.model.gap.max(self.model.send_overhead) + self.model.bytes(u64::from(bytes)));
        begin
    }
}

impl Wire for Free {
    #[inline]
    fn post<Q: Queue>(&self, nodes: &Nodes<Q>, parcel: Parcel) {
        let begin = self.begin(parcel.from, nodes.engine.now(), parcel.bytes);
        let left = begin + self.model.send_overhead;
        if parcel.kind.of_program() {
            nodes.resume_after(parcel.from, begin, self.model.send_overhead);
        }
        let there = left + self.model.bytes(u64::from(parcel.bytes)) + self.model.latency;
        let what = if parcel.kind == Kind::Null && nodes.recorder.is_none() {
            parcel.tag
        } else {
            let mut parcel = parcel;
            if let Some(recorder) = &nodes.recorder {
                parcel.mark = recorder.asked(&parcel, begin);
                recorder.granted(parcel.mark, begin, left, there);
            }
            nodes.keep(parcel)
        };
        nodes.engine.at(there, Class::Arrival, parcel.to, what);
    }

    #[inline]
    fn happens<Q: Queue>(&self, nodes: &Nodes<Q>, event: &Event) -> bool {
        let parcel = if event.what & PARCEL == 0 {
            // Whoever sent it is not known, and nobody asks.
            Parcel::null(event.task, event.task, event.what)
        } else {
            nodes.kept(event.what)
        };
        let late = |nodes: &Nodes<Q>, when, parcel: Parcel| {
            nodes.engine.at(when, Class::Arrival, parcel.to, nodes.keep(parcel));
        };
        let again = match nodes.fate(|| parcel, late) {
            Fate::Arrives => false,
            Fate::Twice => true,
            Fate::Lost | Fate::Late(_) => return false,
        };
        if parcel.kind == Kind::Null {
            if again {
                nodes.arrives(parcel.to, parcel.tag);
            }
            return nodes.arrives(parcel.to, parcel.tag);
        }
        let (goes_on, answer) = nodes.deliver(&parcel);
        if let Some(answer) = answer {
            self.post(nodes, answer);
        }
        goes_on
    }

    fn take(&self) -> Nanos {
        self.model.receive_overhead
    }

    fn short_limit(&self) -> usize {
        SHORT_LIMIT
    }
}
