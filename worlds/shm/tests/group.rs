//! Groups and teams of processes: they wait at barriers, and the others distinguish a member that is killed,
//! is stopped or leaves normally.
mod common;

use common::{LONG, arguments, child, watchdog};
use foregather_barrier::{Algorithm, ForkJoin, Group};
use foregather_host::child::Child;
use foregather_machine::{Cause, Costs, Error, Nanos, Rank, SharedLines, Words, block_on};
use foregather_shm::{Process, Segment, Watch};
use foregather_thread::Word;
use foregather_wait::Policy;
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, getppid, kill_process, pidfd_open};
use std::process::Command;
use std::sync::Arc;
use std::thread::{sleep, spawn};
use std::time::Duration;

const SIZE: u32 = 4;
/// The member that is killed or stopped.
const VICTIM: Rank = 2;
const KINDS: [Algorithm; 3] = [Algorithm::Central, Algorithm::Dissemination, Algorithm::Tree];

/// Lines before the group's: PIDs by rank, the count of arrivals, and the word in which the victim reports
/// that it waits to be killed.
const CONTROL: usize = 3;
const PROCESSES: usize = 0;
const COME: usize = 1;
const READY: usize = 2;

fn segment(lines: usize) -> Arc<Segment> {
    Arc::new(Segment::of_lines(CONTROL + lines).unwrap())
}

/// Returns the control lines, and the lines of the group or the team.
fn parts(segment: &Arc<Segment>) -> (SharedLines<Word>, SharedLines<Word>) {
    segment.lines().split(CONTROL)
}

fn group(segment: &Arc<Segment>, kind: Algorithm) -> Group<Process> {
    Group::over(parts(segment).1, kind, SIZE).unwrap()
}

fn until(mut so: impl FnMut() -> bool) {
    while !so() {
        sleep(Duration::from_millis(1));
    }
}

fn policy(name: &str) -> Policy {
    Policy::parse(name, &Costs::TYPICAL).unwrap()
}

fn open(process: Pid) -> OwnedFd {
    pidfd_open(process, PidfdFlags::empty()).unwrap()
}

/// Returns the processor of a child that watches all the others, or only its parent.
fn watching(all: bool, rank: Rank, control: &SharedLines<Word>) -> Process {
    if !all {
        return Watch::parent(0).unwrap().process();
    }
    let number = |other: Rank| &control[PROCESSES][other as usize];
    until(|| (1..SIZE).all(|other| number(other).load() != 0));
    let siblings = (1..SIZE).filter(|&other| other != rank).map(|other| {
        // Only their parent can reap them, so they keep their PIDs as long as it lives.
        (other, open(Pid::from_raw(number(other).load() as i32).unwrap()))
    });
    Watch::all(siblings.chain([(0, open(getppid().unwrap()))])).process()
}

/// Waits `times` times, and checks that no member leaves before all have arrived.
fn meet(cpu: &Process, member: &mut foregather_barrier::BarrierMember<Process>, come: &Word, times: u32) -> Result<(), Error> {
    for episode in 1..=times {
        cpu.fetch_add(come, 1);
        block_on(member.wait())?;
        assert!(cpu.load(come) >= SIZE * episode, "left episode {episode} too early");
    }
    Ok(())
}

fn lost(end: &Result<(), Error>) -> bool {
    end.as_ref().is_err_and(|error| error.lost_rank() == Some(VICTIM))
}

/// Returns whether an error names the lost rank and how it was lost. The victim is killed, the others leave.
fn names(end: &Result<(), Error>, culprit: Rank) -> bool {
    if culprit == VICTIM { lost(end) } else { matches!(Error::of(end), Some(Cause::Poisoned { by: Some(by) }) if *by == culprit) }
}

#[test]
#[ignore = "runs in child processes of the next tests: rank, kind, policy, episodes, whether to watch all, and whom to miss then"]
fn member() {
    let Some((segment, told)) = arguments() else { return };
    let segment = Arc::new(segment);
    let (control, _) = parts(&segment);
    let (rank, episodes) = (told[0].parse().unwrap(), told[3].parse().unwrap());
    let cpu = watching(told[4] == "all", rank, &control);
    let group = group(&segment, Algorithm::parse(&told[1]).unwrap());
    let mut member = match &told[2][..] {
        "adaptive" => group.join(cpu.clone(), rank).unwrap(),
        name => group.member(cpu.clone(), rank, policy(name)).unwrap(),
    };
    meet(&cpu, &mut member, &control[COME][0], episodes).unwrap();
    let Some(culprit) = told.get(5) else { return };
    if rank == VICTIM {
        cpu.publish(&control[READY][0], 1);
        until(|| false);
    }
    let end = block_on(member.wait());
    assert!(names(&end, culprit.parse().unwrap()), "rank {rank}: {end:?}");
}

