//! A reader's end.
use super::record::{HEADER, Header, RecordKind, kept, most};
use super::{BroadcastEnd, LEFT, POSITION, Pace, WRITER};
#[cfg(not(loom))]
use core::sync::atomic::AtomicU64;
#[cfg(not(loom))]
use foregather_machine::SharedBytes;
use foregather_machine::{ByteStore, Cause, Cpu, Error, Nanos, Rank};
use foregather_wait::Account;
use std::sync::Arc;

/// One reader of a broadcast. Dropping it lets the writer go on without it.
pub struct BroadcastReader<C: Cpu, B: ByteStore> {
    end: BroadcastEnd<C, B>,
    /// Where the next record begins.
    position: u32,
    /// Up to where the writer had written at the last look.
    written: u32,
    /// The number of the next message.
    message: u64,
    /// The least position in full that the next record can have. Where the writer waits, it has exactly this
    /// one.
    least: u64,
    /// Whether the writer has admitted this reader. Until then, the reader does not know its position.
    is_admitted: bool,
    /// Whether the number of its first message is unknown, because it has replaced another reader.
    is_new: bool,
    /// The parts that have arrived of a message of several records. They stay here until the message is
    /// whole, over as many calls as that takes.
    joined: Vec<u8>,
    /// Bytes of that message.
    total: u64,
    /// The message that a [`RecordView`] shows.
    shown: Option<Header>,
}

/// Where in the ring the next part of a message is. It stays there until the reader goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordView {
    /// The offset of its first byte.
    pub at: usize,
    /// How many bytes it has.
    pub bytes: usize,
    /// How many bytes the message has.
    pub total: usize,
}

impl RecordView {
    /// Returns whether this view contains the whole message.
    pub fn is_whole(&self) -> bool {
        self.bytes == self.total
    }
}

/// What a look at the next record has found.
enum NextRecord {
    Record(Header),
    /// The writer has written over it.
    Overwritten,
}

impl<C: Cpu, B: ByteStore> BroadcastReader<C, B> {
    /// A reader that was there from the first message on, or that the writer admits at one of the next ones.
    pub(super) fn new(end: BroadcastEnd<C, B>, is_admitted: bool) -> Self {
        let (position, written, message, least) = (0, 0, 0, 0);
        let is_new = !is_admitted;
        Self { end, position, written, message, least, is_admitted, is_new, joined: Vec::new(), total: 0, shown: None }
    }

    /// Its rank, from 1 on.
    pub fn rank(&self) -> Rank {
        self.end.rank
    }

    /// The outcomes of its waits.
    pub fn account(&self) -> &Arc<Account> {
        self.end.waiter.account()
    }

    /// Returns whether a message or the end of the broadcast is available, so that a call need not wait for
    /// its beginning.
    pub fn is_ready(&self) -> bool {
        let written = self.end.cpu.load(self.end.shared.written());
        if self.is_admitted {
            return written != self.position;
        }
        self.admission().is_some_and(|position| position != Some(written))
    }

    /// Appends the next message to `into`. After an error nothing is appended.
    ///
    /// # Errors
    /// [`Cause::Closed`] once the writer has ended the broadcast and all is read. [`Cause::Skipped`] where
    /// the writer has overtaken this reader: the next call goes on with the oldest message that is left.
    /// [`Cause::TimedOut`] at `deadline`: nothing is lost; call again to continue the wait.
    /// [`Cause::Poisoned`] or [`Cause::PeerLost`] if the writer has failed, once all is read.
    /// [`Cause::ProtocolViolation`] for
    /// memory that no writer of this version leaves, [`Cause::Length`] for a message for which there is no
    /// memory, [`Cause::Replaced`] if another one has this reader's place: each further call says so, too.
    ///
    /// # Cost
    /// A message of one record is copied once; a longer one is joined in a buffer of the reader's, which is
    /// handed out if `into` is empty.
    pub async fn receive(&mut self, into: &mut Vec<u8>, deadline: Nanos) -> Result<(), Error> {
        self.shown = None;
        let before = into.len();
        let mut overtaken = 0_u32;
        loop {
            let record = match self.next(deadline).await? {
                NextRecord::Record(header) if !self.belongs(&header)? => {
                    self.go_on(&header)?;
                    continue;
                }
                NextRecord::Record(header) => Some(header),
                NextRecord::Overwritten => None,
            };
            if let Some(header) = record
                && self.take(&header, into)?
            {
                self.go_on(&header).inspect_err(|_| into.truncate(before))?;
                if header.is_whole() || self.joined.len() as u64 == self.total {
                    self.message = self.message.wrapping_add(1);
                    self.hand_out(into);
                    return Ok(());
                }
                continue;
            }
            into.truncate(before);
            self.catch_up(deadline, overtaken)?;
            overtaken += 1;
        }
    }

