//! Spinning, yielding and sleeping: how long, and in which order.
use crate::script::Did::{Ask, Park, Pull, SpinBriefly, Yield};
use crate::script::{Awaits, BOTH, Did, MS, OF, Outcome, SPIN, Team, US};
use foregather_machine::{Affinity, CpuId, Nanos};
use foregather_wait::Outcome as Ended;

fn ended(end: &Outcome) -> Ended {
    end.result.as_ref().unwrap().outcome
}

#[test]
fn whoever_can_learn_nothing_spins_for_one_remote_wake_and_sleeps() {
    let team = Team::new(&[0]);
    team.me.blind();
    team.others[0].blind();
    team.enroll();
    let end = team.wait(US * 100);
    assert_eq!((&end.did[..], end.spun), (&[SpinBriefly, SPIN, Park][..], OF.remote));
    assert_eq!((ended(&end), end.rules), (Ended::Parked, vec!["spin", "ask", "sleep"]));
    let end = team.wait(US * 15);
    assert_eq!((&end.did[..], end.spun, ended(&end)), (&[SpinBriefly, SPIN][..], US * 15, Ended::Spun));
}

#[test]
fn blind_pauses_are_left_out_for_eight_waits_after_a_member_was_here() {
    let team = Team::new(&[0]);
    assert_eq!(team.wait(US).did, [SpinBriefly, Yield, Yield]);
    assert_eq!(team.wait(US).did, [Yield, Yield], "it may be here again");
    team.put(1, 1);
    let blinked: Vec<_> = (0..10).map(|_| team.wait(US).did == [SpinBriefly, SPIN]).collect();
    assert_eq!(blinked, [[false; 8].as_slice(), &[true; 2]].concat());
    assert_eq!(Team::without("blink", &[1]).wait(US).did, [SPIN]);
}

#[test]
fn yields_that_do_not_help_end_in_sleep_after_a_quarter_of_a_tick() {
    let team = Team::new(&[0]);
    team.me.affinity.set(None);
    team.enroll();
    let end = team.wait(MS * 3);
    let yields = end.did.iter().filter(|&&did| did == Yield).count() as u64;
    assert_eq!((end.did.last(), end.spun), (Some(&Park), Nanos::ZERO));
    let limit = OF.remote + OF.tick.percent(25);
    assert!((limit..limit + Nanos(1_400)).contains(&(Nanos(700) * yields)), "{yields} yields");
}

/// The thread sleeps for most of the time, and is awake shortly before the message is due, so the message
/// need not wake it.
#[test]
fn a_message_that_comes_regularly_is_met_awake() {
    let team = Team::new(&[1]);
    team.whom.set(Awaits::Message(Some(1)));
    for _ in 0..10 {
        team.wait(MS * 5);
    }
    let end = team.wait(MS * 5);
    assert_eq!((&end.did[..], &end.rules[..]), (&[SpinBriefly, Park, SPIN][..], &["doze", "spin"][..]));
    assert!(end.spun > Nanos::ZERO && end.spun < US * 500, "{}", end.spun);
    // A message that arrives earlier ends the sleep. For one that does not arrive, the thread sleeps.
    assert_eq!(team.wait(MS * 3).did, [SpinBriefly, Park]);
    assert_eq!(team.wait(MS * 50).did.last(), Some(&Park));
    // A wait for a team is not affected.
    team.whom.set(Awaits::All);
    assert_eq!(team.wait(MS * 5).rules, ["spin", "ask", "sleep"]);
}

/// Yields that return at once, and hand-overs among workers whose leader sleeps.
#[test]
fn yields_in_vain_end_after_two_bounds_of_them() {
    for (whom, span) in [(Awaits::All, Nanos(200)), (Awaits::Leader(1, None), Nanos(1_400))] {
        let team = Team::new(&[0, 1]);
        team.me.affinity.set(None);
        team.enroll();
        team.whom.set(whom);
        team.me.yield_span.set(span);
        let end = team.wait(MS * 3);
        let yields = end.did.iter().filter(|&&did| did == Yield).count() as u64;
        assert_eq!(end.did.last(), Some(&Park), "{whom:?}");
        assert!((OF.remote * 2..OF.remote * 2 + span * 2).contains(&(span * yields)), "{whom:?}: {yields} yields");
    }
}

