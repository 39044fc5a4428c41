//! Tasks on threads: how they are made, and what a thread does at the points at which it may do others
//! (OpenMP 5.2 §12).
pub use crate::team_state::{TaskBody, TaskKind};

use crate::frames::{
    CallFrame, GroupHandle, TaskPlace, current, depth, end_part, enter, leave, leave_regions, place, push, tasks_alone, with_top,
};
use crate::here::{self, ImplicitTask, PartStart};
use crate::icv::Icvs;
use crate::own_waiter::{cpu, with_waiter};
use crate::settings::settings;
use crate::team_state::{Cancelled, RegionMember, TaskJob, ThreadGroup, ThreadTask, ThreadTeam, lost};
use crate::weights;
use foregather_barrier::JoinWork;
use foregather_machine::{Clock, Nanos, Placement, Rank, Words, block_on};
use foregather_task::{Depend, GroupOf, Reductions, TaskScope, Traits, WAKE_WEIGHT};
use foregather_thread::Thread;
use std::rc::Rc;
use std::sync::Arc;

/// How many tasks a member lets wait in its queue before it does new ones at once.
const MANY: u32 = 128;
/// How many tasks that wait for others a member makes before it does others instead of more.
const MOST_WAITING: u32 = 1 << 16;
/// How many tasks and regions deep tasks are done at once, which takes stack. From there on the queue takes
/// them, up to [`MOST_WAITING`].
const DEEP: usize = 64;

/// Returns whether the calling thread's region or this task group was cancelled.
fn is_cancelled(group: Option<&ThreadGroup>) -> bool {
    settings().cancellation
        && (group.is_some_and(|group| group.is_cancelled(&cpu()))
            || here::with_member(|member| member.region_is_cancelled()) == Some(true))
}

/// Returns whether the member has enough ready tasks: then it runs the next one immediately.
fn is_full(team: &ThreadTeam, rank: Rank) -> bool {
    team.ready(rank) >= if depth() < DEEP { MANY } else { MOST_WAITING }
}

/// What a program says of a task that it makes.
#[derive(Clone, Copy, Debug)]
pub struct TaskSpec<'a> {
    /// Whether the task may be deferred, and run by another member.
    pub deferred: bool,
    /// How it is done.
    pub kind: TaskKind,
    /// The rest.
    pub traits: Traits,
    /// What it has to wait for.
    pub depends: &'a [Depend],
    /// The address of its body's code; 0: it has none of its own. By it a task is known to compute for long
    /// enough to be worth another member's coming.
    pub code: usize,
}

/// How a task is to be done.
pub enum TaskDispatch {
    /// Not at all: its region or its group was cancelled.
    Discard,
    /// Here and now.
    Run(TaskNow),
    /// When and where a member finds it.
    Defer(DeferredTask),
}

/// A task that the calling thread does here.
pub struct TaskNow {
    is_final: bool,
    /// The code of its body, if that could have been done later.
    code: usize,
    group: Option<GroupHandle>,
    /// Its task, if it has to wait for others, and the team.
    task: Option<(TaskPlace, Arc<ThreadTask>)>,
}

/// A task that its region does later.
pub struct DeferredTask {
    place: TaskPlace,
    task: Arc<ThreadTask>,
    kind: TaskKind,
    code: usize,
}

/// What completes a detached task, besides the end of its body.
pub struct CompletionEvent {
    team: Arc<ThreadTeam>,
    task: Arc<ThreadTask>,
}

/// The calling thread meets a task.
pub fn spawn(spec: TaskSpec<'_>) -> TaskDispatch {
    let TaskSpec { deferred, kind, mut traits, depends, code } = spec;
    let Some((is_final, group)) = with_top(|frame| (frame.is_final, frame.group.clone())) else {
        return TaskDispatch::Run(TaskNow { is_final: true, code: 0, group: None, task: None });
    };
    if is_cancelled(group.as_ref().map(|group| &**group.group())) {
        return TaskDispatch::Discard;
    }
    let kind = TaskKind { is_final: kind.is_final || is_final, ..kind };
    let deferred = deferred && !is_final;
    let now = |group, task| TaskNow { is_final: kind.is_final, code: if deferred { code } else { 0 }, group, task };
    let weight = weights::of(code).unwrap_or(WAKE_WEIGHT);
    let is_light = || weight == 0 && traits.priority == 0 && depth() < DEEP;
    let is_full = || here::with_member(|member| is_full(&member.state.tasks, member.rank)) != Some(false);
    if depends.is_empty() && !traits.detached && (!deferred || is_light() || is_full()) {
        return TaskDispatch::Run(now(group, None));
    }
    let Some(place) = place() else { return TaskDispatch::Run(now(group, None)) };
    // The siblings that it comes after were made by this member: where all that it has made are complete, the
    // task waits for none of them.
    let is_free = || place.team().unfinished(place.cpu(), place.rank()) == 0;
    if !traits.detached && (!deferred || is_light() || place.team().size() == 1) && is_free() {
        return TaskDispatch::Run(now(group, None));
    }
    let Some(parent) = current() else { return TaskDispatch::Run(now(group, None)) };
    traits = Traits { priority: traits.priority.min(settings().max_task_priority), undeferred: !deferred, ..traits };
    let task = ThreadTask::new(Some(&parent), group.as_ref().map(|group| Arc::clone(group.group())), traits);
    let task = Arc::new(task.of_weight(weight));
    place.team().count(place.cpu(), &task, &parent);
    parent.order(place.cpu(), &task, depends);
    if deferred {
        TaskDispatch::Defer(DeferredTask { place, task, kind, code })
    } else {
        TaskDispatch::Run(now(group, Some((place, task))))
    }
}

