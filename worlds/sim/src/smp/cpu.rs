//! A simulated thread's processor: the verbs of [`Cpu`], each costing what the machine's prices say.
//!
//! There is one leaf future. It tells the kernel what the thread wants (compute, spin, yield, park) and is
//! pending until the kernel lets the thread's program go on.
use super::kernel::Kernel;
use super::machine::{Machine, NOBODY, Want};
use crate::engine::Engine;
use crate::event::Queue;
use crate::word::SimWord;
use foregather_machine::{Cause, Clock, CounterOf, Error, Nanos, Park, VALUE_MASK, WaitContext, Words};
use std::cell::RefCell;
use std::pin::Pin;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};

/// One thread's view of the processors it runs on.
pub struct SmpCpu<'s, Q> {
    pub(super) engine: &'s Engine<Q>,
    pub(super) kernel: &'s RefCell<Kernel>,
    pub(super) thread: u32,
}

impl<Q> Clone for SmpCpu<'_, Q> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<Q> Copy for SmpCpu<'_, Q> {}

impl<'s, Q: Queue> SmpCpu<'s, Q> {
    /// Which of the threads this is.
    pub fn number(&self) -> u32 {
        self.thread
    }

    /// Returns whether this thread has spun, and whether it has parked, since the last call.
    pub(super) fn waited(&self) -> (bool, bool) {
        let mut kernel = self.kernel.borrow_mut();
        let thread = &mut kernel.machine.threads[self.thread as usize];
        (std::mem::take(&mut thread.spun), std::mem::take(&mut thread.parked))
    }

    /// Sleeps for `span`; nothing but time ends it.
    pub(super) async fn sleep(&self, span: Nanos) {
        self.leaf(Want::Park, None, self.engine.now() + span, nothing).await;
    }

    /// Stores `value` and wakes no more than one of the threads that sleep on the word, as by `FUTEX_WAKE`.
    pub(super) fn publish_to_one(&self, word: &SimWord, value: u32) {
        word.value.set(value & VALUE_MASK);
        self.kernel.borrow_mut().changed_for(word, 1);
    }

    fn change(&self, word: &SimWord, value: u32) -> u32 {
        let before = word.value.replace(value & VALUE_MASK);
        self.changed(word);
        before
    }

    #[inline]
    fn changed(&self, word: &SimWord) {
        if word.first_watcher.get() == NOBODY {
            word.version.set(word.version.get().wrapping_add(1));
        } else {
            self.kernel.borrow_mut().changed(word);
        }
    }

    pub(super) fn leaf<'w, T, P: FnMut() -> Option<T>>(
        &self,
        want: Want,
        on: Option<&'w SimWord>,
        span: Nanos,
        look: P,
    ) -> Leaf<'s, 'w, Q, P> {
        Leaf { cpu: *self, want, on, span, look, stage: Stage::New }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    New,
    /// Pays the debt that the thread's verbs have run up.
    Paying,
    Waiting,
    Over,
}

pub(super) struct Leaf<'s, 'w, Q: Queue, P> {
    cpu: SmpCpu<'s, Q>,
    want: Want,
    on: Option<&'w SimWord>,
    /// The span to compute, or to spin at most; or the moment until which to park.
    span: Nanos,
    look: P,
    stage: Stage,
}

impl<Q: Queue, P> Unpin for Leaf<'_, '_, Q, P> {}

impl<Q: Queue, T, P: FnMut() -> Option<T>> Future for Leaf<'_, '_, Q, P> {
    type Output = (Option<T>, Nanos);

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let stage = self.stage;
        match stage {
            Stage::New if self.pays() => Poll::Pending,
            Stage::New | Stage::Paying => self.begin(),
            Stage::Waiting => self.go_on(),
            Stage::Over => Poll::Pending,
        }
    }
}

impl<Q: Queue, T, P: FnMut() -> Option<T>> Leaf<'_, '_, Q, P> {
    /// Returns whether the thread must first pay for something in virtual time.
    fn pays(&mut self) -> bool {
        let mut kernel = self.cpu.kernel.borrow_mut();
        let thread = &mut kernel.machine.threads[self.cpu.thread as usize];
        let debt = std::mem::take(&mut thread.debt);
        if debt > Nanos::ZERO {
            (thread.want, thread.left) = (Want::Compute, debt);
            self.stage = Stage::Paying;
        }
        debt > Nanos::ZERO
    }

    fn begin(&mut self) -> Poll<(Option<T>, Nanos)> {
        if self.want == Want::Compute && self.span == Nanos::ZERO {
            self.stage = Stage::Over;
            return Poll::Ready((None, Nanos::ZERO));
        }
        if let Some(found) = (self.look)() {
            self.stage = Stage::Over;
            return Poll::Ready((Some(found), Nanos::ZERO));
        }
        let mut kernel = self.cpu.kernel.borrow_mut();
        if self.want == Want::Park && kernel.machine.lost.is_some() {
            // The machine was lost after this thread had asked, while it paid for its verbs: sleepers were
            // woken before it slept.
            self.stage = Stage::Over;
            return Poll::Ready((None, Nanos::ZERO));
        }
        self.stage = Stage::Waiting;
        let thread = &mut kernel.machine.threads[self.cpu.thread as usize];
        thread.want = self.want;
        thread.spun |= self.want == Want::Spin;
        thread.parked |= self.want == Want::Park;
        thread.left = if self.want == Want::Park { Nanos::ZERO } else { self.span };
        if self.want == Want::Park && self.span < Nanos::MAX {
            kernel.bound(self.cpu.engine, self.cpu.thread, self.span);
        }
        if let Some(word) = self.on {
            kernel.machine.watch(word, self.cpu.thread);
        }
        Poll::Pending
    }

