//! Hands a borrowed closure over to threads that outlive it. This is the only unsafe code of this crate.
//!
//! A call stores a pointer to its closure in the slot, opens a region and runs its own part. A member reads
//! the pointer only after it has taken a part of that region, and the region ends only when all parts are
//! done (races T6 to T8 of `core/barrier/README.md`). So no member has the pointer before the call starts or
//! after it returns.
mod table;

pub(crate) use table::TeamSource;
pub use table::{NoTeam, TeamProvider, TeamTable};

use crate::TeamMember;
use crate::protocol::{Course, HelpPolicy, TeamLeader, TeamWorker};
use core::any::Any;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use foregather_barrier::{ForkJoin, JoinWork, NoWork};
use foregather_machine::{CachePadded, Error, Nanos, Placement, Rank, block_on, reached};
use foregather_thread::Thread;
use foregather_wait::{Account, Policy};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

/// The payload of a member's panic.
pub type Panic = Box<dyn Any + Send>;

/// The closure that workers run in a region whose leader runs other code.
pub type WorkersPart = Box<dyn Fn(TeamMember) + Send + Sync>;

/// The work of a region, in one cache line.
#[derive(Clone, Copy)]
struct RegionWork {
    call: unsafe fn(*const (), TeamMember) -> Result<(), Panic>,
    work: *const (),
    size: u32,
}

/// Holds the job that the leader publishes for members that take parts of it.
struct JobSlot {
    job: CachePadded<UnsafeCell<RegionWork>>,
    panicked: AtomicBool,
    /// The first panic of the region.
    panic: Mutex<Option<Panic>>,
}

// SAFETY: the leader writes `job` while no part of a region is taken, and only members that have taken a part
// read it; the words of the team order the two. What `work` points to is `Sync` and is borrowed until the
// region is over.
unsafe impl Sync for JobSlot {}
// SAFETY: the accesses to `job` are ordered as for `Sync`, wherever the slot lies.
unsafe impl Send for JobSlot {}

impl JobSlot {
    fn new() -> Self {
        let job = RegionWork { call: call::<fn(TeamMember)>, work: core::ptr::null(), size: 0 };
        Self { job: CachePadded(UnsafeCell::new(job)), panicked: AtomicBool::new(false), panic: Mutex::new(None) }
    }

    /// Runs one part.
    ///
    /// # Safety
    /// The caller has taken part `rank` of the open region and has not yet reported it done.
    #[inline]
    unsafe fn part(&self, rank: Rank) {
        // SAFETY: by this function's contract the caller has a part, and the leader does not write the job
        // until all parts are done.
        let job = unsafe { *self.job.0.get() };
        // SAFETY: `call` was made for what `work` points to, which is borrowed until all parts are done.
        if let Err(panic) = unsafe { (job.call)(job.work, TeamMember { rank, size: job.size }) } {
            self.keep(panic);
        }
    }

    #[cold]
    fn keep(&self, panic: Panic) {
        reached("team:J2");
        self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
        // The leader sees this store, because its join waits for this part.
        self.panicked.store(true, Relaxed);
    }

    #[inline]
    fn take_panic(&self) -> Option<Panic> {
        if !self.panicked.load(Relaxed) {
            return None;
        }
        self.panicked.store(false, Relaxed);
        self.panic.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Calls a closure of type `F` and catches its panic, so that the other members' parts continue.
///
/// # Safety
/// `work` points to a living `F`.
unsafe fn call<F: Fn(TeamMember)>(work: *const (), member: TeamMember) -> Result<(), Panic> {
    // SAFETY: by this function's contract `work` points to a living `F`.
    let work = unsafe { &*work.cast::<F>() };
    catch_unwind(AssertUnwindSafe(|| work(member)))
}

/// The state that all members share.
struct HandoverState<W> {
    team: ForkJoin<Thread>,
    slot: JobSlot,
    work: W,
}

/// The leftover work of regions. A panic in it is caught like a panic of a part, so that the other members
/// continue.
struct CatchPanics<'s, W>(&'s W, &'s JobSlot);

impl<W: JoinWork<Thread>> JoinWork<Thread> for CatchPanics<'_, W> {
    type Item = W::Item;

    #[inline]
    fn find(&self, cpu: &Thread, rank: Rank, is_patient: bool) -> Option<W::Item> {
        self.0.find(cpu, rank, is_patient)
    }
    fn put_back(&self, cpu: &Thread, rank: Rank, item: W::Item) {
        self.0.put_back(cpu, rank, item);
    }
    #[inline]
    fn patience(&self) -> Nanos {
        self.0.patience()
    }
    async fn run(&self, cpu: &Thread, rank: Rank, first: W::Item, next: impl Fn() -> Option<W::Item>) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| block_on(self.0.run(cpu, rank, first, next)))) {
            self.1.keep(panic);
        }
    }
}

