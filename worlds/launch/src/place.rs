//! A rank's place in its job, which the launcher keeps: a process asks whether the place named by its
//! variables is still free, and takes it when it joins.
//!
//! A rank's own children inherit its variables, so variables alone do not identify a rank. The launcher
//! decides, at a socket whose name is in a variable: a process whose place is free is the rank, even if a
//! wrapper started it and closed descriptors. A process whose place is taken was started by the rank, and
//! runs outside the job. The place is taken as long as the rank's connection is open.
//!
//! A process whose variables a wrapper has cleared (`env -i`) looks as if it had no launcher. So a process
//! without variables asks the launcher, which it identifies by the PID of its parent, and refuses to run
//! outside the job while its place is free.
use crate::own::{self, variable};
use crate::secret::{BYTES, JobKey, Token};
use foregather_host::run_state;
use foregather_machine::{Cause, Error, Rank};
use rustix::cmsg_space;
use rustix::io::retry_on_intr;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendFlags, recvmsg, send};
use rustix::process::getppid;
use std::io::{self, ErrorKind, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long the launcher may take to answer: it may be starting thousands of ranks, or be stopped.
const PATIENCE: Duration = Duration::from_secs(60);

/// Bytes of a [`PlaceRequest`] and of a [`PlaceReply`].
pub(crate) const REQUEST: usize = 1 + 4 + BYTES;
pub(crate) const REPLY: usize = 1 + 4;

/// What a process sends to its launcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlaceRequest {
    /// Asks whether that rank's place is free.
    Ask { rank: Rank, proof: Token },
    /// Gives the place to this process.
    Take { rank: Rank, proof: Token },
    /// Asks whether the place of the rank with that process group is free.
    Whose { group: u32 },
    /// The rank that holds this connection has failed on its own; a lower distance is closer to the original
    /// failure.
    Failed { distance: u32 },
}

impl PlaceRequest {
    pub(crate) fn encode(self) -> [u8; REQUEST] {
        let (kind, number, proof) = match self {
            Self::Ask { rank, proof } => (b'a', rank, proof),
            Self::Take { rank, proof } => (b't', rank, proof),
            Self::Whose { group } => (b'w', group, [0; BYTES]),
            Self::Failed { distance } => (b'f', distance, [0; BYTES]),
        };
        let mut bytes = [0; REQUEST];
        bytes[0] = kind;
        bytes[1..5].copy_from_slice(&number.to_le_bytes());
        bytes[5..].copy_from_slice(&proof);
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (&kind, rest) = bytes.split_first()?;
        let (number, proof) = rest.split_first_chunk()?;
        let (number, proof) = (u32::from_le_bytes(*number), proof.try_into().ok()?);
        match kind {
            b'a' => Some(Self::Ask { rank: number, proof }),
            b't' => Some(Self::Take { rank: number, proof }),
            b'w' => Some(Self::Whose { group: number }),
            b'f' => Some(Self::Failed { distance: number }),
            _ => None,
        }
    }
}

/// The launcher's answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PlaceReply {
    /// The place of that rank is free, or was given to this process.
    Free(Rank),
    /// Another process has taken it.
    Taken,
    /// The proof or the PID does not belong to this job.
    Unknown,
}

impl PlaceReply {
    pub(crate) fn encode(self) -> [u8; REPLY] {
        let (kind, rank) = match self {
            Self::Free(rank) => (b'f', rank),
            Self::Taken => (b't', 0),
            Self::Unknown => (b'u', 0),
        };
        let mut bytes = [kind; REPLY];
        bytes[1..].copy_from_slice(&rank.to_le_bytes());
        bytes
    }

    fn decode(bytes: [u8; REPLY]) -> Option<Self> {
        let [kind, rank @ ..] = bytes;
        match kind {
            b'f' => Some(Self::Free(u32::from_le_bytes(rank))),
            b't' => Some(Self::Taken),
            b'u' => Some(Self::Unknown),
            _ => None,
        }
    }
}

/// Returns the name of the socket of the launcher with that PID.
pub(crate) fn name_of(launcher: u32) -> String {
    format!("foregather-run-{launcher}")
}

/// The connection of the process that has taken its place, with its PID: a forked child does not hold the
/// place.
static HELD: Mutex<Option<(u32, UnixStream)>> = Mutex::new(None);

fn held() -> MutexGuard<'static, Option<(u32, UnixStream)>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The PID of a process found to be a rank's child: it stays outside the job after the rank has exited.
static CHILD: AtomicU32 = AtomicU32::new(0);
/// The PID of a process without variables that was found not to be a rank.
static UNLAUNCHED: AtomicU32 = AtomicU32::new(0);

