//! How far two processors' counters may differ: without this bound, times taken on both cannot be compared.
use super::{cycles_serialized, init, now};
use crate::{affinity, pause::pause};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use foregather_machine::{Cause, CpuId, Error, Nanos, WaitContext};
use std::thread;

const ROUNDS: u32 = 10_000;
/// A foreign thread may hold one of the processors for some ticks.
const PATIENCE: Nanos = Nanos::from_ms(500);

/// The difference of two processors' counters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OffsetBound {
    /// By how much the second processor's counter is ahead, best guess.
    pub offset_ns: f64,
    /// The true offset is at most this far from the guess.
    pub bound_ns: f64,
}

/// A word that one thread writes and the other polls, on a line of its own.
#[repr(align(128))]
#[derive(Default)]
struct PaddedLine {
    round: AtomicU32,
    stamp: AtomicU64,
}

/// Bounds the difference of the counters of two processors by sending a cache line there and back between two
/// pinned threads: the far reading lies between the two near ones, so each round trip gives an interval, and
/// the truth lies in all of them.
///
/// # Errors
/// If this process may not run on one of the processors, or they are too busy to answer within half a second.
pub fn cross_cpu_offset_bound(a: CpuId, b: CpuId) -> Result<OffsetBound, Error> {
    if a == b {
        return Ok(OffsetBound { offset_ns: 0.0, bound_ns: 0.0 });
    }
    init();
    let deadline = now() + PATIENCE;
    let (ping, pong) = (PaddedLine::default(), PaddedLine::default());
    let (near, far) = thread::scope(|scope| {
        let far = scope.spawn(|| affinity::pin(b).and_then(|()| answer(&ping, &pong, deadline)));
        let near = scope.spawn(|| affinity::pin(a).and_then(|()| ask(&ping, &pong, deadline)));
        (near.join(), far.join())
    });
    let panicked =
        |_| Error::from(Cause::Unavailable { what: "an answer of a clock thread".to_owned(), remedy: "it panicked".to_owned() });
    let (low, high) = match (near.map_err(panicked)?, far.map_err(panicked)?) {
        (Ok(interval), Ok(())) => interval,
        // A thread that could not start is the reason for the other one's vain wait.
        (Err(vain), Err(error)) if matches!(vain.cause(), Cause::TimedOut { .. }) => return Err(error),
        (Err(error), _) | (_, Err(error)) => return Err(error),
    };
    let facts = super::facts();
    let ns = 1e9 / facts.hz;
    // Readings are rounded to the counter's step, which may even have emptied the interval.
    let bound_ns = (high - low).max(0) as f64 / 2.0 * ns + facts.precision_ns;
    Ok(OffsetBound { offset_ns: (low + high) as f64 / 2.0 * ns, bound_ns })
}

fn ask(ping: &PaddedLine, pong: &PaddedLine, deadline: Nanos) -> Result<(i64, i64), Error> {
    let (mut low, mut high) = (i64::MIN, i64::MAX);
    for round in 1..=ROUNDS {
        let sent = cycles_serialized();
        ping.round.store(round, Release);
        until(&pong.round, round, 0, deadline)?;
        let received = cycles_serialized();
        let stamp = pong.stamp.load(Relaxed);
        low = low.max(stamp.wrapping_sub(received) as i64);
        high = high.min(stamp.wrapping_sub(sent) as i64);
    }
    Ok((low, high))
}

fn answer(ping: &PaddedLine, pong: &PaddedLine, deadline: Nanos) -> Result<(), Error> {
    for round in 1..=ROUNDS {
        until(&ping.round, round, 1, deadline)?;
        pong.stamp.store(cycles_serialized(), Relaxed);
        pong.round.store(round, Release);
    }
    Ok(())
}

/// Spins, for a bounded time, until the other side has come to this round.
fn until(word: &AtomicU32, round: u32, rank: u32, deadline: Nanos) -> Result<(), Error> {
    let mut looks = 0u32;
    while word.load(Acquire) != round {
        pause();
        looks += 1;
        if looks.is_multiple_of(1024) && now() > deadline {
            return Err(Error::timed_out(&WaitContext::new("clock offset", rank).of(1 - rank).until(deadline), now()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_processors_agree_within_their_bound() {
        let allowed = affinity::allowed();
        let [a, b, ..] = allowed[..] else { return eprintln!("skipped: one processor only") };
        // Beside many other programs each exchange may be interrupted; then less is known.
        let attempts = (0..20).map(|_| cross_cpu_offset_bound(a, b).unwrap());
        let found = attempts.inspect(|found| assert!(found.bound_ns > 0.0)).find(|found| found.bound_ns < 1e6).unwrap();
        let back = cross_cpu_offset_bound(b, a).unwrap();
        let apart = (found.offset_ns + back.offset_ns).abs();
        assert!(apart <= found.bound_ns + back.bound_ns, "{found:?} one way, {back:?} the other");
    }

    #[test]
    fn a_processor_that_does_not_exist_is_an_error() {
        let a = affinity::allowed()[0];
        assert!(matches!(Error::of(&cross_cpu_offset_bound(a, 1_000_000)), Some(Cause::Os { .. })));
        assert_eq!(cross_cpu_offset_bound(a, a).unwrap().bound_ns, 0.0);
    }
}
