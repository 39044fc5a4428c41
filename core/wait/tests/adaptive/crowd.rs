//! A team larger than its processors, beside strangers: one member finds them, all sleep, and it watches
//! until they go.
use crate::script::{Awaits, Did, MS, OF, Outcome, Team, US};
use foregather_machine::{Affinity, Nanos};

/// One more member than processors.
const CROWD: &[u32] = &[0, 1];

/// A yield goes to a stranger for half a tick.
fn loses_a_turn(team: &Team) -> Outcome {
    team.me.yield_span.set(MS * 2);
    let end = team.wait(MS * 5);
    team.me.yield_span.set(Nanos(700));
    end
}

fn sleeps(end: &Outcome) -> bool {
    end.rules == ["sleep-in-crowd"]
}

#[test]
fn the_first_lost_turn_makes_the_team_sleep_at_once_until_nothing_is_heard_of_it() {
    let team = Team::new(CROWD);
    assert!(!sleeps(&team.wait(US * 30)));
    let end = loses_a_turn(&team);
    assert_eq!(end.did, [Did::Yield, Did::Scout(0), Did::Park], "{end:?}");
    let until = team.crowded_out().get();
    assert_ne!(until, 0);

    let other = Team::new(CROWD);
    other.crowded_out().set(until);
    let end = other.wait(US * 30);
    assert_eq!(end.did, [Did::SpinBriefly, Did::Park], "it learns of it after its first blind pauses, and sends no scout");
    assert_eq!(other.wait(US * 30).did, [Did::Park]);
    other.me.pass(OF.tick * 33);
    assert!(!sleeps(&other.wait(US * 30)), "whoever found it may have gone");
    assert_eq!(other.crowded_out().get(), until);
}

/// The leader computes without bound while its workers wait, and forks again and again.
#[test]
fn the_turn_of_a_leader_is_no_strangers() {
    let team = Team::new(CROWD);
    team.whom.set(Awaits::Leader(1, None));
    loses_a_turn(&team);
    assert_eq!(team.crowded_out().get(), 0);
    assert_eq!(team.wait(US).rules, ["yield"], "yields are as good as before");
    team.put(1, 1);
    team.whom.set(Awaits::Leader(1, Some(2)));
    team.put(2, 0);
    loses_a_turn(&team);
    assert_ne!(team.crowded_out().get(), 0, "the leader is elsewhere");
}

#[test]
fn a_preempted_spin_tells_of_strangers_and_an_interrupt_does_not() {
    for (gap, expected) in [(MS * 3, true), (US * 900, false)] {
        let team = Team::new(&[1, 1]);
        team.me.gap.set(gap);
        team.wait(MS * 4);
        assert_eq!(team.crowded_out().get() != 0, expected, "preempted for {gap}");
    }
}

#[test]
fn scouts_that_come_back_from_every_processor_end_it() {
    let team = Team::without("yield-in-crowd", CROWD);
    loses_a_turn(&team);
    team.me.idle.set(Some(true));
    let mut asked = vec![];
    let sleeping = (0..99).take_while(|_| {
        let end = team.wait(OF.remote * 5);
        asked.extend(end.did.iter().filter_map(|did| if let Did::Scout(cpu) = did { Some(*cpu) } else { None }));
        sleeps(&end)
    });
    assert_eq!(sleeping.count(), 15, "the sixteenth answer ends it");
    // The answer about one processor comes, and the scout goes to the next.
    assert_eq!(asked[..6], [0, 1, 1, 0, 0, 1]);
    let end = team.wait(US * 3);
    assert_eq!(end.rules, ["yield"], "yields are as good as before");
}

#[test]
fn a_busy_processor_outweighs_two_idle_ones() {
    let team = Team::without("yield-in-crowd", CROWD);
    loses_a_turn(&team);
    for _ in 0..200 {
        for idle in [Some(true), Some(true), Some(false)] {
            team.me.idle.set(idle);
            assert!(sleeps(&team.wait(OF.remote * 5)));
        }
    }
}

#[test]
fn where_no_scout_can_be_sent_it_ends_by_itself() {
    let team = Team::new(CROWD);
    team.me.idle.set(None);
    loses_a_turn(&team);
    let began = team.me.now.get();
    let sleeping = (0..9_999).take_while(|_| sleeps(&team.wait(US * 100))).count();
    assert!(sleeping > 0 && team.me.now.get() - began <= OF.tick * 33);
}

/// After an end that was soon regretted, scouts are sent later and later.
#[test]
fn strangers_that_come_back_soon_are_believed_for_longer() {
    let team = Team::without("yield-in-crowd", CROWD);
    team.me.idle.set(Some(true));
    let span = || {
        let began = team.me.now.get();
        loses_a_turn(&team);
        while sleeps(&team.wait(OF.remote * 5)) {}
        team.me.now.get() - began
    };
    let [first, second, third, fourth] = [span(), span(), span(), span()];
    assert!(second > first && third - second >= OF.tick && fourth - third >= OF.tick * 2, "{first} {second} {third} {fourth}");
    team.me.pass(OF.tick * 9);
    assert_eq!(span(), first, "long after it is news");
}

