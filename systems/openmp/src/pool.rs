//! The threads of one program thread: it opens regions, is their first member, and keeps the others between
//! two of them.
use crate::affinity_format;
use crate::frames::{self, InRegion, enter};
use crate::here::{self, ImplicitTask, PartStart, RegionSpec};
use crate::icv::Icvs;
use crate::settings::settings;
use crate::statistics::{self, WaitPlace};
use crate::tasking::{self, OpenedTasks, RegionTasks};
use crate::team_state::{RegionMember, TeamState};
use core::cell::Cell;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use foregather_host::thread_end::PerThread;
use foregather_host::{affinity, forks, per_thread, usage};
use foregather_machine::{Error, Placement};
use foregather_team::protocol::{Course, HelpPolicy};
use foregather_team::{NoTeam, Panic, TeamMember, TeamProvider, Threads};
use foregather_thread::Thread;
use foregather_wait::Policy;
use std::panic::resume_unwind;
use std::rc::Rc;
use std::sync::Arc;

/// The most members that a pool has room for without growing.
const ROOM: u32 = 16;

/// Threads for the regions that one thread opens at one depth.
struct Pool {
    generation: u32,
    threads: Threads<RegionTasks>,
    policy: Policy,
    /// The state for each size.
    states: Vec<Option<Arc<TeamState>>>,
}

// The members of a thread that calls `exit` stay: regions in destructors and `atexit` handlers need them, and
// a member that ended there would destroy its `thread_local` objects beside the program's static ones.
per_thread! {
    /// This thread's pools: the first for regions that it opens on its own, the next for those within them.
    static POOLS: Vec<Option<Pool>> = Vec::new();
    /// This thread as a member of the teams of its own pools and of the one that it serves.
    static MEMBERS: Vec<Rc<RegionMember>> = Vec::new();
    /// The regions that this thread has opened and does its part of.
    static OPENED: Vec<Opened> = Vec::new();
}

thread_local! {
    /// How many of its pools are in a region.
    static OPEN: Cell<usize> = const { Cell::new(0) };
}

// What is rare stays out of the frames of what is not: a host thread may have the least stack that there is.
impl Pool {
    #[inline(never)]
    fn new(size: u32) -> Result<Self, Error> {
        let most = size.max(ROOM);
        let policy = policy_for(size);
        let threads = Threads::with_work(most, policy, settings().stack_bytes, RegionTasks)?;
        if let Some(account) = threads.account() {
            statistics::keep(WaitPlace::Join, 0, account);
        }
        Ok(Self { generation: forks::generation(), threads, policy, states: Vec::new() })
    }

    /// Returns whether this pool belongs to this process and has at least `size` threads.
    fn serves(&self, size: u32) -> bool {
        self.generation == forks::generation() && self.threads.most() >= size
    }

    #[inline(never)]
    fn state(&mut self, size: u32) -> Option<&Arc<TeamState>> {
        let at = size as usize;
        if self.states.len() <= at {
            self.states.resize_with(at + 1, || None);
        }
        if self.states[at].is_none() {
            self.states[at] = TeamState::new(size, self.policy, self.threads.fork_join()).ok().map(Arc::new);
        }
        self.states[at].as_ref()
    }

    /// Has `size` members from now on, or as many as there are threads; gives their state if there are
    /// several.
    fn gather(&mut self, size: u32) -> Option<Arc<TeamState>> {
        if self.threads.width() != size
            && let Err(error) = self.threads.resize(size)
        {
            report_missing(self.threads.width(), size, &error);
        }
        let size = self.threads.width();
        (size > 1).then(|| self.state(size).cloned()).flatten()
    }

    /// Calls `body` once on each of the members. Returns the first panic.
    fn run(&mut self, state: &Arc<TeamState>, opening: RegionSpec, body: &(impl Fn() + Sync)) -> Option<Panic> {
        let (start, loops) = (PartStart::of(state.size(), opening), AtomicU32::new(0));
        let part = |member: TeamMember| {
            if member.rank() > 0 {
                let _part = WorkerPart::begin(&start, member.rank(), state);
                affinity_format::show_if_asked();
                return body();
            }
            let _inside = enter(&start, 0, Some(region_member(state, 0)));
            affinity_format::show_if_asked();
            body();
            loops.store(here::loop_state().loops, Relaxed);
        };
        statistics::count_region();
        let left = OpenedTasks { start: &start, member: &|| region_member(state, 0), tasks: &state.tasks };
        let (_, panic) = self.threads.run_with(&part, HelpPolicy::Never, &left);
        self.over(state, loops.into_inner());
        panic
    }