    /// Shows where the next message is, which stays there until [`BroadcastReader::pass`]; only where the
    /// writer waits for its readers. A message that is not [whole](RecordView::is_whole) there is read by
    /// [`BroadcastReader::receive`].
    ///
    /// # Errors
    /// As [`BroadcastReader::receive`]; [`Cause::Setting`] where the writer keeps its own pace.
    pub async fn view(&mut self, deadline: Nanos) -> Result<RecordView, Error> {
        if self.end.shared.pace == Pace::Writer {
            return Err(super::setting("a view into a broadcast", "a writer that waits for its readers"));
        }
        let header = loop {
            match self.next(deadline).await? {
                NextRecord::Record(header) if self.belongs(&header)? => break header,
                // The rest of a message that was given up.
                NextRecord::Record(header) => self.go_on(&header)?,
                NextRecord::Overwritten => return Err(self.garbled("no record where one begins")),
            }
        };
        let at = self.end.shared.cycle.offset(self.position) + HEADER;
        self.shown = Some(header).filter(Header::is_whole);
        Ok(RecordView { at, bytes: header.bytes as usize, total: header.total as usize })
    }

    /// Goes on behind the whole message that was last shown: its bytes may be written over from now on.
    ///
    /// # Errors
    /// [`Cause::Replaced`] if another reader has this one's place: what was read may have been written over.
    pub fn pass(&mut self) -> Result<(), Error> {
        let Some(header) = self.shown.take() else { return Ok(()) };
        self.message = self.message.wrapping_add(1);
        self.go_on(&header)
    }

    /// Leaves because this side has failed: the writer gets [`Cause::Poisoned`].
    pub fn fail(self) {
        self.end.fail(self.read());
    }

    /// Returns whether a record is the next part of the message that this reader joins, or begins one; not
    /// so the rest of a message that it has missed, or that was given up.
    fn belongs(&mut self, header: &Header) -> Result<bool, Error> {
        if header.kind == RecordKind::First {
            if core::mem::take(&mut self.is_new) {
                // The same record may be looked at again.
                (self.message, self.least) = (header.message, header.position);
            }
            self.begin(header)?;
        } else if self.joined.is_empty() {
            return Ok(false);
        }
        let left = self.total.checked_sub(self.joined.len() as u64);
        let fits = left.is_some_and(|left| u64::from(header.bytes) <= left);
        if header.message != self.message || header.total != self.total || !fits {
            return Err(self.garbled("parts of a message that do not fit together"));
        }
        Ok(true)
    }

    /// A message begins. The bytes of another one before it, which the writer has given up, are forgotten.
    fn begin(&mut self, header: &Header) -> Result<(), Error> {
        let shared = &*self.end.shared;
        self.joined.clear();
        self.total = header.total;
        if shared.pace == Pace::SlowestReader {
            return Ok(());
        }
        if header.total > kept(shared.cycle.room) as u64 {
            return Err(self.garbled("a message that is longer than its ring keeps"));
        }
        match header.message.checked_sub(self.message) {
            Some(messages @ 1..) => {
                self.message = header.message;
                Err(Cause::Skipped { messages }.into())
            }
            _ => Ok(()),
        }
    }

    /// Copies a record's part of the message: behind `into` if that is all of it, else behind the parts
    /// before it. Returns false if the writer may have written over it meanwhile.
    fn take(&mut self, header: &Header, into: &mut Vec<u8>) -> Result<bool, Error> {
        let mut joined = core::mem::take(&mut self.joined);
        let (have, ring) = (joined.len() as u64, self.end.shared.bytes.size() as u64);
        let to = if header.is_whole() { into } else { &mut joined };
        let reserved = match to.capacity() - to.len() >= header.bytes as usize {
            true => Ok(()),
            false if header.is_whole() => to.try_reserve(header.bytes as usize),
            // Twice as much each time, and never more than the message has: a false length costs no memory.
            false => to.try_reserve_exact((self.total - have).min(have.max(ring)) as usize),
        };
        let end = reserved.map(|()| self.copy(header, to));
        self.joined = joined;
        let bytes = usize::try_from(self.total).unwrap_or(usize::MAX);
        end.map_err(|_| Cause::Length { what: "a message of a broadcast", bytes, room: 0 }.into())
    }

