//! The tasks of a team's region that may run, and how members find them.
use crate::group::TaskGroup;
use crate::task::{Left, TeamTask, one_less};
use foregather_barrier::Group;
use foregather_machine::{CachePadded, Cpu, Error, Nanos, Rank, WaitContext};
use foregather_wait::{WaitFor, Waiter};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Tasks in the order in which they came.
type Tasks<C, B> = VecDeque<Arc<TeamTask<C, B>>>;

/// The tasks of a region.
pub struct TaskTeam<C: Cpu, B> {
    queues: Box<[CachePadded<ReadyQueue<C, B>>]>,
    /// Tasks with a priority, by priority.
    urgent: Mutex<BTreeMap<u32, Tasks<C, B>>>,
    /// How many those are.
    urgent_count: CachePadded<C::Word>,
    /// Tasks that are not complete, whether they may run or not.
    unfinished: CachePadded<C::Word>,
    /// Members that wait for tasks sleep here.
    bell: CachePadded<C::Word>,
    /// Where the region's members meet.
    meeting: Group<C>,
}

/// The tasks that one member has made ready.
struct ReadyQueue<C: Cpu, B> {
    tasks: Mutex<Tasks<C, B>>,
    /// How many there are.
    count: C::Word,
}

/// Which tasks a member may begin.
pub enum May<'a, C: Cpu, B> {
    /// Any of its region: at a barrier.
    Any,
    /// Those within the task that it is in, as long as that is not done (OpenMP 5.2 §12.9).
    Within(&'a Arc<TeamTask<C, B>>),
    /// Those of a group, or within the task that waits for it.
    Of(&'a Arc<TaskGroup<C>>, &'a Arc<TeamTask<C, B>>),
}

/// How many tasks a member lets wait before it does new ones at once.
const MANY: u32 = 128;

impl<C: Cpu, B> TaskTeam<C, B> {
    /// For the regions of the members that meet there.
    pub fn new(meeting: Group<C>) -> Self {
        let queue = || CachePadded(ReadyQueue { tasks: Mutex::default(), count: C::Word::default() });
        Self {
            queues: (0..meeting.size()).map(|_| queue()).collect(),
            urgent: Mutex::default(),
            urgent_count: CachePadded::default(),
            unfinished: CachePadded::default(),
            bell: CachePadded::default(),
            meeting,
        }
    }

    /// How many members the region has.
    pub fn size(&self) -> u32 {
        self.queues.len() as u32
    }

    /// Are there tasks that are not complete?
    #[inline]
    pub fn is_open(&self, cpu: &C) -> bool {
        self.unfinished(cpu) != 0
    }

    /// How many tasks are not complete.
    pub fn unfinished(&self, cpu: &C) -> u32 {
        cpu.load(&self.unfinished.0)
    }

    /// Has the member as many tasks as make it do the next one at once?
    pub fn is_full(&self, cpu: &C, rank: Rank) -> bool {
        cpu.load(&self.queues[rank as usize].0.count) >= MANY
    }

    /// A task of `parent` is made.
    pub fn count(&self, cpu: &C, task: &TeamTask<C, B>, parent: &TeamTask<C, B>) {
        cpu.fetch_add(&self.unfinished.0, 1);
        cpu.fetch_add(&parent.children, 1);
        if let Some(group) = &task.group {
            cpu.fetch_add(&group.unfinished, 1);
        }
    }

    /// Member `rank` lets the team do a task that may run.
    pub fn put(&self, cpu: &C, rank: Rank, task: Arc<TeamTask<C, B>>) {
        if task.traits.priority > 0 {
            cpu.fetch_add(&self.urgent_count.0, 1);
            lock(&self.urgent).entry(task.traits.priority).or_default().push_back(task);
        } else {
            // Counted first, so that the count never falls below what is there.
            let queue = &self.queues[rank as usize].0;
            cpu.fetch_add(&queue.count, 1);
            lock(&queue.tasks).push_back(task);
        }
        self.ring(cpu);
    }

