//! The hand-over of a borrowed closure to threads that outlive it: the only place of this crate that is unsafe.
//!
//! A call leaves a pointer to its closure on the desk, opens a region, and takes part in it. The pointer is read only by who has taken
//! a part of that region, and the region is over only when all parts are done (races T6 to T8 of `core/barrier/README.md`).
//! So nobody has the pointer before the call has begun or after it has returned.
use crate::Member;
use crate::protocol::{Course, HelpAfter, TeamLeader, TeamWorker};
use core::any::Any;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use foregather_machine::{CachePadded, Error, Placement, Rank, block_on, reached};
use foregather_thread::Thread;
use foregather_wait::Policy;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

/// What a member has panicked with.
pub(crate) type Panic = Box<dyn Any + Send>;

/// What a region works on: one cache line.
#[derive(Clone, Copy)]
struct RegionWork {
    call: unsafe fn(*const (), Member) -> Result<(), Panic>,
    work: *const (),
    size: u32,
}

/// Where a job is left for those who take its parts.
struct WorkDesk {
    job: CachePadded<UnsafeCell<RegionWork>>,
    panicked: AtomicBool,
    /// The first panic of the region.
    panic: Mutex<Option<Panic>>,
}

// SAFETY: `job` is written by the leader while no part of a region is taken, and read by who has taken one; the words of the team
// order the two. What `work` points to is `Sync` and is borrowed until the region is over.
unsafe impl Sync for WorkDesk {}
// SAFETY: as above; where the desk itself is makes no difference.
unsafe impl Send for WorkDesk {}

impl WorkDesk {
    fn new() -> Self {
        let job = RegionWork { call: call::<fn(Member)>, work: core::ptr::null(), size: 0 };
        Self { job: CachePadded(UnsafeCell::new(job)), panicked: AtomicBool::new(false), panic: Mutex::new(None) }
    }

    /// Does one part.
    ///
    /// # Safety
    /// The caller has taken that part of the region that is open, and has not yet said that it is done.
    #[inline]
    unsafe fn part(&self, rank: Rank) {
        // SAFETY: whoever has a part may read the job; nobody writes it until all parts are done.
        let job = unsafe { *self.job.0.get() };
        // SAFETY: `call` was made for what `work` points to, which is borrowed until all parts are done.
        if let Err(panic) = unsafe { (job.call)(job.work, Member { rank, size: job.size }) } {
            self.keep(panic);
        }
    }

