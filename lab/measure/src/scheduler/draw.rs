//! Workloads at random: a few threads that compute, sleep, and wake each other.
use foregather_bench::schedules::{ScheduleCell, ScheduleStep, ScheduledThread};
use foregather_machine::{CpuId, SplitMix};

/// Threads of a workload.
const THREADS: [u64; 2] = [2, 6];
/// How long steps last, in microseconds, spread evenly over the logarithm.
const RUNS_US: [u64; 2] = [50, 8_000];
const SLEEPS_US: [u64; 2] = [100, 10_000];
/// One workload in this number has nice values, and up to this one.
const NICE: (u64, u64) = (2, 10);

/// A workload on these processors, by a seed.
pub(super) fn workload(seed: u64, cpus: &[CpuId], span_ns: u64) -> ScheduleCell {
    let mut random = SplitMix(seed);
    let count = between(&mut random, THREADS) as usize;
    let nice = random.below(NICE.0) == 0;
    let threads = (0..count).map(|number| ScheduledThread {
        nice: if nice { random.below(NICE.1 + 1) as i8 } else { 0 },
        steps: steps(&mut random, number, count),
    });
    ScheduleCell { cpus: cpus.to_vec(), threads: threads.collect(), span_ns, seed }
}

/// A thread that only computes, one that sleeps in between, or one that wakes the next thread and waits.
fn steps(random: &mut SplitMix, number: usize, count: usize) -> Vec<ScheduleStep> {
    let run = |random: &mut SplitMix| ScheduleStep::Run(log_between(random, RUNS_US));
    let sleep = |random: &mut SplitMix| ScheduleStep::Sleep(log_between(random, SLEEPS_US));
    match random.below(4) {
        0 => vec![run(random)],
        1 => vec![run(random), ScheduleStep::Wake((number + 1) % count), ScheduleStep::Wait],
        2 => vec![run(random), sleep(random)],
        _ => (0..=random.below(3)).flat_map(|_| [run(random), sleep(random)]).collect(),
    }
}

fn between(random: &mut SplitMix, [from, to]: [u64; 2]) -> u64 {
    from + random.below(to - from + 1)
}

/// From one number to another, each decade as often as another.
fn log_between(random: &mut SplitMix, [from, to]: [u64; 2]) -> u64 {
    let part = random.below(1_001) as f64 / 1e3;
    (from as f64 * (to as f64 / from as f64).powf(part)).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_bench::Cell;

    #[test]
    fn a_seed_draws_the_same_workload_and_all_can_be_run() {
        for seed in 0..300 {
            let drawn = workload(seed, &[0, 1], 1);
            assert_eq!(drawn, workload(seed, &[0, 1], 1));
            assert_eq!(drawn.check(), Ok(()));
            assert!((2..=6).contains(&drawn.threads.len()) && drawn.threads.iter().all(|thread| (0..=10).contains(&thread.nice)));
        }
        assert_ne!(workload(1, &[0], 1), workload(2, &[0], 1));
    }
}
