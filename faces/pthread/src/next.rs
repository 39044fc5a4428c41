//! The barriers that the program would have without this library.
use crate::BarrierObject;
use core::ffi::{c_int, c_uint};
use core::mem::transmute;
use core::ptr::NonNull;
use foregather_host::dl::next_function;
use foregather_host::forks::Once;
use libc::pthread_barrierattr_t;

/// The C library's functions.
pub(crate) struct NextFunctions {
    pub(crate) init: unsafe extern "C" fn(*mut BarrierObject, *const pthread_barrierattr_t, c_uint) -> c_int,
    pub(crate) wait: unsafe extern "C" fn(*mut BarrierObject) -> c_int,
    pub(crate) destroy: unsafe extern "C" fn(*mut BarrierObject) -> c_int,
}

/// The functions of the next library that has them. `None` if there is none, as in a static program.
pub(crate) fn of() -> Option<&'static NextFunctions> {
    static NEXT: Once<Option<NextFunctions>> = Once::new();
    NEXT.get_or_compute(find).as_ref()
}

/// Returns whether the program's own barriers are to be used (`FOREGATHER=off`). This is decided at the first
/// barrier.
pub(crate) fn stands_aside() -> bool {
    static ASIDE: Once<bool> = Once::new();
    *ASIDE.get_or_compute(|| std::env::var("FOREGATHER").is_ok_and(|value| value == "off"))
}

fn find() -> Option<NextFunctions> {
    let [init, wait, destroy] =
        [c"pthread_barrier_init", c"pthread_barrier_wait", c"pthread_barrier_destroy"].map(|name| next_function(name, None));
    // SAFETY: POSIX says what functions of these names take and give.
    unsafe {
        Some(NextFunctions {
            init: transmute::<NonNull<()>, unsafe extern "C" fn(*mut BarrierObject, *const pthread_barrierattr_t, c_uint) -> c_int>(
                init?,
            ),
            wait: transmute::<NonNull<()>, unsafe extern "C" fn(*mut BarrierObject) -> c_int>(wait?),
            destroy: transmute::<NonNull<()>, unsafe extern "C" fn(*mut BarrierObject) -> c_int>(destroy?),
        })
    }
}
