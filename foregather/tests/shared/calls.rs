//! Calls that ranks make together, or must make together.
use crate::bounded::bounded;
use foregather::engine::Cause;
use foregather::{Error, Shared, shared};

type Call = fn(&Shared<'_>) -> Result<(), Error>;

/// The collective calls of a rank.
const CALLS: [Call; 12] = [
    |me| me.barrier(),
    |me| me.sum(1_u64).map(|_| ()),
    |me| me.sum(1_u32).map(|_| ()),
    |me| me.sum(1.0_f64).map(|_| ()),
    |me| me.array::<u64>(1).map(|_| ()),
    |me| me.array::<u64>(10).map(|_| ()),
    |me| me.array::<i64>(10).map(|_| ()),
    |me| me.array::<u32>(10).map(|_| ()),
    |me| me.rows::<u64>(1, 10).map(|_| ()),
    |me| me.rows::<u64>(10, 1).map(|_| ()),
    |me| me.locked::<u64>().map(|_| ()),
    |me| me.locked::<[u32; 2]>().map(|_| ()),
];

#[test]
fn calls_that_differ_are_an_error_on_every_rank_and_the_program_goes_on() {
    let sums = bounded(|| {
        shared(3, |me| {
            let array = me.array::<u64>(3)?;
            for (mine, call) in CALLS.iter().enumerate() {
                for (theirs, other) in CALLS.iter().enumerate() {
                    let end = if me.rank() == 1 { other(me) } else { call(me) };
                    match end {
                        Ok(()) => assert_eq!(mine, theirs),
                        Err(error) => {
                            assert!(
                                mine != theirs && matches!(error.cause(), Cause::Setting { .. }),
                                "{mine} and {theirs}: {error}"
                            );
                            assert!(error.to_string().contains("the same calls in the same order"), "{error}");
                        }
                    }
                }
            }
            array.set(me.rank() as usize, 5);
            me.sum(array.get(me.rank() as usize))
        })
    });
    assert_eq!(sums.unwrap(), [15; 3]);
}

#[test]
fn what_waits_for_others_is_refused_within_a_lock() {
    let values = bounded(|| {
        shared(2, |me| {
            let (one, other) = (me.locked::<u64>()?, me.locked::<u64>()?);
            let refused = |end: Result<(), Error>| {
                let error = end.unwrap_err();
                assert!(
                    matches!(error.cause(), Cause::Refused { .. }) && error.to_string().contains("within `Locked::with`"),
                    "{error}"
                );
            };
            one.with(|value| {
                refused(one.with(|_| ()));
                refused(other.with(|_| ()));
                refused(one.get().map(|_| ()));
                CALLS.iter().for_each(|call| refused(call(me)));
                *value += 1;
            })?;
            me.barrier()?;
            other.with(|value| *value += 10)?;
            me.barrier()?;
            Ok((one.get()?, other.get()?))
        })
    });
    assert_eq!(values.unwrap(), [(2, 20); 2]);
}

#[test]
fn what_cannot_be_had_is_the_same_error_everywhere_and_the_program_goes_on() {
    let sums = bounded(|| {
        shared(3, |me| {
            let cause = |end: Result<(), Error>| end.unwrap_err();
            for none in [
                cause(me.array::<u8>(0).map(|_| ())),
                cause(me.rows::<u8>(0, 4).map(|_| ())),
                cause(me.rows::<u8>(4, 0).map(|_| ())),
            ] {
                assert!(matches!(none.cause(), Cause::Setting { .. }) && none.to_string().contains("at least one"), "{none}");
            }
            for nothing in [cause(me.array::<[u8; 0]>(3).map(|_| ())), cause(me.locked::<[u64; 0]>().map(|_| ()))] {
                assert!(matches!(nothing.cause(), Cause::Setting { .. }), "{nothing}");
            }
            let huge = usize::MAX / 8;
            for full in [
                cause(me.array::<u64>(huge).map(|_| ())),
                cause(me.array::<u64>(usize::MAX).map(|_| ())),
                cause(me.rows::<u8>(huge, huge).map(|_| ())),
            ] {
                let text = full.to_string();
                assert!(
                    matches!(full.cause(), Cause::Unavailable { .. }) && text.contains("room for") && text.contains("share less"),
                    "{text}"
                );
            }
            me.sum(1_u32)
        })
    });
    assert_eq!(sums.unwrap(), [3; 3]);
}

#[test]
fn no_ranks_are_an_error() {
    let error = bounded(|| shared(0, |_| Ok(()))).unwrap_err();
    assert!(error.to_string().contains('0'), "{error}");
}

#[test]
fn one_within_another_is_a_group_of_its_own() {
    let sums = bounded(|| {
        shared(2, |me| {
            let array = me.array::<u64>(2)?;
            let value = me.locked::<u64>()?;
            let inner = shared(3, |inner| {
                let cells = inner.array::<u64>(3)?;
                cells.set(inner.rank() as usize, 7);
                inner.barrier()?;
                Ok((0..3).map(|at| cells.get(at)).sum::<u64>())
            })?;
            assert_eq!(inner, [21; 3]);
            // Refused inside a lock as well: the call waits for no other rank.
            let inner = value.with(|value| {
                let inner = shared(2, |inner| inner.sum(4_u64))?;
                *value += inner[0];
                Ok::<_, Error>(inner[1])
            })??;
            array.set(me.rank() as usize, inner);
            me.barrier()?;
            Ok((array.get(0) + array.get(1), value.get()?))
        })
    });
    assert_eq!(sums.unwrap(), [(16, 16); 2]);
}
