//! Made-up results of the size and shape that a demo yields, for tests of pages and documents. None of these
//! numbers was measured; the shipped program contains none of them.

pub(crate) mod advice;
pub(crate) mod apps;
pub(crate) mod dsm;
pub(crate) mod messages;
pub(crate) mod regrets;
pub(crate) mod simulated;
pub(crate) mod teams;

use foregather_results::{ClaimOutcome, Measurement, Noise, Provenance, Results, SCHEMA, TrustLevel, Value, Verdict};

/// Numbers from 0 to 1, the same in every run.
struct Dice(u64);

impl Dice {
    fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2_862_933_555_777_941_757) | 1)
    }

    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / (1_u64 << 24) as f64
    }
}

/// An empty document of an experiment.
pub(crate) fn empty(experiment: &str) -> Results {
    let facts = [
        "the hypervisor took 1.6 % of the machine's processor time",
        "other programs used 3.1 % of it",
        "1 of the machine's threads ran or were ready before the run, on 2 processors",
        "threads of this process were preempted 214 times a second",
        "the typical measurement has a median of 1.7 times its minimum",
    ];
    Results {
        schema: SCHEMA.to_owned(),
        experiment: experiment.to_owned(),
        argv: vec!["foregather".to_owned(), experiment.to_owned()],
        started_unix_s: 1_795_000_000,
        seconds: 18.4,
        seed: Some(42),
        interrupted: false,
        provenance: provenance(),
        noise: Noise {
            verdict: TrustLevel::Noisy,
            steal_percent: Some(1.6),
            foreign_percent: Some(3.1),
            involuntary_switches_per_s: 214.0,
            run_queue_wait_percent: Some(0.4),
            runnable_before: Some(1),
            spread: Some(1.7),
            facts: facts.map(str::to_owned).into(),
        },
        measurements: Vec::new(),
        timelines: Vec::new(),
        verdicts: Vec::new(),
        notes: vec!["Cycles are those of the time-stamp counter, 2.3 a nanosecond.".to_owned()],
    }
}

fn provenance() -> Provenance {
    Provenance {
        cpu: Some("Intel(R) Xeon(R) Processor".to_owned()),
        cpus_online: 2,
        cpus_allowed: "0-1".to_owned(),
        cgroup_version: Some("v2".to_owned()),
        threads_per_core: Some(1),
        kernel: Some("6.18.44 #1 SMP".to_owned()),
        clocksource: Some("kvm-clock".to_owned()),
        clock: "tsc".to_owned(),
        clock_hz: 2.3e9,
        hypervisor: Some("KVM".to_owned()),
        runnable: (Some(1), Some(2)),
        steal_ns: (Some(1_000_000_000), Some(1_400_000_000)),
        commit: Some("0123456789ab".to_owned()),
        dirty: Some(true),
        rustc: "rustc 1.95.0".to_owned(),
        foregather: "0.1.0".to_owned(),
        ..Provenance::default()
    }
}

/// A thousand round trips with about this minimum, average and maximum.
fn round_trips(dice: &mut Dice, [min, mean, max]: [f64; 3]) -> Vec<(u64, u64)> {
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..998 {
        let value = min + (mean - min) * -dice.roll().max(1e-4).ln();
        let bucket = 10_f64.powf((value.log10() * 60.0).round() / 60.0); // as coarse as two digits
        *counts.entry(bucket.min(max) as u64).or_insert(0) += 1;
    }
    *counts.entry(min as u64).or_insert(0) += 1;
    *counts.entry(max as u64).or_insert(0) += 1;
    counts.into_iter().collect()
}

/// Minimum, average and maximum cycles.
type Cycles = [f64; 3];

