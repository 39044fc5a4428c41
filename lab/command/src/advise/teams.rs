//! The teams of a program, from what their threads recorded: how long members compute in a region, and how
//! much that differs.
use foregather_host::watched::page::{ActivityCounts, ThreadActivity};
use foregather_machine::Nanos;
use foregather_measure::counterfactual::{RecordedWork, TeamWork};
use foregather_watch::{Observation, ThreadAccount, TimeSplit};

/// Other work than teams' that takes this part of the processor time decides, too.
const OUTSIDE: f64 = 0.1;
/// Parts that sleep for this part of their time wait for something that is not modelled.
const SLEEPS: f64 = 0.1;

/// Stretches of parts with a known processor time, at least.
const KNOWN: u64 = 8;
/// Readings of the clock by the preload library that a part of a region contains, and a gap between two.
const IN_A_PART: f64 = 2.0;
const IN_A_GAP: f64 = 3.0;

/// The teams of the program, from what their threads recorded.
pub(super) fn recorded_work(seen: &Observation, clock_ns: f64) -> Result<RecordedWork, String> {
    let leads = |account: &&ThreadAccount| account.recorded.as_ref().is_some_and(|record| record.counts.regions > 0);
    let leaders: Vec<&ThreadAccount> = seen.ledger.threads.values().filter(leads).collect();
    if leaders.is_empty() {
        return Err("no parallel regions were recorded".to_owned());
    }
    let (mut teams, mut within) = (Vec::new(), Nanos::ZERO);
    for leader in leaders {
        let (team, ran) = team_of(seen, leader, clock_ns)?;
        within += ran;
        teams.push(team);
    }
    let all = seen.ledger.threads.values().fold(Nanos::ZERO, |sum, account| sum + account.total.ran);
    if (all - within).0 as f64 > all.0 as f64 * OUTSIDE {
        return Err("threads outside of parallel regions use the processors, too".to_owned());
    }
    let lasted = seen.lasted().0.max(1) as f64;
    let others = seen.competitors.iter().map(|other| (other.cpu.0 as f64 / lasted, other.last_cpu)).collect();
    Ok(RecordedWork { teams, others })
}

/// The team of a leader, and the processor time of its threads.
fn team_of(seen: &Observation, leader: &ThreadAccount, clock_ns: f64) -> Result<(TeamWork, Nanos), String> {
    let (process, first) = (leader.last.process, leader.last.thread);
    let is_member = |account: &&ThreadAccount| {
        let is_of_team = account.recorded.as_ref().is_some_and(|record| record.creator == first && record.counts.parts > 0);
        account.last.process == process && account.last.thread != first && is_of_team
    };
    let members: Vec<&ThreadAccount> = [leader].into_iter().chain(seen.ledger.threads.values().filter(is_member)).collect();
    let counts = |account: &ThreadAccount| account.recorded.as_ref().map(|record| record.counts).unwrap_or_default();
    if counts(leader).nested > 0 {
        return Err("regions within regions are not modelled".to_owned());
    }
    let readings = |count: f64| Nanos((count * clock_ns) as u64);
    let (mut parts, mut slept, mut spent) = (Vec::new(), Nanos::ZERO, Nanos::ZERO);
    for member in &members {
        let during = member.during(ThreadActivity::Part);
        // Sleeps until a partner arrives are near by: looks do not tell them apart exactly.
        let lock = member.during(ThreadActivity::Lock).total();
        slept += during.device + lock;
        spent += during.total() + lock;
        let ran = exact_work(member).unwrap_or_else(|| recorded_of(member, ThreadActivity::Part, during).ran);
        let part = Nanos(ran.0 / counts(member).parts.max(1));
        parts.push((part - readings(IN_A_PART)).max(Nanos(1)));
    }
    if slept.0 as f64 > spent.0 as f64 * SLEEPS {
        return Err("parts of regions sleep: in files, at locks or by themselves".to_owned());
    }
    let regions = counts(leader).regions;
    let own = recorded_of(leader, ThreadActivity::Own, leader.during(ThreadActivity::Own));
    let sum = |of: fn(&ActivityCounts) -> u64| members.iter().map(|member| of(&counts(member))).sum::<u64>();
    let (episodes, waited) = (sum(|counts| counts.episodes), sum(|counts| counts.waited_ns));
    let barriers = (episodes as f64 / regions as f64).round().clamp(1.0, 64.0) as u32;
    let spread = spread(seen, &parts, barriers, waited as f64 / (episodes.max(1) * (parts.len() as u64 - 1).max(1)) as f64);
    let ran = members.iter().fold(Nanos::ZERO, |sum, member| sum + member.total.ran);
    let (gap, asleep) = (Nanos(own.ran.0 / regions) - readings(IN_A_GAP), own.asleep + own.device);
    Ok((TeamWork { process, regions, barriers, gap, parts, spread, asleep, overhead: Nanos::ZERO, ran }, ran))
}

