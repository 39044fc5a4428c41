//! Compares `Barrier::wait` and its members with the engine's member, std and pthread: 1, 2 and 4 threads, on
//! an idle machine and with two busy processes.
use crate::{Cost, compare, timed};
use foregather::engine::host::pthread::PthreadBarrier;
use foregather::engine::{Algorithm, BarrierMember, Group, block_on};
use foregather::threads::Thread;
use foregather::{Barrier, Member};
use std::env::{args, current_exe};
use std::process::{Child, Command, exit, id};
use std::thread;

const HOG: &str = "--hog-of";

/// Runs as a busy process, if this process was started as one: computes until its parent is gone.
pub(crate) fn be_a_hog() {
    let mut args = args().skip_while(|arg| arg != HOG).skip(1);
    if let Some(parent) = args.next().and_then(|parent| parent.parse::<u32>().ok()) {
        while std::os::unix::process::parent_id() == parent {
            std::hint::black_box((0..1_000_000_u64).fold(0, |sum, n| sum ^ n.wrapping_mul(n)));
        }
        exit(0);
    }
}

struct Hogs(Vec<Child>);

impl Hogs {
    fn start(count: u32) -> Self {
        let hog = |_| Command::new(current_exe()?).args([HOG, &id().to_string()]).spawn();
        Self((0..count).map(hog).collect::<Result<_, _>>().expect("this program can be started"))
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            let _ = hog.kill();
            let _ = hog.wait();
        }
    }
}

pub(crate) fn run() {
    for (threads, hogs, waits) in [(1, 0, 200_000), (2, 0, 20_000), (4, 0, 3_000), (2, 2, 3_000), (4, 2, 1_000)] {
        let _hogs = Hogs::start(hogs);
        let what = match hogs {
            0 => format!("{threads} threads"),
            hogs => format!("{threads} threads, {hogs} hogs"),
        };
        rows(&what, if hogs == 0 { 25 } else { 9 }, threads, waits);
    }
}

/// Times a batch. Threads are started again for each batch, and their start is not timed.
fn batch<S: Send>(members: Vec<S>, waits: u32, wait: impl Fn(&mut S) + Sync) -> Cost {
    let (ready, wait) = (std::sync::Barrier::new(members.len()), &wait);
    let mut costs: Vec<Cost> = thread::scope(|threads| {
        let ready = &ready;
        let body = move |mut member: S| {
            for _ in 0..waits / 20 {
                wait(&mut member);
            }
            ready.wait();
            let cost = timed(waits, || (0..waits).for_each(|_| wait(&mut member)));
            ready.wait();
            (cost, member)
        };
        let running: Vec<_> = members.into_iter().map(|member| threads.spawn(move || body(member))).collect();
        // Members are dropped after all threads have ended, because dropping one fails the waits of the
        // others.
        let ended: Vec<_> = running.into_iter().map(|thread| thread.join().expect("it does not panic")).collect();
        ended.into_iter().map(|(cost, _)| cost).collect()
    });
    costs.swap_remove(0)
}

fn rows(what: &str, rounds: usize, threads: usize, waits: u32) {
    let shared = || vec![(); threads];
    let mut engine = || {
        let group = Group::<Thread>::new(Algorithm::Central, threads as u32).expect("it takes any size");
        let members: Vec<BarrierMember<Thread>> =
            (0..threads as u32).map(|rank| group.join(Thread::current(), rank).expect("each rank joins once")).collect();
        batch(members, waits, |member| block_on(member.wait()).expect("all come"))
    };
    let mut door = || {
        let barrier = Barrier::new(threads);
        batch(shared(), waits, |()| _ = barrier.wait().expect("all come"))
    };
    let mut members = || {
        let members: Vec<Member> = Barrier::new(threads).members().collect();
        batch(members, waits, |member| _ = member.wait().expect("all come"))
    };
    let mut std = || {
        let barrier = std::sync::Barrier::new(threads);
        batch(shared(), waits, |()| _ = barrier.wait())
    };
    let mut pthread = || {
        let barrier = PthreadBarrier::new(threads as u32).expect("there are threads");
        batch(shared(), waits, |()| barrier.wait())
    };
    compare(
        what,
        rounds,
        &mut [
            ("engine's member", &mut engine),
            ("Barrier::wait", &mut door),
            ("Member::wait", &mut members),
            ("std::sync::Barrier", &mut std),
            ("pthread_barrier", &mut pthread),
        ],
        0,
    );
}
