//! `exec --compare`: a program with and without the libraries, in turn.
use anyhow::Result;
use foregather_host::child::Child;
use foregather_host::{clock, interrupt, usage};
use foregather_machine::{Nanos, SplitMix};
use foregather_results::failure::Failure;
use foregather_results::number::{digits, quantity};
use foregather_results::progress::Progress;
use foregather_results::table::ResultTable;
use foregather_results::{Measurement, Results, Speedup};
use std::process::{Command, ExitStatus, Stdio};

/// What is compared.
pub(super) struct ProgramPair {
    /// What the program is called.
    pub(super) name: String,
    /// Runs of each kind, besides one to warm up.
    pub(super) pairs: u32,
    /// Must it print the same each time?
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

/// One run of the program.
struct ProgramRun {
    wall: Nanos,
    /// Processor time of all its threads, and of its children that have ended.
    cpu: Nanos,
    /// How it ended; `None` if it took too long.
    end: Option<ExitStatus>,
    output: Vec<u8>,
}

/// Runs the program once each to warm up and then in pairs, in random order within a pair. `command` makes
/// it, with the libraries or without. After an interrupt the pairs that were complete are kept.
///
/// # Errors
/// If it cannot be started.
pub(super) fn run(asked: &ProgramPair, command: &dyn Fn(bool) -> Command) -> Result<Compared> {
    let mut progress = Progress::new("exec", 2 * (asked.pairs as usize + 1), asked.quiet);
    let mut once = |with: bool| {
        progress.step(if with { "with Foregather" } else { "without" });
        once(command(with), asked.limit)
    };
    let (mut without, mut with) = (Vec::new(), Vec::new());
    let mut random = SplitMix(clock::now().0);
    // The first pair warms up.
    for _ in 0..=asked.pairs {
        let first = random.below(2) == 1;
        match once(first).and_then(|one| Ok((one, once(!first)?))) {
            Ok((one, other)) => {
                let (ours, plain) = if first { (one, other) } else { (other, one) };
                with.push(ours);
                without.push(plain);
            }
            Err(_) if interrupt::requested() => break,
            Err(error) => return Err(error),
        }
    }
    drop(progress);
    if without.len() < 2 {
        let verdict = "no pair of runs was complete".to_owned();
        return Ok(Compared { measurements: vec![], verdict, failure: None });
    }
    let (verdict, failure) = judge(&without, &with, asked.same_output);
    Ok(Compared { measurements: measurements(&asked.name, &without[1..], &with[1..]), verdict, failure })
}

fn once(mut command: Command, limit: Nanos) -> Result<ProgramRun> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let (began, cpu) = (clock::now(), usage::children_cpu());
    let said = Child::spawn_group(command)?.output_within(limit);
    let (wall, cpu) = (clock::now() - began, usage::children_cpu() - cpu);
    match said {
        Ok(said) => Ok(ProgramRun { wall, cpu, end: Some(said.status), output: said.stdout }),
        Err(_) if wall >= limit && !interrupt::requested() => Ok(ProgramRun { wall, cpu, end: None, output: Vec::new() }),
        Err(error) => Err(error.into()),
    }
}

/// How far the runs did the same.
fn judge(without: &[ProgramRun], with: &[ProgramRun], same_output: bool) -> (String, Option<Failure>) {
    let plain = &without[0];
    let described = |end: Option<ExitStatus>| end.map_or("no end within its limit".to_owned(), |end| end.to_string());
    let hangs = without.iter().filter(|run| run.end.is_none()).count();
    if let Some(run) = with.iter().find(|run| run.end.is_none() || hangs == 0 && run.end != plain.end) {
        let (ours, theirs) = (described(run.end), described(plain.end));
        return (
            format!("with the libraries: {ours}; without: {theirs}"),
            Some(Failure::Check(format!("with the libraries the program comes to {ours}, and else to {theirs}"))),
        );
    }
    if hangs > 0 {
        return (format!("{hangs} of {} runs without the libraries did not end within their limit", without.len()), None);
    }
    let (repeats, same) =
        (without.iter().all(|run| run.output == plain.output), with.iter().all(|run| run.output == plain.output));
    let verdict = match (same, repeats) {
        (true, true) => "what it prints is the same each time",
        (_, false) => "what it prints differs from run to run, also without the libraries",
        (false, true) => "what it prints differs with the libraries",
    };
    let failure = match plain.end.and_then(|end| end.code()) {
        _ if same_output && !same && repeats => Some(Failure::Check(format!("{verdict}; --same-output off allows that"))),
        Some(0) => None,
        code => Some(Failure::Job(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))),
    };
    let ends = if plain.end.is_some_and(|end| end.success()) {
        String::new()
    } else {
        format!(", and it fails: {}", described(plain.end))
    };
    (format!("{verdict}{ends}"), failure)
}

