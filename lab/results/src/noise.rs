//! What disturbed a run, in numbers: facts for the reader to weigh, and a verdict for programs. Never advice.
use super::Measurement;
use super::number::digits;
use foregather_host::{clock, facts, sched, usage};
use foregather_machine::Nanos;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How far the numbers of a run can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TrustLevel {
    /// Nothing much was seen.
    #[default]
    Quiet,
    /// Compare within the run only, and medians only.
    Noisy,
    /// Others had so much of the machine that the numbers describe them.
    Unusable,
}

impl fmt::Display for TrustLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Quiet => "quiet",
            Self::Noisy => "noisy",
            Self::Unusable => "unusable",
        })
    }
}

/// What was seen during a run. Percentages are of the processor time of the whole machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Noise {
    /// What follows from the rest.
    pub verdict: TrustLevel,
    /// What the hypervisor took.
    pub steal_percent: Option<f64>,
    /// What other programs used.
    pub foreign_percent: Option<f64>,
    /// How often threads of this process were preempted.
    pub involuntary_switches_per_s: f64,
    /// How long its threads were ready without a processor, as a share of the run (more than 100 if several
    /// waited).
    pub run_queue_wait_percent: Option<f64>,
    /// Threads running or ready on the machine before the run, this one included.
    pub runnable_before: Option<u32>,
    /// The median over all measurements of median over minimum.
    pub spread: Option<f64>,
    /// The same in full sentences.
    pub facts: Vec<String>,
}

/// From these values on a run is noisy, and unusable. Preemptions and run-queue waits do not count: an
/// experiment with more threads than processors makes its own.
const STEAL_PERCENT: (f64, f64) = (1.0, 10.0);
const FOREIGN_PERCENT: (f64, f64) = (5.0, 25.0);
const SPREAD: (f64, f64) = (3.0, 30.0);

impl Noise {
    /// Fills in the verdict and the sentences.
    fn judged(mut self, cpus: u32) -> Self {
        let level = |value: Option<f64>, (noisy, unusable): (f64, f64)| match value {
            Some(value) if value >= unusable => TrustLevel::Unusable,
            Some(value) if value >= noisy => TrustLevel::Noisy,
            _ => TrustLevel::Quiet,
        };
        let crowded = self.runnable_before.is_some_and(|n| n > cpus);
        let levels = [
            level(self.steal_percent, STEAL_PERCENT),
            level(self.foreign_percent, FOREIGN_PERCENT),
            level(self.spread, SPREAD),
            if crowded { TrustLevel::Noisy } else { TrustLevel::Quiet },
        ];
        self.verdict = levels.into_iter().max().unwrap_or_default();
        let percent = |v: f64| digits((v * 10.0).round() / 10.0, 3);
        let switches = digits(self.involuntary_switches_per_s.round(), 3);
        self.facts = [
            self.steal_percent.map(|v| format!("the hypervisor took {} % of the machine's processor time", percent(v))),
            self.foreign_percent.map(|v| format!("other programs used {} % of it", percent(v))),
            self.runnable_before
                .map(|n| format!("{n} of the machine's threads ran or were ready before the run, on {cpus} processors")),
            Some(format!("threads of this process were preempted {switches} times a second")),
            self.run_queue_wait_percent
                .map(|v| format!("those that lived on had waited for a processor during {} % of the run", percent(v))),
            self.spread.map(|v| format!("the typical measurement has a median of {} times its minimum", digits(v, 3))),
        ]
        .into_iter()
        .flatten()
        .collect();
        self
    }
}

/// Counters of the machine and of this process at one moment.
#[derive(Clone, Copy)]
struct Counters {
    now: Nanos,
    machine: Option<sched::SystemLoad>,
    own: Nanos,
    preempted: u64,
    queued: Option<Nanos>,
}

impl Counters {
    fn read() -> Self {
        Self {
            now: clock::now(),
            machine: sched::load().ok(),
            own: usage::process_cpu() + usage::children_cpu(),
            preempted: usage::process_switches().involuntary,
            queued: sched::run_queue_wait(),
        }
    }
}

/// Watches a run from its start to its end. Children count as our own once they have ended and were waited
/// for.
pub struct NoiseMeter {
    before: Counters,
}

impl NoiseMeter {
    /// The run begins.
    pub fn start() -> Self {
        Self { before: Counters::read() }
    }