/// Cycles between processes and threads on two processors, and processes on one.
const METHODS: [(&str, Cycles, Cycles, Cycles); 10] = [
    ("spin", [220., 508., 1_166.], [470., 851., 1_368.], [7e6, 9.2e6, 18.4e6]),
    ("spin-hot", [574., 690., 956.], [750., 965., 1_126.], [7e6, 9.4e6, 19e6]),
    ("yield", [604., 910., 10_156.], [678., 1_161., 1_540.], [3_818., 4_247., 30_000.]),
    ("two-phase", [296., 609., 912.], [428., 741., 1_144.], [28_786., 53_033., 210_000.]),
    ("futex", [48_720., 95_481., 337_790.], [60_626., 99_486., 305_440.], [5_692., 6_630., 41_000.]),
    ("posix-semaphore", [59_662., 96_092., 259_036.], [64_184., 99_247., 282_178.], [5_424., 6_118., 38_000.]),
    ("sysv-semaphore", [56_468., 96_965., 2_034_386.], [47_846., 95_428., 342_832.], [5_874., 6_420., 52_000.]),
    ("eventfd", [53_746., 96_182., 357_864.], [59_362., 101_758., 487_492.], [5_940., 6_401., 44_000.]),
    ("pipe", [53_548., 106_394., 649_150.], [61_396., 100_926., 338_096.], [6_374., 6_759., 39_000.]),
    ("condvar", [55_754., 102_666., 543_420.], [53_598., 107_160., 9_634_260.], [7_432., 12_325., 88_000.]),
];

/// Results as `measure waits` gives them.
pub(crate) fn waits() -> Results {
    let mut results = empty("measure waits");
    let mut dice = Dice::new(7);
    let mut add = |partners: &str, placement: &str, method: &str, gap: &str, cycles| {
        let id = format!("ping-pong/{partners}/{placement}/{method}/{gap}");
        let m = Measurement::from_histogram(id, "round trip", "cycles", round_trips(&mut dice, cycles));
        let m = m.label("partners", partners).label("placement", placement).label("method", method).label("gap", gap);
        results.measurements.push(m.figure("cpu_us_per_round_trip", cycles[1] / 2300.0).figure("ssr", 0.97));
    };
    for (method, processes, threads, stacked) in METHODS {
        add("process", "two-cpus", method, "0us", processes);
        add("thread", "two-cpus", method, "0us", threads);
        add("process", "one-cpu", method, "0us", stacked);
        let sleepy = |more: f64| processes.map(|v| v + if processes[1] > 10_000.0 { 20_000.0 * more } else { 90.0 * more });
        add(
            "process",
            "two-cpus",
            method,
            "200us",
            if method == "two-phase" { [40_000., 46_000., 220_000.] } else { sleepy(1.0) },
        );
        add(
            "process",
            "two-cpus",
            method,
            "10ms",
            if method == "two-phase" { [70_000., 96_000., 420_000.] } else { sleepy(3.0) },
        );
    }
    results
}

