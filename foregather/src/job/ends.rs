//! How the ranks of a job ended, and which of several errors is the one to tell.
use foregather_launch::Session;
use foregather_machine::{Cause, Error, Rank};

/// Errors that cross to other ranks are cut to so many characters.
const LONGEST: usize = 2_000;

/// Does it only say that another rank has ended?
fn is_consequence(error: &Error) -> bool {
    matches!(
        error.cause(),
        Cause::Poisoned { .. } | Cause::PeerLost { .. } | Cause::Closed { .. } | Cause::Elsewhere { .. }
    )
}

/// All results in order, or the error that is no consequence of another one.
pub(super) fn of_threads<R>(ends: Vec<Result<R, Error>>) -> Result<Vec<R>, Error> {
    let (mut all, mut errors) = (Vec::new(), Vec::new());
    for end in ends {
        match end {
            Ok(result) => all.push(result),
            Err(error) => errors.push(error),
        }
    }
    errors.sort_by_key(is_consequence);
    errors.into_iter().next().map_or(Ok(all), Err)
}

/// Tells all ranks how this one ended, once it has. A job that fails on one rank fails on all.
pub(super) fn of_ranks<R>(session: &Session, mine: Result<R, Error>) -> Result<R, Error> {
    let cards = session.exchange(&card(mine.as_ref().err()));
    let (mine, cards) = match (mine, cards) {
        (Err(own), _) if !is_consequence(&own) => return Err(own),
        (Err(own), Err(_)) => return Err(own),
        (Ok(_), Err(lost)) => return Err(lost),
        (mine, Ok(cards)) => (mine, cards),
    };
    let told = |sign: u8| (0..).zip(&cards).find_map(|(rank, card)| elsewhere(rank, card, sign));
    match told(ROOT) {
        Some(root) => Err(root),
        None => mine.and_then(|result| told(CONSEQUENCE).map_or(Ok(result), Err)),
    }
}

const ROOT: u8 = b'r';
const CONSEQUENCE: u8 = b'c';

/// Nothing for success; else what kind of error it is, and its sentence.
fn card(error: Option<&Error>) -> Vec<u8> {
    let Some(error) = error else { return Vec::new() };
    let sign = if is_consequence(error) { CONSEQUENCE } else { ROOT };
    let sentence: String = error.to_string().chars().take(LONGEST).collect();
    [&[sign], sentence.as_bytes()].concat()
}

fn elsewhere(rank: Rank, card: &[u8], sign: u8) -> Option<Error> {
    let (_, sentence) = card.split_first().filter(|(first, _)| **first == sign)?;
    Some(Cause::Elsewhere { rank, why: String::from_utf8_lossy(sentence).into_owned() }.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_that_explains_the_others_is_told() {
        let (because, root) = (Error::from(Cause::Poisoned { by: Some(1) }), Error::from(Cause::Rank { rank: 9, size: 3 }));
        assert_eq!(of_threads(vec![Ok(1), Ok(2)]), Ok(vec![1, 2]));
        assert_eq!(of_threads(vec![Err(because.clone()), Err(root.clone()), Ok(2)]), Err(root));
        assert_eq!(of_threads(vec![Ok(1), Err(because.clone())]), Err(because));
    }

    #[test]
    fn a_card_says_what_kind_of_error_it_is() {
        let root = Error::from(Cause::Rank { rank: 9, size: 3 });
        let card = card(Some(&root));
        assert_eq!(elsewhere(1, &card, CONSEQUENCE), None);
        assert_eq!(elsewhere(1, &card, ROOT), Some(Cause::Elsewhere { rank: 1, why: root.to_string() }.into()));
        assert_eq!(elsewhere(1, &super::card(None), ROOT), None);
    }
}
