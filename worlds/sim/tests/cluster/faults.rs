//! Named faults: messages keep their order and come once, whatever happens to them; and the two planted
//! mistakes of NICs.
use super::*;
use foregather_machine::{Clock, Park};
use foregather_sim::cluster::{Clog, Faults, NicMistake, Partition};
use foregather_sim::net::Pause;

const ROUNDS: u32 = 60;

/// Rank 0 posts numbered frames, rank 1 takes them; returns when the last one was taken.
async fn count<Q: Queue>(lane: Lane<'_, Q>) -> Result<Nanos, u32> {
    for round in 0..ROUNDS {
        if lane.here().rank == 0 {
            wait(&lane, Policy::Block, || lane.post(at(1, 0), round, &[7]).unwrap().then_some(())).await.unwrap();
        } else {
            let head = take(&lane, Policy::Block, at(0, 0)).await.unwrap().0;
            if head != round {
                return Err(head);
            }
        }
    }
    Ok(lane.now())
}

fn with(faults: Faults) -> ClusterSpec {
    ClusterSpec { faults: Faults { resend: us(300), seed: 5, ..faults }, jitter: us(50), ..today(2, 1) }
}

#[test]
fn faults_delay_messages_and_neither_lose_nor_double_nor_disorder_them() {
    let (from, length) = (us(500), us(20_000));
    let clogs = vec![Clog { between: [1, 0], from, length }];
    let partitions = vec![Partition { apart: vec![1], from, length }];
    let pauses = vec![Pause { node: 1, from, length }];
    let calm = all(simulate(with(Faults::default()), count))[1].unwrap();
    assert!(calm < us(20_000), "{calm}");
    for faults in [
        Faults { loss_ppm: 300_000, ..Faults::default() },
        Faults { clogs, ..Faults::default() },
        Faults { partitions, ..Faults::default() },
        Faults { pauses, ..Faults::default() },
    ] {
        let report = simulate(with(faults.clone()), count);
        assert_eq!(report.trace, simulate(with(faults.clone()), count).trace);
        let late = all(report)[1].unwrap();
        assert!(late > calm + us(250), "{faults:?}: {late}");
    }
    assert!(all(simulate(with(Faults { replay_ppm: 500_000, ..Faults::default() }), count))[1].is_ok());
}

#[test]
fn a_fault_that_is_off_changes_no_trace() {
    let other = Faults { resend: us(9), seed: 77, planted: Some(NicMistake::NoResend), ..Faults::default() };
    let clogged = Faults { clogs: vec![Clog { between: [0, 1], from: us(90_000), length: us(1) }], ..Faults::default() };
    let plain = ClusterSpec { faults: Faults::default(), ..with(Faults::default()) };
    let trace = simulate(plain.clone(), count).trace;
    assert_eq!(trace, simulate(ClusterSpec { faults: other, ..plain.clone() }, count).trace);
    assert_eq!(trace, simulate(ClusterSpec { faults: clogged, ..plain }, count).trace);
}

#[test]
fn nics_with_planted_mistakes_lose_and_double_messages() {
    let lossy = Faults { loss_ppm: 100_000, planted: Some(NicMistake::NoResend), ..Faults::default() };
    let report = simulate(with(lossy), count);
    assert!(!report.deadlocked.is_empty() || report.outputs.iter().flatten().any(Result::is_err));
    let doubling = Faults { replay_ppm: 100_000, planted: Some(NicMistake::ReplayDelivered), ..Faults::default() };
    assert!(simulate(with(doubling), count).outputs.iter().flatten().any(Result::is_err));
}

#[test]
fn threads_of_a_node_that_stands_still_do_nothing() {
    let pause = Pause { node: 1, from: us(100), length: us(5_000) };
    let spec = with(Faults { pauses: vec![pause], ..Faults::default() });
    let ends = all(simulate(spec, async |lane| {
        let mut moments = Vec::new();
        for _ in 0..40 {
            lane.delay(us(10)).await;
            moments.push(lane.now());
        }
        moments
    }));
    let within = |moments: &[Nanos]| moments.iter().filter(|&&moment| moment >= us(100) && moment < us(5_100)).count();
    assert!(within(&ends[0]) > 20);
    assert_eq!(within(&ends[1]), 0, "{:?}", ends[1]);
}

#[test]
fn fault_points_say_yes_as_often_as_they_are_told() {
    let asked = |ppm| {
        let spec = with(Faults { points_ppm: ppm, ..Faults::default() });
        let yes = all(simulate(spec, async |lane| (0..10_000).filter(|_| lane.cpu().sometimes("test")).count()));
        assert!(ppm == 0 || yes[0] != yes[1], "each thread draws for itself");
        yes[0]
    };
    assert_eq!(asked(0), 0);
    assert!((800..1_200).contains(&asked(100_000)), "{}", asked(100_000));
}
