//! Searches all states breadth first, so that the trace to a mistake is the shortest, and then backwards from
//! the idle states.
use super::Setup;
use super::fingerprint::fingerprint;
use super::state::{GlobalState, Wrong};
use super::step::Transition;
use core::fmt;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

/// The result of a search that found no violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Explored {
    /// The number of different states.
    pub states: u64,
    /// The number of steps between them.
    pub steps: u64,
    /// The number of steps from the first state to the farthest one.
    pub depth: u32,
    /// How many requests waited in the longest queue of a manager.
    pub longest_queue: usize,
    /// How many messages were in the fullest channel.
    pub longest_wire: usize,
}

/// The properties that hold in every state explored.
pub const PROPERTIES: [&str; 9] = [
    "one writer or readers: never a writer beside any other open view",
    "sequential consistency: what a view shows is the last write, and a write stands on the last one",
    "no torn copies: bytes are sent from views that nobody writes, and arrive in views that nobody sees",
    "no word promises more than its view allows",
    "a manager that is not busy knows all copies, and all it lists are valid",
    "no deadlock and no way without an end: every state can still become quiet, all threads done and nothing under way",
    "bounded queues: hosts x (threads + prefetches)",
    "locks: one holder, first come, first served",
    "freed is freed: no open view is left, and every later request is told so",
];

/// A violated property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The property.
    pub property: String,
    /// The shortest path from the first state to the violation.
    pub trace: Vec<String>,
    /// How many states had been found by then.
    pub states: u64,
}

impl fmt::Display for Explored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { states, steps, depth, longest_queue, longest_wire } = self;
        write!(f, "{states} states, {steps} steps, depth {depth}, ")?;
        write!(f, "longest queue {longest_queue}, fullest wire {longest_wire}")
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} (after {} steps; {} states known)", self.property, self.trace.len(), self.states)?;
        self.trace.iter().enumerate().try_for_each(|(at, step)| writeln!(f, "{:>4}. {step}", at + 1))
    }
}

/// Checks all states.
///
/// A state is identified by a 128-bit hash. The probability that one of n states is mistaken for another is
/// n² / 2¹²⁸, less than 10⁻²² for a hundred million states.
///
/// # Errors
/// The first violated property, with the path to it.
pub fn explore(setup: &Setup) -> Result<Explored, Broken> {
    let mut search = Search::new(setup);
    while let Some((at, state, depth)) = search.frontier.pop_front() {
        search.expand(at, &state, depth + 1)?;
    }
    search.can_all_end()?;
    Ok(search.explored)
}

/// A hasher for keys that already are hashes.
#[derive(Default)]
struct Same(u64);

impl Hasher for Same {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = self.0 << 8 | u64::from(byte));
    }
    fn write_u128(&mut self, key: u128) {
        self.0 = key as u64;
    }
}

struct Search<'s> {
    setup: &'s Setup,
    known: HashMap<u128, u32, BuildHasherDefault<Same>>,
    /// How each state was first reached: from which state, and by which of its steps.
    paths: Vec<(u32, u16)>,
    quiet: Vec<bool>,
    /// Steps of a job that is ending: the state after each, and the state before.
    ends: Vec<(u32, u32)>,
    /// States whose successors have not been visited, each with its number and depth.
    frontier: VecDeque<(u32, GlobalState, u32)>,
    explored: Explored,
}

impl<'s> Search<'s> {
    fn new(setup: &'s Setup) -> Self {
        let explored = Explored { states: 0, steps: 0, depth: 0, longest_queue: 0, longest_wire: 0 };
        let (paths, frontier) = (Vec::new(), VecDeque::new());
        let known = HashMap::with_hasher(BuildHasherDefault::default());
        let mut search = Self { setup, known, paths, quiet: Vec::new(), ends: Vec::new(), frontier, explored };
        search.meet(GlobalState::new(setup), (0, 0), 0);
        search
    }

    /// Returns the number of a state; a new one is queued.
    fn meet(&mut self, state: GlobalState, path: (u32, u16), depth: u32) -> u32 {
        let fresh = self.paths.len() as u32;
        let number = *self.known.entry(fingerprint(&state)).or_insert(fresh);
        if number == fresh {
            self.quiet.push(state.is_quiet(self.setup));
            self.explored.states += 1;
            self.explored.depth = depth;
            self.explored.longest_queue = self.explored.longest_queue.max(state.longest_queue(self.setup));
            self.explored.longest_wire = self.explored.longest_wire.max(state.longest_wire());
            self.paths.push(path);
            self.frontier.push_back((number, state, depth));
        }
        number
    }

    fn expand(&mut self, at: u32, state: &GlobalState, depth: u32) -> Result<(), Broken> {
        let mut stuck = !self.quiet[at as usize];
        for (which, step) in (0..).zip(state.steps(self.setup)) {
            let next = state.after(self.setup, step).and_then(|next| next.check(self.setup).map(|()| next));
            let next = next.map_err(|wrong| self.broken(wrong, at, Some(step)))?;
            let number = self.meet(next, (at, which), depth);
            self.explored.steps += 1;
            if !matches!(step, Transition::Start(..)) {
                self.ends.push((number, at));
                stuck = false;
            }
        }
        if stuck {
            return Err(self.broken("deadlock: somebody waits and nothing can happen".into(), at, None));
        }
        Ok(())
    }

    /// Checks that every state can reach an idle state if no thread starts anything new.
    fn can_all_end(&mut self) -> Result<(), Broken> {
        self.ends.sort_unstable();
        let mut ending = self.quiet.clone();
        let mut sure: Vec<u32> = (0..ending.len() as u32).filter(|&state| ending[state as usize]).collect();
        while let Some(state) = sure.pop() {
            let first = self.ends.partition_point(|edge| edge.0 < state);
            for &(_, from) in self.ends[first..].iter().take_while(|edge| edge.0 == state) {
                if !std::mem::replace(&mut ending[from as usize], true) {
                    sure.push(from);
                }
            }
        }
        match ending.iter().position(|ending| !ending) {
            Some(lost) => Err(self.broken("livelock: from here it never becomes quiet".into(), lost as u32, None)),
            None => Ok(()),
        }
    }

    #[cold]
    fn broken(&self, property: Wrong, mut at: u32, last: Option<Transition>) -> Broken {
        let mut paths = Vec::new();
        while at > 0 {
            let (before, which) = self.paths[at as usize];
            paths.push(which);
            at = before;
        }
        let mut state = GlobalState::new(self.setup);
        let mut trace = Vec::new();
        for which in paths.into_iter().rev() {
            let step = state.steps(self.setup)[usize::from(which)];
            trace.push(state.tell(step));
            if let Ok(next) = state.after(self.setup, step) {
                state = next;
            }
        }
        trace.extend(last.map(|step| state.tell(step)));
        Broken { property, trace, states: self.explored.states }
    }
}
