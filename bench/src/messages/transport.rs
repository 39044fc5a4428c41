//! By which ways bytes get from one rank to the other, and in which patterns that is measured.
use foregather_machine::{Cause, Error, Limits};
use foregather_message::{Path, Settings};
use serde::{Deserialize, Serialize};

/// From that many bytes on pieces are received CHEAPER, and may go directly.
pub const LARGE: usize = 4_096;

/// A way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// A message, by the way that the messenger takes by itself.
    Chosen,
    /// A message, through static buffers.
    Buffered,
    /// A message, from memory to memory, the waiting sender helping.
    Direct,
    /// Yardstick: a frame of the bare fabric, copied in and out.
    Frames,
    /// Yardstick: a frame that is neither filled nor copied, only looked at.
    InPlace,
    /// Yardstick: announced, read from memory and answered on the bare fabric, without help.
    ReadAlone,
    /// Yardstick: the same, the sender helping.
    ReadHelped,
    /// Yardstick: a copy within rank 0, nothing sent.
    Memcpy,
}

/// A pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pattern {
    /// To and fro; half a round trip counts.
    PingPong,
    /// One way, as many as there is room for, answered once at the end; one message counts.
    Stream,
    /// Both ways at once, windows of open messages; one message each way counts.
    BothWays,
}

impl Pattern {
    /// As in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::PingPong => "ping-pong",
            Self::Stream => "stream",
            Self::BothWays => "both-ways",
        }
    }
}

impl Transport {
    /// All of them, messages first.
    pub const ALL: [Self; 8] = [
        Self::Chosen,
        Self::Buffered,
        Self::Direct,
        Self::Frames,
        Self::InPlace,
        Self::ReadAlone,
        Self::ReadHelped,
        Self::Memcpy,
    ];

    /// As in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chosen => "chosen",
            Self::Buffered => "buffered",
            Self::Direct => "direct",
            Self::Frames => "frames",
            Self::InPlace => "in-place",
            Self::ReadAlone => "read-alone",
            Self::ReadHelped => "read-helped",
            Self::Memcpy => "memcpy",
        }
    }

    /// The way of that name.
    ///
    /// # Errors
    /// If there is none; the error lists those there are.
    pub fn parse(name: &str) -> Result<Self, Error> {
        Self::ALL.into_iter().find(|way| way.name() == name).ok_or_else(|| {
            let remedy = format!("take some of {}", Self::ALL.map(Self::name).join(", "));
            Error::from(Cause::Unavailable { what: format!("the way `{name}`"), remedy })
        })
    }

    /// Does it go through a messenger?
    pub const fn is_message(self) -> bool {
        matches!(self, Self::Chosen | Self::Buffered | Self::Direct)
    }

    /// Is it there for so many bytes? Small messages have one way only.
    pub(super) const fn takes(self, bytes: usize, limits: &Limits) -> bool {
        match self {
            Self::Chosen | Self::Memcpy => true,
            Self::Buffered => bytes >= LARGE,
            Self::Frames => bytes <= limits.buffer,
            Self::InPlace => bytes > limits.inline && bytes <= limits.buffer,
            Self::Direct | Self::ReadAlone | Self::ReadHelped => bytes >= LARGE && limits.direct,
        }
    }

    /// In which patterns: reading memory and copying know but one.
    pub(super) const fn patterns(self) -> &'static [Pattern] {
        match self {
            Self::ReadAlone | Self::ReadHelped | Self::Memcpy => &[Pattern::PingPong],
            Self::Chosen => &[Pattern::PingPong, Pattern::Stream, Pattern::BothWays],
            _ => &[Pattern::PingPong, Pattern::Stream],
        }
    }

    /// Of its messenger.
    pub(super) fn settings(self) -> Settings {
        let path = match self {
            Self::Buffered => Path::Buffered,
            Self::Direct => Path::Direct,
            _ => Path::Chosen,
        };
        Settings { path, ..Settings::default() }
    }
}
