//! The coordinator of a job, a thread of rank 0: admits ranks, distributes their addresses, and reports a
//! lost rank to all.
//!
//! A rank is lost if its connection closes before it has left, or if nothing has arrived from it for some
//! time, although its heartbeat thread ([`crate::heartbeat`]) sends a beat five times a second. That time is
//! counted in the coordinator's own rounds: a coordinator that was not scheduled has not missed a beat, and
//! reads what has arrived before it counts.
use crate::frame::{FIRST_FRAME_MAX, JobFrame, MOST_OF_RANK, VERSION};
use crate::link::{ConnectionClosed, Link};
use crate::secret::{self, JobKey, Prover, Token, Transcript};
use crate::settings::Settings;
use foregather_host::signals::Blocked;
use foregather_host::{clock, sched};
use foregather_machine::{Cause, Error, Nanos, Rank};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, getrlimit};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// How often the coordinator checks for new connections and silent ranks. Heartbeat threads and the
/// coordinator send a heartbeat at every second tick.
pub(crate) const TICK: Nanos = Nanos::from_ms(100);
/// Ticks between two heartbeats.
pub(crate) const BEAT_TICKS: u64 = 2;
/// The maximum number of unverified connections.
const UNVERIFIED_MAX: usize = 256;
/// How long an unverified peer has to prove that it knows the secret.
const PROOF_TICKS: u64 = 50;
/// How long it has if other peers are waiting for its place.
const PLACE_TICKS: u64 = 3;
/// Ticks between two checks for missing ranks, on behalf of waiting ranks.
const ABSENT_TICKS: u64 = 5;
/// How long the coordinator of a failed job keeps running for late ranks.
const LATE_TICKS: u64 = 10;
/// The coordinator prints at most this many messages about unverified peers.
const MOST_COMPLAINTS: u32 = 5;

/// Returns after how many ticks without a heartbeat a rank is lost: few enough that all ranks know within the
/// timeout, and enough that a rank may be unresponsive for half of it.
pub(crate) fn quiet_ticks(settings: &Settings) -> u64 {
    if settings.peer_timeout == Nanos::MAX {
        return u64::MAX;
    }
    (settings.peer_timeout.percent(75).0 / TICK.0).max(3)
}

/// The coordinator's thread, which returns the lost rank, if any.
pub(crate) type CoordinatorThread = JoinHandle<Option<Rank>>;

enum RankStatus {
    Absent,
    Taken { link: Link, quiet: u64, address: Option<Vec<u8>> },
    Left,
    Lost,
}

struct UnverifiedPeer {
    link: Link,
    nonce: Token,
    ticks: u64,
}

pub(crate) struct Coordinator {
    listener: TcpListener,
    port: u16,
    key: JobKey,
    settings: Settings,
    statuses: Vec<RankStatus>,
    /// Unverified peers, the oldest first.
    unverified: Vec<UnverifiedPeer>,
    round: u32,
    lost: Option<Rank>,
    /// The frame that reported the loss to all, and when it was sent: late ranks get the same frame.
    verdict: Option<(Arc<[u8]>, u64)>,
    /// The last message about missing ranks.
    absent: String,
    complaints: u32,
    /// Set if there was no descriptor for a connection: no connections are accepted until the next tick.
    shut: bool,
    /// Whether connections were ever refused for that reason.
    was_shut: bool,
    /// The time by which all ranks must have joined.
    until: Nanos,
    ticks: u64,
}

