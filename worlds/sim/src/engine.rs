//! The clock, the event queue, and which task is polled next.
use crate::event::{Event, EventPriority, Queue};
use crate::tasks::Tasks;
use foregather_machine::Nanos;
use std::cell::{Cell, RefCell};
use std::task::Poll;

/// Virtual time. Shared by all that happens in one simulation; single-threaded by construction.
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
    /// An event happens; is its task to be polled?
    fn happens(&self, event: &Event) -> bool;
    /// Is there something to decide once all events of this moment have happened?
    fn unsettled(&self) -> bool {
        false
    }
    /// Decides it; events that follow from it may still happen at this moment.
    fn settle(&self) {}
    /// An event of that task will happen soon.
    fn touch(&self, task: u32) {
        let _ = task;
    }
}

/// The results of a simulation.
#[derive(Debug)]
pub struct Run<T> {
    /// Each task's output; `None` if it still waited when no event was left.
    pub outputs: Vec<Option<T>>,
    /// When each task ended.
    pub finished: Vec<Nanos>,
    /// A hash of all events in order.
    pub trace: u64,
    /// How many events there were.
    pub events: u64,
}

impl<T> Run<T> {
    /// The tasks that wait for something that will never come.
    pub fn deadlocked(&self) -> Vec<u32> {
        (0..).zip(&self.outputs).filter(|(_, output)| output.is_none()).map(|(task, _)| task).collect()
    }
}

impl<Q: Queue> Engine<Q> {
    /// The present moment of virtual time.
    #[inline]
    pub fn now(&self) -> Nanos {
        Nanos(self.now.get())
    }

    /// Foresees an event. A moment that lies beyond all time never comes.
    #[inline]
    pub fn at(&self, time: Nanos, class: EventPriority, task: u32, what: u32) {
        self.at_turn(time, class, 0, task, what);
    }

    /// Foresees an event whose turn among those of its moment and class is not simply the order of
    /// foreseeing.
    #[inline]
    pub fn at_turn(&self, time: Nanos, class: EventPriority, turn: u16, task: u32, what: u32) {
        if time < Nanos::MAX {
            let sequence = self.sequence.get();
            self.sequence.set(sequence + 1);
            self.queue.borrow_mut().push(Event::new(time.0, class, turn, sequence, task, what));
        }
    }

    /// Puts the event off until `until`: its task stands still until then.
    pub(crate) fn postpone(&self, event: &Event, until: Nanos) {
        self.queue.borrow_mut().push(event.postponed(until.0));
    }

    /// How many events there were, and a hash of them in their order.
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

    /// Have all events of this moment happened?
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
