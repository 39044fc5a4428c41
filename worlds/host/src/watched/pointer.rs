//! Where the code of a thread is at this moment.
use foregather_machine::ThreadId;
use std::fs;
use std::time::Duration;

const NAP: Duration = Duration::from_micros(50);

/// The address of the instruction that a thread executes, or of the system call in which it sleeps. A thread
/// that runs is stopped for some microseconds, where the system allows that (ptrace); one that sleeps is not
/// touched. `None` if the system shows neither.
pub fn instruction(process: u32, thread: ThreadId) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/syscall")).ok()?;
    if text.starts_with("running") { of_running(thread) } else { of_call(&text) }
}

/// The last word of `number arguments stack-pointer instruction-pointer`.
fn of_call(text: &str) -> Option<u64> {
    u64::from_str_radix(text.split_ascii_whitespace().last()?.strip_prefix("0x")?, 16).ok().filter(|&address| address > 0)
}

fn of_running(thread: ThreadId) -> Option<u64> {
    let thread = libc::pid_t::try_from(thread).ok()?;
    let none = core::ptr::null_mut::<libc::c_void>();
    // SAFETY: the request takes a thread's number and no addresses; it only asks to observe the thread.
    if unsafe { libc::ptrace(libc::PTRACE_SEIZE, thread, none, none) } != 0 {
        return None;
    }
    // SAFETY: a thread's number and no addresses; the thread stops without a signal, or has exited.
    unsafe { libc::ptrace(libc::PTRACE_INTERRUPT, thread, none, none) };
    let signal = stopped(thread)?;
    let found = registers(thread);
    // SAFETY: a thread's number and a signal's; the thread gets the signal that it would have got, if any.
    unsafe { libc::ptrace(libc::PTRACE_DETACH, thread, none, signal as *mut libc::c_void) };
    found.map(|registers| pointer(&registers))
}

/// Waits until the thread has stopped, for as long as it is ready without a processor: it would stay stopped
/// otherwise. Returns the signal that stopped it, or 0. `None` if it has exited.
fn stopped(thread: libc::pid_t) -> Option<usize> {
    const OWN_STOP: libc::c_int = 128;
    loop {
        let mut status = 0;
        // SAFETY: the call writes the status of one thread, which this one observes.
        match unsafe { libc::waitpid(thread, &raw mut status, libc::__WALL | libc::WNOHANG) } {
            0 => std::thread::sleep(NAP),
            of if of == thread && libc::WIFSTOPPED(status) => {
                let is_ours = status >> 16 == OWN_STOP;
                return Some(if is_ours { 0 } else { libc::WSTOPSIG(status) as usize });
            }
            _ => return None,
        }
    }
}

fn registers(thread: libc::pid_t) -> Option<libc::user_regs_struct> {
    const GENERAL: usize = 1;
    let mut found = core::mem::MaybeUninit::<libc::user_regs_struct>::zeroed();
    let mut about = libc::iovec { iov_base: found.as_mut_ptr().cast(), iov_len: size_of::<libc::user_regs_struct>() };
    // SAFETY: the kernel writes at most `iov_len` bytes to `found`, which lives here.
    let done = unsafe { libc::ptrace(libc::PTRACE_GETREGSET, thread, GENERAL as *mut libc::c_void, &raw mut about) };
    // SAFETY: the structure is made of integers, for which any bits are valid.
    (done == 0).then(|| unsafe { found.assume_init() })
}

#[cfg(target_arch = "x86_64")]
fn pointer(registers: &libc::user_regs_struct) -> u64 {
    registers.rip
}

#[cfg(target_arch = "aarch64")]
fn pointer(registers: &libc::user_regs_struct) -> u64 {
    registers.pc
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watched::{code, task};
    use std::process::Command;
    use std::time::Instant;

    #[test]
    fn the_pointer_of_a_call_is_its_last_word() {
        assert_eq!(of_call("230 0x0 0x0 0x7f 0x0 0x0 0x0 0x7ffd 0x401234\n"), Some(0x40_1234));
        for nothing in ["", "running", "-1", "0 0x0 0x0"] {
            assert_eq!(of_call(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn a_busy_child_goes_on_after_its_pointer_is_read_and_a_sleeping_one_is_in_its_library() {
        let mut busy = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let mut asleep = Command::new("sleep").arg("1000").spawn().unwrap();
        std::thread::sleep(Duration::from_millis(200));
        let ran = |process: u32| task::read_threads(process).first().map_or(0, |reading| reading.ran.0);
        let (pointer, before) = (instruction(busy.id(), busy.id()), ran(busy.id()));
        let began = Instant::now();
        while ran(busy.id()) == before && began.elapsed() < Duration::from_secs(20) {
            std::thread::yield_now();
        }
        let (after, found) = (ran(busy.id()), instruction(asleep.id(), asleep.id()));
        let (mapped, mapped_asleep) = (code::read(busy.id()), code::read(asleep.id()));
        for child in [&mut busy, &mut asleep] {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(after > before, "it goes on");
        // Either may be denied.
        let is_code = |pointer: u64, mappings: &[code::CodeMapping]| code::find(mappings, pointer).is_some();
        assert!(pointer.is_none_or(|pointer| pointer >= 1 << 63 || is_code(pointer, &mapped)), "{pointer:x?}");
        assert!(found.is_none_or(|pointer| is_code(pointer, &mapped_asleep)), "{found:x?}");
        assert_eq!(instruction(u32::MAX, 1), None);
    }
}
