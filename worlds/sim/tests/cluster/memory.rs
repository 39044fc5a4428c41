//! Memory that peers read.
use super::*;
use foregather_machine::{Cause, Clock, Exposures, Key, Member, exposing};

/// One side exposes, tells its peer, helps until that says that it is done, and unexposes.
async fn lend(lane: &Lane<'_, Heap>, pieces: &[&[u8]], to: Address) -> Result<(), Error> {
    let done = || {
        lane.progress();
        lane.peek(to, |_, _| ())
    };
    exposing(lane, async |lent| {
        let key = lent.expose(pieces)?;
        assert!(lane.post(to, 1, &key.0.to_le_bytes())?);
        wait(lane, Policy::Block, done).await?;
        lane.release(to);
        Ok(())
    })
    .await
}

async fn key(lane: &Lane<'_, Heap>, from: Address) -> Result<Key, Error> {
    let (_, bytes) = take(lane, Policy::Block, from).await?;
    Ok(Key(u64::from_le_bytes(bytes.try_into().unwrap())))
}

fn bytes(length: usize) -> Vec<u8> {
    (0..length).map(|i| (i * 7 + i / 251) as u8).collect()
}

#[test]
fn pieces_are_read_into_other_pieces() {
    for spec in everything(2, 1) {
        for length in [0, 1, 5_000, 100_000] {
            all(simulate(spec.clone(), async |lane| {
                let all = bytes(length);
                if lane.rank() == 0 {
                    let (first, second) = all.split_at(length / 3);
                    return lend(&lane, &[first, second], at(1, 0)).await.unwrap();
                }
                let key = key(&lane, at(0, 0)).await.unwrap();
                let mut into = vec![0; length];
                let (first, second) = into.split_at_mut(length / 2);
                lane.get(at(0, 0), key, &mut [first, second]).await.unwrap();
                assert_eq!(into, all);
                assert!(lane.post(at(0, 0), 2, &[]).unwrap());
            }));
        }
    }
}

#[test]
fn lists_longer_than_a_descriptor_takes_are_split() {
    let mut spec = ClusterSpec::namyst1999(2, 1);
    spec.spans = 10_000;
    let report = simulate(spec, async |lane| {
        let all = bytes(600);
        if lane.rank() == 0 {
            let pieces: Vec<&[u8]> = all.chunks(2).collect();
            return lend(&lane, &pieces, at(1, 0)).await.unwrap();
        }
        let key = key(&lane, at(0, 0)).await.unwrap();
        let mut into = [0; 600];
        lane.get(at(0, 0), key, &mut [&mut into]).await.unwrap();
        assert_eq!(into[..], all);
        assert!(lane.post(at(0, 0), 2, &[]).unwrap());
    });
    let sent = report.strokes.iter().filter(|stroke| stroke.what == foregather_sim::cluster::Activity::Sent).count();
    assert_eq!(sent, 2, "300 pieces take two descriptors of 252");
    all(report);
}

#[test]
fn two_that_read_from_each_other_both_get_it() {
    for spec in everything(2, 1) {
        all(simulate(spec, async |lane| {
            let peer = at(1 - lane.rank(), 0);
            let lane = Exposures::new(lane);
            let own = lane.expose_owned(vec![lane.rank() as u8 + 1; 3_000]).unwrap();
            assert!(lane.post(peer, 0, &own.0.to_le_bytes()).unwrap());
            let key = key(&lane, peer).await.unwrap();
            let mut into = [0; 3_000];
            lane.get(peer, key, &mut [&mut into]).await.unwrap();
            assert_eq!(into, [peer.rank as u8 + 1; 3_000]);
            assert!(lane.post(peer, 0, &[]).unwrap());
            let done = || {
                lane.progress();
                lane.peek(peer, |_, _| ())
            };
            wait(&*lane, Policy::Block, done).await.unwrap();
            lane.take_back(own).unwrap();
        }));
    }
}

#[test]
fn what_is_concealed_or_shorter_cannot_be_read() {
    for spec in everything(2, 1) {
        all(simulate(spec, async |lane| {
            if lane.rank() == 0 {
                let lane = Exposures::new(lane);
                let (short, gone) = (lane.expose_owned(vec![1, 2, 3]).unwrap(), lane.expose_owned(vec![4]).unwrap());
                lane.take_back(gone).unwrap();
                assert!(lane.post(at(1, 0), 0, &short.0.to_le_bytes()).unwrap());
                assert!(lane.post(at(1, 0), 0, &gone.0.to_le_bytes()).unwrap());
                let done = || {
                    lane.progress();
                    lane.peek(at(1, 0), |_, _| ())
                };
                return wait(&*lane, Policy::Block, done).await.unwrap();
            }
            for _ in 0..2 {
                let key = key(&lane, at(0, 0)).await.unwrap();
                let result = lane.get(at(0, 0), key, &mut [&mut [0; 4]]).await;
                assert_eq!(Error::of(&result), Some(&Cause::Unexposed { rank: 0 }));
            }
            assert!(lane.post(at(0, 0), 0, &[]).unwrap());
        }));
    }
}

#[test]
fn a_request_for_what_is_concealed_meanwhile_is_refused() {
    all(simulate(ClusterSpec::namyst1999(2, 1), async |lane| {
        if lane.rank() == 0 {
            let lane = Exposures::new(lane);
            let key = lane.expose_owned(vec![1; 100]).unwrap();
            assert!(lane.post(at(1, 0), 0, &key.0.to_le_bytes()).unwrap());
            // The request comes, and gets no help.
            lane.delay(us(1_000)).await;
            return drop(lane.take_back(key));
        }
        let key = key(&lane, at(0, 0)).await.unwrap();
        let result = lane.get(at(0, 0), key, &mut [&mut [0; 100]]).await;
        assert_eq!(Error::of(&result), Some(&Cause::Unexposed { rank: 0 }));
        assert!(lane.now() > us(1_000));
    }));
}
