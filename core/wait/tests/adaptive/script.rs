//! A team of which one member waits, on a processor that does what the test says and writes down what it was asked to do.
use core::cell::{Cell, RefCell};
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use foregather_machine::{
    Affinity, Cause, Clock, Costs, Cpu, CpuId, Error, Nanos, Placement, Rank, SplitMix, ThreadId, WaitContext, WordLine, block_on,
};
use foregather_wait::adaptive::{Rules, TABLE};
use foregather_wait::{Adaptive, Awaited, Policy, Roster, Snapshot, WaitFor, Waited, Waiter};

pub(crate) const US: Nanos = Nanos::from_us(1);
pub(crate) const MS: Nanos = Nanos::from_ms(1);
/// Round figures in place of a machine's: a bound of 20 us, a tick of 4 ms.
pub(crate) const OF: Adaptive =
    Adaptive { hand_over: Nanos(700), remote: Nanos(20_000), tick: Nanos(4_000_000), without: Rules::NONE };
/// What all may use: processors 0 and 1, of three that there are.
pub(crate) const BOTH: Affinity = Affinity { fingerprint: 7, width: 2, beyond: 3 };
/// The member under test.
pub(crate) const ME: Rank = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Did {
    Blink,
    /// Once, or several times in a row.
    Spin,
    Yield,
    Park,
    Ask(ThreadId),
    Scout(CpuId),
    Move(CpuId),
    Pull(ThreadId),
}

/// Time passes only when a verb lets it.
pub(crate) struct Script {
    pub(crate) now: Cell<Nanos>,
    pub(crate) did: RefCell<Vec<Did>>,
    /// When the event comes, and when the word is poisoned.
    pub(crate) event: Cell<Nanos>,
    pub(crate) poison: Cell<Nanos>,
    pub(crate) place: Cell<Option<CpuId>>,
    pub(crate) identity: Cell<Option<ThreadId>>,
    pub(crate) affinity: Cell<Option<Affinity>>,
    pub(crate) running: Cell<Option<bool>>,
    pub(crate) idle: Cell<Option<bool>>,
    pub(crate) granted: Cell<bool>,
    pub(crate) yield_span: Cell<Nanos>,
    pub(crate) pull_span: Cell<Nanos>,
    pub(crate) ask_span: Cell<Nanos>,
    /// The next spin is preempted for so long.
    pub(crate) gap: Cell<Nanos>,
    /// What the system says of preemptions.
    pub(crate) preemptions: Cell<Option<u64>>,
    pub(crate) patience: Cell<Nanos>,
    /// That verb never returns.
    pub(crate) stuck: Cell<Option<Did>>,
    /// Processor time spent spinning in this wait.
    pub(crate) spun: Cell<Nanos>,
    /// The word of whoever moves, as it was when the wait was dropped.
    pub(crate) moving: Cell<u32>,
    /// Every verb makes the world another one.
    pub(crate) dice: RefCell<Option<SplitMix>>,
}

impl Script {
    /// Of a thread that is on that processor.
    pub(crate) fn on(place: CpuId, identity: ThreadId) -> Self {
        Self {
            now: Cell::new(MS),
            did: RefCell::default(),
            event: Cell::new(Nanos::MAX),
            poison: Cell::new(Nanos::MAX),
            place: Cell::new(Some(place)),
            identity: Cell::new(Some(identity)),
            affinity: Cell::new(Some(BOTH)),
            running: Cell::new(None),
            idle: Cell::new(Some(false)),
            granted: Cell::new(true),
            yield_span: Cell::new(Nanos(700)),
            pull_span: Cell::new(US * 10),
            ask_span: Cell::new(Nanos::ZERO),
            gap: Cell::new(Nanos::ZERO),
            preemptions: Cell::new(None),
            patience: Cell::new(Nanos::MAX),
            stuck: Cell::new(None),
            spun: Cell::new(Nanos::ZERO),
            moving: Cell::new(0),
            dice: RefCell::new(None),
        }
    }

    /// A world that can tell nothing and do nothing about where threads run.
    pub(crate) fn blind(&self) {
        self.place.set(None);
        self.identity.set(None);
        self.affinity.set(None);
        self.idle.set(None);
        self.granted.set(false);
    }

    fn shake(&self) {
        if let Some(dice) = &mut *self.dice.borrow_mut() {
            let mut maybe = |answer| [None, Some(false), Some(true)][dice.below(answer) as usize];
            self.running.set(maybe(3));
            self.idle.set(maybe(3));
            self.granted.set(dice.below(4) > 0);
            self.place.set(dice.below(4).checked_sub(1).map(|place| place as CpuId));
            self.yield_span.set(Nanos(300 + dice.below(3_000)));
            if dice.below(20) == 0 {
                self.yield_span.set(US * (1 + dice.below(5_000)));
                self.gap.set(US * dice.below(5_000));
            }
            self.pull_span.set(US * dice.below(5_000));
        }
    }

