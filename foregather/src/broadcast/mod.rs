//! A queue from one writer to several readers, threads or processes of one host, through one ring of bytes.
mod reader;
mod writer;

pub use foregather_shm::MessageView;
pub use reader::Reader;
pub use writer::Writer;

use core::time::Duration;
use foregather_host::clock;
use foregather_machine::{Cause, Error, Nanos, SharedLines};
use foregather_message::broadcast::{self, Pace};
use foregather_shm::{Process, Seats, Segment, SegmentKind};
use foregather_thread::Word;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// The memory of a queue.
struct QueueMemory {
    segment: Arc<Segment>,
    setup: SharedLines<Word>,
    seats: Seats,
    ring: SharedRing,
}

type SharedRing = broadcast::Broadcast<Process, foregather_machine::SharedBytes>;

/// The name of this object in error messages.
const WHAT: &str = "broadcast";
/// The words of the first line: the number of readers, whether the writer waits for them, and the lock of
/// [`Broadcast::replace`].
const READERS: usize = 0;
const PACE: usize = 1;
const LOCK: usize = 2;

/// A queue from one writer to one or more readers. Every reader gets every message. Writer and readers are
/// threads, or processes on one host.
///
/// ```
/// use foregather::Broadcast;
///
/// let queue = Broadcast::create(2, 1 << 20)?;
/// std::thread::scope(|threads| {
///     for rank in [1, 2] {
///         let mut reader = queue.reader(rank)?;
///         threads.spawn(move || assert_eq!(reader.receive().unwrap(), b"hello"));
///     }
///     queue.writer()?.send(b"hello")
/// })?;
/// # Ok::<(), foregather::Error>(())
/// ```
///
/// The writer is rank 0, and the readers are ranks 1, 2 and so on. Each rank's end can be taken once, by any
/// thread of any process that has the queue. Another process gets its [descriptor](Broadcast::as_fd) by
/// inheritance or over a Unix socket, and opens the queue with [`Broadcast::attach`]. A reader also receives
/// messages that were sent before it attached.
///
/// | | [`create`](Broadcast::create) | [`skipping`](Broadcast::skipping) |
/// |---|---|---|
/// | the ring is full | the writer waits for the slowest reader | the writer drops the oldest message |
/// | a reader that was overtaken | | gets `Cause::Skipped` with the number of messages that it missed, and can continue |
///
/// Waits adapt: a reader spins for messages in quick succession, sleeps if messages are rare, and if they
/// arrive at regular intervals it sleeps until shortly before the next one.
///
/// # When an end is closed
/// Dropping an end closes it normally. If the thread that owns an end panics, the queue ends and all other
/// ends get `Cause::Poisoned`. If the writer's process dies, readers receive all messages that were sent, and
/// then `Cause::PeerLost`. If a reader's process dies, the other readers still receive every message: the
/// call in which the writer detects the death sends its message to them and then returns `Cause::PeerLost`
/// once. [`Writer::lost`] lists such readers, and [`Broadcast::replace`] lets another process take over the
/// rank of one. A death is detected within 60 ms of the next call or wait.
///
/// A process is identified by its PID and by the inode of its process descriptor (before Linux 6.9, by its
/// start time). All processes of a queue must be in the same PID namespace, such as one container; otherwise
/// waits fail with `Cause::Unseen`.
///
/// # Cost
/// Each message is copied once into the ring, and once out of it by each reader. The kernel allocates the
/// ring's pages on first use, up to `bytes`.
#[derive(Clone)]
pub struct Broadcast(Arc<QueueMemory>);

impl Broadcast {
    /// Creates a queue for `readers` readers with a ring of `bytes`. If the ring is full, the writer waits
    /// for the slowest reader. A message longer than half the ring is sent in several parts, as readers make
    /// room.
    ///
    /// # Errors
    /// `Cause::Setting` unless `readers` is 1 to 1023 and `bytes` is 512 to 8 GiB; an error if the system has
    /// no shared memory.
    pub fn create(readers: u32, bytes: usize) -> Result<Self, Error> {
        Self::with_pace(readers, bytes, Pace::SlowestReader)
    }

    /// Creates a queue like [`Broadcast::create`], but its writer waits for no reader: a reader that it
    /// overtakes gets `Cause::Skipped` with the number of messages it missed. A message may be at most five
    /// eighths of the ring long.
    ///
    /// # Errors
    /// As for [`Broadcast::create`].
    pub fn skipping(readers: u32, bytes: usize) -> Result<Self, Error> {
        Self::with_pace(readers, bytes, Pace::Writer)
    }

