//! The frames between coordinator and ranks: a kind, a length and that many bytes. All input is untrusted
//! until it has been checked: lengths are limited before anything is stored.
use crate::detect::MOST_RANKS;
use crate::secret::{BYTES, Token};
use foregather_machine::{Rank, shown};

/// Changes whenever a frame changes. The first bytes of [`JobFrame::Hello`] and [`JobFrame::Join`] never
/// change, so that every version can detect a mismatch.
pub(crate) const VERSION: u32 = 3;
const MAGIC: [u8; 8] = *b"foregath";

/// The maximum length of a rank address.
pub(crate) const ADDRESS_MAX: usize = 16 << 10;
/// The maximum length of a frame before the other side has proved that it knows the secret.
pub(crate) const FIRST_FRAME_MAX: usize = 512;
/// The maximum length of a frame from a rank.
pub(crate) const MOST_OF_RANK: usize = ADDRESS_MAX + 64;
/// The maximum length of a frame from the coordinator: all rank addresses.
pub(crate) const MOST_OF_HUB: usize = MOST_RANKS as usize * (ADDRESS_MAX + 4) + 64;
const MOST_TEXT: usize = 400;

/// All frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JobFrame {
    /// The coordinator's first frame. Every version can read these fields.
    Hello { version: u32, nonce: Token },
    /// A rank's answer, with its proof.
    Join { version: u32, rank: Rank, size: u32, nonce: Token, proof: Token },
    /// The rank is admitted; contains the coordinator's own proof.
    Welcome { proof: Token },
    /// The rank is refused, or the job cannot start. `last`: another coordinator would refuse, too.
    Refused { last: bool, why: String },
    /// A heartbeat.
    Beat,
    /// A rank's address in exchange `round`.
    RankAddress { round: u32, bytes: Vec<u8> },
    /// The rank addresses of all ranks.
    RankAddresses { round: u32, addresses: Vec<Vec<u8>> },
    /// That rank is gone; `quiet`: it is unresponsive, so its process may still exist. A rank also sends this
    /// to the coordinator if another rank's process is exiting.
    Lost { rank: Rank, quiet: bool },
    /// The rank leaves normally.
    Leave,
    /// The launcher's only frame: the process of that rank has exited, and how; contains the launcher's
    /// proof.
    Ended { version: u32, rank: Rank, proof: Token, how: String },
    /// The ranks that have not joined yet; empty if all have.
    Absent { which: String },
}

