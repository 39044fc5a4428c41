//! What the demo measures: five things that programs do, each beside what else does it here. Their shapes are
//! fixed before the run.
use super::sentence::{Contestant, Sentence, SentenceKind, known};
use anyhow::Result;
use foregather_host::affinity;
use foregather_machine::Nanos;
use foregather_measure::barriers::waiters::peers;
use foregather_measure::options::{BarriersOptions, OpenMp, TeamMatrix, Teams};
use foregather_measure::peers::{listed, program};
use foregather_measure::{Experiment, Measured, pipe, product};
use foregather_results::Measurement;
use foregather_results::ids::{BLAS, CANDIDATE, MESSAGES, OPENMP, TEAMS};

/// How often each region, barrier and message has its turn, unless the user says so.
pub(super) const TURNS: u32 = 7;
/// How long one turn of all regions and barriers takes, however many of them are here.
const ROUND: Nanos = Nanos::from_ms(1_540);
/// What a turn takes besides: its process starts, warms up and ends.
const START: Nanos = Nanos::from_ms(40);
/// A shorter or a longer turn is no use.
const TURN: [Nanos; 2] = [Nanos::from_ms(30), Nanos::from_ms(250)];
/// How long products and messages take in all.
const REST: Nanos = Nanos::from_ms(1_000);
/// After so much more than its turn a team is killed.
const STUCK: Nanos = Nanos::from_ms(1_500);
/// About how long the pairs of a product are measured.
const PRODUCT_MS: u64 = 100;
/// What members of a region, and of a barrier, compute.
const BODY_US: u32 = 1;

/// What else is asked to run regions, barriers and products, in the order of their sentence.
const RUNTIMES: [&str; 2] = ["gomp", "omp"];
const BARRIERS: [&str; 4] = ["rust-std", "pthread", "gomp", "omp"];
const OPENBLAS: &str = "openblas";
const MAKERS: [&str; 3] = [product::NUMPY, OPENBLAS, product::OURS];
/// This project's OpenMP runtime, its team, and Rust's threads that are started for each region.
const RUNTIME: &str = "foregather";
const TEAM: &str = "team";
const SCOPE: &str = "std-scope";

/// One thing that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scene {
    /// A parallel region beside programs that compute.
    Region { threads: u32, hogs: u32 },
    /// A barrier, with nothing beside the team.
    Barrier { threads: u32 },
    /// A product of square matrices of that order.
    Product { n: u32 },
    /// A message between two processes.
    Message,
}

/// All of the demo, in the order of its sentences.
pub(super) const SCENES: [Scene; 5] = [
    Scene::Region { threads: 2, hogs: 1 },
    Scene::Barrier { threads: 4 },
    Scene::Region { threads: 8, hogs: 0 },
    Scene::Product { n: 512 },
    Scene::Message,
];

/// What is here to be measured beside this project.
pub(super) struct Rivals {
    /// Runs regions; `true` if they are OpenMP's, by runtimes that have all constructs.
    runners: (bool, Vec<String>),
    waiters: Vec<String>,
    makers: Vec<String>,
    /// Whether the program that measures other libraries was built.
    program: bool,
}

impl Rivals {
    /// Asks the program of peers, if it was built.
    pub(super) fn here() -> Self {
        let found = |verb: &str| -> Vec<String> {
            let listed = program().and_then(|program| listed(&program, verb).ok());
            listed.map_or(vec![], |listed| listed.found.into_iter().map(|(name, _)| name).collect())
        };
        let those = |found: &[String], wanted: &[&str]| -> Vec<String> {
            wanted.iter().filter(|name| found.iter().any(|found| found == *name)).map(|&name| name.to_owned()).collect()
        };
        let (runtimes, teams) = (found("list-openmp"), found("list-teams"));
        let runners = if runtimes.iter().any(|name| name == RUNTIME) {
            (true, [vec![RUNTIME.to_owned()], those(&runtimes, &RUNTIMES)].concat())
        } else {
            let others = those(&teams, &RUNTIMES);
            let others = if others.is_empty() { vec![SCOPE.to_owned()] } else { others };
            (false, [vec![TEAM.to_owned()], others].concat())
        };
        let barriers: Vec<String> = peers().0.into_iter().map(|peer| peer.name).collect();
        Self {
            runners,
            waiters: [vec![CANDIDATE.to_owned()], those(&barriers, &BARRIERS)].concat(),
            makers: those(&found("list-blas"), &MAKERS),
            program: program().is_some(),
        }
    }

