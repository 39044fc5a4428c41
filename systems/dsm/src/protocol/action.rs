//! The next actions of a rank.
use super::Message;
use crate::{Access, Minipage};
use foregather_machine::Address;

/// An action. A rank performs its actions in the given order, each one completely before the next, and all of
/// them before it takes the next message. The protocol relies on this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Lowers the word ([`Word::lower`](super::Word::lower)), then the application view, if they allow more
    /// than `to`.
    Lower {
        /// The minipage.
        minipage: Minipage,
        /// `None` closes it; `Read` makes it read-only.
        to: Access,
    },
    /// Sends `message`, followed by the minipage's bytes, which are read through the privileged view.
    Copy {
        /// The receiver.
        to: Address,
        /// The message, which names the minipage.
        message: Message,
    },
    /// Writes the bytes that followed the message through the privileged view.
    Install {
        /// The minipage.
        minipage: Minipage,
    },
    /// Opens the application view.
    Open {
        /// The minipage.
        minipage: Minipage,
        /// The access that the view then allows.
        access: Access,
    },
    /// Ends the pending request ([`Word::end`](super::Word::end)): stores the word, wakes the sleepers, and
    /// counts a prefetch as completed.
    Publish {
        /// The minipage.
        minipage: Minipage,
        /// The access that the view allows now; `None` if the request was refused because the minipage has
        /// been freed.
        access: Access,
    },
    /// Announces a copy that no thread here requested ([`Word::raise`](super::Word::raise)): stores the word
    /// and wakes the sleepers.
    Raise {
        /// The minipage.
        minipage: Minipage,
        /// The access that the view allows now.
        access: Access,
    },
    /// Records that a push, free or allocation that the server waits for has completed or was refused: one
    /// fewer is in flight.
    Ended {
        /// The minipage.
        minipage: Minipage,
    },
    /// Sends a message.
    Send {
        /// The receiver.
        to: Address,
        /// The message.
        message: Message,
    },
}