    fn log(&self, did: Did) {
        self.shake();
        let mut all = self.did.borrow_mut();
        if did != Did::Spin || all.last() != Some(&did) {
            all.push(did);
        }
        assert!(all.len() < 20_000, "a wait without end: {:?}", &all[..40]);
    }

    pub(crate) fn pass(&self, span: Nanos) {
        self.now.set(self.now.get() + span);
    }

    async fn act(&self, did: Did, span: Nanos) {
        self.log(did);
        if self.stuck.get() == Some(did) {
            core::future::pending::<()>().await;
        }
        self.pass(span);
    }

    fn come(&self) -> Option<()> {
        (self.now.get() >= self.event.get()).then_some(())
    }
}

impl Clock for Script {
    fn now(&self) -> Nanos {
        self.now.get()
    }
    async fn delay(&self, span: Nanos) {
        self.pass(span);
    }
}

impl Placement for Script {
    fn place(&self) -> Option<CpuId> {
        self.place.get()
    }
    fn identity(&self) -> Option<ThreadId> {
        self.identity.get()
    }
    fn running(&self, thread: ThreadId) -> Option<bool> {
        self.log(Did::Ask(thread));
        self.pass(self.ask_span.get());
        self.running.get()
    }
    fn affinity(&self) -> Option<Affinity> {
        self.affinity.get()
    }
    fn allows(&self, cpu: CpuId) -> bool {
        cpu < 2
    }
    fn idle(&self, cpu: CpuId) -> Option<bool> {
        self.log(Did::Scout(cpu));
        self.idle.get()
    }
    async fn move_to(&self, cpu: CpuId) -> bool {
        self.act(Did::Move(cpu), US * 10).await;
        if self.granted.get() {
            self.place.set(Some(cpu));
        }
        self.granted.get()
    }
    async fn pull(&self, thread: ThreadId) -> bool {
        self.act(Did::Pull(thread), self.pull_span.get()).await;
        self.granted.get()
    }
    fn preemptions(&self) -> Option<u64> {
        self.preemptions.get()
    }
    fn costs(&self) -> Costs {
        Costs::TYPICAL
    }
}

impl Cpu for Script {
    type Word = Cell<u32>;
    fn load(&self, word: &Cell<u32>) -> u32 {
        word.get()
    }
    fn store(&self, word: &Cell<u32>, value: u32) {
        word.set(value);
    }
    fn publish(&self, word: &Cell<u32>, value: u32) {
        word.set(value);
    }
    fn fetch_add(&self, word: &Cell<u32>, n: u32) -> u32 {
        word.replace(word.get() + n)
    }
    fn compare_exchange(&self, word: &Cell<u32>, expected: u32, new: u32) -> bool {
        let same = word.get() == expected;
        if same {
            self.publish(word, new);
        }
        same
    }
    fn poison(&self, _: &Cell<u32>) {}
    fn spin_briefly<T>(&self, mut probe: impl FnMut() -> Option<T>) -> Option<T> {
        self.log(Did::Blink);
        probe()
    }
    async fn spin_for<T>(&self, _: &Cell<u32>, budget: Nanos, mut probe: impl FnMut() -> Option<T>) -> (Option<T>, Nanos) {
        let used = budget.min(self.event.get() - self.now.get());
        self.act(Did::Spin, used + self.gap.take()).await;
        self.spun.set(self.spun.get() + used);
        (probe(), used)
    }
    async fn yield_now(&self) {
        self.act(Did::Yield, self.yield_span.get()).await;
    }
    fn prepare_park(&self, _: &Cell<u32>) -> u32 {
        0
    }
    async fn park(&self, _: &Cell<u32>, _: u32, until: Nanos) {
        let woken = until.min(self.event.get()).min(self.poison.get());
        self.act(Did::Park, woken - self.now.get()).await;
        assert!(woken < Nanos::MAX, "sleeps for ever");
    }
    fn max_spin(&self) -> Nanos {
        self.patience.get()
    }
    fn check(&self, _: &Cell<u32>, why: &WaitContext) -> Result<(), Error> {
        let now = self.now.get();
        if now >= self.poison.get() {
            return Err(Cause::Poisoned { by: None }.into());
        }
        if now >= why.deadline { Err(Error::timed_out(why, now)) } else { Ok(()) }
    }
}

