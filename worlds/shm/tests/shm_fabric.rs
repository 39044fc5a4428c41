//! A fabric between processes: frames and memory are transferred, deaths are detected, other processes are
//! refused, garbage does no harm, and a large fabric uses little memory.
mod common;

use common::{LONG, child_with, copies_are_refused, inherited, watchdog};
use foregather_host::{child::Child, clock, failure_detector::FailureDetector};
use foregather_machine::{
    Address, Cause, Error, Exposures, Fabric, Key, Nanos, Park, SplitMix, WaitContext, Words, block_on, exposing,
};
use foregather_shm::{Lane, Process, SegmentSpec, ShmFabric, Watch};
use foregather_thread::Thread;
use rustix::fd::{AsFd, AsRawFd};
use rustix::fs::fstat;
use rustix::io::pwrite;
use std::sync::Arc;

const A: Address = Address { rank: 0, lane: 0 };
const B: Address = Address { rank: 1, lane: 0 };
/// The child's task, in a frame's head.
const ECHO: u32 = 1;
const GET: u32 = 2;
const EXPOSE: u32 = 3;
const LEAVE: u32 = 4;

fn lane(exchange: &Arc<ShmFabric>, at: Address, cpu: Process) -> Lane<Process> {
    exchange.join(at.rank).unwrap();
    exchange.meet(&cpu, clock::now() + LONG).unwrap();
    exchange.lane(cpu, at).unwrap()
}

/// Waits by sleeping or, with `help`, takes part in copies meanwhile without sleeping.
fn wait<T>(lane: &Lane<Process>, help: bool, mut probe: impl FnMut() -> Option<T>) -> Result<T, Error> {
    let why = WaitContext::new("test", lane.here().rank).until(clock::now() + LONG);
    loop {
        if help {
            lane.progress();
        }
        let armed = lane.cpu().prepare_park(lane.bell());
        if let Some(found) = probe() {
            return Ok(found);
        }
        lane.cpu().check(lane.bell(), &why)?;
        if !help {
            block_on(lane.cpu().park(lane.bell(), armed, Nanos::MAX));
        }
    }
}

fn receive(lane: &Lane<Process>, from: Address, help: bool) -> Result<(u32, Vec<u8>), Error> {
    wait(lane, help, || {
        let frame = lane.peek(from, |head, bytes| (head, bytes.to_vec()))?;
        lane.release(from);
        Some(frame)
    })
}

fn send(lane: &Lane<Process>, to: Address, head: u32, bytes: &[u8]) {
    if bytes.len() <= lane.limits().inline {
        return wait(lane, false, || lane.post(to, head, bytes).unwrap().then_some(())).unwrap();
    }
    lane.write_with(to, |buffer| buffer[..bytes.len()].copy_from_slice(bytes));
    wait(lane, false, || lane.post_filled(to, head, bytes.len()).unwrap().then_some(())).unwrap();
}

fn pattern(seed: u32, bytes: usize) -> Vec<u8> {
    (0..bytes as u32).map(|i| (i.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 11) as u8).collect()
}

fn key_of(bytes: &[u8]) -> Key {
    Key(u64::from_ne_bytes(bytes[..8].try_into().unwrap()))
}

#[test]
#[ignore = "runs in a child process of the next tests"]
fn peer() {
    let Some((number, _)) = inherited() else { return };
    let exchange = Arc::new(ShmFabric::inherited(number).unwrap());
    let lane = lane(&exchange, B, Watch::parent(0).unwrap().process());
    loop {
        let (what, bytes) = receive(&lane, A, false).unwrap();
        match what {
            ECHO => send(&lane, A, ECHO, &bytes),
            GET => {
                let size = key_of(&bytes[8..]).0 as usize;
                let mut into = vec![0; size];
                let mut pieces: Vec<_> = into.chunks_mut(size / 3 + 1).collect();
                let end = block_on(lane.get(A, key_of(&bytes), &mut pieces));
                send(&lane, A, u32::from(end.is_ok() && into == pattern(7, size)), &[]);
            }
            EXPOSE => {
                let from = pattern(9, key_of(&bytes).0 as usize);
                block_on(exposing(&lane, async |lent| {
                    let key = lent.expose(&[&from]).unwrap();
                    send(&lane, A, EXPOSE, &key.0.to_ne_bytes());
                    receive(&lane, A, true).unwrap();
                }));
            }
            _ => break lane.leave(),
        }
    }
}

