//! The screen: at most 24 lines of 80 columns.
use super::document::RuntimeAccount;
use super::predicted::PredictedVariant;
use super::{JudgedObservation, paste};
use foregather_machine::{Nanos, shown};
use foregather_results::number::digits;
use foregather_results::table::{ResultTable, wrapped_within};
use foregather_watch::causes::NamedCause;
use foregather_watch::{PythonLines, SampleTally};

const COLUMNS: usize = 80;
const LINES: usize = 24;
/// The width of a bar of 100 %.
const BAR: f64 = 26.0;
/// A share below this is not shown.
const LEAST: f64 = 0.005;
const INDENT: usize = 7;

pub(super) fn screen(advice: &JudgedObservation) -> String {
    let mut lines = vec![headline(advice)];
    lines.extend(bars(advice));
    lines.extend(of_runtime(advice));
    match advice.causes.split_first() {
        None => {
            lines.extend(wrapped("CAUSE", &nothing(advice)));
            lines.extend(python(advice));
            lines.extend(code(advice));
        }
        Some((first, others)) => {
            lines.extend(wrapped("CAUSE", &format!("{} [{}]", first.verdict, first.certainty.label())));
            lines.extend(wrapped("", &first.evidence));
            lines.extend(python(advice));
            lines.extend(code(advice));
            lines.extend(cure(advice, first));
            lines.extend(others.iter().take(3).flat_map(|cause| wrapped("ALSO", &other(advice, cause))));
        }
    }
    if advice.not_seen.is_empty() {
        lines.push("not seen: which thread wakes which".to_owned());
    } else {
        lines.extend(text_lines(&format!("not seen: {}", advice.not_seen.join("; "))));
    }
    lines.truncate(LINES);
    lines.join("\n") + "\n"
}

fn headline(advice: &JudgedObservation) -> String {
    let seen = &advice.seen;
    let name = seen.programs.first().map_or("the program", |program| program.name.as_str());
    let processors = seen.allowed().len();
    let quota = seen.quota.map_or(String::new(), |quota| format!(" (quota {quota:.1})"));
    let plural = if processors == 1 { "processor" } else { "processors" };
    let line = format!(
        "{}: {:.1} s, {} threads on {processors} {plural}{quota}, mean parallelism {:.1}",
        shown(name),
        seconds(seen.elapsed()),
        seen.ledger.threads.len(),
        seen.parallelism()
    );
    line.chars().take(COLUMNS).collect()
}

fn bars(advice: &JudgedObservation) -> Vec<String> {
    let seen = &advice.seen;
    let spent = seen.spent();
    let total = spent.total();
    if total == Nanos::ZERO {
        let threads = if advice.seen.ledger.threads.is_empty() { "was seen" } else { "ran or waited for another one" };
        return vec![format!("  no thread {threads}")];
    }
    let throttled = seen.throttling.filter(|found| found.throttled > 0);
    let throttled = throttled.map(|found| format!("throttled {} times, {:.1} s", found.throttled, seconds(found.stopped)));
    let last = seen.episodes.most_delaying().map(|(thread, share)| format!("{:.0} % due to thread {thread}", share * 100.0));
    let work = if seen.has_records() { "work" } else { "work or spin" };
    let rows = [
        (work, spent.work, None),
        ("spun at a barrier", spent.spun, None),
        ("spun without work", spent.idle_spun, None),
        ("ready, no processor", spent.ready, throttled),
        ("slept, late partner", spent.late, last),
        ("waited for a mutex", spent.lock, None),
    ];
    let mut lines = Vec::new();
    for (name, time, note) in rows {
        let share = time.0 as f64 / total.0 as f64;
        if share >= LEAST {
            let bar = "#".repeat((share * BAR).round() as usize);
            lines.push(
                format!("  {name:<19} {:>4.0} %  {bar:<14} {}", share * 100.0, note.unwrap_or_default()).trim_end().to_owned(),
            );
        }
    }
    let lead = seen.per_elapsed(seen.episodes.lead).min(1.0) * 100.0;
    if lead >= 1.0 {
        lines.push(format!("  if the last thread of each episode were on time: -{lead:.0} %"));
    }
    lines
}

/// What this project's runtime counted, if the program used it.
fn of_runtime(advice: &JudgedObservation) -> Option<String> {
    let regions: u64 = advice.runtime.iter().map(|account| account.regions).sum();
    let longest = advice.runtime.iter().map(RuntimeAccount::longest).max()?;
    Some(format!("  Foregather's runtime: {regions} regions, longest wait {longest}"))
}

/// The sentence for a program that is well.
fn nothing(advice: &JudgedObservation) -> String {
    let spent = advice.seen.spent();
    if advice.seen.ledger.threads.is_empty() {
        return "unknown".to_owned();
    }
    let waits = spent.total() - spent.work;
    if waits.0 as f64 <= spent.total().0 as f64 * 0.1 {
        "nothing to fix".to_owned()
    } else {
        "nothing to fix: no single cause explains 10 % of the time".to_owned()
    }
}

/// The line of Python that opens the regions, or takes the time.
fn python(advice: &JudgedObservation) -> Vec<String> {
    let line = advice.seen.python.as_ref().and_then(PythonLines::costly);
    line.map(|line| wrapped("PYTHON", &line)).unwrap_or_default()
}

