//! The writer's end.
use super::record::{HEADER, Header, RecordKind, UNIT, kept, most, units};
use super::{BroadcastEnd, Cycle, LEFT, Pace, WRITER};
use foregather_machine::{ByteStore, Cause, Cpu, Error, Nanos, Rank, WaitContext};
use foregather_wait::Account;
use std::sync::Arc;

/// How many messages go before it asks whether all readers have left.
const LOOK: u64 = 16;
/// Bytes are stored from multiples of this on.
const WORD: usize = size_of::<u64>();

/// The one writer of a broadcast. Dropping it ends the broadcast in order: readers get all that it has sent,
/// and then [`Cause::Closed`].
pub struct BroadcastWriter<C: Cpu, B: ByteStore> {
    end: BroadcastEnd<C, B>,
    /// Where the next record begins.
    position: u64,
    /// Number of the next message.
    message: u64,
    /// Bytes of the present message that are in the ring.
    begun: usize,
    /// Where the slowest reader was at the last look at all of them; where records are discarded instead, the
    /// first one that is not.
    free_up_to: u64,
    /// How often places had been given to new readers at the last look.
    replaced: u32,
    /// The readers whose processes have died, as far as no other process has their places since.
    lost: Vec<Rank>,
}

impl<C: Cpu, B: ByteStore> BroadcastWriter<C, B> {
    pub(super) fn new(end: BroadcastEnd<C, B>) -> Self {
        Self { end, position: 0, message: 0, begun: 0, free_up_to: 0, replaced: 0, lost: Vec::new() }
    }

    /// The outcomes of its waits.
    pub fn account(&self) -> &Arc<Account> {
        self.end.waiter.account()
    }

    /// Sends the bytes of `parts`, one after the other, as one message. Ready when they are in the ring, and
    /// may be changed.
    ///
    /// # Errors
    /// [`Cause::Closed`] if all readers have left, which is noticed after some messages. [`Cause::Length`] at
    /// the writer's own pace for more than five eighths of the ring. [`Cause::TimedOut`] at `deadline`,
    /// naming the reader that it has waited for: the message is not sent, unless [`BroadcastWriter::go_on`]
    /// does, and no reader gets a part of it. [`Cause::Poisoned`] for a reader that has failed, and
    /// [`Cause::PeerLost`] for one whose process has died: after [`BroadcastWriter::let_go`],
    /// [`BroadcastWriter::go_on`] sends the message to the others.
    pub async fn send(&mut self, parts: &[&[u8]], deadline: Nanos) -> Result<(), Error> {
        self.begun = 0;
        self.go_on(parts, deadline).await
    }

    /// Goes on with the same message after [`Cause::TimedOut`] or [`Cause::PeerLost`]: what is in the ring of
    /// it is not written again. As [`BroadcastWriter::send`] otherwise.
    ///
    /// # Errors
    /// As [`BroadcastWriter::send`].
    pub async fn go_on(&mut self, parts: &[&[u8]], deadline: Nanos) -> Result<(), Error> {
        self.check()?;
        if self.begun == 0 {
            self.admit();
        }
        let total = parts.iter().map(|part| part.len()).sum::<usize>();
        let kept = kept(self.cycle().room);
        if self.end.shared.pace == Pace::Writer && total > kept {
            return Err(Cause::Length { what: "a message at the writer's own pace", bytes: total, room: kept }.into());
        }
        let most = most(self.cycle().room);
        let mut parts = RemainingParts { rest: parts, into: 0 };
        parts.skip(self.begun.min(total));
        loop {
            let bytes = (total - self.begun.min(total)).min(most);
            let kind = if self.begun == 0 { RecordKind::First } else { RecordKind::Further };
            self.make_room(units(bytes), deadline).await?;
            let at = self.cycle().offset(self.low());
            self.header(bytes, kind, total).store(&self.end.shared.bytes, at);
            parts.copy(&self.end.shared.bytes, at + HEADER, bytes);
            self.publish(units(bytes));
            self.begun += bytes;
            if self.begun >= total {
                break;
            }
        }
        (self.message, self.begun) = (self.message + 1, 0);
        Ok(())
    }

    /// The number of the present holder of a reader's place: for [`BroadcastWriter::let_go`].
    pub fn holder(&self, rank: Rank) -> u32 {
        self.end.shared.place(rank).generation(&self.end.cpu)
    }

    /// Waits no more for that holder of a reader's place, whose process has died, which is for the caller to
    /// prove. One that has taken the place since is not meant.
    pub fn let_go(&mut self, rank: Rank, holder: u32) {
        self.end.shared.place(rank).let_go(&self.end.cpu, holder);
        if !self.lost.contains(&rank) {
            self.lost.push(rank);
        }
    }

