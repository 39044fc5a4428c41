//! What a run of a contestant prints, in each one's own way.
use anyhow::{Context, Result, ensure};
use serde_json::Value;

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

/// The last line of `ucx_perftest -v`: iterations, then the percentile, the average and the overall latency in microseconds; the last
/// number is the rate of messages. It tells no minimum.
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
