//! Results as one self-contained HTML page, or one figure as stand-alone SVG.
//!
//! - [`page`]: noise verdict, figures, claims, every number on demand, provenance; opens offline, makes no
//!   request.
//! - [`figure_svg`]: one [`Figure`] with explicit colours, for a README or a paper; [`figures`]: those that
//!   results may have.
//! - A figure is chosen by the ids and labels of the measurements, or is a timeline: each file below says
//!   which it draws. Most figures are data, a `FigureSpec`.
//! - `svg`, `axis`, `legend`, `shades`: the pen. `bars`, `lines` of `curve`s, `heat`, `maps`, `strip`: the
//!   kinds of chart.
#![forbid(unsafe_code)]

mod apps;
mod axis;
mod barriers;
mod bars;
mod curve;
mod dsm;
mod heat;
mod html;
mod legend;
mod lines;
mod maps;
mod messages;
mod noise;
mod openmp;
mod ping_pong;
mod plans;
mod queues;
mod regret;
mod shades;
mod skew;
mod spec;
mod strip;
mod studies;
mod svg;
mod teams;
mod timeline;
mod verdicts;

pub use html::page;

use foregather_results::{Measurement, Results};

/// The longest name of a file, in characters: longer ones are cut.
const NAME_MAX: usize = 100;

/// A figure that this program can draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Figure {
    /// The figure of this name among those that are chosen by what was measured.
    Of(&'static str),
    /// The simulated plan of this name, if it is one of regrets: what the adaptive policy loses.
    RegretMap(String),
    /// The simulated plan of this name: curves or a matrix.
    Plan(String),
    /// A run of the simulated plan of this name, over time.
    OverTime(String),
    /// The timeline of this name.
    Timeline(String),
}

/// How a figure is drawn.
type DrawFigure = fn(&[Measurement]) -> Option<Drawn>;

/// The figures that are chosen by what was measured, in the order of the page.
const FIGURES: [(&str, DrawFigure); 28] = [
    ("ping-pong", |all| ping_pong::METHODS.draw(all)),
    ("gaps", |all| ping_pong::GAPS.draw(all)),
    ("distribution", ping_pong::distribution),
    ("barriers", barriers::matrix),
    ("barrier-classes", barriers::classes),
    ("barrier-regret", regret::of_barriers),
    ("barrier-cpu", barriers::cpu),
    ("ablation", |all| studies::ABLATION.draw(all)),
    ("predictions", |all| studies::PREDICTIONS.draw(all)),
    ("skew", skew::draw),
    ("message-latency", |all| messages::LATENCY.draw(all)),
    ("message-bandwidth", |all| messages::BANDWIDTH.draw(all)),
    ("message-hogs", |all| messages::BESIDE_HOGS.draw(all)),
    ("dsm-faults", |all| dsm::PARTS_OF_FAULTS.draw(all)),
    ("dsm-owner", |all| dsm::OWNER.draw(all)),
    ("dsm-views", |all| dsm::MANY_VIEWS.draw(all)),
    ("app-speedups", |all| apps::SPEEDUPS.draw(all)),
    ("app-breakdown", apps::breakdown),
    ("teams", |all| teams::REGIONS.draw(all)),
    ("openmp", |all| openmp::CONSTRUCTS.draw(all)),
    ("programs", |all| openmp::PROGRAMS.draw(all)),
    ("queue-late", |all| queues::LATE.draw(all)),
    ("queue-burnt", |all| queues::BURNT.draw(all)),
    ("blas-sizes", |all| teams::BLAS_SIZES.draw(all)),
    ("blas-collapse", |all| teams::BLAS_COLLAPSE.draw(all)),
    ("noise-trace", noise::trace),
    ("noise-line", noise::line),
    ("butterfly", |all| studies::BUTTERFLY.draw(all)),
];

impl Figure {
    /// All figures but those of plans and timelines, in the order of the page.
    pub fn all() -> impl Iterator<Item = Self> {
        FIGURES.iter().map(|(name, _)| Self::Of(name))
    }

    /// Its name as a file, without an ending: the name of the plan or timeline, made harmless, with
    /// `-over-time` or `-map` if it is that.
    pub fn name(&self) -> String {
        let harmless = |plan: &str| -> String {
            let harmless = |c: char| if c.is_ascii_alphanumeric() || "-_+".contains(c) { c } else { '-' };
            let name: String = plan.chars().map(harmless).take(NAME_MAX).collect();
            let taken = name.is_empty() || FIGURES.iter().any(|(known, _)| *known == name);
            if taken { format!("plan-{name}") } else { name }
        };
        match self {
            Self::Of(name) => (*name).to_owned(),
            Self::Plan(plan) | Self::Timeline(plan) => harmless(plan),
            Self::OverTime(plan) => harmless(plan) + "-over-time",
            Self::RegretMap(plan) => harmless(plan) + "-map",
        }
    }

    fn draw(&self, results: &Results) -> Option<Drawn> {
        let all = results.measurements.as_slice();
        match self {
            Self::Of(name) => FIGURES.iter().find(|(known, _)| known == name)?.1(all),
            Self::RegretMap(plan) => regret::of_plan(all, plan),
            Self::Plan(plan) => plans::draw(all, plan),
            Self::OverTime(plan) => plans::over_time(all, plan),
            Self::Timeline(name) => timeline::draw(&results.timelines, name),
        }
    }

    /// Does it show virtual time, even if its results were measured otherwise?
    fn is_virtual(&self) -> bool {
        matches!(self, Self::RegretMap(_) | Self::Plan(_) | Self::OverTime(_) | Self::Timeline(_) | Self::Of("butterfly"))
    }
}

/// The figures that these results may have, in the order of the page: [`Figure::all`], then those of their
/// plans, then their timelines.
pub fn figures(results: &[Results]) -> Vec<Figure> {
    let plans = distinct(results.iter().flat_map(|r| plans::names(&r.measurements)));
    let of = |plan: &str| [Figure::RegretMap, Figure::Plan, Figure::OverTime].map(|figure| figure(plan.to_owned()));
    let timelines = distinct(results.iter().flat_map(|r| r.timelines.iter().map(|timeline| timeline.name.as_str())));
    let timelines = timelines.into_iter().map(|name| Figure::Timeline(name.to_owned()));
    Figure::all().chain(plans.into_iter().flat_map(of)).chain(timelines).collect()
}

/// A figure, and the sentence that says what to see in it.
struct Drawn {
    svg: String,
    caption: String,
}

/// The figure as stand-alone SVG, from the first results that have the measurements for it; `None` if none
/// has.
pub fn figure_svg(figure: &Figure, results: &[Results]) -> Option<String> {
    results.iter().find_map(|r| figure.draw(r)).map(|drawn| svg::stand_alone(&drawn.svg))
}

/// The different values, in order of first appearance.
fn distinct<'a>(values: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    values.for_each(|v| {
        if !seen.contains(&v) {
            seen.push(v);
        }
    });
    seen
}
