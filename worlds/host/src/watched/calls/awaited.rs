//! A message as both of its ends name it, in one word.
use foregather_machine::Rank;

/// The most communicators that a page names.
pub(super) const COMMUNICATORS: usize = 256;
const ANY: u64 = 0xffff;
const SENDS: u64 = 1 << 63;
/// MPI's tags are not negative.
const ANY_TAG: u32 = u32::MAX;

/// A message that a rank sends or wants, as the word of the page has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AwaitedMessage {
    /// Whether the rank sends it; otherwise it wants it.
    pub is_send: bool,
    /// The rank at the other end, in `MPI_COMM_WORLD`; `None` for any.
    pub peer: Option<Rank>,
    /// Its tag; `None` for any.
    pub tag: Option<u32>,
    /// The number of its communicator on the page.
    pub communicator: u16,
}

impl AwaitedMessage {
    /// The message as a word, which is not 0.
    #[inline]
    pub fn to_word(self) -> u64 {
        let peer = self.peer.map_or(ANY, |peer| u64::from(peer).min(ANY - 1));
        let sends = if self.is_send { SENDS } else { 0 };
        sends | u64::from(self.communicator + 1) << 48 | peer << 32 | u64::from(self.tag.unwrap_or(ANY_TAG))
    }

    /// The message of a word. `None` for 0.
    #[inline]
    pub fn of_word(word: u64) -> Option<Self> {
        let communicator = ((word & !SENDS) >> 48).checked_sub(1)? as u16;
        let (peer, tag) = (word >> 32 & ANY, word as u32);
        Some(Self {
            is_send: word & SENDS != 0,
            peer: (peer != ANY).then_some(peer as Rank),
            tag: (tag != ANY_TAG).then_some(tag),
            communicator,
        })
    }
}