impl JobFrame {
    /// Encodes the frame for the wire.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut body = Vec::new();
        let number = |body: &mut Vec<u8>, n: u32| body.extend_from_slice(&n.to_le_bytes());
        let kind = match self {
            Self::Hello { version, nonce } => {
                body.extend_from_slice(&MAGIC);
                number(&mut body, *version);
                body.extend_from_slice(nonce);
                1
            }
            Self::Join { version, rank, size, nonce, proof } => {
                body.extend_from_slice(&MAGIC);
                [version, rank, size].into_iter().for_each(|n| number(&mut body, *n));
                body.extend_from_slice(nonce);
                body.extend_from_slice(proof);
                2
            }
            Self::Welcome { proof } => {
                body.extend_from_slice(proof);
                3
            }
            Self::Refused { last, why } => {
                body.push(u8::from(*last));
                body.extend_from_slice(written(why));
                4
            }
            Self::Beat => 5,
            Self::RankAddress { round, bytes } => {
                number(&mut body, *round);
                body.extend_from_slice(bytes);
                6
            }
            Self::RankAddresses { round, addresses } => {
                number(&mut body, *round);
                for address in addresses {
                    number(&mut body, address.len() as u32);
                    body.extend_from_slice(address);
                }
                7
            }
            Self::Lost { rank, quiet } => {
                number(&mut body, *rank);
                body.push(u8::from(*quiet));
                8
            }
            Self::Leave => 9,
            Self::Ended { version, rank, proof, how } => {
                body.extend_from_slice(&MAGIC);
                [version, rank].into_iter().for_each(|n| number(&mut body, *n));
                body.extend_from_slice(proof);
                body.extend_from_slice(written(how));
                10
            }
            Self::Absent { which } => {
                body.extend_from_slice(written(which));
                11
            }
        };
        let mut frame = vec![kind];
        number(&mut frame, body.len() as u32);
        frame.append(&mut body);
        frame
    }

    fn decode(kind: u8, body: &[u8]) -> Option<Self> {
        let mut rest = Rest(body);
        let frame = match kind {
            1 => match rest.opening()? {
                VERSION => Self::Hello { version: VERSION, nonce: rest.token()? },
                version => return Some(Self::Hello { version, nonce: [0; BYTES] }),
            },
            2 => match rest.opening()? {
                VERSION => {
                    let (rank, size) = (rest.number()?, rest.number()?);
                    Self::Join { version: VERSION, rank, size, nonce: rest.token()?, proof: rest.token()? }
                }
                version => return Some(Self::Join { version, rank: 0, size: 0, nonce: [0; BYTES], proof: [0; BYTES] }),
            },
            3 => Self::Welcome { proof: rest.token()? },
            4 => Self::Refused { last: rest.flag()?, why: rest.text()? },
            5 => Self::Beat,
            6 => Self::RankAddress { round: rest.number()?, bytes: rest.take(rest.0.len())?.to_vec() },
            7 => {
                let round = rest.number()?;
                let mut addresses = Vec::new();
                while !rest.0.is_empty() {
                    if addresses.len() == MOST_RANKS as usize {
                        return None;
                    }
                    let bytes = rest.number()? as usize;
                    addresses.push(rest.take(bytes)?.to_vec());
                }
                Self::RankAddresses { round, addresses }
            }
            8 => Self::Lost { rank: rest.number()?, quiet: rest.flag()? },
            9 => Self::Leave,
            10 => match rest.opening()? {
                VERSION => Self::Ended { version: VERSION, rank: rest.number()?, proof: rest.token()?, how: rest.text()? },
                _ => return None,
            },
            11 => Self::Absent { which: rest.text()? },
            _ => return None,
        };
        rest.0.is_empty().then_some(frame)
    }
}

/// Returns a text for the end of a frame, truncated to fit.
fn written(text: &str) -> &[u8] {
    let end = (0..=text.len().min(MOST_TEXT)).rev().find(|&at| text.is_char_boundary(at));
    &text.as_bytes()[..end.unwrap_or(0)]
}

/// The unread part of a frame.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }
    fn number(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }
    fn token(&mut self) -> Option<Token> {
        self.take(BYTES)?.try_into().ok()
    }
    fn flag(&mut self) -> Option<bool> {
        match self.take(1)? {
            [0] => Some(false),
            [1] => Some(true),
            _ => None,
        }
    }
    /// Returns the rest of the frame as text. Removes control characters, because the text of an unverified
    /// peer may be printed on a terminal.
    fn text(&mut self) -> Option<String> {
        let text = String::from_utf8_lossy(self.take(self.0.len().min(MOST_TEXT))?);
        Some(shown(&text).into_owned())
    }

    /// Reads the magic number, and returns the version that follows.
    fn opening(&mut self) -> Option<u32> {
        (self.take(MAGIC.len())? == MAGIC).then(|| self.number())?
    }
}

/// The other side does not speak this protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Garbled;

/// Collects received bytes until they form complete frames.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    bytes: Vec<u8>,
    /// The offset of the next frame.
    from: usize,
}

