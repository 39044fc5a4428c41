//! Tests a copy by both sides whose helper is lost in the middle of a chunk: the helper must be dead before
//! the getter's wait fails.
use super::super::{Lane, SegmentSpec, ShmFabric};
use crate::{Process, Watch};
use foregather_host::{child::Child, clock, failure_detector::FailureDetector};
use foregather_machine::{Address, Cause, Fabric, Key, Nanos, block_on};
use std::process::{Command, Stdio};
use std::sync::Arc;

const A: Address = Address { rank: 0, lane: 0 };
const B: Address = Address { rank: 1, lane: 0 };
const BYTES: usize = 64 << 10;

/// Starts an idle process for rank 1, and returns the address of [`BYTES`] readable bytes in it.
fn stranger() -> (Child, usize) {
    let mut command = Command::new("sleep");
    command.arg("1000").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = Child::spawn(command, &[]).unwrap();
    let place = || {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", child.id())).unwrap();
        maps.lines().find_map(|line| {
            let (range, rest) = line.split_once(' ')?;
            let (start, end) = range.split_once('-')?;
            let [start, end] = [start, end].map(|at| usize::from_str_radix(at, 16).unwrap());
            // The C library's code, which stays mapped until the process exits.
            (rest.starts_with("r-x") && rest.contains("libc") && end - start >= BYTES).then_some(start)
        })
    };
    let place = core::iter::repeat_with(|| {
        std::thread::sleep(std::time::Duration::from_millis(1));
        place()
    });
    let place = place.take(5_000).find_map(|place| place).expect("a C library");
    (child, place)
}

/// Returns the lane of rank 0 of two. Rank 1 is the idle process, with its memory exposed as if by itself.
fn lane(vigil: &Arc<FailureDetector>, stranger: &Child, place: usize) -> (Lane<Process>, Key) {
    let exchange = Arc::new(ShmFabric::new(SegmentSpec::new(2, 1)).unwrap());
    exchange.join(0).unwrap();
    exchange.pose_as(1, stranger.id() as i32);
    let cpu = Watch::by(vigil.clone()).process();
    exchange.meet(&cpu, clock::now() + Nanos::from_ms(10_000)).unwrap();
    let exposure = exchange.exposure(1, 0);
    exposure.source.write(&[super::super::pieces::RemoteRange { at: place, bytes: BYTES }]);
    exposure.open(1);
    (exchange.lane(cpu, A).unwrap(), Key(1 << 6))
}

#[test]
fn a_helper_that_is_lost_in_the_middle_is_killed_before_the_copy_fails() {
    if super::super::pieces::are_refused() {
        return;
    }
    let (vigil, (mut stranger, place)) = (Arc::new(FailureDetector::default()), stranger());
    let (mut lane, key) = lane(&vigil, &stranger, place);
    let exchange = lane.fabric().clone();
    let mut into = vec![0; BYTES];
    std::thread::scope(|threads| {
        threads.spawn(|| {
            // As the idle process would do if it were a rank that was stopped then.
            let duel = &exchange.exposure(1, 0).contest.duel;
            while duel.claim_bottom().is_none() {
                core::hint::spin_loop();
            }
            vigil.declare_lost(1);
        });
        // The helper may be too late for a copy.
        let (lane, into) = (&mut lane, &mut into);
        let end = (0..10_000).find_map(|_| block_on(lane.get(B, key, &mut [&mut into[..]])).err());
        let end = end.expect("the helper came once in so many copies");
        assert!(matches!(end.cause(), Cause::PeerLost { rank: 1, doing: "the other side of a copy", .. }), "{end}");
    });
    #[cfg(feature = "probes")]
    assert!(foregather_machine::reached_in_process().contains_key("lanes:11"));
    assert!(!stranger.alive(), "a stopped writer could write later");
    assert!(stranger.wait_until(clock::now() + Nanos::from_ms(10_000)).unwrap().is_some_and(|status| !status.success()));
}

/// Without a helper, one side reads all of it.
#[test]
fn memory_of_a_process_that_does_nothing_is_read() {
    if super::super::pieces::are_refused() {
        return;
    }
    let (vigil, (stranger, place)) = (Arc::new(FailureDetector::default()), stranger());
    let (lane, key) = lane(&vigil, &stranger, place);
    let (mut one, mut two) = (vec![0; BYTES], vec![0; BYTES]);
    block_on(lane.get(B, key, &mut [&mut one])).unwrap();
    let (odd, rest) = two.split_at_mut(4_097);
    block_on(lane.get(B, key, &mut [odd, rest])).unwrap();
    assert!(one == two && one.iter().any(|&byte| byte != 0));
    drop(stranger);
    let end = block_on(lane.get(B, key, &mut [&mut one])).unwrap_err();
    assert_eq!(end.lost_rank(), Some(1), "{end}");
}

/// Exposes those bytes of rank 0 without `expose`, because it has not verified that its peer may read them.
/// Returns the number of the exposure.
fn expose(lane: &Lane<Process>, bytes: &[u8]) -> usize {
    let number = lane.exposed.take().unwrap();
    let entry = &lane.exposed.entries[number];
    entry.generation.set(1);
    entry.pieces.borrow_mut().extend(super::super::pieces::of_shared(&[bytes]));
    lane.fabric().exposure(0, number).open(1);
    number
}

/// The owner of the memory continues and never uses that exposure again, because the lost reader may be
/// counted there forever.
#[test]
fn an_exposure_whose_reader_is_lost_is_used_no_more() {
    if super::super::pieces::are_refused() {
        return;
    }
    let (vigil, (stranger, place)) = (Arc::new(FailureDetector::default()), stranger());
    let (lane, _) = lane(&vigil, &stranger, place);
    let number = expose(&lane, &[7; 16]);
    assert!(lane.fabric().exposure(0, number).enter(1));
    vigil.declare_lost(1);
    lane.unexpose(Key(1 << 6 | number as u64));
    assert_ne!(expose(&lane, &[7; 16]), number);
    #[cfg(feature = "probes")]
    assert!(foregather_machine::reached_here().contains_key("lanes:8"));
}

/// The helper cannot write, and reports that.
#[test]
fn a_getter_that_is_lost_is_helped_in_vain() {
    if super::super::pieces::are_refused() {
        return;
    }
    let (vigil, (stranger, place)) = (Arc::new(FailureDetector::default()), stranger());
    let (lane, _) = lane(&vigil, &stranger, place);
    let bytes = vec![7; BYTES];
    let number = expose(&lane, &bytes);
    let contest = &lane.fabric().exposure(0, number).contest;
    assert!(contest.begin(1, BYTES, BYTES / 2, false));
    contest.target.write(&[super::super::pieces::RemoteRange { at: place, bytes: BYTES }]);
    contest.duel.open(2, u32::MAX);
    drop(stranger);
    assert!(lane.progress());
    assert_eq!((contest.duel.close(), contest.duel.finished(1)), (1, Some(false)));
    #[cfg(feature = "probes")]
    assert!(foregather_machine::reached_here().contains_key("lanes:12"));
}
