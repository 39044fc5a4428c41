//! Messages of other libraries beside ours, between two pinned processes, in alternation.
//!
//! [`contestant`]: what takes part, and how each is run.
mod contestant;

use crate::PeerError;
use crate::support::{self, number, numbers, root, target, turns, unknown};
use anyhow::{Context, Result, ensure};
use contestant::Contestant;
use serde_json::Value;
use std::fmt::Write;

/// The whole comparison, printed.
pub(super) fn hold(arguments: &[&str]) -> Result<(), PeerError> {
    let ask = MessageContest::parse(arguments)?;
    let (root, target) = (root()?, target()?);
    let mut peers = Vec::new();
    let mut missing = Vec::new();
    for name in &ask.who {
        match contestant::peer(name, root, &target) {
            Ok(peer) => peers.push(peer),
            Err(PeerError::Missing(what)) => missing.push(what),
            Err(other) => return Err(other),
        }
    }
    missing.iter().for_each(|what| eprintln!("left out: {what}"));
    if peers.is_empty() {
        return Err(PeerError::Missing("there is nobody to compare with".to_owned()));
    }
    let mut all = vec![contestant::ours()?];
    all.extend(peers);
    print!("{}", table(&run_all(&mut all, &ask)?));
    Ok(())
}

/// What each came to in all rounds, ours first. One that fails is left out from then on, but for us.
fn run_all(all: &mut [Contestant], ask: &MessageContest) -> Result<Vec<(&'static str, Vec<Sample>)>> {
    let mut found: Vec<(&'static str, Vec<Sample>)> = all.iter().map(|who| (who.name, vec![])).collect();
    for round in 0..ask.rounds {
        for at in turns(round, all.len()).into_iter().filter(|&at| !all[at].failed).collect::<Vec<_>>() {
            match all[at].run(ask) {
                Ok(samples) => found[at].1.extend(samples),
                Err(error) if at == 0 => return Err(error),
                Err(error) => {
                    eprintln!("left out: {}: {error:#}", all[at].name);
                    all[at].failed = true;
                }
            }
        }
    }
    Ok(found)
}

/// Longer messages do not fit into the peers' buffers.
const BYTES_MAX: usize = 16 << 20;
pub(super) const PEERS: [&str; 4] = ["openmpi", "mpich", "ucx", "libfabric"];

/// A comparison of messages.
#[derive(Debug, PartialEq)]
pub(super) struct MessageContest {
    pub(super) sizes: Vec<usize>,
    pub(super) rounds: u32,
    pub(super) batches: u32,
    pub(super) cpus: [u32; 2],
    pub(super) who: Vec<&'static str>,
}

impl Default for MessageContest {
    fn default() -> Self {
        let sizes = vec![8, 64, 512, 4 << 10, 64 << 10, 1 << 20, 4 << 20];
        Self { sizes, rounds: 3, batches: 11, cpus: [0, 1], who: PEERS.to_vec() }
    }
}

impl MessageContest {
    pub(super) fn parse(options: &[&str]) -> Result<Self, PeerError> {
        let usage = |what: String| Err(PeerError::Usage(what));
        let mut ask = Self::default();
        for (name, value) in support::options(options)? {
            match name {
                "--sizes" => ask.sizes = value.split(',').map(bytes).collect::<Result<_, _>>()?,
                "--rounds" => ask.rounds = positive(name, value)?,
                "--batches" => ask.batches = positive(name, value)?,
                "--cpus" => match numbers(name, value)?[..] {
                    [a, b] if a != b => ask.cpus = [a, b],
                    _ => return usage(format!("--cpus: two different processors, not `{value}`")),
                },
                "--who" => ask.who = value.split(',').map(peer).collect::<Result<_, _>>()?,
                _ => return unknown(name),
            }
        }
        Ok(ask)
    }
}

fn positive(name: &str, value: &str) -> Result<u32, PeerError> {
    let n: u32 = number(name, value)?;
    if (1..=1_000).contains(&n) { Ok(n) } else { Err(PeerError::Usage(format!("{name}: 1 to 1000, not {n}"))) }
}

fn bytes(value: &str) -> Result<usize, PeerError> {
    let n: usize = number("--sizes", value)?;
    if (1..=BYTES_MAX).contains(&n) { Ok(n) } else { Err(PeerError::Usage(format!("--sizes: 1 to {BYTES_MAX} bytes, not {n}"))) }
}

fn peer(value: &str) -> Result<&'static str, PeerError> {
    let known = PEERS.into_iter().find(|name| *name == value);
    known.ok_or_else(|| PeerError::Usage(format!("--who: `{value}` is none of {}", PEERS.join(", "))))
}

/// One length in one pattern: half a round trip, one message of a stream, or one each way, in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) bytes: usize,
    pub(super) pattern: &'static str,
    pub(super) min_ns: f64,
    pub(super) p50_ns: f64,
}