const LOADS: [&str; 8] = ["2t pinned", "2t", "3t", "4t", "8t", "2t + 1 hog", "2t + 2 hogs", "2t + 4 hogs"];
const US_PER_EPISODE: [f64; 8] = [1.25, 1.23, 3.83, 4.21, 8.49, 2.72, 2.73, 6.27];
/// Shares of the row's best peer at a grain of 1 us.
const SHARES: [(&str, &str, [f64; 8]); 17] = [
    ("ours", "central/adaptive", [0.97, 0.84, 1.02, 1.09, 1.03, 1.13, 1.12, 0.92]),
    ("ours", "central/spin", [0.85, 1.0, 0.001, 0.001, 0.0007, 0.54, 0.33, 0.001]),
    ("ours", "central/spin-yield:2us", [0.96, 0.63, 0.43, 0.39, 0.55, 0.47, 0.28, 0.009]),
    ("ours", "central/two-phase:CS:local", [0.14, 0.29, 0.33, 0.18, 0.21, 0.43, 0.32, 0.80]),
    ("ours", "central/two-phase:2CS+:remote", [1.0, 0.51, 0.054, 0.075, 0.040, 0.051, 0.63, 0.068]),
    ("ours", "central/block", [0.053, 0.19, 0.14, 0.32, 0.26, 0.69, 0.22, 0.89]),
    ("peer", "omp", [0.94, 0.51, 0.96, 0.93, 0.53, 1.0, 1.0, 0.56]),
    ("peer", "omp-active", [0.95, 0.50, 0.86, 0.82, 0.58, 0.55, 0.86, 1.0]),
    ("peer", "omp-passive", [0.028, 0.10, 0.089, 0.38, 0.12, 0.39, 0.25, 0.47]),
    ("peer", "hurdles", [1.0, 0.70, 1.0, 1.0, 1.0, 0.46, 0.43, 0.0016]),
    ("peer", "gomp", [0.93, 0.70, 0.15, 0.14, 0.21, 0.49, 0.79, 0.22]),
    ("peer", "gomp-active", [0.91, 1.0, 0.12, 0.20, 0.10, 0.51, 0.55, 0.22]),
    ("peer", "gomp-passive", [0.054, 0.32, 0.15, 0.16, 0.23, 0.70, 0.71, 0.46]),
    ("peer", "pthread", [0.055, 0.31, 0.36, 0.17, 0.24, 0.69, 0.050, 0.82]),
    ("peer", "rust-std", [0.054, 0.18, 0.39, 0.22, 0.14, 0.40, 0.22, 0.28]),
    ("peer", "std::barrier (C++)", [0.043, 0.38, 0.16, 0.30, 0.94, 0.84, 0.41, 0.005]),
    ("ours", "central/yield", [0.36, 0.42, 0.63, 0.71, 0.82, 0.19, 0.11, 0.0064]),
];

/// The class of the load of that number.
fn class(load: usize) -> &'static str {
    match load {
        0 => "2 pinned",
        1 => "2 free",
        2..=4 => "3-8 threads",
        _ => "hogs",
    }
}

/// Results as `measure barriers` gives them, with the first `grains` of four grains.
pub(crate) fn barriers(grains: usize) -> Results {
    let mut results = empty("measure barriers");
    let mut dice = Dice::new(11);
    for (grain, factor) in [(1, 1.0), (20, 0.3), (0, 1.4), (5, 0.6)].into_iter().take(grains) {
        for (row, load) in LOADS.iter().enumerate() {
            let class = class(row);
            for (kind, waiter, shares) in SHARES {
                // Coarse grains draw all shares towards 1.
                let share = f64::powf(shares[row], factor);
                let best = US_PER_EPISODE[row] + f64::from(grain) - 1.0;
                let values = (0..2).map(|_| best.max(0.2) / share * (0.95 + 0.1 * dice.roll())).collect();
                let row = format!("{load}, {grain} us");
                let id = format!("barriers/{row}/{waiter}");
                let m = Measurement::from_values(id, "time per episode", "us", values);
                let m = m.label("row", row).label("waiter", waiter).label("kind", kind).label("threads", &load[..2]);
                let m = m.label("class", class).figure("oracle_share", share);
                let sleeps = matches!(waiter, "central/block" | "pthread" | "rust-std");
                let cpu = best.max(0.2) / share * if sleeps { 0.6 } else { 1.97 };
                let m = m.figure("share", share).figure("cpu_us_per_episode", cpu).figure("exit_skew_ns", 180.0 / share);
                results.measurements.push(if kind == "ours" { m.figure("ssr", share.min(1.0)) } else { m });
            }
        }
    }
    results
}

/// Results as `measure barriers --ablation` gives them.
pub(crate) fn ablation() -> Results {
    let mut results = empty("measure barriers");
    for (row, us) in [("3t, 0 us", [1.21, 30.7, 1.19]), ("2t + 2 hogs, 20 us", [41.0, 64.0, 75.0])] {
        for (off, us_per_episode) in ["nothing", "yield", "scout"].into_iter().zip(us) {
            let m =
                Measurement::from_values(format!("barriers/{row}/{off}"), "episodes", "episodes/s", vec![1e6 / us_per_episode]);
            let m = m.label("row", row).label("waiter", format!("central/adaptive!{off}")).label("off", off);
            results.measurements.push(m.figure("us_per_episode", us_per_episode).figure("times_full", us_per_episode / us[0]));
        }
    }
    results
}

