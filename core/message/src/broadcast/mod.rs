//! Broadcast: one writer, some readers, one ring of bytes that all of them share.
//!
//! The writer copies a message into the ring once; each reader copies it out, or reads it where it is. A
//! message longer than half the ring goes in several records, which a reader joins. Where nothing is lost
//! ([`Pace::SlowestReader`]) the writer waits for the slowest reader once the ring is full. At the writer's
//! own pace ([`Pace::Writer`]) it waits for none: a reader that it overtakes is told how much it has missed.
//!
//! The writer is rank 0, and the readers are ranks 1, 2 and so on. All are fixed at creation, and each rank's
//! handle is given out once; the place of a reader whose process has died can be given to another one
//! ([`Broadcast::replace`]). States, sequence and races: `README.md`.
//!
//! - this file: the words that all share. `record`: the ring's contents. `place`: the holders of a reader's
//!   place. `writer`, `reader`: the two ends.

mod place;
mod reader;
mod record;
mod writer;

pub use reader::{BroadcastReader, RecordView};
pub use writer::BroadcastWriter;

use core::cell::Cell;
use foregather_machine::{ByteStore, Cause, Cpu, Error, Nanos, Rank, SharedLines, WaitContext};
use foregather_wait::{Policy, Roster, WaitFor, Waiter};
use place::ReaderPlace;
use record::UNIT;
use std::sync::Arc;

/// The rank of the writer.
pub const WRITER: Rank = 0;

/// The name of its waits.
const WHAT: &str = "broadcast";

/// The bit of a word of positions that says that its owner has left, after that position.
const LEFT: u32 = 1 << 29;
/// The other bits.
const POSITION: u32 = LEFT - 1;

/// The lines before those of the readers.
const HEAD: usize = 2;
/// The words of the first line: what the writer has written; up to where it may have overwritten since.
const WRITTEN: usize = 0;
const DISCARDED: usize = 1;
/// The words of the second line: one more than the first rank that has failed; how often a place was given to
/// a new reader.
const CULPRIT: usize = 0;
const REPLACED: usize = 1;

/// Whose pace the writer keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pace {
    /// The slowest reader's: every reader gets every message.
    #[default]
    SlowestReader,
    /// Its own: a reader that it overtakes misses messages, and is told how many.
    Writer,
}

/// The memory of a broadcast. Over a segment's lines and bytes several processes share it; each makes a
/// value of its own over them. A clone is a handle of the same one.
pub struct Broadcast<C: Cpu, B>(Arc<BroadcastWords<C, B>>);

struct BroadcastWords<C: Cpu, B> {
    lines: SharedLines<C::Word>,
    bytes: B,
    readers: u32,
    pace: Pace,
    cycle: Cycle,
}

/// The positions of a ring: they count its units, in words modulo the largest multiple of it below 2^29, so
/// that equal positions are equal places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cycle {
    /// Units of the ring.
    room: u32,
    positions: u32,
}

impl Cycle {
    fn of(room: u32) -> Self {
        Self { room, positions: LEFT / room * room }
    }

    /// A position in full, as words have it.
    fn low(self, position: u64) -> u32 {
        (position % u64::from(self.positions)) as u32
    }

    /// The offset of a position in the ring.
    fn offset(self, low: u32) -> usize {
        (low % self.room) as usize * UNIT
    }

    /// How far a position is ahead of another one.
    fn ahead(self, low: u32, other: u32) -> u32 {
        let positions = u64::from(self.positions);
        ((u64::from(low) + 2 * positions - u64::from(other & POSITION)) % positions) as u32
    }

    /// Returns whether position `low` is equal to or ahead of position `other`.
    fn is_reached(self, low: u32, other: u32) -> bool {
        self.ahead(low, other) < self.positions / 2
    }
}

impl<C: Cpu, B> Clone for Broadcast<C, B> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

fn setting(what: &'static str, needs: &'static str) -> Error {
    Cause::Setting { what, needs }.into()
}

