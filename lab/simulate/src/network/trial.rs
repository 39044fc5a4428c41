//! One round of the loop, seen by an ideal global clock.
use foregather_machine::Nanos;

/// Times of all nodes in one round.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trial {
    /// When each node came to the barrier.
    pub entered: Vec<Nanos>,
    /// When it left it.
    pub left: Vec<Nanos>,
    /// When its shift was done; as [`Trial::left`] without one.
    pub done: Vec<Nanos>,
}

fn first(times: &[Nanos]) -> Nanos {
    times.iter().copied().min().unwrap_or(Nanos::ZERO)
}

fn last(times: &[Nanos]) -> Nanos {
    times.iter().copied().max().unwrap_or(Nanos::ZERO)
}

impl Trial {
    /// How far apart the nodes came: the paper's delta.
    pub fn entry_skew(&self) -> Nanos {
        last(&self.entered) - first(&self.entered)
    }

    /// From the first entry to the last exit of the barrier.
    pub fn cost(&self) -> Nanos {
        last(&self.left) - first(&self.entered)
    }

    /// How far apart they left it.
    pub fn precision(&self) -> Nanos {
        last(&self.left) - first(&self.left)
    }

    /// The longest time that a node took for its shift, and which one.
    pub fn slowest(&self) -> (usize, Nanos) {
        let spans = self.left.iter().zip(&self.done).map(|(&left, &done)| done - left).enumerate();
        spans.max_by_key(|&(node, span)| (span, std::cmp::Reverse(node))).unwrap_or_default()
    }
}