    /// Members that wait look again.
    pub fn ring(&self, cpu: &C) {
        cpu.ring(&self.bell.0);
        self.meeting.ring(cpu);
    }

    /// Takes a task that member `rank` may begin: an urgent one, the one that it has made last, or the one
    /// that another member has made first.
    pub fn take(&self, cpu: &C, rank: Rank, may: &May<'_, C, B>) -> Option<Arc<TeamTask<C, B>>> {
        if !self.is_open(cpu) {
            return None;
        }
        self.take_urgent(cpu, may).or_else(|| {
            let size = self.size();
            (0..size).find_map(|step| {
                let queue = &self.queues[((rank + step) % size) as usize].0;
                if cpu.load(&queue.count) == 0 { None } else { queue.take(cpu, step == 0, may) }
            })
        })
    }

    fn take_urgent(&self, cpu: &C, may: &May<'_, C, B>) -> Option<Arc<TeamTask<C, B>>> {
        if cpu.load(&self.urgent_count.0) == 0 {
            return None;
        }
        let mut urgent = lock(&self.urgent);
        let (&priority, at) =
            urgent.iter().rev().find_map(|(priority, tasks)| Some((priority, tasks.iter().position(|task| may.begin(task))?)))?;
        let tasks = urgent.get_mut(&priority)?;
        let task = tasks.remove(at);
        if tasks.is_empty() {
            urgent.remove(&priority);
        }
        drop(urgent);
        one_less(cpu, &self.urgent_count.0);
        task
    }

    /// The body of a task has ended on member `rank`, or its event was fulfilled. Tasks that come after it
    /// may run if it is complete. Returns one of them, which the member does next, or [puts](TaskTeam::put):
    /// so a line of tasks stays with one member, and wakes no other.
    #[must_use = "no member finds it until it is put"]
    pub fn end(&self, cpu: &C, rank: Rank, task: &TeamTask<C, B>) -> Option<Arc<TeamTask<C, B>>> {
        let Left { parent, after } = task.end()?;
        let (mut mine, mut rings) = (None, false);
        for next in after {
            if next.one_less_before(cpu) {
                if next.traits.undeferred {
                    rings = true;
                } else if mine.is_none() && next.traits.priority == 0 {
                    mine = Some(next);
                } else {
                    self.put(cpu, rank, next);
                }
            }
        }
        // In this order: the last member to look for a task finds none only when none is left.
        rings |= parent.is_some_and(|parent| parent.one_child_less(cpu));
        rings |= task.group.as_ref().is_some_and(|group| one_less(cpu, &group.unfinished));
        rings |= one_less(cpu, &self.unfinished.0);
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
        may: &May<'_, C, B>,
        is_over: impl Fn() -> bool,
    ) -> Result<Option<Arc<TeamTask<C, B>>>, Error> {
        let look = || if is_over() { Some(None) } else { self.take(cpu, rank, may).map(Some) };
        let why = || (WaitContext::new(what, rank).until(Nanos::MAX), WaitFor::Unknown);
        waiter.wait(cpu, &self.bell.0, false, why, look).finish().await
    }
}

impl<C: Cpu, B> ReadyQueue<C, B> {
    /// Takes a task: the last one, as its owner does, or the first one.
    fn take(&self, cpu: &C, from_the_end: bool, may: &May<'_, C, B>) -> Option<Arc<TeamTask<C, B>>> {
        let mut tasks = lock(&self.tasks);
        let at = if from_the_end {
            tasks.iter().rposition(|task| may.begin(task))
        } else {
            tasks.iter().position(|task| may.begin(task))
        };
        let task = tasks.remove(at?);
        drop(tasks);
        one_less(cpu, &self.count);
        task
    }
}

impl<C: Cpu, B> May<'_, C, B> {
    /// May the member begin that task?
    pub fn begin(&self, task: &TeamTask<C, B>) -> bool {
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