    /// What would be compared and is not here; NumPy is missing if no number came of it.
    pub(super) fn lacking(&self, all: &[Measurement]) -> Vec<String> {
        let mut lacking: Vec<&str> = if self.program {
            let here =
                |name: &str| [&self.runners.1, &self.waiters, &self.makers].iter().any(|of| of.iter().any(|of| of == name));
            RUNTIMES.into_iter().chain([OPENBLAS]).filter(|name| !here(name)).collect()
        } else {
            vec!["the program that runs libgomp, libomp and OpenBLAS"]
        };
        let numpy = |m: &Measurement| m.text("runner") == product::NUMPY;
        lacking.extend((!all.iter().any(numpy)).then_some("NumPy"));
        lacking.into_iter().map(known).collect()
    }
}

/// How often and how long everything is measured.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnPlan {
    turns: u32,
    /// The length of a turn of a region or a barrier.
    turn: Nanos,
}

impl TurnPlan {
    /// As many turns as asked for. Each is so long that a round of all takes the same time whatever is here.
    pub(super) fn new(turns: u32, rivals: &Rivals) -> Self {
        let waits = SCENES.iter().map(|scene| match scene {
            Scene::Region { .. } => rivals.runners.1.len(),
            Scene::Barrier { .. } => rivals.waiters.len(),
            Scene::Product { .. } | Scene::Message => 0,
        });
        let columns = waits.sum::<usize>().max(1) as u64;
        let turn = Nanos(ROUND.0 / columns) - START;
        Self { turns, turn: turn.clamp(TURN[0], TURN[1]) }
    }

    /// How long all scenes take.
    pub(super) fn planned(self) -> Nanos {
        ROUND * u64::from(self.turns) + REST
    }
}

impl Scene {
    /// Measures it.
    ///
    /// # Errors
    /// If nothing of it can be measured here.
    pub(super) fn measure(self, rivals: &Rivals, plan: TurnPlan, quiet: bool) -> Result<Measured> {
        let (ms, turns) = (plan.turn.0 / 1_000_000, Some(plan.turns));
        match self {
            Self::Region { threads, hogs } => {
                let (openmp, runners) = &rivals.runners;
                let matrix = TeamMatrix {
                    threads: vec![threads],
                    hogs: vec![hogs],
                    runners: Some(runners.join(",")),
                    repetitions: turns,
                    ms: Some(ms),
                    seed: 1,
                    ..TeamMatrix::default()
                };
                if *openmp {
                    OpenMp { matrix, constructs: Some("region".to_owned()) }.measure(quiet)
                } else {
                    Teams { matrix, bodies: vec![BODY_US], predict: None }.measure(quiet)
                }
            }
            Self::Barrier { threads } => {
                let (rows, waiters) = (Some(row(threads)), Some(rivals.waiters.join(",")));
                let options =
                    BarriersOptions { rows, waiters, repetitions: turns, ms: Some(ms), seed: 1, ..BarriersOptions::default() };
                options.measure(quiet)
            }
            Self::Product { n } => product::measure(n, &MAKERS, PRODUCT_MS, quiet),
            Self::Message => pipe::measure(plan.turns, quiet),
        }
    }

