//! Guignon 2000 §2.2, parameters and partition, and the shapes of the routines that §1 names.
use super::one_processor;
use crate::curves::{curves, number};
use crate::{Answer, Findings, Trial};
use anyhow::Result;
use foregather_bench::blas::{BlasCell, BlasResult, Routine};
use foregather_blas::{Axpy, Gemm, Gemv, Matrix, MatrixMut, Trans, Vector, VectorMut, on};
use foregather_host::{affinity, clock};
use foregather_measure::cells::{CellProgram, Within};
use foregather_results::{Distribution, Measurement};
use foregather_team::{Member, Team};
use std::hint::black_box;

/// Batches of calls, with one argument and with sixteen in turn, and calls in each.
const BATCHES: usize = 200;
const CALLS: u32 = 200;
/// Orders of matrices and lengths of vectors whose bits are compared.
const ORDERS: [usize; 5] = [24, 63, 127, 300, 501];

/// What a call costs with one argument and with sixteen.
pub(super) fn parameters(_: &Trial) -> Result<Findings> {
    let mut findings = Findings::default();
    if affinity::allowed().len() < 2 {
        findings.answer("parameters-by-reference", one_processor());
        return Ok(findings);
    }
    let team = Team::new(2)?;
    let words: [u64; 16] = std::array::from_fn(|at| at as u64);
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = words;
    let one = |_: Member| {
        black_box(a);
    };
    let sixteen = |_: Member| {
        black_box([a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p]);
    };
    let (mut few, mut many) = (Vec::new(), Vec::new());
    for _ in 0..BATCHES {
        few.push(batch(|| team.run(one)));
        many.push(batch(|| team.run(sixteen)));
    }
    let median = |of: &[f64]| Distribution::of_values(of).map_or(f64::NAN, |all| all.quantile(0.5));
    let (less, more) = (median(&few), median(&many));
    let why = format!("{more:.0} ns with sixteen arguments, {less:.0} with one");
    findings.answer("parameters-by-reference", Answer::Number(more / less, why));
    let what = "an empty call of a team of two";
    findings.measurements.push(Measurement::from_values("parameters/1", what, "ns", few));
    findings.measurements.push(Measurement::from_values("parameters/16", what, "ns", many));
    Ok(findings)
}

/// Nanoseconds of a call.
fn batch(mut call: impl FnMut()) -> f64 {
    let began = clock::now();
    (0..CALLS).for_each(|_| call());
    (clock::now() - began).0 as f64 / f64::from(CALLS)
}

/// The same calls by teams of one and of two.
pub(super) fn partition(_: &Trial) -> Result<Findings> {
    let mut findings = Findings::default();
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
    findings.answer("result-is-split", Answer::Number(differ.len() as f64, why));
    Ok(findings)
}

/// Two meetings a call or many, in virtual time.
pub(super) fn collapse(trial: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let all = curves("collapse", trial, &mut found)?;
    let elapsed = |waits, beside| all.with(&[("waits", waits), ("beside", beside), ("policy", "spin")]).mean("elapsed_us");
    let (two, many) = (elapsed("2", "2 cpus, 2 hogs"), elapsed("24", "2 cpus, 2 hogs"));
    let alone = elapsed("2", "2 cpus");
    let why = format!(
        "{:.1} and {:.1} times what they take without hogs, spinning on two simulated processors",
        two / alone,
        many / alone
    );
    found.answer("synchronised-twice", number(two / many, why));
    Ok(found)
}

/// Each routine at a size that must gain and at one that must not lose.
pub(super) fn shapes(_: &Trial) -> Result<Findings> {
    let mut findings = Findings::default();
    let all = [
        ("daxpy-gains", Routine::Daxpy, 100_000, Some(100)),
        ("ddot-gains", Routine::Ddot, 100_000, Some(100)),
        ("dgemm-gains", Routine::Dgemm, 256, Some(8)),
        ("lu-gains", Routine::Lu, 400, None),
    ];
    let mut short = vec![];
    for (id, routine, large, small) in all {
        if affinity::allowed().len() < 2 {
            findings.answer(id, one_processor());
            continue;
        }
        let mut measured = |n: u32| -> Result<Option<f64>> {
            let Some(result) = pair(routine, n)? else { return Ok(None) };
            let name = format!("shapes/{}/{n}", routine.name());
            let what = "times faster by two threads, the median of alternated pairs";
            findings.measurements.push(Measurement::from_values(name, what, "x", vec![result.ratio]));
            Ok(Some(result.ratio))
        };
        let answer = match measured(large)? {
            Some(ratio) => Answer::Number(ratio, format!("at {large}")),
            None => Answer::CannotTry("the cell did not end".into()),
        };
        // A cell that does not end is no number, so the claim on all short calls cannot be tried.
        short.extend(small.map(|n| Ok::<f64, anyhow::Error>(measured(n)?.unwrap_or(f64::NAN))).transpose()?);
        findings.answer(id, answer);
    }
    findings.answer("short-calls-lose-nothing", Answer::Each(short, "daxpy and ddot of 100, dgemm of 8".into()));
    Ok(findings)
}

/// One cell of `measure blas` by two threads, in a process of its own.
fn pair(routine: Routine, n: u32) -> Result<Option<BlasResult>> {
    let cell = BlasCell { runner: "foregather".into(), routine, n, threads: 2, gap_ns: 0, span_ns: 100_000_000 };
    CellProgram::default().run(&cell, Within::default())
}
