//! A barrier for threads, with the semantics of `threading.Barrier`.
//!
//! Each episode uses a barrier of its own. So `abort` cannot affect an episode that is complete, and a thread
//! of the next episode cannot take the place of a late one. Two barriers are used in turn.
use crate::argument::{timeout, whole32};
use crate::wait::{Awaited, sliced};
use core::sync::atomic::{AtomicU32, Ordering::*};
use core::time::Duration;
use foregather::engine::Nanos;
use foregather::{Barrier, WaitError};
use pyo3::PyTraverseError;
use pyo3::gc::PyVisit;
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

const MOST_PARTIES: u32 = 1 << 24;

/// A reusable barrier with the interface of `threading.Barrier`, whose waits adapt to the load.
///
/// One of the threads calls `action` before all are released. `timeout` is the default timeout of `wait`. A
/// timeout, an interrupted wait or an exception in `action` breaks the barrier: all waits raise
/// `threading.BrokenBarrierError` until `reset`.
#[pyclass(frozen, subclass, weakref, name = "Barrier", module = "foregather.threading")]
pub(crate) struct ResettableBarrier {
    /// Returns the number of threads that each wait needs.
    #[pyo3(get)]
    parties: u32,
    action: Mutex<Option<Py<PyAny>>>,
    timeout: Option<Duration>,
    state: Mutex<BarrierState>,
}

struct BarrierState {
    filling: Arc<BarrierEpisode>,
    /// The last complete episode.
    spare: Arc<BarrierEpisode>,
    arrived: u32,
    /// Why the barrier is broken.
    broken: Option<String>,
    resets: u64,
    /// The PID of the process that created the barrier: in a forked child, the other threads do not exist.
    process: u32,
}

/// One episode of the barrier.
struct BarrierEpisode {
    barrier: Barrier,
    /// The number of threads that have not returned from the episode.
    inside: AtomicU32,
    why_aborted: OnceLock<String>,
}

/// A thread's position in an episode.
struct EpisodePosition {
    episode: Arc<BarrierEpisode>,
    index: u32,
    resets: u64,
}

impl BarrierEpisode {
    fn new(parties: u32) -> Arc<Self> {
        Arc::new(Self { barrier: Barrier::new(parties as usize), inside: AtomicU32::new(0), why_aborted: OnceLock::new() })
    }

    fn abort(&self, why: &str) {
        self.why_aborted.get_or_init(|| why.to_owned());
        self.barrier.abort();
    }
}

impl Drop for EpisodePosition {
    fn drop(&mut self) {
        self.episode.inside.fetch_sub(1, Release);
    }
}

impl BarrierState {
    fn new(parties: u32) -> Self {
        let [filling, spare] = [0; 2].map(|_| BarrierEpisode::new(parties));
        Self { filling, spare, arrived: 0, broken: None, resets: 0, process: std::process::id() }
    }

    /// Takes the next position in the current episode. The last one starts the next episode.
    fn arrive(&mut self, parties: u32) -> EpisodePosition {
        let arrival = EpisodePosition { episode: self.filling.clone(), index: self.arrived, resets: self.resets };
        arrival.episode.inside.fetch_add(1, Relaxed);
        self.arrived += 1;
        if self.arrived == parties {
            self.arrived = 0;
            core::mem::swap(&mut self.filling, &mut self.spare);
            if self.filling.inside.load(Acquire) > 0 {
                self.filling = BarrierEpisode::new(parties);
            }
        }
        arrival
    }

    /// Ends the waits of the current episode.
    fn clear(&mut self, why: &str) {
        self.arrived = 0;
        self.filling.abort(why);
    }

    fn break_off(&mut self, why: &str) {
        self.clear(why);
        self.broken.get_or_insert_with(|| why.to_owned());
    }
}

#[pymethods]
impl ResettableBarrier {
    #[new]
    #[pyo3(signature = (parties, action = None, timeout = None))]
    fn new(parties: &Bound<'_, PyAny>, action: Option<Py<PyAny>>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let parties = whole32("number of parties", "a barrier", parties, 1..=MOST_PARTIES)?;
        let (action, timeout) = (Mutex::new(action), self::timeout(timeout)?);
        Ok(Self { parties, action, timeout, state: Mutex::new(BarrierState::new(parties)) })
    }

    /// Waits until all parties have arrived. Returns a different number from 0 to `parties - 1` in each
    /// thread.
    #[pyo3(signature = (timeout = None))]
    fn wait(&self, py: Python<'_>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<u32> {
        let limit = self::timeout(timeout)?.or(self.timeout);
        let arrival = {
            let mut state = self.state();
            if let Some(why) = &state.broken {
                let why = why.clone();
                drop(state);
                return Err(broken(py, &why));
            }
            state.arrive(self.parties)
        };
        let action = self.action(py).filter(|_| arrival.index + 1 == self.parties);
        if let Some(Err(error)) = action.map(|action| action.call0()) {
            self.break_at(&arrival, "its action failed");
            return Err(error);
        }
        self.wait_for(py, &arrival, limit).map(|()| arrival.index)
    }

