//! Messages from memory that the messenger owns until they were fetched.
use super::Messenger;
use super::piece::{Cheaper, Mode, PieceFormat, Receive};
use super::rendezvous::Posted;
use core::future::Future;
use foregather_machine::{Cause, Error, Fabric, Park, Rank};

impl<F: Fabric> Messenger<F> {
    /// Sends a message of one CHEAPER piece that is received CHEAPER, from memory that the messenger keeps
    /// until the receiver has fetched it. The returned handle gives the memory back. Acts when called: await
    /// it.
    ///
    /// # Errors
    /// As [`Messenger::begin_packing`] and [`Outgoing::end`](super::Outgoing::end). The memory is freed then.
    pub fn send_owned(&self, to: Rank, memory: Vec<u8>) -> impl Future<Output = Result<Pending<'_, F>, Error>> {
        self.fabric.cpu().run_inline(async move {
            self.forget_fetched();
            if memory.len() < self.rules.direct_at {
                self.send_whole(to, Cheaper(&memory), Receive::Cheaper).await?;
                return Ok(Pending { messenger: self, held: PendingMemory::Here(memory) });
            }
            let message = self.begin_packing(to)?;
            message.wait_for_credit().await?;
            let shape = PieceFormat { mode: Mode::Cheaper, receive: Receive::Cheaper, bytes: memory.len() };
            let key = self.fabric.expose_owned(memory)?;
            let posted = self.post_offer(to, key, core::iter::once(shape), true).await;
            let posted = posted.inspect_err(|_| drop(self.fabric.take_back(key)))?;
            self.exposed.set(self.exposed.get() + 1);
            self.owned.borrow_mut().push((posted, false));
            message.finish();
            Ok(Pending { messenger: self, held: PendingMemory::Offered(posted) })
        })
    }

    /// Waits until all that was sent from owned memory was fetched, whether or not its handles still exist: a
    /// rank that leaves earlier takes the memory away from its receivers. Acts when called: await it.
    ///
    /// # Errors
    /// As [`Outgoing::end`](super::Outgoing::end).
    pub fn settle(&self) -> impl Future<Output = Result<(), Error>> {
        self.fabric.cpu().run_inline(async move {
            let open: Vec<Posted> = self.owned.borrow().iter().map(|(posted, _)| *posted).collect();
            for posted in open {
                self.until_fetched(posted).await?;
            }
            self.forget_fetched();
            Ok(())
        })
    }

    /// Frees owned memory that was fetched and whose handles were dropped.
    fn forget_fetched(&self) {
        let fetched = |&(posted, dropped): &(Posted, bool)| (dropped && self.is_fetched(posted)).then_some(posted);
        let fetched: Vec<Posted> = self.owned.borrow().iter().filter_map(fetched).collect();
        fetched.into_iter().for_each(|posted| drop(self.take_back(posted)));
    }

    fn take_back(&self, posted: Posted) -> Option<Vec<u8>> {
        self.owned.borrow_mut().retain(|(open, _)| open.key != posted.key);
        let memory = self.fabric.take_back(posted.key);
        self.exposed.set(self.exposed.get() - u32::from(memory.is_some()));
        memory
    }
}

/// A message that was sent from owned memory. Dropped, it leaves the memory to the messenger until it was
/// fetched.
#[must_use = "`wait` gives the memory back"]
pub struct Pending<'c, F: Fabric> {
    messenger: &'c Messenger<F>,
    held: PendingMemory,
}

enum PendingMemory {
    /// Its bytes have left.
    Here(Vec<u8>),
    Offered(Posted),
    Nowhere,
}

impl<F: Fabric> Pending<'_, F> {
    /// Would [`Pending::wait`] return at once? Looks at what has come, and takes nothing in.
    pub fn is_fetched(&self) -> bool {
        match &self.held {
            PendingMemory::Here(_) | PendingMemory::Nowhere => true,
            PendingMemory::Offered(posted) => self.messenger.is_fetched(*posted),
        }
    }

    /// Waits until the receiver has fetched the message, and returns the memory. Acts when called: await it.
    ///
    /// # Errors
    /// As [`Outgoing::end`](super::Outgoing::end). The memory is freed then.
    pub fn wait(mut self) -> impl Future<Output = Result<Vec<u8>, Error>> {
        let messenger = self.messenger;
        messenger.fabric.cpu().run_inline(async move {
            match core::mem::replace(&mut self.held, PendingMemory::Nowhere) {
                PendingMemory::Here(memory) => Ok(memory),
                PendingMemory::Nowhere => Ok(Vec::new()),
                PendingMemory::Offered(posted) => {
                    let fetched = messenger.until_fetched(posted).await;
                    if fetched.is_err() {
                        // Before the memory goes: a receiver that finds it gone looks behind it for the
                        // reason.
                        messenger.give_up(posted.to);
                    }
                    let memory = messenger.take_back(posted);
                    fetched?;
                    memory.ok_or_else(|| Cause::Unexposed { rank: posted.to }.into())
                }
            }
        })
    }
}

impl<F: Fabric> Drop for Pending<'_, F> {
    fn drop(&mut self) {
        if let PendingMemory::Offered(posted) = self.held {
            let mut owned = self.messenger.owned.borrow_mut();
            owned.iter_mut().filter(|(open, _)| open.key == posted.key).for_each(|(_, dropped)| *dropped = true);
        }
    }
}
