//! Results as one self-contained HTML page, or one figure as stand-alone SVG.
//!
//! - [`page`]: noise verdict, figures, claims, every number on demand, provenance; opens offline, makes no request.
//! - [`figure_svg`]: one [`Figure`] with explicit colours, for a README or a paper.
//! - A figure is chosen by the ids and labels of the measurements: each file below says which it draws.
//! - `svg`, `axis`: the pen. `bars`, `lines`, `heat`: the kinds of chart. `pack`: the raw data within the page.

mod axis;
mod barriers;
mod bars;
mod butterfly;
mod heat;
mod html;
mod lines;
mod pack;
mod ping_pong;
mod svg;

pub use html::page;

use crate::results::{Measurement, Results};

/// The figures this program can draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Ping-pong per method: minimum, average, maximum, between two processors and on one (Guignon 2000).
    PingPong,
    /// Ping-pong round trips as distribution functions.
    Distribution,
    /// Ping-pong after the partner has idled.
    Gaps,
    /// Barriers: share of the best peer, rows by waiters.
    Barriers,
    /// Barriers: processor time per episode.
    BarrierCpu,
    /// The simulated butterfly barrier over the number of nodes, with its formula.
    Butterfly,
}

impl Figure {
    /// All of them, in the order of the page.
    pub const ALL: [Self; 6] =
        [Self::PingPong, Self::Gaps, Self::Distribution, Self::Barriers, Self::BarrierCpu, Self::Butterfly];

    /// Its name as a file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PingPong => "ping-pong",
            Self::Distribution => "distribution",
            Self::Gaps => "gaps",
            Self::Barriers => "barriers",
            Self::BarrierCpu => "barrier-cpu",
            Self::Butterfly => "butterfly",
        }
    }

    fn draw(self, all: &[Measurement]) -> Option<Drawn> {
        match self {
            Self::PingPong => ping_pong::methods(all),
            Self::Gaps => ping_pong::gaps(all),
            Self::Distribution => ping_pong::distribution(all),
            Self::Barriers => barriers::matrix(all),
            Self::BarrierCpu => barriers::cpu(all),
            Self::Butterfly => butterfly::draw(all),
        }
    }
}

/// A figure, and the sentence that says what to see in it.
struct Drawn {
    svg: String,
    caption: String,
}

/// The figure as stand-alone SVG, from the first results that have the measurements for it; `None` if none has.
pub fn figure_svg(figure: Figure, results: &[Results]) -> Option<String> {
    results.iter().find_map(|r| figure.draw(&r.measurements)).map(|drawn| svg::stand_alone(&drawn.svg))
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
