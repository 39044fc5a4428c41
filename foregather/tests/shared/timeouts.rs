//! Calls that time out: their errors, and what is possible afterwards.
use crate::bounded::bounded;
use foregather::engine::Cause;
use foregather::{Error, Shared, shared};
use std::sync::Mutex;
use std::thread::sleep;
use std::time::Duration;

const SHORT: Duration = Duration::from_millis(20);
const LATE: Duration = Duration::from_millis(100);

type Call = (&'static str, fn(&Shared<'_>) -> Result<(), Error>);

/// Each collective call, with a short timeout.
const TOGETHER: [Call; 6] = [
    ("`barrier`", |me| me.barrier_timeout(SHORT)),
    ("`sum`", |me| me.sum_timeout(1_u64, SHORT).map(drop)),
    ("`reduce`", |me| me.reduce_timeout(1.5_f64, f64::max, SHORT).map(drop)),
    ("`array`", |me| me.array_timeout::<u32>(10, SHORT).map(drop)),
    ("`rows`", |me| me.rows_timeout::<u32>(2, 5, SHORT).map(drop)),
    ("`locked`", |me| me.locked_timeout::<u32>(SHORT).map(drop)),
];

#[test]
fn a_call_of_all_ranks_that_timed_out_ends_it_for_the_late_rank_too() {
    for (name, call) in TOGETHER {
        let told = Mutex::new(vec![[None, None]; 2]);
        let end = bounded(|| {
            shared(2, |me| {
                if me.rank() == 1 {
                    sleep(LATE);
                }
                let first = call(me);
                let then = me.sum(1_u32).map(drop);
                told.lock().unwrap()[me.rank() as usize] = [first.clone().err(), then.err()];
                first
            })
        });
        let told = told.into_inner().unwrap();
        let [Some(first), Some(then)] = &told[0] else { panic!("{name}: {told:?}") };
        let Cause::TimedOut { what, rank: 0, peer: Some(1), waited_ns } = *first.cause() else { panic!("{name}: {first}") };
        assert!(what == name && waited_ns >= SHORT.as_nanos() as u64, "{first}");
        assert!(matches!(then.cause(), Cause::Poisoned { by: Some(0) }), "{name}: {then}");
        // The late rank gets an error with the rank that gave up, at this call or at its next one.
        let heard = told[1].iter().flatten().next().unwrap();
        assert!(matches!(heard.cause(), Cause::Poisoned { by: Some(0) }), "{name}: {heard}");
        assert!(end.as_ref().unwrap_err().is_timed_out(), "{name}: {end:?}");
    }
}

#[test]
fn a_lock_that_is_not_left_in_time_ends_the_wait_for_it() {
    let told = Mutex::new(vec![]);
    let end = bounded(|| {
        shared(2, |me| {
            let value = me.locked::<u64>()?;
            if me.rank() == 1 {
                // If ranks have separate memories, it cannot even release the lock normally.
                let left = value.with(|value| {
                    *value = 7;
                    sleep(LATE * 2);
                });
                let next = left.and_then(|()| me.barrier());
                told.lock().unwrap().push(next.clone().unwrap_err());
                return next;
            }
            sleep(LATE);
            let error = value.with_timeout(SHORT, |value| *value += 1).unwrap_err();
            assert!(matches!(error.cause(), Cause::TimedOut { what: "`Locked::with`", rank: 0, .. }), "{error}");
            assert!(error.to_string().starts_with("`Locked::with`: rank 0 timed out after "), "{error}");
            assert!(value.get().is_err() && me.barrier().is_err());
            Err(error)
        })
    });
    assert!(end.as_ref().unwrap_err().is_timed_out(), "{end:?}");
    let told = told.into_inner().unwrap();
    assert!(matches!(told[0].cause(), Cause::Poisoned { by: Some(0) }), "{told:?}");
}

#[test]
fn long_timeouts_change_nothing() {
    let ends = bounded(|| {
        shared(3, |me| {
            let long = Duration::MAX;
            let (array, rows) = (me.array_timeout::<u32>(3, long)?, me.rows_timeout::<u32>(3, 2, long)?);
            let value = me.locked_timeout::<u64>(long)?;
            array.set(me.rank() as usize, 1);
            rows.set(me.rank() as usize, 1, 2);
            value.with_timeout(long, |value| *value += 10)?;
            me.barrier_timeout(long)?;
            let sum = (0..3).map(|at| array.get(at) + rows.get(at, 1)).sum::<u32>();
            let most = me.reduce_timeout(me.rank(), u32::max, Duration::from_secs(30))?;
            Ok((sum, most, value.get_timeout(long)?, me.sum_timeout(1_u32, long)?))
        })
    });
    assert_eq!(ends.unwrap(), [(9, 2, 30, 3); 3]);
}
