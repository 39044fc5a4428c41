//! Waiting on nodes whose processors other threads want.
use super::*;
use foregather_machine::{Clock, Member, Park, Placement, Words};
use foregather_sim::cluster::{Activity, Actor};

/// One node sends a frame after a while; on the other a thread waits for it, and another computes beside it
/// on one processor. Returns when the frame was taken, and when the computation was over.
fn beside(policy: Policy, after: Nanos, work: Nanos) -> (Nanos, Nanos, u64) {
    let mut spec = ClusterSpec::namyst1999(2, 2);
    spec.machine.scheduler = Scheduler::RoundRobin(RoundRobin { quantum: us(500) });
    let report = simulate(spec, async |lane| {
        match (lane.rank(), lane.here().lane) {
            (0, 0) => {
                lane.delay(after).await;
                assert!(lane.post(at(1, 0), 0, &[]).unwrap());
            }
            (1, 0) => drop(take(&lane, policy, at(0, 0)).await.unwrap()),
            (1, 1) => lane.delay(work).await,
            _ => {}
        }
        lane.now()
    });
    let interrupts = report.counts[1].interrupts;
    let times = all(report);
    (times[2], times[3], interrupts)
}

#[test]
fn a_spinner_holds_a_processor_that_others_want() {
    let (work, after) = (us(20_000), us(30_000));
    let (_, beside_spinner, none) = beside(Policy::Spin, after, work);
    let (_, beside_sleeper, _) = beside(Policy::Block, after, work);
    assert!(beside_sleeper < us(20_100), "{beside_sleeper}");
    assert!(beside_spinner > us(35_000), "a spinner takes every other quantum: {beside_spinner}");
    assert_eq!(none, 0, "who polls needs no interrupt");
}

#[test]
fn an_interrupt_wakes_a_sleeper_and_costs_the_processor_that_serves_it() {
    let nic = Nic::VIA_FAST_ETHERNET;
    let (asleep, _, one) = beside(Policy::Block, us(2_000), Nanos(1));
    let (awake, _, none) = beside(Policy::Spin, us(2_000), Nanos(1));
    assert_eq!((one, none), (1, 0));
    let (later, wake) = (asleep - awake, ClusterSpec::namyst1999(2, 1).machine.prices.wake_idle);
    assert!(later >= nic.interrupt && later <= nic.interrupt + wake, "{later}");
    // The computing thread pays for it, and for the switch to the woken one.
    let (_, done, _) = beside(Policy::Block, us(2_000), us(5_000));
    assert!(done >= us(5_000) + nic.interrupt, "{done}");
}

#[test]
fn a_sleeper_on_a_busy_machine_waits_for_its_turn() {
    let (alone, ..) = beside(Policy::Block, us(2_100), Nanos(1));
    let (crowded, ..) = beside(Policy::Block, us(2_100), us(5_000));
    assert!(crowded > alone, "round robin lets nobody in before the quantum is over: {crowded} {alone}");
}

/// Figure 5 of the paper: while one buffer is on the wire, the next is being filled.
#[test]
fn copies_overlap_with_the_wire() {
    const BUFFERS: u32 = 8;
    let spec = ClusterSpec { spans: 10_000, ..ClusterSpec::namyst1999(2, 1) };
    let nic = spec.nic;
    let report = simulate(spec, async |lane| {
        for round in 0..BUFFERS {
            if lane.rank() == 0 {
                lane.write_with(at(1, 0), |buffer| buffer.fill(round as u8));
                assert!(lane.post_filled(at(1, 0), round, 512).unwrap());
            } else {
                assert_eq!(take(&lane, Policy::Spin, at(0, 0)).await.unwrap(), (round, vec![round as u8; 512]));
            }
        }
        lane.delay(Nanos::ZERO).await;
        lane.now()
    });
    let of = |what| report.strokes.iter().filter(move |stroke| stroke.what == what && stroke.at.rank == 0);
    let wires: Vec<_> = of(Activity::Wire).collect();
    assert_eq!((wires.len(), of(Activity::Copy).count()), (8, 8));
    assert!(wires.iter().all(|stroke| stroke.place == Actor::Wire));
    let (first, last) = (wires[0].from, wires[7].to);
    let during = of(Activity::Copy).filter(|copy| first <= copy.from && copy.to <= last);
    assert!(during.count() >= 6, "most copies are hidden behind the wire");
    assert!(wires.windows(2).all(|pair| pair[0].to == pair[1].from), "the wire never idles in between");
    let end = report.outputs[1].unwrap();
    let one = Nanos(512 * nic.copy_ps / 1_000);
    let wire = Nanos((512 + u64::from(nic.framing)) * nic.wire_ps / 1_000);
    // One copy at either end, the wire for all, and one buffer's way through the switch.
    let bound = nic.empty() + one * 2 + wire * u64::from(BUFFERS + 1) + us(5);
    assert!(end < bound, "{end} {bound}");
}

#[test]
fn threads_of_different_nodes_are_no_neighbours() {
    let told = all(simulate(today(2, 2), async |lane| {
        lane.delay(us(50)).await;
        let cpu = lane.cpu();
        (cpu.place().unwrap(), cpu.identity().unwrap(), cpu.affinity().unwrap(), cpu.running(4), lane.number_of_lines())
    }));
    assert!(told[0].0 < 2 && told[2].0 >= 2, "processors are numbered through");
    assert_eq!([0, 1, 2, 3].map(|thread| told[thread].1), [1, 2, 3, 4]);
    assert_eq!(told[0].2, told[1].2);
    assert_ne!(told[0].2.fingerprint, told[2].2.fingerprint, "nobody can be moved to another node");
    assert!(told[0].3.is_none() && told[2].3.is_some(), "who runs elsewhere cannot be told");
    assert!(told.iter().all(|of| of.4 == 3));
}

trait Lines {
    fn number_of_lines(&self) -> usize;
}

impl<F: Fabric> Lines for F {
    fn number_of_lines(&self) -> usize {
        self.roster().len()
    }
}

/// A spinner whose budget is over looks once more, and that look may change the word on which it spun.
#[test]
fn a_spinner_that_rings_its_own_bell_is_not_polled_in_what_it_does_next() {
    all(simulate(today(1, 1), async |lane| {
        let cpu = lane.cpu();
        let (found, _) = cpu
            .spin_for(lane.bell(), us(50), || {
                cpu.fetch_add(lane.bell(), 1);
                None::<()>
            })
            .await;
        assert_eq!(found, None);
        let before = lane.now();
        lane.delay(us(70)).await;
        assert_eq!(lane.now() - before, us(70));
    }));
}