    /// A region is over in which the members have met `loops` loops.
    fn over(&mut self, state: &TeamState, loops: u32) {
        release(state.size() - 1);
        if state.is_cancelled.load(Relaxed) {
            state.retire();
            self.states[state.size() as usize] = None;
        } else {
            state.renew(loops);
        }
    }

    /// Leaves everything as it was in the parent of this process.
    fn forget(self) {
        core::mem::forget(self);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.states.iter().flatten().for_each(|state| state.retire());
    }
}

/// A worker's part of a region. The worker stays a member after it, for tasks that others leave.
struct WorkerPart;

impl WorkerPart {
    fn begin(start: &PartStart, rank: u32, state: &Arc<TeamState>) -> Self {
        frames::stay(start, rank, region_member(state, rank));
        Self
    }
}

impl Drop for WorkerPart {
    fn drop(&mut self) {
        frames::end_part();
    }
}

/// Returns how members of a region of `size` wait for each other. Teams within teams that have more threads
/// than processors together sleep at once: each of them would take the threads of the others for background
/// load, and look for processors that the others have left.
fn policy_for(size: u32) -> Policy {
    let (policy, _) = settings().policy(&Thread::current().costs());
    let is_adaptive = matches!(policy, Policy::Adaptive(_));
    if is_adaptive
        && here::task().active > 0
        && here::teams_around().saturating_mul(size.into()) > affinity::allowed().len() as u64
    {
        Policy::Block
    } else {
        policy
    }
}

/// Reports, once in a process, that threads could not be started: the regions go on without them.
#[cold]
fn report_missing(width: u32, size: u32, error: &Error) {
    static REPORTED: AtomicBool = AtomicBool::new(false);
    if !REPORTED.swap(true, Relaxed) {
        eprintln!("foregather: a parallel region has {width} of {size} threads: {error}");
    }
}

/// The calling thread as a member of a team.
#[inline]
fn region_member(state: &Arc<TeamState>, rank: u32) -> Rc<RegionMember> {
    let found =
        MEMBERS.with(|members| members.read(|members| members.iter().find(|member| Arc::ptr_eq(&member.state, state)).cloned()));
    found.unwrap_or_else(|| join_team(state, rank))
}

#[cold]
fn join_team(state: &Arc<TeamState>, rank: u32) -> Rc<RegionMember> {
    let member = Rc::new(RegionMember::new(Arc::clone(state), rank));
    MEMBERS.with(|members| {
        let mut members = members.borrow_mut();
        members.retain(|member| !member.state.is_retired());
        members.push(Rc::clone(&member));
    });
    member
}

/// Calls `body` on the calling thread alone, as a region of one thread.
fn alone(opening: RegionSpec, body: &impl Fn()) {
    let _inside = enter_alone(opening);
    body();
    tasking::finish_alone();
}

/// Enters a region of one thread. Its state is on the heap, since programs nest such regions thousands deep
/// in recursive functions.
#[inline(never)]
fn enter_alone(opening: RegionSpec) -> Box<InRegion> {
    let inside = Box::new(enter(&PartStart::of(1, opening), 0, None));
    affinity_format::show_if_asked();
    inside
}

/// How many members a region gets that asks for `asked`, or for the default if that is 0.
pub fn members(asked: u32) -> u32 {
    let (ImplicitTask { active, .. }, icvs) = (here::task(), here::icvs());
    let Icvs { threads, dynamic, active_levels, thread_limit, .. } = icvs;
    if active >= active_levels {
        return 1;
    }
    let wanted = if asked == 0 { threads } else { asked };
    // Fewer are allowed only then.
    let wanted = if dynamic { wanted.min(settings().icvs.threads.max(1)) } else { wanted };
    wanted.min(within(thread_limit, here::task().group.busy().load(Relaxed)))
}

/// The most members of one more region, of `busy` threads in others.
fn within(thread_limit: u32, busy: u32) -> u32 {
    thread_limit.saturating_sub(busy).max(1)
}

/// [`members`] whose threads count from now on: other threads that open regions at the same time find them
/// taken.
fn reserve(asked: u32) -> u32 {
    let (wanted, limit) = (members(asked), here::icvs().thread_limit);
    let mut size = wanted;
    let _ = here::task().group.busy().fetch_update(Relaxed, Relaxed, |busy| {
        size = wanted.min(within(limit, busy));
        Some(busy + size - 1)
    });
    size
}

