//! What a plan's first job was doing over time: its threads by state, the spins that succeed window by
//! window, and when it fell into step for good.
use super::{Drawn, Shown, circumstances, distinct, label};
use crate::strip::{Plot, Strips, Track};
use crate::svg::colour;
use foregather_results::Measurement;
use foregather_results::number::quantity;

/// The states in the order in which they are stacked, from below.
const STATES: [&str; 4] = ["computing", "spinning", "ready", "blocked"];
/// A whole run is an overview; a stretch of it may have as many columns as there are pixels.
const COLUMNS_OVERVIEW: usize = 300;
const COLUMNS_ENLARGED: usize = 860;
/// A window counts as in step from this rate of successful spins on.
const IN_STEP_PERCENT: f64 = 95.0;
/// Windows before and after the transition that are enlarged.
const WINDOWS_BEFORE: f64 = 2.0;
const WINDOWS_AFTER: f64 = 6.0;
/// The part of a run that is enlarged if it has no transition.
const BEGINNING: f64 = 0.2;

/// What one run recorded.
struct RecordedStates<'a> {
    /// Its choices, and their names.
    name: String,
    names: Vec<&'a str>,
    /// Threads by state, sample by sample; empty if no states were recorded.
    states: Vec<&'a [f64]>,
    native: &'a [f64],
    sample_ms: f64,
    /// Rates of successful spins in percent, window by window.
    rates: &'a [f64],
    window_ms: f64,
}

pub(super) fn draw(plan: &Shown<'_>) -> Option<Drawn> {
    let runs = recorded(plan);
    let run = runs.iter().rev().max_by(|a, b| a.worth().total_cmp(&b.worth()))?;
    let length = run.length_ms();
    let transition = run.transition_ms();
    let enlarged = run.enlarged(length);
    let title = if run.name.is_empty() { "The whole run".to_owned() } else { run.name.clone() };
    let mut plots = vec![run.plot(title, (0.0, length), Some(enlarged))];
    let told = if transition.is_some_and(|at| at < length) { "Around the transition" } else { "The beginning" };
    plots.push(run.plot(told.to_owned(), enlarged, None));
    let threads = run.states.iter().map(|state| state.first().copied().unwrap_or(0.0)).sum::<f64>();
    let rate = Track { name: "spins that succeed (%)", unit: "%", high: 100.0, ink: colour(1) };
    let native = Track { name: "processors that the threads ran on last", unit: "cpus", high: threads.max(1.0), ink: colour(2) };
    let tracks = [(run.rates, rate), (run.native, native)].into_iter().filter(|(values, _)| !values.is_empty());
    let tracks = tracks.map(|(_, track)| track).collect();
    let strips = Strips { title: plan.title, states: &STATES, threads: threads.max(1.0), tracks, plots };
    Some(Drawn { svg: strips.render(), caption: caption(plan, run) })
}

/// The runs that recorded states or rates over time.
fn recorded<'a>(plan: &Shown<'a>) -> Vec<RecordedStates<'a>> {
    let mut names: Vec<&str> = distinct(plan.states.iter().flat_map(|m| m.labels.keys()).map(String::as_str));
    names.retain(|name| !super::NO_CHOICE.contains(name));
    let mut groups: Vec<(String, Vec<&'a Measurement>)> = vec![];
    for &m in &plan.states {
        let name = circumstances(m, &names);
        match groups.iter_mut().find(|group| group.0 == name) {
            Some(group) => group.1.push(m),
            None => groups.push((name, vec![m])),
        }
    }
    let run = |(name, all): (String, Vec<&'a Measurement>)| {
        let find = |state: &str| all.iter().find(|m| label(m, "state") == Some(state)).copied();
        let values = |m: Option<&'a Measurement>| m.and_then(|m| m.values.as_deref()).unwrap_or_default();
        let ms = |m: Option<&'a Measurement>, figure: &str| m.and_then(|m| m.figures.get(figure)).map_or(0.0, |us| us / 1e3);
        let (ssr, first) = (find("ssr"), find(STATES[0]));
        let (sample_ms, window_ms) = (ms(first, "sample_us"), ms(ssr, "window_us"));
        let states: Vec<&[f64]> = STATES.iter().map(|state| values(find(state))).collect();
        let complete = sample_ms > 0.0 && states.iter().all(|state| !state.is_empty() && state.len() == states[0].len());
        RecordedStates {
            name,
            names: names.clone(),
            native: if complete { values(find("native")) } else { &[] },
            states: if complete { states } else { vec![] },
            sample_ms,
            rates: if window_ms > 0.0 { values(ssr) } else { &[] },
            window_ms,
        }
    };
    groups.into_iter().map(run).filter(|run| run.length_ms() > 0.0).collect()
}

