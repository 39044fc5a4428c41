//! The state that both variants share, and the loop: one queue of operations and messages under way.
use super::account::RankAccount;
use super::deadlocked;
use super::error::{GoalError, GoalPlace};
use super::format::{Dependents, GoalKind, GoalOperation, Node};
use super::loggopsim::LogGopsimRules;
use super::loggp::LogGpRules;
use super::matching::MatchQueue;
use super::network::{GoalNetwork, GoalVariant};
use super::noise::GoalNoise;
use super::outcome::GoalOutcome;
use super::queue::{GoalEvent, GoalEvents};
use super::trace::GoalTrace;
use foregather_machine::{Nanos, Rank};
use slab::Slab;

/// Time ends here: 146 years.
const END_NS: u64 = 1 << 62;
/// The most processors and NICs of all ranks together.
const PLACES_MAX: u64 = 1 << 26;
/// Progress is reported after this number of events.
const REPORT: u64 = 1 << 18;

/// What is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// An operation is ready, and needs its processor.
    Ready(GoalKind),
    /// A message's first byte reaches its receiver.
    Arrives,
    /// Its last byte has arrived.
    There,
    /// A rendezvous asks for its receive.
    Asks,
    /// The receive answers.
    Answers,
    /// Its receiver's processor is to take it.
    Takes,
    /// An operation is over.
    Ends,
}

/// An operation or a message under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flight {
    pub(super) stage: Stage,
    pub(super) cpu: u8,
    pub(super) nic: u8,
    /// The rank where it is.
    pub(super) host: Rank,
    pub(super) peer: Rank,
    pub(super) tag: u32,
    /// The number of the operation; of a message, that of its send.
    pub(super) number: u32,
    /// The slot of the receive that a message is for, if that is known.
    pub(super) receive: u32,
    pub(super) size: u64,
    /// When a message was sent.
    pub(super) begun: u64,
    pub(super) on_end: Dependents,
    pub(super) on_start: Dependents,
}

/// No receive is known yet.
pub(super) const NO_SLOT: u32 = u32::MAX;

/// How operations and messages take time.
pub(super) trait GoalRules {
    /// When an operation that became ready at `now` is looked at.
    fn looked_at(simulation: &Simulation, flight: &Flight, now: u64) -> u64;
    /// The order in which operations that became ready at one moment are looked at.
    fn order(ready: &mut [(Node, u32)]);
    /// Something happens.
    fn happens(simulation: &mut Simulation, event: GoalEvent) -> Result<(), GoalError>;
}

/// All ranks and the network between them.
pub(super) struct Simulation {
    pub(super) trace: GoalTrace,
    pub(super) network: GoalNetwork,
    noise: Option<GoalNoise>,
    events: GoalEvents,
    pub(super) flights: Slab<Flight>,
    cpus: usize,
    nics: usize,
    /// When each processor is free, and each NIC to send and to receive.
    cpu_free: Vec<u64>,
    send_free: Vec<u64>,
    receive_free: Vec<u64>,
    /// Receives that wait for a message, and messages that wait for a receive.
    pub(super) posted: Vec<MatchQueue>,
    pub(super) arrived: Vec<MatchQueue>,
    pub(super) accounts: Vec<RankAccount>,
    pub(super) over: u64,
    pub(super) messages: u64,
    ready: Vec<(Rank, u32)>,
    nodes: Vec<(Node, u32)>,
}

/// How a trace is run.
#[derive(Clone, Debug)]
pub struct GoalRun {
    /// What messages cost.
    pub network: GoalNetwork,
    /// What the system takes from programs, if anything.
    pub noise: Option<GoalNoise>,
}