fn is_held() -> bool {
    held().as_ref().is_some_and(|(owner, _)| *owner == process::id())
}

/// Returns whether the place of `rank` is free, or this process's own already.
///
/// # Errors
/// If the launcher does not answer.
pub(crate) fn ask(desk: &str, rank: Rank, key: &JobKey) -> Result<PlaceReply, Error> {
    if is_held() {
        return Ok(PlaceReply::Free(rank));
    }
    if CHILD.load(Relaxed) == process::id() {
        return Ok(PlaceReply::Taken);
    }
    let request = PlaceRequest::Ask { rank, proof: key.prove_place(rank) };
    let reply = connect(desk).and_then(|stream| exchange(&stream, request)).map_err(|error| silent(rank, &error))?.0;
    if reply == PlaceReply::Taken {
        CHILD.store(process::id(), Relaxed);
    }
    Ok(reply)
}

/// Takes the place for this process, until it exits. Rank 0 also gets the job's socket.
fn take(desk: &str, rank: Rank, key: &JobKey) -> Result<Option<TcpListener>, Error> {
    let request = PlaceRequest::Take { rank, proof: key.prove_place(rank) };
    let answered = connect(desk).and_then(|stream| Ok((exchange(&stream, request)?, stream)));
    match answered.map_err(|error| silent(rank, &error))? {
        ((PlaceReply::Free(_), listener), stream) => {
            *held() = Some((process::id(), stream));
            Ok(listener)
        }
        ((PlaceReply::Taken, _), _) => {
            Err(refused(format!("another process has taken the place of rank {rank}: start one at a time")))
        }
        // The variables of another job, set by hand.
        ((PlaceReply::Unknown, _), _) => Ok(None),
    }
}

/// Takes the place of a rank of that job of `foregather run`, if the launcher has it.
///
/// # Errors
/// If the launcher does not answer, or another process has taken the place.
pub(crate) fn take_own(rank: Rank, job: &str) -> Result<Option<TcpListener>, Error> {
    let Some(desk) = variable(own::DESK).filter(|desk| !desk.is_empty()) else { return Ok(None) };
    let secret = variable(own::SECRET).unwrap_or_default();
    take(&desk, rank, &JobKey::new(secret.as_bytes(), job.as_bytes()))
}

/// Reports to the launcher that this process's rank has failed on its own, before other ranks learn of it.
pub(crate) fn report_failure(distance: u8) {
    if let Some((owner, stream)) = &*held()
        && *owner == process::id()
    {
        // A launcher that is gone needs no report.
        let _ = send(stream, &PlaceRequest::Failed { distance: distance.into() }.encode(), SendFlags::NOSIGNAL);
    }
}

/// Returns the rank whose place is free for this process, although a wrapper has cleared its variables.
pub(crate) fn without_variables() -> Option<Rank> {
    if UNLAUNCHED.load(Relaxed) == process::id() {
        return None;
    }
    // A process without a process group of its own is not a rank: the launcher creates one for each, in its
    // own PID namespace.
    let group = run_state::own_group()?;
    let parent = getppid().map(|parent| parent.as_raw_nonzero().get() as u32);
    let launchers = [parent, run_state::parent(group)];
    let found = launchers.into_iter().flatten().find_map(|launcher| {
        let stream = connect(&name_of(launcher)).ok().filter(|stream| is_of(stream, launcher))?;
        exchange(&stream, PlaceRequest::Whose { group }).ok()
    });
    match found {
        Some((PlaceReply::Free(rank), _)) => Some(rank),
        _ => {
            UNLAUNCHED.store(process::id(), Relaxed);
            None
        }
    }
}

fn connect(desk: &str) -> io::Result<UnixStream> {
    let address = SocketAddr::from_abstract_name(desk)?;
    let stream = loop {
        match UnixStream::connect_addr(&address) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            connected => break connected?,
        }
    };
    stream.set_read_timeout(Some(PATIENCE))?;
    Ok(stream)
}

