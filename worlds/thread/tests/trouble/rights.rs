//! Refusals of the system: rights and signals that the adaptive policy would use, and does without.
use crate::alone::{alone, skipped};
use crate::team::{LOST, meet, uneven};
use foregather_barrier::{Algorithm, Group};
use foregather_host::{affinity, sched, scout, usage};
use foregather_machine::{Nanos, block_on};
use foregather_thread::Thread;
use foregather_wait::adaptive::TABLE;
use foregather_wait::{Policy, Snapshot};
use std::time::Duration;

/// Has the kernel refuse these calls to this thread and to the threads that it makes from now on: always, or
/// if their first argument, taken for an integer, is `negative`. It cannot be undone. `false` if the kernel
/// will not.
fn refuse(calls: &[libc::c_long], negative: bool) -> bool {
    let instruction =
        |code: u32, k: u32, jt: usize, jf: usize| libc::sock_filter { code: code as u16, jt: jt as u8, jf: jf as u8, k };
    let load = |at| instruction(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, at, 0, 0);
    let end = |with| instruction(libc::BPF_RET | libc::BPF_K, with, 0, 0);
    let (allow, refuse) = (libc::SECCOMP_RET_ALLOW, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32);
    // The number of the call is at 0; the low half of its first argument, on a little-endian machine, at 16.
    let mut program = vec![load(0)];
    let is = |(at, &call): (usize, &libc::c_long)| {
        instruction(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, call as u32, calls.len() - at, 0)
    };
    program.extend(calls.iter().enumerate().map(is));
    program.push(end(allow));
    if negative {
        program.extend([load(16), instruction(libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K, 1 << 31, 1, 0), end(allow)]);
    }
    program.push(end(refuse));
    let program = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: the first call takes numbers; the second reads the program, which outlives it. Neither writes
    // memory.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) == 0
    }
}

#[test]
fn a_team_meets_without_the_right_to_set_masks_and_classes() {
    alone(|| {
        if !refuse(&[libc::SYS_sched_setaffinity, libc::SYS_sched_setscheduler, libc::SYS_sched_setattr], false) {
            return skipped("this system has no filters for calls");
        }
        assert!(affinity::pin(affinity::current()).is_err() && sched::set_class(sched::SchedClass::Idle, 0).is_err());
        let waits = meet(6, |_| None, |episode| episode < 1_000, uneven);
        assert_eq!((waits.moves, waits.pulls, waits.scouts_back), (0, 0, 0), "{waits}");
        // The scout's thread is made, and finds that it has no right to be one.
        while scout::idle(0).is_some() {
            std::thread::sleep(Duration::from_millis(1));
        }
        // As programs join: with the costs of this machine, which cannot be measured without that right.
        let group = Group::new(Algorithm::Tree, 3).unwrap();
        let ends = foregather_thread::run(3, |_| None, |cpu, rank| block_on(group.join(cpu, rank)?.wait_for(LOST)));
        assert!(ends.unwrap().iter().all(Result::is_ok));
    });
}

#[test]
fn a_team_meets_where_the_clocks_of_others_cannot_be_read() {
    alone(|| {
        assert!(usage::thread_cpu_of(usage::this_thread()).is_some());
        // The numbers of such clocks are negative.
        if !refuse(&[libc::SYS_clock_gettime], true) {
            return skipped("this system has no filters for calls");
        }
        assert_eq!(usage::thread_cpu_of(usage::this_thread()), None);
        let waits = meet(3, |_| None, |episode| episode < 1_000, uneven);
        assert_eq!((followed(&waits, "stay"), waits.pulls), (0, 0), "{waits}");
        // Members on processors of their own have nothing to ask but whether the other one runs.
        if let [here, .., there] = affinity::allowed()[..] {
            let apart = meet(2, |rank| Some([here, there][rank as usize]), |episode| episode < 1_000, uneven);
            assert!(followed(&apart, "ask") > 0, "{apart}");
            assert_eq!(followed(&apart, "stay"), 0, "{apart}");
        }
    });
}

fn followed(waits: &Snapshot, name: &str) -> u64 {
    waits.rules[TABLE.iter().position(|rule| rule.name == name).unwrap()]
}

/// Two members of a real-time class and one of an ordinary one on one processor: a member that did not let go
/// would stop the other two.
#[test]
fn real_time_members_let_go_and_never_loop_on_yields() {
    const EPISODES: u32 = 30;
    let policies = [Policy::default(), Policy::Spin, Policy::Yield, Policy::SpinThenYield { spin: Nanos::from_us(20) }];
    alone(|| {
        let cpu = affinity::allowed()[0];
        for (class, policy) in [sched::SchedClass::Fifo, sched::SchedClass::RoundRobin]
            .into_iter()
            .flat_map(|class| policies.map(|policy| (class, policy)))
        {
            let group = Group::new(Algorithm::Central, 3).unwrap();
            let live = |_, rank| {
                // Made after the change of class, as by a thread that is born under it; one class is above
                // the other.
                let granted = rank == 2 || sched::set_class(class, 1 + rank as i32).is_ok();
                let mut member = group.member(Thread::current(), rank, if rank == 2 { Policy::Block } else { policy }).unwrap();
                for _ in 0..EPISODES {
                    block_on(member.wait_for(LOST)).unwrap();
                }
                (granted, member.account().snapshot())
            };
            for (rank, (granted, waits)) in foregather_thread::run(3, |_| Some(cpu), live).unwrap().into_iter().enumerate() {
                if !granted {
                    return skipped("no right to real-time classes");
                }
                assert!(waits.yields == 0, "{class:?}, {policy:?}, rank {rank}: a yield reaches nobody: {waits}");
                assert!(waits.spun_time < Nanos::from_ms(10), "{class:?}, {policy:?}, rank {rank}: {waits}");
            }
        }
    });
}
