//! Frames arrive once, unchanged, and in the order in which they were posted.
use super::talk::{Talk, at, contents};
use foregather_machine::{Address, Fabric, SplitMix};

/// A length around one of the limits, or any other one.
fn length<F: Fabric>(talk: &Talk<'_, F>, from: Address, to: Address, number: u32) -> usize {
    let limits = talk.fabric.limits();
    let mut random = SplitMix(SplitMix::mix(u64::from(from.rank + 3 * from.lane + 9 * to.rank) << 32 | u64::from(number)));
    let most = if random.below(2) == 0 { limits.inline } else { limits.buffer };
    match random.below(4) {
        0 => most,
        1 => most.saturating_sub(1),
        2 => random.below(2) as usize,
        _ => random.below(most as u64 + 1) as usize,
    }
}

/// Rank 0 sends, rank 1 acknowledges batches: there are never more unreleased frames than credits.
pub(super) async fn stream<F: Fabric>(talk: &Talk<'_, F>, rounds: u32) {
    let credits = talk.fabric.limits().credits;
    let batch = (credits / 2).max(1);
    let ahead = credits / batch;
    for round in 0..rounds {
        if talk.rank() == 0 && round >= ahead {
            talk.expect(at(1), round - ahead, &[]).await;
        }
        for number in round * batch..(round + 1) * batch {
            let bytes = contents(at(0), at(1), number, length(talk, at(0), at(1), number));
            match (talk.rank(), number % 3) {
                // Short ones may go through buffers as well.
                (0, 0) => talk.until("room", || talk.try_filled(at(1), number, &bytes).then_some(())).await,
                (0, _) => talk.send(at(1), number, &bytes).await,
                _ => talk.expect(at(0), number, &bytes).await,
            }
        }
        if talk.rank() == 1 {
            talk.send(at(0), round, &[]).await;
        }
    }
    if talk.rank() == 1 {
        assert_eq!(talk.fabric.peek(at(0), |head, _| head), None, "more frames than were sent");
        assert_eq!(talk.fabric.arrived(None), None, "somebody else sends");
    }
}

/// In each round every lane sends a few frames to every other and takes theirs. No lane is more than a round
/// ahead, so two rounds at most are unreleased.
pub(super) async fn everybody<F: Fabric>(talk: &Talk<'_, F>, rounds: u32) {
    let few = (talk.fabric.limits().credits / 2).clamp(1, 3);
    let here = talk.here();
    let said = |from, to, number| contents(from, to, number, length(talk, from, to, number));
    for round in 0..rounds {
        // Bytes written into a buffer stay there while others are filled and posted.
        for to in talk.others() {
            let bytes = said(here, to, round * few);
            talk.fabric.write_with(to, |buffer| buffer[..bytes.len()].copy_from_slice(&bytes));
        }
        for to in talk.others() {
            let len = said(here, to, round * few).len();
            let post = || talk.fabric.post_filled(to, round * few, len).expect("a static buffer").then_some(());
            talk.until("room", post).await;
        }
        for number in round * few + 1..(round + 1) * few {
            for to in talk.others() {
                talk.send(to, number, &said(here, to, number)).await;
            }
        }
        for from in talk.others() {
            talk.until("a frame of this round", || talk.fabric.peek(from, |_, _| ())).await;
        }
        all_get_their_turn(talk);
        for from in talk.others() {
            for number in round * few..(round + 1) * few {
                talk.expect(from, number, &said(from, here, number)).await;
            }
        }
    }
}

/// All others have a frame here: going from the first lane with a frame to the next meets each of them once,
/// and the end.
fn all_get_their_turn<F: Fabric>(talk: &Talk<'_, F>) {
    let next = |last: &Address| talk.fabric.arrived(Some(*last));
    let most = talk.others().count() + 1;
    let mut met: Vec<_> = std::iter::successors(talk.fabric.arrived(None), next).take(most).collect();
    met.sort_unstable();
    assert_eq!(met, talk.others().collect::<Vec<_>>(), "{:?} asked who has sent", talk.here());
}
