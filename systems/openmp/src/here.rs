//! What the calling thread knows of where it is: its task, its seat in a team, and its way through the loops
//! of the region.
//!
//! The task and the way are plain cells: a question costs one address computation, and they can be asked
//! while a thread ends, when everything with a destructor is gone.
use crate::binding;
use crate::contention::{ContentionGroup, OwnGroup};
use crate::crew::CrewSeat;
use crate::icv::{Bind, Icvs, League};
use crate::places::{Assigned, Partition, inherited};
use crate::settings::settings;
use crate::trip::Trip;
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
    partition: Option<Partition>,
}

/// Where a thread is in the loops of its region.
#[derive(Clone, Copy)]
pub(crate) struct LoopPlace {
    /// Loops and sections that it has met.
    pub(crate) loops: u32,
    /// Constructs of one member that it has met.
    pub(crate) singles: u32,
    /// The loop that it is in.
    pub(crate) trip: Trip,
    /// Chunks of it that were dealt to this thread by rank.
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
const UNTRODDEN: LoopPlace = LoopPlace { loops: 0, singles: 0, trip: Trip::NONE, round: 0, chunk: (0, 0) };

thread_local! {
    static TASK: Cell<ImplicitTask> = const { Cell::new(OUTSIDE) };
    static WAY: Cell<LoopPlace> = const { Cell::new(UNTRODDEN) };
    static SEAT: UntilExit<Rc<CrewSeat>> = const { UntilExit::new(RefCell::new(None)) };
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
pub fn partition() -> Option<Partition> {
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

/// The calling thread's seat; `None` in a region of one.
#[inline]
pub(crate) fn seat() -> Option<Rc<CrewSeat>> {
    SEAT.with(|seat| seat.borrow().clone())
}

/// What `look` finds of the calling thread's seat; `None` in a region of one. It may not meet others.
#[inline]
pub(crate) fn of_seat<T>(look: impl FnOnce(&CrewSeat) -> T) -> Option<T> {
    SEAT.with(|seat| seat.borrow().as_deref().map(look))
}

#[inline]
pub(crate) fn way() -> LoopPlace {
    WAY.with(Cell::get)
}

#[inline]
pub(crate) fn go(way: LoopPlace) {
    WAY.with(|cell| cell.set(way));
}

/// What a region begins with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Opening {
    /// The threads that it asks for; 0: the default.
    pub threads: u32,
    /// The trip of the loop, or of the sections, that it consists of: its body takes iterations without
    /// beginning it.
    pub trip: Option<Trip>,
    /// The policy by which its members go to places, if it names one.
    pub bind: Option<Bind>,
}

impl From<u32> for Opening {
    fn from(threads: u32) -> Self {
        Self { threads, ..Self::default() }
    }
}

/// What a member begins its part of a region with.
pub(crate) struct Start {
    pub(crate) task: ImplicitTask,
    pub(crate) outer: Option<Arc<Outer>>,
    /// The loop that the region consists of.
    pub(crate) trip: Option<Trip>,
    /// Where its members go; `None` if threads are not bound.
    places: Option<Assigned>,
}

impl Start {
    /// For the members of a region that the calling thread opens, and that names `clause`.
    pub(crate) fn of(size: u32, opening: Opening) -> Self {
        let Opening { trip, bind: clause, .. } = opening;
        let (here, icvs) = (task(), icvs());
        // Deeper regions may have a default of their own.
        let threads = settings().threads_at(here.level + 1).unwrap_or(icvs.threads);
        let (bind, places) = if icvs.bind == Bind::False { (Bind::False, None) } else { bound(size, icvs.bind, clause) };
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
        Self { task, outer, trip, places }
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

    fn way(&self) -> LoopPlace {
        self.trip.map_or(UNTRODDEN, |trip| LoopPlace { loops: 1, trip, ..UNTRODDEN })
    }
}

/// How the tasks of a region that the calling thread opens go to places, and where its members do.
#[cold]
fn bound(size: u32, bind: Bind, clause: Option<Bind>) -> (Bind, Option<Assigned>) {
    let places = partition().map(|all| Assigned::new(clause.unwrap_or(bind), size, binding::place(), all));
    (inherited(&settings().places.binds, task().level + 1, bind, clause), places)
}

/// The beginning of a contention group: outside of all regions.
pub(crate) fn first_task(league: League, icvs: Icvs, group: &OwnGroup) -> Start {
    let task = ImplicitTask { league, group: group.0, icvs: Some(icvs), ..OUTSIDE };
    Start { task, outer: None, trip: None, places: None }
}

/// The calling thread is the member `rank`, in that seat, until the result is dropped.
pub(crate) fn enter(start: &Start, rank: u32, seat: Option<Rc<CrewSeat>>) -> Back {
    Back {
        task: TASK.replace(start.task_of(rank)),
        way: WAY.replace(start.way()),
        seat: SEAT.with(|here| here.replace(seat)),
        outer: OUTER.with(|here| here.replace(start.outer.clone())),
    }
}

/// The calling thread, which works for a pool alone, is the member `rank` until it becomes another one, or
/// leaves.
pub(crate) fn stay(start: &Start, rank: u32, seat: Rc<CrewSeat>) {
    TASK.set(start.task_of(rank));
    WAY.set(start.way());
    drop(SEAT.with(|here| here.replace(Some(seat))));
    drop(OUTER.with(|here| here.replace(start.outer.clone())));
}

/// The calling thread is no member any more.
pub(crate) fn leave() {
    TASK.set(OUTSIDE);
    drop(SEAT.with(|here| here.take()));
    drop(OUTER.with(|here| here.take()));
}

/// Puts a thread back where it was, also if its part panics.
#[must_use = "the thread is in the region until this is dropped"]
pub(crate) struct Back {
    task: ImplicitTask,
    way: LoopPlace,
    seat: Option<Rc<CrewSeat>>,
    outer: Option<Arc<Outer>>,
}

impl Drop for Back {
    fn drop(&mut self) {
        TASK.set(self.task);
        WAY.set(self.way);
        drop(SEAT.with(|here| here.replace(self.seat.take())));
        drop(OUTER.with(|here| here.replace(self.outer.take())));
    }
}
