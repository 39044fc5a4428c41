//! Random calls of the BLAS by our library and by the reference: `cargo xtask peers blas-random`.
//!
//! [`table`] lists the routines, [`draw`] draws calls of them, [`contents`] fills their arrays, [`library`]
//! makes a call, [`judge`] compares, [`shrink`] makes what differs small. The calls are made by [`worker`], a
//! process of its own, which an error in a library may end.
//!
//! Results may differ by the rounding of `4 n` products, measured by the same routine on absolute values;
//! where that is nought, not at all. Where arrays hold NaN, infinities or numbers near the ends of the range,
//! what each component is must agree; if it does not, the standard leaves the answer open, and one of the
//! other libraries has to agree with us.
mod arena;
mod call;
mod contents;
mod draw;
mod judge;
mod layout;
mod library;
mod options;
mod reference;
mod rotation;
mod shrink;
mod table;
mod worker;

use crate::peer_error::PeerError;
use call::BlasCall;
use foregather_host::child::Child;
use foregather_machine::Nanos;
use options::Options;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use worker::ClassTally;

/// Calls of one process.
const CALLS: u64 = 20_000;
const LIMIT: Nanos = Nanos::from_ms(60_000);
const LIMIT_OF_ONE: Nanos = Nanos::from_ms(5_000);
/// Routines whose differences are made small.
const SHOWN: usize = 12;

/// Does what is asked for. The text that is printed; an error if there is a difference.
pub(crate) fn run(words: &[&str]) -> Result<String, PeerError> {
    let options = Options::parse(words)?;
    match (&options.call, &options.at) {
        (Some(call), _) => worker::run_one(&options.libraries, call),
        (None, Some(at)) => worker::run(&options.libraries, options.seed, options.from..options.from + options.calls, at),
        (None, None) => supervise(&options),
    }
}

/// Runs the processes that make the calls, and reports.
fn supervise(options: &Options) -> Result<String, PeerError> {
    let at = std::env::temp_dir().join(format!("foregather-blas-random-{}", std::process::id()));
    let (mut tally, mut from, begun) = (ClassTally::default(), options.from, Instant::now());
    let end = options.from + options.calls;
    while from < end && options.seconds.is_none_or(|seconds| begun.elapsed() < Duration::from_secs(seconds)) {
        from = some(options, from..end.min(from + CALLS), &at, &mut tally)?;
    }
    // What was written stays only if it could not be removed.
    let _ = std::fs::remove_file(&at);
    let text = report(options, &tally, from - options.from);
    if tally.different.is_empty() { Ok(text) } else { Err(PeerError::Failed(format!("results differ\n{text}"))) }
}

/// Makes the calls of these numbers in another process, or those up to one that ends it. Returns the next
/// number.
fn some(options: &Options, numbers: std::ops::Range<u64>, at: &Path, tally: &mut ClassTally) -> Result<u64, PeerError> {
    let words = |numbers: &std::ops::Range<u64>| {
        let (from, calls) = (numbers.start.to_string(), (numbers.end - numbers.start).to_string());
        let words = ["--seed", &options.seed.to_string(), "--from", &from, "--calls", &calls, "--at", &at.display().to_string()];
        words.map(str::to_owned)
    };
    match apart(options, &words(&numbers), LIMIT) {
        Ok(text) => {
            tally.add(serde_json::from_str(&text).map_err(|error| PeerError::Failed(format!("{error}: {text}")))?);
            Ok(numbers.end)
        }
        Err(what) => {
            let number = std::fs::read(at).ok().and_then(|bytes| bytes.try_into().ok()).map(u64::from_ne_bytes);
            let number = number.filter(|number| numbers.contains(number)).ok_or_else(|| PeerError::Failed(what.clone()))?;
            if number > numbers.start {
                let before = apart(options, &words(&(numbers.start..number)), LIMIT).map_err(PeerError::Failed)?;
                tally.add(serde_json::from_str(&before).map_err(|error| PeerError::Failed(error.to_string()))?);
            }
            tally.differs(&draw::drawn(options.seed, number), what);
            Ok(number + 1)
        }
    }
}

/// What this program prints with the same libraries and other words, in a process of its own.
fn apart(options: &Options, words: &[String], limit: Nanos) -> Result<String, String> {
    let own = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(own);
    command.arg("blas-random").args(options.library_words()).args(words).stdout(std::process::Stdio::piped());
    command.stderr(std::process::Stdio::piped());
    let child = Child::spawn(command, &[]).map_err(|error| error.to_string())?;
    let output = child.output_within(limit).map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("{}; {}", output.status, said.lines().next().unwrap_or_default()))
}

/// A line for each class, what is open, and what differs.
fn report(options: &Options, tally: &ClassTally, calls: u64) -> String {
    let mut text = format!("{calls} calls from number {} on, seed {}\n", options.from, options.seed);
    let _ =
        writeln!(text, "{:<26} {:>8} {:>8} {:>8} {:>6} {:>9}", "routines", "calls", "illegal", "special", "open", "different");
    for class in table::classes() {
        let count = tally.classes.get(class).copied().unwrap_or_default();
        let worker::ClassCount { calls, illegal, special, open, different } = count;
        let _ = writeln!(text, "{class:<26} {calls:>8} {illegal:>8} {special:>8} {open:>6} {different:>9}");
    }
    if !tally.open.is_empty() {
        let _ = writeln!(text, "\nleft open by the standard, and the first call of each routine:");
    }
    for (routine, finding) in &tally.open {
        let _ =
            writeln!(text, "{routine:<7} {:>6} times: {}\n                      {}", finding.times, finding.call, finding.what);
    }
    for (routine, finding) in tally.different.iter().take(SHOWN) {
        let smallest =
            BlasCall::parse(&finding.call).map(|call| shrink::smallest(&call, |call| apart_fails(options, call).is_some()));
        let what = smallest.as_ref().and_then(|call| apart_fails(options, call)).unwrap_or_else(|| finding.what.clone());
        let call = smallest.map_or_else(|| finding.call.clone(), |call| call.to_string());
        let _ = writeln!(
            text,
            "\nDIFFERENT {routine}, {} times: {what}\n  cargo xtask peers blas-random --call '{call}'",
            finding.times
        );
        let _ = writeln!(text, "  first: {}: {}", finding.call, finding.what);
    }
    text.trim_end().to_owned()
}

/// What differs in that call, made in a process of its own.
fn apart_fails(options: &Options, call: &BlasCall) -> Option<String> {
    apart(options, &["--call".to_owned(), call.to_string()], LIMIT_OF_ONE).err()
}