impl<C: Cpu, B: ByteStore> Broadcast<C, B> {
    /// The most readers.
    pub const MOST_READERS: u32 = 1023;
    /// The least and the most bytes of the ring.
    pub const BYTES: (usize, usize) = (8 * UNIT, LEFT as usize / 4 * UNIT);

    /// The number of lines that a broadcast to `readers` readers takes.
    pub const fn lines(readers: u32) -> usize {
        HEAD + readers as usize + Roster::<C>::lines(readers + 1)
    }

    /// A broadcast over new lines of this process.
    ///
    /// # Errors
    /// As [`Broadcast::over`].
    pub fn new(readers: u32, bytes: B, pace: Pace) -> Result<Self, Error> {
        Self::over(SharedLines::own(Self::lines(readers.min(Self::MOST_READERS))), bytes, readers, pace)
    }

    /// A broadcast over lines and bytes that begin as zeros, or are in use already. All processes name the
    /// same number of readers and the same pace.
    ///
    /// # Errors
    /// [`Cause::Setting`] for no reader or more than [`Broadcast::MOST_READERS`], other lines than
    /// [`Broadcast::lines`], or bytes beyond [`Broadcast::BYTES`].
    pub fn over(lines: SharedLines<C::Word>, bytes: B, readers: u32, pace: Pace) -> Result<Self, Error> {
        if !(1..=Self::MOST_READERS).contains(&readers) {
            return Err(setting("the readers of a broadcast", "1 to 1023"));
        }
        if lines.len() != Self::lines(readers) {
            return Err(setting("the lines of a broadcast", "as many as `Broadcast::lines` says"));
        }
        if bytes.size() < Self::BYTES.0 || bytes.size() > Self::BYTES.1 {
            return Err(setting("the bytes of a broadcast", "512 bytes to 8 GiB"));
        }
        let cycle = Cycle::of((bytes.size() / UNIT) as u32);
        Ok(Self(Arc::new(BroadcastWords { lines, bytes, readers, pace, cycle })))
    }

    /// The number of readers.
    pub fn readers(&self) -> u32 {
        self.0.readers
    }

    /// The writer's handle, which waits by `policy`.
    ///
    /// # Errors
    /// [`Cause::Rank`] if it was given out before.
    pub fn writer(&self, cpu: C, policy: Policy) -> Result<BroadcastWriter<C, B>, Error> {
        Ok(BroadcastWriter::new(BroadcastEnd::claim(&self.0, cpu, WRITER, Waiter::new(policy, WRITER))?))
    }

    /// The handle of the reader of that rank, from 1 on, which waits by `policy`. It gets all messages from
    /// the first one on, as far as the pace allows.
    ///
    /// # Errors
    /// [`Cause::Rank`] if there is no such reader, or its handle was given out before.
    pub fn reader(&self, cpu: C, rank: Rank, policy: Policy) -> Result<BroadcastReader<C, B>, Error> {
        self.reader_by(cpu, rank, Waiter::new(policy, rank))
    }

    /// [`Broadcast::reader`], which waits by `waiter`: for a [`Strategy`](foregather_wait::Strategy) of your
    /// own.
    ///
    /// # Errors
    /// As [`Broadcast::reader`].
    pub fn reader_by(&self, cpu: C, rank: Rank, waiter: Waiter) -> Result<BroadcastReader<C, B>, Error> {
        if rank == WRITER {
            return Err(Cause::Rank { rank, size: self.0.readers + 1 }.into());
        }
        Ok(BroadcastReader::new(BroadcastEnd::claim(&self.0, cpu, rank, waiter)?, true))
    }

    /// The handle of the reader of that rank in place of the one before, whose process has died: that is for
    /// the caller to prove. It gets the messages that the writer begins from now on. The former holder, if it
    /// should still run, gets [`Cause::Replaced`].
    ///
    /// # Errors
    /// [`Cause::Rank`] if there is no such reader, or another one takes its place at the same time.
    pub fn replace(&self, cpu: C, rank: Rank, policy: Policy) -> Result<BroadcastReader<C, B>, Error> {
        let size = self.0.readers + 1;
        let generation = if (1..size).contains(&rank) { self.0.place(rank).succeed(&cpu) } else { None };
        let generation = generation.ok_or(Cause::Rank { rank, size })?;
        cpu.fetch_add(self.0.replaced(), 1);
        self.0.roster().enroll(&cpu, rank);
        let (shared, waiter) = (Arc::clone(&self.0), Waiter::new(policy, rank));
        let end = BroadcastEnd { shared, cpu, waiter, rank, generation, gone: Cell::new(false) };
        Ok(BroadcastReader::new(end, false))
    }
}

