//! Shared memory: what a fault costs and of what that is made, the same while the owner computes, and what many views cost.
//!
//! Draws measurements `dsm-faults/...`, `dsm-asked/...` and `dsm-faults-owner-computes/...` (nanoseconds, with the labels `touch`, `bytes`, `backend` and
//! `policy`; the parts are figures), and `dsm-views/...` (with the labels `views` and `kib` and the figure `ratio`).
use super::axis::Scale;
use super::bars::{Bar, Bars, Panel};
use super::curve::{Curve, Look, Point};
use super::lines::{AxisSide, Lines, Plot};
use super::svg::{colour, escape};
use super::{Drawn, distinct};
use foregather_measure::dsm::output::{ASKED, COMPUTING, FAULTS, PARTS, VIEWS, elsewhere};
use foregather_results::Measurement;
use foregather_results::number::{digits, quantity, short};

/// A way to touch memory, on one machine.
struct Fault<'a> {
    touch: &'a str,
    bytes: &'a str,
    backend: &'a str,
    policy: &'a str,
    computing: bool,
    /// By an accessor's call.
    asked: bool,
    p50_us: f64,
    m: &'a Measurement,
    /// Which measurement it is.
    of: usize,
}

fn label<'a>(m: &'a Measurement, name: &str) -> Option<&'a str> {
    m.labels.get(name).map(String::as_str)
}

impl<'a> Fault<'a> {
    fn of((of, m): (usize, &'a Measurement)) -> Option<Self> {
        let [computing, asked] = [COMPUTING, ASKED].map(|kind| m.id.starts_with(kind));
        let p50_us = m.summary.p50.filter(|&ns| ns > 0.0 && (computing || asked || m.id.starts_with(FAULTS)))? / 1e3;
        let [touch, bytes] = [label(m, "touch")?, label(m, "bytes")?];
        let [backend, policy] = [label(m, "backend")?, label(m, "policy")?];
        Some(Self { touch, bytes, backend, policy, computing, asked, p50_us, m, of })
    }

    fn figure(&self, name: &str) -> Option<f64> {
        self.m.figures.get(name).copied()
    }

    /// All but the first tenth and the last hundredth.
    fn scatter(&self) -> Option<(f64, f64)> {
        Some((self.figure("p10_ns")? / 1e3, self.m.summary.p99? / 1e3))
    }
}

fn place(of: &[String], name: &str) -> usize {
    of.iter().position(|known| known == name).unwrap_or(0)
}

fn names<'a>(all: impl Iterator<Item = &'a str>) -> Vec<String> {
    distinct(all).into_iter().map(str::to_owned).collect()
}

