//! A network without links: each message costs what LogGP says, and only the two nodes can be in its way.
use super::nodes::{LATE, Nodes, PARCEL};
use super::packet::{PacketKind, Parcel};
use super::wire::{Model, Wire};
use crate::event::{Event, EventPriority, Queue};
use foregather_machine::{Error, LogGp, LogGpVariant, Nanos, Rank};
use std::cell::Cell;

/// The first byte of a packet reaches its node.
const FIRST: u32 = 1 << 28;
/// The longest message that counts as short, in bytes: a cache line less its header.
const SHORT_LIMIT: usize = 56;

pub struct Free {
    model: LogGp,
    /// When each node may send again; empty if that is never later than its program is ready.
    ready: Box<[Cell<Nanos>]>,
    /// When each node may receive again; empty if receivers are not held up, or never longer than their
    /// programs.
    receivers: Box<[Cell<Nanos>]>,
}

impl Model for LogGp {
    type Wire = Free;

    fn wire(self, size: u32) -> Result<Free, Error> {
        let cells = |free: bool| vec![Cell::new(Nanos::ZERO); if free { 0 } else { size as usize }].into();
        let ready = cells(self.gap <= self.send_overhead && self.byte_ps == 0);
        let one_sided = self.variant == LogGpVariant::SenderOnly;
        let receivers = cells(one_sided || (self.gap <= self.receive_overhead && self.byte_ps == 0));
        Ok(Free { model: self, ready, receivers })
    }
}

impl Free {
    /// When the node can begin to send `bytes` bytes.
    #[inline]
    fn begin(&self, node: Rank, now: Nanos, bytes: u32) -> Nanos {
        let Some(ready) = self.ready.get(node as usize) else { return now };
        let begin = ready.get().max(now);
        ready.set(begin + self.model.gap.max(self.model.send_overhead) + self.model.bytes(u64::from(bytes)));
        begin
    }

    /// The first byte of a message is there; its node receives it after those before.
    fn receive<Q: Queue>(&self, nodes: &Nodes<Q>, parcel: Parcel) -> bool {
        let (now, bytes) = (nodes.engine.now(), self.model.bytes(u64::from(parcel.bytes)));
        let free = &self.receivers[parcel.to as usize];
        let begin = free.get().max(now);
        free.set(begin + self.model.gap + bytes);
        if let Some(recorder) = nodes.recorder.as_ref().filter(|_| begin > now) {
            recorder.arrived(parcel.mark, begin + bytes);
        }
        nodes.engine.at(begin + bytes, EventPriority::Arrival, parcel.to, nodes.keep(parcel));
        false
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
        let one_sided = self.receivers.is_empty();
        let there = left + self.model.bytes(u64::from(parcel.bytes)) + self.model.latency;
        let what = if parcel.kind == PacketKind::Null && nodes.recorder.is_none() && one_sided {
            parcel.tag
        } else {
            let mut parcel = parcel;
            if let Some(recorder) = &nodes.recorder {
                parcel.mark = recorder.asked(&parcel, begin);
                recorder.granted(parcel.mark, begin, left, there);
            }
            nodes.keep(parcel)
        };
        if one_sided {
            nodes.engine.at(there, EventPriority::Arrival, parcel.to, what);
        } else {
            nodes.engine.at(left + self.model.latency, EventPriority::Arrival, parcel.to, FIRST | what);
        }
    }

    #[inline]
    fn happens<Q: Queue>(&self, nodes: &Nodes<Q>, event: &Event) -> bool {
        if event.what & (PARCEL | FIRST) == PARCEL | FIRST {
            return self.receive(nodes, nodes.kept(event.what & !FIRST));
        }
        let simple = event.what & PARCEL == 0;
        if simple && nodes.fates.is_none() {
            return nodes.arrives(event.task, event.what);
        }
        // The sender of a null message that was not kept is unknown, and is never asked for.
        let parcel = if simple { Parcel::null(event.task, event.task, event.what) } else { nodes.kept(event.what) };
        let known = !simple && event.what & LATE != 0;
        if let Some(recorder) = nodes.recorder.as_ref().filter(|_| known) {
            recorder.arrived(parcel.mark, nodes.engine.now());
        }
        let arriving = if known { [Some(parcel), None] } else { nodes.arriving(parcel) };
        let mut goes_on = false;
        for parcel in arriving.into_iter().flatten() {
            let (goes, answer) = nodes.deliver(&parcel);
            goes_on |= goes;
            if let Some(answer) = answer {
                self.post(nodes, answer);
            }
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
