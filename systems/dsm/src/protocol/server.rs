//! A rank's server, which answers as a manager, as a holder of copies, and for its own prefetches.
use super::holder::hold;
use super::settle::settle;
use super::{Action, Directory, Flags, Homes, Hosts, Locks, Message, garbled, server_of};
use foregather_machine::{Address, Error, Rank};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

/// The server of one rank. It handles messages to itself at once, so a manager that owns the minipage saves a
/// hop.
#[derive(Clone, Debug)]
pub struct Server {
    me: Rank,
    homes: Homes,
    directory: Directory,
    locks: Locks,
    flags: Flags,
    gone: Hosts,
    /// Messages to itself; empty between two steps.
    inbox: VecDeque<Message>,
}

impl Server {
    /// Creates the server of rank `me`, which manages its part of the minipages and locks. There are as many
    /// flags as locks.
    pub fn new(homes: Homes, me: Rank, minipages: u32, locks: u32) -> Self {
        let (directory, flags) = (Directory::new(homes, me, minipages), Flags::new(homes, me, locks));
        let locks = Locks::new(homes, me, locks);
        Self { me, homes, directory, locks, flags, gone: Hosts::NONE, inbox: VecDeque::new() }
    }

    /// Takes one message. All its actions must be performed, in order, before the next message is taken.
    ///
    /// # Errors
    /// For a message that no correct peer sends.
    pub fn step(&mut self, from: Address, message: Message, act: &mut impl FnMut(Action)) -> Result<(), Error> {
        if from.rank >= self.homes.hosts() {
            return garbled(from.rank, "messages although it does not share this memory");
        }
        let mut inbox = std::mem::take(&mut self.inbox);
        let mut next = Some((from.rank, message));
        while let Some((from, message)) = next {
            let here = server_of(self.me);
            self.answer(from, message, &mut |action| match action {
                Action::Send { to, message } if to == here => inbox.push_back(message),
                action => act(action),
            })?;
            next = inbox.pop_front().map(|message| (self.me, message));
        }
        self.inbox = inbox;
        Ok(())
    }

    /// Returns whether all ranks have detached.
    pub fn is_finished(&self) -> bool {
        self.gone == Hosts::all(self.homes.hosts())
    }

    /// Returns this rank's state as a manager of minipages.
    pub fn directory(&self) -> &Directory {
        &self.directory
    }

    /// Returns this rank's state as a manager of locks.
    pub fn locks(&self) -> &Locks {
        &self.locks
    }

    /// Returns this rank's state as a manager of flags.
    pub fn flags(&self) -> &Flags {
        &self.flags
    }

    fn answer(&mut self, from: Rank, message: Message, act: &mut impl FnMut(Action)) -> Result<(), Error> {
        let mut send = |to, message| act(Action::Send { to, message });
        match message {
            Message::Request { .. } | Message::Invalidated { .. } | Message::Installed { .. } => {
                self.directory.step(from, message, &mut send)
            }
            Message::Lock { .. } | Message::Unlock { .. } => self.locks.step(from, message, &mut send),
            Message::Post { .. } | Message::Take { .. } => self.flags.step(from, message, &mut send),
            Message::Detach => {
                self.gone = self.gone.and(Hosts::one(from));
                Ok(())
            }
            Message::Forward { by, .. } if by.rank >= self.homes.hosts() || by.rank == self.me => {
                garbled(from, "a copy towards a rank that cannot need it")
            }
            Message::Spread { to, .. } if to.contains(self.me) || !to.without(Hosts::all(self.homes.hosts())).is_empty() => {
                garbled(from, "copies towards ranks that cannot need them")
            }
            message if hold(&self.homes, &message, act) || settle(&self.homes, &message, act) => Ok(()),
            _ => garbled(from, "the reply for a thread to a server"),
        }
    }
}

impl Hash for Server {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.directory, &self.locks, &self.flags, self.gone).hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{LockId, Want};
    use crate::{Access, Minipage};

    fn step(server: &mut Server, from: Address, message: Message) -> Result<Vec<Action>, Error> {
        let mut actions = Vec::new();
        server.step(from, message, &mut |action| actions.push(action))?;
        Ok(actions)
    }

    #[test]
    fn a_manager_that_owns_the_minipage_sends_it_in_one_step() {
        let mut server = Server::new(Homes::spread(2).unwrap(), 0, 4, 1);
        let (minipage, by) = (Minipage(2), Address { rank: 1, lane: 1 });
        let request = Message::Request { minipage, want: Want::Write, lane: 1 };
        let data = Message::Data { minipage, access: Access::Write };
        let actions = [Action::Lower { minipage, to: Access::None }, Action::Copy { to: by, message: data }];
        assert_eq!(step(&mut server, by, request).unwrap(), actions);
        assert!(server.directory().holding(minipage).busy);
        assert_eq!(step(&mut server, by, Message::Installed { minipage }).unwrap(), []);
        assert_eq!(server.directory().holding(minipage).owner, 1);
    }

    #[test]
    fn it_is_finished_when_every_rank_has_said_goodbye() {
        let mut server = Server::new(Homes::spread(2).unwrap(), 0, 4, 1);
        for (rank, finished) in [(0, false), (0, false), (1, true)] {
            step(&mut server, Address { rank, lane: 1 }, Message::Detach).unwrap();
            assert_eq!(server.is_finished(), finished);
        }
    }

    #[test]
    fn nonsense_is_refused_with_the_name_of_its_sender() {
        let mut server = Server::new(Homes::spread(2).unwrap(), 0, 4, 1);
        let (minipage, access, lane) = (Minipage(2), Access::Read, 1);
        let nonsense = [
            Message::Request { minipage: Minipage(1), want: Want::Read, lane },
            Message::Request { minipage: Minipage(4), want: Want::Read, lane },
            Message::Request { minipage, want: Want::Push(Hosts::one(2)), lane },
            Message::Installed { minipage },
            Message::Invalidated { minipage },
            Message::Forward { minipage, access, by: Address { rank: 9, lane } },
            Message::Forward { minipage, access, by: Address { rank: 0, lane } },
            Message::Spread { minipage, to: Hosts::one(0) },
            Message::Spread { minipage, to: Hosts::one(2) },
            Message::Unlock { lock: LockId(0), lane, panicked: false },
            Message::Granted { lock: LockId(0) },
        ];
        for message in nonsense {
            let error = step(&mut server, Address { rank: 1, lane }, message).unwrap_err();
            assert!(error.to_string().contains("rank 1"), "{message:?}: {error}");
        }
        assert!(step(&mut server, Address { rank: 2, lane }, Message::Detach).is_err());
    }
}