/// The processor time of a thread's parts, if the thread itself has read most of it.
fn exact_work(account: &ThreadAccount) -> Option<Nanos> {
    let work = account.recorded.as_ref()?.part_work;
    let is_known = work.known >= KNOWN && 2 * work.known >= work.stretches;
    is_known.then(|| Nanos((work.known_ns as f64 / work.known as f64 * work.stretches as f64) as u64))
}

/// Returns whether the work of all members of teams is known without looks.
pub(super) fn is_exact(seen: &Observation) -> bool {
    let has_parts = |account: &&ThreadAccount| account.recorded.as_ref().is_some_and(|record| record.counts.parts > 0);
    seen.ledger.threads.values().filter(has_parts).all(|account| exact_work(account).is_some())
}

/// Looks end a moment before the program does, and what the threads recorded does not: so looks say only
/// how an activity was spent.
fn recorded_of(account: &ThreadAccount, activity: ThreadActivity, seen: TimeSplit) -> TimeSplit {
    let Some(record) = &account.recorded else { return seen };
    let by = record.times[activity as usize].0 as f64 / seen.total().0.max(1) as f64;
    let scaled = |time: Nanos| Nanos((time.0 as f64 * by) as u64);
    TimeSplit { ran: scaled(seen.ran), ready: scaled(seen.ready), device: scaled(seen.device), asleep: scaled(seen.asleep) }
}

/// Returns whether threads waited for processors so long that arrivals say nothing about work.
pub(super) fn is_disturbed(seen: &Observation) -> bool {
    let spent = seen.spent();
    spent.ready.0 as f64 > spent.total().0 as f64 * 0.03
}

