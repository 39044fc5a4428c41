//! The barrier algorithms. This is the only place that lists their names and requirements.
use crate::{SignalCost, butterfly, dissemination, dissemination_by, gather, gather_release, rds, sync0, tournament, tree};
use foregather_machine::{Cause, Endpoint, Error};

/// The barrier algorithms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// One counter and one epoch word; any size. The cheapest for few members. Requires shared words.
    Central,
    /// `ceil(log2 n)` rounds of one signal each; any size.
    Dissemination,
    /// The MCS tree: gathers with fan-in 4, releases with fan-out 2; any size; `2n - 2` signals.
    Tree,
    /// Pairwise exchanges; powers of two.
    Butterfly,
    /// The lower half runs a butterfly for both halves; powers of two.
    Sync0,
    /// Gather, release, and a computed wait, so that all members leave at the same time; any size.
    Rds {
        /// The cost of a hop, from which the waits are computed.
        hop: SignalCost,
    },
    /// Pairs: one member waits for the other and releases it; any size.
    Tournament,
    /// Gather and release along a k-nomial tree of this base, 2 to 8; any size.
    Gather(u32),
    /// `ceil(log_{k+1} n)` rounds of `k` signals each, `k` from 2 to 8; any size.
    KDissemination(u32),
}

/// The maximum `k`.
const MOST: u32 = 8;
const GATHER: [&str; 9] =
    ["gather-k", "gather-k", "gather", "gather-3", "gather-4", "gather-5", "gather-6", "gather-7", "gather-8"];
const DISSEMINATION: [&str; 9] = [
    "dissemination-k",
    "dissemination-k",
    "dissemination-2",
    "dissemination-3",
    "dissemination-4",
    "dissemination-5",
    "dissemination-6",
    "dissemination-7",
    "dissemination-8",
];

impl Algorithm {
    /// Each algorithm once: `rds` without waits, and one `k` for each family.
    pub const ALL: [Self; 9] = [
        Self::Central,
        Self::Dissemination,
        Self::Tree,
        Self::Butterfly,
        Self::Sync0,
        Self::Rds { hop: SignalCost::ZERO },
        Self::Tournament,
        Self::Gather(4),
        Self::KDissemination(3),
    ];

    /// Returns the name used on the command line and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Central => "central",
            Self::Dissemination => "dissemination",
            Self::Tree => "tree",
            Self::Butterfly => "butterfly",
            Self::Sync0 => "sync0",
            Self::Rds { .. } => "rds",
            Self::Tournament => "tournament",
            Self::Gather(k) => family(&GATHER, k),
            Self::KDissemination(k) => family(&DISSEMINATION, k),
        }
    }

    /// Returns the algorithm of this name, or `None`. `rds` is returned without waits.
    pub fn parse(name: &str) -> Option<Self> {
        let families = (2..=MOST).flat_map(|k| [Self::Gather(k), Self::KDissemination(k)]);
        Self::ALL.into_iter().chain(families).find(|kind| kind.name() == name)
    }

    /// Checks that the algorithm supports `size` members.
    ///
    /// # Errors
    /// [`Cause::Size`], which names the supported sizes.
    pub fn takes(self, size: u32) -> Result<(), Error> {
        let needs = match self {
            _ if size == 0 || size > 1 << 24 => "at least 1 and at most 2^24",
            Self::Butterfly | Self::Sync0 if !size.is_power_of_two() => {
                "a power of two; rds, dissemination and all the others take any size"
            }
            Self::Gather(k) | Self::KDissemination(k) if !(2..=MOST).contains(&k) => "k from 2 to 8",
            _ => return Ok(()),
        };
        Err(Error::from(Cause::Size { what: self.name(), size, needs }))
    }

    /// Returns the number of slots that each member of a group of `size` needs; 0 for an algorithm over plain
    /// words.
    pub fn slots(self, size: u32) -> u32 {
        match self {
            Self::Central => 0,
            Self::Tree => tree::SLOTS,
            Self::Dissemination | Self::Butterfly | Self::Sync0 => size.next_power_of_two().trailing_zeros(),
            Self::Rds { .. } | Self::Tournament => gather::slots(size, 2),
            Self::Gather(k) => gather::slots(size, k),
            Self::KDissemination(k) => dissemination::slots(size, k),
        }
    }

    /// Runs one episode over null messages, in [`Algorithm::slots`] slots of the endpoint.
    ///
    /// # Errors
    /// [`Cause::Unavailable`] for the central barrier, which needs shared words; [`Cause::Size`] for an
    /// unsupported size; the endpoint's errors.
    #[inline]
    pub async fn over<E: Endpoint>(self, endpoint: &E) -> Result<(), Error> {
        match self {
            Self::Central => Err(no_words()),
            Self::Dissemination => dissemination(endpoint).await,
            Self::Tree => tree(endpoint).await,
            Self::Butterfly => butterfly(endpoint).await,
            Self::Sync0 => sync0(endpoint).await,
            Self::Rds { hop } => rds(endpoint, hop).await,
            Self::Tournament => tournament(endpoint).await,
            Self::Gather(k) => gather_release(endpoint, k).await,
            Self::KDissemination(k) => dissemination_by(endpoint, k).await,
        }
    }
}

/// Returns the name for `k` in a family. For a `k` that [`Algorithm::takes`] rejects, it returns the generic
/// name, such as `gather-k`.
const fn family(names: &[&'static str; 9], k: u32) -> &'static str {
    names[if k <= MOST { k } else { 0 } as usize]
}

#[cold]
fn no_words() -> Error {
    let remedy = "use another kind over null messages, such as dissemination, or a Group in a world with shared memory";
    Cause::Unavailable { what: "a word shared by all members of the central barrier".into(), remedy: remedy.into() }.into()
}
