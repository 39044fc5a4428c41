//! A message as bytes: a header of fixed length with little-endian fields.
//!
//! | byte | 0 | 1 | 2-3 | 4-7 | 8-11 | 12-15 | 16-23 |
//! |---|---|---|---|---|---|---|---|
//! | | kind | access, want or panic | zero | minipage, lock or flag | rank | lane | hosts |
use super::{FlagId, Hosts, LockId, Message, Want, garbled};
use crate::{Access, Minipage};
use foregather_machine::{Address, Error, Rank};

/// The fields of all messages; unused ones are zero.
#[derive(Default, PartialEq)]
struct MessageFields {
    kind: u8,
    detail: u8,
    number: u32,
    rank: u32,
    lane: u32,
    hosts: u64,
}

impl Message {
    /// The size of a packed message in bytes.
    pub const LEN: usize = 24;

    /// Encodes the message.
    pub fn pack(&self) -> [u8; Self::LEN] {
        let head = self.head();
        let mut bytes = [0; Self::LEN];
        bytes[0] = head.kind;
        bytes[1] = head.detail;
        bytes[4..8].copy_from_slice(&head.number.to_le_bytes());
        bytes[8..12].copy_from_slice(&head.rank.to_le_bytes());
        bytes[12..16].copy_from_slice(&head.lane.to_le_bytes());
        bytes[16..].copy_from_slice(&head.hosts.to_le_bytes());
        bytes
    }

    /// Decodes a message from `from` at the start of `bytes`. The bytes after [`Message::LEN`] belong to the
    /// minipage.
    ///
    /// # Errors
    /// For everything that [`Message::pack`] does not produce.
    pub fn unpack(from: Rank, bytes: &[u8]) -> Result<Self, Error> {
        let Some(bytes) = bytes.first_chunk::<{ Self::LEN }>() else { return garbled(from, "a message that is cut off") };
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let hosts = u64::from(word(16)) | u64::from(word(20)) << 32;
        let head = MessageFields { kind: bytes[0], detail: bytes[1], number: word(4), rank: word(8), lane: word(12), hosts };
        match head.message() {
            Some(message) if message.pack() == *bytes => Ok(message),
            _ => garbled(from, "a message of no known form"),
        }
    }

    fn head(&self) -> MessageFields {
        let of = |kind, number| MessageFields { kind, number, ..MessageFields::default() };
        match *self {
            Self::Request { minipage, want, lane } => {
                let (detail, hosts) = match want {
                    Want::Read => (1, 0),
                    Want::Write => (2, 0),
                    Want::Push(to) => (3, to.bits()),
                    Want::Free => (4, 0),
                    Want::Allocate => (5, 0),
                };
                MessageFields { detail, lane, hosts, ..of(1, minipage.0) }
            }
            Self::Forward { minipage, access, by } => {
                MessageFields { detail: access as u8, rank: by.rank, lane: by.lane, ..of(2, minipage.0) }
            }
            Self::Spread { minipage, to } => MessageFields { hosts: to.bits(), ..of(3, minipage.0) },
            Self::Invalidate { minipage } => of(4, minipage.0),
            Self::Invalidated { minipage } => of(5, minipage.0),
            Self::Data { minipage, access } => MessageFields { detail: access as u8, ..of(6, minipage.0) },
            Self::Grant { minipage, access } => MessageFields { detail: access as u8, ..of(7, minipage.0) },
            Self::Pushed { minipage } => of(8, minipage.0),
            Self::Installed { minipage } => of(9, minipage.0),
            Self::Done { minipage } => of(10, minipage.0),
            Self::Refused { minipage, access } => MessageFields { detail: access as u8, ..of(11, minipage.0) },
            Self::Lock { lock, lane } => MessageFields { lane, ..of(12, lock.0) },
            Self::Unlock { lock, lane, panicked } => MessageFields { lane, detail: u8::from(panicked), ..of(13, lock.0) },
            Self::Granted { lock } => of(14, lock.0),
            Self::Denied { lock } => of(15, lock.0),
            Self::Detach => of(16, 0),
            Self::Post { flag } => of(17, flag.0),
            Self::Take { flag, lane } => MessageFields { lane, ..of(18, flag.0) },
            Self::Taken { flag } => of(19, flag.0),
            Self::Poisoned { lock, by } => MessageFields { rank: by, ..of(20, lock.0) },
        }
    }
}

