//! Waits that are interrupted: by signals, and by a fork.
use crate::alone::alone;
use crate::team::{Done, LOST, Member, meet, uneven};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::*};
use foregather_barrier::{Algorithm, Group};
use foregather_host::{affinity, scout, usage};
use foregather_machine::{Nanos, block_on};
use foregather_thread::Thread;
use foregather_wait::Policy;
use std::thread;
use std::time::Duration;

static HANDLED: AtomicU64 = AtomicU64::new(0);

extern "C" fn count(_: libc::c_int) {
    HANDLED.fetch_add(1, Relaxed);
}

/// Calls in progress fail with `EINTR`: the kernel is not asked to restart them.
fn count_signals() {
    // SAFETY: all zeros are a valid action without flags; the handler only adds to an atomic, which is
    // async-signal-safe.
    let set = unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = count as extern "C" fn(libc::c_int) as usize;
        libc::sigaction(libc::SIGUSR1, &raw const action, core::ptr::null_mut())
    };
    assert_eq!(set, 0);
}

#[test]
fn thousands_of_signals_neither_end_a_wait_nor_hold_it_up() {
    const SIGNALS: u64 = 6_000;
    const EPISODES: u32 = 100;
    alone(|| {
        count_signals();
        let (names, done) = (<[AtomicU32; 3]>::default(), AtomicBool::new(false));
        thread::scope(|threads| {
            threads.spawn(|| {
                let _done = Done(&done);
                while names.iter().any(|name| name.load(Acquire) == 0) {
                    thread::yield_now();
                }
                // A signal that is pending already is not sent twice, so the test counts those that were
                // handled.
                for turn in (0..).take_while(|_| HANDLED.load(Relaxed) < SIGNALS) {
                    let thread = names[turn % names.len()].load(Acquire);
                    // SAFETY: the call takes numbers only; the threads live until this one is done.
                    let sent = unsafe { libc::syscall(libc::SYS_tgkill, std::process::id(), thread, libc::SIGUSR1) };
                    assert_eq!(sent, 0);
                    if turn % 8 == 0 {
                        thread::sleep(Duration::from_micros(100));
                    }
                }
            });
            let work = |member: &Member<'_>, episode: u32| {
                names[member.rank() as usize].store(usage::this_thread(), Release);
                if member.rank() == 0 && episode.is_multiple_of(8) {
                    // The others have time to fall asleep.
                    block_on(member.delay(Nanos::from_ms(2)));
                }
                uneven(member, episode);
            };
            let waits = meet(3, |_| None, |episode| episode < EPISODES || !done.load(Acquire), work);
            assert!(waits.parked > 0 && waits.last > u64::from(EPISODES), "{waits}");
        });
        assert!(HANDLED.load(Relaxed) >= SIGNALS);
    });
}

/// Returns whether the library works here, including the scout.
fn works() -> bool {
    let group = Group::new(Algorithm::Central, 3).unwrap();
    let live = |cpu: Thread, rank| {
        let mut member = group.member(cpu, rank, Policy::default())?;
        (0..300).try_for_each(|_| block_on(member.wait_for(LOST)))
    };
    let met = foregather_thread::run(3, |_| None, live).is_ok_and(|ends| ends.iter().all(Result::is_ok));
    // Other programs may be busy on the machine, so some processor need be seen idle only at some time.
    let before = scout::counts().answered;
    let answered = (0..100_000).any(|_| {
        thread::sleep(Duration::from_micros(100));
        affinity::allowed().iter().any(|&cpu| scout::idle(cpu).is_none()) || scout::counts().answered > before
    });
    met && answered && scout::idle(0).is_some()
}

#[test]
fn a_process_forked_off_while_others_wait_uses_the_library_anew() {
    const FORKS: u32 = 5;
    /// The system ends the forked process after this time: the test's watchdog does not reach it.
    const SECONDS: libc::c_uint = 40;
    alone(|| {
        assert!(works());
        let done = AtomicBool::new(false);
        thread::scope(|threads| {
            threads.spawn(|| {
                let _done = Done(&done);
                for _ in 0..FORKS {
                    // SAFETY: the C library readies the child for memory and threads of its own; the child
                    // ends without unwinding.
                    let child = unsafe { libc::fork() };
                    assert!(child >= 0);
                    if child == 0 {
                        // SAFETY: the call takes a number only.
                        unsafe { libc::alarm(SECONDS) };
                        let fine = std::panic::catch_unwind(works).unwrap_or(false);
                        // SAFETY: ends the process, and runs no code of the parent's.
                        unsafe { libc::_exit(if fine { 0 } else { 1 }) };
                    }
                    let mut status = 0;
                    // SAFETY: the call writes into `status` and nowhere else.
                    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
                    assert_eq!(status, 0, "the forked process");
                }
            });
            let work = |member: &Member<'_>, episode| {
                // Keeps the scout's desk occupied most of the time.
                scout::idle(affinity::current());
                uneven(member, episode);
            };
            meet(3, |_| None, |_| !done.load(Acquire), work);
        });
        assert!(works(), "the parent");
    });
}
