//! Messages of one size, by every way in turn: batch after batch, every other round backwards, so that a disturbance meets them all.
use super::ends::{Ends, Errand};
use super::transport::{Pattern, Transport};
use super::{Answer, Timed};
use foregather_machine::{Error, Fabric, Limits};

/// Rounds of a batch at most, and for the guess at how long one takes.
const ROUNDS: (u32, u32) = (200_000, 16);

/// Which of them there are on such a fabric.
pub(super) fn possible(ways: &[Transport], bytes: usize, limits: &Limits) -> Vec<Transport> {
    ways.iter().copied().filter(|way| way.takes(bytes, limits)).collect()
}

/// Rank 0's part.
pub(super) fn measure<F: Fabric>(
    ends: &mut Ends<F>,
    bytes: usize,
    (batches, batch_ns): (u32, u64),
    answer: &mut Answer,
) -> Result<(), Error> {
    let series: Vec<(usize, Pattern)> =
        ends.ways.iter().enumerate().flat_map(|(way, of)| of.patterns().iter().map(move |&pattern| (way, pattern))).collect();
    let mut timed: Vec<Timed> = series.iter().map(|&(way, pattern)| Timed::none(ends.ways[way], pattern)).collect();
    let mut rounds = Vec::new();
    for &(way, pattern) in &series {
        let mut guess = Timed::none(ends.ways[way], pattern);
        batch(ends, (way, pattern), ROUNDS.1, bytes, &mut guess)?;
        let one = (guess.wall_ns / u64::from(ROUNDS.1)).max(1);
        rounds.push((batch_ns / one).clamp(4, ROUNDS.0.into()) as u32);
    }
    for turn in 0..batches {
        for i in 0..series.len() {
            let i = if turn % 2 == 0 { i } else { series.len() - 1 - i };
            batch(ends, series[i], rounds[i], bytes, &mut timed[i])?;
        }
    }
    for (end, way) in ends.ways.iter().filter(|way| way.is_message()).enumerate() {
        let waits = Some(ends.waits(end));
        timed.iter_mut().filter(|timed| timed.way == *way).for_each(|timed| timed.waits = waits);
    }
    answer.sizes = timed;
    Ok(())
}

fn batch<F: Fabric>(
    ends: &mut Ends<F>,
    (way, pattern): (usize, Pattern),
    rounds: u32,
    bytes: usize,
    timed: &mut Timed,
) -> Result<(), Error> {
    let errand = Errand::Rounds { way, pattern, rounds };
    ends.ask(errand)?;
    let (took, here) = ends.run(errand, bytes)?;
    let there = ends.spent_there()?;
    let halves = if pattern == Pattern::PingPong && timed.way != Transport::Memcpy { 2.0 } else { 1.0 };
    timed.ns.push(took.0 as f64 / f64::from(rounds) / halves);
    timed.cpu_ns = [timed.cpu_ns[0] + here.0, timed.cpu_ns[1] + there.0];
    timed.wall_ns += took.0;
    Ok(())
}

impl Timed {
    fn none(way: Transport, pattern: Pattern) -> Self {
        Self { way, pattern, ns: vec![], cpu_ns: [0; 2], wall_ns: 0, waits: None }
    }
}
