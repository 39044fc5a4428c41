//! A fabric on which every order of deliveries can be tested: no time, no processors, only choices.
//!
//! Programs run until all of them wait; then one of the possible events (a frame arrives, a read ends) is
//! chosen, by a seed or one after the other. Two messages between the same lanes never overtake each other;
//! everything else may.

mod chooser;
mod lane;

pub use chooser::Chooser;
pub use lane::{Chair, TableLane};

use core::cell::{Cell, RefCell};
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use foregather_machine::{Address, Key, Limits, Nanos, Rank, WaitContext, WordLine};
use std::collections::{BTreeMap, VecDeque};

/// A frame, on its way or delivered.
pub(crate) struct TableFrame {
    head: u32,
    bytes: Vec<u8>,
}

/// A possible event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PossibleEvent {
    TableFrame(usize, usize),
    /// A read by that lane ends.
    Read(usize),
    /// That lane's delay is over.
    Delay(usize),
}

/// A read under way.
struct Read {
    of: usize,
    key: Key,
    bytes: usize,
    /// Whether the other side has done its share.
    helped: bool,
    end: Option<Option<Vec<u8>>>,
}

/// One lane, as the table sees it.
#[derive(Default)]
struct LaneView {
    bell: Cell<u32>,
    inbox: RefCell<BTreeMap<usize, VecDeque<TableFrame>>>,
    filling: RefCell<BTreeMap<usize, Vec<u8>>>,
    read: RefCell<Option<Read>>,
    delayed: Cell<bool>,
    left: Cell<bool>,
    /// The end of its sleep at the latest.
    until: Cell<u64>,
    /// The context of its wait when it was last polled.
    why: Cell<Option<WaitContext>>,
}

/// Lanes, and the frames between them.
pub struct Table {
    size: u32,
    limits: Limits,
    places: Box<[LaneView]>,
    roster: Box<[WordLine<Cell<u32>>]>,
    flight: RefCell<BTreeMap<(usize, usize), VecDeque<TableFrame>>>,
    unreleased: RefCell<BTreeMap<(usize, usize), u32>>,
    exposed: RefCell<BTreeMap<u64, (usize, Vec<u8>)>>,
    keys: Cell<u64>,
    chooser: RefCell<Chooser>,
    now: Cell<u64>,
    lost: Cell<Option<Rank>>,
    /// The only rank that is told of the death, if not all are.
    witness: Cell<Option<Rank>>,
    /// Counts changes that other lanes can see.
    changes: Cell<u64>,
    /// Whether reads end only once the other side has helped.
    helped: bool,
    frames: Cell<u64>,
}

impl Table {
    /// `size` ranks; `chooser` decides what happens next.
    pub fn new(size: u32, limits: Limits, chooser: Chooser) -> Self {
        let places = (size * limits.lanes) as usize;
        Self {
            size,
            limits,
            places: (0..places).map(|_| LaneView { until: Cell::new(u64::MAX), ..LaneView::default() }).collect(),
            roster: (0..=size).map(|_| WordLine::default()).collect(),
            flight: RefCell::default(),
            unreleased: RefCell::default(),
            exposed: RefCell::default(),
            keys: Cell::new(0),
            chooser: RefCell::new(chooser),
            now: Cell::new(1),
            lost: Cell::new(None),
            witness: Cell::new(None),
            changes: Cell::new(0),
            helped: false,
            frames: Cell::new(0),
        }
    }

    /// Makes a read end only once the other side has helped, as on networks without remote reads.
    #[must_use]
    pub fn helped(self) -> Self {
        Self { helped: true, ..self }
    }

