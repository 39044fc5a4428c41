//! Who waits for whom in a program whose waits are recorded: ranks of `foregather run`, barriers and queues
//! between processes, OpenMP regions, mutexes.
//!
//! Parties that wait for each other in a circle, or for one that has exited, cannot get on: only these are an
//! alarm. All others may wait for a party that computes, sleeps or has not come yet.
use super::words::numbered;
use super::{HangCause, HangVerdict, RankState};
use core::fmt;
use foregather_machine::{Nanos, Rank, ThreadId};
use std::collections::{BTreeMap, BTreeSet};

/// One that waits, or that others wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitParty {
    /// A rank of a job.
    Rank(Rank),
    /// A process.
    Process(u32),
    /// A thread.
    Thread(ThreadId),
    /// A rank of a barrier or queue that no process has taken.
    FreeRank(Rank),
}

/// One wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartyWait {
    /// The party that waits.
    pub party: WaitParty,
    /// Its rank in the job or at the object.
    pub rank: Option<Rank>,
    /// Its process.
    pub process: u32,
    /// The thread that waits.
    pub thread: ThreadId,
    /// The call or the object.
    pub call: String,
    /// All that it waits for; empty if that is not known.
    pub awaited: Vec<WaitParty>,
    /// How long it has lasted.
    pub still: Nanos,
    /// Whether the party has another thread that may end the wait.
    pub has_other_thread: bool,
}

/// What a party does.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartySighting {
    /// Its rank in the job.
    pub rank: Option<Rank>,
    /// Its process; `None` if that is not known.
    pub process: Option<u32>,
    /// The thread that is shown.
    pub thread: ThreadId,
    /// What that thread does.
    pub state: RankState,
    /// The code that it executes, and the kernel's function in which it sleeps.
    pub place: Option<String>,
}

/// All waits of a program, as they were seen.
#[derive(Clone, Debug, Default)]
pub struct WaitsSighting {
    /// The waits.
    pub waits: Vec<PartyWait>,
    /// The parties that wait or are awaited. Others are there if a wait does not say what it is for.
    pub parties: BTreeMap<WaitParty, PartySighting>,
}

impl WaitsSighting {
    /// The parties that do not wait.
    pub fn others(&self) -> impl Iterator<Item = (WaitParty, &PartySighting)> {
        let waits = |party: &WaitParty| self.waits.iter().any(|wait| wait.party == *party);
        self.parties.iter().filter(move |(party, _)| !waits(party)).map(|(party, sighting)| (*party, sighting))
    }

    fn state(&self, party: WaitParty) -> Option<RankState> {
        self.parties.get(&party).map(|sighting| sighting.state)
    }

    /// The parties that cannot get on, whatever the others do: the largest set of parties of which each waits
    /// for one of the set, or for one that has exited.
    fn stuck(&self, still: Nanos) -> BTreeSet<WaitParty> {
        let of = |party: WaitParty| self.waits.iter().filter(move |wait| wait.party == party);
        let may_be = |wait: &&PartyWait| {
            let is_stopped = self.state(wait.party).is_some_and(|state| matches!(state, RankState::Stopped | RankState::Gone));
            wait.still >= still && !wait.has_other_thread && !is_stopped
        };
        let mut stuck: BTreeSet<WaitParty> = self.waits.iter().filter(may_be).map(|wait| wait.party).collect();
        loop {
            let never_comes = |party: &WaitParty| stuck.contains(party) || self.state(*party) == Some(RankState::Gone);
            let ends = |wait: &PartyWait| wait.still < still || !wait.awaited.iter().any(never_comes);
            let free: Vec<WaitParty> = stuck.iter().copied().filter(|party| of(*party).any(ends)).collect();
            if free.is_empty() {
                return stuck;
            }
            stuck.retain(|party| !free.contains(party));
        }
    }

    /// A circle of stuck parties: the wait of each, and the party that it is for.
    fn circle(&self, stuck: &BTreeSet<WaitParty>) -> Vec<(&PartyWait, WaitParty)> {
        let mut path: Vec<(&PartyWait, WaitParty)> = Vec::new();
        let Some(mut at) = stuck.first().copied() else { return path };
        loop {
            if let Some(first) = path.iter().position(|(wait, _)| wait.party == at) {
                return path.split_off(first);
            }
            let hop = |wait: &'_ PartyWait| wait.awaited.iter().copied().find(|awaited| stuck.contains(awaited));
            let next = self.waits.iter().filter(|wait| wait.party == at).find_map(|wait| Some((wait, hop(wait)?)));
            let Some(next) = next else { return Vec::new() };
            path.push(next);
            at = next.1;
        }
    }
}