    /// Resets the barrier to its initial state. Waiting threads get `BrokenBarrierError`.
    fn reset(&self) {
        let mut state = self.state();
        if state.arrived > 0 || state.broken.is_some() {
            state.clear("another thread has reset it");
            *state = BarrierState { resets: state.resets + 1, ..BarrierState::new(self.parties) };
        }
    }

    /// Breaks the barrier: present and future waits raise `BrokenBarrierError`.
    fn abort(&self) {
        self.state().break_off("another thread has aborted it");
    }

    /// Returns whether the barrier is broken.
    #[getter]
    fn broken(&self) -> bool {
        self.state().broken.is_some()
    }

    /// Returns the number of threads that wait at the barrier.
    #[getter]
    fn n_waiting(&self) -> u32 {
        self.state().arrived
    }

    fn __repr__(slf: &Bound<'_, Self>) -> String {
        let (barrier, at) = (slf.get(), slf.as_ptr());
        let state = barrier.state();
        let is =
            if state.broken.is_some() { "broken".to_owned() } else { format!("waiters={}/{}", state.arrived, barrier.parties) };
        format!("<threading.Barrier at {at:p}: {is}>")
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match self.action.try_lock() {
            Ok(action) => visit.call(&*action),
            Err(_) => Ok(()),
        }
    }

    fn __clear__(&self) {
        let action = self.action.try_lock().ok().and_then(|mut action| action.take());
        drop(action);
    }
}

impl ResettableBarrier {
    /// Locks the state that the threads share. No Python code may run while it is locked.
    fn state(&self) -> MutexGuard<'_, BarrierState> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.process != std::process::id() {
            *state = BarrierState { broken: state.broken.take(), resets: state.resets + 1, ..BarrierState::new(self.parties) };
        }
        state
    }

    fn action<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        let action = self.action.lock().unwrap_or_else(PoisonError::into_inner);
        action.as_ref().map(|action| action.bind(py).clone())
    }

    /// Breaks the barrier because of this wait, unless it was reset since the wait began.
    fn break_at(&self, arrival: &EpisodePosition, why: &str) {
        let mut state = self.state();
        arrival.episode.abort(why);
        if state.resets == arrival.resets {
            state.break_off(why);
        }
    }

    fn wait_for(&self, py: Python<'_>, arrival: &EpisodePosition, limit: Option<Duration>) -> PyResult<()> {
        let barrier = &arrival.episode.barrier;
        let what = |_: &WaitError| {
            let (arrived, parties) = (self.state().arrived, self.parties);
            (format!("threading.Barrier, {arrived} of {parties} arrived"), None)
        };
        let attempt = |slice, _: &mut Awaited| barrier.wait_timeout(slice);
        let waited = match sliced(py, limit, WaitError::is_timed_out, what, Duration::ZERO, attempt) {
            Ok(Ok(_)) => return Ok(()),
            Ok(Err((error, waited))) if error.is_timed_out() => waited,
            Ok(Err(_)) => {
                return Err(broken(py, arrival.episode.why_aborted.get().map_or("another thread has left it", |why| why)));
            }
            Err(error) => {
                self.break_at(arrival, "a wait was interrupted by an exception");
                return Err(error);
            }
        };
        let why = {
            let state = self.state();
            let is_complete = state.resets == arrival.resets && !Arc::ptr_eq(&state.filling, &arrival.episode);
            if is_complete && self.action(py).is_none() && state.broken.is_none() {
                // All have arrived: the last of them is about to wait as well.
                None
            } else {
                let span = Nanos(waited.as_nanos().min(u64::MAX.into()) as u64);
                Some(format!("{} of {} arrived within {span}", state.arrived, self.parties))
            }
        };
        match why {
            None if py.detach(|| barrier.wait()).is_ok() => Ok(()),
            None => Err(broken(py, "another thread has aborted it")),
            Some(why) => {
                self.break_at(arrival, &why);
                Err(broken(py, &why))
            }
        }
    }
}

/// Returns the exception for a wait at a broken barrier.
fn broken(py: Python<'_>, why: &str) -> PyErr {
    let sentence = format!("the barrier is broken: {why}; call reset() when all threads know");
    let class = py.import("threading").and_then(|threading| threading.getattr("BrokenBarrierError"));
    class.and_then(|class| class.call1((sentence,))).map_or_else(|error| error, PyErr::from_value)
}
