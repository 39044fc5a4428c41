//! A reader's end.
use super::record::{HEADER, Header, RecordKind, most};
use super::{BroadcastEnd, LEFT, POSITION, Pace, WRITER};
use foregather_machine::{ByteStore, Cause, Clock, Cpu, Error, Nanos, Rank};
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
    /// The position in full of the last record: later ones are beyond it.
    last: u64,
    /// What has come of a message of several records.
    joined: Vec<u8>,
    /// The units of the message that a [`RecordView`] shows.
    shown: Option<u32>,
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
    /// Is this the whole message?
    pub fn is_whole(&self) -> bool {
        self.bytes == self.total
    }
}

/// What a look at the next record has found.
enum Look {
    Record(Header),
    /// The writer has written over it.
    Overwritten,
}

impl<C: Cpu, B: ByteStore> BroadcastReader<C, B> {
    pub(super) fn new(end: BroadcastEnd<C, B>) -> Self {
        Self { end, position: 0, written: 0, message: 0, last: 0, joined: Vec::new(), shown: None }
    }

    /// Its rank, from 1 on.
    pub fn rank(&self) -> Rank {
        self.end.rank
    }

    /// The outcomes of its waits.
    pub fn account(&self) -> &Arc<Account> {
        self.end.waiter.account()
    }

    /// Is a message there, or the end of the broadcast, so that no call has to wait for its beginning?
    pub fn is_ready(&self) -> bool {
        self.end.cpu.load(self.end.shared.written()) != self.position
    }

