//! Frames: order, contents, room, leaving.
use super::*;
use foregather_machine::{Cause, Clock, Member};
use foregather_sim::event::Calendar;

const POLICY: Policy = Policy::TwoPhase { spin: us(20) };

/// Two lanes send each other frames of every kind, in order, whatever delays them.
async fn exchange<Q: Queue>(lane: Lane<'_, Q>, rounds: u32) -> Nanos {
    let peer = at(1 - lane.rank(), lane.here().lane);
    for round in 0..rounds {
        if round % 2 == 0 {
            assert!(lane.post(peer, round, &round.to_le_bytes()).unwrap());
        } else {
            lane.write_with(peer, |buffer| buffer[..100].fill(round as u8));
            assert!(lane.post_filled(peer, round, 100).unwrap());
        }
        let (head, bytes) = take(&lane, POLICY, peer).await.unwrap();
        let expected = if round % 2 == 0 { round.to_le_bytes().to_vec() } else { vec![round as u8; 100] };
        assert_eq!((head, bytes), (round, expected));
    }
    lane.now()
}

#[test]
fn frames_arrive_whole_and_in_order_under_every_scheduler_on_every_nic() {
    for spec in everything(2, 3) {
        let spec = ClusterSpec { jitter: us(300), ..spec };
        let report = simulate(spec, async |lane| exchange(lane, 40).await);
        assert_eq!(report.frames, 2 * 3 * 40);
        assert_eq!(all(report).len(), 6);
    }
}

#[test]
fn frames_posted_one_after_the_other_keep_their_order() {
    for spec in everything(2, 1) {
        let spec = ClusterSpec { jitter: us(500), ..spec };
        all(simulate(spec, async |lane| {
            for round in 0..30 {
                if lane.rank() == 0 {
                    assert!(lane.post(at(1, 0), round, &[]).unwrap());
                } else {
                    assert_eq!(take(&lane, POLICY, at(0, 0)).await.unwrap().0, round);
                }
            }
        }));
    }
}

#[test]
fn the_same_seed_gives_the_same_trace_on_either_queue() {
    let run = |seed| {
        let spec = ClusterSpec { seed, jitter: us(50), ..everything(2, 3)[2].clone() };
        let report = simulate(spec.clone(), async |lane| exchange(lane, 10).await);
        let other = simulate_on::<Calendar, _>(spec, async |lane| exchange(lane, 10).await);
        assert_eq!((report.trace, report.events, &report.outputs), (other.trace, other.events, &other.outputs));
        report.trace
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}

#[test]
fn a_nic_that_holds_back_refuses_what_finds_no_room_and_rings_when_there_is() {
    let mut spec = today(2, 1);
    (spec.nic.credits, spec.nic.spare) = (3, 2);
    let outputs = all(simulate(spec, async |lane| {
        if lane.rank() == 1 {
            lane.delay(us(5_000)).await;
            for round in 0..6 {
                assert_eq!(take(&lane, Policy::Block, at(0, 0)).await.unwrap().0, round);
            }
            return Nanos::ZERO;
        }
        let posted = (0..9).take_while(|&round| lane.post(at(1, 0), round, &[]).unwrap()).count();
        assert_eq!(posted, 5);
        // It sleeps, so only the bell can have woken it.
        wait(&lane, Policy::Block, || lane.post(at(1, 0), 5, &[]).unwrap().then_some(())).await.unwrap();
        lane.now()
    }));
    assert!(outputs[0] > us(5_000) && outputs[0] < us(7_000), "{}", outputs[0]);
}

#[test]
fn frames_are_found_by_their_senders_in_a_fixed_order() {
    all(simulate(today(4, 2), async |lane| {
        let here = lane.here();
        if here != at(0, 0) {
            assert!(lane.post(at(0, 0), 0, &[]).unwrap());
            return;
        }
        lane.delay(us(10_000)).await;
        let all: Vec<_> = std::iter::successors(lane.arrived(None), |&last| lane.arrived(Some(last))).collect();
        assert_eq!(all, [at(0, 1), at(1, 0), at(1, 1), at(2, 0), at(2, 1), at(3, 0), at(3, 1)]);
        lane.release(at(1, 1));
        assert_eq!(lane.arrived(Some(at(1, 0))), Some(at(2, 0)));
    }));
}

#[test]
fn whoever_has_left_is_known_to_have_once_all_it_posted_can_be_seen() {
    for spec in everything(2, 1) {
        let spec = ClusterSpec { jitter: us(2_000), ..spec };
        all(simulate(spec, async |lane| {
            if lane.rank() == 0 {
                (0..20).for_each(|round| assert!(lane.post(at(1, 0), round, &[]).unwrap()));
                lane.leave();
                return;
            }
            wait(&lane, Policy::Block, || lane.has_left(at(0, 0)).then_some(())).await.unwrap();
            for _ in 0..20 {
                assert!(lane.peek(at(0, 0), |_, _| ()).is_some());
                lane.release(at(0, 0));
            }
            assert!(!lane.has_left(at(1, 0)));
        }));
    }
}

#[test]
fn what_does_not_exist_or_does_not_fit_is_an_error() {
    all(simulate(today(2, 1), async |lane| {
        let cause = |result: Result<bool, Error>| result.unwrap_err().cause().clone();
        assert_eq!(cause(lane.post(at(2, 0), 0, &[])), Cause::Rank { rank: 2, size: 2 });
        assert_eq!(cause(lane.post(at(1, 1), 0, &[])), Cause::Slot { slot: 1, slots: 1 });
        let limits = lane.limits();
        assert!(matches!(cause(lane.post(at(1, 0), 0, &vec![0; limits.inline + 1])), Cause::Length { .. }));
        assert!(matches!(cause(lane.post_filled(at(1, 0), 0, limits.buffer + 1)), Cause::Length { .. }));
        assert_eq!(lane.arrived(None), None);
    }));
}

#[test]
fn many_nodes_pass_frames_round() {
    const ROUNDS: u32 = 50;
    let report = simulate_on::<Calendar, _>(ClusterSpec { nodes: 64, ..today(64, 2) }, async |lane| {
        let (size, lane_number) = (lane.size(), lane.here().lane);
        let (to, from) = (at((lane.rank() + 1) % size, lane_number), at((lane.rank() + size - 1) % size, lane_number));
        for round in 0..ROUNDS {
            assert!(lane.post(to, round, &[1, 2, 3]).unwrap());
            assert_eq!(take(&lane, POLICY, from).await.unwrap().0, round);
        }
    });
    assert_eq!(report.frames, 64 * 2 * u64::from(ROUNDS));
    all(report);
}
