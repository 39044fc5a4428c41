//! Results as one self-contained HTML page, or one figure as stand-alone SVG.
//!
//! - [`page`](page()), [`page_of_demo`]: headline, figures by section, claims, every number on demand,
//!   provenance; opens
//!   offline, makes no request, and can be read without scripts.
//! - [`figure_svg`]: one [`Figure`] with explicit colours, for a README or a paper; [`figures`]: those that
//!   results may have.
//! - A figure is chosen by the ids and labels of the measurements, or is a timeline: each file below says
//!   which it draws. Most figures are data, a `FigureSpec`.
//! - `svg`, `axis`, `legend`, `shades`: the pen. `bars`, `lines` of `curve`s, `heat`, `maps`, `strip`: the
//!   kinds of chart. `names`: what things are called in all of them.
#![forbid(unsafe_code)]

mod apps;
mod axis;
mod barriers;
mod bars;
mod curve;
mod document;
mod drawn;
mod dsm;
mod heat;
mod legend;
mod lines;
mod maps;
mod messages;
mod names;
mod noise;
mod openmp;
mod page;
mod papers;
mod ping_pong;
mod plans;
mod planted;
mod published;
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

pub use page::{SideBySide, TimedEntry, page, page_of_demo};

use document::Document;
use foregather_results::{Measurement, Results};
use std::collections::BTreeSet;
use svg::Svg;

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

/// What figures are about: a section of the page each, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Topic {
    Barriers,
    Teams,
    Queues,
    Blas,
    HandOvers,
    Messages,
    Memory,
    Noise,
    Advice,
    Simulated,
}

/// The figures that are chosen by what was measured, in the order of the page.
const FIGURES: [(&str, Topic, DrawFigure); 33] = [
    ("barriers", Topic::Barriers, barriers::matrix),
    ("barrier-classes", Topic::Barriers, barriers::classes),
    ("barrier-regret", Topic::Barriers, regret::of_barriers),
    ("barrier-cpu", Topic::Barriers, barriers::cpu),
    ("ablation", Topic::Barriers, |all| studies::ABLATION.draw(all)),
    ("predictions", Topic::Barriers, |all| studies::PREDICTIONS.draw(all)),
    ("skew", Topic::Barriers, skew::draw),
    ("drawn-regret", Topic::Teams, |all| drawn::REGRETS.draw(all)),
    ("openmp", Topic::Teams, |all| openmp::CONSTRUCTS.draw(all)),
    ("openmp-tasks", Topic::Teams, |all| openmp::TASKS.draw(all)),
    ("programs", Topic::Teams, |all| openmp::PROGRAMS.draw(all)),
    ("program-runtimes", Topic::Teams, |all| drawn::RUNTIMES.draw(all)),
    ("teams", Topic::Teams, |all| teams::REGIONS.draw(all)),
    ("queue-late", Topic::Queues, |all| queues::LATE.draw(all)),
    ("queue-burnt", Topic::Queues, |all| queues::BURNT.draw(all)),
    ("blas-sizes", Topic::Blas, |all| teams::BLAS_SIZES.draw(all)),
    ("blas-collapse", Topic::Blas, |all| teams::COLLAPSE.draw(all)),
    ("ping-pong", Topic::HandOvers, |all| ping_pong::METHODS.draw(all)),
    ("gaps", Topic::HandOvers, |all| ping_pong::GAPS.draw(all)),
    ("distribution", Topic::HandOvers, ping_pong::distribution),
    ("message-latency", Topic::Messages, |all| messages::LATENCY.draw(all)),
    ("message-bandwidth", Topic::Messages, |all| messages::BANDWIDTH.draw(all)),
    ("message-hogs", Topic::Messages, |all| messages::BESIDE_HOGS.draw(all)),
    ("dsm-faults", Topic::Memory, |all| dsm::PARTS_OF_FAULTS.draw(all)),
    ("dsm-owner", Topic::Memory, |all| dsm::OWNER.draw(all)),
    ("dsm-views", Topic::Memory, |all| dsm::MANY_VIEWS.draw(all)),
    ("app-speedups", Topic::Memory, |all| apps::SPEEDUPS.draw(all)),
    ("app-breakdown", Topic::Memory, apps::breakdown),
    ("noise-trace", Topic::Noise, noise::trace),
    ("noise-line", Topic::Noise, noise::line),
    ("advice", Topic::Advice, |all| planted::VERDICTS.draw(all)),
    ("cures", Topic::Advice, |all| planted::CURES.draw(all)),
    ("butterfly", Topic::Simulated, |all| studies::BUTTERFLY.draw(all)),
];

impl Figure {
    /// All figures but those of plans and timelines, in the order of the page.
    pub fn all() -> impl Iterator<Item = Self> {
        FIGURES.iter().map(|(name, ..)| Self::Of(name))
    }