/// Starts the other members as processes.
fn children(test: &str, segment: &Arc<Segment>, told: &[&str], size: u32) -> Vec<Child> {
    let told =
        |rank: Rank| -> Vec<String> { [rank.to_string()].into_iter().chain(told.iter().map(|&word| word.to_owned())).collect() };
    let children: Vec<_> = (1..size).map(|rank| child(test, segment, &told(rank), &[])).collect();
    for (rank, child) in (1..).zip(&children) {
        parts(segment).0[PROCESSES][rank].store(child.id());
    }
    children
}

/// Returns the processor of rank 0, which has the others' descriptors.
fn watching_children(children: &[Child]) -> Process {
    Watch::all((1..).zip(children).map(|(rank, child)| (rank, child.pidfd().try_clone_to_owned().unwrap()))).process()
}

fn all_well(children: Vec<Child>) {
    for child in children {
        let output = child.output_within(LONG).unwrap();
        assert!(
            output.status.success(),
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn processes_meet() {
    watchdog();
    for (kind, name, watch) in [
        (Algorithm::Central, "adaptive", "all"),
        (Algorithm::Central, "block", "parent"),
        (Algorithm::Dissemination, "adaptive", "all"),
        (Algorithm::Tree, "block", "all"),
    ] {
        let segment = segment(Group::<Process>::lines(kind, SIZE));
        let others = children("member", &segment, &[kind.name(), name, "1000", watch], SIZE);
        let (cpu, group) = (watching_children(&others), group(&segment, kind));
        let mut member = group.member(cpu.clone(), 0, policy(name)).unwrap();
        meet(&cpu, &mut member, &parts(&segment).0[COME][0], 1_000).unwrap();
        all_well(others);
    }
}

/// Rank 0 watches all; the others watch all, or only their parent, which then reports to them which member it
/// has lost.
#[test]
fn a_killed_member_is_an_error_of_all_others_that_names_it() {
    watchdog();
    for kind in KINDS {
        for (name, watch) in
            [("adaptive", "parent"), ("adaptive", "all"), ("block", "parent"), ("yield", "all"), ("spin", "parent")]
        {
            let segment = segment(Group::<Process>::lines(kind, SIZE));
            let mut others = children("member", &segment, &[kind.name(), name, "10", watch, &VICTIM.to_string()], SIZE);
            let (cpu, group) = (watching_children(&others), group(&segment, kind));
            let mut member = group.member(cpu.clone(), 0, policy(name)).unwrap();
            meet(&cpu, &mut member, &parts(&segment).0[COME][0], 10).unwrap();
            let (victim, control) = (others.remove(VICTIM as usize - 1), parts(&segment).0);
            let killer = spawn(move || {
                until(|| control[READY][0].load() == 1);
                sleep(Duration::from_millis(20));
                drop(victim);
            });
            // Either this member has detected it, or another one did first.
            let end = block_on(member.wait());
            assert!(lost(&end), "{kind:?} {name} {watch}: {end:?}");
            killer.join().unwrap();
            drop(member);
            all_well(others);
        }
    }
}

#[test]
fn a_stopped_member_is_not_lost_but_late() {
    watchdog();
    let segment = segment(Group::<Process>::lines(Algorithm::Central, SIZE));
    let mut others = children("member", &segment, &["central", "adaptive", "10", "all", "0"], SIZE);
    let (cpu, group) = (watching_children(&others), group(&segment, Algorithm::Central));
    let (control, mut member) = (parts(&segment).0, group.join(cpu.clone(), 0).unwrap());
    meet(&cpu, &mut member, &control[COME][0], 10).unwrap();
    until(|| control[READY][0].load() == 1);
    let victim = others.remove(VICTIM as usize - 1);
    kill_process(Pid::from_raw(victim.id() as i32).unwrap(), Signal::STOP).unwrap();
    // The others have arrived by then.
    sleep(Duration::from_millis(200));
    let end = block_on(member.wait_for(Nanos::from_ms(300)));
    assert!(matches!(Error::of(&end), Some(Cause::TimedOut { rank: 0, peer: Some(VICTIM), .. })), "{end:?}");
    #[cfg(feature = "probes")]
    assert!(foregather_machine::reached_here().contains_key("barrier:P4"));
    assert!(victim.alive());
    drop(member);
    all_well(others);
}

/// Member 2 leaves on its own before its process exits. Only its parent in the tree needs it; member 1 keeps
/// waiting for that parent.
#[test]
fn the_end_of_a_process_whose_member_has_left_is_no_news() {
    watchdog();
    let mut gone = Child::spawn(Command::new("true"), &[]).unwrap();
    assert!(gone.wait_until(foregather_host::clock::now() + LONG).unwrap().is_some());
    let group = Group::<Process>::new(Algorithm::Tournament, 3).unwrap();
    drop(group.member(Watch::none().process(), 2, Policy::Block).unwrap());
    std::thread::scope(|threads| {
        let watcher = Watch::of(2, gone.pidfd().try_clone_to_owned().unwrap()).process();
        let one = threads.spawn(|| block_on(group.join(watcher, 1).unwrap().wait_for(LONG)));
        sleep(Duration::from_millis(150));
        assert!(!one.is_finished(), "{:?}", one.join());
        let named = || Err(Error::from(Cause::Poisoned { by: Some(2) }));
        assert_eq!(block_on(group.join(Watch::none().process(), 0).unwrap().wait()), named());
        assert_eq!(one.join().unwrap(), named());
    });
    #[cfg(feature = "probes")]
    assert!(foregather_machine::reached_in_process().contains_key("barrier:P1"));
}

#[test]
fn lines_of_another_size_are_refused() {
    let segment = segment(Group::<Process>::lines(Algorithm::Central, SIZE));
    let refused = Group::<Process>::over(parts(&segment).1, Algorithm::Central, SIZE + 1).err();
    assert!(matches!(refused.as_ref().map(Error::cause), Some(Cause::Setting { .. })), "{refused:?}");
    let refused = ForkJoin::<Process>::over(parts(&segment).1, SIZE).err();
    assert!(matches!(refused.as_ref().map(Error::cause), Some(Cause::Setting { .. })), "{refused:?}");
}

#[test]
#[ignore = "runs in child processes of the next test"]
fn worker() {
    let Some((segment, told)) = arguments() else { return };
    let segment = Arc::new(segment);
    let (control, lines) = parts(&segment);
    let (rank, cpu) = (told[0].parse().unwrap(), Watch::parent(0).unwrap().process());
    let team = ForkJoin::over(lines, 3).unwrap();
    let mut worker = team.join(cpu.clone(), rank).unwrap();
    let end = loop {
        match block_on(worker.wait()) {
            Ok(Some(region)) if region > 200 && rank == VICTIM => {
                cpu.publish(&control[READY][0], 1);
                until(|| false);
            }
            Ok(Some(_)) => {
                cpu.fetch_add(&control[COME][0], 1);
                worker.done().unwrap();
            }
            Ok(None) => break Ok(()),
            Err(error) => break Err(error),
        }
    };
    match told.get(1) {
        None => end.unwrap(),
        Some(culprit) => assert!(names(&end, culprit.parse().unwrap()), "rank {rank}: {end:?}"),
    }
}

#[test]
fn a_team_of_processes_forks_and_joins_and_misses_a_killed_slave() {
    watchdog();
    for killed in [false, true] {
        let segment = segment(ForkJoin::<Process>::lines(3));
        let (control, lines) = parts(&segment);
        let missed = [&*VICTIM.to_string()];
        let mut others = children("worker", &segment, if killed { &missed } else { &[] }, 3);
        let team = ForkJoin::over(lines, 3).unwrap();
        let mut leader = team.lead(watching_children(&others)).unwrap();
        for region in 1..=200 {
            assert_eq!(leader.fork(), Ok(region));
            block_on(leader.join()).unwrap();
            assert_eq!(control[COME][0].load(), 2 * region);
        }
        if killed {
            let victim = others.remove(VICTIM as usize - 1);
            let killer = spawn(move || {
                until(|| control[READY][0].load() == 1);
                drop(victim);
            });
            leader.fork().unwrap();
            assert!(lost(&block_on(leader.join())));
            killer.join().unwrap();
            drop(leader);
        } else {
            leader.finish().unwrap();
        }
        all_well(others);
    }
}
