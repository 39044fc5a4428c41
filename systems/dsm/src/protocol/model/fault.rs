//! Mistakes that the checker must find. They are injected into what the protocol sends and receives; the
//! protocol itself is unchanged.
use super::super::{Action, Homes, Message, Server, server_of};
use super::state::InTransit;
use foregather_machine::{Address, Error, Rank};

/// One mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The view is opened before the bytes are written.
    OpenBeforeInstall,
    /// The owner sends its bytes before it closes its view.
    CopyBeforeClose,
    /// The requester acknowledges before its view is open.
    AcknowledgeBeforeOpen,
    /// The manager serves the next request before the previous one is acknowledged.
    NotBusyUntilAcknowledged,
    /// The manager does not wait until the copies are closed.
    InvalidationNotAwaited,
    /// The manager lets one rank write and does not invalidate the other copies.
    NobodyInvalidated,
    /// The manager of a lock grants it to the next thread before its holder has released it.
    LockGrantedTwice,
    /// A request for a freed minipage gets no reply.
    FreedInSilence,
    /// A rank that publishes a copy does not wake the threads that wait for it.
    SleepersForgotten,
    /// A post before any thread waits for the flag is lost.
    PostForgotten,
    /// A host does not count the pushes without a wait.
    HintsUncounted,
}

/// Returns the server's actions for a message, including mistakes.
pub(super) fn serve(
    fault: Option<Fault>,
    homes: &Homes,
    me: Rank,
    server: &mut Server,
    packet: &InTransit,
) -> Result<Vec<Action>, Error> {
    if let (Some(Fault::PostForgotten), Message::Post { flag }) = (fault, packet.message)
        && server.flags().waiting(flag) == 0
    {
        return Ok(Vec::new());
    }
    let mut actions = Vec::new();
    let mut pending = vec![(packet.from, packet.message)];
    // A forged reply replaces the real one.
    if let Some(fault) = fault
        && forges(fault, &packet.message)
    {
        pending.clear();
    }
    while let Some((from, message)) = pending.pop() {
        let first = actions.len();
        server.step(from, message, &mut |action| actions.push(action))?;
        for action in &actions[first..] {
            pending.extend(fault.and_then(|fault| forged(fault, homes, me, action)));
        }
    }
    actions.retain(|action| !fault.is_some_and(|fault| swallowed(fault, action)));
    disorder(fault, &mut actions);
    Ok(actions)
}

/// Applies mistakes of order, wherever they occur.
pub(super) fn disorder(fault: Option<Fault>, actions: &mut [Action]) {
    for at in 1..actions.len() {
        match (fault, actions[at - 1], actions[at]) {
            (Some(Fault::OpenBeforeInstall), Action::Install { .. }, Action::Open { .. })
            | (Some(Fault::CopyBeforeClose), Action::Lower { .. }, Action::Copy { .. }) => actions.swap(at - 1, at),
            _ => {}
        }
    }
    let installed = |action: &Action| matches!(action, Action::Send { message: Message::Installed { .. }, .. });
    let open = actions.iter().position(|action| matches!(action, Action::Open { .. }));
    if let (Some(Fault::AcknowledgeBeforeOpen), Some(open), Some(last)) = (fault, open, actions.iter().position(installed)) {
        actions[open..=last].rotate_right(1);
    }
}

fn forges(fault: Fault, message: &Message) -> bool {
    match fault {
        Fault::NotBusyUntilAcknowledged => matches!(message, Message::Installed { .. }),
        Fault::InvalidationNotAwaited | Fault::NobodyInvalidated => matches!(message, Message::Invalidated { .. }),
        Fault::LockGrantedTwice => matches!(message, Message::Unlock { .. }),
        _ => false,
    }
}

/// Returns the forged reply that the manager treats as received.
fn forged(fault: Fault, homes: &Homes, me: Rank, action: &Action) -> Option<(Address, Message)> {
    match (fault, *action) {
        (Fault::NotBusyUntilAcknowledged, Action::Send { message: Message::Forward { minipage, by, .. }, .. })
        | (Fault::NotBusyUntilAcknowledged, Action::Send { to: by, message: Message::Grant { minipage, .. } })
        | (Fault::NotBusyUntilAcknowledged, Action::Copy { to: by, message: Message::Data { minipage, .. } })
            if homes.of(minipage) == me =>
        {
            Some((by, Message::Installed { minipage }))
        }
        (
            Fault::InvalidationNotAwaited | Fault::NobodyInvalidated,
            Action::Send { to, message: Message::Invalidate { minipage } },
        ) => Some((to, Message::Invalidated { minipage })),
        (Fault::LockGrantedTwice, Action::Send { to, message: Message::Granted { lock } }) => {
            Some((server_of(to.rank), Message::Unlock { lock, lane: to.lane, panicked: false }))
        }
        _ => None,
    }
}

fn swallowed(fault: Fault, action: &Action) -> bool {
    match (fault, action) {
        (Fault::NobodyInvalidated, Action::Send { message, .. }) => matches!(message, Message::Invalidate { .. }),
        (Fault::FreedInSilence, Action::Send { message, .. }) => matches!(message, Message::Refused { .. }),
        _ => false,
    }
}
