//! A lane's part in direct copies: the memory that it exposes, the memory that it reads, and how both sides
//! of a long copy share the work.
use super::exposure::{Contest, Exposure, MOST_PIECES};
use super::help::Help;
use super::lane::Lane;
use super::pieces::{CopyDirection, Errno, GATHER, RemoteRange, of_mutable, of_shared, total, transfer};
use super::shape::{BUFFER, EXPOSURES};
use super::stage::{STAGE_CHUNK, STAGE_SLOTS, staged_chunk};
use core::ops::Range;
use foregather_host::pause::pause;
use foregather_machine::{Address, Cause, Cpu, Error, Fabric, Key, Nanos, WaitContext, block_on, reached};
use foregather_thread::{Word, record_work};
use foregather_wait::Policy;

/// Below this many bytes, two system calls cost more than half a copy.
const BOTH_SIDES: usize = 16 << 10;
/// The bounds of a chunk in bytes. A chunk is an eighth of the whole within these bounds, and at most half of
/// the whole, so that neither side waits long for the other's last chunk.
const CHUNK_LEAST: usize = 32 << 10;
const CHUNK_MOST: usize = 256 << 10;
/// How long a getter waits for a staged chunk before it reads one itself: several times what an active helper
/// needs for a chunk.
const PATIENCE: Nanos = Nanos::from_us(3);
/// How long a getter spins for a chunk that its helper has started.
const SPIN: Nanos = Nanos::from_us(50);
/// How long a getter lets its helper finish a chunk after the job has failed.
const GRACE: Nanos = Nanos::from_ms(100);
/// How long the job may take to report a lost rank.
const TOLD: Nanos = Nanos::from_ms(500);
/// The lower bits of a key are the number of the exposure, the upper bits its generation.
const NUMBER_BITS: u32 = EXPOSURES.trailing_zeros();

fn chunk_of(total: usize) -> usize {
    (total / 8).clamp(CHUNK_LEAST, CHUNK_MOST).min(total.div_ceil(2)).next_multiple_of(BUFFER)
}

/// A two-sided copy, from its getter's point of view.
struct JointCopy<'a> {
    from: Address,
    /// The port of `from`.
    port: usize,
    contest: &'a Contest,
    staged: bool,
    bytes: usize,
    /// Bytes of a chunk.
    chunk: usize,
    /// The destination of the bytes.
    target: &'a [RemoteRange],
}

impl JointCopy<'_> {
    fn range(&self, chunk: u32) -> Range<usize> {
        let start = chunk as usize * self.chunk;
        start..(start + self.chunk).min(self.bytes)
    }
}

impl<C: Cpu<Word = Word>> Lane<C> {
    pub(super) fn expose_pieces(&self, pieces: &[&[u8]]) -> Result<Key, Error> {
        if let Some(what) = self.fabric.direct_refused() {
            let remedy = "send through static buffers: `Limits::direct` says so".to_owned();
            return Err(Error::from(Cause::Unavailable { what: format!("the right to read memory directly ({what})"), remedy }));
        }
        if pieces.len() > MOST_PIECES {
            let (bytes, room) = (pieces.len() * size_of::<RemoteRange>(), MOST_PIECES * size_of::<RemoteRange>());
            return Err(Error::from(Cause::Length { what: "the list of exposed pieces", bytes, room }));
        }
        let number = self.exposed.take().ok_or_else(|| {
            let what = format!("room for more than {EXPOSURES} exposed memories of a lane");
            Error::from(Cause::Unavailable { what, remedy: "conceal one first".to_owned() })
        })?;
        let entry = &self.exposed.entries[number];
        let generation = entry.generation.get() + 1;
        entry.generation.set(generation);
        let mut own = entry.pieces.borrow_mut();
        own.clear();
        own.extend(of_shared(pieces));
        let exposure = self.fabric.exposure(self.port, number);
        exposure.source.write(&own);
        exposure.open(generation);
        Ok(Key(generation << NUMBER_BITS | number as u64))
    }

