//! What a waiter knows at the moment at which it decides: a set of yes-or-no answers, small enough to compare
//! at once.
use core::fmt;
use core::ops::{BitOr, BitOrAssign};

/// A set of facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Facts(u32);

macro_rules! facts {
    ($($bit:literal $name:ident $words:literal;)*) => {
        impl Facts {
            $(#[doc = concat!("It holds: ", $words, ".")] pub const $name: Self = Self(1 << $bit);)*
            /// Every fact with its words, in order.
            pub const ALL: &[(Self, &'static str)] = &[$((Self::$name, $words)),*];
        }
    };
}

facts! {
    0 HERE "an awaited member was last seen on my processor, or publishes nothing in a team larger than its processors";
    1 CROWDED "that was so again and again";
    2 BACKGROUND "another program's thread computes on my processor: a yield came back after a quarter of a tick, now or, beside a crowd, lately";
    3 DISTRUSTED "lately a yield of mine went to a background thread";
    4 LATE "I have waited for longer than my bound and a quarter of a tick";
    5 REALTIME "I have a real-time class, where others starve while I spin and none is reached by a yield";
    6 BOUND "my spin bound is over";
    7 CAP "I have waited for as long as even a computing member is worth";
    8 ASKED "I have asked whether an awaited member runs";
    9 RUNS "one of them does";
    10 READY "none of those that can be asked does";
    11 MOVABLE "members may be moved, and I may move now";
    12 EMPTIER "another processor has fewer members than mine";
    13 MUCH_EMPTIER "it has at least two fewer";
    14 IDLE "a scout came back from it";
    15 TINY "an episode takes less than two local hand-overs";
    16 LONG "an episode takes more than six of them";
    17 FITS "the team has two members, and as many processors";
    18 PULLABLE "members may be moved, and I have not pulled one lately";
    19 DISTURBED "others had my processor, a few ticks ago at most: while I spun, or, if I wait for messages, for a twentieth of the time";
    20 CHEAP "to hand over on one processor costs clearly less than a remote wake-up";
    21 MESSAGE "I wait for a message, and nobody copies from my memory meanwhile";
    22 BRIEF_OVER "I have waited for longer than two local hand-overs";
    23 CROWDED_OUT "the team is larger than its processors, and a background thread took a turn on mine lately";
    24 ROOMY "an episode takes longer than a remote wake-up";
    25 OVERFULL "the team is larger than its processors";
    26 EXPECTED "messages come regularly, and the next one is not due yet";
}

impl Facts {
    /// Nothing is known.
    pub const NONE: Self = Self(0);

    /// The facts of both sets.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The facts of this set that are not in the other.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// These facts if `so`, else none.
    #[must_use]
    pub(crate) const fn when(self, so: bool) -> Self {
        if so { self } else { Self::NONE }
    }

    /// Returns whether it has all facts of `all`.
    pub const fn has(self, all: Self) -> bool {
        self.0 & all.0 == all.0
    }

    /// Returns whether it has any fact of `some`.
    pub const fn any(self, some: Self) -> bool {
        self.0 & some.0 != 0
    }
}

impl BitOr for Facts {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

impl BitOrAssign for Facts {
    fn bitor_assign(&mut self, other: Self) {
        *self = self.union(other);
    }
}

impl fmt::Display for Facts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<_> = Self::ALL.iter().filter(|(fact, _)| self.has(*fact)).map(|(_, words)| *words).collect();
        f.write_str(&words.join("; "))
    }
}
