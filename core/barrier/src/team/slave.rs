//! A member that is released into regions.
use super::MASTER;
use super::end::End;
use core::cell::Cell;
use foregather_machine::{Cause, Cpu, Error, Nanos, Rank};
use foregather_wait::{Account, Whom};
use std::sync::Arc;

/// A slave's handle. Dropping it before [`TeamSlave::wait`] has given `None` fails the master's join.
pub struct TeamSlave<'t, C: Cpu> {
    end: End<'t, C>,
    /// The last region it was released into.
    region: Cell<u32>,
    /// Has it yet to do its part of that?
    open: Cell<bool>,
    over: Cell<bool>,
}

impl<'t, C: Cpu> TeamSlave<'t, C> {
    pub(super) fn new(end: End<'t, C>) -> Self {
        Self { end, region: Cell::new(0), open: Cell::new(false), over: Cell::new(false) }
    }

    /// Ready with the number of the next region when the master has forked it, or with `None` when the master has finished.
    /// May be dropped and called again.
    ///
    /// # Errors
    /// [`Cause::Poisoned`] or [`Cause::PeerLost`] if the master has gone; [`Cause::Setting`] if [`TeamSlave::done`] was not said
    /// of the region before.
    #[inline]
    pub fn wait(&mut self) -> impl Future<Output = Result<Option<u32>, Error>> {
        self.wait_until(Nanos::MAX)
    }

    /// The same, for `span` at most. Whoever gives up may try again.
    ///
    /// # Errors
    /// [`Cause::TimedOut`], naming the master.
    pub fn wait_for(&mut self, span: Nanos) -> impl Future<Output = Result<Option<u32>, Error>> {
        self.wait_until(self.end.cpu.now() + span)
    }

    #[inline]
    fn wait_until(&mut self, deadline: Nanos) -> impl Future<Output = Result<Option<u32>, Error>> {
        let Self { end, region, open, over } = &*self;
        let before = region.get();
        let forked = move || Some(end.cpu.load(end.epoch)).filter(|&epoch| epoch != before);
        let met = (!open.get()).then(|| end.wait(end.epoch, end.why(deadline).of(MASTER), Whom::One(MASTER), forked));
        async move {
            let epoch = match met {
                None => return Err(out_of_turn("a slave's wait", "`done` for the region before")),
                Some(Ok(epoch)) => epoch,
                Some(Err(rest)) => rest.await?,
            };
            if end.cpu.load(end.ended) != 0 {
                over.set(true);
                return Ok(None);
            }
            region.set(epoch);
            open.set(true);
            Ok(Some(epoch))
        }
    }

    /// It has done its part of the region: the last of the slaves lets the master go on. What it has written is seen then.
    ///
    /// # Errors
    /// [`Cause::Setting`] if it is in no region.
    #[inline]
    pub fn done(&mut self) -> Result<(), Error> {
        if !self.open.replace(false) {
            return Err(out_of_turn("a slave's `done`", "a wait that has given a region"));
        }
        let (end, region) = (&self.end, self.region.get());
        end.be_seen();
        end.cpu.note(end.arrived, region);
        if end.cpu.add(end.count, 1) == end.slaves() - 1 {
            // In this order: the master may fork the next region before this slave goes on.
            end.cpu.note(end.count, 0);
            end.cpu.store(end.joined, region);
        }
        Ok(())
    }

    /// Computes for `span` on the slave's own processor.
    pub async fn delay(&self, span: Nanos) {
        self.end.cpu.delay(span).await;
    }

    /// The time on the slave's clock.
    pub fn now(&self) -> Nanos {
        self.end.cpu.now()
    }

    /// What its waits have come to. A clone can be read while it waits.
    pub fn account(&self) -> &Arc<Account> {
        self.end.account()
    }

    /// Its own number, from 1 on.
    pub fn rank(&self) -> Rank {
        self.end.rank
    }
}

#[cold]
fn out_of_turn(what: &'static str, needs: &'static str) -> Error {
    Cause::Setting { what, needs }.into()
}

impl<C: Cpu> Drop for TeamSlave<'_, C> {
    fn drop(&mut self) {
        if !self.over.get() {
            self.end.poison(self.end.rank);
        }
    }
}