    /// Appends the next message to `into`. After an error nothing is appended.
    ///
    /// # Errors
    /// [`Cause::Closed`] once the writer has ended the broadcast and all is read. [`Cause::Skipped`] where
    /// the writer has overtaken this reader: the next call goes on with the oldest message that is left.
    /// [`Cause::TimedOut`] at `deadline`: nothing is lost, and the next call waits on. [`Cause::Poisoned`] or
    /// [`Cause::PeerLost`] if the writer has failed, once all is read.
    pub async fn receive(&mut self, into: &mut Vec<u8>, deadline: Nanos) -> Result<(), Error> {
        self.shown = None;
        let before = into.len();
        into.append(&mut self.joined);
        let end = self.join(into, before, deadline).await;
        if end.is_err() {
            self.joined = into.split_off(before);
        }
        end
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
                Look::Record(header) if header.kind == RecordKind::First || !self.joined.is_empty() => break header,
                // The rest of a message that was given up.
                Look::Record(header) => self.go_on(header.units()),
                Look::Overwritten => return Err(self.garbled("no record where one begins")),
            }
        };
        let at = self.end.shared.cycle.offset(self.position) + HEADER;
        let view = RecordView { at, bytes: header.bytes as usize, total: header.total as usize };
        self.shown = view.is_whole().then(|| header.units());
        Ok(view)
    }

    /// Goes on behind the whole message that was last shown: its bytes may be written over from now on.
    pub fn pass(&mut self) {
        if let Some(units) = self.shown.take() {
            self.joined.clear();
            self.message += 1;
            self.go_on(units);
        }
    }

    /// Leaves because this side has failed: the writer gets [`Cause::Poisoned`].
    pub fn fail(self) {
        self.end.fail(self.end.shared.read(self.end.rank));
    }

    /// Appends records until a message is whole, whose bytes begin at `before`.
    async fn join(&mut self, into: &mut Vec<u8>, before: usize, deadline: Nanos) -> Result<(), Error> {
        loop {
            let Look::Record(header) = self.next(deadline).await? else {
                into.truncate(before);
                self.catch_up()?;
                continue;
            };
            match header.kind {
                RecordKind::First => self.begin(header, into, before)?,
                // The rest of a message that it has missed, or that was given up.
                _ if into.len() == before => {
                    self.go_on(header.units());
                    continue;
                }
                _ => {}
            }
            let left = header.total.saturating_sub((into.len() - before) as u64);
            if header.message != self.message || u64::from(header.bytes) > left {
                return Err(self.garbled("parts of a message that do not fit together"));
            }
            if !self.copy(header, into) {
                into.truncate(before);
                self.catch_up()?;
                continue;
            }
            self.go_on(header.units());
            if u64::from(header.bytes) == left {
                self.message += 1;
                return Ok(());
            }
        }
    }

    /// A message begins. The bytes of another one before it, which the writer has given up, are forgotten.
    fn begin(&mut self, header: Header, into: &mut Vec<u8>, before: usize) -> Result<(), Error> {
        if into.len() > before {
            into.truncate(before);
        }
        let missed = header.message.saturating_sub(self.message);
        if missed > 0 {
            self.message = header.message;
            return Err(Cause::Skipped { messages: missed }.into());
        }
        let bytes = usize::try_from(header.total).unwrap_or(usize::MAX);
        into.try_reserve(bytes).map_err(|_| Cause::Length { what: "a message of a broadcast", bytes, room: 0 }.into())
    }

    /// Waits for the next record that is no padding.
    async fn next(&mut self, deadline: Nanos) -> Result<Look, Error> {
        loop {
            self.wait(deadline).await?;
            let shared = &*self.end.shared;
            let header = Header::load(&shared.bytes, shared.cycle.offset(self.position));
            if !self.is_intact() {
                return Ok(Look::Overwritten);
            }
            let fits = |header: &Header| {
                header.units() <= shared.cycle.ahead(self.written, self.position)
                    && shared.cycle.low(header.position) == self.position
                    && header.bytes as usize <= most(shared.cycle.room)
            };
            match header.filter(fits) {
                Some(header) if header.position < self.last => return Ok(Look::Overwritten),
                Some(header) => {
                    self.last = header.position;
                    match header.kind {
                        RecordKind::Padding => self.go_on(header.units()),
                        _ => return Ok(Look::Record(header)),
                    }
                }
                None if shared.pace == Pace::Writer => return Ok(Look::Overwritten),
                None => return Err(self.garbled("no record where one begins")),
            }
        }
    }

    /// Waits until something is written at the present position.
    async fn wait(&mut self, deadline: Nanos) -> Result<(), Error> {
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
        self.written = written & POSITION;
        Ok(())
    }

    /// Copies a record's bytes. False if the writer may have written over them meanwhile.
    fn copy(&self, header: Header, into: &mut Vec<u8>) -> bool {
        let shared = &*self.end.shared;
        let (at, from) = (shared.cycle.offset(self.position), into.len());
        into.resize(from + header.bytes as usize, 0);
        shared.bytes.load(at + HEADER, &mut into[from..]);
        // The position tells a record even from one that is all positions later.
        self.is_intact() && (shared.pace == Pace::SlowestReader || Header::load(&shared.bytes, at) == Some(header))
    }

    /// Has the writer not begun to write over the present record?
    fn is_intact(&self) -> bool {
        let shared = &*self.end.shared;
        shared.pace == Pace::SlowestReader || shared.cycle.is_reached(self.position, self.end.cpu.load(shared.discarded()))
    }

    /// Goes on behind a record, which may be written over from now on.
    fn go_on(&mut self, units: u32) {
        self.position = self.end.shared.cycle.low(u64::from(self.position) + u64::from(units));
        if self.end.shared.pace == Pace::SlowestReader {
            self.end.cpu.publish(self.end.shared.read(self.end.rank), self.position);
        }
    }

    /// The writer has overtaken this reader, which goes on with the oldest record that is left: the
    /// beginning of a message tells how many it has missed.
    #[cold]
    fn catch_up(&mut self) -> Result<(), Error> {
        let (shared, cpu) = (&*self.end.shared, &self.end.cpu);
        let oldest = cpu.load(shared.discarded());
        if oldest == self.position {
            return Err(self.garbled("no record where one begins"));
        }
        (self.position, self.written) = (oldest, cpu.load(shared.written()) & POSITION);
        Ok(())
    }

    #[cold]
    fn garbled(&self, what: &'static str) -> Error {
        Cause::ProtocolViolation { from: WRITER, what }.into()
    }
}

impl<C: Cpu, B: ByteStore> Clock for BroadcastReader<C, B> {
    fn now(&self) -> Nanos {
        self.end.cpu.now()
    }
    async fn delay(&self, span: Nanos) {
        self.end.cpu.delay(span).await;
    }
}

impl<C: Cpu, B: ByteStore> Drop for BroadcastReader<C, B> {
    fn drop(&mut self) {
        self.end.leave(self.end.shared.read(self.end.rank));
    }
}

#[cfg(test)]
impl<C: Cpu, B: ByteStore> BroadcastReader<C, B> {
    /// As if that much had been read.
    pub(super) fn begin_at(&mut self, position: u64) {
        self.position = self.end.shared.cycle.low(position);
        self.written = self.position;
        self.end.cpu.store(self.end.shared.read(self.end.rank), self.position);
    }
}
