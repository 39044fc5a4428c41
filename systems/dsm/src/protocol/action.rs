//! What a rank does next, in the protocol's words.
use super::Message;
use crate::{Access, Minipage};
use foregather_machine::Address;

/// One action. A rank does its actions in the order in which they come, each ended before the next begins,
/// and all before it takes the next message: that order is what the protocol is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Lower the word ([`Word::lower`](super::Word::lower)), then the application view, if they allow more
    /// than that.
    Lower {
        /// The minipage.
        minipage: Minipage,
        /// `None`: close it; `Read`: make it read-only.
        to: Access,
    },
    /// Send `message` and behind it the minipage's bytes, read through the privileged view.
    Copy {
        /// The receiver.
        to: Address,
        /// The message, which names the minipage.
        message: Message,
    },
    /// Write the bytes that came behind the message through the privileged view.
    Install {
        /// The minipage.
        minipage: Minipage,
    },
    /// Open the application view.
    Open {
        /// The minipage.
        minipage: Minipage,
        /// The access that the view allows then.
        access: Access,
    },
    /// The request under way has ended ([`Word::end`](super::Word::end)): store, wake the sleepers, count a
    /// prefetch as ended.
    Publish {
        /// The minipage.
        minipage: Minipage,
        /// What the view allows now; `None`: it was refused, since the minipage has been freed.
        access: Access,
    },
    /// A copy is there that no thread here asked for ([`Word::raise`](super::Word::raise)): store, and wake
    /// the sleepers.
    Raise {
        /// The minipage.
        minipage: Minipage,
        /// What the view allows now.
        access: Access,
    },
    /// A push, free or allocation that the server waits for has ended, or was refused: one fewer is under
    /// way.
    Ended {
        /// The minipage.
        minipage: Minipage,
    },
    /// Send a message.
    Send {
        /// The receiver.
        to: Address,
        /// The message.
        message: Message,
    },
}
