//! Each of the kernel's blocking primitives, between threads and between processes.
mod common;

use common::{LONG, arguments, child, watchdog};
use foregather_host::clock;
use foregather_machine::{Cause, Error, Nanos, WaitContext};
use foregather_shm::Segment;
use foregather_shm::kernel::{Semaphore, WaitMethod, attach};
use foregather_thread::Scope;
use std::sync::Arc;

const ROUNDS: u32 = 300;

fn pair(kind: WaitMethod, scope: Scope) -> (Arc<Segment>, [Box<dyn Semaphore>; 2]) {
    let segment = Arc::new(Segment::new(1, 2 * kind.objects()).unwrap());
    let semaphores = [(); 2].map(|()| kind.create(&segment, scope).unwrap());
    (segment, semaphores)
}

fn soon() -> WaitContext {
    WaitContext::new("test", 0).until(clock::now() + LONG)
}

/// Passes turns back and forth, and checks with a word that they alternate.
fn take_turns(segment: &Segment, mine: &dyn Semaphore, theirs: &dyn Semaphore, first: bool) {
    for round in 0..ROUNDS {
        if first {
            segment.word(0).publish(2 * round, Scope::Shared);
            theirs.post().unwrap();
            mine.wait(&soon()).unwrap();
            assert_eq!(segment.word(0).load(), 2 * round + 1);
        } else {
            mine.wait(&soon()).unwrap();
            assert_eq!(segment.word(0).load(), 2 * round);
            segment.word(0).publish(2 * round + 1, Scope::Shared);
            theirs.post().unwrap();
        }
    }
}

#[test]
fn threads_hand_over() {
    watchdog();
    for kind in WaitMethod::ALL {
        let (segment, [a, b]) = pair(kind, Scope::Private);
        std::thread::scope(|threads| {
            threads.spawn(|| take_turns(&segment, &*b, &*a, false));
            take_turns(&segment, &*a, &*b, true);
        });
    }
}

#[test]
#[ignore = "runs in a child process of the next test"]
fn other_process() {
    let Some((segment, names)) = arguments() else { return };
    let segment = Arc::new(segment);
    let [a, b] = [&names[0], &names[1]].map(|name| attach(name, &segment).unwrap());
    assert_eq!([a.name(), b.name()], names[..]);
    take_turns(&segment, &*b, &*a, false);
}

#[test]
fn processes_hand_over() {
    watchdog();
    for kind in WaitMethod::ALL {
        let (segment, [a, b]) = pair(kind, Scope::Shared);
        let keep: Vec<_> = a.descriptors().into_iter().chain(b.descriptors()).collect();
        let other = child("other_process", &segment, &[a.name(), b.name()], &keep);
        take_turns(&segment, &*a, &*b, true);
        let output = other.output_within(LONG).unwrap();
        assert!(output.status.success(), "{kind:?}: {output:?}");
    }
}

#[test]
fn posts_add_up_and_a_bounded_wait_ends() {
    watchdog();
    for kind in WaitMethod::ALL {
        let (_segment, [a, _]) = pair(kind, Scope::Private);
        (0..3).for_each(|_| a.post().unwrap());
        (0..3).for_each(|_| a.wait(&soon()).unwrap());
        if matches!(kind, WaitMethod::Eventfd | WaitMethod::Pipe) {
            continue;
        }
        let until = clock::now() + Nanos::from_ms(20);
        let end = a.wait(&WaitContext::new("test", 4).of(5).until(until));
        assert!(
            matches!(Error::of(&end), Some(Cause::TimedOut { what: "test", rank: 4, peer: Some(5), .. })),
            "{kind:?}: {end:?}"
        );
        assert!(clock::now() + Nanos::from_ms(1) >= until, "{kind:?} came back early");
        a.post().unwrap();
        a.wait(&WaitContext::new("test", 4).until(Nanos(1)))
            .unwrap_or_else(|error| panic!("{kind:?}, with one to take: {error}"));
    }
}

#[test]
fn dropping_a_system_v_semaphore_removes_it_and_ends_its_waits() {
    let (segment, [a, _b]) = pair(WaitMethod::Sysv, Scope::Shared);
    let same = attach(&a.name(), &segment).unwrap();
    std::thread::scope(|threads| {
        let sleeper = threads.spawn(|| same.wait(&soon()));
        drop(a);
        assert!(matches!(Error::of(&sleeper.join().unwrap()), Some(Cause::Os { errno: libc::EIDRM | libc::EINVAL, .. })));
    });
    assert!(same.post().is_err());
}

#[test]
fn wrong_names_and_full_segments_are_errors() {
    let (segment, [a, _b]) = pair(WaitMethod::Posix, Scope::Shared);
    for name in ["", "posix", "posix:x", "posix:0:1", "posix:2", "posix:-1", "condvar:0", "eventfd:9999", "pipe:9998:9999"] {
        assert!(attach(name, &segment).is_err(), "{name}");
    }
    assert!(attach(&a.name(), &segment).is_ok());
    let full = WaitMethod::Condvar.create(&segment, Scope::Shared).err().unwrap().to_string();
    assert!(full.contains("as many objects"), "{full}");
}
