//! Starts master and slave, and sees to it that both come back.
use super::sides::Measured;
use super::sides::PingPongMemory;
use super::sides::link;
use super::{PartyKind, PingPong, Setup, WHAT, sides};
use foregather_host::{affinity, child::Child, clock};
use foregather_machine::{Cause, Error, Nanos, WaitContext};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// For starting a process, for the warm-up on a crowded machine, and for the last round trip.
pub(super) const GRACE: Nanos = Nanos::from_ms(20_000);
/// How often the supervisor looks whether the slave lives.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// How long the slave may take to end when all is over.
const ENDING: Nanos = Nanos::from_ms(5_000);
/// How long the threads may take to end when all is lost.
const LAST_MOMENT: Nanos = Nanos::from_ms(1_000);

/// Which part has ended, and how.
enum PartEnd {
    Master(Result<Measured, Error>),
    Slave(Result<(), Error>),
}

/// Plays one series; `started` is told the number of the slave's process.
///
/// Master and slave are threads of their own that are never joined: a process that dies within the C
/// library's condition variable takes a lock with it for which its partner then waits forever, whatever one
/// does. Such a partner stays asleep, and the caller gets its error all the same.
pub(super) fn supervise(setup: &Setup, command: Command, grace: Nanos, started: impl FnOnce(u32)) -> Result<PingPong, Error> {
    clock::init();
    let (setup, board) = (*setup, Arc::new(PingPongMemory::new(setup)?));
    let deadline = clock::now() + setup.at_most + setup.gap + grace;
    // Started here, since the kernel kills it together with the thread that starts it.
    let child = match setup.side {
        PartyKind::Threads => None,
        PartyKind::Processes => Some(spawn(&setup, command, &board)?),
    };
    if let Some(child) = &child {
        started(child.id());
    }
    let (sender, events) = channel();
    if child.is_none() {
        let (sender, board) = (sender.clone(), board.clone());
        thread::spawn(move || sender.send(PartEnd::Slave(slave_thread(&setup, &board))));
    }
    let masters_board = board.clone();
    thread::spawn(move || sender.send(PartEnd::Master(master_thread(&setup, &masters_board))));
    let measured = SeriesSupervisor { events, board: &board, slave: child.as_ref(), deadline }.until_both_have_ended()?;
    if let Some(child) = child {
        farewell(child)?;
    }
    let (slave_time, slave_cpus) = board.reported();
    Ok(PingPong {
        cycles: measured.cycles,
        master_cpus: measured.cpus,
        slave_cpus,
        cpu_time: measured.cpu_time + slave_time,
        master_switches: measured.switches,
    })
}

fn spawn(setup: &Setup, mut command: Command, board: &PingPongMemory) -> Result<Child, Error> {
    sides::tell(&mut command, board, setup.method, setup.slave);
    // What it complains about the user shall see.
    command.stdin(Stdio::null()).stdout(Stdio::null());
    Child::spawn(command, &board.descriptors())
}

fn slave_thread(setup: &Setup, board: &PingPongMemory) -> Result<(), Error> {
    setup.slave.map_or(Ok(()), affinity::pin)?;
    sides::slave(board, &*link(setup.method, board, WaitContext::new(WHAT, 1).of(0)))
}

fn master_thread(setup: &Setup, board: &PingPongMemory) -> Result<Measured, Error> {
    setup.master.map_or(Ok(()), affinity::pin)?;
    sides::master(setup, board, &*link(setup.method, board, WaitContext::new(WHAT, 0).of(1)))
}

/// What the supervisor looks at.
struct SeriesSupervisor<'a> {
    events: Receiver<PartEnd>,
    board: &'a Arc<PingPongMemory>,
    slave: Option<&'a Child>,
    deadline: Nanos,
}

impl SeriesSupervisor<'_> {
    /// Waits for the master, and for a slave that is a thread. If one fails or dies, or the time is up, ends
    /// the others' waits, and blames that.
    fn until_both_have_ended(&self) -> Result<Measured, Error> {
        let (mut measured, mut slave_ended) = (None, self.slave.is_some());
        while measured.is_none() || !slave_ended {
            match self.next()? {
                Some(PartEnd::Master(Ok(all))) => measured = Some(all),
                Some(PartEnd::Slave(Ok(()))) => slave_ended = true,
                Some(PartEnd::Master(Err(error)) | PartEnd::Slave(Err(error))) => return Err(self.lost(error)),
                None => self.trouble().map_or(Ok(()), |cause| Err(self.lost(cause)))?,
            }
        }
        measured.ok_or_else(|| Error::lost(0))
    }

    /// The next event, if there is one soon.
    fn next(&self) -> Result<Option<PartEnd>, Error> {
        match self.events.recv_timeout(LOOK_INTERVAL) {
            Ok(event) => Ok(Some(event)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            // The master has panicked.
            Err(RecvTimeoutError::Disconnected) => Err(self.lost(Error::lost(0))),
        }
    }

    /// Returns an error if the slave is dead or the time is over. After the slave was told to stop, it may
    /// exit before the master does.
    fn trouble(&self) -> Option<Error> {
        if !self.board.stopped() && self.slave.is_some_and(|child| !child.alive()) {
            return Some(Error::lost(1));
        }
        let why = WaitContext::new(WHAT, 0).of(1).until(self.deadline);
        (clock::now() > self.deadline).then(|| Error::timed_out(&why, clock::now()))
    }

    /// Ends all waits that can be ended, gives the others a moment to end, and returns what is to blame.
    fn lost(&self, cause: Error) -> Error {
        let (board, slave_lives) = (self.board.clone(), !matches!(cause.cause(), Cause::PeerLost { .. }));
        thread::spawn(move || board.cancel(slave_lives));
        let deadline = clock::now() + LAST_MOMENT;
        while clock::now() < deadline && !matches!(self.events.recv_timeout(LOOK_INTERVAL), Err(RecvTimeoutError::Disconnected)) {
        }
        cause
    }
}

/// The slave has been told that it is over: it reports and ends.
fn farewell(mut child: Child) -> Result<(), Error> {
    let deadline = clock::now() + ENDING;
    while child.alive() && clock::now() < deadline {
        thread::sleep(Duration::from_micros(200));
    }
    let ended = child.wait_until(Nanos::ZERO)?;
    if ended.is_some_and(|status| status.success()) { Ok(()) } else { Err(Error::lost(1)) }
}
