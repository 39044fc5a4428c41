//! Memory that others read: whole, in pieces, and not after it was unexposed.
use crate::{at, post, ranks, take, until};
use foregather_machine::{Cause, Error, Fabric, Key, Member, block_on, exposing};

fn pattern(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 7 + at / 251 + seed) as u8).collect()
}

/// Tells a peer a key, and hears one.
fn swap(lane: &foregather_ofi::Lane, peer: foregather_machine::Address, key: Key) -> Key {
    post(lane, peer, 0, &key.0.to_le_bytes());
    Key(u64::from_le_bytes(take(lane, peer).1.try_into().unwrap()))
}

#[test]
fn memory_is_read_by_both_sides_at_once() {
    ranks(2, |lane| {
        let (own, peer) = (lane.rank() as usize, at(1 - lane.rank()));
        for len in [1, 100, 4_096, 70_000, 4 << 20] {
            let mine = pattern(len, own);
            block_on(exposing(lane, async |lent| {
                let theirs = swap(lane, peer, lent.expose(&[&mine]).unwrap());
                let mut got = vec![0; len];
                lane.get(peer, theirs, &mut [&mut got]).await.unwrap();
                assert!(got == pattern(len, 1 - own), "{len} bytes");
                post(lane, peer, 1, &[]);
                assert_eq!(take(lane, peer).0, 1);
            }));
        }
    });
}

#[test]
fn pieces_need_not_be_cut_alike() {
    ranks(2, |lane| {
        let peer = at(1 - lane.rank());
        let whole = pattern(200_000, 3);
        // More pieces than a descriptor gathers, and empty ones among them, on both sides.
        let cut = |step: usize| whole.chunks(step).flat_map(|piece| [piece, &[]]).collect::<Vec<_>>();
        if lane.rank() == 0 {
            return block_on(exposing(lane, async |lent| {
                let key = lent.expose(&cut(777)).unwrap();
                post(lane, peer, 0, &key.0.to_le_bytes());
                take(lane, peer);
            }));
        }
        let key = Key(u64::from_le_bytes(take(lane, peer).1.try_into().unwrap()));
        let mut got = vec![0; whole.len()];
        {
            let mut pieces: Vec<&mut [u8]> = got.chunks_mut(1_301).collect();
            block_on(lane.get(peer, key, &mut pieces)).unwrap();
        }
        assert!(got == whole);
        // A reader may ask for less than there is, and for nothing at all.
        let mut some = [0; 1_000];
        block_on(lane.get(peer, key, &mut [&mut some])).unwrap();
        assert_eq!(some[..], whole[..1_000]);
        block_on(lane.get(peer, key, &mut [])).unwrap();
        post(lane, peer, 0, &[]);
    });
}

#[test]
fn what_is_concealed_or_shorter_is_refused_and_costs_nothing_else() {
    ranks(2, |lane| {
        let peer = at(1 - lane.rank());
        if lane.rank() == 0 {
            let memory = pattern(10_000, 1);
            return block_on(exposing(lane, async |lent| {
                let (old, key) = (lent.expose(&[&memory]).unwrap(), lent.expose(&[&memory]).unwrap());
                lent.unexpose(old);
                lane.unexpose(old);
                post(lane, peer, 0, &[old.0.to_le_bytes(), key.0.to_le_bytes()].concat());
                take(lane, peer);
            }));
        }
        let (_, keys) = take(lane, peer);
        let key = |at: usize| Key(u64::from_le_bytes(*keys[at..].first_chunk().unwrap()));
        let mut got = vec![0; 10_001];
        let concealed = |result: &Result<(), Error>| matches!(Error::of(result), Some(Cause::Unexposed { rank: 0 }));
        assert!(concealed(&block_on(lane.get(peer, key(0), &mut [&mut got[..10_000]]))));
        assert!(concealed(&block_on(lane.get(peer, key(8), &mut [&mut got]))));
        assert!(concealed(&block_on(lane.get(peer, Key(u64::MAX), &mut [&mut got[..1]]))));
        block_on(lane.get(peer, key(8), &mut [&mut got[..10_000]])).unwrap();
        assert!(got[..10_000] == pattern(10_000, 1));
        post(lane, peer, 0, &[]);
    });
}

#[test]
fn concealing_waits_for_whoever_reads() {
    const LEN: usize = 8 << 20;
    ranks(2, |lane| {
        let peer = at(1 - lane.rank());
        if lane.rank() == 1 {
            let key = Key(u64::from_le_bytes(take(lane, peer).1.try_into().unwrap()));
            let mut got = vec![0; LEN];
            let result = block_on(lane.get(peer, key, &mut [&mut got]));
            // Whichever side was faster: all of it as it was, or nothing.
            match Error::of(&result) {
                None => assert!(got == pattern(LEN, 5), "it was changed while it was read"),
                Some(cause) => assert!(matches!(cause, Cause::Unexposed { rank: 0 }), "{cause:?}"),
            }
            post(lane, peer, 0, &[]);
            return;
        }
        let mut memory = pattern(LEN, 5);
        block_on(exposing(lane, async |lent| {
            let key = lent.expose(&[&memory]).unwrap();
            post(lane, peer, 0, &key.0.to_le_bytes());
            // A few looks at the network, so that the reading has begun in some runs.
            for _ in 0..200 {
                lane.arrived(None);
            }
        }));
        memory.fill(0);
        until(lane, || lane.peek(peer, |_, _| ()));
        lane.release(peer);
    });
}
