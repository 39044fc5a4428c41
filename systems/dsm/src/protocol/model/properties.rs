//! The properties that must hold in every state.
use super::super::Reaction;
use super::Setup;
use super::host::Op;
use super::state::{GlobalState, Wrong};
use crate::{Access, Minipage};
use foregather_machine::Rank;

impl GlobalState {
    /// Returns the first property that is violated.
    pub(super) fn check(&self, setup: &Setup) -> Result<(), Wrong> {
        for minipage in (0..setup.minipages).map(Minipage) {
            self.one_writer_or_readers(minipage)?;
            self.nobody_sees_the_past(minipage)?;
            // An injected mistake must be found by its effect, not by the counts that it changes.
            if setup.fault.is_none() {
                self.directory_is_right(setup, minipage)?;
            }
        }
        // In addition to what may be queued, a thread that has sent a new request may have released a lock or
        // posted a flag, which gets no reply.
        let most = setup.bound() + usize::from(setup.locks + setup.flags > 0);
        if self.longest_wire() > most {
            return Err(format!("a wire holds {} messages, more than {most}", self.longest_wire()));
        }
        Ok(())
    }

    /// Returns how many requests wait in the longest queue of a manager.
    pub(super) fn longest_queue(&self, setup: &Setup) -> usize {
        let manager = |minipage| self.host(setup.homes.of(minipage)).server.directory().holding(minipage).queued;
        (0..setup.minipages).map(|minipage| manager(Minipage(minipage))).max().unwrap_or(0)
    }

    fn one_writer_or_readers(&self, minipage: Minipage) -> Result<(), Wrong> {
        let having = |least| self.hosts.iter().filter(move |host| host.view(minipage) >= least).count();
        let (writers, open) = (having(Access::Write), having(Access::Read));
        if writers > 0 && open > 1 {
            return Err(format!("single writer: {minipage:?} can be written at {writers} of the {open} hosts that see it"));
        }
        Ok(())
    }

    /// Checks that a thread that reads through an open view gets the last write, and that no word promises
    /// more access than the view.
    fn nobody_sees_the_past(&self, minipage: Minipage) -> Result<(), Wrong> {
        for (rank, host) in self.hosts.iter().enumerate() {
            if host.view(minipage) != Access::None && !host.is_fresh(minipage) {
                return Err(format!("outdated read: host {rank} sees an old version of {minipage:?}"));
            }
            if host.word(minipage).access() > host.view(minipage) {
                return Err(format!("the word of {minipage:?} at host {rank} promises more than the view allows"));
            }
        }
        Ok(())
    }

    /// Checks that a manager that serves no request knows which ranks have valid bytes, and that no other
    /// rank's view is open.
    fn directory_is_right(&self, setup: &Setup, minipage: Minipage) -> Result<(), Wrong> {
        let holding = self.host(setup.homes.of(minipage)).server.directory().holding(minipage);
        if holding.queued > setup.bound() {
            return Err(format!("{} requests queue for {minipage:?}", holding.queued));
        }
        // The manager already knows what its own server still has to do.
        if holding.busy || !self.host(setup.homes.of(minipage)).todo.is_empty() {
            return Ok(());
        }
        if !holding.freed && !holding.copies.contains(holding.owner) {
            return Err(format!("the owner of {minipage:?} has no copy"));
        }
        for (rank, host) in (0..).zip(&self.hosts) {
            let listed = holding.copies.contains(rank);
            if listed && !host.is_fresh(minipage) {
                return Err(format!("host {rank} is listed with an outdated copy of {minipage:?}"));
            }
            if !listed && host.view(minipage) != Access::None {
                return Err(format!("host {rank} sees {minipage:?} and its manager does not know"));
            }
        }
        Ok(())
    }

    /// Checks that the state agrees with the reply.
    pub(super) fn is_true(&self, setup: &Setup, rank: Rank, op: Op, answer: Reaction) -> Result<(), Wrong> {
        let freed = |minipage| self.host(setup.homes.of(minipage)).server.directory().holding(minipage).freed;
        let minipage = match (op, answer) {
            (Op::Free(minipage), Reaction::Served) => minipage,
            (_, Reaction::Freed(freed)) if freed.by.rank == rank => freed.minipage,
            (_, Reaction::Freed(_)) => return Err("a refusal names somebody else".into()),
            (_, Reaction::Held(lock)) => return Err(format!("host {rank} is said to hold {lock:?}, which it asks for")),
            _ => return Ok(()),
        };
        match self.hosts.iter().position(|host| host.view(minipage) != Access::None) {
            _ if !freed(minipage) => Err(format!("{minipage:?} is said to be freed and is not")),
            Some(seen) => Err(format!("{minipage:?} is freed and host {seen} sees it")),
            None => Ok(()),
        }
    }
}
