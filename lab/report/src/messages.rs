//! Messages: half a round trip and the rate of streams over the size, by every way; and what policies do beside hogs.
//!
//! Draws measurements `messages/...` (nanoseconds, with the labels `world`, `pattern`, `bytes` and `way`) and
//! `messages-beside-hogs/...` (with the labels `hogs` and `policy` and the figures `half_mean_us`, `half_p99_us` and `hog_share`).
use super::axis::Scale;
use super::bars::{Bar, Bars, Panel};
use super::curve::{Curve, Look, Point};
use super::lines::{AxisSide, Lines, Plot};
use super::svg::colour;
use super::{Drawn, distinct};
use foregather_measure::messages::{HOGS, SIZES};
use foregather_results::Measurement;
use foregather_results::number::{digits, quantity, short};

/// One way at one size.
struct Sized<'a> {
    world: &'a str,
    way: &'a str,
    bytes: f64,
    m: &'a Measurement,
}

fn label<'a>(m: &'a Measurement, name: &str) -> Option<&'a str> {
    m.labels.get(name).map(String::as_str)
}

fn of_pattern<'a>(all: &'a [Measurement], pattern: &str) -> Vec<Sized<'a>> {
    let one = |m: &'a Measurement| {
        let bytes = label(m, "bytes")?.parse().ok().filter(|&bytes: &f64| bytes >= 1.0)?;
        let timed = label(m, "pattern")? == pattern && m.summary.min? > 0.0;
        Some(Sized { world: label(m, "world")?, way: label(m, "way")?, bytes, m }).filter(|_| timed)
    };
    all.iter().filter(|m| m.id.starts_with(SIZES)).filter_map(one).collect()
}

/// Half a round trip over the size.
pub(super) fn latency(all: &[Measurement]) -> Option<Drawn> {
    let all = of_pattern(all, "ping-pong");
    let height = |m: &Measurement| {
        let [low, y, high] = [m.summary.min?, m.summary.p50?, m.summary.p90?];
        Some([low, y, high])
    };
    let caption = |of: &Sized<'_>| {
        let half = quantity(of.m.summary.p50.unwrap_or(f64::NAN), "ns");
        format!("{} bytes take {half} ({}, {})", short(of.bytes), of.way, of.world)
    };
    let told = format!("The median of the batches, from the least to the 90th percentile. {}.", ends(&all, caption)?);
    drawn("Half a round trip by size", "ns (log scale)", &all, height, told)
}

/// The rate of streams over the size.
pub(super) fn bandwidth(all: &[Measurement]) -> Option<Drawn> {
    let all = of_pattern(all, "stream");
    // Bytes a nanosecond.
    let height = |m: &Measurement| {
        let bytes: f64 = label(m, "bytes")?.parse().ok()?;
        Some([bytes / m.summary.p90?, bytes / m.summary.p50?, bytes / m.summary.min?])
    };
    let caption = |of: &Sized<'_>| {
        let figure = |name: &str| of.m.figures.get(name).copied().unwrap_or(f64::NAN);
        let (rate, per_s) = (digits(figure("gb_per_s"), 3), short(figure("messages_per_s")));
        format!("messages of {} bytes go by {per_s} a second, {rate} GB/s ({}, {})", short(of.bytes), of.way, of.world)
    };
    let told = format!("One way, answered once at the end: {}.", ends(&all, caption)?);
    drawn("Streams by size", "GB/s (log scale)", &all, height, told)
}

/// What is to be said of the shortest and of the longest messages by the way that the messenger chooses.
fn ends(all: &[Sized<'_>], say: impl Fn(&Sized<'_>) -> String) -> Option<String> {
    let chosen = || all.iter().filter(|of| of.way == "chosen").chain(all.iter().filter(|of| of.way != "chosen"));
    let first = chosen().next()?;
    let same = || all.iter().filter(|of| of.way == first.way && of.world == first.world);
    let shortest = same().min_by(|a, b| a.bytes.total_cmp(&b.bytes))?;
    let longest = same().max_by(|a, b| a.bytes.total_cmp(&b.bytes))?;
    Some(if longest.bytes > shortest.bytes { format!("{}; {}", say(shortest), say(longest)) } else { say(shortest) })
}

/// A plot for each world, a curve for each way.
fn drawn(
    title: &str,
    y: &str,
    all: &[Sized<'_>],
    height: impl Fn(&Measurement) -> Option<[f64; 3]>,
    caption: String,
) -> Option<Drawn> {
    let ways = distinct(all.iter().map(|of| of.way));
    let worlds = distinct(all.iter().map(|of| of.world));
    let curve = |world: &str, way: &str| {
        let mine = all.iter().filter(|of| of.world == world && of.way == way);
        let point = |of: &Sized<'_>| height(of.m).map(|[low, y, high]| Point { x: of.bytes, y, low, high });
        let mut points: Vec<Point> = mine.filter_map(point).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        (!points.is_empty()).then(|| Curve { name: way.to_owned(), points, look: Look::Points })
    };
    let plot = |world: &&str| {
        let curves: Vec<Curve> = ways.iter().filter_map(|way| curve(world, way)).collect();
        let title = if worlds.len() > 1 { (*world).to_owned() } else { String::new() };
        (!curves.is_empty()).then_some(Plot { title, curves, remarks: vec![] })
    };
    let x = AxisSide::new("bytes (log scale)", Scale::Log2);
    let plots: Vec<Plot> = worlds.iter().filter_map(plot).collect();
    let lines = Lines { title, x, y: AxisSide::new(y, Scale::Log10), steps: false, level: None, plots };
    (!lines.plots.is_empty()).then(|| Drawn { svg: lines.render(), caption })
}

/// One policy beside so many hogs.
struct Beside<'a> {
    load: &'a str,
    policy: &'a str,
    rate: f64,
    m: &'a Measurement,
    /// Which measurement it is.
    of: usize,
}

