//! Barriers under random schedules: every step of every member may come before or after every step of the
//! others.
//!
//! The processor here is made of shuttle's primitives, so a schedule that fails is printed and can be
//! replayed (`shuttle::replay`). Loom tests the word protocol and memory orders
//! (`worlds/thread/tests/loom.rs`); this tests the barriers on top: reuse, early arrivals, members that
//! leave.
mod explore;
mod scheduled;

use explore::{check_pct, check_random};
use foregather_barrier::{Algorithm, Central, Group, Seat, SignalMatrix, Subcube, butterfly};
use foregather_machine::{Cause, Clock, Endpoint, Error, Member, Nanos, Rank, SharedLines, WaitContext, Words, block_on};
use foregather_wait::{Policy, Roster};
use scheduled::{Scheduled, Word, team};
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicU32, Ordering::SeqCst};

const SCHEDULES: usize = 400;
/// Enough changes of priority to hit a bug that needs three threads in a certain order.
const DEPTH: usize = 4;

const POLICIES: [Policy; 3] = [Policy::Block, Policy::TwoPhase { spin: Nanos(10) }, Policy::Spin];

/// Three episodes; no member may leave one before all have arrived in it.
fn episodes(kind: Algorithm, policy: Policy, size: u32) {
    let group = Group::<Scheduled>::new(kind, size).unwrap();
    let arrived: [AtomicU32; 3] = Default::default();
    team(size, move |rank| {
        let mut member = group.member(Scheduled, rank, policy).unwrap();
        for arrived in &arrived {
            arrived.fetch_add(1, SeqCst);
            block_on(member.wait()).unwrap();
            assert_eq!(arrived.load(SeqCst), size, "{kind:?} {policy:?}: rank {rank} left too early");
        }
    });
}

#[test]
fn nobody_leaves_too_early_whatever_the_schedule() {
    for kind in Algorithm::ALL {
        for policy in POLICIES {
            for size in [2, 3, 4, 5].into_iter().filter(|&size| kind.takes(size).is_ok()) {
                check_random(move || episodes(kind, policy, size), SCHEDULES / 4);
            }
            check_pct(move || episodes(kind, policy, 4), SCHEDULES / 2, DEPTH);
        }
    }
}

/// Three threads take turns at a barrier of two, one of them a guest. Each meeting has one leader, and all
/// arrivals return.
#[test]
fn threads_that_take_turns_all_return() {
    const SIZE: u32 = 2;
    const MEETINGS: u32 = 3;
    let schedule = || {
        let lines: SharedLines<Word> = SharedLines::own(Central::<Scheduled>::LINES + Roster::<Scheduled>::lines(SIZE));
        let (to_arrive, led) = (Arc::new(AtomicU32::new(MEETINGS * SIZE)), Arc::new(AtomicU32::new(0)));
        let leaders = led.clone();
        team(SIZE + 1, move |rank| {
            let (central, seats) = lines.split_at(Central::<Scheduled>::LINES);
            let (central, roster) = (Central::over(central, SIZE), Roster::new(seats));
            let seat = if rank < SIZE { Seat::new(Scheduled, roster, rank) } else { Seat::guest(Scheduled) };
            while to_arrive.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)).is_ok() {
                let is_leader = seat.try_wait(&central, roster).unwrap_or_else(|| {
                    block_on(seat.wait(&central, roster, Nanos::MAX)).unwrap();
                    false
                });
                leaders.fetch_add(is_leader.into(), SeqCst);
            }
        });
        assert_eq!(led.load(SeqCst), MEETINGS);
    };
    check_random(schedule, SCHEDULES);
    check_pct(schedule, SCHEDULES, DEPTH);
}

/// Rank 1 leaves after one episode: the others learn it in the second, and every one of them got through the
/// first.
#[test]
fn a_member_that_leaves_spoils_no_episode_it_took_part_in() {
    for kind in Algorithm::ALL {
        let schedule = move || {
            let group = Group::<Scheduled>::new(kind, 4).unwrap();
            team(4, move |rank| {
                let mut member = group.member(Scheduled, rank, Policy::Block).unwrap();
                assert_eq!(block_on(member.wait()), Ok(()), "{kind:?} rank {rank}");
                if rank != 1 {
                    assert_eq!(
                        block_on(member.wait()),
                        Err(Error::from(Cause::Poisoned { by: Some(1) })),
                        "{kind:?} rank {rank}"
                    );
                }
            });
        };
        check_random(schedule, SCHEDULES);
        check_pct(schedule, SCHEDULES, DEPTH);
    }
}