/// What came of one wait.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) result: Result<Waited, Error>,
    /// What was done, in order.
    pub(crate) did: Vec<Did>,
    /// The rules that were followed, in the order of the table.
    pub(crate) rules: Vec<&'static str>,
    /// Processor time spent spinning.
    pub(crate) spun: Nanos,
}

/// One member that waits, and others of whom only the words are there.
pub(crate) struct Team {
    lines: Vec<WordLine<Cell<u32>>>,
    pub(crate) me: Script,
    pub(crate) others: Vec<Script>,
    pub(crate) whom: Cell<WaitFor>,
    pub(crate) deadline: Cell<Nanos>,
    chooser: Waiter,
    event: Cell<u32>,
}

impl Team {
    /// The one that waits is on processor 0, the others where it says. All may be moved.
    pub(crate) fn new(places: &[CpuId]) -> Self {
        Self::of(OF, places)
    }

    /// The same, without those rules.
    pub(crate) fn without(off: &str, places: &[CpuId]) -> Self {
        let without = off.split(',').fold(Rules::NONE, |rules, name| rules.union(Rules::named(name).unwrap()));
        Self::of(Adaptive { without, ..OF }, places)
    }

    pub(crate) fn of(of: Adaptive, places: &[CpuId]) -> Self {
        let team = Self {
            lines: (0..Roster::<Script>::lines(places.len() as u32 + 1)).map(|_| WordLine::default()).collect(),
            me: Script::on(0, 1),
            others: places.iter().zip(2..).map(|(&place, thread)| Script::on(place, thread)).collect(),
            whom: Cell::new(WaitFor::Behind),
            deadline: Cell::new(Nanos::MAX),
            chooser: Waiter::new(Policy::Adaptive(of), ME),
            event: Cell::new(0),
        };
        team.enroll();
        team
    }

    pub(crate) fn roster(&self) -> Roster<'_, Script> {
        Roster::new(&self.lines)
    }

    /// All say (again) who and where they are.
    pub(crate) fn enroll(&self) {
        self.roster().enroll(&self.me, ME);
        for (other, rank) in self.others.iter().zip(1..) {
            self.roster().enroll(other, rank);
        }
    }

    /// Another one goes to that processor, and says so.
    pub(crate) fn put(&self, rank: Rank, place: CpuId) {
        let other = &self.others[rank as usize - 1];
        other.place.set(Some(place));
        self.roster().enroll(other, rank);
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        self.chooser.account().snapshot()
    }

    /// The word of whoever moves at present.
    pub(crate) fn mover(&self) -> &Cell<u32> {
        &self.lines[0][0]
    }

    /// Waits in an episode of which the event comes so much later.
    pub(crate) fn wait(&self, span: Nanos) -> Outcome {
        self.me.event.set(self.me.now.get() + span);
        let before = self.begin();
        let result = block_on(self.persist());
        if let Ok(waited) = result {
            self.chooser.account().waited(waited);
        }
        let (after, did) = (self.snapshot(), self.me.did.take());
        let rules = TABLE.iter().enumerate().filter(|(at, _)| after.rules[*at] > before.rules[*at]);
        Outcome { result, did, rules: rules.map(|(_, rule)| rule.name).collect(), spun: self.me.spun.get() }
    }

    /// Polls a wait without end once, and drops it.
    pub(crate) fn drop_wait(&self) {
        self.me.event.set(Nanos::MAX);
        self.begin();
        let mut wait: Pin<Box<dyn Future<Output = _>>> = Box::pin(self.persist());
        let polled: Poll<Result<Waited, Error>> = wait.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert_eq!(polled, Poll::Pending);
        self.me.moving.set(self.mover().get());
    }

    fn begin(&self) -> Snapshot {
        self.me.spun.set(Nanos::ZERO);
        let arrived = self.roster().arrived(ME);
        arrived.set(arrived.get() + 1);
        for rank in 1..self.roster().size() {
            self.roster().arrived(rank).set(arrived.get() - 1);
        }
        self.snapshot()
    }

    async fn persist(&self) -> Result<Waited, Error> {
        let come = || self.me.come();
        if let Some(((), waited)) = self.chooser.phases().try_wait(&self.me, false, come) {
            return Ok(waited);
        }
        let why = WaitContext::new("script", ME).until(self.deadline.get());
        let awaited = Awaited { roster: self.roster(), rank: ME, whom: self.whom.get() };
        self.chooser.wait_slow(&self.me, &self.event, why, awaited, come).await.map(|((), waited)| waited)
    }
}
