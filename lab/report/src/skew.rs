//! Barriers ranked twice: what an episode costs, and how far apart its members leave it.
//!
//! Draws measurements whose ids begin with `skew/`, with the labels `kind`, `policy` and `release` (`plain`
//! or `harmonized`) and the figures `exit_skew_p50_ns`, `exit_skew_p99_ns`, `predicted_us` and `met_percent`.
//! One part a policy, one row a kind.
use super::axis::{Axis, Scale};
use super::legend::{LegendEntry, Swatch};
use super::svg::{At, Canvas, Svg, colour, fitted, ink, width_of};
use super::{Drawn, distinct};
use foregather_results::Measurement;
use foregather_results::layers;
use foregather_results::number::{digits, quantity, short};

const WIDTH: f64 = 960.0;
/// Height of a row: a line for each release, and the room to the next row.
const LINE: f64 = 12.0;
const ROW: f64 = 2.0 * LINE + 5.0;
/// Room for the numbers at the right of the costs, and of the skews.
const COSTS: f64 = 52.0;
const SKEWS: f64 = 138.0;
const RELEASES: [&str; 2] = ["plain", "harmonized"];
const PREDICTED: usize = RELEASES.len();

/// One kind under one policy with one release.
#[derive(Clone, Copy)]
struct SkewRun {
    cost_us: f64,
    /// p50 and p99 of the exit skew, over all episodes.
    skew_ns: Option<(f64, f64)>,
    predicted_us: Option<f64>,
    met_percent: Option<f64>,
    /// Whether no other run under this policy has both a lower cost and a lower skew.
    in_front: bool,
    /// The number of its measurement.
    of: usize,
}

/// One kind of barrier: a run for each release.
struct SkewRow<'a> {
    kind: &'a str,
    runs: [Option<SkewRun>; 2],
}

impl SkewRow<'_> {
    fn cost(&self) -> f64 {
        self.runs.iter().flatten().next().map_or(f64::MAX, |run| run.cost_us)
    }
}

/// The rows of one waiting policy, the cheapest kind first.
struct PolicyRows<'a> {
    policy: &'a str,
    rows: Vec<SkewRow<'a>>,
}

impl PolicyRows<'_> {
    fn runs(&self) -> impl Iterator<Item = (&SkewRow<'_>, usize, SkewRun)> {
        let of = |row| move |(release, run): (usize, &Option<SkewRun>)| run.map(|run| (row, release, run));
        self.rows.iter().flat_map(move |row| row.runs.iter().enumerate().filter_map(of(row)))
    }
}

fn run((of, m): (usize, &Measurement)) -> Option<SkewRun> {
    let figure = |name: &str| m.figures.get(name).copied();
    // Older documents have only the skew of the episodes that met, under the shorter name.
    let skew = |name: &str| figure(&format!("all_{name}")).or_else(|| figure(name));
    Some(SkewRun {
        cost_us: m.summary.p50?,
        skew_ns: skew("exit_skew_p50_ns").zip(skew("exit_skew_p99_ns")),
        predicted_us: figure("predicted_us"),
        met_percent: figure("met_percent"),
        in_front: false,
        of,
    })
}

fn part<'a>(all: &[(usize, &'a Measurement)], policy: &'a str) -> PolicyRows<'a> {
    let here = || all.iter().filter(|(_, m)| m.text("policy") == policy);
    let row = |kind: &'a str| {
        let find = |release: &str| here().find(|(_, m)| m.text("kind") == kind && m.text("release") == release);
        SkewRow { kind, runs: RELEASES.map(|release| run(*find(release)?)) }
    };
    let mut rows: Vec<SkewRow<'a>> = distinct(here().map(|(_, m)| m.text("kind"))).into_iter().map(row).collect();
    rows.retain(|row| row.runs.iter().any(Option::is_some));
    rows.sort_by(|a, b| a.cost().total_cmp(&b.cost()));
    let both = |run: &SkewRun| (run.cost_us, run.skew_ns.map_or(f64::NAN, |skew| skew.0));
    let points: Vec<_> = rows.iter().flat_map(|row| row.runs.iter().flatten()).map(both).collect();
    let runs = rows.iter_mut().flat_map(|row| row.runs.iter_mut().flatten());
    runs.zip(layers(&points)).for_each(|(run, layer)| run.in_front = layer == 1);
    PolicyRows { policy, rows }
}

