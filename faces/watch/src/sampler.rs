//! Samples of the code that threads execute (`advise --sample`), taken where `perf_event_open` is denied.
//!
//! Each thread has a timer of its own processor time, which sends it a real-time signal that the program does
//! not use. The handler writes the interrupted address to the page: it allocates nothing, takes no lock and
//! makes no system call.
//!
//! This library must not change what a program does, so it withdraws as soon as the program touches that
//! signal ([`signals`](crate::signals)): all timers are deleted, pending signals are dropped, and the default
//! action is restored. A timer is written to its place before the flag of withdrawal is read, and the flag is
//! written before the places are read, so one of both threads deletes it. A child of a fork has no timers;
//! its threads get their own.
use crate::record;
use crate::signals::{self, SignalAction};
use core::cell::Cell;
use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::*};
use foregather_host::cpu_timer::{self, CpuTimer, keeping_errno};
use foregather_host::thread_end::at_thread_end;
use foregather_host::watched::page::{ThreadSlot, Withdrawal};
use foregather_machine::Nanos;

/// The most timers of a process: the kernel counts each against the user's limit of pending signals.
const TIMERS: usize = 64;
/// Processor time between two samples of a thread. No multiple of a usual tick, so that samples and programs
/// keep no step.
const EVERY: Nanos = Nanos::from_us(9_700);

/// The signal; 0 before one is chosen, and without `--sample`.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// The process that has withdrawn.
static WITHDRAWN: AtomicU32 = AtomicU32::new(0);
/// The process of each timer and its number; 0 for a free place.
static PLACES: [AtomicU64; TIMERS] = [const { AtomicU64::new(0) }; TIMERS];
/// A place that is taken, whose timer does not exist yet.
const NO_TIMER: u32 = u32::MAX;

thread_local! {
    /// The place of the calling thread's timer.
    static PLACE: Cell<Option<&'static AtomicU64>> = const { Cell::new(None) };
}

fn word(process: u32, timer: u32) -> u64 {
    u64::from(process) << 32 | u64::from(timer)
}

fn process_of(word: u64) -> u32 {
    (word >> 32) as u32
}

/// Chooses a signal when the library is loaded, before the program runs: the highest one that has the default
/// action.
pub(crate) fn choose_signal() {
    let Some(page) = record::page().filter(|page| page.wants_samples()) else { return };
    let handler = SignalAction::of_handler(on_tick);
    let is_free = |signal: &c_int| signals::action(*signal).is_some_and(|action| action.is_default());
    let found = (libc::SIGRTMIN()..libc::SIGRTMAX()).rev().find(is_free);
    match found.filter(|signal| signals::set_action(*signal, &handler)) {
        Some(signal) => SIGNAL.store(signal, Release),
        None => page.withdraw(Withdrawal::Refused),
    }
}

/// Returns whether a signal is that of the timers.
#[inline]
pub(crate) fn is_ours(signal: c_int) -> bool {
    signal != 0 && SIGNAL.load(Relaxed) == signal
}

/// The signal of the timers; 0 if there is none.
#[inline]
pub(crate) fn signal() -> c_int {
    SIGNAL.load(Relaxed)
}

/// Returns whether an action is the sampler's: to the program it is the default action.
pub(crate) fn is_handler(action: &SignalAction) -> bool {
    *action == SignalAction::of_handler(on_tick)
}

/// Starts the timer of the calling thread, to which the slot belongs. Allocates nothing.
pub(crate) fn start(slot: &'static ThreadSlot, process: u32) {
    let signal = signal();
    let Some(page) = record::page().filter(|_| signal != 0 && WITHDRAWN.load(SeqCst) != process) else { return };
    keeping_errno(|| {
        // The program may have taken the signal without the C library.
        if !signals::action(signal).is_some_and(|action| is_handler(&action)) {
            page.withdraw(Withdrawal::SignalTaken);
            delete_all(process);
            return;
        }
        let Some(place) = PLACES.iter().find(|place| takes(place, process)) else { return page.count_untimed() };
        let Ok(timer) = CpuTimer::create(signal, core::ptr::from_ref(slot).addr()) else {
            place.store(0, SeqCst);
            page.count_untimed();
            return page.withdraw(Withdrawal::Refused);
        };
        place.store(word(process, timer.0.unsigned_abs()), SeqCst);
        if WITHDRAWN.load(SeqCst) == process {
            return delete(place, process);
        }
        timer.tick_every(EVERY);
        // In a thread that is exiting, the place stays taken.
        let _ = PLACE.try_with(|known| known.set(Some(place)));
    });
}

/// Takes a place that is free, or whose timer was the parent's.
fn takes(place: &AtomicU64, process: u32) -> bool {
    let before = place.load(Relaxed);
    process_of(before) != process && place.compare_exchange(before, word(process, NO_TIMER), SeqCst, Relaxed).is_ok()
}

/// Stops the timer of the calling thread when it ends. Allocates.
pub(crate) fn stop_at_thread_end() {
    if signal() != 0 {
        at_thread_end(|| {
            if let Some(place) = PLACE.take() {
                keeping_errno(|| delete(place, std::process::id()));
            }
        });
    }
}

/// Deletes a timer of this process, unless another thread does.
fn delete(place: &AtomicU64, process: u32) {
    let found = place.load(SeqCst);
    let is_its = process_of(found) == process && found as u32 != NO_TIMER;
    if is_its && place.compare_exchange(found, 0, SeqCst, Relaxed).is_ok() {
        CpuTimer(found as c_int).delete();
    }
}

fn delete_all(process: u32) {
    WITHDRAWN.store(process, SeqCst);
    PLACES.iter().for_each(|place| delete(place, process));
}

/// Deletes all timers, drops their pending signals and restores the default action, if this process has
/// timers: a child that shares its parent's memory has none.
#[cold]
pub(crate) fn withdraw(why: Withdrawal) {
    let process = std::process::id();
    let has_timers = PLACES.iter().any(|place| process_of(place.load(SeqCst)) == process);
    if !has_timers || WITHDRAWN.load(SeqCst) == process {
        return;
    }
    keeping_errno(|| {
        if let Some(page) = record::page() {
            page.withdraw(why);
        }
        delete_all(process);
        // A signal of a deleted timer may be pending in kernels before 6.13: ignored ones are dropped.
        signals::set_action(signal(), &SignalAction::ignore());
        cpu_timer::restore_default(signal());
    });
}

/// Records the instruction that the calling thread was about to execute.
extern "C" fn on_tick(signal: c_int, about: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel calls this as a signal handler.
    let value = unsafe { cpu_timer::value_of_tick(about) };
    let found = record::page().and_then(|page| Some((page, page.slot_at(value?)?)));
    match found {
        // SAFETY: see above.
        Some((page, slot)) => page.sample(slot, unsafe { cpu_timer::interrupted_at(context) }),
        // Another program, or this one, sent the signal: its default action ends the process.
        None => keeping_errno(|| {
            cpu_timer::restore_default(signal);
            cpu_timer::send_to_this_thread(signal);
        }),
    }
}
