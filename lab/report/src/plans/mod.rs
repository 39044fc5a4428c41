//! Simulated plans: every plan in results is a figure, drawn as the labels of its measurements say.
//!
//! Draws measurements with the label `plan`. The labels `x-axis` and `series-axis` name the labels that a
//! figure of curves goes over, `column-axis` and `row-axis` those of a matrix; names besides those make
//! panels. Those with the label `state` are values over time. `what` names the numbers after the plan's
//! title: `TITLE: what`.

mod curves;
mod description;
mod matrix;
mod states;

use super::{Drawn, distinct};
use foregather_results::Measurement;
use foregather_results::claims::Published;
use foregather_results::ids::MEASURED;

/// Labels that say what a measurement is, and not under which choices it was made.
const NO_CHOICE: [&str; 8] = ["plan", "state", "x-axis", "series-axis", "column-axis", "row-axis", "best-axis", MEASURED];

/// The names of the plans.
pub(super) fn names(all: &[Measurement]) -> Vec<&str> {
    distinct(all.iter().filter_map(|m| label(m, "plan")))
}

/// What the plan's figure shows: curves or a matrix.
pub(super) fn draw(all: &[Measurement], name: &str, published: &[Published]) -> Option<Drawn> {
    let plan = Shown::of(all, name)?;
    if plan.axis("column-axis").is_empty() { curves::draw(plan, published) } else { matrix::draw(plan) }
}

/// Returns whether the plan was measured on a machine, not simulated.
pub(super) fn is_measured(all: &[Measurement], name: &str) -> bool {
    all.iter().any(|m| label(m, "plan") == Some(name) && label(m, MEASURED).is_some())
}

/// What one of the plan's runs was doing over time.
pub(super) fn over_time(all: &[Measurement], name: &str) -> Option<Drawn> {
    states::draw(&Shown::of(all, name)?)
}

/// The measurements of a plan.
pub(super) struct Shown<'a> {
    pub(super) title: &'a str,
    /// What the numbers of its points are, in words.
    what: &'a str,
    pub(super) unit: &'a str,
    /// The points, with their numbers among all measurements.
    pub(super) points: Vec<(usize, &'a Measurement)>,
    states: Vec<&'a Measurement>,
}

impl<'a> Shown<'a> {
    pub(super) fn of(all: &'a [Measurement], name: &str) -> Option<Self> {
        let mine = || all.iter().enumerate().filter(|(_, m)| label(m, "plan") == Some(name));
        let points: Vec<_> = mine().filter(|(_, m)| label(m, "state").is_none()).collect();
        let states: Vec<_> = mine().map(|(_, m)| m).filter(|m| label(m, "state").is_some()).collect();
        let first = points.first().map(|(_, m)| *m).or(states.first().copied())?;
        let (title, what) = first.what.rsplit_once(": ").unwrap_or((name_of(all, name), &first.what));
        Some(Self { title, what, unit: &first.unit, points, states })
    }

    /// The names along one of its axes.
    pub(super) fn axis(&self, which: &str) -> Vec<&'a str> {
        let Some((_, first)) = self.points.first() else { return vec![] };
        let (mut rest, mut names) = (label(first, which).unwrap_or_default(), vec![]);
        // Names may contain spaces, so the longest that fits is the one.
        while let Some(name) = first.labels.keys().filter(|name| begins(rest, name)).max_by_key(|name| name.len()) {
            names.push(name.as_str());
            rest = rest[name.len()..].trim_start();
        }
        names
    }

    /// The names besides these of which points have several choices.
    pub(super) fn others(&self, known: &[&str]) -> Vec<&'a str> {
        let names = distinct(self.points.iter().flat_map(|(_, m)| m.labels.keys()).map(String::as_str));
        let varies = |name: &str| distinct(self.points.iter().map(|(_, m)| label(m, name).unwrap_or_default())).len() > 1;
        names.into_iter().filter(|name| !known.contains(name) && !NO_CHOICE.contains(name) && varies(name)).collect()
    }

    /// Takes the points with the choice that speedups are over out, and returns that choice: they are 1 by
    /// construction.
    fn take_base(&mut self, names: &[&str]) -> Option<String> {
        let choices = |name: &&str| distinct(self.points.iter().filter_map(|(_, m)| label(m, name)));
        let base = |name: &&str, choice: &str| {
            self.points.iter().filter(|(_, m)| label(m, name) == Some(choice)).all(|(_, m)| is_base(m))
        };
        let several = names.iter().map(|name| (name, choices(name))).filter(|(_, choices)| choices.len() > 1);
        let mut all = several.flat_map(|(name, choices)| choices.into_iter().map(move |choice| (*name, choice)));
        let (name, choice) = all.find(|(name, choice)| self.unit == "times" && base(name, choice))?;
        let choice = choice.to_owned();
        self.points.retain(|(_, m)| label(m, name) != Some(&choice));
        Some(choice)
    }
}

/// Returns whether it is the base of the comparison, whose values are all 1.
fn is_base(m: &Measurement) -> bool {
    (m.summary.min, m.summary.max) == (Some(1.0), Some(1.0))
}

/// The plan's name as its measurements have it.
fn name_of<'a>(all: &'a [Measurement], name: &str) -> &'a str {
    names(all).into_iter().find(|known| *known == name).unwrap_or_default()
}

fn begins(text: &str, name: &str) -> bool {
    text.strip_prefix(name).is_some_and(|rest| !name.is_empty() && (rest.is_empty() || rest.starts_with(' ')))
}

fn label<'a>(m: &'a Measurement, name: &str) -> Option<&'a str> {
    m.labels.get(name).map(String::as_str)
}

/// The choices of a measurement under these names.
fn choices(m: &Measurement, names: &[&str]) -> Vec<String> {
    names.iter().map(|name| label(m, name).unwrap_or_default().to_owned()).collect()
}

/// The choices of a measurement in words: a number needs its name.
fn describe(m: &Measurement, names: &[&str]) -> Vec<String> {
    let told = |name: &&str| match label(m, name).unwrap_or_default() {
        number if number.parse::<f64>().is_ok() => format!("{} {number}", plain(name)),
        words => words.to_owned(),
    };
    names.iter().map(told).collect()
}

/// A key without the tables that it lies in: `threshold-ticks`.
pub(super) fn plain(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

/// The choices of a measurement with their names: `threads: 24, policy: CS`.
fn circumstances(m: &Measurement, names: &[&str]) -> String {
    let told: Vec<String> = names.iter().filter_map(|name| Some(format!("{}: {}", plain(name), label(m, name)?))).collect();
    told.join(", ")
}

/// The text with a capital letter, to begin a sentence.
fn capital(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}
