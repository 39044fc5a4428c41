//! Teams: what a fork and a join cost with bodies of one length, by everybody who runs them and by the hogs beside them.
//!
//! Draws measurements `teams/...` (microseconds, with the labels `threads`, `body_us`, `hogs` and `runner`).
use super::axis::Scale;
use super::bars::{Bar, Bars, Panel};
use super::svg::colour;
use super::{Drawn, distinct};
use foregather_measure::teams::TEAMS;
use foregather_results::Measurement;
use foregather_results::number::{digits, quantity};

/// The length that is shown if it was measured, else the first one there is.
const SHOWN_US: &str = "1";

/// One cell with a time.
struct Cell<'a> {
    threads: &'a str,
    hogs: &'a str,
    runner: &'a str,
    us: f64,
    m: &'a Measurement,
    /// Which measurement it is.
    of: usize,
}

/// A panel for each size of team, a line for each runner, a bar for each load.
pub(super) fn draw(all: &[Measurement]) -> Option<Drawn> {
    let label = |m: &'_ Measurement, name: &str| m.labels.get(name).cloned();
    let bodies: Vec<String> = all.iter().filter(|m| m.id.starts_with(TEAMS)).filter_map(|m| label(m, "body_us")).collect();
    let body = bodies.iter().find(|body| *body == SHOWN_US).or(bodies.first())?;
    let mut cells = Vec::new();
    for (of, m) in all.iter().enumerate().filter(|(_, m)| m.id.starts_with(TEAMS) && label(m, "body_us").as_ref() == Some(body)) {
        let text = |name: &str| m.labels.get(name).map(String::as_str);
        if let (Some(threads), Some(hogs), Some(runner), Some(us)) =
            (text("threads"), text("hogs"), text("runner"), m.summary.p50.filter(|&us| us > 0.0))
        {
            cells.push(Cell { threads, hogs, runner, us, m, of });
        }
    }
    let caption = caption(&cells, body)?;
    let (sizes, loads) = (distinct(cells.iter().map(|c| c.threads)), distinct(cells.iter().map(|c| c.hogs)));
    let runners = distinct(cells.iter().map(|c| c.runner));
    let place = |of: &[&str], name: &str| of.iter().position(|known| *known == name).unwrap_or(0);
    let bar = |cell: &Cell<'_>| Bar {
        label: place(&runners, cell.runner),
        series: place(&loads, cell.hogs),
        value: cell.us,
        whisker: cell.m.summary.min.zip(cell.m.summary.max).filter(|(low, _)| *low > 0.0),
        dot: None,
        of: cell.of,
    };
    let panel = |size: &&str| Panel {
        title: format!("{size} threads"),
        bars: cells.iter().filter(|cell| cell.threads == *size).map(bar).collect(),
    };
    let bars = Bars {
        title: "Fork and join",
        axis: format!("microseconds for a region of bodies of {body} us (log scale)"),
        scale: Scale::Log10,
        number: "us",
        labels: runners.iter().map(|&runner| runner.to_owned()).collect(),
        series: loads.iter().enumerate().map(|(i, load)| (format!("{load} hogs"), colour(i))).collect(),
        panels: sizes.iter().map(panel).collect(),
    };
    Some(Drawn { svg: bars.render(), caption })
}

/// Our team, and the best peer beside the most hogs.
fn caption(cells: &[Cell<'_>], body: &str) -> Option<String> {
    let first = cells.iter().find(|cell| cell.runner == "team").or(cells.first())?;
    let told = |cell: &Cell<'_>| {
        let cpu =
            cell.m.figures.get("cpu_us_per_region").map_or(String::new(), |&us| format!(", {} us of them burnt", digits(us, 3)));
        let us = quantity(cell.us * 1e3, "ns");
        format!("{} threads by {} take {us} beside {} hogs{cpu}", cell.threads, cell.runner, cell.hogs)
    };
    let most = cells.iter().rfind(|cell| cell.runner == first.runner && cell.threads == first.threads)?;
    let both = if most.of == first.of { told(first) } else { format!("{}; {}", told(first), told(most)) };
    Some(format!("Means of cells, their medians and extremes; one region of bodies of {body} us on {both}."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(threads: &str, hogs: &str, runner: &str, body_us: &str, us: f64) -> Measurement {
        Measurement::from_values(format!("{TEAMS}{threads}t/{body_us}us/{hogs}h/{runner}"), "", "us", vec![us])
            .label("threads", threads)
            .label("hogs", hogs)
            .label("runner", runner)
            .label("body_us", body_us)
    }

    #[test]
    fn there_is_a_panel_for_each_size_and_a_bar_for_each_cell() {
        let all = [
            cell("2", "0", "team", "0", 0.5),
            cell("2", "0", "team", "1", 1.5),
            cell("2", "2", "team", "1", 3.5),
            cell("4", "0", "rayon-join", "1", 30.0),
        ];
        let drawn = draw(&all).unwrap();
        for part in ["2 threads", "4 threads", "team", "rayon-join", "0 hogs", "2 hogs", "bodies of 1 us"] {
            assert!(drawn.svg.contains(part), "{part}");
        }
        assert!(drawn.caption.contains("2 threads by team take 1.5"), "{}", drawn.caption);
        assert_eq!((1..4).filter(|of| drawn.svg.contains(&format!("data-m=\"{of}\""))).count(), 3);
        assert!(!drawn.svg.contains("data-m=\"0\""), "bodies of another length");
        assert!(draw(&all[..1]).is_some() && draw(&[]).is_none());
    }
}