/// The negative control: a central barrier that lets the others go before it resets the counter loses the
/// arrival of a member that is back at once.
#[test]
#[should_panic(expected = "deadlock")]
fn resetting_the_counter_too_late_is_found() {
    check_random(
        || {
            let (count, epoch) = (Word::default(), Word::default());
            team(2, move |_| {
                for episode in 0..3 {
                    if Scheduled.fetch_add(&count, 1) == 1 {
                        Scheduled.publish(&epoch, episode + 1);
                        Scheduled.store(&count, 0);
                    } else {
                        let released = || (Scheduled.load(&epoch) != episode).then_some(());
                        block_on(Policy::Block.wait(&Scheduled, &epoch, WaitContext::new("late", 0), released)).unwrap();
                    }
                }
            });
        },
        SCHEDULES,
    );
}

/// The same flags serve two groupings in turn, each in slots of its own: pairs by the lower bit, then by the
/// upper.
#[test]
fn groupings_of_one_set_of_flags_keep_apart_whatever_the_schedule() {
    for kind in Algorithm::ALL.into_iter().filter(|&kind| kind != Algorithm::Central) {
        let schedule = move || {
            let flags = SignalMatrix::<Scheduled>::new(4, 2 * kind.slots(2));
            let arrived: [AtomicU32; 3] = Default::default();
            team(4, move |rank| {
                let end = flags.endpoint(Scheduled, rank, Policy::Block);
                let (row, column) = (Subcube::row(&end, 0).unwrap(), Subcube::column(&end, kind.slots(2)).unwrap());
                for arrived in &arrived {
                    arrived.fetch_add(1, SeqCst);
                    block_on(kind.over(&row)).unwrap();
                    block_on(kind.over(&column)).unwrap();
                    assert_eq!(arrived.load(SeqCst), 4, "{kind:?}: rank {rank} left too early");
                }
            });
        };
        check_random(schedule, SCHEDULES / 4);
        check_pct(schedule, SCHEDULES / 4, DEPTH);
    }
}

/// Null messages made of flags that are set and cleared, where [`SignalMatrix`] counts.
struct Cleared {
    slots: Arc<Vec<Word>>,
    rank: Rank,
}

impl Clock for Cleared {
    fn now(&self) -> Nanos {
        Scheduled.now()
    }
    async fn delay(&self, span: Nanos) {
        Scheduled.delay(span).await;
    }
}

impl Member for Cleared {
    fn rank(&self) -> Rank {
        self.rank
    }
    fn size(&self) -> u32 {
        self.slots.len() as u32
    }
}

impl Endpoint for Cleared {
    async fn signal(&self, peer: Rank, _: u32) -> Result<(), Error> {
        Scheduled.publish(&self.slots[peer as usize], 1);
        Ok(())
    }
    async fn wait(&self, _: u32) -> Result<(), Error> {
        let slot = &self.slots[self.rank as usize];
        let set = || (Scheduled.load(slot) == 1).then_some(());
        Policy::Block.wait(&Scheduled, slot, WaitContext::new("flag", self.rank), set).await?;
        Scheduled.store(slot, 0);
        Ok(())
    }
}

/// The negative control of race 7: a member that is back in the next episode sets a flag that is still set,
/// and when the flag is cleared, two signals are gone.
#[test]
#[should_panic(expected = "deadlock")]
fn a_flag_instead_of_a_count_loses_a_signal() {
    check_random(
        || {
            let slots: Arc<Vec<Word>> = Arc::new((0..2).map(|_| Word::default()).collect());
            team(2, move |rank| {
                let end = Cleared { slots: slots.clone(), rank };
                for _ in 0..3 {
                    block_on(butterfly(&end)).unwrap();
                }
            });
        },
        SCHEDULES,
    );
}