#[test]
fn after_a_slow_yield_it_sleeps_beside_the_stranger_for_1024_waits_then_for_twice_as_many() {
    let team = Team::new(&[0]);
    team.me.affinity.set(None);
    team.enroll();
    for expected in [1_024, 2_048, 4_096] {
        team.me.yield_span.set(MS * 2);
        let end = team.wait(MS * 5);
        assert_eq!(end.did.iter().filter(|&&did| did == Yield).count(), 1);
        assert_eq!(end.rules, ["sleep-beside-stranger", "yield"]);
        team.me.yield_span.set(Nanos(700));
        let slept = (0..9_999).take_while(|_| team.wait(US * 5).did.ends_with(&[Park])).count();
        assert_eq!(slept + 1, expected);
    }
}

#[test]
fn a_computing_member_is_awaited_for_fifteen_bounds() {
    let team = Team::new(&[1]);
    team.me.running.set(Some(true));
    let end = team.wait(MS * 5);
    assert_eq!(end.spun, OF.remote * 15);
    assert_eq!(end.did.iter().filter(|&&did| did == Ask(2)).count(), 14, "the bound is asked for again each time");
    assert_eq!((ended(&end), end.rules), (Ended::Parked, vec!["spin", "ask", "stay", "sleep"]));
}

/// Returns a team with more processors than members.
fn spacious(places: &[CpuId]) -> Team {
    let team = Team::new(places);
    team.me.affinity.set(Some(Affinity { width: 16, ..BOTH }));
    team.enroll();
    team
}

/// One of three members may have been moved to this processor without being able to publish that. With two
/// members, each is seen where it last ran.
#[test]
fn a_team_larger_than_its_processors_lets_others_pass_after_the_bound() {
    for (team, then) in [(Team::new(&[1, 1]), Yield), (Team::new(&[1]), Ask(2)), (spacious(&[1, 1]), Ask(2))] {
        team.me.running.set(Some(false));
        assert_eq!(team.wait(OF.remote + US).did[..3], [SpinBriefly, SPIN, then]);
    }
    let team = Team::new(&[1, 1]);
    let end = team.wait(MS * 5);
    assert_eq!((ended(&end), end.rules), (Ended::Parked, vec!["let-pass", "spin", "sleep"]), "yields have not helped");
}

#[test]
fn a_member_that_was_never_seen_may_need_this_processor_if_there_are_too_few() {
    let first_steps = |team: &Team| team.wait(OF.remote + US).did[..3].to_vec();
    for (threads, then) in [(3, Yield), (2, SPIN)] {
        let team = Team::new(&[1, 1]);
        team.whom.set(Awaits::Unseen(threads));
        assert_eq!(first_steps(&team)[1], then, "one of {threads} threads on 2 processors");
    }
    let team = Team::new(&[]);
    team.me.affinity.set(Some(Affinity { width: 1, ..BOTH }));
    team.whom.set(Awaits::Unseen(2));
    assert_eq!(first_steps(&team)[1], Yield, "two threads on one processor");
}

#[test]
fn no_more_than_four_are_asked_at_a_time() {
    let team = spacious(&[1; 9]);
    team.me.running.set(Some(false));
    assert_eq!(team.wait(US * 50).did, [SpinBriefly, SPIN, Ask(2), Ask(3), Ask(4), Ask(5), Park]);
}

#[test]
fn the_first_that_runs_is_enough() {
    let team = spacious(&[1; 3]);
    team.me.running.set(Some(true));
    assert_eq!(team.wait(US * 30).did, [SpinBriefly, SPIN, Ask(2), SPIN]);
}

#[test]
fn an_event_that_comes_while_it_asks_ends_the_wait() {
    for running in [None, Some(false), Some(true)] {
        let team = spacious(&[1; 3]);
        team.me.running.set(running);
        team.me.ask_span.set(US * 2);
        let end = team.wait(OF.remote + US);
        assert_eq!((&end.did[..], ended(&end)), (&[SpinBriefly, SPIN, Ask(2)][..], Ended::Spun));
    }
    #[cfg(feature = "probes")]
    assert!(foregather_machine::reached_here().contains_key("adaptive:7"));
}

#[test]
fn only_those_who_have_not_arrived_are_looked_at() {
    let team = spacious(&[0, 1]);
    team.whom.set(Awaits::Leader(2, None));
    assert_eq!(team.wait(US * 30).did, [SpinBriefly, SPIN, Ask(3), Park], "the first is here, but nobody waits for it");
    team.whom.set(Awaits::Leader(1, None));
    assert_eq!(team.wait(US).did, [SpinBriefly, Yield, Yield]);
    team.whom.set(Awaits::Leader(2, Some(1)));
    assert_eq!(team.wait(US).did, [Yield, Yield], "the leader is elsewhere, but waits for the one here");
}