    pub(super) fn conceal_key(&self, key: Key) {
        let (number, generation) = parts(key);
        let (entry, bit) = (&self.exposed.entries[number], 1 << number);
        if self.exposed.used.get() & bit == 0 || entry.generation.get() != generation {
            return;
        }
        let exposure = self.fabric.exposure(self.port, number);
        entry.generation.set(generation + 1);
        let reusable = !exposure.close(generation + 1) || self.until_unread(exposure);
        self.exposed.used.set(self.exposed.used.get() & !bit);
        if reusable {
            self.exposed.free.set(self.exposed.free.get() | bit);
        } else {
            reached("lanes:8");
        }
    }

    /// Waits until no peer reads. Returns false if a reader was lost meanwhile and will be counted forever.
    /// Late reads do not make other lanes fail.
    #[cold]
    fn until_unread(&self, exposure: &Exposure) -> bool {
        reached("lanes:7");
        let why = WaitContext::new("readers of exposed memory", self.here.rank).since(self.cpu.now());
        let unread = || (!exposure.is_read()).then_some(());
        self.until(&why, || {
            self.help_getters();
            unread()
        })
        .is_ok()
            || unread().is_some()
    }

    /// Waits on this lane's bell, and blocks the thread.
    fn until<T>(&self, why: &WaitContext, probe: impl FnMut() -> Option<T>) -> Result<T, Error> {
        block_on(Policy::TwoPhase { spin: SPIN }.wait(&self.cpu, self.bell(), *why, probe)).map(|(found, _)| found)
    }

    pub(super) fn read_from(&self, from: Address, key: Key, into: &mut [&mut [u8]]) -> Result<(), Error> {
        let port = self.fabric.port_of(from)?;
        let concealed = || Error::from(Cause::Unexposed { rank: from.rank });
        let (number, generation) = parts(key);
        let exposure = self.fabric.exposure(port, number);
        if generation.is_multiple_of(2) || !exposure.enter(generation) {
            return Err(concealed());
        }
        let copied = self.copy(from, exposure, into);
        let in_time = exposure.leave(generation);
        if !in_time {
            // Its owner may be waiting for this.
            self.ring_bell(port);
        }
        copied.and_then(|()| if in_time { Ok(()) } else { Err(concealed()) })
    }

    fn copy(&self, from: Address, exposure: &Exposure, into: &mut [&mut [u8]]) -> Result<(), Error> {
        let pid = self.pid(from);
        let [source, target] = &mut *self.exposed.scratch.borrow_mut();
        target.clear();
        target.extend(of_mutable(into));
        let bytes = total(target).unwrap_or(usize::MAX);
        let exposed = exposure.source.read(pid, source).map_err(|errno| self.failed(from, errno))?;
        if exposed < bytes {
            return Err(Error::from(Cause::Unexposed { rank: from.rank }));
        }
        let read = |range| {
            // SAFETY: `into` borrows the pieces of `target` until this function returns. Either this side
            // reads into a range of them or the helper writes it, and `both_sides` returns when the helper
            // has finished.
            unsafe { transfer(CopyDirection::Read, pid, target, source, range) }.map_err(|errno| self.failed(from, errno))
        };
        let contest = &exposure.contest;
        let together = bytes >= BOTH_SIDES && from != self.here && target.len() <= MOST_PIECES && self.may_help(from);
        if !together {
            return read(0..bytes);
        }
        let port = self.fabric.port_of(from)?;
        let few = source.len().max(target.len()) <= GATHER;
        let staged = few && self.exposed.times.choose(bytes) == Help::Stages && self.fabric.take_stage(port, self.port);
        let help = if staged { Help::Stages } else { Help::Writes };
        let chunk = if staged { staged_chunk(bytes) } else { chunk_of(bytes) };
        if !contest.begin(self.port, bytes, chunk, staged) {
            if staged {
                self.fabric.free_stage(port);
            }
            return read(0..bytes);
        }
        contest.target.write(target);
        let began = self.cpu.now();
        let copied = self.both_sides(&JointCopy { from, port, contest, staged, bytes, chunk, target }, read);
        self.exposed.times.record(bytes, help, self.cpu.now() - began);
        contest.end();
        if staged {
            self.fabric.free_stage(port);
        }
        copied
    }

