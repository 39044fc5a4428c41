//! The suite of all networks, in virtual time; that of all processors is in `smp.rs`.
use foregather_conformance::{AsyncProgram, Network, PortProgram, Ports, endpoint, port};
use foregather_machine::{LogGp, Nanos};
use foregather_message::Protocol;
use foregather_sim::Run;
use foregather_sim::event::{Calendar, Heap, Queue};
use foregather_sim::net::{self, Arbitration, Circuits, HeaderBuffers, Interrupts, Model, profile};
use proptest::prelude::*;
use std::marker::PhantomData;

/// A network of that model, with or without interrupts.
struct Nodes<Q, M>(M, Option<Interrupts>, PhantomData<Q>);

impl<Q: Queue, M: Model> Nodes<Q, M> {
    fn network(&self, size: usize, slots: u32) -> net::Network<Q, M> {
        let network = net::Network::<Q, M>::new(size as u32, slots, self.0).unwrap();
        match self.1 {
            Some(interrupts) => network.interrupted(interrupts, 5).unwrap(),
            None => network,
        }
    }
}

/// All outputs: every node got to the end.
fn all<T>(run: Run<T>) -> Vec<T> {
    assert!(run.deadlocked().is_empty(), "stuck: {:?}", run.deadlocked());
    run.outputs.into_iter().flatten().collect()
}

impl<Q: Queue, M: Model> Network for Nodes<Q, M> {
    fn run<T>(&self, slots: u32, start: &[Nanos], program: impl AsyncProgram<T>) -> Vec<T> {
        let network = self.network(start.len(), slots);
        let nodes = network.nodes();
        all(network.run(&nodes, |rank| start[rank as usize], |node| program.node(node)))
    }
}

impl<Q: Queue, M: Model> Ports for Nodes<Q, M> {
    fn run<T>(&self, slots: u32, start: &[Nanos], program: &impl PortProgram<T>) -> Vec<T> {
        let network = self.network(start.len(), slots);
        let nodes = network.nodes();
        all(network.run(&nodes, |rank| start[rank as usize], |node| program.node(node)))
    }
}

/// Every knob turned.
fn knobs(arbitration: Arbitration) -> Circuits {
    Circuits {
        arbitration,
        set_up: Nanos::from_us(20),
        receive: Nanos::from_us(10),
        null_hold: Some(Nanos::from_us(5)),
        jitter: Nanos::from_us(9),
        pool: Some(HeaderBuffers { buffers: 2, release: 1 }),
        ..profile::IPSC860
    }
}

#[test]
fn networks_conform() {
    endpoint::all(&Nodes::<Heap, _>(profile::IPSC860_FREE, None, PhantomData));
    endpoint::all(&Nodes::<Calendar, _>(profile::IPSC860, None, PhantomData));
    for arbitration in Arbitration::ALL {
        endpoint::all(&Nodes::<Heap, _>(knobs(arbitration), Some(profile::CALIBRATED), PhantomData));
    }
}

#[test]
fn networks_conform_in_sized_messages() {
    fn all<M: Model>(model: M, interrupts: Option<Interrupts>) {
        let nodes = Nodes::<Calendar, _>(model, interrupts, PhantomData);
        port::all(&nodes);
        port::a_busy_node_answers(&nodes);
    }
    all(profile::IPSC860_FREE, None);
    all(LogGp { byte_ps: 200, gap: Nanos::from_us(60), ..profile::IPSC860_FREE }, Some(profile::CALIBRATED));
    for arbitration in Arbitration::ALL {
        all(Circuits { arbitration, ..profile::IPSC860 }, None);
        all(Circuits { links: true, ..knobs(arbitration) }, Some(profile::CALIBRATED));
    }
}

proptest! {
    #[test]
    fn barriers_hold_under_any_skew(start in prop::collection::vec(0..2_000_000u64, 1..40)) {
        let start: Vec<_> = start.into_iter().map(Nanos).collect();
        endpoint::nobody_leaves_before_the_last_arrives(&Nodes::<Calendar, _>(profile::IPSC860, Some(profile::CALIBRATED), PhantomData), &start);
    }
    #[test]
    fn messages_keep_their_order_whatever_their_lengths(
        parcels in prop::collection::vec((0..4u32, 0..300usize, 0..3usize), 1..30),
        start in (0..2_000_000u64, 0..2_000_000u64),
        arbitration in 0..Arbitration::ALL.len(),
    ) {
        let parcel = |&(tag, bytes, protocol): &(u32, usize, usize)| port::Parcel { tag, bytes, protocol: Protocol::ALL[protocol] };
        let parcels: Vec<_> = parcels.iter().map(parcel).collect();
        let nodes = Nodes::<Heap, _>(knobs(Arbitration::ALL[arbitration]), Some(profile::CALIBRATED), PhantomData);
        port::arrive_in_order(&nodes, &[Nanos(start.0), Nanos(start.1)], &parcels);
    }

    #[test]
    fn rows_and_columns_shift_by_themselves_whoever_is_late(seed: u64) {
        port::rows_shift(&Nodes::<Calendar, _>(profile::IPSC860, Some(profile::CALIBRATED), PhantomData), seed);
    }
}