impl TaskNow {
    /// The event that completes the task, if it is detached.
    pub fn event(&self) -> Option<CompletionEvent> {
        self.task.as_ref().map(|(place, task)| CompletionEvent { team: Arc::clone(place.team()), task: Arc::clone(task) })
    }

    /// Does the task, once those that it comes after are complete.
    pub fn run(self, body: impl FnOnce()) {
        let Self { is_final, code, group, task } = self;
        let frame = CallFrame { task: None, group, is_final, is_explicit: true, alone: None };
        let Some((place, task)) = task else { return timed(code, &cpu(), || within(frame, None, body)) };
        let _ = task.is_made(place.cpu(), None);
        help(&place, "tasks that a task comes after", || task.may_run(place.cpu()));
        task.begins(place.rank());
        within(CallFrame { task: Some(Arc::clone(&task)), ..frame }, None, body);
        place.put(place.team().end(place.cpu(), place.rank(), &task, None));
        help(&place, "the event of a task", || task.is_complete());
    }
}

impl DeferredTask {
    /// The event that completes the task, if it is detached.
    pub fn event(&self) -> CompletionEvent {
        CompletionEvent { team: Arc::clone(self.place.team()), task: Arc::clone(&self.task) }
    }

    /// The task has its body, and may be done from now on.
    pub fn hand_over(self, body: TaskBody) {
        let Self { place, task, kind, code } = self;
        let (team, cpu, rank) = (place.team(), place.cpu(), place.rank());
        if !task.is_made(cpu, Some(TaskJob { body, icvs: here::icvs(), kind, code })) {
            // Those that it comes after let it run. Many such tasks are more memory than work.
            while team.unfinished(cpu, rank) > MOST_WAITING {
                let Some(other) = current().and_then(|current| team.take(cpu, rank, &TaskScope::Within(&current))) else { break };
                place.put(execute(team, (cpu, rank), other, None));
            }
        } else if team.size() == 1 || is_full(team, rank) {
            place.put(execute(team, (cpu, rank), task, None));
        } else {
            place.keep(task);
        }
    }
}

impl CompletionEvent {
    /// Fulfils it: by any thread, once.
    pub fn fulfil(&self) {
        let size = self.team.size();
        // A thread outside of the region leaves what may run then with its first member.
        let (cpu, rank) = (cpu(), here::task().rank.min(size - 1));
        if let Some(next) = self.team.end(&cpu, rank, &self.task, None) {
            self.team.put(&cpu, rank, next);
        }
        self.team.ring(&cpu);
    }
}

/// Does a task that member `rank` has taken, which goes on to do those that it `may` begin. Returns one that
/// may run by that.
pub(crate) fn execute(
    team: &ThreadTeam,
    (cpu, rank): (&Thread, Rank),
    task: Arc<ThreadTask>,
    scope: Option<&TaskScope<'_, Thread, TaskJob>>,
) -> Option<Arc<ThreadTask>> {
    let TaskJob { body, icvs, kind, code } = task.take_body(rank)?;
    let is_discarded = !kind.is_needed && is_cancelled(task.group.as_deref());
    let unwound = Unwound { team, cpu, rank, task: &task };
    let frame = CallFrame {
        group: task.group.clone().map(GroupHandle::new),
        is_final: kind.is_final,
        task: Some(Arc::clone(&task)),
        is_explicit: true,
        alone: None,
    };
    if is_discarded {
        drop(body);
    } else {
        timed(code, cpu, || within(frame, Some(icvs), body));
    }
    core::mem::forget(unwound);
    team.end(cpu, rank, &task, scope)
}

/// Does the body of a task, of which something is learnt by its code.
fn timed(code: usize, cpu: &Thread, body: impl FnOnce()) {
    if code == 0 {
        return body();
    }
    let began = cpu.now();
    body();
    weights::learn(code, cpu.now() - began, cpu.costs().remote_wake);
}

