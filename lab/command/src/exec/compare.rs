//! `exec --compare`: a program with and without the libraries, in turn.
use anyhow::Result;
use foregather_cli::failure::Failure;
use foregather_host::child::Child;
use foregather_host::{clock, interrupt, usage};
use foregather_machine::{Nanos, SplitMix};
use foregather_results::number::{digits, quantity};
use foregather_results::table::ResultTable;
use foregather_results::{Measurement, interval_of_mean};
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
/// it, with the libraries or without.
///
/// # Errors
/// If it cannot be started, or this command is interrupted.
pub(super) fn run(asked: &ProgramPair, command: &dyn Fn(bool) -> Command) -> Result<Compared> {
    let once = |with| once(command(with), asked.limit);
    let (mut without, mut with) = (vec![once(false)?], vec![once(true)?]);
    let mut random = SplitMix(clock::now().0);
    for _ in 0..asked.pairs {
        let first = random.below(2) == 1;
        for is_with in [first, !first] {
            let run = once(is_with)?;
            if is_with { &mut with } else { &mut without }.push(run);
        }
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
        let logs: Vec<f64> =
            ms(without, of).iter().zip(ms(with, of)).map(|(without, with)| (without / with.max(1e-6)).ln()).collect();
        let [ratio, least, most] = interval_of_mean(&logs).map(f64::exp);
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

/// For a terminal: medians of both, and how often as fast the program is with the libraries.
pub(super) fn text(all: &[Measurement]) -> String {
    let mut table = ResultTable::new(["", "without", "with", "without/with", "least", "most"]);
    for pair in all.chunks_exact(2) {
        let [without, with] = [&pair[0], &pair[1]];
        let ratios = ["ratio", "ratio_least", "ratio_most"].map(|name| digits(with.number(name), 3));
        let medians = [without, with].map(|m| quantity(m.median(), "ms"));
        table.rows.push([vec![without.text("kind").to_owned()], medians.to_vec(), ratios.to_vec()].concat());
    }
    table.to_text()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_twice_as_fast_is_said_to_be() {
        let run = |ms: u64| ProgramRun { wall: Nanos::from_ms(ms), cpu: Nanos::from_ms(ms), end: None, output: Vec::new() };
        let all = measurements("p", &[20, 40, 22].map(run), &[10, 20, 11].map(run));
        let text = text(&all);
        let row: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
        assert_eq!(row, ["time", "22", "ms", "11", "ms", "2", "2", "2"], "{text}");
        assert_eq!((all.len(), all[1].id.as_str(), all[1].number("cut_off")), (4, "program/time/with/p", 3.0));
    }

    /// What becomes of a shell's script whose first argument says whether the libraries are there.
    fn compared(script: &str, same_output: bool, limit_ms: u64) -> Compared {
        let command = |with: bool| {
            let mut command = Command::new("sh");
            command.args(["-c", script, "sh", if with { "with" } else { "without" }]);
            command
        };
        run(&ProgramPair { name: "p".to_owned(), pairs: 2, same_output, limit: Nanos::from_ms(limit_ms) }, &command).unwrap()
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
