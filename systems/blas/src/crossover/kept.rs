//! Crossovers kept from run to run: `foregather.crossovers/2`, two numbers a routine and the size of the team
//! they hold for.
use super::{CrossoverSizes, Routine};
use foregather_host::kept::{self, KeptNumber, Numbers};
use std::path::PathBuf;

/// Unoptimised code has other crossovers.
const NAME: &str = if cfg!(debug_assertions) { "crossovers-unoptimised" } else { "crossovers" };
const SCHEMA: &str = "foregather.crossovers/2";
const MEMBERS: &str = "members";
/// A measured crossover is usual between this part of the usual length or order, and this many times it.
const USUAL: usize = 2;
/// After a pause a call is usually shared from the size that it needs without one to this many times that.
const USUAL_AFTER_A_PAUSE: u64 = 32;

/// The measurements of one routine's crossovers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct KeptSizes {
    warm: KeptNumber,
    cold: KeptNumber,
}

impl KeptSizes {
    pub(super) const NONE: Self = Self { warm: KeptNumber::NONE, cold: KeptNumber::NONE };

    pub(super) fn is_empty(&self) -> bool {
        self.warm.is_empty()
    }

    pub(super) fn add(&mut self, sizes: CrossoverSizes) {
        self.warm.add(sizes.warm);
        self.cold.add(sizes.cold);
    }

    /// Returns the crossovers to use. Under load a routine may seem never to be worth a team; such a
    /// measurement counts only if two others confirm it.
    pub(super) fn sizes(&self, routine: Routine) -> CrossoverSizes {
        let warm = self.warm.value(usual(routine));
        CrossoverSizes { warm, cold: self.cold.value(usual_after_a_pause(warm)).max(warm) }
    }

    /// Returns whether the routine need not be measured again.
    pub(super) fn is_settled(&self, routine: Routine) -> bool {
        let confirmed = || {
            let usual = usual(routine);
            self.warm.is_confirmed(usual) && self.cold.is_confirmed(usual_after_a_pause(self.warm.value(usual)))
        };
        self.warm.is_complete() || !self.is_empty() && confirmed()
    }
}

fn usual(routine: Routine) -> [u64; 2] {
    let order = routine.usual();
    [order / USUAL, order * USUAL].map(|order| routine.size_of_order(order))
}

fn usual_after_a_pause(warm: u64) -> [u64; 2] {
    [warm, warm.saturating_mul(USUAL_AFTER_A_PAUSE)]
}

/// Loads the crossovers of this machine for a team of `members`.
///
/// # Errors
/// Why the file is ignored.
pub(super) fn load(members: u32) -> Result<Vec<(Routine, KeptSizes)>, String> {
    parse(&kept::load(NAME, SCHEMA)?, members)
}

/// The file's path.
pub(super) fn path() -> Option<PathBuf> {
    kept::path(NAME)
}

/// Keeps the crossovers for a team of `members`.
///
/// # Errors
/// Why they cannot be kept.
pub(super) fn store(members: u32, all: impl Iterator<Item = (Routine, KeptSizes)>) -> Result<(), String> {
    kept::store(NAME, SCHEMA, &numbers(members, all)).map(drop).map_err(|error| format!("crossovers are not kept: {error}"))
}

fn keys(routine: Routine) -> [String; 2] {
    [format!("{}-warm", routine.name()), format!("{}-cold", routine.name())]
}

fn numbers(members: u32, all: impl Iterator<Item = (Routine, KeptSizes)>) -> Numbers {
    let sizes = all.flat_map(|(routine, kept)| keys(routine).into_iter().zip([kept.warm, kept.cold]));
    sizes.chain([(MEMBERS.to_owned(), KeptNumber::once(members.into()))]).collect()
}

fn parse(numbers: &Numbers, members: u32) -> Result<Vec<(Routine, KeptSizes)>, String> {
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    let of = numbers.get(MEMBERS).map_or(0, KeptNumber::newest);
    if of != u64::from(members) {
        return Err(format!("kept crossovers are ignored: they are of a team of {of}, and this one has {members} members"));
    }
    let one = |&routine: &Routine| {
        let [warm, cold] = keys(routine).map(|key| numbers.get(&key).cloned());
        let kept = KeptSizes { warm: warm?, cold: cold? };
        Some(if kept.warm.newest() <= kept.cold.newest() {
            Ok((routine, kept))
        } else {
            Err(format!("kept crossovers are ignored: {} is shared earlier after a pause than without one", routine.name()))
        })
    };
    Routine::ALL.iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn once(warm: u64, cold: u64) -> KeptSizes {
        KeptSizes { warm: KeptNumber::once(warm), cold: KeptNumber::once(cold) }
    }

    #[test]
    fn crossovers_come_back_for_the_same_team_only() {
        let all = [(Routine::Dot, once(5, 9)), (Routine::Gemm, once(7, 7))];
        let kept = numbers(2, all.iter().cloned());
        assert_eq!(parse(&kept, 2), Ok(all.to_vec()));
        let error = parse(&kept, 8).unwrap_err();
        assert!(error.contains("a team of 2") && error.contains("8 members"), "{error}");
        assert_eq!(parse(&Numbers::new(), 2), Ok(vec![]));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let kept = numbers(2, [(Routine::Dot, once(9, 5))].into_iter());
        assert!(parse(&kept, 2).unwrap_err().contains("dot"));
        let mut half = numbers(2, [(Routine::Dot, once(5, 9))].into_iter());
        half.remove("dot-cold");
        assert_eq!(parse(&half, 2), Ok(vec![]), "it is measured again");
    }

    #[test]
    fn a_crossover_measured_wrong_twentyfold_stays_usual_until_two_more_runs_confirm_it() {
        for routine in Routine::ALL {
            let right = routine.size_of_order(routine.usual());
            let never = CrossoverSizes { warm: right * 200, cold: right * 200 * 20 };
            let mut kept = KeptSizes::NONE;
            for runs in 1..=3 {
                assert!(!kept.is_settled(routine), "{} is measured again", routine.name());
                kept.add(never);
                let confirmed = runs == 3;
                assert_eq!(kept.sizes(routine).warm == never.warm, confirmed, "{} after {runs}", routine.name());
                assert!(confirmed || kept.sizes(routine).cold <= usual(routine)[1] * USUAL_AFTER_A_PAUSE);
            }
            assert!(kept.is_settled(routine));
            kept.add(CrossoverSizes { warm: right / 200, cold: right });
            assert_eq!(kept.sizes(routine).warm, usual(routine)[0], "another one does not confirm it");
            kept.add(CrossoverSizes { warm: right, cold: right * 10 });
            assert_eq!(kept.sizes(routine), CrossoverSizes { warm: right, cold: right * 10 });
        }
    }
}
