//! Lost messages, lost nodes, and programs that wait forever.
use super::*;
use foregather_machine::{Cause, Clock, Member};

/// The negative control of credits: on VIA only the caller keeps frames from coming unasked.
#[test]
fn via_drops_what_comes_without_a_credit() {
    let spec = ClusterSpec::namyst1999(2, 1);
    let room = spec.nic.credits + spec.nic.spare;
    let send = |count: u32| {
        simulate(spec.clone(), async move |lane| {
            if lane.rank() == 0 {
                (0..count).for_each(|round| assert!(lane.post(at(1, 0), round, &[]).unwrap()));
                return 0;
            }
            // It releases no frame until all have come.
            lane.delay(us(100_000)).await;
            let mut got = 0;
            while lane.peek(at(0, 0), |head, _| assert_eq!(head, got)).is_some() {
                lane.release(at(0, 0));
                got += 1;
            }
            got
        })
    };
    let within = send(room);
    assert_eq!((within.dropped, within.outputs[1]), (0, Some(room)));
    let beyond = send(room + 5);
    assert_eq!((beyond.dropped, beyond.outputs[1]), (5, Some(room)));
}

#[test]
fn a_dead_node_ends_every_wait_of_the_others_after_the_detection() {
    for policy in [Policy::Block, Policy::Spin, Policy::Yield, Policy::TwoPhase { spin: us(10) }] {
        for spec in everything(3, 2) {
            let spec = ClusterSpec { deaths: vec![(1, us(5_000))], detection: us(700), ..spec };
            let report = simulate(spec, async |lane| {
                let result = take(&lane, policy, at(1, 0)).await;
                (result.map(|_| ()), lane.now())
            });
            assert_eq!(report.deadlocked.len(), 0, "the dead are not stuck");
            for (number, output) in report.outputs.iter().enumerate() {
                if number / 2 == 1 {
                    assert!(output.is_none());
                    continue;
                }
                let (result, when) = output.as_ref().unwrap();
                let Some(Cause::PeerLost { rank: 1, since, .. }) = Error::of(result) else { panic!("{result:?}") };
                assert_eq!(*since, us(5_700));
                // A spinner asks every millisecond, and may have to wait for its processor.
                assert!(*when >= us(5_700) && *when < us(5_700 + 3_000), "{policy:?}: {when}");
            }
        }
    }
}

#[test]
fn what_a_node_sent_before_it_died_still_comes() {
    let spec = ClusterSpec { deaths: vec![(0, us(400))], ..today(2, 1) };
    let report = simulate(spec, async |lane| {
        if lane.rank() == 0 {
            assert!(lane.post(at(1, 0), 7, &[]).unwrap());
            lane.delay(Nanos::MAX).await;
        }
        let first = take(&lane, Policy::Block, at(0, 0)).await.map(|(head, _)| head);
        let second = take(&lane, Policy::Block, at(0, 0)).await.map(|(head, _)| head);
        let third = lane.post(at(0, 0), 0, &[]);
        (first, second.unwrap_err().lost_rank(), third.unwrap_err().lost_rank())
    });
    assert_eq!(report.outputs[1], Some((Ok(7), Some(0), Some(0))));
}

#[test]
fn a_read_from_a_dead_node_fails() {
    for nic in [Nic::loggp(profile::IPSC860_FREE), Nic::VIA_FAST_ETHERNET] {
        let spec = ClusterSpec { deaths: vec![(0, us(1_000))], nic, ..today(2, 1) };
        let report = simulate(spec, async |lane| {
            if lane.rank() == 0 {
                let lane = foregather_machine::Exposures::new(lane);
                lane.expose_owned(vec![1; 10]).unwrap();
                lane.delay(Nanos::MAX).await;
                return None;
            }
            lane.delay(us(1_500)).await;
            lane.get(at(0, 0), foregather_machine::Key(1), &mut [&mut [0; 10]]).await.unwrap_err().lost_rank()
        });
        assert_eq!(report.outputs[1], Some(Some(0)));
    }
}

#[test]
fn who_waits_for_ever_is_named_with_what_it_waits_for() {
    let report = simulate(today(2, 1), async |lane| {
        lane.delay(us(30)).await;
        let peer = 1 - lane.rank();
        let why = WaitContext::new("rendezvous", lane.rank()).of(peer);
        Policy::Block.wait(lane.cpu(), lane.bell(), why, || lane.peek(at(peer, 0), |_, _| ())).await.is_ok()
    });
    let lines: Vec<_> = report.deadlocked.iter().map(ToString::to_string).collect();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with("rank 0 lane 0 waits in rendezvous for rank 1 since 3"), "{lines:?}");
}

#[test]
fn a_simulation_that_would_never_end_ends_at_its_limit() {
    let spec = ClusterSpec { limit: us(50_000), ..today(1, 1) };
    let report = simulate(spec, async |lane| take(&lane, Policy::Spin, at(0, 0)).await.is_ok());
    assert_eq!(report.deadlocked.len(), 1);
}

#[test]
fn a_cluster_without_sense_is_refused() {
    let refused = |spec| Cluster::<Heap>::new(spec).err().unwrap();
    assert!(refused(today(0, 1)).contains("0 threads"));
    assert!(refused(ClusterSpec { deaths: vec![(2, us(1))], ..today(2, 1) }).contains("only 2"));
    let mut spec = today(2, 1);
    spec.nic.credits = 0;
    assert!(refused(spec).contains("credits"));
}

/// It asks whether its wait can succeed, pays for what it has posted, and only then sleeps: meanwhile the
/// loss becomes known.
#[test]
fn a_loss_that_becomes_known_between_the_question_and_the_sleep_ends_the_wait() {
    let spec = ClusterSpec { deaths: vec![(0, Nanos::ZERO)], detection: us(50), ..today(2, 1) };
    let report = simulate(spec, async |lane| {
        if lane.rank() == 1 {
            (0..3).for_each(|round| assert!(lane.post(at(0, 0), round, &[]).unwrap()));
        }
        take(&lane, Policy::Block, at(0, 0)).await.map(|_| ()).unwrap_err().lost_rank()
    });
    assert_eq!((report.deadlocked.len(), report.outputs[1]), (0, Some(Some(0))));
}
