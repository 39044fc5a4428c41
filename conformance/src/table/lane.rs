//! One lane's end of the table.
use super::{Read, Table, TableFrame};
use core::cell::Cell;
use core::future::poll_fn;
use core::task::Poll;
use foregather_machine::{
    Address, Cause, Clock, Error, Fabric, FabricCosts, Key, LastingPieces, Limits, Member, Nanos, Park, Placement, Rank, Slope,
    WaitContext, WordLine, ready,
};
use std::collections::VecDeque;

/// A processor without time: it looks once, then it sleeps until an event.
#[derive(Clone, Copy)]
pub struct Chair<'t> {
    table: &'t Table,
    place: usize,
}

/// One lane's end.
pub struct TableLane<'t> {
    chair: Chair<'t>,
    here: Address,
}

impl<'t> TableLane<'t> {
    pub(super) fn new(table: &'t Table, here: Address) -> Self {
        Self { chair: Chair { table, place: table.index(here) }, here }
    }

    fn place(&self) -> &'t super::LaneView {
        &self.chair.table.places[self.chair.place]
    }

    fn send(&self, to: Address, head: u32, bytes: Vec<u8>) -> Result<bool, Error> {
        let table = self.chair.table;
        let pair = (self.chair.place, table.index(to));
        let mut unreleased = table.unreleased.borrow_mut();
        let count = unreleased.entry(pair).or_default();
        if *count == table.limits.credits + table.limits.spare {
            return Ok(false);
        }
        *count += 1;
        table.flight.borrow_mut().entry(pair).or_default().push_back(TableFrame { head, bytes });
        table.changed();
        Ok(true)
    }
}

impl Clock for Chair<'_> {
    fn now(&self) -> Nanos {
        self.table.now()
    }
    fn delay(&self, _: Nanos) -> impl Future<Output = ()> {
        let place = &self.table.places[self.place];
        let mut begun = false;
        poll_fn(move |_| {
            if !core::mem::replace(&mut begun, true) {
                place.delayed.set(true);
            }
            if place.delayed.get() { Poll::Pending } else { Poll::Ready(()) }
        })
    }
}

impl Placement for Chair<'_> {}

crate::scripted::words_of_cells! { Chair<'_>, |this| this.table.changed() }

impl Park for Chair<'_> {
    fn spin_briefly<T>(&self, mut probe: impl FnMut() -> Option<T>) -> Option<T> {
        probe()
    }
    fn spin_for<T>(
        &self,
        _: &Cell<u32>,
        budget: Nanos,
        mut probe: impl FnMut() -> Option<T>,
    ) -> impl Future<Output = (Option<T>, Nanos)> {
        ready((probe(), budget))
    }
    fn yield_now(&self) -> impl Future<Output = ()> {
        ready(())
    }
    fn prepare_park(&self, on: &Cell<u32>) -> u32 {
        on.get()
    }
    fn park(&self, on: &Cell<u32>, armed: u32, until: Nanos) -> impl Future<Output = ()> {
        let place = &self.table.places[self.place];
        poll_fn(move |_| {
            place.until.set(until.0);
            if on.get() == armed && self.table.now() < until {
                return Poll::Pending;
            }
            place.until.set(u64::MAX);
            place.why.set(None);
            Poll::Ready(())
        })
    }
    fn check(&self, _: &Cell<u32>, why: &WaitContext) -> Result<(), Error> {
        self.table.places[self.place].why.set(Some(*why));
        if let Some(rank) = self.table.lost_for(self.place as Rank / self.table.limits.lanes) {
            return Err(Error::peer_lost(rank, self.now(), why));
        }
        if why.deadline <= self.now() { Err(Error::timed_out(why, self.now())) } else { Ok(()) }
    }
}

foregather_machine::clock_by! { [] TableLane<'_>, |this| this.chair }

impl Member for TableLane<'_> {
    fn rank(&self) -> Rank {
        self.here.rank
    }
    fn size(&self) -> u32 {
        self.chair.table.size
    }
}

impl<'t> Fabric for TableLane<'t> {
    type Cpu = Chair<'t>;

