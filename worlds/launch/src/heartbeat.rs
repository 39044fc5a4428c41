//! The thread with which a rank takes part in its job. It sends heartbeats whatever the program does,
//! receives losses from the coordinator, and prints messages about long waits, and about losses that no wait
//! has reported because the program is computing or connecting. It also makes progress for libfabric and MPI
//! lanes whose own threads may be busy.
use crate::coordinator::{BEAT_TICKS, TICK, quiet_ticks};
use crate::frame::{Inbox, JobFrame, MOST_OF_HUB};
use crate::settings::Settings;
use crate::watchdog::{ADDRESSES, Watchdog};
use foregather_host::failure_detector::FailureDetector;
use foregather_host::signals::Blocked;
use foregather_host::{clock, run_state, sched};
use foregather_machine::{Cause, Error, Nanos, Rank};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Signal, pidfd_send_signal};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

/// How long an unresponsive process may take to exit after it was killed.
const DYING: Nanos = Nanos::from_ms(500);
/// How long the program has to report a loss through a wait before a message is printed.
const UNTOLD: Nanos = Nanos::from_ms(1_000);
/// The interval between checks for the end, once no more frames can arrive.
const LINGERING: std::time::Duration = std::time::Duration::from_millis(20);
/// The interval between two polls of lanes, while the last poll made progress.
const TENDING: Nanos = Nanos::from_ms(1);

/// The state that a rank's threads share with its heartbeat thread.
#[derive(Debug)]
pub(crate) struct HeartbeatState {
    pub(crate) rank: Rank,
    pub(crate) stream: TcpStream,
    pub(crate) failure_detector: Arc<FailureDetector>,
    /// One writer at a time, so that frames are not interleaved.
    writing: Mutex<()>,
    mail: Mutex<Mail>,
    changed: Condvar,
    /// Whether the connection may close now.
    pub(crate) leaving: AtomicBool,
    /// Processes on this host. Unresponsive ones are killed, because they might resume and write to memory
    /// that no longer belongs to them.
    pub(crate) neighbours: Mutex<Vec<Neighbour>>,
    /// The handles of lanes to make progress for.
    pub(crate) tenders: Mutex<Vec<Tending>>,
}

/// Makes progress for a lane. Returns `Some(true)` if there was any, `None` if the lane is gone.
pub(crate) struct Tending(pub(crate) Box<dyn FnMut() -> Option<bool> + Send>);

foregather_machine::debug_by! { [] Tending, "Tending", |_this| }

/// Another rank's process on this host.
#[derive(Debug)]
pub(crate) struct Neighbour {
    pub(crate) rank: Rank,
    pub(crate) process: u32,
    pub(crate) pidfd: OwnedFd,
}

impl Neighbour {
    /// Returns whether its process can still run, or one of its threads has not exited.
    fn is_there(&self) -> bool {
        !matches!(poll(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], Some(&Timespec::default())), Ok(1..))
    }
}

/// Received frames that no thread has read yet.
#[derive(Debug, Default)]
struct Mail {
    addresses: Option<(u32, Vec<Vec<u8>>)>,
    /// The ranks that have not joined yet, as text.
    absent: String,
    /// Why no more frames will arrive.
    over: Option<Error>,
}

