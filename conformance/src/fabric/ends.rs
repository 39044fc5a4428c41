//! Leaving, and calls that are refused at once.
use super::talk::{Talk, at};
use foregather_machine::{Address, Cause, Error, Fabric, Key, Member};

const FRAMES: u32 = 3;

/// Rank 0 sends a few frames and leaves at once; rank 1 releases none of them before it has seen that.
pub(super) async fn leave<F: Fabric>(talk: &Talk<'_, F>) {
    if talk.rank() == 0 {
        talk.expect(at(1), 0, &[]).await;
        for number in 0..FRAMES.min(talk.fabric.limits().credits) {
            talk.send(at(1), number, &[number as u8]).await;
        }
        return;
    }
    assert!(!talk.fabric.has_left(at(0)), "it has not left, it waits for us");
    talk.send(at(0), 0, &[]).await;
    talk.until("an end", || talk.fabric.has_left(at(0)).then_some(())).await;
    // At once: leaving waits for nothing.
    for number in 0..FRAMES.min(talk.fabric.limits().credits) {
        assert_eq!(talk.fabric.arrived(None), Some(at(0)), "frame {number} came behind the end");
        assert_eq!(talk.fabric.peek(at(0), |head, bytes| (head, bytes.to_vec())), Some((number, vec![number as u8])));
        talk.fabric.release(at(0));
    }
    assert_eq!(talk.fabric.arrived(None), None);
}

/// What a lane says of itself is true, and a call for something that does not exist is refused without harm.
pub(super) async fn refused<F: Fabric>(talk: &Talk<'_, F>) {
    let (fabric, peer, limits) = (talk.fabric, at(1 - talk.rank()), talk.fabric.limits());
    assert_eq!((fabric.here(), fabric.size()), (at(Member::rank(fabric)), 2));
    assert!(limits.lanes >= 1 && limits.credits >= 2 && limits.spare >= 4 && limits.gather >= 1, "{limits:?}");
    assert!(limits.inline >= 8 && limits.buffer >= limits.inline, "{limits:?}");
    assert_eq!(fabric.roster().len(), 3, "a line for the mover, and one for each rank");

    let nowhere =
        [Address { rank: 2, lane: 0 }, Address { rank: u32::MAX, lane: 0 }, Address { rank: peer.rank, lane: limits.lanes }];
    for to in nowhere {
        assert!(fabric.post(to, 1, &[1]).is_err(), "a frame for {to:?}");
        assert!(fabric.post_filled(to, 1, 1).is_err(), "a buffer for {to:?}");
        assert!(fabric.get(to, Key(0), &mut [&mut [0; 8]]).await.is_err(), "memory of {to:?}");
    }
    let too_long = |end: Result<bool, Error>, bytes: usize| matches!(Error::of(&end), Some(Cause::Length { bytes: said, .. }) if *said == bytes);
    assert!(too_long(fabric.post(peer, 1, &vec![1; limits.inline + 1]), limits.inline + 1));
    assert!(too_long(fabric.post_filled(peer, 1, limits.buffer + 1), limits.buffer + 1));

    talk.send(peer, 2, &[3]).await;
    talk.expect(peer, 2, &[3]).await;
    assert_eq!(fabric.arrived(None), None, "something that was refused came all the same");
}
