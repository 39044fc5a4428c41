//! A peer that knows the job but keeps to no rule: its frames are errors that name it, or change nothing.
use crate::abi::WAIT_FD;
use crate::endpoint::ActiveEndpoint;
use crate::proof::LaneKey;
use crate::provider::Provider;
use crate::wire::{BUFFER, CREDITS, EndpointAddress, FrameKind, HEAD, Nonce, SPARE, Tag};
use crate::{Lane, Opening};
use core::ptr::null_mut;
use foregather_host::clock;
use foregather_machine::{Cause, Fabric, Nanos, Park, WaitContext};
use std::sync::Arc;

const JOB: &[u8] = b"this job";
/// The enemy's random number.
const DRAWN: Nonce = [9; 16];

/// A lane of rank 0, and an endpoint that passes for rank 1.
struct Scene {
    lane: Lane,
    enemy: ActiveEndpoint,
    target: u64,
    /// The random number of rank 0.
    drawn: Nonce,
}

impl Scene {
    fn open() -> Option<Self> {
        let provider = match Provider::open("tcp", Some("127.0.0.1")) {
            Ok(provider) => Arc::new(provider),
            Err(why) => {
                assert!(std::env::var_os("FOREGATHER_REQUIRE_PARTS").is_none(), "a part is missing: {why}");
                eprintln!("skipped: {why}");
                return None;
            }
        };
        let opening = Opening::new(Arc::clone(&provider), (0, 2), 1, JOB, None).unwrap();
        let enemy = ActiveEndpoint::open(Arc::clone(&provider), WAIT_FD).unwrap();
        let address = EndpointAddress { provider: provider.name().to_owned(), drawn: DRAWN, lanes: vec![enemy.name().unwrap()] };
        let own = EndpointAddress::read(&opening.address(), 0).unwrap();
        let target = enemy.insert(&own.lanes[0]).unwrap();
        let lane = opening.connect(&[own.write(), address.write()]).unwrap().remove(0);
        Some(Self { lane, enemy, target, drawn: own.drawn })
    }

    /// Sends the bytes as rank 1 would, with a proof behind the first four.
    fn send_proven(&self, tag: u64, bytes: &[u8]) {
        let proof = LaneKey::new(JOB).proof((1, &DRAWN), (0, &self.drawn));
        self.send(tag, &[&bytes[..4], &proof.to_le_bytes(), &bytes[4..]].concat());
    }

    /// Sends the bytes as they are.
    fn send(&self, tag: u64, bytes: &[u8]) {
        let (mut context, end) = ([0_u64; 8], clock::now() + Nanos::from_ms(10_000));
        let mut pending = false;
        loop {
            assert!(clock::now() < end, "it was never sent");
            if !pending {
                // SAFETY: context and bytes outlive the loop, which ends with the completion.
                let result = unsafe {
                    self.enemy.send((bytes.as_ptr(), bytes.len()), null_mut(), self.target, tag, context.as_mut_ptr().cast())
                };
                pending = result == 0;
            }
            let mut done = false;
            self.enemy.poll(|_| done = true);
            self.lane.progress();
            if done {
                return;
            }
        }
    }

    /// The lane's error in the end.
    fn verdict(&self) -> Option<Cause> {
        let end = clock::now() + Nanos::from_ms(100);
        while clock::now() < end {
            self.lane.arrived(None);
            if let Err(error) = self.lane.cpu().check(self.lane.bell(), &WaitContext::new("test", 0)) {
                return Some(error.cause().clone());
            }
        }
        None
    }
}

/// A tag and the bytes behind it.
type Sent<'a> = (u64, &'a [u8]);

fn tag(kind: FrameKind, number: u16) -> u64 {
    Tag { kind, from: 1, number }.pack(LaneKey::new(JOB).stamp())
}

