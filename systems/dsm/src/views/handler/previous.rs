//! The previous handlers of a signal. Signals of other code are passed on as if this handler did not exist.
use core::ffi::{c_int, c_void};
use core::mem::{MaybeUninit, transmute};
use core::ptr::{NonNull, null, null_mut};
use core::sync::atomic::{AtomicPtr, Ordering::*};
use foregather_machine::{Cause, Error};
use std::sync::Mutex;

pub(super) type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// The previous action for each signal. It is never freed, because another thread may be about to call it.
static BEFORE: [AtomicPtr<libc::sigaction>; 2] = [const { AtomicPtr::new(null_mut()) }; 2];

fn before(signal: c_int) -> &'static AtomicPtr<libc::sigaction> {
    &BEFORE[usize::from(signal == libc::SIGBUS)]
}

/// Installs `handler` unless it is installed, and stores the previous action.
pub(super) fn replace(signal: c_int, handler: Handler, flags: c_int) -> Result<(), Error> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock();
    let address = handler as *const () as libc::sighandler_t;
    let current = action(signal, null())?;
    if current.sa_sigaction == address {
        return Ok(());
    }
    before(signal).store(NonNull::from(Box::leak(Box::new(current))).as_ptr(), Release);
    // SAFETY: a signal action of zeros is one: the default, no flags, an empty mask.
    let mut ours: libc::sigaction = unsafe { core::mem::zeroed() };
    ours.sa_sigaction = address;
    // A fault within the handler must end the process, not hang it.
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_NODEFER | flags;
    action(signal, &raw const ours).map(|_| ())
}

/// Sets the action of a signal, unless `new` is null. Returns the previous one.
fn action(signal: c_int, new: *const libc::sigaction) -> Result<libc::sigaction, Error> {
    let mut old = MaybeUninit::uninit();
    // SAFETY: `new` is null or a whole action whose handler is ours; there is room for the old one.
    if unsafe { libc::sigaction(signal, new, old.as_mut_ptr()) } != 0 {
        let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(0);
        return Err(Error::from(Cause::Os { what: "installing a handler of page faults", errno, remedy: "" }));
    }
    // SAFETY: the call has succeeded and filled it.
    Ok(unsafe { old.assume_init() })
}

/// Does what would have happened without this handler.
///
/// # Safety
/// All three are what the kernel has passed to a handler of that signal.
pub(super) unsafe fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: null or an action that is never freed.
    let before = unsafe { before(signal).load(Acquire).as_ref() };
    // SAFETY: by this function's contract `info` is what the kernel passed.
    let sent = unsafe { (*info).si_code } <= 0;
    let Some(before) = before.filter(|before| before.sa_sigaction > libc::SIG_IGN) else {
        let ignored = before.is_some_and(|before| before.sa_sigaction == libc::SIG_IGN);
        // The kernel does not let a thread ignore its own fault.
        if !(sent && ignored) {
            die_of(signal, sent);
        }
        return;
    };
    let mut mask = before.sa_mask;
    let mut old = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: both are signal sets of this frame.
    unsafe {
        if before.sa_flags & libc::SA_NODEFER == 0 {
            libc::sigaddset(&raw mut mask, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const mask, old.as_mut_ptr());
    }
    if before.sa_flags & libc::SA_SIGINFO != 0 {
        // SAFETY: with this flag it is a handler of three arguments.
        let handler: Handler = unsafe { transmute(before.sa_sigaction) };
        handler(signal, info, context);
    } else {
        // SAFETY: without it, of one.
        let handler: extern "C" fn(c_int) = unsafe { transmute(before.sa_sigaction) };
        handler(signal);
    }
    // SAFETY: the call above has filled the set.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, old.as_ptr(), null_mut()) };
    // Rust's handler relies on the fault being repeated. A sent signal is not repeated.
    if sent && action(signal, null()).is_ok_and(|now| now.sa_sigaction == libc::SIG_DFL) {
        die_of(signal, sent);
    }
}

/// Takes the default action. A fault recurs as soon as the handler returns, so a core dump shows its
/// location; a sent signal does not recur.
fn die_of(signal: c_int, sent: bool) {
    // SAFETY: both calls take any signal.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        if sent {
            libc::raise(signal);
        }
    }
}