/// Judges waits of which those that have lasted for `still` may never end. `None` if there are none.
pub fn judge_waits(seen: &WaitsSighting, still: Nanos) -> Option<HangVerdict> {
    let long: Vec<&PartyWait> = seen.waits.iter().filter(|wait| wait.still >= still).collect();
    long.first()?;
    let stuck = seen.stuck(still);
    let numbers = |parties: &BTreeSet<WaitParty>| parties.iter().map(|party| party.number()).collect();
    let gone = |awaited: &WaitParty| seen.state(*awaited) == Some(RankState::Gone);
    let dead = |wait: &&PartyWait| wait.awaited.iter().copied().find(gone).filter(|_| stuck.contains(&wait.party));
    if let Some((wait, dead)) = long.iter().find_map(|wait| Some((wait, dead(wait)?))) {
        let kind = dead.kind();
        let waits = waiters(long.iter().filter(|wait| wait.awaited.contains(&dead)));
        let sentence = format!("dead {kind}: {} has exited, and {waits} for it ({})", seen.named(dead), wait.call);
        return Some(HangVerdict { cause: HangCause::DeadRank, sentence, stuck: numbers(&stuck) });
    }
    if !stuck.is_empty() {
        let hop = |(wait, to): &(&PartyWait, WaitParty)| format!("{} waits for {to} ({})", wait.party, wait.call);
        let hops: Vec<String> = seen.circle(&stuck).iter().map(hop).collect();
        let sentence = format!("deadlock: cycle of waits: {}", hops.join(", and "));
        return Some(HangVerdict { cause: HangCause::CycleOfWaits, sentence, stuck: numbers(&stuck) });
    }
    let waits = waiters(long.iter());
    let is_awaited = |party: WaitParty| long.iter().any(|wait| wait.awaited.contains(&party));
    let (awaited, others): (Vec<_>, Vec<_>) = seen.others().partition(|(party, _)| is_awaited(*party));
    let order = [RankState::Stopped, RankState::Runs, RankState::Starves, RankState::Sleeps];
    let found = |parties: &[_]| {
        order.iter().find_map(|state| parties.iter().copied().find(|(_, seen): &(_, &PartySighting)| seen.state == *state))
    };
    if let Some((party, sighting)) = found(&awaited).or_else(|| found(&others)) {
        let (hung, does) = match (sighting.state, party) {
            (_, WaitParty::FreeRank(_)) => ("not known to be hung", "is not taken by any process"),
            (_, WaitParty::Rank(_)) if sighting.process.is_none() => ("not known to be hung", "is not seen on this host"),
            (RankState::Stopped, _) => ("slow, not hung", "is stopped by a signal or a debugger"),
            (RankState::Runs, _) => ("slow, not hung", "runs"),
            (RankState::Starves, _) => ("slow, not hung", "is ready to run but gets no processor"),
            (RankState::Sleeps | RankState::Gone, _) => ("not known to be hung", "sleeps"),
        };
        let place = sighting.place.as_ref().map_or(String::new(), |place| format!(" in {place}"));
        let it = if is_awaited(party) { " for it" } else { "" };
        let sentence = format!("{hung}: {} {does}{place}; {waits}{it} ({})", seen.named(party), calls(&long));
        return Some(HangVerdict { cause: HangCause::Slow, sentence, stuck: Vec::new() });
    }
    let sentence = format!("not known to be hung: {waits} ({})", calls(&long));
    Some(HangVerdict { cause: HangCause::Unknown, sentence, stuck: Vec::new() })
}

impl WaitsSighting {
    /// A party, and its process if the name does not say it.
    fn named(&self, party: WaitParty) -> String {
        let process = self.parties.get(&party).and_then(|sighting| sighting.process);
        match (party, process) {
            (WaitParty::Rank(_) | WaitParty::Thread(_), Some(process)) => format!("{party} (process {process})"),
            _ => party.to_string(),
        }
    }
}

impl WaitParty {
    fn kind(self) -> &'static str {
        match self {
            Self::Rank(_) | Self::FreeRank(_) => "rank",
            Self::Process(_) => "process",
            Self::Thread(_) => "thread",
        }
    }

    fn number(self) -> u32 {
        let (Self::Rank(number) | Self::Process(number) | Self::Thread(number) | Self::FreeRank(number)) = self;
        number
    }
}

impl fmt::Display for WaitParty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind(), self.number())
    }
}

/// The calls of waits, each once.
fn calls(waits: &[&PartyWait]) -> String {
    let mut calls: Vec<&str> = Vec::new();
    for wait in waits {
        if !calls.contains(&wait.call.as_str()) {
            calls.push(&wait.call);
        }
    }
    calls.join(", ")
}

/// `processes 11 and 12 wait`.
fn waiters<'w>(waits: impl Iterator<Item = &'w &'w PartyWait>) -> String {
    let parties: BTreeSet<WaitParty> = waits.map(|wait| wait.party).collect();
    let of = |kind: &'static str| -> Vec<u32> {
        parties.iter().filter(|party| party.kind() == kind).map(|party| party.number()).collect()
    };
    let kinds = [("rank", "ranks"), ("process", "processes"), ("thread", "threads")];
    let words = kinds.map(|(one, many)| (one, many, of(one)));
    let words: Vec<String> =
        words.iter().filter(|(.., all)| !all.is_empty()).map(|(one, many, all)| numbered(one, many, all)).collect();
    format!("{} {}", words.join(" and "), if parties.len() == 1 { "waits" } else { "wait" })
}

