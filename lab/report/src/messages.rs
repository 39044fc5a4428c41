//! Messages: half a round trip and the rate of streams over the size, by every way; and how long messages
//! take beside hogs, by policy.
//!
//! Draws measurements `messages/...` (nanoseconds, with the labels `world`, `pattern`, `bytes` and `way`) and
//! `messages-beside-hogs/...` (with the labels `hogs` and `policy` and the figures `half_mean_us`,
//! `half_p99_us` and `hog_share`).
use super::axis::Scale;
use super::names::{PRODUCT, busy, policy};
use super::spec::{DrawnValue, FigureSpec, ShownMeasurement, bars, least, lines, most, positive};
use foregather_results::Measurement;
use foregather_results::ids::{MESSAGES, MESSAGES_LOADED};
use foregather_results::number::{digits, quantity, short};

/// A plot for each world, a curve for each way.
const BY_SIZE: FigureSpec =
    FigureSpec { of: &[MESSAGES], panel: "[{world}]", series: "{way}", along: "{bytes}", ..FigureSpec::PLAIN };

/// Half a round trip over the size.
pub(super) const LATENCY: FigureSpec = FigureSpec {
    title: "Half a round trip by size",
    values: &[("", |m| {
        let s = timed(m, "ping-pong")?;
        Some(DrawnValue::of(s.p50?).scattered(s.min, s.p90))
    })],
    chart: lines("bytes (log scale)", ("ns (log scale)", Scale::Log10), None),
    caption: |cells| {
        let told = |cell: &ShownMeasurement<'_>| {
            let (bytes, half) = (short(cell.number("bytes")), quantity(cell.value, "ns"));
            format!("{bytes} bytes take {half} ({}, {})", cell.name("way"), cell.name("world"))
        };
        Some(format!("The median of the batches, from the least to the 90th percentile. {}.", ends(cells, told)?))
    },
    ..BY_SIZE
};

/// The rate of streams over the size: bytes a nanosecond.
pub(super) const BANDWIDTH: FigureSpec = FigureSpec {
    title: "Streams by size",
    values: &[("", |m| {
        let (s, bytes) = (timed(m, "stream")?, m.labels.get("bytes")?.parse::<f64>().ok()?);
        let rate = |ns: Option<f64>| ns.map(|ns| bytes / ns);
        Some(DrawnValue::of(rate(s.p50)?).scattered(rate(s.p90), rate(s.min)))
    })],
    chart: lines("bytes (log scale)", ("GB/s (log scale)", Scale::Log10), None),
    caption: |cells| {
        let told = |cell: &ShownMeasurement<'_>| {
            let [gb_per_s, per_s] = ["gb_per_s", "messages_per_s"].map(|name| cell.figure(name).unwrap_or(f64::NAN));
            let (bytes, per_s, gb_per_s) = (short(cell.number("bytes")), short(per_s), digits(gb_per_s, 3));
            let (way, world) = (cell.name("way"), cell.name("world"));
            format!("messages of {bytes} bytes go by {per_s} a second, {gb_per_s} GB/s ({way}, {world})")
        };
        Some(format!("One way, answered once at the end: {}.", ends(cells, told)?))
    },
    ..BY_SIZE
};

/// The times of a pattern.
fn timed<'a>(m: &'a Measurement, pattern: &str) -> Option<&'a foregather_results::Summary> {
    (m.labels.get("pattern")? == pattern && m.summary.min? > 0.0).then_some(&m.summary)
}

/// Two remarks: on the shortest and on the longest messages by the way that the messenger chooses.
fn ends(all: &[ShownMeasurement<'_>], say: impl Fn(&ShownMeasurement<'_>) -> String) -> Option<String> {
    let first = all.iter().find(|cell| cell.name("way") == "chosen").or(all.first())?;
    let same = || all.iter().filter(|cell| ["way", "world"].iter().all(|name| cell.name(name) == first.name(name)));
    let (shortest, longest) = (least(same(), |cell| cell.number("bytes"))?, most(same(), |cell| cell.number("bytes"))?);
    let several = longest.number("bytes") > shortest.number("bytes");
    Some(if several { format!("{}; {}", say(shortest), say(longest)) } else { say(shortest) })
}

/// How long messages take beside hogs, and what the hogs keep.
pub(super) const BESIDE_HOGS: FigureSpec = FigureSpec {
    of: &[MESSAGES_LOADED],
    names: |m| {
        let beside = match m.labels.get("hogs")?.as_str() {
            "0" => "alone".to_owned(),
            hogs => format!("{} a processor", busy(hogs)),
        };
        let plain = match m.labels.get("policy")?.as_str() {
            "adaptive" => PRODUCT.to_owned(),
            fixed => policy(fixed),
        };
        Some(vec![("beside", beside), ("plain", plain)])
    },
    title: "Messages beside busy programs",
    values: &[
        ("half a round trip, mean us", |m| positive(m, "half_mean_us")),
        ("99th percentile us", |m| positive(m, "half_p99_us")),
        ("busy programs keep %", |m| positive(m, "hog_share").map(|share| DrawnValue::of(share.value * 100.0))),
    ],
    series: "{beside}",
    along: "{plain}",
    chart: bars("microseconds, or percent of their speed alone (log scale)", Scale::Log10, ""),
    caption: |cells| {
        let rate = |cell: &ShownMeasurement<'_>| cell.m.summary.p50.unwrap_or(0.0);
        let share = |cell: &ShownMeasurement<'_>| cell.figure("hog_share").filter(|&share| share > 0.0);
        let told = most(cells.iter().filter(|cell| share(cell).is_some()), rate).or(cells.first())?;
        let keep =
            share(told).map(|share| format!(", while the busy programs keep {} % of their speed", digits(share * 100.0, 3)));
        Some(format!(
            "Messages of 8 bytes, to and fro. Beside {} {} moves most: {} round trips a second{}.",
            told.name("beside"),
            told.name("plain"),
            short(rate(told)),
            keep.unwrap_or_default()
        ))
    },
    ..FigureSpec::PLAIN
};