    /// The readers that were let go, as far as no other process has their places since.
    pub fn lost(&self) -> &[Rank] {
        &self.lost
    }

    /// Waits from here on for readers that have come in place of others: they get the next message.
    fn admit(&mut self) {
        let (shared, cpu) = (&*self.end.shared, &self.end.cpu);
        let replaced = cpu.load(shared.replaced());
        if replaced == self.replaced {
            return;
        }
        let position = self.low();
        for rank in 1..=shared.readers {
            if shared.place(rank).admit(cpu, position) {
                self.lost.retain(|&lost| lost != rank);
            }
        }
        self.replaced = replaced;
    }

    /// Returns whether [`BroadcastWriter::send`] need not wait for a message of `bytes` bytes: it fits into
    /// memory that is known to be free, or the writer does not wait for readers.
    pub fn has_room(&self, bytes: usize) -> bool {
        let room = self.cycle().room;
        // Padding before the ring's end is shorter than the record.
        let fits = |bytes| self.position + 2 * u64::from(units(bytes)) <= self.free_up_to + u64::from(room);
        self.end.shared.pace == Pace::Writer || (bytes <= most(room) && fits(bytes))
    }

    /// Ends the broadcast in order, as dropping it does.
    pub fn close(self) {}

    /// Ends the broadcast because this side has failed: readers get [`Cause::Poisoned`] once they have read
    /// what was sent.
    pub fn fail(self) {
        self.end.fail(self.end.shared.written());
    }

    /// Checks that no reader has failed and that at least one has not left.
    fn check(&self) -> Result<(), Error> {
        let (shared, cpu) = (&*self.end.shared, &self.end.cpu);
        if let Some(error) = self.end.failed() {
            return Err(error);
        }
        cpu.check(shared.written(), &WaitContext::new(super::WHAT, WRITER))?;
        // A look takes the readers' lines away from them.
        let all_left = || (1..=shared.readers).all(|rank| shared.place(rank).is_left(cpu));
        let looks = self.message.is_multiple_of(LOOK) || !self.lost.is_empty();
        if looks && all_left() { Err(Cause::Closed { peer: None }.into()) } else { Ok(()) }
    }

    fn cycle(&self) -> Cycle {
        self.end.shared.cycle
    }

    fn low(&self) -> u32 {
        self.cycle().low(self.position)
    }

    fn header(&self, bytes: usize, kind: RecordKind, total: usize) -> Header {
        Header { bytes: bytes as u32, kind, total: total as u64, message: self.message, position: self.position }
    }

    /// Shows the readers what is written up to `units` further.
    fn publish(&mut self, units: u32) {
        self.position += u64::from(units);
        self.end.cpu.publish(self.end.shared.written(), self.low());
    }

    /// Makes room for a record in one piece, after padding if it does not fit before the ring's end.
    async fn make_room(&mut self, units: u32, deadline: Nanos) -> Result<(), Error> {
        let before_end = self.cycle().room - self.low() % self.cycle().room;
        if units > before_end {
            self.free(before_end, deadline).await?;
            let at = self.cycle().offset(self.low());
            let padding = before_end as usize * UNIT - HEADER;
            self.header(padding, RecordKind::Padding, 0).store(&self.end.shared.bytes, at);
            self.publish(before_end);
        }
        self.free(units, deadline).await
    }

    /// Makes `units` from the present position on free.
    async fn free(&mut self, units: u32, deadline: Nanos) -> Result<(), Error> {
        let behind = (self.position + u64::from(units)).saturating_sub(u64::from(self.cycle().room));
        if self.free_up_to >= behind {
            return Ok(());
        }
        match self.end.shared.pace {
            Pace::SlowestReader => self.wait_for_readers(behind, deadline).await,
            Pace::Writer => self.discard(behind),
        }
    }

    /// Waits until all readers have read up to `behind`.
    async fn wait_for_readers(&mut self, behind: u64, deadline: Nanos) -> Result<(), Error> {
        for round in 0_u32.. {
            let Some((rank, holder, slowest)) = self.slowest()? else { return Err(Cause::Closed { peer: None }.into()) };
            self.free_up_to = slowest;
            if slowest >= behind {
                break;
            }
            let (end, position) = (&self.end, self.position);
            let word = end.shared.place(rank).read(holder);
            // A word that goes back and forth would end each wait at its first look.
            if round > 0 && deadline < Nanos::MAX && end.cpu.now() >= deadline {
                return Err(Error::timed_out(&end.context(rank, deadline), end.cpu.now()));
            }
            let has_read = || {
                let read = end.cpu.load(word);
                (read & LEFT != 0 || position_of(end.shared.cycle, read, position).is_none_or(|read| read >= behind))
                    .then_some(())
            };
            end.wait(word, rank, deadline, has_read).await?;
        }
        Ok(())
    }

