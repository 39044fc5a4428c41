//! The states of a rank when another one is lost: an endless program for each state of the protocols.
use foregather_barrier::dissemination;
use foregather_machine::{Error, Fabric, Member, Nanos, Rank};
use foregather_message::collective::{allreduce, shift, sum};
use foregather_message::{Cheaper, Messenger, Mode, Path, Receive, Safer, Settings};
use std::thread::sleep;
use std::time::Duration;

/// A state of the protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// All wait for a message of any rank.
    Anybody,
    /// Each waits for its neighbour's message, except for rank 0: a circle would be reported as a deadlock.
    One,
    /// Half of them wait for credits, the others compute.
    Credit,
    /// Half of them wait for a piece to be fetched, the others compute.
    Offer,
    /// Half of them fetch large pieces of the others.
    Fetch,
    /// Short messages, one after the other.
    Inline,
    /// Messages of one static buffer.
    Buffers,
    /// Long messages through static buffers.
    Pipeline,
    /// Barriers.
    Barrier,
    /// Short and long reductions.
    Allreduce,
    /// Shifts by one, too long for a static buffer.
    Shift,
    /// They wait for a rank that computes: the lost one, or a live one that sends nothing.
    Silence,
}

impl State {
    pub(crate) const ALL: [Self; 12] = [
        Self::Anybody,
        Self::One,
        Self::Credit,
        Self::Offer,
        Self::Fetch,
        Self::Inline,
        Self::Buffers,
        Self::Pipeline,
        Self::Barrier,
        Self::Allreduce,
        Self::Shift,
        Self::Silence,
    ];

    pub(crate) fn settings(self) -> Settings {
        let path = match self {
            Self::Fetch | Self::Offer => Path::Direct,
            Self::Pipeline => Path::Buffered,
            _ => Path::Chosen,
        };
        Settings { path, ..Settings::default() }
    }

    /// Repeats until an operation fails. `job_is_whole` is for ranks that compute, which must not wait with a
    /// messenger.
    pub(crate) async fn program<F: Fabric>(self, messenger: &Messenger<F>, job_is_whole: impl Fn() -> bool) -> Result<(), Error> {
        let (rank, size) = (messenger.rank(), messenger.size());
        let (sends, peer) = (rank.is_multiple_of(2), rank ^ 1);
        // The last of an odd number has no peer.
        let state = if peer >= size && self.is_of_pairs() { Self::Barrier } else { self };
        let mut at = 0_u32;
        loop {
            at = at.wrapping_add(1);
            match state {
                Self::One if rank == 0 => messenger.begin_unpacking().await?.end().await?,
                Self::Anybody => messenger.begin_unpacking().await?.end().await?,
                Self::One => messenger.begin_unpacking_from((rank + 1) % size)?.end().await?,
                Self::Credit | Self::Offer | Self::Silence if !sends => {
                    while job_is_whole() {
                        sleep(Duration::from_millis(1));
                    }
                    self.receive(messenger, peer, at).await?;
                }
                Self::Silence => self.receive(messenger, peer, at).await?,
                Self::Barrier => dissemination(messenger).await?,
                Self::Allreduce => {
                    let mut values = vec![rank; if at.is_multiple_of(2) { 3 } else { 20_000 }];
                    allreduce(messenger, &mut values, sum).await?;
                }
                Self::Shift => {
                    let mut into = vec![0; 40_000];
                    shift(messenger, 1, &vec![rank as u8; 40_000], &mut into).await?;
                }
                _ if sends => self.send(messenger, peer, at).await?,
                _ => self.receive(messenger, peer, at).await?,
            }
        }
    }

    /// Returns whether ranks exchange messages only with their own peers.
    fn is_of_pairs(self) -> bool {
        !matches!(self, Self::Anybody | Self::One | Self::Barrier | Self::Allreduce | Self::Shift)
    }

    fn bytes(self) -> usize {
        match self {
            Self::Offer | Self::Fetch => 1 << 20,
            Self::Buffers => 3_000,
            Self::Pipeline => 100_000,
            _ => 8,
        }
    }

    async fn send<F: Fabric>(self, messenger: &Messenger<F>, to: Rank, at: u32) -> Result<(), Error> {
        let bytes = vec![at as u8; self.bytes()];
        let mut message = messenger.begin_packing(to)?;
        match self {
            Self::Offer | Self::Fetch | Self::Pipeline => message.pack(Cheaper(&bytes), Receive::Cheaper).await?,
            _ => message.pack(Safer(&bytes), Receive::Cheaper).await?,
        }
        message.end().await
    }

    /// Receives a message and checks that it is complete: an incomplete message must be an error.
    async fn receive<F: Fabric>(self, messenger: &Messenger<F>, from: Rank, at: u32) -> Result<(), Error> {
        let mut bytes = vec![!at as u8; self.bytes()];
        let mode = if matches!(self, Self::Offer | Self::Fetch | Self::Pipeline) { Mode::Cheaper } else { Mode::Safer };
        let mut message = messenger.begin_unpacking_from(from)?;
        message.unpack(mode, &mut bytes).await?;
        message.end().await?;
        assert!(bytes.iter().all(|&byte| byte == at as u8), "message {at} of rank {from} is not whole");
        Ok(())
    }
}

/// Returns the current time, on the clock of all processes of this machine.
pub(crate) fn now() -> Nanos {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}
