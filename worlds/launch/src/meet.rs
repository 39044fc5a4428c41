//! How the ranks of a job find each other: rank 0 binds a socket for its coordinator, and the others learn
//! its address. That is all that another launcher has to support.
//!
//! If the launcher has a key-value store, it distributes rank 0's address. Otherwise the address is derived
//! from what all ranks know: rank 0's host, and ports computed from the job's name, of which rank 0 takes the
//! first free one. If another program listens on one of them, the proofs of [`crate::secret`] detect it.
use crate::detect::{Detected, Launcher};
use crate::own::{self, variable};
use crate::pmi1::Pmi;
use crate::pmix::Pmix;
use crate::secret::{self, hex};
use crate::settings::{self, Settings};
use foregather_machine::{Cause, Error, Rank};
use foregather_mpi::{Mpi, within};
use std::net::{IpAddr, Ipv4Addr, TcpListener};

/// Ports computed from a name: below the system's ephemeral ports.
const PORTS: core::ops::Range<u16> = 20_000..32_000;
const CANDIDATES: u16 = 8;

/// What a rank knows before it joins.
#[derive(Debug)]
pub(crate) struct JoinInfo {
    pub(crate) rank: Rank,
    pub(crate) size: u32,
    /// The job's name, different for every job.
    pub(crate) name: Vec<u8>,
    /// The possible addresses of the coordinator.
    pub(crate) candidates: Vec<(String, u16)>,
    /// Rank 0's socket.
    pub(crate) listener: Option<TcpListener>,
}

/// Collects this information with the launcher's help. Our own launcher passes rank 0 its socket.
pub(crate) fn meet(found: &Detected, listener: Option<TcpListener>, settings: &Settings) -> Result<JoinInfo, Error> {
    let var = |name: &str| variable(name).filter(|text| !text.is_empty());
    let size = found.size.unwrap_or(0);
    if let Some(root) = var(own::ROOT) {
        if found.size.is_none() {
            let (rank, size) = Pmix::open()?.place()?;
            return at(root_of(&root, &found.identity)?, rank, size, listener, settings, &found.identity);
        }
        return at(root_of(&root, &found.identity)?, found.rank, size, listener, settings, &found.identity);
    }
    match found.launcher {
        Launcher::Own => {
            let why = format!("{} is missing, which `foregather run` sets", own::ROOT);
            Err(Error::from(Cause::Refused { why }))
        }
        Launcher::Pmi => {
            let pmi = Pmi::open(&var("PMI_FD").unwrap_or_default(), settings.join_timeout)?;
            by_store(found.rank, size, found.one_host, settings, |mine| pmi.spread(mine))
        }
        Launcher::Mpi => {
            let mpi = Mpi::joined().ok_or_else(|| refused("MPI was not joined".to_owned()))?;
            let spread =
                |mine: Option<&str>| within(settings.join_timeout, "MPI_Bcast", settings::MORE_TIME, || mpi.spread(mine));
            by_store(found.rank, size, found.one_host, settings, spread)
        }
        Launcher::OpenMpi if !found.one_host => {
            let pmix = Pmix::open()?;
            by_store(found.rank, size, false, settings, |mine| pmix.spread(mine))
        }
        Launcher::Pmix => {
            let pmix = Pmix::open()?;
            let (rank, size) = pmix.place()?;
            by_store(rank, size, false, settings, |mine| pmix.spread(mine))
        }
        Launcher::OpenMpi | Launcher::Slurm | Launcher::Alone => {
            let here = [Ipv4Addr::LOCALHOST.to_string()];
            let hosts = if found.one_host { &here[..] } else { &found.hosts };
            let each = |port: u16| hosts.iter().map(move |host| (host.clone(), port));
            at(ports_of(&found.identity).flat_map(each).collect(), found.rank, size, listener, settings, &found.identity)
        }
    }
}

/// Meets at an address that all ranks know.
fn at(
    candidates: Vec<(String, u16)>,
    rank: Rank,
    size: u32,
    listener: Option<TcpListener>,
    settings: &Settings,
    name: &str,
) -> Result<JoinInfo, Error> {
    let listener = match listener {
        _ if rank != 0 => None,
        Some(listener) => Some(listener),
        None => {
            let local =
                candidates.iter().all(|(host, _)| host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback()) || host == "localhost");
            Some(bind(candidates.iter().map(|(_, port)| *port), local, settings)?)
        }
    };
    Ok(JoinInfo { rank, size, name: name.as_bytes().to_vec(), candidates, listener })
}

