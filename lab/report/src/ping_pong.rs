//! Ping-pong figures, after Guignon 2000: minimum, average and maximum per method.
//!
//! Draws measurements with ids `ping-pong/<partners>/<placement>/<method>/<gap>`, for example
//! `ping-pong/process/two-cpus/spin/0us`; a gap that begins with `0` is none.
use super::axis::Scale;
use super::curve::{Curve, CurveStyle, Point};
use super::lines::{AxisSide, LineChart, Plot};
use super::spec::{Chart, DrawnValue, FigureSpec, ShownMeasurement, least, most, names};
use super::{Drawn, Headline, distinct};
use foregather_results::Measurement;
use foregather_results::number::{quantity, short};

const AT_ONCE: &str = "at once";

/// Minimum, average and maximum per method.
pub(super) const METHODS: FigureSpec = FigureSpec {
    names: id_names,
    keep: |cells| cells.retain(|cell| cell.name("after") == AT_ONCE),
    title: "Ping-pong: one round trip, by way of waiting",
    values: &[("", |m| {
        let s = &m.summary;
        let read = |value: Option<f64>| value.map(|value| value * scale(m).0);
        Some(DrawnValue { dot: read(s.p50), ..DrawnValue::of(read(s.mean)?).scattered(read(s.min), read(s.max)) })
    })],
    panel: "{place}",
    series: "{partners}",
    along: "{method}",
    chart: Chart::Bars {
        axis: "{read in} for a round trip (log scale): bar = average, whisker = minimum to maximum, dot = median",
        scale: Scale::Log10,
        number: "average",
        colours: &[0, 4, 2],
        first: Some(|m| m.summary.mean),
    },
    caption: methods_caption,
    ..FigureSpec::PLAIN
};

/// The median per method and gap, where more than one gap was tried.
pub(super) const GAPS: FigureSpec = FigureSpec {
    names: id_names,
    keep: |cells| {
        let gaps =
            |partners: &str| distinct(cells.iter().filter(|c| c.name("partners") == partners).map(|c| c.name("gap"))).len();
        let Some(whose) = names(cells, "partners").into_iter().find(|partners| gaps(partners) > 1).map(str::to_owned) else {
            return cells.clear();
        };
        let gapped = |cell: &&ShownMeasurement<'_>| cell.name("partners") == whose && cell.name("after") != AT_ONCE;
        let places: Vec<String> = cells.iter().filter(gapped).map(|cell| cell.name("place").to_owned()).collect();
        cells.retain(|cell| cell.name("partners") == whose && places.iter().any(|place| place == cell.name("place")));
    },
    title: "Ping-pong after idling: a processor that slept answers later",
    values: &[("", |m| m.summary.p50.map(|p50| DrawnValue::of(p50 * scale(m).0)))],
    panel: "{partners}, {place}",
    series: "{after}",
    along: "{method}",
    chart: Chart::Bars {
        axis: "{read in} for a round trip (log scale), median",
        scale: Scale::Log10,
        number: "median",
        colours: &[5, 0, 6, 1],
        // The quickest without a gap comes first.
        first: Some(|m| m.summary.mean.filter(|_| m.id_parts().last().is_some_and(|gap| gap.starts_with('0')))),
    },
    caption: gaps_caption,
    ..FigureSpec::PLAIN
};

/// Methods in plain words; the kernel's are known by their names.
const WAYS: [(&str, &str); 9] = [
    ("spin-hot", "spin without a pause"),
    ("spin-yield", "spin, then yield"),
    ("two-phase", "spin, then sleep"),
    ("futex", "sleep (futex)"),
    ("posix-semaphore", "POSIX semaphores"),
    ("sysv-semaphore", "System V semaphores"),
    ("one-semaphore", "one POSIX semaphore"),
    ("condvar", "condition variable"),
    ("two-barriers", "two barriers"),
];

