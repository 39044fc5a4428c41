//! Which ranks cannot get on, whatever the others do.
//!
//! A rank is taken for stuck if it was still for the whole time and all that could end its call is done by
//! ranks that are stuck, too, that have ended, or that have called `MPI_Finalize`. The largest set of such
//! ranks is found by removal: first all ranks that are still are in it. A message that was sent and is
//! wanted is on its way, so its receiver is never stuck: that makes large transfers and late ranks no alarm.
use super::{JobSighting, RankSighting, RankState};
use foregather_host::watched::calls::{AwaitedMessage, COUNTED_RANKS, CallNeeds, MpiCall, RecordedCall};
use foregather_machine::{Nanos, Rank};
use std::collections::BTreeSet;

/// Why a rank waits for another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitReason {
    Message(AwaitedMessage),
    Collective { communicator: u16, number: u64 },
}

/// A rank that waits, the rank that it waits for, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WaitEdge {
    pub(super) from: Rank,
    pub(super) to: Rank,
    pub(super) call: MpiCall,
    pub(super) why: WaitReason,
}

pub(super) struct WaitGraph<'j> {
    pub(super) job: &'j JobSighting,
    pub(super) stuck: BTreeSet<Rank>,
    still: Nanos,
}

/// A collective call of a rank: the communicator, the members, and its number among those on it.
struct Collective<'c> {
    call: &'c RecordedCall,
    kind: MpiCall,
    communicator: u16,
    number: u64,
    members: Vec<Rank>,
}

impl<'j> WaitGraph<'j> {
    pub(super) fn of(job: &'j JobSighting, still: Nanos) -> Self {
        let may_be_stuck = |rank: &RankSighting| {
            let sleeps_or_polls = matches!(rank.state, RankState::Runs | RankState::Sleeps);
            rank.still >= still && rank.is_inside() && !rank.has_finalized() && sleeps_or_polls && !rank.has_other_thread
        };
        let ranks = job.ranks.iter().filter(|(_, rank)| may_be_stuck(rank)).map(|(rank, _)| *rank);
        // More ranks share counts of messages, so none is known to be on its way.
        let is_small = job.size() as usize <= COUNTED_RANKS;
        let mut graph = Self { job, stuck: if is_small { ranks.collect() } else { BTreeSet::new() }, still };
        loop {
            let free: Vec<Rank> = graph.stuck.iter().copied().filter(|rank| !graph.is_stuck(*rank)).collect();
            if free.is_empty() {
                return graph;
            }
            graph.stuck.retain(|rank| !free.contains(rank));
        }
    }

    fn is_stuck(&self, rank: Rank) -> bool {
        self.job.ranks[&rank].calls.iter().all(|call| self.is_call_stuck(rank, call))
    }

    fn is_call_stuck(&self, rank: Rank, call: &RecordedCall) -> bool {
        let Some(kind) = call.call else { return false };
        match kind.needs() {
            CallNeeds::AllMessages => call.awaited.iter().any(|message| self.never_comes(rank, kind, message)),
            CallNeeds::OneMessage => {
                let never = |message: &AwaitedMessage| self.never_comes(rank, kind, message);
                !call.has_unknown && !call.awaited.is_empty() && call.awaited.iter().all(never)
            }
            CallNeeds::Job => false,
            needs => self.collective(call).is_some_and(|collective| self.is_collective_stuck(rank, &collective, needs)),
        }
    }

    /// Returns whether nothing comes from a rank any more. One that has just ended may be about to take its
    /// job with it.
    fn is_hopeless(&self, rank: Rank) -> bool {
        let ends = |sighting: &RankSighting| sighting.still >= self.still && (sighting.is_dead() || sighting.has_finalized());
        self.stuck.contains(&rank) || self.job.ranks.get(&rank).is_some_and(ends)
    }

    /// Returns whether a message that a rank waits for is neither on its way nor sent or received later.
    pub(super) fn never_comes(&self, rank: Rank, call: MpiCall, message: &AwaitedMessage) -> bool {
        let peers = self.peers(rank, message);
        !peers.is_empty() && peers.iter().all(|&peer| self.is_hopeless(peer)) && !self.is_on_its_way(rank, call, message, &peers)
    }

    /// The ranks that may be at the other end.
    pub(super) fn peers(&self, rank: Rank, message: &AwaitedMessage) -> Vec<Rank> {
        match message.peer {
            Some(peer) => vec![peer],
            None => {
                let members = self.job.members(message.communicator).unwrap_or_default();
                members.into_iter().filter(|&member| member != rank).collect()
            }
        }
    }

    fn is_on_its_way(&self, rank: Rank, call: MpiCall, message: &AwaitedMessage, peers: &[Rank]) -> bool {
        let own = &self.job.ranks[&rank];
        // A call that looks for a message wants none yet.
        let spare = u32::from(call == MpiCall::Probe);
        let known = |peer: &Rank| self.job.ranks.get(peer).filter(|peer| !peer.is_dead());
        let sighted = || peers.iter().filter_map(|peer| Some((*peer, known(peer)?)));
        if message.is_send {
            return sighted().any(|(peer, sighting)| {
                let unmatched = surplus(rank, own, peer, sighting);
                sighting.wanted(message, rank) >= own.sent(message, peer) || unmatched <= sighting.wild()
            });
        }
        if message.tag.is_some() && message.peer.is_some() {
            return sighted().any(|(peer, sighting)| sighting.sent(message, rank) >= own.wanted(message, peer) + spare);
        }
        let unmatched: u32 = sighted().map(|(peer, sighting)| surplus(peer, sighting, rank, own)).sum();
        unmatched >= own.wild() + spare
    }

