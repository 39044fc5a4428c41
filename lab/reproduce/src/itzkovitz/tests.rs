//! Simulated verdicts do not change; a journal plays the same every time, and as it was while it ran.
use super::recording::{bytes, faults, record, total};
use super::stage::Scenario;
use foregather_apps::is::Is;
use foregather_apps::lu::Lu;
use foregather_dsm::node::WaitKind;

#[test]
fn simulated_claims_come_out_as_they_are_known_to() {
    crate::as_known("itzkovitz-schuster1999", &[("messages", 4), ("costs", 13)]);
}

#[test]
fn what_is_played_is_what_ran_wherever_nobody_can_come_first() {
    let lu = record(&Lu { prefetch: false, ..Lu::small() }.into(), 4).unwrap();
    let is = record(&Is { keys_log2: 12, values_log2: 9, iterations: 2, regions: 8 }.into(), 4).unwrap();
    for run in [lu, is] {
        let show = run.replay(&Scenario::event_driven_1999()).unwrap();
        assert_eq!(faults(&show.waited()), faults(&run.waited()));
        assert_eq!(show.waited().count(WaitKind::Upgrade), run.waited().count(WaitKind::Upgrade));
        let (here, there) = (total(&run.outcome.traffic), total(&show.traffic));
        assert_eq!((there.reads, there.writes, there.invalidated), (here.reads, here.writes, here.invalidated));
        assert_eq!(bytes(&show.traffic, &run.lengths()), bytes(&run.outcome.traffic, &run.lengths()));
    }
}

#[test]
fn a_journal_plays_the_same_every_time_and_more_slowly_if_servers_are_told_late() {
    let run = record(&Lu { prefetch: false, ..Lu::small() }.into(), 3).unwrap();
    // So slow that the timer fires while somebody computes, whatever the build.
    let slow = |stage: Scenario| Scenario { pace_percent: 1_000, ..stage };
    let (late, again) =
        (run.replay(&slow(Scenario::millipage_1999())).unwrap(), run.replay(&slow(Scenario::millipage_1999())).unwrap());
    assert_eq!((late.trace, late.span(), late.frames), (again.trace, again.span(), again.frames));
    let told = run.replay(&slow(Scenario::event_driven_1999())).unwrap();
    assert!(late.span() > told.span() && late.faults().1 > told.faults().1, "{:?} and {:?}", late.faults(), told.faults());
    assert_eq!(late.faults().0, told.faults().0, "that is no matter of time");
}

#[test]
fn every_stage_plays_every_journal_to_its_end() {
    let run = record(&Is { keys_log2: 12, values_log2: 9, iterations: 2, regions: 8 }.into(), 8).unwrap();
    for stage in [Scenario::millipage_1999(), Scenario::event_driven_1999(), Scenario::modern()] {
        let stage = Scenario { pace_percent: 3_000, ..stage };
        let pages = run.play_by_pages(&stage).unwrap();
        assert_eq!((run.replay(&stage).unwrap().threads.len(), pages.threads.len()), (8, 8));
    }
}
