//! The suite of all worlds, on real threads.
#![cfg(not(loom))]
use foregather_barrier::{Algorithm, Group};
use foregather_conformance::{World, barrier, broadcast, cpu, endpoint, harmonize, tasks, team};
use foregather_host::{affinity, sched};
use foregather_machine::{Cause, Error, Nanos, Rank, block_on};
use foregather_thread::Thread;
use foregather_wait::Policy;

struct Threads;

impl World for Threads {
    type Cpu<'w> = Thread;

    fn run<'w, T: Send, F: Future<Output = T>>(&'w self, size: u32, program: impl Fn(Self::Cpu<'w>, Rank) -> F + Sync) -> Vec<T> {
        foregather_thread::run(size, |_| None, |cpu, rank| block_on(program(cpu, rank))).unwrap()
    }

    fn processors(&self) -> u32 {
        affinity::allowed().len() as u32
    }

    fn step(&self) -> Nanos {
        Nanos::from_us(20)
    }
}

#[test]
fn threads_conform() {
    cpu::all(&Threads);
    barrier::all(&Threads);
    endpoint::all_over_flags(&Threads);
    harmonize::all(&Threads);
    team::all(&Threads);
    broadcast::all(&Threads);
    tasks::all(&Threads);
}

/// The panic of a member is an error of the others, with its rank.
#[test]
fn a_panic_is_an_error_of_the_others() {
    for kind in Algorithm::ALL {
        let group = Group::new(kind, if kind.takes(3).is_ok() { 3 } else { 4 }).unwrap();
        let ends = std::sync::Mutex::new(vec![]);
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            foregather_thread::run(
                group.size(),
                |_| None,
                |cpu, rank| {
                    let mut member = group.member(cpu, rank, Policy::Block).unwrap();
                    assert!(rank != 1, "as planned");
                    let end = block_on(member.wait());
                    ends.lock().unwrap().push(end);
                },
            )
        }));
        assert!(caught.is_err());
        let ends = ends.into_inner().unwrap();
        assert!(ends.iter().all(|end| *end == Err(Error::from(Cause::Poisoned { by: Some(1) }))), "{kind:?}: {ends:?}");
    }
}

/// A member belongs to its thread alone: it outlives the group's handle, and moves with its thread.
#[test]
fn members_are_sent_to_threads_that_outlive_their_group() {
    let group = Group::new(Algorithm::Dissemination, 3).unwrap();
    let members = [0, 1, 2].map(|rank| group.member(Thread::current(), rank, Policy::default()).unwrap());
    drop(group);
    let threads = members.map(|mut member| {
        std::thread::spawn(move || {
            member.enroll(Thread::current());
            (0..100).try_for_each(|_| block_on(member.wait()))
        })
    });
    assert!(threads.into_iter().all(|thread| thread.join().unwrap().is_ok()));
}

/// Two spinners under FIFO on one processor would each starve the other forever: their spins are bounded.
#[test]
fn spinners_under_a_realtime_class_let_each_other_run() {
    let cpu = affinity::allowed()[0];
    for policies in [[Policy::Spin, Policy::Yield], [Policy::default(); 2]] {
        let group = Group::new(Algorithm::Central, 2).unwrap();
        let ends = foregather_thread::run(
            2,
            |_| Some(cpu),
            |_, rank| {
                let realtime = sched::set_class(sched::SchedClass::Fifo, 1);
                // Made after the change of class, as by a thread that is born under it.
                let mut member = group.member(Thread::current(), rank, policies[rank as usize]).unwrap();
                for _ in 0..50 {
                    block_on(member.wait_for(Nanos::from_ms(5_000))).unwrap();
                }
                realtime.map(|()| member.account().snapshot())
            },
        );
        match ends.unwrap().swap_remove(0) {
            Err(refused) => eprintln!("not under FIFO: {refused}"),
            Ok(waits) => assert!(policies[0] == Policy::Spin || waits.yields == 0, "a yield reaches nobody: {waits}"),
        }
    }
}

/// One member that cannot be placed must not leave the others waiting for it.
#[test]
fn nobody_starts_if_somebody_cannot() {
    let group = Group::new(Algorithm::Central, 2).unwrap();
    let place = |rank| (rank == 1).then_some(100_000);
    let end = foregather_thread::run(2, place, |cpu, rank| block_on(group.member(cpu, rank, Policy::Block).unwrap().wait()));
    assert!(matches!(Error::of(&end), Some(Cause::Os { .. } | Cause::Unavailable { .. })), "{end:?}");
}
