//! One wait by the decision table, from the end of the blind pauses on.
use super::{Action, Adaptive, AdaptiveState, Facts, Rules, TABLE, decide};
use crate::phases::last_look;
use crate::roster::{Awaited, WaitFor};
use crate::{Account, Outcome, Waited};
use foregather_machine::{Cpu, CpuId, Error, Nanos, Rank, WaitContext};

/// The most members that are asked, one after the other, whether they run: each question takes a microsecond or two.
const MOST_ASKED: u32 = 4;

/// A shorter gap in a spin is no stranger's turn but an interrupt.
const PREEMPTED: Nanos = Nanos::from_us(100);

/// What a wait has come to so far.
struct Wait<'w, 't, C: Cpu> {
    memory: &'w AdaptiveState,
    cpu: &'w C,
    awaited: &'w Awaited<'t, C>,
    account: &'w Account,
    began: Nanos,
    /// How long it may spin, from the beginning on; preemptions do not count.
    limit: Nanos,
    /// Where I am.
    place: Option<CpuId>,
    /// Facts that hold until an action changes them.
    lasting: Facts,
    /// The emptier processor, and how many members fewer it has.
    target: CpuId,
    fewer: u32,
    /// From where a scout has come back.
    idle: Option<CpuId>,
    /// An awaited member, for the record.
    whom: Option<Rank>,
    waited: Waited,
}

impl AdaptiveState {
    /// Waits until `probe` finds something, after a glance that found nothing.
    ///
    /// # Errors
    /// When the wait can no longer succeed: poisoned word, passed deadline, lost peer ([`Cpu::check`]).
    pub(crate) async fn wait<C: Cpu, T>(
        &self,
        cpu: &C,
        on: &C::Word,
        why: WaitContext,
        (awaited, account): (&Awaited<'_, C>, &Account),
        mut probe: impl FnMut() -> Option<T>,
    ) -> Result<(T, Waited), Error> {
        let mut wait = Wait::begin(self, cpu, awaited, account);
        let why = why.since(wait.began);
        loop {
            if let Err(lost) = cpu.check(on, &why) {
                return last_look(lost, probe, wait.ended());
            }
            let rule = decide(wait.facts(), self.of.without);
            account.followed(rule);
            let found = match TABLE[rule].then {
                Action::Spin => {
                    let (before, budget) = (cpu.now(), wait.budget());
                    let (found, used) = cpu.spin_for(on, budget, &mut probe).await;
                    wait.spun(used, cpu.now() - before);
                    found
                }
                Action::Yield => {
                    let before = cpu.now();
                    cpu.yield_now().await;
                    wait.yielded(cpu.now() - before);
                    probe()
                }
                Action::Park => break,
                Action::Ask => wait.ask(&mut probe),
                Action::Stay => wait.stay(),
                Action::Scout => wait.scout(),
                Action::Move => {
                    wait.move_away().await;
                    probe()
                }
                Action::Pull => {
                    wait.pull().await;
                    probe()
                }
            };
            if let Some(found) = found {
                return Ok((found, wait.ended()));
            }
        }
        wait.sleeps();
        loop {
            let armed = cpu.prepare_park(on);
            if let Some(found) = probe() {
                return Ok((found, wait.ended()));
            }
            if let Err(lost) = cpu.check(on, &why) {
                return last_look(lost, probe, wait.ended());
            }
            cpu.park(on, armed, why.deadline).await;
        }
    }
}

impl<'w, 't, C: Cpu> Wait<'w, 't, C> {
    fn begin(memory: &'w AdaptiveState, cpu: &'w C, awaited: &'w Awaited<'t, C>, account: &'w Account) -> Self {
        let waited = Waited::first_look(memory.blinks());
        let began = cpu.now();
        memory.begin(began, account.waits());
        if let WaitFor::Sender(_) = awaited.whom {
            memory.ask_for_preemptions(cpu, began);
        }
        Self {
            memory,
            cpu,
            awaited,
            account,
            began,
            limit: memory.of.bound().min(cpu.max_spin()),
            place: None,
            lasting: Facts::REALTIME.when(cpu.max_spin() < Nanos::MAX),
            target: 0,
            fewer: 0,
            idle: None,
            whom: None,
            waited: Waited { outcome: Outcome::Spun, ..waited },
        }
    }

