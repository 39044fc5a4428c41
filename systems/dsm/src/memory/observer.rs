//! The journal of the thread that runs here, if [`Settings::journal`](super::Settings) asks for one.
use crate::journal::{Journal, Recorder, What};
use crate::{Access, Minipage};
use core::cell::{Cell, RefCell};
use core::ops::Range;
use foregather_host::usage::thread_cpu;
use foregather_machine::Nanos;

thread_local! {
    static RECORDER: RefCell<Option<Recorder>> = const { RefCell::new(None) };
    /// Faults of this thread, and the processor time that they took: a handler notes them, so nothing here is made or dropped.
    static FAULTS: Cell<(u64, Nanos)> = const { Cell::new((0, Nanos::ZERO)) };
}

/// From now on this thread writes a journal.
pub(super) fn begin(thread: u32, minipages: u32, room: usize) {
    FAULTS.set((0, Nanos::ZERO));
    RECORDER.set(Some(Recorder::new(thread, minipages, room, thread_cpu())));
}

/// The journal, if it wrote one.
pub(super) fn end() -> Option<Journal> {
    let mut recorder = RECORDER.take()?;
    recorder.discount(faults().1);
    Some(recorder.end(thread_cpu()))
}

/// A handler has begun; what it gives back belongs to [`fault_ended`].
pub(super) fn fault_began() -> Nanos {
    thread_cpu()
}

/// A handler is through.
pub(super) fn fault_ended(began: Nanos) {
    let (count, took) = FAULTS.get();
    FAULTS.set((count + 1, took + (thread_cpu() - began)));
}

fn faults() -> (u64, Nanos) {
    FAULTS.replace((0, Nanos::ZERO))
}

fn with(act: impl FnOnce(&mut Recorder)) {
    RECORDER.with_borrow_mut(|recorder| {
        if let Some(recorder) = recorder {
            recorder.discount(faults().1);
            act(recorder);
        }
    });
}

/// Loads or stores bytes of a minipage: `act` does.
pub(super) fn touching(minipage: Minipage, access: Access, bytes: Range<u32>, act: impl FnOnce()) {
    let mut first = true;
    with(|recorder| first = recorder.touch(minipage, access, bytes, thread_cpu));
    act();
    if !first && FAULTS.get().0 > 0 {
        with(|recorder| recorder.again(minipage, access, thread_cpu()));
    }
}

/// Does something that is no touch, in which waiting is no computing.
pub(super) fn doing<R>(what: What, act: impl FnOnce() -> R) -> R {
    with(|recorder| recorder.note(what, thread_cpu()));
    let result = act();
    FAULTS.set((0, Nanos::ZERO));
    with(|recorder| recorder.resume(thread_cpu()));
    result
}