/// Locks a mutex and ignores poisoning: the state is valid wherever a thread panics.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl HeartbeatState {
    pub(crate) fn new(rank: Rank, stream: TcpStream) -> Self {
        Self {
            rank,
            stream,
            failure_detector: Arc::default(),
            writing: Mutex::default(),
            mail: Mutex::default(),
            changed: Condvar::new(),
            leaving: AtomicBool::new(false),
            neighbours: Mutex::default(),
            tenders: Mutex::default(),
        }
    }

    /// Sends a frame. The heartbeat thread handles a closed connection.
    pub(crate) fn send(&self, frame: &JobFrame) {
        let _one = lock(&self.writing);
        let _ = (&self.stream).write_all(&frame.encode());
    }

    /// Waits for all rank addresses of that round.
    pub(crate) fn addresses(&self, round: u32) -> Result<Vec<Vec<u8>>, Error> {
        let why = foregather_machine::WaitContext::new(ADDRESSES, self.rank).since(clock::now());
        let mut mail = lock(&self.mail);
        loop {
            match mail.addresses.take() {
                Some((of, addresses)) if of == round => return Ok(addresses),
                Some(_) => return Err(Cause::ProtocolViolation { from: 0, what: "rank addresses of another round" }.into()),
                None => {}
            }
            if let Some(error) = &mail.over {
                return Err(error.clone());
            }
            self.failure_detector.check(&why)?;
            let slice = std::time::Duration::from_nanos(TICK.0);
            mail = self.changed.wait_timeout(mail, slice).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn lose(&self, rank: Rank, quiet: bool) {
        if quiet && rank != self.rank {
            // A process that dumps core does not resume, and a kill would truncate the dump.
            let goes_on = |other: &&Neighbour| other.rank == rank && !run_state::is_dumping_core(other.process);
            for other in lock(&self.neighbours).iter().filter(goes_on) {
                let _ = pidfd_send_signal(&other.pidfd, Signal::KILL);
                let patience = Timespec { tv_sec: 0, tv_nsec: DYING.0 as _ };
                let _ = poll(&mut [PollFd::new(&other.pidfd, PollFlags::IN)], Some(&patience));
            }
        }
        self.failure_detector.declare_lost(rank);
        self.changed.notify_all();
    }

    /// Returns a rank of this host whose process is exiting, among those that this rank watches: the next
    /// live one in rank order, and rank 0. A process keeps its connection open until its last thread exits,
    /// which can take seconds for an idle-class thread on a busy machine.
    fn ending_neighbour(&self) -> Option<Rank> {
        let neighbours = lock(&self.neighbours);
        let (before, behind) = neighbours.split_at(neighbours.partition_point(|other| other.rank < self.rank));
        let next = behind.iter().chain(before).find(|other| other.is_there());
        let hub = neighbours.iter().find(|other| other.rank == 0);
        next.into_iter().chain(hub).find(|other| run_state::is_ending(other.process)).map(|other| other.rank)
    }

    /// Makes progress for the lanes that still exist. Returns whether one of them made any.
    fn tend(&self) -> bool {
        let mut some = false;
        lock(&self.tenders).retain_mut(|tender| (tender.0)().inspect(|&needed| some |= needed).is_some());
        some
    }

    fn end(&self, error: Error) {
        lock(&self.mail).over.get_or_insert(error);
        self.changed.notify_all();
    }
}

/// Starts the thread.
pub(crate) fn start(shared: Arc<HeartbeatState>, inbox: Inbox, settings: Settings) -> Result<JoinHandle<()>, Error> {
    let (most, watchdog) = (quiet_ticks(&settings), Watchdog::new(settings.watchdog));
    let heartbeat = Heartbeat { shared, inbox, quiet: 0, ticks: 0, most, watchdog, reported: None };
    let _blocked = Blocked::but_faults();
    Builder::new().name("steward".to_owned()).spawn(move || heartbeat.run()).map_err(|error| {
        let (what, remedy) = ("starting a thread", "raise the limit of processes (ulimit -u)");
        Error::from(Cause::Os { what, errno: error.raw_os_error().unwrap_or(0), remedy })
    })
}

struct Heartbeat {
    shared: Arc<HeartbeatState>,
    inbox: Inbox,
    /// Ticks since the coordinator's last heartbeat.
    quiet: u64,
    ticks: u64,
    most: u64,
    watchdog: Watchdog,
    /// The last rank that was reported to the coordinator as ending.
    reported: Option<Rank>,
}

impl Heartbeat {
    fn run(mut self) {
        sched::set_slice(Nanos::from_us(100));
        let mut next = clock::now() + TICK;
        let mut tending = false;
        let mut open = self.digest();
        while open && !self.shared.leaving.load(Acquire) {
            let until_tick = next - clock::now();
            let left = if tending { until_tick.min(TENDING) } else { until_tick };
            let timeout = Timespec { tv_sec: (left.0 / 1_000_000_000) as _, tv_nsec: (left.0 % 1_000_000_000) as _ };
            if matches!(poll(&mut [PollFd::new(&self.shared.stream, PollFlags::IN)], Some(&timeout)), Ok(1..)) {
                open = self.read();
            }
            let ticks = clock::now() >= next;
            if ticks {
                next = clock::now() + TICK;
                open = open && self.tick();
            }
            if ticks || tending {
                tending = self.shared.tend();
            }
        }
        // The coordinator is a thread of rank 0, so if it is silent, rank 0 is gone.
        if !self.shared.leaving.load(Acquire) && self.shared.failure_detector.lost().is_none() {
            self.shared.lose(0, self.quiet > self.most);
        }
        let until = clock::now() + UNTOLD + TICK;
        while !self.shared.leaving.load(Acquire) && clock::now() < until {
            self.tell_of_loss();
            std::thread::sleep(LINGERING);
        }
    }

    fn tell_of_loss(&self) {
        if let Some(lost) = self.shared.failure_detector.untold_loss(UNTOLD) {
            let own = self.shared.rank;
            // In one write: all other ranks print the same message at this moment.
            let line =
                format!("foregather: rank {lost} is lost; rank {own} has been busy since then, and no wait of it has said so\n");
            eprint!("{line}");
        }
    }

    fn read(&mut self) -> bool {
        let mut piece = vec![0; 64 << 10];
        match (&self.shared.stream).read(&mut piece) {
            Ok(0) => false,
            Ok(bytes) => {
                self.quiet = 0;
                self.inbox.push(&piece[..bytes]);
                self.digest()
            }
            Err(error) => matches!(error.kind(), ErrorKind::Interrupted | ErrorKind::WouldBlock),
        }
    }

    /// Handles the coordinator's frames. Returns false if one is malformed; the coordinator then counts as
    /// lost.
    fn digest(&mut self) -> bool {
        loop {
            match self.inbox.next(MOST_OF_HUB) {
                Ok(None) => return true,
                Ok(Some(JobFrame::Beat)) => {}
                Ok(Some(JobFrame::RankAddresses { round, addresses })) => {
                    lock(&self.shared.mail).addresses = Some((round, addresses));
                    self.shared.changed.notify_all();
                }
                Ok(Some(JobFrame::Lost { rank, quiet })) => self.shared.lose(rank, quiet),
                Ok(Some(JobFrame::Absent { which })) => lock(&self.shared.mail).absent = which,
                Ok(Some(JobFrame::Refused { why, .. })) => self.shared.end(Cause::Refused { why }.into()),
                Ok(Some(_)) | Err(_) => return false,
            }
        }
    }

    fn tick(&mut self) -> bool {
        self.ticks += 1;
        self.quiet += 1;
        if self.ticks.is_multiple_of(BEAT_TICKS) {
            self.shared.send(&JobFrame::Beat);
        }
        let absent = lock(&self.shared.mail).absent.clone();
        self.watchdog.look(&self.shared.failure_detector, self.shared.rank, &absent);
        self.tell_of_loss();
        match self.shared.ending_neighbour() {
            // The coordinator exits with it.
            Some(0) => return false,
            Some(rank) if self.reported != Some(rank) => {
                self.reported = Some(rank);
                self.shared.send(&JobFrame::Lost { rank, quiet: false });
            }
            _ => {}
        }
        self.quiet <= self.most
    }
}
