//! A lane whose owner is elsewhere makes progress by its progress thread.
use crate::{LONG, at, job, post, ranks, take, tcp, until};
use foregather_machine::{Clock, Fabric, Member};
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::time::Duration;

#[test]
fn what_was_posted_arrives_although_its_owner_computes() {
    let Some(provider) = tcp() else { return };
    let mut lanes = job(&provider, 2, 1).into_iter().flatten();
    let (sender, receiver) = (lanes.next().unwrap(), lanes.next().unwrap());
    let mut tender = sender.tender();
    assert!(sender.post(at(1), 7, b"there").unwrap());
    // From here on its owner calls nothing.
    let end = receiver.now() + LONG;
    let frame = loop {
        if let Some(frame) = receiver.peek(at(0), |head, bytes| (head, bytes.to_vec())) {
            break frame;
        }
        tender.tend().expect("the lane is still there");
        assert!(receiver.now() < end, "it never came");
    };
    assert_eq!(frame, (7, b"there".to_vec()));
    drop(sender);
    assert_eq!(tender.tend(), None);
}

#[test]
fn owner_and_caretaker_take_turns() {
    const FRAMES: u32 = 5_000;
    let over = AtomicBool::new(false);
    ranks(2, |lane| {
        let (peer, mut tender) = (at(1 - lane.rank()), lane.tender());
        std::thread::scope(|scope| {
            let caretaker = scope.spawn(|| {
                let mut needed = 0;
                while !over.load(Relaxed) {
                    needed += u32::from(tender.tend().unwrap());
                }
                needed
            });
            for n in 0..FRAMES {
                if lane.rank() == 0 {
                    post(lane, peer, n, &n.to_le_bytes());
                }
                if n % 64 == 63 {
                    // Elsewhere for a while.
                    std::thread::sleep(Duration::from_micros(200));
                }
                assert_eq!(take(lane, peer), (n, n.to_le_bytes().to_vec()));
                if lane.rank() == 1 {
                    post(lane, peer, n, &n.to_le_bytes());
                }
            }
            if lane.rank() == 1 {
                until(lane, || lane.peek(peer, |_, _| ()));
                over.store(true, Relaxed);
            } else {
                post(lane, peer, FRAMES, &[]);
            }
            assert!(caretaker.join().unwrap() > 0, "the caretaker never had anything to do");
        });
    });
}
