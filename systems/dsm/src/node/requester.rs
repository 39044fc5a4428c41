//! A thread that needs more access to a minipage than it has: it sends a request, and waits on a lane of its
//! own.
use super::links::Links;
use super::server::everybody;
use super::state::{Node, PageStore};
use super::stats::{Stats, WaitKind};
use super::transfer::Transfer;
use crate::protocol::{Action, Begin, Client, FlagId, LockId, Message, Reaction, Want, server_of};
use crate::{Access, Minipage};
use foregather_machine::{Address, Cause, Error, Fabric, Nanos, WaitContext, Words, reached};
use foregather_message::link::Lost;
use foregather_wait::{Policy, Roster, WaitFor, Waiter};

/// One application thread of a rank. [`Requester::need`] does not allocate, because it runs inside a fault
/// handler.
pub struct Requester<F: Fabric> {
    lane: F,
    client: Client,
    waiter: Waiter,
    links: Links,
    stats: Stats,
    /// Whether its server knows that this thread cannot continue.
    stopping: bool,
    /// The deadline of the wait for a lock.
    deadline: Nanos,
}

impl<F: Fabric> Requester<F> {
    /// Creates the requester of that lane's thread.
    pub fn new<P: PageStore>(lane: F, node: &Node<F::Cpu, P>, policy: Policy) -> Self {
        let here = lane.here();
        let client = Client::new(here, node.homes());
        node.stopped().enroll(here.lane);
        let (waiter, links) = (Waiter::new(policy, here.rank), Links::new(&lane));
        Self { lane, client, waiter, links, stats: Stats::default(), stopping: false, deadline: Nanos::MAX }
    }

    /// Returns its lane.
    pub fn lane(&self) -> &F {
        &self.lane
    }

    /// Returns how its time was spent.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Resets the statistics.
    pub fn forget(&mut self) {
        self.stats = Stats::default();
    }

    /// Adds time of this thread that other code has measured.
    pub fn note(&mut self, kind: WaitKind, span: Nanos) {
        self.stats.add(kind, span);
    }

    /// Obtains access `need` to the minipage for this thread. The access may be lost again at once; then the
    /// next load or store faults.
    ///
    /// # Errors
    /// [`Cause::Refused`] if the minipage was freed; an error if a rank was lost or gave up, or a system call
    /// failed.
    pub async fn need<P: PageStore>(&mut self, node: &Node<F::Cpu, P>, minipage: Minipage, need: Access) -> Result<(), Error> {
        let began = self.lane.now();
        let before = node.word(minipage);
        loop {
            match node.begin(minipage, need, false) {
                Begin::Already => {
                    reached("views:3");
                    break;
                }
                Begin::Wait(word) => {
                    if word.is_prefetch() {
                        reached("pages:10");
                    } else {
                        reached("pages:5");
                    }
                    self.asleep(node, minipage, word.bits()).await?;
                }
                Begin::Go(_) => {
                    let want = if need == Access::Write { Want::Write } else { Want::Read };
                    let (to, message) = self.client.ask(minipage, want);
                    self.ask(node, to, message).await?;
                    if node.word(minipage).access() < need {
                        reached("pages:11");
                        reached("views:4");
                    }
                    break;
                }
            }
        }
        let kind = match (need, before.access()) {
            // It may have arrived between the fault and this call.
            _ if before.is_prefetch() || before.access() >= need => WaitKind::Prefetch,
            (Access::Write, Access::Read) => WaitKind::Upgrade,
            (Access::Write, _) => WaitKind::WriteFault,
            _ => WaitKind::ReadFault,
        };
        self.stats.add(kind, self.lane.now() - began);
        Ok(())
    }

    /// Sleeps while another thread of this rank, or a prefetch, requests the minipage.
    async fn asleep<P: PageStore>(&mut self, node: &Node<F::Cpu, P>, minipage: Minipage, bits: u32) -> Result<(), Error> {
        let changed = || (node.word(minipage).bits() != bits).then_some(());
        self.wait_until(node, node.wait_queue(minipage), "a minipage that is on its way", changed).await
    }

    /// Waits until no prefetch or push of this rank is in flight.
    ///
    /// # Errors
    /// If a rank is lost.
    pub async fn quiet<P: PageStore>(&mut self, node: &Node<F::Cpu, P>) -> Result<(), Error> {
        self.wait_until(node, node.ended(), "what was asked for ahead", || (node.prefetches() == 0).then_some(())).await
    }

