//! What a paper says, drawn over what came out here: a dashed line at a height, a band, or a curve, with a few
//! words.
use super::axis::Axis;
use super::svg::{Canvas, escape, ink};
use foregather_reproduce::claims::Published;

/// A value of a paper in a plot.
pub(super) struct PublishedMark {
    text: String,
    /// The least and the largest; equal for a line.
    band: Option<(f64, f64)>,
    points: Vec<[f64; 2]>,
}

impl PublishedMark {
    /// Those that belong to the panel of that heading.
    pub(super) fn of(all: &[Published], panel: &str) -> Vec<Self> {
        let here = |published: &&Published| published.panel.as_ref().is_none_or(|part| panel.contains(part.as_str()));
        all.iter().filter(here).map(Self::new).collect()
    }

    fn new(of: &Published) -> Self {
        let band = of.y.first().zip(of.y.last()).map(|(&low, &high)| (low, high));
        Self { text: format!("paper: {}", of.text), band, points: of.points.clone() }
    }

    /// The heights that an axis has to reach.
    pub(super) fn heights(&self) -> impl Iterator<Item = f64> {
        let ends = self.band.into_iter().flat_map(|(low, high)| [low, high]);
        ends.chain(self.points.iter().map(|point| point[1]))
    }

    pub(super) fn draw(&self, canvas: &mut Canvas, (x, y): (&Axis, &Axis)) {
        let dashed = format!(r#"fill="none" stroke="{}" stroke-width="1.6" stroke-dasharray="6 3""#, ink::PUBLISHED);
        let at = |point: &[f64; 2]| (x.at(point[0]), y.at(point[1]));
        let (words_at, mut path) = match (self.band, self.points.last()) {
            (Some((low, high)), _) => {
                let (top, bottom) = (y.at(high), y.at(low));
                if bottom - top > 1.0 {
                    canvas.put(format_args!(
                        r#"<path d="M{:.1} {top:.1}H{:.1}V{bottom:.1}H{:.1}z" fill="{}" fill-opacity=".13"/>"#,
                        x.from,
                        x.to,
                        x.from,
                        ink::PUBLISHED
                    ));
                }
                let edges: String = [top, bottom].map(|edge| format!("M{:.1} {edge:.1}H{:.1}", x.from, x.to)).concat();
                ((x.to - 4.0, top), edges)
            }
            (None, Some(last)) => (at(last), String::new()),
            (None, None) => return,
        };
        for (i, point) in self.points.iter().enumerate() {
            let (x, y) = at(point);
            path += &format!("{}{x:.1} {y:.1}", if i == 0 { 'M' } else { 'L' });
        }
        canvas.put(format_args!(r#"<path d="{path}" {dashed}/>"#));
        let (right, above) = (words_at.0.min(x.to - 4.0), words_at.1 - 5.0);
        // A seam in the colour of the paper keeps the words apart from curves below them.
        canvas.put(format_args!(
            r#"<text x="{right:.1}" y="{above:.1}" text-anchor="end" font-size="11" fill="{}" stroke="{}" stroke-width="3" paint-order="stroke">{}</text>"#,
            ink::PUBLISHED,
            ink::PAPER,
            escape(&self.text)
        ));
    }
}
