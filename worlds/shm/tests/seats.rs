//! Slots of processes that cannot read each other's `/proc`, or that have different PIDs for the same
//! process: a live one is never reported dead, a dead one is named, and if nothing can be known, an error
//! says so.
mod common;

use common::{arguments, child_with, watchdog};
use foregather_host::child::Child;
use foregather_host::clock;
use foregather_machine::{Cause, Error, Nanos, Park, Rank, WaitContext, Words};
use foregather_shm::{Process, SeatState, Seats, Segment, Watch};
use rustix::process::{Signal, chroot, geteuid, pidfd_send_signal};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// The slots: this process, the child, and one whose process dies.
const SEATS: usize = 3;
const HERE: Rank = 0;
const THERE: Rank = 1;
const VICTIM: Rank = 2;
/// The words of the last line: what the child has seen, and that it may continue.
const SEEN: usize = 0;
const GO: usize = 1;

/// What a process finds out about another one, as a number in a word.
const ALIVE: u32 = 1;
const LOST: u32 = 2;
const UNSEEN: u32 = 3;
const OTHER: u32 = 4;

fn memory(segment: &Arc<Segment>) -> (Seats, foregather_machine::SharedLines<foregather_thread::Word>) {
    let (seats, words) = segment.lines().split(SEATS);
    (Seats::over(seats), words)
}