    /// Reads chunks from the upper end until there are none, and then waits for the helper's last one. With a
    /// stage, it first waits briefly for the helper, and takes its chunks as they arrive.
    fn both_sides(&self, copy: &JointCopy<'_>, read: impl Fn(Range<usize>) -> Result<(), Error>) -> Result<(), Error> {
        let duel = &copy.contest.duel;
        duel.open(copy.bytes.div_ceil(copy.chunk) as u32, if copy.staged { STAGE_SLOTS } else { u32::MAX });
        let (mut taken, mut copied) = (0, Ok(()));
        if copy.staged {
            self.take_staged(copy, &mut taken);
        }
        while let (Some(next), Ok(())) = (duel.claim_top(), &copied) {
            copied = read(copy.range(next));
            if copy.staged {
                self.take_staged(copy, &mut taken);
            }
        }
        let helpers = duel.close();
        while copy.staged && taken < helpers {
            let come = || (duel.written() > taken).then_some(());
            if come().is_none() {
                self.until_helped(copy.from, come)?;
            }
            self.take_chunk(copy, &mut taken);
        }
        let finished = || duel.finished(helpers);
        let well = match finished() {
            Some(well) => well,
            None => self.until_helped(copy.from, finished)?,
        };
        copied?;
        if well { Ok(()) } else { read(0..(helpers as usize * copy.chunk).min(copy.bytes)) }
    }

    /// Takes chunks from the stage until none is free or the helper is too slow. Meanwhile it helps lanes
    /// that read from this one.
    fn take_staged(&self, copy: &JointCopy<'_>, taken: &mut u32) {
        let duel = &copy.contest.duel;
        let mut last = self.cpu.now();
        while duel.has_free() {
            if duel.written() > *taken {
                self.take_chunk(copy, taken);
                last = self.cpu.now();
            } else if !(self.exposed.any() && self.help_getters()) {
                if self.cpu.now() - last > PATIENCE {
                    return;
                }
                pause();
            }
        }
    }

    fn take_chunk(&self, copy: &JointCopy<'_>, taken: &mut u32) {
        // SAFETY: the caller's call of `get` borrows the pieces of the list until the copy has ended, and
        // this side alone writes to them.
        unsafe { self.fabric.empty_stage(copy.port, *taken, copy.target, copy.range(*taken)) };
        *taken += 1;
        copy.contest.duel.raise(*taken + STAGE_SLOTS);
    }

    /// Waits for a helper in the middle of a chunk. If the job fails, the helper is killed before this wait
    /// reports it, because it must not write later.
    #[cold]
    fn until_helped<T>(&self, from: Address, finished: impl Fn() -> Option<T>) -> Result<T, Error> {
        let why = WaitContext::new("the other side of a copy", self.here.rank).of(from.rank).since(self.cpu.now());
        let finished_or_help = || {
            let found = finished();
            if found.is_none() {
                self.help_getters();
            }
            found
        };
        let error = match self.until(&why, finished_or_help) {
            Ok(well) => return Ok(well),
            Err(error) => error,
        };
        reached("lanes:11");
        let end = self.cpu.now() + GRACE;
        while self.cpu.now() < end {
            if let (Some(well), _) = block_on(self.cpu.spin_for(self.bell(), SPIN, &finished)) {
                return Ok(well);
            }
            block_on(self.cpu.yield_now());
        }
        if let Some(met) = self.fabric.attached.get() {
            if met.is_here(from.rank) {
                // A thread of this process cannot be lost alone, and it is inside one system call.
                while finished().is_none() {
                    block_on(self.cpu.yield_now());
                }
            }
            met.kill(from.rank);
        }
        Err(error)
    }

    /// Writes a chunk for each getter, or stages as many as there is room for.
    #[cold]
    pub(super) fn help_getters(&self) -> bool {
        let mut helped = false;
        for number in self.exposed.numbers() {
            let contest = &self.fabric.exposure(self.port, number).contest;
            for _ in 0..STAGE_SLOTS {
                let Some(chunk) = contest.duel.claim_bottom() else { break };
                helped = true;
                let began = self.cpu.now();
                // After this, the contest may belong to another getter.
                let ((getter, ..), staged) = (contest.terms(), contest.is_staged());
                contest.duel.wrote(self.help_with(number, contest, chunk));
                record_work(self.cpu.now() - began);
                if getter < self.fabric.layout.ports {
                    self.ring_bell(getter);
                }
                if !staged {
                    break;
                }
            }
        }
        helped
    }

