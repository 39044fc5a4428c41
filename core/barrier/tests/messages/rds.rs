//! The final wait of RDS: how long each member waits so that all leave at the same time.
use crate::recorder::{Recorder, Step, program, run};
use foregather_barrier::{SignalCost, gather_release, rds};
use foregather_machine::{Nanos, SplitMix};

/// Returns when each member has released its children. Walks the tree that results from the steps of the
/// release.
fn released(size: u32, hop: SignalCost) -> Vec<Nanos> {
    let mut reached = vec![Nanos::ZERO; size as usize];
    for rank in 0..size {
        let steps = program(rank, size, async |end| gather_release(end, 2).await);
        // The gather phase sends once, to the parent. A parent has a lower rank, so it was visited before.
        let children = steps.iter().filter_map(Step::peer).skip(usize::from(rank > 0));
        for child in children {
            reached[child as usize] = reached[rank as usize] + hop.latency;
            reached[rank as usize] += hop.send;
        }
    }
    reached
}

fn waits(size: u32, hop: SignalCost) -> Vec<Nanos> {
    (0..size).map(|rank| hop.wait(rank, size)).collect()
}

#[test]
fn everybody_waits_until_the_last_is_released() {
    let mut random = SplitMix(1);
    for size in 1..=300 {
        let latency = 1 + random.below(200_000);
        // Senders that are free before the receiver has the signal, at the same time, and (unusually) later.
        for send in [random.below(latency), latency, latency + random.below(50_000)] {
            let hop = SignalCost { send: Nanos(send), latency: Nanos(latency) };
            let released = released(size, hop);
            let last = *released.iter().max().unwrap();
            let expected: Vec<_> = released.into_iter().map(|at| last - at).collect();
            assert_eq!(waits(size, hop), expected, "{size} {hop:?}");
        }
    }
}

#[test]
fn in_a_cube_each_wait_is_a_multiple_of_the_difference() {
    for dimensions in 0..=12 {
        let expected = |rank: u32| Nanos::from_us(31) * u64::from(dimensions - rank.count_ones());
        assert_eq!(waits(1 << dimensions, SignalCost::IPSC860), (0..1 << dimensions).map(expected).collect::<Vec<_>>());
    }
}

#[test]
fn the_algorithm_waits_by_its_law() {
    for size in [1, 2, 6, 8] {
        for rank in 0..size {
            let end = Recorder::new(rank, size);
            assert_eq!(run(rds(&end, SignalCost::IPSC860)), Ok(()));
            assert_eq!(end.delayed.get(), SignalCost::IPSC860.wait(rank, size));
        }
    }
    assert_eq!(SignalCost::IPSC860.wait(0, 1 << 31), Nanos::from_us(31 * 31), "the largest cube there can be");
}