/// Meets at an address that rank 0 stores in the launcher's key-value store.
fn by_store(
    rank: Rank,
    size: u32,
    one_host: bool,
    settings: &Settings,
    spread: impl FnOnce(Option<&str>) -> Result<String, Error>,
) -> Result<JoinInfo, Error> {
    let bound = (rank == 0).then(|| begin_store(one_host, settings)).transpose();
    // A rank 0 without a socket still takes part, because the others wait for it.
    let told = spread(bound.as_ref().ok().and_then(Option::as_ref).map(|(_, mine)| &mine[..]));
    let listener = bound?.map(|(listener, _)| listener);
    let told = told?;
    let mut parts = told.split('/');
    match (parts.next(), parts.next().and_then(|port| port.parse().ok()), parts.next()) {
        (Some(host), Some(port), Some(name)) if !host.is_empty() => {
            Ok(JoinInfo { rank, size, name: name.as_bytes().to_vec(), candidates: vec![(host.to_owned(), port)], listener })
        }
        _ => Err(refused(format!("rank 0 said where it is by `{}`: is it of another version?", told.escape_debug()))),
    }
}

/// Returns rank 0's socket, and the address that it publishes.
fn begin_store(one_host: bool, settings: &Settings) -> Result<(TcpListener, String), Error> {
    let bound = bind([0], one_host, settings)?;
    let port = bound.local_addr().map_err(|error| refused(format!("its socket has no port: {error}")))?.port();
    let host = match settings.host_address {
        Some(address) => address.to_string(),
        None if one_host => Ipv4Addr::LOCALHOST.to_string(),
        None => rustix::system::uname().nodename().to_string_lossy().into_owned(),
    };
    Ok((bound, format!("{host}/{port}/{}", hex(&secret::random()?[..8]))))
}

/// Binds the first free port.
fn bind(ports: impl IntoIterator<Item = u16>, loopback: bool, settings: &Settings) -> Result<TcpListener, Error> {
    let address = settings.host_address.unwrap_or(IpAddr::V4(if loopback { Ipv4Addr::LOCALHOST } else { Ipv4Addr::UNSPECIFIED }));
    let mut complaint = String::new();
    for port in ports {
        match TcpListener::bind((address, port)) {
            Ok(listener) => return Ok(listener),
            Err(error) => complaint = format!("{address} port {port}: {error}"),
        }
    }
    Err(refused(format!("no port for the job's hub is free ({complaint}): set FOREGATHER_ROOT=host:port to one that is")))
}

/// Parses `host:port`, or `host` for ports derived from the job's name.
pub(crate) fn root_of(root: &str, identity: &str) -> Result<Vec<(String, u16)>, Error> {
    let wrong = || refused(format!("{} should be host:port or host, and is `{}`", own::ROOT, root.escape_debug()));
    // More than one colon and no bracket: an IPv6 address without a port.
    let bare = root.parse::<IpAddr>().is_ok() || !root.contains(':');
    let (host, ports) = if bare {
        (root, ports_of(identity).collect())
    } else {
        let (host, port) = root.rsplit_once(':').ok_or_else(wrong)?;
        (host, vec![port.parse().ok().filter(|&port| port > 0).ok_or_else(wrong)?])
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    if host.is_empty() { Err(wrong()) } else { Ok(ports.into_iter().map(|port| (host.to_owned(), port)).collect()) }
}

fn ports_of(identity: &str) -> impl Iterator<Item = u16> {
    // Fowler, Noll and Vo's hash: it only has to differ between jobs.
    let hash =
        identity.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    let ports = PORTS.len() as u64;
    (0..CANDIDATES).map(move |n| PORTS.start + ((hash % ports + u64::from(n) * 797) % ports) as u16)
}

fn refused(why: String) -> Error {
    Error::from(Cause::Refused { why })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_root_has_a_port_or_gets_some() {
        assert_eq!(root_of("n1:80", "x"), Ok(vec![("n1".to_owned(), 80)]));
        assert_eq!(root_of("[fd00::1]:80", "x"), Ok(vec![("fd00::1".to_owned(), 80)]));
        let made = root_of("fd00::1", "x").unwrap();
        assert_eq!((made.len(), &made[0].0[..]), (usize::from(CANDIDATES), "fd00::1"));
        for bad in [":80", "n1:", "n1:0", "n1:70000", "a:b:c"] {
            assert!(root_of(bad, "x").is_err(), "{bad}");
        }
    }

    #[test]
    fn the_next_free_port_is_taken() {
        let settings = Settings::from(|_| None).unwrap();
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        let listener = bind([port, 0], true, &settings).unwrap();
        assert!(listener.local_addr().unwrap().ip().is_loopback());
        let error = bind([port], true, &settings).unwrap_err().to_string();
        assert!(error.contains(&port.to_string()) && error.contains("FOREGATHER_ROOT"), "{error}");
    }

    proptest! {
        #[test]
        fn ports_differ_and_are_those_nobody_else_gives_away(identity in ".{0,40}") {
            let mut ports: Vec<u16> = ports_of(&identity).collect();
            prop_assert!(ports.iter().all(|port| PORTS.contains(port)));
            ports.sort_unstable();
            ports.dedup();
            prop_assert_eq!(ports.len(), usize::from(CANDIDATES));
        }
    }
}
