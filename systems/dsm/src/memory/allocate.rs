//! Allocates and frees shared memory while the program runs. All threads of all ranks make the same calls,
//! and the first thread of each rank does the work.
//!
//! A new minipage has its only copy at its manager, closed and zero. A freed minipage is closed everywhere
//! before any rank forgets it, and by then no prefetch of it is in flight, so its number can be reused.
use super::array::{Array, Plain};
use super::call::Call;
use super::heap::ArrayLayout;
use super::thread::Thread;
use crate::Minipage;
use crate::node::PageStore;
use crate::protocol::Want;
use core::any::type_name;
use core::panic::Location;
use foregather_barrier::dissemination;
use foregather_machine::{Cause, Error, Fabric, Member, block_on};
use foregather_message::collective::allreduce;
use std::sync::PoisonError;

/// This many bytes are cleared at a time.
const ZEROS: [u8; 4096] = [0; 4096];

impl<F: Fabric> Thread<'_, F> {
    /// Allocates like [`SharedAllocator::array`](super::SharedAllocator::array), while the program runs. All
    /// threads of all ranks make the same call. It is also a barrier.
    ///
    /// ```
    /// use foregather_dsm::memory::{Settings, lanes, run};
    /// # use foregather_machine::Address;
    /// # use foregather_shm::{SegmentSpec, ShmFabric};
    /// # let fabric = ShmFabric::between_threads(SegmentSpec::new(1, lanes(2)))?;
    /// # let lane = |lane| fabric.lane(foregather_thread::Thread::current(), Address { rank: 0, lane }).unwrap();
    /// # let lanes = (0..lanes(2)).map(lane).collect();
    /// let settings = Settings { bytes: 4096, threads: 2, ..Settings::default() };
    /// let ended = run(lanes, settings, |_| Ok(()), |thread, ()| {
    ///     let mut last = 0;
    ///     for turn in 0..10 {
    ///         let words = thread.array::<u64>(300, 100)?;
    ///         assert_eq!(words.get(299), 0);
    ///         thread.barrier()?;
    ///         words.fetch_add(299, turn);
    ///         thread.barrier()?;
    ///         last = words.get(299);
    ///         thread.free(words)?;
    ///     }
    ///     Ok(last)
    /// })?;
    /// assert!(ended.leave().iter().all(|thread| thread.result == 18));
    /// # Ok::<(), foregather_machine::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`SharedAllocator::array`](super::SharedAllocator::array) and [`Thread::barrier`];
    /// [`Cause::Setting`] if threads make different calls. If there is not enough memory, or calls differ,
    /// all threads get the error, nothing has changed, and the program can continue.
    #[track_caller]
    pub fn array<T: Plain>(&self, len: usize, unit: usize) -> Result<Array<T>, Error> {
        self.chunked(len, unit, 1)
    }

    /// Allocates like [`Thread::array`], for a caller that names the call and its source location itself: all
    /// threads of all ranks make `call`.
    ///
    /// # Errors
    /// As for [`Thread::array`].
    pub fn array_by<T: Plain>(
        &self,
        call: Call,
        (len, unit): (usize, usize),
        place: &'static Location<'static>,
    ) -> Result<Array<T>, Error> {
        let shape = ArrayLayout { len, unit, level: 1 };
        self.collective(call, || self.give(shape, place))
    }

    /// Allocates like [`SharedAllocator::chunked`](super::SharedAllocator::chunked), while the program runs.
    ///
    /// # Errors
    /// As for [`Thread::array`].
    #[track_caller]
    pub fn chunked<T: Plain>(&self, len: usize, unit: usize, level: u32) -> Result<Array<T>, Error> {
        let (shape, place) = (ArrayLayout { len, unit, level }, Location::caller());
        let call = Call::new(type_name::<T>(), &[len as u64, unit as u64, u64::from(level), size_of::<T>() as u64]);
        self.collective(call, || self.give(shape, place))
    }

    /// Frees an array on all ranks. All threads of all ranks make the same call, when none of them will
    /// access the array again. It is also a barrier. Later arrays reuse its memory and the numbers of its
    /// minipages.
    ///
    /// A call with a freed array returns an error. A load or store cannot return one: it ends the process
    /// with an error message, or accesses the array that now uses the memory.
    ///
    /// # Errors
    /// [`Cause::Refused`] if it was freed before, or belongs to another run; [`Cause::Setting`] if threads
    /// make different calls; otherwise as for [`Thread::barrier`].
    pub fn free<T: Plain>(&self, array: Array<T>) -> Result<(), Error> {
        let first = array.all_units()[0];
        let which = [first.offset as u64, u64::from(first.view), array.len() as u64, array.unit() as u64];
        self.collective(Call::new("free", &which), || self.take_back(&array))
    }

    /// Checks that all threads of all ranks make this call. It is also a barrier.
    ///
    /// # Errors
    /// As for [`Call::check`]; then all threads get the error, and the program can continue. Otherwise as for
    /// [`Thread::barrier`].
    pub fn agree(&self, call: Call) -> Result<(), Error> {
        self.collective(call, || Ok(Ok(())))
    }

    /// Makes a collective call: the first thread of each rank runs `act`, and all threads get its result. An
    /// error of `act` itself ends the rank.
    fn collective<R, A>(&self, call: Call, act: A) -> Result<R, Error>
    where
        R: Clone + Send + 'static,
        A: FnOnce() -> Result<Result<R, Error>, Error>,
    {
        let and = |one, other| Call::from_bits(one).and(Call::from_bits(other)).bits();
        self.reduction.give(self.slot, call.bits());
        self.meet(|| {
            let mut all = [self.reduction.combined(and).unwrap_or(Call::UNLIKE.bits())];
            block_on(allreduce(self.messenger, &mut all, and))?;
            let came = match Call::from_bits(all[0]).check() {
                Ok(()) => act()?,
                Err(unlike) => Err(unlike),
            };
            self.reduction.share(came);
            Ok(())
        })?;
        self.reduction.shared::<Result<R, Error>>().unwrap_or_else(|| Err(Call::UNLIKE.check().unwrap_err()))
    }

    fn give<T: Plain>(&self, shape: ArrayLayout, place: &'static Location<'static>) -> Result<Result<Array<T>, Error>, Error> {
        let (known, given) = {
            let mut heap = self.heap.lock().unwrap_or_else(PoisonError::into_inner);
            let (known, given) = (heap.numbers(), heap.give::<T>(shape, place));
            given.iter().try_for_each(|array| heap.fill(array))?;
            (known, given)
        };
        if let Ok(array) = &given {
            for minipage in self.managed(array.minipages(0..array.len())) {
                self.clear(minipage);
                if minipage.0 < known {
                    block_on(self.requester().tell(self.node, minipage, Want::Allocate))?;
                }
            }
            block_on(dissemination(self.messenger))?;
        }
        Ok(given)
    }

    fn take_back<T: Plain>(&self, array: &Array<T>) -> Result<Result<(), Error>, Error> {
        let heap = || self.heap.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = array.live() {
            return Ok(Err(error));
        }
        if !heap().has(array) {
            let why = "an array is freed by the threads of the run that allocated it".to_owned();
            return Ok(Err(Cause::Refused { why }.into()));
        }
        block_on(self.requester().quiet(self.node))?;
        block_on(dissemination(self.messenger))?;
        let gone = heap().free(array.all_units())?;
        for minipage in self.managed(gone.iter().copied()) {
            block_on(self.requester().tell(self.node, minipage, Want::Free))?;
        }
        block_on(dissemination(self.messenger))?;
        heap().retire(&gone);
        array.end();
        Ok(Ok(()))
    }

    /// Returns the minipages that this rank manages.
    fn managed(&self, minipages: impl Iterator<Item = Minipage>) -> impl Iterator<Item = Minipage> {
        let (homes, here) = (self.node.homes(), self.messenger.rank());
        minipages.filter(move |&minipage| homes.of(minipage) == here)
    }

    fn clear(&self, minipage: Minipage) {
        let bytes = self.node.copies().bytes(minipage).unwrap_or(0);
        for at in (0..bytes).step_by(ZEROS.len()) {
            self.node.copies().write(minipage, at, &ZEROS[..ZEROS.len().min(bytes - at)]);
        }
    }
}
