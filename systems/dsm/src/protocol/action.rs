//! What a rank does next, in the protocol's words.
use super::Message;
use crate::{Access, Minipage};
use foregather_machine::Address;

/// One thing to do. They come in the order in which they must be done, each ended before the next begins, and all before the
/// next message is taken: that order is what the protocol is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Lower the word ([`Word::lower`](super::Word::lower)), then the application view, if they allow more than that.
    Lower {
        /// Of what.
        minipage: Minipage,
        /// `None`: close it; `Read`: make it read-only.
        to: Access,
    },
    /// Send `message` and behind it the minipage's bytes, read through the privileged view.
    Copy {
        /// Who gets them.
        to: Address,
        /// It names the minipage.
        message: Message,
    },
    /// Write the bytes that came behind the message through the privileged view.
    Install {
        /// Where.
        minipage: Minipage,
    },
    /// Open the application view.
    Open {
        /// Of what.
        minipage: Minipage,
        /// For what.
        access: Access,
    },
    /// The request under way has ended ([`Word::end`](super::Word::end)): store, wake the sleepers, count a prefetch as ended.
    Publish {
        /// Of what.
        minipage: Minipage,
        /// What the view allows now; `None`: it was refused, since the minipage has been freed.
        access: Access,
    },
    /// A copy is there that nobody here asked for ([`Word::raise`](super::Word::raise)): store, and wake the sleepers.
    Raise {
        /// Of what.
        minipage: Minipage,
        /// What the view allows now.
        access: Access,
    },
    /// A push, free or allot that the server waits for has ended, or was refused: one fewer is under way.
    Ended {
        /// Of what.
        minipage: Minipage,
    },
    /// Send a message.
    Send {
        /// To whom.
        to: Address,
        /// What.
        message: Message,
    },
}
