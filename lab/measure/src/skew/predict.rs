//! What a barrier ought to cost here: the same source, run in a simulated network with this machine's parameters.
use super::ENTRY_SKEW;
use foregather_barrier::Algorithm;
use foregather_machine::{LogGp, Nanos, SplitMix};
use foregather_sim::event::Heap;
use foregather_sim::net::Network;

/// So many episodes are simulated, each with other times at which members come.
const EPISODES: u64 = 101;

/// The median cost of one episode, from the last member's arrival to the last one's exit, when members come as they do in
/// the measurement. `None` for the central barrier, which has no messages, and for sizes that the barrier does not take.
pub fn predict(kind: Algorithm, size: u32, loggp: &LogGp) -> Option<Nanos> {
    let mut costs = (0..EPISODES).map(|seed| episode(kind, size, loggp, seed)).collect::<Option<Vec<_>>>()?;
    costs.sort_unstable();
    costs.get(costs.len() / 2).copied()
}

fn episode(kind: Algorithm, size: u32, loggp: &LogGp, seed: u64) -> Option<Nanos> {
    kind.takes(size).ok()?;
    let mut random = SplitMix(seed);
    let starts: Vec<Nanos> = (0..size).map(|_| Nanos(random.below(ENTRY_SKEW.0))).collect();
    let network = Network::<Heap>::new(size, kind.slots(size), *loggp).ok()?;
    let nodes = network.nodes();
    let run = network.run(&nodes, |rank| starts[rank as usize], |node| kind.over(node));
    let left = run.outputs.iter().all(|end| matches!(end, Some(Ok(()))));
    left.then(|| run.finished.iter().max().copied().unwrap_or_default() - starts.into_iter().max().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: LogGp =
        LogGp { latency: Nanos(50), send_overhead: Nanos(40), receive_overhead: Nanos(30), gap: Nanos(40), byte_ps: 0 };

    #[test]
    fn a_butterfly_costs_its_rounds_and_the_others_what_their_messages_do() {
        // Whoever comes last finds its partner's message: its own is what the partner waits for.
        assert_eq!(predict(Algorithm::Butterfly, 2, &MACHINE), Some(MACHINE.null()));
        let four = predict(Algorithm::Butterfly, 4, &MACHINE).unwrap();
        assert!(four > MACHINE.null() && four <= MACHINE.null() * 2 + MACHINE.receive_overhead, "{four}");
        assert!(predict(Algorithm::Tree, 4, &MACHINE).unwrap() > MACHINE.null());
    }

    #[test]
    fn what_has_no_messages_or_does_not_take_the_size_is_not_predicted() {
        assert_eq!(predict(Algorithm::Central, 2, &MACHINE), None);
        assert_eq!(predict(Algorithm::Butterfly, 3, &MACHINE), None);
    }
}
