//! A rank's part in the shared memory, over any [`Fabric`](foregather_machine::Fabric): its server and its threads do what the
//! [`protocol`](crate::protocol) says.
//!
//! - [`Node`]: what they share: a word for each minipage, and its [`PageStore`], the bytes with their protection.
//! - [`WordTable`]: those words, at which accessors look, too.
//! - [`serve`]: the server, on lane 0. It answers at any time, waits for frames and for nothing else, and never for a timer.
//! - [`Requester`]: a thread that faults, on a lane of its own.
//! - [`give_up`]: how a rank that cannot begin tells the others. `stop`: how everybody learns of a bad end.
//! - `transfer`: how messages and bytes become frames; `links`: the link to each other lane; `outbox`: what had none yet. Races: `README.md`.

mod links;
mod outbox;
mod requester;
mod server;
mod state;
mod stats;
mod stop;
#[cfg(test)]
mod tests;
mod transfer;
mod words;

pub use requester::Requester;
pub use server::serve;
pub use state::{Node, PageStore};
pub use stats::{Stats, WaitKind};
pub use stop::give_up;
pub use words::WordTable;