/// By how much parts differ from region to region, from how long the others wait: more than constant parts
/// would make them wait. For two members the mean of the absolute difference is 0.8 standard deviations of
/// the difference.
fn spread(seen: &Observation, parts: &[Nanos], barriers: u32, waited_ns: f64) -> Nanos {
    let (Some(most), mean) = (parts.iter().max(), parts.iter().map(|part| part.0 as f64).sum::<f64>() / parts.len() as f64)
    else {
        return Nanos::ZERO;
    };
    if parts.len() < 2 || is_disturbed(seen) {
        return Nanos::ZERO;
    }
    let barriers = f64::from(barriers);
    let constant = (most.0 as f64 - mean) * parts.len() as f64 / (parts.len() - 1) as f64 / barriers;
    let more = (waited_ns * waited_ns - constant * constant).max(0.0).sqrt() / 0.8 / 2f64.sqrt();
    Nanos(more.min(mean / barriers) as u64)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use foregather_host::watched::page::{KnownWork, RecordedThread};
    use foregather_host::watched::program::ProgramFacts;
    use foregather_host::watched::task::{TaskFacts, TaskReading, TaskState};

    /// A program of a second: its two threads have 100 regions of 6 ms, and between them the leader works for
    /// 4 ms in which the worker spins.
    pub(in super::super) fn spinning() -> Observation {
        let runtimes = vec!["libgomp".to_owned()];
        let settings = vec![("OMP_WAIT_POLICY".to_owned(), "active".to_owned())];
        let mut seen = Observation {
            programs: vec![ProgramFacts { process: 1, name: "sum".into(), runtimes, settings }],
            usable: vec![0, 1],
            command: Some("./sum 3".into()),
            ran_for: Some(Nanos::from_ms(1_000)),
            ..Observation::default()
        };
        for at in (0..=1_000).step_by(10) {
            let look = |thread: u32| {
                let (state, ran, cpu) = (TaskState::Runnable, Nanos::from_ms(at), thread - 1);
                let reading =
                    TaskReading { process: 1, thread, state, ran, queued: Nanos::ZERO, cpu, disk_faults: 0, call: None };
                let (is_part, between) = (at % 50 < 30, [ThreadActivity::Own, ThreadActivity::Idle][cpu as usize]);
                let activity = if is_part { ThreadActivity::Part } else { between };
                let mut record = RecordedThread { process: 1, thread, team: 2, creator: cpu, activity, ..Default::default() };
                record.times[ThreadActivity::Part as usize] = Nanos(at * 600_000);
                record.times[between as usize] = Nanos(at * 400_000);
                (record.counts.regions, record.counts.parts, record.counts.sized) = (u64::from(cpu == 0) * at / 10, at / 10, 1);
                (record.counts.episodes, record.counts.members) = (u64::from(cpu == 0) * at / 10, 2);
                (reading, record)
            };
            let (readings, records): (Vec<_>, Vec<_>) = [look(1), look(2)].into_iter().unzip();
            seen.ledger.add(Nanos::from_ms(at), &readings, &records);
        }
        for thread in [1, 2] {
            seen.ledger.note(thread, TaskFacts { name: "sum".into(), allowed: vec![0, 1], preempted: 0, slept: 0 });
        }
        seen
    }

    fn is_near(time: Nanos, us: u64) -> bool {
        time.0.abs_diff(us * 1_000) < us * 50
    }

    #[test]
    fn a_team_is_known_by_what_its_threads_recorded() {
        let seen = spinning();
        let work = recorded_work(&seen, 30.0).unwrap();
        let [team] = &work.teams[..] else { panic!("{work:?}") };
        assert_eq!((team.regions, team.barriers, team.parts.len(), team.spread), (100, 1, 2, Nanos::ZERO));
        assert!(is_near(team.gap, 4_000) && team.parts.iter().all(|part| is_near(*part, 6_000)), "{team:?}");
        assert!(!is_disturbed(&seen) && recorded_work(&Observation::default(), 30.0).is_err());
    }

    #[test]
    fn work_that_threads_have_read_counts_more_than_looks() {
        let mut seen = spinning();
        assert!(!is_exact(&seen));
        for account in seen.ledger.threads.values_mut() {
            account.recorded.as_mut().unwrap().part_work = KnownWork { stretches: 100, known: 60, known_ns: 60 * 2_000_000 };
        }
        let parts = recorded_work(&seen, 30.0).unwrap().teams[0].parts.clone();
        assert!(is_exact(&seen) && parts.iter().all(|part| is_near(*part, 2_000)), "{parts:?}");
        let worker = seen.ledger.threads.get_mut(&2).unwrap().recorded.as_mut().unwrap();
        worker.part_work.known = 49;
        assert!(!is_exact(&seen), "less than half is known");
    }

    #[test]
    fn parts_that_differ_from_region_to_region_make_others_wait() {
        let parts = [Nanos(1_000_000), Nanos(1_000_000)];
        let seen = spinning();
        // Two normally distributed parts differ by 1.13 standard deviations on average.
        let found = spread(&seen, &parts, 1, 113_000.0);
        assert!(found.0.abs_diff(100_000) < 2_000, "{found}");
        let uneven = [Nanos(1_000_000), Nanos(1_400_000)];
        assert_eq!(spread(&seen, &uneven, 1, 400_000.0), Nanos::ZERO, "the difference is always the same");
    }
}
