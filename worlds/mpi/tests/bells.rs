//! Over each installed MPI, a frame from the same host wakes a rank that sleeps, long before its nap is over.
//! The test starts itself under the launcher of that MPI.
mod installed;
mod shared;

use foregather_host::clock;
use foregather_machine::{Address, Fabric, Member, Nanos, WaitContext, block_on};
use foregather_mpi::{Lane, Mpi};
use foregather_wait::Policy;
use installed::{installed, run_part};
use shared::bells;
use std::time::Duration;

/// The variable that makes this program run as a rank.
const PART: &str = "FOREGATHER_MPI_TEST_BELLS";
const ROUNDS: usize = 101;
/// A pause that is long enough for naps to grow to a millisecond.
const PAUSE: Duration = Duration::from_millis(4);
/// The time within which a quarter of the round trips must complete, for a short and for a long frame. For a
/// long frame, both sides may have to call MPI several times. Without bells, a short frame would wait for
/// part of a nap each way.
const QUICK: Nanos = Nanos::from_us(300);
const LONG_QUICK: Nanos = Nanos::from_us(1_500);

/// Waits for a frame from the other rank, without spinning first.
fn take(lane: &Lane, from: Address) {
    let why = WaitContext::new("frame", lane.rank()).of(from.rank);
    let probe = || lane.peek(from, |_, bytes| bytes.len());
    block_on(Policy::Block.wait(lane.cpu(), lane.bell(), why, probe)).unwrap();
    lane.release(from);
}

/// Runs as a rank: rank 0 pauses, sends, and waits for the answer. Does nothing if it was not started by a
/// launcher.
#[test]
fn part() {
    if installed::part(PART).is_none() {
        return;
    }
    let mpi = Mpi::join((None, false)).unwrap();
    let lane = Lane::group(mpi, 1, None, Some(bells(mpi, 1))).unwrap().remove(0);
    let peer = Address { rank: 1 - lane.rank(), lane: 0 };
    for (bytes, quick) in [(8, QUICK), (lane.limits().buffer, LONG_QUICK)] {
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            if lane.rank() == 1 {
                take(&lane, peer);
                lane.post_filled(peer, 0, bytes).unwrap();
            } else {
                std::thread::sleep(PAUSE);
                let began = clock::now();
                lane.post_filled(peer, 0, bytes).unwrap();
                take(&lane, peer);
                times.push(clock::now() - began);
            }
        }
        times.sort_unstable();
        if lane.rank() == 0 {
            let quarter = times[ROUNDS / 4];
            eprintln!("{bytes} bytes: {quarter}, median {}, most {}", times[ROUNDS / 2], times[ROUNDS - 1]);
            assert!(quarter <= quick, "{bytes} bytes and back: {quarter} or more in three of four round trips");
        }
    }
    lane.leave();
}

#[test]
fn a_frame_wakes_a_rank_of_its_host_over_every_mpi() {
    for mpi in installed() {
        let output = run_part(mpi.command(2), PART, "1");
        let said = String::from_utf8_lossy(&output.stderr);
        eprintln!("{}: {said}", mpi.name);
        assert!(output.status.success() && said.contains("8 bytes:"), "{}: {}\n{said}", mpi.name, output.status);
    }
}