/// Runs a trace. `progress` is called now and then with the operations that are over and all of them; the
/// simulation stops if it returns false.
///
/// # Errors
/// If ranks wait forever, with their cycle; if the trace contradicts itself, cannot be read, or was
/// stopped.
pub fn simulate(trace: GoalTrace, run: &GoalRun, progress: &mut dyn FnMut(u64, u64) -> bool) -> Result<GoalOutcome, GoalError> {
    let simulation = Simulation::new(trace, run)?;
    match run.network.variant {
        GoalVariant::LogGopsim => simulation.run::<LogGopsimRules>(progress),
        GoalVariant::LogGp(_) => simulation.run::<LogGpRules>(progress),
    }
}

impl Simulation {
    fn new(trace: GoalTrace, run: &GoalRun) -> Result<Self, GoalError> {
        let (ranks, cpus, nics) = (trace.ranks() as usize, trace.cpus() as usize, trace.nics() as usize);
        let places = trace.ranks() as u64 * (cpus + nics) as u64;
        if places > PLACES_MAX {
            return Err(GoalError::file(format!(
                "{ranks} ranks of {cpus} processors and {nics} NICs: at most {PLACES_MAX} of them are simulated"
            )));
        }
        let queues = || (0..ranks).map(|_| MatchQueue::default()).collect();
        Ok(Self {
            trace,
            network: run.network,
            noise: run.noise.clone(),
            events: GoalEvents::default(),
            flights: Slab::new(),
            cpus,
            nics,
            cpu_free: vec![0; ranks * cpus],
            send_free: vec![0; ranks * nics],
            receive_free: vec![0; ranks * nics],
            posted: queues(),
            arrived: queues(),
            accounts: vec![RankAccount::default(); ranks],
            over: 0,
            messages: 0,
            ready: Vec::new(),
            nodes: Vec::new(),
        })
    }

    fn run<R: GoalRules>(mut self, progress: &mut dyn FnMut(u64, u64) -> bool) -> Result<GoalOutcome, GoalError> {
        let mut roots = Vec::new();
        for rank in 0..self.trace.ranks() {
            self.trace.roots(rank, &mut roots)?;
            self.ready.extend(roots.iter().map(|&number| (rank, number)));
            self.admit::<R>(0)?;
        }
        let mut events = 0;
        while let Some(event) = self.events.pop() {
            R::happens(&mut self, event)?;
            if !self.ready.is_empty() {
                self.admit::<R>(event.time())?;
            }
            events += 1;
            if events % REPORT == 0 && !progress(self.over, self.trace.operations()) {
                return Err(GoalError::file("stopped"));
            }
        }
        deadlocked::check(&mut self)?;
        let unreceived = self.arrived.iter().map(|queue| queue.slots().count() as u64).sum();
        for (rank, account) in self.accounts.iter_mut().enumerate() {
            account.end = Nanos(self.cpu_free[rank * self.cpus..][..self.cpus].iter().copied().max().unwrap_or(0));
        }
        Ok(GoalOutcome { ranks: self.accounts, operations: self.over, messages: self.messages, unreceived, events })
    }

    /// Queues the operations that became ready at `now`.
    fn admit<R: GoalRules>(&mut self, now: u64) -> Result<(), GoalError> {
        if let &[(host, number)] = self.ready.as_slice() {
            self.ready.clear();
            let node = self.trace.begin(host, number)?;
            self.admit_one::<R>(now, host, number, &node);
            return Ok(());
        }
        let mut ready = std::mem::take(&mut self.ready);
        ready.sort_by_key(|&(host, _)| host);
        for of_host in ready.chunk_by(|one, other| one.0 == other.0) {
            let host = of_host[0].0;
            self.nodes.clear();
            for &(_, number) in of_host {
                let node = self.trace.begin(host, number)?;
                self.nodes.push((node, number));
            }
            R::order(&mut self.nodes);
            for at in 0..self.nodes.len() {
                let (node, number) = self.nodes[at];
                self.admit_one::<R>(now, host, number, &node);
            }
        }
        ready.clear();
        self.ready = ready;
        Ok(())
    }

