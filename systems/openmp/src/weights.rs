//! How long bodies of tasks compute, by their code: what tells whether the next one of the same code is worth
//! another thread's coming.
use core::cell::Cell;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use foregather_machine::Nanos;
use foregather_task::WAKE_WEIGHT;

/// Codes that are known at once. Two in one place make each other unknown.
const PLACES: usize = 64;
const WEIGHT_BITS: u32 = 8;

/// A thread tells the others what it has learnt when that differs by so much from what they know. Those that
/// have done such a task know better.
const TOLD: u32 = WAKE_WEIGHT / 4;

/// The weights of codes: each its code, and its weight in the bits below.
static ALL: [AtomicU64; PLACES] = [const { AtomicU64::new(0) }; PLACES];

thread_local! {
    /// What the thread has seen by itself. Threads that wrote what all of them read for each task would have
    /// its line go to and fro.
    static OWN: [Cell<u64>; PLACES] = const { [const { Cell::new(0) }; PLACES] };
}

/// A code's place, and how it is told there from others.
fn place(code: usize) -> (usize, u64) {
    let spread = (code as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((spread >> 58) as usize, (code as u64) << WEIGHT_BITS)
}

/// The weight that `known` has of the code of that name.
fn named(known: u64, name: u64) -> Option<u32> {
    (name != 0 && known & !u64::from(u8::MAX) == name).then_some((known & u64::from(u8::MAX)) as u32)
}

/// The weight of a task of that code. `None`: nothing is known of it.
pub(crate) fn of(code: usize) -> Option<u32> {
    let (place, name) = place(code);
    OWN.with(|own| named(own[place].get(), name)).or_else(|| named(ALL[place].load(Relaxed), name))
}

/// A body of that code has computed for `took`, where it takes `wake` to wake a thread. A longer one than
/// before counts at once, shorter ones bit by bit, so that many short ones do not hide a long one.
pub(crate) fn learn(code: usize, took: Nanos, wake: Nanos) {
    let now = (took.0.saturating_mul(u64::from(WAKE_WEIGHT)) / wake.0.max(1)).min(u64::from(WAKE_WEIGHT)) as u32;
    let (place, name) = place(code);
    if name == 0 {
        return;
    }
    let next = match of(code) {
        Some(before) if now < before => before - (before - now).div_ceil(8),
        _ => now,
    };
    let known = name | u64::from(next);
    OWN.with(|own| own[place].set(known));
    let told = named(ALL[place].load(Relaxed), name);
    if told.is_none_or(|told| told.abs_diff(next) >= TOLD) {
        ALL[place].store(known, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_weighs_nothing_is_done_where_it_is_met_if_it_may_be() {
        use crate::tasking::{TaskDispatch, TaskKind, TaskSpec, spawn};
        use core::sync::atomic::{AtomicBool, Ordering::*};
        use foregather_task::{Depend, DependenceType, Traits};
        use std::sync::Arc;
        let (light, depends) = (0x6000, [Depend { address: 8, access: DependenceType::In }]);
        let plain = TaskSpec { deferred: true, kind: TaskKind::default(), traits: Traits::default(), depends: &[], code: light };
        let is_at_once = |spec: TaskSpec<'_>| match spawn(spec) {
            TaskDispatch::Discard => unreachable!("nothing is cancelled"),
            TaskDispatch::Run(now) => {
                now.run(|| {});
                true
            }
            TaskDispatch::Defer(later) => {
                later.hand_over(Box::new(|| {}));
                false
            }
        };
        crate::parallel(2, &|| {
            // The other member may have told by now that it is long.
            let is_short = || (0..60).for_each(|_| learn(light, Nanos(0), Nanos(6_400)));
            is_short();
            assert!(is_at_once(plain));
            assert!(!is_at_once(TaskSpec { code: 0, ..plain }), "nothing is known of it");
            crate::tasking::wait_for_children();
            is_short();
            assert!(is_at_once(TaskSpec { depends: &depends, ..plain }), "no task is before it");
            is_short();
            let goes_on = Arc::new(AtomicBool::new(false));
            let TaskDispatch::Defer(first) = spawn(TaskSpec { depends: &depends, code: 0, ..plain }) else { unreachable!() };
            let waits = Arc::clone(&goes_on);
            first.hand_over(Box::new(move || {
                while !waits.load(Acquire) {
                    std::thread::yield_now()
                }
            }));
            assert!(!is_at_once(TaskSpec { depends: &depends, ..plain }), "it may have to wait");
            goes_on.store(true, Release);
            crate::tasking::wait_for_children();
            assert!(!is_at_once(TaskSpec { traits: Traits { priority: 1, ..plain.traits }, ..plain }), "its turn is another one");
            learn(light, Nanos(6_400), Nanos(6_400));
            assert!(!is_at_once(plain), "it was long the last time");
        });
    }

    #[test]
    fn a_long_body_counts_at_once_and_short_ones_bit_by_bit() {
        let (code, wake) = (0x1000, Nanos(6_400));
        assert_eq!(of(code), None);
        learn(code, Nanos(50), wake);
        assert_eq!(of(code), Some(0), "half of a 64th");
        learn(code, Nanos(3_200), wake);
        assert_eq!(of(code), Some(32));
        learn(code, Nanos(0), wake);
        assert_eq!(of(code), Some(28));
        (0..60).for_each(|_| learn(code, Nanos(0), wake));
        assert_eq!(of(code), Some(0));
        learn(code, Nanos::MAX, wake);
        assert_eq!(of(code), Some(WAKE_WEIGHT));
        assert_eq!(of(code + 1), None, "another code");
        learn(0, Nanos(50), wake);
        assert_eq!(of(0), None, "no code");
    }
}