    /// Its sentence; `None` if this project has no number.
    pub(super) fn sentence(self, all: &[Measurement]) -> Option<Sentence> {
        let cpus = affinity::allowed().len();
        let (about, contestants): (String, Vec<Contestant>) = match self {
            Self::Region { threads, hogs } => {
                let is = |m: &&Measurement| {
                    (m.id.starts_with(TEAMS) || m.id.starts_with(OPENMP) && m.text("construct") == "region")
                        && m.text("threads") == threads.to_string()
                        && m.text("hogs") == hogs.to_string()
                };
                let beside = match hogs {
                    0 if cpus == 1 => "on the one processor".to_owned(),
                    0 => format!("on all {cpus} processors"),
                    1 => "beside one busy program".to_owned(),
                    _ => format!("beside {hogs} busy programs"),
                };
                let of = |m: &Measurement| Contestant::new(m.text("runner"), regions(m));
                (format!("A parallel region of {threads} threads {beside}"), all.iter().filter(is).map(of).collect())
            }
            Self::Barrier { threads } => {
                let row = row(threads);
                let is = |m: &&Measurement| m.text("row") == row && m.labels.contains_key("waiter");
                let of = |m: &Measurement| Contestant::new(m.text("waiter"), turns(m, |per_s| 1e9 / per_s));
                let place = if cpus == 1 { "one processor".to_owned() } else { format!("{cpus} processors") };
                (format!("{threads} threads that meet at a barrier, alone on {place}"), all.iter().filter(is).map(of).collect())
            }
            Self::Product { n } => {
                let is = |m: &&Measurement| m.id.starts_with(BLAS) && m.text("n") == n.to_string();
                let of = |m: &Measurement| match m.text("blas") {
                    "" => Contestant::new(m.text("runner"), turns(m, |us| us * 1e3)),
                    blas => Contestant::new(&format!("NumPy by {blas}"), turns(m, |us| us * 1e3)),
                };
                (format!("A product of two matrices of {n} x {n}"), all.iter().filter(is).map(of).collect())
            }
            Self::Message => {
                let prefix = format!("{}process/ping-pong/{}B/", MESSAGES, pipe::BYTES);
                let of = |m: &Measurement| Contestant::new(m.text("way"), turns(m, |ns| ns));
                let all = all.iter().filter(|m| m.id.starts_with(&prefix)).map(of).collect();
                (format!("A message of {} bytes from one process to another", pipe::BYTES), all)
            }
        };
        let kind =
            if matches!(self, Self::Region { .. } | Self::Barrier { .. }) { SentenceKind::Wait } else { SentenceKind::Other };
        Sentence::new(kind, about, contestants)
    }
}

/// The regions of all turns, as nanoseconds: one that kept its turn from ending took that long at least.
fn regions(m: &Measurement) -> Vec<f64> {
    let mut all = turns(m, |us| us * 1e3);
    if m.number("collapsed") > 0.0 && !all.is_empty() {
        all.push(STUCK.0 as f64);
    }
    all
}

/// The values of all turns, as nanoseconds.
fn turns(m: &Measurement, ns: impl Fn(f64) -> f64) -> Vec<f64> {
    m.values.iter().flatten().map(|&value| ns(value)).collect()
}