/// Whole faults, and their parts beside them on the same scale.
pub(super) fn faults(all: &[Measurement]) -> Option<Drawn> {
    let all: Vec<Fault<'_>> = all.iter().enumerate().filter_map(Fault::of).filter(|fault| !fault.computing).collect();
    let several = distinct(all.iter().map(|fault| fault.policy)).len() > 1;
    let line = |fault: &Fault<'_>| format!("{}, {} bytes{}", fault.touch, fault.bytes, if fault.asked { ", asked" } else { "" });
    let whose =
        |fault: &Fault<'_>| if several { format!("{}, {}", fault.backend, fault.policy) } else { fault.backend.to_owned() };
    let (lines, owners): (Vec<String>, Vec<String>) = (all.iter().map(line).collect(), all.iter().map(whose).collect());
    let (labels, series) = (names(lines.iter().map(String::as_str)), names(owners.iter().map(String::as_str)));
    let bars = |value: &dyn Fn(&Fault<'_>) -> Option<f64>, whole: bool| -> Vec<Bar> {
        let bar = |fault: &Fault<'_>| {
            let (label, series) = (place(&labels, &line(fault)), place(&series, &whose(fault)));
            // The upper end of what scatters would leave no room for the parts: it is in the table.
            let dot = fault.figure("p10_ns").filter(|_| whole).map(|ns| ns / 1e3);
            Some(Bar { label, series, value: value(fault)?, whisker: None, dot, of: fault.of })
        };
        all.iter().filter_map(bar).collect()
    };
    let least = all.iter().filter(|fault| !fault.asked).min_by(|a, b| a.p50_us.total_cmp(&b.p50_us))?;
    let cpu =
        least.figure("cpu_us").map_or(String::new(), |us| format!(", and {} of processor time on both", quantity(us, "us")));
    let caption = format!(
        "Medians of what rank 0 waits when it touches what rank 1 owns, or asks for it by an accessor's call; a dot is the 10th percentile. The least fault is a {} of {} bytes by {}: {}{cpu}. \
         Parts were measured alone; the rest is what they leave: the protocol, and copies.",
        least.touch,
        least.bytes,
        least.backend,
        quantity(least.p50_us, "us"),
    );
    let headings = ["signal, open", "owner's call", "frames", "the rest"];
    let part = |(heading, name): (&str, &'static str)| Panel {
        title: heading.to_owned(),
        bars: bars(&|fault: &Fault<'_>| fault.figure(name), false),
    };
    let whole = Panel { title: "a fault".to_owned(), bars: bars(&|fault: &Fault<'_>| Some(fault.p50_us), true) };
    let parts = headings.into_iter().zip(PARTS).map(part).filter(|panel| !panel.bars.is_empty());
    let panels: Vec<Panel> = [whole].into_iter().chain(parts).collect();
    let chart = Bars {
        title: "What a fault of shared memory costs",
        axis: "microseconds".to_owned(),
        scale: Scale::Linear,
        number: "",
        series: series.iter().enumerate().map(|(i, name)| (name.clone(), colour(i))).collect(),
        labels,
        panels,
    };
    Some(Drawn { svg: chart.render(), caption })
}

/// Faults while the owner computes, beside the same while it waits.
pub(super) fn owner(all: &[Measurement]) -> Option<Drawn> {
    let all: Vec<Fault<'_>> = all.iter().enumerate().filter_map(Fault::of).filter(|fault| !fault.asked).collect();
    let best = |touch: &str| {
        let mine = all.iter().filter(|fault| fault.computing && fault.touch == touch);
        mine.min_by(|a, b| a.p50_us.total_cmp(&b.p50_us))
    };
    let told = best("read").or_else(|| all.iter().find(|fault| fault.computing))?;
    // Only sizes and policies that were tried while the owner computed.
    let shown = |fault: &Fault<'_>| all.iter().any(|other| other.computing && other.bytes == fault.bytes);
    let all: Vec<&Fault<'_>> = all.iter().filter(|fault| shown(fault)).collect();
    let line = |fault: &Fault<'_>| format!("{}, owner {}", fault.policy, if fault.computing { "computes" } else { "waits" });
    let lines: Vec<String> = all.iter().map(|fault| line(fault)).collect();
    let (labels, series) = (names(lines.iter().map(String::as_str)), names(all.iter().map(|fault| fault.backend)));
    let panel = |touch: &str| {
        let bar = |fault: &&&Fault<'_>| Bar {
            label: place(&labels, &line(fault)),
            series: place(&series, fault.backend),
            value: fault.p50_us,
            whisker: fault.scatter(),
            dot: None,
            of: fault.of,
        };
        Panel {
            title: touch.to_owned(),
            bars: all.iter().filter(|fault| fault.touch == touch).map(|fault| bar(&fault)).collect(),
        }
    };
    let panels = distinct(all.iter().map(|fault| fault.touch)).into_iter().map(panel).collect();
    let caption = format!(
        "Medians from the 10th to the 99th percentile. While the owner's thread computes on the only processor that its server has, and nothing was asked of that for a while, a {} of {} bytes takes {} ({}, {}).",
        told.touch,
        told.bytes,
        quantity(told.p50_us, "us"),
        told.policy,
        told.backend
    );
    let chart = Bars {
        title: "Faults while the owner computes",
        axis: "microseconds (log scale)".to_owned(),
        scale: Scale::Log10,
        number: "",
        series: series.iter().enumerate().map(|(i, name)| (name.clone(), colour(i))).collect(),
        labels,
        panels,
    };
    Some(Drawn { svg: chart.render(), caption })
}

/// One loop through many views against the same through one.
pub(super) fn views(all: &[Measurement]) -> Option<Drawn> {
    let point = |m: &Measurement| {
        let number = |name: &str| label(m, name)?.parse::<f64>().ok().filter(|&n| n >= 1.0);
        Some((number("kib")?, number("views")?, m.figures.get("ratio").copied().filter(|&ratio| ratio > 0.0)?))
    };
    let all: Vec<(f64, f64, f64)> = all.iter().filter(|m| m.id.starts_with(VIEWS)).filter_map(point).collect();
    let mut sizes: Vec<f64> = all.iter().map(|of| of.0).collect();
    sizes.sort_by(f64::total_cmp);
    sizes.dedup();
    let curve = |&kib: &f64| {
        let mut points: Vec<Point> = all.iter().filter(|of| of.0 == kib).map(|of| Point::sharp((of.1, of.2))).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        Curve { name: size(kib), points, look: Look::Points }
    };
    let usual = all.iter().filter(|of| of.1 <= 32.0).max_by(|a, b| a.2.total_cmp(&b.2));
    let (kib, views, ratio) = *usual.or(all.first())?;
    let caption = format!(
        "One loop over memory that is all open, as many minipages to a page as there are views, through a view each against the same through one. \
         Up to 32 views it takes at most {} times as long: {} through {}.",
        digits(ratio, 3),
        size(kib),
        short(views)
    );
    let chart = Lines {
        title: "What many views cost",
        x: AxisSide::new("views (log scale)", Scale::Log2),
        y: AxisSide::new("times as long as through one view", Scale::Linear),
        steps: false,
        level: Some((1.0, "through one view".to_owned())),
        plots: vec![Plot { title: String::new(), curves: sizes.iter().map(curve).collect(), remarks: vec![] }],
    };
    Some(Drawn { svg: chart.render(), caption })
}

fn size(kib: f64) -> String {
    if kib >= 1_024.0 { format!("{} MiB", digits(kib / 1_024.0, 3)) } else { format!("{} KiB", digits(kib, 3)) }
}

/// What others have measured elsewhere, as a section of a page that has faults.
pub(super) fn published(all: &[Measurement]) -> String {
    if !all.iter().any(|m| m.id.starts_with(FAULTS)) {
        return String::new();
    }
    let table = elsewhere();
    let cells = |tag: &str, row: &[String]| row.iter().map(|cell| format!("<{tag}>{}", escape(cell))).collect::<String>();
    let rows: String = table.rows.iter().map(|row| format!("<tr>{}</tr>\n", cells("td", row))).collect();
    format!(
        "<h2>Faults of other systems, on other machines</h2>\n<div class=\"card wide\"><table><tr>{}</tr>\n{rows}</table></div>\n",
        cells("th", &table.headings)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(kind: &str, policy: &str, touch: &str, ns: u64) -> Measurement {
        let m = Measurement::from_histogram(format!("{kind}shm/mprotect/{policy}/148B/{touch}"), "", "ns", vec![(ns, 9)]);
        let m = m.label("touch", touch).label("bytes", "148").label("backend", "mprotect").label("policy", policy);
        m.figure("p10_ns", ns as f64 * 0.9).figure("cpu_us", 3.0)
    }

    #[test]
    fn the_least_fault_is_told_with_its_processor_time() {
        let mut all = vec![fault(FAULTS, "spin", "read", 4_100), fault(FAULTS, "spin", "write", 5_200)];
        let one = faults(&all).unwrap();
        assert!(one.caption.contains("a read of 148 bytes by mprotect: 4.1 us, and 3 us of processor time"), "{}", one.caption);
        assert!(!one.svg.contains("the rest") && owner(&all).is_none() && views(&all).is_none());
        all[0] = all[0].clone().figure("rest_us", -0.2).figure("frames_us", 0.4);
        let parts = faults(&all).unwrap().svg;
        assert!(parts.contains("the rest") && !parts.contains("owner&#39;s call"), "only parts that there are");
    }

    #[test]
    fn an_owner_that_computes_is_shown_beside_one_that_waits() {
        let all = [fault(FAULTS, "block", "read", 40_000), fault(COMPUTING, "block", "read", 21_000)];
        let drawn = owner(&all).unwrap();
        assert!(drawn.caption.contains("a read of 148 bytes takes 21 us (block, mprotect)"), "{}", drawn.caption);
        assert!(drawn.svg.contains("block, owner waits") && drawn.svg.contains("block, owner computes"));
    }

    #[test]
    fn views_have_a_curve_for_each_size_and_the_worst_up_to_32_is_told() {
        let one = |kib: u32, views: u32, ratio: f64| {
            let m = Measurement::from_values(format!("{VIEWS}u/{kib}KiB/{views}"), "", "ns", vec![1.0]);
            m.label("kib", kib.to_string()).label("views", views.to_string()).figure("ratio", ratio)
        };
        let all = [one(256, 1, 1.0), one(256, 27, 1.06), one(16_384, 27, 1.7), one(16_384, 128, 7.7)];
        let drawn = views(&all).unwrap();
        assert_eq!(drawn.svg.matches("data-name=").count(), 2);
        assert!(drawn.caption.contains("at most 1.7 times as long: 16 MiB through 27"), "{}", drawn.caption);
    }

    #[test]
    fn what_others_have_measured_stands_beside_faults_only() {
        assert_eq!(published(&[]), "");
        let section = published(&[fault(FAULTS, "spin", "read", 1)]);
        assert!(section.contains("Millipage, 1999") && section.contains("Itzkovitz &amp; Schuster"), "{section}");
    }
}