/// Another thread used the missing time.
#[test]
fn a_preemption_extends_the_bound() {
    for gap in [Nanos::ZERO, US * 150, MS * 4] {
        let team = Team::new(&[1]);
        team.me.gap.set(gap);
        let (began, end) = (team.me.now.get(), team.wait(MS * 20));
        assert_eq!((end.spun, ended(&end)), (OF.remote, Ended::Parked), "{gap}");
        assert_eq!(team.me.now.get() - began, MS * 20);
    }
}

/// Members are fetched only if they wait behind a background thread and the move cannot do harm.
#[test]
fn a_member_is_fetched_only_if_nothing_speaks_against_it() {
    type Spoils = fn(&Team);
    let spoils: [(&str, Spoils, bool); 7] = [
        ("nothing", |_| (), true),
        ("it runs", |team| team.me.running.set(Some(true)), false),
        ("nobody knows", |team| team.me.running.set(None), false),
        (
            "a background thread here too",
            |team| {
                team.me.gap.set(US * 150);
                team.wait(US * 300);
                team.me.gap.set(Nanos::ZERO);
            },
            false,
        ),
        ("short episodes", |team| (0..9).for_each(|_| drop(team.wait(US * 3))), false),
        ("too many members", |team| team.me.affinity.set(Some(foregather_machine::Affinity { width: 1, ..BOTH })), false),
        (
            "another affinity",
            |team| {
                team.others[0].affinity.set(Some(foregather_machine::Affinity { fingerprint: 8, ..BOTH }));
                team.enroll();
            },
            false,
        ),
    ];
    for (what, spoil, fetched) in spoils {
        let team = Team::new(&[1]);
        team.me.running.set(Some(false));
        assert!(!team.wait(US * 100).did.contains(&Pull(2)), "how long an episode takes is not known yet");
        spoil(&team);
        assert_eq!(team.wait(US * 100).did.contains(&Pull(2)), fetched, "{what}");
    }
}

/// With three members, each fetch would undo the fetch of another one.
#[test]
fn only_pairs_fetch() {
    let team = Team::new(&[1, 1]);
    team.me.running.set(Some(false));
    for _ in 0..9 {
        assert!(!team.wait(US * 100).did.iter().any(|did| matches!(did, Pull(_))));
    }
}

#[test]
fn nobody_is_fetched_twice_within_half_a_tick() {
    let team = Team::new(&[1]);
    team.me.running.set(Some(false));
    team.wait(US * 100);
    assert_eq!(team.wait(US * 100).did, [SpinBriefly, SPIN, Ask(2), Pull(2), SPIN, Ask(2), Park], "one more bound, then sleep");
    let began = team.me.now.get();
    while !team.wait(US * 100).did.contains(&Pull(2)) {}
    let passed = team.me.now.get() - began;
    assert!((MS * 2 - US * 200..MS * 2 + US * 200).contains(&passed), "{passed}");
}

/// Ordinary threads get the processor only while a member with a real-time class sleeps.
#[test]
fn under_a_realtime_class_it_neither_yields_nor_moves_nor_fetches_and_spins_are_bounded() {
    let begins: [(&[u32], Option<bool>); 4] = [(&[0], None), (&[0, 0], None), (&[1], Some(true)), (&[1], Some(false))];
    for (places, running) in begins {
        for patience in [US * 10, US * 50] {
            let team = Team::new(places);
            team.me.max_spin.set(patience);
            team.me.running.set(running);
            team.me.idle.set(Some(true));
            for _ in 0..60 {
                let end = team.wait(US * 200);
                assert!(end.spun <= patience, "{places:?}: {end:?}");
                let harmless = |did: &Did| matches!(did, SpinBriefly | Did::Spin(_) | Ask(_) | Park);
                assert!(end.did.iter().all(harmless) && end.did.ends_with(&[Park]), "{places:?}: {end:?}");
            }
        }
    }
}

/// This also holds if rules are switched off: without the rule that makes it sleep, a member spins, and spins
/// are bounded.
#[test]
fn no_rule_that_is_off_makes_a_realtime_member_yield() {
    let team = Team::without("sleep-realtime,sleep-late", &[0]);
    team.me.max_spin.set(US * 50);
    let end = team.wait(MS);
    assert!(!end.did.contains(&Yield) && end.spun <= US * 50, "{end:?}");
}