#[test]
fn what_no_peer_sends_is_garbled_and_names_the_sender() {
    let unknown = tag(FrameKind::Frame, 0) | 0xf << 36;
    let cases: [(&[Sent<'_>], &str); 7] = [
        (&[(unknown, &[0; 8])], "a frame of an unknown kind"),
        (&[(tag(FrameKind::Frame, 0), &[0; 8]), (tag(FrameKind::Frame, 0), &[0; 8])], "a frame twice, or out of turn"),
        (&[(tag(FrameKind::Frame, 9_999), &[0; 8])], "a frame twice, or out of turn"),
        (&[(tag(FrameKind::Bye, 0), &[0; 4]), (tag(FrameKind::Frame, 1), &[0; 8])], "a frame after its last"),
        (&[(tag(FrameKind::Ask, 0), &[0; 9])], "a control frame that makes no sense"),
        (&[(tag(FrameKind::Done, 0), &[7; 12])], "a control frame that makes no sense"),
        (&[(tag(FrameKind::Records, 0), &[1; 40])], "a control frame that makes no sense"),
    ];
    for (frames, expected) in cases {
        let Some(scene) = Scene::open() else { return };
        for (tag, bytes) in frames {
            scene.send_proven(*tag, bytes);
        }
        assert_eq!(scene.verdict(), Some(Cause::ProtocolViolation { from: 1, what: expected }));
    }
}

#[test]
fn who_sends_more_than_its_credits_is_named() {
    let Some(scene) = Scene::open() else { return };
    for number in 0..CREDITS + SPARE {
        scene.send_proven(tag(FrameKind::Frame, number as u16), &[0; 8]);
    }
    assert_eq!(scene.verdict(), None);
    scene.send_proven(tag(FrameKind::Frame, (CREDITS + SPARE) as u16), &[0; 8]);
    assert_eq!(scene.verdict(), Some(Cause::ProtocolViolation { from: 1, what: "more frames than there are credits" }));
}

#[test]
fn answers_to_nothing_and_frames_of_nobody_change_nothing() {
    let Some(scene) = Scene::open() else { return };
    let nobody = Tag { kind: FrameKind::Frame, from: 2, number: 0 }.pack(LaneKey::new(JOB).stamp());
    scene.send_proven(nobody, &[0; 8]);
    scene.send_proven(Tag { kind: FrameKind::Bye, from: 1, number: 0 }.pack(LaneKey::new(b"that job").stamp()), &[0; 4]);
    scene.send_proven(tag(FrameKind::Unexposed, 0), &[0; 4]);
    scene.send_proven(tag(FrameKind::Records, 1), &[0; 12]);
    assert_eq!(scene.verdict(), None);
    assert_eq!(scene.lane.arrived(None), None);
    assert!(!scene.lane.has_left(foregather_machine::Address { rank: 1, lane: 0 }));
}

/// An unverified peer that has libfabric, has guessed the 24 bits of the tag and heard frames on other ways.
#[test]
fn what_proves_nothing_changes_nothing_and_accuses_no_rank() {
    let Some(scene) = Scene::open() else { return };
    let key = LaneKey::new(JOB);
    let right = key.proof((1, &DRAWN), (0, &scene.drawn));
    let wrong = [
        0,
        right ^ 1,
        right.swap_bytes(),
        // Heard on the way back, on the way to another lane or from another one, in an earlier opening, in
        // another job.
        key.proof((0, &scene.drawn), (1, &DRAWN)),
        key.proof((1, &DRAWN), (1, &scene.drawn)),
        key.proof((0, &DRAWN), (0, &scene.drawn)),
        key.proof((1, &DRAWN), (0, &[0; 16])),
        LaneKey::new(b"that job").proof((1, &DRAWN), (0, &scene.drawn)),
    ];
    let mut sent = 0;
    let mut send = |tag, bytes: &[u8]| {
        scene.send(tag, bytes);
        sent += 1;
    };
    for proof in wrong {
        for kind in [FrameKind::Frame, FrameKind::Bye, FrameKind::Ask, FrameKind::Done] {
            send(tag(kind, 0), &[&[0; 4][..], &proof.to_le_bytes(), &[0; 16]].concat());
        }
        send(tag(FrameKind::Frame, 9_999), &[&[0; 4][..], &proof.to_le_bytes()].concat());
    }
    send(tag(FrameKind::Frame, 0) | 0xf << 36, &[0; 20]);
    send(tag(FrameKind::Frame, 0), &[0; 3]);
    send(tag(FrameKind::Frame, 0), &[]);
    assert_eq!(scene.verdict(), None);
    assert_eq!((scene.lane.arrived(None), scene.lane.unverified_frames()), (None, sent));
    // The rank itself is heard as before.
    scene.send_proven(tag(FrameKind::Frame, 0), &[1, 2, 3, 4, 5]);
    assert_eq!(scene.verdict(), None);
    let from = foregather_machine::Address { rank: 1, lane: 0 };
    assert_eq!(scene.lane.peek(from, |head, bytes| (head, bytes.to_vec())), Some((0x0403_0201, vec![5])));
    assert!(!scene.lane.has_left(from));
}

/// libfabric then gives up the sender's connection, which is the sender's loss.
#[test]
fn a_frame_that_is_too_long_accuses_no_rank() {
    let Some(scene) = Scene::open() else { return };
    scene.send(tag(FrameKind::Frame, 0), &vec![0; HEAD + BUFFER + 1]);
    assert_eq!((scene.verdict(), scene.lane.unverified_frames()), (None, 1));
}
