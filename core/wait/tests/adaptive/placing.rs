//! Moving members apart: which member may move, when, and after which checks.
use crate::script::Did::{Move, Scout, Yield};
use crate::script::{BOTH, Did, MS, OF, Team, US};
use foregather_machine::{Affinity, Nanos};

/// Episodes that consist of hand-overs only: members move without sending a scout.
const TINY: Nanos = Nanos(700);

/// Waits until a step other than a yield is taken, for at most `most` waits; returns the step and the number
/// of yields before it.
fn until_it_acts(team: &Team, most: usize) -> (Option<Did>, usize) {
    until_it_acts_in(US * 3, team, most)
}

fn until_it_acts_in(episode: Nanos, team: &Team, most: usize) -> (Option<Did>, usize) {
    let mut yields = 0;
    for _ in 0..most {
        for did in team.wait(episode).did {
            match did {
                Yield => yields += 1,
                Did::SpinBriefly => {}
                did => return (Some(did), yields),
            }
        }
    }
    (None, yields)
}

#[test]
fn a_scout_is_asked_after_32_finds_again_after_five_bounds_and_its_return_is_followed_by_a_move() {
    let team = Team::new(&[0]);
    let (did, yields) = until_it_acts(&team, 20);
    assert_eq!((did, yields), (Some(Scout(1)), 31), "the 32nd find decides");
    let asked = team.me.now.get();
    assert_eq!(until_it_acts(&team, 99).0, Some(Scout(1)), "it was silent");
    let passed = team.me.now.get() - asked;
    assert!((OF.remote * 5 - US * 5..OF.remote * 5 + US * 5).contains(&passed), "{passed}");
    team.me.idle.set(Some(true));
    team.me.pass(MS);
    let end = team.wait(US * 30);
    assert_eq!(end.did[..2], [Scout(1), Move(1)]);
    assert_eq!((team.me.place.get(), team.mover().get()), (Some(1), 0));
    team.put(1, 0);
    assert!(!team.wait(US * 3).did.contains(&Yield), "nobody is here any more");
}

#[test]
fn where_nobody_can_be_sent_nobody_is_asked_again_for_a_hundred_ticks() {
    let team = Team::new(&[0]);
    team.me.idle.set(None);
    assert_eq!(until_it_acts(&team, 20).0, Some(Scout(1)));
    team.me.pass(OF.tick * 99);
    assert_eq!(until_it_acts(&team, 99).0, None);
    team.me.pass(OF.tick);
    assert_eq!(until_it_acts(&team, 1).0, Some(Scout(1)));
}

/// After a move, the member does not move for half a tick, after the next one for a whole tick, and so on.
#[test]
fn the_time_between_two_moves_doubles() {
    let team = Team::new(&[0, 0]);
    let mut last = None;
    for hold in [2, 2, 4, 8, 16] {
        while !team.wait(TINY).did.iter().any(|did| matches!(did, Move(_))) {}
        let now = team.me.now.get();
        if let Some(last) = last.replace(now) {
            assert!((MS * hold..MS * hold + US * 200).contains(&(now - last)), "{} instead of {hold} ms", now - last);
        }
        // The other members move to the same processor.
        let place = team.me.place.get().unwrap();
        (1..=2).for_each(|rank| team.put(rank, place));
    }
}

#[test]
fn from_tiny_episodes_it_moves_unasked() {
    assert_eq!(until_it_acts_in(TINY, &Team::new(&[0]), 40).0, Some(Move(1)));
    assert_eq!(until_it_acts(&Team::new(&[0, 0]), 20).0, Some(Scout(1)), "three fewer: only with permission");
    assert_eq!(until_it_acts(&Team::new(&[0, 1]), 20).0, None, "one fewer is none");
}

#[test]
fn a_slow_yield_makes_it_flee_at_once() {
    let team = Team::new(&[0]);
    team.me.yield_span.set(MS * 4);
    assert_eq!(team.wait(MS * 9).did[..3], [Did::SpinBriefly, Yield, Move(1)]);
    let full = Team::new(&[0, 1, 1]);
    full.me.yield_span.set(MS * 4);
    assert!(!full.wait(MS * 9).did.contains(&Move(1)), "no processor has fewer members");
}

#[test]
fn nobody_is_placed_unless_all_may_run_on_the_same_processors() {
    let spoilers: [fn(&Team); 4] = [
        |team| team.others[1].affinity.set(Some(Affinity { fingerprint: 8, ..BOTH })),
        |team| team.others[0].affinity.set(None),
        |team| team.me.affinity.set(None),
        |team| team.others[1].blind(),
    ];
    for (at, spoil) in spoilers.iter().enumerate() {
        let team = Team::new(&[0, 0]);
        spoil(&team);
        team.enroll();
        team.me.idle.set(Some(true));
        assert_eq!(until_it_acts(&team, 99).0, None, "case {at}");
    }
}

/// A member whose move was refused once does not try again. Because it is then fixed, no other member moves
/// either.
#[test]
fn a_refused_move_ends_all_moves() {
    let team = Team::new(&[0, 0]);
    team.me.granted.set(false);
    assert_eq!(until_it_acts_in(TINY, &team, 40).0, Some(Move(1)));
    team.me.granted.set(true);
    for _ in 0..20 {
        team.me.pass(MS * 100);
        assert_eq!(until_it_acts_in(TINY, &team, 40).0, None);
    }
    let all = team.snapshot();
    assert_eq!((all.moves, all.moves_refused, team.mover().get()), (0, 1, 0));
    #[cfg(feature = "probes")]
    assert!(foregather_machine::reached_here().contains_key("adaptive:8"));
}

#[test]
fn while_somebody_else_moves_it_waits_for_one_bound() {
    let team = Team::new(&[0, 0]);
    team.mover().set(1);
    assert_eq!(until_it_acts_in(TINY, &team, 60).0, None);
    assert!(team.mover().get() > 1, "it has tried, and left the word taken");
    #[cfg(feature = "probes")]
    assert!(foregather_machine::reached_here().contains_key("adaptive:4"));
    team.mover().set(0);
    team.me.pass(OF.remote);
    assert!((0..400).any(|_| team.wait(TINY).did.contains(&Move(1))));
}

/// Another program has deliberately changed the mask in the meantime.
#[test]
fn a_member_whose_affinity_has_changed_stays_where_it_is() {
    for changed in [None, Some(Affinity { fingerprint: 8, ..BOTH })] {
        let team = Team::new(&[0, 0]);
        team.me.affinity.set(changed);
        assert_eq!(until_it_acts_in(TINY, &team, 60).0, None);
        team.me.affinity.set(Some(BOTH));
        assert_eq!(until_it_acts_in(TINY, &team, 9).0, Some(Move(1)), "it has its own again");
    }
}