fn method_name(method: &str) -> String {
    WAYS.iter().find(|(known, _)| *known == method).map_or(method, |(_, plain)| plain).to_owned()
}

/// What values are multiplied by, and what they are then.
fn scale(m: &Measurement) -> (f64, &str) {
    if m.unit == "ns" { (1e-3, "microseconds") } else { (1.0, m.unit.as_str()) }
}

/// How far apart the quickest and the slowest way are in the median, in a sentence.
pub(super) fn headline(all: &[Measurement]) -> Option<Headline> {
    let cells = METHODS.cells(all);
    let places = names(&cells, "place");
    let place = *places.iter().find(|place| place.contains("two")).or(places.first())?;
    let median = |cell: &ShownMeasurement<'_>| cell.m.summary.p50.unwrap_or(f64::NAN);
    let partners = cells.first()?.name("partners");
    let same = |cell: &&ShownMeasurement<'_>| (cell.name("place"), cell.name("partners")) == (place, partners);
    let here = || cells.iter().filter(same).filter(|cell| median(cell) > 0.0);
    let (best, worst) = (least(here(), median)?, most(here(), median)?);
    let told = |cell: &ShownMeasurement<'_>| format!("{} by {}", quantity(median(cell), &cell.m.unit), cell.name("method"));
    let about = format!("round trips between {partners}, {place}");
    let sentence = format!("A round trip between {partners}, {place}, takes {} and {}, in the median.", told(best), told(worst));
    let is_single = here().all(|cell| cell.m.summary.n < 2);
    (worst.value > best.value).then_some(Headline { about, sentence, is_single })
}

/// The parts of the id, in words.
fn id_names(m: &Measurement) -> Option<Vec<(&'static str, String)>> {
    let parts = m.id_parts();
    let ["ping-pong", partners, placement, method, gap] = parts[..] else { return None };
    let partners = match partners {
        "process" => "two processes",
        "thread" => "two threads",
        other => other,
    };
    let (number, unit) = gap.split_at(gap.find(|c: char| !c.is_ascii_digit()).unwrap_or(gap.len()));
    let gap = format!("{number} {unit}").trim().to_owned();
    let after = if gap.starts_with('0') { AT_ONCE.to_owned() } else { format!("after {gap} of idling") };
    let place = match placement {
        "two-cpus" => "on two processors".to_owned(),
        "one-cpu" => "on one processor".to_owned(),
        other => format!("on {}", other.replace('-', " ")),
    };
    let all = [
        ("partners", partners.to_owned()),
        ("place", place),
        ("method", method_name(method)),
        ("gap", gap),
        ("after", after),
        ("read in", scale(m).1.to_owned()),
    ];
    (m.summary.n > 0).then(|| all.into())
}

fn mean(cell: &ShownMeasurement<'_>) -> f64 {
    cell.m.summary.mean.unwrap_or(f64::MAX)
}