    fn collective<'c>(&self, call: &'c RecordedCall) -> Option<Collective<'c>> {
        let (kind, communicator) = (call.call.filter(|call| call.is_collective())?, call.communicator?);
        let number = call.collectives_on(communicator)?.number;
        Some(Collective { call, kind, communicator, number, members: self.job.members(communicator)? })
    }

    fn is_collective_stuck(&self, rank: Rank, of: &Collective<'_>, needs: CallNeeds) -> bool {
        if self.mismatched(rank, of).any(|other| self.is_hopeless(other)) {
            return true;
        }
        let missing: Vec<Rank> = self.missing(of).collect();
        let all = !missing.is_empty() && missing.iter().all(|&member| self.is_hopeless(member));
        let some = missing.iter().any(|&member| self.is_hopeless(member));
        let root = of.call.root;
        match needs {
            CallNeeds::Members => some,
            CallNeeds::RootNeedsMembers if root == Some(rank) => some,
            CallNeeds::Root => match root.filter(|root| *root != rank && missing.contains(root)) {
                Some(root) => self.is_hopeless(root),
                None => all,
            },
            _ => all,
        }
    }

    /// The members that have not begun the call, or died in it.
    fn missing<'a>(&'a self, of: &'a Collective<'_>) -> impl Iterator<Item = Rank> + 'a {
        of.members.iter().copied().filter(|member| {
            let Some(sighting) = self.job.ranks.get(member) else { return true };
            let reached = |call: &RecordedCall| {
                let number = call.collectives_on(of.communicator).map_or(u64::MAX, |count| count.number);
                let died_in_it = sighting.is_dead() && call.is_inside && number == of.number;
                number >= of.number && !died_in_it
            };
            !sighting.calls.iter().any(reached)
        })
    }

    /// The members for which the call of that number was another one, or had another root.
    fn mismatched<'a>(&'a self, rank: Rank, of: &'a Collective<'_>) -> impl Iterator<Item = Rank> + 'a {
        of.members.iter().copied().filter(move |member| {
            let Some(sighting) = self.job.ranks.get(member).filter(|_| *member != rank) else { return false };
            sighting.calls.iter().any(|call| {
                let Some(count) = call.collectives_on(of.communicator) else { return false };
                let is_same_moment = count.number == of.number && call.communicator == Some(of.communicator);
                let other_root = is_same_moment && call.is_inside && call.root != of.call.root;
                count.call(of.number).is_some_and(|kind| kind != of.kind) || other_root
            })
        })
    }

    /// The first two ranks that are stuck in different calls of a communicator, with its number and theirs.
    pub(super) fn first_mismatch(&self) -> Option<(WaitEdge, MpiCall)> {
        self.stuck.iter().flat_map(|rank| self.job.ranks[rank].calls.iter().map(move |call| (*rank, call))).find_map(
            |(rank, call)| {
                let of = self.collective(call)?;
                let other = self.mismatched(rank, &of).find(|other| self.is_hopeless(*other))?;
                let counts = self.job.ranks[&other].calls.iter().filter_map(|call| call.collectives_on(of.communicator));
                let theirs = counts.filter_map(|count| count.call(of.number)).next()?;
                let why = WaitReason::Collective { communicator: of.communicator, number: of.number };
                Some((WaitEdge { from: rank, to: other, call: of.kind, why }, theirs))
            },
        )
    }

    /// The ranks for which a stuck rank waits in vain.
    pub(super) fn edges(&self, rank: Rank) -> Vec<WaitEdge> {
        let mut found = Vec::new();
        for call in &self.job.ranks[&rank].calls {
            let Some(kind) = call.call else { continue };
            for message in call.awaited.iter().filter(|message| self.never_comes(rank, kind, message)) {
                let why = WaitReason::Message(*message);
                found.extend(self.peers(rank, message).into_iter().map(|to| WaitEdge { from: rank, to, call: kind, why }));
            }
            if let Some(of) = self.collective(call) {
                let why = WaitReason::Collective { communicator: of.communicator, number: of.number };
                let hopeless = self.missing(&of).filter(|&member| self.is_hopeless(member));
                found.extend(hopeless.map(|to| WaitEdge { from: rank, to, call: kind, why }));
            }
        }
        found
    }

    /// All edges of all stuck ranks.
    pub(super) fn all_edges(&self) -> Vec<WaitEdge> {
        self.stuck.iter().flat_map(|&rank| self.edges(rank)).collect()
    }

    /// Ranks that wait for each other in a circle, if the first edges lead into one.
    pub(super) fn cycle(&self) -> Vec<WaitEdge> {
        let mut path: Vec<WaitEdge> = Vec::new();
        let mut at = self.stuck.first().copied();
        while let Some(rank) = at {
            if let Some(from) = path.iter().position(|edge| edge.from == rank) {
                return path.split_off(from);
            }
            let next = self.edges(rank).into_iter().find(|edge| self.stuck.contains(&edge.to));
            at = next.map(|edge| edge.to);
            path.extend(next);
        }
        Vec::new()
    }
}

/// How many messages a rank has sent to another one that this one has not asked for by rank and tag.
pub(super) fn surplus(from: Rank, sender: &RankSighting, to: Rank, receiver: &RankSighting) -> u32 {
    if let ([sent], [wanted]) = (sender.calls.as_slice(), receiver.calls.as_slice()) {
        return sent.sent.surplus(to, &wanted.wanted, from);
    }
    // Several threads: more than there are, which is only careful.
    sender.calls.iter().flat_map(|sent| receiver.calls.iter().map(|wanted| sent.sent.surplus(to, &wanted.wanted, from))).sum()
}