/// The name of the barrier matrix's row.
fn row(threads: u32) -> String {
    format!("{threads}t, {BODY_US} us")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::sentence::tests::plain;

    fn rivals(openmp: bool, runners: &[&str], waiters: &[&str], makers: &[&str]) -> Rivals {
        let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Rivals { runners: (openmp, names(runners)), waiters: names(waiters), makers: names(makers), program: openmp }
    }

    fn region(runner: &str, hogs: u32, us: &[f64], collapsed: f64) -> Measurement {
        Measurement::from_values(format!("openmp/region/2t/{hogs}h/{runner}"), "", "us", us.to_vec())
            .label("construct", "region")
            .label("threads", "2")
            .label("hogs", hogs.to_string())
            .label("runner", runner)
            .figure("collapsed", collapsed)
    }

    #[test]
    fn regions_are_told_with_all_runtimes_that_were_measured_beside_the_same() {
        let scene = Scene::Region { threads: 2, hogs: 1 };
        let all = [
            region("foregather", 1, &[22.0, 21.0, 23.0], 0.0),
            region("gomp", 1, &[3_100.0, 3_000.0, 3_200.0], 0.0),
            region("omp", 1, &[5.0, 6.0], 1.0),
            region("gomp", 0, &[1.0], 0.0),
        ];
        let said = |all: &[Measurement]| scene.sentence(all).map(|sentence| plain(&sentence.text("")));
        assert_eq!(
            said(&all).as_deref(),
            Some(
                "A parallel region of 2 threads beside one busy program: libgomp 3.1 ms, libomp 6 us (5 us to 1.5 s), Foregather 22 us."
            )
        );
        assert_eq!(said(&all[1..]), None, "a sentence has a number of this project");
    }

    #[test]
    fn barriers_are_told_as_times_and_products_with_the_name_of_numpys_blas() {
        let waiter = |name: &str, per_s: f64| {
            Measurement::from_values(format!("barriers/4t, 1 us/{name}"), "", "episodes/s", vec![per_s; 3])
                .label("row", "4t, 1 us")
                .label("waiter", name)
        };
        let all = [waiter("central/adaptive", 200_000.0), waiter("rust-std", 40_000.0), waiter("gomp", 400_000.0)];
        let said = plain(&Scene::Barrier { threads: 4 }.sentence(&all).unwrap().text(""));
        assert!(said.ends_with(": Rust's Barrier 25 us, libgomp 2.5 us, Foregather 5 us; here libgomp is faster."), "{said}");
        let maker = |name: &str, us: f64, blas: &str| {
            let m = Measurement::from_values(format!("blas/dgemm/512/{name}"), "", "us", vec![us]).label("n", "512");
            let m = m.label("runner", name);
            if blas.is_empty() { m } else { m.label("blas", blas) }
        };
        let all = [maker("numpy", 61_000.0, "the reference BLAS"), maker("foregather", 3_000.0, "")];
        let said = plain(&Scene::Product { n: 512 }.sentence(&all).unwrap().text(""));
        assert_eq!(said, "A product of two matrices of 512 x 512: NumPy by the reference BLAS 61 ms, Foregather 3 ms.");
    }

    #[test]
    fn what_is_not_here_is_named() {
        let some = rivals(true, &["foregather", "gomp"], &["central/adaptive", "gomp"], &[]);
        let numpy = Measurement::from_values("blas/dgemm/512/numpy", "", "us", vec![1.0]).label("runner", "numpy");
        assert_eq!(some.lacking(&[numpy]), ["libomp", "OpenBLAS"]);
        let none = rivals(false, &["team", "std-scope"], &["central/adaptive", "rust-std"], &[]);
        assert_eq!(none.lacking(&[]), ["the program that runs libgomp, libomp and OpenBLAS", "NumPy"]);
    }

    /// The command's help and the book say how long it takes, too.
    #[test]
    fn all_of_it_takes_the_same_time_whatever_is_here() {
        let many =
            rivals(true, &["foregather", "gomp", "omp"], &["central/adaptive", "rust-std", "pthread", "gomp", "omp"], &MAKERS);
        let few = rivals(false, &["team", "std-scope"], &["central/adaptive", "rust-std"], &[]);
        for rivals in [&many, &few] {
            let plan = TurnPlan::new(TURNS, rivals);
            assert_eq!(crate::demo::announced(plan), Nanos::from_ms(15_000), "{plan:?}");
            assert!(plan.turn > TURN[0] && plan.turn < TURN[1], "{plan:?}");
        }
        assert_eq!(crate::demo::announced(TurnPlan::new(21, &many)), Nanos::from_ms(36_000));
        let help = crate::cli::Cli::whole_command().render_long_help().to_string();
        let pages = [include_str!("../../../../docs/README.md"), include_str!("../../../../docs/reports.md")];
        for text in pages.into_iter().chain([help.as_str()]) {
            assert!(text.contains("about 15 s"), "{text}");
        }
    }
}
