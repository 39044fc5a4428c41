//! The experiments of Guignon 2000. §2.1: hand-overs by every method, placement, counters, and the caveat;
//! §2.2: parameters, partition, and the shapes of the routines that §1 names.
use crate::curves::{curves, number};
use crate::{Answer, Experiment, Findings, TrialOptions, experiment};
use anyhow::Result;
use foregather_bench::blas::{BlasCell, BlasResult, Routine};
use foregather_bench::ping_pong::{self, Method, PartyKind, PingPong, Setup};
use foregather_bench::victim::{Beside, victim};
use foregather_blas::{Axpy, Gemm, Gemv, Matrix, MatrixMut, Trans, Vector, VectorMut, on};
use foregather_host::{affinity, clock};
use foregather_machine::Nanos;
use foregather_measure::cells::{CellProgram, Within};
use foregather_measure::machine_file;
use foregather_measure::waits::{Circumstance, Placement, matrix, mean_cycles, measurement, ping_pongs};
use foregather_results::{Distribution, Measurement};
use foregather_team::{Team, TeamMember};
use std::collections::BTreeMap;
use std::hint::black_box;

/// All of them, by their names in `papers/guignon2000.toml`.
pub const EXPERIMENTS: [Experiment; 8] = [
    experiment("ping-pong", hand_overs).measured().between_processors(),
    experiment("placement", placement).measured().between_processors(),
    experiment("counters", counters).measured().between_processors(),
    experiment("victim", bystander).measured(),
    experiment("parameters", parameters).measured().between_processors(),
    experiment("partition", partition),
    experiment("collapse", collapse),
    experiment("shapes", shapes).measured().between_processors(),
];

/// As many round trips as the paper made.
const RUNS: u32 = 1_000;
/// Parallel regions of the victim per variant.
const REGIONS: u32 = 500;
/// Pairs of processes whose placement is watched.
const PAIRS: usize = 7;

fn hand_overs(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let mut matrix = matrix(Method::ALL.len() * 2, trial.quiet);
    for (side, id) in [(PartyKind::Processes, "spin-fastest-processes"), (PartyKind::Threads, "spin-fastest-threads")] {
        let circumstance = Circumstance { side, placement: Placement::TwoCpus, gap: Nanos::ZERO, runs: RUNS };
        let methods = ping_pongs(circumstance, &Method::ALL, &mut matrix)?;
        found.measurements.extend(methods.iter().map(|(method, round_trips)| measurement(circumstance, *method, round_trips)));
        found.answers.insert(id, fastest(&methods));
        if side == PartyKind::Processes {
            answer_for_processes(&methods, found)?;
        }
    }
    found.notes.append(&mut matrix.found.notes);
    Ok(())
}

fn mean_of(methods: &[(Method, Vec<PingPong>)], method: Method) -> Option<f64> {
    methods.iter().find(|(m, _)| *m == method).map(|(_, parts)| mean_cycles(parts))
}

fn fastest(methods: &[(Method, Vec<PingPong>)]) -> Answer {
    let kernel = [Method::PosixSemaphore, Method::SysvSemaphore];
    let semaphores = kernel.into_iter().filter_map(|m| mean_of(methods, m)).fold(f64::INFINITY, f64::min);
    let Some(spin) = mean_of(methods, Method::Spin) else { return Answer::CannotTry("interrupted".into()) };
    let times = semaphores / spin;
    Answer::Number(times, format!("{spin:.0} cycles on average against {semaphores:.0} of the faster semaphore"))
}

fn answer_for_processes(methods: &[(Method, Vec<PingPong>)], findings: &mut Findings) -> Result<()> {
    let means = [Method::Spin, Method::PosixSemaphore, Method::OneSemaphore].map(|m| mean_of(methods, m));
    let [Some(spin), Some(posix), Some(one)] = means else { return Ok(()) };
    findings.answers.insert(
        "min-average-max",
        Answer::Number(spin, "the average of the spin variable; all methods are among the measurements".into()),
    );
    let two_wakes = machine_file::load_or_measure()?.remote_wake * 2;
    let excess = clock::cycles_to_nanos((posix - spin).max(0.0) as u64);
    let why = format!("{excess} more than spinning; two remote wakes are {two_wakes}");
    findings.answers.insert("cost-is-the-wake", Answer::Number(excess.0 as f64 / two_wakes.0.max(1) as f64, why));
    let why = format!("{posix:.0} cycles for two barriers, {one:.0} for a bare hand-over");
    findings.answers.insert("semaphores-need-two", Answer::Number(posix / one, why));
    Ok(())
}