    #[cold]
    fn keep(&self, panic: Panic) {
        reached("team:J2");
        self.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
        // Seen by the leader, which joins what this part comes before.
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

/// Calls a closure of that type. A panic ends here: other members' parts go on.
///
/// # Safety
/// `work` points to a living `F`.
unsafe fn call<F: Fn(Member)>(work: *const (), member: Member) -> Result<(), Panic> {
    // SAFETY: the caller says so.
    let work = unsafe { &*work.cast::<F>() };
    catch_unwind(AssertUnwindSafe(|| work(member)))
}

/// What all members have.
struct Shared {
    team: foregather_barrier::ForkJoin<Thread>,
    desk: WorkDesk,
}

/// The leader's side of a team, and its threads, as far as they were started. Dropping it lets them go; nobody waits for them.
pub(crate) struct Threads {
    /// `Some` until it is dropped.
    leader: Option<TeamLeader<Thread>>,
    shared: Arc<Shared>,
    policy: Policy,
    /// How many members may take part: the leader, and those who were called.
    width: u32,
    started: u32,
    /// Which thread led last.
    by: usize,
}

impl Threads {
    /// For at most so many members; so far there is only the leader.
    ///
    /// # Errors
    /// [`foregather_machine::Cause::Size`] for none, or more than a team takes.
    pub(crate) fn new(most: u32, policy: Policy) -> Result<Self, Error> {
        let shared = Arc::new(Shared { team: foregather_barrier::ForkJoin::new(most)?, desk: WorkDesk::new() });
        let cpu = Thread::current();
        let wake = cpu.costs().remote_wake;
        let mut leader = shared.team.leader(cpu, policy)?;
        for worker in 1..most {
            leader.dismiss(worker)?;
        }
        Ok(Self { leader: Some(TeamLeader::new(leader, wake)), shared, policy, width: 1, started: 1, by: this_thread() })
    }

    /// How many members it may have.
    pub(crate) fn most(&self) -> u32 {
        self.shared.team.size()
    }

    /// How many it has.
    pub(crate) fn width(&self) -> u32 {
        self.width
    }

    /// Calls members, or sends them away. Their threads are started when they are called first.
    ///
    /// # Errors
    /// If one cannot be started: those that are there take part.
    pub(crate) fn resize(&mut self, width: u32) -> Result<(), Error> {
        let Some(TeamLeader { handle, .. }) = &mut self.leader else { return Ok(()) };
        while self.width > width {
            self.width -= 1;
            handle.dismiss(self.width)?;
        }
        while self.width < width.min(self.shared.team.size()) {
            if self.started == self.width {
                let (shared, rank, policy) = (Arc::clone(&self.shared), self.width, self.policy);
                foregather_thread::start(&format!("team {rank}"), move |cpu| follow(&shared, cpu, rank, policy))?;
                self.started += 1;
            }
            handle.recall(self.width)?;
            self.width += 1;
        }
        Ok(())
    }

    /// Does `work` once for every member, on as many threads as are there. How that went, and the first panic.
    #[inline]
    pub(crate) fn run<F: Fn(Member) + Sync>(&mut self, work: &F, patience: HelpAfter) -> (Course, Option<Panic>) {
        let Self { leader: Some(leader), shared, width, by, .. } = self else { not_over("it has no leader") };
        let desk = &shared.desk;
        if *by != this_thread() {
            reached("team:J5");
            *by = this_thread();
            leader.handle.lead_from(Thread::current());
        }
        let job = RegionWork { call: call::<F>, work: core::ptr::from_ref(work).cast(), size: *width };
        // SAFETY: no region is open, since each call of this function ends with its join, so nobody has a part; and this one has
        // the leader to itself.
        unsafe { *desk.job.0.get() = job };
        let open = OpenRegion;
        let part = async |rank| {
            // SAFETY: the leader has part 0, and those that it says it has taken.
            unsafe { desk.part(rank) }
        };
        let course = match block_on(leader.region(patience, part)) {
            Ok(course) => course,
            Err(error) => not_over(&error.to_string()),
        };
        core::mem::forget(open);
        (course, desk.take_panic())
    }

    /// In a child of a fork: the members are not there, and nothing that they or the parent's leader may have had in hand is touched.
    pub(crate) fn forget(self) {
        core::mem::forget(self);
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(TeamLeader { handle, .. }) = self.leader.take() {
            // No region is open: this cannot fail, and if it did the workers would end with an error.
            let _ = handle.finish();
        }
    }
}

/// A region whose parts may be under way: nothing that they work on may go away.
struct OpenRegion;

impl Drop for OpenRegion {
    fn drop(&mut self) {
        not_over("its leader was interrupted");
    }
}

/// Ends the process, since it cannot go on: members may still work on what the caller would take away. A panic that may not leave
/// its function does that, and prints why.
#[cold]
fn not_over(why: &str) -> ! {
    extern "C" fn end(why: &&str) -> ! {
        panic!("a region of a team was left before all its parts were done: {why}");
    }
    end(&why)
}

/// What a thread of a team does.
fn follow(shared: &Shared, cpu: Thread, rank: Rank, policy: Policy) {
    let Ok(worker) = shared.team.worker(cpu, rank, policy) else { return };
    let part = async |rank| {
        // SAFETY: a follower's parts are those that its worker has taken and not said to be done.
        unsafe { shared.desk.part(rank) }
    };
    // An error is the end, too: there is nobody to tell.
    let _ = block_on(TeamWorker::new(worker, policy).serve(part));
}

/// One of the threads that live now, told from the others without asking the kernel. A later one may have the same.
#[inline]
fn this_thread() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| core::ptr::from_ref(here).addr())
}

#[cfg(test)]
mod tests;
