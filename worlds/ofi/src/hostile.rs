//! A peer that knows the job but keeps to no rule: what it sends is an error that names it, or changes nothing.
use crate::abi::WAIT_FD;
use crate::endpoint::Endpoint;
use crate::provider::Provider;
use crate::wire::{BUFFER, CREDITS, EndpointAddress, FrameKind, HEAD, SPARE, Tag, stamp};
use crate::{Lane, Opening};
use core::ptr::null_mut;
use foregather_host::clock;
use foregather_machine::{Cause, Fabric, Nanos, Park, WaitContext};
use std::sync::Arc;

const JOB: u64 = 9;

/// A lane of rank 0, and an endpoint that passes for rank 1.
struct Scene {
    lane: Lane,
    enemy: Endpoint,
    target: u64,
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
        let enemy = Endpoint::open(Arc::clone(&provider), WAIT_FD).unwrap();
        let card = EndpointAddress { provider: provider.name().to_owned(), lanes: vec![enemy.name().unwrap()] };
        let own = EndpointAddress::read(&opening.address(), 0).unwrap();
        let target = enemy.insert(&own.lanes[0]).unwrap();
        let lane = opening.connect(&[own.write(), card.write()]).unwrap().remove(0);
        Some(Self { lane, enemy, target })
    }

    /// Sends that, whatever it is.
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

    /// What the lane says about it, at last.
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
    Tag { kind, from: 1, number }.pack(stamp(JOB))
}

#[test]
fn what_no_peer_sends_is_garbled_and_names_the_sender() {
    let long = vec![0; HEAD + BUFFER + 1];
    let unknown = tag(FrameKind::Frame, 0) | 0xf << 36;
    let cases: [(&[Sent<'_>], &str); 9] = [
        (&[(unknown, &[0; 8])], "a frame of an unknown kind"),
        (&[(tag(FrameKind::Frame, 0), &[0; 3])], "a frame of an impossible length"),
        (&[(tag(FrameKind::Frame, 0), &long)], "a frame that is too long"),
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
            scene.send(*tag, bytes);
        }
        assert_eq!(scene.verdict(), Some(Cause::ProtocolViolation { from: 1, what: expected }));
    }
}

#[test]
fn who_sends_more_than_its_credits_is_named() {
    let Some(scene) = Scene::open() else { return };
    for number in 0..CREDITS + SPARE {
        scene.send(tag(FrameKind::Frame, number as u16), &[0; 8]);
    }
    assert_eq!(scene.verdict(), None);
    scene.send(tag(FrameKind::Frame, (CREDITS + SPARE) as u16), &[0; 8]);
    assert_eq!(scene.verdict(), Some(Cause::ProtocolViolation { from: 1, what: "more frames than there are credits" }));
}

#[test]
fn answers_to_nothing_and_frames_of_nobody_change_nothing() {
    let Some(scene) = Scene::open() else { return };
    let nobody = Tag { kind: FrameKind::Frame, from: 2, number: 0 }.pack(stamp(JOB));
    scene.send(nobody, &[0; 8]);
    scene.send(Tag { kind: FrameKind::Bye, from: 1, number: 0 }.pack(stamp(JOB + 1)), &[0; 4]);
    scene.send(tag(FrameKind::Unexposed, 0), &[0; 4]);
    scene.send(tag(FrameKind::Records, 1), &[0; 12]);
    assert_eq!(scene.verdict(), None);
    assert_eq!(scene.lane.arrived(None), None);
    assert!(!scene.lane.has_left(foregather_machine::Address { rank: 1, lane: 0 }));
}
