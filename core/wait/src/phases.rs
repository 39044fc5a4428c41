//! One wait: a loop of three phases (spin, yield, park), of which each policy takes a part.
use crate::{Outcome, Waited};
use foregather_machine::{Cpu, Error, Nanos, WaitContext};

/// How long a spinner goes without asking whether its wait can still succeed.
const CHECK_INTERVAL: Nanos = Nanos::from_ms(1);

/// How one wait goes: it looks, spins for a bounded time, then yields for ever or parks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Phases {
    /// The longest spin, in time on the processor.
    pub spin: Nanos,
    /// Does it then yield instead of parking?
    pub yields: bool,
}

impl Phases {
    /// Spin for that long, then park.
    pub const fn spin(spin: Nanos) -> Self {
        Self { spin, yields: false }
    }

    /// Does it begin by spinning?
    #[inline]
    pub const fn spins(self) -> bool {
        self.spin.0 > 0
    }

    /// The part of a wait that costs no future: one look, and a blink if it spins and nobody wants it timed.
    /// Most waits of a team that is well placed end here; the others [`persist`](Phases::persist).
    #[inline]
    pub fn try_wait<C: Cpu, T>(self, cpu: &C, timed: bool, mut probe: impl FnMut() -> Option<T>) -> Option<(T, Waited)> {
        if let Some(found) = probe() {
            return Some((found, Waited::first_look(self.spins())));
        }
        if !self.spins() || timed {
            return None;
        }
        cpu.spin_briefly(probe).map(|found| (found, Waited { outcome: Outcome::Spun, ..Waited::first_look(true) }))
    }

    /// The rest of a wait, after a glance that found nothing.
    ///
    /// # Errors
    /// When the wait can no longer succeed: poisoned word, passed deadline, lost peer ([`Cpu::check`]).
    #[cold]
    #[inline(never)]
    pub fn wait_slow<C: Cpu, T>(
        self,
        cpu: &C,
        on: &C::Word,
        why: WaitContext,
        probe: impl FnMut() -> Option<T>,
    ) -> impl Future<Output = Result<(T, Waited), Error>> {
        cpu.run_inline(self.phase_by_phase(cpu, on, why, probe))
    }

    /// Spins, yields, parks: the clock is read from here on.
    pub(crate) async fn phase_by_phase<C: Cpu, T>(
        self,
        cpu: &C,
        on: &C::Word,
        why: WaitContext,
        mut probe: impl FnMut() -> Option<T>,
    ) -> Result<(T, Waited), Error> {
        let began = cpu.now();
        let why = why.since(began);
        let patience = cpu.max_spin();
        let mut waited = Waited::first_look(self.spins());
        let done = |outcome, waited: Waited| Waited { outcome, waited: cpu.now() - began, ..waited };

        let budget = self.spin.min(patience);
        while waited.spun < budget {
            if let Err(lost) = cpu.check(on, &why) {
                return last_look(lost, probe, done(Outcome::Spun, waited));
            }
            // A deadline that is nearer than the next check ends the spin.
            let left = if why.deadline < Nanos::MAX { why.deadline - cpu.now() } else { Nanos::MAX };
            let (found, used) = cpu.spin_for(on, CHECK_INTERVAL.min(budget - waited.spun).min(left), &mut probe).await;
            waited.spun += used;
            if let Some(found) = found {
                return Ok((found, done(Outcome::Spun, waited)));
            }
        }
        // Under a real-time class a yield never reaches the rest of the machine: do not loop on it.
        if self.yields && patience == Nanos::MAX {
            loop {
                if let Err(lost) = cpu.check(on, &why) {
                    return last_look(lost, probe, done(Outcome::Yielded, waited));
                }
                cpu.yield_now().await;
                waited.yields = waited.yields.saturating_add(1);
                if let Some(found) = probe() {
                    return Ok((found, done(Outcome::Yielded, waited)));
                }
            }
        }
        loop {
            let armed = cpu.prepare_park(on);
            if let Some(found) = probe() {
                return Ok((found, done(Outcome::Parked, waited)));
            }
            if let Err(lost) = cpu.check(on, &why) {
                return last_look(lost, probe, done(Outcome::Parked, waited));
            }
            cpu.park(on, armed, why.deadline).await;
        }
    }
}

/// A peer may have done its part and then gone away: only a wait that is still unsatisfied has failed.
#[cold]
pub(crate) fn last_look<T>(lost: Error, mut probe: impl FnMut() -> Option<T>, waited: Waited) -> Result<(T, Waited), Error> {
    probe().map(|found| (found, waited)).ok_or(lost)
}
