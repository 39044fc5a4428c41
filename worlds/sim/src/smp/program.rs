//! Programs of threads: lists of events, as rt-app has them.
use super::cpu::SmpCpu;
use super::lock::LockKind;
use super::mutex::Mutex;
use crate::event::Queue;
use crate::word::SimWord;
use foregather_machine::{Clock, Error, Nanos, Park, Rank, WaitContext, Words};
use foregather_wait::{Policy, WaitFor, Waiter};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

/// One event. Mutexes, conditions, barriers and timers are numbers that all programs of a study share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramStep {
    /// Computes.
    Run(Nanos),
    /// Sleeps.
    Sleep(Nanos),
    /// Sleeps until a period after the timer last expired; it first did when the thread began.
    Timer {
        /// The timer.
        timer: u32,
        /// Its period.
        period: Nanos,
        /// Does a missed expiry leave the later ones where they are?
        absolute: bool,
    },
    /// Takes a mutex; a thread that waits for it sleeps.
    Lock(u32),
    /// Releases a mutex.
    Unlock(u32),
    /// Releases the mutex, sleeps until the condition is signalled, and takes the mutex again.
    Wait {
        /// The condition.
        condition: u32,
        /// The mutex.
        mutex: u32,
    },
    /// Wakes the first thread that sleeps on the condition.
    Signal(u32),
    /// Wakes all threads that sleep on the condition.
    Broadcast(u32),
    /// Sleeps until all users of the barrier have arrived.
    Barrier(u32),
    /// Sleeps until the condition is broadcast.
    Suspend(u32),
    /// Offers the processor.
    Yield,
}

/// Events that are repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// How often; `None`: without end.
    pub times: Option<u64>,
    /// The events, in their order.
    pub steps: Vec<ProgramStep>,
}

/// What the threads of a job do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadProgram {
    /// When they begin.
    pub delay: Nanos,
    /// How often they go through their phases; `None`: without end.
    pub times: Option<u64>,
    /// The phases, in their order. A round of a phase takes 1 us at least.
    pub phases: Vec<Phase>,
    /// How many mutexes, conditions and timers the study's programs have.
    pub objects: [u32; 3],
    /// The number of users of each barrier.
    pub barriers: Vec<u32>,
}

/// A round of a phase takes at least this long, so that each loop comes to an end.
const LEAST_ROUND: Nanos = Nanos::from_us(1);

/// What the programs of a study share.
pub(super) struct Objects {
    mutexes: Vec<Mutex>,
    conditions: Vec<RefCell<VecDeque<u32>>>,
    timers: Vec<Cell<Option<Nanos>>>,
    /// By barrier: its users, how many of them have arrived, and those that sleep.
    barriers: Vec<(u32, Cell<u32>, RefCell<VecDeque<u32>>)>,
    /// By thread: counts how often it was woken from a condition or a barrier.
    woken: Vec<SimWord>,
}

impl Objects {
    /// Those of some programs, for `threads` threads.
    pub(super) fn new<'p>(programs: impl Iterator<Item = &'p ThreadProgram>, threads: u32) -> Self {
        let programs: Vec<&ThreadProgram> = programs.collect();
        let most = |of: usize| programs.iter().map(|program| program.objects[of]).max().unwrap_or(0);
        let users = programs.iter().map(|program| &program.barriers).max_by_key(|barriers| barriers.len());
        let threads = if programs.is_empty() { 0 } else { threads };
        Self {
            mutexes: (0..most(0)).map(|_| Mutex::new(LockKind::Futex, threads)).collect(),
            conditions: (0..most(1)).map(|_| RefCell::default()).collect(),
            timers: (0..most(2)).map(|_| Cell::new(None)).collect(),
            barriers: users.into_iter().flatten().map(|&users| (users, Cell::new(0), RefCell::default())).collect(),
            woken: (0..threads).map(|_| SimWord::default()).collect(),
        }
    }
}

/// A thread that runs a program.
pub(super) struct Runner<'o, 's, Q: Queue> {
    pub(super) objects: &'o Objects,
    pub(super) cpu: SmpCpu<'s, Q>,
    pub(super) waiter: Waiter,
    began: Nanos,
}

impl<'o, 's, Q: Queue> Runner<'o, 's, Q> {
    pub(super) fn new(objects: &'o Objects, cpu: SmpCpu<'s, Q>) -> Self {
        Self { objects, cpu, waiter: Waiter::new(Policy::Block, cpu.number()), began: Nanos::ZERO }
    }