    /// A lane's end.
    pub fn lane(&self, rank: Rank, lane: u32) -> TableLane<'_> {
        TableLane::new(self, Address { rank, lane })
    }

    /// Gives the chooser back, to go on to the next order.
    pub fn into_chooser(self) -> Chooser {
        self.chooser.into_inner()
    }

    /// A rank dies: frames that it has not yet sent will not come, and every wait learns of it.
    pub fn kill(&self, rank: Rank) {
        self.lost.set(Some(rank));
        self.ring_all();
    }

    /// A rank dies, and only `witness` is told: the others learn of it from that rank.
    pub fn kill_before(&self, rank: Rank, witness: Rank) {
        self.witness.set(Some(witness));
        self.kill(rank);
    }

    /// The rank that `rank` knows to be lost.
    fn lost_for(&self, rank: Rank) -> Option<Rank> {
        self.lost.get().filter(|_| self.witness.get().is_none_or(|witness| witness == rank))
    }

    /// A frame that no lane has sent.
    pub fn forge(&self, from: Address, to: Address, head: u32, bytes: &[u8]) {
        let frame = TableFrame { head, bytes: bytes.to_vec() };
        self.flight.borrow_mut().entry((self.index(from), self.index(to))).or_default().push_back(frame);
    }

    /// How many frames were delivered.
    pub fn frames(&self) -> u64 {
        self.frames.get()
    }

    /// The lanes that still waited when no event was left, and what for.
    pub fn deadlocked(&self) -> Vec<String> {
        let line = |why: WaitContext| format!("rank {} waits for {} of {:?}", why.rank, why.what, why.peer);
        self.places.iter().filter_map(|place| place.why.get()).map(line).collect()
    }

    fn index(&self, of: Address) -> usize {
        of.index(self.limits.lanes)
    }

    fn address(&self, index: usize) -> Address {
        Address::of_index(index, self.limits.lanes)
    }

    fn changed(&self) {
        self.changes.set(self.changes.get() + 1);
    }

    fn ring(&self, place: usize) {
        let bell = &self.places[place].bell;
        bell.set(bell.get() + 1);
        self.changed();
    }

    fn ring_all(&self) {
        (0..self.places.len()).for_each(|place| self.ring(place));
    }

    /// Runs the programs until no event is left; `None` for programs that still wait then. `look` sees the
    /// table after each event.
    pub fn run<'t, T>(
        &'t self,
        programs: Vec<Pin<Box<dyn Future<Output = T> + 't>>>,
        mut look: impl FnMut(u64),
    ) -> Vec<Option<T>> {
        let mut programs: Vec<_> = programs.into_iter().map(Some).collect();
        let mut ends: Vec<Option<T>> = programs.iter().map(|_| None).collect();
        let context = &mut Context::from_waker(Waker::noop());
        loop {
            loop {
                let before = self.changes.get();
                for (program, end) in programs.iter_mut().zip(&mut ends) {
                    if let Some(Poll::Ready(output)) = program.as_mut().map(|program| program.as_mut().poll(context)) {
                        (*program, *end) = (None, Some(output));
                        self.changed();
                    }
                }
                if self.changes.get() == before {
                    break;
                }
            }
            if programs.iter().all(Option::is_none) || !self.happens() {
                return ends;
            }
            look(self.now.get());
        }
    }

    /// Lets one event happen; `false` if there is none.
    fn happens(&self) -> bool {
        let mut next: Vec<PossibleEvent> = Vec::new();
        let flight = self.flight.borrow();
        next.extend(
            flight.iter().filter(|(_, frames)| !frames.is_empty()).map(|(&(from, to), _)| PossibleEvent::TableFrame(from, to)),
        );
        drop(flight);
        for (index, place) in self.places.iter().enumerate() {
            if place.read.borrow().as_ref().is_some_and(|read| read.end.is_none() && (read.helped || !self.helped)) {
                next.push(PossibleEvent::Read(index));
            }
            if place.delayed.get() {
                next.push(PossibleEvent::Delay(index));
            }
        }
        self.now.set(self.now.get() + 1);
        if next.is_empty() {
            let until = self.places.iter().map(|place| place.until.get()).min().filter(|&until| until < u64::MAX);
            until.inspect(|&until| self.now.set(self.now.get().max(until)));
            return until.is_some();
        }
        let chosen = next[self.chooser.borrow_mut().choose(next.len())];
        self.happen(chosen);
        true
    }

    fn happen(&self, next: PossibleEvent) {
        match next {
            PossibleEvent::TableFrame(from, to) => {
                let frame = self.flight.borrow_mut().get_mut(&(from, to)).and_then(VecDeque::pop_front);
                self.places[to].inbox.borrow_mut().entry(from).or_default().extend(frame);
                self.frames.set(self.frames.get() + 1);
                self.ring(to);
            }
            PossibleEvent::Read(by) => {
                if let Some(read) = &mut *self.places[by].read.borrow_mut() {
                    let exposed = self.exposed.borrow();
                    let bytes = exposed.get(&read.key.0).filter(|(of, bytes)| *of == read.of && bytes.len() == read.bytes);
                    read.end = Some(bytes.map(|(_, bytes)| bytes.clone()));
                }
                self.ring(by);
            }
            PossibleEvent::Delay(of) => {
                self.places[of].delayed.set(false);
                self.ring(of);
            }
        }
    }

    /// The present moment: the number of events so far.
    pub fn now(&self) -> Nanos {
        Nanos(self.now.get())
    }
}
