//! Lanes between threads: frame order, buffers, room, bells, exposed memory, and misbehaving peers.
mod common;

use common::{copies_are_refused, watchdog};
use foregather_machine::{Address, Cause, Error, Exposures, Fabric, Key, Nanos, Park, WaitContext, Words, block_on, exposing};
use foregather_shm::{Lane, SegmentSpec, ShmFabric};
use foregather_thread::Thread;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::*};

const A: Address = Address { rank: 0, lane: 0 };
const B: Address = Address { rank: 1, lane: 0 };

fn two() -> (Lane<Thread>, Lane<Thread>) {
    within(SegmentSpec::new(2, 1))
}

/// Returns two lanes that may read each other's memory, if the system allows it.
fn readable() -> Option<(Lane<Thread>, Lane<Thread>)> {
    let lanes = two();
    (!copies_are_refused(lanes.0.fabric())).then_some(lanes)
}

fn within(shape: SegmentSpec) -> (Lane<Thread>, Lane<Thread>) {
    let exchange = ShmFabric::between_threads(shape).unwrap();
    let lane = |at| exchange.lane(Thread::current(), at).unwrap();
    (lane(A), lane(B))
}

/// Returns a shape whose channels have one credit.
fn scarce() -> SegmentSpec {
    SegmentSpec { budget: 2 * 2 * 13_000, ..SegmentSpec::new(2, 1) }
}

/// Sleeps on its bell until `probe` returns something, and never spins, so that a lost wake-up hangs.
fn asleep<T>(lane: &Lane<Thread>, mut probe: impl FnMut() -> Option<T>) -> T {
    loop {
        let armed = lane.cpu().prepare_park(lane.bell());
        if let Some(found) = probe() {
            return found;
        }
        block_on(lane.cpu().park(lane.bell(), armed, Nanos::MAX));
    }
}

fn pattern(seed: u32, bytes: usize) -> Vec<u8> {
    (0..bytes as u32).map(|i| (i.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 13) as u8).collect()
}

#[test]
fn frames_of_all_sizes_arrive_once_and_in_order() {
    watchdog();
    let (mut a, b) = two();
    let inline = a.limits().inline;
    std::thread::scope(|threads| {
        let a = &mut a;
        threads.spawn(move || {
            for number in 0..20_000_u32 {
                let size = number as usize % 4_097;
                let bytes = pattern(number, size);
                let post = || {
                    if size <= inline {
                        return a.post(B, number, &bytes).unwrap();
                    }
                    a.write_with(B, |buffer| buffer[..size].copy_from_slice(&bytes));
                    a.post_filled(B, number, size).unwrap()
                };
                asleep(a, || post().then_some(()));
            }
            a.leave();
        });
        for number in 0..20_000_u32 {
            let from = asleep(&b, || b.arrived(None));
            assert_eq!(from, A);
            let (head, bytes) = b.peek(A, |head, bytes| (head, bytes.to_vec())).unwrap();
            assert!(head == number && bytes == pattern(number, number as usize % 4_097), "frame {number}");
            b.release(A);
        }
        asleep(&b, || b.has_left(A).then_some(()));
        assert!(b.arrived(None).is_none() && b.peek(A, |_, _| ()).is_none());
    });
}

