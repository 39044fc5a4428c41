//! Creation, barriers, condition variables and mutexes of POSIX threads.
use crate::next::{NextFunction, place};
use crate::record::{self, Arrivals};
use crate::sampler;
use core::ffi::{c_int, c_uint, c_void};
use core::mem::transmute;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use foregather_host::usage::this_thread;
use foregather_host::watched::page::{self, ThreadActivity, ThreadSlot};
use libc::{pthread_attr_t, pthread_barrier_t, pthread_barrierattr_t, pthread_cond_t, pthread_mutex_t, pthread_t, timespec};

type StartRoutine = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;

/// What a new thread needs to know.
struct Birth {
    start: StartRoutine,
    argument: *mut c_void,
    creator: u32,
    pool: u32,
}

/// The first function of a thread that was created here.
unsafe extern "C-unwind" fn begin(birth: *mut c_void) -> *mut c_void {
    // SAFETY: `pthread_create` below made it of a box, for this thread alone.
    let Birth { start, argument, creator, pool } = *unsafe { Box::from_raw(birth.cast::<Birth>()) };
    let slot = record::take(creator, pool);
    sampler::stop_at_thread_end();
    // SAFETY: the program's function with the program's argument.
    let result = unsafe { start(argument) };
    if let Some(slot) = slot {
        slot.leave(page::now());
    }
    result
}

/// Declares a function of the C library as it is called.
macro_rules! next {
    ($name:literal, fn($($kind:ty),*) -> $result:ty) => {{
        static NEXT: NextFunction = NextFunction::new($name);
        let found = NEXT.get();
        if found.is_null() {
            return libc::ENOSYS;
        }
        // SAFETY: POSIX says what a function of this name takes and gives.
        unsafe { transmute::<*mut c_void, unsafe extern "C-unwind" fn($($kind),*) -> $result>(found) }
    }};
}

/// `pthread_create`.
///
/// # Safety
/// As that function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_create(
    thread: *mut pthread_t,
    attributes: *const pthread_attr_t,
    start: unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
) -> c_int {
    let next = next!(c"pthread_create", fn(*mut pthread_t, *const pthread_attr_t, StartRoutine, *mut c_void) -> c_int);
    let Some(page) = record::page() else {
        // SAFETY: the caller's promise is that of the C library's function.
        return unsafe { next(thread, attributes, start, argument) };
    };
    // The creator's slot comes first, so that it is known when its threads are.
    record::slot();
    let pool = page.name(place(start as *const c_void).as_bytes());
    let birth = Box::into_raw(Box::new(Birth { start, argument, creator: this_thread(), pool }));
    // SAFETY: the caller's promise is that of the C library's function; `begin` takes the box.
    let error = unsafe { next(thread, attributes, begin, birth.cast()) };
    page.count_creation(error);
    if error != 0 {
        // SAFETY: no thread was created, so the box is still this function's.
        drop(unsafe { Box::from_raw(birth) });
    }
    error
}

/// A barrier of the program, by its address.
struct KnownBarrier {
    address: AtomicU64,
    members: AtomicU32,
    arrivals: Arrivals,
}

const BARRIERS: usize = 256;
static KNOWN: [KnownBarrier; BARRIERS] =
    [const { KnownBarrier { address: AtomicU64::new(0), members: AtomicU32::new(0), arrivals: Arrivals::new(0) } }; BARRIERS];

fn known(address: u64) -> Option<&'static KnownBarrier> {
    KNOWN.iter().find(|known| known.address.load(Acquire) == address)
}

/// `pthread_barrier_init`.
///
/// # Safety
/// As that function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_barrier_init(
    barrier: *mut pthread_barrier_t,
    attributes: *const pthread_barrierattr_t,
    count: c_uint,
) -> c_int {
    let next = next!(c"pthread_barrier_init", fn(*mut pthread_barrier_t, *const pthread_barrierattr_t, c_uint) -> c_int);
    let address = barrier.addr() as u64;
    let free = |known: &&KnownBarrier| known.address.compare_exchange(0, address, AcqRel, Relaxed).is_ok();
    if record::page().is_some()
        && let Some(place) = known(address).or_else(|| KNOWN.iter().find(free))
    {
        place.members.store(count, Relaxed);
        place.arrivals.restart(page::now());
    }
    // SAFETY: the caller's promise is that of the C library's function.
    unsafe { next(barrier, attributes, count) }
}

