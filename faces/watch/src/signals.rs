//! Functions by which a program touches signals: the sampler withdraws before they reach its own.
use crate::next::NextFunction;
use crate::sampler;
use core::ffi::{c_int, c_void};
use core::mem::{transmute, zeroed};
use core::ptr::{null, null_mut};
use foregather_host::cpu_timer;
use foregather_host::watched::page::Withdrawal;
use libc::{gid_t, siginfo_t, sigset_t, timespec, uid_t};

/// What a process does with a signal.
#[repr(transparent)]
pub(crate) struct SignalAction(libc::sigaction);

impl Default for SignalAction {
    /// The default action.
    fn default() -> Self {
        // SAFETY: zeros are valid for this plain structure, and mean the default action and an empty mask.
        Self(unsafe { zeroed() })
    }
}

impl PartialEq for SignalAction {
    fn eq(&self, other: &Self) -> bool {
        self.0.sa_sigaction == other.0.sa_sigaction
    }
}

impl SignalAction {
    pub(crate) fn ignore() -> Self {
        let mut action = Self::default();
        action.0.sa_sigaction = libc::SIG_IGN;
        action
    }

    /// A handler that interrupts no call for good, and runs on the stack that a thread has for signals.
    pub(crate) fn of_handler(handler: extern "C" fn(c_int, *mut siginfo_t, *mut c_void)) -> Self {
        let mut action = Self::default();
        action.0.sa_sigaction = handler as *const () as usize;
        action.0.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
        action
    }

    pub(crate) fn is_default(&self) -> bool {
        self.0.sa_sigaction == libc::SIG_DFL
    }
}

/// Declares a function of the C library as it is called, with what is returned if there is none.
macro_rules! next {
    ($name:literal, fn($($kind:ty),*) -> $result:ty, $missing:expr) => {{
        static NEXT: NextFunction = NextFunction::new($name);
        let found = NEXT.get();
        if found.is_null() {
            return $missing;
        }
        // SAFETY: POSIX and Linux say what a function of this name takes and gives.
        unsafe { transmute::<*mut c_void, unsafe extern "C" fn($($kind),*) -> $result>(found) }
    }};
}

unsafe fn real_sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    let next = next!(c"sigaction", fn(c_int, *const libc::sigaction, *mut libc::sigaction) -> c_int, -1);
    // SAFETY: the caller's promise is that of the C library's function.
    unsafe { next(signal, new, old) }
}

/// What this process does with a signal. `None` if there is no such signal.
pub(crate) fn action(signal: c_int) -> Option<SignalAction> {
    let mut found = SignalAction::default();
    // SAFETY: the call writes the action.
    (unsafe { real_sigaction(signal, null(), &raw mut found.0) } == 0).then_some(found)
}

/// Sets what this process does with a signal.
pub(crate) fn set_action(signal: c_int, action: &SignalAction) -> bool {
    // SAFETY: the call reads the action, whose handler is a function of this library or none.
    unsafe { real_sigaction(signal, &raw const action.0, null_mut()) == 0 }
}

/// `sigaction`. The program sees the default action where the sampler has its own.
///
/// # Safety
/// As that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sigaction(signal: c_int, new: *const libc::sigaction, old: *mut libc::sigaction) -> c_int {
    if sampler::is_ours(signal) && !new.is_null() {
        sampler::withdraw(Withdrawal::SignalTaken);
    }
    // SAFETY: the caller's promise is that of the C library's function.
    let result = unsafe { real_sigaction(signal, new, old) };
    if sampler::is_ours(signal) && result == 0 {
        // SAFETY: the caller's structure, which the call has filled, if there is one.
        if let Some(old) = unsafe { old.cast::<SignalAction>().as_mut() }.filter(|old| sampler::is_handler(old)) {
            *old = SignalAction::default();
        }
    }
    result
}

/// `signal`.
///
/// # Safety
/// As that function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn signal(signal: c_int, handler: libc::sighandler_t) -> libc::sighandler_t {
    let next = next!(c"signal", fn(c_int, libc::sighandler_t) -> libc::sighandler_t, libc::SIG_ERR);
    if sampler::is_ours(signal) {
        sampler::withdraw(Withdrawal::SignalTaken);
        if action(signal).is_some_and(|action| sampler::is_handler(&action)) {
            cpu_timer::restore_default(signal);
        }
    }
    // SAFETY: the caller's promise is that of the C library's function.
    unsafe { next(signal, handler) }
}

/// Withdraws if a set that a program waits for has the sampler's signal.
///
/// # Safety
/// The set, if there is one, was initialised.
unsafe fn awaits(set: *const sigset_t) {
    let signal = sampler::signal();
    // SAFETY: the caller promises it.
    if signal != 0 && !set.is_null() && unsafe { libc::sigismember(set, signal) } == 1 {
        sampler::withdraw(Withdrawal::SignalAwaited);
    }
}

/// Declares functions that wait for the signals of a set: their name, the set, and their arguments.
macro_rules! waits {
    ($($name:ident($($argument:ident: $kind:ty),*), $set:ident;)*) => {$(
        /// Waits for signals, as the C library's function of this name.
        ///
        /// # Safety
        /// As that function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($argument: $kind),*) -> c_int {
            static NEXT: NextFunction = NextFunction::new(crate::next::to_c(concat!(stringify!($name), "\0")));
            let found = NEXT.get();
            if found.is_null() {
                return libc::ENOSYS;
            }
            // SAFETY: the caller's promise is that of the C library's function, which takes these arguments.
            unsafe {
                awaits($set);
                transmute::<*mut c_void, unsafe extern "C-unwind" fn($($kind),*) -> c_int>(found)($($argument),*)
            }
        }
    )*};
}

waits! {
    sigwait(set: *const sigset_t, signal: *mut c_int), set;
    sigwaitinfo(set: *const sigset_t, about: *mut siginfo_t), set;
    sigtimedwait(set: *const sigset_t, about: *mut siginfo_t, within: *const timespec), set;
    signalfd(descriptor: c_int, set: *const sigset_t, flags: c_int), set;
}

/// Declares functions that change the user or the group.
macro_rules! becomes {
    ($($name:ident($($argument:ident: $kind:ty),*);)*) => {$(
        /// Changes the user or the group, as the C library's function of this name.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name($($argument: $kind),*) -> c_int {
            static NEXT: NextFunction = NextFunction::new(crate::next::to_c(concat!(stringify!($name), "\0")));
            let found = NEXT.get();
            if found.is_null() {
                return -1;
            }
            if sampler::signal() != 0 {
                sampler::withdraw(Withdrawal::UserChanged);
            }
            // SAFETY: the C library's function of this name takes these numbers.
            unsafe { transmute::<*mut c_void, extern "C" fn($($kind),*) -> c_int>(found)($($argument),*) }
        }
    )*};
}

becomes! {
    setuid(user: uid_t);
    seteuid(user: uid_t);
    setreuid(real: uid_t, effective: uid_t);
    setresuid(real: uid_t, effective: uid_t, saved: uid_t);
    setgid(group: gid_t);
    setegid(group: gid_t);
    setregid(real: gid_t, effective: gid_t);
    setresgid(real: gid_t, effective: gid_t, saved: gid_t);
}