fn with_peer(shape: SegmentSpec) -> (Lane<Process>, Child) {
    watchdog();
    let exchange = Arc::new(ShmFabric::new(shape).unwrap());
    let peer = child_with("peer", exchange.fd(), &[], &[]);
    let cpu = Watch::of(1, peer.pidfd().try_clone_to_owned().unwrap()).process();
    (lane(&exchange, A, cpu), peer)
}

#[test]
fn frames_cross_between_processes() {
    let (lane, mut peer) = with_peer(SegmentSpec::new(2, 1));
    for size in (0..4_097).step_by(61).chain([4_096]) {
        let bytes = pattern(size as u32, size);
        send(&lane, B, ECHO, &bytes);
        assert!(receive(&lane, B, false).unwrap() == (ECHO, bytes), "{size} bytes");
    }
    // As many frames as there is room for, before any is answered.
    for number in 0..u64::from(lane.limits().spare) {
        send(&lane, B, ECHO, &number.to_ne_bytes());
    }
    for number in 0..u64::from(lane.limits().spare) {
        assert_eq!(receive(&lane, B, false).unwrap(), (ECHO, number.to_ne_bytes().to_vec()));
    }
    send(&lane, B, LEAVE, &[]);
    wait(&lane, false, || lane.has_left(B).then_some(())).unwrap();
    assert!(peer.wait_until(clock::now() + LONG).unwrap().unwrap().success());
}

#[test]
fn memory_crosses_between_processes_with_help_and_without() {
    let (lane, _peer) = with_peer(SegmentSpec::new(2, 1));
    if copies_are_refused(lane.fabric()) {
        return assert!(!lane.limits().direct);
    }
    assert!(lane.limits().direct);
    for size in [1, 5_000, (64 << 10) + 13, 3 << 20] {
        for help in [false, true] {
            let from = pattern(7, size);
            let (one, rest) = from.split_at(size / 2);
            block_on(exposing(&lane, async |lent| {
                let key = lent.expose(&[one, &[], rest]).unwrap();
                send(&lane, B, GET, &[key.0.to_ne_bytes(), (size as u64).to_ne_bytes()].concat());
                assert_eq!(receive(&lane, B, help).unwrap().0, 1, "{size} bytes, {help}");
            }));
        }
        send(&lane, B, EXPOSE, &(size as u64).to_ne_bytes());
        let key = key_of(&receive(&lane, B, false).unwrap().1);
        let mut into = vec![0; size];
        for _ in 0..20 {
            into.fill(0);
            block_on(lane.get(B, key, &mut [&mut into])).unwrap();
            assert!(into == pattern(9, size), "{size} bytes");
        }
        send(&lane, B, 0, &[]);
    }
}

#[test]
fn a_killed_peer_is_noticed_by_its_watcher() {
    let (lane, peer) = with_peer(SegmentSpec::new(2, 1));
    let killer = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        drop(peer);
    });
    let end = receive(&lane, B, false).unwrap_err();
    assert!(matches!(end.cause(), Cause::PeerLost { rank: 1, doing: "test", .. }), "{end}");
    killer.join().unwrap();
}

#[test]
fn a_vigil_ends_waits_that_sleep() {
    watchdog();
    let exchange = ShmFabric::between_threads(SegmentSpec::new(2, 1)).unwrap();
    let vigil = Arc::new(FailureDetector::default());
    let lane = exchange.lane(Watch::by(vigil.clone()).process(), A).unwrap();
    let steward = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(20));
        vigil.declare_lost(1);
    });
    assert_eq!(receive(&lane, B, false).unwrap_err().lost_rank(), Some(1));
    steward.join().unwrap();
}

#[test]
fn whatever_is_no_exchange_of_this_version_is_refused() {
    let message = |exchange: &ShmFabric| match ShmFabric::inherited(exchange.fd().as_raw_fd()) {
        Ok(_) => "attached".to_owned(),
        Err(error) => error.to_string(),
    };
    let spoilt = |offset: u64, bytes: &[u8]| {
        let exchange = ShmFabric::new(SegmentSpec::new(3, 2)).unwrap();
        assert_eq!(message(&exchange), "attached");
        pwrite(exchange.fd(), bytes, offset).unwrap();
        message(&exchange)
    };
    assert!(spoilt(0, b"segments").contains("somebody else's"));
    assert!(spoilt(8, &9_u32.to_ne_bytes()).contains("version 9"));
    assert!(spoilt(12, &4_u32.to_ne_bytes()).contains("4 ranks of 2 lanes"));
    assert!(spoilt(16, &u32::MAX.to_ne_bytes()).contains("version 2"));
    assert!(spoilt(24, &1_u64.to_ne_bytes()).contains("version 2"));
    let segment = foregather_shm::Segment::new(100, 0).unwrap();
    assert!(ShmFabric::attach(segment.fd().try_clone_to_owned().unwrap()).unwrap_err().to_string().contains("somebody else's"));
}

