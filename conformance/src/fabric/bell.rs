//! No lane sleeps over a frame, whether it comes before, while or long after the sleeper lies down.
use super::talk::{Talk, at};
use foregather_machine::{Fabric, Nanos};
use foregather_wait::Policy;

/// Long enough to fall asleep.
const LONG: Nanos = Nanos::from_us(300);
const SPIN: Nanos = Nanos::from_us(2);

/// A frame there and back, mostly at once; sometimes one of the two is late.
pub(super) async fn ping_pong<F: Fabric>(talk: &Talk<'_, F>, rounds: u32) {
    let (me, peer) = (talk.rank(), at(1 - talk.rank()));
    for turn in 0..rounds.saturating_mul(8) {
        if turn % 8 == 5 + me {
            talk.fabric.delay(LONG).await;
        }
        if turn % 2 == me {
            talk.send(peer, turn, &[turn as u8]).await;
            continue;
        }
        let policy = if turn % 3 == 0 { Policy::TwoPhase { spin: SPIN } } else { Policy::Block };
        let came = talk.until_by(policy, "a frame", || talk.fabric.peek(peer, |head, bytes| (head, bytes.to_vec()))).await;
        assert_eq!(came, (turn, vec![turn as u8]));
        talk.fabric.release(peer);
    }
}