impl<C: Cpu, B> BroadcastWords<C, B> {
    fn written(&self) -> &C::Word {
        &self.lines[0][WRITTEN]
    }

    fn discarded(&self) -> &C::Word {
        &self.lines[0][DISCARDED]
    }

    fn culprit(&self) -> &C::Word {
        &self.lines[1][CULPRIT]
    }

    fn replaced(&self) -> &C::Word {
        &self.lines[1][REPLACED]
    }

    fn place(&self, rank: Rank) -> ReaderPlace<'_, C> {
        ReaderPlace::over(&self.lines[HEAD + rank as usize - 1])
    }

    fn roster(&self) -> Roster<'_, C> {
        Roster::new(&self.lines[HEAD + self.readers as usize..])
    }
}

/// What both ends have: one rank's handle.
struct BroadcastEnd<C: Cpu, B> {
    shared: Arc<BroadcastWords<C, B>>,
    cpu: C,
    waiter: Waiter,
    rank: Rank,
    /// The number of this holder of its rank's place.
    generation: u32,
    /// Whether this end has already reported to the others that it leaves.
    gone: Cell<bool>,
}

impl<C: Cpu, B> BroadcastEnd<C, B> {
    fn claim(shared: &Arc<BroadcastWords<C, B>>, cpu: C, rank: Rank, waiter: Waiter) -> Result<Self, Error> {
        let (size, roster) = (shared.readers + 1, shared.roster());
        if rank >= size || !roster.claim(&cpu, rank) {
            return Err(Cause::Rank { rank, size }.into());
        }
        roster.enroll(&cpu, rank);
        Ok(Self { shared: Arc::clone(shared), cpu, waiter, rank, generation: 0, gone: Cell::new(false) })
    }

    /// Waits on a word of `peer` until `probe` finds something.
    async fn wait<T>(&self, on: &C::Word, peer: Rank, deadline: Nanos, probe: impl FnMut() -> Option<T>) -> Result<T, Error> {
        let (cpu, roster) = (&self.cpu, self.shared.roster());
        self.waiter.publish_cpu(cpu, roster, self.rank);
        let why = || (self.context(peer, deadline), WaitFor::Message(roster, Some(peer)));
        self.waiter.wait(cpu, on, false, why, probe).finish().await.map_err(|error| self.explain(error))
    }

    /// A wait for `peer`, as errors name it.
    fn context(&self, peer: Rank, deadline: Nanos) -> WaitContext {
        WaitContext::new(WHAT, self.rank).of(peer).until(deadline)
    }

    /// Names the rank that has failed.
    #[cold]
    fn explain(&self, error: Error) -> Error {
        match error.cause() {
            Cause::Poisoned { .. } => self.failed().unwrap_or(error),
            _ => error,
        }
    }

    /// The error of a rank that has failed, if one has.
    fn failed(&self) -> Option<Error> {
        let by = self.cpu.load(self.shared.culprit()).checked_sub(1)?;
        Some(Cause::Poisoned { by: Some(by).filter(|&by| by <= self.shared.readers) }.into())
    }

    /// This rank leaves: the word of its positions says so from now on.
    fn leave(&self, word: &C::Word) {
        if !self.gone.replace(true) {
            self.cpu.publish(word, self.cpu.load(word) | LEFT);
        }
    }

    /// This rank has failed: waits for it end with an error.
    fn fail(&self, word: &C::Word) {
        if !self.gone.replace(true) {
            let _ = self.cpu.compare_exchange(self.shared.culprit(), 0, self.rank + 1);
            self.cpu.poison(word);
        }
    }
}

#[cfg(test)]
mod tests {
    mod hostile;