/// Two spinning processes, left where the scheduler puts them. Where both run at once a hand-over takes less
/// than a microsecond; on one processor it takes a tick. So the time in quick round trips is the time they
/// were apart.
fn placement(_: &TrialOptions, found: &mut Findings) -> Result<()> {
    const QUICK: Nanos = Nanos::from_us(100);
    let (mut shares, mut seen) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let mut setup = Setup::new(Method::Spin, PartyKind::Processes, None, None);
        (setup.runs, setup.at_most) = (1_000_000, Nanos::from_ms(300));
        let round_trips = ping_pong::run(&setup)?;
        let quick = clock::nanos_to_cycles(QUICK);
        let time = |all: &mut dyn Iterator<Item = u64>| all.sum::<u64>() as f64;
        let apart = time(&mut round_trips.cycles.iter().copied().filter(|&cycles| cycles < quick));
        shares.push(apart / time(&mut round_trips.cycles.iter().copied()));
        let cpus = |counts: &BTreeMap<u32, u32>| counts.keys().map(u32::to_string).collect::<Vec<_>>().join("+");
        seen.push(format!("{}/{}", cpus(&round_trips.master_cpus), cpus(&round_trips.slave_cpus)));
    }
    let what = "time for which two spinning processes were on different processors";
    let measured = Measurement::from_values("placement/process/spin", what, "share", shares);
    let mean = measured.summary.mean.unwrap_or(f64::NAN);
    let why =
        format!("{PAIRS} pairs of unpinned processes, up to 0.3 s each; master/slave were seen on cpus {}", seen.join(", "));
    found.answers.insert("scheduler-places-apart", Answer::Number(mean, why));
    found.measurements.push(measured);
    Ok(())
}

fn counters(_: &TrialOptions, found: &mut Findings) -> Result<()> {
    let cpus = affinity::allowed();
    let (first, last) = (cpus[0], cpus[cpus.len() - 1]);
    let bound = clock::cross_cpu_offset_bound(first, last)?;
    let worst = bound.offset_ns.abs() + bound.bound_ns;
    let half = machine_file::load_or_measure()?.remote_wake.0 as f64 / 2.0;
    let why =
        format!("at most {worst:.0} ns apart on cpus {first} and {last}; half of the fastest kernel hand-over is {half:.0} ns");
    found.answer("counters-agree", Answer::Number(worst / half, why));
    Ok(())
}

/// A parallel loop of another library beside our slave.
fn bystander(_: &TrialOptions, found: &mut Findings) -> Result<()> {
    let variants = victim(REGIONS)?;
    let mean_us = |beside| variants.iter().find(|v| v.beside == beside).map(|v| v.mean.as_us());
    let answer = match Beside::ALL.map(mean_us) {
        [Some(alone), Some(hot), Some(asleep)] => {
            let why =
                format!("a region takes {alone:.0} us alone, {hot:.0} beside a hot slave, {asleep:.0} beside one that sleeps");
            Answer::Number(hot / asleep, why)
        }
        _ => Answer::CannotTry("the experiment was interrupted".into()),
    };
    found.answers.insert("active-slave-disturbs", answer);
    for variant in variants {
        let samples = variant.regions.iter().map(|region| region.as_us()).collect();
        let what = "one parallel region of another library beside our slave";
        let id = format!("victim/{}", variant.beside.name());
        found.measurements.push(Measurement::from_values(id, what, "us", samples));
    }
    Ok(())
}

/// Batches of calls, with one argument and with sixteen in turn, and calls in each.
const BATCHES: usize = 200;
const CALLS: u32 = 200;
/// Orders of matrices and lengths of vectors whose bits are compared.
const ORDERS: [usize; 5] = [24, 63, 127, 300, 501];

/// What a call costs with one argument and with sixteen.
fn parameters(_: &TrialOptions, found: &mut Findings) -> Result<()> {
    let team = Team::new(2)?;
    let words: [u64; 16] = std::array::from_fn(|at| at as u64);
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = words;
    let one = |_: TeamMember| {
        black_box(a);
    };
    let sixteen = |_: TeamMember| {
        black_box([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]);
    };
    let (mut few, mut many) = (Vec::new(), Vec::new());
    for _ in 0..BATCHES {
        few.push(batch(|| team.run(one)));
        many.push(batch(|| team.run(sixteen)));
    }
    let median = |of: &[f64]| Distribution::quantile_of(of.iter().copied(), 0.5);
    let (less, more) = (median(&few), median(&many));
    let why = format!("{more:.0} ns with sixteen arguments, {less:.0} with one");
    found.answer("parameters-by-reference", Answer::Number(more / less, why));
    let what = "an empty call of a team of two";
    found.measurements.push(Measurement::from_values("parameters/1", what, "ns", few));
    found.measurements.push(Measurement::from_values("parameters/16", what, "ns", many));
    Ok(())
}

