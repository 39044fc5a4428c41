//! Runs steps: each after those that it names, side by side where nothing can be disturbed.
use super::table::CiStep;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

#[derive(Clone, Copy)]
pub(super) struct CiLimits {
    /// How many steps run at once.
    pub(super) at_once: usize,
    /// The time after which no further step begins.
    pub(super) within: Duration,
    /// Whether a missing part is a failure.
    pub(super) requires_parts: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Outcome {
    Passed,
    Failed(String),
    /// Why it was not run, and whether that is a failure.
    NotRun(String, bool),
}

impl Outcome {
    pub(super) fn is_failure(&self) -> bool {
        matches!(self, Self::Failed(_) | Self::NotRun(_, true))
    }
}

/// A step that has ended.
pub(super) struct EndedStep<'a> {
    pub(super) step: &'a CiStep,
    pub(super) outcome: Outcome,
    pub(super) seconds: f64,
}

/// Where the scheduler's work is done: the commands of steps in CI, fakes in tests.
pub(super) trait StepHost: Sync {
    /// Returns what a step needs and does not find, with the remedy.
    fn missing(&self, step: &CiStep) -> Option<String>;
    /// Runs a step. Fails with the reason.
    fn execute(&self, step: &CiStep) -> Result<(), String>;
    /// A step begins, or has ended.
    fn report(&self, step: &CiStep, ended: Option<&Outcome>);
}

/// Runs steps, which are sorted so that each stands below those that must pass before it.
pub(super) fn all<'a>(steps: &'a [CiStep], limits: CiLimits, site: &dyn StepHost) -> Vec<EndedStep<'a>> {
    let (begun, (sender, ends)) = (Instant::now(), mpsc::channel());
    let (mut pending, mut running, mut ended): (Vec<&CiStep>, Vec<&CiStep>, Vec<EndedStep<'_>>) =
        (steps.iter().collect(), vec![], vec![]);
    let late = || begun.elapsed().gt(&limits.within).then(|| Outcome::NotRun("no time is left".to_owned(), true));
    thread::scope(|scope| {
        while !pending.is_empty() || !running.is_empty() {
            // One at a time: what has become of it decides about those below it.
            let settled = pending.iter().enumerate().find_map(|(at, step)| Some((at, decided(step, &ended).or_else(late)?)));
            let end = if let Some((at, outcome)) = settled {
                EndedStep { step: pending.remove(at), outcome, seconds: 0.0 }
            } else if let Some(at) = next(&pending, &running, limits.at_once) {
                let step = pending.remove(at);
                if let Some(missing) = site.missing(step) {
                    let outcome = Outcome::NotRun(missing, limits.requires_parts && !step.optional);
                    EndedStep { step, outcome, seconds: 0.0 }
                } else {
                    running.push(step);
                    site.report(step, None);
                    let sender = sender.clone();
                    scope.spawn(move || {
                        let since = Instant::now();
                        let outcome = site.execute(step).map_or_else(Outcome::Failed, |()| Outcome::Passed);
                        // The receiver lives as long as this scope.
                        let _ = sender.send(EndedStep { step, outcome, seconds: since.elapsed().as_secs_f64() });
                    });
                    continue;
                }
            } else {
                let Ok(end) = ends.recv() else { break };
                running.retain(|step| step.name != end.step.name);
                end
            };
            site.report(end.step, Some(&end.outcome));
            ended.push(end);
        }
    });
    ended
}

