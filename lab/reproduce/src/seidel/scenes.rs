//! The timing diagrams of the paper, played: figures 2-1 to 2-7, 3-1 to 3-8, 3-11 and 3-12.
//!
//! Messages are of 1 KiB, so that they, the null messages and the interrupts are of sizes that one picture
//! holds.
use super::directed::{Directed, DirectedRun};
use super::directed::{GSYNC, RDS, SYNC0, exchanged, shifted, synchronised, synchronised_shift};
use anyhow::Result;
use foregather_barrier::Algorithm;
use foregather_machine::{Nanos, Rank};
use foregather_message::Protocol::{self, Forced, Long};
use foregather_results::Timeline;
use foregather_sim::net::profile;
use foregather_simulate::timelines::{Times, timeline};

/// What is sent, in bytes: 369 us on the way.
const BYTES: usize = 1 << 10;
const BS: Nanos = profile::IPSC860.null;
/// How late node 0 comes in figures 3-11 and 3-12, in microseconds.
const LATE: u64 = 200;

/// The timelines of an experiment, by its name in `papers/seidel-davis1992.toml`; none for those that have
/// none.
///
/// # Errors
/// If a scene cannot be played.
pub fn scenes(experiment: &str) -> Result<Vec<Timeline>> {
    match experiment {
        "fig2" => messages(),
        "gsync" => barrier("gsync", GSYNC, [("fig3-1", 0), ("fig3-3", 75)]),
        "sync0" => barrier("sync0", SYNC0, [("fig3-4", 0), ("fig3-6", 75)]),
        "rds" => Ok(vec![rds()?]),
        "interrupt" => interrupts(),
        _ => Ok(vec![]),
    }
}

fn drawn<T>(name: &str, title: &str, shows: &str, directed: &Directed, played: &DirectedRun<T>, left: &[Nanos]) -> Timeline {
    let late = |node: Rank| directed.late.iter().find(|late| late.0 == node).map_or(Nanos::ZERO, |late| late.1);
    let came: Vec<Nanos> = (0..directed.nodes).map(late).collect();
    // A drawing of steps in the paper, and its timing diagram, are one picture here.
    let figure = match name {
        "fig3-3" => "Figures 3-2 and 3-3".to_owned(),
        "fig3-6" => "Figures 3-5 and 3-6".to_owned(),
        "fig3-8" => "Figures 3-7 and 3-8".to_owned(),
        _ => format!("Figure {}", name.trim_start_matches("fig")),
    };
    let title = format!("{figure}: {title}");
    timeline(name, &title, shows, &played.record, Times { came: &came, left, done: &played.ends })
}

/// Figures 2-1 to 2-7: exchanges and shifts.
fn messages() -> Result<Vec<Timeline>> {
    let exchange = |name, title, protocol, synchronised, late: u64| -> Result<Timeline> {
        let played = exchanged(BYTES, protocol, synchronised, Nanos::from_us(late))?;
        let who = if late == 0 { "Both nodes come at once".to_owned() } else { format!("Node 1 comes {late} us late") };
        let shows = format!("{who}; each has the KiB of the other after {} us.", whole(played.cost()));
        Ok(drawn(name, title, &shows, &Directed::new(2).late(1, late), &played, &[]))
    };
    let shift = |name, title, protocol, late: u64| -> Result<Timeline> {
        let directed = Directed::new(4).last_late(late);
        let played = shifted(&directed, BYTES, protocol)?;
        let shows = format!("Node 3 comes {late} us late; the ring 0 1 3 2 has shifted a KiB after {} us.", whole(played.cost()));
        Ok(drawn(name, title, &shows, &directed, &played, &[]))
    };
    Ok(vec![
        exchange("fig2-1", "Exchange of long messages, both at once", Long, false, 0)?,
        exchange("fig2-2", "Exchange of long messages, one after the other", Long, false, 75)?,
        exchange("fig2-3", "Exchange of long messages behind null messages", Long, true, 75)?,
        exchange("fig2-4", "Exchange of forced messages behind null messages", Forced, true, 75)?,
        shift("fig2-5", "Shift of long messages, all at once", Long, 40)?,
        shift("fig2-6", "Shift of long messages, not all at once", Long, 75)?,
        shift("fig2-7", "Shift of forced messages", Forced, 100)?,
    ])
}

/// A barrier of eight nodes that come together, and of which the last is late.
fn barrier(what: &str, kind: Algorithm, figures: [(&str, u64); 2]) -> Result<Vec<Timeline>> {
    let one = |(name, late): (&str, u64)| {
        let directed = Directed::new(8).last_late(late);
        let played = synchronised(&directed, kind)?;
        let who = if late == 0 { "all nodes come at once".to_owned() } else { format!("node 7 comes {late} us late") };
        let shows = format!("If {who}, {}.", leave(&played));
        Ok(drawn(name, &format!("{what}, {who}"), &shows, &directed, &played, &[]))
    };
    figures.into_iter().map(one).collect()
}

