//! A record as a timeline that results can carry and a report can draw.
use foregather_machine::{Nanos, Rank};
use foregather_results::{Passage, Spell, Timeline};
use foregather_sim::net::{Business, Record};

/// The times at which each node came, left and was done.
#[derive(Clone, Copy, Debug)]
pub struct Times<'a> {
    /// When each node came.
    pub came: &'a [Nanos],
    /// When each node left the barrier; empty without one.
    pub left: &'a [Nanos],
    /// When each node's shift was done.
    pub done: &'a [Nanos],
}

/// The part of `record` from the first node's coming until the last one was done.
pub fn timeline(name: &str, title: &str, shows: &str, record: &Record, times: Times<'_>) -> Timeline {
    let begin = times.came.iter().copied().min().unwrap_or(Nanos::ZERO);
    let end = times.done.iter().copied().max().unwrap_or(begin);
    let us = |time: Nanos| (time - begin).as_us();
    let all = |times: &[Nanos]| times.iter().map(|&time| us(time)).collect();
    // A packet that is still on its way, or was lost, is shown as far as it came.
    let passage = |circuit: &foregather_sim::net::Circuit| Passage {
        kind: circuit.kind.name().to_owned(),
        from: circuit.from,
        to: circuit.to,
        asked_us: us(circuit.asked),
        began_us: us(circuit.began.min(end)),
        granted_us: us(circuit.granted.min(end)),
        left_us: us(circuit.left.min(end)),
        arrived_us: us(circuit.arrived.min(end)),
    };
    let spells = (0..times.came.len() as Rank).flat_map(|node| record.1.busy(node, times.came[node as usize], end));
    Timeline {
        name: name.to_owned(),
        title: title.to_owned(),
        shows: shows.to_owned(),
        nodes: times.came.len() as u32,
        came_us: all(times.came),
        done_us: all(times.done),
        left_us: all(times.left),
        packets: record.between(begin, end).map(passage).collect(),
        busy: spells
            .map(|busy| Spell {
                node: busy.node,
                what: what(busy.business).to_owned(),
                from_us: us(busy.from),
                to_us: us(busy.to.min(end)),
            })
            .collect(),
    }
}

fn what(business: Business) -> &'static str {
    match business {
        Business::Computed => "computed",
        Business::Interrupted => "interrupted",
        Business::Paused => "paused",
    }
}