    async fn wait_until<P: PageStore>(
        &self,
        node: &Node<F::Cpu, P>,
        on: &<F::Cpu as Words>::Word,
        what: &'static str,
        mut probe: impl FnMut() -> Option<()>,
    ) -> Result<(), Error> {
        let (lane, roster) = (&self.lane, Roster::new(self.lane.roster()));
        let either = || probe().map(Ok).or_else(|| node.check().err().map(Err));
        let context = WaitContext::new(what, lane.here().rank);
        self.waiter.wait_part(lane.cpu(), on, false, || (context, WaitFor::Message(roster, None)), either).finish().await?.0
    }

    /// Reports `error`, because of which this thread cannot continue: its server informs all ranks, and this
    /// thread sends no more requests. Returns whether it is the first failure that this rank knows of.
    pub fn stop<P: PageStore>(&mut self, node: &Node<F::Cpu, P>, error: &Error) -> bool {
        let Self { lane, links, stopping, .. } = self;
        let here = lane.here().rank;
        let first = node.stop(lane.cpu(), lane.now(), error, here);
        if !core::mem::replace(stopping, true) {
            let blame = node.stopped().blame().unwrap_or(Lost::of(error).unwrap_or(Lost::on(here)));
            links.tell(lane, server_of(here), blame);
        }
        first
    }

    /// Sends a request ahead of a fault, if fewer than `bound` such requests are in flight and it is
    /// worthwhile. Returns whether it sent one.
    ///
    /// # Errors
    /// If a rank is lost.
    pub async fn prefetch<P: PageStore>(
        &mut self,
        node: &Node<F::Cpu, P>,
        minipage: Minipage,
        need: Access,
        bound: u32,
    ) -> Result<bool, Error> {
        let word = node.word(minipage);
        if word.is_pending() || word.access() >= need || !node.begin_prefetch(bound) {
            return Ok(false);
        }
        let Begin::Go(_) = node.begin(minipage, need, true) else {
            node.end_prefetch(self.lane.cpu());
            return Ok(false);
        };
        let want = if need == Access::Write { Want::Write } else { Want::Read };
        let (to, message) = self.client.prefetch(minipage, want);
        self.send(node, to, message).await?;
        Ok(true)
    }

    /// Pushes, frees or allocates a minipage, and waits until that is complete.
    ///
    /// # Errors
    /// [`Cause::Refused`] if it was freed before; an error if a rank is lost.
    pub async fn tell<P: PageStore>(&mut self, node: &Node<F::Cpu, P>, minipage: Minipage, want: Want) -> Result<(), Error> {
        let (to, message) = self.client.ask(minipage, want);
        self.ask(node, to, message).await
    }

    /// Waits for a lock, in its queue.
    ///
    /// # Errors
    /// [`Cause::Refused`] if this thread holds it, [`Cause::PoisonedLock`] if a thread panicked while holding
    /// it; an error if a rank is lost.
    pub async fn lock<P: PageStore>(&mut self, node: &Node<F::Cpu, P>, lock: LockId) -> Result<(), Error> {
        self.lock_until(node, lock, Nanos::MAX).await
    }

    /// Waits for a lock like [`Requester::lock`], at most until `deadline`.
    ///
    /// # Errors
    /// [`Cause::TimedOut`]: the thread remains in the queue, so it must [stop](Self::stop). Otherwise as for
    /// [`Requester::lock`].
    pub async fn lock_until<P: PageStore>(&mut self, node: &Node<F::Cpu, P>, lock: LockId, deadline: Nanos) -> Result<(), Error> {
        let began = self.lane.now();
        let (to, message) = self.client.lock(lock);
        self.deadline = deadline;
        let locked = self.ask(node, to, message).await;
        self.deadline = Nanos::MAX;
        locked?;
        self.stats.add(WaitKind::Lock, self.lane.now() - began);
        Ok(())
    }

    /// Releases a lock. If this thread `panicked` while holding it, no other thread can take it.
    ///
    /// # Errors
    /// If a rank is lost.
    pub async fn unlock<P: PageStore>(&mut self, node: &Node<F::Cpu, P>, lock: LockId, panicked: bool) -> Result<(), Error> {
        let (to, message) = self.client.unlock(lock, panicked);
        self.send(node, to, message).await
    }

