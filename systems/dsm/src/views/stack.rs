//! A signal stack that is large enough to serve a fault.
//!
//! SIGSEGV is handled on the thread's alternate stack, because a stack that has overflowed has no room for
//! it. Rust gives its threads an alternate stack of a few KiB, enough for the overflow message; serving a
//! fault needs more.
use super::layout::PAGE;
use core::ffi::c_void;
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use core::ptr::null_mut;
use foregather_machine::{Cause, Error};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

/// The size of the stack, and the minimum room for serving a fault.
const BYTES: usize = 256 << 10;
const LEAST: usize = 64 << 10;

/// This thread's alternate signal stack, until it is dropped. Threads need one to access shared memory that
/// is protected by mprotect.
#[derive(Debug)]
pub struct Stack {
    base: *mut c_void,
    before: libc::stack_t,
    /// It belongs to the thread that created it.
    thread: PhantomData<*mut ()>,
}

impl Stack {
    /// Installs an alternate stack for this thread.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn install() -> Result<Self, Error> {
        let refused = |errno| Error::from(Cause::Os { what: "making a signal stack", errno, remedy: "raise `ulimit -v`" });
        let open = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address that the kernel chooses replaces no other.
        let base = unsafe { mmap_anonymous(null_mut(), PAGE + BYTES, open, MapFlags::PRIVATE | MapFlags::NORESERVE) };
        let base = base.map_err(|errno| refused(errno.raw_os_error()))?;
        let mut stack = Self { base, before: off(), thread: PhantomData };
        // SAFETY: the lowest page of the new mapping, which is unused: a thread that runs over the end gets a
        // fault there.
        unsafe { mprotect(base, PAGE, MprotectFlags::empty()) }.map_err(|errno| refused(errno.raw_os_error()))?;
        let ours = libc::stack_t { ss_sp: base.wrapping_byte_add(PAGE), ss_flags: 0, ss_size: BYTES };
        let mut before = MaybeUninit::uninit();
        // SAFETY: the stack stays mapped as long as it is this thread's; there is room for the previous one.
        if unsafe { libc::sigaltstack(&raw const ours, before.as_mut_ptr()) } != 0 {
            return Err(refused(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)));
        }
        // SAFETY: the call has succeeded and filled it.
        stack.before = unsafe { before.assume_init() };
        Ok(stack)
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the previous stack is whole, and its owner outlives this value, which ends within the same
        // thread.
        let restored = unsafe { libc::sigaltstack(&raw const self.before, null_mut()) };
        debug_assert_eq!(restored, 0);
        // SAFETY: the mapping is this value's own, and no thread's stack any more.
        let unmapped = unsafe { munmap(self.base, PAGE + BYTES) };
        debug_assert!(unmapped.is_ok(), "{unmapped:?}");
    }
}

/// Returns whether the handler with this context runs on an alternate stack with too little room.
///
/// # Safety
/// `context` is what the kernel has passed to a handler of this thread.
pub(super) unsafe fn is_small(context: *mut c_void) -> bool {
    // SAFETY: by this function's contract `context` is what the kernel passed.
    let stack = unsafe { (*context.cast::<libc::ucontext_t>()).uc_stack };
    stack.ss_flags & libc::SS_DISABLE == 0 && stack.ss_size < LEAST
}

fn off() -> libc::stack_t {
    libc::stack_t { ss_sp: null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 }
}
