//! Facts about the calling thread.

/// The name of this thread, if it has one.
pub fn name() -> Option<String> {
    std::thread::current().name().map(str::to_owned)
}

/// Returns whether this thread is unwinding.
pub fn is_panicking() -> bool {
    std::thread::panicking()
}

/// A number that no other living thread has: costs an addition. A later thread may have it again.
#[inline]
pub fn mark() -> usize {
    thread_local! { static MARK: u8 = const { 0 } }
    MARK.with(|mark| core::ptr::from_ref(mark).addr())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_live_at_once_have_different_marks() {
        let other = std::thread::scope(|threads| threads.spawn(mark).join().unwrap());
        let both = std::thread::scope(|threads| {
            let here = mark();
            threads.spawn(move || (here, mark())).join().unwrap()
        });
        assert_ne!(both.0, both.1);
        assert_ne!(other, mark());
        assert_eq!(mark(), mark());
    }
}
