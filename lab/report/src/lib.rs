//! Results as one self-contained HTML page, or one figure as stand-alone SVG.
//!
//! - [`page`]: noise verdict, figures, claims, every number on demand, provenance; opens offline, makes no request.
//! - [`figure_svg`]: one [`Figure`] with explicit colours, for a README or a paper; [`figures`]: those there may be.
//! - A figure is chosen by the ids and labels of the measurements, or is a timeline: each file below says which it draws.
//! - `svg`, `axis`, `symbol`, `legend`, `shades`: the pen. `bars`, `lines` of `curve`s, `heat`, `maps`, `strip`: the kinds of chart.
#![forbid(unsafe_code)]

mod ablation;
mod axis;
mod barriers;
mod bars;
mod blas;
mod breakdown;
mod butterfly;
mod curve;
mod dsm;
mod heat;
mod html;
mod legend;
mod lines;
mod maps;
mod messages;
mod noise;
mod ping_pong;
mod plans;
mod predictions;
mod regret;
mod shades;
mod skew;
mod speedups;
mod strip;
mod svg;
mod symbol;
mod teams;
mod timeline;
mod verdicts;

pub use html::page;

use foregather_results::Results;

/// A file's name that is longer than this is a nuisance.
const NAME_MAX: usize = 100;

/// The figures this program can draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Ping-pong per method: minimum, average, maximum, between two processors and on one (Guignon 2000).
    PingPong,
    /// Ping-pong round trips as distribution functions.
    Distribution,
    /// Ping-pong after the partner has idled.
    Gaps,
    /// Barriers: share of the best peer or fixed policy, rows by waiters.
    Barriers,
    /// Barriers: the same by classes of load.
    BarrierClasses,
    /// The adaptive waiter without each rule of its table.
    Ablation,
    /// Barriers: processor time per episode.
    BarrierCpu,
    /// Barriers: what the adaptive policy loses over the rows that were drawn.
    BarrierRegret,
    /// Barriers: what the simulator predicts against what was measured.
    Predictions,
    /// The simulated butterfly barrier over the number of nodes, with its formula.
    Butterfly,
    /// Barriers: cost and exit skew, plain and harmonized, with the cost that LogGP predicts.
    Skew,
    /// A busy processor: loops in their order, with the floor (Seidel & Davis 1992, figure 3-9).
    NoiseTrace,
    /// A busy processor: what k iterations take, with the fitted line (Seidel & Davis 1992, figure 3-10).
    NoiseLine,
    /// Messages: half a round trip over the size, by every way.
    MessageLatency,
    /// Messages: the rate of streams over the size.
    MessageBandwidth,
    /// Messages beside hogs, by policy.
    MessageHogs,
    /// Shared memory: faults and their parts, by size and back end.
    DsmFaults,
    /// Shared memory: faults while the owner computes, by policy.
    DsmOwner,
    /// Shared memory: a traversal over the number of views.
    DsmViews,
    /// Programs on shared memory: speedups over the ranks (Itzkovitz & Schuster 1999, figure 6).
    AppSpeedups,
    /// Programs on shared memory: where the time went (the same figure).
    AppBreakdown,
    /// A BLAS: how many times faster sharing is, over the size of calls.
    BlasSizes,
    /// A BLAS: a product beside hogs.
    BlasCollapse,
    /// Fork and join, by everybody who runs teams and beside hogs.
    Teams,
    /// The simulated plan of this name, if it is one of regrets: what the adaptive policy loses.
    RegretMap(String),
    /// The simulated plan of this name: curves or a matrix.
    Plan(String),
    /// The same plan's run over time.
    OverTime(String),
    /// The timeline of this name.
    Timeline(String),
}

impl Figure {
    /// All but those of plans and timelines, in the order of the page.
    pub const ALL: [Self; 24] = [
        Self::PingPong,
        Self::Gaps,
        Self::Distribution,
        Self::Barriers,
        Self::BarrierClasses,
        Self::BarrierRegret,
        Self::BarrierCpu,
        Self::Ablation,
        Self::Predictions,
        Self::Skew,
        Self::MessageLatency,
        Self::MessageBandwidth,
        Self::MessageHogs,
        Self::DsmFaults,
        Self::DsmOwner,
        Self::DsmViews,
        Self::AppSpeedups,
        Self::AppBreakdown,
        Self::Teams,
        Self::BlasSizes,
        Self::BlasCollapse,
        Self::NoiseTrace,
        Self::NoiseLine,
        Self::Butterfly,
    ];

