//! What the calling thread knows of where it is: its task, its place in a team, and where it is in the loops
//! of the region.
//!
//! The task and the state of the loops are plain cells: a question costs one address computation, and they
//! can be asked while a thread ends, when everything with a destructor is gone.
use crate::binding;
use crate::contention::{ContentionGroup, OwnGroup};
use crate::icv::{Icvs, League, ProcBind};
use crate::iteration_space::IterationSpace;
use crate::places::{Assigned, PlacePartition, inherited};
use crate::settings::settings;
use crate::team_state::RegionMember;
use core::cell::{Cell, RefCell};
use core::mem::ManuallyDrop;
use core::sync::atomic::Ordering::Relaxed;
use std::rc::Rc;
use std::sync::Arc;

/// An implicit task: a thread's part of a region, or the program outside of all regions.
#[derive(Clone, Copy, Debug)]
pub struct ImplicitTask {
    /// The thread's number in the region.
    pub rank: u32,
    /// The members of the region.
    pub size: u32,
    /// Regions around it.
    pub level: u32,
    /// Regions of several members around it.
    pub active: u32,
    /// The team that it belongs to.
    pub league: League,
    /// Whose threads count with its own.
    pub(crate) group: ContentionGroup,
    /// What its own constructs go by; `None` until the program's environment was read.
    icvs: Option<Icvs>,
    /// The places that its regions make use of; `None` for all.
    partition: Option<PlacePartition>,
}

/// Where a thread is in the loops of its region.
#[derive(Clone, Copy)]
pub(crate) struct LoopState {
    /// Loops and sections that it has met.
    pub(crate) loops: u32,
    /// Constructs of one member that it has met.
    pub(crate) singles: u32,
    /// The loop that it is in.
    pub(crate) space: IterationSpace,
    /// Chunks of it that this thread has by its rank.
    pub(crate) round: u64,
    /// The chunk whose part in order it may still have to do.
    pub(crate) chunk: (u64, u64),
}

/// The region around a task, for questions about regions further out.
#[derive(Debug)]
pub(crate) struct Outer {
    pub(crate) task: ImplicitTask,
    pub(crate) outer: Option<Arc<Outer>>,
}

const OUTSIDE: ImplicitTask = ImplicitTask {
    rank: 0,
    size: 1,
    level: 0,
    active: 0,
    league: League::ALONE,
    group: ContentionGroup::PROGRAM,
    icvs: None,
    partition: None,
};
const NO_LOOP: LoopState = LoopState { loops: 0, singles: 0, space: IterationSpace::NONE, round: 0, chunk: (0, 0) };

thread_local! {
    static TASK: Cell<ImplicitTask> = const { Cell::new(OUTSIDE) };
    static LOOP: Cell<LoopState> = const { Cell::new(NO_LOOP) };
    static MEMBER: UntilExit<Rc<RegionMember>> = const { UntilExit::new(RefCell::new(None)) };
    static OUTER: UntilExit<Arc<Outer>> = const { UntilExit::new(RefCell::new(None)) };
}

/// Empty outside of all regions, so it needs no destructor, which would run before `atexit` handlers that
/// open regions.
type UntilExit<T> = ManuallyDrop<RefCell<Option<T>>>;

/// The task of the calling thread.
#[inline]
pub fn task() -> ImplicitTask {
    TASK.with(Cell::get)
}

/// The control variables of the calling thread's task.
#[inline]
pub fn icvs() -> Icvs {
    task().icvs.unwrap_or_else(|| settings().icvs)
}

/// The threads that are in regions together with the calling one, which is counted, too.
pub(crate) fn threads_in_regions() -> u32 {
    task().group.busy().load(Relaxed) + 1
}

/// The places that the calling thread's regions make use of; `None` if threads are not bound.
pub fn partition() -> Option<PlacePartition> {
    task().partition.or_else(binding::all_places)
}

/// Changes the control variables of the calling thread's task.
pub fn change(change: impl FnOnce(&mut Icvs)) {
    let mut new = icvs();
    change(&mut new);
    TASK.with(|task| task.set(ImplicitTask { icvs: Some(new), ..task.get() }));
}

/// The calling thread is in that task, with the control variables that it has.
pub(crate) fn become_task(task: ImplicitTask) {
    TASK.set(task);
}

/// The calling thread's task, and those of its regions, belong to that team.
pub(crate) fn join_league(league: League) {
    TASK.with(|task| task.set(ImplicitTask { league, ..task.get() }));
}

/// The number of threads that there are if each thread of the regions around this one opens a region of one
/// thread: the product of their sizes.
pub(crate) fn teams_around() -> u64 {
    let sizes = (0..=task().level).filter_map(ancestor).map(|task| u64::from(task.size));
    sizes.fold(1, u64::saturating_mul)
}

/// The task of this thread, or of the thread that opened the region, `level` regions deep. `None` if there is
/// none so deep.
pub fn ancestor(level: u32) -> Option<ImplicitTask> {
    let here = task();
    if level == here.level {
        return Some(here);
    }
    if level == 0 {
        return Some(OUTSIDE);
    }
    OUTER.with(|outer| {
        let outer = outer.borrow();
        let mut next = outer.as_deref();
        while let Some(region) = next {
            if region.task.level == level {
                return Some(region.task);
            }
            next = region.outer.as_deref();
        }
        None
    })
}

/// The calling thread's task and those around it, for the members of a region that it opens.
pub(crate) fn lineage() -> Arc<Outer> {
    let outer = OUTER.with(|outer| outer.borrow().clone());
    Arc::new(Outer { task: task(), outer })
}

