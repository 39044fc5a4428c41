//! Reads from memory to memory. The reader posts a receive into its own memory and sends a request; the
//! exposer sends from its memory.
//!
//! MPI chooses how to transfer the bytes, and does so in calls of both sides. MPI cannot always cancel a
//! transfer, so a read that fails during one may make the process exit (`README.md`).
use crate::abi::STATUS_ROOM;
use crate::functions::MpiHandle;
use crate::inner::{Asking, Inner};
use crate::lendings::Stretch;
use crate::process::{Calls, Mpi, NAP, Status, nap};
use crate::wire::MpiFrameKind;
use core::ffi::c_int;
use foregather_host::{clock, pause::pause};
use foregather_machine::{Address, Cause, Error, Key, Nanos, Park, Rank, WaitContext, block_on};
use foregather_thread::record_work;

/// How long a transfer may take to complete after a wait for it has failed.
const ENDING: Nanos = Nanos::from_ms(500);
/// How long a wait for an answer polls MPI before it sleeps.
const LOOKING: Nanos = Nanos::from_us(50);
/// How long after a read to poll for a frame that may follow it.
const LAST_WORD: Nanos = Nanos::from_us(5);
/// The maximum length of a piece, because MPI counts in C's `int`. Longer pieces are split.
const PIECE_MAX: usize = 1 << 30;

impl Mpi {
    /// Starts to send these pieces as one message, or to receive a message into them.
    ///
    /// # Safety
    /// The pieces must stay valid until the request has completed. While MPI receives into them, nothing else
    /// may access them.
    pub(crate) unsafe fn begin_pieces(
        &self,
        calls: &Calls<'_>,
        pieces: &[Stretch],
        is_send: bool,
        (peer, tag): (Rank, c_int),
    ) -> Result<MpiHandle, Error> {
        let what = if is_send { "MPI_Isend" } else { "MPI_Irecv" };
        let begin = if is_send { None } else { Some(calls.irecv) };
        let (mut request, peer_number) = (MpiHandle(0), peer as c_int);
        let call = |at: usize, count: c_int, of: MpiHandle, request: &mut MpiHandle| {
            // SAFETY: the caller guarantees that the pieces, which the type describes, stay valid; the
            // request has room.
            unsafe {
                match begin {
                    Some(irecv) => {
                        irecv(core::ptr::with_exposed_provenance_mut(at), count, of, peer_number, tag, self.comm, request)
                    }
                    None => {
                        (calls.isend)(core::ptr::with_exposed_provenance(at), count, of, peer_number, tag, self.comm, request)
                    }
                }
            }
        };
        if let [] | [Stretch { len: ..=PIECE_MAX, .. }] = pieces {
            let one = pieces.first().copied().unwrap_or(Stretch { at: 0, len: 0 });
            let code = call(one.at, one.len as c_int, self.byte, &mut request);
            return self.done(what, Some(peer), code).map(|()| request);
        }
        let cut = |piece: &Stretch| {
            let Stretch { at, len } = *piece;
            (0..len).step_by(PIECE_MAX).map(move |from| ((at + from) as isize, (len - from).min(PIECE_MAX) as c_int))
        };
        let (places, lengths): (Vec<isize>, Vec<c_int>) = pieces.iter().flat_map(cut).unzip();
        let mut whole = MpiHandle(0);
        // SAFETY: both lists have as many entries as the call says; places are absolute addresses, relative
        // to MPI_BOTTOM.
        let code = unsafe {
            match (calls.type_create_hindexed)(
                lengths.len() as c_int,
                lengths.as_ptr(),
                places.as_ptr(),
                self.byte,
                &raw mut whole,
            ) {
                0 => (calls.type_commit)(&raw mut whole),
                code => code,
            }
        };
        self.done("MPI_Type_create_hindexed", Some(peer), code)?;
        let code = call(0, 1, whole, &mut request);
        // SAFETY: MPI keeps the type for as long as the transfer needs it.
        unsafe { (calls.type_free)(&raw mut whole) };
        self.done(what, Some(peer), code).map(|()| request)
    }
}

impl Inner {
    /// Exposes these pieces, so that other lanes can read them. Returns their key.
    pub(crate) fn lend(&self, pieces: &[&[u8]]) -> Key {
        let stretch = |piece: &&[u8]| Stretch { at: piece.as_ptr().expose_provenance(), len: piece.len() };
        self.lendings.borrow_mut().add(pieces.iter().filter(|piece| !piece.is_empty()).map(stretch).collect())
    }

    /// Ends the exposure of `key`, and waits for its readers.
    pub(crate) fn end_lending(&self, key: Key) {
        if !self.lendings.borrow_mut().end(key) {
            return;
        }
        let why = WaitContext::new("unexpose", self.group.rank).since(clock::now());
        if let Err(error) = self.attend(&why, LOOKING, |_| !self.is_sending(key)) {
            self.must_end(&error, |calls| {
                self.look(calls);
                !self.is_sending(key)
            });
        }
        self.lendings.borrow_mut().remove(key);
    }