    fn of(&self) -> Adaptive {
        self.memory.of
    }

    fn ended(&self) -> Waited {
        self.account.awaited(self.whom, self.cpu.now() - self.began);
        Waited { waited: self.cpu.now() - self.began, ..self.waited }
    }

    /// Everything the table asks for.
    fn facts(&mut self) -> Facts {
        let (cpu, memory, of) = (self.cpu, self.memory, self.of());
        let now = cpu.now();
        let elapsed = now - self.began;
        let mut facts = self.lasting | memory.facts();
        facts |= Facts::BOUND.when(elapsed >= self.limit);
        facts |= Facts::CAP.when(elapsed >= of.cap(self.awaited.roster.size()).min(cpu.max_spin()));
        facts |= Facts::DISTURBED.when(memory.is_disturbed(now));
        facts |= Facts::MESSAGE.when(matches!(self.awaited.whom, WaitFor::Sender(_)));
        facts |= Facts::BRIEF_OVER.when(elapsed > of.brief());
        facts |= Facts::LATE.when(elapsed > self.limit + of.slow());
        if self.is_anybody_here() {
            memory.found_here();
            facts |= Facts::HERE | memory.facts();
        }
        // The dearer ones only where some rule could follow from them.
        let crowd = facts.has(Facts::HERE | Facts::CROWDED);
        facts |= Facts::STRANGER.when(crowd && facts.has(Facts::DISTRUSTED));
        if crowd || facts.has(Facts::STRANGER) {
            facts |= self.ways_out(now);
        }
        if facts.has(Facts::READY) && self.may_place() && memory.may_pull(now) {
            // Of more than two, each that pulls undoes what another one did, and the team ends up on few processors.
            let fits = self.awaited.roster.size() == 2 && cpu.affinity().is_some_and(|affinity| affinity.width >= 2);
            facts |= Facts::FITS.when(fits);
            facts |= Facts::PULLABLE.when(self.awaited.roster.movable(cpu, self.awaited.rank));
        }
        self.lasting = self.lasting.without(Facts::STRANGER);
        facts
    }

    /// Was an awaited member last seen where I am? Says where I am if that is new.
    fn is_anybody_here(&mut self) -> bool {
        let (cpu, roster) = (self.cpu, self.awaited.roster);
        self.place = self.memory.observe(cpu, roster, self.awaited.rank);
        let Some(here) = self.place else { return false };
        let found = self.awaited.find(cpu, |other| (roster.place(cpu, other) == Some(here)).then_some(other));
        self.whom = found.or(self.whom);
        found.is_some()
    }

    /// Under a real-time class nobody is placed: a yield would not reach whoever was fetched.
    fn may_place(&self) -> bool {
        !self.lasting.has(Facts::REALTIME)
    }

    /// May members move, and is there an emptier processor?
    fn ways_out(&mut self, now: Nanos) -> Facts {
        let (cpu, awaited) = (self.cpu, self.awaited);
        self.fewer = 0;
        let movable = self.may_place() && self.memory.may_move(now) && awaited.roster.movable(cpu, awaited.rank);
        let (Some(affinity), Some(here), true) = (cpu.affinity(), self.place, movable) else { return Facts::NONE };
        let crowds = awaited.roster.crowds(cpu, affinity.beyond.max(here + 1));
        let allowed = (0..affinity.beyond).filter(|&other| other != here && cpu.allows(other));
        let Some(target) = allowed.min_by_key(|&other| crowds[other as usize]) else { return Facts::MOVABLE };
        self.target = target;
        self.fewer = crowds[here as usize].saturating_sub(crowds[target as usize]);
        Facts::MOVABLE
            | Facts::EMPTIER.when(self.fewer >= 1)
            | Facts::MUCH_EMPTIER.when(self.fewer >= 2)
            | Facts::FAR_EMPTIER.when(self.fewer >= 3)
            | Facts::IDLE.when(self.idle == Some(target) || self.of().without.has(Rules::SCOUT))
    }

    /// For how long to spin before looking around again.
    fn budget(&self) -> Nanos {
        let elapsed = self.cpu.now() - self.began;
        // Whoever may have to give way looks around when it should.
        let brief = if self.memory.is_disturbed(self.cpu.now()) { self.of().brief() } else { Nanos::MAX };
        let left = (self.limit - elapsed).min(if elapsed <= brief { brief - elapsed + Nanos(1) } else { Nanos::MAX });
        left.min(self.of().interval()).max(Nanos(1))
    }

