//! The launcher's desk: it answers processes that ask for a rank's place, tracks which places are taken, and
//! receives the ranks' failure reports. The other side is [`crate::place`].
use super::os;
use crate::place::{PlaceReply, PlaceRequest, REQUEST, name_of};
use crate::secret::{self, JobKey, hex};
use foregather_host::clock;
use foregather_machine::{Error, Nanos, Rank};
use rustix::cmsg_space;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::{ErrorKind, IoSlice, Read};
use std::mem::MaybeUninit;
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::process;

/// A process that sends no request within this time is disconnected.
const PATIENCE: Nanos = Nanos::from_ms(5_000);
/// The maximum number of connected processes that have not sent a request yet.
const MOST_GUESTS: usize = 64;

pub(super) struct Desk {
    listener: UnixListener,
    name: String,
    key: JobKey,
    /// The socket on which rank 0 will listen, if rank 0 is on this host.
    root: Option<TcpListener>,
    /// The connections of the processes that have taken their places.
    places: Vec<Option<UnixStream>>,
    guests: Vec<(UnixStream, Nanos)>,
}

/// A rank's report that it has failed on its own; a lower distance is closer to the original failure.
pub(super) struct FailureReport {
    pub(super) rank: Rank,
    pub(super) distance: u32,
}

impl Desk {
    pub(super) fn new(size: u32, key: JobKey, root: Option<TcpListener>) -> Result<Self, Error> {
        let failed = |error: std::io::Error| {
            os("opening the launcher's socket", &error, "raise the limit of open files (ulimit -n), and allow Unix sockets")
        };
        let listen = |name: String| -> std::io::Result<_> {
            let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
            listener.set_nonblocking(true)?;
            Ok((listener, name))
        };
        let (listener, name) = match listen(name_of(process::id())) {
            // In another PID namespace a launcher may have the same PID.
            Err(error) if error.kind() == ErrorKind::AddrInUse => {
                listen(format!("{}-{}", name_of(process::id()), hex(&secret::random()?[..8])))
            }
            done => done,
        }
        .map_err(failed)?;
        let places = (0..size).map(|_| None).collect();
        Ok(Self { listener, name, key, root, places, guests: Vec::new() })
    }

    /// Returns the name of its socket, for ranks of this host.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the descriptors that become readable when there is work to do.
    pub(super) fn watched(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let guests = self.guests.iter().map(|(stream, _)| stream.as_fd());
        let door = (self.guests.len() < MOST_GUESTS).then(|| self.listener.as_fd());
        door.into_iter().chain(guests).chain(self.places.iter().flatten().map(AsFd::as_fd))
    }

    /// Answers all pending requests. `rank_of` returns the rank whose process leads a process group. Returns
    /// the failures that ranks have reported, in order.
    pub(super) fn serve(&mut self, rank_of: impl Fn(u32) -> Option<Rank>) -> Vec<FailureReport> {
        let mut reports = Vec::new();
        for (rank, place) in (0..).zip(&mut self.places) {
            while let Some(stream) = place {
                match hear(stream) {
                    Heard::Nothing => break,
                    Heard::Request(PlaceRequest::Failed { distance }) => reports.push(FailureReport { rank, distance }),
                    // Its process has exited, or sent a malformed request: the place is free again.
                    Heard::Request(_) | Heard::End => *place = None,
                }
            }
        }
        while self.guests.len() < MOST_GUESTS
            && let Ok((stream, _)) = self.listener.accept()
        {
            if stream.set_nonblocking(true).is_ok() {
                self.guests.push((stream, clock::now() + PATIENCE));
            }
        }
        for (stream, until) in std::mem::take(&mut self.guests) {
            match hear(&stream) {
                Heard::Nothing if clock::now() < until => self.guests.push((stream, until)),
                Heard::Request(request) => self.answer(stream, request, &rank_of),
                Heard::Nothing | Heard::End => {}
            }
        }
        reports
    }

    fn answer(&mut self, stream: UnixStream, request: PlaceRequest, rank_of: &impl Fn(u32) -> Option<Rank>) {
        let reply = match request {
            PlaceRequest::Ask { rank, proof } | PlaceRequest::Take { rank, proof } if self.key.holds_place(rank, &proof) => {
                self.state(rank)
            }
            PlaceRequest::Whose { group } => rank_of(group).map_or(PlaceReply::Unknown, |rank| self.state(rank)),
            _ => PlaceReply::Unknown,
        };
        let (takes, rank) = match (request, reply) {
            (PlaceRequest::Take { .. }, PlaceReply::Free(rank)) => (true, rank as usize),
            _ => (false, 0),
        };
        let socket = self.root.as_ref().filter(|_| takes && rank == 0).map(AsFd::as_fd);
        // A process that has exited meanwhile takes no place.
        if tell(&stream, reply, socket).is_ok() && takes {
            self.places[rank] = Some(stream);
        }
    }