    /// Its name as a file, without an ending: that of the plan or timeline, made harmless, with `-over-time` or `-map` if it is that.
    pub fn name(&self) -> String {
        let harmless = |plan: &str| -> String {
            let harmless = |c: char| if c.is_ascii_alphanumeric() || "-_+".contains(c) { c } else { '-' };
            let name: String = plan.chars().map(harmless).take(NAME_MAX).collect();
            let taken = name.is_empty() || Self::ALL.iter().any(|figure| figure.name() == name);
            if taken { format!("plan-{name}") } else { name }
        };
        match self {
            Self::PingPong => "ping-pong".to_owned(),
            Self::Distribution => "distribution".to_owned(),
            Self::Gaps => "gaps".to_owned(),
            Self::Barriers => "barriers".to_owned(),
            Self::BarrierClasses => "barrier-classes".to_owned(),
            Self::Ablation => "ablation".to_owned(),
            Self::BarrierCpu => "barrier-cpu".to_owned(),
            Self::BarrierRegret => "barrier-regret".to_owned(),
            Self::Predictions => "predictions".to_owned(),
            Self::Butterfly => "butterfly".to_owned(),
            Self::Skew => "skew".to_owned(),
            Self::NoiseTrace => "noise-trace".to_owned(),
            Self::NoiseLine => "noise-line".to_owned(),
            Self::MessageLatency => "message-latency".to_owned(),
            Self::MessageBandwidth => "message-bandwidth".to_owned(),
            Self::MessageHogs => "message-hogs".to_owned(),
            Self::DsmFaults => "dsm-faults".to_owned(),
            Self::DsmOwner => "dsm-owner".to_owned(),
            Self::DsmViews => "dsm-views".to_owned(),
            Self::AppSpeedups => "app-speedups".to_owned(),
            Self::AppBreakdown => "app-breakdown".to_owned(),
            Self::Teams => "teams".to_owned(),
            Self::BlasSizes => "blas-sizes".to_owned(),
            Self::BlasCollapse => "blas-collapse".to_owned(),
            Self::Plan(plan) | Self::Timeline(plan) => harmless(plan),
            Self::OverTime(plan) => harmless(plan) + "-over-time",
            Self::RegretMap(plan) => harmless(plan) + "-map",
        }
    }

    fn draw(&self, results: &Results) -> Option<Drawn> {
        let all = results.measurements.as_slice();
        match self {
            Self::PingPong => ping_pong::methods(all),
            Self::Gaps => ping_pong::gaps(all),
            Self::Distribution => ping_pong::distribution(all),
            Self::Barriers => barriers::matrix(all),
            Self::BarrierClasses => barriers::classes(all),
            Self::Ablation => ablation::draw(all),
            Self::BarrierCpu => barriers::cpu(all),
            Self::BarrierRegret => regret::of_barriers(all),
            Self::Predictions => predictions::draw(all),
            Self::Butterfly => butterfly::draw(all),
            Self::Skew => skew::draw(all),
            Self::NoiseTrace => noise::trace(all),
            Self::NoiseLine => noise::line(all),
            Self::MessageLatency => messages::latency(all),
            Self::MessageBandwidth => messages::bandwidth(all),
            Self::MessageHogs => messages::hogs(all),
            Self::DsmFaults => dsm::faults(all),
            Self::DsmOwner => dsm::owner(all),
            Self::DsmViews => dsm::views(all),
            Self::AppSpeedups => speedups::draw(all),
            Self::AppBreakdown => breakdown::draw(all),
            Self::Teams => teams::draw(all),
            Self::BlasSizes => blas::sizes(all),
            Self::BlasCollapse => blas::collapse(all),
            Self::RegretMap(plan) => plans::map(all, plan),
            Self::Plan(plan) => plans::draw(all, plan),
            Self::OverTime(plan) => plans::over_time(all, plan),
            Self::Timeline(name) => timeline::draw(&results.timelines, name),
        }
    }
}

/// The figures that these results may have, in the order of the page: [`Figure::ALL`], then those of their plans, then
/// their timelines.
pub fn figures(results: &[Results]) -> Vec<Figure> {
    let plans = distinct(results.iter().flat_map(|r| plans::names(&r.measurements)));
    let of = |plan: &str| [Figure::RegretMap, Figure::Plan, Figure::OverTime].map(|figure| figure(plan.to_owned()));
    let timelines = distinct(results.iter().flat_map(|r| r.timelines.iter().map(|timeline| timeline.name.as_str())));
    let timelines = timelines.into_iter().map(|name| Figure::Timeline(name.to_owned()));
    Figure::ALL.into_iter().chain(plans.into_iter().flat_map(of)).chain(timelines).collect()
}

/// A figure, and the sentence that says what to see in it.
struct Drawn {
    svg: String,
    caption: String,
}

/// The figure as stand-alone SVG, from the first results that have the measurements for it; `None` if none has.
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