    /// The reader that is the furthest behind, the number of its holder, and where it is; `None` if all have
    /// left.
    ///
    /// # Errors
    /// [`Cause::ProtocolViolation`] for a reader whose position is outside of the ring.
    fn slowest(&self) -> Result<Option<(Rank, u32, u64)>, Error> {
        let (shared, cpu) = (&*self.end.shared, &self.end.cpu);
        let mut slowest: Option<(Rank, u32, u64)> = None;
        for rank in 1..=shared.readers {
            let Some((holder, read)) = shared.place(rank).counts(cpu) else { continue };
            let what = "a position outside of the ring";
            let read = position_of(shared.cycle, read, self.position).ok_or(Cause::ProtocolViolation { from: rank, what })?;
            if slowest.is_none_or(|(_, _, least)| read < least) {
                slowest = Some((rank, holder, read));
            }
        }
        Ok(slowest)
    }

    /// Gives up the oldest records up to `behind`: says so before it writes over them. Records that others
    /// have written over are given up, too, and all behind them, and that is an error.
    fn discard(&mut self, behind: u64) -> Result<(), Error> {
        let (shared, position) = (&*self.end.shared, self.position);
        let is_own = |header: &Header, at: u64| header.position == at && at + u64::from(header.units()) <= position;
        let mut intact = true;
        while self.free_up_to < behind {
            let at = shared.cycle.offset(shared.cycle.low(self.free_up_to));
            let header = Header::load(&shared.bytes, at).filter(|header| is_own(header, self.free_up_to));
            intact &= header.is_some();
            self.free_up_to = header.map_or(position, |header| self.free_up_to + u64::from(header.units()));
        }
        self.end.cpu.store(shared.discarded(), shared.cycle.low(self.free_up_to));
        let what = "records that this writer has not written";
        if intact { Ok(()) } else { Err(Cause::ProtocolViolation { from: WRITER, what }.into()) }
    }
}

/// The rest of a message that comes in parts.
struct RemainingParts<'p> {
    rest: &'p [&'p [u8]],
    /// Bytes of the first part that lie behind.
    into: usize,
}

impl RemainingParts<'_> {
    /// The bytes of this part that are left.
    fn part(&mut self) -> &[u8] {
        while self.rest[0].len() == self.into {
            (self.rest, self.into) = (&self.rest[1..], 0);
        }
        &self.rest[0][self.into..]
    }

    /// Leaves out that many bytes.
    fn skip(&mut self, mut bytes: usize) {
        while bytes > 0 {
            let run = self.part().len().min(bytes);
            (self.into, bytes) = (self.into + run, bytes - run);
        }
    }

    /// Copies the next `left` bytes to `at`.
    fn copy(&mut self, bytes: &impl ByteStore, mut at: usize, mut left: usize) {
        while left > 0 {
            let part = self.part();
            let run = if part.len() < left { part.len() / WORD * WORD } else { left };
            let copied = if run > 0 {
                bytes.store(at, &part[..run]);
                self.into += run;
                run
            } else {
                // A word of which each part has a piece.
                let mut word = [0; WORD];
                let word = &mut word[..left.min(WORD)];
                for byte in word.iter_mut() {
                    *byte = self.part()[0];
                    self.into += 1;
                }
                bytes.store(at, word);
                word.len()
            };
            (at, left) = (at + copied, left - copied);
        }
    }
}

/// The position of a reader, by its lower bits and a later position of the writer; `None` if that is more
/// than a ring ahead, which no writer is.
fn position_of(cycle: Cycle, read: u32, position: u64) -> Option<u64> {
    let behind = cycle.ahead(cycle.low(position), read);
    position.checked_sub(u64::from(behind)).filter(|_| behind <= cycle.room && read < cycle.positions)
}

foregather_machine::clock_by! { [C: Cpu, B: ByteStore] BroadcastWriter<C, B>, |this| this.end.cpu }

impl<C: Cpu, B: ByteStore> Drop for BroadcastWriter<C, B> {
    fn drop(&mut self) {
        self.end.leave(self.end.shared.written());
    }
}

#[cfg(test)]
impl<C: Cpu, B: ByteStore> BroadcastWriter<C, B> {
    /// As if that much had been written, and read.
    pub(super) fn begin_at(&mut self, position: u64) {
        (self.position, self.free_up_to) = (position, position);
        self.end.cpu.store(self.end.shared.written(), self.low());
        self.end.cpu.store(self.end.shared.discarded(), self.low());
    }
}
