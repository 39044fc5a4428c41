//! Running a future that never waits for another thread: the whole executor of a hardware world.
use core::mem::ManuallyDrop;
use core::pin::{Pin, pin};
use core::task::{Context, Poll, Waker};

/// A wait that is over: the leaf of every hardware world.
///
/// It drops nothing, so a future around it has nothing to drop either and can live in registers; a value to
/// drop on the way out of a panic would have to be in memory. An answer that is never taken is leaked.
pub struct Ready<T>(ManuallyDrop<Option<T>>);

/// A future that is ready with `output`.
#[inline(always)]
pub fn ready<T>(output: T) -> Ready<T> {
    Ready(ManuallyDrop::new(Some(output)))
}

impl<T> Unpin for Ready<T> {}

impl<T> Future for Ready<T> {
    type Output = T;
    #[inline(always)]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        Poll::Ready(self.0.take().expect("polled once"))
    }
}

/// Runs a future whose leaves wait in place, as those of every hardware world do: one poll, no executor, no
/// waker.
///
/// # Panics
/// If the future is pending, that is, if it belongs to a simulated world.
#[inline]
pub fn block_on<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("a hardware world waits in place"),
    }
}

#[cfg(test)]
mod tests {
    use super::block_on;

    #[test]
    fn a_ready_future_gives_its_output() {
        assert_eq!(block_on(async { 6 * core::future::ready(7).await }), 42);
    }

    #[test]
    #[should_panic(expected = "waits in place")]
    fn a_pending_future_is_a_bug() {
        block_on(core::future::pending::<()>());
    }
}