impl Coordinator {
    /// Starts the thread. It exits when no rank is left, or when rank 0 is gone.
    pub(crate) fn start(listener: TcpListener, size: u32, key: JobKey, settings: Settings) -> Result<CoordinatorThread, Error> {
        let refused = |error: std::io::Error| {
            let remedy = "raise the limits of processes and open files (ulimit -u, -n)";
            Error::from(Cause::Os { what: "starting the job's hub", errno: error.raw_os_error().unwrap_or(0), remedy })
        };
        listener.set_nonblocking(true).map_err(refused)?;
        let port = listener.local_addr().map_err(refused)?.port();
        let until = clock::now() + settings.join_timeout;
        let statuses = (0..size).map(|_| RankStatus::Absent).collect();
        let coordinator = Self {
            listener,
            port,
            key,
            settings,
            statuses,
            unverified: vec![],
            round: 0,
            lost: None,
            verdict: None,
            absent: String::new(),
            complaints: 0,
            shut: false,
            was_shut: false,
            until,
            ticks: 0,
        };
        // Signals that stop a job must reach the program's threads.
        let _blocked = Blocked::but_faults();
        Builder::new().name("hub".to_owned()).spawn(move || coordinator.run()).map_err(refused)
    }

    fn run(mut self) -> Option<Rank> {
        // With short time slices it runs soon, however many other threads want the processor.
        sched::set_slice(Nanos::from_us(100));
        let mut next = clock::now() + TICK;
        while !self.over() {
            let (doors, unverified, ranks) = self.wait(next - clock::now());
            // Ranks first: a connection that is admitted below is not among them.
            for rank in ranks {
                self.hear(rank);
            }
            for at in unverified.into_iter().rev() {
                self.meet(at);
            }
            if doors {
                self.open();
            }
            if clock::now() >= next {
                next = clock::now() + TICK;
                self.tick();
            }
        }
        self.lost
    }

    /// Returns whether the job is over: no rank 0 process means no coordinator, and no other ranks means no
    /// need for one.
    fn over(&self) -> bool {
        let gone = |status: &RankStatus| matches!(status, RankStatus::Left | RankStatus::Lost);
        if self.verdict.as_ref().is_some_and(|(_, since)| self.ticks - since < LATE_TICKS) && !self.absent().is_empty() {
            return false;
        }
        matches!(self.statuses[0], RankStatus::Lost)
            || self.statuses.iter().all(gone)
            || (gone(&self.statuses[0]) && self.lost.is_some())
    }

    /// Waits for input from the listening socket, the unverified peers and the ranks.
    fn wait(&self, timeout: Nanos) -> (bool, Vec<usize>, Vec<usize>) {
        let events = |link: &Link| if link.pending() { PollFlags::IN | PollFlags::OUT } else { PollFlags::IN };
        let mut watched = Vec::with_capacity(1 + self.unverified.len() + self.statuses.len());
        let room = self.unverified.len() < UNVERIFIED_MAX || self.oldest_may_go();
        let door = if room && !self.shut { PollFlags::IN } else { PollFlags::empty() };
        watched.push(PollFd::new(&self.listener, door));
        watched.extend(self.unverified.iter().map(|peer| PollFd::new(&peer.link.stream, events(&peer.link))));
        let mut ranks = Vec::new();
        for (rank, status) in self.statuses.iter().enumerate() {
            if let RankStatus::Taken { link, .. } = status {
                watched.push(PollFd::new(&link.stream, events(link)));
                ranks.push(rank);
            }
        }
        let timeout = Timespec { tv_sec: (timeout.0 / 1_000_000_000) as _, tv_nsec: (timeout.0 % 1_000_000_000) as _ };
        if !matches!(poll(&mut watched, Some(&timeout)), Ok(1..)) {
            return (false, vec![], vec![]);
        }
        let ready = |fd: &PollFd<'_>| !fd.revents().is_empty();
        let (unverified, seated) = watched[1..].split_at(self.unverified.len());
        let unverified = (0..unverified.len()).filter(|&at| ready(&unverified[at])).collect();
        let ranks = ranks.into_iter().zip(seated).filter(|(_, fd)| ready(fd)).map(|(rank, _)| rank).collect();
        (ready(&watched[0]), unverified, ranks)
    }

    /// Accepts connections while there is room; their first frames are read before more are accepted.
    fn open(&mut self) {
        for _ in 0..UNVERIFIED_MAX {
            if self.unverified.len() >= UNVERIFIED_MAX && !self.make_room() {
                return;
            }
            let lacking = match self.listener.accept() {
                Ok((stream, _)) if leaves_some(&stream) => {
                    self.greet(stream);
                    continue;
                }
                Ok(_) => std::io::Error::from_raw_os_error(libc::EMFILE),
                // The kernel reports this error before it checks whether there is a connection at all.
                Err(error) if lacks_descriptors(&error) && self.knocked() => error,
                Err(_) => return,
            };
            if !self.make_room() {
                return self.shut_door(&lacking);
            }
        }
    }

