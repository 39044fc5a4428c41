//! Memory to memory: the reader asks where the memory stands, reads it, and reports the end.
//!
//! A network's own keys would do without asking, but a key that is no longer valid may cost the connection,
//! and the exposer would not know when the last reader is done. So a reader asks about a key first: a key
//! that was unexposed is refused in words, and `unexpose` waits for the readers that were told and have not
//! reported the end.
use crate::abi::{EAGAIN, Fid, MR_LOCAL};
use crate::asked::ReadReply;
use crate::endpoint::MemoryRegion;
use crate::exposure::Exposure;
use crate::inner::Inner;
use crate::registration::record;
use crate::slots::BufferPurpose;
use crate::wire::{FrameKind, RemoteMemory};
use core::ptr::null_mut;
use foregather_host::{clock, pause::pause};
use foregather_machine::{Address, Cause, Error, Key, Nanos, Park, WaitContext};
use foregather_thread::record_work;
use std::sync::Arc;

/// How long operations under way may take to end once a rank was lost.
const ENDING: Nanos = Nanos::from_ms(500);
/// How long a wait for an answer looks at the network before it sleeps there.
const LOOKING: Nanos = Nanos::from_us(50);
/// How soon after a reading another frame may follow the one that ends it.
const LAST_WORD: Nanos = Nanos::from_us(5);
/// A sleep on the network, between two checks whether the wait can still succeed.
const SLEEP: Nanos = Nanos::from_ms(10);

/// A stretch of the reader's memory.
#[derive(Clone, Copy)]
struct MemoryRange {
    piece: usize,
    at: *mut u8,
    len: usize,
}

/// One read: `bytes` bytes from there, into these stretches.
struct ReadChunk {
    from: (u64, u64),
    into: Vec<MemoryRange>,
}

/// Cuts a reading into steps: each from one record, into at most `gather` stretches of at most `longest`
/// bytes together.
fn steps(records: &[RemoteMemory], into: &mut [&mut [u8]], gather: usize, longest: usize) -> Vec<ReadChunk> {
    let stretch = |(piece, bytes): (usize, &mut &mut [u8])| MemoryRange { piece, at: bytes.as_mut_ptr(), len: bytes.len() };
    let mut rest = into.iter_mut().enumerate().map(stretch).filter(|stretch| stretch.len > 0).peekable();
    let mut steps = Vec::new();
    for record in records {
        let mut done = 0;
        while done < record.len && rest.peek().is_some() {
            let (begin, mut room) = (done, (record.len - done).min(longest as u64) as usize);
            let mut into = Vec::new();
            while let Some(next) = rest.peek_mut().filter(|_| room > 0 && into.len() < gather) {
                let len = next.len.min(room);
                into.push(MemoryRange { len, ..*next });
                (room, done) = (room - len, done + len as u64);
                if len < next.len {
                    *next = MemoryRange { at: next.at.wrapping_add(len), len: next.len - len, ..*next };
                } else {
                    rest.next();
                }
            }
            steps.push(ReadChunk { from: (record.address.wrapping_add(begin), record.key), into });
        }
    }
    steps
}

impl Inner {
    /// Lets others read these pieces.
    pub(crate) fn lend(&self, pieces: &[&[u8]]) -> Result<Key, Error> {
        self.can_read()?;
        let (mut records, mut registrations) = (Vec::new(), Vec::new());
        for piece in pieces.iter().filter(|piece| !piece.is_empty()) {
            // SAFETY: by the contract of `LastingPieces` the pieces stay in place until `unexpose`, which
            // drops the registration.
            let registration = unsafe { self.registrations.lease(&self.cpu.guard().endpoint, piece.as_ptr(), piece.len())? };
            records.push(record(&self.cpu.guard().endpoint, &registration, piece.as_ptr(), piece.len()));
            registrations.push(registration);
        }
        let exposure = Exposure { records, readers: Vec::new(), ends: false, _registrations: registrations };
        Ok(self.exposures.borrow_mut().0.add(exposure))
    }

    /// Ends the exposure, and waits for its readers.
    pub(crate) fn take_back(&self, key: Key) {
        if !self.exposures.borrow_mut().ends(key) {
            return;
        }
        let why = WaitContext::new("conceal", self.lane_set.rank).since(clock::now());
        let through = || self.exposures.borrow_mut().0.find(key).is_none_or(|exposure| exposure.readers.is_empty());
        if let Err(error) = self.attend(&why, LOOKING, through) {
            self.end_all(error);
        }
        self.exposures.borrow_mut().0.remove(key);
    }

    /// A lost rank may still read or write: only the end of the endpoint guarantees that nothing touches that
    /// memory.
    #[cold]
    fn end_all(&self, error: Error) {
        self.cpu.guard().fail(error);
        self.cpu.guard().endpoint.silence();
    }

