//! The member that forks and joins.
use super::MASTER;
use super::end::End;
use core::cell::Cell;
use foregather_machine::{Cause, Cpu, Error, Nanos, VALUE_MASK};
use foregather_wait::{Account, Whom};
use std::sync::Arc;

/// The master's handle. Dropping it without [`TeamMaster::finish`] ends its slaves with an error.
pub struct TeamMaster<'t, C: Cpu> {
    end: End<'t, C>,
    region: u32,
    /// Was the region forked and not yet joined?
    open: Cell<bool>,
    finished: bool,
}

impl<'t, C: Cpu> TeamMaster<'t, C> {
    pub(super) fn new(end: End<'t, C>) -> Self {
        Self { end, region: 0, open: Cell::new(false), finished: false }
    }

    /// Releases the slaves into the next region and gives its number: the first is 1, and 0 comes after 2^30 - 1. All that was
    /// written before is seen by them. Does not wait, not even for a slave that has yet to make its handle.
    ///
    /// # Errors
    /// [`Cause::Setting`] if the region before was not joined. A slave that has gone is an error of the join.
    #[inline]
    pub fn fork(&mut self) -> Result<u32, Error> {
        if self.open.get() {
            return Err(unjoined("a second fork"));
        }
        self.region = self.next();
        self.open.set(true);
        self.end.be_seen();
        self.end.cpu.store(self.end.epoch, self.region);
        Ok(self.region)
    }

    /// Ready when all slaves have done their part of the region; at once if none was forked. What they have written is seen then.
    /// May be dropped and called again.
    ///
    /// # Errors
    /// [`Cause::Poisoned`] or [`Cause::PeerLost`] if a slave has gone, be it after its part of this region.
    #[inline]
    pub fn join(&mut self) -> impl Future<Output = Result<(), Error>> {
        self.join_until(Nanos::MAX)
    }

    /// The same, for `span` at most. Whoever gives up may try again.
    ///
    /// # Errors
    /// [`Cause::TimedOut`], naming a slave that has not done its part.
    pub fn join_for(&mut self, span: Nanos) -> impl Future<Output = Result<(), Error>> {
        self.join_until(self.end.cpu.now() + span)
    }

    #[inline]
    fn join_until(&mut self, deadline: Nanos) -> impl Future<Output = Result<(), Error>> {
        let (end, region, open) = (&self.end, self.region, &self.open);
        end.cpu.note(end.arrived, region);
        let all_done = move || (!open.get() || end.slaves() == 0 || end.cpu.load(end.joined) == region).then_some(());
        let met = end.wait(end.joined, end.why(deadline), Whom::Behind, all_done);
        async move {
            if let Err(rest) = met {
                rest.await?;
            }
            open.set(false);
            Ok(())
        }
    }

    /// There are no more regions: the slaves' next wait gives `None`.
    ///
    /// # Errors
    /// [`Cause::Setting`] if the region before was not joined; the slaves get an error then, too.
    pub fn finish(mut self) -> Result<(), Error> {
        if self.open.get() {
            return Err(unjoined("the end of a team"));
        }
        self.finished = true;
        self.end.cpu.note(self.end.ended, 1);
        self.end.cpu.store(self.end.epoch, self.next());
        Ok(())
    }

    #[inline]
    fn next(&self) -> u32 {
        (self.region + 1) & VALUE_MASK
    }

    /// Computes for `span` on the master's own processor.
    pub async fn delay(&self, span: Nanos) {
        self.end.cpu.delay(span).await;
    }

    /// The time on the master's clock.
    pub fn now(&self) -> Nanos {
        self.end.cpu.now()
    }

    /// What its joins have come to; those that found all slaves done count as last. A clone can be read while it waits.
    pub fn account(&self) -> &Arc<Account> {
        self.end.account()
    }
}

#[cold]
fn unjoined(what: &'static str) -> Error {
    Cause::Setting { what, needs: "the join of the region before" }.into()
}

impl<C: Cpu> Drop for TeamMaster<'_, C> {
    fn drop(&mut self) {
        if !self.finished {
            self.end.poison(MASTER);
        }
    }
}
