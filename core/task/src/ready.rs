//! The tasks of a team's region that may run, and how members find them.
use crate::group::TaskGroup;
use crate::task::{CompletedTask, TeamTask, WAKE_WEIGHT, decrement_is_zero};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use foregather_barrier::{BarrierMember, ForkJoin, Group};
use foregather_machine::{CachePadded, Cause, Cpu, Error, Nanos, Rank, WaitContext, reached};
use foregather_wait::{WaitFor, Waiter};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Tasks in the order in which they came.
type TaskQueue<C, B> = VecDeque<Arc<TeamTask<C, B>>>;

/// Tasks in the order in which they came, each with what it weighs there.
type Weighed<C, B> = VecDeque<(Arc<TeamTask<C, B>>, u32)>;

/// From this weight of its queue on, a member that is awake takes a task of another one: it has to fetch the
/// task, what that uses, and what waits for it, and each of them takes some round trips of a line.
const WORTH_FETCHING: u32 = WAKE_WEIGHT / 8;
/// How long a member sleeps before it takes what is not worth fetching. Then twice as long, and so on.
const PATIENCE: Nanos = Nanos::from_ms(1);
const MOST_PATIENCE: Nanos = Nanos::from_ms(64);

/// The tasks of a region.
pub struct TaskTeam<C: Cpu, B> {
    queues: Box<[CachePadded<ReadyQueue<C, B>>]>,
    /// Tasks with a priority, by priority.
    urgent: Mutex<BTreeMap<u32, TaskQueue<C, B>>>,
    /// How many those are.
    urgent_count: CachePadded<C::Word>,
    /// Members that have made tasks which are not complete, whether those may run or not: the open work of a
    /// region.
    makers: Arc<CachePadded<C::Word>>,
    /// Members that wait for tasks sleep here.
    bell: CachePadded<C::Word>,
    /// Where the region's members meet.
    meeting: Group<C>,
    /// Which of them begin and end together, if there are several.
    region: Option<ForkJoin<C>>,
    /// Whether a task was queued that is not worth fetching. If so, members look for such tasks from time to
    /// time.
    has_kept: AtomicBool,
}

/// The tasks that one member has made ready, each with its weight here.
struct ReadyQueue<C: Cpu, B> {
    tasks: Mutex<Weighed<C, B>>,
    /// The tasks that the member has made and that are not complete.
    unfinished: C::Word,
    /// How many there are, and what they weigh together: written under the lock, and a hint without it.
    count: AtomicU32,
    weight: AtomicU32,
}

/// Which tasks a member may begin.
pub enum TaskScope<'a, C: Cpu, B> {
    /// Any of its region: at a barrier.
    Any,
    /// Those within the task that it is in, as long as that is not done (OpenMP 5.2 §12.9).
    Within(&'a Arc<TeamTask<C, B>>),
    /// Those of a group, or within the task that waits for it.
    Of(&'a Arc<TaskGroup<C>>, &'a Arc<TeamTask<C, B>>),
}

impl<C: Cpu, B> TaskTeam<C, B> {
    /// For the regions of the members that meet there, which begin and end by `region`.
    pub fn new(meeting: Group<C>, region: Option<ForkJoin<C>>) -> Self {
        let queue = || {
            let (tasks, unfinished, count, weight) = Default::default();
            CachePadded(ReadyQueue { tasks, unfinished, count, weight })
        };
        Self {
            queues: (0..meeting.size()).map(|_| queue()).collect(),
            urgent: Mutex::default(),
            urgent_count: CachePadded::default(),
            makers: region.as_ref().map_or_else(Arc::default, |region| Arc::clone(region.open_work())),
            bell: CachePadded::default(),
            meeting,
            region,
            has_kept: AtomicBool::new(false),
        }
    }

    /// How many members the region has.
    pub fn size(&self) -> u32 {
        self.queues.len() as u32
    }

    /// Returns whether there are tasks that are not complete.
    #[inline]
    pub fn is_open(&self, cpu: &C) -> bool {
        cpu.load(&self.makers.0) != 0
    }

    /// How many tasks of member `rank` are not complete.
    pub fn unfinished(&self, cpu: &C, rank: Rank) -> u32 {
        cpu.load(&self.queues[rank as usize].0.unfinished)
    }

