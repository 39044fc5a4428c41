//! How a rank's server handles its own copies when a manager or an owner requests it. It has no state except
//! the words.
use super::{Action, Homes, Message, server_of};
use crate::{Access, Minipage};

/// Calls `act` with the actions for a message to a holder. Returns false if it is another message.
///
/// A copy is closed or made read-only before its bytes are read; otherwise later writes would be lost.
pub(super) fn hold(homes: &Homes, message: &Message, act: &mut impl FnMut(Action)) -> bool {
    let home = |minipage: Minipage| server_of(homes.of(minipage));
    match *message {
        Message::Forward { minipage, access, by } => {
            let to = if access == Access::Write { Access::None } else { Access::Read };
            act(Action::Lower { minipage, to });
            act(Action::Copy { to: by, message: Message::Data { minipage, access } });
        }
        Message::Spread { minipage, to } => {
            act(Action::Lower { minipage, to: Access::Read });
            for rank in to.iter() {
                act(Action::Copy { to: server_of(rank), message: Message::Pushed { minipage } });
            }
        }
        Message::Invalidate { minipage } => {
            act(Action::Lower { minipage, to: Access::None });
            act(Action::Send { to: home(minipage), message: Message::Invalidated { minipage } });
        }
        Message::Pushed { minipage } => {
            act(Action::Install { minipage });
            act(Action::Open { minipage, access: Access::Read });
            act(Action::Raise { minipage, access: Access::Read });
            act(Action::Send { to: home(minipage), message: Message::Installed { minipage } });
        }
        _ => return false,
    }
    true
}