/// The program's own function that takes the time, unless the cause names it.
fn code(advice: &JudgedObservation) -> Vec<String> {
    let Some((function, share)) = advice.seen.samples.as_ref().and_then(SampleTally::hottest) else { return Vec::new() };
    let label = function.label();
    if advice.causes.first().is_some_and(|cause| cause.verdict.contains(&label)) {
        return Vec::new();
    }
    wrapped("CODE", &format!("{label} takes {:.0} % of the processor time", share * 100.0))
}

/// The best two ways that are predicted, else the command by rule.
fn cure(advice: &JudgedObservation, cause: &NamedCause) -> Vec<String> {
    let best = advice.predictions.advice();
    if !best.is_empty() {
        let heads = ["CURE", "or"];
        return best.iter().zip(heads).flat_map(|(variant, head)| predicted(advice, cause, variant, head)).collect();
    }
    if advice.predictions.refutes() && advice.by_rule().next() != Some(&cause.remedy) {
        let variants = advice.predictions.variants.len() - 1;
        return wrapped(
            "CURE",
            &format!("no setting: none of {variants} others is predicted to be faster; {}", cause.remedy.step),
        );
    }
    let why = advice
        .predictions
        .notes
        .first()
        .filter(|_| advice.predictions.variants.is_empty())
        .map(|why| format!("; no prediction: {why}"))
        .unwrap_or_default();
    let Some(command) = &cause.remedy.command else {
        return wrapped("CURE", &format!("no setting: {}", cause.remedy.step));
    };
    command_lines(advice, "CURE", command, format!("{} ({}){why}", cause.remedy.step, cause.remedy.rounding.label()))
}

/// A way to start the program, with its prediction.
fn predicted(advice: &JudgedObservation, cause: &NamedCause, variant: &PredictedVariant, head: &str) -> Vec<String> {
    let Some(command) = &variant.command else { return Vec::new() };
    let is_rule = cause.remedy.command.as_ref() == Some(command);
    let step = if is_rule { format!("{}; ", cause.remedy.step) } else { String::new() };
    let recorded = digits(advice.predictions.recorded_s, 2);
    command_lines(
        advice,
        head,
        command,
        format!("{step}predicted {} instead of {recorded} s ({})", range(variant), variant.rounding.label()),
    )
}

/// `9.8 s (8.1 to 12)`.
pub(super) fn range(variant: &PredictedVariant) -> String {
    format!("{} s ({} to {})", digits(variant.predicted_s, 2), digits(variant.least_s, 2), digits(variant.most_s, 2))
}

/// All ways that were simulated, the fastest first.
pub(super) fn predictions(advice: &JudgedObservation) -> String {
    let predictions = &advice.predictions;
    let why = || predictions.notes.iter().map(|why| format!("note: {}\n", shown(why))).collect::<String>();
    if predictions.variants.is_empty() {
        return why();
    }
    let mut table = ResultTable::new(["threads", "runtime", "predicted s", "from", "to", "processor s", "results"]);
    for variant in &predictions.variants {
        let runtime = if variant.is_recorded { format!("{} (as it ran)", variant.runtime) } else { variant.runtime.to_owned() };
        let times = [variant.predicted_s, variant.least_s, variant.most_s, variant.cpu_s].map(|time| digits(time, 3));
        let label = variant.rounding.label().to_owned();
        table.rows.push([vec![variant.threads.to_string(), runtime], times.to_vec(), vec![label]].concat());
    }
    format!("{}{}", table.to_text(), why())
}

fn command_lines(advice: &JudgedObservation, head: &str, command: &str, mut words: String) -> Vec<String> {
    let lines = paste::wrapped(command, COLUMNS - INDENT).unwrap_or_else(|| {
        words += "; the dots stand for the rest of your command";
        vec![paste::short(command, advice.seen.command.as_deref().unwrap_or("COMMAND"))]
    });
    let head = |at: usize| if at == 0 { head } else { "" };
    let mut lines: Vec<String> = lines.iter().enumerate().map(|(at, line)| format!("{:<INDENT$}{line}", head(at))).collect();
    lines.extend(wrapped("", &words));
    lines
}

fn other(advice: &JudgedObservation, cause: &NamedCause) -> String {
    let share = cause.explains.0 as f64 / advice.seen.spent().total().0.max(1) as f64;
    format!("{} ({:.0} %, {}): {}", cause.cause.name(), share.min(1.0) * 100.0, cause.certainty.label(), cause.verdict)
}

fn wrapped(head: &str, text: &str) -> Vec<String> {
    text_lines(&format!("{head:<INDENT$}{text}"))
}

fn text_lines(text: &str) -> Vec<String> {
    // The head keeps its blanks: only the rest is wrapped.
    let (head, rest) = text.split_at(INDENT.min(text.len()));
    let body = wrapped_within(&shown(rest), 0, COLUMNS - INDENT);
    let indent = " ".repeat(INDENT);
    body.lines().enumerate().map(|(at, line)| format!("{}{line}", if at == 0 { head } else { &indent })).collect()
}

fn seconds(time: Nanos) -> f64 {
    time.0 as f64 / 1e9
}
