//! A thread that asks: for a copy after a fault, to push or free one, for a lock. It has one request under
//! way at a time.
use super::settle::settle;
use super::{Action, FlagId, Homes, LockId, Message, Want, garbled, server_of};
use crate::{Access, Minipage};
use core::fmt;
use foregather_machine::{Address, Error, Rank};

/// A thread of a rank, as the protocol sees it. It allocates nothing, except for the error about a peer that
/// violates the protocol.
///
/// After a fault: [`Word::begin`](super::Word::begin); on `Go`, [`Client::ask`]; then the first frame on this
/// lane is the reply, and [`Client::reply`] says what to do. Prefetches go the same way, by
/// [`Client::prefetch`], but the server takes their replies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Client {
    me: Address,
    homes: Homes,
    asked: Option<Asked>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Asked {
    Minipage(Minipage, Want),
    Lock(LockId),
    Flag(FlagId),
}

/// What a reply means to the thread that asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// The request is fulfilled, once the actions are done.
    Served,
    /// The minipage has been freed.
    Freed(Freed),
    /// The thread holds this lock already and would wait for itself.
    Held(LockId),
    /// A thread of that rank panicked with this lock held.
    Poisoned {
        /// The lock.
        lock: LockId,
        /// The rank whose thread panicked.
        by: Rank,
    },
}

/// A minipage was asked for after it had been freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freed {
    /// The minipage.
    pub minipage: Minipage,
    /// The lane that asked for it.
    pub by: Address,
    /// The access asked for; `None`: to push or free it again.
    pub access: Access,
}

impl fmt::Display for Freed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { minipage: Minipage(minipage), by: Address { rank, lane }, access } = *self;
        let verb = match access {
            Access::None => "push or free",
            Access::Read => "read",
            Access::Write => "write",
        };
        write!(f, "rank {rank}, thread {lane}, was going to {verb} minipage {minipage}, which has been freed: ")?;
        f.write_str("free an allocation after its last use on any rank, behind a barrier")
    }
}

impl core::error::Error for Freed {}

impl Client {
    /// Makes the thread of lane `me.lane`.
    pub fn new(me: Address, homes: Homes) -> Self {
        Self { me, homes, asked: None }
    }

    /// The request, and where to send it, for a thread that waits for the reply.
    pub fn ask(&mut self, minipage: Minipage, want: Want) -> (Address, Message) {
        self.asked = Some(Asked::Minipage(minipage, want));
        (server_of(self.homes.of(minipage)), Message::Request { minipage, want, lane: self.me.lane })
    }

    /// The request, and where to send it, for a thread that goes on: a prefetch, or a push without a wait.
    /// The caller bounds how many are under way; one ends with
    /// [`Ended::prefetched`](super::Ended::prefetched) or [`Action::Ended`] at this rank's server.
    pub fn prefetch(&self, minipage: Minipage, want: Want) -> (Address, Message) {
        (server_of(self.homes.of(minipage)), Message::Request { minipage, want, lane: super::SERVER })
    }

    /// The request for a lock, and where to send it.
    pub fn lock(&mut self, lock: LockId) -> (Address, Message) {
        self.asked = Some(Asked::Lock(lock));
        (server_of(self.homes.of_lock(lock)), Message::Lock { lock, lane: self.me.lane })
    }

    /// The message that gives a lock back, and where to send it. There is no reply. If the thread `panicked`,
    /// no thread gets the lock any more.
    pub fn unlock(&self, lock: LockId, panicked: bool) -> (Address, Message) {
        (server_of(self.homes.of_lock(lock)), Message::Unlock { lock, lane: self.me.lane, panicked })
    }

    /// The request that waits for a flag, and where to send it.
    pub fn take(&mut self, flag: FlagId) -> (Address, Message) {
        self.asked = Some(Asked::Flag(flag));
        (server_of(self.homes.of_lock(LockId(flag.0))), Message::Take { flag, lane: self.me.lane })
    }

    /// The message that lets one thread go on that waits for a flag, now or later, and where to send it.
    /// There is no reply.
    pub fn post(&self, flag: FlagId) -> (Address, Message) {
        (server_of(self.homes.of_lock(LockId(flag.0))), Message::Post { flag })
    }

