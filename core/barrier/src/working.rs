//! Barriers whose members run tasks while they wait. The last member to arrive completes an episode only when
//! no task is left (OpenMP 5.2 §15.3.1: a barrier completes all tasks of its region).
use crate::{Algorithm, BarrierMember, Group};
use foregather_machine::{Cause, Cpu, Error, Nanos, reached};

impl<C: Cpu> Group<C> {
    /// Wakes the members in [`BarrierMember::wait_or`] so that they check again after a change.
    #[inline]
    pub fn ring(&self, cpu: &C) {
        cpu.ring(self.0.bell());
    }

    /// Returns the word that [`Group::ring`] changes.
    #[inline]
    pub fn bell(&self) -> &C::Word {
        self.0.bell()
    }
}

impl<C: Cpu> BarrierMember<C> {
    /// Returns the processor on which this member waits.
    pub fn cpu(&self) -> &C {
        self.end.cpu()
    }

    /// Arrives at the central barrier, unless the member already has, and waits. Returns what `find` returns
    /// as soon as that is `Some`, or `None` when the episode is complete. If the wait returns early, the
    /// arrival still counts, and the next wait continues with the episode.
    ///
    /// The last to arrive does not complete the episode while `is_open` returns true. Once all have arrived
    /// and `is_open` has returned false, it must never return true again. Call [`Group::ring`] after any
    /// change that `is_open` or `find` depends on. Either all members of an episode wait with this method, or
    /// none.
    ///
    /// # Errors
    /// As [`BarrierMember::wait`]; [`Cause::TimedOut`] after `patience`; [`Cause::Setting`] at any other
    /// barrier.
    #[inline]
    pub async fn wait_or<T>(
        &mut self,
        is_open: impl Fn(&C) -> bool,
        find: impl Fn(&C) -> Option<T>,
        patience: Nanos,
    ) -> Result<Option<T>, Error> {
        if self.group.algorithm != Algorithm::Central {
            return Err(Cause::Setting { what: "work at a barrier", needs: "the central one" }.into());
        }
        if !self.broken.get() && !self.pending.get() {
            self.announce();
            if self.group.central().arrive_in(self.end.cpu(), self.meeting.get()) {
                if !is_open(self.end.cpu()) {
                    self.end.waiter().came_last();
                    self.end_meeting();
                    return Ok(None);
                }
                reached("task:3");
                self.holds.set(true);
            }
            self.pending.set(true);
        }
        self.work_on(&is_open, &find, patience).await
    }

    /// Ends the episode, and wakes the members that sleep on the bell.
    fn end_meeting(&self) {
        self.release();
        self.end.cpu().ring(self.group.bell());
    }

    /// Waits after the arrival in [`BarrierMember::wait_or`].
    async fn work_on<T>(
        &self,
        is_open: &impl Fn(&C) -> bool,
        find: &impl Fn(&C) -> Option<T>,
        patience: Nanos,
    ) -> Result<Option<T>, Error> {
        let (group, cpu, meeting, holds) = (&*self.group, self.end.cpu(), self.meeting.get(), self.holds.get());
        if self.broken.get() {
            return Err(group.explain(cpu, self.rank(), Cause::Poisoned { by: None }.into()));
        }
        let is_over = || if holds { !is_open(cpu) } else { group.central().released(cpu, meeting).is_some() };
        let look = || if is_over() { Some(None) } else { find(cpu).map(Some) };
        let (bell, timed) = (group.bell(), self.account().sample());
        let wait = self.end.waiter().wait_part(cpu, bell, timed, || self.why(cpu.now() + patience), look).finish();
        let ended = cpu.run_inline(wait).await;
        if let Ok((_, waited)) = &ended {
            self.account().waited(*waited);
        }
        match ended.map(|(found, _)| found) {
            Ok(None) if holds => self.end_meeting(),
            Ok(None) => self.leave(),
            Ok(found) => return Ok(found),
            Err(error) => {
                let error = group.explain(cpu, self.rank(), error);
                if matches!(error.cause(), Cause::TimedOut { .. }) {
                    return Err(error);
                }
                self.account().failed();
                self.suffers();
                return Err(error);
            }
        }
        Ok(None)
    }
}
