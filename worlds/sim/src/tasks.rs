//! The tasks of a simulation, side by side in one slice: a million of them fit.
use crate::touch::touch;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

enum Task<F: Future> {
    Running(F),
    Done(Option<F::Output>),
}

/// Futures polled by number.
pub(crate) struct Tasks<F: Future>(Box<[Task<F>]>);

impl<F: Future> Tasks<F> {
    pub(crate) fn new(futures: impl Iterator<Item = F>) -> Self {
        Self(futures.map(Task::Running).collect())
    }

    pub(crate) fn len(&self) -> u32 {
        u32::try_from(self.0.len()).expect("tasks are numbered by 32 bits")
    }

    /// Fetches a task's memory: it will be polled soon.
    #[inline]
    pub(crate) fn touch(&self, task: u32) {
        touch(&self.0[task as usize]);
    }

    /// Polls one task; ready when it ends just now. A task that ended is left alone.
    pub(crate) fn poll(&mut self, task: u32) -> Poll<()> {
        let slot = &mut self.0[task as usize];
        let Task::Running(future) = slot else { return Poll::Pending };
        // SAFETY: the future stays where it is until it is dropped: the boxed slice is never moved out of or
        // reallocated, and the assignment below drops the future in place.
        let future = unsafe { Pin::new_unchecked(future) };
        match future.poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => {
                *slot = Task::Done(Some(output));
                Poll::Ready(())
            }
            Poll::Pending => Poll::Pending,
        }
    }

    /// The outputs of the tasks: `None` for those still pending, which are dropped here.
    pub(crate) fn into_outputs(mut self) -> Vec<Option<F::Output>> {
        let take = |task: &mut Task<F>| if let Task::Done(output) = task { output.take() } else { None };
        self.0.iter_mut().map(take).collect()
    }
}