    /// Polls MPI until `so` returns true. Sleeps between polls if nothing has arrived for `looking`.
    fn attend(&self, why: &WaitContext, looking: Nanos, mut so: impl FnMut(&Calls<'_>) -> bool) -> Result<(), Error> {
        let mut idle_since = clock::now();
        loop {
            let some = {
                let calls = self.mpi.calls();
                if so(&calls) {
                    return Ok(());
                }
                self.look(&calls)
            };
            let now = clock::now();
            if some {
                idle_since = now;
            } else if now - idle_since < looking.min(self.cpu.max_spin()) {
                pause();
            } else {
                self.cpu.check(self.bell(), why)?;
                self.cpu.guard().set_under_way(true);
                let prepared = self.cpu.prepare_park(self.bell());
                if !self.progress() {
                    block_on(self.cpu.park(self.bell(), prepared, Nanos::MAX));
                }
            }
        }
    }

    /// Reads the memory that `from` exposes under `key` into the pieces.
    pub(crate) fn fetch(&self, from: Address, key: Key, into: &mut [&mut [u8]]) -> Result<(), Error> {
        let index = self.index(from)?;
        let bytes: usize = into.iter().map(|piece| piece.len()).sum();
        let filled = into.iter_mut().filter(|piece| !piece.is_empty());
        let pieces: Vec<Stretch> =
            filled.map(|piece| Stretch { at: piece.as_mut_ptr().expose_provenance(), len: piece.len() }).collect();
        let why = WaitContext::new("get", self.group.rank).of(from.rank).since(clock::now());
        let ticket = self.asking.get().ticket.wrapping_add(1);
        self.asking.set(Asking { ticket, is_refused: false });
        let mut request = {
            let calls = self.mpi.calls();
            let tag = self.group.tags.memory(self.lane);
            // SAFETY: the pieces are borrowed until this function returns, and it returns only when the
            // receive has completed.
            let request = unsafe { self.mpi.begin_pieces(&calls, &pieces, false, (from.rank, tag)) }?;
            let what = [key.0.to_ne_bytes(), (bytes as u64).to_ne_bytes()].concat();
            // A failure is permanent, and the wait below reports it.
            let _ = self.send(&calls, index, (MpiFrameKind::Ask, ticket), &what);
            request
        };
        let (mut status, mut has_come) = (Status([0; STATUS_ROOM]), false);
        let waited = self.attend(&why, self.looking_for(bytes), |calls| {
            has_come = self.ended(calls, "MPI_Irecv", &mut request, &mut status);
            has_come || self.asking.get().is_refused || self.peers[index].left.get()
        });
        if has_come {
            // The exposer may be waiting for the end of this transfer.
            self.ring(index, 0);
            return self.cpu.guard().fault();
        }
        // The read was refused, or the wait has failed. SAFETY: the receive is active.
        unsafe { (self.mpi.calls().cancel)(&raw mut request) };
        let error = waited.err().unwrap_or_else(|| Cause::Unexposed { rank: from.rank }.into());
        let mut was_cancelled: c_int = 0;
        self.must_end(&error, |calls| {
            let ended = self.ended(calls, "MPI_Cancel", &mut request, &mut status);
            if ended {
                // SAFETY: the status is that of the completed receive.
                unsafe { (calls.test_cancelled)(status.0.as_mut_ptr(), &raw mut was_cancelled) };
            }
            ended
        });
        if was_cancelled == 0 && matches!(error.cause(), Cause::Unexposed { .. }) { Ok(()) } else { Err(error) }
    }

    /// Waits until MPI has completed a transfer from or to memory that does not belong to the lane. If it
    /// does not complete in time, the process exits, because MPI might write to the memory later, when it is
    /// used for something else.
    #[cold]
    fn must_end(&self, error: &Error, mut has_ended: impl FnMut(&Calls<'_>) -> bool) {
        let until = clock::now() + ENDING;
        while !has_ended(&self.mpi.calls()) {
            if clock::now() >= until {
                let rank = self.group.rank;
                eprintln!("foregather: rank {rank} exits, because MPI cannot take back a transfer after this error: {error}");
                // SAFETY: the call has no requirements and exits the process at once.
                unsafe { libc::_exit(1) };
            }
            nap(NAP);
        }
    }

    /// Returns how long to poll MPI for `bytes` bytes: twice as long as their transfer should take, because
    /// nothing else shows that they are on their way.
    fn looking_for(&self, bytes: usize) -> Nanos {
        LOOKING.max(Nanos(2 * self.costs().direct.of(bytes).0))
    }

    /// Records that a peer reads memory of this lane, which MPI may transfer only in calls of this lane.
    pub(crate) fn read_from_here(&self, bytes: u64) {
        self.pushing_until.set(self.pushing_until.get().max(clock::now() + self.looking_for(bytes as usize)));
    }

    /// Polls MPI while a peer reads memory of this lane, at most for the expected time. Returns whether
    /// anything has happened.
    pub(crate) fn serve_readers(&self) -> bool {
        let (mut some, began) = (false, clock::now());
        let end = self.pushing_until.get().min(Nanos(began.0.saturating_add(self.cpu.max_spin().0)));
        while clock::now() < end && self.is_read() {
            // Polling takes cache lines away from the side that copies, and CPU time if both share a core.
            pause();
            some |= self.progress();
        }
        // A reader that has finished also sends a frame to the layer above.
        let last = clock::now() + LAST_WORD;
        while some && self.waiting.get() == 0 && clock::now() < last {
            self.progress();
        }
        record_work(clock::now() - began);
        some
    }
}