/// Watches one rank for that long, and returns the first error.
fn see(seats: &Seats, rank: Rank, span: Nanos) -> u32 {
    let (cpu, word) = (Watch::seats(seats, rank..rank + 1).process(), foregather_thread::Word::zero());
    let (why, until) = (WaitContext::new("test", HERE).of(rank), clock::now() + span);
    loop {
        match cpu.check(&word, &why).map_err(|error| (error.cause().clone(), error)) {
            Err((Cause::PeerLost { rank: lost, .. }, _)) if lost == rank => return LOST,
            Err((Cause::Unseen { rank: unseen, .. }, error)) if unseen == rank => {
                assert!(error.to_string().contains("; "), "no remedy: {error}");
                return UNSEEN;
            }
            Err((_, other)) => {
                println!("{other}");
                return OTHER;
            }
            Ok(()) if clock::now() >= until => return ALIVE,
            Ok(()) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

fn until(word: &foregather_thread::Word, value: u32) -> u32 {
    let began = std::time::Instant::now();
    while word.load() < value {
        assert!(began.elapsed() < Duration::from_secs(30), "the other process does not come");
        std::thread::sleep(Duration::from_millis(1));
    }
    word.load()
}

#[test]
#[ignore = "runs in a child process of the other tests"]
fn watching_child() {
    let Some((segment, told)) = arguments() else { return };
    let (segment, cpu) = (Arc::new(segment), Watch::none().process());
    let (seats, words) = memory(&segment);
    let locks_up = || chroot(std::env::temp_dir()).unwrap();
    if told[0] == "chroot-before" {
        locks_up();
    }
    seats.take(THERE);
    if told[0] == "chroot-after" {
        locks_up();
    }
    let say = |what: u32| cpu.publish(&words[0][SEEN], cpu.load(&words[0][SEEN]) * 8 + what);
    say(see(&seats, HERE, Nanos::from_ms(200)));
    say(see(&seats, VICTIM, Nanos::from_ms(200)));
    until(&words[0][GO], 1);
    say(see(&seats, VICTIM, Nanos::from_ms(2_000)));
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
#[ignore = "runs in a child process of the other tests"]
fn victim_child() {
    let Some((segment, _)) = arguments() else { return };
    memory(&Arc::new(segment)).0.take(VICTIM);
    std::thread::sleep(Duration::from_secs(60));
}

/// A way to start a program in an environment where it sees less.
struct Place {
    name: &'static str,
    wrapper: &'static [&'static str],
}

const HIDDEN: &str = "mount -t proc -o hidepid=2 proc /proc && exec \"$@\"";
const HIDDEN_USER: &str =
    "mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\"";
const PLACES: [Place; 4] = [
    Place { name: "hidepid", wrapper: &["unshare", "-m", "--propagation", "private", "sh", "-c", HIDDEN, "sh"] },
    Place { name: "another user", wrapper: &["unshare", "-m", "--propagation", "private", "sh", "-c", HIDDEN_USER, "sh"] },
    Place { name: "chroot-before", wrapper: &[] },
    Place { name: "chroot-after", wrapper: &[] },
];
const OTHER_NAMESPACES: [Place; 2] = [
    Place { name: "pid namespace, with the parent's /proc", wrapper: &["unshare", "--pid", "--fork", "--kill-child"] },
    Place { name: "pid namespace", wrapper: &["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"] },
];

/// Returns why such an environment cannot be created here.
fn cannot(place: &Place) -> Option<String> {
    if !geteuid().is_root() {
        return Some("it needs root".to_owned());
    }
    let [program, rest @ ..] = place.wrapper else { return None };
    let tried = Command::new(program).args(rest).arg("true").output();
    match tried {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Some(error.to_string()),
    }
}

/// Starts a child in such an environment, which watches this process and the victim.
fn watching(place: &Place, segment: &Arc<Segment>) -> Child {
    common::child_in(place.wrapper, "watching_child", segment.fd(), &[place.name.split(' ').next().unwrap().to_owned()])
}

fn kill(child: &Child) {
    pidfd_send_signal(child.pidfd(), Signal::KILL).unwrap();
}

/// Returns what both sides see: the child of this process, and of a victim before and after its death; and
/// this process of the child before and after its death.
fn seen_in(place: &Place) -> ([u32; 3], [u32; 2]) {
    let segment = Arc::new(Segment::of_lines(SEATS + 1).unwrap());
    let (seats, words) = memory(&segment);
    seats.take(HERE);
    let victim = child_with("victim_child", segment.fd(), &[], &[]);
    while !matches!(seats.state(VICTIM), SeatState::Lives(_)) {
        std::thread::sleep(Duration::from_millis(1));
    }
    let child = watching(place, &segment);
    let both = until(&words[0][SEEN], 8);
    let alive = see(&seats, THERE, Nanos::from_ms(200));
    kill(&victim);
    let here: Process = Watch::none().process();
    here.publish(&words[0][GO], 1);
    let all = until(&words[0][SEEN], 64);
    assert_eq!(all / 8, both);
    kill(&child);
    ([all / 64, all / 8 % 8, all % 8], [alive, see(&seats, THERE, Nanos::from_ms(2_000))])
}

#[test]
fn processes_that_hide_from_each_other_live_until_they_die() {
    watchdog();
    for place in &PLACES {
        if let Some(why) = cannot(place) {
            println!("not run: {}: {why}", place.name);
            continue;
        }
        assert_eq!(seen_in(place), ([ALIVE, ALIVE, LOST], [ALIVE, LOST]), "{}", place.name);
    }
}

#[test]
fn processes_of_another_pid_namespace_are_neither_alive_nor_dead() {
    watchdog();
    for place in &OTHER_NAMESPACES {
        if let Some(why) = cannot(place) {
            println!("not run: {}: {why}", place.name);
            continue;
        }
        assert_eq!(seen_in(place), ([UNSEEN, UNSEEN, UNSEEN], [UNSEEN, UNSEEN]), "{}", place.name);
    }
}

#[test]
fn a_seat_whose_process_has_died_is_buried_once_and_left_by_its_own_process_alone() {
    let segment = Arc::new(Segment::of_lines(SEATS + 1).unwrap());
    let (seats, _) = memory(&segment);
    assert!(matches!(seats.state(HERE), SeatState::Free));
    seats.take(HERE);
    seats.bury(HERE);
    assert!(matches!(seats.state(HERE), SeatState::Lives(number) if number == std::process::id()), "the living is not buried");
    let victim = child_with("victim_child", segment.fd(), &[], &[]);
    while !matches!(seats.state(VICTIM), SeatState::Lives(_)) {
        std::thread::sleep(Duration::from_millis(1));
    }
    seats.leave(VICTIM);
    assert!(matches!(seats.state(VICTIM), SeatState::Lives(_)), "this process has no say there");
    drop(victim);
    assert_eq!(see(&seats, VICTIM, Nanos::from_ms(500)), LOST);
    seats.bury(VICTIM);
    assert_eq!(see(&seats, VICTIM, Nanos::from_ms(50)), ALIVE, "it is missed no more");
    assert!(matches!(seats.state(VICTIM), SeatState::Dead));
    seats.leave(HERE);
    assert!(matches!(seats.state(HERE), SeatState::Left));
    let end: Result<(), Error> =
        Watch::seats(&seats, HERE..HERE + 1).process().check(&foregather_thread::Word::zero(), &WaitContext::new("test", 1));
    assert_eq!(end, Ok(()));
}
