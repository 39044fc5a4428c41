//! The state after a panic.
use crate::bounded::bounded;
use foregather::engine::Cause;
use foregather::{Error, shared};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;

/// Returns the text of a panic, which must occur.
pub(crate) fn panic_of<R>(act: impl FnOnce() -> R) -> String {
    let panic = catch_unwind(AssertUnwindSafe(|| _ = act())).unwrap_err();
    panic.downcast::<String>().map_or_else(|panic| (*panic.downcast::<&str>().unwrap()).to_owned(), |text| *text)
}

#[test]
fn a_panic_within_a_lock_that_is_caught_poisons_it_on_every_rank_and_nothing_else() {
    for ranks in 1..=4 {
        let results = bounded(|| {
            shared(ranks, |me| {
                let (value, other) = (me.locked::<[u64; 3]>()?, me.locked::<u64>()?);
                let culprit = ranks - 1;
                value.with(|value| value[0] += 1)?;
                me.barrier()?;
                if me.rank() == culprit {
                    let said = panic_of(|| {
                        value.with(|value| {
                            value[0] = 1_000;
                            panic!("on purpose")
                        })
                    });
                    assert_eq!(said, "on purpose");
                }
                me.barrier()?;
                for _ in 0..2 {
                    let poisoned = Cause::PoisonedLock { by: culprit };
                    assert_eq!(value.get().unwrap_err().cause(), &poisoned);
                    assert_eq!(value.with(|_| unreachable!("nobody gets it")).unwrap_err().cause(), &poisoned);
                }
                other.with(|other| *other += 1)?;
                me.barrier()?;
                other.get()
            })
        });
        assert_eq!(results.unwrap(), vec![u64::from(ranks); ranks as usize]);
    }
}

#[test]
fn those_who_wait_for_a_lock_whose_holder_panics_learn_of_it() {
    let heard = Mutex::new(vec![]);
    bounded(|| {
        shared(3, |me| {
            let value = me.locked::<u64>()?;
            let here = me.array::<u8>(3)?;
            if me.rank() == 0 {
                let wait = || {
                    value.with(|_| {
                        me.rank();
                        while (1..3).any(|rank| here.get(rank) == 0) {
                            std::thread::yield_now();
                        }
                        panic!("on purpose")
                    })
                };
                assert_eq!(panic_of(wait), "on purpose");
            } else {
                // It may get the lock before the rank that panics.
                here.set(me.rank() as usize, 1);
                let end = value.with(|_| ());
                heard.lock().unwrap().push(end);
            }
            me.barrier()
        })
        .unwrap()
    });
    for end in heard.into_inner().unwrap().into_iter().filter(Result::is_err) {
        assert_eq!(Error::of(&end), Some(&Cause::PoisonedLock { by: 0 }));
    }
}

#[test]
fn a_panic_within_a_lock_that_is_not_caught_ends_all_and_goes_on_here() {
    let heard = Mutex::new(vec![]);
    let said = bounded(|| {
        panic_of(|| {
            shared(3, |me| {
                // With separate memories, the end may overtake the others' allocation.
                let value = me.locked::<u64>();
                if me.rank() == 1 {
                    value.as_ref().unwrap().with(|_| panic!("on purpose"))?;
                }
                let ends = [me.barrier(), value.and_then(|value| value.get().map(|_| ())), me.barrier()];
                heard.lock().unwrap().push(ends.clone());
                me.barrier()
            })
        })
    });
    assert_eq!(said, "on purpose");
    let heard = heard.into_inner().unwrap();
    assert_eq!(heard.len(), 2);
    let named = [Cause::Poisoned { by: Some(1) }, Cause::PoisonedLock { by: 1 }];
    for (at, end) in heard.iter().flat_map(|ends| ends.iter().enumerate()) {
        let named = if at == 1 { &named[..] } else { &named[..1] };
        assert!(Error::of(end).is_some_and(|cause| named.contains(cause)), "{at}: {end:?}");
    }
}

#[test]
fn an_update_that_panics_stores_nothing() {
    let rows = bounded(|| {
        shared(2, |me| {
            let field = me.rows::<u16>(2, 5)?;
            let y = me.rank() as usize;
            field.write(y, &[7; 5]);
            let update = || {
                field.update(y, |row| {
                    row.fill(9);
                    panic!("on purpose")
                })
            };
            assert_eq!(panic_of(update), "on purpose");
            me.barrier()?;
            Ok((field.get(0, 4), field.get(1, 0)))
        })
    });
    assert_eq!(rows.unwrap(), [(7, 7); 2]);
}