/// Reads a time of a run.
type OfRun = fn(&ProgramRun) -> Nanos;

/// The times of both kinds; the second kind has how often as fast it is, with the ends of its interval.
fn measurements(name: &str, without: &[ProgramRun], with: &[ProgramRun]) -> Vec<Measurement> {
    let kinds: [(&str, &str, OfRun); 2] = [("time", "wall time", |run| run.wall), ("cpu", "processor time", |run| run.cpu)];
    let ms = |runs: &[ProgramRun], of: OfRun| runs.iter().map(|run| of(run).0 as f64 / 1e6).collect::<Vec<_>>();
    let both = |(kind, what, of): (&str, &str, OfRun)| {
        let pairs = ms(without, of).into_iter().zip(ms(with, of).into_iter().map(|ms| ms.max(1e-6)));
        let Speedup { ratio, least, most, .. } = Speedup::of_pairs(pairs).expect("there is a pair");
        let one = |libraries: &str, runs: &[ProgramRun]| {
            let cut = runs.iter().filter(|run| run.end.is_none()).count();
            Measurement::from_values(
                format!("program/{kind}/{libraries}/{name}"),
                format!("{what} of a program"),
                "ms",
                ms(runs, of),
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
    use foregather_results::{Level, Run};

    #[test]
    fn a_program_twice_as_fast_is_said_to_be() {
        let run = |ms: u64| ProgramRun { wall: Nanos::from_ms(ms), cpu: Nanos::from_ms(ms), end: None, output: Vec::new() };
        let of = |without: &[u64], with: &[u64], verdict| {
            let [without, with] = [without, with].map(|all| all.iter().map(|ms| run(*ms)).collect::<Vec<_>>());
            let mut results = Run::begin("exec", None).end(false, measurements("p", &without, &with), vec![], vec![]);
            results.noise.verdict = verdict;
            results
        };
        let twice = of(&[20, 40, 22], &[10, 20, 11], Level::Quiet);
        let shown = text(&twice);
        let row: Vec<&str> = shown.lines().nth(3).unwrap().split_whitespace().collect();
        assert_eq!(row, ["time", "22", "ms", "11", "ms", "2", "2", "2"], "{shown}");
        let all = &twice.measurements;
        assert_eq!((all.len(), all[1].id.as_str(), all[1].number("cut_off")), (4, "program/time/with/p", 3.0));
        let said = |without: &[u64], with: &[u64], verdict| sentence(&of(without, with, verdict)).unwrap();
        let faster = said(&[20, 40, 30], &[10, 19, 16], Level::Noisy);
        assert_eq!(faster, "1.99 times as fast with Foregather (1.7 to 2.3, 3 pairs): faster");
        let slower = said(&[10, 19, 16], &[20, 40, 30], Level::Quiet);
        assert_eq!(slower, "0.502 times as fast with Foregather (0.43 to 0.58, 3 pairs): slower");
        let same = said(&[10, 20], &[20, 10], Level::Quiet);
        assert!(same.starts_with("1 times as fast") && same.ends_with("2 pairs): no difference seen"), "{same}");
        let one = said(&[20], &[10], Level::Quiet);
        assert_eq!(one, "2 times as fast with Foregather (1 pair): one pair is too few: not known");
        assert!(said(&[20, 40], &[10, 20], Level::Unusable).ends_with("2 pairs): the machine was unusable: not known"));
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
        assert!(failure("test $1 = without", true).contains("comes to"));
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