#[cfg(test)]
mod tests {
    use super::WaitParty::*;
    use super::*;

    const STILL: Nanos = Nanos::from_ms(1_000);

    fn wait(party: WaitParty, call: &str, awaited: &[WaitParty]) -> PartyWait {
        let (call, still) = (call.to_owned(), Nanos::from_ms(2_000));
        PartyWait { party, rank: None, process: 9, thread: 9, call, awaited: awaited.to_vec(), still, has_other_thread: false }
    }

    fn sighting(waits: Vec<PartyWait>, others: &[(WaitParty, RankState, &str)]) -> WaitsSighting {
        let own = waits.iter().map(|wait| (wait.party, RankState::Sleeps, ""));
        let party = |(party, state, place): (WaitParty, RankState, &str)| {
            let place = (!place.is_empty()).then(|| place.to_owned());
            (party, PartySighting { rank: None, process: Some(7), thread: 7, state, place })
        };
        let parties = own.chain(others.iter().copied()).map(party).collect();
        WaitsSighting { waits, parties }
    }

    fn said(seen: &WaitsSighting) -> String {
        let verdict = judge_waits(seen, STILL).unwrap();
        let is_named = verdict.sentence.starts_with("deadlock") || verdict.sentence.starts_with("dead ");
        assert_eq!(verdict.is_alarm(), is_named, "{verdict:?}");
        verdict.sentence
    }

    #[test]
    fn a_circle_is_a_deadlock_and_a_bystander_is_not_in_its_sentence() {
        let circle = vec![
            wait(Process(10), "barrier \"c\"", &[Process(11)]),
            wait(Process(11), "barrier \"a\"", &[Process(12)]),
            wait(Process(12), "receive from channel", &[Process(11)]),
        ];
        let expected = "deadlock: cycle of waits: process 11 waits for process 12 (barrier \"a\"), \
                        and process 12 waits for process 11 (receive from channel)";
        assert_eq!(said(&sighting(circle.clone(), &[])), expected);
        for change in [
            |wait: &mut PartyWait| wait.still = Nanos::from_ms(900),
            |wait: &mut PartyWait| wait.has_other_thread = true,
            |wait: &mut PartyWait| wait.awaited.clear(),
        ] {
            let mut late = circle.clone();
            change(&mut late[2]);
            assert!(said(&sighting(late, &[])).starts_with("not known to be hung: "), "one of them may get on");
        }
        let mut seen = sighting(circle, &[]);
        seen.parties.get_mut(&Process(12)).unwrap().state = RankState::Stopped;
        assert!(!judge_waits(&seen, STILL).unwrap().is_alarm(), "it may be continued");
    }

    #[test]
    fn a_second_wait_of_a_party_that_may_end_frees_it() {
        let waits = vec![
            wait(Process(1), "barrier", &[Process(2)]),
            wait(Process(2), "barrier", &[Process(1)]),
            wait(Process(2), "receive from channel", &[Process(3)]),
        ];
        let expected = "slow, not hung: process 3 runs; processes 1 and 2 wait for it (barrier, receive from channel)";
        assert_eq!(said(&sighting(waits, &[(Process(3), RankState::Runs, "")])), expected);
    }

    #[test]
    fn an_exited_party_is_dead_and_others_are_only_late() {
        let waits = || vec![wait(Thread(1), "mutex", &[Thread(3)]), wait(Thread(2), "mutex", &[Thread(3)])];
        let of = |state, place| said(&sighting(waits(), &[(Thread(3), state, place)]));
        assert_eq!(
            of(RankState::Gone, ""),
            "dead thread: thread 3 (process 7) has exited, and threads 1 and 2 wait for it (mutex)"
        );
        let expected = "slow, not hung: thread 3 (process 7) runs in spin (a.out); threads 1 and 2 wait for it (mutex)";
        assert_eq!(of(RankState::Runs, "spin (a.out)"), expected);
        let expected = "not known to be hung: thread 3 (process 7) sleeps in read (libc); threads 1 and 2 wait for it (mutex)";
        assert_eq!(of(RankState::Sleeps, "read (libc)"), expected);
    }

    #[test]
    fn a_rank_that_no_process_has_taken_is_named() {
        let others = [(FreeRank(2), RankState::Sleeps, ""), (Process(3), RankState::Runs, "")];
        let seen = sighting(vec![wait(Process(1), "barrier", &[FreeRank(2)])], &others);
        assert_eq!(said(&seen), "not known to be hung: rank 2 is not taken by any process; process 1 waits for it (barrier)");
    }

    #[test]
    fn without_a_long_wait_there_is_no_verdict() {
        let mut short = wait(Rank(0), "receive", &[Rank(1)]);
        short.still = Nanos::from_ms(10);
        assert_eq!(judge_waits(&sighting(vec![short], &[]), STILL), None);
    }
}