    fn cpu(&self) -> &Chair<'t> {
        &self.chair
    }
    fn bell(&self) -> &Cell<u32> {
        &self.place().bell
    }
    fn roster(&self) -> &[WordLine<Cell<u32>>] {
        &self.chair.table.roster
    }
    fn here(&self) -> Address {
        self.here
    }
    fn limits(&self) -> Limits {
        self.chair.table.limits
    }
    fn costs(&self) -> FabricCosts {
        let slope = |fixed, byte_ps| Slope { fixed: Nanos(fixed), byte_ps };
        FabricCosts { buffered: slope(100, 200), direct: slope(1_000, 50) }
    }

    fn post(&self, to: Address, head: u32, bytes: &[u8]) -> Result<bool, Error> {
        assert!(bytes.len() <= self.limits().inline, "{} bytes are posted inline", bytes.len());
        self.send(to, head, bytes.to_vec())
    }
    fn write_with<R>(&self, to: Address, write: impl FnOnce(&mut [u8]) -> R) -> R {
        let (table, mut filling) = (self.chair.table, self.place().filling.borrow_mut());
        write(filling.entry(table.index(to)).or_insert_with(|| vec![0; table.limits.buffer]))
    }
    fn post_filled(&self, to: Address, head: u32, len: usize) -> Result<bool, Error> {
        let bytes = self.write_with(to, |buffer| buffer[..len].to_vec());
        self.send(to, head, bytes)
    }

    fn arrived(&self, after: Option<Address>) -> Option<Address> {
        let table = self.chair.table;
        let first = after.map_or(0, |after| table.index(after) + 1);
        let inbox = self.place().inbox.borrow();
        inbox.range(first..).find(|(_, frames)| !frames.is_empty()).map(|(&from, _)| table.address(from))
    }
    fn peek<R>(&self, from: Address, read: impl FnOnce(u32, &[u8]) -> R) -> Option<R> {
        let inbox = self.place().inbox.borrow();
        let frame = inbox.get(&self.chair.table.index(from))?.front()?;
        Some(read(frame.head, &frame.bytes))
    }
    fn release(&self, from: Address) {
        let (table, from) = (self.chair.table, self.chair.table.index(from));
        let frame = self.place().inbox.borrow_mut().get_mut(&from).and_then(VecDeque::pop_front);
        assert!(frame.is_some(), "there is no frame to release");
        let mut unreleased = table.unreleased.borrow_mut();
        // A forged frame was never counted.
        let count = unreleased.entry((from, self.chair.place)).or_default();
        *count = count.saturating_sub(1);
        drop(unreleased);
        table.ring(from);
    }

    fn expose(&self, pieces: LastingPieces<'_>) -> Result<Key, Error> {
        let table = self.chair.table;
        let key = table.keys.get() + 1;
        table.keys.set(key);
        table.exposed.borrow_mut().insert(key, (self.chair.place, pieces.as_slices().concat()));
        Ok(Key(key))
    }
    fn unexpose(&self, key: Key) {
        let concealed = self.chair.table.exposed.borrow_mut().remove(&key.0);
        assert!(concealed.is_some_and(|(of, _)| of == self.chair.place), "this lane exposes nothing by that key");
        // A reader that still waits for help is refused.
        for place in &self.chair.table.places {
            if let Some(read) = place.read.borrow_mut().as_mut().filter(|read| read.key == key) {
                read.helped = true;
            }
        }
    }
    fn get(&self, from: Address, key: Key, into: &mut [&mut [u8]]) -> impl Future<Output = Result<(), Error>> {
        let (table, place) = (self.chair.table, self.place());
        let bytes = into.iter().map(|piece| piece.len()).sum();
        let mut begun = false;
        poll_fn(move |_| {
            let mut read = place.read.borrow_mut();
            if !core::mem::replace(&mut begun, true) {
                let gone = !table.exposed.borrow().contains_key(&key.0);
                *read = Some(Read { of: table.index(from), key, bytes, helped: gone, end: None });
                table.ring(table.index(from));
                return Poll::Pending;
            }
            if let Some(rank) = table.lost_for(self.here.rank) {
                return Poll::Ready(Err(Error::lost(rank)));
            }
            let Some(end) = read.as_mut().and_then(|read| read.end.take()) else { return Poll::Pending };
            *read = None;
            let Some(bytes) = end else { return Poll::Ready(Err(Cause::Unexposed { rank: from.rank }.into())) };
            let mut rest = &bytes[..];
            for piece in into.iter_mut() {
                let (now, later) = rest.split_at(piece.len());
                piece.copy_from_slice(now);
                rest = later;
            }
            Poll::Ready(Ok(()))
        })
    }
    fn progress(&self) -> bool {
        let table = self.chair.table;
        let mut helped = false;
        for place in &table.places {
            if let Some(read) = &mut *place.read.borrow_mut()
                && read.of == self.chair.place
                && !read.helped
            {
                (read.helped, helped) = (true, true);
            }
        }
        helped
    }

    fn leave(&self) {
        self.place().left.set(true);
        self.chair.table.ring_all();
    }
    fn has_left(&self, peer: Address) -> bool {
        let (table, peer) = (self.chair.table, self.chair.table.index(peer));
        let flight = table.flight.borrow();
        table.places[peer].left.get() && flight.get(&(peer, self.chair.place)).is_none_or(VecDeque::is_empty)
    }
}