    fn can_read(&self) -> Result<(), Error> {
        if self.cpu.guard().endpoint.provider().reads() {
            return Ok(());
        }
        let needs = "a provider that lets memory be read; `limits().direct` says so";
        Err(Cause::Setting { what: "exposing memory over this fabric", needs }.into())
    }

    /// Looks at the network until `so` holds; sleeps there once nothing has come for `looking`.
    fn attend(&self, why: &WaitContext, looking: Nanos, mut so: impl FnMut() -> bool) -> Result<(), Error> {
        let mut idle_since = clock::now();
        loop {
            if so() {
                return Ok(());
            }
            if self.progress() {
                idle_since = clock::now();
            } else if clock::now() - idle_since < looking.min(self.cpu.max_spin()) {
                pause();
            } else {
                self.cpu.check(&self.cpu.guard().bell, why)?;
                self.pause(SLEEP);
            }
        }
    }

    /// Fills the pieces from the memory that `from` exposes.
    pub(crate) fn fetch(&self, from: Address, key: Key, into: &mut [&mut [u8]]) -> Result<(), Error> {
        let index = self.index(from)?;
        self.can_read()?;
        let bytes: u64 = into.iter().map(|piece| piece.len() as u64).sum();
        let why = WaitContext::new("get", self.lane_set.rank).of(from.rank).since(clock::now());
        let ticket = self.reading.borrow_mut().begin(index);
        self.enqueue(index, FrameKind::Ask, ticket, [key.0.to_le_bytes(), bytes.to_le_bytes()].concat());
        let peer = &self.peers[index];
        self.attend(&why, LOOKING, || self.reading.borrow().answer != ReadReply::None || peer.left.get())?;
        if self.reading.borrow().answer != ReadReply::Told {
            return Err(Cause::Unexposed { rank: from.rank }.into());
        }
        let records = core::mem::take(&mut self.reading.borrow_mut().records);
        let there: u128 = records.iter().map(|record| u128::from(record.len)).sum();
        let pulled = if there < u128::from(bytes) {
            Err(Cause::ProtocolViolation { from: from.rank, what: "less memory than it said" }.into())
        } else {
            self.pull(index, &records, into, &why)
        };
        self.enqueue(index, FrameKind::Done, 0, key.0.to_le_bytes().to_vec());
        self.progress();
        pulled
    }

    /// Reads all of it. When it returns, however it ends, nothing is written into the pieces any more.
    fn pull(&self, from: usize, records: &[RemoteMemory], into: &mut [&mut [u8]], why: &WaitContext) -> Result<(), Error> {
        let provider = self.cpu.guard().endpoint.provider();
        let mut local: Vec<Arc<MemoryRegion>> = Vec::new();
        if provider.memory_mode() & MR_LOCAL != 0 {
            for piece in into.iter().filter(|piece| !piece.is_empty()) {
                // SAFETY: the piece is borrowed until this function returns, which drops the registration
                // before that.
                local.push(unsafe { self.registrations.lease(&self.cpu.guard().endpoint, piece.as_ptr(), piece.len())? });
            }
        }
        // Empty pieces have no registration: a piece's registration is found by its place among the others.
        let places: Vec<usize> = into
            .iter()
            .scan(0, |next, piece| {
                let place = *next;
                *next += usize::from(!piece.is_empty());
                Some(place)
            })
            .collect();
        let looking = self.looking_for(into.iter().map(|piece| piece.len()).sum());
        let mut outcome = Ok(());
        for step in steps(records, into, provider.pieces(), provider.message_size().max(1)) {
            let vector: Vec<_> = step.into.iter().map(|to| libc::iovec { iov_base: to.at.cast(), iov_len: to.len }).collect();
            let descriptor = |to: &MemoryRange| local.get(places[to.piece]).map_or(null_mut(), |known| known.descriptor());
            let mut descriptors: Vec<Fid> = step.into.iter().map(descriptor).collect();
            outcome = self.attend(why, looking, || self.begin_read(from, step.from, &vector, &mut descriptors));
            if outcome.is_err() || self.reading.borrow().failed {
                break;
            }
        }
        let ended = outcome.and_then(|()| self.attend(why, looking, || self.reading.borrow().outstanding == 0));
        match ended {
            Ok(()) if self.reading.borrow().failed => {
                // It may have gone because another rank was lost: the failure detector names that rank, or
                // the suspicion proves true.
                self.cpu.guard().suspect(self.rank_of(from));
                self.attend(why, LOOKING, || false)
            }
            Ok(()) => Ok(()),
            Err(error) => {
                self.let_end();
                if self.reading.borrow().outstanding > 0 {
                    self.end_all(error.clone());
                    self.reading.borrow_mut().outstanding = 0;
                }
                Err(error)
            }
        }
    }

    /// Operations under way soon end by themselves if their other side lives, or has died. To close the
    /// endpoint beneath them is for a host that has fallen silent, since libfabric's own close is not safe
    /// then (1.17, rxm over tcp).
    #[cold]
    fn let_end(&self) {
        let until = clock::now() + ENDING;
        while self.reading.borrow().outstanding > 0 && clock::now() < until {
            if !self.progress() {
                self.pause(SLEEP);
            }
        }
    }

