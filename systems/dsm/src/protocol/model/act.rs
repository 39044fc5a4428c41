//! The effect of actions on a modelled host, and the properties that must hold during them.
use super::super::{Action, Ended, Message};
use super::state::{GlobalState, InTransit, Wrong};
use super::{Fault, Setup};
use crate::{Access, Minipage};
use foregather_machine::Address;

impl GlobalState {
    /// Performs one action for `at`, a server or a thread. `fresh` says whether the bytes with the message
    /// are those of the last write.
    pub(super) fn act(&mut self, setup: &Setup, at: Address, action: Action, fresh: bool) -> Result<(), Wrong> {
        let host = self.host_mut(at.rank);
        match action {
            // Changes word and view in one step: an access through the view in between is like one before the
            // step, and a read of the word like one after it.
            Action::Lower { minipage, to } => {
                host.set_word(minipage, host.word(minipage).lower(to));
                host.set_view(minipage, host.view(minipage).min(to));
            }
            Action::Copy { to, message } => {
                let Some(minipage) = message.carries() else { return Err(format!("{message:?} carries no bytes")) };
                if host.view(minipage) == Access::Write {
                    return Err(format!("torn copy: host {} sends {minipage:?} while its threads can write it", at.rank));
                }
                let fresh = host.is_fresh(minipage);
                if matches!(message, Message::Data { access: Access::Write, .. }) {
                    host.forget(setup, minipage);
                }
                self.send(to, InTransit { from: at, message, fresh });
            }
            Action::Install { minipage } => {
                if host.view(minipage) != Access::None {
                    return Err(format!("torn copy: host {} overwrites {minipage:?} while its threads can see it", at.rank));
                }
                host.set_fresh(minipage, fresh);
            }
            Action::Open { minipage, access } => host.set_view(minipage, access),
            Action::Publish { minipage, access } => {
                let ended = host.word(minipage).end(access);
                host.prefetches -= u32::from(ended.prefetched);
                self.store(setup, at, minipage, ended);
            }
            Action::Raise { minipage, access } => {
                let ended = host.word(minipage).raise(access);
                self.store(setup, at, minipage, ended);
            }
            Action::Ended { .. } => host.prefetches -= u32::from(setup.fault != Some(Fault::HintsUncounted)),
            Action::Send { to, message } => {
                if let Message::Invalidated { minipage } = message {
                    host.forget(setup, minipage);
                }
                self.send(to, InTransit { from: at, message, fresh: true });
            }
        }
        Ok(())
    }

    fn store(&mut self, setup: &Setup, at: Address, minipage: Minipage, ended: Ended) {
        let host = self.host_mut(at.rank);
        host.set_word(minipage, ended.word);
        if ended.wake && setup.fault != Some(Fault::SleepersForgotten) {
            host.wake(minipage);
        }
    }

    /// Checks a reply by the lock's rule, only one thread may get the lock, before the thread acts on it.
    pub(super) fn may_take(&self, to: Address, message: &Message) -> Result<(), Wrong> {
        let Message::Granted { lock } = *message else { return Ok(()) };
        let other = |rank: u32| self.host(rank).threads.iter().any(|thread| thread.held == Some(lock));
        match (0..self.hosts.len() as u32).find(|&rank| other(rank)) {
            Some(rank) => Err(format!("mutual exclusion: host {} gets {lock:?}, which host {rank} holds", to.rank)),
            None => Ok(()),
        }
    }
}
