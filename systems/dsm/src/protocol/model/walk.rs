//! A random path through the states, longer than a search can cover, and with more hosts.
use super::Setup;
use super::fingerprint::fingerprint;
use super::search::Broken;
use super::state::{GlobalState, Wrong};
use super::step::Transition;
use foregather_machine::SplitMix;

/// The result of a walk that found no violation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Walked {
    /// Steps until the job was idle again.
    pub steps: u64,
    /// A hash of the states passed.
    pub trace: u64,
}

/// A job that is ending must be idle after this many steps.
const WINDS_DOWN: u64 = 20_000;
/// The number of last steps of a path that an error contains.
const TOLD: usize = 60;

/// Takes `steps` random steps. After that, no thread starts anything new, and the job must become idle.
///
/// # Errors
/// The first violated property, with the last part of the path to it.
pub fn walk(setup: &Setup, seed: u64, steps: u32) -> Result<Walked, Broken> {
    let (mut state, mut random) = (GlobalState::new(setup), SplitMix(seed));
    let mut walked = Walked { steps: 0, trace: 0 };
    let mut path: Vec<(GlobalState, Transition)> = Vec::new();
    loop {
        let winds_down = walked.steps >= u64::from(steps);
        let mut next = state.steps(setup);
        // Many steps start an operation, few continue one, so both kinds are chosen in turn.
        let begins = |step: &Transition| matches!(step, Transition::Start(..));
        if winds_down || (random.below(3) > 0 && !next.iter().all(begins)) {
            next.retain(|step| !begins(step));
        }
        if next.is_empty() {
            return match state.is_quiet(setup) {
                true => Ok(walked),
                false => Err(broken("deadlock: threads wait and nothing can happen".into(), &path, walked.steps)),
            };
        }
        if walked.steps > u64::from(steps) + WINDS_DOWN {
            return Err(broken("livelock: it does not become quiet".into(), &path, walked.steps));
        }
        let step = next[random.below(next.len() as u64) as usize];
        path.push((state.clone(), step));
        if path.len() > TOLD {
            path.remove(0);
        }
        walked.steps += 1;
        let after = state.after(setup, step).and_then(|next| next.check(setup).map(|()| next));
        state = after.map_err(|wrong| broken(wrong, &path, walked.steps))?;
        if walked.steps.is_multiple_of(16) {
            walked.trace = SplitMix::mix(walked.trace ^ fingerprint(&state) as u64);
        }
    }
}

#[cold]
fn broken(property: Wrong, path: &[(GlobalState, Transition)], steps: u64) -> Broken {
    Broken { property, trace: path.iter().map(|(state, step)| state.tell(*step)).collect(), states: steps }
}
