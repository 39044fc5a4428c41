//! The faults of nodes and between them, by name: loss, replay, clog, partition, pause. The words are those
//! of [`net`](crate::net).
//!
//! A fault delays messages and never disorders those between two lanes, since the NIC resends and numbers
//! them.
use crate::net::Pause;
use foregather_machine::{Nanos, Rank};

/// Two nodes between which nothing is delivered for a while, in either direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clog {
    /// The two nodes.
    pub between: [Rank; 2],
    /// Its beginning.
    pub from: Nanos,
    /// Its length.
    pub length: Nanos,
}

/// Two sets of nodes that exchange nothing for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The nodes of one set; the others are the other set.
    pub apart: Vec<Rank>,
    /// Its beginning.
    pub from: Nanos,
    /// Its length. A partition heals, however long it is: only deaths are detected.
    pub length: Nanos,
}

/// Faults, each off unless said otherwise. Rates are in parts per million.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Messages that are lost on the wire, once or several times. The NIC sends them again after
    /// [`Faults::resend`], and later messages between these two lanes stay behind them.
    pub loss_ppm: u32,
    /// After how long a NIC takes a message for lost.
    pub resend: Nanos,
    /// Messages that arrive a second time, after [`Faults::resend`]. The NIC drops the second one by its
    /// number.
    pub replay_ppm: u32,
    /// Pairs of nodes that do not reach each other.
    pub clogs: Vec<Clog>,
    /// Sets of nodes that do not reach each other.
    pub partitions: Vec<Partition>,
    /// Nodes whose threads all stand still. Their NICs do not.
    pub pauses: Vec<Pause>,
    /// How often a fault point says yes ([`Park::sometimes`](foregather_machine::Park::sometimes)).
    pub points_ppm: u32,
    /// Decides which messages are hit, and which questions of fault points get a yes.
    pub seed: u64,
    /// The NICs' mistake, for tests of tests.
    pub planted: Option<NicMistake>,
}

/// A mistake of the NICs: programs that wait for a message must notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NicMistake {
    /// A message that is lost is not sent again.
    NoResend,
    /// A message that comes twice is delivered twice.
    ReplayDelivered,
}

impl Faults {
    /// Checks them; the error says what is wrong, and what to change.
    pub(super) fn check(&self, nodes: u32) -> Result<(), String> {
        if self.loss_ppm > MOST_LOSS || self.replay_ppm > MILLION || self.points_ppm > MILLION / 2 {
            return Err("faults by rates that leave nothing: loss and fault points take 500000 ppm, replay 1000000".into());
        }
        let paused = self.pauses.iter().map(|pause| pause.node);
        let mut named = paused.chain(self.clogs.iter().flat_map(|clog| clog.between));
        match named.find(|&rank| rank >= nodes) {
            Some(rank) => Err(format!("node {rank} is to be disturbed: there are only {nodes}")),
            None => Ok(()),
        }
    }

    /// The time until which that node stands still, if it does now.
    pub(super) fn paused(&self, node: Rank, now: Nanos) -> Option<Nanos> {
        let ends = self.pauses.iter().filter(|pause| pause.node == node && lies_within(now, pause.from, pause.length));
        ends.map(|pause| pause.from + pause.length).max()
    }

    /// When a message that would pass between two nodes at `time` does pass.
    pub(super) fn passes(&self, [one, other]: [Rank; 2], mut time: Nanos) -> Nanos {
        let clogs = self.clogs.iter().filter(|clog| clog.between == [one, other] || clog.between == [other, one]);
        let clogs = clogs.map(|clog| (clog.from, clog.length));
        let parted = |partition: &&Partition| partition.apart.contains(&one) != partition.apart.contains(&other);
        let partitions = self.partitions.iter().filter(parted).map(|partition| (partition.from, partition.length));
        let mut gaps: Vec<(Nanos, Nanos)> = clogs.chain(partitions).collect();
        gaps.sort_unstable();
        for (from, length) in gaps {
            if lies_within(time, from, length) {
                time = from + length;
            }
        }
        time
    }
}

fn lies_within(time: Nanos, from: Nanos, length: Nanos) -> bool {
    time >= from && time < from + length
}

/// Rates of faults are in parts of this.
pub(super) const MILLION: u32 = 1_000_000;
/// Half of all messages, so that few are lost ten times.
const MOST_LOSS: u32 = MILLION / 2;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_that_follow_each_other_hold_a_message_up_until_the_last_has_ended() {
        let clog = |from, length| Clog { between: [0, 1], from: Nanos(from), length: Nanos(length) };
        let partition = Partition { apart: vec![1], from: Nanos(18), length: Nanos(10) };
        let faults = Faults { clogs: vec![clog(30, 5), clog(10, 10)], partitions: vec![partition], ..Faults::default() };
        let passes = |between, time| faults.passes(between, Nanos(time)).0;
        assert_eq!([passes([0, 1], 9), passes([1, 0], 10), passes([0, 1], 28), passes([0, 1], 31)], [9, 28, 28, 35]);
        assert_eq!([passes([0, 2], 12), passes([0, 2], 20), passes([2, 1], 20)], [12, 20, 28]);
    }

    #[test]
    fn faults_without_sense_are_refused() {
        let pause = Pause { node: 2, from: Nanos(1), length: Nanos(1) };
        assert!(Faults { pauses: vec![pause], ..Faults::default() }.check(2).unwrap_err().contains("only 2"));
        assert!(Faults { loss_ppm: 600_000, ..Faults::default() }.check(2).unwrap_err().contains("500000"));
        assert_eq!(Faults::default().check(2), Ok(()));
    }
}
