//! Starts master and slave, and sees to it that both come back.
use super::board::Board;
use super::link::link;
use super::master::{self, Measured};
use super::{PingPong, Setup, Side, WHAT, slave};
use foregather_host::{affinity, child::Child, clock};
use foregather_machine::{Error, Nanos, Why};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// For starting a process, for the warm-up on a crowded machine, and for the last round trip.
pub(super) const GRACE: Nanos = Nanos::from_ms(20_000);
/// How often the supervisor looks whether the slave lives.
const LOOK_INTERVAL: Duration = Duration::from_millis(50);
/// How long the slave may take to end when all is over.
const ENDING: Nanos = Nanos::from_ms(5_000);

/// Which part has ended, and how.
enum Event {
    Master(Result<Measured, Error>),
    Slave(Result<(), Error>),
}

/// Plays one series; `started` is told the number of the slave's process.
pub(super) fn supervise(setup: &Setup, command: Command, grace: Nanos, started: impl FnOnce(u32)) -> Result<PingPong, Error> {
    clock::init();
    let board = Board::new(setup)?;
    let deadline = clock::now() + setup.at_most + setup.gap + grace;
    // Started here, since the kernel kills it together with the thread that starts it.
    let child = match setup.side {
        Side::Threads => None,
        Side::Processes => Some(spawn(setup, command, &board)?),
    };
    if let Some(child) = &child {
        started(child.id());
    }
    let measured = thread::scope(|threads| {
        let (sender, events) = channel();
        if child.is_none() {
            let (sender, board) = (sender.clone(), &board);
            threads.spawn(move || sender.send(Event::Slave(slave_thread(setup, board))));
        }
        let (board, partner) = (&board, child.as_ref());
        threads.spawn(move || sender.send(Event::Master(master_thread(setup, board))));
        watch(&events, board, partner, deadline)
    })?;
    if let Some(child) = child {
        farewell(child)?;
    }
    let (slave_time, slave_cpus) = board.reported();
    Ok(PingPong {
        cycles: measured.cycles,
        cycles_per_second: clock::facts().hz,
        master_cpus: measured.cpus,
        slave_cpus,
        cpu_time: measured.cpu_time + slave_time,
        master_switches: measured.switches,
    })
}

fn spawn(setup: &Setup, mut command: Command, board: &Board) -> Result<Child, Error> {
    slave::tell(&mut command, board, setup.method, setup.slave);
    // What it complains about the user shall see.
    command.stdin(Stdio::null()).stdout(Stdio::null());
    Child::spawn(command, &board.descriptors())
}

fn slave_thread(setup: &Setup, board: &Board) -> Result<(), Error> {
    setup.slave.map_or(Ok(()), affinity::pin)?;
    slave::play(board, &*link(setup.method, board, Why::new(WHAT, 1).of(0)))
}

fn master_thread(setup: &Setup, board: &Board) -> Result<Measured, Error> {
    setup.master.map_or(Ok(()), affinity::pin)?;
    master::play(setup, board, &*link(setup.method, board, Why::new(WHAT, 0).of(1)))
}

/// Waits for the master. If the slave fails or dies, or the time is up, ends the master's waits, and blames that.
fn watch(events: &Receiver<Event>, board: &Board, slave: Option<&Child>, deadline: Nanos) -> Result<Measured, Error> {
    let mut cause = None;
    let mut blame = |error: Error| {
        if cause.is_none() {
            board.cancel(!matches!(error, Error::PeerLost { .. }));
            cause = Some(error);
        }
        cause.clone()
    };
    loop {
        match events.recv_timeout(LOOK_INTERVAL) {
            Ok(Event::Master(Ok(measured))) => return Ok(measured),
            Ok(Event::Master(Err(error))) => return Err(blame(error.clone()).unwrap_or(error)),
            Ok(Event::Slave(Err(error))) => drop(blame(error)),
            Ok(Event::Slave(Ok(()))) => {}
            // Once it has been told that it is over it may end before the master does.
            Err(RecvTimeoutError::Timeout) if !board.stopped() && slave.is_some_and(|child| !child.alive()) => {
                drop(blame(Error::PeerLost { rank: 1 }));
            }
            Err(RecvTimeoutError::Timeout) if clock::now() > deadline => {
                let why = Why::new(WHAT, 0).of(1).until(deadline);
                drop(blame(Error::timed_out(&why, clock::now())));
            }
            Err(RecvTimeoutError::Timeout) => {}
            // The master has panicked; its panic goes on when the threads are joined.
            Err(RecvTimeoutError::Disconnected) => {
                return Err(blame(Error::Poisoned { by: Some(0) }).unwrap_or(Error::PeerLost { rank: 0 }));
            }
        }
    }
}

/// The slave has been told that it is over: it reports and ends.
fn farewell(mut child: Child) -> Result<(), Error> {
    let deadline = clock::now() + ENDING;
    while child.alive() && clock::now() < deadline {
        thread::sleep(Duration::from_micros(200));
    }
    let ended = child.wait_until(Nanos::ZERO)?;
    if ended.is_some_and(|status| status.success()) { Ok(()) } else { Err(Error::PeerLost { rank: 1 }) }
}
