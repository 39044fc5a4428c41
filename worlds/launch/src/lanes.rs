//! The fabric of a job: shared memory if all ranks are on one host, libfabric otherwise, or the site's MPI if
//! the user selects it.
use crate::heartbeat::Tending;
use crate::job::Job;
use crate::spawn::FABRIC;
use foregather_host::clock;
use foregather_machine::{Address, Cause, Error, Nanos};
use foregather_mpi::{Bells, Mpi};
use foregather_ofi::{Opening, Provider};
use foregather_shm::{Process, Segment, SegmentSpec, ShmFabric, Watch};
use rustix::fd::AsRawFd;
use std::env;
use std::fs::{File, OpenOptions};
use std::sync::Arc;

/// How long ranks may take from the descriptor of their shared memory until all of them have joined it.
const MEETING: Nanos = Nanos::from_ms(30_000);
/// The default libfabric provider.
const USUAL: &str = "tcp";

/// A rank's lanes, by number. Match on it once, near the start of a program. The code below that is generic
/// over [`Fabric`](foregather_machine::Fabric), so messages do not pay for the choice.
pub enum Lanes {
    /// Through shared memory.
    Shm(Vec<foregather_shm::Lane<Process>>),
    /// Through libfabric.
    Ofi(Vec<foregather_ofi::Lane>),
    /// Through the site's MPI.
    Mpi(Vec<foregather_mpi::Lane>),
}

/// Which fabric.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FabricChoice {
    Shm,
    Ofi(String),
    Mpi,
}

impl FabricChoice {
    /// Returns the fabric that `text` names, or `None`.
    fn of(text: &str, one_host: bool) -> Option<Self> {
        match text.trim() {
            "" if one_host => Some(Self::Shm),
            "" | "ofi" => Some(Self::Ofi(USUAL.to_owned())),
            "shm" => Some(Self::Shm),
            "mpi" => Some(Self::Mpi),
            other => other.strip_prefix("ofi:").filter(|provider| !provider.is_empty()).map(|name| Self::Ofi(name.to_owned())),
        }
    }
}

impl Job {
    /// Creates lanes between all ranks of the job. All ranks must call it with the same number.
    /// `FOREGATHER_FABRIC` selects the fabric: `shm`, `ofi`, `ofi:PROVIDER` or `mpi`. The default is `shm` if
    /// all ranks are on one host, and `ofi:tcp` otherwise. Waits of these lanes fail after a rank was lost.
    ///
    /// # Errors
    /// [`Cause::Refused`] if the ranks disagree, or if `shm` was selected and the ranks are not on one host;
    /// [`Cause::Unavailable`] if libfabric or the provider is not installed; the fabric's error about an
    /// impossible number of lanes.
    pub fn lanes(&self, lanes: u32) -> Result<Lanes, Error> {
        let one_host = self.local_ranks().len() == self.size() as usize;
        let text = env::var(FABRIC).unwrap_or_default();
        let choice = FabricChoice::of(&text, one_host);
        // If a rank fails, it informs the others, which would otherwise wait for it.
        let choice = choice.ok_or_else(|| {
            refused(format!("{FABRIC} should be shm, ofi, ofi:PROVIDER or mpi, and is `{}`", text.escape_debug()))
        });
        let choice = self.all_agree(choice)?;
        match choice {
            FabricChoice::Shm if one_host => self.shm(lanes).map(Lanes::Shm),
            FabricChoice::Shm => Err(refused(format!("its ranks live on several hosts, and {FABRIC} is shm: choose ofi"))),
            FabricChoice::Ofi(provider) => self.ofi(&provider, lanes, one_host).map(Lanes::Ofi),
            FabricChoice::Mpi => self.mpi(lanes).map(Lanes::Mpi),
        }
    }

    fn all_agree(&self, mine: Result<FabricChoice, Error>) -> Result<FabricChoice, Error> {
        let addresses = self.exchange(format!("{:?}", mine.as_ref().ok()).as_bytes())?;
        let choice = mine?;
        let own = &addresses[self.rank() as usize];
        match addresses.iter().position(|address| address != own) {
            None => Ok(choice),
            Some(other) => {
                let theirs = String::from_utf8_lossy(&addresses[other]).escape_debug().to_string();
                Err(refused(format!("rank {other} chose another fabric ({theirs}): give {FABRIC} to all ranks alike")))
            }
        }
    }

    /// Reports to all ranks whether this one succeeded. If one rank failed, all fail.
    fn all_well<T>(&self, mine: Result<T, Error>, what: &str) -> Result<T, Error> {
        let address = mine.as_ref().err().map(|error| format!("{error:.400}")).unwrap_or_default();
        let addresses = self.exchange(address.as_bytes())?;
        let mine = mine?;
        if let (Some(lost), true) = (self.failure_detector().lost(), addresses.iter().any(|address| !address.is_empty())) {
            // The loss is the reason why it failed there.
            return Err(Error::lost(lost));
        }
        match addresses.iter().position(|address| !address.is_empty()) {
            None => Ok(mine),
            Some(other) => Err(refused(format!("{what} failed at rank {other}: {}", String::from_utf8_lossy(&addresses[other])))),
        }
    }