    fn greet(&mut self, stream: TcpStream) {
        if let (Ok(mut link), Ok(nonce)) = (Link::new(stream), secret::random())
            && link.send(&JobFrame::Hello { version: VERSION, nonce }).is_ok()
        {
            self.unverified.push(UnverifiedPeer { link, nonce, ticks: 0 });
        }
    }

    fn knocked(&self) -> bool {
        matches!(poll(&mut [PollFd::new(&self.listener, PollFlags::IN)], Some(&Timespec::default())), Ok(1..))
    }

    fn oldest_may_go(&self) -> bool {
        self.unverified.first().is_some_and(|oldest| oldest.ticks >= PLACE_TICKS)
    }

    /// Closes the connection of the unverified peer that has been silent for longest. If it is a rank, it
    /// connects again.
    fn make_room(&mut self) -> bool {
        let goes = self.oldest_may_go();
        if goes {
            self.unverified.remove(0);
        }
        goes
    }

    /// Stops accepting: the socket stays readable while connections wait, so the coordinator does not check
    /// it until something may have changed.
    fn shut_door(&mut self, error: &std::io::Error) {
        self.shut = true;
        if !std::mem::replace(&mut self.was_shut, true) {
            let ranks = self.statuses.len();
            eprintln!("foregather: the hub of a job of {ranks} ranks cannot let more connections in ({error}): {DESCRIPTORS}");
        }
    }

    /// Reads an unverified peer's first frame, and either admits the peer or closes its connection.
    fn meet(&mut self, at: usize) {
        let peer = &mut self.unverified[at];
        let (frames, open) = peer.link.receive(FIRST_FRAME_MAX);
        let Some(first) = frames.into_iter().next() else {
            if open.is_err() {
                self.unverified.remove(at);
            }
            return;
        };
        let mut peer = self.unverified.remove(at);
        if let JobFrame::Ended { rank, proof, how, .. } = &first
            && self.key.holds_end(peer.nonce, self.port, *rank, how, proof)
        {
            return self.ended(*rank, how);
        }
        let (rank, proof) = match self.judge(&first, peer.nonce) {
            Ok(admitted) => admitted,
            Err((last, why)) => {
                self.complain(&peer.link, &why);
                let _ = peer.link.send(&JobFrame::Refused { last, why });
                return;
            }
        };
        if peer.link.send(&JobFrame::Welcome { proof }).is_ok() {
            self.statuses[rank as usize] = RankStatus::Taken { link: peer.link, quiet: 0, address: None };
            if let Some((verdict, _)) = self.verdict.clone() {
                self.tell(rank, verdict);
            }
        }
    }

    /// Handles the launcher's report that a rank has exited. If the rank had joined, its connection shows
    /// whether it was lost or has left.
    fn ended(&mut self, rank: Rank, how: &str) {
        if matches!(self.statuses.get(rank as usize), Some(RankStatus::Absent)) {
            self.statuses[rank as usize] = RankStatus::Lost;
            self.conclude(rank, &JobFrame::Refused { last: true, why: format!("rank {rank} {how} before it joined") });
        }
    }

