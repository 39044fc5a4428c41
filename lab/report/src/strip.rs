//! Strips over time: how many threads are in which state, stacked, under a rate on the same axis.
use super::axis::{Axis, Marks, Scale};
use super::legend::{LegendEntry, Swatch};
use super::svg::{At, Canvas, Svg, colour, escape, fitted, ink};

const WIDTH: f64 = 960.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = WIDTH - 24.0;
/// Heights of a line's track, and of the states.
const TRACK: f64 = 52.0;
const STATES: f64 = 150.0;
const BETWEEN: f64 = 18.0;
/// Threads are drawn to a tenth: columns show means.
const TENTHS: f64 = 10.0;

/// A chart of strips.
pub(super) struct Strips<'a> {
    pub(super) title: &'a str,
    /// The states, as they are stacked from below.
    pub(super) states: &'a [&'a str],
    /// How many threads there are.
    pub(super) threads: f64,
    pub(super) tracks: Vec<Track<'a>>,
    pub(super) plots: Vec<Plot>,
}

/// A line above the states, on a height of its own.
pub(super) struct Track<'a> {
    pub(super) name: &'a str,
    pub(super) unit: &'a str,
    /// The highest value that the track has room for.
    pub(super) high: f64,
    pub(super) ink: &'static str,
}

/// One stretch of time.
pub(super) struct Plot {
    pub(super) title: String,
    /// When it begins and ends, in milliseconds.
    pub(super) from: f64,
    pub(super) to: f64,
    /// The mean number of threads in each state, column by column, and how long a column is.
    pub(super) columns: Vec<Vec<f64>>,
    pub(super) column_ms: f64,
    /// For each track, the moments at which its height changes, each with the height from then on.
    pub(super) tracks: Vec<Vec<(f64, f64)>>,
    /// A moment that is marked, and its name.
    pub(super) moment: Option<(f64, String)>,
    /// A stretch that another plot shows enlarged.
    pub(super) enlarged: Option<(f64, f64)>,
}