/// When the nodes leave, in words.
fn leave<T>(played: &DirectedRun<T>) -> String {
    let cost = whole(played.cost());
    match played.precision() {
        Nanos::ZERO => format!("all leave after {cost} us, at one moment"),
        apart => format!("the last one leaves after {cost} us, {} us behind the first", whole(apart)),
    }
}

fn rds() -> Result<Timeline> {
    let directed = Directed::new(8);
    let played = synchronised(&directed, RDS)?;
    let shows = format!(
        "Up the tree to node 0 and down again; then each node waits until the last one has been reached: {}.",
        leave(&played)
    );
    Ok(drawn("fig3-8", "RDS of eight nodes", &shows, &directed, &played, &[]))
}

/// Figures 3-11 and 3-12: an interrupt just after node 2 has heard of node 0.
fn interrupts() -> Result<Vec<Timeline>> {
    let four = Directed::new(4).late(0, LATE);
    let scene = |name, title, directed: &Directed, kind, protocol: Protocol| -> Result<Timeline> {
        let played = synchronised_shift(directed, kind, BYTES, protocol)?;
        let shift = super::directed::slowest(&played);
        let shows = format!("Node 0 comes {LATE} us late; the slowest shift of a KiB takes {} us.", whole(shift));
        Ok(drawn(name, title, &shows, directed, &played, &played.outputs))
    };
    let hit = |kind| -> Result<Directed> {
        let heard = heard(&synchronised_shift(&four, kind, BYTES, Forced)?);
        Ok(four.clone().interrupted(2, heard, profile::AS_STATED.length))
    };
    Ok(vec![
        scene("fig3-11a", "gsync and a shift, undisturbed", &four, GSYNC, Forced)?,
        scene("fig3-11b", "gsync and a shift, node 2 interrupted", &hit(GSYNC)?, GSYNC, Forced)?,
        scene("fig3-12", "RDS and a shift, node 2 interrupted", &hit(RDS)?, RDS, Forced)?,
    ])
}

/// When node 2 had the null message of node 0.
fn heard(played: &DirectedRun<Nanos>) -> Nanos {
    let null = |circuit: &&foregather_sim::net::Circuit| {
        circuit.kind == foregather_sim::net::PacketKind::Null && (circuit.from, circuit.to) == (0, 2)
    };
    played.record.0.iter().find(null).map_or(BS, |circuit| circuit.arrived)
}

fn whole(time: Nanos) -> String {
    format!("{:.0}", time.as_us())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(timeline: &Timeline) -> f64 {
        timeline.done_us.iter().copied().fold(0.0, f64::max)
    }

    #[test]
    fn every_figure_is_there_once_and_its_packets_keep_their_order_in_time() {
        let all: Vec<Timeline> =
            ["fig2", "gsync", "sync0", "rds", "interrupt", "table1"].iter().flat_map(|name| scenes(name).unwrap()).collect();
        let mut names: Vec<&str> = all.iter().map(|timeline| timeline.name.as_str()).collect();
        names.dedup();
        assert_eq!((names.len(), all.len()), (15, 15), "{names:?}");
        for timeline in &all {
            assert!(timeline.packets.len() >= timeline.nodes as usize, "{}", timeline.name);
            for p in &timeline.packets {
                let times = [0.0, p.asked_us, p.began_us, p.granted_us, p.left_us, p.arrived_us, done(timeline)];
                assert!(times.is_sorted(), "{}: {p:?}", timeline.name);
            }
        }
    }

    #[test]
    fn the_interrupt_shows_after_gsync_and_is_hidden_by_rds() {
        let all = interrupts().unwrap();
        let [calm, hit, rds] = [0, 1, 2].map(|i| &all[i]);
        assert!(done(hit) > done(calm) + 369.0 && done(rds) < done(hit), "{} {} {}", done(calm), done(hit), done(rds));
        let waited = |timeline: &Timeline| timeline.packets.iter().map(|p| p.granted_us - p.asked_us).fold(0.0, f64::max);
        assert!(waited(hit) > 369.0 && waited(calm) < 75.0 && waited(rds) < 75.0);
        assert!(
            hit.busy.iter().any(|spell| spell.what == "interrupted") && rds.busy.iter().any(|spell| spell.what == "computed")
        );
    }

    #[test]
    fn late_exchanges_cost_what_their_figures_say() {
        let all = messages().unwrap();
        let am = 368.64;
        let costs: Vec<f64> = all.iter().map(done).collect();
        let expected = [am + 136.0, 2.0 * am + 204.0, am + 286.0, am + 225.0, am + 176.0, 2.0 * am + 204.0, am + 175.0];
        for (cost, expected) in costs.iter().zip(expected) {
            assert!((cost - expected).abs() < 0.01, "{costs:?} {expected}");
        }
    }
}
