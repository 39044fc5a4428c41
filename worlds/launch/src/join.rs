//! Joins a rank to its job: finds the coordinator, proves to it that the rank knows the secret, and makes the
//! coordinator prove it, too.
use crate::frame::{FIRST_FRAME_MAX, Inbox, JobFrame, VERSION};
use crate::meet::JoinInfo;
use crate::secret::{self, JobKey, Prover, Transcript};
use crate::settings::Settings;
use foregather_host::clock;
use foregather_machine::{Cause, Error, Nanos};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::thread;
use std::time::Duration;

/// The pause between two rounds of attempts.
const PAUSE: Duration = Duration::from_millis(20);
/// The maximum wait for each candidate, if there are several possible coordinators.
const GLANCE: Nanos = Nanos::from_ms(1_000);

/// Why an attempt failed, and whether another one might succeed.
pub(crate) struct Failed {
    last: bool,
    why: String,
}

/// Returns a connection to the coordinator, and the bytes received after its welcome.
pub(crate) fn join(meeting: &JoinInfo, key: &JobKey, settings: &Settings) -> Result<(TcpStream, Inbox), Error> {
    let until = clock::now() + settings.join_timeout;
    let alone = meeting.candidates.len() == 1;
    let mut complaint = String::new();
    loop {
        for (host, port) in &meeting.candidates {
            let patience = if alone { until - clock::now() } else { GLANCE.min(until - clock::now()) };
            match attempt(host, *port, patience, meeting, key) {
                Ok(found) => return Ok(found),
                Err(Failed { last: true, why }) => return Err(Error::from(Cause::Refused { why })),
                Err(Failed { last: false, why }) => complaint = format!("{host}:{port}: {why}"),
            }
        }
        if clock::now() >= until {
            let within = settings.join_timeout;
            let remedy = "is rank 0 there? FOREGATHER_ROOT=host:port says where it is, FOREGATHER_JOIN_TIMEOUT how long to try";
            let why = format!("no hub of its job answered within {within} ({complaint}); {remedy}");
            return Err(Error::from(Cause::Refused { why }));
        }
        thread::sleep(PAUSE);
    }
}

fn attempt(host: &str, port: u16, patience: Nanos, meeting: &JoinInfo, key: &JobKey) -> Result<(TcpStream, Inbox), Failed> {
    let stream = connect(host, port, patience)?;
    let inbox = greet(&stream, port, meeting, key)?;
    stream.set_read_timeout(None).map_err(|error| Failed { last: false, why: error.to_string() })?;
    Ok((stream, inbox))
}

/// Returns a connection on which no operation takes longer than `patience`.
pub(crate) fn connect(host: &str, port: u16, patience: Nanos) -> Result<TcpStream, Failed> {
    let again = |error: &dyn std::fmt::Display| Failed { last: false, why: error.to_string() };
    let addresses: Vec<SocketAddr> = (host, port).to_socket_addrs().map_err(|error| again(&error))?.collect();
    let patience = Duration::from_nanos(patience.0.max(1_000_000));
    let mut stream = Err(again(&"the host has no address"));
    for address in &addresses {
        stream = TcpStream::connect_timeout(address, patience).map_err(|error| failed(address, &error));
        if stream.is_ok() {
            break;
        }
    }
    let stream = stream?;
    let set = stream.set_nodelay(true).and_then(|()| stream.set_read_timeout(Some(patience)));
    set.and_then(|()| stream.set_write_timeout(Some(patience))).map_err(|error| again(&error))?;
    Ok(stream)
}

/// Returns the error of a connection attempt. It is final if this host's loopback interface is down.
fn failed(address: &SocketAddr, error: &std::io::Error) -> Failed {
    let down = matches!(error.kind(), ErrorKind::NetworkUnreachable | ErrorKind::AddrNotAvailable);
    if down && address.ip().is_loopback() {
        let why = format!("{address} cannot be reached ({error}): bring lo up (`ip link set lo up`)");
        return Failed { last: true, why };
    }
    Failed { last: false, why: error.to_string() }
}

fn greet(mut stream: &TcpStream, port: u16, meeting: &JoinInfo, key: &JobKey) -> Result<Inbox, Failed> {
    let again = |why: &str| Failed { last: false, why: why.to_owned() };
    let mut inbox = Inbox::default();
    let of_hub = match hear(stream, &mut inbox)? {
        JobFrame::Hello { version: VERSION, nonce } => nonce,
        JobFrame::Hello { version, .. } => {
            let why = format!("the job speaks version {version}, this process version {VERSION}: start all ranks from one build");
            return Err(Failed { last: meeting.candidates.len() == 1, why });
        }
        _ => return Err(again("somebody else answered")),
    };
    let of_rank = secret::random().map_err(|error| again(&error.to_string()))?;
    let claim = Transcript { of_hub, of_rank, rank: meeting.rank, size: meeting.size, port };
    let proof = key.prove(Prover::Rank, &claim);
    let join = JobFrame::Join { version: VERSION, rank: meeting.rank, size: meeting.size, nonce: of_rank, proof };
    stream.write_all(&join.encode()).map_err(|error| again(&error.to_string()))?;
    match hear(stream, &mut inbox)? {
        JobFrame::Welcome { proof } if key.holds(Prover::Coordinator, &claim, &proof) => Ok(inbox),
        JobFrame::Welcome { .. } => Err(again("the hub does not know the job's secret")),
        JobFrame::Refused { last, why } => Err(Failed { last: last || meeting.candidates.len() == 1, why }),
        _ => Err(again("somebody else answered")),
    }
}

/// Returns the next frame. Its length is limited as for an unverified peer: rank addresses are sent only
/// after all ranks have sent theirs.
pub(crate) fn hear(mut stream: &TcpStream, inbox: &mut Inbox) -> Result<JobFrame, Failed> {
    let again = |why: &str| Failed { last: false, why: why.to_owned() };
    loop {
        match inbox.next(FIRST_FRAME_MAX) {
            Ok(Some(frame)) => return Ok(frame),
            Ok(None) => {}
            Err(_) => return Err(again("somebody else answered")),
        }
        let mut piece = [0; 1_024];
        match stream.read(&mut piece) {
            Ok(0) => return Err(again("it hung up")),
            Ok(bytes) => inbox.push(&piece[..bytes]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(again(&format!("it was silent ({error})"))),
        }
    }
}
