//! `advise --check`: the program as it is and with the first two fixes, in random order.
use super::predicted::{self, PredictedVariant};
use super::{JudgedObservation, print, text};
use crate::cli::{Advise, Cli, Format};
use crate::repeated::{ProgramRun, Repetition, Sameness, sameness, times_ms};
use anyhow::{Result, bail};
use foregather_host::interrupt;
use foregather_machine::{Nanos, shown};
use foregather_results::number::digits;
use foregather_results::progress::ProgressMeter;
use foregather_results::{Distribution, Run, Speedup, TrustLevel};
use foregather_watch::Rounding;
use serde::Serialize;
use std::io::{BufRead, IsTerminal, stdin};
use std::process::Command;

/// Cures that are tried.
const CURES: usize = 2;
/// A run that takes this many times as long as the one that was watched has failed.
const TOO_LONG: u64 = 20;
const SHORTEST_LIMIT: Nanos = Nanos::from_ms(10_000);

/// A cure, and what became of the program with it.
#[derive(Debug, Serialize)]
pub(super) struct CheckedCure {
    /// The command that was run, and what it may do to results.
    command: String,
    rounding: Rounding,
    pairs: u64,
    /// How many times as fast the program is, and the ends of the interval of 95 %.
    ratio: f64,
    least: f64,
    most: f64,
    /// Its processor time, as a share of that without the cure.
    cpu_share: f64,
    conclusion: String,
    /// How far it does the same.
    sameness: String,
    does_the_same: bool,
    /// The median time with it, and what was predicted.
    measured_s: f64,
    predicted: Option<PredictedVariant>,
    /// Whether the measured time is within the range of the prediction.
    has_held: Option<bool>,
}

/// Refuses what cannot be asked: without a terminal only a program that is said to be repeatable is repeated.
///
/// # Errors
/// With the options that allow it.
pub(super) fn allowed(options: &Advise) -> Result<()> {
    let check = &options.check;
    if check.check && !check.repeatable && !stdin().is_terminal() {
        bail!(
            "--check runs the program up to {} more times: give --repeatable if nothing is lost or spoilt by that, or start it at \
             a terminal, which is asked",
            repetitions(check.runs, CURES)
        );
    }
    if check.check && options.program.iter().any(|word| word.to_str().is_none()) {
        bail!("--check cannot repeat a command that is not UTF-8");
    }
    Ok(())
}

fn repetitions(runs: u32, cures: usize) -> u32 {
    (runs + 1) * (cures as u32 + 1)
}

/// Tries the cures of an advice and prints what became of the program.
///
/// # Errors
/// If it cannot be started again.
pub(super) fn run(cli: &Cli, options: &Advise, advice: &JudgedObservation) -> Result<Vec<CheckedCure>> {
    let line = |text: &str| {
        if cli.format != Format::Json {
            print(text);
        }
    };
    let mut cures = cures(advice);
    // There is room for this project's runtime.
    let exec = own_runtime(advice).filter(|_| !advice.causes.is_empty() && cures.len() < CURES);
    let exec = exec.map(|command| (command, Rounding::MayChange)).filter(|exec| !cures.contains(exec));
    cures.extend(exec);
    let Some(plain) = advice.seen.command.clone().filter(|_| !cures.is_empty()) else {
        line("CHECK  there is no cure by a setting to try\n");
        return Ok(Vec::new());
    };
    if interrupt::requested() || !agreed(options, &cures, advice.seen.elapsed()) {
        line("CHECK  nothing was tried\n");
        return Ok(Vec::new());
    }
    let variants: Vec<&str> = [plain.as_str()].into_iter().chain(cures.iter().map(|(command, _)| command.as_str())).collect();
    let limit = Nanos(advice.seen.elapsed().0 * TOO_LONG).max(SHORTEST_LIMIT);
    let here = std::env::current_dir()?;
    let copied = options.check.in_copy.then_some(here.as_path());
    let repetition = Repetition { rounds: options.check.runs, limit, results: &options.check.result, copied };
    let mut progress = ProgressMeter::new("check", repetitions(options.check.runs, cures.len()) as usize, cli.quiet);
    let meter = Run::begin("advise", None);
    let step = |variant| progress.step(if variant == 0 { "as it is" } else { "with a cure" });
    let runs = repetition.run(variants.len(), &|variant| shell(variants[variant]), step)?;
    drop(progress);
    let noise = meter.end(interrupt::requested(), vec![], vec![], vec![]).noise.verdict;
    let checked: Vec<CheckedCure> = cures
        .into_iter()
        .zip(&runs[1..])
        .filter_map(|(cure, with)| judge(cure, &runs[0], with, noise))
        .map(|cure| cure.compared(advice))
        .collect();
    line(&lines(&checked, plain.as_str()));
    Ok(checked)
}

/// A command that starts the program otherwise.
type CureCommand = (String, Rounding);

/// The commands of the first cures, each once: those that are predicted to be best come first.
pub(super) fn cures(advice: &JudgedObservation) -> Vec<CureCommand> {
    let mut found: Vec<CureCommand> = Vec::new();
    let program = advice.seen.command.as_deref().unwrap_or_default();
    // Some commands are about other programs.
    let predicted =
        advice.predictions.advice().into_iter().filter_map(|variant| Some((variant.command.clone()?, variant.rounding)));
    let commands = predicted.chain(advice.by_rule().filter_map(|remedy| Some((remedy.command.clone()?, remedy.rounding))));
    for cure in commands.filter(|(command, _)| command.ends_with(program)) {
        if found.iter().all(|(known, _)| *known != cure.0) && found.len() < CURES {
            found.push(cure);
        }
    }
    found
}