/// The leader's side of a team and those of its threads that have started. Dropping it releases the threads
/// without waiting for them.
pub struct Threads<W = NoWork> {
    /// `None` only while it is being dropped.
    leader: Option<TeamLeader<Thread>>,
    shared: Arc<HandoverState<W>>,
    policy: Policy,
    stack_bytes: Option<usize>,
    /// The work of the open region, if its leader is not in [`Threads::run`].
    opened: Option<Box<WorkersPart>>,
    /// How many members may take part: the leader, and the workers that are in use.
    width: u32,
    started: u32,
    /// The thread that was the leader last.
    by: usize,
}

impl Threads<NoWork> {
    /// Creates a team of at most `most` members, which wait with `policy` and have stacks of `stack_bytes`
    /// (or the default size). At first it has only the leader.
    ///
    /// # Errors
    /// [`foregather_machine::Cause::Size`] for 0, or for more than a team supports.
    pub fn new(most: u32, policy: Policy, stack_bytes: Option<usize>) -> Result<Self, Error> {
        Self::with_work(most, policy, stack_bytes, NoWork)
    }
}

impl<W: JoinWork<Thread> + Send + Sync + 'static> Threads<W> {
    /// Creates a team like [`Threads::new`] whose parts can leave `work` behind.
    ///
    /// # Errors
    /// As for [`Threads::new`].
    pub fn with_work(most: u32, policy: Policy, stack_bytes: Option<usize>, work: W) -> Result<Self, Error> {
        let shared = Arc::new(HandoverState { team: ForkJoin::new(most)?, slot: JobSlot::new(), work });
        let cpu = Thread::current();
        let wake = cpu.costs().remote_wake;
        let mut leader = shared.team.leader(cpu, policy)?;
        for worker in 1..most {
            leader.dismiss(worker)?;
        }
        let leader = Some(TeamLeader::new(leader, wake));
        Ok(Self { leader, shared, policy, stack_bytes, opened: None, width: 1, started: 1, by: this_thread() })
    }

    /// Returns the fork-join object with which its members begin and end regions.
    pub fn fork_join(&self) -> &ForkJoin<Thread> {
        &self.shared.team
    }

    /// Returns the maximum number of members.
    pub fn most(&self) -> u32 {
        self.shared.team.size()
    }

    /// Returns the current number of members.
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Returns the statistics of the leader's joins.
    pub fn account(&self) -> Option<&Arc<Account>> {
        self.leader.as_ref().map(|leader| leader.handle.account())
    }

    /// Sets the number of members. A member's thread starts when it is first needed.
    ///
    /// # Errors
    /// If a thread cannot be started; regions then use the members that exist.
    pub fn resize(&mut self, width: u32) -> Result<(), Error> {
        let Some(TeamLeader { handle, .. }) = &mut self.leader else { return Ok(()) };
        while self.width > width {
            self.width -= 1;
            handle.dismiss(self.width)?;
        }
        while self.width < width.min(self.shared.team.size()) {
            if self.started == self.width {
                let (shared, rank, policy) = (Arc::clone(&self.shared), self.width, self.policy);
                let body = move |cpu| worker_main(&shared, cpu, rank, policy);
                foregather_thread::start(&format!("team {rank}"), self.stack_bytes, body)?;
                self.started += 1;
            }
            handle.recall(self.width)?;
            self.width += 1;
        }
        Ok(())
    }

    /// Calls `work` once for every member, on the threads that have started. Returns the timing of the region
    /// and the first panic.
    ///
    /// # Panics
    /// If a region is open.
    #[inline]
    pub fn run<F: Fn(TeamMember) + Sync>(&mut self, work: &F, patience: HelpPolicy) -> (Course, Option<Panic>) {
        self.run_with(work, patience, &NoWork)
    }

    /// Runs parts like [`Threads::run`] that can leave `left` behind, as the leader finds it.
    ///
    /// # Panics
    /// If a region is open.
    #[inline]
    pub fn run_with<F: Fn(TeamMember) + Sync>(
        &mut self,
        work: &F,
        patience: HelpPolicy,
        left: &impl JoinWork<Thread>,
    ) -> (Course, Option<Panic>) {
        assert!(self.opened.is_none(), "a region of this team is open");
        self.publish_job(RegionWork { call: call::<F>, work: core::ptr::from_ref(work).cast(), size: self.width });
        let Self { leader: Some(leader), shared, .. } = self else { abort_open_region("it has no leader") };
        let slot = &shared.slot;
        let open = OpenRegion;
        let part = async |rank| {
            // SAFETY: the leader calls this for part 0 and for parts that its exchange has taken.
            unsafe { slot.part(rank) }
        };
        let course = match block_on(leader.region_with(patience, part, &CatchPanics(left, slot))) {
            Ok(course) => course,
            Err(error) => abort_open_region(&error.to_string()),
        };
        core::mem::forget(open);
        (course, slot.take_panic())
    }

    /// Opens a region in which each worker calls `work` once. The leader can run other code until
    /// [`Threads::close`].
    ///
    /// # Panics
    /// If a region is open already.
    pub fn open(&mut self, work: WorkersPart) {
        assert!(self.opened.is_none(), "a region of this team is open");
        // Boxed, because `self` may be moved.
        let work = core::ptr::from_ref(&**self.opened.insert(Box::new(work))).cast();
        self.publish_job(RegionWork { call: call::<WorkersPart>, work, size: self.width });
        let Self { leader: Some(leader), .. } = self else { abort_open_region("it has no leader") };
        if let Err(error) = leader.handle.fork() {
            abort_open_region(&error.to_string());
        }
    }

    /// Waits until all workers have finished their parts of the open region. Returns the first panic.
    pub fn close(&mut self) -> Option<Panic> {
        let Self { leader: Some(leader), shared, opened, .. } = self else { abort_open_region("it has no leader") };
        if let Err(error) = block_on(leader.handle.join_with(&CatchPanics(&shared.work, &shared.slot))) {
            abort_open_region(&error.to_string());
        }
        *opened = None;
        shared.slot.take_panic()
    }

    /// Publishes a job for the members of the next region.
    #[inline]
    fn publish_job(&mut self, job: RegionWork) {
        let Self { leader: Some(leader), shared, by, .. } = self else { abort_open_region("it has no leader") };
        if *by != this_thread() {
            reached("team:J5");
            *by = this_thread();
            leader.handle.rebind(Thread::current());
        }
        // SAFETY: no region is open: `run` ends with its join, and both functions that open a region check
        // this. So no member has a part, and this call has exclusive access to the leader.
        unsafe { *shared.slot.job.0.get() = job };
    }

    /// Forgets the threads in a forked child, where they do not exist. Does not touch anything that they or
    /// the parent's leader were using.
    pub fn forget(self) {
        core::mem::forget(self);
    }
}

