//! Every rule of the table decides in some history, and no longer decides when it is switched off.
use crate::script::{Awaits, MS, OF, Team, US};
use foregather_machine::{CpuId, Nanos};
use foregather_wait::adaptive::{Rules, TABLE};

/// Waits `times` times for `span`, one wait immediately after another.
fn waits(team: &Team, times: usize, span: Nanos) {
    for _ in 0..times {
        let end = team.wait(span);
        assert!(end.result.is_ok(), "{end:?}");
    }
}

/// Finds a member on this processor more often than needed for a crowd, in episodes that are neither tiny nor
/// long.
fn crowd(team: &Team) {
    waits(team, 10, US * 3);
}

fn not_to_be_moved(team: &Team) {
    team.me.affinity.set(None);
    team.enroll();
}

/// Returns the processors of the other members for [`provoke`].
fn places(rule: &str) -> &'static [CpuId] {
    match rule {
        "sleep-in-crowd" => &[0, 1],
        "let-pass" => &[1, 1],
        "spin" | "ask" | "stay" | "pull" | "sleep" | "give-way" => &[1],
        _ => &[0],
    }
}

/// Runs a history that leads to a state in which `rule` decides.
fn provoke(rule: &str, team: &Team) {
    match rule {
        "flee" | "sleep-in-crowd" => {
            team.me.yield_span.set(MS * 2);
            waits(team, 1, MS * 5);
        }
        "spread" => {
            crowd(team);
            team.me.idle.set(Some(true));
            team.me.pass(MS);
            waits(team, 1, US * 30);
        }
        "scout" => crowd(team),
        "split-tiny" => waits(team, 40, Nanos(700)),
        "sleep-beside-stranger" => {
            not_to_be_moved(team);
            team.me.yield_span.set(MS * 2);
            waits(team, 1, MS * 5);
        }
        "sleep-realtime" => {
            team.me.max_spin.set(US * 50);
            waits(team, 1, US * 100);
        }
        "sleep-late" => {
            not_to_be_moved(team);
            waits(team, 1, MS * 5);
        }
        "yield" => waits(team, 1, US * 3),
        "stay" => {
            team.me.running.set(Some(true));
            waits(team, 1, US * 100);
        }
        "pull" => {
            team.me.running.set(Some(false));
            waits(team, 2, US * 100);
        }
        "give-way" => {
            team.whom.set(Awaits::Message(Some(1)));
            team.me.gap.set(MS * 3);
            waits(team, 2, US * 100);
        }
        "doze" => {
            team.whom.set(Awaits::Message(Some(1)));
            waits(team, 10, MS * 5);
        }
        _ => waits(team, 1, US * 100),
    }
}

fn followed(team: &Team, rule: &str) -> u64 {
    team.snapshot().rules[TABLE.iter().position(|row| row.name == rule).unwrap()]
}

#[test]
fn every_rule_decides_in_some_history() {
    for rule in TABLE.iter().map(|rule| rule.name) {
        let team = Team::new(places(rule));
        provoke(rule, &team);
        assert!(followed(&team, rule) > 0, "{rule}: {}", team.snapshot());
    }
}

/// A wait for a message sleeps early after a preemption, and no longer does so a few ticks later. A team
/// continues to spin.
#[test]
fn only_messages_give_way_and_only_beside_others() {
    for (whom, gap, expected) in [
        (Awaits::Message(Some(1)), MS * 3, 1),
        (Awaits::Message(None), MS * 3, 1),
        (Awaits::Message(Some(1)), Nanos::ZERO, 0),
        (Awaits::Copy(1), MS * 3, 0),
        (Awaits::Leader(1, None), MS * 3, 0),
    ] {
        let team = Team::new(&[1]);
        team.whom.set(whom);
        team.me.gap.set(gap);
        waits(&team, 2, US * 100);
        assert_eq!(followed(&team, "give-way"), expected, "{whom:?}, preempted for {gap}");
        team.me.pass(MS * 100);
        waits(&team, 1, US * 100);
        assert_eq!(followed(&team, "give-way"), expected, "long after");
    }
}

