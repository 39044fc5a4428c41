//! A rank ends, in any way and at any point: all other ranks get its number, wherever they wait.
use crate::bounded::bounded;
use crate::panics::panic_of;
use crate::views::behind_views;
use foregather::engine::Cause;
use foregather::{Error, Shared, shared};
use std::sync::Mutex;

/// The steps of the program below; a rank may end before each.
pub(crate) const STEPS: u32 = 8;

/// The errors that name rank 1.
const NAMED: [Cause; 2] = [Cause::Poisoned { by: Some(1) }, Cause::Closed { peer: Some(1) }];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Returns,
    Errs,
    Panics,
}

pub(crate) fn on_purpose() -> Error {
    Cause::Refused { why: "on purpose".to_owned() }.into()
}

/// Runs all steps, unless it ends before.
pub(crate) fn program(me: &Shared<'_>, mut ends_before: impl FnMut(u32) -> Option<Result<u64, Error>>) -> Result<u64, Error> {
    let mut step = 0;
    macro_rules! step {
        () => {
            if let Some(end) = ends_before(step) {
                return end;
            }
            step += 1;
        };
    }
    step!();
    let array = me.array::<u64>(me.size() as usize)?;
    step!();
    let value = me.locked::<u64>()?;
    step!();
    array.set(me.rank() as usize, 1);
    me.barrier()?;
    step!();
    value.with(|value| *value += 1)?;
    step!();
    me.barrier()?;
    step!();
    let sum = me.sum(value.get()?)?;
    step!();
    me.rows::<u8>(2, 2)?;
    step!();
    debug_assert_eq!(step, STEPS);
    Ok(sum)
}

#[test]
fn the_others_name_a_rank_that_ends_in_any_way_at_any_point() {
    for (step, how) in (0..STEPS).flat_map(|step| [End::Returns, End::Errs, End::Panics].map(|how| (step, how))) {
        // With separate memories, a rank that accesses memory when another one fails ends its process, which
        // is this one: `lost` tests that.
        if behind_views() && how != End::Returns && (2..=5).contains(&step) {
            continue;
        }
        let heard = Mutex::new(vec![]);
        let run = || {
            shared(3, |me| {
                let culprit = me.rank() == 1;
                let end = program(me, |at| match how {
                    _ if !culprit || at != step => None,
                    End::Returns => Some(Ok(77)),
                    End::Errs => Some(Err(on_purpose())),
                    End::Panics => panic!("on purpose"),
                });
                if !culprit {
                    heard.lock().unwrap().push(end.clone());
                }
                end
            })
        };
        let error = match how {
            End::Panics => {
                assert_eq!(bounded(|| panic_of(run)), "on purpose");
                None
            }
            _ => Some(bounded(run)),
        };
        let last = step == STEPS - 1;
        match (how, error) {
            (End::Errs, error) => assert_eq!(error.unwrap().unwrap_err(), on_purpose()),
            (End::Returns, Some(end)) if last => assert_eq!(end.unwrap(), [9, 77, 9]),
            (End::Returns, Some(end)) => assert!(NAMED.contains(Error::of(&end).unwrap()), "{step}: {end:?}"),
            _ => {}
        }
        let heard = heard.into_inner().unwrap();
        assert_eq!(heard.len(), 2);
        // After the last call it ends on its own.
        for end in heard.iter().filter(|_| !last) {
            assert!(NAMED.contains(Error::of(end).unwrap()), "{how:?} before step {step}: {end:?}");
        }
    }
}

#[test]
fn a_rank_that_waits_again_after_an_error_hangs_nowhere() {
    let heard = Mutex::new(vec![]);
    let end = bounded(|| {
        shared(3, |me| {
            // With separate memories, the end may overtake the others' allocation.
            let value = me.locked::<u64>();
            if me.rank() == 2 {
                return Err(on_purpose());
            }
            while me.barrier().is_ok() {}
            for _ in 0..3 {
                let ends =
                    [me.barrier(), me.sum(1_u32).map(|_| ()), me.array::<u8>(9).map(|_| ()), me.locked::<u8>().map(|_| ())];
                heard.lock().unwrap().extend(ends);
            }
            // It waits for no rank, or gets the error.
            value.and_then(|value| value.with(|value| *value += 1))
        })
    });
    assert_eq!(end.unwrap_err(), on_purpose());
    let heard = heard.into_inner().unwrap();
    assert_eq!(heard.len(), 24);
    for end in heard {
        assert_eq!(Error::of(&end), Some(&Cause::Poisoned { by: Some(2) }));
    }
}
