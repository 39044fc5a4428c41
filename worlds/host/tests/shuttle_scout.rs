//! The scout's queue under random schedules: its races, by the numbers of the page in `src/scout/mod.rs`,
//! each with a fault that must be found.
#[expect(dead_code, unreachable_pub, reason = "the other file is part of a library")]
#[path = "../src/scout/queue.rs"]
mod queue;

mod atomic {
    pub(crate) use shuttle::sync::atomic::{AtomicU32, AtomicU64};
}

use core::cell::Cell;
use core::sync::atomic::AtomicU64;
use foregather_machine::{CpuId, Nanos, ThreadId};
use queue::{GOOD, KernelCalls, PROMPT, ScoutQueue};
use shuttle::rand::{Rng, thread_rng};
use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use shuttle::sync::{Arc, Condvar, Mutex, MutexGuard};
use shuttle::{Config, MaxSteps, Runner, thread};

const SCHEDULES: usize = 1_000;
const DEPTH: usize = 4;
/// The schedules are the same every time, so a fault that is found once is found again.
const SEED: u64 = 4;
/// The processors: no thread is on the first one; on the other a thread computes forever.
const FREE: CpuId = 0;
const TAKEN: CpuId = 1;
/// The scout of process `p` is the thread with the number `p * 100`.
const SCOUT: ThreadId = 100;

/// The mistakes that must be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    None,
    /// Each thread that comes takes the lock away from its holder.
    ForcesTheLock,
    /// The scout keeps the processor that it got because its owner had just gone to sleep.
    KeepsProcessor,
    /// An answer is taken for an answer to the last question, whichever it was to.
    AnswersWithoutNumber,
    /// The scout goes to sleep without looking whether there is a question.
    SleepsBlindly,
    /// A forked process takes itself for its parent.
    ForgetsThatItWasForked,
}

/// The threads of the first process, which a fork leaves behind where they are.
#[derive(Default)]
struct Stage {
    running: u32,
    stopped: bool,
    over: bool,
}

struct Machine {
    fault: Fault,
    queue: ScoutQueue,
    now: AtomicU64,
    /// The scout's processor.
    place: AtomicU32,
    sending: AtomicU32,
    over: AtomicBool,
    stage: Mutex<Stage>,
    changed: Condvar,
    /// Signalled by the stage, for the scout alone.
    called: Condvar,
}

/// The machine as a thread of one process sees it.
#[derive(Clone)]
struct Seen {
    machine: Arc<Machine>,
    process: u32,
    thread: u32,
}

impl Seen {
    fn first(fault: Fault) -> Self {
        let machine = Machine {
            fault,
            queue: ScoutQueue::new(),
            now: AtomicU64::new(Nanos::from_ms(1_000).0),
            place: AtomicU32::new(FREE),
            sending: AtomicU32::new(0),
            over: AtomicBool::new(false),
            stage: Mutex::default(),
            changed: Condvar::new(),
            called: Condvar::new(),
        };
        Self { machine: Arc::new(machine), process: 1, thread: 0 }
    }

    fn ask(&self, cpu: CpuId) -> Option<bool> {
        if self.is_over() {
            return None;
        }
        if self.machine.fault == Fault::ForcesTheLock {
            self.machine.queue.lock.store(0, SeqCst);
        }
        let said = self.machine.queue.idle(cpu, self);
        assert!(said != Some(true) || cpu == FREE, "a processor is called idle on which somebody computes");
        self.after([Nanos(100), Nanos::from_us(20), Nanos::from_us(20), GOOD][thread_rng().gen_range(0..4_usize)]);
        said
    }

    fn ask_about_both(&self) {
        for turn in 0..12 {
            self.ask(if (turn / 3 + self.thread).is_multiple_of(2) { FREE } else { TAKEN });
        }
    }

    fn after(&self, span: Nanos) {
        self.machine.now.fetch_add(span.0, SeqCst);
        self.may_stop();
        thread::yield_now();
    }