#[test]
fn as_many_frames_as_promised_find_room_and_no_more_than_there_is() {
    for shape in [SegmentSpec::new(2, 1), scarce()] {
        let (a, b) = within(shape);
        let limits = a.limits();
        for round in 0..3 {
            for credit in 0..limits.credits {
                a.write_with(B, |buffer| buffer.fill(credit as u8));
                assert!(a.post_filled(B, credit, 4_096).unwrap(), "{limits:?}");
            }
            a.write_with(B, |buffer| buffer.fill(0xFF));
            assert!(!a.post_filled(B, 0, 1).unwrap(), "no credit is left");
            for spare in 0..limits.spare {
                assert!(a.post(B, spare, b"spare").unwrap(), "{limits:?}");
            }
            assert!(!a.post(B, 0, b"no room").unwrap());
            for credit in 0..limits.credits {
                let same = b.peek(A, |head, bytes| head == credit && bytes == [credit as u8; 4_096]);
                assert_eq!(same, Some(true), "round {round}");
                b.release(A);
            }
            assert!(a.post_filled(B, 7, 3).unwrap(), "what was filled has waited");
            for _ in 0..limits.spare {
                assert_eq!(b.peek(A, |_, bytes| bytes == b"spare"), Some(true));
                b.release(A);
            }
            assert_eq!(b.peek(A, |head, bytes| head == 7 && bytes == [0xFF; 3]), Some(true));
            b.release(A);
            b.release(A);
            assert!(b.arrived(None).is_none());
        }
    }
    #[cfg(feature = "probes")]
    assert!(foregather_machine::reached_here().contains_key("lanes:5"));
}

#[test]
fn a_ping_pong_uses_few_buffers() {
    let (a, b) = two();
    let mut used = std::collections::BTreeSet::new();
    for _ in 0..1_000 {
        used.insert(a.write_with(B, |buffer| buffer.as_ptr().addr()));
        assert!(a.post_filled(B, 0, 4_096).unwrap() && b.peek(A, |_, _| ()).is_some());
        b.release(A);
    }
    assert!(used.len() <= 3, "{}", used.len());
}

#[test]
fn lanes_are_asked_in_a_fixed_order_and_those_of_one_rank_send_to_each_other() {
    let exchange = ShmFabric::between_threads(SegmentSpec::new(40, 3)).unwrap();
    let at = |rank, lane| Address { rank, lane };
    let lane = |at| exchange.lane(Thread::current(), at).unwrap();
    let senders = [at(0, 0), at(0, 2), at(21, 0), at(21, 1), at(39, 2)].map(lane);
    let here = at(21, 1);
    for sender in senders.iter().rev() {
        assert!(sender.post(here, 1, b"x").unwrap());
    }
    let receiver = &senders[3];
    let mut seen = Vec::new();
    let mut after = None;
    while let Some(from) = receiver.arrived(after) {
        seen.push(from);
        after = Some(from);
    }
    assert_eq!(seen, senders.iter().map(Fabric::here).collect::<Vec<_>>());
    receiver.release(at(21, 0));
    assert_eq!(receiver.arrived(Some(at(0, 2))), Some(here), "also from itself");
    assert_eq!(receiver.roster().len(), 41);
}

#[test]
fn wrong_addresses_lengths_and_lanes_are_errors() {
    let (a, b) = two();
    let message = |result: Result<bool, Error>| result.unwrap_err().to_string();
    assert!(message(a.post(Address { rank: 2, lane: 0 }, 0, b"")).contains("rank 2"));
    assert!(message(a.post(Address { rank: 1, lane: 1 }, 0, b"")).contains("slot 1"));
    assert!(message(a.post(B, 0, &[0; 121])).contains("121"));
    assert!(message(a.post_filled(B, 0, 4_097)).contains("4097"));
    assert!(a.fabric().lane(Thread::current(), A).is_err(), "a lane has one owner");
    b.release(A);
    let exchange = Arc::new(ShmFabric::new(SegmentSpec::new(2, 1)).unwrap());
    exchange.join(0).unwrap();
    assert!(exchange.join(0).is_err() && exchange.join(2).is_err());
    assert!(exchange.lane(Thread::current(), A).is_err_and(|error| error.to_string().contains("meet")));
    let late = exchange.meet(&Thread::current(), foregather_host::clock::now() + Nanos::from_ms(5)).unwrap_err();
    assert!(matches!(late.cause(), Cause::TimedOut { peer: Some(1), .. }), "{late}");
}

