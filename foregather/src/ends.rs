//! How the ranks of a job or of shared memory ended, and which of several errors is reported.
use core::any::Any;
use foregather_launch::Session;
use foregather_machine::{Cause, Error, Rank};
use std::panic::resume_unwind;

/// The payload of a panic in a body.
pub(crate) type Panic = Box<dyn Any + Send>;

/// Returns the error that the other ranks get if a rank's body has panicked.
pub(crate) fn panicked(rank: Rank) -> Error {
    Cause::Elsewhere { rank, why: "its body panicked".to_owned() }.into()
}

/// The maximum length, in characters, of an error that is sent to other ranks.
const LONGEST: usize = 2_000;

/// The distance of a rank that only learned of a failure from others.
const HEARD: u8 = 3;

/// Returns how far an error is from the original failure: 0 for the failure itself, 1 for a lock whose holder
/// had panicked, 2 for a wait for a rank that had returned, 3 for a rank that only learned of a failure from
/// others.
fn distance(error: &Error) -> u8 {
    match error.cause() {
        Cause::PoisonedLock { .. } => 1,
        Cause::Closed { .. } => 2,
        Cause::Poisoned { .. } | Cause::PeerLost { .. } | Cause::Elsewhere { .. } => HEARD,
        _ => 0,
    }
}

/// Returns all results in rank order, or the error that explains the others.
pub(crate) fn of_threads<R>(ends: Vec<Result<R, Error>>) -> Result<Vec<R>, Error> {
    let (mut all, mut errors) = (Vec::new(), Vec::new());
    for end in ends {
        match end {
            Ok(result) => all.push(result),
            Err(error) => errors.push(error),
        }
    }
    errors.into_iter().min_by_key(distance).map_or(Ok(all), Err)
}

/// Reports this rank's own failure to the launcher, before other ranks can learn of it. A failure that
/// another rank caused is reported by that rank.
pub(crate) fn report(session: &Session, error: &Error) {
    match distance(error) {
        HEARD => {}
        nearer => session.report_failure(nearer),
    }
}

/// Reports to the launcher that this rank's body has panicked.
pub(crate) fn report_panic(session: &Session) {
    session.report_failure(0);
}

/// Ends this process's rank: reports to all ranks how it ended, and resumes a panic.
pub(crate) fn of_this_rank<R>(session: Session, mine: Result<R, Error>, panic: Option<Panic>) -> Result<R, Error> {
    let is_own = panic.is_some() || mine.as_ref().is_err_and(|error| distance(error) < HEARD);
    let end = of_ranks(&session, mine);
    if end.is_err() && !is_own {
        session.let_the_culprit_end();
    }
    let Some(panic) = panic else { return end };
    drop(session);
    resume_unwind(panic)
}

/// Reports to all ranks how this one ended. A job that fails on one rank fails on all.
fn of_ranks<R>(session: &Session, mine: Result<R, Error>) -> Result<R, Error> {
    let reports = session.exchange(&encoded(mine.as_ref().err()));
    let reports = match (&mine, reports) {
        (_, Ok(reports)) => reports,
        (Err(_), Err(_)) => return mine,
        (Ok(_), Err(lost)) => return Err(lost),
    };
    let told = (0..).zip(&reports).filter_map(|(rank, report)| elsewhere(rank, report)).min_by_key(|(distance, _)| *distance);
    match (mine, told) {
        (Err(own), Some((least, told))) if least < distance(&own) => Err(told),
        (Ok(_), Some((_, told))) => Err(told),
        (mine, _) => mine,
    }
}

/// Returns nothing for success, otherwise the error's distance from the original failure and its message.
fn encoded(error: Option<&Error>) -> Vec<u8> {
    let Some(error) = error else { return Vec::new() };
    let sentence: String = error.to_string().chars().take(LONGEST).collect();
    [&[distance(error)], sentence.as_bytes()].concat()
}

fn elsewhere(rank: Rank, report: &[u8]) -> Option<(u8, Error)> {
    let (distance, sentence) = report.split_first()?;
    Some((*distance, Cause::Elsewhere { rank, why: String::from_utf8_lossy(sentence).into_owned() }.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_that_explains_the_others_is_told() {
        let (because, root) = (Error::from(Cause::Poisoned { by: Some(1) }), Error::from(Cause::Rank { rank: 9, size: 3 }));
        assert_eq!(of_threads(vec![Ok(1), Ok(2)]), Ok(vec![1, 2]));
        assert_eq!(of_threads(vec![Err(because.clone()), Err(root.clone()), Ok(2)]), Err(root));
        assert_eq!(of_threads(vec![Ok(1), Err(because.clone())]), Err(because.clone()));
        let returned = Error::from(Cause::Closed { peer: Some(1) });
        assert_eq!(of_threads::<()>(vec![Err(because), Err(returned.clone())]), Err(returned));
    }

    #[test]
    fn a_report_says_how_far_its_error_is_from_the_cause() {
        let root = Error::from(Cause::Rank { rank: 9, size: 3 });
        let elsewhere_1 = Error::from(Cause::Elsewhere { rank: 1, why: root.to_string() });
        assert_eq!(elsewhere(1, &encoded(Some(&root))), Some((0, elsewhere_1.clone())));
        assert_eq!(elsewhere(1, &encoded(Some(&elsewhere_1))).map(|(distance, _)| distance), Some(3));
        assert_eq!(elsewhere(1, &encoded(None)), None);
    }
}
