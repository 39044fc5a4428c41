//! `exec --compare`: a program with and without the libraries, in random order.
use crate::repeated::{ProgramRun, Repetition, Sameness, described, sameness, times_ms};
use anyhow::Result;
use foregather_machine::Nanos;
use foregather_results::failure::Failure;
use foregather_results::number::{digits, quantity};
use foregather_results::progress::ProgressMeter;
use foregather_results::table::ResultTable;
use foregather_results::{Measurement, Results, Speedup};
use std::process::Command;

/// What is compared.
pub(super) struct ProgramPair {
    /// What the program is called.
    pub(super) name: String,
    /// Runs of each kind, besides one to warm up.
    pub(super) pairs: u32,
    /// Whether all runs must print the same output.
    pub(super) same_output: bool,
    /// A run that takes longer has failed.
    pub(super) limit: Nanos,
    /// Whether no progress is shown.
    pub(super) quiet: bool,
}

/// What was found.
pub(super) struct Compared {
    pub(super) measurements: Vec<Measurement>,
    /// How far what the program prints is the same.
    pub(super) verdict: String,
    /// The libraries change what the program does, or it fails either way.
    pub(super) failure: Option<Failure>,
}

/// Runs the program once each to warm up and then in pairs. `command` makes it, with the libraries or
/// without. After an interrupt the pairs that were complete are kept.
///
/// # Errors
/// If it cannot be started.
pub(super) fn run(asked: &ProgramPair, command: &dyn Fn(bool) -> Command) -> Result<Compared> {
    let mut progress = ProgressMeter::new("exec", 2 * (asked.pairs as usize + 1), asked.quiet);
    let repetition = Repetition { rounds: asked.pairs, limit: asked.limit, results: &[], copied: None };
    let step = |variant| progress.step(if variant == 1 { "with Foregather" } else { "without" });
    let runs = repetition.run(2, &|variant| command(variant == 1), step)?;
    drop(progress);
    let (without, with) = (&runs[0], &runs[1]);
    if without.len() < 2 {
        let verdict = "no pair of runs was complete".to_owned();
        return Ok(Compared { measurements: vec![], verdict, failure: None });
    }
    let (verdict, failure) = judge(without, with, asked.same_output);
    Ok(Compared { measurements: measurements(&asked.name, &without[1..], &with[1..]), verdict, failure })
}

/// How far the runs did the same, and what that means for the exit code.
fn judge(without: &[ProgramRun], with: &[ProgramRun], same_output: bool) -> (String, Option<Failure>) {
    let (verdict, same) = sameness(without, with, "the libraries");
    let plain = without[0].end;
    if matches!(same, Sameness::End) {
        let failure = Failure::Check(verdict.clone());
        return (verdict, Some(failure));
    }
    if without.iter().any(|run| run.end.is_none()) {
        return (verdict, None);
    }
    let failure = match plain.and_then(|end| end.code()) {
        _ if same_output && matches!(same, Sameness::Output) => {
            Some(Failure::Check(format!("{verdict}; --same-output off allows that")))
        }
        Some(0) => None,
        code => Some(Failure::Job(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))),
    };
    let fails = plain.is_some_and(|end| !end.success());
    let ends = if fails { format!(", and it fails: {}", described(plain)) } else { String::new() };
    (format!("{verdict}{ends}"), failure)
}

/// Reads a time of a run.
type OfRun = fn(&ProgramRun) -> Nanos;

/// The times of both kinds; the second kind has how often as fast it is, with the ends of its interval.
fn measurements(name: &str, without: &[ProgramRun], with: &[ProgramRun]) -> Vec<Measurement> {
    let kinds: [(&str, &str, OfRun); 2] = [("time", "wall time", |run| run.wall), ("cpu", "processor time", |run| run.cpu)];
    let both = |(kind, what, of): (&str, &str, OfRun)| {
        let pairs = times_ms(without, of).into_iter().zip(times_ms(with, of));
        let Speedup { ratio, least, most, .. } = Speedup::of_pairs(pairs).expect("there is a pair");
        let one = |libraries: &str, runs: &[ProgramRun]| {
            let cut = runs.iter().filter(|run| run.end.is_none()).count();
            Measurement::from_values(
                format!("program/{kind}/{libraries}/{name}"),
                format!("{what} of a program"),
                "ms",
                times_ms(runs, of),
            )
            .label("program", name)
            .label("libraries", libraries)
            .label("kind", kind)
            .figure("cut_off", cut as f64)
        };
        let with = one("with", with).figure("ratio", ratio).figure("ratio_least", least).figure("ratio_most", most);
        [one("without", without), with]
    };
    kinds.into_iter().flat_map(both).collect()
}

