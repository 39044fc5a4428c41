//! Crossovers kept from run to run: `foregather.crossovers/2`, two numbers a routine and the size of the team
//! they hold for.
use super::{Routine, Sizes};
use foregather_host::kept::{self, Numbers};
use std::path::PathBuf;

/// Unoptimised code has other crossovers.
const NAME: &str = if cfg!(debug_assertions) { "crossovers-unoptimised" } else { "crossovers" };
const SCHEMA: &str = "foregather.crossovers/2";
const MEMBERS: &str = "members";

/// Loads the crossovers of this machine for a team of `members`.
///
/// # Errors
/// Why the file is ignored.
pub(super) fn load(members: u32) -> Result<Vec<(Routine, Sizes)>, String> {
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
pub(super) fn store(members: u32, all: impl Iterator<Item = (Routine, Sizes)>) -> Result<(), String> {
    kept::store(NAME, SCHEMA, &numbers(members, all)).map(drop).map_err(|error| format!("crossovers are not kept: {error}"))
}

fn keys(routine: Routine) -> [String; 2] {
    [format!("{}-warm", routine.name()), format!("{}-cold", routine.name())]
}

fn numbers(members: u32, all: impl Iterator<Item = (Routine, Sizes)>) -> Numbers {
    let sizes = all.flat_map(|(routine, sizes)| keys(routine).into_iter().zip([sizes.warm, sizes.cold]));
    sizes.chain([(MEMBERS.to_owned(), members.into())]).collect()
}

fn parse(numbers: &Numbers, members: u32) -> Result<Vec<(Routine, Sizes)>, String> {
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    let of = numbers.get(MEMBERS).copied().unwrap_or(0);
    if of != u64::from(members) {
        return Err(format!("kept crossovers are ignored: they are of a team of {of}, and this one has {members} members"));
    }
    let one = |&routine: &Routine| {
        let [warm, cold] = keys(routine).map(|key| numbers.get(&key).copied());
        let sizes = Sizes { warm: warm?, cold: cold? };
        Some(if sizes.warm <= sizes.cold {
            Ok((routine, sizes))
        } else {
            Err(format!("kept crossovers are ignored: {} is shared earlier after a pause than without one", routine.name()))
        })
    };
    Routine::ALL.iter().filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crossovers_come_back_for_the_same_team_only() {
        let all = [(Routine::Dot, Sizes { warm: 5, cold: 9 }), (Routine::Gemm, Sizes { warm: 7, cold: 7 })];
        let kept = numbers(2, all.into_iter());
        assert_eq!(parse(&kept, 2), Ok(all.to_vec()));
        let error = parse(&kept, 8).unwrap_err();
        assert!(error.contains("a team of 2") && error.contains("8 members"), "{error}");
        assert_eq!(parse(&Numbers::new(), 2), Ok(vec![]));
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let kept = numbers(2, [(Routine::Dot, Sizes { warm: 9, cold: 5 })].into_iter());
        assert!(parse(&kept, 2).unwrap_err().contains("dot"));
        let mut half = numbers(2, [(Routine::Dot, Sizes { warm: 5, cold: 9 })].into_iter());
        half.remove("dot-cold");
        assert_eq!(parse(&half, 2), Ok(vec![]), "it is measured again");
    }
}
