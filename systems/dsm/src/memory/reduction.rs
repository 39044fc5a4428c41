//! Combines values of the threads of a rank for a reduction, and passes the result of one thread to all.
use foregather_message::collective::Element;
use std::any::Any;
use std::sync::{Mutex, PoisonError};

/// A value for each thread, and one result. The caller separates writes, reads and reuse with barriers.
pub(super) struct Reduction {
    /// One entry per slot.
    values: Box<[Mutex<Vec<u8>>]>,
    result: Mutex<Vec<u8>>,
    shared: Mutex<Option<Box<dyn Any + Send>>>,
}

fn put<T: Element>(place: &Mutex<Vec<u8>>, value: T) {
    let mut bytes = place.lock().unwrap_or_else(PoisonError::into_inner);
    bytes.resize(T::BYTES, 0);
    value.write(&mut bytes);
}

impl Reduction {
    pub(super) fn new(threads: u32) -> Self {
        Self { values: (0..threads).map(|_| Mutex::default()).collect(), result: Mutex::default(), shared: Mutex::default() }
    }

    /// Sets the value of the thread in that slot.
    pub(super) fn give<T: Element>(&self, slot: u32, value: T) {
        put(&self.values[slot as usize - 1], value);
    }

    /// Returns the values of all threads of this rank combined in slot order, or `None` if their types
    /// differ.
    pub(super) fn combined<T: Element>(&self, combine: impl Fn(T, T) -> T) -> Option<T> {
        let read = |place: &Mutex<Vec<u8>>| {
            let bytes = place.lock().unwrap_or_else(PoisonError::into_inner);
            (bytes.len() == T::BYTES).then(|| T::read(&bytes))
        };
        let all = self.values.iter().map(read).collect::<Option<Vec<T>>>()?;
        all.into_iter().reduce(combine)
    }

    /// Sets the result of all threads of all ranks.
    pub(super) fn publish<T: Element>(&self, value: T) {
        put(&self.result, value);
    }

    /// Returns the published result.
    pub(super) fn result<T: Element>(&self) -> T {
        T::read(&self.result.lock().unwrap_or_else(PoisonError::into_inner))
    }
    /// Sets the result of one thread's work for all threads of this rank.
    pub(super) fn share<R: Send + 'static>(&self, done: R) {
        *self.shared.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(done));
    }

    /// Returns the value that [`Reduction::share`] has set, if it is of this type.
    pub(super) fn shared<R: Clone + 'static>(&self) -> Option<R> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.downcast_ref().cloned()
    }
}
