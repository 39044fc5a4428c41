//! Frames arrive once, in order and whole, between all lanes, and a thread that waits for them sleeps.
use crate::{at, job, post, ranks, take, tcp, until};
use foregather_machine::{Address, Cause, Clock, Error, Fabric, Member, Nanos, Park, Words, block_on};

#[test]
fn frames_arrive_in_order_and_whole_however_long_they_are() {
    const FRAMES: u32 = 2_000;
    ranks(2, |lane| {
        let (peer, limits) = (at(1 - lane.rank()), lane.limits());
        let len = |n: u32| n as usize * 131 % (limits.buffer + 1);
        let byte = |n: u32, at: usize| (n as usize + at) as u8;
        let (mut sent, mut released, mut told) = (0, 0, 0);
        // Each side sends no more than its credits, and reports now and then how many it has taken.
        let mut taken = 0;
        while sent < FRAMES || taken < FRAMES {
            if sent < FRAMES && sent < released + limits.credits {
                let bytes: Vec<u8> = (0..len(sent)).map(|at| byte(sent, at)).collect();
                if bytes.len() <= limits.inline && sent % 2 == 0 {
                    post(lane, peer, sent, &bytes);
                } else {
                    lane.write_with(peer, |room| room[..bytes.len()].copy_from_slice(&bytes));
                    until(lane, || lane.post_filled(peer, sent, bytes.len()).unwrap().then_some(()));
                }
                sent += 1;
                continue;
            }
            let (head, bytes) = take(lane, peer);
            if head == u32::MAX {
                released = u32::from_le_bytes(bytes.try_into().unwrap());
                continue;
            }
            assert_eq!((head, bytes.len()), (taken, len(taken)));
            assert!(bytes.iter().enumerate().all(|(at, &found)| found == byte(taken, at)), "frame {taken}");
            taken += 1;
            if taken >= told + 4 || taken == FRAMES {
                post(lane, peer, u32::MAX, &taken.to_le_bytes());
                told = taken;
            }
        }
    });
}

#[test]
fn all_credits_and_the_spare_find_room_and_are_lent_in_place() {
    ranks(2, |lane| {
        let (peer, limits) = (at(1 - lane.rank()), lane.limits());
        for n in 0..limits.credits {
            let filled = lane.write_with(peer, |room| {
                room.fill(n as u8);
                room.len()
            });
            assert_eq!(filled, limits.buffer);
            until(lane, || lane.post_filled(peer, n, limits.buffer).unwrap().then_some(()));
        }
        for n in 0..limits.spare {
            post(lane, peer, limits.credits + n, &[7; 3]);
        }
        for n in 0..limits.credits + limits.spare {
            let (first, second) = (|| lane.peek(peer, |head, _| head), || lane.peek(peer, |_, bytes| bytes.as_ptr() as usize));
            assert_eq!(until(lane, first), n);
            assert_eq!(second(), second(), "the frame moved");
            assert_eq!(second().map(|at| at % 8), Some(0), "not aligned");
            lane.release(peer);
        }
        assert_eq!(lane.peek(peer, |head, _| head), None);
    });
}

#[test]
fn several_ranks_and_lanes_are_told_apart() {
    let Some(provider) = tcp() else { return };
    let lanes: Vec<_> = job(&provider, 3, 2).into_iter().flatten().collect();
    let everybody: Vec<Address> = lanes.iter().map(Fabric::here).collect();
    let number = |address: Address| address.rank * 2 + address.lane;
    std::thread::scope(|scope| {
        for lane in lanes {
            let everybody = &everybody;
            scope.spawn(move || {
                let here = lane.here();
                // To itself, too.
                for &to in everybody {
                    post(&lane, to, 100 * number(here) + number(to), &[number(here) as u8]);
                }
                let mut seen = Vec::new();
                while seen.len() < everybody.len() {
                    let mut after = seen.last().copied();
                    if after.is_some_and(|last| lane.arrived(Some(last)).is_none()) {
                        after = None;
                    }
                    let from = until(&lane, || lane.arrived(after.take()));
                    let frame = lane.peek(from, |head, bytes| (head, bytes.to_vec()));
                    assert_eq!(frame, Some((100 * number(from) + number(here), vec![number(from) as u8])));
                    lane.release(from);
                    seen.push(from);
                }
                seen.sort();
                assert_eq!(&seen, everybody);
                lane.leave();
            });
        }
    });
}

