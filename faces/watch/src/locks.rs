//! Critical sections and locks of OpenMP, by the names of the GNU runtime and of LLVM's.
//!
//! A thread that finds a section or a lock free enters without reading the clock. Only a thread that has to
//! wait records that, and the holder is kept where watchers read it.
use crate::next::{KnownCallers, NextFunction, to_c};
use crate::openmp::region_code;
use crate::record;
use core::ffi::{c_int, c_void};
use core::mem::transmute;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use foregather_host::watched::page::{CRITICAL_SECTION, OPENMP_LOCK, ThreadActivity, ThreadSlot};

/// A critical section or a lock of the program. Its holder is where a mutex of the GNU C library has it:
/// after 8 bytes.
#[repr(C, align(64))]
struct KnownLock {
    /// The address of the lock, or of the word that the compiler keeps for the section's name; 0 if this
    /// place is free.
    name: AtomicU64,
    /// The thread inside; 0 if there is none.
    holder: AtomicU32,
    /// The number of threads that are inside or wait.
    present: AtomicU32,
    /// How often the holder of a nest lock has taken it; only the holder writes it.
    depth: AtomicU32,
}

impl KnownLock {
    const fn new() -> Self {
        Self { name: AtomicU64::new(0), holder: AtomicU32::new(0), present: AtomicU32::new(0), depth: AtomicU32::new(0) }
    }

    /// Enters by `wait`, which returns when the calling thread is inside. `kind` is added to the
    /// subject of the wait.
    #[inline]
    fn enter(&self, kind: u64, wait: impl FnOnce()) {
        let slot = record::slot();
        match slot.filter(|_| self.present.fetch_add(1, Relaxed) > 0) {
            None => wait(),
            Some(slot) => {
                slot.waits_for(self.holder.load(Relaxed));
                ThreadSlot::add(&slot.counts.locks, 1);
                record::during(ThreadActivity::Lock, core::ptr::from_ref(self).addr() as u64 | kind, wait);
                slot.waits_for(0);
            }
        }
        self.holder.store(slot.map_or(0, ThreadSlot::thread), Relaxed);
    }

    /// Enters if `attempt` does.
    fn try_enter(&self, attempt: impl FnOnce() -> c_int) -> c_int {
        let result = attempt();
        if result != 0
            && let Some(slot) = record::slot()
        {
            self.present.fetch_add(1, Relaxed);
            self.holder.store(slot.thread(), Relaxed);
        }
        result
    }

    /// Returns whether the calling thread holds this nest lock, so that it need not wait. If another task of
    /// the thread holds it, it does wait, and that wait is not recorded.
    fn is_held_here(&self) -> bool {
        record::slot().is_some_and(|slot| self.holder.load(Relaxed) == slot.thread())
    }

    /// As [`KnownLock::enter`], for a lock that its holder may take again.
    fn enter_nested(&self, wait: impl FnOnce()) {
        if self.is_held_here() {
            wait()
        } else {
            self.enter(OPENMP_LOCK, wait)
        }
        self.depth.store(self.depth.load(Relaxed) + 1, Relaxed);
    }

    /// As [`KnownLock::try_enter`], for a lock that its holder may take again. `attempt` returns how often it
    /// has, or 0.
    fn try_enter_nested(&self, attempt: impl FnOnce() -> c_int) -> c_int {
        let depth = if self.is_held_here() { attempt() } else { self.try_enter(attempt) };
        if depth != 0 {
            self.depth.store(depth.cast_unsigned(), Relaxed);
        }
        depth
    }

    /// As [`KnownLock::leave`], for a lock that its holder may have taken several times.
    fn leave_nested(&self, end: impl FnOnce()) {
        let depth = self.depth.load(Relaxed).saturating_sub(1);
        self.depth.store(depth, Relaxed);
        if depth == 0 { self.leave(end) } else { end() }
    }

    /// Leaves by `end`, after which another thread may be inside.
    #[inline]
    fn leave(&self, end: impl FnOnce()) {
        self.holder.store(0, Relaxed);
        end();
        if record::slot().is_some() {
            self.present.fetch_sub(1, Relaxed);
        }
    }
}