    /// Its name as a file, without an ending: the name of the plan or timeline, made harmless, with
    /// `-over-time` or `-map` if it is that.
    pub fn name(&self) -> String {
        let harmless = |plan: &str| -> String {
            let harmless = |c: char| if c.is_ascii_alphanumeric() || "-_+".contains(c) { c } else { '-' };
            let name: String = plan.chars().map(harmless).take(NAME_MAX).collect();
            let taken = name.is_empty() || FIGURES.iter().any(|(known, ..)| *known == name);
            if taken { format!("plan-{name}") } else { name }
        };
        match self {
            Self::Of(name) => (*name).to_owned(),
            Self::Plan(plan) | Self::Timeline(plan) => harmless(plan),
            Self::OverTime(plan) => harmless(plan) + "-over-time",
            Self::RegretMap(plan) => harmless(plan) + "-map",
        }
    }

    fn draw(&self, of: &Document<'_>) -> Option<Drawn> {
        let all = &*of.all;
        match self {
            Self::Of(name) => FIGURES.iter().find(|(known, ..)| known == name)?.2(all),
            Self::RegretMap(plan) => regret::of_plan(all, plan),
            Self::Plan(plan) => plans::draw(all, plan, papers::published(&self.name())),
            Self::OverTime(plan) => plans::over_time(all, plan),
            Self::Timeline(name) => timeline::draw(&of.results.timelines, name),
        }
    }

    /// Returns whether it shows virtual time, which background load cannot affect.
    fn is_virtual(&self, of: &Document<'_>) -> bool {
        match self {
            Self::Of("butterfly") => true,
            Self::Of("app-speedups" | "app-breakdown") => apps::are_simulated(&of.all),
            Self::Of(_) => false,
            Self::Plan(plan) => !plans::is_measured(&of.all, plan),
            Self::RegretMap(_) | Self::OverTime(_) | Self::Timeline(_) => true,
        }
    }

    fn topic(&self) -> Topic {
        let own = |name| FIGURES.iter().find(|(known, ..)| *known == name).map(|(_, topic, _)| *topic);
        if let Self::Of(name) = self { own(*name).unwrap_or(Topic::Simulated) } else { Topic::Simulated }
    }
}

/// What a figure says by itself if its run was disturbed too much.
const DISTURBED: &str = "machine unusable while this was measured: its numbers tell of what else ran";
/// More plans or timelines than that have no figure.
const PLANS_MAX: usize = 200;

/// The figures that these results may have, in the order of the page: [`Figure::all`], then those of their
/// plans, then their timelines; of very many plans or timelines those of the first 200.
pub fn figures(results: &[Results]) -> Vec<Figure> {
    let mut plans = distinct(results.iter().flat_map(|r| plans::names(&r.measurements)));
    plans.truncate(PLANS_MAX);
    let of = |plan: &str| [Figure::RegretMap, Figure::Plan, Figure::OverTime].map(|figure| figure(plan.to_owned()));
    let timelines = distinct(results.iter().flat_map(|r| r.timelines.iter().map(|timeline| timeline.name.as_str())));
    let timelines = timelines.into_iter().take(PLANS_MAX).map(|name| Figure::Timeline(name.to_owned()));
    Figure::all().chain(plans.into_iter().flat_map(of)).chain(timelines).collect()
}

/// Says which plans and timelines have no figure since there are too many.
fn left_out(results: &[Results]) -> Option<String> {
    let plans = distinct(results.iter().flat_map(|r| plans::names(&r.measurements))).len();
    let timelines = results.iter().map(|r| r.timelines.len()).sum::<usize>();
    (plans.max(timelines) > PLANS_MAX).then(|| {
        format!("Of {plans} plans and {timelines} timelines the first {PLANS_MAX} of each may have figures; the data have all.")
    })
}

/// A figure, and the sentence that says what to see in it.
struct Drawn {
    svg: Svg,
    caption: String,
}

/// The figure as stand-alone SVG, from the first results that have the measurements for it; `None` if none
/// has. If other programs disturbed the run too much, a remark in the figure says so.
pub fn figure_svg(figure: &Figure, results: &[Results]) -> Option<String> {
    let documents = results.iter().map(Document::of);
    let (document, drawn) = documents.filter_map(|of| figure.draw(&of).map(|drawn| (of, drawn))).next()?;
    let disturbed = document.is_disturbed() && !figure.is_virtual(&document);
    Some(svg::stand_alone(&drawn.svg.markup, disturbed.then_some(DISTURBED)))
}

/// What measurements come to, in words for the head of a page.
struct Headline {
    /// What the sentence is about: `No conclusion about {about}` is a sentence.
    about: String,
    sentence: String,
    /// Whether everything was measured only once.
    is_single: bool,
}

/// The different values, in order of first appearance.
fn distinct<'a>(values: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = BTreeSet::new();
    values.filter(|value| seen.insert(*value)).collect()
}