/// Cost and exit skew of every kind, one part a policy.
pub(super) fn draw(all: &[Measurement]) -> Option<Drawn> {
    let all: Vec<(usize, &Measurement)> = all.iter().enumerate().filter(|(_, m)| m.id.starts_with("skew/")).collect();
    let policies = distinct(all.iter().map(|(_, m)| m.text("policy")));
    let mut parts: Vec<PolicyRows<'_>> = policies.into_iter().map(|policy| part(&all, policy)).collect();
    parts.retain(|part| !part.rows.is_empty());
    let members = match all.first()?.1.text("threads") {
        "" => "members".to_owned(),
        threads => format!("{threads} members"),
    };
    let title = format!("Barriers of {members}: what an episode costs, and how far apart they leave it");
    let told: Vec<String> = parts.iter().filter_map(caption).collect();
    (!parts.is_empty()).then(|| Drawn { svg: render(&title, &parts), caption: told.join(" ") })
}

/// Names the cheapest and the evenest run of a policy.
fn caption(part: &PolicyRows<'_>) -> Option<String> {
    let (row, release, cheapest) = part.runs().min_by(|a, b| a.2.cost_us.total_cmp(&b.2.cost_us))?;
    let named = |row: &SkewRow<'_>, release: usize| row.kind.to_owned() + ["", ", harmonized,"][release];
    let apart = |run: &SkewRun| {
        let (p50, p99) = run.skew_ns?;
        Some(format!("{} apart in the median and {} at p99", quantity(p50, "ns"), quantity(p99, "ns")))
    };
    let mut text =
        format!("Waiting by {}, {} costs least: {}", part.policy, named(row, release), quantity(cheapest.cost_us, "us"));
    text += &apart(&cheapest).map_or(String::new(), |apart| format!(", and its members leave {apart}"));
    let p99 = |run: &SkewRun| run.skew_ns.map_or(f64::INFINITY, |skew| skew.1);
    let (row, release, evenest) = part.runs().min_by(|a, b| p99(&a.2).total_cmp(&p99(&b.2)))?;
    if evenest.of != cheapest.of {
        let met = evenest.met_percent.map_or(String::new(), |met| format!(", with {} % that meet", digits(met, 3)));
        let (name, cost) = (named(row, release), quantity(evenest.cost_us, "us"));
        text += &apart(&evenest).map_or(String::new(), |apart| format!("; {name} is the evenest: {apart}{met}, for {cost}"));
    }
    Some(text + ".")
}

