//! VIA on Fast Ethernet: the basis of the paper's figures, from the NIC alone.
use super::*;
use foregather_machine::{Clock, Member, exposing};
use foregather_sim::cluster::Activity;
use foregather_sim::cluster::raw::{Registration, ping_pong};

fn raw(bytes: usize, registration: Registration) -> Nanos {
    let spec = ClusterSpec { wait: Policy::Spin, ..ClusterSpec::namyst1999(2, 1) };
    ping_pong::<Heap>(&spec, bytes, 20, registration).unwrap().half
}

fn within(value: Nanos, from_us: u64, to_us: u64) {
    assert!(value >= us(from_us) && value <= us(to_us), "{value}");
}

/// Half a round trip of a program over the fabric, measured at rank 0.
fn half(nic: Nic, rounds: u32, turn: impl AsyncFn(&Lane<'_, Heap>, bool)) -> Nanos {
    let spec = ClusterSpec { wait: Policy::Spin, nic, ..ClusterSpec::namyst1999(2, 1) };
    let times = all(simulate(spec, async |lane| {
        let began = lane.now();
        for _ in 0..rounds {
            turn(&lane, lane.rank() == 0).await;
            turn(&lane, lane.rank() == 1).await;
        }
        lane.delay(Nanos::ZERO).await;
        lane.now() - began
    }));
    Nanos(times[0].0 / (2 * u64::from(rounds)))
}

#[test]
fn an_empty_message_takes_35_us_raw_and_as_a_frame() {
    within(raw(0, Registration::Once), 34, 36);
    let frame = half(Nic::VIA_FAST_ETHERNET, 20, async |lane, sends| {
        let peer = at(1 - lane.rank(), 0);
        if sends {
            assert!(lane.post(peer, 0, &[]).unwrap());
        } else {
            take(lane, Policy::Spin, peer).await.unwrap();
        }
    });
    within(frame, 34, 37);
}

/// Figure 4: three vectors are registered, go by one descriptor, and are forgotten when that has been served.
#[test]
fn three_vectors_are_one_descriptor_and_three_registrations() {
    let spec = ClusterSpec { spans: 10_000, wait: Policy::Yield, ..ClusterSpec::namyst1999(2, 1) };
    let report = simulate(spec, async |lane| {
        let peer = at(1 - lane.rank(), 0);
        let mut memory = [1; 9_000];
        if lane.rank() == 0 {
            let pieces: Vec<&[u8]> = memory.chunks(3_000).collect();
            let taken = || {
                lane.progress();
                lane.peek(peer, |_, _| ())
            };
            exposing(&lane, async |lent| {
                let key = lent.expose(&pieces).unwrap();
                assert!(lane.post(peer, 0, &key.0.to_le_bytes()).unwrap());
                wait(&lane, Policy::Yield, taken).await.unwrap();
                lane.release(peer);
            })
            .await;
        } else {
            let (_, key) = take(&lane, Policy::Yield, peer).await.unwrap();
            let key = foregather_machine::Key(u64::from_le_bytes(key.try_into().unwrap()));
            lane.get(peer, key, &mut [&mut memory]).await.unwrap();
            assert!(lane.post(peer, 0, &[]).unwrap());
        }
        lane.delay(Nanos::ZERO).await;
    });
    let of = |what| report.strokes.iter().filter(move |stroke| stroke.what == what && stroke.at.rank == 0);
    assert_eq!((of(Activity::Register).count(), of(Activity::Forget).count(), of(Activity::Sent).count()), (3, 3, 1));
    let post = of(Activity::Post).find(|stroke| stroke.pieces == 3).expect("one descriptor of three entries");
    let sent = of(Activity::Sent).next().unwrap();
    assert!(of(Activity::Register).all(|stroke| stroke.to <= post.from));
    assert!(of(Activity::Yield).any(|stroke| post.to <= stroke.from && stroke.from < sent.to));
    assert!(of(Activity::Forget).all(|stroke| stroke.from >= sent.to));
    all(report);
}

/// Threads that only compute take the processor from a thread that yields, and get it back from one that
/// sleeps.
#[test]
fn working_threads_slow_raw_messages_down_and_compute_meanwhile() {
    let with = |threads| {
        let spec = ClusterSpec { wait: Policy::TwoPhase { spin: us(10) }, ..ClusterSpec::namyst1999(2, threads) };
        ping_pong::<Heap>(&spec, 64, 10, Registration::Once).unwrap()
    };
    let (alone, beside) = (with(1), with(3));
    assert!(alone.computed == Nanos::ZERO && beside.computed > Nanos::ZERO);
    assert!(beside.half > alone.half);
}
