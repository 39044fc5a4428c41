//! Ping-pong figures, after Guignon 2000: minimum, average and maximum per method.
//!
//! Draws measurements with ids `ping-pong/<partners>/<placement>/<method>/<gap>`, for example
//! `ping-pong/process/two-cpus/spin/0us`; a gap that begins with `0` is none.
use super::axis::Scale;
use super::bars::{Bar, Bars, Panel};
use super::curve::{Curve, Look, Point};
use super::lines::{AxisSide, Lines, Plot};
use super::svg::colour;
use super::{Drawn, distinct};
use foregather_results::Measurement;
use foregather_results::number::{quantity, short};

/// One ping-pong measurement, its id taken apart.
struct PingPongRow<'a> {
    partners: &'a str,
    placement: &'a str,
    method: &'a str,
    gap: &'a str,
    of: &'a Measurement,
    /// Its number among all measurements.
    number: usize,
}

impl PingPongRow<'_> {
    fn at_once(&self) -> bool {
        self.gap.starts_with('0')
    }

    fn mean(&self) -> f64 {
        self.of.summary.mean.unwrap_or(f64::MAX)
    }
}

fn played(all: &[Measurement]) -> Vec<PingPongRow<'_>> {
    let taken_apart = |(number, of)| match Measurement::id_parts(of)[..] {
        ["ping-pong", partners, placement, method, gap] => Some(PingPongRow { partners, placement, method, gap, of, number }),
        _ => None,
    };
    all.iter().enumerate().filter(|(_, m)| m.summary.n > 0).filter_map(taken_apart).collect()
}

fn partners(name: &str) -> String {
    match name {
        "process" => "two processes".to_owned(),
        "thread" => "two threads".to_owned(),
        other => other.to_owned(),
    }
}

fn placement(name: &str) -> String {
    format!("on {}", name.replace('-', " "))
}

/// A gap with a space before its unit: `10ms` as `10 ms`.
fn spaced(gap: &str) -> String {
    let (number, unit) = gap.split_at(gap.find(|c: char| !c.is_ascii_digit()).unwrap_or(gap.len()));
    format!("{number} {unit}").trim().to_owned()
}

fn index(of: &str, names: &[&str]) -> usize {
    names.iter().position(|n| *n == of).unwrap_or(0)
}

/// The methods, fastest first where they were tried first.
fn ordered<'a>(all: &[&PingPongRow<'a>]) -> Vec<&'a str> {
    let mut methods = distinct(all.iter().map(|p| p.method));
    let first = all.first().map_or("", |p| p.placement);
    let best = |method: &str| {
        let here = all.iter().filter(|p| p.method == method && p.placement == first);
        here.map(|p| p.mean()).fold(f64::MAX, f64::min)
    };
    methods.sort_by(|a, b| best(a).total_cmp(&best(b)));
    methods
}

/// Minimum, average and maximum per method.
pub(super) fn methods(all: &[Measurement]) -> Option<Drawn> {
    let all = played(all);
    let all: Vec<&PingPongRow<'_>> = all.iter().filter(|p| p.at_once()).collect();
    let unit = &all.first()?.of.unit;
    let methods = ordered(&all);
    let series = distinct(all.iter().map(|p| p.partners));
    let bar = |p: &&PingPongRow<'_>| {
        let s = &p.of.summary;
        Some(Bar {
            label: index(p.method, &methods),
            series: index(p.partners, &series),
            value: s.mean?,
            whisker: s.min.zip(s.max),
            dot: s.p50,
            of: p.number,
        })
    };
    let panels = distinct(all.iter().map(|p| p.placement))
        .into_iter()
        .map(|name| Panel { title: placement(name), bars: all.iter().filter(|p| p.placement == name).filter_map(bar).collect() });
    let bars = Bars {
        title: "Ping-pong: one round trip, by way of waiting",
        axis: format!("{unit} per round trip (log scale): bar = average, whisker = minimum to maximum, dot = median"),
        scale: Scale::Log10,
        number: "average",
        labels: methods.iter().map(ToString::to_string).collect(),
        series: series.iter().enumerate().map(|(i, name)| (partners(name), colour([0, 4, 2][i % 3]))).collect(),
        panels: panels.collect(),
    };
    Some(Drawn { svg: bars.render(), caption: methods_caption(&all) })
}

