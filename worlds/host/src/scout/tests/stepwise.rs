//! The queue against a kernel of this file: every interleaving that matters is played step by step.
use super::super::atomic::AtomicU32;
use super::super::queue::*;
use core::cell::{Cell, RefCell};
use core::sync::atomic::Ordering::*;
use foregather_machine::{CpuId, Nanos, ThreadId};

const SCOUT: ThreadId = 77;

/// A machine on which only the test moves time and the scout.
struct Stub {
    process: Cell<u32>,
    now: Cell<Nanos>,
    here: Cell<CpuId>,
    offline: CpuId,
    threads: Cell<bool>,
    /// How long another thread runs when the scout offers its processor.
    turn: Cell<Nanos>,
    started: Cell<u32>,
    sent: RefCell<Vec<CpuId>>,
    woken: Cell<u32>,
}

impl Stub {
    fn new() -> Self {
        Self {
            process: Cell::new(1),
            now: Cell::new(Nanos::from_ms(1_000)),
            here: Cell::new(0),
            offline: 9,
            threads: Cell::new(true),
            turn: Cell::new(Nanos::ZERO),
            started: Cell::new(0),
            sent: RefCell::default(),
            woken: Cell::new(0),
        }
    }
    fn after(&self, span: Nanos) {
        self.now.set(self.now.get() + span);
    }
}

impl KernelCalls for Stub {
    fn process(&self) -> u32 {
        self.process.get()
    }
    fn now(&self) -> Nanos {
        self.now.get()
    }
    fn here(&self) -> CpuId {
        self.here.get()
    }
    fn yield_now(&self) {
        self.after(self.turn.get());
    }
    fn start(&self) -> bool {
        self.started.set(self.started.get() + 1);
        self.threads.get()
    }
    fn send(&self, scout: ThreadId, cpu: CpuId) -> bool {
        assert_eq!(scout, SCOUT);
        if cpu == self.offline {
            return false;
        }
        self.sent.borrow_mut().push(cpu);
        self.here.set(cpu);
        true
    }
    fn wake(&self, _: &AtomicU32) {
        self.woken.set(self.woken.get() + 1);
    }
}

/// A queue whose scout is there, and the last number that it knows.
fn ready(kernel: &Stub) -> (ScoutQueue, u32) {
    let queue = ScoutQueue::new();
    assert_eq!(queue.idle(1, kernel), Some(false), "the scout starts");
    assert_eq!(queue.idle(1, kernel), Some(false), "it is not there yet");
    assert!(kernel.sent.borrow().is_empty() && kernel.started.get() == 1);
    let known = queue.enter(SCOUT);
    (queue, known)
}

#[test]
fn a_prompt_answer_permits_until_it_is_stale() {
    let kernel = Stub::new();
    let (queue, known) = ready(&kernel);
    assert_eq!(queue.idle(1, &kernel), Some(false));
    assert_eq!((&kernel.sent.borrow()[..], kernel.woken.get()), (&[1][..], 1));
    kernel.after(Nanos::from_us(20));
    assert_eq!(queue.idle(1, &kernel), Some(false), "no answer yet");
    let known = queue.answer(known, &kernel);
    assert_eq!(queue.answer(known, &kernel), known, "one answer a question");
    kernel.after(GOOD - Nanos(1));
    assert_eq!(queue.idle(1, &kernel), Some(true));
    assert_eq!(kernel.sent.borrow().len(), 1);
    kernel.after(Nanos(1));
    assert_eq!(queue.idle(1, &kernel), Some(false), "stale: asked again");
    assert_eq!((kernel.sent.borrow().len(), kernel.woken.get()), (2, 2));
    queue.answer(known, &kernel);
    assert_eq!(queue.idle(1, &kernel), Some(true));
    assert_eq!(queue.counts(), Counts { asked: 2, answered: 2 });
}

#[test]
fn an_answer_that_took_somebodys_turn_is_none() {
    let kernel = Stub::new();
    let (queue, known) = ready(&kernel);
    queue.idle(1, &kernel);
    kernel.after(PROMPT);
    queue.answer(known, &kernel);
    assert_eq!(queue.idle(1, &kernel), Some(false));
    assert_eq!(queue.counts(), Counts { asked: 2, answered: 1 }, "asked again");
}

#[test]
fn a_scout_that_runs_beside_somebody_who_is_ready_has_found_nothing_idle() {
    let kernel = Stub::new();
    let (queue, known) = ready(&kernel);
    queue.idle(1, &kernel);
    kernel.turn.set(Nanos::from_ms(2));
    queue.answer(known, &kernel);
    assert_eq!(queue.idle(1, &kernel), Some(false));
}