    /// Runs the program to its end; `round` is called after each round of all phases.
    pub(super) async fn run(&mut self, program: &ThreadProgram, round: impl Fn()) -> Result<(), Error> {
        if program.delay > Nanos::ZERO {
            self.cpu.sleep(program.delay).await;
        }
        self.began = self.cpu.now();
        let mut rounds = 0;
        while program.times.is_none_or(|times| rounds < times) {
            for phase in &program.phases {
                self.phase(phase).await?;
            }
            rounds += 1;
            round();
        }
        Ok(())
    }

    async fn phase(&self, phase: &Phase) -> Result<(), Error> {
        let mut rounds = 0;
        while phase.times.is_none_or(|times| rounds < times) {
            let began = self.cpu.now();
            for step in &phase.steps {
                self.step(*step).await?;
            }
            if self.cpu.now() < began + LEAST_ROUND {
                self.cpu.delay(began + LEAST_ROUND - self.cpu.now()).await;
            }
            rounds += 1;
        }
        Ok(())
    }

    async fn step(&self, step: ProgramStep) -> Result<(), Error> {
        let Objects { mutexes, conditions, .. } = self.objects;
        match step {
            ProgramStep::Run(span) => self.cpu.delay(span).await,
            ProgramStep::Sleep(span) => self.cpu.sleep(span).await,
            ProgramStep::Timer { timer, period, absolute } => self.timer(timer, period, absolute).await,
            ProgramStep::Lock(mutex) => self.lock(mutex).await?,
            ProgramStep::Unlock(mutex) => mutexes[mutex as usize].release(&self.cpu),
            ProgramStep::Wait { condition, mutex } => {
                mutexes[mutex as usize].release(&self.cpu);
                self.wait(&conditions[condition as usize]).await?;
                self.lock(mutex).await?;
            }
            ProgramStep::Signal(condition) => self.wake(&conditions[condition as usize], 1),
            ProgramStep::Broadcast(condition) => self.wake(&conditions[condition as usize], usize::MAX),
            ProgramStep::Barrier(barrier) => self.barrier(barrier).await?,
            ProgramStep::Suspend(condition) => self.wait(&conditions[condition as usize]).await?,
            ProgramStep::Yield => self.cpu.yield_now().await,
        }
        Ok(())
    }

    async fn lock(&self, mutex: u32) -> Result<(), Error> {
        let threads = self.objects.woken.len() as u32;
        self.objects.mutexes[mutex as usize].acquire(&self.cpu, &self.waiter, (self.rank(), threads)).await
    }

    fn rank(&self) -> Rank {
        self.cpu.number()
    }

    async fn timer(&self, timer: u32, period: Nanos, absolute: bool) {
        let expiry = &self.objects.timers[timer as usize];
        let (now, next) = (self.cpu.now(), expiry.get().unwrap_or(self.began) + period);
        if next > now {
            expiry.set(Some(next));
            self.cpu.sleep(next - now).await;
        } else {
            expiry.set(Some(if absolute { next } else { now }));
        }
    }

    /// Sleeps in a queue until another thread takes this one out.
    async fn wait(&self, queue: &RefCell<VecDeque<u32>>) -> Result<(), Error> {
        let own = &self.objects.woken[self.rank() as usize];
        let before = self.cpu.load(own);
        queue.borrow_mut().push_back(self.rank());
        let why = || (WaitContext::new("condition", self.rank()), WaitFor::Unknown);
        let woken = || (self.cpu.load(own) != before).then_some(());
        self.waiter.wait(&self.cpu, own, true, why, woken).finish().await
    }

    fn wake(&self, queue: &RefCell<VecDeque<u32>>, most: usize) {
        let count = queue.borrow().len().min(most);
        let woken: Vec<u32> = queue.borrow_mut().drain(..count).collect();
        for thread in woken {
            self.cpu.fetch_add(&self.objects.woken[thread as usize], 1);
        }
    }

    async fn barrier(&self, barrier: u32) -> Result<(), Error> {
        let (users, arrived, queue) = &self.objects.barriers[barrier as usize];
        arrived.set(arrived.get() + 1);
        if arrived.get() < *users {
            return self.wait(queue).await;
        }
        arrived.set(0);
        self.wake(queue, usize::MAX);
        Ok(())
    }
}
