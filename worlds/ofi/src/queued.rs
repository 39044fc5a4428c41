//! Frames that wait for the network, and receives that wait for frames.
use crate::wire::FrameKind;

/// Receives that stand open when there is time to see to it.
pub(crate) const POSTED: usize = 32;

/// A frame that has not gone yet.
#[derive(Debug)]
pub(crate) struct Queued {
    pub(crate) to: usize,
    pub(crate) kind: FrameKind,
    pub(crate) head: u32,
    pub(crate) body: Payload,
}

/// A frame's bytes: on their own, or in a buffer that was filled, and so many of it.
#[derive(Debug)]
pub(crate) enum Payload {
    Bytes(Vec<u8>),
    Filled(u32, usize),
}
