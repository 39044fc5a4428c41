//! The simulator's predictions, against closed formulas; and that they are always the same.
use foregather_barrier::{Algorithm, Group, SignalCost, butterfly, dissemination};
use foregather_machine::{Cause, Clock, Costs, Endpoint, Error, LogGp, LogGpVariant, Member, Nanos};
use foregather_sim::Run;
use foregather_sim::event::{Calendar, Event, EventPriority, Heap, Queue};
use foregather_sim::net::{Network, profile};
use foregather_sim::smp::{MachineSpec, Prices, RoundRobin, Scheduler, Smp, SmpCpu};
use foregather_wait::Policy;
use proptest::prelude::*;
use std::pin::pin;
use std::task::{Context, Waker};

fn butterfly_run<Q: Queue>(size: u32, start: impl Fn(u32) -> Nanos) -> Run<Result<(), Error>> {
    let network = Network::<Q, _>::new(size, 20, profile::IPSC860_FREE).unwrap();
    let nodes = network.nodes();
    network.run(&nodes, start, butterfly)
}

/// Seidel & Davis 1992 §3.1: `2^d` nodes that enter together synchronise in `d` times `b_s`; 525 us for 128.
#[test]
fn a_butterfly_costs_one_exchange_a_dimension() {
    for dimensions in 0..=10 {
        let run = butterfly_run::<Heap>(1 << dimensions, |_| Nanos::ZERO);
        assert!(run.finished.iter().all(|&end| end == Nanos::from_us(75) * dimensions), "{:?}", run.finished);
    }
    assert_eq!(butterfly_run::<Calendar>(128, |_| Nanos::ZERO).finished, [Nanos::from_us(525); 128]);
}

/// §3.2: with one late node the others leave up to `d (b_s - s)` after the first; 217 us for 128.
#[test]
fn one_late_node_spoils_the_precision_of_a_butterfly() {
    for (dimensions, precision) in [(2, 62), (3, 93), (7, 217)] {
        let late = |rank| if rank == 0 { Nanos::from_ms(5) } else { Nanos::ZERO };
        let run = butterfly_run::<Heap>(1 << dimensions, late);
        let spread = *run.finished.iter().max().unwrap() - *run.finished.iter().min().unwrap();
        assert_eq!(spread, Nanos::from_us(precision));
    }
}

#[test]
fn dissemination_costs_the_same_rounds_for_any_size() {
    for (size, rounds) in [(1, 0), (2, 1), (3, 2), (5, 3), (100, 7), (128, 7)] {
        let network = Network::<Heap, _>::new(size, 7, profile::IPSC860_FREE).unwrap();
        let nodes = network.nodes();
        let run = network.run(&nodes, |_| Nanos::ZERO, dissemination);
        assert!(run.finished.iter().all(|&end| end == Nanos::from_us(75) * rounds));
    }
}

/// A million nodes must fit: one future is 48 bytes at most.
#[test]
fn a_butterfly_future_is_small() {
    let network = Network::<Heap, _>::new(2, 1, profile::IPSC860_FREE).unwrap();
    let nodes = network.nodes();
    assert!(size_of_val(&butterfly(&nodes[0])) <= 48, "{} bytes", size_of_val(&butterfly(&nodes[0])));
}

#[test]
fn a_dropped_wait_poisons_the_network() {
    let network = Network::<Heap, _>::new(4, 2, profile::IPSC860_FREE).unwrap();
    let nodes = network.nodes();
    let run = network.run(
        &nodes,
        |_| Nanos::ZERO,
        async |node| {
            if node.rank() == 3 {
                let pending = pin!(node.wait(0)).poll(&mut Context::from_waker(Waker::noop())).is_pending();
                assert!(pending);
                node.delay(Nanos::from_us(1)).await;
                return Ok(());
            }
            butterfly(node).await
        },
    );
    for rank in 0..3 {
        assert_eq!(run.outputs[rank], Some(Err(Error::from(Cause::Poisoned { by: Some(3) }))));
    }
}

/// Two processors at these prices, one for each of two threads.
fn two_processors(costs: &Costs) -> MachineSpec {
    let scheduler = Scheduler::RoundRobin(RoundRobin::TSAFRIR_2002);
    MachineSpec { cpus: 2, scheduler, prices: Prices::measured(costs), resolution: Nanos(1), ..MachineSpec::tsafrir2002() }
}

#[test]
fn a_dropped_wait_poisons_a_group_of_threads() {
    for kind in Algorithm::ALL {
        let smp = Smp::<Heap>::new(&two_processors(&Costs::TYPICAL), 2, 1);
        let group: Group<SmpCpu<'_, Heap>> = Group::new(kind, 2).unwrap();
        let group = &group;
        let outputs = smp.run(async |cpu| {
            cpu.delay(Nanos::from_us(u64::from(cpu.number()))).await;
            let mut member = group.member(cpu, cpu.number(), Policy::Block)?;
            if cpu.number() == 0 {
                // Neither a wait that was polled nor one that never was may be dropped.
                if kind == Algorithm::Tree {
                    drop(member.wait());
                    return Ok(());
                }
                assert!(pin!(member.wait()).poll(&mut Context::from_waker(Waker::noop())).is_pending());
                cpu.delay(Nanos::from_ms(1)).await;
                return Ok(());
            }
            member.wait().await?;
            member.wait().await
        });
        assert_eq!(outputs, [Some(Ok(())), Some(Err(Error::from(Cause::Poisoned { by: Some(0) })))], "{kind:?}");
    }
}