pub(super) const PATTERNS: [&str; 3] = ["ping-pong", "stream", "both-ways"];

fn pattern(name: &str) -> Result<&'static str> {
    PATTERNS.into_iter().find(|known| *known == name).with_context(|| format!("no pattern `{name}` was asked for"))
}

/// Lines of JSON, as the programs in peers/c print them.
pub(super) fn of_lines(printed: &str) -> Result<Vec<Sample>> {
    let one = |line: &str| {
        let line: Value = serde_json::from_str(line).with_context(|| format!("not JSON: {line}"))?;
        let number = |name: &str| line[name].as_f64().with_context(|| format!("no `{name}` in {line}"));
        let bytes = number("bytes")? as usize;
        let pattern = pattern(line["pattern"].as_str().unwrap_or_default())?;
        Ok(Sample { bytes, pattern, min_ns: number("min_ns")?, p50_ns: number("p50_ns")? })
    };
    printed.lines().filter(|line| line.starts_with('{')).map(one).collect()
}

/// The document of `measure messages`.
pub(super) fn of_results(printed: &str) -> Result<Vec<Sample>> {
    let document: Value = serde_json::from_str(printed).context("ours printed no document")?;
    let one = |m: &Value| {
        let label = |name: &str| m["labels"][name].as_str().with_context(|| format!("no label `{name}` in {m}"));
        let number = |name: &str| m["summary"][name].as_f64().with_context(|| format!("no `{name}` in {m}"));
        let bytes = label("bytes")?.parse().context("the label `bytes`")?;
        Ok(Sample { bytes, pattern: pattern(label("pattern")?)?, min_ns: number("min")?, p50_ns: number("p50")? })
    };
    let all: Vec<Sample> = document["measurements"].as_array().into_iter().flatten().map(one).collect::<Result<_>>()?;
    ensure!(!all.is_empty(), "ours measured nothing: {}", document["notes"]);
    Ok(all)
}

/// The last line of `ucx_perftest -v`: iterations, then the percentile, the average and the overall latency
/// in microseconds; the last number is the rate of messages. It tells no minimum.
pub(super) fn of_ucx(printed: &str, bytes: usize, pattern: &'static str) -> Result<Sample> {
    let line = printed.lines().rfind(|line| line.contains(',')).unwrap_or_default();
    let numbers: Vec<f64> = line.split(',').filter_map(|number| number.trim().parse().ok()).collect();
    ensure!(numbers.len() >= 8, "ucx_perftest printed `{line}`");
    let ns = if pattern == "stream" { 1e9 / numbers[numbers.len() - 1] } else { numbers[1] * 1e3 };
    Ok(Sample { bytes, pattern, min_ns: ns, p50_ns: ns })
}

/// The last line of `fi_pingpong`: its seventh word is microseconds a transfer.
pub(super) fn of_fi_pingpong(printed: &str, bytes: usize) -> Result<Sample> {
    let line = printed.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    let us: Option<f64> = line.split_whitespace().nth(6).and_then(|word| word.parse().ok());
    let ns = us.with_context(|| format!("fi_pingpong printed `{line}`"))? * 1e3;
    Ok(Sample { bytes, pattern: "ping-pong", min_ns: ns, p50_ns: ns })
}

const HEAD: &str = "   bytes  pattern    who              p50 ns       min ns  ours/p50  ours/min";