    /// Appends a record's bytes. Returns false if the writer may have written over them meanwhile.
    fn copy(&self, header: &Header, into: &mut Vec<u8>) -> bool {
        let shared = &*self.end.shared;
        let (at, from) = (shared.cycle.offset(self.position), into.len());
        into.resize(from + header.bytes as usize, 0);
        shared.bytes.load(at + HEADER, &mut into[from..]);
        // The position tells a record even from one that is all positions later.
        self.is_intact() && (shared.pace == Pace::SlowestReader || Header::load(&shared.bytes, at) == Some(*header))
    }

    /// Hands out the joined parts of a whole message, if it had several.
    fn hand_out(&mut self, into: &mut Vec<u8>) {
        if into.is_empty() && !self.joined.is_empty() {
            core::mem::swap(into, &mut self.joined);
        } else {
            into.append(&mut self.joined);
        }
    }

    /// Waits for the next record that is no padding.
    async fn next(&mut self, deadline: Nanos) -> Result<NextRecord, Error> {
        loop {
            self.wait(deadline).await?;
            let shared = &*self.end.shared;
            let header = Header::load(&shared.bytes, shared.cycle.offset(self.position));
            if !self.is_intact() {
                return Ok(NextRecord::Overwritten);
            }
            match header.filter(|header| self.fits(header)) {
                Some(header) if header.kind == RecordKind::Padding => self.go_on(&header)?,
                Some(header) => return Ok(NextRecord::Record(header)),
                None if shared.pace == Pace::Writer => return Ok(NextRecord::Overwritten),
                None => return Err(self.garbled("no record where one begins")),
            }
        }
    }

    /// Returns whether a header is one that a writer can have left at the present position. All that it says
    /// comes from memory that others write, so nothing of it is used before.
    fn fits(&self, header: &Header) -> bool {
        let cycle = self.end.shared.cycle;
        let (units, at) = (header.units(), self.position % cycle.room);
        let is_exact = self.end.shared.pace == Pace::SlowestReader && !self.is_new;
        let is_next = match is_exact {
            true => header.position == self.least,
            false => header.position >= self.least && cycle.low(header.position) == self.position,
        };
        is_next
            && header.bytes as usize <= most(cycle.room)
            && at + units <= cycle.room
            && (header.kind != RecordKind::Padding || at + units == cycle.room)
            && units <= cycle.ahead(self.written, self.position)
    }

    /// Where the writer has admitted this reader; `None` while it may still do so, and `Some(None)` if it has
    /// left before.
    fn admission(&self) -> Option<Option<u32>> {
        let (cpu, shared, generation) = (&self.end.cpu, &*self.end.shared, self.end.generation);
        // First whether it has left: what it has done before that is seen then.
        let has_left = cpu.load(shared.written()) & LEFT != 0;
        let place = shared.place(self.end.rank);
        match place.is_admitted(cpu, generation) {
            true => Some(Some(cpu.load(place.read(generation)))),
            false => has_left.then_some(None),
        }
    }

    /// Waits until the writer begins a message, and has admitted this reader for it.
    #[cold]
    async fn join(&mut self, deadline: Nanos) -> Result<(), Error> {
        let word = self.end.shared.written();
        let admitted = self.end.wait(word, WRITER, deadline, || self.admission()).await?;
        let Some(position) = admitted else { return Err(Cause::Closed { peer: Some(WRITER) }.into()) };
        if position >= self.end.shared.cycle.positions {
            return Err(self.replaced());
        }
        (self.position, self.written, self.is_admitted) = (position, position, true);
        Ok(())
    }

    /// Waits until something is written at the present position.
    async fn wait(&mut self, deadline: Nanos) -> Result<(), Error> {
        if !self.is_admitted {
            self.join(deadline).await?;
        }
        if !self.is_held() {
            return Err(self.replaced());
        }
        if self.written != self.position {
            return Ok(());
        }
        let (end, position) = (&self.end, self.position);
        let word = end.shared.written();
        let found = || Some(end.cpu.load(word)).filter(|&written| written != position);
        let written = end.wait(word, WRITER, deadline, found).await?;
        if written == position | LEFT {
            return Err(Cause::Closed { peer: Some(WRITER) }.into());
        }
        self.written = self.position_in(written & POSITION)?;
        Ok(())
    }

