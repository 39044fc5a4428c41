//! The pen: SVG text with every string escaped, colours that follow the page, and the lines of a grid.
use std::fmt::{self, Write};

/// Colours that every part of a figure shares. Each names a variable of the page, and the colour for a figure
/// without one.
pub(super) mod ink {
    pub(crate) const PAPER: &str = "var(--bg,#fff)";
    pub(crate) const TEXT: &str = "var(--fg,#1b2330)";
    pub(crate) const SOFT: &str = "var(--fg2,#5b6675)";
    pub(crate) const GRID: &str = "var(--grid,#e6e9ee)";
    pub(crate) const MUTED: &str = "var(--mute,#9aa5b3)";
    pub(crate) const PALE: &str = "var(--pale,#cfd6de)";
    /// What a paper says.
    pub(crate) const PUBLISHED: &str = "var(--paper,#8a4b00)";
}

/// The colours of Okabe & Ito, which stay apart under colour blindness; without their yellow, which white
/// swallows, and with a violet.
const SERIES: [&str; 8] = [
    "var(--s0,#0072b2)",
    "var(--s1,#d55e00)",
    "var(--s2,#009e73)",
    "var(--s3,#cc79a7)",
    "var(--s4,#e69f00)",
    "var(--s5,#56b4e9)",
    "var(--s6,#1b2330)",
    "var(--s7,#7b4fa3)",
];
/// Dashes that survive a print in black and white. Eight dashes would pair up with the eight colours again
/// and again; five do not.
const DASHES: [&str; 5] = ["", "7 3", "2 3", "9 3 2 3", "12 4"];

/// The colour of a series.
pub(super) const fn colour(series: usize) -> &'static str {
    SERIES[series % SERIES.len()]
}

/// The dash pattern of a series.
pub(super) fn dash(series: usize) -> &'static str {
    DASHES[series % DASHES.len()]
}

/// Text made harmless in HTML, in SVG and in an attribute; control characters, which XML forbids, are
/// replaced.
pub(super) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' => safe.push_str("&#10;"),
            c if c.is_control() => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

/// About how wide a text is, in pixels; rather too wide than too narrow.
pub(super) fn width_of(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | 't' | 'f' | 'r' | 'I' | ' ' | '.' | ',' | ':' | ';' | '|' | '\'' | '(' | ')' | '/' | '-' => 0.38,
        'm' | 'w' | 'M' | 'W' | '%' | '@' => 0.95,
        c if c.is_ascii_uppercase() => 0.72,
        c if c.is_ascii() => 0.6,
        _ => 1.0,
    };
    text.chars().map(em).sum::<f64>() * size
}

/// The text, cut to a width with an ellipsis if it is longer.
pub(super) fn fitted(text: &str, size: f64, room: f64) -> String {
    if width_of(text, size) <= room {
        return text.to_owned();
    }
    let mut cut = String::new();
    for c in text.chars() {
        cut.push(c);
        if width_of(&cut, size) > room - size {
            cut.pop();
            break;
        }
    }
    cut.trim_end().to_owned() + "\u{2026}"
}

/// Which point of a text its place is.
#[derive(Clone, Copy)]
pub(super) enum At {
    Start,
    Middle,
    End,
}

/// A figure in the making: `width` units wide, its height known at the end.
pub(super) struct Canvas {
    body: String,
    width: f64,
}

impl Canvas {
    /// An empty figure.
    pub(super) fn new(width: f64) -> Self {
        Self { body: String::new(), width }
    }

    /// Adds markup as it is: its texts must be escaped.
    pub(super) fn put(&mut self, markup: fmt::Arguments<'_>) {
        self.body.write_fmt(markup).expect("a String takes everything");
    }

    /// Adds a text in the common size.
    pub(super) fn text(&mut self, x: f64, y: f64, at: At, ink: &str, text: &str) {
        self.texts(at, ink, [(x, y, text.to_owned())]);
    }

