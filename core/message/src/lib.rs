//! Messages, each protocol written once over [`Port`](foregather_machine::Port)s.
//!
//! - [`Messenger`]: messages built piece by piece, over any [`Fabric`](foregather_machine::Fabric) (Namyst et
//!   al. 1999).
//! - [`broadcast`]: one writer and some readers around one ring of bytes.
//! - [`link`]: frames under credits, below both messages and shared memory.
//! - [`Protocol`]: short, long (PROBE, REQUEST, data) and forced; [`send`] and [`receive`] take one.
//! - [`exchange`], [`synchronised_exchange`]: two nodes swap messages (Seidel & Davis 1992 §2.2).
//! - [`Ring`]: a ring through a hypercube by the reflected Gray code, and the [`shift`](Ring::shift) around
//!   it (§2.3).
//! - [`long::answer`]: how a node's system answers a PROBE, whatever its program is doing.
//! - [`Inbox`]: which packets meet which receives, for code that implements a port.
//! - [`collective`]: broadcast, reduce, allreduce, gather, all-gather, all-to-all, shift, for any number of
//!   members.
//! - [`compare_clocks`]: a [`CommonClock`] for nodes that have none. [`harmonize`]: leave at one moment of
//!   it.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![allow(async_fn_in_trait)]

pub mod broadcast;
mod clock;
pub mod collective;
mod exchange;
mod harmonize;
mod inbox;
pub mod link;
pub mod long;
mod messenger;
mod protocol;
mod ring;
mod tree;

/// Plain data: numbers, arrays of them, and structures that declare it (`NoUninit` to be sent, `Pod` to be
/// received).
pub use bytemuck;
pub use clock::{CommonClock, Comparing, compare_clocks};
pub use exchange::{exchange, synchronised_exchange};
pub use harmonize::harmonize;
pub use inbox::{Inbox, MatchKey};
pub use messenger::{
    Cheaper, Incoming, Later, MessageScope, Messenger, Mode, Outgoing, Path, Pending, Piece, Receive, Safer, Settings, Traffic,
    WireValue, direct_from,
};
pub use protocol::{Protocol, receive, send, send_and_receive};
pub use ring::Ring;
