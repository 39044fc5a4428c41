//! A process's membership in its job, from joining to leaving.
use crate::coordinator::{self, Coordinator};
use crate::detect::{Detected, Launcher, detect};
use crate::frame::{ADDRESS_MAX, JobFrame};
use crate::heartbeat::{self, HeartbeatState, Neighbour, Tending};
use crate::join;
use crate::meet::{JoinInfo, meet};
use crate::own;
use crate::place;
use crate::secret::{self, JobKey, Token};
use crate::settings::{self, Settings};
use crate::whereabouts::Whereabouts;
use foregather_host::failure_detector::FailureDetector;
use foregather_machine::{Cause, Error, Rank};
use foregather_mpi::{Mpi, within};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::net::{IpAddr, Shutdown};
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// A launcher's descriptors can be used only once.
static JOINED: AtomicBool = AtomicBool::new(false);

/// How long a rank that knows of a loss waits before it exits, so that its launcher sees the lost rank exit
/// first.
const AFTERMATH: Duration = Duration::from_millis(100);

/// Joins MPI, which provides rank and size whatever launcher started it.
fn by_mpi(found: Detected, settings: &Settings) -> Result<Detected, Error> {
    let by_open_mpi = own::variable("OMPI_COMM_WORLD_SIZE").is_some();
    let mpi = within(settings.join_timeout, "MPI_Init", settings::MORE_TIME, || Mpi::join((found.size, by_open_mpi)))?;
    Ok(Detected { rank: mpi.rank(), size: Some(mpi.size()), ..found })
}

/// This process as a rank of its job. If it is dropped without [`Job::leave`], the other ranks report it
/// lost.
#[derive(Debug)]
pub struct Job {
    rank: Rank,
    size: u32,
    launcher: Launcher,
    host_address: Option<IpAddr>,
    failure_detector: Arc<FailureDetector>,
    /// `None` for a job with one rank.
    line: Option<CoordinatorLink>,
    /// The location of each rank.
    places: Vec<Whereabouts>,
    /// The number of the next exchange; locked during an exchange.
    round: Mutex<u32>,
}

/// The connection to the coordinator, and the threads at its ends.
#[derive(Debug)]
struct CoordinatorLink {
    shared: Arc<HeartbeatState>,
    key: JobKey,
    heartbeat: JoinHandle<()>,
    coordinator: Option<coordinator::CoordinatorThread>,
}

impl Job {
    /// Joins the job for which this process was started, under any launcher. Without a launcher, the job has
    /// one rank. A process can call this once. Returns when all ranks have joined.
    ///
    /// # Errors
    /// [`Cause::Refused`] if the variables are invalid, the coordinator cannot be found, it or this process
    /// lacks the job's secret, the rank is taken, the versions differ, or not all ranks join within
    /// `FOREGATHER_JOIN_TIMEOUT`.
    pub fn join() -> Result<Self, Error> {
        if JOINED.swap(true, AcqRel) {
            return Err(Error::from(Cause::Refused { why: "it has joined its job already".to_owned() }));
        }
        let settings = Settings::from_env()?;
        let mut found = detect()?;
        if found.launcher == Launcher::Mpi {
            found = by_mpi(found, &settings)?;
        }
        let root = match found.launcher {
            Launcher::Own => place::take_own(found.rank, &found.identity)?,
            _ => None,
        };
        if found.size == Some(1) {
            return Self::alone(found.launcher, &settings);
        }
        Self::begin(found.launcher, meet(&found, root, &settings)?, &secret::find()?, settings)
    }

    fn alone(launcher: Launcher, settings: &Settings) -> Result<Self, Error> {
        Ok(Self {
            rank: 0,
            size: 1,
            launcher,
            host_address: settings.host_address,
            failure_detector: Arc::default(),
            line: None,
            places: vec![Whereabouts::here()?],
            round: Mutex::default(),
        })
    }

    pub(crate) fn begin(launcher: Launcher, mut meeting: JoinInfo, secret: &[u8], settings: Settings) -> Result<Self, Error> {
        let key = JobKey::new(secret, &meeting.name);
        let (rank, size) = (meeting.rank, meeting.size);
        let coordinator =
            meeting.listener.take().map(|listener| Coordinator::start(listener, size, key.clone(), settings)).transpose()?;
        let (stream, inbox) = join::join(&meeting, &key, &settings)?;
        let shared = Arc::new(HeartbeatState::new(rank, stream));
        let heartbeat = heartbeat::start(Arc::clone(&shared), inbox, settings)?;
        let mut job = Self {
            rank,
            size,
            launcher,
            host_address: settings.host_address,
            failure_detector: Arc::clone(&shared.failure_detector),
            line: Some(CoordinatorLink { shared, key, heartbeat, coordinator }),
            places: vec![],
            round: Mutex::default(),
        };
        job.look_around()?;
        Ok(job)
    }

    /// Exchanges locations with all ranks.
    fn look_around(&mut self) -> Result<(), Error> {
        let addresses = self.exchange(&Whereabouts::here()?.encode())?;
        for (from, address) in (0..).zip(addresses) {
            let garbled = || Cause::ProtocolViolation { from, what: "a rank address that does not say where it is" };
            self.places.push(Whereabouts::decode(&address).ok_or_else(garbled)?);
        }
        let Some(line) = &self.line else { return Ok(()) };
        let here = self.places[self.rank as usize].pid;
        let mut neighbours = line.shared.neighbours.lock().unwrap_or_else(PoisonError::into_inner);
        for rank in self.local_ranks().into_iter().filter(|&rank| self.places[rank as usize].pid != here) {
            // If a process has died by now, its connection shows it.
            let process = Pid::from_raw(self.places[rank as usize].pid);
            let opened = process.and_then(|process| Some((process, pidfd_open(process, PidfdFlags::empty()).ok()?)));
            neighbours.extend(opened.map(|(process, pidfd)| {
                let process = process.as_raw_nonzero().get() as u32;
                Neighbour { rank, process, pidfd }
            }));
        }
        Ok(())
    }