fn methods_caption(all: &[&PingPongRow<'_>]) -> String {
    let mut sentence = String::new();
    let mut before: Option<&PingPongRow<'_>> = None;
    for name in distinct(all.iter().map(|p| p.placement)) {
        let mut here: Vec<_> = all.iter().filter(|p| p.placement == name).collect();
        here.sort_by(|a, b| a.mean().total_cmp(&b.mean()));
        let (Some(best), Some(worst)) = (here.first(), here.last()) else { continue };
        let unit = &best.of.unit;
        let place = placement(name);
        sentence += &match before {
            None => format!(
                "{}{} the quickest answer comes by {} ({} on average); {} takes {} times as long",
                place[..1].to_uppercase(),
                &place[1..],
                best.method,
                quantity(best.mean(), unit),
                worst.method,
                short(worst.mean() / best.mean())
            ),
            Some(first) => {
                let again = here.iter().find(|p| p.method == first.method).filter(|_| first.method != best.method);
                let again = again.map_or(String::new(), |p| {
                    format!(", and {} takes {} times as long as that", first.method, short(p.mean() / best.mean()))
                });
                format!("; {place} it comes by {} ({}){again}", best.method, quantity(best.mean(), unit))
            }
        };
        before = before.or(Some(best));
    }
    sentence + "."
}

/// The median per method and gap, where more than one gap was tried.
pub(super) fn gaps(all: &[Measurement]) -> Option<Drawn> {
    let all = played(all);
    let with_gaps = |who: &&str| distinct(all.iter().filter(|p| p.partners == *who).map(|p| p.gap)).len() > 1;
    let who = distinct(all.iter().map(|p| p.partners)).into_iter().find(with_gaps)?;
    let all: Vec<&PingPongRow<'_>> = all.iter().filter(|p| p.partners == who).collect();
    let gaps = distinct(all.iter().map(|p| p.gap));
    let has_gaps = |name: &&str| all.iter().any(|p| p.placement == *name && !p.at_once());
    let placements: Vec<_> = distinct(all.iter().map(|p| p.placement)).into_iter().filter(has_gaps).collect();
    let shown: Vec<&PingPongRow<'_>> = all.iter().copied().filter(|p| placements.contains(&p.placement)).collect();
    let at_once: Vec<&PingPongRow<'_>> = shown.iter().copied().filter(|p| p.at_once()).collect();
    let methods = ordered(if at_once.is_empty() { &shown } else { &at_once });
    let unit = &shown.first()?.of.unit;
    let bar = |p: &&&PingPongRow<'_>| {
        let (label, series) = (methods.iter().position(|m| *m == p.method)?, index(p.gap, &gaps));
        Some(Bar { label, series, value: p.of.summary.p50?, whisker: None, dot: None, of: p.number })
    };
    let panel = |name: &&str| Panel {
        title: format!("{}, {}", partners(who), placement(name)),
        bars: shown.iter().filter(|p| p.placement == *name).filter_map(|p| bar(&p)).collect(),
    };
    let named = |gap: &str| if gap.starts_with('0') { "at once".to_owned() } else { format!("after {} of idling", spaced(gap)) };
    let bars = Bars {
        title: "Ping-pong after idling: a processor that slept answers later",
        axis: format!("{unit} per round trip (log scale), median"),
        scale: Scale::Log10,
        number: "median",
        labels: methods.iter().map(ToString::to_string).collect(),
        series: gaps.iter().enumerate().map(|(i, gap)| (named(gap), colour([5, 0, 6, 1][i % 4]))).collect(),
        panels: placements.iter().map(panel).collect(),
    };
    Some(Drawn { svg: bars.render(), caption: gaps_caption(&shown, placements.first()?) })
}

/// Which methods suffer least and most from the longest gap.
fn gaps_caption(all: &[&PingPongRow<'_>], placement_shown: &str) -> String {
    let here: Vec<_> = all.iter().filter(|p| p.placement == placement_shown).collect();
    let median = |p: &PingPongRow<'_>| p.of.summary.p50.filter(|&m| m > 0.0);
    let Some(longest) = here.iter().rev().find(|p| !p.at_once()).map(|p| p.gap) else { return String::new() };
    let mut slower: Vec<(f64, &str)> = here
        .iter()
        .filter(|p| p.gap == longest)
        .filter_map(|p| {
            let at_once = here.iter().find(|q| q.method == p.method && q.at_once())?;
            Some((median(p)? / median(at_once)?, p.method))
        })
        .collect();
    slower.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (Some(least), Some(most)) = (slower.first(), slower.last()) else { return String::new() };
    let (low, high) = (short(least.0), short(most.0));
    let place = placement(placement_shown);
    format!(
        "After {} of idling, {place}, {} answers {low} times as late as at once, {} {high} times.",
        spaced(longest),
        least.1,
        most.1
    )
}

/// Distribution functions of the round trips, for the partners and placement tried first.
pub(super) fn distribution(all: &[Measurement]) -> Option<Drawn> {
    let all = played(all);
    let first = all.iter().find(|p| p.at_once())?;
    let same = |p: &&PingPongRow<'_>| p.at_once() && p.partners == first.partners && p.placement == first.placement;
    let shown: Vec<&PingPongRow<'_>> = all.iter().filter(same).filter(|p| p.of.summary.n >= 20).collect();
    let curve = |method: &&str| {
        let p = shown.iter().find(|p| p.method == *method)?;
        let mut points: Vec<(f64, f64)> = Vec::new();
        for step in p.of.distribution()?.steps() {
            // As many points as the eye can tell apart.
            if points.last().is_none_or(|last| step.1 - last.1 > 0.025 || step.0 > 1.15 * last.0 || step.1 == 1.0) {
                points.push(step);
            }
        }
        let points = points.into_iter().map(Point::sharp).collect();
        Some(Curve { name: (*method).to_owned(), points, look: Look::Line })
    };
    let curves: Vec<Curve> = ordered(&shown).iter().filter_map(curve).collect();
    let (one, other) = (curves.first()?, curves.last()?);
    let spread = |curve: &Curve| {
        let of = shown.iter().find(|p| p.method == curve.name).map(|p| &p.of.summary);
        of.and_then(|s| Some(short(s.p99? / s.p50?))).unwrap_or_default()
    };
    let caption = format!(
        "The steeper a curve, the steadier the method: one round trip in a hundred takes at least {} times the median by {}, {} times by {}.",
        spread(one),
        one.name,
        spread(other),
        other.name
    );
    let title = format!("Ping-pong round trips of {}, {}", partners(first.partners), placement(first.placement));
    let lines = Lines {
        title: &title,
        x: AxisSide::new(format!("{} per round trip (log scale)", first.of.unit), Scale::Log10),
        y: AxisSide::new("share of round trips done", Scale::Linear),
        steps: true,
        level: None,
        plots: vec![Plot { curves, ..Plot::default() }],
    };
    Some(Drawn { svg: lines.render(), caption })
}