#[test]
fn a_question_that_stays_open_is_not_repeated() {
    let kernel = Stub::new();
    let (queue, _) = ready(&kernel);
    for _ in 0..10 {
        assert_eq!(queue.idle(1, &kernel), Some(false));
        kernel.after(GOOD);
    }
    assert_eq!(queue.counts(), Counts { asked: 1, answered: 0 });
}

#[test]
fn a_question_about_another_processor_waits_for_the_open_one_and_takes_over() {
    let kernel = Stub::new();
    let (queue, known) = ready(&kernel);
    queue.idle(1, &kernel);
    kernel.after(GOOD - Nanos(1));
    assert_eq!(queue.idle(2, &kernel), Some(false));
    assert_eq!(kernel.sent.borrow()[..], [1]);
    kernel.after(Nanos(1));
    assert_eq!(queue.idle(2, &kernel), Some(false));
    assert_eq!(kernel.sent.borrow()[..], [1, 2]);
    queue.answer(known, &kernel);
    assert_eq!(queue.idle(2, &kernel), Some(true));
    assert_eq!(queue.idle(1, &kernel), Some(false), "nothing is open: asked at once");
    assert_eq!(kernel.sent.borrow()[..], [1, 2, 1]);
}

#[test]
fn a_late_answer_to_an_old_question_is_not_taken_for_the_new_one() {
    let kernel = Stub::new();
    let (queue, known) = ready(&kernel);
    queue.idle(1, &kernel);
    // The scout has read the number, and is stopped before it leaves its answer.
    let old = queue.question.load(Acquire);
    kernel.after(GOOD);
    queue.idle(2, &kernel);
    queue.leave(1, kernel.now(), old, 1);
    assert_eq!(queue.idle(2, &kernel), Some(false));
    assert_eq!(queue.idle(1, &kernel), Some(false));
    queue.answer(known, &kernel);
    assert_eq!(queue.idle(2, &kernel), Some(true));
}

#[test]
fn an_answer_from_elsewhere_is_none() {
    let kernel = Stub::new();
    let (queue, known) = ready(&kernel);
    queue.idle(1, &kernel);
    kernel.here.set(0);
    queue.answer(known, &kernel);
    assert_eq!(queue.idle(1, &kernel), Some(false));
    assert_eq!(kernel.sent.borrow()[..], [1, 1], "sent again");
}

#[test]
fn a_processor_that_is_not_there_is_not_idle_and_spoils_nothing() {
    let kernel = Stub::new();
    let (queue, known) = ready(&kernel);
    queue.idle(1, &kernel);
    queue.answer(known, &kernel);
    assert_eq!(queue.idle(kernel.offline, &kernel), Some(false));
    assert_eq!(queue.idle(1, &kernel), Some(true));
}

#[test]
fn without_a_thread_or_the_right_there_is_no_answer_for_ever() {
    let kernel = Stub::new();
    kernel.threads.set(false);
    let queue = ScoutQueue::new();
    for _ in 0..3 {
        assert_eq!(queue.idle(1, &kernel), None);
    }
    assert_eq!(kernel.started.get(), 1);
    let kernel = Stub::new();
    let queue = ScoutQueue::new();
    assert_eq!(queue.idle(1, &kernel), Some(false));
    queue.refused();
    assert_eq!((queue.idle(1, &kernel), queue.idle(1, &kernel)), (None, None));
}

#[test]
fn a_thread_that_finds_the_queue_locked_does_not_wait() {
    let kernel = Stub::new();
    let (queue, known) = ready(&kernel);
    queue.idle(1, &kernel);
    queue.answer(known, &kernel);
    queue.lock.store(kernel.process(), Relaxed);
    assert_eq!(queue.idle(1, &kernel), Some(false));
    queue.lock.store(0, Relaxed);
    assert_eq!(queue.idle(1, &kernel), Some(true));
}

#[test]
fn a_forked_process_has_a_scout_of_its_own() {
    let kernel = Stub::new();
    let (queue, _) = ready(&kernel);
    // The process was forked while a question was open and another thread at the queue.
    queue.idle(1, &kernel);
    queue.lock.store(kernel.process(), Relaxed);
    kernel.process.set(2);
    assert_eq!(queue.idle(1, &kernel), Some(false));
    assert_eq!((kernel.started.get(), kernel.sent.borrow().len()), (2, 1), "started, not sent");
    let known = queue.enter(SCOUT);
    assert_eq!(queue.answer(known, &kernel), known, "the open question died with the other process");
    assert_eq!(queue.idle(1, &kernel), Some(false));
    assert_eq!(kernel.sent.borrow().len(), 2);
    queue.answer(known, &kernel);
    assert_eq!(queue.idle(1, &kernel), Some(true));
}