/// Rank 0 comes last, and drops its wait while the news reaches the others: they have all that they need of
/// it.
#[test]
fn a_wait_that_is_dropped_at_its_end_spoils_nothing() {
    let smp = Smp::<Heap>::new(&two_processors(&Costs::TYPICAL), 2, 1);
    let group: Group<SmpCpu<'_, Heap>> = Group::new(Algorithm::Rds { hop: SignalCost::IPSC860 }, 2).unwrap();
    let group = &group;
    let outputs = smp.run(async |cpu| {
        let mut member = group.member(cpu, cpu.number(), Policy::Block)?;
        if cpu.number() == 0 {
            cpu.delay(Nanos::from_ms(1)).await;
            assert!(pin!(member.wait()).poll(&mut Context::from_waker(Waker::noop())).is_pending());
            return Ok(());
        }
        member.wait().await?;
        member.wait().await
    });
    assert_eq!(outputs, [Some(Ok(())), Some(Err(Error::from(Cause::Poisoned { by: Some(0) })))]);
    #[cfg(feature = "probes")]
    assert!(foregather_machine::reached_here().contains_key("barrier:13"));
}

/// Two waiters for a word that no thread changes: the run ends and names them.
#[test]
fn who_waits_for_ever_is_named() {
    let network = Network::<Heap, _>::new(3, 1, profile::IPSC860_FREE).unwrap();
    let nodes = network.nodes();
    let run = network.run(&nodes, |_| Nanos::ZERO, async |node| if node.rank() > 0 { node.wait(0).await } else { Ok(()) });
    assert_eq!(run.deadlocked(), [1, 2]);
}

/// The three-way cost of waiting: a spinner is released after half a line's round trip, a sleeper after a
/// remote wake, and the waker pays for the sleeper.
#[test]
fn waiting_costs_what_the_machine_says() {
    let costs = Costs::TYPICAL;
    for (policy, release, waker) in
        [(Policy::Spin, costs.line_round_trip.percent(50), Nanos::ZERO), (Policy::Block, costs.remote_wake, costs.waker)]
    {
        let smp = Smp::<Calendar>::new(&two_processors(&costs), 2, 1);
        let group: Group<SmpCpu<'_, Calendar>> = Group::new(Algorithm::Central, 2).unwrap();
        let group = &group;
        let late = Nanos::from_us(50);
        let outputs = smp.run(async |cpu| {
            let began = cpu.now();
            let mut member = group.member(cpu, cpu.number(), policy).unwrap();
            cpu.delay(late * u64::from(cpu.number())).await;
            member.wait().await.unwrap();
            let released = cpu.now();
            cpu.delay(Nanos::ZERO).await;
            (released - began, cpu.now() - released)
        });
        assert_eq!(outputs, [Some((late + release, Nanos::ZERO)), Some((late, waker))], "{policy:?}");
    }
}

proptest! {
    /// Same seed, same trace, whatever the queue.
    #[test]
    fn the_trace_does_not_depend_on_the_queue(skew in prop::collection::vec(0..3_000_000u64, 64)) {
        let start = |rank: u32| Nanos(skew[rank as usize]);
        let (heap, calendar) = (butterfly_run::<Heap>(64, start), butterfly_run::<Calendar>(64, start));
        prop_assert_eq!((heap.trace, heap.events, &heap.finished), (calendar.trace, calendar.events, &calendar.finished));
        prop_assert_eq!(butterfly_run::<Heap>(64, start).trace, heap.trace);
        let mut other = skew.clone();
        other[17] += 1;
        prop_assert_ne!(butterfly_run::<Heap>(64, |rank| Nanos(other[rank as usize])).trace, heap.trace);
    }

    /// Whatever is pushed when, both queues agree on what comes next.
    #[test]
    fn queues_agree(steps in prop::collection::vec((0..400_000u64, 0..3u8, 0..3u8), 1..400)) {
        let (mut heap, mut calendar) = (Heap::default(), Calendar::default());
        let mut now = 0;
        for (sequence, (ahead, class, pops)) in (0..).zip(steps) {
            let class = [EventPriority::Arrival, EventPriority::Resume, EventPriority::Timeout][class as usize];
            let event = Event::new(now + ahead, class, 0, sequence, 0, 0);
            heap.push(event);
            calendar.push(event);
            for _ in 0..pops {
                let (first, second) = (heap.pop(), calendar.pop());
                prop_assert_eq!(first, second);
                now = first.map_or(now, |event| event.time);
            }
        }
        while let Some(event) = heap.pop() {
            prop_assert_eq!(Some(event), calendar.pop());
        }
        prop_assert_eq!(calendar.pop(), None);
    }
}

/// Many null messages to one node: by LogGP's authors they are received a gap apart, by a profile of senders
/// alone as fast as the program takes them.
#[test]
fn an_incast_costs_a_gap_a_message_unless_only_senders_have_one() {
    let us = Nanos::from_us;
    let both = LogGp {
        latency: us(10),
        send_overhead: us(2),
        receive_overhead: us(1),
        gap: us(5),
        byte_ps: 0,
        variant: LogGpVariant::BothSides,
    };
    let last = |model: LogGp| {
        let network = Network::<Heap, _>::new(8, 1, model).unwrap();
        let nodes = network.nodes();
        let run = network.run(
            &nodes,
            |_| Nanos::ZERO,
            async |node| {
                if node.rank() > 0 {
                    return node.signal(0, 0).await;
                }
                for _ in 1..node.size() {
                    node.wait(0).await?;
                }
                Ok(())
            },
        );
        run.finished[0]
    };
    // The first arrives after 12 us, the seventh six gaps later; a program needs 1 us for each.
    assert_eq!(last(both), us(12 + 6 * 5 + 1));
    assert_eq!(last(LogGp { variant: LogGpVariant::SenderOnly, ..both }), us(12 + 7));
    assert_eq!(last(LogGp { gap: us(1), ..both }), us(12 + 7), "a gap within the overhead is no other one");
}