    /// Posts a flag: releases one thread that waits for it, now or later.
    ///
    /// # Errors
    /// If a rank is lost.
    pub async fn post<P: PageStore>(&mut self, node: &Node<F::Cpu, P>, flag: FlagId) -> Result<(), Error> {
        let (to, message) = self.client.post(flag);
        self.send(node, to, message).await
    }

    /// Waits for a post of a flag, in its queue.
    ///
    /// # Errors
    /// If a rank is lost.
    pub async fn take<P: PageStore>(&mut self, node: &Node<F::Cpu, P>, flag: FlagId) -> Result<(), Error> {
        let began = self.lane.now();
        let (to, message) = self.client.take(flag);
        self.ask(node, to, message).await?;
        self.stats.add(WaitKind::Lock, self.lane.now() - began);
        Ok(())
    }

    /// Informs all servers that this rank has ended. One of its threads calls this, once, after the others
    /// have ended.
    ///
    /// # Errors
    /// If a rank is lost.
    pub async fn detach<P: PageStore>(&mut self, node: &Node<F::Cpu, P>) -> Result<(), Error> {
        self.quiet(node).await?;
        for server in everybody(node.homes().hosts()) {
            self.send(node, server, Message::Detach).await?;
        }
        Ok(())
    }

    async fn send<P: PageStore>(&mut self, node: &Node<F::Cpu, P>, to: Address, message: Message) -> Result<(), Error> {
        node.check()?;
        let Self { lane, links, waiter, .. } = self;
        let mut transfer = Transfer::new(message);
        let why = WaitContext::new("credits for a request", lane.here().rank).of(to.rank).until(self.deadline);
        let mut sent = || -> Result<Option<()>, Error> {
            // Credits arrive as frames.
            if !transfer.send(lane, links, to, node)?
                && let Some((from, _)) = come(lane, links, node)?
            {
                return Err(Cause::ProtocolViolation { from: from.rank, what: "a reply to what this thread did not ask" }.into());
            }
            Ok(transfer.send(lane, links, to, node)?.then_some(()))
        };
        waiter.on_lane(lane, why, Some(to.rank), || sent().transpose()).await?
    }

    /// Sends a request and executes its reply.
    async fn ask<P: PageStore>(&mut self, node: &Node<F::Cpu, P>, to: Address, message: Message) -> Result<(), Error> {
        self.send(node, to, message).await?;
        let Self { lane, links, waiter, .. } = self;
        let why = WaitContext::new("a reply about shared memory", lane.here().rank).until(self.deadline);
        let reply = || come(lane, links, node).transpose();
        let (from, message) = waiter.on_lane(lane, why, None, reply).await??;
        self.settle(node, from, message).await
    }

    /// Executes a reply: first on this rank, then the message to the manager.
    async fn settle<P: PageStore>(&mut self, node: &Node<F::Cpu, P>, from: Address, message: Message) -> Result<(), Error> {
        let (mut last, mut done) = (None, Ok(()));
        let lane = &self.lane;
        let answer = self.client.reply(from.rank, &message, &mut |action| {
            lane.charge(node.copies().toll(&action));
            match action {
                Action::Send { to, message } => last = Some((to, message)),
                action if done.is_ok() => done = node.perform(lane.cpu(), &action),
                _ => {}
            }
        })?;
        done?;
        if let Some((to, message)) = last {
            self.send(node, to, message).await?;
        }
        match answer {
            Reaction::Served => Ok(()),
            Reaction::Freed(freed) => Err(Cause::Refused { why: freed.to_string() }.into()),
            Reaction::Poisoned { by, .. } => Err(Cause::PoisonedLock { by }.into()),
            Reaction::Held(lock) => {
                Err(Cause::Refused { why: format!("this thread has lock {} already: it would wait for itself", lock.0) }.into())
            }
        }
    }
}

/// Takes frames until a message is complete.
fn come<F: Fabric, P: PageStore>(
    lane: &F,
    links: &mut Links,
    node: &Node<F::Cpu, P>,
) -> Result<Option<(Address, Message)>, Error> {
    links.pay(lane)?;
    while let Some(from) = lane.arrived(None) {
        if let Some(message) = links.take(lane, node, from)? {
            return Ok(Some((from, message)));
        }
    }
    Ok(None)
}
