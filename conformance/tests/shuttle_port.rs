//! Channels under random schedules: bells, rings that are full, members that only send, members that leave.
//!
//! The words of a ring are plain memory here, so what is explored is in which order the counts, the bells and the ends of
//! messages are seen: races 1 to 5 of `core/message/README.md`. Word protocol and memory orders are loom's business.
mod explore;
mod scheduled;

use explore::{check_pct, check_random};
use foregather_barrier::butterfly;
use foregather_machine::{
    Cause, Clock, CounterOf, Error, Member, Nanos, Park, Placement, SharedWord, WaitContext, Words, block_on,
};
use foregather_message::{ChannelPort, Channels, Protocol, Ring, receive, send};
use foregather_wait::Policy;
use scheduled::{Scheduled, Word, team};
use shuttle::sync::Arc;
use shuttle::sync::atomic::AtomicU64;
use std::cell::RefCell;

const SCHEDULES: usize = 300;
const DEPTH: usize = 4;

/// Every schedule of a team whose members end without an error, over the shortest rings there are.
fn explore(size: u32, member: impl Fn(&ChannelPort<'_, Scheduled>) -> Result<(), Error> + Copy + Send + Sync + 'static) {
    for policy in [Policy::Block, Policy::TwoPhase { spin: Nanos(10) }] {
        let schedule = move || {
            let channels = Channels::<Scheduled>::with_room(size, 2, 32).unwrap();
            team(size, move |rank| {
                let port = channels.port(Scheduled, rank, policy).unwrap();
                assert_eq!(member(&port), Ok(()), "{policy:?}: rank {rank}");
                port.leave();
            });
        };
        check_random(schedule, SCHEDULES);
        check_pct(schedule, SCHEDULES, DEPTH);
    }
}

/// What a message says: three words and a half.
fn contents(from: u32, turn: u8) -> [u8; 28] {
    core::array::from_fn(|i| (from as u8) << 6 | turn << 4 | i as u8 & 15)
}

#[test]
fn a_message_longer_than_its_ring_arrives_whatever_the_schedule() {
    explore(2, |port| {
        let mut buffer = [0; 28];
        for turn in 0..2 {
            if port.rank() == 0 {
                block_on(send(port, 1, 0, &contents(0, turn), Protocol::Short))?;
            } else {
                assert_eq!(block_on(receive(port, 0, 0, &mut buffer))?, 28);
                assert_eq!(buffer, contents(0, turn));
            }
        }
        Ok(())
    });
}

#[test]
fn two_members_that_only_send_get_done_whatever_the_schedule() {
    for protocol in [Protocol::Short, Protocol::Long] {
        explore(2, move |port| {
            let peer = 1 - port.rank();
            for turn in 0..2 {
                block_on(send(port, peer, 0, &contents(port.rank(), turn), protocol))?;
            }
            let mut buffer = [0; 28];
            for turn in 0..2 {
                block_on(receive(port, peer, 0, &mut buffer))?;
                assert_eq!(buffer, contents(peer, turn));
            }
            Ok(())
        });
    }
}

#[test]
fn a_ring_of_four_shifts_behind_a_barrier_whatever_the_schedule() {
    explore(4, |port| {
        let ring = Ring::of(port.rank(), 4)?;
        let mut buffer = [0; 28];
        for turn in 0..2 {
            ring.post(port, 0)?;
            block_on(butterfly(port))?;
            block_on(ring.shift(port, 0, &contents(port.rank(), turn), &mut buffer, Protocol::Forced))?;
            assert_eq!(buffer, contents(ring.previous, turn));
        }
        Ok(())
    });
}

/// Rank 1 goes away after its message, without a word: rank 0 still gets that one, and an error for the next.
#[test]
fn what_was_sent_before_a_member_went_away_arrives_whatever_the_schedule() {
    for leaves in [true, false] {
        let schedule = move || {
            let channels = Channels::<Scheduled>::with_room(2, 0, 128).unwrap();
            team(2, move |rank| {
                let port = channels.port(Scheduled, rank, Policy::Block).unwrap();
                if rank == 1 {
                    block_on(send(&port, 0, 0, &[7; 8], Protocol::Short)).unwrap();
                    if leaves {
                        port.leave();
                    }
                    return;
                }
                assert_eq!(block_on(receive(&port, 1, 0, &mut [0; 8])), Ok(8));
                let more = block_on(receive(&port, 1, 0, &mut [0; 8]));
                assert_eq!(more, Err(Error::from(Cause::Poisoned { by: Some(1) })), "{leaves}");
            });
        };
        check_random(schedule, SCHEDULES);
        check_pct(schedule, SCHEDULES, DEPTH);
    }
}

/// A processor that rings first: a plain store becomes visible only behind the next change of another word.
#[derive(Default)]
struct RingsFirst(RefCell<Option<(Arc<Word>, u32)>>);

impl Clock for RingsFirst {
    fn now(&self) -> Nanos {
        Scheduled.now()
    }
    async fn delay(&self, span: Nanos) {
        Scheduled.delay(span).await;
    }
}

impl Placement for RingsFirst {}

/// A word that can be held back.
#[derive(Default)]
struct Held(Arc<Word>);

impl SharedWord for Held {
    type Counter = AtomicU64;
}

impl Words for RingsFirst {
    type Word = Held;

    fn load(&self, word: &Held) -> u32 {
        Scheduled.load(&word.0)
    }
    fn store(&self, word: &Held, value: u32) {
        let held = self.0.replace(Some((word.0.clone(), value)));
        held.into_iter().for_each(|(word, value)| Scheduled.store(&word, value));
    }
    fn publish(&self, word: &Held, value: u32) {
        Scheduled.publish(&word.0, value);
    }
    fn fetch_add(&self, word: &Held, n: u32) -> u32 {
        let before = Scheduled.fetch_add(&word.0, n);
        self.0.take().into_iter().for_each(|(word, value)| Scheduled.store(&word, value));
        before
    }
    fn compare_exchange(&self, word: &Held, expected: u32, new: u32) -> Result<u32, u32> {
        Scheduled.compare_exchange(&word.0, expected, new)
    }
    fn poison(&self, word: &Held) {
        Scheduled.poison(&word.0);
    }
    fn take_ticket(&self, counter: &CounterOf<Self>) -> u64 {
        Scheduled.take_ticket(counter)
    }
}

impl Park for RingsFirst {
    fn spin_briefly<T>(&self, probe: impl FnMut() -> Option<T>) -> Option<T> {
        Scheduled.spin_briefly(probe)
    }
    async fn spin_for<T>(&self, on: &Held, budget: Nanos, probe: impl FnMut() -> Option<T>) -> (Option<T>, Nanos) {
        Scheduled.spin_for(&on.0, budget, probe).await
    }
    async fn yield_now(&self) {
        Scheduled.yield_now().await;
    }
    fn prepare_park(&self, on: &Held) -> u32 {
        Scheduled.prepare_park(&on.0)
    }
    async fn park(&self, on: &Held, armed: u32, until: Nanos) {
        Scheduled.park(&on.0, armed, until).await;
    }
    fn check(&self, on: &Held, why: &WaitContext) -> Result<(), Error> {
        Scheduled.check(&on.0, why)
    }
}

/// The negative control of race 1: whoever looks between the bell and the count goes to sleep over its message.
#[test]
#[should_panic(expected = "deadlock")]
fn ringing_before_the_words_are_shown_is_found() {
    check_random(
        || {
            let channels = Channels::<RingsFirst>::new(2, 0).unwrap();
            team(2, move |rank| {
                let port = channels.port(RingsFirst::default(), rank, Policy::Block).unwrap();
                if rank == 0 {
                    block_on(send(&port, 1, 0, &[1], Protocol::Short)).unwrap();
                    block_on(receive(&port, 1, 1, &mut [0])).unwrap();
                } else {
                    block_on(receive(&port, 0, 0, &mut [0])).unwrap();
                    block_on(send(&port, 0, 1, &[1], Protocol::Short)).unwrap();
                }
                port.leave();
            });
        },
        SCHEDULES,
    );
}