    fn with_pace(readers: u32, bytes: usize, pace: Pace) -> Result<Self, Error> {
        // Checks the numbers before memory is allocated.
        let small = readers.min(SharedRing::MOST_READERS + 1);
        let segment = Arc::new(Segment::of_kind(SegmentKind::Queue, lines(small), bytes.min(SharedRing::BYTES.1 + 1))?);
        let queue = Self::over(segment.clone(), readers, pace)?;
        let setup = &segment.lines()[0];
        setup[READERS].store(readers);
        setup[PACE].store(u32::from(pace == Pace::Writer));
        Ok(queue)
    }

    /// Opens a queue that another process created, through a descriptor of its memory.
    ///
    /// # Errors
    /// `Cause::Unavailable` if the descriptor is something else, such as a barrier or a queue of another
    /// version of this library.
    pub fn attach(descriptor: OwnedFd) -> Result<Self, Error> {
        let segment = Arc::new(Segment::attach_kind(descriptor, SegmentKind::Queue)?);
        let all = segment.lines();
        let setup = all.at(0).map_or((0, 0), |line| (line[READERS].load(), line[PACE].load()));
        match setup {
            (readers @ 1..=SharedRing::MOST_READERS, pace @ 0..=1) if all.len() == lines(readers) => {
                Self::over(segment.clone(), readers, if pace == 0 { Pace::SlowestReader } else { Pace::Writer })
            }
            _ => Err(Cause::Unavailable {
                what: "a queue of broadcasts in the descriptor".to_owned(),
                remedy: "its memory was overwritten: create the queue again".to_owned(),
            }
            .into()),
        }
    }

    fn over(segment: Arc<Segment>, readers: u32, pace: Pace) -> Result<Self, Error> {
        let (setup, rest) = segment.lines().split(1);
        let (seats, ring): (SharedLines<Word>, _) = rest.split(readers.min(SharedRing::MOST_READERS + 1) as usize + 1);
        let ring = SharedRing::over(ring, segment.bytes(), readers, pace)?;
        Ok(Self(Arc::new(QueueMemory { segment, setup, seats: Seats::over(seats), ring })))
    }

    /// Returns the number of readers.
    #[must_use]
    pub fn readers(&self) -> u32 {
        self.0.ring.readers()
    }

    /// Takes the writing end for the calling process.
    ///
    /// # Errors
    /// `Cause::Rank` if it was already taken, here or in another process.
    pub fn writer(&self) -> Result<Writer, Error> {
        Writer::new(&self.0)
    }

    /// Takes the reading end of `rank` (1 and up) for the calling process.
    ///
    /// # Errors
    /// `Cause::Rank` if there is no such reader, or if its end was already taken, here or in another process.
    pub fn reader(&self, rank: u32) -> Result<Reader, Error> {
        Reader::new(&self.0, rank, false)
    }

    /// Takes over the reading end of a rank whose process has died. It receives the messages that the writer
    /// starts sending after this call. If the former process is still running after all, its calls return
    /// `Cause::Replaced`.
    ///
    /// # Errors
    /// `Cause::Refused` unless that process is known to have died: it may be running, have closed its end
    /// normally, or never have taken the rank; also if another process calls this at the same moment.
    /// `Cause::Unseen` if this process cannot check whether that process is alive. `Cause::Rank` for the
    /// writer's rank, or if there is no such rank.
    pub fn replace(&self, rank: u32) -> Result<Reader, Error> {
        if !(1..=self.readers()).contains(&rank) {
            return Err(Cause::Rank { rank, size: self.readers() + 1 }.into());
        }
        Reader::new(&self.0, rank, true)
    }
}

impl QueueMemory {
    /// Returns the lock that serialises calls of [`Broadcast::replace`].
    fn lock(&self) -> &Word {
        &self.setup[0][LOCK]
    }
}

/// `as_fd` returns the descriptor of the memory, for another process.
impl AsFd for Broadcast {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.segment.fd()
    }
}

impl core::fmt::Debug for Broadcast {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Broadcast {{ readers: {} }}", self.readers())
    }
}

/// Returns the number of lines before the bytes: the description of the queue, the slots of the processes,
/// and the ring's lines.
fn lines(readers: u32) -> usize {
    1 + readers as usize + 1 + SharedRing::lines(readers)
}

/// Returns when a wait with this timeout ends.
fn deadline_of(timeout: Duration) -> Nanos {
    clock::now() + Nanos(u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX))
}