/// Two members found the strangers, and the other one ended it: this one, too, ends its part.
#[test]
fn what_another_member_ended_is_over() {
    let team = Team::new(CROWD);
    loses_a_turn(&team);
    assert!(sleeps(&team.wait(OF.remote * 5)));
    team.crowded_out().set(1);
    assert!(!sleeps(&team.wait(US * 30)));
    #[cfg(feature = "probes")]
    assert!(foregather_machine::reached_here().contains_key("adaptive:9"));
    team.crowded_out().set(1_000);
    let end = team.wait(OF.remote * 5);
    assert_eq!((sleeps(&end), end.did), (true, vec![Did::Park]), "found by another one, which sends the scouts");
}

/// The member that watches has gone, or is the last at each barrier.
#[test]
fn another_member_watches_if_nothing_is_heard_of_the_one_that_did() {
    let team = Team::new(CROWD);
    team.me.idle.set(Some(false));
    team.crowded_out().set(published(&team, OF.tick * 29));
    assert_eq!(team.wait(US * 30).did, [Did::SpinBriefly, Did::Park], "heard of within four ticks");
    team.me.pass(OF.tick * 2);
    let end = team.wait(OF.remote * 5);
    assert_eq!((sleeps(&end), end.did), (true, vec![Did::Scout(0), Did::Scout(0), Did::Park]));
    assert_eq!(team.crowded_out().get(), published(&team, OF.tick * 32), "all learn that it watches");
}

#[test]
fn of_two_members_that_watch_the_last_to_say_so_goes_on() {
    let team = Team::new(CROWD);
    team.me.idle.set(Some(false));
    loses_a_turn(&team);
    let asks = |team: &Team| team.wait(OF.remote * 5).did.iter().any(|did| matches!(did, Did::Scout(_)));
    assert!(asks(&team));
    team.me.pass(OF.tick);
    team.crowded_out().set(published(&team, OF.tick * 32));
    assert!(!asks(&team) && !asks(&team), "the other one watches");
    #[cfg(feature = "probes")]
    assert!(foregather_machine::reached_here().contains_key("adaptive:9"));
}

/// The word of a member that says now that the team is crowded out for `left`.
fn published(team: &Team, left: Nanos) -> u32 {
    (((team.me.now.get() + left).0 >> 20) as u32) << 1
}

#[test]
fn teams_that_fit_cannot_move_or_wait_for_messages_never_do() {
    let spoilers: [fn(&Team); 3] = [
        |team| team.me.affinity.set(Some(Affinity { fingerprint: 7, width: 3, beyond: 3 })),
        |team| team.others[0].affinity.set(None),
        |team| team.whom.set(Awaits::Message(None)),
    ];
    for (at, spoil) in spoilers.iter().enumerate() {
        let team = Team::new(CROWD);
        spoil(&team);
        team.enroll();
        loses_a_turn(&team);
        assert_eq!(team.crowded_out().get(), 0, "case {at}");
    }
}

/// Episodes of that length until the team waits otherwise, or all of a second: how many there were.
fn episodes(team: &Team, rule: &str, length: Nanos) -> usize {
    let end = team.me.now.get() + MS * 1_000;
    let goes_on = || team.me.now.get() < end && team.wait(length).rules == [rule];
    core::iter::repeat_with(goes_on).take_while(|&goes_on| goes_on).count()
}

/// Where strangers have few of the processors, yields come back soon, and no member is woken.
#[test]
fn yields_that_are_far_better_are_kept_for_longer_each_time() {
    let team = Team::new(CROWD);
    team.me.idle.set(Some(false));
    loses_a_turn(&team);
    let mut stays = vec![];
    for _ in 0..2 {
        stays.push(episodes(&team, "sleep-in-crowd", US * 500));
        stays.push(episodes(&team, "yield-in-crowd", US * 20));
    }
    let [asleep, yields, again, more] = stays[..] else { unreachable!() };
    // A tick asleep, and one more wait; a trial of 2 ticks, then stays of 4, 16, 64 and 125; two ticks asleep
    // to measure anew.
    assert!((8..12).contains(&asleep) && (15..18).contains(&again), "{stays:?}");
    assert!(yields >= 40_000 && more >= 40_000, "{stays:?}");
}

#[test]
fn yields_that_are_not_far_better_are_tried_for_two_ticks_and_then_seldom() {
    for (length, trial) in [(US * 400, 18..22), (US * 900, 7..11), (MS * 10, 0..1)] {
        let team = Team::new(CROWD);
        team.me.idle.set(Some(false));
        loses_a_turn(&team);
        let first = episodes(&team, "sleep-in-crowd", US * 500);
        assert!((8..12).contains(&first), "{first}");
        let tried = episodes(&team, "yield-in-crowd", length);
        assert!(trial.contains(&tried), "{length}: {tried}");
        // Asleep for 4 ticks, or for 125 if it lost by far.
        let (later, expected) = (episodes(&team, "sleep-in-crowd", US * 500), if length < MS { 30..36 } else { 990..1_010 });
        assert!(expected.contains(&later), "{length}: {later}");
    }
}

/// A wait that no yield ends within two ticks sleeps: a leader may compute for long.
#[test]
fn a_long_wait_among_yields_ends_asleep() {
    let team = Team::new(CROWD);
    team.me.idle.set(Some(false));
    loses_a_turn(&team);
    episodes(&team, "sleep-in-crowd", US * 500);
    let end = team.wait(MS * 100);
    assert_eq!((end.rules, end.did.last()), (vec!["yield-in-crowd", "sleep-in-crowd"], Some(&Did::Park)));
}