    /// Copies one chunk that this lane has claimed from its own list to its stage or to the getter's list.
    fn help_with(&self, number: usize, contest: &Contest, chunk: u32) -> bool {
        let (getter, bytes, size) = contest.terms();
        let source = self.exposed.entries[number].pieces.borrow();
        let start = (chunk as usize).saturating_mul(size);
        let end = start.saturating_add(size).min(bytes);
        if getter >= self.fabric.layout.ports || start >= end || total(&source).is_none_or(|exposed| end > exposed) {
            return false;
        }
        if contest.is_staged() {
            let fits = size <= STAGE_CHUNK && contest.duel.has_room(chunk);
            if fits {
                // SAFETY: by the contract of `LastingPieces` the pieces stay in place until `unexpose`. The
                // chunk is claimed, and below the limit: the getter has emptied its slot.
                unsafe { self.fabric.fill_stage(self.port, chunk, &source, start..end) };
            }
            return fits;
        }
        let getter = self.fabric.address_of(getter);
        if !self.may_help(getter) {
            return false;
        }
        let pid = self.pid(getter);
        let target = &mut *self.exposed.helping.borrow_mut();
        if contest.target.read(pid, target).is_err() {
            return false;
        }
        // SAFETY: by the contract of `LastingPieces` the pieces of this lane's list stay in place until
        // `unexpose`. A getter of this process borrows the pieces of its list, which no other process can
        // have changed, until this chunk is written.
        let written = unsafe { transfer(CopyDirection::Write, pid, &source, target, start..end) }.is_ok();
        if !written {
            reached("lanes:12");
        }
        written
    }

    fn pid(&self, of: Address) -> i32 {
        self.fabric.attached.get().map_or(0, |met| met.pid(of.rank))
    }

    fn may_help(&self, other: Address) -> bool {
        self.fabric.attached.get().is_some_and(|met| met.may_help(other.rank))
    }

    /// Returns the error for a process of `from` that is exiting. A read detects that before the job does; if
    /// this rank exited at once, it would be reported as the first lost rank.
    #[cold]
    fn gone(&self, from: Address) -> Error {
        let why = WaitContext::new("reading its memory", self.here.rank).of(from.rank);
        let until = self.cpu.now() + TOLD;
        while self.cpu.now() < until {
            if let Err(error) = self.cpu.check(self.bell(), &why) {
                return error;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        Error::peer_lost(from.rank, self.cpu.now(), &why)
    }

    /// Returns the error of a failed read of memory of `from`.
    #[cold]
    fn failed(&self, from: Address, errno: Errno) -> Error {
        match errno.0 {
            libc::EFAULT => Error::from(Cause::Unexposed { rank: from.rank }),
            libc::ESRCH => self.gone(from),
            errno => {
                let remedy = "forbid direct reading for this job, or allow process_vm_readv in the container's seccomp filter";
                Error::from(Cause::Os { what: "reading a peer's memory", errno, remedy })
            }
        }
    }
}

/// Returns the number of an exposure and its generation.
fn parts(key: Key) -> (usize, u64) {
    ((key.0 % EXPOSURES as u64) as usize, key.0 >> NUMBER_BITS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_whole_pages_and_sixty_four_kibibytes_are_two_of_them() {
        assert_eq!([16 << 10, 64 << 10, 1 << 20, 4 << 20].map(chunk_of), [8 << 10, 32 << 10, 128 << 10, 256 << 10]);
        for bytes in BOTH_SIDES..BOTH_SIDES + 10_000 {
            let chunk = chunk_of(bytes);
            assert!(chunk.is_multiple_of(BUFFER) && bytes.div_ceil(chunk) >= 2, "{bytes}");
        }
    }
}
