//! Running a future that never waits for anybody: the whole executor of a hardware world.
use core::pin::pin;
use core::task::{Context, Poll, Waker};

/// Runs a future whose leaves wait in place, as those of every hardware world do: one poll, no executor, no waker.
///
/// # Panics
/// If the future is pending, that is, if it belongs to a simulated world.
#[inline]
pub fn run_ready<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("a hardware world waits in place"),
    }
}

#[cfg(test)]
mod tests {
    use super::run_ready;

    #[test]
    fn a_ready_future_gives_its_output() {
        assert_eq!(run_ready(async { 6 * core::future::ready(7).await }), 42);
    }

    #[test]
    #[should_panic(expected = "waits in place")]
    fn a_pending_future_is_a_bug() {
        run_ready(core::future::pending::<()>());
    }
}
