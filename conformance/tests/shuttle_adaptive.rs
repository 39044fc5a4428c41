//! The adaptive policy under random schedules: every transition of its page, each race with a fault that must
//! be found.
mod explore;
mod placed;
mod scheduled;

use explore::{check_pct, check_random};
use foregather_barrier::{Algorithm, BarrierMember};
use foregather_machine::{Cause, Error, Nanos, Rank, block_on};
use foregather_wait::adaptive::{Rules, TABLE};
use foregather_wait::{Adaptive, Snapshot};
use placed::{Fault, Machine, Placed, Plan, run};
use shuttle::rand::{Rng, thread_rng};
use shuttle::sync::atomic::Ordering::SeqCst;
use shuttle::thread;
use std::sync::atomic::AtomicU64;

const SCHEDULES: usize = 400;
const DEPTH: usize = 4;
const EPISODES: u32 = 4;

/// Costs that make every phase a few steps long.
const OF: Adaptive = Adaptive { hand_over: Nanos(100), remote: Nanos(1_000), tick: Nanos(8_000), without: Rules::NONE };

const PLAN: Plan = Plan {
    kind: Algorithm::Central,
    of: OF,
    places: &[0, 0],
    processors: 2,
    stranger: None,
    slow_yields: true,
    tells: true,
    fault: Fault::None,
};

fn explore(schedule: impl Fn() + Copy + Send + Sync + 'static) {
    explore_some(SCHEDULES, schedule);
}

fn explore_some(schedules: usize, schedule: impl Fn() + Copy + Send + Sync + 'static) {
    check_random(schedule, schedules);
    check_pct(schedule, schedules / 2, DEPTH);
}

/// Computes for a while, so that the others come to the later phases of their waits.
fn compute(member: &BarrierMember<Placed>) {
    (0..thread_rng().gen_range(0..50)).for_each(|_| block_on(member.delay(OF.hand_over)));
}

/// The last but one is late.
fn meet(machine: &Machine, mut member: BarrierMember<Placed>, rank: Rank) {
    for _ in 0..EPISODES {
        if rank as usize + 2 == machine.places.len() {
            compute(&member);
        }
        block_on(member.wait()).unwrap();
    }
}

/// How often each rule was followed in all schedules, and how often members moved, were refused, and fetched.
static RULES: [AtomicU64; TABLE.len()] = [const { AtomicU64::new(0) }; TABLE.len()];
static ACTS: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

fn meet_and_count(_: &Machine, member: BarrierMember<Placed>, rank: Rank) {
    meet_so_often(EPISODES, member, |member| {
        if rank == 0 || thread_rng().gen_range(0..4_u32) == 0 {
            compute(member);
        }
    });
}

fn meet_so_often(episodes: u32, mut member: BarrierMember<Placed>, compute: impl Fn(&BarrierMember<Placed>)) {
    for episode in 1..=u64::from(episodes) {
        compute(&member);
        block_on(member.wait()).unwrap();
        let Snapshot { last, first_look, spun, yielded, parked, .. } = member.account().snapshot();
        assert_eq!(last + first_look + spun + yielded + parked, episode, "every episode is counted once");
    }
    let all = member.account().snapshot();
    for (sum, n) in RULES.iter().zip(all.rules).chain(ACTS.iter().zip([all.moves, all.moves_refused, all.pulls])) {
        sum.fetch_add(n, SeqCst);
    }
}

/// Spinning, yielding, asking, fleeing, fetching and sleeping, in every order that this world's chances
/// allow.
#[test]
fn members_meet_whatever_they_do_about_their_waits() {
    for kind in Algorithm::ALL {
        for places in [&[0, 0][..], &[0, 1], &[0, 0, 1], &[0, 0, 0, 1]] {
            let processors = places.len() as u32;
            if kind.takes(processors).is_err() {
                continue;
            }
            for slow_yields in [true, false] {
                explore_some(SCHEDULES / 16, run(Plan { kind, places, processors, slow_yields, ..PLAN }, meet_and_count));
            }
        }
    }
    // A team larger than its processors, and slow enough to be told which member is crowded out.
    let of = Adaptive { tick: Nanos(400_000), ..OF };
    explore(run(Plan { of, places: &[0, 0, 0, 1], ..PLAN }, meet_and_count));
    for name in ["flee", "sleep-in-crowd", "sleep-beside-stranger", "sleep-late", "yield", "spin", "ask", "stay", "pull", "sleep"]
    {
        assert!(followed(name) > 0, "no schedule led to {name}");
    }
    assert!(ACTS.iter().all(|act| act.load(SeqCst) > 0), "no schedule led to {ACTS:?}");
}

/// In how many decisions all schedules so far followed that rule.
fn followed(name: &str) -> u64 {
    RULES[TABLE.iter().position(|rule| rule.name == name).unwrap()].load(SeqCst)
}

