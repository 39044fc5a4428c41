//! A rank's part in the shared memory, over any [`Fabric`](foregather_machine::Fabric): its server and its
//! threads execute the [`protocol`](crate::protocol).
//!
//! - [`Node`]: the state that server and threads share: a word for each minipage, and the [`PageStore`], the
//!   bytes with their protection.
//! - [`WordTable`]: those words, which accessors read, too.
//! - [`serve`]: the server, on lane 0. It answers at any time, and waits only for frames, never for a timer.
//!   [`give_up`]: how a rank that cannot start informs the others.
//! - [`Requester`]: a thread that faults, on a lane of its own.
//! - `stop`: how all ranks learn that shared memory has failed.
//! - `links`: the link to each other lane, and how messages and bytes arrive as frames; `transfer`: how they
//!   are sent as frames; `outbox`: messages without credits. Races: `README.md`.

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
pub use server::{give_up, serve};
pub use state::{Node, PageStore};
pub use stats::{Stats, WaitKind};
pub use words::WordTable;
