//! The names of the series, each beside a sample of its look, in lines that wrap.
use super::svg::{At, Canvas, fitted, ink, mark, width_of};

/// One name in a legend.
pub(super) struct LegendEntry<'a> {
    /// The number by which the script finds the series, if it can be hidden.
    pub(super) series: Option<usize>,
    pub(super) name: &'a str,
    pub(super) ink: &'a str,
    pub(super) swatch: Swatch,
}

/// How a legend shows a series.
#[derive(Clone, Copy)]
pub(super) enum Swatch {
    /// A line with this dash pattern.
    Line(&'static str),
    /// A line with the mark of its points.
    Marked,
    /// The mark alone.
    Mark,
    /// A filled box.
    Box,
    /// An upright line.
    Upright,
}

impl Canvas {
    /// The names of the series, in lines from `left` to `right`. Returns the height used.
    pub(super) fn legend(&mut self, (left, right): (f64, f64), top: f64, entries: &[LegendEntry<'_>]) -> f64 {
        let (mut x, mut y) = (left, top + 10.0);
        for entry in entries {
            let name = fitted(entry.name, 12.0, right - left - 60.0);
            let wide = 30.0 + width_of(&name, 12.0) + 18.0;
            if x > left && x + wide > right {
                (x, y) = (left, y + 19.0);
            }
            match entry.series {
                Some(series) => self.put(format_args!(r#"<g class="k" data-s="{series}">"#)),
                None => self.put(format_args!("<g>")),
            }
            match entry.swatch {
                Swatch::Line(dash) => self.sample((x, y - 4.0), entry.ink, dash),
                Swatch::Upright => self.line(&format!("M{:.1} {:.1}v13", x + 18.0, y - 11.0), entry.ink, 2.0),
                Swatch::Marked | Swatch::Mark => {
                    if matches!(entry.swatch, Swatch::Marked) {
                        self.sample((x, y - 4.0), entry.ink, "");
                    }
                    mark(self, entry.series.unwrap_or(0), entry.ink, std::iter::once((x + 11.0, y - 4.0)));
                }
                Swatch::Box => self.put(format_args!(
                    r#"<rect x="{:.1}" y="{:.1}" width="13" height="11" rx="2" fill="{}"/>"#,
                    x + 9.0,
                    y - 9.5,
                    entry.ink
                )),
            }
            self.text(x + 28.0, y, At::Start, ink::TEXT, &name);
            self.put(format_args!("</g>"));
            x += wide;
        }
        if entries.is_empty() { 0.0 } else { y + 9.0 - top }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_legend_wraps_and_cuts_instead_of_running_out() {
        let long = "x".repeat(400);
        let names = ["spin", "two-phase 10 us", "mutex and condition variable", &long];
        let entries: Vec<_> =
            names.iter().map(|name| LegendEntry { series: Some(0), name, ink: "#000", swatch: Swatch::Box }).collect();
        let mut canvas = Canvas::new(300.0);
        let one_line = Canvas::new(300.0).legend((10.0, 300.0), 0.0, &entries[..1]);
        assert!(canvas.legend((10.0, 300.0), 0.0, &entries) > 2.0 * one_line, "four entries do not fit into two lines of 300");
        assert!(!canvas.finish(100.0, "t").markup.contains(&long));
        assert!(width_of(&fitted(&long, 12.0, 80.0), 12.0) <= 80.0 + 12.0);
    }
}