/// Long enough for notes to end while members wait, and to be made again.
#[test]
fn a_team_that_is_crowded_out_meets_whatever_is_noted() {
    const TICK: Nanos = Nanos(100_000);
    let plan = Plan { of: Adaptive { tick: TICK, ..OF }, places: &[0, 0, 0, 1], ..PLAN };
    let computes = |member: &BarrierMember<Placed>| block_on(member.delay(TICK.percent(25)));
    explore_some(SCHEDULES / 8, run(plan, move |_, member, _| meet_so_often(30, member, computes)));
    assert!(followed("yield") > 0 && followed("sleep-in-crowd") > 0);
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_sleeper_that_did_not_arm_is_found() {
    explore(run(Plan { fault: Fault::ParksUnarmed, ..PLAN }, meet));
}

/// Rank 1 goes after some episodes, whatever the others are doing then; they get its name.
fn meet_until_one_goes(_: &Machine, mut member: BarrierMember<Placed>, rank: Rank) {
    for _ in 0..2 {
        assert_eq!(block_on(member.wait()), Ok(()), "rank {rank}");
    }
    if rank == 1 {
        // The later it goes, the further the others are on their way to sleep.
        (0..thread_rng().gen_range(0..60)).for_each(|_| thread::yield_now());
    } else {
        assert_eq!(block_on(member.wait()), Err(Error::from(Cause::Poisoned { by: Some(1) })), "rank {rank}");
    }
}

#[test]
fn a_member_that_goes_ends_waits_in_every_phase() {
    for kind in [Algorithm::Central, Algorithm::Dissemination, Algorithm::Tree] {
        explore(run(Plan { kind, places: &[0, 0, 1], ..PLAN }, meet_until_one_goes));
    }
}

#[test]
#[should_panic(expected = "deadlock")]
fn a_waiter_that_does_not_see_who_has_gone_is_found() {
    explore(run(Plan { fault: Fault::NeverChecks, ..PLAN }, meet_until_one_goes));
}

/// Three members on one processor, two of which may flee from it at the same time to the processor of one:
/// only one does. Without the rule that would have them sleep there.
fn apart(fault: Fault) -> Plan {
    let of = Adaptive { without: Rules::named("sleep-in-crowd").unwrap(), ..OF };
    Plan { of, places: &[0, 0, 0, 1], tells: false, fault, ..PLAN }
}

#[test]
fn one_moves_at_a_time_and_only_to_where_fewer_are() {
    for kind in [Algorithm::Central, Algorithm::Dissemination] {
        explore(run(Plan { kind, ..apart(Fault::None) }, meet));
    }
}

#[test]
#[should_panic(expected = "moves while another one does")]
fn a_move_without_the_right_to_it_is_found() {
    explore(run(Plan { tells: true, ..apart(Fault::MovesUnasked) }, meet));
}

#[test]
#[should_panic(expected = "is left taken")]
fn a_right_to_move_that_is_not_given_back_is_found() {
    explore(run(apart(Fault::KeepsTheTurn), meet));
}

/// No member moves any more, and all waits go on.
#[test]
fn who_was_killed_while_it_moved_holds_up_no_other() {
    explore(run(apart(Fault::KilledWhileItMoved), meet));
}

#[test]
#[should_panic(expected = "exceeded max_steps bound")]
fn a_wait_for_the_right_to_move_is_found() {
    explore(run(apart(Fault::WaitsForTheTurn), meet));
}

#[test]
#[should_panic(expected = "moves to where as many are")]
fn a_move_that_is_not_known_before_the_next_one_is_found() {
    explore(run(apart(Fault::HidesItsMove), meet));
}

/// A move and a fetch, or two fetches, of one member by two others at once. The table lets only pairs fetch,
/// but teams may share members' threads, so the test asks the world directly.
const FETCHED: Plan = Plan { places: &[0, 1, 2], processors: 3, ..PLAN };

fn fetch_each_other(machine: &Machine, _: BarrierMember<Placed>, rank: Rank) {
    for step in 0..4 {
        machine.lend((rank + step) as usize % 3, rank);
        thread::yield_now();
    }
}

#[test]
fn masks_are_their_own_again_whoever_moved_whom() {
    explore(run(FETCHED, fetch_each_other));
}

#[test]
#[should_panic(expected = "a mask was left behind")]
fn a_mask_that_is_restored_as_it_was_found_is_found() {
    explore(run(Plan { fault: Fault::RestoresWhatItFound, ..FETCHED }, fetch_each_other));
}

/// A pair, a third member that wanders between the other two processors, and a stranger on one of these: only
/// the one without a stranger may be moved to, so the scout is asked about either in turn.
const SCOUTED: Plan = Plan {
    of: Adaptive { hand_over: Nanos(49), remote: Nanos(200), tick: Nanos(80_000), ..OF },
    places: &[0, 0, 1],
    processors: 3,
    stranger: Some(1),
    slow_yields: false,
    tells: false,
    ..PLAN
};

fn scouted(fault: Fault) -> Plan {
    let without = Rules::named("split-tiny").unwrap();
    Plan { fault, of: Adaptive { without, ..SCOUTED.of }, ..SCOUTED }
}

static SPREAD: AtomicU64 = AtomicU64::new(0);

fn wander(machine: &Machine, mut member: BarrierMember<Placed>, rank: Rank) {
    for _ in 0..8 {
        if rank == 2 {
            machine.places[2].store(1 + thread_rng().gen_range(0..2), SeqCst);
        }
        if rank > 0 {
            compute(&member);
        }
        block_on(member.wait()).unwrap();
    }
    SPREAD.fetch_add(member.account().snapshot().moves, SeqCst);
}

#[test]
fn nobody_moves_beside_a_stranger_however_late_the_scout_answers() {
    explore(run(scouted(Fault::None), wander));
    assert!(SPREAD.load(SeqCst) > 0, "nobody moved at all");
}

#[test]
#[should_panic(expected = "moves beside a stranger")]
fn an_old_answer_taken_for_a_new_one_is_found() {
    explore(run(scouted(Fault::BelievesOldAnswers), wander));
}