    /// Returns this process's rank.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// Returns the number of ranks.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Returns the launcher that started this process.
    pub fn launcher(&self) -> Launcher {
        self.launcher
    }

    /// Returns the value of `FOREGATHER_HOST_ADDRESS`, the address at which other hosts reach this one.
    pub fn host_address(&self) -> Option<IpAddr> {
        self.host_address
    }

    /// Returns the ranks on this host, including this one, in order. They can share memory.
    pub fn local_ranks(&self) -> Vec<Rank> {
        let here = &self.places[self.rank as usize];
        (0..).zip(&self.places).filter(|(_, place)| place.beside(here)).map(|(rank, _)| rank).collect()
    }

    /// Returns the PID of a rank's process, on its own host.
    ///
    /// # Errors
    /// [`Cause::Rank`] if there is no such rank.
    pub fn process(&self, rank: Rank) -> Result<i32, Error> {
        let place = self.places.get(rank as usize);
        place.map(|place| place.pid).ok_or_else(|| Cause::Rank { rank, size: self.size }.into())
    }

    /// Returns the name of a rank's host, for messages.
    ///
    /// # Errors
    /// [`Cause::Rank`] if there is no such rank.
    pub fn host(&self, rank: Rank) -> Result<&str, Error> {
        let place = self.places.get(rank as usize);
        place.map(|place| &place.host[..]).ok_or_else(|| Cause::Rank { rank, size: self.size }.into())
    }

    /// Returns a secret that all ranks of the job compute alike and others cannot compute.
    pub(crate) fn secret(&self) -> Result<Token, Error> {
        let round = *self.round.lock().unwrap_or_else(PoisonError::into_inner);
        self.line.as_ref().map_or_else(secret::random, |line| Ok(line.key.of_round(round)))
    }

    /// Sends this rank's address, of at most 16 KiB, to all ranks, and returns all rank addresses in rank
    /// order. All ranks must make these calls in the same order.
    ///
    /// # Errors
    /// [`Cause::Length`] for a longer rank address, [`Cause::PeerLost`] if a rank was lost,
    /// [`Cause::Refused`] if one has left.
    pub fn exchange(&self, address: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
        if address.len() > ADDRESS_MAX {
            return Err(Cause::Length { what: "a rank address", bytes: address.len(), room: ADDRESS_MAX }.into());
        }
        let Some(line) = &self.line else { return Ok(vec![address.to_vec()]) };
        let mut round = self.round.lock().unwrap_or_else(PoisonError::into_inner);
        line.shared.send(&JobFrame::RankAddress { round: *round, bytes: address.to_vec() });
        let addresses = line.shared.addresses(*round)?;
        *round += 1;
        if addresses.len() == self.size as usize {
            Ok(addresses)
        } else {
            Err(Cause::ProtocolViolation { from: 0, what: "too few rank addresses" }.into())
        }
    }

    /// Returns the failure detector, for the waits of this process.
    pub fn failure_detector(&self) -> Arc<FailureDetector> {
        Arc::clone(&self.failure_detector)
    }

    /// Makes the heartbeat thread also drive the progress of these lanes.
    pub(crate) fn look_after(&self, tenders: impl Iterator<Item = Tending>) {
        if let Some(line) = &self.line {
            line.shared.tenders.lock().unwrap_or_else(PoisonError::into_inner).extend(tenders);
        }
    }

    /// Reports to the launcher that this rank has failed on its own, before other ranks can learn of it, so
    /// that the job ends with this rank's exit code, whichever process exits first. `distance` is 0 for the
    /// original failure. Does nothing if a rank was lost before, or under another launcher.
    pub fn report_failure(&self, distance: u8) {
        if self.failure_detector.lost().is_none() {
            place::report_failure(distance);
        }
    }

    /// Waits briefly, so that the rank that failed first can exit first: a launcher takes the first exit that
    /// it sees for the cause of the others.
    pub fn let_the_culprit_end(&self) {
        std::thread::sleep(AFTERMATH);
    }

    /// Leaves the job normally. Rank 0 waits until all others have left, too, because the coordinator is its
    /// thread.
    ///
    /// # Errors
    /// [`Cause::PeerLost`] if a rank was lost meanwhile.
    pub fn leave(mut self) -> Result<(), Error> {
        let lost = match self.line.take() {
            None => None,
            Some(line) => {
                let lost = self.failure_detector.lost();
                // Set before the frame is sent: once all have left, the coordinator closes the connection,
                // and that is not a loss.
                line.shared.leaving.store(true, Release);
                line.shared.send(&JobFrame::Leave);
                lost.or(line.end())
            }
        };
        lost.map_or(Ok(()), |rank| Err(Error::lost(rank)))
    }
}

impl CoordinatorLink {
    /// Closes the connection, and waits for both threads. Returns the lost rank, if the coordinator knows of
    /// one.
    fn end(self) -> Option<Rank> {
        self.shared.leaving.store(true, Release);
        let _ = self.shared.stream.shutdown(Shutdown::Both);
        let _ = self.heartbeat.join();
        self.coordinator.and_then(|coordinator| coordinator.join().ok().flatten())
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if self.failure_detector.lost().is_some() {
            self.let_the_culprit_end();
        }
        // No leave frame is sent, so the coordinator treats it as a loss and informs the others.
        if let Some(line) = self.line.take() {
            line.end();
        }
    }
}
