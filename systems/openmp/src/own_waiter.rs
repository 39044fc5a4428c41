//! How a thread waits for locks and tasks: by a waiter of its own, since these belong to no team.
use crate::settings::settings;
use core::cell::Cell;
use foregather_host::per_thread;
use foregather_machine::Placement;
use foregather_thread::Thread;
use foregather_wait::Waiter;

per_thread! {
    static WAITER: Option<Waiter> = None;
}

thread_local! {
    static CPU: Cell<Option<Thread>> = const { Cell::new(None) };
}

/// Returns the calling thread's processor. The first call of a thread takes a system call.
#[inline]
pub(crate) fn cpu() -> Thread {
    CPU.get().unwrap_or_else(|| {
        let cpu = Thread::current();
        CPU.set(Some(cpu));
        cpu
    })
}

/// Waits by the calling thread's waiter. `wait` runs no code of the program.
pub(crate) fn with_waiter<T>(wait: impl FnOnce(&Thread, &Waiter) -> T) -> T {
    let cpu = cpu();
    let waiter = WAITER.with(|waiter| waiter.borrow_mut().take());
    let waiter = waiter.unwrap_or_else(|| Waiter::new(settings().policy(&cpu.costs()).0, 0));
    let result = wait(&cpu, &waiter);
    WAITER.with(|kept| *kept.borrow_mut() = Some(waiter));
    result
}
