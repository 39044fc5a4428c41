//! A collective call as a number, with which ranks detect that their calls differ, or that a rank has ended.
use core::ops::Range;
use foregather_machine::{Cause, Error, Rank};

/// A call of one rank, or the combined calls of several ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// The lowest rank that makes no more calls, plus one; 0 if there is none.
    through: u32,
    /// A hash of the function and its arguments; [`NONE`], or [`UNLIKE`].
    made: u32,
}

/// No call was made.
const NONE: u32 = 0;
/// The calls differ.
const UNLIKE: u32 = u32::MAX;

impl Call {
    /// Calls that differ.
    pub(super) const UNLIKE: Self = Self { through: 0, made: UNLIKE };

    /// Returns the call of a function with these arguments: the same number on all ranks (FNV-1a).
    pub fn new(name: &str, arguments: &[u64]) -> Self {
        let bytes = name.bytes().chain(arguments.iter().flat_map(|number| number.to_le_bytes()));
        let number = bytes.fold(0x811c_9dc5_u32, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        Self { through: 0, made: number.clamp(NONE + 1, UNLIKE - 1) }
    }

    /// Returns the state of a rank that makes no more calls.
    pub const fn through(rank: Rank) -> Self {
        Self { through: rank + 1, made: NONE }
    }

    /// Combines two calls. The order does not matter.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        let through = match (self.through, other.through) {
            (0, rank) | (rank, 0) => rank,
            (one, two) => {
                if one < two {
                    one
                } else {
                    two
                }
            }
        };
        let made = match (self.made, other.made) {
            (NONE, made) | (made, NONE) => made,
            (one, two) => {
                if one == two {
                    one
                } else {
                    UNLIKE
                }
            }
        };
        Self { through, made }
    }

    /// Checks the combined calls of all ranks.
    ///
    /// # Errors
    /// [`Cause::Closed`] with a rank that has ended while others still make calls; [`Cause::Setting`] if the
    /// calls differ.
    pub fn check(self) -> Result<(), Error> {
        let needs = "that all threads of all ranks make the same calls in the same order, with the same types and lengths";
        match self {
            Self { made: NONE, .. } => Ok(()),
            Self { through: 1.., .. } => Err(Cause::Closed { peer: Some(self.through - 1) }.into()),
            Self { made: UNLIKE, .. } => Err(Cause::Setting { what: "what ranks that share memory do together", needs }.into()),
            _ => Ok(()),
        }
    }

    /// Returns the call encoded for the wire.
    pub const fn bits(self) -> u64 {
        (self.through as u64) << 32 | self.made as u64
    }

    /// Decodes the result of [`Call::bits`].
    pub const fn from_bits(bits: u64) -> Self {
        Self { through: (bits >> 32) as u32, made: bits as u32 }
    }
}

/// Returns share `number` of `all` shares of `of` items: a contiguous range. Shares differ in length by at
/// most one.
pub const fn share(number: u32, all: u32, of: usize) -> Range<usize> {
    let (each, more) = (of / all as usize, of % all as usize);
    Range {
        start: each * number as usize + more * number as usize / all as usize,
        end: each * (number as usize + 1) + more * (number as usize + 1) / all as usize,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn together(calls: &[Call]) -> Call {
        let all = calls.iter().copied().reduce(Call::and).unwrap();
        let backwards = calls.iter().rev().copied().reduce(|sum, call| call.and(sum)).unwrap();
        assert_eq!(all, backwards);
        assert_eq!(Call::from_bits(all.bits()), all);
        all
    }

    #[test]
    fn calls_that_differ_in_one_argument_are_not_alike_and_stay_so() {
        let call = Call::new("f64", &[8, 1, 1]);
        assert!(together(&[call, Call::new("f64", &[8, 1, 1]), call]).check().is_ok());
        for other in [Call::new("u64", &[8, 1, 1]), Call::new("f64", &[8, 1, 2]), Call::new("f64", &[9, 1, 1])] {
            for calls in [[call, other, call], [other, call, call], [call, call, other]] {
                assert!(matches!(together(&calls).check().unwrap_err().cause(), Cause::Setting { .. }));
            }
        }
    }

    #[test]
    fn the_lowest_rank_that_is_through_is_named_only_if_another_one_is_not() {
        let (call, other) = (Call::new("barrier", &[]), Call::new("sum", &[]));
        assert!(together(&[Call::through(2), Call::through(0), Call::through(1)]).check().is_ok());
        for calls in [[Call::through(2), call, Call::through(1)], [call, Call::through(1), other], [Call::through(1), call, call]]
        {
            assert_eq!(together(&calls).check().unwrap_err().cause(), &Cause::Closed { peer: Some(1) });
        }
    }

    #[test]
    fn shares_are_even_and_leave_nothing_out() {
        for (of, all) in [(0, 3), (2, 3), (10, 4), (usize::MAX, 7), (1_000_003, 64)] {
            let shares: Vec<_> = (0..all).map(|number| share(number, all, of)).collect();
            assert_eq!((shares[0].start, shares[all as usize - 1].end), (0, of));
            assert!(shares.windows(2).all(|two| two[0].end == two[1].start));
            assert!(shares.iter().all(|share| share.len() - of / all as usize <= 1));
        }
    }
}
