//! What a thread does when it ends.
//!
//! A destructor of a `thread_local!` runs in the thread that calls `exit`, too, before the program's `atexit`
//! handlers and static destructors. What these still need must live as long as the process, so it registers
//! here instead: the C library calls the destructors of a `pthread_key_t` only when a thread returns or calls
//! `pthread_exit`.
use core::cell::{Cell, RefCell, RefMut};
use core::ffi::c_void;
use core::mem::ManuallyDrop;
use core::sync::atomic::{AtomicU64, Ordering::*};

/// Calls `function` when the calling thread ends, after the destructors of its `thread_local!` values, and
/// not when the process exits. A thread that registers several functions calls the last one first; one that
/// registers a function meanwhile calls it, too. Without memory for it, the function is not called.
pub fn at_thread_end(function: fn()) {
    let Some(key) = key() else { return };
    // SAFETY: the key was created by `key` and is never deleted; its values are null or come from the call
    // below.
    let before = unsafe { libc::pthread_getspecific(key) }.cast::<ExitHook>();
    let entry = Box::into_raw(Box::new(ExitHook { function, before }));
    // SAFETY: the key is never deleted; the value is owned by the key from now on, and `end` takes it.
    if unsafe { libc::pthread_setspecific(key, entry.cast()) } != 0 {
        // SAFETY: the box was made above, and the key has not taken it.
        drop(unsafe { Box::from_raw(entry) });
    }
}

/// A value of a thread that is dropped when the thread ends, and not when the process exits. So it can be
/// used at any time, in `atexit` handlers and in destructors, too. [`per_thread!`](crate::per_thread)
/// declares one.
pub struct PerThread<T> {
    value: ManuallyDrop<RefCell<T>>,
    /// Drops this very value.
    end: fn(),
    is_registered: Cell<bool>,
}

impl<T: Default> PerThread<T> {
    /// A value for which `end` calls [`PerThread::end`].
    pub const fn new(value: T, end: fn()) -> Self {
        Self { value: ManuallyDrop::new(RefCell::new(value)), end, is_registered: Cell::new(false) }
    }

    /// Reads the value. It must not be borrowed for writing.
    #[inline]
    pub fn read<R>(&self, read: impl FnOnce(&T) -> R) -> R {
        read(&self.value.borrow())
    }

    /// Borrows the value, which is dropped at the thread's end from now on.
    #[inline]
    pub fn borrow_mut(&self) -> RefMut<'_, T> {
        if !self.is_registered.replace(true) {
            at_thread_end(self.end);
        }
        self.value.borrow_mut()
    }

    /// Takes the value out; an empty one stays.
    pub fn take(&self) -> T {
        self.value.take()
    }

    /// Drops the value at the thread's end. If it is written again, it is dropped again.
    pub fn end(&self) {
        self.is_registered.set(false);
        drop(self.take());
    }
}

/// Declares [`PerThread`] values, as `thread_local!` does.
#[macro_export]
macro_rules! per_thread {
    ($($(#[$about:meta])* $visible:vis static $name:ident: $type:ty = $value:expr;)*) => {
        $(
            thread_local! {
                $(#[$about])*
                $visible static $name: $crate::thread_end::PerThread<$type> =
                    const { $crate::thread_end::PerThread::new($value, || $name.with($crate::thread_end::PerThread::end)) };
            }
        )*
    };
}

/// A function of a thread, and the one that it registered before.
struct ExitHook {
    function: fn(),
    before: *mut ExitHook,
}

/// Calls the functions of the thread that ends.
extern "C" fn end(entries: *mut c_void) {
    let mut next = entries.cast::<ExitHook>();
    while !next.is_null() {
        // SAFETY: entries are boxes that `at_thread_end` has made, each named by the key or by one other
        // entry; the C library has cleared the key's value before this call.
        let ExitHook { function, before } = *unsafe { Box::from_raw(next) };
        function();
        next = before;
    }
}

/// The key of this process. `None` if the C library has none left.
fn key() -> Option<libc::pthread_key_t> {
    /// One more than the key; 0 for none yet.
    static KEY: AtomicU64 = AtomicU64::new(0);
    let kept = KEY.load(Acquire);
    if kept > 0 {
        return Some((kept - 1) as libc::pthread_key_t);
    }
    let mut new: libc::pthread_key_t = 0;
    // SAFETY: the call writes a key; the destructor is a function of this library, which is never unloaded
    // (`-z nodelete`), and takes values that only `at_thread_end` stores.
    if unsafe { libc::pthread_key_create(&raw mut new, Some(end)) } != 0 {
        return None;
    }
    match KEY.compare_exchange(0, u64::from(new) + 1, AcqRel, Acquire) {
        Ok(_) => Some(new),
        Err(kept) => {
            // SAFETY: the key was created above, and no thread has used it.
            unsafe { libc::pthread_key_delete(new) };
            Some((kept - 1) as libc::pthread_key_t)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::forks::in_child;
    use core::sync::atomic::AtomicU32;

    #[test]
    fn functions_are_called_last_one_first_when_their_thread_ends_and_later_ones_too() {
        static CALLS: AtomicU32 = AtomicU32::new(0);
        fn note(digit: u32) {
            CALLS.fetch_update(SeqCst, SeqCst, |calls| Some(calls * 10 + digit)).unwrap();
        }
        std::thread::spawn(|| {
            at_thread_end(|| note(1));
            at_thread_end(|| {
                note(2);
                at_thread_end(|| note(3));
            });
            note(9);
        })
        .join()
        .unwrap();
        assert_eq!(CALLS.load(SeqCst), 9213);
    }

    per_thread! {
        static OWN: Vec<Dropped> = Vec::new();
    }
    static DROPS: AtomicU32 = AtomicU32::new(0);
    struct Dropped;
    impl Drop for Dropped {
        fn drop(&mut self) {
            DROPS.fetch_add(1, SeqCst);
            OWN.with(|own| assert!(own.read(Vec::is_empty), "it was taken out before"));
        }
    }

    #[test]
    fn a_value_is_dropped_once_when_its_thread_ends() {
        assert!(!core::mem::needs_drop::<PerThread<Vec<Dropped>>>(), "a destructor would run in `exit`, too");
        let push = || OWN.with(|own| own.borrow_mut().push(Dropped));
        std::thread::spawn(move || {
            push();
            push();
            drop(OWN.with(PerThread::take));
            push();
            assert_eq!(DROPS.load(SeqCst), 2);
        })
        .join()
        .unwrap();
        assert_eq!(DROPS.load(SeqCst), 3);
    }

    #[test]
    fn a_process_that_exits_calls_none() {
        extern "C" fn good() {
            // SAFETY: ends this process only.
            unsafe { libc::_exit(0) };
        }
        let child = || {
            // SAFETY: ends this process only.
            at_thread_end(|| unsafe { libc::_exit(5) });
            // SAFETY: the handler is a function of this program; `exit` runs the handlers of this child only.
            unsafe {
                libc::atexit(good);
                libc::exit(1)
            }
        };
        assert_eq!(in_child(child).exit_status(), Some(0));
    }
}