    fn state(&self, rank: Rank) -> PlaceReply {
        match self.places.get(rank as usize) {
            Some(None) => PlaceReply::Free(rank),
            Some(Some(_)) => PlaceReply::Taken,
            None => PlaceReply::Unknown,
        }
    }

    /// Records that the process of that rank has exited, so that nothing listens on its socket any more.
    pub(super) fn ended(&mut self, rank: Rank) {
        if rank == 0 {
            self.root = None;
        }
    }
}

enum Heard {
    Nothing,
    Request(PlaceRequest),
    End,
}

/// Reads a request. It is sent in one piece, and arrives in one.
fn hear(mut stream: &UnixStream) -> Heard {
    let mut bytes = [0; REQUEST];
    match stream.read(&mut bytes) {
        Ok(length) => PlaceRequest::decode(&bytes[..length]).map_or(Heard::End, Heard::Request),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Heard::Nothing,
        Err(_) => Heard::End,
    }
}

fn tell(stream: &UnixStream, reply: PlaceReply, socket: Option<BorrowedFd<'_>>) -> rustix::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(1))];
    let mut rights = SendAncillaryBuffer::new(&mut space);
    let socket = socket.as_slice();
    if !socket.is_empty() {
        rights.push(SendAncillaryMessage::ScmRights(socket));
    }
    sendmsg(stream, &[IoSlice::new(&reply.encode())], &mut rights, SendFlags::NOSIGNAL).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn key() -> JobKey {
        JobKey::new(b"secret", b"job")
    }

    /// Returns a desk for three ranks with a unique name, and a way to send requests to it.
    fn desk() -> Desk {
        let mut desk = Desk::new(3, key(), Some(TcpListener::bind("127.0.0.1:0").unwrap())).unwrap();
        // Tests of one process share its PID.
        desk.name = format!("{}-{:?}", desk.name, std::thread::current().id());
        desk.listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&desk.name).unwrap()).unwrap();
        desk.listener.set_nonblocking(true).unwrap();
        desk
    }

    fn asks(desk: &mut Desk, request: &[u8]) -> (UnixStream, Vec<u8>) {
        let mut stream = UnixStream::connect_addr(&SocketAddr::from_abstract_name(desk.name()).unwrap()).unwrap();
        stream.write_all(request).unwrap();
        assert!(desk.serve(|group| (group == 77).then_some(2)).is_empty());
        stream.set_nonblocking(true).unwrap();
        let mut reply = [0; 16];
        let length = stream.read(&mut reply).unwrap_or(0);
        (stream, reply[..length].to_vec())
    }

    fn said(reply: PlaceReply) -> Vec<u8> {
        reply.encode().to_vec()
    }

    #[test]
    fn a_place_is_free_until_it_is_taken_and_again_once_its_process_is_gone() {
        let mut desk = desk();
        let proof = key().prove_place(1);
        let (ask, take) = (PlaceRequest::Ask { rank: 1, proof }.encode(), PlaceRequest::Take { rank: 1, proof }.encode());
        assert_eq!(asks(&mut desk, &ask).1, said(PlaceReply::Free(1)));
        let (holder, reply) = asks(&mut desk, &take);
        assert_eq!(reply, said(PlaceReply::Free(1)));
        assert_eq!(asks(&mut desk, &ask).1, said(PlaceReply::Taken));
        assert_eq!(asks(&mut desk, &take).1, said(PlaceReply::Taken));
        drop(holder);
        assert_eq!(asks(&mut desk, &ask).1, said(PlaceReply::Free(1)));
    }

    #[test]
    fn a_stranger_takes_no_place_and_a_group_is_known_by_its_number() {
        let mut desk = desk();
        for wrong in [
            PlaceRequest::Take { rank: 1, proof: [7; secret::BYTES] },
            PlaceRequest::Take { rank: 1, proof: key().prove_place(2) },
            PlaceRequest::Take { rank: 9, proof: key().prove_place(9) },
            PlaceRequest::Whose { group: 78 },
        ] {
            assert_eq!(asks(&mut desk, &wrong.encode()).1, said(PlaceReply::Unknown), "{wrong:?}");
        }
        assert_eq!(asks(&mut desk, &PlaceRequest::Whose { group: 77 }.encode()).1, said(PlaceReply::Free(2)));
        assert!(asks(&mut desk, b"GET / HTTP/1.1").1.is_empty());
        assert_eq!(
            asks(&mut desk, &PlaceRequest::Ask { rank: 1, proof: key().prove_place(1) }.encode()).1,
            said(PlaceReply::Free(1))
        );
    }

    #[test]
    fn a_rank_reports_its_own_failure() {
        let mut desk = desk();
        let (mut holder, _) = asks(&mut desk, &PlaceRequest::Take { rank: 2, proof: key().prove_place(2) }.encode());
        holder.write_all(&PlaceRequest::Failed { distance: 1 }.encode()).unwrap();
        let reports = desk.serve(|_| None);
        assert_eq!(reports.iter().map(|report| (report.rank, report.distance)).collect::<Vec<_>>(), [(2, 1)]);
    }
}
