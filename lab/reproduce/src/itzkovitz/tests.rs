//! Simulated verdicts do not change; a journal plays the same every time, and as it was while it ran.
use super::archive::{Archive, EIGHT};
use super::recording::{bytes, record, total};
use super::scenario::Scenario;
use crate::TrialOptions;
use foregather_bench::apps::AppResult;
use foregather_bench::apps::is::Is;
use foregather_bench::apps::lu::Lu;
use foregather_bench::apps::sor::Sor;
use foregather_dsm::node::{Stats, WaitKind};

/// Faults of all kinds.
fn faults(waited: &Stats) -> u64 {
    [WaitKind::ReadFault, WaitKind::WriteFault, WaitKind::Upgrade].into_iter().map(|kind| waited.count(kind)).sum()
}

/// Faults of all threads by kind, as they were while it ran, from the start of the clock on.
fn waited(outcome: &AppResult<()>) -> Stats {
    outcome.threads.iter().fold(Stats::default(), |sum, played| sum.plus(&played.stats))
}

#[test]
fn simulated_claims_come_out_as_they_are_known_to() {
    crate::as_known("itzkovitz-schuster1999", &[("messages", 4), ("costs", 13)]);
}

#[test]
fn what_is_played_is_what_ran_wherever_nobody_can_come_first() {
    let lu = record(&Lu { prefetch: false, ..Lu::small() }.into(), 4).unwrap();
    let is = record(&Is { keys_log2: 12, values_log2: 9, iterations: 2, regions: 8 }.into(), 4).unwrap();
    for (run, outcome) in [lu, is] {
        let show = run.replay(&Scenario::event_driven_1999()).unwrap();
        assert_eq!(faults(&show.waited()), faults(&waited(&outcome)));
        assert_eq!(show.waited().count(WaitKind::Upgrade), waited(&outcome).count(WaitKind::Upgrade));
        let (here, there) = (total(&outcome.traffic), total(&show.traffic));
        assert_eq!((there.reads, there.writes, there.invalidated), (here.reads, here.writes, here.invalidated));
        assert_eq!(bytes(&show.traffic, &run.lengths()), bytes(&outcome.traffic, &run.lengths()));
    }
}

/// In each half iteration each row at a border is written once and read once by the neighbour, and either is
/// a fault if the other was there since the last time: if they come in the same order as before both are, if
/// in the other order the one that comes first is not. A reader that comes while a row is being written makes
/// for one more.
#[test]
fn sor_has_one_to_two_faults_for_each_row_at_a_border_and_half_iteration() {
    const HOSTS: u32 = 4;
    let sor = Sor::small();
    let (run, outcome) = record(&sor.into(), HOSTS).unwrap();
    let least = 2 * u64::from(HOSTS - 1) * 2 * (sor.iterations as u64 - 1);
    let played = run.replay(&Scenario::event_driven_1999()).unwrap();
    for waited in [waited(&outcome), played.waited()] {
        assert!((least..=2 * least + least / 10).contains(&faults(&waited)), "{} of {least}", faults(&waited));
    }
}

#[test]
fn a_journal_plays_the_same_every_time_and_more_slowly_if_servers_are_told_late() {
    let (run, _) = record(&Lu { prefetch: false, ..Lu::small() }.into(), 3).unwrap();
    // So slow that the timer fires while a thread computes, whatever the build.
    let slow = |scenario: Scenario| Scenario { pace_percent: 1_000, ..scenario };
    let (late, again) =
        (run.replay(&slow(Scenario::millipage_1999())).unwrap(), run.replay(&slow(Scenario::millipage_1999())).unwrap());
    assert_eq!((late.trace, late.span(), late.frames), (again.trace, again.span(), again.frames));
    let told = run.replay(&slow(Scenario::event_driven_1999())).unwrap();
    assert!(late.span() > told.span() && late.faults().1 > told.faults().1, "{:?} and {:?}", late.faults(), told.faults());
    assert_eq!(late.faults().0, told.faults().0, "that is no matter of time");
}

#[test]
fn every_stage_plays_every_journal_to_its_end() {
    let (run, _) = record(&Is { keys_log2: 12, values_log2: 9, iterations: 2, regions: 8 }.into(), 8).unwrap();
    for scenario in [Scenario::millipage_1999(), Scenario::event_driven_1999(), Scenario::modern()] {
        let scenario = Scenario { pace_percent: 3_000, ..scenario };
        let pages = run.play_by_pages(&scenario).unwrap();
        assert_eq!((run.replay(&scenario).unwrap().threads.len(), pages.threads.len()), (8, 8));
    }
}

/// Nothing of it comes from this machine.
#[test]
fn shipped_journals_play_the_same_on_every_machine() {
    let is = Archive::of(&TrialOptions::default()).unwrap().get("is", EIGHT).unwrap();
    let scenario = Scenario { pace_percent: 3_000, ..Scenario::millipage_1999() };
    let show = is.replay(&scenario).unwrap();
    assert_eq!((faults(&show.waited()), show.frames, show.span().0), (1_200, 8_752, 309_508_350));
}
