//! Memory to memory: the reader opens a receive in its own pieces and asks; the exposer sends from its own.
//!
//! MPI moves the bytes by its best way, in calls of both sides. It cannot always take a transfer back: a
//! reading that fails while one is under way ends the process (`README.md`).
use crate::abi::STATUS_ROOM;
use crate::functions::MpiHandle;
use crate::inner::{Asking, Inner};
use crate::lendings::Stretch;
use crate::process::{Calls, Mpi, NAP, Status, nap};
use crate::wire::MpiFrameKind;
use core::ffi::c_int;
use foregather_host::{clock, pause::pause};
use foregather_machine::{Address, Cause, Error, Key, Nanos, Park, Rank, WaitContext, block_on};

/// How long a transfer may take to end once a wait for it has failed.
const ENDING: Nanos = Nanos::from_ms(500);
/// How long a wait for an answer looks at MPI before it sleeps.
const LOOKING: Nanos = Nanos::from_us(50);
/// How soon after a reading another frame may follow.
const LAST_WORD: Nanos = Nanos::from_us(5);
/// MPI counts in C's `int`: longer pieces are cut.
const PIECE_MAX: usize = 1 << 30;

impl Mpi {
    /// Begins to send these pieces as one message, or to receive one into them.
    ///
    /// # Safety
    /// The pieces are MPI's until the request has ended; when receiving, nothing else refers to them.
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
            // SAFETY: the caller lends the pieces, which the type describes; the request has room.
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
        // SAFETY: the lists have as many entries as they say; places are addresses, counted from MPI_BOTTOM.
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
    /// Lets others read these pieces.
    pub(crate) fn lend(&self, pieces: &[&[u8]]) -> Key {
        let stretch = |piece: &&[u8]| Stretch { at: piece.as_ptr().expose_provenance(), len: piece.len() };
        self.lendings.borrow_mut().add(pieces.iter().filter(|piece| !piece.is_empty()).map(stretch).collect())
    }

    /// Ends the exposure, and waits for its readers.
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

    /// Looks at MPI until `so` holds; sleeps once nothing has come for `looking`.
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

    /// Fills the pieces from the memory that `from` exposes.
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
            // SAFETY: the pieces are borrowed until this function returns, which it does only when the
            // receive has ended.
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
            // The exposer may wait for the end of this transfer.
            self.ring(index, 0);
            return self.cpu.guard().fault();
        }
        // Refused, or the wait has failed.
        // SAFETY: the receive is active.
        unsafe { (self.mpi.calls().cancel)(&raw mut request) };
        let error = waited.err().unwrap_or_else(|| Cause::Unexposed { rank: from.rank }.into());
        let mut was_cancelled: c_int = 0;
        self.must_end(&error, |calls| {
            let ended = self.ended(calls, "MPI_Cancel", &mut request, &mut status);
            if ended {
                // SAFETY: the status is that of the receive that has ended.
                unsafe { (calls.test_cancelled)(status.0.as_mut_ptr(), &raw mut was_cancelled) };
            }
            ended
        });
        if was_cancelled == 0 && matches!(error.cause(), Cause::Unexposed { .. }) { Ok(()) } else { Err(error) }
    }

    /// Waits until MPI has ended a transfer from or to memory that is not the lane's. If it does not, this
    /// process cannot go on: MPI might write there later, when the memory has another use.
    #[cold]
    fn must_end(&self, error: &Error, mut has_ended: impl FnMut(&Calls<'_>) -> bool) {
        let until = clock::now() + ENDING;
        while !has_ended(&self.mpi.calls()) {
            if clock::now() >= until {
                let rank = self.group.rank;
                eprintln!("foregather: rank {rank} exits, because MPI cannot take back a transfer after this error: {error}");
                // SAFETY: the call has no requirements: it ends the process at once.
                unsafe { libc::_exit(1) };
            }
            nap(NAP);
        }
    }

    /// How long to look at MPI for `bytes` bytes: twice as long as they should take, since nothing else shows
    /// that they are on their way.
    fn looking_for(&self, bytes: usize) -> Nanos {
        LOOKING.max(Nanos(2 * self.costs().direct.of(bytes).0))
    }

    /// A peer reads memory of ours: its bytes may go in calls of ours only.
    pub(crate) fn read_from_here(&self, bytes: u64) {
        self.pushing_until.set(self.pushing_until.get().max(clock::now() + self.looking_for(bytes as usize)));
    }

    /// Looks at MPI while a peer reads from here, as long as that should take. `true`: something has
    /// happened.
    pub(crate) fn serve_readers(&self) -> bool {
        let (mut some, began) = (false, clock::now());
        let end = self.pushing_until.get().min(Nanos(began.0.saturating_add(self.cpu.max_spin().0)));
        while clock::now() < end && self.is_read() {
            // A look takes the copying side's memory from it, and its core if they share one.
            pause();
            some |= self.progress();
        }
        // A reader that is done also tells the layer above.
        let last = clock::now() + LAST_WORD;
        while some && self.waiting.get() == 0 && clock::now() < last {
            self.progress();
        }
        some
    }
}