/// The end of a task whose body panics.
struct Unwound<'a> {
    team: &'a ThreadTeam,
    cpu: &'a Thread,
    rank: Rank,
    task: &'a ThreadTask,
}

impl Drop for Unwound<'_> {
    fn drop(&mut self) {
        if let Some(next) = self.team.end(self.cpu, self.rank, self.task, None) {
            self.team.put(self.cpu, self.rank, next);
        }
    }
}

/// Does a task, and those that may run by its end, as long as the member may begin them and `goes_on`.
pub(crate) fn execute_line(
    team: &ThreadTeam,
    (cpu, rank): (&Thread, Rank),
    task: Arc<ThreadTask>,
    scope: &TaskScope<'_, Thread, TaskJob>,
    goes_on: impl Fn() -> bool,
) {
    let mut next = Some(task);
    while let Some(task) = next {
        next = execute(team, (cpu, rank), task, Some(scope));
        if let Some(other) = next.take_if(|next| !scope.allows(next) || !goes_on()) {
            team.put(cpu, rank, other);
        }
    }
}

/// Does `body` in that frame; what it changes of its control variables ends with it.
fn within(frame: CallFrame, icvs: Option<Icvs>, body: impl FnOnce()) {
    struct Out(usize, ImplicitTask);
    impl Drop for Out {
        fn drop(&mut self) {
            here::become_task(self.1);
            leave(self.0);
        }
    }
    let _out = Out(push(frame), here::task());
    if let Some(icvs) = icvs {
        here::change(|now| *now = icvs);
    }
    body();
}

/// Waits until `is_over`, and does tasks within the current one meanwhile.
fn help(place: &TaskPlace, what: &'static str, is_over: impl Fn() -> bool) {
    if is_over() {
        return;
    }
    let Some(current) = current() else { return };
    wait(place.team(), place.rank(), what, &TaskScope::Within(&current), is_over);
}

/// Waits until `is_over`, and does tasks meanwhile.
pub(crate) fn wait(
    team: &ThreadTeam,
    rank: Rank,
    what: &'static str,
    scope: &TaskScope<'_, Thread, TaskJob>,
    is_over: impl Fn() -> bool,
) {
    while !is_over() {
        match with_waiter(|cpu, waiter| block_on(team.wait((cpu, waiter, rank), what, scope, &is_over))) {
            Ok(None) => return,
            Ok(Some(task)) => execute_line(team, (&cpu(), rank), task, scope, || !is_over()),
            Err(error) => lost(&error),
        }
    }
}

/// Waits for the children of the task that the calling thread is in.
pub fn wait_for_children() {
    // A task that no other one knows has none.
    let Some(Some(task)) = with_top(|frame| frame.task.clone()) else { return };
    let Some(place) = place() else { return };
    wait(place.team(), place.rank(), "children of a task", &TaskScope::Within(&task), || task.has_no_children(place.cpu()));
    task.forget_children();
}

/// Waits for those children that a task with these uses would come after.
pub fn wait_for(depends: &[Depend]) {
    let spec = TaskSpec { deferred: false, kind: TaskKind::default(), traits: Traits::default(), depends, code: 0 };
    if let TaskDispatch::Run(now) = spawn(spec) {
        now.run(|| {});
    }
}

/// Does a task within the current one, if there is one.
pub fn yield_to_others() {
    let Some(Some(task)) = with_top(|frame| frame.task.clone()) else { return };
    let Some(place) = place() else { return };
    if let Some(other) = place.team().take(place.cpu(), place.rank(), &TaskScope::Within(&task)) {
        place.put(execute(place.team(), (place.cpu(), place.rank()), other, None));
    }
}

/// A group of tasks begins, in which the calling thread's task and its descendants are from now on.
pub fn begin_group(of: GroupOf) {
    with_top(|frame| {
        let outer = frame.group.as_ref().map(|group| Arc::clone(group.group()));
        frame.group = Some(GroupHandle::new(Arc::new(ThreadGroup::within(outer, of))));
    });
}

/// Waits for all tasks of the group that has begun last.
pub fn end_group() {
    let Some(Some(group)) = with_top(|frame| frame.group.clone()) else { return };
    let cpu = cpu();
    let is_over = || cpu.load(&group.group().unfinished) == 0;
    if !is_over()
        && let (Some(place), Some(current)) = (place(), current())
    {
        wait(place.team(), place.rank(), "the tasks of a group", &TaskScope::Of(group.group(), &current), is_over);
    }
    with_top(|frame| frame.group = group.group().outer.clone().map(GroupHandle::new));
}

/// Tasks of the group that has begun last reduce these values.
pub fn reduce(reductions: Reductions) {
    with_top(|frame| frame.group.as_ref().map(|group| group.group().reduce(reductions)));
}

