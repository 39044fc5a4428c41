//! The effect of a reply on this rank's copy, for a thread that waits for it or for a server that prefetches.
use super::{Action, Homes, Message, server_of};
use crate::{Access, Minipage};

/// Calls `act` with the actions for a reply. Returns false if it is another message.
///
/// The bytes are written before the view opens, the view opens before the word changes, and the manager is
/// informed last, because it may then serve the next request.
pub(super) fn settle(homes: &Homes, message: &Message, act: &mut impl FnMut(Action)) -> bool {
    match *message {
        Message::Data { minipage, access } => {
            act(Action::Install { minipage });
            open(homes, minipage, access, act);
        }
        Message::Grant { minipage, access } => open(homes, minipage, access, act),
        Message::Refused { minipage, access: Access::None } | Message::Done { minipage } => act(Action::Ended { minipage }),
        Message::Refused { minipage, .. } => act(Action::Publish { minipage, access: Access::None }),
        _ => return false,
    }
    true
}

fn open(homes: &Homes, minipage: Minipage, access: Access, act: &mut impl FnMut(Action)) {
    act(Action::Open { minipage, access });
    act(Action::Publish { minipage, access });
    act(Action::Send { to: server_of(homes.of(minipage)), message: Message::Installed { minipage } });
}
