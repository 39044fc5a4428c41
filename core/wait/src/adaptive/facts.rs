//! The facts that a waiter knows when it decides, as a bit set that can be compared in one step.
use core::fmt;
use core::ops::{BitOr, BitOrAssign};

/// A set of facts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Facts(u32);

macro_rules! facts {
    ($($bit:literal $name:ident $words:literal;)*) => {
        impl Facts {
            $(#[doc = concat!("The fact that ", $words, ".")] pub const $name: Self = Self(1 << $bit);)*
            /// Every fact with its description, in order.
            pub const ALL: &[(Self, &'static str)] = &[$((Self::$name, $words)),*];
        }
    };
}

facts! {
    0 HERE "an awaited member was last seen on this processor, or publishes nothing and the team has more members than processors";
    1 CROWDED "awaited members have often been found on this processor";
    2 BACKGROUND "a background thread computes on this processor: a yield took more than a quarter of a tick, just now or, in a crowd, recently";
    3 DISTRUSTED "a recent yield of this member went to a background thread";
    4 LATE "the wait has exceeded the spin bound by more than a quarter of a tick";
    5 REALTIME "this thread has a real-time class, in which spinning starves ordinary threads and a yield does not reach them";
    6 BOUND "the wait has reached the spin bound";
    7 CAP "the wait has reached the maximum time to spin for a computing member";
    8 ASKED "it was checked whether awaited members are running";
    9 RUNS "an awaited member that was checked is running";
    10 READY "none of the checked members is running, and at least one of them is known not to be";
    11 MOVABLE "members may be moved, and this member may move now";
    12 EMPTIER "another processor has fewer members than this one";
    13 MUCH_EMPTIER "another processor has at least two members fewer than this one";
    14 IDLE "a scout has returned from the emptier processor";
    15 TINY "an episode takes less than two local hand-overs";
    16 LONG "an episode takes more than six local hand-overs";
    17 FITS "the team has two members and at least two processors";
    18 PULLABLE "members may be moved, and this member has not pulled one recently";
    19 DISTURBED "within the last few ticks, other threads used this processor: during a spin or, in waits for messages, for more than a twentieth of the time";
    20 CHEAP "a hand-over on one processor costs clearly less than a remote wake-up";
    21 MESSAGE "the wait is for a message, and no member copies from this member's memory";
    22 BRIEF_OVER "the wait has taken longer than two local hand-overs";
    23 CROWDED_OUT "the team has more members than processors, and a background thread recently took a time slice on this one";
    24 ROOMY "an episode takes longer than a remote wake-up";
    25 OVERFULL "the team has more than one processor but more members than processors, and the spin bound is reached";
    26 EXPECTED "messages arrive regularly, and the next one is not due yet";
}

impl Facts {
    /// Nothing is known.
    pub const NONE: Self = Self(0);

    /// Returns the union of both sets.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the facts of this set that are not in the other one.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Returns these facts if `so`, else none.
    #[must_use]
    pub(crate) const fn when(self, so: bool) -> Self {
        if so { self } else { Self::NONE }
    }

    /// Returns whether this set contains all facts of `all`.
    pub const fn has(self, all: Self) -> bool {
        self.0 & all.0 == all.0
    }

    /// Returns whether this set contains any fact of `some`.
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