    /// Returns the unverified peer's rank and our own proof, or the reason for refusing it and whether that
    /// is final.
    fn judge(&self, first: &JobFrame, of_hub: Token) -> Result<(Rank, Token), (bool, String)> {
        let &JobFrame::Join { version, rank, size, nonce, ref proof } = first else {
            return Err((false, "it does not speak as a rank does".to_owned()));
        };
        if version != VERSION {
            return Err((
                false,
                format!("it speaks version {version}, the job version {VERSION}: start all ranks from one build"),
            ));
        }
        let claim = Transcript { of_hub, of_rank: nonce, rank, size, port: self.port };
        if !self.key.holds(Prover::Rank, &claim, proof) {
            return Err((
                false,
                "it does not know the job's secret: set FOREGATHER_SECRET to the same text for all ranks".to_owned(),
            ));
        }
        let ours = self.statuses.len();
        if size as usize != ours {
            return Err((true, format!("it was told of {size} ranks, the job has {ours}")));
        }
        match self.statuses.get(rank as usize) {
            None => Err((true, format!("there is no rank {rank} in a job of {ours}"))),
            Some(RankStatus::Absent) => Ok((rank, self.key.prove(Prover::Coordinator, &claim))),
            Some(_) => Err((true, format!("rank {rank} has joined already"))),
        }
    }

    fn complain(&mut self, link: &Link, why: &str) {
        self.complaints += 1;
        if self.complaints <= MOST_COMPLAINTS {
            let from = link.stream.peer_addr().map_or_else(|_| "somebody".to_owned(), |address| address.to_string());
            eprintln!("foregather: {from} may not join: {why}");
        }
    }

    fn hear(&mut self, at: usize) {
        let RankStatus::Taken { link, quiet, .. } = &mut self.statuses[at] else { return };
        *quiet = 0;
        let flushed = link.flush();
        let (frames, open) = link.receive(MOST_OF_RANK);
        for frame in frames {
            match frame {
                JobFrame::Beat => {}
                JobFrame::RankAddress { round, bytes } if round == self.round => {
                    let RankStatus::Taken { address: address @ None, .. } = &mut self.statuses[at] else {
                        return self.lose(at as Rank, false);
                    };
                    *address = Some(bytes);
                    self.deal();
                }
                JobFrame::Leave => {
                    self.statuses[at] = RankStatus::Left;
                    return self.deal();
                }
                JobFrame::Lost { rank, .. } => self.ending(rank),
                _ => return self.lose(at as Rank, false),
            }
        }
        if flushed.is_err() || open.is_err() {
            self.lose(at as Rank, false);
        }
    }

    /// Handles a rank's report that another rank's process is exiting. That process sends nothing more, but
    /// may have left normally.
    fn ending(&mut self, rank: Rank) {
        let is_taken = |statuses: &[RankStatus]| matches!(statuses.get(rank as usize), Some(RankStatus::Taken { .. }));
        if is_taken(&self.statuses) {
            self.hear(rank as usize);
        }
        if is_taken(&self.statuses) {
            self.lose(rank, false);
        }
    }

    /// Sends all rank addresses to all ranks once every rank has sent its own; never, if a rank has left.
    fn deal(&mut self) {
        let waited_for = self.statuses.iter().any(|status| matches!(status, RankStatus::Taken { address: Some(_), .. }));
        let left = self.statuses.iter().position(|status| matches!(status, RankStatus::Left));
        if let (Some(left), true) = (left, waited_for) {
            let why = format!("rank {left} has left the job, so rank addresses can no longer be exchanged");
            return self.tell_all(&JobFrame::Refused { last: true, why }.encode().into());
        }
        if !self.statuses.iter().all(|status| matches!(status, RankStatus::Taken { address: Some(_), .. })) {
            return;
        }
        let take = |status: &mut RankStatus| if let RankStatus::Taken { address, .. } = status { address.take() } else { None };
        let addresses = self.statuses.iter_mut().map(|status| take(status).unwrap_or_default()).collect();
        let bytes: Arc<[u8]> = JobFrame::RankAddresses { round: self.round, addresses }.encode().into();
        self.round += 1;
        self.tell_all(&bytes);
    }

    fn tell(&mut self, rank: Rank, bytes: Arc<[u8]>) {
        if let RankStatus::Taken { link, .. } = &mut self.statuses[rank as usize] {
            // An unreachable rank is detected when it is next read.
            let _: Result<(), ConnectionClosed> = link.send_shared(bytes);
        }
    }

    /// Sends a frame to all ranks, to rank 0 last: its process may exit on it, and this thread with it.
    fn tell_all(&mut self, bytes: &Arc<[u8]>) {
        for rank in (0..self.statuses.len()).rev() {
            self.tell(rank as Rank, Arc::clone(bytes));
        }
    }

