//! Frames that wait for the network, and receives that wait for frames.
use crate::wire::FrameKind;

/// The number of receives that stand open after a restock.
pub(crate) const POSTED: usize = 32;

/// A frame that has not gone yet.
#[derive(Debug)]
pub(crate) struct Queued {
    pub(crate) to: usize,
    pub(crate) kind: FrameKind,
    pub(crate) head: u32,
    pub(crate) body: Payload,
}

/// A frame's bytes: on their own, or in a filled buffer, with their number.
#[derive(Debug)]
pub(crate) enum Payload {
    Bytes(Vec<u8>),
    Filled(u32, usize),
}