impl Inbox {
    /// Adds received bytes.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.from);
        self.from = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next complete frame, of at most `most` bytes after its header.
    pub(crate) fn next(&mut self, most: usize) -> Result<Option<JobFrame>, Garbled> {
        let Some((&[kind, a, b, c, d], rest)) = self.bytes[self.from..].split_first_chunk::<5>() else { return Ok(None) };
        let bytes = u32::from_le_bytes([a, b, c, d]) as usize;
        if bytes > most {
            return Err(Garbled);
        }
        let Some(body) = rest.get(..bytes) else { return Ok(None) };
        let frame = JobFrame::decode(kind, body).ok_or(Garbled)?;
        self.from += 5 + bytes;
        Ok(Some(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frames() -> impl Strategy<Value = JobFrame> {
        let bytes = || prop::collection::vec(any::<u8>(), 0..40);
        prop_oneof![
            any::<Token>().prop_map(|nonce| JobFrame::Hello { version: VERSION, nonce }),
            (any::<u32>(), any::<u32>(), any::<Token>(), any::<Token>()).prop_map(|(rank, size, nonce, proof)| JobFrame::Join {
                version: VERSION,
                rank,
                size,
                nonce,
                proof
            }),
            any::<Token>().prop_map(|proof| JobFrame::Welcome { proof }),
            (any::<bool>(), "[a-z ]{0,90}").prop_map(|(last, why)| JobFrame::Refused { last, why }),
            Just(JobFrame::Beat),
            (any::<u32>(), bytes()).prop_map(|(round, bytes)| JobFrame::RankAddress { round, bytes }),
            (any::<u32>(), prop::collection::vec(bytes(), 0..5))
                .prop_map(|(round, addresses)| JobFrame::RankAddresses { round, addresses }),
            (any::<u32>(), any::<bool>()).prop_map(|(rank, quiet)| JobFrame::Lost { rank, quiet }),
            Just(JobFrame::Leave),
            (any::<u32>(), any::<Token>(), "[a-z ]{0,90}").prop_map(|(rank, proof, how)| JobFrame::Ended {
                version: VERSION,
                rank,
                proof,
                how
            }),
            "[a-z ]{0,90}".prop_map(|which| JobFrame::Absent { which }),
        ]
    }

    proptest! {
        #[test]
        fn what_is_said_is_understood_however_it_is_cut(said in prop::collection::vec(frames(), 1..6), cut in 1_usize..30) {
            let wire: Vec<u8> = said.iter().flat_map(JobFrame::encode).collect();
            let (mut inbox, mut heard) = (Inbox::default(), Vec::new());
            for piece in wire.chunks(cut) {
                inbox.push(piece);
                while let Some(frame) = inbox.next(MOST_OF_RANK).unwrap() {
                    heard.push(frame);
                }
            }
            prop_assert_eq!(said, heard);
        }

        #[test]
        fn no_bytes_break_it(kind in 0_u8..14, body in prop::collection::vec(any::<u8>(), 0..120), lie in any::<u32>()) {
            let mut inbox = Inbox::default();
            inbox.push(&[&[kind][..], &(body.len() as u32).to_le_bytes(), &body].concat());
            let _ = inbox.next(FIRST_FRAME_MAX);
            let mut inbox = Inbox::default();
            inbox.push(&[&[kind][..], &lie.to_le_bytes(), &body].concat());
            if lie as usize > FIRST_FRAME_MAX {
                prop_assert_eq!(inbox.next(FIRST_FRAME_MAX), Err(Garbled));
            }
        }
    }

    #[test]
    fn another_version_is_told_whatever_follows() {
        let mut wire = JobFrame::Hello { version: VERSION, nonce: [7; BYTES] }.encode();
        wire[13..17].copy_from_slice(&9_u32.to_le_bytes());
        wire.push(1);
        wire[1] += 1;
        let mut inbox = Inbox::default();
        inbox.push(&wire);
        assert_eq!(inbox.next(FIRST_FRAME_MAX), Ok(Some(JobFrame::Hello { version: 9, nonce: [0; BYTES] })));
    }

    #[test]
    fn no_frame_has_more_addresses_than_there_may_be_ranks() {
        let heard = |addresses: usize| {
            let mut inbox = Inbox::default();
            inbox.push(&JobFrame::RankAddresses { round: 1, addresses: vec![vec![]; addresses] }.encode());
            inbox.next(MOST_OF_HUB)
        };
        assert!(matches!(heard(MOST_RANKS as usize), Ok(Some(JobFrame::RankAddresses { .. }))));
        assert_eq!(heard(MOST_RANKS as usize + 1), Err(Garbled));
    }

    #[test]
    fn a_refusal_shows_no_control_characters() {
        let mut inbox = Inbox::default();
        inbox.push(&JobFrame::Refused { last: true, why: "a\u{1b}[2Jb\n".to_owned() }.encode());
        assert_eq!(
            inbox.next(FIRST_FRAME_MAX),
            Ok(Some(JobFrame::Refused { last: true, why: "a\u{fffd}[2Jb\u{fffd}".to_owned() }))
        );
    }
}
