//! Where the calling thread is among tasks: a frame for each region and each task that it is in, and the team
//! whose tasks it may do.
//!
//! A task that is done where it is met has no more than a frame, unless it has children that are not.
use crate::here::{self, Back, PartStart};
use crate::own_waiter::cpu;
use crate::team_state::{RegionMember, ThreadGroup, ThreadTask, ThreadTeam};
use foregather_barrier::{Algorithm, Group};
use foregather_host::per_thread;
use foregather_machine::Rank;
use foregather_task::Traits;
use foregather_thread::Thread;
use std::rc::Rc;
use std::sync::Arc;

/// A group, as the frames of one thread share it: a count that all members changed would go from one to the
/// other.
#[derive(Clone)]
pub(crate) struct GroupHandle(Rc<SharedGroup>);

/// The group itself, which members share.
pub(crate) struct SharedGroup(Arc<ThreadGroup>);

impl GroupHandle {
    pub(crate) fn new(group: Arc<ThreadGroup>) -> Self {
        Self(Rc::new(SharedGroup(group)))
    }

    pub(crate) fn group(&self) -> &Arc<ThreadGroup> {
        &self.0.0
    }
}

/// A region or a task that the thread is in.
#[derive(Default)]
pub(crate) struct CallFrame {
    /// Its task, once another one needs to know it.
    pub(crate) task: Option<Arc<ThreadTask>>,
    pub(crate) group: Option<GroupHandle>,
    /// Whether the current task is final: its child tasks run inline.
    pub(crate) is_final: bool,
    /// Whether this is an explicit task, as opposed to a member's implicit task.
    pub(crate) is_explicit: bool,
    /// The tasks of a region of one, once there are any.
    pub(crate) alone: Option<Arc<ThreadTeam>>,
}

per_thread! {
    static FRAMES: Vec<CallFrame> = Vec::new();
}

/// Reads or changes the frames of the calling thread, of which the program's is always there.
fn with_frames<T>(look: impl FnOnce(&mut Vec<CallFrame>) -> T) -> T {
    FRAMES.with(|frames| {
        let mut frames = frames.borrow_mut();
        if frames.is_empty() {
            frames.push(CallFrame::default());
        }
        look(&mut frames)
    })
}

/// The frame of the calling thread; outside of all regions that of the program.
pub(crate) fn with_top<T>(look: impl FnOnce(&mut CallFrame) -> T) -> Option<T> {
    with_frames(|frames| frames.last_mut().map(look))
}

/// The tasks of the region of one that the calling thread is in, once there are any.
pub(crate) fn tasks_alone() -> Option<Arc<ThreadTeam>> {
    FRAMES.with(|frames| frames.read(|frames| frames.last()?.alone.clone()))
}

/// How many regions and tasks the calling thread is in.
pub(crate) fn depth() -> usize {
    // The frame of the program is there whether it was asked for or not.
    FRAMES.with(|frames| frames.read(Vec::len)).max(1)
}

/// The calling thread is in a region until this is dropped.
#[must_use = "the thread is in the region until this is dropped"]
pub(crate) struct InRegion {
    depth: usize,
    _back: Back,
}

/// The calling thread is the member `rank`.
pub(crate) fn enter(start: &PartStart, rank: u32, member: Option<Rc<RegionMember>>) -> InRegion {
    let back = here::enter(start, rank, member);
    InRegion { depth: push(CallFrame::default()), _back: back }
}

/// The calling thread is the member `rank` of its pool until it becomes another one.
pub(crate) fn stay(start: &PartStart, rank: u32, member: Rc<RegionMember>) {
    here::stay(start, rank, member);
    // The program's frame, and that of the region before.
    debug_assert!(depth() <= 2, "a member of a pool is in no other region");
    if depth() < 2 {
        push(CallFrame::default());
    }
}

/// The calling thread is a member of no region until it becomes one again.
pub(crate) fn leave_regions() {
    if here::task().level > 0 {
        here::leave();
        leave(1);
    }
}

/// A member of a pool has ended its part: its task is not needed any more.
pub(crate) fn end_part() {
    drop(with_top(core::mem::take));
}

impl Drop for InRegion {
    fn drop(&mut self) {
        leave(self.depth);
    }
}

/// The calling thread leaves the region, or the task, that it entered at that depth.
pub(crate) fn leave(depth: usize) {
    // What the frame holds goes when the frames are not borrowed.
    let left = FRAMES.with(|frames| {
        let mut frames = frames.borrow_mut();
        debug_assert_eq!(frames.len(), depth + 1, "frames are left in order");
        frames.pop()
    });
    drop(left);
}

pub(crate) fn push(frame: CallFrame) -> usize {
    let push = |frames: &mut Vec<CallFrame>| {
        frames.push(frame);
        frames.len() - 1
    };
    with_frames(push)
}

/// The task that the calling thread is in.
pub(crate) fn current() -> Option<Arc<ThreadTask>> {
    let name = |frames: &mut Vec<CallFrame>| {
        if let Some(task) = frames.last().and_then(|frame| frame.task.as_ref()) {
            return Some(Arc::clone(task));
        }
        let region = frames.iter().rposition(|frame| !frame.is_explicit).unwrap_or(0);
        let mut parent = None;
        for frame in &mut frames[region..] {
            let CallFrame { task, group, .. } = frame;
            let new = || {
                let group = group.as_ref().map(|group| Arc::clone(group.group()));
                let task = ThreadTask::new(parent.as_ref(), group, Traits::default());
                task.begins(here::region_member().map_or(0, |member| member.rank));
                Arc::new(task)
            };
            parent = Some(task.get_or_insert_with(new).clone());
        }
        parent
    };
    with_frames(name)
}

/// The calling thread among the tasks of its innermost region.
pub(crate) enum TaskPlace {
    /// It is a member of a team.
    TeamState(Rc<RegionMember>),
    /// It is alone.
    Alone(Arc<ThreadTeam>, Thread),
}

impl TaskPlace {
    pub(crate) fn team(&self) -> &Arc<ThreadTeam> {
        match self {
            Self::TeamState(member) => &member.state.tasks,
            Self::Alone(team, _) => team,
        }
    }

    pub(crate) fn cpu(&self) -> &Thread {
        match self {
            Self::TeamState(member) => &member.cpu,
            Self::Alone(_, cpu) => cpu,
        }
    }

    /// Lets the team do a new task of the calling thread's, which does it itself if that is light.
    pub(crate) fn keep(&self, task: Arc<ThreadTask>) {
        self.team().keep(self.cpu(), self.rank(), task);
    }

    /// Lets the team do a task, if there is one.
    pub(crate) fn put(&self, task: Option<Arc<ThreadTask>>) {
        if let Some(task) = task {
            self.team().put(self.cpu(), self.rank(), task);
        }
    }

    pub(crate) fn rank(&self) -> Rank {
        match self {
            Self::TeamState(member) => member.rank,
            Self::Alone(..) => 0,
        }
    }
}

/// Where the calling thread is. The team of a region of one is made here.
pub(crate) fn place() -> Option<TaskPlace> {
    if let Some(member) = here::region_member() {
        return Some(TaskPlace::TeamState(member));
    }
    let alone = |frames: &mut Vec<CallFrame>| {
        let region = frames.iter_mut().rev().find(|frame| !frame.is_explicit)?;
        if region.alone.is_none() {
            region.alone = Group::new(Algorithm::Central, 1).ok().map(|meeting| Arc::new(ThreadTeam::new(meeting, None)));
        }
        region.alone.clone()
    };
    Some(TaskPlace::Alone(with_frames(alone)?, cpu()))
}