impl Strips<'_> {
    /// The chart as SVG.
    pub(super) fn render(&self) -> Svg {
        let mut canvas = Canvas::new(WIDTH);
        canvas.heading(16.0, 26.0, 15.0, &fitted(self.title, 15.6, WIDTH - 32.0));
        let state = |i: usize| LegendEntry { series: None, name: self.states[i], ink: shade(i), swatch: Swatch::Box };
        let track =
            |i: usize| LegendEntry { series: None, name: self.tracks[i].name, ink: self.tracks[i].ink, swatch: Swatch::Line("") };
        let entries: Vec<_> = (0..self.states.len()).map(state).chain((0..self.tracks.len()).map(track)).collect();
        let mut y = 38.0 + canvas.legend((8.0, WIDTH), 38.0, &entries) + 6.0;
        for plot in &self.plots {
            y = self.plot(&mut canvas, plot, y);
        }
        canvas.finish(y + 2.0, self.title)
    }

    /// Draws one plot from `top` on; returns where the next may begin.
    fn plot(&self, canvas: &mut Canvas, plot: &Plot, top: f64) -> f64 {
        let x = Axis { scale: Scale::Span, low: plot.from, high: plot.to, from: LEFT, to: RIGHT };
        let begin = top + 32.0;
        canvas.heading(LEFT, begin - 12.0, 12.5, &fitted(&plot.title, 13.0, (RIGHT - LEFT) / 2.0));
        let mut y = begin;
        for (track, steps) in self.tracks.iter().zip(&plot.tracks) {
            let height = Axis { scale: Scale::Linear, low: 0.0, high: track.high, from: y + TRACK, to: y };
            left_side(canvas, &height, track.unit, 24.0, |v| format!("M{LEFT} {v:.1}H{RIGHT}"));
            canvas.line(&path(steps, &x, &height), track.ink, 1.5);
            y += TRACK + BETWEEN;
        }
        if plot.columns.is_empty() {
            y -= BETWEEN;
        } else {
            self.states(canvas, plot, y);
            y += STATES;
        }
        let upright = |v: f64| format!("M{:.1} {y:.1}v5", x.at(v));
        canvas.grid(&x.marked(&Marks::Round, 60.0), At::Middle, upright, |v| (x.at(v), y + 18.0));
        if let Some((from, to)) = plot.enlarged {
            canvas.line(&format!("M{:.1} {:.1}v4H{:.1}v-4", x.at(from), y + 3.0, x.at(to)), ink::TEXT, 1.6);
        }
        if let Some((at, name)) = plot.moment.as_ref().filter(|(at, _)| (plot.from..=plot.to).contains(at)) {
            let px = x.at(*at);
            canvas.put(format_args!(
                r#"<path d="M{px:.1} {:.1}V{y:.1}" stroke="{}" stroke-width="1.4" stroke-dasharray="4 3"/>"#,
                begin - 16.0,
                ink::TEXT
            ));
            let (side, px) = if px > (LEFT + RIGHT) / 2.0 { (At::End, px - 6.0) } else { (At::Start, px + 6.0) };
            canvas.text(px, begin - 8.0, side, ink::TEXT, name);
        }
        canvas.text((LEFT + RIGHT) / 2.0, y + 36.0, At::Middle, ink::SOFT, "time (ms)");
        y + 46.0
    }

    /// Draws the states as areas: each is drawn together with all below it, and the lower ones over it.
    fn states(&self, canvas: &mut Canvas, plot: &Plot, top: f64) {
        let height = Axis { scale: Scale::Linear, low: 0.0, high: self.threads, from: top + STATES, to: top };
        let wide = (RIGHT - LEFT) * plot.column_ms / (plot.to - plot.from);
        let scaled = format!(
            r#"transform="translate({LEFT} {:.1}) scale({wide:.4} {:.4})""#,
            height.from,
            -STATES / (self.threads * TENTHS)
        );
        for state in (0..self.states.len()).rev() {
            let below = |column: &Vec<f64>| column.iter().take(state + 1).sum::<f64>().clamp(0.0, self.threads);
            let heights = plot.columns.iter().map(|column| (below(column) * TENTHS).round() as i64);
            canvas.put(format_args!(r#"<path {scaled} d="{}" fill="{}"/>"#, outline(heights), shade(state)));
        }
        left_side(canvas, &height, "threads", 34.0, |_| String::new());
    }
}

/// The axis at the left of a strip: its numbers `room` pixels apart, their lines, and what they are.
fn left_side(canvas: &mut Canvas, height: &Axis, unit: &str, room: f64, line: impl Fn(f64) -> String) {
    canvas.grid(&height.marked(&Marks::Round, room), At::End, |v| line(height.at(v)), |v| (LEFT - 8.0, height.at(v) + 4.0));
    canvas.put(format_args!(
        r#"<text transform="translate(22 {:.1}) rotate(-90)" text-anchor="middle" fill="{}">{}</text>"#,
        (height.from + height.to) / 2.0,
        ink::SOFT,
        escape(unit)
    ));
}

/// The colour of a state by its place in the stack: states are told apart without colour vision, too.
fn shade(state: usize) -> &'static str {
    [colour(0), colour(4), "var(--ready,#cde3f3)", "var(--blocked,#97a1ad)"][state.min(3)]
}

/// The area under these heights, a unit of x each; equal neighbours make one step.
fn outline(heights: impl Iterator<Item = i64>) -> String {
    let (mut path, mut now, mut wide) = ("M0 0".to_owned(), 0, 0);
    for height in heights {
        if height != now {
            if wide > 0 {
                path += &format!("h{wide}");
            }
            path += &format!("v{}", height - now);
            (now, wide) = (height, 0);
        }
        wide += 1;
    }
    path + &format!("h{wide}V0z")
}

/// A line in steps; equal neighbours make one step.
fn path(steps: &[(f64, f64)], x: &Axis, y: &Axis) -> String {
    let (mut path, mut now) = (String::new(), None);
    for (from, height) in steps.iter().map(|&(at, height)| (format!("{:.1}", x.at(at)), format!("{:.1}", y.at(height)))) {
        path += &match now {
            None => format!("M{from} {height}"),
            Some(ref now) if *now == height => continue,
            Some(_) => format!("H{from}V{height}"),
        };
        now = Some(height);
    }
    if path.is_empty() { path } else { path + &format!("H{:.1}", x.to) }
}

#[cfg(test)]
mod tests {
    use super::outline;

    #[test]
    fn equal_neighbours_are_one_step_and_the_area_is_closed() {
        assert_eq!(outline([2, 2, 5, 5, 5, 0].into_iter()), "M0 0v2h2v3h3v-5h1V0z");
        assert_eq!(outline([0, 0].into_iter()), "M0 0h2V0z");
    }
}