/// Where the calling thread has its copy of the value at `address`, or of that which another thread's copy at
/// `address` is of, and where the value is. `None` if no group around the task reduces it.
pub fn reduced(address: usize) -> Option<(usize, usize)> {
    let rank = here::task().rank;
    with_top(|frame| frame.group.as_ref()?.group().reduced(address, rank))?
}

/// Returns whether the calling thread is in an explicit task.
pub fn is_explicit() -> bool {
    with_top(|frame| frame.is_explicit).unwrap_or(false)
}

/// Returns whether the calling thread is in a final task.
pub fn is_final() -> bool {
    with_top(|frame| frame.is_final).unwrap_or(false)
}

/// Cancels the group of tasks that the calling thread is in, if programs may. Returns whether it is
/// cancelled.
pub fn cancel_group() -> bool {
    settings().cancellation
        && with_top(|frame| frame.group.as_ref().map(|group| group.group().cancel(&cpu()))).flatten().is_some()
}

/// Returns whether the task group of the calling thread, or one that encloses it, was cancelled.
pub fn group_is_cancelled() -> bool {
    with_top(|frame| frame.group.as_ref().is_some_and(|group| group.group().is_cancelled(&cpu()))) == Some(true)
}

/// Waits for all tasks of the region of one that the calling thread is about to leave.
pub(crate) fn finish_alone() {
    if let Some(team) = tasks_alone() {
        let cpu = cpu();
        wait(&team, 0, "the tasks of a region", &TaskScope::Any, || !team.is_open(&cpu));
    }
}

/// Waits for all members of a team and all tasks of its region, and does tasks meanwhile. Returns whether the
/// region was cancelled: then the member has not met the others.
pub(crate) fn meet(member: &RegionMember) -> bool {
    member.arrives();
    loop {
        match member.met_or_task() {
            Ok(None) => return false,
            // The barrier is not borrowed: a task may cancel the region.
            Ok(Some(task)) => execute_line(&member.state.tasks, (&member.cpu, member.rank), task, &TaskScope::Any, || true),
            Err(Cancelled) => return true,
        }
    }
}

/// Does a task at the end of its region, and those that `next` finds.
fn execute_all(team: &ThreadTeam, member: (&Thread, Rank), first: Arc<ThreadTask>, next: impl Fn() -> Option<Arc<ThreadTask>>) {
    let mut task = Some(first);
    while let Some(now) = task {
        execute_line(team, member, now, &TaskScope::Any, || true);
        task = next();
    }
}

/// The tasks of the region that the calling thread is a member of.
pub(crate) struct RegionTasks;

impl JoinWork<Thread> for RegionTasks {
    type Item = Arc<ThreadTask>;

    fn find(&self, cpu: &Thread, rank: Rank, is_patient: bool) -> Option<Arc<ThreadTask>> {
        here::with_member(|member| member.state.tasks.take_at_end(cpu, rank, is_patient))?
    }

    fn put_back(&self, cpu: &Thread, rank: Rank, task: Arc<ThreadTask>) {
        here::with_member(|member| member.state.tasks.put(cpu, rank, task));
    }

    fn patience(&self) -> Nanos {
        here::with_member(|member| member.state.tasks.patience()).unwrap_or(Nanos::MAX)
    }

    async fn run(&self, cpu: &Thread, rank: Rank, first: Arc<ThreadTask>, next: impl Fn() -> Option<Arc<ThreadTask>>) {
        if let Some(member) = here::region_member() {
            execute_all(&member.state.tasks, (cpu, rank), first, next);
            end_part();
        }
    }

    fn leave(&self) {
        leave_regions();
    }
}

/// The tasks of the region that the calling thread has opened: it enters the region for each of them.
pub(crate) struct OpenedTasks<'r> {
    pub(crate) start: &'r PartStart,
    pub(crate) member: &'r dyn Fn() -> Rc<RegionMember>,
    pub(crate) tasks: &'r ThreadTeam,
}

impl JoinWork<Thread> for OpenedTasks<'_> {
    type Item = Arc<ThreadTask>;

    fn find(&self, cpu: &Thread, rank: Rank, is_patient: bool) -> Option<Arc<ThreadTask>> {
        self.tasks.take_at_end(cpu, rank, is_patient)
    }

    fn put_back(&self, cpu: &Thread, rank: Rank, task: Arc<ThreadTask>) {
        self.tasks.put(cpu, rank, task);
    }

    fn patience(&self) -> Nanos {
        self.tasks.patience()
    }

    async fn run(&self, cpu: &Thread, rank: Rank, first: Arc<ThreadTask>, next: impl Fn() -> Option<Arc<ThreadTask>>) {
        let _inside = enter(self.start, rank, Some((self.member)()));
        execute_all(self.tasks, (cpu, rank), first, next);
    }
}