/// Threads that were reserved are not in regions any more.
fn release(threads: u32) {
    here::task().group.busy().fetch_sub(threads, Relaxed);
}

/// A parallel region: `body` is called once by each of [`members`]`(threads)` threads, of which the calling
/// one is the first. Ready when all have, and all tasks of the region are complete.
pub fn parallel(opening: impl Into<RegionSpec>, body: &(impl Fn() + Sync)) {
    let opening = opening.into();
    let size = reserve(opening.threads);
    if size == 1 || !together(size, opening, body) {
        alone(opening, body);
    }
}

/// Calls `body` once on each of `size` reserved members, or fewer if threads cannot be started. Returns
/// `false`, without a call, if there is only the calling thread.
#[inline(never)]
fn together(size: u32, opening: RegionSpec, body: &(impl Fn() + Sync)) -> bool {
    let Some((mut pool, state)) = team(size) else { return false };
    let panic = pool.run(&state, opening, body);
    put_back(pool);
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
    true
}

/// Threads with stacks smaller than this run no calls of other libraries, which know nothing of
/// `OMP_STACKSIZE`.
const LEAST_STACK: usize = 1 << 20;

/// The calling thread's threads, for calls of other libraries outside of its regions.
#[derive(Debug)]
pub struct PoolProvider;

impl TeamProvider for PoolProvider {
    /// The program's first thread gets a pool; other threads only have one if they have opened a region, so
    /// a program that calls from many threads does not have a set of workers for each.
    fn run(width: u32, help_after: HelpPolicy, part: &(impl Fn(TeamMember) + Sync)) -> Result<Course, NoTeam> {
        if OPEN.get() > 0 || here::task().active > 0 {
            return Err(if here::threads_in_regions() < width { NoTeam::Absent } else { NoTeam::InWideRegion });
        }
        if settings().stack_bytes.is_some_and(|bytes| bytes < LEAST_STACK) {
            return Err(NoTeam::Absent);
        }
        let generation = forks::generation();
        let has_pool = POOLS.with(|pools| {
            pools.read(|pools| pools.first().is_some_and(|pool| pool.as_ref().is_some_and(|pool| pool.generation == generation)))
        });
        // A pool is not replaced, since its threads have copies of the program's variables.
        let size = match has_pool {
            true => 1,
            false if usage::this_thread() == usage::this_process() => width.max(here::icvs().threads),
            false => return Err(NoTeam::Absent),
        };
        let mut pool = take_pool(0, size).ok_or(NoTeam::Absent)?;
        OPEN.set(1);
        // Without a thread for each the call goes on with those that are there.
        let _ = pool.threads.resize(width.min(pool.threads.most()));
        let part = |member: TeamMember| {
            if member.rank() > 0 {
                frames::leave_regions();
            }
            part(member);
        };
        let course = (pool.threads.width() > 1).then(|| pool.threads.run(&part, help_after).0);
        put_back(pool);
        course.ok_or(NoTeam::Absent)
    }
}

/// Sends the calling thread's threads away: the next region begins with new ones. Returns whether it has,
/// which it cannot within a region.
pub fn pause() -> bool {
    let outside = here::task().level == 0;
    if outside {
        drop(POOLS.with(PerThread::take));
    }
    outside
}

/// A region that the calling thread has opened and not yet closed.
struct Opened {
    back: InRegion,
    team: Option<(Pool, Arc<TeamState>)>,
}

/// Opens a region as [`parallel`] does, in which the calling thread does its own part itself: it is the first
/// member until it calls [`close`]. The others call `body`.
pub fn open(opening: impl Into<RegionSpec>, body: impl Fn() + Send + Sync + 'static) {
    let opening = opening.into();
    let (back, team) = match team(reserve(opening.threads)) {
        None => (enter(&PartStart::of(1, opening), 0, None), None),
        Some((mut pool, state)) => {
            let start = Arc::new(PartStart::of(state.size(), opening));
            let (shared, begin) = (Arc::clone(&state), Arc::clone(&start));
            statistics::count_region();
            pool.threads.open(Box::new(move |member: TeamMember| {
                let _part = WorkerPart::begin(&begin, member.rank(), &shared);
                affinity_format::show_if_asked();
                body();
            }));
            (enter(&start, 0, Some(region_member(&state, 0))), Some((pool, state)))
        }
    };
    affinity_format::show_if_asked();
    OPENED.with(|opened| opened.borrow_mut().push(Opened { back, team }));
}

