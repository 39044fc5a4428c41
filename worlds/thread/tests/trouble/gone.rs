//! Members that leave half way: the others get an error with their names.
use crate::alone::alone;
use foregather_barrier::{Algorithm, Group};
use foregather_machine::{Cause, Error, Nanos, block_on};
use foregather_wait::Policy;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;
use std::time::Duration;

const MEMBERS: u32 = 4;
const EPISODES: u32 = 50;

/// Rank 1 ends some time after the others began to wait for it: they spin, yield or sleep by then.
fn others_hear_of(end: impl Fn() + Sync) {
    for (kind, after_us) in [Algorithm::Central, Algorithm::Dissemination, Algorithm::Tree]
        .into_iter()
        .flat_map(|kind| [0, 10, 300, 20_000].map(|us| (kind, us)))
    {
        let (group, ends) = (Group::new(kind, MEMBERS).unwrap(), Mutex::new(Vec::new()));
        let live = |cpu, rank| {
            let mut member = group.member(cpu, rank, Policy::default()).unwrap();
            for _ in 0..EPISODES {
                block_on(member.wait()).unwrap();
            }
            if rank == 1 {
                std::thread::sleep(Duration::from_micros(after_us));
                end();
            } else {
                let end = block_on(member.wait());
                ends.lock().unwrap().push(end);
            }
        };
        // It panics if a member does.
        let _ = catch_unwind(AssertUnwindSafe(|| foregather_thread::run(MEMBERS, |_| None, live)));
        let poisoned = Err(Error::from(Cause::Poisoned { by: Some(1) }));
        assert_eq!(ends.into_inner().unwrap(), vec![poisoned; 3], "{kind:?}, after {after_us} us");
    }
}

#[test]
fn a_panic_of_a_member_is_an_error_of_the_others_whatever_they_are_doing() {
    // Without the panic's message on the terminal.
    alone(|| others_hear_of(|| resume_unwind(Box::new("as planned"))));
}

#[test]
fn a_member_whose_thread_ends_is_an_error_of_the_others() {
    alone(|| others_hear_of(|| ()));
}

/// No member learns of that; but a bounded wait names the missing member, and the number of a thread that has
/// ended does not hold it up.
#[test]
fn a_member_whose_thread_ends_without_a_word_is_named_when_time_is_up() {
    alone(|| {
        for kind in [Algorithm::Central, Algorithm::Tree] {
            let group = Group::new(kind, MEMBERS).unwrap();
            let live = |cpu, rank| {
                let mut member = group.member(cpu, rank, Policy::default()).unwrap();
                block_on(member.wait()).unwrap();
                if rank == 1 {
                    std::mem::forget(member);
                    return None;
                }
                Some(block_on(member.wait_for(Nanos::from_ms(100))).unwrap_err().cause().clone())
            };
            let ends: Vec<_> = foregather_thread::run(MEMBERS, |_| None, live).unwrap().into_iter().flatten().collect();
            let late = |end: &Cause| matches!(end, Cause::TimedOut { peer: Some(1), .. });
            let told = |end: &Cause| matches!(end, Cause::Poisoned { by: Some(_) });
            assert!(ends.iter().any(late) && ends.iter().all(|end| late(end) || told(end)), "{kind:?}: {ends:?}");
        }
    });
}