#[test]
fn a_bell_that_nobody_sleeps_on_does_not_change() {
    let (a, b) = two();
    let before = b.cpu().load(b.bell());
    assert!(a.post(B, 0, b"").unwrap());
    assert_eq!(b.cpu().load(b.bell()), before);
    b.cpu().prepare_park(b.bell());
    assert!(a.post(B, 0, b"").unwrap());
    assert_eq!(b.cpu().load(b.bell()), before + 1);
}

fn get(by: &Lane<Thread>, from: Address, key: Key, into: &mut [&mut [u8]]) -> Result<(), Error> {
    block_on(by.get(from, key, into))
}

/// Splits the bytes into pieces of `step` bytes, some of them empty.
fn cut(bytes: &[u8], step: usize) -> Vec<&[u8]> {
    bytes.chunks(step).flat_map(|piece| [piece, &[]]).collect()
}

/// From 0 bytes to several chunks, with one piece, with several, and with more than a list contains itself.
#[test]
fn exposed_memory_arrives_with_and_without_help() {
    watchdog();
    let Some((a, mut b)) = readable() else { return };
    for bytes in [0, 1, 4_095, 16 << 10, (64 << 10) + 1, (1 << 20) - 7] {
        for (ours, theirs) in [(usize::MAX, usize::MAX), (bytes / 5 + 1, usize::MAX), (usize::MAX, bytes / 7 + 3), (999, 1_001)] {
            for helped in [false, true] {
                let from = pattern(bytes as u32, bytes);
                let mut into = vec![0; bytes];
                let done = AtomicBool::new(false);
                block_on(exposing(&a, async |lent| {
                    let key = lent.expose(&cut(&from, ours.min(bytes.max(1)))).unwrap();
                    std::thread::scope(|threads| {
                        let (b, into, done) = (&mut b, &mut into, &done);
                        threads.spawn(move || {
                            let mut pieces: Vec<_> = into.chunks_mut(theirs.min(bytes.max(1))).collect();
                            get(b, A, key, &mut pieces).unwrap();
                            done.store(true, Release);
                        });
                        while helped && !done.load(Acquire) {
                            a.progress();
                        }
                    });
                }));
                assert!(into == from, "{bytes} bytes in pieces of {ours} and {theirs}, {helped}");
            }
        }
    }
}

/// The exposing side takes part in each of many copies, and both sides do their share.
#[test]
fn both_sides_copy_at_once() {
    watchdog();
    let Some((a, mut b)) = readable() else { return };
    let from = pattern(1, 4 << 20);
    let a = Exposures::new(a);
    let key = a.expose_owned(from.clone()).unwrap();
    let done = AtomicBool::new(false);
    let mut helps = 0;
    std::thread::scope(|threads| {
        let (b, from, done) = (&mut b, &from, &done);
        threads.spawn(move || {
            for _ in 0..200 {
                let mut into = vec![0; 4 << 20];
                get(b, A, key, &mut [&mut into]).unwrap();
                assert!(into == *from);
            }
            done.store(true, Release);
        });
        while !done.load(Acquire) {
            helps += u32::from(a.progress());
        }
    });
    assert!(helps > 0, "nobody was helped in 200 copies");
    assert!(!a.progress());
    assert_eq!(a.take_back(key), Some(from));
}

#[test]
fn concealed_or_shorter_memory_is_an_error() {
    let Some((a, b)) = readable() else { return };
    let a = Exposures::new(a);
    let key = a.expose_owned(pattern(2, 1_000)).unwrap();
    let mut into = vec![0; 1_001];
    let concealed = |result: Result<(), Error>| matches!(Error::of(&result), Some(Cause::Unexposed { rank: 0 }));
    assert!(concealed(get(&b, A, key, &mut [&mut into])), "it is shorter");
    get(&b, A, key, &mut [&mut into[..1_000]]).unwrap();
    assert_eq!(a.take_back(key), Some(pattern(2, 1_000)));
    assert_eq!(a.take_back(key), None);
    a.unexpose(key);
    assert!(concealed(get(&b, A, key, &mut [&mut into[..10]])));
    let other = a.expose_owned(pattern(2, 1_000)).unwrap();
    assert_ne!(other, key);
    assert!(concealed(get(&b, A, key, &mut [&mut into[..10]])), "it is another generation");
    for nonsense in [Key(0), Key(u64::MAX), Key(key.0 + 1)] {
        assert!(concealed(get(&b, A, nonsense, &mut [&mut into[..10]])));
        a.unexpose(nonsense);
    }
    get(&b, A, other, &mut [&mut into[..10]]).unwrap();
}

