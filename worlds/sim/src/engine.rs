//! The clock, the event queue, and which task is polled next.
use crate::event::{Event, EventPriority, Queue};
use crate::tasks::Tasks;
use foregather_machine::Nanos;
use std::cell::{Cell, RefCell};
use std::task::Poll;

/// The event engine of one simulation; single-threaded by construction.
#[derive(Default)]
pub struct Engine<Q> {
    now: Cell<u64>,
    sequence: Cell<u64>,
    events: Cell<u64>,
    trace: Cell<u64>,
    queue: RefCell<Q>,
}

/// How a world responds to events.
pub(crate) trait EventHandler {
    /// Handles an event. Returns whether to poll its task.
    fn happens(&self, event: &Event) -> bool;
    /// Returns whether a decision is due after all events at the current time.
    fn unsettled(&self) -> bool {
        false
    }
    /// Makes this decision; it may cause more events at the current time.
    fn settle(&self) {}
    /// Called when an event of this task will occur soon, so that its data can be prefetched.
    fn touch(&self, task: u32) {
        let _ = task;
    }
}

/// The results of a simulation.
#[derive(Debug)]
pub struct Run<T> {
    /// Each task's output; `None` if it still waited when no event was left.
    pub outputs: Vec<Option<T>>,
    /// When each task finished.
    pub finished: Vec<Nanos>,
    /// A hash of all events in order.
    pub trace: u64,
    /// The number of events.
    pub events: u64,
}

impl<T> Run<T> {
    /// Returns the tasks that never finished.
    pub fn deadlocked(&self) -> Vec<u32> {
        (0..).zip(&self.outputs).filter(|(_, output)| output.is_none()).map(|(task, _)| task).collect()
    }
}

impl<Q: Queue> Engine<Q> {
    /// Returns the current virtual time.
    #[inline]
    pub fn now(&self) -> Nanos {
        Nanos(self.now.get())
    }

    /// Schedules an event. An event at the maximum time never occurs.
    #[inline]
    pub fn at(&self, time: Nanos, class: EventPriority, task: u32, what: u32) {
        self.at_turn(time, class, 0, task, what);
    }

    /// Schedules an event with an explicit priority among events of the same time and class.
    #[inline]
    pub fn at_turn(&self, time: Nanos, class: EventPriority, turn: u16, task: u32, what: u32) {
        if time < Nanos::MAX {
            let sequence = self.sequence.get();
            self.sequence.set(sequence + 1);
            self.queue.borrow_mut().push(Event::new(time.0, class, turn, sequence, task, what));
        }
    }

    /// Postpones the event until `until`; its task does not run until then.
    pub(crate) fn postpone(&self, event: &Event, until: Nanos) {
        self.queue.borrow_mut().push(event.postponed(until.0));
    }

    /// Returns the number of events, and a hash of them in order.
    pub(crate) fn history(&self) -> (u64, u64) {
        (self.events.get(), self.trace.get())
    }

    /// Goes to the next event. The hash (FNV-1a over whole words) tells two traces apart.
    pub(crate) fn next(&self) -> Option<Event> {
        let event = self.queue.borrow_mut().pop()?;
        debug_assert!(event.time >= self.now.get(), "time runs forwards");
        self.now.set(event.time);
        self.events.set(self.events.get() + 1);
        let words = [event.time, event.class(), u64::from(event.task), u64::from(event.what)];
        self.trace.set(words.iter().fold(self.trace.get(), |hash, word| (hash ^ word).wrapping_mul(0x0100_0000_01b3)));
        Some(event)
    }

    /// Returns whether all events at the current time have occurred.
    fn moment_is_over(&self) -> bool {
        self.queue.borrow_mut().next_time() != Some(self.now.get())
    }

    /// Runs the tasks, the `i`-th from `start(i)` on, or from now on if that is later, until no event is
    /// left.
    pub(crate) fn run<F: Future>(
        &self,
        tasks: impl Iterator<Item = F>,
        start: impl Fn(u32) -> Nanos,
        world: &impl EventHandler,
    ) -> Run<F::Output> {
        let mut tasks = Tasks::new(tasks);
        for task in 0..tasks.len() {
            self.at(start(task).max(self.now()), EventPriority::Resume, task, START);
        }
        let mut finished = vec![Nanos::MAX; tasks.len() as usize];
        loop {
            if world.unsettled() && self.moment_is_over() {
                world.settle();
                continue;
            }
            let Some(event) = self.next() else { break };
            if let Some(soon) = self.queue.borrow().ahead(AHEAD) {
                world.touch(soon);
                tasks.touch(soon);
            }
            if (event.what == START || world.happens(&event)) && tasks.poll(event.task) == Poll::Ready(()) {
                finished[event.task as usize] = self.now();
            }
        }
        Run { outputs: tasks.into_outputs(), finished, trace: self.trace.get(), events: self.events.get() }
    }
}

/// What a task needs is fetched this number of events before its own: longer than memory takes.
const AHEAD: usize = 12;

/// The event with which every task begins; worlds use other numbers.
pub(crate) const START: u32 = u32::MAX;