/// `pthread_barrier_destroy`.
///
/// # Safety
/// As that function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_barrier_destroy(barrier: *mut pthread_barrier_t) -> c_int {
    let next = next!(c"pthread_barrier_destroy", fn(*mut pthread_barrier_t) -> c_int);
    if let Some(place) = known(barrier.addr() as u64) {
        place.address.store(0, Release);
    }
    // SAFETY: the caller's promise is that of the C library's function.
    unsafe { next(barrier) }
}

/// `pthread_barrier_wait`.
///
/// # Safety
/// As that function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_barrier_wait(barrier: *mut pthread_barrier_t) -> c_int {
    let next = next!(c"pthread_barrier_wait", fn(*mut pthread_barrier_t) -> c_int);
    let address = barrier.addr() as u64;
    if let (Some(slot), Some(place)) = (record::slot(), known(address)) {
        let members = place.members.load(Relaxed);
        // No leader closes this team: it is open for as long as its members wait.
        slot.join(0, members);
        place.arrivals.arrive(members, slot, page::now());
    }
    // SAFETY: the caller's promise is that of the C library's function.
    record::during(ThreadActivity::Arrived, address, || unsafe { next(barrier) })
}

/// Runs a wait at a condition variable. A thread that has arrived at a barrier stays there: LLVM's runtime
/// sleeps in this way until the others have arrived.
fn at_condition(condition: *mut pthread_cond_t, wait: impl FnOnce() -> c_int) -> c_int {
    let has_arrived = |slot: &ThreadSlot| slot.doing().0 == ThreadActivity::Arrived as u32;
    if record::slot().is_some_and(has_arrived) {
        return wait();
    }
    record::during(ThreadActivity::Condition, condition.addr() as u64, wait)
}

/// `pthread_cond_wait`.
///
/// # Safety
/// As that function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_wait(condition: *mut pthread_cond_t, mutex: *mut pthread_mutex_t) -> c_int {
    let next = next!(c"pthread_cond_wait", fn(*mut pthread_cond_t, *mut pthread_mutex_t) -> c_int);
    // SAFETY: the caller's promise is that of the C library's function.
    at_condition(condition, || unsafe { next(condition, mutex) })
}

/// `pthread_cond_timedwait`.
///
/// # Safety
/// As that function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_cond_timedwait(
    condition: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    until: *const timespec,
) -> c_int {
    let next = next!(c"pthread_cond_timedwait", fn(*mut pthread_cond_t, *mut pthread_mutex_t, *const timespec) -> c_int);
    // SAFETY: the caller's promise is that of the C library's function.
    at_condition(condition, || unsafe { next(condition, mutex, until) })
}

/// `pthread_mutex_lock`. A mutex that is free is taken at once, by a call that takes it in the same way.
///
/// # Safety
/// As that function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int {
    let next = next!(c"pthread_mutex_lock", fn(*mut pthread_mutex_t) -> c_int);
    let attempt = next!(c"pthread_mutex_trylock", fn(*mut pthread_mutex_t) -> c_int);
    // SAFETY: the caller's promise is that of the C library's function, for both calls.
    let attempted = unsafe { attempt(mutex) };
    if attempted != libc::EBUSY {
        return attempted;
    }
    let Some(slot) = record::slot() else {
        // SAFETY: the caller's promise is that of the C library's function.
        return unsafe { next(mutex) };
    };
    slot.waits_for(holder(mutex));
    ThreadSlot::add(&slot.counts.locks, 1);
    // SAFETY: the caller's promise is that of the C library's function.
    let result = record::during(ThreadActivity::Lock, mutex.addr() as u64, || unsafe { next(mutex) });
    slot.waits_for(0);
    result
}

/// The thread that holds a mutex, where the GNU C library keeps it; 0 if it is free.
fn holder(mutex: *mut pthread_mutex_t) -> u32 {
    const OWNER: usize = 2;
    // SAFETY: the program's mutex lives during the call, and has four integers at its beginning, of which the
    // third names its holder. Another thread may change it, so it is read as an atomic.
    unsafe { AtomicU32::from_ptr(mutex.cast::<u32>().add(OWNER)).load(Relaxed) }
}

/// `sched_yield`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn sched_yield() -> c_int {
    let next = next!(c"sched_yield", fn() -> c_int);
    if let Some(slot) = record::slot() {
        ThreadSlot::add(&slot.counts.yields, 1);
    }
    // SAFETY: it takes nothing.
    unsafe { next() }
}