    /// Creates lanes in memory of rank 0, which the other ranks open through rank 0's `/proc/PID/fd`.
    fn shm(&self, lanes: u32) -> Result<Vec<foregather_shm::Lane<Process>>, Error> {
        let made = (self.rank() == 0).then(|| ShmFabric::new(SegmentSpec::new(self.size(), lanes))).transpose();
        let address = match &made {
            Ok(Some(exchange)) => format!("/proc/{}/fd/{}", self.process(0)?, exchange.fd().as_raw_fd()),
            _ => String::new(),
        };
        let addresses = self.exchange(address.as_bytes())?;
        let opened = made.and_then(|made| made.map_or_else(|| open(&String::from_utf8_lossy(&addresses[0]), lanes), Ok));
        let joined = opened.and_then(|exchange| exchange.join(self.rank()).map(|()| exchange));
        let exchange = Arc::new(self.all_well(joined, "sharing memory")?);
        let cpu = Watch::by(self.failure_detector()).process();
        exchange.meet(&cpu, clock::now() + MEETING)?;
        (0..lanes).map(|lane| exchange.lane(cpu.clone(), Address { rank: self.rank(), lane })).collect()
    }

    fn ofi(&self, provider: &str, lanes: u32, one_host: bool) -> Result<Vec<foregather_ofi::Lane>, Error> {
        // Loopback only affects this host; a variable can set another address.
        let loopback =
            (one_host && self.host_address().is_none() && provider.split(';').next() == Some(USUAL)).then_some("127.0.0.1");
        let secret = self.secret()?;
        let open = || {
            let provider = Arc::new(Provider::open(provider, loopback)?);
            Opening::new(provider, (self.rank(), self.size()), lanes, &secret, Some(self.failure_detector()))
        };
        let opening = self.all_well(open(), "opening libfabric")?;
        let addresses = self.exchange(&opening.address())?;
        let lanes = self.all_well(opening.connect(&addresses), "connecting by libfabric")?;
        self.look_after(lanes.iter().map(|lane| {
            let mut tender = lane.tender();
            Tending(Box::new(move || tender.tend()))
        }));
        Ok(lanes)
    }

    fn mpi(&self, lanes: u32) -> Result<Vec<foregather_mpi::Lane>, Error> {
        let joined = Mpi::joined().filter(|mpi| (mpi.rank(), mpi.size()) == (self.rank(), self.size()));
        let joined = joined.ok_or_else(|| {
            refused(format!(
                "{FABRIC} is mpi, and this job has not joined MPI: start it with the MPI's own `mpiexec`, not by {}",
                self.launcher()
            ))
        });
        let bells = self.bells(lanes)?;
        let made = joined.and_then(|mpi| foregather_mpi::Lane::group(mpi, lanes, Some(&self.failure_detector()), bells));
        let lanes = self.all_well(made, "making lanes over MPI")?;
        self.look_after(lanes.first().into_iter().map(|lane| {
            let mut progress = lane.progress_handle();
            Tending(Box::new(move || progress.tend()))
        }));
        Ok(lanes)
    }

    /// Returns memory with which the ranks of this host wake each other, because MPI cannot wake a sleeping
    /// rank. Returns `None` if one of them cannot open it.
    fn bells(&self, lanes: u32) -> Result<Option<Bells>, Error> {
        let (local, size) = (self.local_ranks(), self.size());
        let maker = local.first().copied().unwrap_or_default();
        let made = (self.rank() == maker).then(|| Segment::of_lines(Bells::lines(local.len(), size, lanes)).ok()).flatten();
        let path = match &made {
            Some(segment) => format!("/proc/{}/fd/{}", self.process(maker)?, segment.fd().as_raw_fd()),
            None => String::new(),
        };
        let paths = self.exchange(path.as_bytes())?;
        let path = String::from_utf8_lossy(&paths[maker as usize]);
        let opened = made.or_else(|| Segment::attach(opened(&path)?.ok()?.into()).ok());
        let bells = opened.and_then(|segment| Bells::shared(Arc::new(segment).lines(), &local, (size, lanes)).ok());
        let worked = self.exchange(&[u8::from(bells.is_some())])?;
        Ok(bells.filter(|_| local.iter().all(|&rank| worked[rank as usize] == [1])))
    }
}

/// Opens a descriptor of another process. Returns `None` if the text does not name one.
fn opened(path: &str) -> Option<std::io::Result<File>> {
    path.starts_with("/proc/").then(|| OpenOptions::new().read(true).write(true).open(path))
}

fn open(path: &str, lanes: u32) -> Result<ShmFabric, Error> {
    let file = opened(path).ok_or_else(|| refused(format!("rank 0 could not make the shared memory of {lanes} lanes")))?;
    let file = file.map_err(|error| {
        refused(format!(
            "the memory of rank 0 cannot be opened ({path}: {error}): run all ranks as one user, or set {FABRIC}=ofi"
        ))
    })?;
    ShmFabric::attach(file.into())
}

fn refused(why: String) -> Error {
    Error::from(Cause::Refused { why })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fabric_is_chosen_by_where_ranks_live_unless_somebody_says() {
        let ofi = |name: &str| Some(FabricChoice::Ofi(name.to_owned()));
        assert_eq!(FabricChoice::of("", true), Some(FabricChoice::Shm));
        assert_eq!(FabricChoice::of("", false), ofi("tcp"));
        assert_eq!(FabricChoice::of("ofi", true), ofi("tcp"));
        assert_eq!(FabricChoice::of("mpi", true), Some(FabricChoice::Mpi));
        assert_eq!(FabricChoice::of("ofi:verbs", true), ofi("verbs"));
        assert_eq!(FabricChoice::of("shm", false), Some(FabricChoice::Shm));
        for bad in ["tcp", "ofi:", "SHM"] {
            assert_eq!(FabricChoice::of(bad, true), None);
        }
    }
}
