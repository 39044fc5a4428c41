//! Which member signals which other, in which slot and how often. Each barrier is recorded as the steps of
//! its members.
//!
//! The steps show whether a member could leave before another one has arrived, for all orders and speeds at
//! once: after a member has received a signal, it depends on all members on which the sender depended.
mod rds;
mod recorder;
mod subcube;

use foregather_barrier::{Algorithm, SignalCost, dissemination_by, gather_release};
use foregather_machine::{Cause, Endpoint, Error};
use recorder::{Recorder, Step, all_steps, program};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Returns all algorithms that send messages, with every `k`.
fn kinds() -> impl Iterator<Item = Algorithm> {
    let families = (2..=8).flat_map(|k| [Algorithm::Gather(k), Algorithm::KDissemination(k)]);
    let rds = Algorithm::Rds { hop: SignalCost::IPSC860 };
    Algorithm::ALL.into_iter().filter(|&kind| kind != Algorithm::Central).chain(families).chain([rds])
}

fn sizes(kind: Algorithm) -> impl Iterator<Item = u32> {
    (1..40).chain([64, 100, 128, 257]).filter(move |&size| kind.takes(size).is_ok())
}

/// Runs every member as far as the signals allow. Returns on how many members each one depends when it
/// leaves, or else the members that are stuck.
fn heard(steps: &[Vec<Step>]) -> Result<Vec<usize>, BTreeSet<usize>> {
    let size = steps.len();
    let mut heard: Vec<BTreeSet<usize>> = (0..size).map(|rank| BTreeSet::from([rank])).collect();
    let mut slots: BTreeMap<(usize, u32), VecDeque<BTreeSet<usize>>> = BTreeMap::new();
    let mut at = vec![0; size];
    loop {
        let before = at.clone();
        for rank in 0..size {
            while let Some(step) = steps[rank].get(at[rank]) {
                match *step {
                    Step::Signal(peer, slot) => slots.entry((peer as usize, slot)).or_default().push_back(heard[rank].clone()),
                    Step::Wait(slot) => match slots.get_mut(&(rank, slot)).and_then(VecDeque::pop_front) {
                        Some(news) => heard[rank].extend(news),
                        None => break,
                    },
                }
                at[rank] += 1;
            }
        }
        if at == before {
            let stuck: BTreeSet<_> = (0..size).filter(|&rank| at[rank] < steps[rank].len()).collect();
            assert!(!stuck.is_empty() || slots.values().all(VecDeque::is_empty), "a signal that nobody takes");
            return if stuck.is_empty() { Ok(heard.iter().map(BTreeSet::len).collect()) } else { Err(stuck) };
        }
    }
}

#[test]
fn whoever_leaves_has_heard_of_everybody() {
    for kind in kinds() {
        for size in sizes(kind) {
            let heard = heard(&all_steps(size, async |end| kind.over(end).await));
            assert_eq!(heard, Ok(vec![size as usize; size as usize]), "{kind:?} {size}");
        }
    }
}

/// The negative control: a dissemination barrier without its last round.
#[test]
fn a_round_too_few_is_found() {
    for size in 3..40_u32 {
        let steps = all_steps(size, async |end: &Recorder| {
            for round in 0..size.next_power_of_two().trailing_zeros() - 1 {
                end.signal((end.rank + (1 << round)) % size, round).await?;
                end.wait(round).await?;
            }
            Ok::<_, Error>(())
        });
        assert!(heard(&steps).unwrap().iter().all(|&heard| heard < size as usize), "{size}");
    }
}