/// The table: ours first, under each length and pattern.
fn table(found: &[(&'static str, Vec<Sample>)]) -> String {
    let mut sizes: Vec<usize> = found.iter().flat_map(|(_, samples)| samples).map(|sample| sample.bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut text = format!("{HEAD}\n");
    for pattern in PATTERNS {
        for &bytes in &sizes {
            let ours = found.first().and_then(|(_, samples)| middle(samples, bytes, pattern));
            for (who, samples) in found {
                let Some((p50, min)) = middle(samples, bytes, pattern) else { continue };
                let ratio =
                    |own: Option<f64>, theirs: f64| own.map_or_else(|| "-".to_owned(), |own| format!("{:.2}", own / theirs));
                let (of_p50, of_min) = (ratio(ours.map(|ours| ours.0), p50), ratio(ours.map(|ours| ours.1), min));
                let _ = writeln!(text, "{bytes:>8}  {pattern:<9}  {who:<10} {p50:>12.1} {min:>12.1} {of_p50:>9} {of_min:>9}");
            }
        }
    }
    text
}

/// The median over the rounds, the lower one of two middles, and the least of all.
fn middle(samples: &[Sample], bytes: usize, pattern: &str) -> Option<(f64, f64)> {
    let own = || samples.iter().filter(|sample| sample.bytes == bytes && sample.pattern == pattern);
    let median = support::middle(own().map(|sample| sample.p50_ns))?;
    Some((median, own().map(|sample| sample.min_ns).fold(f64::MAX, f64::min)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_fails_is_left_out_and_the_others_go_on() {
        let shell = |name, script: &str| Contestant::script(name, script);
        let line = r#"{\"bytes\":8,\"pattern\":\"stream\",\"min_ns\":1.0,\"p50_ns\":2.0}"#;
        let mut all = [shell("good", &format!("echo \"{line}\"")), shell("bad", "exit 3")];
        let ask = MessageContest { rounds: 3, ..MessageContest::default() };
        let found = run_all(&mut all, &ask).unwrap();
        assert_eq!((found[0].1.len(), found[1].1.len()), (3, 0));
        assert!(run_all(&mut [shell("ours", "exit 3")], &ask).is_err(), "without ours there is nothing to say");
    }

    #[test]
    fn options_replace_the_defaults() {
        assert_eq!(MessageContest::parse(&[]).unwrap(), MessageContest::default());
        let options = ["--sizes", "8,16", "--rounds", "1", "--batches", "2", "--cpus", "4,5", "--who", "ucx,mpich"];
        let asked = MessageContest { sizes: vec![8, 16], rounds: 1, batches: 2, cpus: [4, 5], who: vec!["ucx", "mpich"] };
        assert_eq!(MessageContest::parse(&options).unwrap(), asked);
    }

    #[test]
    fn wrong_usage_names_the_culprit() {
        for (options, culprit) in [
            (["--sizes", "0"], "not 0"),
            (["--sizes", "8,x"], "`x`"),
            (["--rounds", "0"], "--rounds"),
            (["--cpus", "1"], "`1`"),
            (["--cpus", "1,1"], "`1,1`"),
            (["--who", "lam"], "lam"),
            (["--size", "8"], "`--size`"),
        ] {
            match MessageContest::parse(&options) {
                Err(PeerError::Usage(what)) => assert!(what.contains(culprit), "{options:?}: {what}"),
                other => panic!("{options:?}: {other:?}"),
            }
        }
        assert!(matches!(MessageContest::parse(&["--cpus"]), Err(PeerError::Usage(_))));
    }

    #[test]
    fn each_way_to_print_is_read() {
        let line = r#"{"bytes":8,"pattern":"stream","min_ns":80.5,"p50_ns":82.0}"#;
        let stream = Sample { bytes: 8, pattern: "stream", min_ns: 80.5, p50_ns: 82.0 };
        assert_eq!(of_lines(&format!("a warning\n{line}\n")).unwrap(), std::slice::from_ref(&stream));
        let document =
            r#"{"measurements":[{"labels":{"bytes":"8","pattern":"stream","way":"chosen"},"summary":{"min":80.5,"p50":82}}]}"#;
        assert_eq!(of_results(document).unwrap(), [stream]);
        let csv = "iterations,50.0_percentile_lat,avg_lat\n20000,1.176,2.772,2.772,1409.24,1409.24,360766,400000\n";
        assert_eq!(of_ucx(csv, 64, "ping-pong").unwrap().p50_ns, 1_176.0);
        assert_eq!(of_ucx(csv, 64, "stream").unwrap().p50_ns, 2_500.0);
        let table = "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n\
                     4k      20k     =20k     156m        0.15s   1121.64       3.65       0.27\n";
        assert_eq!(of_fi_pingpong(table, 4_096).unwrap().p50_ns, 3_650.0);
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(of_lines(r#"{"bytes":8,"pattern":"dance","min_ns":1,"p50_ns":1}"#).is_err());
        assert!(of_lines(r#"{"bytes":8,"pattern":"stream","min_ns":1}"#).is_err());
        assert!(of_results("").is_err() && of_results(r#"{"measurements":[],"notes":["why"]}"#).is_err());
        assert!(of_ucx("1,2\n", 8, "stream").is_err() && of_fi_pingpong("no\n", 8).is_err());
    }

    #[test]
    fn rows_have_the_median_of_the_rounds_and_ratios_of_ours_to_theirs() {
        let sample = |bytes, p50_ns, min_ns| Sample { bytes, pattern: "ping-pong", min_ns, p50_ns };
        let ours = vec![sample(8, 100.0, 90.0), sample(8, 300.0, 80.0), sample(8, 200.0, 95.0)];
        let theirs = vec![sample(8, 400.0, 320.0), sample(64, 1.0, 1.0)];
        let text = table(&[("ours", ours), ("mpich", theirs)]);
        let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|row| row.split_whitespace().collect()).collect();
        assert_eq!(rows[0], ["8", "ping-pong", "ours", "200.0", "80.0", "1.00", "1.00"]);
        assert_eq!(rows[1], ["8", "ping-pong", "mpich", "400.0", "320.0", "0.50", "0.25"]);
        assert_eq!(rows[2], ["64", "ping-pong", "mpich", "1.0", "1.0", "-", "-"]);
        assert!(text.lines().all(|line| line.len() == HEAD.len()), "{text}");
    }
}