    /// Adds texts in the common size.
    pub(super) fn texts(&mut self, at: At, ink: &str, texts: impl IntoIterator<Item = (f64, f64, String)>) {
        let anchor = match at {
            At::Start => "",
            At::Middle => r#" text-anchor="middle""#,
            At::End => r#" text-anchor="end""#,
        };
        let one = |(x, y, text): (f64, f64, String)| format!(r#"<text x="{x:.1}" y="{y:.1}">{}</text>"#, escape(&text));
        let all: String = texts.into_iter().map(one).collect();
        self.group(format_args!(r#"fill="{ink}"{anchor}"#), &all);
    }

    /// Adds a bold text.
    pub(super) fn heading(&mut self, x: f64, y: f64, size: f64, text: &str) {
        let ink = ink::TEXT;
        self.put(format_args!(
            r#"<text x="{x:.1}" y="{y:.1}" font-size="{size}" font-weight="600" fill="{ink}">{}</text>"#,
            escape(text)
        ));
    }

    /// Adds a line, or several: an SVG path.
    pub(super) fn line(&mut self, path: &str, ink: &str, width: f64) {
        self.put(format_args!(r#"<path d="{path}" fill="none" stroke="{ink}" stroke-width="{width}"/>"#));
    }

    /// Adds the lines of a grid and their labels: `path` draws the line of a value, `place` says where its
    /// label goes.
    pub(super) fn grid(&mut self, ticks: &[Tick], at: At, path: impl Fn(f64) -> String, place: impl Fn(f64) -> (f64, f64)) {
        for (labelled, width) in [(false, 0.6), (true, 1.0)] {
            let lines: String = ticks.iter().filter(|t| t.label.is_some() == labelled).map(|t| path(t.value)).collect();
            self.line(&lines, ink::GRID, width);
        }
        let label = |t: &Tick| t.label.clone().map(|label| (place(t.value).0, place(t.value).1, label));
        self.texts(at, ink::SOFT, ticks.iter().filter_map(label));
    }

    /// Adds marks that share their attributes; nothing if there are none.
    pub(super) fn group(&mut self, attributes: fmt::Arguments<'_>, marks: &str) {
        if !marks.is_empty() {
            self.put(format_args!("<g {attributes}>{marks}</g>"));
        }
    }

    /// Adds a piece of a line, for a legend.
    pub(super) fn sample(&mut self, (x, y): (f64, f64), ink: &str, dash: &str) {
        self.put(format_args!(r#"<path d="M{x:.1} {y:.1}h22" stroke="{ink}" stroke-width="2.5" stroke-dasharray="{dash}"/>"#));
    }

    /// The finished figure.
    pub(super) fn finish(self, height: f64, title: &str) -> Svg {
        let Self { body, width } = self;
        let markup = format!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {width:.0} {height:.0}" role="img" aria-label="{}" font-family="system-ui,-apple-system,'Segoe UI',Roboto,sans-serif" font-size="12"><rect width="100%" height="100%" rx="8" fill="{}"/>{body}</svg>"#,
            escape(title),
            ink::PAPER
        );
        Svg { title: title.to_owned(), markup }
    }
}

/// A finished figure, and the title that it bears.
pub(super) struct Svg {
    pub(super) title: String,
    pub(super) markup: String,
}

/// How many shapes marks have. Eight would pair up with the eight colours again and again; five do not.
const SHAPES: usize = 5;

/// Marks a series' points, in its colour: one path has all of them.
pub(super) fn mark(canvas: &mut Canvas, series: usize, ink: &str, points: impl Iterator<Item = (f64, f64)>) {
    // A line of no length shows only its ends: they make the dot.
    let dot = |cap: &str, width: f64| (format!(r#"stroke="{ink}" stroke-width="{width}" stroke-linecap="{cap}""#), "h0");
    let shape = |outline| (format!(r#"fill="{ink}""#), outline);
    let (look, outline) = match series % SHAPES {
        0 => dot("round", 6.5),
        1 => dot("square", 5.6),
        2 => shape("m0-4.4l4.4 4.4-4.4 4.4-4.4-4.4z"),
        3 => shape("m0-4.2l4.2 7.2h-8.4z"),
        _ => shape("m0 4.2l4.2-7.2h-8.4z"),
    };
    let path: String = points.map(|(x, y)| format!("M{x:.1} {y:.1}{outline}")).collect();
    canvas.put(format_args!(r#"<path d="{path}" {look}/>"#));
}

/// A value worth a line of the grid, and its label if it has one.
pub(super) struct Tick {
    pub(super) value: f64,
    pub(super) label: Option<String>,
}

/// Room for a remark below a figure.
const REMARK: f64 = 22.0;

/// The figure without its page: every `var(--name,colour)` becomes the colour, the figure is as large as its
/// coordinates, and a remark stands below it if there is one.
pub(super) fn stand_alone(svg: &str, remark: Option<&str>) -> String {
    let mut plain = String::with_capacity(svg.len());
    let mut rest = svg;
    while let Some((before, after)) = rest.split_once("var(--") {
        let end = after.find([')', '"']).unwrap_or(after.len());
        let colour = after[..end].split_once(',').map_or("none", |(_, colour)| colour);
        plain.push_str(before);
        plain.push_str(colour);
        rest = after[end..].strip_prefix(')').unwrap_or(&after[end..]);
    }
    plain += rest;
    let size = plain.split_once("viewBox=\"0 0 ").and_then(|(_, after)| after.split_once('"')?.0.split_once(' '));
    let Some((width, height)) = size.and_then(|(width, height)| Some((width, height.parse::<f64>().ok()?))) else { return plain };
    let high = height + if remark.is_some() { REMARK } else { 0.0 };
    let sized = format!(r#"<svg width="{width}" height="{high}" "#);
    let (old, new) = (format!(r#"viewBox="0 0 {width} {height}""#), format!(r#"viewBox="0 0 {width} {high}""#));
    let remark =
        remark.map(|remark| format!(r##"<text x="16" y="{}" fill="#a94300">{}</text></svg>"##, height + 8.0, escape(remark)));
    plain = plain.replacen(&old, &new, 1).replacen("<svg ", &sized, 1);
    match (remark, plain.strip_suffix("</svg>")) {
        (Some(remark), Some(open)) => open.to_owned() + &remark,
        _ => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_text() {
        assert_eq!(escape("<script>'\"&\u{1b}\n"), "&lt;script&gt;&#39;&quot;&amp;\u{fffd}&#10;");
    }

    #[test]
    fn a_stand_alone_figure_has_plain_colours_only() {
        let svg = r#"<svg viewBox="0 0 9 7"><a fill="var(--bg,#fff)"/><b stroke="var(--s0,#0072b2)"/>"#;
        let plain = r##"<svg width="9" height="7" viewBox="0 0 9 7"><a fill="#fff"/><b stroke="#0072b2"/>"##;
        assert_eq!(stand_alone(svg, None), plain);
        let remarked = stand_alone(r#"<svg viewBox="0 0 9 7"></svg>"#, Some("a < b"));
        assert!(remarked.starts_with(r#"<svg width="9" height="29" viewBox="0 0 9 29"><text"#), "{remarked}");
        assert!(remarked.ends_with(">a &lt; b</text></svg>"));
    }
}