    /// Reports only the first loss, because others may follow from it. The lost rank gets the report, too, in
    /// case it was only unresponsive.
    fn lose(&mut self, rank: Rank, quiet: bool) {
        self.conclude(rank, &JobFrame::Lost { rank, quiet });
        self.statuses[rank as usize] = RankStatus::Lost;
    }

    /// Reports to all ranks that the job is over because of `rank`.
    fn conclude(&mut self, rank: Rank, verdict: &JobFrame) {
        if self.lost.is_none() {
            let bytes: Arc<[u8]> = verdict.encode().into();
            self.lost = Some(rank);
            self.verdict = Some((Arc::clone(&bytes), self.ticks));
            self.tell_all(&bytes);
        }
    }

    fn tick(&mut self) {
        self.ticks += 1;
        self.shut = false;
        let most = quiet_ticks(&self.settings);
        let beat: Arc<[u8]> = JobFrame::Beat.encode().into();
        let mut silent = Vec::new();
        for (rank, status) in self.statuses.iter_mut().enumerate() {
            let RankStatus::Taken { link, quiet, .. } = status else { continue };
            *quiet += 1;
            if *quiet > most {
                silent.push(rank as Rank);
            } else if self.ticks.is_multiple_of(BEAT_TICKS) && !link.pending() {
                let _ = link.send_shared(Arc::clone(&beat));
            }
        }
        for rank in silent {
            self.lose(rank, true);
        }
        self.unverified.retain_mut(|peer| {
            peer.ticks += 1;
            peer.ticks < PROOF_TICKS
        });
        if self.ticks.is_multiple_of(ABSENT_TICKS) && self.lost.is_none() {
            self.tell_absent();
        }
        if self.lost.is_none() && clock::now() >= self.until {
            self.give_up();
        }
    }

    fn absent(&self) -> Vec<usize> {
        (0..self.statuses.len()).filter(|&rank| matches!(self.statuses[rank], RankStatus::Absent)).collect()
    }

    /// Sends the list of missing ranks to all, whenever it has changed.
    fn tell_absent(&mut self) {
        let which = match &self.absent()[..] {
            [] => String::new(),
            [one] => format!("rank {one} has not arrived yet"),
            some => format!("ranks {} have not arrived yet", listed(some)),
        };
        if which != self.absent {
            self.tell_all(&JobFrame::Absent { which: which.clone() }.encode().into());
            self.absent = which;
        }
    }

    /// Ends the job if a rank has not joined in time.
    fn give_up(&mut self) {
        self.until = Nanos::MAX;
        let absent = self.absent();
        let Some(&first) = absent.first() else { return };
        let (of, within) = (self.statuses.len(), self.settings.join_timeout);
        let shut = if self.was_shut { format!("; rank 0 had no descriptor left for them: {DESCRIPTORS}") } else { String::new() };
        let why = format!("of {of} ranks {} did not arrive within {within}: {}{shut}", absent.len(), listed(&absent));
        self.conclude(first as Rank, &JobFrame::Refused { last: true, why });
    }
}

/// Formats the first of these ranks for a message.
fn listed(ranks: &[usize]) -> String {
    let some: Vec<_> = ranks.iter().take(8).map(usize::to_string).collect();
    format!("{}{}", some.join(", "), if ranks.len() > some.len() { ", ..." } else { "" })
}

const DESCRIPTORS: &str = "raise the limit of open files (ulimit -n)";

/// Descriptors that are not used for connections, because rank 0's program needs some.
const OWN_DESCRIPTORS: u64 = 8;

/// Returns whether enough descriptors are left: the kernel assigns the lowest free number.
fn leaves_some(stream: &TcpStream) -> bool {
    let limit = getrlimit(Resource::Nofile).current;
    limit.is_none_or(|limit| stream.as_raw_fd() as u64 + OWN_DESCRIPTORS < limit)
}

fn lacks_descriptors(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM))
}