    fn go_on(&mut self) -> Poll<(Option<T>, Nanos)> {
        if let Some(word) = self.on {
            // The thread's own look may change the word, which is no news for it: else it would be polled
            // once more, in whatever it does next.
            self.cpu.kernel.borrow_mut().machine.unwatch(word, self.cpu.thread);
        }
        let found = (self.look)();
        let mut kernel = self.cpu.kernel.borrow_mut();
        let left = kernel.machine.thread(self.cpu.thread).left;
        if self.want == Want::Spin && found.is_none() && left > Nanos::ZERO {
            // The word changed, but not to what this thread waits for.
            if let Some(word) = self.on {
                kernel.machine.watch(word, self.cpu.thread);
            }
            return Poll::Pending;
        }
        self.stage = Stage::Over;
        self.end(&mut kernel.machine);
        Poll::Ready((found, self.span - left))
    }
}

impl<Q: Queue, P> Leaf<'_, '_, Q, P> {
    /// The thread no longer watches, and bounds of this wait are stale.
    fn end(&self, machine: &mut Machine) {
        if let Some(word) = self.on {
            machine.unwatch(word, self.cpu.thread);
        }
        let thread = &mut machine.threads[self.cpu.thread as usize];
        thread.wait = thread.wait.wrapping_add(1);
    }
}

impl<Q: Queue, P> Drop for Leaf<'_, '_, Q, P> {
    fn drop(&mut self) {
        if self.stage == Stage::Waiting {
            self.end(&mut self.cpu.kernel.borrow_mut().machine);
        }
    }
}

/// A probe that finds nothing: only time or a wake ends such a wait.
pub(super) fn nothing() -> Option<()> {
    None
}

impl<Q: Queue> Clock for SmpCpu<'_, Q> {
    fn now(&self) -> Nanos {
        self.engine.now()
    }
    async fn delay(&self, span: Nanos) {
        self.leaf(Want::Compute, None, span, nothing).await;
    }
}

impl<Q: Queue> Words for SmpCpu<'_, Q> {
    type Word = SimWord;

    fn load(&self, word: &SimWord) -> u32 {
        word.value.get()
    }
    fn store(&self, word: &SimWord, value: u32) {
        word.value.set(value & VALUE_MASK);
    }
    fn publish(&self, word: &SimWord, value: u32) {
        self.change(word, value);
    }
    fn fetch_add(&self, word: &SimWord, n: u32) -> u32 {
        self.change(word, word.value.get().wrapping_add(n))
    }
    fn compare_exchange(&self, word: &SimWord, expected: u32, new: u32) -> Result<u32, u32> {
        let value = word.value.get();
        if value == expected & VALUE_MASK { Ok(self.change(word, new)) } else { Err(value) }
    }
    fn poison(&self, word: &SimWord) {
        word.poison();
        self.changed(word);
    }
    fn take_ticket(&self, counter: &CounterOf<Self>) -> u64 {
        counter.fetch_add(1, Relaxed)
    }
}

impl<Q: Queue> Park for SmpCpu<'_, Q> {
    fn spin_briefly<T>(&self, mut probe: impl FnMut() -> Option<T>) -> Option<T> {
        probe()
    }
    fn spin_for<T>(
        &self,
        on: &SimWord,
        budget: Nanos,
        probe: impl FnMut() -> Option<T>,
    ) -> impl Future<Output = (Option<T>, Nanos)> {
        self.leaf(Want::Spin, Some(on), budget, probe)
    }
    async fn yield_now(&self) {
        self.leaf(Want::Yield, None, Nanos::ZERO, nothing).await;
    }
    fn prepare_park(&self, on: &SimWord) -> u32 {
        on.version.get()
    }
    async fn park(&self, on: &SimWord, prepared: u32, until: Nanos) {
        let changed = || (on.version.get() != prepared).then_some(());
        self.leaf(Want::Park, Some(on), until, changed).await;
    }
    /// The wait is put on the heap: a wait that is not over when it is called is moved into each future
    /// around it, and copying the whole state machine once a level takes longer than all else that a
    /// simulated wait does.
    fn run_inline<F: Future>(&self, wait: F) -> impl Future<Output = F::Output> {
        Box::pin(wait)
    }

    fn sometimes(&self, _: &'static str) -> bool {
        self.kernel.borrow_mut().machine.points.says_yes(self.thread)
    }

    fn check(&self, on: &SimWord, context: &WaitContext) -> Result<(), Error> {
        if on.is_poisoned() {
            return Err(Error::from(Cause::Poisoned { by: None }));
        }
        let machine = &mut self.kernel.borrow_mut().machine;
        if let Some((rank, since)) = machine.lost {
            return Err(Error::peer_lost(rank, since, context));
        }
        machine.threads[self.thread as usize].why = Some(*context);
        if self.now() >= context.deadline { Err(Error::timed_out(context, self.now())) } else { Ok(()) }
    }
}