impl MessageFields {
    fn message(&self) -> Option<Message> {
        let (minipage, lock, flag, lane) = (Minipage(self.number), LockId(self.number), FlagId(self.number), self.lane);
        let used = || self.access().filter(|&access| access != Access::None);
        Some(match self.kind {
            1 => Message::Request { minipage, want: self.want()?, lane },
            2 => Message::Forward { minipage, access: used()?, by: Address { rank: self.rank, lane } },
            3 => Message::Spread { minipage, to: Hosts::from_bits(self.hosts) },
            4 => Message::Invalidate { minipage },
            5 => Message::Invalidated { minipage },
            6 => Message::Data { minipage, access: used()? },
            7 => Message::Grant { minipage, access: used()? },
            8 => Message::Pushed { minipage },
            9 => Message::Installed { minipage },
            10 => Message::Done { minipage },
            11 => Message::Refused { minipage, access: self.access()? },
            12 => Message::Lock { lock, lane },
            13 => Message::Unlock { lock, lane, panicked: self.detail == 1 },
            14 => Message::Granted { lock },
            15 => Message::Denied { lock },
            16 => Message::Detach,
            17 => Message::Post { flag },
            18 => Message::Take { flag, lane },
            19 => Message::Taken { flag },
            20 => Message::Poisoned { lock, by: self.rank },
            _ => return None,
        })
    }

    fn access(&self) -> Option<Access> {
        [Access::None, Access::Read, Access::Write].into_iter().find(|&access| access as u8 == self.detail)
    }

    fn want(&self) -> Option<Want> {
        Some(match self.detail {
            1 => Want::Read,
            2 => Want::Write,
            3 => Want::Push(Hosts::from_bits(self.hosts)),
            4 => Want::Free,
            5 => Want::Allocate,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn messages() -> impl Strategy<Value = Message> {
        let access = || prop_oneof![Just(Access::Read), Just(Access::Write)];
        let want = prop_oneof![
            Just(Want::Read),
            Just(Want::Write),
            any::<u64>().prop_map(|bits| Want::Push(Hosts::from_bits(bits))),
            Just(Want::Free),
            Just(Want::Allocate),
        ];
        (any::<u32>(), any::<u32>(), any::<u32>(), any::<u64>(), access(), want).prop_flat_map(
            |(n, rank, lane, bits, access, want)| {
                let (minipage, lock, flag) = (Minipage(n), LockId(n), FlagId(n));
                prop_oneof![
                    Just(Message::Request { minipage, want, lane }),
                    Just(Message::Forward { minipage, access, by: Address { rank, lane } }),
                    Just(Message::Spread { minipage, to: Hosts::from_bits(bits) }),
                    Just(Message::Invalidate { minipage }),
                    Just(Message::Invalidated { minipage }),
                    Just(Message::Data { minipage, access }),
                    Just(Message::Grant { minipage, access }),
                    Just(Message::Pushed { minipage }),
                    Just(Message::Installed { minipage }),
                    Just(Message::Done { minipage }),
                    Just(Message::Refused { minipage, access: Access::None }),
                    Just(Message::Refused { minipage, access }),
                    Just(Message::Lock { lock, lane }),
                    Just(Message::Unlock { lock, lane, panicked: bits & 1 == 1 }),
                    Just(Message::Granted { lock }),
                    Just(Message::Denied { lock }),
                    Just(Message::Poisoned { lock, by: rank }),
                    Just(Message::Detach),
                    Just(Message::Post { flag }),
                    Just(Message::Take { flag, lane }),
                    Just(Message::Taken { flag }),
                ]
            },
        )
    }

    proptest! {
        #[test]
        fn what_was_packed_is_unpacked(message in messages(), behind in any::<[u8; 5]>()) {
            let bytes = [&message.pack()[..], &behind].concat();
            prop_assert_eq!(Message::unpack(1, &bytes).unwrap(), message);
        }

        #[test]
        fn hostile_bytes_are_refused_or_mean_what_they_say(head in (0..24_u8, 0..8_u8), rest: [u8; 22], len in 0..40_usize) {
            let (kind, detail) = head;
            let mut bytes = [&[kind, detail][..], &rest, &[0; 16]].concat();
            bytes.truncate(len);
            match Message::unpack(3, &bytes) {
                Ok(message) => prop_assert_eq!(&message.pack()[..], &bytes[..Message::LEN]),
                Err(error) => prop_assert!(error.to_string().contains("rank 3")),
            }
        }
    }

    #[test]
    fn a_message_with_a_field_that_it_has_not_is_refused() {
        let mut bytes = Message::Detach.pack();
        assert!(Message::unpack(0, &bytes).is_ok());
        bytes[12] = 1;
        assert!(Message::unpack(0, &bytes).is_err());
        assert!(Message::unpack(0, &bytes[..23]).is_err());
    }
}