/// Nanoseconds of a call.
fn batch(mut call: impl FnMut()) -> f64 {
    let began = clock::now();
    (0..CALLS).for_each(|_| call());
    (clock::now() - began).0 as f64 / f64::from(CALLS)
}

/// The same calls by teams of one and of two.
fn partition(_: &TrialOptions, found: &mut Findings) -> Result<()> {
    let teams = [Team::new(1)?, Team::new(2)?];
    let mut differ = Vec::new();
    for n in ORDERS {
        let numbers = |from: usize, len: usize| (from..from + len).map(|at| ((at * 7919) % 1009) as f64 / 1009.0 - 0.3);
        let (a, b, x): (Vec<f64>, Vec<f64>, Vec<f64>) =
            (numbers(0, n * n).collect(), numbers(5, n * n).collect(), numbers(9, n * n).collect());
        let mut results = Vec::new();
        for team in &teams {
            let (view, other) = (Matrix::columns(&a, n, n, n)?, Matrix::columns(&b, n, n, n)?);
            let (mut c, mut y, mut z) = (vec![0.0; n * n], vec![0.0; n], x.clone());
            on(team, Gemm::new(Trans::No, Trans::No, 1.0, view, other, 0.0, MatrixMut::columns(&mut c, n, n, n)?)?);
            on(team, Gemv::new(Trans::No, 1.0, view, Vector::from(&x[..n]), 0.0, VectorMut::from(&mut y[..]))?);
            on(team, Axpy::new(0.3, Vector::from(&a[..]), VectorMut::from(&mut z[..]))?);
            results.push([c, y, z].map(|all| all.into_iter().map(f64::to_bits).collect::<Vec<_>>()));
        }
        if results[0] != results[1] {
            differ.push(n.to_string());
        }
    }
    let at = if differ.is_empty() { String::new() } else { format!("; other bits at {}", differ.join(", ")) };
    let why = format!("dgemm, dgemv and daxpy at {} sizes, by one member and by two{at}", ORDERS.len());
    found.answer("result-is-split", Answer::Number(differ.len() as f64, why));
    Ok(())
}

/// Two meetings a call or many, in virtual time.
fn collapse(trial: &TrialOptions, found: &mut Findings) -> Result<()> {
    let all = curves("collapse", trial, found)?;
    let elapsed = |waits, beside| all.with(&[("waits", waits), ("beside", beside), ("policy", "spin")]).mean("elapsed_us");
    let (two, many) = (elapsed("2", "2 cpus, 2 hogs"), elapsed("24", "2 cpus, 2 hogs"));
    let alone = elapsed("2", "2 cpus");
    let why = format!(
        "{:.1} and {:.1} times what they take without hogs, spinning on two simulated processors",
        two / alone,
        many / alone
    );
    found.answer("synchronised-twice", number(two / many, why));
    Ok(())
}

/// Each routine at a size that must gain and at one that must not lose.
fn shapes(_: &TrialOptions, found: &mut Findings) -> Result<()> {
    let all = [
        ("daxpy-gains", Routine::Daxpy, 100_000, Some(100)),
        ("ddot-gains", Routine::Ddot, 100_000, Some(100)),
        ("dgemm-gains", Routine::Dgemm, 256, Some(8)),
        ("lu-gains", Routine::Lu, 400, None),
    ];
    let mut short = vec![];
    for (id, routine, large, small) in all {
        let mut measured = |n: u32| -> Result<Option<f64>> {
            let Some(result) = pair(routine, n)? else { return Ok(None) };
            let name = format!("shapes/{}/{n}", routine.name());
            let what = "times faster by two threads, the median of alternated pairs";
            found.measurements.push(Measurement::from_values(name, what, "x", vec![result.ratio]));
            Ok(Some(result.ratio))
        };
        let answer = match measured(large)? {
            Some(ratio) => Answer::Number(ratio, format!("at {large}")),
            None => Answer::CannotTry("the cell did not end".into()),
        };
        // A cell that does not end is no number, so the claim on all short calls cannot be tried.
        short.extend(small.map(|n| Ok::<f64, anyhow::Error>(measured(n)?.unwrap_or(f64::NAN))).transpose()?);
        found.answer(id, answer);
    }
    found.answer("short-calls-lose-nothing", Answer::Each(short, "daxpy and ddot of 100, dgemm of 8".into()));
    Ok(())
}

/// One cell of `measure blas` by two threads, in a process of its own.
fn pair(routine: Routine, n: u32) -> Result<Option<BlasResult>> {
    let cell = BlasCell { runner: "foregather".into(), routine, n, threads: 2, gap_ns: 0, span_ns: 100_000_000 };
    CellProgram::default().run(&cell, Within::default())
}