fn render(title: &str, parts: &[PolicyRows<'_>]) -> Svg {
    let mut canvas = Canvas::new(WIDTH);
    canvas.heading(16.0, 26.0, 15.0, &fitted(title, 15.6, WIDTH - 32.0));
    let entry = |series, name, ink, swatch| LegendEntry { series: Some(series), name, ink, swatch };
    let mut entries = vec![entry(0, "plain", colour(0), Swatch::Box), entry(1, "harmonized", colour(1), Swatch::Box)];
    if parts.iter().flat_map(PolicyRows::runs).any(|(_, _, run)| run.predicted_us.is_some()) {
        entries.push(entry(PREDICTED, "cost that LogGP predicts", ink::TEXT, Swatch::Upright));
    }
    let mut y = 38.0 + canvas.legend((8.0, WIDTH), 38.0, &entries);
    let note = "dot = median, filled if no other by the same policy has less of both; line = skew up to p99";
    canvas.text(17.0, y + 9.0, At::Start, ink::SOFT, note);
    y += 20.0;
    let labels = parts.iter().flat_map(|part| &part.rows).map(|row| width_of(row.kind, 12.0));
    let left = labels.fold(60.0, f64::max).min(170.0) + 28.0;
    for part in parts {
        y = draw_part(&mut canvas, part, left, y);
    }
    canvas.finish(y, title)
}

/// Draws one policy from `top` on; returns where the next may begin.
fn draw_part(canvas: &mut Canvas, part: &PolicyRows<'_>, left: f64, top: f64) -> f64 {
    let wide = (WIDTH - left - COSTS - SKEWS - 40.0) / 2.0;
    let costs = part.runs().flat_map(|(_, _, run)| [Some(run.cost_us), run.predicted_us]).flatten();
    let skews = part.runs().filter_map(|(_, _, run)| run.skew_ns).flat_map(|(p50, p99)| [p50, p99]);
    let cost = Axis::fit(costs, Scale::Log10, (left, left + wide));
    let skew = Axis::fit(skews, Scale::Log10, (cost.to + COSTS + 28.0, cost.to + COSTS + 28.0 + wide));
    let first = top + 46.0;
    let bottom = first + ROW * part.rows.len() as f64;
    canvas.heading(16.0, top + 18.0, 13.0, &fitted(&format!("waiting by {}", part.policy), 13.5, WIDTH - 32.0));
    canvas.texts(At::Start, ink::TEXT, [(cost.from, first - 8.0, "cost".into()), (skew.from, first - 8.0, "exit skew".into())]);
    let heads = [(cost.to + COSTS, "us"), (skew.to + 92.0, "p50 \u{2013} p99 ns"), (skew.to + SKEWS, "met %")];
    canvas.texts(At::End, ink::SOFT, heads.map(|(x, head)| (x, first - 8.0, head.to_owned())));
    for (axis, right, name) in [
        (&cost, cost.to + COSTS, "us from the last arrival to the last exit (log scale)"),
        (&skew, skew.to + SKEWS, "ns from the first exit to the last (log scale)"),
    ] {
        let rules: String =
            (1..part.rows.len()).map(|i| format!("M{:.1} {:.1}H{right:.1}", axis.from, first + ROW * i as f64)).collect();
        canvas.line(&rules, ink::GRID, 0.5);
        let upright = |v: f64| format!("M{:.1} {first:.1}V{bottom:.1}", axis.at(v));
        canvas.grid(&axis.ticks(36.0), At::Middle, upright, |v| (axis.at(v), bottom + 16.0));
        canvas.text((axis.from + axis.to) / 2.0, bottom + 34.0, At::Middle, ink::SOFT, name);
    }
    let name = |(i, row): (usize, &SkewRow<'_>)| {
        (left - 12.0, first + ROW * (i as f64 + 0.5) + 4.0, fitted(row.kind, 12.0, left - 28.0))
    };
    canvas.texts(At::End, ink::TEXT, part.rows.iter().enumerate().map(name));
    let placed = |release: usize| {
        let line = first + (ROW - LINE) / 2.0 + LINE * (release as f64 - 0.5) + LINE / 2.0;
        let run = move |(i, row): (usize, &SkewRow<'_>)| Some((line + ROW * i as f64, row.runs[release]?));
        part.rows.iter().enumerate().filter_map(run).collect::<Vec<(f64, SkewRun)>>()
    };
    (0..RELEASES.len()).for_each(|release| marks(canvas, release, &placed(release), (&cost, &skew)));
    let mark = |(y, run): &(f64, SkewRun)| Some(format!("M{:.1} {:.1}v11", cost.at(run.predicted_us?), y - 5.5));
    let predicted: String =
        (0..RELEASES.len()).flat_map(|release| placed(release).iter().filter_map(mark).collect::<Vec<_>>()).collect();
    canvas.group(
        format_args!(r#"class="s" data-s="{PREDICTED}""#),
        &format!(r#"<path d="{predicted}" stroke="{}" stroke-width="2"/>"#, ink::TEXT),
    );
    bottom + 48.0
}

/// The marks of one release, each run at its height.
fn marks(canvas: &mut Canvas, release: usize, runs: &[(f64, SkewRun)], (cost, skew): (&Axis, &Axis)) {
    let ink = colour(release);
    let (mut lines, mut dots, mut numbers, mut areas) = (String::new(), String::new(), String::new(), String::new());
    for &(y, run) in runs {
        let fill = if run.in_front { ink } else { ink::PAPER };
        let mut dot = |x: f64| dots += &format!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="3.6" fill="{fill}"/>"#);
        let mut number = |x: f64, text: String| numbers += &format!(r#"<text x="{x:.1}" y="{:.1}">{text}</text>"#, y + 3.8);
        dot(cost.at(run.cost_us));
        number(cost.to + COSTS, short(run.cost_us));
        if let Some((p50, p99)) = run.skew_ns {
            lines += &format!("M{:.1} {y:.1}H{:.1}", skew.at(p50), skew.at(p99));
            dot(skew.at(p50));
            number(skew.to + 92.0, format!("{} \u{2013} {}", short(p50), short(p99)));
        }
        if let Some(met) = run.met_percent {
            number(skew.to + SKEWS, digits(met, 3));
        }
        areas += &format!(r#"<path d="M{:.1} {y:.1}H{:.1}" data-m="{}"/>"#, cost.from, skew.to + SKEWS, run.of);
    }
    canvas.put(format_args!(r#"<g class="s" data-s="{release}">"#));
    canvas.line(&lines, ink, 3.0);
    canvas.group(format_args!(r#"stroke="{ink}" stroke-width="1.8""#), &dots);
    canvas.group(format_args!(r#"text-anchor="end" font-size="10.5" fill="{}""#, ink::TEXT), &numbers);
    canvas.group(format_args!(r#"class="a" stroke="transparent" stroke-width="{LINE}""#), &areas);
    canvas.put(format_args!("</g>"));
}
