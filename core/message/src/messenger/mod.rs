//! Messages built piece by piece: Madeleine's contract (Namyst et al. 1999), over any [`Fabric`].
//!
//! Small pieces are copied into static buffers of the fabric, which travel as frames under credits; large
//! lasting pieces stay where they are, and the receiver fetches them. A waiting rank takes in what has come
//! for it, so two sides that only send never wait for each other. States, order and races: `README.md`.
//!
//! - [`send`], [`receive`], [`scope`]: a message on its way out and in, and several open ones; [`port`]: null
//!   messages and sized packets over the same frames.
//! - [`progress`]: the one wait, and what it does for others meanwhile.
//! - [`channel`]: the messenger, composed of owners that keep their state to themselves: [`connections`]
//!   (frames and credits of all peers), [`incoming`] (what has come), [`rendezvous`] (memory that waits to
//!   be fetched), [`packets`], [`deadlock`] (which ranks wait for which, and whether that goes round).
//! - [`piece`], [`frame`]: the pieces and frames on the wire. [`settings`]: thresholds.

mod channel;
mod connections;
mod deadlock;
mod frame;
mod incoming;
mod packets;
mod piece;
mod port;
mod progress;
mod receive;
mod rendezvous;
mod scope;
mod send;
mod settings;

pub use channel::Messenger;
pub use connections::Traffic;
pub use piece::{Cheaper, Later, Mode, Piece, Receive, Safer, WireValue};
pub use receive::Incoming;
pub use scope::MessageScope;
pub use send::{Outgoing, Pending};
pub use settings::{Path, Settings, direct_from};
