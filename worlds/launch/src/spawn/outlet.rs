//! This program's own output, with a queue and a thread for each stream. A reader that does not read (a
//! stopped pager, a full window) blocks only that thread: the launcher still notices exits and signals.
use super::os;
use foregather_host::clock;
use foregather_machine::{Error, Nanos};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{OFlags, fcntl_setfl};
use rustix::pipe::PIPE_BUF;
use std::fs::File;
use std::io::{self, ErrorKind, PipeReader, PipeWriter, Read, Write, pipe};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

/// A queue longer than this accepts no more output from ranks.
const MOST: usize = 1 << 20;
/// How long a reader may read nothing at the end of the job before the rest is dropped.
const PATIENCE: Nanos = Nanos::from_ms(1_000);

/// Both streams.
pub(super) struct Outlets {
    pub(super) out: Outlet,
    pub(super) err: Outlet,
}

impl Outlets {
    pub(super) fn new() -> Result<Self, Error> {
        Ok(Self { out: Outlet::new(io::stdout().as_fd())?, err: Outlet::new(io::stderr().as_fd())? })
    }

    /// Writes a message of the launcher's own.
    pub(super) fn say(&self, line: &str) {
        self.err.push(format!("foregather: {line}\n").as_bytes());
    }

    /// Returns the system's error number if a stream can no longer be written.
    pub(super) fn failed(&self) -> Option<i32> {
        self.out.queue().failed.or(self.err.queue().failed)
    }
}

/// One stream.
pub(super) struct Outlet {
    shared: Arc<OutletState>,
    /// Readable when there is room again, or when there never will be.
    roomy: PipeReader,
}

struct OutletState {
    queue: Mutex<OutputQueue>,
    changed: Condvar,
    roomy: PipeWriter,
}

#[derive(Default)]
struct OutputQueue {
    waiting: Vec<u8>,
    /// Bytes that are queued or being written.
    unwritten: usize,
    failed: Option<i32>,
}

impl OutletState {
    fn queue(&self) -> MutexGuard<'_, OutputQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outlet {
    fn new(to: BorrowedFd<'_>) -> Result<Self, Error> {
        let failed =
            |error: io::Error| os("preparing to show what ranks print", &error, "raise the limits (ulimit -u, ulimit -n)");
        let (reader, writer) = pipe().map_err(failed)?;
        for end in [reader.as_fd(), writer.as_fd()] {
            fcntl_setfl(end, OFlags::NONBLOCK).map_err(|errno| failed(errno.into()))?;
        }
        let to = File::from(to.try_clone_to_owned().map_err(failed)?);
        let shared = Arc::new(OutletState { queue: Mutex::default(), changed: Condvar::new(), roomy: writer });
        let outlet = Self { shared: Arc::clone(&shared), roomy: reader };
        Builder::new().name("outlet".to_owned()).spawn(move || write_out(&shared, to)).map_err(failed)?;
        Ok(outlet)
    }

    fn queue(&self) -> MutexGuard<'_, OutputQueue> {
        self.shared.queue()
    }

    pub(super) fn push(&self, bytes: &[u8]) {
        let mut queue = self.queue();
        if queue.failed.is_none() && !bytes.is_empty() {
            queue.waiting.extend_from_slice(bytes);
            queue.unwritten += bytes.len();
            self.shared.changed.notify_all();
        }
    }

    /// Returns whether there is room for more output of ranks.
    pub(super) fn has_room(&self) -> bool {
        while matches!((&self.roomy).read(&mut [0; 64]), Ok(1..)) {}
        self.queue().unwritten < MOST
    }

    /// Returns a descriptor that becomes readable when there is room again.
    pub(super) fn roomy(&self) -> BorrowedFd<'_> {
        self.roomy.as_fd()
    }

    /// Waits while the queue is being read, and a moment longer. Returns how many bytes were not read.
    pub(super) fn finish(&self) -> usize {
        let mut queue = self.queue();
        let (mut least, mut until) = (queue.unwritten, clock::now() + PATIENCE);
        while queue.unwritten > 0 && clock::now() < until {
            let left = Duration::from_nanos((until - clock::now()).0);
            queue = self.shared.changed.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
            if queue.unwritten < least {
                (least, until) = (queue.unwritten, clock::now() + PATIENCE);
            }
        }
        queue.unwritten
    }
}

/// Runs the stream's thread until the process exits.
fn write_out(shared: &OutletState, mut to: File) {
    loop {
        let mut queue = shared.queue();
        while queue.waiting.is_empty() {
            queue = shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        let taken = std::mem::take(&mut queue.waiting);
        drop(queue);
        let mut rest = &taken[..];
        while !rest.is_empty() {
            match to.write(portion(rest)) {
                Ok(bytes) => {
                    rest = &rest[bytes..];
                    written(shared, bytes);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Another program that shares this stream has made it non-blocking.
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    let _ = poll(&mut [PollFd::new(&to, PollFlags::OUT)], None);
                }
                Err(error) => {
                    *shared.queue() = OutputQueue { failed: Some(error.raw_os_error().unwrap_or(0)), ..OutputQueue::default() };
                    let _ = (&shared.roomy).write(&[0]);
                    return shared.changed.notify_all();
                }
            }
        }
    }
}

/// Returns the bytes to write at once: complete lines, if they are short enough not to be interleaved with
/// other programs' output in a pipe.
fn portion(rest: &[u8]) -> &[u8] {
    let most = &rest[..rest.len().min(PIPE_BUF)];
    most.iter().rposition(|&byte| byte == b'\n').map_or(most, |end| &most[..=end])
}

fn written(shared: &OutletState, bytes: usize) {
    let mut queue = shared.queue();
    let was_full = queue.unwritten >= MOST;
    queue.unwritten -= bytes;
    if was_full && queue.unwritten < MOST {
        let _ = (&shared.roomy).write(&[0]);
    }
    shared.changed.notify_all();
}
