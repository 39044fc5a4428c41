//! The waits of a node's program: the leaves of every future.
use super::node::Node;
use super::nodes::{BUSY, INBOX, RUNNING, SENDING};
use super::programs::WaitFor;
use super::wire::{Model, Wire};
use crate::event::Queue;
use foregather_machine::{Cause, Error, Nanos, Rank};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Ready when the node's program has computed. Dropping it before breaks the network: a processor cannot be
/// stopped.
pub(super) struct Computed<'n, Q: Queue, M: Model>(&'n Node<'n, Q, M>);

impl<Q: Queue, M: Model> Future for Computed<'_, Q, M> {
    type Output = ();
    #[inline]
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.0.doing().get() == BUSY { Poll::Pending } else { Poll::Ready(()) }
    }
}

impl<Q: Queue, M: Model> Drop for Computed<'_, Q, M> {
    #[inline]
    fn drop(&mut self) {
        if self.0.doing().get() == BUSY {
            self.0.nodes().poison(self.0.number());
        }
    }
}

/// Ready when the node's packet has left. Dropping it before breaks the network.
pub(super) struct Sent<'n, Q: Queue, M: Model> {
    pub(super) node: &'n Node<'n, Q, M>,
    /// The error if it was not sent at all.
    pub(super) refused: Option<Error>,
}

impl<Q: Queue, M: Model> Future for Sent<'_, Q, M> {
    type Output = Result<(), Error>;
    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        match self.refused.take() {
            Some(error) => Poll::Ready(Err(error)),
            None if self.node.doing().get() == SENDING => Poll::Pending,
            None => Poll::Ready(Ok(())),
        }
    }
}

impl<Q: Queue, M: Model> Drop for Sent<'_, Q, M> {
    #[inline]
    fn drop(&mut self) {
        if self.node.doing().get() == SENDING {
            self.node.nodes().poison(self.node.number());
        }
    }
}

/// How far a wait has come.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    New,
    Waits,
    /// The message is taken, and the program is busy with it.
    Takes,
    Over,
}

/// The object of a wait.
pub(super) trait Wanted<Q, M: Model> {
    /// The result of the wait.
    type Got;
    /// The state word of the wait.
    fn doing(&self) -> u16;
    /// The wait for the record.
    fn awaited(&self) -> WaitFor;
    /// Takes the object if it is there.
    fn take(&mut self, node: &Node<'_, Q, M>) -> Option<Result<Self::Got, Error>>;
    /// Returns whether taking it costs the program time; if not, the system continues by itself.
    fn costs(&self) -> bool {
        true
    }
}

/// Ready once the object is there and the program has had time to take it.
pub(super) struct Wait<'n, Q: Queue, M: Model, W: Wanted<Q, M>> {
    node: &'n Node<'n, Q, M>,
    stage: Stage,
    wanted: W,
    got: Option<W::Got>,
}

impl<'n, Q: Queue, M: Model, W: Wanted<Q, M>> Wait<'n, Q, M, W> {
    #[inline]
    pub(super) fn new(node: &'n Node<'n, Q, M>, wanted: W) -> Self {
        Self { node, stage: Stage::New, wanted, got: None }
    }
}

impl<Q: Queue, M: Model, W: Wanted<Q, M>> Unpin for Wait<'_, Q, M, W> {}

impl<Q: Queue, M: Model, W: Wanted<Q, M>> Future for Wait<'_, Q, M, W> {
    type Output = Result<W::Got, Error>;
    #[inline]
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let (nodes, node) = (this.node.nodes(), this.node);
        if this.stage == Stage::Takes {
            if node.doing().get() == BUSY {
                return Poll::Pending;
            }
        } else {
            match this.wanted.take(node) {
                Some(Ok(got)) => {
                    if let Some(recorder) = &nodes.recorder {
                        recorder.got(node.number(), nodes.engine.now());
                    }
                    this.got = Some(got);
                }
                Some(Err(error)) => return this.end(Err(error)),
                None => {
                    if let Some(by) = nodes.gone() {
                        return this.end(Err(Cause::Poisoned { by: Some(by) }.into()));
                    }
                    if let Some(recorder) = nodes.recorder.as_ref().filter(|_| this.stage == Stage::New) {
                        recorder.waits(node.number(), this.wanted.awaited(), nodes.engine.now());
                    }
                    this.stage = Stage::Waits;
                    node.doing().set(this.wanted.doing());
                    return Poll::Pending;
                }
            }
            if this.wanted.costs() {
                let (now, work) = (nodes.engine.now(), node.wire().take());
                if nodes.noise.done(node.number(), now, work) > now {
                    node.doing().set(BUSY);
                    nodes.resume_after(node.number(), now, work);
                    this.stage = Stage::Takes;
                    return Poll::Pending;
                }
            }
        }
        let got = this.got.take().expect("taken once");
        this.end(Ok(got))
    }
}