/// Results as `measure barriers --predict` gives them.
pub(crate) fn predictions() -> Results {
    let mut results = empty("measure barriers");
    let cells = [
        ("2t pinned, 1 us", "2 pinned", 1.4, 1.3),
        ("4t, 1 us", "3-8 threads", 6.0, 9.6),
        ("2t + 1 hog, 1 us", "hogs", 40.0, 31.0),
    ];
    for (row, class, measured, predicted) in cells {
        for (waiter, times) in [("central/adaptive", 1.0), ("central/block", 9.0)] {
            let id = format!("prediction/{row}/{waiter}");
            let m = Measurement::from_values(id, "simulated time per barrier", "us", vec![predicted * times]);
            let m = m.label("row", row).label("class", class).label("waiter", waiter).label("kind", "prediction");
            let factor = f64::max(measured / predicted, predicted / measured);
            let m = m.figure("measured_us", measured * times).figure("predicted_us", predicted * times);
            results.measurements.push(m.figure("factor", factor).figure("within", f64::from(u8::from(factor <= 1.5))));
        }
    }
    results
}

/// Results of a simulation of the butterfly barrier.
pub(crate) fn butterfly() -> Results {
    let mut results = empty("simulate butterfly");
    results.noise = Noise { facts: vec!["virtual time is not disturbed".to_owned()], ..Noise::default() };
    for power in 1..=10_u32 {
        let (nodes, ideal) = (1_u64 << power, 75.0 * f64::from(power));
        let skewed = ideal + 0.04 * ideal * f64::from(power % 3);
        for (series, value) in [("formula 75 us x log2 n", ideal), ("no skew", ideal), ("arrivals up to 100 us apart", skewed)] {
            let id = format!("simulated/butterfly/{}/{nodes}", series.replace(' ', "-"));
            let m = Measurement::from_values(id, "time per barrier", "us", vec![value]);
            results.measurements.push(m.label("nodes", nodes.to_string()).label("series", series));
        }
    }
    results
}

/// Results as `reproduce guignon2000` gives them.
pub(crate) fn reproduction() -> Results {
    let mut results = empty("reproduce guignon2000");
    let number = |n| Some(Value::Number(n));
    let verdict = |id: &str, claim: &str, expected, got, unit: &str, verdict, reason: &str| Verdict {
        paper: "guignon2000".to_owned(),
        id: id.to_owned(),
        claim: claim.to_owned(),
        expected,
        got,
        unit: unit.to_owned(),
        verdict,
        reason: reason.to_owned(),
    };
    results.verdicts = vec![
        verdict(
            "C1",
            "A shared variable on which the slave spins is the fastest of all methods.",
            Some(Value::Text("spin first".to_owned())),
            Some(Value::Text("spin first".to_owned())),
            "",
            ClaimOutcome::Holds,
            "spin has the least average, 508 cycles; two-phase follows with 609",
        ),
        verdict(
            "C2",
            "Semaphores of the system are slower than the variable by this factor.",
            number(25.0),
            number(190.2),
            "x",
            ClaimOutcome::Differs,
            "a wake-up crosses the hypervisor today: the interrupt is a VM exit, which the paper's machine did not have",
        ),
        verdict(
            "C3",
            "An active slave disturbs other multi-threaded libraries.",
            None,
            number(0.43),
            "of the victim's speed alone",
            ClaimOutcome::NotComparable,
            "the paper gives no number",
        ),
        verdict(
            "C4",
            "The constant of the cost model.",
            number(75.0),
            number(75.0),
            "us",
            ClaimOutcome::Fitted,
            "our model was fitted to it",
        ),
    ];
    results
}
