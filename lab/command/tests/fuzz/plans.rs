//! Plans of the simulator and the traces that they name, up to what is known before anything runs.
use crate::mutation::Dice;
use crate::{many, tried};
use foregather_simulate::shipped::SHIPPED;
use foregather_simulate::{Plan, ReadOptions};
use std::path::{Path, PathBuf};

/// What a plan may ask for besides: a sweep of at most 10,000 choices a thing, each with its label and its
/// value.
const CHOICES_BYTES: u64 = 10_000 * 512;
/// A plan that is dear to check is one of many points; each is read alone.
const POINTS_SEEN: usize = 3;

/// What the command does with a plan before it simulates.
fn looked_at(text: &str, ask: &ReadOptions) -> bool {
    let Ok(plan) = Plan::parse("fuzz.toml", text, ask) else { return false };
    drop((plan.title().to_owned(), plan.shows(), plan.notes()));
    for point in 0..plan.points().min(POINTS_SEEN) {
        let seeds = plan.seeds(point).expect("a plan that was read has seeds");
        drop(plan.study(point, seeds[0]).expect("a plan that was read has studies"));
        drop(plan.labels(point));
    }
    true
}

fn plans(count: u64) {
    let (mut most, mut read) = (0.0_f64, 0);
    for number in 0..count {
        let mut dice = Dice::new(2, number);
        let [(_, text), (_, other)] = [*dice.of(&SHIPPED), *dice.of(&SHIPPED)];
        let text = dice.changed(text, other);
        let ask = ReadOptions { full: number % 4 == 0, folder: PathBuf::from("/no/such"), ..ReadOptions::default() };
        most = most.max(tried(number, &text, CHOICES_BYTES, || read += u64::from(looked_at(&text, &ask))));
    }
    eprintln!("plans: {count} tried, {read} of them read; the most memory was {most:.2} of its bound");
    assert!(read > 0);
}

const PLAN: &str = "schema = \"foregather.plan/1\"\n[machine]\ncpus = 2\n[[job]]\nthreads = 2\nbarriers = 2\npolicy = \"block\"\ncompute = { trace = \"times.txt\" }\n";
const TIMES: &str = "1 us # the first\n\n2500\n0.5 ms\n3s\n12 ns\n  7 us  \n# no more\n";

fn traces(count: u64, folder: &Path) {
    let (mut most, mut read) = (0.0_f64, 0);
    let ask = ReadOptions { folder: folder.to_owned(), ..ReadOptions::default() };
    std::fs::create_dir_all(folder).unwrap();
    for number in 0..count {
        let mut dice = Dice::new(3, number);
        let repeated = TIMES.repeat(1 + dice.below(20));
        let text = dice.changed(&repeated, "1e300 s\n-1 us\n99999999999999999999\n1,5 us\n\u{3bc}s\n");
        std::fs::write(folder.join("times.txt"), &text).unwrap();
        most = most.max(tried(number, &text, 0, || read += u64::from(looked_at(PLAN, &ask))));
    }
    std::fs::remove_dir_all(folder).unwrap();
    eprintln!("traces: {count} tried, {read} of them read; the most memory was {most:.2} of its bound");
    assert!(read > 0);
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()))
}

#[test]
fn a_sample_of_plans_is_read_or_refused_within_bounds() {
    plans(1_000);
}

#[test]
fn a_sample_of_traces_is_read_or_refused_within_bounds() {
    traces(2_000, &scratch("traces"));
}

#[test]
#[ignore = "takes an hour; FOREGATHER_FUZZ says how many"]
fn many_plans_are_read_or_refused_within_bounds() {
    plans(many());
}

#[test]
#[ignore = "takes minutes; FOREGATHER_FUZZ says how many"]
fn many_traces_are_read_or_refused_within_bounds() {
    traces(many(), &scratch("many-traces"));
}