    /// The run is over; `measurements` are what it found.
    pub fn stop(&self, measurements: &[Measurement]) -> Noise {
        let noise = between(&self.before, &Counters::read(), spread(measurements));
        noise.judged(facts::machine().cpus_online)
    }
}

fn between(before: &Counters, after: &Counters, spread: Option<f64>) -> Noise {
    let seconds = (after.now - before.now).as_secs().max(1e-9);
    let machine = before.machine.zip(after.machine).and_then(|(before, after)| {
        let [steal, busy, idle] = [after.steal - before.steal, after.busy - before.busy, after.idle - before.idle];
        let all = (steal + busy + idle).0 as f64;
        (all > 0.0).then(|| (100.0 * steal.0 as f64 / all, busy, all))
    });
    let own = after.own - before.own;
    Noise {
        verdict: TrustLevel::Quiet,
        steal_percent: machine.map(|(steal, ..)| steal),
        foreign_percent: machine.map(|(_, busy, all)| 100.0 * (busy - own).0 as f64 / all),
        involuntary_switches_per_s: after.preempted.saturating_sub(before.preempted) as f64 / seconds,
        run_queue_wait_percent: before.queued.zip(after.queued).map(|(b, a)| 100.0 * (a - b).as_secs() / seconds),
        runnable_before: before.machine.map(|m| m.runnable),
        spread,
        facts: Vec::new(),
    }
}

/// The median over all measurements of their median over their minimum.
fn spread(measurements: &[Measurement]) -> Option<f64> {
    let ratio = |m: &Measurement| Some(m.summary.p50? / m.summary.min.filter(|&min| min > 0.0 && m.summary.n > 1)?);
    let ratios: Vec<f64> = measurements.iter().filter_map(ratio).collect();
    super::Distribution::of_values(&ratios).map(|d| d.quantile(0.5))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counters(ms: u64, steal: u64, busy: u64, idle: u64, own: u64) -> Counters {
        let [steal, busy, idle] = [steal, busy, idle].map(Nanos::from_ms);
        let machine = Some(sched::SystemLoad { runnable: 1, tasks: 9, steal, busy, idle });
        Counters { now: Nanos::from_ms(ms), machine, own: Nanos::from_ms(own), preempted: ms / 100, queued: None }
    }

    #[test]
    fn others_are_told_from_ourselves() {
        let before = counters(0, 0, 0, 0, 0);
        let quiet = between(&before, &counters(1000, 10, 990, 1000, 980), None).judged(2);
        assert_eq!(quiet.verdict, TrustLevel::Quiet, "{:?}", quiet.facts);
        assert_eq!((quiet.steal_percent, quiet.foreign_percent), (Some(0.5), Some(0.5)));
        assert_eq!(quiet.involuntary_switches_per_s, 10.0);
        let noisy = between(&before, &counters(1000, 10, 990, 1000, 800), None).judged(2);
        assert_eq!(noisy.verdict, TrustLevel::Noisy, "{:?}", noisy.facts);
        let stolen = between(&before, &counters(1000, 500, 1000, 500, 1000), None).judged(2);
        assert_eq!(stolen.verdict, TrustLevel::Unusable);
        assert!(stolen.facts[0].contains("25 %"), "{:?}", stolen.facts);
    }

    #[test]
    fn a_crowded_machine_and_scattered_values_are_noise_too() {
        let before = counters(0, 0, 0, 0, 0);
        let seen = Noise { runnable_before: Some(5), ..between(&before, &counters(10, 0, 0, 20, 0), None) };
        assert_eq!(seen.judged(2).verdict, TrustLevel::Noisy);
        let values = |v: Vec<f64>| Measurement::from_values("m", "m", "us", v);
        let scattered = [values(vec![1.0, 50.0, 60.0]), values(vec![1.0, 40.0, 60.0]), values(vec![0.0, 1.0])];
        assert_eq!(spread(&scattered), Some(45.0), "a minimum of zero has no ratio");
        assert_eq!(between(&before, &before, spread(&scattered)).judged(2).verdict, TrustLevel::Unusable);
        assert_eq!(spread(&[]), None);
    }

    #[test]
    fn a_meter_of_nothing_gives_numbers() {
        let noise = NoiseMeter::start().stop(&[]);
        assert!(noise.involuntary_switches_per_s.is_finite() && !noise.facts.is_empty(), "{noise:?}");
    }
}
