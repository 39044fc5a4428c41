//! Critical sections, updates without an instruction of their own, and the program's locks.
//!
//! A lock of C is the program's four or sixteen bytes. A lock of Fortran is four bytes, too; a nested one is
//! the address of sixteen, in eight bytes.
use crate::export::entries;
use core::ffi::{c_int, c_void};
use foregather_openmp::lock::{ATOMIC, CRITICAL, Lock, NestLock, ThreadNestLock};

/// The lock at the front of the word that the compiler keeps for a name.
///
/// # Safety
/// `word` is such a word: at least four bytes, aligned, at first of zeros, and touched by these entries
/// alone.
unsafe fn of_name<'l>(word: *mut *mut c_void) -> &'l Lock {
    // SAFETY: by this function's contract.
    unsafe { &*word.cast::<Lock>() }
}

entries! {
    "GOMP_1.0" {
        fn GOMP_critical_start() {
            CRITICAL.lock();
        }
        fn GOMP_critical_end() {
            CRITICAL.unlock();
        }
        fn GOMP_critical_name_start(word: *mut *mut c_void) {
            // SAFETY: the compiler passes the word of the section's name.
            unsafe { of_name(word) }.lock();
        }
        fn GOMP_critical_name_end(word: *mut *mut c_void) {
            // SAFETY: the compiler passes the word of the section's name.
            unsafe { of_name(word) }.unlock();
        }
        fn GOMP_atomic_start() {
            ATOMIC.lock();
        }
        fn GOMP_atomic_end() {
            ATOMIC.unlock();
        }
    }
}

/// The program's locks under a node: nested ones of C are a `$nest` each, and Fortran's are `$more`.
macro_rules! locks {
    ($($place:ident:)? $node:literal $nest:ty { $($more:tt)* }) => {
        entries! {
            $($place:)?
            $node {
                fn omp_init_lock omp_init_lock_(lock: *mut Lock) {
                    // SAFETY: the program passes memory for a lock, which no thread uses yet.
                    unsafe { lock.write(Lock::new()) }
                }
                fn omp_destroy_lock omp_destroy_lock_(_lock: *mut Lock) {}
                fn omp_set_lock omp_set_lock_(lock: &Lock) {
                    lock.lock();
                }
                fn omp_unset_lock omp_unset_lock_(lock: &Lock) {
                    lock.unlock();
                }
                fn omp_test_lock omp_test_lock_(lock: &Lock) -> c_int {
                    lock.try_lock().into()
                }
                fn omp_init_nest_lock(lock: *mut $nest) {
                    // SAFETY: the program passes memory for a lock, which no thread uses yet.
                    unsafe { lock.write(<$nest>::default()) }
                }
                fn omp_destroy_nest_lock(_lock: *mut $nest) {}
                fn omp_set_nest_lock(lock: &$nest) {
                    lock.lock();
                }
                fn omp_unset_nest_lock(lock: &$nest) {
                    lock.unlock();
                }
                fn omp_test_nest_lock(lock: &$nest) -> c_int {
                    lock.try_lock() as c_int
                }
                $($more)*
            }
        }
    };
}

/// Locks of programs since OpenMP 3.0, whose nested locks belong to a task.
pub(super) mod new {
    use super::*;
    locks! {
        "OMP_3.0" NestLock {
            fn omp_init_nest_lock_(lock: *mut *mut NestLock) {
                // SAFETY: the program passes a variable for the lock's address.
                unsafe { lock.write(Box::into_raw(Box::default())) }
            }
            fn omp_destroy_nest_lock_(lock: *mut *mut NestLock) {
                // SAFETY: the variable has the address that `omp_init_nest_lock_` made, and no thread uses
                // the lock any more.
                unsafe {
                    drop(Box::from_raw(lock.read()));
                    lock.write(core::ptr::null_mut());
                }
            }
            fn omp_set_nest_lock_(lock: &&NestLock) {
                lock.lock();
            }
            fn omp_unset_nest_lock_(lock: &&NestLock) {
                lock.unlock();
            }
            fn omp_test_nest_lock_(lock: &&NestLock) -> c_int {
                lock.try_lock() as c_int
            }
        }
    }
}

/// Locks of programs from before OpenMP 3.0, whose nested locks belong to a thread, and have eight bytes in
/// both languages.
pub(super) mod old {
    use super::*;
    locks! {
        old: "OMP_1.0" ThreadNestLock {
            fn omp_init_nest_lock_(lock: *mut ThreadNestLock) {
                // SAFETY: the program passes memory for a lock, which no thread uses yet.
                unsafe { lock.write(ThreadNestLock::default()) }
            }
            fn omp_destroy_nest_lock_(_lock: *mut ThreadNestLock) {}
            fn omp_set_nest_lock_(lock: &ThreadNestLock) {
                lock.lock();
            }
            fn omp_unset_nest_lock_(lock: &ThreadNestLock) {
                lock.unlock();
            }
            fn omp_test_nest_lock_(lock: &ThreadNestLock) -> c_int {
                lock.try_lock() as c_int
            }
        }
    }
}