#[test]
fn only_so_many_memories_are_exposed_at_a_time_and_places_are_used_again() {
    let Some((a, _b)) = readable() else { return };
    block_on(exposing(&a, async |lent| {
        let keys: Vec<_> = (0..64).map(|_| lent.expose(&[b"x"]).unwrap()).collect();
        assert!(lent.expose(&[b"x"]).unwrap_err().to_string().contains("conceal one"));
        lent.unexpose(keys[63]);
        lent.expose(&[b"y"]).unwrap();
        assert!(lent.expose(&[b"x"]).is_err());
    }));
    // Exposures that the scope had not ended itself are free again.
    block_on(exposing(&a, async |lent| (0..64).for_each(|_| _ = lent.expose(&[b"z"]).unwrap())));
}

/// `unexpose` waits for readers, so the memory can be reused afterwards: every copy is complete or refused.
#[test]
fn nobody_reads_after_conceal() {
    watchdog();
    let Some((a, mut b)) = readable() else { return };
    let mut from = vec![0_u8; 256 << 10];
    let done = AtomicBool::new(false);
    let latest = std::sync::atomic::AtomicU64::new(0);
    std::thread::scope(|threads| {
        let (b, done, latest) = (&mut b, &done, &latest);
        threads.spawn(move || {
            let mut into = vec![0_u8; 256 << 10];
            let (mut whole, mut refused) = (0, 0);
            while !done.load(Acquire) {
                match get(b, A, Key(latest.load(Acquire)), &mut [&mut into]) {
                    Ok(()) => {
                        assert!(into.iter().all(|&byte| byte == into[0]), "torn");
                        whole += 1;
                    }
                    Err(_) => refused += 1,
                }
            }
            assert!(whole > 0, "{whole} {refused}");
        });
        for turn in (0..200_000_u32).take_while(|&turn| turn < 2_000 || !conceals_while_it_is_read()) {
            from.fill(turn as u8);
            block_on(exposing(&a, async |lent| {
                latest.store(lent.expose(&[&from]).unwrap().0, Release);
                for _ in 0..turn % 50 {
                    a.progress();
                }
            }));
        }
        // One more copy that certainly happens.
        block_on(exposing(&a, async |lent| {
            latest.store(lent.expose(&[&from]).unwrap().0, Release);
            std::thread::sleep(std::time::Duration::from_millis(20));
        }));
        done.store(true, Release);
    });
    assert!(conceals_while_it_is_read());
}

/// Returns whether this process has reached that race. Always true if the counting is not compiled in.
fn conceals_while_it_is_read() -> bool {
    #[cfg(feature = "probes")]
    return foregather_machine::reached_in_process().contains_key("lanes:7");
    #[cfg(not(feature = "probes"))]
    true
}

#[test]
fn without_direct_reading_everybody_is_told() {
    let exchange = ShmFabric::between_threads(SegmentSpec { direct: false, ..SegmentSpec::new(1, 1) }).unwrap();
    let lane = exchange.lane(Thread::current(), A).unwrap();
    assert!(!lane.limits().direct && exchange.direct_refused().is_some());
    let refused = block_on(exposing(&lane, async |lent| lent.expose(&[b"x"])));
    assert!(refused.unwrap_err().to_string().contains("static buffers"));
}

#[test]
fn a_wait_on_a_bell_ends_when_the_bell_is_poisoned() {
    let (a, _b) = two();
    a.cpu().poison(a.bell());
    assert!(a.cpu().check(a.bell(), &WaitContext::new("test", 0)).is_err());
}