    #[inline]
    fn admit_one<R: GoalRules>(&mut self, now: u64, host: Rank, number: u32, node: &Node) {
        let GoalOperation { kind, size, peer, tag, cpu, nic } = node.operation;
        let flight = Flight {
            stage: Stage::Ready(kind),
            cpu,
            nic,
            host,
            peer,
            tag,
            number,
            receive: NO_SLOT,
            size,
            begun: 0,
            on_end: node.on_end,
            on_start: node.on_start,
        };
        let when = R::looked_at(self, &flight, now);
        self.begin(flight, when);
    }

    /// Something is under way, and happens at `when`.
    pub(super) fn begin(&mut self, flight: Flight, when: u64) {
        let slot = self.flights.insert(flight) as u32;
        self.queue(slot, when);
    }

    /// What is in a slot happens at `when`, after all that was queued before for that moment.
    pub(super) fn queue(&mut self, slot: u32, when: u64) {
        self.events.add(when, slot);
    }

    /// It happens later, and keeps its place among those of that moment.
    pub(super) fn postpone(&mut self, event: GoalEvent, when: u64) {
        self.events.push(event.at(when));
    }

    #[inline]
    pub(super) fn cpu(&mut self, host: Rank, cpu: u8) -> &mut u64 {
        &mut self.cpu_free[host as usize * self.cpus + cpu as usize]
    }

    #[inline]
    pub(super) fn sending(&mut self, host: Rank, nic: u8) -> &mut u64 {
        &mut self.send_free[host as usize * self.nics + nic as usize]
    }

    #[inline]
    pub(super) fn receiving(&mut self, host: Rank, nic: u8) -> &mut u64 {
        &mut self.receive_free[host as usize * self.nics + nic as usize]
    }

    /// When an operation's processor is free.
    #[inline]
    pub(super) fn cpu_free(&self, flight: &Flight) -> u64 {
        self.cpu_free[flight.host as usize * self.cpus + flight.cpu as usize]
    }

    /// When a send's processor and NIC are free.
    #[inline]
    pub(super) fn send_free(&self, flight: &Flight) -> u64 {
        self.cpu_free(flight).max(self.send_free[flight.host as usize * self.nics + flight.nic as usize])
    }

    /// What the system takes from `work` that begins at `now`.
    #[inline]
    pub(super) fn noise(&mut self, host: Rank, now: u64, work: u64) -> u64 {
        let Some(noise) = &self.noise else { return 0 };
        let taken = noise.taken(host, now, work);
        self.accounts[host as usize].noise += Nanos(taken);
        taken
    }

    /// A moment, unless it lies after the end of time.
    #[inline]
    pub(super) fn moment(flight: &Flight, when: u64) -> Result<u64, GoalError> {
        if when <= END_NS {
            return Ok(when);
        }
        let place = GoalPlace::Operation(flight.host, flight.number);
        Err(GoalError::new(
            place,
            format!("its {} bytes or nanoseconds end after 2^62 ns, 146 years: is the size right?", flight.size),
        ))
    }

    /// An operation has begun.
    #[inline]
    pub(super) fn starts(&mut self, host: Rank, on_start: Dependents) -> Result<(), GoalError> {
        let ready = &mut self.ready;
        self.trace.release(host, on_start, |number| ready.push((host, number)))
    }

    /// An operation is over.
    #[inline]
    pub(super) fn ends(&mut self, host: Rank, on_end: Dependents) -> Result<(), GoalError> {
        self.over += 1;
        let ready = &mut self.ready;
        self.trace.release(host, on_end, |number| ready.push((host, number)))
    }

    /// A processor of `host` was idle from `from` on, until `to`: `peer` had not acted before `acted`.
    #[inline]
    pub(super) fn waited(&mut self, host: Rank, (from, to): (u64, u64), peer: Rank, acted: u64) {
        if to > from {
            let late = self.accounts[host as usize].waited(from, to, peer, acted);
            self.accounts[peer as usize].held_up += late;
        }
    }
}