impl RecordedStates<'_> {
    fn samples(&self) -> usize {
        self.states.first().map_or(0, |state| state.len())
    }

    /// How much of the run can be shown: as long as states are known, or else rates.
    fn length_ms(&self) -> f64 {
        match self.samples() {
            0 => self.rates.len() as f64 * self.window_ms,
            samples => samples as f64 * self.sample_ms,
        }
    }

    /// When the run fell into step: the first window from which on none falls below [`IN_STEP_PERCENT`]
    /// begins then.
    fn transition_ms(&self) -> Option<f64> {
        let lasting = self.rates.iter().rev().take_while(|&&rate| rate >= IN_STEP_PERCENT).count();
        (lasting > 0).then(|| (self.rates.len() - lasting) as f64 * self.window_ms)
    }

    /// Which run is worth showing: the later its transition the better, if some time after it is shown too.
    fn worth(&self) -> f64 {
        let after = WINDOWS_AFTER * self.window_ms;
        self.transition_ms().filter(|at| at + after <= self.length_ms()).unwrap_or(-1.0)
    }

    /// The stretch that deserves a closer look.
    fn enlarged(&self, length: f64) -> (f64, f64) {
        match self.transition_ms().filter(|&at| at < length) {
            Some(at) => {
                let from = (at - WINDOWS_BEFORE * self.window_ms).max(0.0);
                (from, (at + WINDOWS_AFTER * self.window_ms).min(length))
            }
            None => (0.0, length * BEGINNING),
        }
    }

    fn plot(&self, title: String, (from, to): (f64, f64), enlarged: Option<(f64, f64)>) -> Plot {
        let sample = |ms: f64| ((ms / self.sample_ms).round() as usize).min(self.samples());
        let (first, last) = if self.samples() == 0 { (0, 0) } else { (sample(from), sample(to)) };
        let columns = if enlarged.is_some() { COLUMNS_OVERVIEW } else { COLUMNS_ENLARGED };
        let each = (last - first).div_ceil(columns).max(1);
        // A last column that is not whole would reach too far, so it is left out.
        let starts = (first..last).step_by(each).filter(|start| start + each <= last);
        let mean = |values: &[f64], start: usize| values[start..start + each].iter().sum::<f64>() / each as f64;
        let column = |start: usize| self.states.iter().map(|state| mean(state, start)).collect();
        let within = |length: f64| move |(at, _): &(f64, f64)| *at < to && at + length > from;
        let steps = |values: &[f64], length: f64| -> Vec<(f64, f64)> {
            let steps = values.iter().enumerate().map(|(i, value)| (i as f64 * length, *value));
            steps.filter(within(length)).map(|(at, value)| (at.max(from), value)).collect()
        };
        let column_ms = each as f64 * self.sample_ms;
        let native: Vec<f64> = (0..self.native.len() / each).map(|i| mean(self.native, i * each)).collect();
        let tracks = [(self.rates, steps(self.rates, self.window_ms)), (self.native, steps(&native, column_ms))];
        let tracks = tracks.into_iter().filter(|(values, _)| !values.is_empty()).map(|(_, steps)| steps).collect();
        let moment = self.transition_ms().map(|at| (at, format!("in step from {} on", quantity(at, "ms"))));
        Plot { title, from, to, columns: starts.map(column).collect(), column_ms, tracks, moment, enlarged }
    }

    /// The means of the states over some samples.
    fn means(&self, from: usize, to: usize) -> Vec<f64> {
        self.states.iter().map(|state| state[from..to].iter().sum::<f64>() / (to - from) as f64).collect()
    }
}

fn caption(plan: &Shown<'_>, run: &RecordedStates<'_>) -> String {
    let told = |means: Vec<f64>| {
        let told: Vec<String> = STATES.iter().zip(means).map(|(state, mean)| format!("{mean:.1} {state}")).collect();
        told.join(", ")
    };
    let samples = run.samples();
    let at = run.transition_ms();
    let split = at.map_or(0, |at| (at / run.sample_ms) as usize).min(samples);
    let mut sentences = Vec::new();
    match at {
        Some(at) => {
            let window = quantity(run.window_ms, "ms");
            let name = if run.name.is_empty() { String::new() } else { format!(" ({})", run.name) };
            sentences.push(format!(
                "After {} the job falls into step{name}: from then on at least {IN_STEP_PERCENT} % of its spins succeed in every window of {window}",
                quantity(at, "ms")
            ));
            if split > 0 && split < samples {
                let (before, after) = (told(run.means(0, split)), told(run.means(split, samples)));
                sentences.push(format!("Its threads on average: {before} before; {after} after"));
            }
        }
        None if samples > 0 => sentences.push(format!("The job's threads on average: {}", told(run.means(0, samples)))),
        None => {}
    }
    sentences.extend(elsewhere(plan, run));
    if let [(_, only)] = plan.points.as_slice() {
        sentences.extend(
            only.summary
                .mean
                .map(|mean| format!("{}: {}", super::capital(plan.what), quantity(mean, plan.unit.trim_start_matches("index")))),
        );
    }
    sentences.join(". ") + "."
}

/// When the plan's other runs fell into step.
fn elsewhere(plan: &Shown<'_>, run: &RecordedStates<'_>) -> Option<String> {
    let others = plan.points.iter().filter(|(_, m)| !run.rates.is_empty() && circumstances(m, &run.names) != run.name);
    let when: Vec<Option<f64>> = others.map(|(_, m)| m.figures.get("transition_ms").copied()).collect();
    let mut times: Vec<f64> = when.iter().flatten().copied().collect();
    times.sort_by(f64::total_cmp);
    let never = when.len() - times.len();
    let told = match times.as_slice() {
        [] if never == 0 => return None,
        [] => "never".to_owned(),
        [one] => format!("after {}", quantity(*one, "ms")),
        [first, .., last] => format!("after {} to {}", quantity(*first, "ms"), quantity(*last, "ms")),
    };
    let rest = if never > 0 && never < when.len() { format!(", in {never} of them never") } else { String::new() };
    let other = if when.len() == 1 { "the other run".to_owned() } else { format!("{} other runs", when.len()) };
    Some(format!("In {other} {told}{rest}"))
}