/// Returns how much memory it uses by now, in KiB.
fn touched(exchange: &ShmFabric) -> u64 {
    fstat(exchange.fd().as_fd()).unwrap().st_blocks as u64 / 2
}

#[test]
fn sixty_four_ranks_of_four_lanes_take_memory_only_where_they_send() {
    let exchange = ShmFabric::between_threads(SegmentSpec::new(64, 4)).unwrap();
    let lanes: Vec<_> =
        (0..256).map(|port| exchange.lane(Thread::current(), Address { rank: port / 4, lane: port % 4 }).unwrap()).collect();
    assert!(touched(&exchange) < 1_024, "{} KiB before anybody sends", touched(&exchange));
    let bytes = [1; 4_096];
    for (sender, receiver) in lanes.iter().zip(lanes.iter().cycle().skip(1)) {
        for _ in 0..100 {
            sender.write_with(receiver.here(), |buffer| buffer.copy_from_slice(&bytes));
            assert!(sender.post_filled(receiver.here(), 0, bytes.len()).unwrap());
            assert_eq!(receiver.arrived(None), Some(sender.here()));
            receiver.release(sender.here());
        }
    }
    // A channel uses a page or two of its ring and at most three buffers.
    assert!(touched(&exchange) < 1_024 + 256 * 5 * 4, "{} KiB", touched(&exchange));
    let size = fstat(exchange.fd()).unwrap().st_size;
    assert!(size < (1 << 30) + (20 << 20), "at most {size} bytes");
}

/// A hostile peer writes anything anywhere after the first page: calls fail or return garbage, and nothing
/// else happens.
#[test]
fn garbage_in_the_memory_does_no_harm() {
    watchdog();
    let mut random = SplitMix(5);
    for round in 0..200 {
        let exchange = ShmFabric::between_threads(SegmentSpec { budget: 100_000, ..SegmentSpec::new(2, 1) }).unwrap();
        let (a, b) = (exchange.lane(Thread::current(), A).unwrap(), exchange.lane(Thread::current(), B).unwrap());
        let a = Exposures::new(a);
        let key = a.expose_owned(vec![3; 40_000]).ok();
        assert!(key.is_some() || copies_are_refused(&exchange));
        for number in 0..5 {
            a.write_with(B, |buffer| buffer.fill(number));
            let _ = a.post_filled(B, 0, 4_096);
            let _ = a.post(B, 0, &[number; 100]);
        }
        let bytes = fstat(exchange.fd()).unwrap().st_size as u64;
        let mut garbage: Vec<u8> = (4_096..bytes).map(|_| random.next() as u8).collect();
        if round % 2 == 0 {
            // Sparse, so that more of it looks plausible.
            let mut old = vec![0; garbage.len()];
            rustix::io::pread(exchange.fd(), &mut old[..], 4_096).unwrap();
            for (new, old) in garbage.iter_mut().zip(old) {
                *new = if random.next().is_multiple_of(100) { *new } else { old };
            }
        }
        pwrite(exchange.fd(), &garbage, 4_096).unwrap();
        for _ in 0..20 {
            if let Some(from) = b.arrived(None) {
                let _ = b.peek(from, |_, bytes| assert!(bytes.len() <= 4_096));
                b.release(from);
            }
            let _ = (b.post(A, 1, b"x"), a.post(B, 1, b"x"), a.has_left(B), a.arrived(None));
            a.write_with(B, |buffer| buffer[0] = 1);
            let _ = a.post_filled(B, 0, 1);
        }
        let mut into = vec![0; 40_000];
        let _ = key.map(|key| block_on(b.get(A, key, &mut [&mut into])));
        // A wait for readers or helpers that never existed must end as well.
        a.cpu().poison(a.bell());
        b.cpu().poison(b.bell());
        let _ = key.map(|key| a.unexpose(key));
    }
}
