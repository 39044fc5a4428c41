//! A team in which one member waits, on a processor that behaves as the test says and records the operations
//! on it.
use core::cell::Cell;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
pub(crate) use foregather_conformance::scripted::{Did, Script};
use foregather_machine::{Affinity, CpuId, Error, Nanos, Placement, Rank, ThreadId, WaitContext, WordLine, block_on};
use foregather_wait::adaptive::{Rules, TABLE};
use foregather_wait::{Adaptive, Policy, Roster, Snapshot, WaitFor, Waited, Waiter};

pub(crate) const US: Nanos = Nanos::from_us(1);
pub(crate) const MS: Nanos = Nanos::from_ms(1);
/// Round numbers instead of those of a machine: a bound of 20 us, a tick of 4 ms.
pub(crate) const OF: Adaptive =
    Adaptive { hand_over: Nanos(700), remote: Nanos(20_000), tick: Nanos(4_000_000), without: Rules::NONE };
/// The processors that all members may use: 0 and 1, of three.
pub(crate) const BOTH: Affinity = Affinity { fingerprint: 7, width: 2, beyond: 3 };
/// The member under test.
pub(crate) const ME: Rank = 0;

/// The awaited members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Awaits {
    All,
    /// The leader, which waits for the second rank.
    Leader(Rank, Option<Rank>),
    Message(Option<Rank>),
    Copy(Rank),
    /// One of this many threads.
    Unseen(u32),
}

/// Consecutive spins, recorded as one.
pub(crate) const SPIN: Did = Did::Spin(Nanos::ZERO);

/// Returns a processor that records consecutive spins as one.
fn on(place: CpuId, identity: ThreadId) -> Script {
    let script = Script::on(place, identity);
    script.affinity.set(Some(BOTH));
    script.merges_spins.set(true);
    script
}

/// The record of one wait.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) result: Result<Waited, Error>,
    /// The steps taken, in order.
    pub(crate) did: Vec<Did>,
    /// The rules that were followed, in the order of the table.
    pub(crate) rules: Vec<&'static str>,
    /// CPU time spent spinning.
    pub(crate) spun: Nanos,
}

/// One member that waits, and others that exist only as lines of the roster.
pub(crate) struct Team {
    lines: Vec<WordLine<Cell<u32>>>,
    pub(crate) me: Script,
    pub(crate) others: Vec<Script>,
    pub(crate) whom: Cell<Awaits>,
    /// The word that grants the right to move, as it was when the wait was dropped.
    pub(crate) moving: Cell<u32>,
    pub(crate) deadline: Cell<Nanos>,
    waiter: Waiter,
    event: Cell<u32>,
}

impl Team {
    /// Creates a team whose waiting member is on processor 0, and the others on `places`. All may be moved.
    pub(crate) fn new(places: &[CpuId]) -> Self {
        Self::of(OF, places)
    }

    /// Creates a team like [`Team::new`], with these rules switched off.
    pub(crate) fn without(off: &str, places: &[CpuId]) -> Self {
        let without = off.split(',').fold(Rules::NONE, |rules, name| rules.union(Rules::named(name).unwrap()));
        Self::of(Adaptive { without, ..OF }, places)
    }

    pub(crate) fn of(of: Adaptive, places: &[CpuId]) -> Self {
        let team = Self {
            lines: (0..Roster::<Script>::lines(places.len() as u32 + 1)).map(|_| WordLine::default()).collect(),
            me: on(0, 1),
            others: places.iter().zip(2..).map(|(&place, thread)| on(place, thread)).collect(),
            whom: Cell::new(Awaits::All),
            moving: Cell::new(0),
            deadline: Cell::new(Nanos::MAX),
            waiter: Waiter::new(Policy::Adaptive(of), ME),
            event: Cell::new(0),
        };
        team.enroll();
        team
    }

    pub(crate) fn roster(&self) -> Roster<'_, Script> {
        Roster::new(&self.lines)
    }

    /// Makes all members publish their threads and processors again.
    pub(crate) fn enroll(&self) {
        self.roster().enroll(&self.me, ME);
        for (other, rank) in self.others.iter().zip(1..) {
            self.roster().enroll(other, rank);
        }
    }

    /// Moves another member to processor `place`, and publishes that.
    pub(crate) fn put(&self, rank: Rank, place: CpuId) {
        let other = &self.others[rank as usize - 1];
        other.place.set(Some(place));
        self.roster().enroll(other, rank);
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.waiter.account().snapshot()
    }

    /// Returns the word that grants the right to move.
    pub(crate) fn mover(&self) -> &Cell<u32> {
        &self.lines[0][0]
    }

    /// Returns the note of a processor.
    pub(crate) fn note_of(&self, place: CpuId) -> u32 {
        Placement::note_of(&self.me, place)
    }

    /// Writes the note of a processor.
    pub(crate) fn set_note(&self, place: CpuId, word: u32) {
        Placement::set_note(&self.me, place, word);
    }

    /// Waits in an episode whose event occurs `span` later.
    pub(crate) fn wait(&self, span: Nanos) -> Outcome {
        self.me.event.set(self.me.now.get() + span);
        let before = self.begin();
        let result = block_on(self.wait_once());
        if let Ok(waited) = result {
            self.waiter.account().waited(waited);
        }
        let (after, did) = (self.snapshot(), self.me.did.take());
        let rules = TABLE.iter().enumerate().filter(|(at, _)| after.rules[*at] > before.rules[*at]);
        Outcome { result, did, rules: rules.map(|(_, rule)| rule.name).collect(), spun: self.me.spun.get() }
    }

    /// Polls once a wait whose event never occurs, and drops it.
    pub(crate) fn drop_wait(&self) {
        self.me.event.set(Nanos::MAX);
        self.begin();
        let mut wait: Pin<Box<dyn Future<Output = _>>> = Box::pin(self.wait_once());
        let polled: Poll<Result<Waited, Error>> = wait.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert_eq!(polled, Poll::Pending);
        self.moving.set(self.mover().get());
    }

    fn begin(&self) -> Snapshot {
        self.me.spun.set(Nanos::ZERO);
        let arrived = self.roster().arrived(ME);
        arrived.set(arrived.get() + 1);
        for rank in 1..self.roster().size() {
            let behind = if let Awaits::Leader(_, behind) = self.whom.get() { behind == Some(rank) } else { true };
            self.roster().arrived(rank).set(arrived.get() - u32::from(behind));
        }
        self.snapshot()
    }

    async fn wait_once(&self) -> Result<Waited, Error> {
        let (roster, context) = (self.roster(), WaitContext::new("script", ME).until(self.deadline.get()));
        let whom = match self.whom.get() {
            Awaits::All => WaitFor::All(roster),
            Awaits::Leader(rank, _) => WaitFor::Leader(roster, rank),
            Awaits::Message(sender) => WaitFor::Message(roster, sender),
            Awaits::Copy(reader) => WaitFor::Copy(roster, Some(reader)),
            Awaits::Unseen(threads) => WaitFor::Unseen(threads),
        };
        let come = || self.me.come();
        self.waiter.wait_part(&self.me, &self.event, false, || (context, whom), come).finish().await.map(|((), waited)| waited)
    }
}