    /// How many tasks lie in the queue of member `rank`.
    pub fn ready(&self, rank: Rank) -> u32 {
        self.queues[rank as usize].0.count.load(Relaxed)
    }

    /// A task of `parent` is made.
    pub fn count(&self, cpu: &C, task: &TeamTask<C, B>, parent: &TeamTask<C, B>) {
        if cpu.fetch_add(&self.made_by(task).unfinished, 1) == 0 {
            cpu.fetch_add(&self.makers.0, 1);
        }
        cpu.fetch_add(&parent.children, 1);
        if let Some(group) = &task.group {
            cpu.fetch_add(&group.unfinished, 1);
        }
    }

    /// What the member has that has made a task.
    fn made_by(&self, task: &TeamTask<C, B>) -> &ReadyQueue<C, B> {
        &self.queues[task.made_by as usize].0
    }

    /// Member `rank` lets the team do a task that may run: any member that waits takes it.
    pub fn put(&self, cpu: &C, rank: Rank, task: Arc<TeamTask<C, B>>) {
        self.enqueue(cpu, rank, task, WAKE_WEIGHT);
    }

    /// Member `rank` is going to do a task that may run, unless another one finds that worth coming for: by
    /// its weight, and that of the others in the queue. The member is within a task that the new one is
    /// within, so it may begin it at its next wait.
    pub fn keep(&self, cpu: &C, rank: Rank, task: Arc<TeamTask<C, B>>) {
        let weight = task.weight;
        self.enqueue(cpu, rank, task, weight);
        if weight < WAKE_WEIGHT && !self.has_kept.load(Relaxed) {
            self.has_kept.store(true, Relaxed);
            self.ring(cpu);
        }
    }

    fn enqueue(&self, cpu: &C, rank: Rank, task: Arc<TeamTask<C, B>>, weight: u32) {
        if task.traits.priority > 0 {
            cpu.fetch_add(&self.urgent_count.0, 1);
            lock(&self.urgent).entry(task.traits.priority).or_default().push_back(task);
        } else {
            let queue = &self.queues[rank as usize].0;
            let mut tasks = lock(&queue.tasks);
            tasks.push_back((task, weight));
            let weight = queue.adjust_weight(&tasks, weight as i32);
            if weight < WAKE_WEIGHT {
                return;
            }
        }
        self.ring(cpu);
    }

    /// Members that wait look again.
    pub fn ring(&self, cpu: &C) {
        let (own, meeting) = ((&self.bell.0, 1), (self.meeting.bell(), 1));
        match &self.region {
            None => cpu.ring_each(&[own, meeting]),
            Some(region) => {
                let [worker, leader] = region.bells();
                cpu.ring_each(&[own, meeting, worker, leader]);
            }
        }
    }

    /// How long a member sleeps before it takes what is not worth fetching.
    pub fn patience(&self) -> Nanos {
        if self.has_kept.load(Relaxed) { PATIENCE } else { Nanos::MAX }
    }

    /// Takes a task of the region for member `rank`, which has done its part of it: any, after its
    /// [patience](TaskTeam::patience).
    pub fn take_at_end(&self, cpu: &C, rank: Rank, is_patient: bool) -> Option<Arc<TeamTask<C, B>>> {
        self.take_of(cpu, rank, &TaskScope::Any, if is_patient { WORTH_FETCHING } else { 0 })
    }

    /// Takes a task that member `rank` may begin: an urgent one, the one that it has made last, or the one
    /// that another member has made first, if it is worth fetching.
    pub fn take(&self, cpu: &C, rank: Rank, scope: &TaskScope<'_, C, B>) -> Option<Arc<TeamTask<C, B>>> {
        self.take_of(cpu, rank, scope, WORTH_FETCHING)
    }