fn methods_caption(all: &[ShownMeasurement<'_>]) -> Option<String> {
    let unit = &all.first()?.m.unit;
    let mut sentence = String::new();
    let mut before: Option<&ShownMeasurement<'_>> = None;
    for place in names(all, "place") {
        let mut here: Vec<_> = all.iter().filter(|cell| cell.name("place") == place).collect();
        here.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
        let (best, worst) = (here.first()?, here.last()?);
        let (method, took) = (best.name("method"), quantity(mean(best), unit));
        sentence += &match before {
            None => format!(
                "{}{} the quickest answer comes by {method} ({took} on average); {} takes {} times as long",
                place[..1].to_uppercase(),
                &place[1..],
                worst.name("method"),
                short(mean(worst) / mean(best))
            ),
            Some(first) => {
                let again =
                    here.iter().find(|cell| cell.name("method") == first.name("method") && first.name("method") != method);
                let again = again.map_or(String::new(), |cell| {
                    format!(", and {} takes {} times as long as that", first.name("method"), short(mean(cell) / mean(best)))
                });
                format!("; {place} it comes by {method} ({took}){again}")
            }
        };
        before = before.or(Some(best));
    }
    Some(sentence + ".")
}

/// Which methods suffer least and most from the longest gap.
fn gaps_caption(all: &[ShownMeasurement<'_>]) -> Option<String> {
    let place = all.first()?.name("place");
    let here: Vec<_> = all.iter().filter(|cell| cell.name("place") == place).collect();
    let median = |cell: &ShownMeasurement<'_>| cell.m.summary.p50.filter(|&m| m > 0.0);
    let longest = here.iter().rev().find(|cell| cell.name("after") != AT_ONCE)?.name("after");
    let at_once = |method: &str| here.iter().find(|cell| cell.name("method") == method && cell.name("after") == AT_ONCE);
    let mut slower: Vec<(f64, &str)> = Vec::new();
    for cell in here.iter().filter(|cell| cell.name("after") == longest) {
        let before = at_once(cell.name("method")).and_then(|cell| median(cell));
        slower.extend(median(cell).zip(before).map(|(late, before)| (late / before, cell.name("method"))));
    }
    slower.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (Some(least), Some(most)) = (slower.first(), slower.last()) else { return Some(String::new()) };
    let (low, high) = (short(least.0), short(most.0));
    Some(format!("A{}, {place}, {} answers {low} times as late as at once, {} {high} times.", &longest[1..], least.1, most.1))
}

/// Distribution functions of the round trips, for the partners and placement tried first.
pub(super) fn distribution(all: &[Measurement]) -> Option<Drawn> {
    let named = |m| Some((m, id_names(m)?));
    let text = |names: &[(&str, String)], i: usize| names[i].1.clone();
    let mut all: Vec<_> = all.iter().filter_map(named).filter(|(_, names)| text(names, 4) == AT_ONCE).collect();
    let [partners, place] = [0, 1].map(|i| all.first().map(|(_, names)| text(names, i)));
    let (partners, place) = (partners?, place?);
    let (times, unit) = scale(all.first()?.0);
    let unit = unit.to_owned();
    all.retain(|(m, names)| names[0].1 == partners && names[1].1 == place && m.summary.n >= 20);
    all.sort_by(|a, b| a.0.summary.mean.unwrap_or(f64::MAX).total_cmp(&b.0.summary.mean.unwrap_or(f64::MAX)));
    let curve = |(m, names): &(&Measurement, Vec<(&str, String)>)| {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for step in m.distribution()?.steps() {
            // Points of a curve: as many as the eye can tell apart.
            if points.last().is_none_or(|last| step.1 - last.1 > 0.025 || step.0 > 1.15 * last.0 || step.1 == 1.0) {
                points.push(step);
            }
        }
        let points = points.into_iter().map(|(took, share)| Point::sharp((took * times, share))).collect();
        Some(Curve { name: text(names, 2), points, look: CurveStyle::Line })
    };
    let curves: Vec<Curve> = all.iter().filter_map(curve).collect();
    let (one, other) = (curves.first()?, curves.last()?);
    let spread = |curve: &Curve| {
        let of = all.iter().find(|(_, names)| names[2].1 == curve.name).map(|(m, _)| &m.summary);
        of.and_then(|s| Some(short(s.p99? / s.p50?))).unwrap_or_default()
    };
    let caption = format!(
        "The steeper a curve, the steadier the method: one round trip in a hundred takes at least {} times the median by {}, {} times by {}.",
        spread(one),
        one.name,
        spread(other),
        other.name
    );
    let title = format!("Ping-pong round trips of {partners}, {place}");
    let lines = LineChart {
        title: &title,
        x: AxisSide::new(format!("{unit} for a round trip (log scale)"), Scale::Log10),
        y: AxisSide::new("share of round trips done", Scale::Linear),
        steps: true,
        level: None,
        plots: vec![Plot { curves, ..Plot::default() }],
    };
    Some(Drawn { svg: lines.render(), caption })
}
