//! The sentences of the demo as bars: what was done, how long each way took for it, and what that shows.
use super::escape;
use foregather_results::Conclusion;
use foregather_results::number::quantity;
use std::fmt::Write;

/// One thing that was done in several ways.
#[derive(Clone, Debug, PartialEq)]
pub struct SideBySide {
    /// What was done.
    pub about: String,
    /// The ways, in the order in which they are shown.
    pub entries: Vec<TimedEntry>,
    /// What follows for this project.
    pub conclusion: Conclusion,
}

/// How long one way took.
#[derive(Clone, Debug, PartialEq)]
pub struct TimedEntry {
    /// Its name.
    pub name: String,
    /// Whether it is this project's.
    pub is_ours: bool,
    /// Whether it is faster than this project's.
    pub is_faster: bool,
    /// The median, the least and the most of its turns in nanoseconds; `None` if it did not end in time.
    pub ns: Option<[f64; 3]>,
}

/// The sections of a demo: a card for each thing that was done.
pub(super) fn section(all: &[SideBySide]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let cards: String = all.iter().map(card).collect();
    format!(
        "<section aria-labelledby=demo><h2 id=demo>Side by side on this machine</h2>\n\
         <p class=sub>Bars are medians and start at zero: shorter is faster. The fastest and the slowest turn stand in parentheses.</p>\n\
         {cards}</section>\n"
    )
}

fn card(of: &SideBySide) -> String {
    let longest = of.entries.iter().filter_map(|entry| Some(entry.ns?[0])).fold(0.0, f64::max);
    let rows: String = of.entries.iter().map(|entry| row(entry, longest)).collect();
    let (class, chip) = chip(of);
    format!(
        "<div class=\"card beside\"><h3>{}</h3><span class=\"chip {class}\">{}</span><ul>{rows}</ul></div>\n",
        escape(&of.about),
        escape(&chip)
    )
}

fn row(entry: &TimedEntry, longest: f64) -> String {
    let mut text = String::new();
    let ours = if entry.is_ours { " class=ours" } else { "" };
    let _ = write!(text, "<li{ours}><span class=way>{}</span>", escape(&entry.name));
    match entry.ns {
        Some([median, least, most]) => {
            let share = 100.0 * median / longest.max(f64::MIN_POSITIVE);
            let time = |ns: f64| quantity(ns, "ns");
            let range = if least < most { format!(" <small>({} to {})</small>", time(least), time(most)) } else { String::new() };
            let _ =
                write!(text, "<span class=bar><i style=\"width:{share:.2}%\"></i></span><span>{}{range}</span>", time(median));
        }
        None => text += "<span class=bar></span><span>did not end in time</span>",
    }
    text + "</li>"
}

/// The verdict in a few words, and its class.
fn chip(of: &SideBySide) -> (&'static str, String) {
    let faster = || of.entries.iter().find(|entry| entry.is_faster).map_or("another way", |entry| entry.name.as_str());
    match of.conclusion {
        Conclusion::Faster => ("good", "Foregather is faster".to_owned()),
        Conclusion::Slower => ("bad", format!("{} is faster", faster())),
        Conclusion::NoDifference => ("", Conclusion::NoDifference.to_string()),
        Conclusion::OnePair => ("", "no conclusion: one turn".to_owned()),
        Conclusion::Unusable => ("bad", "no conclusion: machine unusable".to_owned()),
    }
}
