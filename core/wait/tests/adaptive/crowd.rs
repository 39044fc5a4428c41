//! A team with more members than processors, under background load: the first member that loses a time slice
//! writes a note, and members on that processor sleep until the note expires.
use crate::script::{Awaits, Did, MS, OF, Outcome, Team, US};
use foregather_machine::{Affinity, Nanos};

/// One more member than processors.
const CROWD: &[u32] = &[0, 1];

/// Makes a yield go to a background thread for half a tick.
fn loses_a_turn(team: &Team) -> Outcome {
    team.me.yield_span.set(MS * 2);
    let end = team.wait(MS * 5);
    team.me.yield_span.set(Nanos(700));
    end
}

fn sleeps(end: &Outcome) -> bool {
    end.rules == ["sleep-in-crowd"]
}

/// Returns the notes of the two processors that all members may use.
fn notes(team: &Team) -> [u32; 2] {
    [team.note_of(0), team.note_of(1)]
}

/// Returns for how long members on this processor sleep if they wait repeatedly.
fn sleeps_for(team: &Team) -> Nanos {
    let began = team.me.now.get();
    while sleeps(&team.wait(US * 100)) {}
    team.me.now.get() - began
}

#[test]
fn the_first_lost_turn_makes_all_members_on_that_processor_sleep() {
    let team = Team::new(CROWD);
    assert!(!sleeps(&team.wait(US * 30)));
    let end = loses_a_turn(&team);
    assert_eq!(end.did, [Did::Yield, Did::Park], "{end:?}");
    let [here, elsewhere] = notes(&team);
    assert!(here != 0 && elsewhere == 0);

    let other = Team::new(CROWD);
    other.set_note(0, here);
    assert_eq!(other.wait(US * 30).did, [Did::SpinBriefly, Did::Park], "it learns of it after its first blind pauses");
    assert_eq!(other.wait(US * 30).did, [Did::Park]);
    other.me.place.set(Some(1));
    let end = other.wait(US * 30);
    assert_eq!(end.rules, ["yield"], "the background thread is on the other processor");
    other.me.place.set(Some(0));
    other.me.pass(OF.tick * 5);
    assert!(!sleeps(&other.wait(US * 30)), "the background thread may have gone");
}

#[test]
fn a_stranger_that_stays_is_believed_for_longer_each_time() {
    let team = Team::new(CROWD);
    for expected in [4, 8, 16, 32, 64, 64] {
        loses_a_turn(&team);
        let ticks = (sleeps_for(&team).0 + MS.0) / OF.tick.0;
        assert!((expected - 1..=expected + 1).contains(&ticks), "{ticks} of {expected} ticks");
    }
    team.me.pass(OF.tick * 10);
    loses_a_turn(&team);
    assert!(sleeps_for(&team) < OF.tick * 6, "long after it is news");
}

/// Yields on other processors are as good as before, so a lost time slice counts against one processor only.
#[test]
fn the_member_that_lost_the_turn_yields_on_another_processor() {
    let team = Team::new(CROWD);
    loses_a_turn(&team);
    team.me.place.set(Some(1));
    assert_eq!(team.wait(US * 3).rules, ["yield"]);
}

/// If there is a background thread, an empty processor is most likely the one in use by it.
#[test]
fn nobody_moves_while_a_stranger_is_believed_anywhere() {
    let team = Team::without("sleep-in-crowd", &[0, 0, 0, 0]);
    for noted in [true, false] {
        team.set_note(1, if noted { note(&team, OF.tick * 9) } else { 0 });
        for _ in 0..50 {
            team.wait(US * 3);
        }
        assert_eq!(team.snapshot().scouts > 0, !noted);
    }
}

/// The leader computes for a long time while its workers wait, and forks repeatedly.
#[test]
fn the_turn_of_a_leader_is_no_strangers() {
    let team = Team::new(CROWD);
    team.whom.set(Awaits::Leader(1, None));
    loses_a_turn(&team);
    assert_eq!(notes(&team), [0, 0]);
    assert_eq!(team.wait(US).rules, ["yield"], "yields are as good as before");
    team.put(1, 1);
    team.whom.set(Awaits::Leader(1, Some(2)));
    team.put(2, 0);
    loses_a_turn(&team);
    assert_ne!(notes(&team), [0, 0], "the leader is elsewhere");
}

#[test]
fn a_preempted_spin_tells_of_strangers_and_an_interrupt_does_not() {
    for (gap, expected) in [(MS * 3, true), (US * 900, false)] {
        let team = Team::new(&[1, 1]);
        team.me.gap.set(gap);
        team.wait(MS * 4);
        assert_eq!(notes(&team) != [0, 0], expected, "preempted for {gap}");
    }
}

/// Returns a note that expires `left` from now.
fn note(team: &Team, left: Nanos) -> u32 {
    (((team.me.now.get() + left).0 >> 20) as u32) << 4
}

#[test]
fn teams_that_fit_and_waits_for_messages_never_do() {
    let spoilers: [fn(&Team); 3] = [
        |team| team.me.affinity.set(Some(Affinity { fingerprint: 7, width: 3, beyond: 3 })),
        |team| team.me.affinity.set(None),
        |team| team.whom.set(Awaits::Message(None)),
    ];
    for (at, spoil) in spoilers.iter().enumerate() {
        let team = Team::new(CROWD);
        spoil(&team);
        team.enroll();
        loses_a_turn(&team);
        assert_eq!(notes(&team), [0, 0], "case {at}");
    }
}
