//! Waits on shared words between processes, and the death of a peer.
mod common;

use common::{LONG, arguments, child, command, watchdog};
use foregather_host::{child::Child, clock};
use foregather_machine::{Cause, Error, Nanos, Placement, Rank, WaitContext, Words, block_on};
use foregather_shm::{Process, Segment, Watch};
use foregather_thread::{Guard, Thread};
use foregather_wait::Policy;

const POLICIES: [Policy; 4] = [Policy::Spin, Policy::Yield, Policy::Block, Policy::TwoPhase { spin: Nanos::from_us(10) }];

fn wait(cpu: &Process, policy: Policy, segment: &Segment, word: u32, value: u32) -> Result<(), Error> {
    let why = WaitContext::new("test", 0).of(1).until(clock::now() + LONG);
    let word = segment.word(word);
    block_on(policy.wait(cpu, word, why, || (cpu.load(word) == value).then_some(()))).map(|_| ())
}

/// Returns whether `end` is the loss of `peer`, with the time of detection and the wait's context.
fn lost(end: &Result<(), Error>, peer: Rank) -> bool {
    matches!(Error::of(end), Some(Cause::PeerLost { rank, since, doing: "test" }) if *rank == peer && *since > Nanos::ZERO)
}

fn watching(child: &Child) -> Process {
    Watch::of(1, child.pidfd().try_clone_to_owned().unwrap()).process()
}

#[test]
#[ignore = "runs in a child process of the next two tests"]
fn echo() {
    let Some((segment, arguments)) = arguments() else { return };
    let cpu = Watch::parent(0).unwrap().process();
    let policy = POLICIES[arguments[0].parse::<usize>().unwrap()];
    for turn in 1..=200 {
        wait(&cpu, policy, &segment, 0, turn).unwrap();
        cpu.publish(segment.word(1), turn);
    }
    // Until it is killed.
    wait(&cpu, Policy::Block, &segment, 0, 999).unwrap();
}

#[test]
fn processes_hand_over_and_a_killed_one_is_noticed() {
    watchdog();
    for (number, policy) in POLICIES.into_iter().enumerate() {
        let segment = Segment::new(2, 0).unwrap();
        let other = child("echo", &segment, &[number.to_string()], &[]);
        let cpu = watching(&other);
        for turn in 1..=200 {
            cpu.publish(segment.word(0), turn);
            wait(&cpu, policy, &segment, 1, turn).unwrap();
        }
        let killer = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(30));
            drop(other);
        });
        let end = wait(&cpu, policy, &segment, 1, 201);
        assert!(lost(&end, 1), "{policy:?}: {end:?}");
        killer.join().unwrap();
        // Its writes before its death still count.
        wait(&cpu, policy, &segment, 1, 200).unwrap();
    }
}

#[test]
#[ignore = "runs in a child process of the next test, as the one that is killed"]
fn parent() {
    if arguments().is_some() {
        // Not a `Child` of the library, which the kernel would kill together with this process.
        command("orphan").spawn().unwrap().wait().unwrap();
    }
}

#[test]
#[ignore = "runs in a grandchild of the next test"]
fn orphan() {
    let Some((segment, _)) = arguments() else { return };
    let cpu = Watch::parent(7).unwrap().process();
    cpu.publish(segment.word(0), 1);
    let lost = lost(&wait(&cpu, Policy::Block, &segment, 1, 1), 7);
    cpu.publish(segment.word(0), if lost { 2 } else { 3 });
}

#[test]
fn a_killed_parent_is_noticed() {
    watchdog();
    let segment = Segment::new(2, 0).unwrap();
    let parent = child("parent", &segment, &[], &[]);
    let cpu = watching(&parent);
    wait(&cpu, Policy::Block, &segment, 0, 1).unwrap();
    drop(parent);
    wait(&Watch::none().process(), Policy::Block, &segment, 0, 2).unwrap();
}

#[test]
fn poison_and_deadlines_end_waits_as_between_threads() {
    let segment = Segment::new(1, 0).unwrap();
    let cpu = Watch::none().process();
    let why = WaitContext::new("test", 3).until(clock::now() + Nanos::from_ms(5));
    let end = block_on(Policy::Block.wait(&cpu, segment.word(0), why, || None::<()>));
    assert!(matches!(Error::of(&end), Some(Cause::TimedOut { rank: 3, .. })), "{end:?}");
    cpu.poison(segment.word(0));
    assert_eq!(wait(&cpu, Policy::Spin, &segment, 0, 1), Err(Error::from(Cause::Poisoned { by: None })));
}

/// Checks that a sleeper detects a change of its word without a wake-up, as by a process that is killed in
/// between, long before its wait times out.
fn without_its_wake<G: Guard>(cpu: &Thread<G>) {
    let (segment, began) = (Segment::new(1, 0).unwrap(), clock::now());
    let (word, longest) = (segment.word(0), Nanos::from_ms(2_000));
    std::thread::scope(|threads| {
        threads.spawn(|| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            word.store(1);
        });
        let why = WaitContext::new("test", 0).until(began + longest);
        block_on(Policy::Block.wait(cpu, word, why, || (word.load() == 1).then_some(()))).unwrap();
    });
    assert!(clock::now() - began < longest, "slept on");
}

#[test]
fn a_change_whose_wake_never_comes_is_found() {
    without_its_wake(&Watch::none().process());
}

/// The negative control: a thread that relies on the wake.
#[test]
#[should_panic(expected = "slept on")]
fn a_sleep_without_a_bound_misses_a_change_without_its_wake() {
    without_its_wake(&Thread::shared());
}

#[test]
#[ignore = "runs in a child process of the next test"]
fn asleep_then_busy() {
    let Some((segment, _)) = arguments() else { return };
    let cpu = Watch::parent(0).unwrap().process();
    cpu.publish(segment.word(1), cpu.identity().unwrap());
    wait(&cpu, Policy::Block, &segment, 0, 1).unwrap();
    loop {
        core::hint::spin_loop();
    }
}

/// Other programs may hold the processors, so the test polls until it has seen the wanted state.
#[test]
fn a_running_thread_of_another_process_is_told_from_a_sleeping_one() {
    watchdog();
    let segment = Segment::new(2, 0).unwrap();
    let other = child("asleep_then_busy", &segment, &[], &[]);
    let cpu = watching(&other);
    while cpu.load(segment.word(1)) == 0 {
        std::thread::yield_now();
    }
    let thread = cpu.load(segment.word(1));
    let seen = |wanted| while cpu.running(thread) != Some(wanted) {};
    seen(false);
    cpu.publish(segment.word(0), 1);
    if foregather_host::affinity::allowed().len() > 1 {
        seen(true);
    }
    drop(other);
    seen_gone(&cpu, thread);
}

fn seen_gone(cpu: &Process, thread: foregather_machine::ThreadId) {
    assert_eq!(cpu.running(thread), None, "there is no such thread any more");
}