impl<W> Drop for Threads<W> {
    fn drop(&mut self) {
        if let Some(work) = self.opened.take() {
            // The process or the leader's thread exits inside the region: keep what the workers are using.
            core::mem::forget((work, self.leader.take()));
        }
        if let Some(TeamLeader { handle, .. }) = self.leader.take() {
            // No region is open, so this cannot fail; if it did, the workers would end with an error.
            let _ = handle.finish();
        }
    }
}

/// A region whose parts may still be running: their data must stay alive.
struct OpenRegion;

impl Drop for OpenRegion {
    fn drop(&mut self) {
        abort_open_region("its leader was interrupted");
    }
}

/// Aborts the process, because members may still use data that the caller is about to free. A panic that
/// cannot unwind out of its function aborts and prints why.
#[cold]
fn abort_open_region(why: &str) -> ! {
    extern "C" fn end(why: &&str) -> ! {
        panic!("a region of a team was left before all its parts were done: {why}");
    }
    end(&why)
}

/// Runs a team's thread.
fn worker_main<W: JoinWork<Thread>>(shared: &HandoverState<W>, cpu: Thread, rank: Rank, policy: Policy) {
    let Ok(worker) = shared.team.worker(cpu, rank, policy) else { return };
    let part = async |rank| {
        // SAFETY: `serve` calls this for parts that its worker has taken and not reported done.
        unsafe { shared.slot.part(rank) }
    };
    // An error also ends the thread, because no caller would see it.
    let _ = block_on(TeamWorker::new(worker, policy).serve_with(part, &CatchPanics(&shared.work, &shared.slot)));
    shared.work.leave();
}

/// Returns a number for this thread that no other live thread has, without a system call. A later thread may
/// get the same number.
#[inline]
fn this_thread() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| core::ptr::from_ref(here).addr())
}

#[cfg(test)]
mod tests;