/// For a terminal: the sentence, and what it comes from.
pub(super) fn text(of: &Results) -> String {
    let Some(sentence) = sentence(of) else { return "Nothing was compared: no pair of runs was complete.".to_owned() };
    let mut table = ResultTable::new(["median", "without", "with", "without/with", "95 % from", "to"]);
    for pair in of.measurements.chunks_exact(2) {
        let [without, with] = [&pair[0], &pair[1]];
        let ratios = ["ratio", "ratio_least", "ratio_most"].map(|name| digits(with.number(name), 3));
        let medians = [without, with].map(|m| quantity(m.median(), "ms"));
        table.rows.push([vec![without.text("kind").to_owned()], medians.to_vec(), ratios.to_vec()].concat());
    }
    format!("{sentence}\n\n{}", table.to_text())
}

/// How many times as fast the program is with the libraries, and what follows. `None` without a pair.
fn sentence(of: &Results) -> Option<String> {
    let with = of.measurements.get(1)?;
    let [ratio, least, most] = ["ratio", "ratio_least", "ratio_most"].map(|name| with.number(name));
    let speedup = Speedup { ratio, least, most, pairs: with.summary.n };
    let range = match speedup.pairs {
        1 => "1 pair".to_owned(),
        pairs => format!("{} to {}, {pairs} pairs", digits(least, 2), digits(most, 2)),
    };
    let conclusion = speedup.conclusion(of.noise.verdict);
    Some(format!("{} times as fast with Foregather ({range}): {conclusion}", digits(ratio, 3)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_results::{Run, TrustLevel};

    #[test]
    fn a_program_twice_as_fast_is_said_to_be() {
        let run = |ms: u64| ProgramRun { wall: Nanos::from_ms(ms), cpu: Nanos::from_ms(ms), end: None, output: Vec::new() };
        let of = |without: &[u64], with: &[u64], verdict| {
            let [without, with] = [without, with].map(|all| all.iter().map(|ms| run(*ms)).collect::<Vec<_>>());
            let mut results = Run::begin("exec", None).end(false, measurements("p", &without, &with), vec![], vec![]);
            results.noise.verdict = verdict;
            results
        };
        let twice = of(&[20, 40, 22], &[10, 20, 11], TrustLevel::Quiet);
        let shown = text(&twice);
        let row: Vec<&str> = shown.lines().nth(3).unwrap().split_whitespace().collect();
        assert_eq!(row, ["time", "22", "ms", "11", "ms", "2", "2", "2"], "{shown}");
        let all = &twice.measurements;
        assert_eq!((all.len(), all[1].id.as_str(), all[1].number("cut_off")), (4, "program/time/with/p", 3.0));
        let said = |without: &[u64], with: &[u64], verdict| sentence(&of(without, with, verdict)).unwrap();
        let faster = said(&[20, 40, 30], &[10, 19, 16], TrustLevel::Noisy);
        assert_eq!(faster, "1.99 times as fast with Foregather (1.7 to 2.3, 3 pairs): faster");
        let slower = said(&[10, 19, 16], &[20, 40, 30], TrustLevel::Quiet);
        assert_eq!(slower, "0.502 times as fast with Foregather (0.43 to 0.58, 3 pairs): slower");
        let same = said(&[10, 20], &[20, 10], TrustLevel::Quiet);
        assert!(same.starts_with("1 times as fast") && same.ends_with("2 pairs): no difference seen"), "{same}");
        let one = said(&[20], &[10], TrustLevel::Quiet);
        assert_eq!(one, "2 times as fast with Foregather (1 pair): one pair is too few: not known");
        assert!(said(&[20, 40], &[10, 20], TrustLevel::Unusable).ends_with("2 pairs): the machine was unusable: not known"));
    }

    /// What becomes of a shell's script whose first argument says whether the libraries are there.
    fn compared(script: &str, same_output: bool, limit_ms: u64) -> Compared {
        let command = |with: bool| {
            let mut command = Command::new("sh");
            command.args(["-c", script, "sh", if with { "with" } else { "without" }]);
            command
        };
        run(&ProgramPair { name: "p".to_owned(), pairs: 2, same_output, limit: Nanos::from_ms(limit_ms), quiet: true }, &command)
            .unwrap()
    }

    #[test]
    fn what_the_libraries_change_is_a_failure() {
        let failure =
            |script, same| compared(script, same, 60_000).failure.map(|failure| failure.to_string()).unwrap_or_default();
        assert_eq!(failure("echo same", true), "");
        assert!(failure("echo $1", true).contains("differs with the libraries"));
        assert_eq!(failure("echo $1", false), "");
        assert_eq!(failure("echo $$", true), "", "it differs from run to run anyway");
        assert!(failure("test $1 = without", true).starts_with("with the libraries: exit status: 1; without: exit status: 0"));
        assert!(matches!(compared("exit 7", true, 60_000).failure, Some(Failure::Job(7))));
    }

    #[test]
    fn a_program_that_hangs_is_ended() {
        let hangs = compared("test $1 = with || sleep 1000", true, 300);
        assert!(hangs.failure.is_none() && hangs.verdict.starts_with("3 of 3 runs without"), "{}", hangs.verdict);
        let worse = compared("test $1 = without || sleep 1000", true, 300);
        assert!(worse.failure.is_some_and(|failure| failure.to_string().contains("no end within its limit")));
    }
}