/// Closes the region that the calling thread has opened last, when all members are done.
pub fn close() {
    let Some(Opened { back, team }) = OPENED.with(|opened| opened.borrow_mut().pop()) else { return };
    let Some((mut pool, state)) = team else {
        tasking::finish_alone();
        return drop(back);
    };
    let panic = pool.threads.close();
    let loops = here::loop_state().loops;
    drop(back);
    pool.over(&state, loops);
    put_back(pool);
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
}

/// A pool with members for a region of `size` reserved threads, and their state. `None` if the calling thread
/// executes the region alone.
fn team(size: u32) -> Option<(Pool, Arc<TeamState>)> {
    let depth = OPEN.get();
    let Some(mut pool) = (size > 1).then(|| take_pool(depth, size)).flatten() else {
        release(size - 1);
        return None;
    };
    OPEN.set(depth + 1);
    let state = pool.gather(size);
    // Threads may be fewer than were asked for.
    release(size - state.as_ref().map_or(1, |state| state.size()));
    match state {
        Some(state) => Some((pool, state)),
        None => {
            put_back(pool);
            None
        }
    }
}

/// The region of this thread's innermost pool is over.
fn put_back(pool: Pool) {
    let depth = OPEN.get() - 1;
    OPEN.set(depth);
    POOLS.with(|pools| pools.borrow_mut()[depth] = Some(pool));
}

/// Takes out this thread's pool at that depth, or makes one, for regions of `size`. `None` if none can be
/// made.
fn take_pool(depth: usize, size: u32) -> Option<Pool> {
    let kept = POOLS.with(|pools| {
        let mut pools = pools.borrow_mut();
        if pools.len() <= depth {
            pools.resize_with(depth + 1, || None);
        }
        pools[depth].take()
    });
    match kept {
        Some(pool) if pool.serves(size) => return Some(pool),
        // The threads of a parent process are not here.
        Some(pool) if pool.generation != forks::generation() => pool.forget(),
        _ => {}
    }
    Pool::new(size).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::thread::{self, ThreadId};

    /// The threads of a call of another library, by rank; or why there is no team.
    fn call(width: u32) -> Result<Vec<ThreadId>, NoTeam> {
        let found = Mutex::new(vec![thread::current().id(); width as usize]);
        let part = |member: TeamMember| found.lock().unwrap()[member.rank() as usize] = thread::current().id();
        PoolProvider::run(width, HelpPolicy::Never, &part)?;
        Ok(found.into_inner().unwrap())
    }

    #[test]
    fn a_call_of_another_library_has_the_threads_of_the_regions() {
        thread::spawn(|| {
            assert_eq!(call(3), Err(NoTeam::Absent), "this is not the first thread, and has had no region");
            let region = || {
                let found = Mutex::new([thread::current().id(); 3]);
                parallel(3, &|| found.lock().unwrap()[here::task().rank as usize] = thread::current().id());
                found.into_inner().unwrap()
            };
            let members = region();
            assert_eq!(call(3).unwrap(), members);
            assert_eq!(call(2).unwrap(), members[..2]);
            assert_eq!(region(), members, "a region after them has the same threads");
            assert_eq!(call(4).unwrap()[..3], members, "more than in the last region");
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_region_leaves_no_threads_for_calls_within_it() {
        parallel(3, &|| {
            assert_eq!(call(3), Err(NoTeam::InWideRegion));
            assert_eq!(call(4_096), Err(NoTeam::Absent), "there may be processors for more");
        });
    }

    #[test]
    fn teams_within_teams_sleep_at_once_if_they_are_more_threads_than_processors() {
        let processors = affinity::allowed().len() as u32;
        let is_adaptive = |policy| matches!(policy, Policy::Adaptive(_));
        assert!(is_adaptive(policy_for(processors * 2)), "a team that is not within another one");
        let found = Mutex::new(Vec::new());
        let part = || found.lock().unwrap().push((policy_for(1), policy_for(processors)));
        parallel(RegionSpec { threads: 2, ..RegionSpec::default() }, &part);
        let found = found.into_inner().unwrap();
        assert_eq!(found.len(), 2);
        for (one, many) in found {
            assert_eq!(is_adaptive(one), processors >= 2);
            assert_eq!(many, Policy::Block, "twice as many threads as processors");
        }
    }
}
