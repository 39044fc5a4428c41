//! The table of ranks, and the sentence below it.
use super::looker::{HangReport, ProcessLine};
use foregather_host::watched::calls::{AwaitedMessage, RecordedCall};
use foregather_machine::{Nanos, Rank, shown};
use foregather_results::table::{ResultTable, wrapped_within};
use foregather_watch::hang::{RankSighting, RankState, WaitParty, WaitsSighting, communicator_name};

const COLUMNS: usize = 100;
/// More messages or parties of one call are counted only.
const LISTED: usize = 3;

pub(super) fn of(seen: &HangReport) -> String {
    let table = match seen {
        _ if !seen.job.ranks.is_empty() => ranks(seen),
        _ if !seen.waits.waits.is_empty() => waits(&seen.waits),
        _ => processes(&seen.processes),
    };
    let mut lines = vec![format!("foregather hang: {}", seen.occasion), table.to_text().trim_end().to_owned()];
    if let Some(verdict) = &seen.verdict {
        lines.push(wrapped_within(&shown(&verdict.sentence), 2, COLUMNS));
    }
    if !seen.not_seen.is_empty() {
        lines.push(wrapped_within(&format!("not seen: {}", shown(&seen.not_seen.join("; "))), 2, COLUMNS));
    }
    lines.join("\n") + "\n"
}

fn ranks(seen: &HangReport) -> ResultTable {
    let mut table = ResultTable::new(["RANK", "PROCESS", "CALL", "COMMUNICATOR", "PEER", "TAG", "FOR", "STATE"]);
    for (rank, sighting) in &seen.job.ranks {
        for call in &sighting.calls {
            table.rows.push(row(*rank, sighting, call));
        }
    }
    table
}

fn row(rank: Rank, sighting: &RankSighting, call: &RecordedCall) -> Vec<String> {
    let name = match call.call {
        Some(known) if call.is_inside => known.name(),
        _ if call.has_finalized => "finalized",
        _ if sighting.state == RankState::Gone => "ended",
        _ => "outside MPI",
    };
    let messages = if call.is_inside { call.awaited.as_slice() } else { &[] };
    let communicator = call.communicator.or_else(|| messages.first().map(|message| message.communicator));
    let root = call.root.filter(|_| call.is_inside).map(|root| format!("root {root}"));
    let peer = |message: &AwaitedMessage| match message.peer {
        Some(peer) => format!("{} {peer}", if message.is_send { "to" } else { "from" }),
        None => "any".to_owned(),
    };
    let tag = |message: &AwaitedMessage| message.tag.map_or("any".to_owned(), |tag| tag.to_string());
    vec![
        rank.to_string(),
        sighting.process.to_string(),
        name.to_owned(),
        communicator.filter(|_| call.is_inside).map(communicator_name).unwrap_or_default(),
        root.unwrap_or_else(|| listed(messages, peer)),
        listed(messages, tag),
        format!("{:.1} s", sighting.still.as_secs()),
        state(sighting.state, sighting.place.as_deref()),
    ]
}

/// A row for each wait, then one for each party that does not wait.
fn waits(seen: &WaitsSighting) -> ResultTable {
    let mut table = ResultTable::new(["RANK", "PROCESS", "THREAD", "CALL", "WAITS FOR", "FOR", "STATE"]);
    let number = |number: Option<u32>| number.filter(|number| *number > 0).map_or("-".to_owned(), |number| number.to_string());
    for wait in &seen.waits {
        let awaited: Vec<String> = wait.awaited.iter().map(WaitParty::to_string).collect();
        let sighting = seen.parties.get(&wait.party);
        table.rows.push(vec![
            number_of(wait.rank),
            wait.process.to_string(),
            wait.thread.to_string(),
            shown(&wait.call).into_owned(),
            if awaited.is_empty() { "-".to_owned() } else { listed(&awaited, String::clone) },
            format!("{:.1} s", wait.still.as_secs()),
            sighting.map_or(String::new(), |sighting| state(sighting.state, None)),
        ]);
    }
    for (_, sighting) in seen.others() {
        let (rank, process, thread) = (number_of(sighting.rank), number(sighting.process), number(Some(sighting.thread)));
        let none = || "-".to_owned();
        table.rows.push(vec![
            rank,
            process,
            thread,
            none(),
            none(),
            none(),
            if sighting.process.is_none() { none() } else { state(sighting.state, sighting.place.as_deref()) },
        ]);
    }
    table
}

fn number_of(rank: Option<Rank>) -> String {
    rank.map_or("-".to_owned(), |rank| rank.to_string())
}

fn listed<T>(all: &[T], word: impl Fn(&T) -> String) -> String {
    let mut words: Vec<String> = all.iter().take(LISTED).map(word).collect();
    if all.len() > LISTED {
        words.push(format!("{} more", all.len() - LISTED));
    }
    words.join(", ")
}

fn state(state: RankState, place: Option<&str>) -> String {
    let state = match state {
        RankState::Runs => "runs",
        RankState::Starves => "ready",
        RankState::Sleeps => "sleeps",
        RankState::Stopped => "stopped",
        RankState::Gone => "ended",
    };
    place.map_or(state.to_owned(), |place| format!("{state} in {}", shown(place)))
}

fn processes(lines: &[ProcessLine]) -> ResultTable {
    let mut table = ResultTable::new(["RANK", "PROCESS", "NAME", "THREADS", "RAN", "FIRST THREAD"]);
    for line in lines {
        table.rows.push(vec![
            number_of(line.rank),
            line.process.to_string(),
            shown(&line.name).into_owned(),
            line.threads.to_string(),
            share(line.ran, line.watched),
            line.place.as_ref().map_or("runs".to_owned(), |place| shown(place).into_owned()),
        ]);
    }
    table
}

fn share(ran: Nanos, watched: Nanos) -> String {
    format!("{:.0} %", ran.0 as f64 * 100.0 / watched.0.max(1) as f64)
}
