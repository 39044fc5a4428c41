//! Values that a paper gives, drawn over the measured ones: a dashed line at a height, a band, or a curve.
use super::axis::Axis;
use super::legend::{LegendEntry, Swatch};
use super::svg::{Canvas, ink};
use foregather_results::claims::Published;

const DASH: &str = "6 3";

/// A published value, ready to be drawn in a plot.
pub(super) struct PublishedMark {
    text: String,
    /// The least and the largest height; equal for a line, none for a curve.
    band: Option<(f64, f64)>,
    points: Vec<[f64; 2]>,
}

impl PublishedMark {
    /// Returns those that belong to the panel with the heading `panel`.
    pub(super) fn of(all: &[Published], panel: &str) -> Vec<Self> {
        let here = |published: &&Published| published.panel.as_ref().is_none_or(|part| panel.contains(part.as_str()));
        all.iter().filter(here).map(Self::new).collect()
    }

    fn new(of: &Published) -> Self {
        let band = of.y.first().zip(of.y.last()).map(|(&low, &high)| (low, high));
        Self { text: format!("paper: {}", of.text), band, points: of.points.clone() }
    }

    /// Returns the heights that the vertical axis has to reach.
    pub(super) fn heights(&self) -> impl Iterator<Item = f64> {
        let ends = self.band.into_iter().flat_map(|(low, high)| [low, high]);
        ends.chain(self.points.iter().map(|point| point[1]))
    }

    /// Returns its entry in a legend: its text next to a sample of its line.
    pub(super) fn entry(&self) -> LegendEntry<'_> {
        LegendEntry { series: None, name: &self.text, ink: ink::PUBLISHED, swatch: Swatch::Line(DASH) }
    }

    /// Draws the edges of the band and the curve as one dashed path, and fills the band.
    pub(super) fn draw(&self, canvas: &mut Canvas, (x, y): (&Axis, &Axis)) {
        let mut path = String::new();
        if let Some((low, high)) = self.band {
            let (left, right, top, bottom) = (x.from, x.to, y.at(high), y.at(low));
            path = [top, bottom].map(|edge| format!("M{left:.1} {edge:.1}H{right:.1}")).concat();
            let ink = ink::PUBLISHED;
            canvas.put(format_args!(
                r#"<path d="M{left:.1} {top:.1}H{right:.1}V{bottom:.1}H{left:.1}z" fill="{ink}" fill-opacity=".08"/>"#
            ));
        }
        for (i, point) in self.points.iter().enumerate() {
            path += &format!("{}{:.1} {:.1}", if i == 0 { 'M' } else { 'L' }, x.at(point[0]), y.at(point[1]));
        }
        canvas.put(format_args!(
            r#"<path d="{path}" fill="none" stroke="{}" stroke-width="1.5" stroke-dasharray="{DASH}"/>"#,
            ink::PUBLISHED
        ));
    }
}
