//! The member that forks and joins.
use super::end::{End, out_of_turn};
use super::{AWAY, MASTER, REGIONS, before};
use core::cell::Cell;
use foregather_machine::{Cause, Cpu, Error, Nanos, Rank};
use foregather_wait::{Account, Policy, WaitFor};
use std::sync::Arc;

/// The master's handle. Dropping it without [`Leader::finish`] ends its slaves with an error.
pub struct Leader<'t, C: Cpu> {
    end: End<'t, C>,
    region: u32,
    /// Was the region forked and not yet joined?
    open: Cell<bool>,
    /// Whose part it has taken and not yet done.
    in_hand: Option<Rank>,
    finished: bool,
}

impl<'t, C: Cpu> Leader<'t, C> {
    pub(super) fn new(end: End<'t, C>) -> Self {
        Self { end, region: 0, open: Cell::new(false), in_hand: None, finished: false }
    }

    /// Releases the slaves into the next region and gives its number: the first is 1, and 0 comes after 2^29 - 1. All that was
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
        self.end.cpu.publish(self.end.epoch, self.region);
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

    /// The same, until `deadline` on the master's clock at most.
    ///
    /// # Errors
    /// As [`Leader::join_for`].
    #[inline]
    pub fn join_until(&mut self, deadline: Nanos) -> impl Future<Output = Result<(), Error>> {
        let (end, region, open) = (&self.end, self.region, &self.open);
        end.cpu.store(end.arrived, region);
        let all_done = move || if open.get() { end.all_done(region) } else { Some(()) };
        let met = (self.in_hand.is_none()).then(|| end.wait(end.joined, end.why(deadline), WaitFor::Behind, all_done));
        async move {
            match met {
                None => return Err(out_of_turn("a join", "`done_late` for the part that was taken")),
                Some(Ok(())) => {}
                Some(Err(rest)) => rest.await?,
            }
            open.set(false);
            Ok(())
        }
    }

    /// Joins if that takes a blink at most, without a look at the clock; `false` leaves everything as it was.
    #[inline]
    pub fn join_at_once(&mut self) -> bool {
        let (end, region) = (&self.end, self.region);
        end.cpu.store(end.arrived, region);
        let joined = !self.open.get() || self.in_hand.is_none() && end.glance(|| end.all_done(region));
        if joined {
            self.open.set(false);
        }
        joined
    }

    /// Watches on its processor, for `span` at most, until no part is left that nobody has begun. Whether that is so; nothing else
    /// has changed.
    pub async fn begun_within(&self, span: Nanos) -> bool {
        let (end, last) = (&self.end, before(self.region));
        let begun = || (MASTER + 1..end.roster.size()).all(|slave| end.cpu.load(end.taken(slave)) != last).then_some(());
        !self.open.get() || begun().is_some() || end.cpu.spin_for(end.joined, span, begun).await.0.is_some()
    }

    /// Takes the part of a slave that has not begun it, the lowest one, for the master to do; then say [`Leader::done_late`].
    /// `None` if all parts are taken: those are being done. The slave will find its part taken and wait for the next region.
    ///
    /// # Errors
    /// [`Cause::Setting`] if no region is open, or the part taken before is not done.
    pub fn take_late(&mut self) -> Result<Option<Rank>, Error> {
        if !self.open.get() || self.in_hand.is_some() {
            return Err(out_of_turn("`take_late`", "an open region, and `done_late` for the part taken before"));
        }
        let (end, region) = (&self.end, self.region);
        let takes = |&slave: &Rank| {
            let taken = end.taken(slave);
            end.cpu.load(taken) == before(region) && end.cpu.compare_exchange(taken, before(region), region)
        };
        self.in_hand = (MASTER + 1..end.roster.size()).find(takes);
        Ok(self.in_hand)
    }

    /// The part that was taken is done.
    ///
    /// # Errors
    /// [`Cause::Setting`] if there is none.
    pub fn done_late(&mut self) -> Result<(), Error> {
        let slave = self.in_hand.take().ok_or_else(|| out_of_turn("`done_late`", "a part from `take_late`"))?;
        self.end.done(slave, self.region);
        Ok(())
    }

    /// Sends a slave away: regions have no part for it any more, and it sleeps through them. Is that new?
    ///
    /// # Errors
    /// [`Cause::Rank`] if there is no such slave; [`Cause::Setting`] before the join of the region.
    pub fn dismiss(&mut self, slave: Rank) -> Result<bool, Error> {
        self.may_change(slave)?;
        // Nobody else changes the word between two regions, and a slave that is late finds no region in it.
        let leaves = self.end.cpu.compare_exchange(self.end.taken(slave), self.region, AWAY);
        if leaves {
            self.end.cpu.store(self.end.absent, self.end.cpu.load(self.end.absent) + 1);
        }
        Ok(leaves)
    }

    /// Calls a slave back: from the next region on it has a part again. Is that new?
    ///
    /// # Errors
    /// As [`Leader::dismiss`].
    pub fn recall(&mut self, slave: Rank) -> Result<bool, Error> {
        self.may_change(slave)?;
        let returns = self.end.cpu.compare_exchange(self.end.taken(slave), AWAY, self.region);
        if returns {
            self.end.cpu.store(self.end.absent, self.end.cpu.load(self.end.absent) - 1);
        }
        Ok(returns)
    }

    fn may_change(&self, slave: Rank) -> Result<(), Error> {
        if slave == MASTER || slave >= self.end.roster.size() {
            return Err(Cause::Rank { rank: slave, size: self.end.roster.size() }.into());
        }
        if self.open.get() { Err(unjoined("a change of the team")) } else { Ok(()) }
    }

    /// How many members have parts of regions, the master among them.
    pub fn present(&self) -> u32 {
        self.end.parts() + 1
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
        let end = &self.end;
        end.cpu.store(end.ended, 1);
        end.cpu.publish(end.epoch, self.next());
        // Those who sleep elsewhere wake to see it.
        end.away().for_each(|slave| end.cpu.publish(end.taken(slave), self.region));
        Ok(())
    }

    #[inline]
    fn next(&self) -> u32 {
        (self.region + 1) & REGIONS
    }

    /// Computes for `span` on the master's own processor.
    pub async fn delay(&self, span: Nanos) {
        self.end.cpu.delay(span).await;
    }

    /// From now on another thread has this handle, whose processor that is.
    pub fn lead_from(&mut self, cpu: C) {
        self.end.enroll(cpu);
    }

    /// Waits by another policy from its next wait on, with a new account.
    pub fn wait_by(&mut self, policy: Policy) {
        self.end.wait_by(policy);
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
    out_of_turn(what, "the join of the region before")
}

impl<C: Cpu> Drop for Leader<'_, C> {
    fn drop(&mut self) {
        if !self.finished {
            self.end.poison(MASTER);
        }
    }
}
