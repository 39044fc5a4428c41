//! A comparison with rt-app: it runs its own examples on two processors, and we simulate them. How often
//! threads left their processors is compared.
use crate::PeerError;
use crate::support::{self, built, keep, number, output_within, unknown};
use anyhow::{Context, Result, ensure};
use foregather_host::usage::children_switches;
use foregather_machine::Nanos;
use foregather_results::rivals::rival;
use foregather_results::{Measurement, Run};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Examples of Debian's package with a duration that need no third processor, no memory traffic and no
/// newer parser of JSON.
const EXAMPLES: [&str; 6] =
    ["browser-short", "mp3-short", "spreading-tasks", "tutorial/example1", "tutorial/example2", "tutorial/example7"];
const FOLDER: &str = "/usr/share/doc/rt-app/examples";
const OURS: [&str; 4] = ["build", "--message-format=json", "--package", "foregather-lab"];
/// The most that one count may be of the other.
const BAR: f64 = 1.5;
/// A run that takes longer is ended, with an error.
const LIMIT: Nanos = Nanos::from_ms(300_000);

/// A comparison with rt-app.
#[derive(Debug, PartialEq)]
pub(super) struct RtAppPlan {
    folder: PathBuf,
    examples: Vec<String>,
    /// Both run this many seconds of each example at most.
    seconds: u32,
    ours: Option<PathBuf>,
    output: Option<PathBuf>,
}

impl RtAppPlan {
    pub(super) fn parse(options: &[&str]) -> Result<Self, PeerError> {
        let examples = EXAMPLES.map(str::to_owned).into();
        let mut plan = Self { folder: FOLDER.into(), examples, seconds: 6, ours: None, output: None };
        for (name, value) in support::options(options)? {
            match name {
                "--examples" => plan.examples = value.split(',').map(str::to_owned).collect(),
                "--folder" => plan.folder = value.into(),
                "--seconds" => plan.seconds = number(name, value)?,
                "--ours" => plan.ours = Some(value.into()),
                "--output" => plan.output = Some(value.into()),
                _ => return unknown(name),
            }
        }
        if plan.seconds == 0 {
            return Err(PeerError::Usage("--seconds must be at least 1".to_owned()));
        }
        Ok(plan)
    }
}

/// The whole comparison, printed.
pub(super) fn hold(options: &[&str]) -> Result<(), PeerError> {
    let plan = RtAppPlan::parse(options)?;
    let found = Command::new("rt-app").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if found.is_err() || !plan.folder.is_dir() {
        return Err(PeerError::Missing("rt-app is not installed: on Debian `apt-get install rt-app`, then again".to_owned()));
    }
    let ours = plan.ours.clone().map_or_else(|| built(&OURS), Ok)?;
    let folder = std::env::temp_dir().join(format!("foregather-peers-rt-app-{}", std::process::id()));
    std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let run = Run::begin("peers rt-app", None);
    let compared = plan.examples.iter().map(|name| compare(&plan, &ours, &folder, name)).collect::<Result<Vec<_>>>();
    std::fs::remove_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let compared = compared?;
    println!("{:<20} {:>8} {:>8} {:>7}", "example", "rt-app", "ours", "ratio");
    for m in &compared {
        println!("{:<20} {:>8} {:>8} {:>7.2}", m.text("case"), m.text("theirs"), m.text("ours"), m.median());
    }
    let missed = compared.iter().filter(|m| m.median() > BAR).count();
    keep(plan.output.as_deref(), run, compared)?;
    if missed > 0 { Err(anyhow::anyhow!("{missed} counts are more than {BAR} times apart").into()) } else { Ok(()) }
}

/// Runs one example by rt-app and by ours. The measurement is the larger count over the smaller one.
fn compare(plan: &RtAppPlan, ours: &Path, folder: &Path, name: &str) -> Result<Measurement> {
    let example = plan.folder.join(name).with_extension("json");
    let text = std::fs::read_to_string(&example).with_context(|| example.display().to_string())?;
    let file = folder.join("example.json");
    std::fs::write(&file, lasting(&text, plan.seconds).with_context(|| example.display().to_string())?)?;
    let before = children_switches();
    let mut theirs = Command::new("rt-app");
    theirs.arg(&file).current_dir(folder).stderr(Stdio::null());
    output_within(theirs, LIMIT).with_context(|| name.to_owned())?;
    let after = children_switches();
    let theirs = after.voluntary + after.involuntary - before.voluntary - before.involuntary;
    let mut command = Command::new(ours);
    command.args(["--quiet", "--format", "json", "simulate", "--ignore", "--set", "machine.cpus=2"]).arg(&file);
    let printed: Value = serde_json::from_str(&output_within(command, LIMIT)?).context("our results are not JSON")?;
    let all = printed["measurements"].as_array().map_or(&[][..], Vec::as_slice);
    let switches =
        all.iter().find(|m| m["what"] == "how often threads left their processors").and_then(|m| m["summary"]["p50"].as_f64());
    let ours = switches.context("our results have no count of switches")?;
    ensure!(theirs > 0 && ours > 0.0, "{name}: nothing has run");
    let ratio = ours / theirs as f64;
    let words = [theirs.to_string(), ours.to_string()];
    Ok(rival("rt-app", name, words, (ratio.max(1.0 / ratio), BAR), "times"))
}

/// Sets the duration of a workload, and turns tracing off, which needs a mounted debugfs. It is JSON with
/// comments and repeated keys, so no reader of JSON can.
fn lasting(text: &str, seconds: u32) -> Result<String> {
    let at = text.find("\"duration\"").context("it has no duration")?;
    let number = at + text[at..].find(|c: char| c.is_ascii_digit() || c == '-').context("its duration is no number")?;
    let end = number + text[number..].find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(text.len() - number);
    let text = format!("{}{seconds}{}", &text[..number], &text[end..]);
    let Some(at) = text.find("\"ftrace\"") else { return Ok(text) };
    let (before, after) = text.split_at(at);
    Ok(before.to_owned() + &after.replacen("true", "false", 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_duration_is_replaced() {
        assert_eq!(lasting("{ /* a */ \"duration\" : -1, \"x\": 2 }", 6).unwrap(), "{ /* a */ \"duration\" : 6, \"x\": 2 }");
        assert_eq!(lasting("\"duration\" : 2, \"ftrace\": true", 6).unwrap(), "\"duration\" : 6, \"ftrace\": false");
        assert!(lasting("{}", 6).is_err() && lasting("\"duration\"", 6).is_err());
    }

    #[test]
    fn options_are_understood_or_refused() {
        let plan = RtAppPlan::parse(&["--examples", "a,b", "--seconds", "2"]).unwrap();
        assert_eq!((plan.examples.len(), plan.seconds), (2, 2));
        for wrong in [&["--seconds", "0"][..], &["--seconds"], &["--example", "a"]] {
            assert!(matches!(RtAppPlan::parse(wrong), Err(PeerError::Usage(_))), "{wrong:?}");
        }
    }
}
