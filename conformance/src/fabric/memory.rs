//! Memory that peers read: all of it, only while it is exposed, by several of them and in both directions at
//! once.
//!
//! There is nothing to test where a fabric has no such memory
//! ([`Limits::direct`](foregather_machine::Limits::direct)).
use super::talk::{Talk, at, contents};
use foregather_machine::{Cause, Error, Fabric, Key, exposing};

/// Lists of pieces by their lengths: empty and short ones, odd lengths, lengths around pages, more pieces
/// than any NIC gathers.
fn lists() -> Vec<Vec<usize>> {
    vec![
        vec![1],
        vec![0],
        vec![8, 0, 9],
        vec![4_095, 4_096, 4_097],
        (0..70).map(|i| 100 + i).collect(),
        vec![33; 300],
        vec![65_536, 1, 262_143],
        vec![1_000_003],
    ]
}

/// A list cut into pieces of these lengths.
fn cut(mut bytes: &mut [u8], lengths: impl IntoIterator<Item = usize>) -> Vec<&mut [u8]> {
    let mut pieces = Vec::new();
    for length in lengths {
        let (piece, rest) = bytes.split_at_mut(length);
        pieces.push(piece);
        bytes = rest;
    }
    pieces.push(bytes);
    pieces
}

fn lend<'b>(pieces: &'b mut [&mut [u8]]) -> Vec<&'b [u8]> {
    pieces.iter().map(|piece| &**piece).collect()
}

/// Rank 1 reads every list, as it is and cut at other places.
pub(super) async fn pieces<F: Fabric>(talk: &Talk<'_, F>) {
    if !talk.fabric.limits().direct {
        return;
    }
    for (number, lengths) in (0_u32..).zip(lists()) {
        let total = lengths.iter().sum();
        let expected = contents(at(0), at(1), number, total);
        if talk.rank() == 0 {
            let mut bytes = expected;
            let mut pieces = cut(&mut bytes, lengths);
            exposing(talk.fabric, async |lent| {
                let key = lent.expose(&lend(&mut pieces)).expect("memory can be exposed");
                talk.send_key(at(1), key).await;
                talk.expect(at(1), number, &[]).await;
            })
            .await;
            continue;
        }
        let key = talk.receive_key(at(0)).await;
        for other_cut in [lengths.clone(), vec![], vec![total / 3, 0, total / 5]] {
            let mut bytes = vec![0; total];
            let read = talk.fabric.get(at(0), key, &mut cut(&mut bytes, other_cut)).await;
            assert_eq!(read, Ok(()), "list {number}");
            assert!(bytes == expected, "list {number} of {total} bytes is another one");
        }
        talk.send(at(0), number, &[]).await;
    }
}

/// All others read the same memory of lane 0 of rank 0 at the same time: other ranks and its own other lane.
pub(super) async fn readers<F: Fabric>(talk: &Talk<'_, F>, rounds: u32) {
    const BYTES: usize = 150_001;
    if !talk.fabric.limits().direct {
        return;
    }
    for round in 0..rounds.min(20) {
        let expected = contents(at(0), at(1), round, BYTES);
        if talk.here() == at(0) {
            exposing(talk.fabric, async |lent| {
                let key = lent.expose(&[&expected[..70_000], &expected[70_000..]]).expect("memory can be exposed");
                for other in talk.others() {
                    talk.send_key(other, key).await;
                }
                for other in talk.others() {
                    talk.expect(other, round, &[]).await;
                }
            })
            .await;
            continue;
        }
        let key = talk.receive_key(at(0)).await;
        let mut bytes = vec![0; BYTES];
        assert_eq!(talk.fabric.get(at(0), key, &mut [&mut bytes]).await, Ok(()), "round {round}");
        assert!(bytes == expected, "round {round} shows something else");
        talk.send(at(0), round, &[]).await;
    }
}

/// Both expose, both read: a lane that waits for what it reads must still help the lane that reads from it.
pub(super) async fn each_other<F: Fabric>(talk: &Talk<'_, F>, rounds: u32) {
    if !talk.fabric.limits().direct {
        return;
    }
    let (me, peer) = (talk.here(), at(1 - talk.rank()));
    for round in 0..rounds.min(20) {
        let bytes = 40_000 * round as usize % 300_000 + 1;
        let (mine, mut theirs) = (contents(me, peer, round, bytes), vec![0; bytes]);
        exposing(talk.fabric, async |lent| {
            talk.send_key(peer, lent.expose(&[&mine]).expect("memory can be exposed")).await;
            let from = talk.receive_key(peer).await;
            assert_eq!(talk.fabric.get(peer, from, &mut [&mut theirs]).await, Ok(()), "round {round}");
            assert!(theirs == contents(peer, me, round, bytes), "round {round} shows something else");
            talk.send(peer, round, &[]).await;
            talk.expect(peer, round, &[]).await;
        })
        .await;
    }
}

/// An old key, a short list, and a key that no lane ever gave.
pub(super) async fn concealed<F: Fabric>(talk: &Talk<'_, F>, rounds: u32) {
    if !talk.fabric.limits().direct {
        return;
    }
    let mut old = None;
    for round in 0..rounds.min(20) {
        let expected = contents(at(0), at(1), round, 1_000);
        if talk.rank() == 0 {
            exposing(talk.fabric, async |lent| {
                talk.send_key(at(1), lent.expose(&[&expected]).expect("memory can be exposed")).await;
                talk.expect(at(1), round, &[]).await;
            })
            .await;
            talk.send(at(1), round, &[]).await;
            continue;
        }
        let key = talk.receive_key(at(0)).await;
        if let Some(old) = old.replace(key) {
            refused(talk, old, 1_000).await;
        }
        refused(talk, key, 1_001).await;
        let mut bytes = vec![0; 1_000];
        assert_eq!(talk.fabric.get(at(0), key, &mut [&mut bytes]).await, Ok(()), "round {round}");
        assert!(bytes == expected, "round {round} shows something else");
        talk.send(at(0), round, &[]).await;
        talk.expect(at(0), round, &[]).await;
    }
    // Rank 0 is still there and exposes nothing now.
    if talk.rank() == 0 {
        return talk.expect(at(1), rounds, &[]).await;
    }
    for key in old.into_iter().chain([0, 7, u64::MAX].map(Key)) {
        refused(talk, key, 1_000).await;
    }
    talk.send(at(0), rounds, &[]).await;
}

async fn refused<F: Fabric>(talk: &Talk<'_, F>, key: Key, bytes: usize) {
    let end = talk.fabric.get(at(0), key, &mut [&mut vec![0; bytes]]).await;
    assert!(matches!(Error::of(&end), Some(Cause::Unexposed { rank: 0 })), "{bytes} bytes of {key:?}: {end:?}");
}
