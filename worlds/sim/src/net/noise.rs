//! Processor time that programs do not get: repeated interrupts, and pauses.
use super::busy::{Business, Busy};
use super::fault::Pause;
use foregather_machine::{Cause, Error, Nanos, Rank, SplitMix};

/// Interrupts of every node, each node with a phase of its own (Seidel & Davis 1992 figure 3-9: 50 us about
/// every 10 ms).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupts {
    /// The length of each.
    pub length: Nanos,
    /// The time from one to the next.
    pub period: Nanos,
}

/// When each node's processor is away.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Noise {
    interrupts: Option<Interrupts>,
    /// Where in the period each node's interrupts begin.
    phases: Box<[u64]>,
    pauses: Box<[Pause]>,
}

impl Noise {
    pub(super) fn new(size: u32, interrupts: Option<Interrupts>, pauses: &[Pause], seed: u64) -> Result<Self, Error> {
        let pauses = pauses.into();
        let Some(each) = interrupts.filter(|each| each.length > Nanos::ZERO) else {
            return Ok(Self { pauses, ..Self::default() });
        };
        if each.length >= each.period {
            return Err(Cause::Setting { what: "interrupts", needs: "a period that is longer than one of them takes" }.into());
        }
        let mut random = SplitMix(seed);
        let phases = (0..size).map(|_| random.below(each.period.0)).collect();
        Ok(Self { interrupts, phases, pauses })
    }

    /// Lets that node's interrupts begin there, and a period later, and a period before, for directed tests.
    pub(super) fn set_phase(&mut self, node: Rank, phase: Nanos) {
        if let (Some(own), Some(each)) = (self.phases.get_mut(node as usize), self.interrupts) {
            *own = phase.0 % each.period.0;
        }
    }

    /// When a program that begins `work` at `from` has done it. Only programs are stretched, never the wires.
    #[inline]
    pub(super) fn done(&self, node: Rank, from: Nanos, work: Nanos) -> Nanos {
        let end = self.interrupted(node, from, work);
        if self.pauses.is_empty() { end } else { self.paused(node, from, end) }
    }

    /// When the processor of `node` is away between two moments.
    pub(super) fn away(&self, node: Rank, from: Nanos, to: Nanos) -> Vec<Busy> {
        let busy = |business, from: Nanos, to: Nanos| Busy { node, business, from, to };
        let paused = self.pauses.iter().filter(|pause| pause.node == node);
        let paused = paused.map(|pause| busy(Business::Paused, pause.from, pause.from + pause.length));
        let mut all: Vec<Busy> = paused.filter(|busy| busy.from < to && busy.to > from).collect();
        if let Some(Interrupts { length, period }) = self.interrupts {
            // The interrupt that began last at `from`, or before all time.
            let within = (from.0 + period.0 - self.phases[node as usize]) % period.0;
            let first = i128::from(from.0) - i128::from(within);
            let begins = (0..).map(|n| first + n * i128::from(period.0)).take_while(|&begin| begin < i128::from(to.0));
            let span = begins.map(|begin| (begin.max(0) as u64, (begin + i128::from(length.0)).max(0) as u64));
            let met = span.filter(|&(begin, end)| begin < to.0 && end > from.0);
            all.extend(met.map(|(begin, end)| busy(Business::Interrupted, Nanos(begin), Nanos(end))));
        }
        all
    }

    #[inline]
    fn interrupted(&self, node: Rank, from: Nanos, work: Nanos) -> Nanos {
        let Some(each) = self.interrupts else { return from + work };
        let (period, length) = (each.period.0, each.length.0);
        let within = (from.0 + period - self.phases[node as usize]) % period;
        let waits = length.saturating_sub(within);
        let left = period - within.max(length);
        if work.0 <= left {
            return from + Nanos(waits) + work;
        }
        // The rest begins behind the next interrupt, and each full period gives the time that no interrupt
        // takes.
        let rest = work.0 - left;
        let (useful, next) = (period - length, from.0 + waits + left + length);
        let periods = (rest - 1) / useful;
        Nanos(next + periods * period + (rest - periods * useful))
    }

    #[cold]
    fn paused(&self, node: Rank, from: Nanos, end: Nanos) -> Nanos {
        let mut end = end;
        for pause in self.pauses.iter().filter(|pause| pause.node == node) {
            let over = pause.from + pause.length;
            if from < over && end >= pause.from {
                end = if from >= pause.from { over + (end - from) } else { end + pause.length };
                end = self.interrupted(node, end, Nanos::ZERO);
            }
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EACH: Interrupts = Interrupts { length: Nanos(5), period: Nanos(100) };

    fn noise(phase: u64) -> Noise {
        let mut noise = Noise::new(1, Some(EACH), &[], 1).unwrap();
        noise.set_phase(0, Nanos(phase));
        noise
    }

    /// One nanosecond after the other.
    fn slowly(phase: u64, from: u64, mut work: u64) -> u64 {
        let away = |t: u64| (t + 10 * EACH.period.0 - phase) % EACH.period.0 < EACH.length.0;
        let mut t = from;
        while away(t) {
            t += 1;
        }
        while work > 0 {
            work -= u64::from(!away(t));
            t += 1;
        }
        t
    }

    #[test]
    fn the_closed_form_is_what_counting_gives() {
        for phase in [0, 3, 50, 99, 350] {
            for from in 0..220 {
                for work in [0, 1, 4, 90, 94, 95, 96, 189, 190, 191, 1_000] {
                    let noise = noise(phase);
                    assert_eq!(noise.done(0, Nanos(from), Nanos(work)).0, slowly(phase, from, work), "{phase} {from} {work}");
                }
            }
        }
    }

    #[test]
    fn what_is_told_of_a_processor_is_when_it_is_away() {
        for phase in [0, 3, 50, 97] {
            for (from, to) in [(0, 400), (2, 4), (101, 103), (150, 150), (98, 101), (0, 0)] {
                let spans = noise(phase).away(0, Nanos(from), Nanos(to));
                for t in from..to {
                    let told = spans.iter().any(|span| (span.from..span.to).contains(&Nanos(t)));
                    assert_eq!(told, (t + EACH.period.0 - phase) % EACH.period.0 < EACH.length.0, "{phase} {t}");
                }
                assert!(spans.iter().all(|span| span.from.0 < to && span.to.0 > from), "{spans:?}");
            }
        }
        let pause = Pause { node: 1, from: Nanos(100), length: Nanos(50) };
        let noise = Noise::new(2, None, &[pause], 1).unwrap();
        let told = |node| noise.away(node, Nanos(120), Nanos(130)).len();
        assert_eq!([told(0), told(1), noise.away(1, Nanos(150), Nanos(160)).len()], [0, 1, 0]);
    }

    #[test]
    fn a_pause_holds_up_what_it_meets() {
        let pause = Pause { node: 1, from: Nanos(100), length: Nanos(50) };
        let noise = Noise::new(2, None, &[pause], 1).unwrap();
        let done = |node, from, work| noise.done(node, Nanos(from), Nanos(work)).0;
        assert_eq!([done(1, 0, 20), done(1, 90, 20), done(1, 120, 20), done(1, 150, 20)], [20, 160, 170, 170]);
        assert_eq!(done(0, 90, 20), 110);
    }

    #[test]
    fn interrupts_that_leave_no_time_are_refused() {
        let always = Interrupts { length: Nanos(10), period: Nanos(10) };
        assert!(matches!(Error::of(&Noise::new(1, Some(always), &[], 1)), Some(Cause::Setting { .. })));
    }
}
