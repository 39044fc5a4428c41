//! How many frames find room, and what becomes of the others.
use super::talk::{Talk, at, contents};
use foregather_machine::Fabric;

/// Sends to the taker, which releases nothing before rank 2 tells it to, by a link of its own.
const SENDER: u32 = 0;
const TAKER: u32 = 1;

/// All credits and all spare frames are posted at once, and each finds room, while nothing is released; and
/// again after all were released.
pub(super) async fn found<F: Fabric>(talk: &Talk<'_, F>, rounds: u32) {
    let limits = talk.fabric.limits();
    let count = limits.credits + limits.spare;
    let frame = |number: u32| {
        let most = if number < limits.credits { limits.buffer } else { limits.inline };
        contents(at(SENDER), at(TAKER), number, most)
    };
    for round in 0..rounds.min(5) {
        match talk.rank() {
            SENDER => {
                for number in 0..count {
                    let sent = if number < limits.credits {
                        talk.try_filled(at(TAKER), number, &frame(number))
                    } else {
                        talk.fabric.post(at(TAKER), number, &frame(number)).expect("a spare frame")
                    };
                    assert!(sent, "round {round}: no room for frame {number} of {count}");
                }
                talk.send(at(2), round, &[]).await;
                talk.expect(at(TAKER), round, &[]).await;
            }
            TAKER => {
                talk.expect(at(2), round, &[]).await;
                for number in 0..count {
                    talk.expect(at(SENDER), number, &frame(number)).await;
                }
                talk.send(at(SENDER), round, &[]).await;
            }
            _ => {
                talk.expect(at(SENDER), round, &[]).await;
                talk.send(at(TAKER), round, &[]).await;
            }
        }
    }
}

/// The sender posts until there is no room, or four times what was promised; then it sleeps for room. All it
/// posted arrives.
pub(super) async fn overrun<F: Fabric>(talk: &Talk<'_, F>) {
    let limits = talk.fabric.limits();
    let promised = limits.credits + limits.spare;
    let frame = |number| contents(at(SENDER), at(TAKER), number, limits.inline);
    let total = 4 * promised + 10;
    match talk.rank() {
        SENDER => {
            let posted = (0..4 * promised).take_while(|&number| talk.try_send(at(TAKER), number, &frame(number))).count() as u32;
            assert!(posted >= promised, "there was room for {posted} frames");
            talk.send(at(2), 0, &[]).await;
            for number in posted..total {
                talk.send(at(TAKER), number, &frame(number)).await;
            }
        }
        TAKER => {
            talk.expect(at(2), 0, &[]).await;
            for number in 0..total {
                talk.expect(at(SENDER), number, &frame(number)).await;
            }
        }
        _ => {
            talk.expect(at(SENDER), 0, &[]).await;
            talk.send(at(TAKER), 0, &[]).await;
        }
    }
}