/// Most waits for messages end in the blind pauses, so waits for messages read the lost time from the system;
/// waits at barriers do not. In 50 ms, a kernel thread occasionally uses a few microseconds, and a background
/// thread uses a time slice.
#[test]
fn time_lost_between_waits_is_asked_after() {
    let turn = MS * 3;
    for (whom, lost, expected) in
        [(Awaits::Message(Some(1)), turn, 1), (Awaits::Message(Some(1)), US * 2_400, 0), (Awaits::All, turn, 0)]
    {
        let team = Team::new(&[1]);
        team.whom.set(whom);
        for (queued, expected) in [(turn, 0), (turn, 0), (turn + lost, expected), (turn + lost, expected)] {
            team.me.run_queue_wait.set(Some(queued));
            team.me.pass(MS * 50);
            waits(&team, 1, US * 100);
            assert_eq!(followed(&team, "give-way"), expected, "{whom:?}, lost {lost}");
        }
    }
}

/// Twenty messages in a millisecond: in such a short time, only a preemption counts, not a share of the time.
#[test]
fn an_interrupt_is_no_lost_time() {
    for (lost, expected) in [(US * 90, 0), (US * 110, 1)] {
        let team = Team::new(&[1]);
        team.whom.set(Awaits::Message(Some(1)));
        for queued in [Nanos::ZERO, lost] {
            team.me.run_queue_wait.set(Some(queued));
            team.me.pass(OF.tick.percent(25));
            waits(&team, 1, US * 100);
        }
        assert_eq!(followed(&team, "give-way"), expected, "lost {lost}");
    }
}

/// A member that loses a time slice moves to a processor that it would share with another member if episodes
/// are shorter than a wake-up.
#[test]
fn a_member_flees_only_if_there_is_little_to_compute() {
    for (episode, fled) in [(OF.remote.percent(80), true), (OF.remote.percent(120), false)] {
        let team = Team::without("scout,spread", places("flee"));
        waits(&team, 40, episode);
        assert_eq!(followed(&team, "flee"), 0);
        team.me.yield_span.set(MS * 2);
        waits(&team, 1, MS * 5);
        assert_eq!(followed(&team, "flee") > 0, fled, "{episode}: {}", team.snapshot());
    }
}

/// The slow yield was in an earlier wait, in which another member moved. It still counts as long as there is
/// a crowd.
#[test]
fn a_stranger_beside_a_crowd_is_fled_from_later_too() {
    let team = Team::without("sleep-in-crowd", &[0, 1]);
    crowd(&team);
    team.mover().set(1);
    team.me.yield_span.set(MS * 2);
    waits(&team, 1, MS * 5);
    assert_eq!(team.snapshot().moves, 0);
    team.mover().set(0);
    waits(&team, 1, US * 3);
    assert_eq!((team.snapshot().moves, followed(&team, "flee")), (1, 2));
}

#[test]
fn a_rule_that_is_switched_off_is_not_followed_and_waits_still_end() {
    for rule in Rules::names().filter(|&name| name != "blink") {
        let team = Team::without(rule, places(rule));
        provoke(rule, &team);
        assert_eq!(followed(&team, rule), 0, "{rule}");
        assert_eq!(team.mover().get(), 0);
    }
}

#[test]
fn an_account_tells_what_was_done() {
    for (rule, acts) in [("spread", [1, 0, 0, 1, 1]), ("pull", [0, 0, 1, 0, 0])] {
        let team = Team::new(places(rule));
        provoke(rule, &team);
        let all = team.snapshot();
        assert_eq!([all.moves, all.moves_refused, all.pulls, all.scouts, all.scouts_back], acts, "{rule}");
    }
    let team = Team::new(&[1, 0]);
    waits(&team, 1, US * 3);
    waits(&team, 1, US * 2);
    assert_eq!(team.snapshot().worst_awaited, Some(2), "the one that was here");
}