    /// Takes the reply. The thread does the actions in this order before it goes on.
    ///
    /// # Errors
    /// For a message that does not answer the request.
    pub fn reply(&mut self, from: Rank, message: &Message, act: &mut impl FnMut(Action)) -> Result<Reaction, Error> {
        let answer = match (self.asked, *message) {
            (
                Some(Asked::Minipage(minipage, want)),
                Message::Data { minipage: of, access } | Message::Grant { minipage: of, access },
            ) if of == minipage && access == want.access() => Reaction::Served,
            (Some(Asked::Minipage(minipage, want)), Message::Refused { minipage: of, access })
                if of == minipage && access == want.access() =>
            {
                Reaction::Freed(Freed { minipage, by: self.me, access })
            }
            (Some(Asked::Minipage(minipage, Want::Push(_) | Want::Free | Want::Allocate)), Message::Done { minipage: of })
                if of == minipage =>
            {
                Reaction::Served
            }
            (Some(Asked::Lock(lock)), Message::Granted { lock: of }) if of == lock => Reaction::Served,
            (Some(Asked::Flag(flag)), Message::Taken { flag: of }) if of == flag => Reaction::Served,
            (Some(Asked::Lock(lock)), Message::Denied { lock: of }) if of == lock => Reaction::Held(lock),
            (Some(Asked::Lock(lock)), Message::Poisoned { lock: of, by }) if of == lock => Reaction::Poisoned { lock, by },
            _ => return garbled(from, "a reply to what this thread did not ask"),
        };
        // The thread waited for what ends here, so no prefetch or push is counted down.
        settle(&self.homes, message, &mut |action| {
            if !matches!(action, Action::Ended { .. }) {
                act(action)
            }
        });
        self.asked = None;
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client() -> Client {
        Client::new(Address { rank: 2, lane: 1 }, Homes::spread(3).unwrap())
    }

    fn reply(client: &mut Client, message: Message) -> Result<(Reaction, Vec<Action>), Error> {
        let mut actions = Vec::new();
        let answer = client.reply(0, &message, &mut |action| actions.push(action))?;
        Ok((answer, actions))
    }

    #[test]
    fn bytes_are_in_before_the_view_opens_and_the_manager_hears_last() {
        let (mut client, minipage, access) = (client(), Minipage(4), Access::Write);
        let (to, message) = client.ask(minipage, Want::Write);
        assert_eq!((to, message), (server_of(1), Message::Request { minipage, want: Want::Write, lane: 1 }));
        let (answer, actions) = reply(&mut client, Message::Data { minipage, access }).unwrap();
        assert_eq!(answer, Reaction::Served);
        let installed = Action::Send { to, message: Message::Installed { minipage } };
        let opened = [Action::Open { minipage, access }, Action::Publish { minipage, access }, installed];
        assert_eq!(actions, [&[Action::Install { minipage }][..], &opened].concat());
        client.ask(minipage, Want::Write);
        assert_eq!(reply(&mut client, Message::Grant { minipage, access }).unwrap().1, opened);
    }

    #[test]
    fn a_freed_minipage_is_named_with_the_requester() {
        let mut client = client();
        client.ask(Minipage(4), Want::Read);
        let refused = Message::Refused { minipage: Minipage(4), access: Access::Read };
        let (answer, actions) = reply(&mut client, refused).unwrap();
        let Reaction::Freed(freed) = answer else { panic!("{answer:?}") };
        assert!(freed.to_string().starts_with("rank 2, thread 1, was going to read minipage 4, which has been freed"), "{freed}");
        assert_eq!(actions, [Action::Publish { minipage: Minipage(4), access: Access::None }]);
    }

    #[test]
    fn only_what_was_asked_is_an_answer() {
        let mut client = client();
        let (minipage, access) = (Minipage(4), Access::Read);
        assert!(reply(&mut client, Message::Data { minipage, access }).is_err());
        client.ask(minipage, Want::Write);
        assert!(reply(&mut client, Message::Data { minipage, access }).is_err());
        assert!(reply(&mut client, Message::Done { minipage }).is_err());
        assert!(reply(&mut client, Message::Grant { minipage: Minipage(5), access: Access::Write }).is_err());
        client.lock(LockId(3));
        assert!(reply(&mut client, Message::Granted { lock: LockId(2) }).is_err());
        assert_eq!(reply(&mut client, Message::Denied { lock: LockId(3) }).unwrap().0, Reaction::Held(LockId(3)));
    }
}
