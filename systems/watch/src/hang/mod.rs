//! Why the ranks of an MPI program wait for each other, from one sighting of all of them.
//!
//! `graph` finds the ranks that cannot get on, whatever the others do. Only these are an alarm. `words`
//! has the sentences. `waits` does the same for all other programs whose waits are recorded.
mod graph;
mod waits;
mod words;

use foregather_host::watched::calls::{AwaitedMessage, MpiCall, RecordedCall, RecordedCommunicator, WORLD};
use foregather_machine::{Nanos, Rank};
use graph::WaitGraph;
use std::collections::BTreeMap;
pub use waits::{PartySighting, PartyWait, WaitParty, WaitsSighting, judge_waits};
pub use words::{communicator_name, ranks as rank_list};

/// After so long without progress a program is looked at, here and by the cause `hang` of `advise`.
pub const STILL: Nanos = Nanos::from_ms(10_000);

/// A job, as it was seen.
#[derive(Clone, Debug, Default)]
pub struct JobSighting {
    /// Its ranks, as far as they are on this host.
    pub ranks: BTreeMap<Rank, RankSighting>,
    /// Its communicators but the one of all ranks.
    pub communicators: BTreeMap<u16, RecordedCommunicator>,
}

/// One rank.
#[derive(Clone, Debug, Default)]
pub struct RankSighting {
    /// Its process.
    pub process: u32,
    /// The last call of each thread that has called MPI.
    pub calls: Vec<RecordedCall>,
    /// How long it has neither begun nor ended a call.
    pub still: Nanos,
    /// What its process does.
    pub state: RankState,
    /// Whether it has a thread that has not called MPI, may do so, and does not wait for another thread.
    pub has_other_thread: bool,
    /// The code that it executes, if that is outside MPI and known.
    pub place: Option<String>,
}

/// What a rank's process does, seen from outside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RankState {
    /// It uses a processor.
    Runs,
    /// It is ready and gets no processor.
    Starves,
    /// It sleeps.
    #[default]
    Sleeps,
    /// A signal or a debugger has stopped it.
    Stopped,
    /// There is no such process any more.
    Gone,
}

/// What explains that ranks wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HangCause {
    /// A rank has ended without `MPI_Finalize`.
    DeadRank,
    /// Members of a communicator are in different collective calls.
    MismatchedCollectives,
    /// A message has another tag than the one that is waited for.
    WrongTag,
    /// A message was sent to another rank than the one that waits for it.
    WrongPeer,
    /// A rank has called `MPI_Finalize` without a collective call in which others wait.
    SkippedCollective,
    /// A rank has called `MPI_Finalize`, and others wait for its messages.
    FinalizedPeer,
    /// Ranks send to each other, and none receives.
    CycleOfSends,
    /// Ranks receive from each other, and none sends.
    CycleOfReceives,
    /// Processes or threads wait for each other.
    CycleOfWaits,
    /// A message is waited for that no rank sends.
    MissingSend,
    /// A message is sent that no rank receives.
    MissingReceive,
    /// A rank is outside MPI, and may get on.
    Slow,
    /// What is seen explains nothing.
    Unknown,
}

/// The verdict on a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HangVerdict {
    /// The cause.
    pub cause: HangCause,
    /// It, in a sentence.
    pub sentence: String,
    /// The ranks, processes or threads that cannot get on; empty unless it is an alarm.
    pub stuck: Vec<Rank>,
}

impl HangVerdict {
    /// Returns whether ranks wait that cannot get on.
    pub fn is_alarm(&self) -> bool {
        !self.stuck.is_empty()
    }
}

/// Judges a job of which ranks that were still for `still` may be stuck.
pub fn judge(job: &JobSighting, still: Nanos) -> HangVerdict {
    let graph = WaitGraph::of(job, still);
    let (cause, sentence) = if graph.stuck.is_empty() { words::not_hung(job, still) } else { words::deadlock(&graph) };
    HangVerdict { cause, sentence, stuck: graph.stuck.into_iter().collect() }
}

impl RankSighting {
    /// Returns whether it has called `MPI_Finalize`.
    pub fn has_finalized(&self) -> bool {
        self.calls.iter().any(|call| call.has_finalized || call.is_inside && call.call == Some(MpiCall::Finalize))
    }

    /// Returns whether all its threads that have called MPI are in a call.
    pub fn is_inside(&self) -> bool {
        !self.calls.is_empty() && self.calls.iter().all(|call| call.is_inside)
    }

    /// Returns whether it has ended without `MPI_Finalize`.
    fn is_dead(&self) -> bool {
        self.state == RankState::Gone && !self.calls.iter().any(|call| call.has_finalized)
    }

    fn sent(&self, message: &AwaitedMessage, to: Rank) -> u32 {
        let tag = message.tag.unwrap_or_default();
        self.calls.iter().map(|call| call.sent.get(to, tag)).sum()
    }

    fn wanted(&self, message: &AwaitedMessage, from: Rank) -> u32 {
        let tag = message.tag.unwrap_or_default();
        self.calls.iter().map(|call| call.wanted.get(from, tag)).sum()
    }

    /// Receives from any rank or of any tag.
    fn wild(&self) -> u32 {
        self.calls.iter().map(|call| call.wild).sum()
    }
}

impl JobSighting {
    /// How many ranks there are.
    pub fn size(&self) -> u32 {
        let sizes = self.ranks.values().flat_map(|rank| &rank.calls).map(|call| call.size);
        sizes.max().unwrap_or(0).max(self.ranks.keys().last().map_or(0, |last| last + 1))
    }

    /// The members of a communicator that all of them know by this number.
    fn members(&self, communicator: u16) -> Option<Vec<Rank>> {
        if communicator == WORLD {
            return Some((0..self.size()).collect());
        }
        let known = self.communicators.get(&communicator)?;
        (known.is_certain && !known.members.is_empty()).then(|| known.members.clone())
    }
}

#[cfg(test)]
mod tests;