impl<Q: Queue, M: Model, W: Wanted<Q, M>> Wait<'_, Q, M, W> {
    #[inline]
    fn end(&mut self, result: Result<W::Got, Error>) -> Poll<Result<W::Got, Error>> {
        self.stage = Stage::Over;
        self.node.doing().set(RUNNING);
        Poll::Ready(result)
    }
}

impl<Q: Queue, M: Model, W: Wanted<Q, M>> Drop for Wait<'_, Q, M, W> {
    #[inline]
    fn drop(&mut self) {
        if matches!(self.stage, Stage::Waits | Stage::Takes) {
            self.node.nodes().poison(self.node.number());
        }
    }
}

/// The next null message in a slot.
pub(super) struct WantedNull(pub(super) u32);

impl<Q: Queue, M: Model> Wanted<Q, M> for WantedNull {
    type Got = ();
    #[inline]
    fn doing(&self) -> u16 {
        self.0 as u16 + 1
    }
    fn awaited(&self) -> WaitFor {
        WaitFor::Null(self.0)
    }
    #[inline]
    fn take(&mut self, node: &Node<'_, Q, M>) -> Option<Result<(), Error>> {
        let nodes = node.nodes();
        if self.0 >= nodes.slots {
            return Some(Err(Cause::Slot { slot: self.0, slots: nodes.slots }.into()));
        }
        let count = nodes.slot(node.number(), self.0);
        let there = count.get();
        count.set(there.saturating_sub(1));
        (there > 0).then_some(Ok(()))
    }
}

/// The next message from that node with that tag.
pub(super) struct WantedMessage<'b> {
    pub(super) from: Rank,
    pub(super) tag: u32,
    pub(super) into: &'b mut [u8],
}

impl<Q: Queue, M: Model> Wanted<Q, M> for WantedMessage<'_> {
    type Got = usize;
    fn doing(&self) -> u16 {
        INBOX
    }
    fn awaited(&self) -> WaitFor {
        WaitFor::Message(self.from, self.tag)
    }
    fn take(&mut self, node: &Node<'_, Q, M>) -> Option<Result<usize, Error>> {
        let nodes = node.nodes();
        let mut inbox = nodes.inbox(node.number()).borrow_mut();
        if let Some(parcel) = inbox.take_message((self.from, self.tag)) {
            let (bytes, room) = (parcel.bytes as usize, self.into.len());
            if nodes.contents && bytes > room {
                return Some(Err(Cause::Length { what: "the message that came", bytes, room }.into()));
            }
            nodes.unload(parcel.load, self.into);
            return Some(Ok(bytes));
        }
        let lost = inbox.take_unposted((self.from, self.tag));
        lost.then(|| Err(Cause::Unposted { from: self.from, tag: self.tag }.into()))
    }
}

/// The REQUEST from that node with that tag: the sender is still within its system call.
pub(super) struct Request {
    pub(super) from: Rank,
    pub(super) tag: u32,
}

impl<Q: Queue, M: Model> Wanted<Q, M> for Request {
    type Got = ();
    fn doing(&self) -> u16 {
        INBOX
    }
    fn awaited(&self) -> WaitFor {
        WaitFor::Request(self.from, self.tag)
    }
    fn take(&mut self, node: &Node<'_, Q, M>) -> Option<Result<(), Error>> {
        let inbox = node.nodes().inbox(node.number());
        inbox.borrow_mut().take_request((self.from, self.tag)).then_some(Ok(()))
    }
    fn costs(&self) -> bool {
        false
    }
}

/// Computes for a span of the node's own clock.
pub(super) fn compute<'n, Q: Queue, M: Model>(node: &'n Node<'n, Q, M>, span: Nanos) -> Computed<'n, Q, M> {
    let nodes = node.nodes();
    node.doing().set(BUSY);
    let now = nodes.engine.now();
    let done = nodes.resume_after(node.number(), now, node.really(span));
    if let Some(recorder) = &nodes.recorder {
        recorder.computes(node.number(), now, done);
    }
    Computed(node)
}