/// The calling thread as a member; `None` in a region of one.
#[inline]
pub(crate) fn region_member() -> Option<Rc<RegionMember>> {
    MEMBER.with(|member| member.borrow().clone())
}

/// What `look` finds of the calling thread as a member; `None` in a region of one. It may not wait for
/// others.
#[inline]
pub(crate) fn with_member<T>(look: impl FnOnce(&RegionMember) -> T) -> Option<T> {
    MEMBER.with(|member| member.borrow().as_deref().map(look))
}

#[inline]
pub(crate) fn loop_state() -> LoopState {
    LOOP.with(Cell::get)
}

#[inline]
pub(crate) fn set_loop_state(state: LoopState) {
    LOOP.with(|cell| cell.set(state));
}

/// What a region begins with.
#[derive(Clone, Copy, Debug, Default)]
pub struct RegionSpec {
    /// The threads that it asks for; 0: the default.
    pub threads: u32,
    /// The iterations of the loop, or the sections, that it consists of: its body takes iterations without
    /// beginning it.
    pub space: Option<IterationSpace>,
    /// The policy by which its members go to places, if it names one.
    pub bind: Option<ProcBind>,
}

impl From<u32> for RegionSpec {
    fn from(threads: u32) -> Self {
        Self { threads, ..Self::default() }
    }
}

/// What a member begins its part of a region with.
pub(crate) struct PartStart {
    pub(crate) task: ImplicitTask,
    pub(crate) outer: Option<Arc<Outer>>,
    /// The loop that the region consists of.
    pub(crate) space: Option<IterationSpace>,
    /// Where its members go; `None` if threads are not bound.
    places: Option<Assigned>,
}

impl PartStart {
    /// For the members of a region that the calling thread opens, and that names `clause`.
    pub(crate) fn of(size: u32, opening: RegionSpec) -> Self {
        let RegionSpec { space, bind: clause, .. } = opening;
        let (here, icvs) = (task(), icvs());
        // Deeper regions may have a default of their own.
        let threads = settings().threads_at(here.level + 1).unwrap_or(icvs.threads);
        let (bind, places) = if icvs.bind == ProcBind::False { (ProcBind::False, None) } else { bound(size, icvs.bind, clause) };
        let task = ImplicitTask {
            rank: 0,
            size,
            level: here.level + 1,
            active: here.active + u32::from(size > 1),
            league: here.league,
            group: here.group,
            icvs: Some(Icvs { threads, bind, ..icvs }),
            partition: here.partition,
        };
        // Outside of all regions there is nothing to tell.
        let outer = (here.level > 0).then(lineage);
        Self { task, outer, space, places }
    }

    /// The task of the member `rank`, which is the calling thread and goes to its place.
    fn task_of(&self, rank: u32) -> ImplicitTask {
        let mut task = ImplicitTask { rank, ..self.task };
        if let Some(assigned) = self.places {
            let (place, partition) = assigned.of(rank);
            task.partition = Some(partition);
            // The opener stays where it is.
            if rank > 0 {
                binding::go(place);
            }
        }
        task
    }

    fn loop_state(&self) -> LoopState {
        self.space.map_or(NO_LOOP, |space| LoopState { loops: 1, space, ..NO_LOOP })
    }
}

/// How the tasks of a region that the calling thread opens go to places, and where its members do.
#[cold]
fn bound(size: u32, bind: ProcBind, clause: Option<ProcBind>) -> (ProcBind, Option<Assigned>) {
    let places = partition().map(|all| Assigned::new(clause.unwrap_or(bind), size, binding::place(), all));
    (inherited(&settings().places.binds, task().level + 1, bind, clause), places)
}

/// The beginning of a contention group: outside of all regions.
pub(crate) fn first_task(league: League, icvs: Icvs, group: &OwnGroup) -> PartStart {
    let task = ImplicitTask { league, group: group.0, icvs: Some(icvs), ..OUTSIDE };
    PartStart { task, outer: None, space: None, places: None }
}

/// The calling thread is the member `rank` until the result is dropped.
pub(crate) fn enter(start: &PartStart, rank: u32, member: Option<Rc<RegionMember>>) -> Back {
    Back {
        task: TASK.replace(start.task_of(rank)),
        loops: LOOP.replace(start.loop_state()),
        member: MEMBER.with(|here| here.replace(member)),
        outer: OUTER.with(|here| here.replace(start.outer.clone())),
    }
}

/// The calling thread, which works for a pool alone, is the member `rank` until it becomes another one, or
/// leaves.
pub(crate) fn stay(start: &PartStart, rank: u32, member: Rc<RegionMember>) {
    TASK.set(start.task_of(rank));
    LOOP.set(start.loop_state());
    drop(MEMBER.with(|here| here.replace(Some(member))));
    drop(OUTER.with(|here| here.replace(start.outer.clone())));
}

/// The calling thread is no member any more.
pub(crate) fn leave() {
    TASK.set(OUTSIDE);
    drop(MEMBER.with(|here| here.take()));
    drop(OUTER.with(|here| here.take()));
}

/// Puts a thread back where it was, also if its part panics.
#[must_use = "the thread is in the region until this is dropped"]
pub(crate) struct Back {
    task: ImplicitTask,
    loops: LoopState,
    member: Option<Rc<RegionMember>>,
    outer: Option<Arc<Outer>>,
}

impl Drop for Back {
    fn drop(&mut self) {
        TASK.set(self.task);
        LOOP.set(self.loops);
        drop(MEMBER.with(|here| here.replace(self.member.take())));
        drop(OUTER.with(|here| here.replace(self.outer.take())));
    }
}
