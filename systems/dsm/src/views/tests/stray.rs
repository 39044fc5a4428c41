//! Faults that belong to no space end as they do without this crate: with the default action, Rust's handler,
//! or the program's own.
use super::child::{part, run};
use super::*;
use crate::views::PAGE;
use core::ffi::{c_int, c_void};
use core::hint::black_box;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, Ordering::*};

const HERE: &str = "views::tests::stray::a_stray_fault_ends_as_without_us";

#[test]
fn a_stray_fault_ends_as_without_us() {
    if let Some((part, backend)) = part() {
        run_part(&part, backend);
    }
    for backend in backends() {
        for (part, signal, code, says) in [
            ("plain", Some(libc::SIGSEGV), None, ""),
            ("default", Some(libc::SIGSEGV), None, ""),
            ("ignored", Some(libc::SIGSEGV), None, ""),
            ("handler", None, Some(42), "the program's own handler"),
            ("simple-handler", None, Some(43), ""),
            ("late-handler", None, Some(42), "the program's own handler"),
            ("overflow", Some(libc::SIGABRT), None, "has overflowed its stack"),
            ("bus", Some(libc::SIGBUS), None, ""),
            ("sent", Some(libc::SIGSEGV), None, ""),
            ("sent-to-rust", Some(libc::SIGSEGV), None, ""),
            ("not-mine", Some(0), None, ""),
            ("execute", Some(libc::SIGSEGV), None, ""),
            ("no-stack", Some(0), None, ""),
        ] {
            let end = run(HERE, part, backend);
            let own = match backend {
                Backend::Userfault => (Some(libc::SIGBUS), ""),
                Backend::UserfaultThread => (Some(libc::SIGABRT), "belongs to nobody"),
                Backend::Mprotect => (Some(libc::SIGSEGV), ""),
            };
            let (signal, says) = match part {
                "not-mine" => own,
                "no-stack" if backend == Backend::Mprotect => (Some(libc::SIGSEGV), "call Stack::install"),
                "no-stack" => (None, ""),
                _ => (signal, says),
            };
            let code = if part == "no-stack" && signal.is_none() { Some(44) } else { code };
            assert!((end.signal, end.code) == (signal, code) && end.said.contains(says), "{backend:?}, {part}: {end:?}");
        }
    }
}

/// Reads an unmapped page.
fn wild() {
    // SAFETY: the read is invalid on purpose: the test needs the fault, and this process ends by it.
    black_box(unsafe { core::ptr::without_provenance::<u8>(8 * PAGE).read_volatile() });
}

/// Serves a space, checks that it works, and then runs its part.
fn run_part(part: &str, backend: Backend) -> ! {
    match part {
        "default" | "sent" => handler(libc::SIG_DFL, 0),
        "ignored" => handler(libc::SIG_IGN, 0),
        "handler" => handler(with_info as *const () as usize, libc::SA_SIGINFO),
        "simple-handler" => handler(simple as *const () as usize, 0),
        _ => {}
    }
    let _stack = (part != "no-stack").then(stack);
    let opener = Opener::new(backend, 2, 1);
    let serving = opener.space.serve(Arc::clone(&opener) as _).unwrap();
    opener.space.word(0, 0).store(1, SeqCst);
    assert_eq!(opener.seen().len(), 1);
    match part {
        "late-handler" => {
            handler(with_info as *const () as usize, libc::SA_SIGINFO);
            // A handler that was installed later must be found.
            let other = Opener::new(backend, 1, 1);
            let _other = other.space.serve(Arc::clone(&other) as _).unwrap();
            opener.space.word(0, PAGE).store(1, SeqCst);
            assert_eq!(opener.seen().len(), 1);
            wild();
        }
        "overflow" => drop(black_box(deeper(0))),
        "bus" => beyond_the_end_of_a_file(),
        // SAFETY: any signal may be raised.
        "sent" | "sent-to-rust" => _ = unsafe { libc::raise(libc::SIGSEGV) },
        "not-mine" => {
            drop(serving);
            opener.space.close(page(0, 0)).unwrap();
            let _serving = opener.space.serve(Arc::new(Nobody)).unwrap();
            opener.space.word(0, 0).store(1, SeqCst);
        }
        "execute" => {
            opener.space.open(page(0, 1), Access::None, Access::Write).unwrap();
            // SAFETY: the call is invalid on purpose: views cannot be executed, and this process ends by the
            // fault.
            let function: extern "C" fn() = unsafe { core::mem::transmute(opener.space.application(0, PAGE)) };
            function();
        }
        "no-stack" => std::process::exit(44),
        _ => wild(),
    }
    std::process::exit(1)
}

struct Nobody;

impl Faults for Nobody {
    fn fault(&self, _: &Fault) -> FaultEnd {
        FaultEnd::NotMine
    }
}

fn handler(address: usize, flags: c_int) {
    // SAFETY: a signal action of zeros is one.
    let mut action: libc::sigaction = unsafe { core::mem::zeroed() };
    (action.sa_sigaction, action.sa_flags) = (address, flags);
    // SAFETY: the handler is one of this file that fits its flags.
    assert_eq!(unsafe { libc::sigaction(libc::SIGSEGV, &raw const action, null_mut()) }, 0);
}

extern "C" fn with_info(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the info is the kernel's, unchanged.
    let address = unsafe { (*info).si_addr() }.addr();
    // SAFETY: a null set is not written; the old one is filled.
    let blocked = unsafe {
        let mut mask = core::mem::zeroed();
        libc::pthread_sigmask(libc::SIG_BLOCK, core::ptr::null(), &raw mut mask);
        libc::sigismember(&raw const mask, signal)
    };
    assert!((signal, address, blocked) == (libc::SIGSEGV, 8 * PAGE, 1) && !context.is_null());
    eprintln!("the program's own handler");
    // SAFETY: it ends the process.
    unsafe { libc::_exit(42) }
}

extern "C" fn simple(signal: c_int) {
    // SAFETY: it ends the process.
    unsafe { libc::_exit(if signal == libc::SIGSEGV { 43 } else { 1 }) }
}

fn deeper(n: u64) -> u64 {
    let frame = black_box([n; 64]);
    if n == u64::MAX { 0 } else { deeper(n + 1) + frame[7] }
}

fn beyond_the_end_of_a_file() {
    use rustix::fs::{MemfdFlags, memfd_create};
    use rustix::mm::{MapFlags, ProtFlags, mmap};
    static READ: AtomicU32 = AtomicU32::new(0);
    let file = memfd_create("empty", MemfdFlags::CLOEXEC).unwrap();
    // SAFETY: a new mapping at an address that the kernel chooses.
    let at = unsafe { mmap(null_mut(), PAGE, ProtFlags::READ, MapFlags::SHARED, &file, 0) }.unwrap();
    // SAFETY: mapped, but the file has no byte there: this process ends by SIGBUS.
    READ.store(unsafe { at.cast::<u32>().read_volatile() }, Relaxed);
}