    /// Runs `body` on a thread of this process.
    fn spawn(&self, thread: u32, body: impl FnOnce(&Self) + Send + 'static) -> thread::JoinHandle<()> {
        let seen = Self { thread, ..self.clone() };
        seen.machine.stage.lock().unwrap().running += 1;
        thread::spawn(move || {
            body(&seen);
            seen.machine.stage.lock().unwrap().running -= 1;
            seen.machine.changed.notify_all();
        })
    }

    /// Returns whether a fork has left this thread behind.
    fn is_left(&self, stage: &Stage) -> bool {
        self.process == 1 && stage.stopped && !stage.over
    }

    /// A thread that was left behind stops here.
    fn may_stop(&self) {
        let stage = self.machine.stage.lock().unwrap();
        if self.is_left(&stage) {
            self.rest(stage, &self.machine.changed, |stage| self.is_left(stage));
        }
    }

    fn rest(&self, mut stage: MutexGuard<'_, Stage>, until: &Condvar, rests: impl Fn(&Stage) -> bool) {
        stage.running -= 1;
        self.machine.changed.notify_all();
        until.wait_while(stage, |stage| rests(stage)).unwrap().running += 1;
    }

    fn sleep(&self, question: &AtomicU32, number: u32) {
        let stage = self.machine.stage.lock().unwrap();
        // The first look is the kernel's own, when it puts the sleeper to sleep.
        let blind = Cell::new(self.machine.fault == Fault::SleepsBlindly && !self.is_over());
        let asleep = |stage: &Stage| blind.take() || question.load(SeqCst) == number || self.is_left(stage);
        self.rest(stage, &self.machine.called, asleep);
    }

    /// The scout's life.
    fn serve(&self) {
        let queue = &self.machine.queue;
        let mut answered = queue.enter(self.process * SCOUT);
        while !self.is_over() {
            queue.sleep(answered, |question, number| self.sleep(question, number));
            if self.here() == TAKEN {
                match thread_rng().gen_range(0..3_u32) {
                    0 => self.after(PROMPT),
                    // Race 3: the processor goes, and the kernel breaks the scout's mask.
                    1 => self.machine.place.store(FREE, SeqCst),
                    // The thread that computes there sleeps for a moment.
                    _ => {}
                }
            }
            answered = match self.machine.fault {
                Fault::AnswersWithoutNumber => {
                    self.yield_now();
                    let (here, now, number) = (self.here(), self.now(), queue.question.load(SeqCst));
                    queue.leave(here, now, number, 1);
                    number
                }
                _ => queue.answer(answered, self),
            };
        }
    }

    fn is_over(&self) -> bool {
        self.machine.over.load(SeqCst)
    }

    /// Ends all scouts.
    fn end(&self) {
        self.machine.over.store(true, SeqCst);
        self.machine.queue.question.fetch_add(1, SeqCst);
        self.machine.stage.lock().unwrap().over = true;
        self.machine.changed.notify_all();
        self.machine.called.notify_all();
    }
}

impl KernelCalls for Seen {
    fn process(&self) -> u32 {
        self.may_stop();
        if self.machine.fault == Fault::ForgetsThatItWasForked { 1 } else { self.process }
    }
    fn now(&self) -> Nanos {
        self.may_stop();
        Nanos(self.machine.now.load(SeqCst))
    }
    fn here(&self) -> CpuId {
        self.machine.place.load(SeqCst)
    }
    fn yield_now(&self) {
        let taken = self.here() == TAKEN && self.machine.fault != Fault::KeepsProcessor;
        self.after(if taken { PROMPT } else { Nanos(100) });
    }
    fn start(&self) -> bool {
        self.spawn(0, Self::serve);
        true
    }
    fn send(&self, scout: ThreadId, cpu: CpuId) -> bool {
        assert_eq!(scout, self.process * SCOUT, "the forked process sends a scout that it has not");
        assert_eq!(self.machine.sending.fetch_add(1, SeqCst), 0, "two are at the queue");
        self.machine.place.store(cpu, SeqCst);
        thread::yield_now();
        self.machine.sending.fetch_sub(1, SeqCst);
        self.may_stop();
        true
    }
    fn wake(&self, _: &AtomicU32) {
        self.may_stop();
        drop(self.machine.stage.lock().unwrap());
        self.machine.called.notify_all();
    }
}

