//! One writer and some readers, threads or processes of one host, around one ring of bytes.
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

/// In errors.
const WHAT: &str = "broadcast";
/// The words of the first line: the number of readers, the pace, and the lock of [`Broadcast::replace`].
const READERS: usize = 0;
const PACE: usize = 1;
const LOCK: usize = 2;

/// A queue from one writer to some readers, all of which get every message: threads, or processes of one
/// host.
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
/// The writer is rank 0, and the readers are ranks 1, 2 and so on. Each rank's end is given out once, to any
/// thread of any process that has the queue: by inheritance of its [descriptor](Broadcast::as_fd), or through
/// a socket; [`Broadcast::attach`] makes the queue of that. Messages that are sent before a reader comes wait
/// for it.
///
/// | | [`create`](Broadcast::create) | [`skipping`](Broadcast::skipping) |
/// |---|---|---|
/// | the ring is full | the writer waits for the slowest reader | the oldest message goes |
/// | a reader that was overtaken | | gets `Cause::Skipped` with how many messages it has missed, and goes on |
///
/// Each wait adapts: messages that follow each other closely are awaited awake, rare ones asleep, and a
/// reader whose messages come regularly sleeps until shortly before the next one.
///
/// # Ends that go
/// An end that is dropped leaves in order. One whose thread panics ends the queue: the others get
/// `Cause::Poisoned`. If the writer's process dies, readers get all that it has sent, and then
/// `Cause::PeerLost`. If a reader's process dies, the other readers get every message all the same: the call
/// in which the writer notices it sends its message to them and then returns `Cause::PeerLost` once;
/// [`Writer::lost`] lists such readers, and [`Broadcast::replace`] gives the place of one to another process.
/// Deaths are noticed within 60 ms of the next call or wait.
///
/// A process is known by its number and by the inode of its process descriptor (before Linux 6.9: the time at
/// which it was started). All processes of a queue belong to one pid namespace, as those of one container do;
/// elsewhere waits end with `Cause::Unseen`.
///
/// # Cost
/// A message is copied once into the ring, and once out of it by each reader. The ring takes memory as it is
/// first used, up to `bytes`.
#[derive(Clone)]
pub struct Broadcast(Arc<QueueMemory>);

impl Broadcast {
    /// A queue to `readers` readers through a ring of `bytes`, whose writer waits for the slowest of them
    /// when it is full. A message of more than half the ring goes in several parts, at the readers' pace.
    ///
    /// # Errors
    /// `Cause::Setting` for other than 1 to 1023 readers, or other than 512 bytes to 8 GiB; if the system has
    /// no shared memory.
    pub fn create(readers: u32, bytes: usize) -> Result<Self, Error> {
        Self::with_pace(readers, bytes, Pace::SlowestReader)
    }

    /// [`Broadcast::create`] with a writer that waits for no reader: those that it overtakes miss messages,
    /// and are told how many. A message must be no longer than five eighths of the ring.
    ///
    /// # Errors
    /// As [`Broadcast::create`].
    pub fn skipping(readers: u32, bytes: usize) -> Result<Self, Error> {
        Self::with_pace(readers, bytes, Pace::Writer)
    }

    fn with_pace(readers: u32, bytes: usize, pace: Pace) -> Result<Self, Error> {
        // What is wrong with the numbers is said before they cost memory.
        let small = readers.min(SharedRing::MOST_READERS + 1);
        let segment = Arc::new(Segment::of_kind(SegmentKind::Queue, lines(small), bytes.min(SharedRing::BYTES.1 + 1))?);
        let queue = Self::over(segment.clone(), readers, pace)?;
        let setup = &segment.lines()[0];
        setup[READERS].store(readers);
        setup[PACE].store(u32::from(pace == Pace::Writer));
        Ok(queue)
    }

    /// The queue that another process has made, by a descriptor of its memory.
    ///
    /// # Errors
    /// `Cause::Unavailable` if the descriptor is of something else, of a barrier, or of another version of
    /// this library.
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

    /// The number of readers.
    #[must_use]
    pub fn readers(&self) -> u32 {
        self.0.ring.readers()
    }

    /// The writing end, for the calling process.
    ///
    /// # Errors
    /// `Cause::Rank` if it was given out before, here or in another process.
    pub fn writer(&self) -> Result<Writer, Error> {
        Writer::new(&self.0)
    }

    /// The reading end of that rank, from 1 on, for the calling process.
    ///
    /// # Errors
    /// `Cause::Rank` if there is no such reader, or its end was given out before, here or in another process.
    pub fn reader(&self, rank: u32) -> Result<Reader, Error> {
        Reader::new(&self.0, rank)
    }

    /// The reading end of a rank whose process has died, for the calling process. It gets the messages that
    /// the writer begins after this call. Should the former process run after all, its calls end with
    /// `Cause::Replaced`.
    ///
    /// # Errors
    /// `Cause::Refused` if that process is not known to have died: it still runs, has left in order, or has
    /// never taken the rank; or if another process makes this call at the same moment. `Cause::Unseen` if
    /// nothing can be known of it from here. `Cause::Rank` for the writer's rank, or one that is not there.
    pub fn replace(&self, rank: u32) -> Result<Reader, Error> {
        if !(1..=self.readers()).contains(&rank) {
            return Err(Cause::Rank { rank, size: self.readers() + 1 }.into());
        }
        Reader::replace(&self.0, rank)
    }
}

impl QueueMemory {
    /// The lock of processes that replace others.
    fn lock(&self) -> &Word {
        &self.setup[0][LOCK]
    }
}

/// The memory's descriptor, for another process.
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

/// Lines before the bytes: how the queue was made, the seats, the ring's.
fn lines(readers: u32) -> usize {
    1 + readers as usize + 1 + SharedRing::lines(readers)
}

/// When a wait of that length ends.
fn deadline_of(timeout: Duration) -> Nanos {
    clock::now() + Nanos(u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX))
}
