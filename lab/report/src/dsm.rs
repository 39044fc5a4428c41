//! Shared memory: what a fault costs and what that is made of, faults while the owner computes, and what many
//! views cost.
//!
//! Draws measurements `dsm-faults/...`, `dsm-asked/...` and `dsm-faults-owner-computes/...` (nanoseconds,
//! with the labels `touch`, `bytes`, `backend` and `policy`; the parts are figures), and `dsm-views/...`
//! (with the labels `views` and `kib` and the figure `ratio`).
use super::axis::Scale;
use super::spec::{DrawnValue, FigureSpec, bars, figure, least, lines, positive};
use super::svg::escape;
use foregather_results::Measurement;
use foregather_results::elsewhere;
use foregather_results::ids::{ASKED, COMPUTING, FAULT_PARTS, FAULTS, VIEWS};
use foregather_results::number::{digits, quantity, short};

/// Whole faults, and their parts beside them on the same scale.
pub(super) const PARTS_OF_FAULTS: FigureSpec = FigureSpec {
    of: &[FAULTS, ASKED],
    names: |m| Some(vec![("asked", if m.id.starts_with(ASKED) { ", asked" } else { "" }.to_owned())]),
    title: "What a fault of shared memory costs",
    values: &[
        // The upper end of the scatter would leave no room for the parts: it is in the table.
        ("a fault", |m| Some(DrawnValue { dot: figure(m, "p10_ns").map(|ns| ns / 1e3), ..whole(m)? })),
        ("signal, open", |m| figure(m, FAULT_PARTS[0]).map(DrawnValue::of)),
        ("owner's call", |m| figure(m, FAULT_PARTS[1]).map(DrawnValue::of)),
        ("frames", |m| figure(m, FAULT_PARTS[2]).map(DrawnValue::of)),
        ("the rest", |m| figure(m, FAULT_PARTS[3]).map(DrawnValue::of)),
    ],
    series: "{backend}[, {policy}]",
    along: "{touch}, {bytes} bytes{asked}",
    chart: bars("microseconds", Scale::Linear, ""),
    caption: |cells| {
        let faults = cells.iter().filter(|cell| cell.m.id.starts_with(FAULTS));
        let cell = least(faults, |cell| cell.value)?;
        let cpu = cell.figure("cpu_us");
        let cpu = cpu.map_or(String::new(), |us| format!(", and {} of processor time on both", quantity(us, "us")));
        Some(format!(
            "Medians of what rank 0 waits when it touches what rank 1 owns, or asks for it by an accessor's call; a dot is the 10th \
             percentile. The least fault is a {} of {} bytes by {}: {}{cpu}. Parts were measured alone; the rest is what they leave: \
             the protocol, and copies.",
            cell.name("touch"),
            cell.name("bytes"),
            cell.name("backend"),
            quantity(cell.value, "us"),
        ))
    },
    ..FigureSpec::PLAIN
};

/// Faults while the owner computes, beside faults while it waits.
pub(super) const OWNER: FigureSpec = FigureSpec {
    of: &[FAULTS, COMPUTING],
    names: |m| Some(vec![("owner", if m.id.starts_with(COMPUTING) { "computes" } else { "waits" }.to_owned())]),
    // Only sizes that were tried while the owner computed.
    keep: |cells| {
        let computing = cells.iter().filter(|cell| cell.name("owner") == "computes");
        let sizes: Vec<String> = computing.map(|cell| cell.name("bytes").to_owned()).collect();
        cells.retain(|cell| sizes.iter().any(|bytes| bytes == cell.name("bytes")));
    },
    title: "Faults while the owner computes",
    values: &[("", |m| Some(whole(m)?.scattered(figure(m, "p10_ns").map(|ns| ns / 1e3), m.summary.p99.map(|ns| ns / 1e3))))],
    panel: "{touch}",
    series: "{backend}",
    along: "{policy}, owner {owner}",
    chart: bars("microseconds (log scale)", Scale::Log10, ""),
    caption: |cells| {
        let computing = || cells.iter().filter(|cell| cell.name("owner") == "computes");
        let read = least(computing().filter(|cell| cell.name("touch") == "read"), |cell| cell.value);
        let told = read.or(computing().next())?;
        Some(format!(
            "Medians from the 10th to the 99th percentile. While the owner's thread computes on the only processor that its server has, \
             and nothing was asked of that for a while, a {} of {} bytes takes {} ({}, {}).",
            told.name("touch"),
            told.name("bytes"),
            quantity(told.value, "us"),
            told.name("policy"),
            told.name("backend")
        ))
    },
};

/// The time of a loop through many views over that through one.
pub(super) const MANY_VIEWS: FigureSpec = FigureSpec {
    of: &[VIEWS],
    names: |m| Some(vec![("size", size(m.labels.get("kib")?.parse().ok().filter(|&kib: &f64| kib >= 1.0)?))]),
    keep: |cells| cells.sort_by(|a, b| a.number("kib").total_cmp(&b.number("kib"))),
    title: "What many views cost",
    values: &[("", |m| positive(m, "ratio"))],
    series: "{size}",
    along: "{views}",
    chart: lines("views (log scale)", ("times as long as through one view", Scale::Linear), Some((1.0, "through one view"))),
    caption: |cells| {
        let usual = cells.iter().filter(|cell| cell.number("views") <= 32.0);
        let cell = usual.max_by(|a, b| a.value.total_cmp(&b.value)).or(cells.first())?;
        Some(format!(
            "One loop over memory that is all open, as many minipages to a page as there are views, through a view each against the same \
             through one. Up to 32 views it takes at most {} times as long: {} through {}.",
            digits(cell.value, 3),
            cell.name("size"),
            short(cell.number("views"))
        ))
    },
    ..FigureSpec::PLAIN
};

/// The median of a fault, in microseconds.
fn whole(m: &Measurement) -> Option<DrawnValue> {
    m.summary.p50.filter(|&ns| ns > 0.0).map(|ns| DrawnValue::of(ns / 1e3))
}

fn size(kib: f64) -> String {
    if kib >= 1_024.0 { format!("{} MiB", digits(kib / 1_024.0, 3)) } else { format!("{} KiB", digits(kib, 3)) }
}

/// Published costs of other systems, as a section of a page that has faults.
pub(super) fn published(all: &[Measurement]) -> String {
    if !all.iter().any(|m| m.id.starts_with(FAULTS)) {
        return String::new();
    }
    let table = elsewhere::faults();
    let cells = |tag: &str, row: &[String]| row.iter().map(|cell| format!("<{tag}>{}", escape(cell))).collect::<String>();
    let rows: String = table.rows.iter().map(|row| format!("<tr>{}</tr>\n", cells("td", row))).collect();
    format!(
        "<h2>Faults of other systems, on other machines</h2>\n<div class=\"card wide\"><table><tr>{}</tr>\n{rows}</table></div>\n",
        cells("th", &table.headings)
    )
}