    fn spun(&mut self, used: Nanos, span: Nanos) {
        self.waited.spun += used;
        self.waited.began_spinning |= self.waited.yields == 0;
        // What is missing was a preemption: it was not waiting.
        let missing = span - used;
        self.limit += missing;
        if missing > PREEMPTED {
            self.memory.preempted(self.cpu.now());
        }
    }

    fn yielded(&mut self, span: Nanos) {
        self.waited.yields = self.waited.yields.saturating_add(1);
        self.waited.outcome = Outcome::Yielded;
        self.lasting |= Facts::STRANGER.when(self.memory.yielded(span));
    }

    /// Asks of a few awaited members whether they run, until one does, or the wait is over.
    fn ask<T>(&mut self, mut probe: impl FnMut() -> Option<T>) -> Option<T> {
        let (cpu, roster) = (self.cpu, self.awaited.roster);
        let (mut asked, mut any_ready, mut found) = (0, false, None);
        let runs = self.awaited.find(cpu, |other| {
            asked += 1;
            if asked > MOST_ASKED {
                return Some((other, false));
            }
            let runs = roster.thread(cpu, other).and_then(|thread| cpu.running(thread));
            any_ready |= runs == Some(false);
            found = probe();
            (found.is_some() || runs == Some(true)).then_some((other, true))
        });
        let runs = runs.filter(|&(_, runs)| runs).map(|(other, _)| other);
        self.whom = runs.or(self.whom);
        self.lasting |= Facts::ASKED | Facts::RUNS.when(runs.is_some()) | Facts::READY.when(runs.is_none() && any_ready);
        found
    }

    /// One more bound, after which everything is asked again.
    fn stay<T>(&mut self) -> Option<T> {
        self.limit = (self.cpu.now() - self.began + self.of().bound()).min(self.cpu.max_spin());
        self.lasting = self.lasting.without(Facts::ASKED | Facts::RUNS | Facts::READY);
        None
    }

    fn scout<T>(&mut self) -> Option<T> {
        let answer = self.cpu.idle(self.target);
        self.account.scouted(answer == Some(true));
        match answer {
            Some(true) => self.idle = Some(self.target),
            Some(false) => self.memory.hold_moves(self.cpu.now(), self.of().patience_with_scouts()),
            None => self.memory.hold_moves(self.cpu.now(), self.of().tick * 100),
        }
        None
    }

    async fn move_away(&mut self) {
        let (cpu, roster, rank) = (self.cpu, self.awaited.roster, self.awaited.rank);
        let (turn, target, fewer) = (roster.begin_move(cpu), self.target, self.fewer);
        self.ways_out(cpu.now());
        self.idle = None;
        if turn.is_none() || self.target != target || self.fewer < fewer {
            // Somebody else moves, or has just moved: what this one saw is out of date.
            return self.memory.hold_moves(cpu.now(), self.of().remote);
        }
        let moved = cpu.move_to(target).await;
        self.memory.moved(cpu.now());
        self.account.moved(moved);
        // Whoever moves next must know of it.
        if moved {
            self.place = self.memory.observe(cpu, roster, rank);
        } else {
            roster.fix(cpu, rank);
        }
        drop(turn);
    }

    /// Fetches an awaited member that is elsewhere.
    async fn pull(&mut self) {
        let (cpu, roster) = (self.cpu, self.awaited.roster);
        let elsewhere = |other| (roster.place(cpu, other) != self.place).then(|| roster.thread(cpu, other)).flatten();
        let pulled = match self.awaited.find(cpu, elsewhere) {
            Some(thread) => cpu.pull(thread).await,
            None => false,
        };
        self.memory.pulled(cpu.now());
        self.account.pulled(pulled);
        if pulled {
            self.waited.yields = self.waited.yields.saturating_add(1);
            self.waited.outcome = Outcome::Yielded;
        }
        let _: Option<()> = self.stay();
    }

    fn sleeps(&mut self) {
        self.waited.outcome = Outcome::Parked;
        if self.memory.facts().has(Facts::DISTRUSTED) {
            self.memory.slept_instead();
        }
    }
}
