//! Collective operations in virtual time: right for any group, and at the cost that their docs name.
use foregather_conformance::{PortProgram, Ports, collective};
use foregather_machine::{Error, LogGp, Member, Nanos};
use foregather_message::collective::{all_gather, all_to_all, allreduce, broadcast, reduce, sum};
use foregather_sim::Run;
use foregather_sim::event::Calendar;
use foregather_sim::net::{Model, Network, Node, profile};
use proptest::prelude::*;

/// Nodes of that model.
struct Nodes<M>(M);

impl<M: Model> Ports for Nodes<M> {
    fn run<T>(&self, slots: u32, start: &[Nanos], program: &impl PortProgram<T>) -> Vec<T> {
        let network = Network::<Calendar, M>::new(start.len() as u32, slots, self.0).unwrap();
        let nodes = network.nodes();
        let run = network.run(&nodes, |rank| start[rank as usize], |node| program.node(node));
        assert!(run.deadlocked().is_empty(), "stuck: {:?}", run.deadlocked());
        run.outputs.into_iter().flatten().collect()
    }
}

#[test]
fn networks_conform_in_collective_operations() {
    collective::all(&Nodes(profile::IPSC860_FREE));
    collective::all(&Nodes(profile::IPSC860));
    // Long enough for every algorithm.
    collective::one(&Nodes(profile::INFINIBAND_TUKEY), &[Nanos::ZERO; 11], 3, 30_000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn all_get_what_one_alone_would_make(
        start in prop::collection::vec(0..2_000_000_u64, 1..=17),
        root: prop::sample::Index,
        bytes in prop_oneof![0..300_usize, 1_900..2_200_usize, 11_900..16_000_usize],
    ) {
        let root = root.index(start.len()) as u32;
        let start: Vec<_> = start.into_iter().map(Nanos).collect();
        collective::one(&Nodes(profile::LOGGOPSIM), &start, root, bytes);
    }
}

/// No node waits for its own gap: sending takes no longer than a message takes to arrive.
const MODEL: LogGp = profile::LOGGOPSIM;

/// The cost of a short message of `bytes` bytes.
fn message(bytes: u64) -> Nanos {
    MODEL.null() + MODEL.bytes(bytes)
}

type Peer<'n> = Node<'n, Calendar, LogGp>;

/// When the last of `size` nodes is done.
fn cost(size: u32, program: impl AsyncFn(&Peer<'_>) -> Result<(), Error>) -> Nanos {
    let network = Network::<Calendar, _>::new(size, 0, MODEL).unwrap();
    let nodes = network.nodes();
    let run: Run<Result<(), Error>> = network.run(&nodes, |_| Nanos::ZERO, |node| program(node));
    assert!(run.outputs.iter().all(|end| *end == Some(Ok(()))));
    run.finished.into_iter().max().unwrap_or_default()
}

#[test]
fn a_broadcast_costs_one_message_a_dimension() {
    for dimensions in 0..=11_u32 {
        for bytes in [0, 8, 56] {
            let last = cost(1 << dimensions, async |node| broadcast(node, 0, &mut vec![0; bytes]).await);
            assert_eq!(last, message(bytes as u64) * u64::from(dimensions), "2^{dimensions} nodes, {bytes} bytes");
        }
    }
}

/// From any root, and for sizes between powers of two, no later than for the next one.
#[test]
fn a_broadcast_to_any_size_costs_no_more_than_to_the_next_power_of_two() {
    for size in 2..70 {
        let last = cost(size, async |node| broadcast(node, size / 3, &mut [0; 8]).await);
        let (least, most) = (size.ilog2(), size.next_power_of_two().ilog2());
        assert!(last >= message(8) * u64::from(least) && last <= message(8) * u64::from(most), "{size}: {last}");
    }
}

#[test]
fn reductions_cost_one_message_a_dimension_and_at_most_two_more_between_powers_of_two() {
    for dimensions in 0..=8_u32 {
        let depth = message(16) * u64::from(dimensions);
        assert_eq!(cost(1 << dimensions, async |node| allreduce(node, &mut [1.0_f64; 2], sum).await), depth);
        assert_eq!(cost(1 << dimensions, async |node| reduce(node, 0, &mut [1.0_f64; 2], sum).await), depth);
        if dimensions > 0 {
            let last = cost((1 << dimensions) + 1, async |node| allreduce(node, &mut [node.rank(); 4], sum).await);
            assert!(last > depth && last <= depth + message(16) * 2, "2^{dimensions} + 1 nodes: {last}");
        }
    }
}

#[test]
fn blocks_for_all_cost_what_their_pages_say() {
    let last = cost(8, async |node| all_gather(node, &[7; 4], &mut [0; 32]).await);
    assert_eq!(last, message(4) + message(8) + message(16));
    let last = cost(8, async |node| all_to_all(node, &[7; 32], &mut [0; 32]).await);
    assert_eq!(last, message(16) * 3);
}

/// Long messages: halving the values beats sending them whole, by as much as the formulas say or nearly.
#[test]
fn a_long_allreduce_costs_two_payloads_however_many_nodes() {
    const BYTES: u64 = 1 << 20;
    for dimensions in [2, 4, 6_u32] {
        let size = 1_u64 << dimensions;
        let last = cost(size as u32, async |node| allreduce(node, &mut vec![1_u64; (BYTES / 8) as usize], sum).await);
        let bytes = MODEL.bytes(2 * BYTES * (size - 1) / size);
        // Each of the messages is asked for and answered first.
        let starts = MODEL.null() * 3 * 2 * u64::from(dimensions);
        assert!(last >= bytes && last <= bytes + starts, "{size} nodes: {last}, bytes alone {bytes}");
    }
}
