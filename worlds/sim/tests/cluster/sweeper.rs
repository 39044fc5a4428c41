//! Hosts of Itzkovitz & Schuster 1999: threads of fixed priorities, and a NIC that cannot interrupt, so that
//! a timer's sweeper looks.
use super::*;
use foregather_machine::{Clock, Member};
use foregather_sim::cluster::{Notice, Sweeps};

/// A sweeper's period beside computing threads.
const PERIOD: Nanos = us(1_000);
/// More than a message, an interrupt and all switches cost together.
const COSTS: Nanos = us(100);

/// Two nodes of one processor each.
fn spec(threads: u32, notice: Notice) -> ClusterSpec {
    let mut spec = ClusterSpec::namyst1999(2, threads);
    spec.machine.scheduler = Scheduler::Priority;
    spec.nic.notice = notice;
    spec
}

/// A frame for that lane of node 1 leaves after 2 ms. Its thread sleeps until it comes, and then computes for
/// 1 ms; the two others compute for 5 ms each. Returns when they are done, by their numbers.
fn through(sleeper: u32) -> Vec<Nanos> {
    let report = simulate(spec(3, Notice::Interrupt), async |lane| {
        let Address { rank, lane: own } = lane.here();
        if rank == 0 && own == sleeper {
            lane.delay(us(2_000)).await;
            assert!(lane.post(at(1, sleeper), 0, &[]).unwrap());
        } else if rank == 1 && own == sleeper {
            take(&lane, Policy::Block, at(0, sleeper)).await.unwrap();
            lane.delay(us(1_000)).await;
        } else if rank == 1 {
            lane.delay(us(5_000)).await;
        }
        lane.now()
    });
    all(report).split_off(3)
}

#[track_caller]
fn soon(after: Nanos, time: Nanos) {
    assert!(time >= after && time <= after + COSTS, "{time} instead of {after}");
}

#[test]
fn the_lowest_number_runs_at_once_and_for_as_long_as_it_can() {
    let times = through(0);
    soon(us(3_000), times[0]);
    // Only when it sleeps do others go on, and they take no turns.
    soon(us(6_000), times[1]);
    soon(us(11_000), times[2]);
}

#[test]
fn a_higher_number_waits_until_all_lower_ones_sleep() {
    let times = through(2);
    soon(us(5_000), times[0]);
    soon(us(10_000), times[1]);
    soon(us(11_000), times[2]);
    let times = through(1);
    soon(us(5_000), times[0]);
    soon(us(6_000), times[1]);
    soon(us(11_000), times[2]);
}

/// Frames that leave 2.3 ms after each other for a thread that sleeps, beside one that computes, or not.
/// Returns when each left and was taken, and a hash of all events.
fn swept(sweeps: Sweeps, computes: bool, seed: u64) -> (Vec<(Nanos, Nanos)>, u64) {
    const FRAMES: usize = 20;
    let spec = ClusterSpec { seed, ..spec(2, Notice::Sweeps(sweeps)) };
    let report = simulate(spec, async |lane| {
        let mut times = Vec::new();
        match (lane.rank(), lane.here().lane) {
            (0, 0) => {
                for _ in 0..FRAMES {
                    lane.delay(us(2_300)).await;
                    times.push(lane.now());
                    assert!(lane.post(at(1, 0), 0, &[]).unwrap());
                }
            }
            (1, 0) => {
                for _ in 0..FRAMES {
                    take(&lane, Policy::Block, at(0, 0)).await.unwrap();
                    times.push(lane.now());
                }
            }
            (1, 1) if computes => lane.delay(us(100_000)).await,
            _ => {}
        }
        times
    });
    let trace = report.trace;
    let times = all(report);
    (times[0].iter().copied().zip(times[2].iter().copied()).collect(), trace)
}

#[test]
fn beside_a_computing_thread_a_frame_is_seen_at_the_next_sweep_and_not_before() {
    let (times, _) = swept(Sweeps::regular(PERIOD), true, 1);
    let phase = |taken: Nanos| taken.0 % PERIOD.0;
    let (first, mut longest) = (phase(times[0].1), Nanos::ZERO);
    for &(left, taken) in &times {
        assert_eq!(phase(taken), first, "every sweep has the same costs: {times:?}");
        assert!(taken > left && taken < left + PERIOD + COSTS, "{left} {taken}");
        longest = longest.max(taken - left);
    }
    assert!(longest > us(500), "frames come at all moments of a period: {longest}");
}

#[test]
fn a_node_that_has_nothing_else_to_do_polls() {
    let (times, _) = swept(Sweeps::regular(PERIOD), false, 1);
    for &(left, taken) in &times {
        soon(left, taken);
    }
}

#[test]
fn the_same_seed_makes_the_same_trace_and_another_another_phase() {
    let rule = Sweeps { usual: PERIOD, early: us(50), late: us(3_000), one_in: 4 };
    assert_eq!(swept(rule, true, 1), swept(rule, true, 1));
    assert_ne!(swept(rule, true, 1), swept(rule, true, 2));
}