const PLACES: usize = 256;
/// How many places are tried for a name. If others have all of them, the section or lock is not recorded.
const TRIED: usize = 8;

static UNNAMED: KnownLock = KnownLock::new();
static NAMED: [KnownLock; PLACES] = [const { KnownLock::new() }; PLACES];

/// Returns the place of the section or lock with that name.
#[inline]
fn named(word: *mut c_void) -> Option<&'static KnownLock> {
    let name = word.addr() as u64;
    let first = (name >> 3) as usize;
    let mut places = (0..TRIED).map(|at| &NAMED[(first + at) % PLACES]);
    places.find(|place| {
        place.name.load(Relaxed) == name
            || place.name.compare_exchange(0, name, Relaxed, Relaxed).map_or_else(|taken| taken == name, |_| true)
    })
}

/// Declares functions that enter or leave a section or a lock.
macro_rules! functions {
    ($($name:ident($($parameter:ident: $type:ty),*) $(-> $result:ty)? = $by:ident($($kind:expr)?) of $lock:expr;)*) => {$(
        /// Enters or leaves a critical section or a lock, as the runtime's function of this name.
        ///
        /// # Safety
        /// As that function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($parameter: $type),*) $(-> $result)? {
            static NEXT: NextFunction = NextFunction::new(to_c(concat!(stringify!($name), "\0")));
            static KNOWN: KnownCallers = KnownCallers::new();
            let code = region_code($name as *const c_void);
            let found = KNOWN.of(code, to_c(concat!(stringify!($name), "\0")), &NEXT, $name as *const c_void);
            // SAFETY: the runtime's function of this name, with the arguments of the program.
            let next = || unsafe {
                transmute::<*mut c_void, unsafe extern "C-unwind" fn($($type),*) $(-> $result)?>(found)($($parameter),*)
            };
            match record::page().and($lock) {
                Some(lock) => lock.$by($($kind,)? next),
                None => next(),
            }
        }
    )*};
}

functions! {
    GOMP_critical_start() = enter(CRITICAL_SECTION) of Some(&UNNAMED);
    GOMP_critical_end() = leave() of Some(&UNNAMED);
    GOMP_critical_name_start(word: *mut c_void) = enter(CRITICAL_SECTION) of named(word);
    GOMP_critical_name_end(word: *mut c_void) = leave() of named(word);
    __kmpc_critical(place: *mut c_void, thread: c_int, word: *mut c_void) = enter(CRITICAL_SECTION) of named(word);
    __kmpc_critical_with_hint(place: *mut c_void, thread: c_int, word: *mut c_void, hint: u32)
        = enter(CRITICAL_SECTION) of named(word);
    __kmpc_end_critical(place: *mut c_void, thread: c_int, word: *mut c_void) = leave() of named(word);
    omp_set_lock(lock: *mut c_void) = enter(OPENMP_LOCK) of named(lock);
    omp_unset_lock(lock: *mut c_void) = leave() of named(lock);
    omp_test_lock(lock: *mut c_void) -> c_int = try_enter() of named(lock);
    omp_set_nest_lock(lock: *mut c_void) = enter_nested() of named(lock);
    omp_unset_nest_lock(lock: *mut c_void) = leave_nested() of named(lock);
    omp_test_nest_lock(lock: *mut c_void) -> c_int = try_enter_nested() of named(lock);
    omp_set_nest_lock_(lock: *mut c_void) = enter_nested() of named(lock);
    omp_unset_nest_lock_(lock: *mut c_void) = leave_nested() of named(lock);
    omp_test_nest_lock_(lock: *mut c_void) -> c_int = try_enter_nested() of named(lock);
    omp_set_lock_(lock: *mut c_void) = enter(OPENMP_LOCK) of named(lock);
    omp_unset_lock_(lock: *mut c_void) = leave() of named(lock);
    omp_test_lock_(lock: *mut c_void) -> c_int = try_enter() of named(lock);
}
