//! A thread that sends requests: for a copy after a fault, to push or free one, or for a lock. It has one
//! request in flight at a time.
use super::settle::settle;
use super::{Action, FlagId, Homes, LockId, Message, Want, garbled, server_of};
use crate::{Access, Minipage};
use core::fmt;
use foregather_machine::{Address, Error, Rank};

/// A thread of a rank in the protocol. It does not allocate, except for the error about a peer that violates
/// the protocol.
///
/// After a fault, call [`Word::begin`](super::Word::begin) and, if it returns `Go`, [`Client::ask`]. The
/// first frame on this lane is then the reply, and [`Client::reply`] returns what to do. Prefetches work in
/// the same way, with [`Client::prefetch`], but the server takes their replies.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Client {
    me: Address,
    homes: Homes,
    asked: Option<OpenRequest>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum OpenRequest {
    Minipage(Minipage, Want),
    Lock(LockId),
    Flag(FlagId),
}

/// What a reply means for the thread that sent the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reaction {
    /// The request is complete after the actions have been performed.
    Served,
    /// The minipage has been freed.
    Freed(Freed),
    /// The thread already holds this lock, and would wait for itself.
    Held(LockId),
    /// A thread of that rank panicked while holding this lock.
    Poisoned {
        /// The lock.
        lock: LockId,
        /// The rank whose thread panicked.
        by: Rank,
    },
}

/// A minipage was requested after it had been freed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freed {
    /// The minipage.
    pub minipage: Minipage,
    /// The lane that requested it.
    pub by: Address,
    /// The requested access; `None` to push it or to free it again.
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
    /// Creates the thread of lane `me.lane`.
    pub fn new(me: Address, homes: Homes) -> Self {
        Self { me, homes, asked: None }
    }

    /// Returns the request, and its destination, for a thread that waits for the reply.
    pub fn ask(&mut self, minipage: Minipage, want: Want) -> (Address, Message) {
        self.asked = Some(OpenRequest::Minipage(minipage, want));
        (server_of(self.homes.of(minipage)), Message::Request { minipage, want, lane: self.me.lane })
    }

    /// Returns the request, and its destination, for a thread that continues: a prefetch, or a push without a
    /// wait. The caller limits how many are in flight; one ends with
    /// [`Ended::prefetched`](super::Ended::prefetched) or [`Action::Ended`] at this rank's server.
    pub fn prefetch(&self, minipage: Minipage, want: Want) -> (Address, Message) {
        (server_of(self.homes.of(minipage)), Message::Request { minipage, want, lane: super::SERVER })
    }

    /// Returns the request for a lock, and its destination.
    pub fn lock(&mut self, lock: LockId) -> (Address, Message) {
        self.asked = Some(OpenRequest::Lock(lock));
        (server_of(self.homes.of_lock(lock)), Message::Lock { lock, lane: self.me.lane })
    }

    /// Returns the message that releases a lock, and its destination. There is no reply. If the thread
    /// `panicked`, no thread can take the lock any more.
    pub fn unlock(&self, lock: LockId, panicked: bool) -> (Address, Message) {
        (server_of(self.homes.of_lock(lock)), Message::Unlock { lock, lane: self.me.lane, panicked })
    }

    /// Returns the request that waits for a flag, and its destination.
    pub fn take(&mut self, flag: FlagId) -> (Address, Message) {
        self.asked = Some(OpenRequest::Flag(flag));
        (server_of(self.homes.of_lock(LockId(flag.0))), Message::Take { flag, lane: self.me.lane })
    }

    /// Returns the message that releases one thread that waits for a flag, now or later, and its destination.
    /// There is no reply.
    pub fn post(&self, flag: FlagId) -> (Address, Message) {
        (server_of(self.homes.of_lock(LockId(flag.0))), Message::Post { flag })
    }

    /// Takes the reply. The thread performs the actions in this order before it continues.
    ///
    /// # Errors
    /// For a message that does not answer the request.
    pub fn reply(&mut self, from: Rank, message: &Message, act: &mut impl FnMut(Action)) -> Result<Reaction, Error> {
        let answer = match (self.asked, *message) {
            (
                Some(OpenRequest::Minipage(minipage, want)),
                Message::Data { minipage: of, access } | Message::Grant { minipage: of, access },
            ) if of == minipage && access == want.access() => Reaction::Served,
            (Some(OpenRequest::Minipage(minipage, want)), Message::Refused { minipage: of, access })
                if of == minipage && access == want.access() =>
            {
                Reaction::Freed(Freed { minipage, by: self.me, access })
            }
            (
                Some(OpenRequest::Minipage(minipage, Want::Push(_) | Want::Free | Want::Allocate)),
                Message::Done { minipage: of },
            ) if of == minipage => Reaction::Served,
            (Some(OpenRequest::Lock(lock)), Message::Granted { lock: of }) if of == lock => Reaction::Served,
            (Some(OpenRequest::Flag(flag)), Message::Taken { flag: of }) if of == flag => Reaction::Served,
            (Some(OpenRequest::Lock(lock)), Message::Denied { lock: of }) if of == lock => Reaction::Held(lock),
            (Some(OpenRequest::Lock(lock)), Message::Poisoned { lock: of, by }) if of == lock => Reaction::Poisoned { lock, by },
            _ => return garbled(from, "a reply to what this thread did not ask"),
        };
        // The thread waited for this itself, so no prefetch or push is counted down.
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