    /// Takes a task from any queue that weighs so much, or from the member's own.
    fn take_of(&self, cpu: &C, rank: Rank, scope: &TaskScope<'_, C, B>, least: u32) -> Option<Arc<TeamTask<C, B>>> {
        // Nearly always: a task in a queue is not complete.
        if !self.is_open(cpu) {
            return None;
        }
        let of_others = || {
            let size = self.size();
            (1..size).find_map(|step| {
                let queue = &self.queues[((rank + step) % size) as usize].0;
                let is_worth_it = queue.count.load(Acquire) > 0 && queue.weight.load(Relaxed) >= least;
                if is_worth_it { queue.take(false, scope) } else { None }
            })
        };
        self.take_urgent(cpu, scope).or_else(|| self.take_own(cpu, rank, scope)).or_else(of_others)
    }

    /// Takes the task that the member has made last.
    fn take_own(&self, cpu: &C, rank: Rank, scope: &TaskScope<'_, C, B>) -> Option<Arc<TeamTask<C, B>>> {
        let queue = &self.queues[rank as usize].0;
        if queue.count.load(Acquire) == 0 {
            return None;
        }
        let found = queue.take(true, scope);
        if found.is_none() && queue.raise_weights() {
            self.ring(cpu);
        }
        found
    }

    fn take_urgent(&self, cpu: &C, scope: &TaskScope<'_, C, B>) -> Option<Arc<TeamTask<C, B>>> {
        if cpu.load(&self.urgent_count.0) == 0 {
            return None;
        }
        let mut urgent = lock(&self.urgent);
        let (&priority, at) = urgent
            .iter()
            .rev()
            .find_map(|(priority, tasks)| Some((priority, tasks.iter().position(|task| scope.allows(task))?)))?;
        let tasks = urgent.get_mut(&priority)?;
        let task = tasks.remove(at);
        if tasks.is_empty() {
            urgent.remove(&priority);
        }
        drop(urgent);
        decrement_is_zero(cpu, &self.urgent_count.0);
        task
    }

    /// The body of a task has ended on member `rank`, or its event was fulfilled: by another thread that
    /// [rings](TaskTeam::ring) then. Tasks that come after it may run if it is complete. Returns one of them,
    /// which the member does next, or [puts](TaskTeam::put): so a line of tasks stays with one member, and
    /// wakes no other. It keeps those others that it `may` begin, if it goes on to do tasks.
    #[must_use = "no member finds it until it is put"]
    pub fn end(
        &self,
        cpu: &C,
        rank: Rank,
        task: &TeamTask<C, B>,
        scope: Option<&TaskScope<'_, C, B>>,
    ) -> Option<Arc<TeamTask<C, B>>> {
        let CompletedTask { parent, after } = task.end()?;
        let (mut mine, mut rings) = (None, false);
        for next in after {
            if next.one_less_before(cpu) {
                if next.traits.undeferred {
                    rings = true;
                } else if mine.is_none() && next.traits.priority == 0 {
                    mine = Some(next);
                } else if scope.is_some_and(|scope| scope.allows(&next)) {
                    self.keep(cpu, rank, next);
                } else {
                    self.put(cpu, rank, next);
                }
            }
        }
        // First of all, so that a member whose children are complete sees that it has no other open tasks.
        let has_none_left = decrement_is_zero(cpu, &self.made_by(task).unfinished);
        // In this order: the last member to look for a task finds none only when none is left. This member
        // looks again anyway.
        rings |= parent.is_some_and(|parent| parent.one_child_less(cpu) && !parent.is_done_by(rank));
        rings |= task.group.as_ref().is_some_and(|group| decrement_is_zero(cpu, &group.unfinished));
        rings |= has_none_left && decrement_is_zero(cpu, &self.makers.0);
        if rings {
            self.ring(cpu);
        }
        mine
    }

    /// Waits until `is_over`, or for a task that member `rank` may begin meanwhile.
    ///
    /// # Errors
    /// Those of the wait.
    pub async fn wait(
        &self,
        (cpu, waiter, rank): (&C, &Waiter, Rank),
        what: &'static str,
        scope: &TaskScope<'_, C, B>,
        is_over: impl Fn() -> bool,
    ) -> Result<Option<Arc<TeamTask<C, B>>>, Error> {
        let mut patience = PATIENCE;
        loop {
            let look = || if is_over() { Some(None) } else { self.take(cpu, rank, scope).map(Some) };
            let why = || (WaitContext::new(what, rank).until(cpu.now() + patience), WaitFor::Unseen(self.size()));
            match waiter.wait_part(cpu, &self.bell.0, false, why, look).finish().await {
                Ok((found, waited)) => {
                    waiter.account().waited(waited);
                    return Ok(found);
                }
                Err(error) => {
                    if let Some(task) = self.on_timeout(error, cpu, rank, scope, &mut patience)? {
                        return Ok(Some(task));
                    }
                }
            }
        }
    }

