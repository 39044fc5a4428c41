//! The suite of all worlds, in virtual time.
use foregather_conformance::{AsyncProgram, Network, World, barrier, cpu, endpoint};
use foregather_machine::{Costs, Nanos, Rank};
use foregather_sim::event::{Calendar, Heap, Queue};
use foregather_sim::{Link, Processors, VirtualCpu};
use proptest::prelude::*;
use std::marker::PhantomData;

struct Virtual<Q>(PhantomData<Q>);

impl<Q: Queue + Sync + 'static> World for Virtual<Q> {
    type Cpu<'w> = VirtualCpu<'w, Q>;

    fn run<'w, T: Send, F: Future<Output = T>>(
        &'w self,
        size: u32,
        program: impl Fn(VirtualCpu<'w, Q>, Rank) -> F + Sync,
    ) -> Vec<T> {
        // A test's few simulations are never given back: their borrow must outlast this call.
        let processors: &'static Processors<Q> = Box::leak(Box::new(Processors::new(size, Costs::TYPICAL)));
        let run = processors.run(|_| Nanos::ZERO, |cpu| program(cpu, cpu.number()));
        assert!(run.stuck().is_empty(), "stuck: {:?}", run.stuck());
        run.outputs.into_iter().flatten().collect()
    }

    fn processors(&self) -> u32 {
        u32::MAX
    }

    fn step(&self) -> Nanos {
        Nanos::from_us(2)
    }
}

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
fn processors_conform() {
    cpu::all(&Virtual::<Heap>(PhantomData));
    barrier::all(&Virtual::<Heap>(PhantomData));
}

#[test]
fn processors_conform_on_a_calendar() {
    barrier::all(&Virtual::<Calendar>(PhantomData));
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
