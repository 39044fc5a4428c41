//! The suite of all networks, in virtual time; that of all processors is in `smp.rs`.
use foregather_conformance::{AsyncProgram, Network, endpoint};
use foregather_machine::Nanos;
use foregather_sim::event::{Calendar, Heap, Queue};
use foregather_sim::net::{self, Arbitration, Circuits, Interrupts, Model, Pool, profile};
use proptest::prelude::*;
use std::marker::PhantomData;

/// A network of that model, with or without interrupts.
struct Nodes<Q, M>(M, Option<Interrupts>, PhantomData<Q>);

impl<Q: Queue, M: Model> Network for Nodes<Q, M> {
    fn run<T>(&self, slots: u32, start: &[Nanos], program: impl AsyncProgram<T>) -> Vec<T> {
        let mut network = net::Network::<Q, M>::new(start.len() as u32, slots, self.0).unwrap();
        if let Some(interrupts) = self.1 {
            network = network.interrupted(interrupts, 5).unwrap();
        }
        let nodes = network.nodes();
        let run = network.run(&nodes, |rank| start[rank as usize], |node| program.node(node));
        assert!(run.stuck().is_empty(), "stuck: {:?}", run.stuck());
        run.outputs.into_iter().flatten().collect()
    }
}

#[test]
fn networks_conform() {
    endpoint::all(&Nodes::<Heap, _>(profile::IPSC860_FREE, None, PhantomData));
    endpoint::all(&Nodes::<Calendar, _>(profile::IPSC860, None, PhantomData));
    for arbitration in Arbitration::ALL {
        let knobs = Circuits {
            arbitration,
            set_up: Nanos::from_us(20),
            receive: Nanos::from_us(10),
            null_hold: Some(Nanos::from_us(5)),
            jitter: Nanos::from_us(9),
            pool: Some(Pool { buffers: 2, release: 1 }),
            ..profile::IPSC860
        };
        endpoint::all(&Nodes::<Heap, _>(knobs, Some(profile::CALIBRATED), PhantomData));
    }
}

proptest! {
    #[test]
    fn barriers_hold_under_any_skew(start in prop::collection::vec(0..2_000_000u64, 1..40)) {
        let start: Vec<_> = start.into_iter().map(Nanos).collect();
        endpoint::nobody_leaves_before_the_last_arrives(&Nodes::<Calendar, _>(profile::IPSC860, Some(profile::CALIBRATED), PhantomData), &start);
    }
}
