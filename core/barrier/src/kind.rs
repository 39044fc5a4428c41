//! Which barrier: the one place where their names and needs are listed.
use crate::{butterfly, dissemination, tree, tree::SLOTS};
use foregather_machine::{Cause, Endpoint, Error};

/// The barriers there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// One counter and one epoch; any size. The cheapest for few members.
    Central,
    /// `ceil(log2 n)` rounds of one signal each; any size.
    Dissemination,
    /// Gather by fours, release by twos; any size; fewest signals.
    Tree,
    /// Pairwise exchanges; powers of two.
    Butterfly,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Central, Self::Dissemination, Self::Tree, Self::Butterfly];

    /// Its name on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Central => "central",
            Self::Dissemination => "dissemination",
            Self::Tree => "tree",
            Self::Butterfly => "butterfly",
        }
    }

    /// The barrier of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Can it synchronise `size` members?
    ///
    /// # Errors
    /// [`Cause::Size`], saying what it takes instead.
    pub fn takes(self, size: u32) -> Result<(), Error> {
        let needs = match self {
            _ if size == 0 || size > 1 << 24 => "at least 1 and at most 2^24",
            Self::Butterfly if !size.is_power_of_two() => "a power of two; the others take any size",
            _ => return Ok(()),
        };
        Err(Error::from(Cause::Size { what: self.name(), size, needs }))
    }

    /// Slots that each member needs; none over plain words.
    pub(crate) fn slots(self, size: u32) -> u32 {
        match self {
            Self::Central => 0,
            Self::Tree => SLOTS,
            Self::Dissemination | Self::Butterfly => size.next_power_of_two().trailing_zeros(),
        }
    }

    /// One episode over null messages; the central barrier, which needs words, acts as dissemination.
    #[inline]
    pub(crate) async fn over<E: Endpoint>(self, endpoint: &E) -> Result<(), Error> {
        match self {
            Self::Central | Self::Dissemination => dissemination(endpoint).await,
            Self::Tree => tree(endpoint).await,
            Self::Butterfly => butterfly(endpoint).await,
        }
    }
}