fn explore(schedule: impl Fn() + Copy + Send + Sync + 'static) {
    let mut config = Config::new();
    config.max_steps = MaxSteps::FailAfter(50_000);
    Runner::new(RandomScheduler::new_from_seed(SEED, SCHEDULES), config.clone()).run(schedule);
    Runner::new(PctScheduler::new_from_seed(SEED, DEPTH, SCHEDULES / 2), config).run(schedule);
}

/// Two threads ask about both processors; then the free one is found to be free again and again, whatever the
/// scout is doing at the time.
fn two_ask(fault: Fault) {
    let first = Seen::first(fault);
    let askers = [1, 2].map(|thread| first.spawn(thread, Seen::ask_about_both));
    askers.into_iter().for_each(|asker| asker.join().unwrap());
    for _ in 0..8 {
        let found = (0..400).any(|_| first.ask(FREE) == Some(true));
        assert!(found, "no answer comes");
        first.after(GOOD);
    }
    let counts = first.machine.queue.counts();
    assert!(0 < counts.answered && counts.answered <= counts.asked, "{counts:?}");
    first.end();
}

#[test]
fn two_who_ask_are_told_the_truth_however_late_the_scout_answers() {
    explore(|| two_ask(Fault::None));
}

/// Race 1.
#[test]
#[should_panic(expected = "two are at the queue")]
fn a_lock_that_does_not_keep_others_out_is_found() {
    explore(|| two_ask(Fault::ForcesTheLock));
}

#[test]
#[should_panic(expected = "called idle on which somebody computes")]
fn a_scout_that_does_not_give_way_is_found() {
    explore(|| two_ask(Fault::KeepsProcessor));
}

/// Race 2.
#[test]
#[should_panic(expected = "called idle on which somebody computes")]
fn an_answer_without_the_number_of_its_question_is_found() {
    explore(|| two_ask(Fault::AnswersWithoutNumber));
}

/// Race 4.
#[test]
#[should_panic(expected = "no answer comes")]
fn a_scout_that_misses_a_question_on_its_way_to_sleep_is_found() {
    explore(|| two_ask(Fault::SleepsBlindly));
}

/// Race 5: the process is forked at any moment at which its threads call the kernel. The child has their
/// words, but not the threads.
fn fork_while_two_ask(fault: Fault) {
    let first = Seen::first(fault);
    for thread in [1, 2] {
        first.spawn(thread, Seen::ask_about_both);
    }
    for _ in 0..thread_rng().gen_range(0..60) {
        thread::yield_now();
    }
    let mut stage = first.machine.stage.lock().unwrap();
    stage.stopped = true;
    drop(first.machine.changed.wait_while(stage, |stage| stage.running > 0).unwrap());
    let child = Seen { process: 2, ..first.clone() };
    let before = child.machine.queue.counts().answered;
    let found = (0..400).any(|_| child.ask(FREE) == Some(true));
    assert!(found, "the forked process gets no answer");
    assert!(child.machine.queue.counts().answered > before, "the forked process takes an answer to another one's question");
    child.end();
}

#[test]
fn a_forked_process_gets_answers_of_its_own() {
    explore(|| fork_while_two_ask(Fault::None));
}

#[test]
#[should_panic(expected = "the forked process")]
fn marks_that_do_not_tell_processes_apart_are_found() {
    explore(|| fork_while_two_ask(Fault::ForgetsThatItWasForked));
}
