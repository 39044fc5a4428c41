//! What a fork and a join cost, with bodies of a known length: one cell a runner, each in a process of its
//! own.
//!
//! - [`TeamCell`]: how many bodies of which length a team runs. [`measure`]: one cell, of any team.
//! - [`region`]: our own team, and the yardsticks that need no library: Rust's scoped threads, and one thread
//!   alone.
use crate::barriers::check_team;
use crate::work::compute;
use crate::{Cell, CellResult};
use foregather_host::{clock, usage};
use foregather_machine::Nanos;
use foregather_team::Team;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Our runners. `team` has all members, `team-fitting` as many as fit and pay; `team-block` always sleeps,
/// and `team-spin` never.
pub const RUNNERS: [&str; 6] = ["team", "team-fitting", "team-block", "team-spin", "serial", "std-scope"];
/// A cell that has not ended by this much over twice its time has collapsed.
const COLLAPSED: Nanos = Nanos::from_ms(1_500);
/// The share of the span that comes before it: threads start, policies learn.
const WARM_UP: u64 = 4;
/// Longer regions count as that long.
const LONGEST: Nanos = Nanos::from_ms(60_000);

/// What to measure. Hogs are the caller's business.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TeamCell {
    /// Whose team, by the name its program knows: `team`, `gomp`, `rayon-join` ...
    pub runner: String,
    /// Bodies of a region, one for each member.
    pub threads: u32,
    /// What each computes.
    pub body_ns: u64,
    /// For how long to measure.
    pub span_ns: u64,
    /// For how long the team runs before that, if a quarter of the span is shorter.
    #[serde(default)]
    pub settle_ns: u64,
    /// What [`crate::Work::iterations_per_us`] gave, once for all that are compared.
    pub iterations_per_us: f64,
}

impl Cell for TeamCell {
    const VERB: &'static str = "team-cell";
    type Answer = CellResult;

    fn check(&self) -> Result<(), String> {
        check_team(self.threads, self.iterations_per_us)
    }

    fn at_most(&self) -> Nanos {
        Nanos(self.span_ns + self.settle_ns) * 2 + COLLAPSED
    }

    fn env(&self) -> Vec<(String, String)> {
        let policy = self.runner.strip_prefix("team-").filter(|policy| ["block", "spin"].contains(policy));
        policy.map(|policy| ("FOREGATHER_WAIT".to_owned(), policy.to_owned())).into_iter().collect()
    }

    fn run(&self) -> Result<Option<CellResult>, String> {
        Ok(Some(measure(self, region(&self.runner, self.threads)?)))
    }
}

impl TeamCell {
    /// What each member computes.
    pub fn body(&self) -> impl Fn() + Sync + use<> {
        let iterations = (self.body_ns as f64 / 1e3 * self.iterations_per_us) as u64;
        move || {
            if iterations > 0 {
                compute(iterations);
            }
        }
    }
}

/// What runs one region.
pub type RegionRunner = Box<dyn FnMut(&(dyn Fn() + Sync))>;

/// The runner of that name.
///
/// # Errors
/// If there is no such runner, or it cannot have that many members.
pub fn region(runner: &str, threads: u32) -> Result<RegionRunner, String> {
    Ok(match runner {
        // The environment says how they wait.
        "team" | "team-block" | "team-spin" => {
            let team = Team::new(threads).map_err(|error| error.to_string())?;
            Box::new(move |body| team.run(|_| body()))
        }
        "team-fitting" => {
            let team = Team::fitting();
            // However many members it has, together they do all bodies.
            Box::new(move |body| team.run(|member| member.share(threads as usize).for_each(|_| body())))
        }
        "serial" => Box::new(move |body| (0..threads).for_each(|_| body())),
        "std-scope" => Box::new(move |body| {
            std::thread::scope(|scope| {
                for _ in 1..threads {
                    scope.spawn(body);
                }
                body();
            });
        }),
        _ => return Err(format!("`{runner}` runs no team; there are {}", RUNNERS.join(", "))),
    })
}

/// Runs regions until the span is over. `region` calls what it is given once for each member, on as many
/// threads as it likes, and returns when all calls have. An episode of the result is a region.
pub fn measure(cell: &TeamCell, mut region: impl FnMut(&(dyn Fn() + Sync))) -> CellResult {
    let body = cell.body();
    let mut run = |span: u64, mut record: Option<&mut Histogram<u64>>| {
        let began = clock::now();
        let (mut last, mut regions) = (began, 0);
        while last - began < Nanos(span) {
            region(&body);
            let now = clock::now();
            if let Some(record) = &mut record {
                record.saturating_record((now - last).0);
            }
            (last, regions) = (now, regions + 1);
        }
        (regions, last - began)
    };
    run(cell.settle_ns.max(cell.span_ns / WARM_UP), None);
    let mut times = Histogram::new_with_max(LONGEST.0, 3).expect("three digits of a minute fit");
    let (cpu, switches) = (usage::process_cpu(), usage::process_switches());
    let (episodes, wall) = run(cell.span_ns, Some(&mut times));
    let (cpu, after) = (usage::process_cpu() - cpu, usage::process_switches());
    CellResult {
        episodes,
        wall_ns: wall.0,
        cpu_ns: cpu.0,
        p50_ns: times.value_at_quantile(0.5),
        p99_ns: times.value_at_quantile(0.99),
        max_ns: times.max(),
        voluntary: after.voluntary - switches.voluntary,
        involuntary: after.involuntary - switches.involuntary,
        ..CellResult::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Work;
    use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

    fn cell(runner: &str) -> TeamCell {
        let iterations_per_us = Work::iterations_per_us();
        TeamCell { runner: runner.into(), threads: 3, body_ns: 1_000, span_ns: 5_000_000, settle_ns: 0, iterations_per_us }
    }

    #[test]
    fn every_region_is_counted_and_none_of_the_warm_up() {
        let (cell, regions) = (cell("here"), AtomicU64::new(0));
        let result = measure(&cell, |body| {
            regions.fetch_add(1, Relaxed);
            body();
        });
        assert!(result.wall_ns >= cell.span_ns && result.episodes > 0, "{result:?}");
        assert!(regions.into_inner() > result.episodes, "the warm-up has regions, too");
        assert!(result.p50_ns >= 500 && result.p50_ns <= result.p99_ns && result.p99_ns <= result.max_ns, "{result:?}");
    }

    #[test]
    fn all_own_runners_run_and_others_are_refused() {
        for runner in RUNNERS {
            let cell = cell(runner);
            assert_eq!(TeamCell::from_arg(&cell.to_arg()), Ok(cell.clone()));
            assert!(cell.run().unwrap().unwrap().episodes > 0, "{runner}");
        }
        let error = cell("nobody").run().unwrap_err();
        assert!(error.contains("nobody") && error.contains("std-scope"), "{error}");
    }

    #[test]
    fn a_region_has_a_body_for_each_member() {
        for runner in RUNNERS {
            let bodies = AtomicU64::new(0);
            let mut region = region(runner, 4).unwrap();
            for _ in 0..10 {
                region(&|| {
                    bodies.fetch_add(1, Relaxed);
                });
            }
            assert_eq!(bodies.into_inner(), 40, "{runner}");
        }
    }
}
