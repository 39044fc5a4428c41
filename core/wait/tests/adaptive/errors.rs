//! Waits that cannot succeed, and waits that are dropped, in every phase.
use crate::script::Did::{Move, Park, Pull, Yield};
use crate::script::{Did, MS, SPIN, Team, US};
use foregather_machine::{Cause, Error, Nanos};

type Prepares = fn() -> Team;

/// Returns teams whose next wait goes through each phase.
fn phases() -> [(Did, Prepares); 5] {
    [
        (SPIN, || {
            let team = Team::new(&[1]);
            team.me.running.set(Some(true));
            team
        }),
        (Yield, || Team::new(&[0])),
        (Move(1), || {
            let team = Team::new(&[0]);
            team.me.yield_span.set(MS * 2);
            team
        }),
        (Pull(2), || {
            let team = Team::new(&[1]);
            team.me.running.set(Some(false));
            team.me.pull_span.set(MS);
            team.wait(US * 50);
            team
        }),
        (Park, || Team::new(&[1])),
    ]
}

#[test]
fn a_word_that_is_poisoned_ends_the_wait_whatever_it_was_doing() {
    for (phase, prepare) in phases() {
        let mut reached = 0;
        for after in (0..600).map(|step| US * 7 * step) {
            let team = prepare();
            team.me.poison.set(team.me.now.get() + after);
            let end = team.wait(Nanos::MAX);
            assert_eq!(end.result, Err(Error::from(Cause::Poisoned { by: None })), "{phase:?} {after}");
            assert_eq!(team.mover().get(), 0);
            let late = team.me.now.get() - team.me.poison.get();
            assert!(late <= MS * 2, "{phase:?}: noticed {late} later");
            reached += usize::from(end.did.ends_with(&[phase]));
        }
        assert!(reached > 0, "no wait ended in {phase:?}");
    }
}

#[test]
fn a_deadline_ends_the_wait_whatever_it_was_doing() {
    for (phase, prepare) in phases() {
        let mut reached = 0;
        for after in (0..600).map(|step| US * 7 * step) {
            let team = prepare();
            let began = team.me.now.get();
            team.deadline.set(began + after);
            let end = team.wait(Nanos::MAX);
            let Some(Cause::TimedOut { waited_ns, rank: 0, .. }) = Error::of(&end.result) else { panic!("{end:?}") };
            assert!((after..after + MS * 2).contains(&Nanos(*waited_ns)), "{phase:?}: {waited_ns} ns of {after}");
            reached += usize::from(end.did.ends_with(&[phase]));
        }
        assert!(reached > 0, "no wait ended in {phase:?}");
    }
}

/// The sender did its part and then left.
#[test]
fn an_event_that_came_before_its_sender_left_is_no_loss() {
    for (phase, prepare) in phases() {
        for after in (0..600).map(|step| US * 7 * step) {
            let team = prepare();
            team.me.poison.set(team.me.now.get() + after);
            assert!(team.wait(after).result.is_ok(), "{phase:?} {after}");
        }
        // The sender leaves between a check for the event and a check for lost senders.
        let team = prepare();
        team.me.lost_at_check.set(true);
        assert!(team.wait(MS * 9).result.is_ok(), "{phase:?}");
    }
    #[cfg(feature = "probes")]
    assert!(foregather_machine::reached_here().contains_key("adaptive:2"));
}

#[test]
fn a_wait_that_is_dropped_leaves_nothing_behind() {
    for (phase, prepare) in phases() {
        let team = prepare();
        team.me.stuck_in.set(Some(phase));
        team.drop_wait();
        assert_eq!(team.me.did.take().last(), Some(&phase));
        assert_eq!(team.moving.get(), u32::from(matches!(phase, Move(_))), "while it moves nobody else does");
        assert_eq!(team.mover().get(), 0, "{phase:?}");
        team.me.stuck_in.set(None);
        team.me.yield_span.set(Nanos(700));
        assert!(team.wait(MS * 3).result.is_ok(), "{phase:?}");
    }
}
