//! The drawn run: its deeds, its settings and its mishap.
use super::deed::Deed;
use crate::draw::Draw;
use crate::subjects::napping::NappingLane;
use crate::subjects::tamper::TamperedLane;
use crate::worlds::us;
use foregather_barrier::Algorithm;
use foregather_machine::{Error, Nanos, Rank};
use foregather_message::{Messenger, Path, Settings};
use foregather_sim::cluster::ClusterSpec;

/// A messenger of the swarm.
pub(super) type Talker<'s> = Messenger<TamperedLane<NappingLane<'s>>>;

/// What goes wrong with a rank, before the deed of that number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mishap {
    /// Nothing goes wrong.
    None,
    /// It gives up, and says why.
    Fails(Rank, usize),
    /// Its messenger is dropped.
    Vanishes(Rank, usize),
    /// It leaves, though others still need it.
    Leaves(Rank, usize),
    /// It begins a message, drops it, forgets it or leaves it open, and gives up.
    Abandons(Rank, usize),
    /// It unpacks something other than was packed.
    Disagrees(Rank, usize),
    /// Its waits have a deadline.
    Hurries(Rank, Nanos),
    /// Its node dies.
    Dies(Rank, Nanos),
    /// At the end that many ranks, the first ones, wait for each other.
    Circle(u32),
}

impl Mishap {
    pub(super) fn rank(self) -> Option<Rank> {
        match self {
            Self::None | Self::Circle(_) => None,
            Self::Fails(rank, _)
            | Self::Vanishes(rank, _)
            | Self::Leaves(rank, _)
            | Self::Abandons(rank, _)
            | Self::Disagrees(rank, _) => Some(rank),
            Self::Hurries(rank, _) | Self::Dies(rank, _) => Some(rank),
        }
    }
}

/// The drawn run.
pub(super) struct Plan {
    pub(super) size: u32,
    pub(super) deeds: Vec<Deed>,
    /// All barriers of a program are of one kind, since they use the same slots.
    pub(super) barrier: Algorithm,
    pub(super) settings: Settings,
    pub(super) mishap: Mishap,
    pub(super) seed: u64,
}

pub(super) fn settings(draw: &mut Draw, spec: &ClusterSpec, crossing: bool) -> Settings {
    let full = draw.within(1..=spec.nic.credits);
    let fitting = |alert: &u32| full.div_ceil(full - alert) + 3 <= spec.nic.spare;
    let fitting: Vec<u32> = (0..full).filter(fitting).collect();
    let credits = (draw.one_in(2) && !fitting.is_empty()).then_some(full);
    Settings {
        policy: Some(spec.wait),
        path: draw.pick(&[Path::Chosen, Path::Chosen, Path::Buffered, Path::Direct]),
        direct_at: draw.one_in(3).then(|| draw.bytes(3_000)),
        credits,
        alert: credits.map(|_| draw.pick(&fitting)),
        // If both sides only send, the kept bytes have to suffice for it.
        kept_bytes: if crossing || draw.one_in(2) { 1 << 30 } else { draw.bytes(2_000) },
        ..Settings::default()
    }
}

pub(super) fn mishap(draw: &mut Draw, size: u32, deeds: &[Deed]) -> Mishap {
    let (rank, at) = (draw.within(0..=size - 1), draw.below(deeds.len() as u64 + 1) as usize);
    let mishap = match draw.below(24) {
        0 => Mishap::Fails(rank, at),
        1 => Mishap::Vanishes(rank, at),
        2 => Mishap::Leaves(rank, at),
        3 => Mishap::Abandons(rank, at),
        4 => Mishap::Disagrees(rank, at),
        5 => Mishap::Hurries(rank, draw.span(us(4_000))),
        6 | 7 => Mishap::Dies(rank, draw.span(us(4_000))),
        8 => Mishap::Circle(draw.within(2..=size)),
        _ => Mishap::None,
    };
    match mishap {
        // A wait for a null message of any rank ends only when all others have left.
        Mishap::Leaves(..) if deeds.iter().any(|deed| matches!(deed, Deed::Barrier)) => Mishap::Fails(rank, at),
        mishap => mishap,
    }
}

/// How a rank's program ended.
pub(super) type Ending = Result<Result<(), Error>, String>;