/// Returns what becomes of a step because one before it did not pass.
fn decided(step: &CiStep, ended: &[EndedStep<'_>]) -> Option<Outcome> {
    let before = ended.iter().find(|before| step.after.contains(&before.step.name) && before.outcome != Outcome::Passed)?;
    let is_failure = before.outcome.is_failure() && !step.optional;
    Some(Outcome::NotRun(format!("`{}` did not pass", before.step.name), is_failure))
}

/// Returns which pending step begins now. One that runs alone waits until the others have ended, and nothing
/// below it overtakes it.
fn next(pending: &[&CiStep], running: &[&CiStep], at_once: usize) -> Option<usize> {
    if running.len() >= at_once || running.iter().any(|step| step.alone) {
        return None;
    }
    let is_open = |name: &String| pending.iter().chain(running).any(|step| step.name == *name);
    let can_begin = |step: &CiStep| !step.after.iter().any(is_open);
    let is_building = running.iter().any(|step| step.builds);
    let at = pending.iter().position(|step| can_begin(step) && (step.alone || !(step.builds && is_building)))?;
    (!pending[at].alone || running.is_empty()).then_some(at)
}

/// Returns the table of seconds and results.
pub(super) fn summary(ended: &[EndedStep<'_>]) -> String {
    let lines = ended.iter().map(|EndedStep { step, outcome, seconds }| {
        let result = match outcome {
            Outcome::Passed => "passed".to_owned(),
            Outcome::Failed(why) => format!("FAILED: {why}"),
            Outcome::NotRun(why, false) => format!("not run here, {why}"),
            Outcome::NotRun(why, true) => format!("FAILED, not run: {why}"),
        };
        format!("{seconds:>6.0} s  {:<18} {result}\n", step.name)
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::super::table::fake;
    use super::*;
    use std::sync::Mutex;

    /// Notes what begins (`+`) and ends (`-`). Steps last 20 ms.
    #[derive(Default)]
    struct Noted(Mutex<Vec<String>>);

    impl StepHost for Noted {
        fn missing(&self, step: &CiStep) -> Option<String> {
            step.name.starts_with("node").then(|| "missing: Node".to_owned())
        }

        fn execute(&self, step: &CiStep) -> Result<(), String> {
            thread::sleep(Duration::from_millis(20));
            if step.name.starts_with("bad") { Err("exit status: 1".to_owned()) } else { Ok(()) }
        }

        fn report(&self, step: &CiStep, ended: Option<&Outcome>) {
            self.0.lock().unwrap().push(format!("{}{}", if ended.is_some() { '-' } else { '+' }, step.name));
        }
    }

    /// What happened in which order, and the table at the end. A step is written `NAME` or `NAME<BEFORE`, and
    /// ends in `!` if it runs alone, in `*` if it builds.
    fn with(steps: &str, change: impl Fn(&mut CiLimits)) -> (String, String) {
        let steps = steps.split(' ').map(|step| {
            let (name, before) =
                step.split_once('<').map_or((step, vec![]), |(name, before)| (name, vec![before.trim_end_matches('!')]));
            let mut fake = fake(name.trim_end_matches(['!', '*']), &before);
            (fake.alone, fake.builds) = (step.ends_with('!'), step.ends_with('*'));
            fake
        });
        let steps: Vec<_> = steps.collect();
        let mut limits = CiLimits { at_once: 2, within: Duration::from_secs(60), requires_parts: false };
        change(&mut limits);
        let site = Noted::default();
        let ended = all(&steps, limits, &site);
        assert_eq!(ended.len(), steps.len());
        (site.0.into_inner().unwrap().join(" "), summary(&ended))
    }

    fn events(steps: &str) -> String {
        with(steps, |_| ()).0
    }

    #[test]
    fn steps_run_side_by_side_if_nothing_forbids_it() {
        assert_eq!(events("a b<a c<b"), "+a -a +b -b +c -c", "each after the one that it names");
        let seen = events("a b c");
        assert!(seen.starts_with("+a +b -") && seen.contains("+c"), "two processors: {seen}");
        assert_eq!(with("a b c", |limits| limits.at_once = 1).0, "+a -a +b -b +c -c");
        let seen = events("a* b* words");
        assert!(seen.starts_with("+a +words") && seen.find("-a") < seen.find("+b"), "builds take turns: {seen}");
        assert_eq!(events("a timed! c"), "+a -a +timed -timed +c -c", "one that runs alone is not overtaken");
        let seen = events("a timed<a! c");
        assert!(
            seen.starts_with("+a +c") && seen.ends_with("+timed -timed"),
            "what is below one that cannot begin yet may begin: {seen}"
        );
    }

    #[test]
    fn a_missing_part_fails_only_where_parts_are_required() {
        let (seen, table) = with("node page<node c", |_| ());
        assert!(seen.contains("+c -c") && !seen.contains("+node"), "{seen}");
        for why in ["not run here, missing: Node", "not run here, `node` did not pass"] {
            assert!(table.contains(why) && !table.contains("FAILED"), "{table}");
        }
        let (_, table) = with("node page<node c", |limits| limits.requires_parts = true);
        assert_eq!(table.matches("FAILED, not run").count(), 2, "{table}");
        let mut optional = fake("node", &[]);
        optional.optional = true;
        let limits = CiLimits { at_once: 1, within: Duration::MAX, requires_parts: true };
        assert!(!all(&[optional], limits, &Noted::default())[0].outcome.is_failure());
    }

    #[test]
    fn a_failed_step_ends_those_after_it_and_no_other() {
        let (seen, table) = with("bad after<bad c", |_| ());
        assert!(!seen.contains("+after") && seen.contains("+c"), "{seen}");
        assert!(table.contains("FAILED: exit status: 1") && table.contains("FAILED, not run: `bad` did not pass"), "{table}");
        let (seen, table) = with("a", |limits| limits.within = Duration::ZERO);
        assert!(seen == "-a" && table.contains("FAILED, not run: no time is left"), "{table}");
    }
}