    use super::*;
    use foregather_conformance::scripted::Script;
    use foregather_machine::{SharedBytes, block_on};

    #[test]
    fn positions_go_round_together_with_their_places() {
        for room in [8, 9, 1_000, 1 << 20, LEFT / 4] {
            let cycle = Cycle::of(room);
            let last = u64::from(cycle.positions) - 1;
            assert_eq!((cycle.low(last + 1), cycle.offset(cycle.low(last + 1))), (0, 0), "{room}");
            assert_eq!(cycle.offset(cycle.low(last)), (room as usize - 1) * UNIT, "{room}");
            assert_eq!((cycle.ahead(2, cycle.low(last)), cycle.ahead(cycle.low(last), 2)), (3, cycle.positions - 3), "{room}");
            assert!(cycle.is_reached(2, cycle.low(last)) && !cycle.is_reached(cycle.low(last), 2), "{room}");
            assert!(cycle.positions > LEFT / 2 && cycle.positions / 2 > room, "{room}");
            // What a process that writes nonsense may have stored there.
            cycle.ahead(POSITION, POSITION | LEFT);
        }
    }

    /// Both ends of a ring that have come to this position.
    fn ends_at(
        pace: Pace,
        room: u32,
        position: u64,
    ) -> (BroadcastWriter<Script, SharedBytes>, BroadcastReader<Script, SharedBytes>) {
        let ring = Broadcast::new(1, SharedBytes::own(room as usize * UNIT), pace).unwrap();
        let mut writer = ring.writer(Script::on(0, 1), Policy::Block).unwrap();
        let mut reader = ring.reader(Script::on(1, 2), 1, Policy::Block).unwrap();
        writer.begin_at(position);
        reader.begin_at(position);
        (writer, reader)
    }

    #[test]
    fn messages_pass_where_positions_begin_again() {
        for room in [8, 11, 1_000] {
            let positions = u64::from(Cycle::of(room).positions);
            let (mut writer, mut reader) = ends_at(Pace::SlowestReader, room, positions * 3 - 20);
            for number in 0..60_u8 {
                let message = vec![number; usize::from(number) * 5 % 200];
                block_on(writer.send(&[&message], Nanos::MAX)).unwrap();
                let mut come = vec![];
                block_on(reader.receive(&mut come, Nanos::MAX)).unwrap();
                assert_eq!(come, message, "{number} through {room}");
            }
        }
    }

    #[test]
    fn a_reader_that_was_overtaken_where_positions_begin_again_is_told() {
        let positions = u64::from(Cycle::of(11).positions);
        let (mut writer, mut reader) = ends_at(Pace::Writer, 11, positions - 9);
        (0..100_u8).for_each(|number| block_on(writer.send(&[&[number; 50]], Nanos::MAX)).unwrap());
        let mut come = vec![];
        let skipped = block_on(reader.receive(&mut come, Nanos::MAX)).unwrap_err();
        let Cause::Skipped { messages } = *skipped.cause() else { panic!("{skipped}") };
        block_on(reader.receive(&mut come, Nanos::MAX)).unwrap();
        assert_eq!((come, messages > 90), (vec![messages as u8; 50], true));
        let too_long = block_on(writer.send(&[&[0; 600]], Nanos::MAX));
        assert!(matches!(Error::of(&too_long), Some(Cause::Length { bytes: 600, room: 440, .. })), "{too_long:?}");
    }

    #[test]
    fn a_message_at_the_writers_own_pace_does_not_discard_itself() {
        for room in 8..=40 {
            for (position, bytes) in (0..room).flat_map(|at| (0..=room as usize * 40).step_by(8).map(move |bytes| (at, bytes))) {
                let (mut writer, mut reader) = ends_at(Pace::Writer, room, position.into());
                let (message, mut come) = (vec![7; bytes], vec![]);
                block_on(writer.send(&[&message], Nanos::MAX)).unwrap();
                block_on(reader.receive(&mut come, Nanos::MAX)).unwrap();
                assert_eq!(come, message, "{bytes} bytes at {position} of {room}");
            }
        }
    }
}
