//! The suite of all networks, in virtual time; that of all processors is in `smp.rs`.
use foregather_conformance::{AsyncProgram, Network, endpoint};
use foregather_machine::Nanos;
use foregather_sim::Link;
use foregather_sim::event::{Calendar, Heap, Queue};
use proptest::prelude::*;
use std::marker::PhantomData;

struct Links<Q>(PhantomData<Q>);

impl<Q: Queue> Network for Links<Q> {
    fn run<T>(&self, slots: u32, start: &[Nanos], program: impl AsyncProgram<T>) -> Vec<T> {
        let network = foregather_sim::Network::<Q>::new(start.len() as u32, slots, Link::IPSC860);
        let nodes = network.nodes();
        let run = network.run(&nodes, |rank| start[rank as usize], |node| program.node(node));
        assert!(run.stuck().is_empty(), "stuck: {:?}", run.stuck());
        run.outputs.into_iter().flatten().collect()
    }
}

#[test]
fn networks_conform() {
    endpoint::all(&Links::<Heap>(PhantomData));
    endpoint::all(&Links::<Calendar>(PhantomData));
}

proptest! {
    #[test]
    fn barriers_hold_under_any_skew(start in prop::collection::vec(0..2_000_000u64, 1..40)) {
        let start: Vec<_> = start.into_iter().map(Nanos).collect();
        endpoint::nobody_leaves_before_the_last_arrives(&Links::<Calendar>(PhantomData), &start);
    }
}