fn exchange(stream: &UnixStream, request: PlaceRequest) -> io::Result<(PlaceReply, Option<TcpListener>)> {
    // A signal handler interrupts such a call, and with a timeout the system never restarts it.
    retry_on_intr(|| send(stream, &request.encode(), SendFlags::NOSIGNAL))?;
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut rights = RecvAncillaryBuffer::new(&mut space);
    let mut reply = [0; REPLY];
    let flags = RecvFlags::CMSG_CLOEXEC;
    let got = retry_on_intr(|| recvmsg(stream, &mut [IoSliceMut::new(&mut reply)], &mut rights, flags))?;
    if got.flags.contains(ReturnFlags::CTRUNC) {
        return Err(io::Error::other("no descriptor is free for the job's socket (ulimit -n)"));
    }
    let mut listener = None;
    for message in rights.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            listener = descriptors.last().map(TcpListener::from);
        }
    }
    let reply = (got.bytes == REPLY).then(|| PlaceReply::decode(reply)).flatten();
    reply.map(|reply| (reply, listener)).ok_or_else(|| io::Error::other("it closed the connection"))
}

/// Returns whether the peer is that process, of this user or of root.
fn is_of(stream: &UnixStream, process: u32) -> bool {
    peer(stream).is_some_and(|peer| {
        peer.pid == process as libc::pid_t && (peer.uid == 0 || peer.uid == rustix::process::geteuid().as_raw())
    })
}

fn peer(stream: &UnixStream) -> Option<libc::ucred> {
    use std::os::fd::AsRawFd;
    let mut peer = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut bytes = size_of_val(&peer) as libc::socklen_t;
    // SAFETY: the kernel writes at most `bytes` bytes into `peer`, a plain structure of that size, and the
    // socket stays open for the call.
    let got = unsafe {
        let fd = stream.as_fd().as_raw_fd();
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, (&raw mut peer).cast(), &raw mut bytes)
    };
    (got == 0).then_some(peer)
}

fn silent(rank: Rank, error: &io::Error) -> Error {
    refused(format!(
        "this process was started as rank {rank} of `foregather run`, whose launcher does not answer ({error}): run it in the \
         launcher's network namespace, or set {}=none to run it alone",
        own::LAUNCHER
    ))
}

fn refused(why: String) -> Error {
    Error::from(Cause::Refused { why })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn requests_and_replies_come_back(number in 0_u32.., proof in proptest::array::uniform32(0_u8..)) {
            let all = [
                PlaceRequest::Ask { rank: number, proof },
                PlaceRequest::Take { rank: number, proof },
                PlaceRequest::Whose { group: number },
                PlaceRequest::Failed { distance: number },
            ];
            for request in all {
                prop_assert_eq!(PlaceRequest::decode(&request.encode()), Some(request));
            }
            for reply in [PlaceReply::Free(number), PlaceReply::Taken, PlaceReply::Unknown] {
                prop_assert_eq!(PlaceReply::decode(reply.encode()), Some(reply));
            }
        }

        #[test]
        fn no_bytes_break_it(bytes in proptest::collection::vec(0_u8.., 0..80)) {
            if let Some(request) = PlaceRequest::decode(&bytes) {
                prop_assert_eq!(bytes.len(), REQUEST);
                prop_assert_eq!(request.encode()[0], bytes[0]);
            }
        }
    }

    extern "C" fn nothing(_: libc::c_int) {}

    #[test]
    fn a_signal_does_not_end_the_wait_for_the_launcher() {
        // SAFETY: all zeros are a valid `sigaction`: no flags, so calls that the signal ends are not begun
        // again; the handler does nothing.
        let handled = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
            libc::sigaction(libc::SIGURG, &raw const action, std::ptr::null_mut())
        };
        assert_eq!(handled, 0);
        let (rank, launcher) = UnixStream::pair().unwrap();
        rank.set_read_timeout(Some(PATIENCE)).unwrap();
        // SAFETY: the call has no requirements.
        let waiting = unsafe { libc::pthread_self() };
        let answers = std::thread::spawn(move || {
            for _ in 0..5 {
                std::thread::sleep(Duration::from_millis(10));
                // SAFETY: that thread runs until it has joined this one.
                assert_eq!(unsafe { libc::pthread_kill(waiting, libc::SIGURG) }, 0);
            }
            send(&launcher, &PlaceReply::Free(3).encode(), SendFlags::NOSIGNAL).unwrap();
        });
        let reply = exchange(&rank, PlaceRequest::Whose { group: 3 });
        answers.join().unwrap();
        assert_eq!(reply.unwrap().0, PlaceReply::Free(3));
    }

    #[test]
    fn a_launcher_that_is_gone_is_an_error_with_a_remedy() {
        let error = ask("foregather-run-of-nobody", 3, &JobKey::new(b"secret", b"job")).unwrap_err().to_string();
        assert!(error.contains("rank 3") && error.contains("FOREGATHER_LAUNCHER=none"), "{error}");
    }
}
