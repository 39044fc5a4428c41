//! What a [`Fabric`] promises, tested by programs that use nothing else of their world, and what a messenger
//! makes of it.
//!
//! - [`Program`]: what all lanes do together; each lane checks what it sees and panics if a promise is
//!   broken.
//! - [`Fabrics`]: what a world under test provides: lanes, each on a thread, a process or a node of its own.
//! - `talk`: waiting with a bound, sending, receiving. `frames`, `room`, `bell`, `memory`, `ends`: the
//!   programs over frames.
//! - `letters`: programs over [`Messenger`](foregather_message::Messenger)s: messages, sized packets,
//!   collective operations.
//!
//! A program does the flow control that a caller must do, so it runs where frames without room are lost as
//! well as where they are refused; only [`Program::Overrun`] does not.

mod bell;
mod ends;
mod frames;
mod letters;
mod memory;
mod room;
mod talk;

use foregather_machine::Fabric;
use talk::Talk;

/// A world whose lanes are under test.
pub trait Fabrics {
    /// Makes [`Program::ranks`] ranks with [`Program::lanes`] lanes each, and lets all lanes
    /// [`run`](Program::run) their parts at the same time, over `rounds` rounds.
    ///
    /// # Panics
    /// If one of the lanes panics.
    fn run(&self, program: Program, rounds: u32);
}

/// Everything.
pub fn all(fabrics: &impl Fabrics, rounds: u32) {
    Program::ALL.into_iter().for_each(|program| fabrics.run(program, rounds));
}

/// What the lanes of a world do together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// One lane sends frames of all sizes to another one: they arrive once, unchanged and in order.
    Stream,
    /// Every lane sends to every other one, those of its own rank included.
    Everybody,
    /// Credits and spare frames find room, again and again.
    Room,
    /// A sleeper is woken by a frame, and by a release.
    Bell,
    /// Lists of pieces are read from memory.
    Memory,
    /// Several lanes read the same memory at once.
    Readers,
    /// Two lanes read from each other at the same time.
    EachOther,
    /// Unexposed or shorter memory cannot be read.
    Unexposed,
    /// The others see that a lane has left, after everything it has sent.
    Leave,
    /// A call for something that does not exist, or is too long, is an error.
    Refused,
    /// Every rank sends messages beyond all credits before any receives, on two lanes of every rank.
    Crossfire,
    /// Messages of any pieces.
    Pieces,
    /// A LATER piece is read at the end.
    Later,
    /// A number goes there and back.
    PingPong,
    /// When a rank takes messages of any sender, none of the senders is left waiting for the others.
    Anybody,
    /// The two sides disagree about a short piece, and are told.
    DisagreeShort,
    /// The two sides disagree about a long piece, and are told.
    DisagreeLong,
    /// A message is dropped in the middle.
    Abandoned,
    /// Several messages are open at a time, borrowed and owned.
    SeveralOpen,
    /// A scope fails while messages are open.
    GivenUpOpen,
    /// A rank that waits when all others have left is told.
    LeftInOrder,
    /// Barriers, sized packets and collective operations.
    Together,
    /// A frame beyond its room is refused, never lost: not for NICs that drop frames without a buffer.
    Overrun,
}

impl Program {
    /// The programs that every world must pass: all but [`Program::Overrun`].
    pub const ALL: [Self; 22] = [
        Self::Stream,
        Self::Everybody,
        Self::Room,
        Self::Bell,
        Self::Memory,
        Self::Readers,
        Self::EachOther,
        Self::Unexposed,
        Self::Leave,
        Self::Refused,
        Self::Crossfire,
        Self::Pieces,
        Self::Later,
        Self::PingPong,
        Self::Anybody,
        Self::DisagreeShort,
        Self::DisagreeLong,
        Self::Abandoned,
        Self::SeveralOpen,
        Self::GivenUpOpen,
        Self::LeftInOrder,
        Self::Together,
    ];

    /// Its name, for the command line of a process that runs a part of it.
    pub fn name(self) -> String {
        format!("{self:?}")
    }

    /// The program of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().chain([Self::Overrun]).find(|program| program.name() == name)
    }

    /// The number of its ranks.
    pub const fn ranks(self) -> u32 {
        match self {
            Self::Everybody | Self::Room | Self::Overrun => 3,
            Self::Crossfire | Self::Anybody | Self::LeftInOrder => 3,
            Self::Together => 5,
            _ => 2,
        }
    }

    /// The number of lanes of each rank.
    pub const fn lanes(self) -> u32 {
        match self {
            Self::Everybody | Self::Readers | Self::Crossfire => 2,
            _ => 1,
        }
    }

    /// One lane's part.
    ///
    /// # Panics
    /// If a promise is broken, or a wait takes half a minute.
    pub async fn run<F: Fabric>(self, fabric: F, rounds: u32) {
        if self.is_over_messages() {
            return letters::run_to_end(self, fabric, rounds).await;
        }
        let talk = Talk::new(&fabric, self.lanes());
        match self {
            Self::Everybody => frames::everybody(&talk, rounds).await,
            Self::Room => room::found(&talk, rounds).await,
            Self::Overrun => room::overrun(&talk).await,
            Self::Bell => bell::ping_pong(&talk, rounds).await,
            Self::Memory => memory::pieces(&talk).await,
            Self::Readers => memory::readers(&talk, rounds).await,
            Self::EachOther => memory::each_other(&talk, rounds).await,
            Self::Unexposed => memory::concealed(&talk, rounds).await,
            Self::Leave => ends::leave(&talk).await,
            Self::Refused => ends::refused(&talk).await,
            _ => frames::stream(&talk, rounds).await,
        }
        fabric.leave();
        for other in talk.others() {
            talk.until("an end", || fabric.has_left(other).then_some(())).await;
        }
    }

    /// Whether it is a program over [`Messenger`](foregather_message::Messenger)s, not over frames alone.
    pub const fn is_over_messages(self) -> bool {
        !matches!(
            self,
            Self::Stream
                | Self::Everybody
                | Self::Room
                | Self::Bell
                | Self::Memory
                | Self::Readers
                | Self::EachOther
                | Self::Unexposed
                | Self::Leave
                | Self::Refused
                | Self::Overrun
        )
    }
}