#[test]
fn who_has_left_is_told_behind_all_it_posted() {
    ranks(3, |lane| match lane.rank() {
        0 => {
            for n in 0..10 {
                post(lane, at(1), n, &[0; 200]);
            }
            lane.leave();
            lane.leave();
            until(lane, || lane.has_left(at(1)).then_some(()));
        }
        rank => {
            until(lane, || lane.has_left(at(0)).then_some(()));
            // Asked for only now: the frames are there already, or lost.
            let frames = core::iter::from_fn(|| {
                let head = lane.peek(at(0), |head, _| head);
                lane.release(at(0));
                head
            });
            let expected: Vec<u32> = if rank == 1 { (0..10).collect() } else { Vec::new() };
            assert_eq!(frames.collect::<Vec<_>>(), expected);
            assert!(!lane.has_left(at(3 - rank)) || rank == 2, "nobody else has left yet");
            // The second waits for the first, which reports by leaving.
            if rank == 2 {
                until(lane, || lane.has_left(at(1)).then_some(()));
            }
        }
    });
}

#[test]
fn who_sleeps_on_the_bell_is_woken_by_a_frame() {
    ranks(2, |lane| {
        let peer = at(1 - lane.rank());
        // This makes the connection.
        post(lane, peer, 0, &[]);
        assert_eq!(take(lane, peer).0, 0);
        if lane.rank() == 1 {
            // Long enough for the other to fall asleep.
            std::thread::sleep(core::time::Duration::from_millis(120));
            post(lane, peer, 1, b"up");
            return;
        }
        let (cpu, mut parks) = (lane.cpu(), 0);
        let frame = loop {
            if let Some(frame) = lane.peek(peer, |head, bytes| (head, bytes.to_vec())) {
                break frame;
            }
            let armed = cpu.prepare_park(lane.bell());
            block_on(cpu.park(lane.bell(), armed, lane.now() + Nanos::from_ms(10_000)));
            parks += 1;
            assert!(parks < 100, "it does not sleep");
        };
        assert_eq!(frame, (1, b"up".to_vec()));
        assert!(parks > 0, "it did not have to");
    });
}

#[test]
fn a_bell_that_was_rung_ends_no_sleep_too_late() {
    ranks(1, |lane| {
        let cpu = lane.cpu();
        let armed = cpu.prepare_park(lane.bell());
        cpu.fetch_add(lane.bell(), 1);
        // A sleep here would be an error, but it would end as well: the test only asks that the call returns.
        block_on(cpu.park(lane.bell(), armed, Nanos::MAX));
        assert_eq!(cpu.load(lane.bell()), 1);
    });
}

#[test]
fn what_does_not_exist_or_fit_is_refused() {
    ranks(1, |lane| {
        let limits = lane.limits();
        let cause = |result: Result<bool, Error>| Error::of(&result).cloned();
        assert!(matches!(cause(lane.post(at(1), 0, &[])), Some(Cause::Rank { rank: 1, size: 1 })));
        assert!(matches!(cause(lane.post(Address { rank: 0, lane: 1 }, 0, &[])), Some(Cause::Setting { .. })));
        let long = vec![0; limits.inline + 1];
        assert!(matches!(cause(lane.post(at(0), 0, &long)), Some(Cause::Length { .. })));
        assert!(matches!(cause(lane.post_filled(at(0), 0, limits.buffer + 1)), Some(Cause::Length { .. })));
        assert_eq!(lane.peek(at(5), |head, _| head), None);
        assert!(!lane.has_left(at(5)));
        lane.release(at(5));
    });
}
