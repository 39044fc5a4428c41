//! The cost of moving bytes in this process. It is measured once, in a few milliseconds.
use super::shape::{BUFFER, SegmentSpec};
use super::shm_fabric::ShmFabric;
use core::hint::black_box;
use foregather_host::clock;
use foregather_machine::{Address, Cpu, Error, Fabric, FabricCosts, Nanos, Slope, block_on, exposing};
use foregather_thread::{Thread, Word};
use std::sync::OnceLock;

/// The long transfer; the short one is one page.
const LONG: usize = 64 << 10;
/// The fastest of this many batches is used, because other programs may have the processor meanwhile.
const BATCHES: u32 = 16;
const BATCH: u32 = 32;
/// The slope of direct reads if they cannot be measured: every machine copies faster than this.
const NEVER: Slope = Slope { fixed: Nanos::from_ms(1), byte_ps: 1_000 };

pub(crate) fn of_this_process() -> FabricCosts {
    static TOLLS: OnceLock<FabricCosts> = OnceLock::new();
    *TOLLS.get_or_init(|| measure().unwrap_or(FabricCosts { buffered: Slope { fixed: Nanos(500), byte_ps: 200 }, direct: NEVER }))
}

/// The least time in picoseconds to move one byte to another processor with many cache lines in flight: 8 ns
/// for a line of 64 bytes.
const TRIP_PS: u64 = 125;

/// Measures copies and system calls with a lane that sends to itself. Between two processors, cache lines are
/// transferred as well: those of a static buffer once when it is written and once when it is read, those of
/// directly read memory once. Without this correction, a processor with fast caches would send everything
/// through buffers, however slow its cache-line transfers are. One thread cannot measure these, and when a
/// job starts all processors are busy. The other side's help, which halves the time of a long direct read, is
/// not counted.
fn measure() -> Result<FabricCosts, Error> {
    let exchange = ShmFabric::between_threads(SegmentSpec::new(1, 1))?;
    let here = Address { rank: 0, lane: 0 };
    let lane = exchange.lane(Thread::current(), here)?;
    let (from, mut into) = (vec![1_u8; LONG], vec![0_u8; LONG]);
    let mut through = |bytes: usize| best(|| send(&lane, here, &from[..bytes], &mut into[..bytes]));
    let (frame, long) = (through(1), through(LONG));
    let buffered = Slope { fixed: frame, byte_ps: slope(frame, long, LONG - 1) + 2 * TRIP_PS };
    let direct = block_on(exposing(&lane, async |lent| {
        let Ok(key) = lent.expose(&[&from]) else { return NEVER };
        // With one side only, as for a getter without help.
        let mut read = |bytes: usize| best(|| block_on(lane.get(here, key, &mut [&mut into[..bytes]])));
        let (short, long) = (read(BUFFER), read(LONG));
        let byte_ps = slope(short, long, LONG - BUFFER);
        let fixed = (short - Slope { fixed: Nanos::ZERO, byte_ps }.of(BUFFER)) + frame + frame;
        Slope { fixed, byte_ps: byte_ps + TRIP_PS }
    }));
    Ok(FabricCosts { buffered, direct })
}

/// Sends through static buffers, with the copies in and out. All frames are in flight before the first one is
/// received, as between two lanes.
fn send<C: Cpu<Word = Word>>(lane: &super::Lane<C>, here: Address, from: &[u8], into: &mut [u8]) -> Result<(), Error> {
    for page in from.chunks(BUFFER) {
        lane.write_with(here, |buffer| buffer[..page.len()].copy_from_slice(page));
        lane.post_filled(here, 0, page.len())?;
    }
    for page in into.chunks_mut(BUFFER) {
        lane.peek(here, |_, bytes| page.copy_from_slice(&bytes[..page.len()]));
        lane.release(here);
    }
    black_box(into);
    Ok(())
}

/// Returns the time of one call.
fn best(mut call: impl FnMut() -> Result<(), Error>) -> Nanos {
    let mut batch = || {
        let began = clock::now();
        for _ in 0..BATCH {
            // A failing call fails at once, and the caller has already tried it.
            let _ = black_box(call());
        }
        clock::now() - began
    };
    let times = (0..BATCHES).map(|_| batch());
    Nanos(times.min().unwrap_or(Nanos::MAX).0 / u64::from(BATCH))
}

/// Returns picoseconds per byte.
fn slope(short: Nanos, long: Nanos, bytes: usize) -> u64 {
    (long - short).0.saturating_mul(1_000) / bytes as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_cost_something_and_the_answer_is_kept() {
        let tolls = of_this_process();
        assert!(tolls.buffered.fixed > Nanos::ZERO && tolls.buffered.byte_ps > 0, "{tolls:?}");
        assert!(tolls.direct.fixed > tolls.buffered.fixed && tolls.direct.byte_ps > 0, "{tolls:?}");
        assert_eq!(of_this_process(), tolls);
    }
}