    /// How long to look at the network for `bytes` bytes to be read: twice as long as it should take, since
    /// nothing else shows that they are on their way, and a sleep would end with each part of them.
    fn looking_for(&self, bytes: usize) -> Nanos {
        LOOKING.max(Nanos(2 * self.costs().direct.of(bytes).0))
    }

    /// A peer has been told where memory of ours stands: its bytes may go in calls of ours only.
    pub(crate) fn read_from_here(&self, bytes: u64) {
        self.pushing_until.set(self.pushing_until.get().max(clock::now() + self.looking_for(bytes as usize)));
    }

    /// Looks at the network while a peer reads from here, as long as that should take. `true`: something has
    /// happened.
    pub(crate) fn serve_readers(&self) -> bool {
        let (mut some, began) = (false, clock::now());
        let end = self.pushing_until.get().min(Nanos(began.0.saturating_add(self.cpu.max_spin().0)));
        while clock::now() < end && self.exposures.borrow().are_read() {
            some |= self.progress();
        }
        // A reader that is done also tells the layer above.
        let last = clock::now() + LAST_WORD;
        while some && self.waiting.get() == 0 && clock::now() < last {
            self.progress();
        }
        record_work(clock::now() - began);
        some
    }

    /// Starts one read. `false`: the network has no room just now.
    fn begin_read(&self, from: usize, there: (u64, u64), into: &[libc::iovec], descriptors: &mut [Fid]) -> bool {
        let slot = match self.outgoing.take(&self.cpu.guard().endpoint, BufferPurpose::Read, from) {
            Ok(Some(slot)) => slot,
            Ok(None) => return false,
            Err(error) => {
                self.cpu.guard().fail(error);
                return false;
            }
        };
        // SAFETY: the pieces are borrowed until `pull` returns, which waits for all reads or silences the
        // endpoint; the context is lent until the completion gives the slot back.
        let result = unsafe {
            let context = self.outgoing.context(slot);
            self.cpu.guard().endpoint.read(into, descriptors, self.peers[from].address, there, context)
        };
        if result == 0 {
            self.reading.borrow_mut().outstanding += 1;
            return true;
        }
        self.outgoing.give(slot);
        if result == -(EAGAIN as isize) {
            return false;
        }
        self.broken(from);
        self.reading.borrow_mut().failed = true;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asked::PeerRead;

    fn records(lens: &[u64]) -> Vec<RemoteMemory> {
        lens.iter().enumerate().map(|(at, &len)| RemoteMemory { address: 1_000 * at as u64, len, key: at as u64 }).collect()
    }

    #[test]
    fn a_reading_is_cut_where_either_side_ends_and_at_both_limits() {
        let (mut a, mut b, mut c) = ([0_u8; 5], [0_u8; 0], [0_u8; 9]);
        let mut into: [&mut [u8]; 3] = [&mut a, &mut b, &mut c];
        let cut = |records: &[RemoteMemory], into: &mut [&mut [u8]], gather, longest| {
            let shape = |step: &ReadChunk| (step.from, step.into.iter().map(|to| (to.piece, to.len)).collect::<Vec<_>>());
            steps(records, into, gather, longest).iter().map(shape).collect::<Vec<_>>()
        };
        assert_eq!(cut(&records(&[7, 7]), &mut into, 4, 100), [((0, 0), vec![(0, 5), (2, 2)]), ((1_000, 1), vec![(2, 7)])]);
        assert_eq!(
            cut(&records(&[20]), &mut into, 1, 4),
            [
                ((0, 0), vec![(0, 4)]),
                ((4, 0), vec![(0, 1)]),
                ((5, 0), vec![(2, 4)]),
                ((9, 0), vec![(2, 4)]),
                ((13, 0), vec![(2, 1)])
            ]
        );
        assert_eq!(cut(&records(&[0, 3]), &mut into, 4, 100), [((1_000, 1), vec![(0, 3)])]);
        assert_eq!(cut(&records(&[3]), &mut [], 4, 100), []);
    }

    #[test]
    fn answers_to_other_questions_change_nothing() {
        let mut reading = PeerRead::default();
        let ticket = reading.begin(2);
        let bytes = RemoteMemory::write_all(&records(&[5]), false);
        assert!(reading.told(1, ticket, &bytes) && reading.told(2, ticket + 1, &bytes) && reading.refused(1, ticket));
        assert_eq!((reading.answer, reading.records.len()), (ReadReply::None, 0));
        assert!(!reading.told(2, ticket, &bytes[1..]));
        assert!(reading.told(2, ticket, &RemoteMemory::write_all(&records(&[5]), true)) && reading.answer == ReadReply::None);
        assert!(reading.told(2, ticket, &bytes));
        assert_eq!((reading.answer, reading.records.len()), (ReadReply::Told, 2));
    }
}