/// The program on this project's OpenMP runtime, if that is installed and the program has the one that it
/// replaces.
fn own_runtime(advice: &JudgedObservation) -> Option<String> {
    let exec = predicted::own_runtime().filter(|_| advice.seen.uses("libgomp"))?;
    advice.seen.command.as_ref().map(|program| format!("{exec} {program}"))
}

/// Says what would run and for how long, and returns whether that is allowed.
fn agreed(options: &Advise, cures: &[CureCommand], once: Nanos) -> bool {
    if options.check.repeatable {
        return true;
    }
    let runs = repetitions(options.check.runs, cures.len());
    let about = once.as_secs() * f64::from(runs);
    print(&format!(
        "foregather: --check runs the program {runs} more times, at most about {about:.0} s in all, as it is and with:\n{}         Whatever it does happens each time. Go on? Type yes: ",
        cures.iter().map(|(cure, rounding)| format!("  {} ({})\n", shown(cure), rounding.label())).collect::<String>()
    ));
    let mut answer = String::new();
    stdin().lock().read_line(&mut answer).is_ok() && answer.trim() == "yes"
}

/// A shell that becomes the program, as a user would type the command.
fn shell(line: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("exec env {line}")]);
    command
}

/// What became of the program with a cure; the first run of each kind warmed up.
fn judge(
    (command, rounding): CureCommand,
    without: &[ProgramRun],
    with: &[ProgramRun],
    noise: TrustLevel,
) -> Option<CheckedCure> {
    let (plain, cured) = (without.get(1..)?, with.get(1..)?);
    let speedup = |of: fn(&ProgramRun) -> Nanos| Speedup::of_pairs(times_ms(plain, of).into_iter().zip(times_ms(cured, of)));
    let (time, cpu) = (speedup(|run| run.wall)?, speedup(|run| run.cpu)?);
    let (sameness, same) = sameness(without, with, "the cure");
    let does_the_same = matches!(same, Sameness::Same);
    let Speedup { ratio, least, most, pairs } = time;
    let conclusion = time.conclusion(noise).to_string();
    let (cpu_share, measured_s) = (1.0 / cpu.ratio, Distribution::quantile_of(times_ms(cured, |run| run.wall), 0.5) / 1e3);
    let (predicted, has_held) = (None, None);
    Some(CheckedCure {
        command,
        rounding,
        pairs,
        ratio,
        least,
        most,
        cpu_share,
        conclusion,
        sameness,
        does_the_same,
        measured_s,
        predicted,
        has_held,
    })
}

impl CheckedCure {
    /// Compares it with its prediction, and keeps how far they differ.
    fn compared(self, advice: &JudgedObservation) -> Self {
        let Some(variant) = advice.predictions.of(&self.command) else { return self };
        predicted::keep(variant, self.measured_s);
        let has_held = (variant.least_s..=variant.most_s).contains(&self.measured_s);
        Self { predicted: Some(variant.clone()), has_held: Some(has_held), ..self }
    }

    /// Whether the prediction held, in a line.
    fn verdict(&self) -> Option<String> {
        let verdict = if self.has_held? { "the prediction held" } else { "the prediction was wrong" };
        let predicted = text::range(self.predicted.as_ref()?);
        Some(format!("       predicted {predicted}, measured {} s: {verdict}\n", digits(self.measured_s, 2)))
    }
}

fn lines(checked: &[CheckedCure], plain: &str) -> String {
    if checked.is_empty() {
        return "CHECK  no round of runs was complete\n".to_owned();
    }
    let mut text = String::new();
    for (at, cure) in checked.iter().enumerate() {
        let head = if at == 0 { "CHECK  " } else { "       " };
        let name = cure.command.strip_suffix(plain).map_or(cure.command.as_str(), str::trim_end);
        text += &format!("{head}{} ({})\n", shown(name), cure.rounding.label());
        text += &format!(
            "       {} times as fast ({} to {}, {} pairs): {}; {} times the processor time\n       {}\n",
            digits(cure.ratio, 3),
            digits(cure.least, 2),
            digits(cure.most, 2),
            cure.pairs,
            cure.conclusion,
            digits(cure.cpu_share, 2),
            cure.sameness
        );
        text += &cure.verdict().unwrap_or_default();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(ms: &[u64], output: &[u8]) -> Vec<ProgramRun> {
        let run = |ms: &u64| {
            let end = Some(std::process::ExitStatus::default());
            ProgramRun { wall: Nanos::from_ms(*ms), cpu: Nanos::from_ms(2 * *ms), end, output: output.to_vec() }
        };
        ms.iter().map(run).collect()
    }

    #[test]
    fn the_first_runs_are_left_out_and_another_output_is_said() {
        let (plain, cured) = (runs(&[900, 20, 22, 21], b"1"), runs(&[1, 10, 11, 10], b"1"));
        let cure = judge(("OMP_NUM_THREADS=1 ./sum".to_owned(), Rounding::MayChange), &plain, &cured, TrustLevel::Quiet).unwrap();
        assert_eq!((cure.pairs, cure.conclusion.as_str(), cure.does_the_same), (3, "faster", true));
        assert!((cure.cpu_share - 0.49).abs() < 0.02, "{}", cure.cpu_share);
        let shown = lines(&[cure], "./sum");
        assert!(shown.starts_with("CHECK  OMP_NUM_THREADS=1 (may change rounding)\n       2.03 times as fast ("), "{shown}");
        let other =
            judge(("X".to_owned(), Rounding::SameBits), &plain, &runs(&[1, 10, 11, 10], b"2"), TrustLevel::Quiet).unwrap();
        assert_eq!((other.does_the_same, other.sameness.as_str()), (false, "what it prints differs with the cure"));
        assert!(judge(("X".to_owned(), Rounding::SameBits), &plain[..1], &cured, TrustLevel::Quiet).is_none(), "no pair");
    }
}
