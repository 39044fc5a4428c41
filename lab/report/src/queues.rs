//! What rare messages cost the reader of a queue: how late it has them, and how much of a processor it burns.
//!
//! Draws measurements `broadcast/...` (microseconds, with the labels `queue`, `gaps` and `gap_us` and the
//! figure `cpu_percent`).
use super::axis::Scale;
use super::names::{self, PRODUCT};
use super::spec::{DrawnValue, FigureSpec, ShownMeasurement, lines, positive};
use foregather_results::ids::BROADCAST;
use foregather_results::number::digits;

/// The loop that never sleeps, and the one that always does.
const SPIN: &str = "spin";
const FUTEX: &str = "sleep at once";

/// A panel for each kind of gaps, a curve for each queue.
pub(super) const LATE: FigureSpec = FigureSpec {
    of: &[BROADCAST],
    names: |m| Some(m.labels.get("queue").map(|queue| ("queue", names::library(queue))).into_iter().collect()),
    title: "How late the reader of a queue has its messages",
    values: &[("", |m| Some(DrawnValue::of(m.summary.p50.filter(|&us| us > 0.0)?)))],
    panel: "{gaps} gaps",
    series: "{queue}",
    along: "{gap_us}",
    chart: lines("mean gap between messages in microseconds (log scale)", ("microseconds late (log scale)", Scale::Log10), None),
    caption: |cells| {
        let told = |gaps: &'static str| {
            let ours = |cell: &&ShownMeasurement<'_>| names::is_product(cell.name("queue")) && cell.name("gaps") == gaps;
            let widest = |a: &&ShownMeasurement<'_>, b: &&ShownMeasurement<'_>| a.number("gap_us").total_cmp(&b.number("gap_us"));
            let ours = cells.iter().filter(ours).max_by(widest)?;
            let of = |queue: &str| {
                let at = |cell: &&ShownMeasurement<'_>| cell.name("gaps") == gaps && cell.name("gap_us") == ours.name("gap_us");
                cells.iter().filter(at).find(|cell| cell.name("queue") == queue)
            };
            let figure = |cell: &ShownMeasurement<'_>| {
                let cpu =
                    cell.figure("cpu_percent").map_or(String::new(), |cpu| format!(" at {} % of a processor", digits(cpu, 2)));
                format!("{} us{cpu}", digits(cell.value, 2))
            };
            let other = |queue: &str, says: &str| of(queue).map_or(String::new(), |cell| format!(", {says} {}", figure(cell)));
            Some(format!(
                "With {gaps} gaps of {} us {PRODUCT} is late by {}{}{}.",
                ours.name("gap_us"),
                figure(ours),
                other(SPIN, "a spinner by"),
                other(FUTEX, "a sleeper by")
            ))
        };
        let all: Vec<String> = ["regular", "exponential"].into_iter().filter_map(told).collect();
        Some(format!("Medians. {}", all.join(" ")).trim_end().to_owned())
    },
    ..FigureSpec::PLAIN
};

/// The same queues, by what their reader burns.
pub(super) const BURNT: FigureSpec = FigureSpec {
    title: "What the reader of a queue burns meanwhile",
    values: &[("", |m| positive(m, "cpu_percent"))],
    chart: lines(
        "mean gap between messages in microseconds (log scale)",
        ("percent of a processor (log scale)", Scale::Log10),
        None,
    ),
    caption: |_| Some("Processor time of the reader, its own work for a message included; medians of runs.".to_owned()),
    ..LATE
};