/// Otherwise, an early signal from one sender could be taken for a late signal from another one.
#[test]
fn a_slot_has_one_sender_and_one_signal_an_episode() {
    for kind in kinds() {
        for size in sizes(kind) {
            let mut senders = BTreeMap::new();
            for (rank, steps) in all_steps(size, async |end| kind.over(end).await).into_iter().enumerate() {
                for step in steps {
                    if let Step::Signal(peer, slot) = step {
                        assert!(slot < kind.slots(size) && peer < size, "{kind:?} {size}: {step:?}");
                        assert_eq!(senders.insert((peer, slot), rank), None, "{kind:?} {size}: {step:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn each_kind_sends_as_many_signals_as_it_says() {
    let signals = |kind: Algorithm, size: u32| {
        all_steps(size, async |end| kind.over(end).await).iter().flatten().filter(|s| s.is_signal()).count()
    };
    for size in [1, 2, 3, 7, 16, 100] {
        for kind in [
            Algorithm::Tree,
            Algorithm::Tournament,
            Algorithm::Gather(2),
            Algorithm::Gather(7),
            Algorithm::Rds { hop: SignalCost::IPSC860 },
        ] {
            assert_eq!(signals(kind, size), 2 * size as usize - 2, "{kind:?} {size}");
        }
    }
    // Full rounds send k signals. With k = 3 and 100 members, the last round sends only the signal to the
    // member 64 ranks ahead.
    for (kind, size, each) in [
        (Algorithm::Dissemination, 100, 7),
        (Algorithm::KDissemination(3), 64, 9),
        (Algorithm::KDissemination(3), 100, 10),
        (Algorithm::KDissemination(8), 9, 8),
        (Algorithm::Butterfly, 64, 6),
    ] {
        assert_eq!(signals(kind, size), (size * each) as usize, "{kind:?} {size}");
    }
    // Two signals for each member of the upper half, and a butterfly of the lower half.
    assert_eq!(signals(Algorithm::Sync0, 64), 2 * 32 + 32 * 5);
}

/// Paths from the root have at most as many hops as the highest rank has digits that are not 0.
#[test]
fn a_wider_tree_is_a_flatter_one() {
    for (k, hops) in [(2, 6), (4, 3), (8, 2)] {
        let depth = |mut rank: u32| {
            let mut hops = 0;
            while rank > 0 {
                let steps = program(rank, 64, async |end| gather_release(end, k).await);
                rank = steps.iter().find_map(Step::peer).unwrap();
                hops += 1;
            }
            hops
        };
        assert_eq!((0..64).map(depth).max(), Some(hops), "{k}");
    }
}

#[test]
fn sizes_and_families_are_checked() {
    let needs = |kind: Algorithm, size| match Error::of(&kind.takes(size)) {
        Some(&Cause::Size { what, size: named, needs }) if named == size => format!("{what}: {needs}"),
        other => panic!("{kind:?} {size}: {other:?}"),
    };
    assert!(needs(Algorithm::Sync0, 6).contains("rds"));
    assert!(needs(Algorithm::Butterfly, 6).contains("dissemination"));
    assert_eq!(needs(Algorithm::Gather(1), 6), "gather-k: k from 2 to 8");
    assert_eq!(needs(Algorithm::KDissemination(9), 6), "dissemination-k: k from 2 to 8");
    for kind in kinds() {
        assert!(needs(kind, 0).contains("at least 1"));
        assert_eq!(kind.takes(6).is_err(), [Algorithm::Butterfly, Algorithm::Sync0].contains(&kind));
        let alone = Recorder::new(0, 6);
        assert_eq!(recorder::run(kind.over(&alone)).is_err(), kind.takes(6).is_err(), "{kind:?}");
        let named = Algorithm::parse(kind.name()).map(Algorithm::name);
        assert_eq!(named, Some(kind.name()));
    }
    assert_eq!(
        (Algorithm::parse("gather"), Algorithm::parse("gather-k"), Algorithm::parse("gather-9")),
        (Some(Algorithm::Gather(2)), None, None)
    );
    let alone = Recorder::new(0, 6);
    assert!(recorder::run(gather_release(&alone, 1)).is_err());
    assert!(recorder::run(dissemination_by(&alone, 0)).is_err());
    assert!(matches!(Error::of(&recorder::run(Algorithm::Central.over(&alone))), Some(Cause::Unavailable { .. })));
}