    /// Waits at a meeting until all have come and all tasks are complete, or for a task that the member may
    /// do meanwhile. An arrival stays: the next call goes on with the meeting.
    ///
    /// # Errors
    /// Those of [`BarrierMember::wait_or`].
    pub async fn meet(&self, member: &mut BarrierMember<C>) -> Result<Option<Arc<TeamTask<C, B>>>, Error> {
        let (rank, mut patience) = (member.rank(), self.patience());
        loop {
            match member.wait_or(|cpu| self.is_open(cpu), |cpu| self.take(cpu, rank, &TaskScope::Any), patience).await {
                Ok(found) => return Ok(found),
                Err(error) => {
                    if let Some(task) = self.on_timeout(error, member.cpu(), rank, &TaskScope::Any, &mut patience)? {
                        return Ok(Some(task));
                    }
                }
            }
        }
    }

    /// After a wait that ended with that error: one whose patience was over takes what was not worth
    /// fetching, since its owner may be long in coming. `None` if there is nothing; the next wait is longer.
    fn on_timeout(
        &self,
        error: Error,
        cpu: &C,
        rank: Rank,
        scope: &TaskScope<'_, C, B>,
        patience: &mut Nanos,
    ) -> Result<Option<Arc<TeamTask<C, B>>>, Error> {
        if !matches!(error.cause(), Cause::TimedOut { .. }) {
            return Err(error);
        }
        *patience = (*patience * 2).min(MOST_PATIENCE);
        Ok(self.take_of(cpu, rank, scope, 0))
    }
}

impl<C: Cpu, B> ReadyQueue<C, B> {
    /// Takes a task: the last one, as its owner does, or the first one.
    fn take(&self, from_the_end: bool, scope: &TaskScope<'_, C, B>) -> Option<Arc<TeamTask<C, B>>> {
        let mut tasks = lock(&self.tasks);
        let at = if from_the_end {
            tasks.iter().rposition(|(task, _)| scope.allows(task))
        } else {
            tasks.iter().position(|(task, _)| scope.allows(task))
        };
        let (task, weight) = tasks.remove(at?)?;
        self.adjust_weight(&tasks, -(weight as i32));
        Some(task)
    }

    /// Raises the weight of every task to [`WAKE_WEIGHT`], because the owner waits and may begin none of
    /// them: from now on, each task is worth waking another member. Returns whether the weight of any task
    /// has changed.
    fn raise_weights(&self) -> bool {
        let mut tasks = lock(&self.tasks);
        let more = tasks.iter().map(|(_, weight)| WAKE_WEIGHT - weight).sum::<u32>();
        if more > 0 {
            reached("task:5");
            tasks.iter_mut().for_each(|(_, weight)| *weight = WAKE_WEIGHT);
            self.adjust_weight(&tasks, more as i32);
        }
        more > 0
    }

    /// The queue has changed by so much weight. Returns what it has now.
    fn adjust_weight(&self, tasks: &Weighed<C, B>, more: i32) -> u32 {
        let weight = self.weight.load(Relaxed).wrapping_add_signed(more);
        self.weight.store(weight, Relaxed);
        self.count.store(tasks.len() as u32, Release);
        weight
    }
}

impl<C: Cpu, B> TaskScope<'_, C, B> {
    /// Returns whether the member may begin that task.
    pub fn allows(&self, task: &TeamTask<C, B>) -> bool {
        match self {
            Self::Any => true,
            Self::Within(current) => task.descends_from(current),
            Self::Of(group, current) => {
                let is_of = |of: &TaskGroup<C>| core::ptr::eq(of, Arc::as_ptr(group));
                task.descends_from(current) || task.group.as_ref().is_some_and(|of| of.and_outer().any(is_of))
            }
        }
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
