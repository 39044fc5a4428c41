//! Timers of a thread's own processor time, which send that thread a real-time signal: they tick only while
//! the thread executes something.
use core::ffi::{c_int, c_void};
use core::mem::zeroed;
use foregather_machine::Nanos;

/// A timer of the calling process, by its number in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuTimer(pub c_int);

impl CpuTimer {
    /// Creates a timer of the calling thread's processor time, which does not tick yet. Its signal carries
    /// `value`. It outlives the thread until it is deleted, and no child of a fork has it.
    ///
    /// # Errors
    /// The system's error number.
    pub fn create(signal: c_int, value: usize) -> Result<Self, i32> {
        // SAFETY: zeros are valid for this plain structure.
        let mut event: libc::sigevent = unsafe { zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal;
        event.sigev_value.sival_ptr = core::ptr::without_provenance_mut(value);
        event.sigev_notify_thread_id = super::usage::this_thread() as c_int;
        let mut id: c_int = 0;
        // SAFETY: the kernel reads the event and writes the number.
        let done = unsafe { libc::syscall(libc::SYS_timer_create, libc::CLOCK_THREAD_CPUTIME_ID, &raw const event, &raw mut id) };
        if done == 0 { Ok(Self(id)) } else { Err(std::io::Error::last_os_error().raw_os_error().unwrap_or(0)) }
    }

    /// Lets it tick. Without effect if it was deleted.
    pub fn tick_every(self, time: Nanos) {
        let time = libc::timespec { tv_sec: (time.0 / 1_000_000_000) as i64, tv_nsec: (time.0 % 1_000_000_000) as i64 };
        let ticks = libc::itimerspec { it_interval: time, it_value: time };
        // SAFETY: the kernel reads the times, and knows its timers by number.
        unsafe { libc::syscall(libc::SYS_timer_settime, self.0, 0, &raw const ticks, core::ptr::null_mut::<c_void>()) };
    }

    /// Deletes it. A signal that it has sent may still be pending.
    pub fn delete(self) {
        // SAFETY: the kernel knows its timers by number.
        unsafe { libc::syscall(libc::SYS_timer_delete, self.0) };
    }
}

/// The slot that a tick of [`CpuTimer`] carries; `None` for a signal that no timer has sent.
///
/// # Safety
/// `about` is what the kernel handed to a signal handler.
pub unsafe fn value_of_tick(about: *const libc::siginfo_t) -> Option<usize> {
    // SAFETY: the caller promises it; signals of timers carry a value.
    unsafe { ((*about).si_code == libc::SI_TIMER).then(|| (*about).si_value().sival_ptr.addr()) }
}

/// The address of the instruction that a signal has interrupted.
///
/// # Safety
/// `context` is what the kernel handed to a signal handler.
pub unsafe fn interrupted_at(context: *const c_void) -> u64 {
    // SAFETY: the caller promises it.
    let context = unsafe { &*context.cast::<libc::ucontext_t>() };
    #[cfg(target_arch = "x86_64")]
    let address = context.uc_mcontext.gregs[libc::REG_RIP as usize] as u64;
    #[cfg(target_arch = "aarch64")]
    let address = context.uc_mcontext.pc;
    address
}

/// Gives a signal its default action, as in a process that has never changed it: the C library would leave a
/// flag of its own behind.
pub fn restore_default(signal: c_int) {
    const MASK_BYTES: usize = 8;
    // The handler, the flags, the restorer and the mask.
    let action = [0_u64; 4];
    let nothing = core::ptr::null_mut::<c_void>();
    // SAFETY: the kernel reads an action, for which zeros are valid.
    unsafe { libc::syscall(libc::SYS_rt_sigaction, signal, action.as_ptr(), nothing, MASK_BYTES) };
}

/// Sends a signal to the calling thread, as by a program that sends it from elsewhere.
pub fn send_to_this_thread(signal: c_int) {
    let (process, thread) = (std::process::id() as c_int, super::usage::this_thread() as c_int);
    // SAFETY: the call has no argument in memory.
    unsafe { libc::syscall(libc::SYS_tgkill, process, thread, signal) };
}

/// Runs `work` and gives `errno` back as it was.
pub fn keeping_errno<T>(work: impl FnOnce() -> T) -> T {
    // SAFETY: the C library's variable of the calling thread is always there.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: see above; it is an integer that only this thread uses.
    let before = unsafe { errno.read() };
    let result = work();
    // SAFETY: see above.
    unsafe { errno.write(before) };
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::usage::thread_cpu;
    use core::sync::atomic::{AtomicU64, Ordering::*};

    static TICKS: AtomicU64 = AtomicU64::new(0);
    static VALUE: AtomicU64 = AtomicU64::new(0);
    static ADDRESS: AtomicU64 = AtomicU64::new(0);

    extern "C" fn on_tick(_: c_int, about: *mut libc::siginfo_t, context: *mut c_void) {
        // SAFETY: the kernel calls this.
        let (value, address) = unsafe { (value_of_tick(about), interrupted_at(context)) };
        VALUE.store(value.unwrap_or(0) as u64, Relaxed);
        ADDRESS.store(address, Relaxed);
        TICKS.fetch_add(1, Relaxed);
    }

    #[test]
    fn a_timer_ticks_while_its_thread_runs_and_not_after_it_was_deleted() {
        let signal = libc::SIGRTMAX() - 5;
        // SAFETY: the structure is plain, and the handler only uses atomics.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = on_tick as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
            assert_eq!(libc::sigaction(signal, &raw const action, core::ptr::null_mut()), 0);
        }
        let timer = CpuTimer::create(signal, 77).unwrap();
        timer.tick_every(Nanos::from_ms(10));
        std::thread::sleep(std::time::Duration::from_millis(60));
        let asleep = TICKS.load(Relaxed);
        let until = thread_cpu() + Nanos::from_ms(200);
        while thread_cpu() < until {}
        let awake = TICKS.load(Relaxed) - asleep;
        timer.delete();
        let (after, until) = (TICKS.load(Relaxed), thread_cpu() + Nanos::from_ms(40));
        while thread_cpu() < until {}
        assert!(asleep <= 1 && (10..=21).contains(&awake), "{asleep} {awake}");
        assert_eq!((VALUE.load(Relaxed), TICKS.load(Relaxed)), (77, after));
        assert_ne!(ADDRESS.load(Relaxed), 0);
        assert!(CpuTimer::create(10_000, 0).is_err(), "no such signal");
    }
}
