//! The caveat of Guignon 2000 §2.1, measured: an active slave disturbs other multi-threaded libraries.
//!
//! The victim is a parallel loop with a static split, one thread bound to each processor, and a barrier at
//! each end; it knows nothing of us. Beside it one of our slaves waits for work that does not come.
use crate::{Work, WorkDistribution};
use foregather_host::{affinity, clock};
use foregather_machine::named;
use foregather_machine::{Cause, Error, Nanos, WaitContext, Words, block_on};
use foregather_thread::{Thread, Word};
use foregather_wait::Policy;
use std::sync::Barrier;
use std::thread;

/// What one thread of the victim computes per region, on average.
const WORK: Nanos = Nanos::from_us(200);
/// After these the slave has left its spin, if it ever does, and the victim's threads have settled.
const WARM_UP: usize = 5;
/// Stretches of regions per variant, alternating with the other variants' so that all see the same machine.
const TURNS: u32 = 5;
/// No slave waits longer for the end of its stretch.
const BOUND: Nanos = Nanos::from_ms(60_000);

named! {
    /// What our slave does beside the victim.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Beside {
        /// There is none.
        Nobody = "nobody",
        /// It spins.
        Spinning = "spinning",
        /// It spun for 20 us and sleeps now.
        TwoPhase = "two-phase",
    }
}

impl Beside {
    const fn policy(self) -> Option<Policy> {
        match self {
            Self::Nobody => None,
            Self::Spinning => Some(Policy::Spin),
            Self::TwoPhase => Some(Policy::TwoPhase { spin: Nanos::from_us(20) }),
        }
    }
}

/// How the victim fared.
#[derive(Clone, Debug, PartialEq)]
pub struct Victim {
    /// What was beside it.
    pub beside: Beside,
    /// The duration of each region, in no particular order.
    pub regions: Vec<Nanos>,
    /// Their median. Where the slave takes turns with the victim, most regions may be undisturbed: look at
    /// the mean, too.
    pub median: Nanos,
    /// Their mean.
    pub mean: Nanos,
}

/// Runs about that many regions beside each kind of slave.
///
/// # Errors
/// If a processor is taken away, or a slave was never told that it is over.
pub fn victim(regions: u32) -> Result<Vec<Victim>, Error> {
    let speed = Work::iterations_per_us();
    let mut all = Beside::ALL.map(|beside| (beside, vec![]));
    for _ in 0..TURNS {
        for (beside, durations) in &mut all {
            durations.extend(stretch(*beside, regions.div_ceil(TURNS), speed)?);
        }
    }
    Ok(all.map(|(beside, durations)| summarised(beside, durations)).into())
}

fn summarised(beside: Beside, mut regions: Vec<Nanos>) -> Victim {
    regions.sort_unstable();
    let median = regions.get(regions.len() / 2).copied().unwrap_or_default();
    let mean = Nanos(regions.iter().map(|region| region.0).sum::<u64>() / regions.len().max(1) as u64);
    Victim { beside, regions, median, mean }
}

/// One stretch of regions beside one slave.
fn stretch(beside: Beside, regions: u32, speed: f64) -> Result<Vec<Nanos>, Error> {
    let call = Word::default();
    thread::scope(|threads| {
        let slave = beside.policy().map(|policy| {
            let call = &call;
            threads.spawn(move || {
                let cpu = Thread::current();
                let why = WaitContext::new("victim", 1).of(0).until(clock::now() + BOUND);
                block_on(policy.wait(&cpu, call, why, || (cpu.load(call) == 1).then_some(()))).map(|_| ())
            })
        });
        let durations = parallel_loop(regions as usize, speed);
        Thread::current().publish(&call, 1);
        slave.map_or(Ok(()), |slave| slave.join().unwrap_or_else(|_| Err(Error::lost(1))))?;
        durations
    })
}

/// The victim: a library that is not ours. Bound threads are what such libraries advise; free ones a
/// scheduler may pack on one processor, and then the slave disturbs none of them.
fn parallel_loop(regions: usize, speed: f64) -> Result<Vec<Nanos>, Error> {
    let cpus = affinity::allowed();
    let (start, end) = (Barrier::new(cpus.len()), Barrier::new(cpus.len()));
    let member = &|cpu| {
        let bound = affinity::pin(cpu);
        // The same seed: all parts of a region are equally long.
        let mut work = Work::new(WORK.0, speed, WorkDistribution::Uniform, 1);
        let mut region = || {
            let began = clock::now();
            start.wait();
            work.run();
            end.wait();
            clock::now() - began
        };
        let durations = (0..regions + WARM_UP).map(|_| region()).skip(WARM_UP).collect();
        bound.map(|()| durations)
    };
    thread::scope(|threads| {
        let members: Vec<_> = cpus.iter().map(|&cpu| threads.spawn(move || member(cpu))).collect();
        let ends: Vec<_> = members
            .into_iter()
            .map(|member| member.join().unwrap_or_else(|_| Err(Error::from(Cause::Poisoned { by: None }))))
            .collect();
        ends.into_iter().next().unwrap_or_else(|| Ok(vec![]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_variant_has_all_its_regions_and_they_contain_the_work() {
        let all = victim(20).unwrap();
        assert_eq!(all.iter().map(|victim| victim.beside).collect::<Vec<_>>(), Beside::ALL);
        for victim in all {
            assert_eq!(victim.regions.len(), 20);
            // The least work there is, by a processor that may have become faster since it was measured.
            assert!(victim.regions[0] > WORK.percent(25), "{victim:?}");
            assert!(victim.median <= victim.regions[19] && victim.mean <= victim.regions[19]);
        }
    }
}
