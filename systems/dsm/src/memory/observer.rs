//! The journal of the calling thread, if [`Settings::journal`](super::Settings) asks for one.
use crate::Minipage;
use crate::journal::{Journal, Moment, Operation, Recorder, Touch};
use core::cell::{Cell, RefCell};
use core::ops::Range;
use foregather_host::{clock, usage::thread_cpu};
use foregather_machine::Nanos;

/// Faults of this thread that are not in its journal yet.
#[derive(Clone, Copy)]
struct UnrecordedFaults {
    count: u64,
    /// The CPU time that they took.
    cpu: Nanos,
    /// When the first one began.
    began: Moment,
    /// When the last one ended, on the host's clock.
    ended: Nanos,
}

impl UnrecordedFaults {
    const NONE: Self =
        Self { count: 0, cpu: Nanos::ZERO, began: Moment { at: Nanos::ZERO, cpu: Nanos::ZERO }, ended: Nanos::ZERO };
}

thread_local! {
    static RECORDER: RefCell<Option<Recorder>> = const { RefCell::new(None) };
    /// Written by a signal handler, so it needs no initialisation and no destructor.
    static FAULTS: Cell<UnrecordedFaults> = const { Cell::new(UnrecordedFaults::NONE) };
}

fn now() -> Moment {
    Moment { at: clock::now(), cpu: thread_cpu() }
}

/// Starts a journal for this thread, `(rank, number among all)`.
pub(super) fn begin(who: (u32, u32), minipages: u32, room: usize) {
    // Initialises the clock here, not inside a fault.
    clock::init();
    FAULTS.set(UnrecordedFaults::NONE);
    RECORDER.set(Some(Recorder::new(who, minipages, room, thread_cpu())));
}

/// Ends the journal, if there is one.
pub(super) fn end() -> Option<Journal> {
    let mut recorder = RECORDER.take()?;
    recorder.discount(FAULTS.replace(UnrecordedFaults::NONE).cpu);
    Some(recorder.end(now()))
}

/// Called when a handler starts; the result must be passed to [`fault_ended`].
pub(super) fn fault_began() -> Moment {
    now()
}

/// Called when a handler ends.
pub(super) fn fault_ended(began: Moment) {
    let (mut faults, now) = (FAULTS.get(), now());
    if faults.count == 0 {
        faults.began = began;
    }
    faults.count += 1;
    faults.cpu += now.cpu - began.cpu;
    faults.ended = now.at;
    FAULTS.set(faults);
}

/// Calls `act` with this thread's recorder, if it records a journal.
fn with(act: impl FnOnce(&mut Recorder)) {
    RECORDER.with_borrow_mut(|recorder| recorder.as_mut().map(act));
}

/// Records that `act` loads or stores bytes of a minipage.
pub(super) fn touching(minipage: Minipage, touch: Touch, bytes: Range<u32>, act: impl FnOnce()) {
    let mut first = true;
    with(|recorder| first = recorder.touch(minipage, touch, bytes.clone(), now));
    act();
    if FAULTS.get().count > 0 {
        let faults = FAULTS.replace(UnrecordedFaults::NONE);
        with(|recorder| {
            if !first {
                recorder.again(minipage, touch, bytes, faults.began);
            }
            recorder.waited_until(faults.ended);
            recorder.discount(faults.cpu);
        });
    }
}

/// Records an action other than an access. Waiting in it does not count as computing.
pub(super) fn doing<R>(what: Operation, act: impl FnOnce() -> R) -> R {
    with(|recorder| recorder.note(what, now()));
    let result = act();
    FAULTS.set(UnrecordedFaults::NONE);
    with(|recorder| {
        recorder.waited_until(clock::now());
        recorder.resume(thread_cpu());
    });
    result
}