impl Beside<'_> {
    fn figure(&self, name: &str) -> Option<f64> {
        self.m.figures.get(name).copied().filter(|&value| value > 0.0)
    }
}

/// How long messages take beside hogs, and what the hogs keep.
pub(super) fn hogs(all: &[Measurement]) -> Option<Drawn> {
    let mut cells = Vec::new();
    for (of, m) in all.iter().enumerate().filter(|(_, m)| m.id.starts_with(HOGS)) {
        if let (Some(load), Some(policy), Some(rate)) = (label(m, "hogs"), label(m, "policy"), m.summary.p50) {
            cells.push(Beside { load, policy, rate, m, of });
        }
    }
    let best = cells.iter().filter(|cell| cell.figure("hog_share").is_some()).max_by(|a, b| a.rate.total_cmp(&b.rate));
    let told = best.or(cells.first())?;
    let share =
        told.figure("hog_share").map(|share| format!(", while the hogs keep {} % of their speed", digits(share * 100.0, 3)));
    let caption = format!(
        "Messages of 8 bytes, to and fro. With {} hogs on each processor {} moves most: {} round trips a second{}.",
        told.load,
        told.policy,
        short(told.rate),
        share.unwrap_or_default()
    );
    let (loads, policies) = (distinct(cells.iter().map(|cell| cell.load)), distinct(cells.iter().map(|cell| cell.policy)));
    let place = |of: &[&str], name: &str| of.iter().position(|known| *known == name).unwrap_or(0);
    let panel = |title: &str, figure: &str, times: f64| {
        let bar = |cell: &Beside<'_>| {
            let (label, series) = (place(&policies, cell.policy), place(&loads, cell.load));
            Some(Bar { label, series, value: cell.figure(figure)? * times, whisker: None, dot: None, of: cell.of })
        };
        Panel { title: title.to_owned(), bars: cells.iter().filter_map(bar).collect() }
    };
    let bars = Bars {
        title: "Messages beside hogs",
        axis: "microseconds, or percent of their speed alone (log scale)".to_owned(),
        scale: Scale::Log10,
        number: "",
        labels: policies.iter().map(|&policy| policy.to_owned()).collect(),
        series: loads.iter().enumerate().map(|(i, load)| (format!("{load} hogs a processor"), colour(i))).collect(),
        panels: vec![
            panel("half a round trip, mean us", "half_mean_us", 1.0),
            panel("99th percentile us", "half_p99_us", 1.0),
            panel("hogs keep %", "hog_share", 100.0),
        ],
    };
    Some(Drawn { svg: bars.render(), caption })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sized(world: &str, pattern: &str, bytes: u32, way: &str, ns: f64) -> Measurement {
        Measurement::from_values(format!("{SIZES}{world}/{pattern}/{bytes}B/{way}"), "", "ns", vec![ns, ns * 1.1])
            .label("world", world)
            .label("pattern", pattern)
            .label("bytes", bytes.to_string())
            .label("way", way)
            .figure("gb_per_s", f64::from(bytes) / ns)
            .figure("messages_per_s", 1e9 / ns)
    }

    #[test]
    fn each_world_has_a_plot_and_each_way_a_curve() {
        let mut all = vec![
            sized("process", "ping-pong", 8, "memcpy", 2.0),
            sized("process", "ping-pong", 8, "chosen", 110.0),
            sized("process", "ping-pong", 4_096, "chosen", 900.0),
            sized("process", "stream", 4_096, "chosen", 410.0),
        ];
        let one = latency(&all).unwrap();
        assert_eq!((one.svg.matches("data-axis=").count(), one.svg.matches("data-name=").count()), (1, 2));
        assert!(one.caption.contains("8 bytes take") && one.caption.contains("(chosen, process)"), "{}", one.caption);
        all.push(sized("thread", "ping-pong", 8, "chosen", 90.0));
        assert_eq!(latency(&all).unwrap().svg.matches("data-axis=").count(), 2);
        assert!(bandwidth(&all).unwrap().caption.contains("GB/s (chosen, process)"));
        assert!(bandwidth(&all[..3]).is_none() && hogs(&all).is_none());
    }

    #[test]
    fn the_policy_that_moves_most_beside_hogs_is_told_with_what_they_keep() {
        let one = |hogs: &str, policy: &str, rate: f64, share: f64| {
            Measurement::from_values(format!("{HOGS}process/{hogs}/{policy}"), "", "round trips/s", vec![rate])
                .label("hogs", hogs)
                .label("policy", policy)
                .figure("half_mean_us", 5e5 / rate)
                .figure("half_p99_us", 9e5 / rate)
                .figure("hog_share", share)
        };
        let all = [one("0", "spin", 4e6, f64::NAN), one("1", "spin", 7e5, 0.49), one("1", "block", 1e4, 0.75)];
        let drawn = hogs(&all).unwrap();
        assert!(drawn.caption.contains("With 1 hogs on each processor spin moves most: 700k"), "{}", drawn.caption);
        assert!(drawn.caption.contains("keep 49 %"), "{}", drawn.caption);
    }
}