    /// A position of the writer's, if it can be one.
    fn position_in(&self, low: u32) -> Result<u32, Error> {
        let shared = &*self.end.shared;
        let is_near = shared.pace == Pace::Writer || shared.cycle.ahead(low, self.position) <= shared.cycle.room;
        if low < shared.cycle.positions && is_near { Ok(low) } else { Err(self.garbled("a position outside of its ring")) }
    }

    /// Returns whether the writer has not begun to write over the present record.
    fn is_intact(&self) -> bool {
        let shared = &*self.end.shared;
        shared.pace == Pace::SlowestReader || shared.cycle.is_reached(self.position, self.end.cpu.load(shared.discarded()))
    }

    /// Goes on behind a record, which may be written over from now on.
    ///
    /// # Errors
    /// [`Cause::Replaced`] if that may have happened before.
    fn go_on(&mut self, header: &Header) -> Result<(), Error> {
        let (end, units) = (&self.end, header.units());
        let next = end.shared.cycle.low(u64::from(self.position) + u64::from(units));
        if end.shared.pace == Pace::SlowestReader
            && !end.shared.place(end.rank).advance(&end.cpu, end.generation, self.position, next)
        {
            return Err(self.replaced());
        }
        self.least = header.position.saturating_add(u64::from(units));
        self.position = next;
        Ok(())
    }

    /// Returns whether this reader has its place still.
    fn is_held(&self) -> bool {
        self.end.shared.place(self.end.rank).is_held(&self.end.cpu, self.end.generation)
    }

    /// The word that says how far this reader has read.
    fn read(&self) -> &C::Word {
        self.end.shared.place(self.end.rank).read(self.end.generation)
    }

    #[cold]
    fn replaced(&self) -> Error {
        Cause::Replaced { rank: self.end.rank }.into()
    }

    /// The writer has overtaken this reader, which goes on with the oldest record that is left: the
    /// beginning of a message tells how many it has missed. A writer that goes on overtaking it for longer
    /// than `deadline` is not followed any further.
    #[cold]
    fn catch_up(&mut self, deadline: Nanos, overtaken: u32) -> Result<(), Error> {
        let (shared, cpu) = (&*self.end.shared, &self.end.cpu);
        let oldest = cpu.load(shared.discarded());
        if oldest == self.position {
            return Err(self.garbled("no record where one begins"));
        }
        if overtaken > 0 && deadline < Nanos::MAX && cpu.now() >= deadline {
            return Err(Error::timed_out(&self.end.context(WRITER, deadline), cpu.now()));
        }
        let written = cpu.load(shared.written()) & POSITION;
        (self.position, self.written) = (self.position_in(oldest)?, self.position_in(written)?);
        self.joined.clear();
        Ok(())
    }

    /// The error for what no writer leaves for a reader that it waits for.
    #[cold]
    fn garbled(&self, what: &'static str) -> Error {
        if !self.is_held() {
            return self.replaced();
        }
        Cause::ProtocolViolation { from: WRITER, what }.into()
    }
}

foregather_machine::clock_by! { [C: Cpu, B: ByteStore] BroadcastReader<C, B>, |this| this.end.cpu }

impl<C: Cpu, B: ByteStore> Drop for BroadcastReader<C, B> {
    fn drop(&mut self) {
        self.end.leave(self.read());
    }
}

#[cfg(test)]
impl<C: Cpu, B: ByteStore> BroadcastReader<C, B> {
    /// As if that much had been read.
    pub(super) fn begin_at(&mut self, position: u64) {
        (self.position, self.least) = (self.end.shared.cycle.low(position), position);
        self.written = self.position;
        self.end.cpu.store(self.read(), self.position);
    }

    /// Where the parts of a message are joined.
    pub(super) fn joined_at(&self) -> usize {
        self.joined.as_ptr().addr()
    }
}

// Under loom the words of shared bytes are loom's own, which are no plain memory.
#[cfg(not(loom))]
impl<C: Cpu> BroadcastReader<C, SharedBytes> {
    /// Returns the words that hold the message of the last [`BroadcastReader::view`], if that is whole, and
    /// how many bytes it has. The writer stores nothing there before [`BroadcastReader::pass`].
    pub fn shown(&self) -> Option<(&[AtomicU64], usize)> {
        let bytes = self.shown.as_ref()?.bytes as usize;
        let first = (self.end.shared.cycle.offset(self.position) + HEADER) / size_of::<AtomicU64>();
        let words = self.end.shared.bytes.words().get(first..)?.get(..bytes.div_ceil(size_of::<AtomicU64>()))?;
        Some((words, bytes))
    }
}
