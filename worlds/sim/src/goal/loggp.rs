//! LogGP by its authors (Alexandrov et al. 1995), with `O` a byte and a rendezvous from LogGOPS.
//!
//! 1. A send keeps its processor for `o` and `O` a byte, and its NIC for `max(o, g)` and `G` a byte. The
//!    first byte arrives `L` after `o`.
//! 2. A NIC receives one message at a time: for `G` a byte, and `g` more before the next one. By the variant
//!    that charges senders only, it receives any number at once.
//! 3. A message that has arrived, and whose receive is posted, needs the receive's processor for `o` and `O`
//!    a byte; then the receive is over.
//! 4. A message longer than `S` sends a request without bytes. Once its receive is posted, the receiver's
//!    system answers, `L` later; then the sender's NIC sends the bytes, and with the last one the send is
//!    over. They need no second `o`.
//! 5. What depends on an operation becomes ready when that is over, whatever processor it ran on. Ties go by
//!    the order of becoming ready.
use super::error::GoalError;
use super::format::{GoalKind, Node};
use super::network::GoalVariant;
use super::queue::GoalEvent;
use super::simulation::{Flight, GoalRules, NO_SLOT, Simulation, Stage};
use foregather_machine::{LogGpVariant, Nanos, Rank};

pub(super) struct LogGpRules;

impl GoalRules for LogGpRules {
    #[inline]
    fn looked_at(simulation: &Simulation, flight: &Flight, now: u64) -> u64 {
        match flight.stage {
            Stage::Ready(GoalKind::Send) => simulation.send_free(flight).max(now),
            Stage::Ready(GoalKind::Calc) => simulation.cpu_free(flight).max(now),
            _ => now,
        }
    }

    fn order(_: &mut [(Node, u32)]) {}

    #[inline]
    fn happens(simulation: &mut Simulation, event: GoalEvent) -> Result<(), GoalError> {
        let flight = simulation.flights[event.slot() as usize];
        let mut act = Act { simulation, event };
        match flight.stage {
            Stage::Ready(GoalKind::Calc) => act.calculates(flight),
            Stage::Ready(GoalKind::Send) => act.sends(flight),
            Stage::Ready(GoalKind::Recv) => act.receives(&flight),
            Stage::Arrives => act.arrives(flight),
            Stage::There | Stage::Asks => act.meets(flight),
            Stage::Answers => act.answered(flight),
            Stage::Takes => act.takes(flight),
            Stage::Ends => act.ends(&flight),
        }
    }
}

/// What happens just now.
struct Act<'a> {
    simulation: &'a mut Simulation,
    event: GoalEvent,
}

impl Act<'_> {
    /// It happens again at `when`, as what `flight` has become.
    fn next(&mut self, flight: Flight, when: u64) -> Result<(), GoalError> {
        let when = Simulation::moment(&flight, when)?;
        self.simulation.flights[self.event.slot() as usize] = flight;
        self.simulation.queue(self.event.slot(), when);
        Ok(())
    }

    /// Keeps the operation's processor for `work`, unless it must wait. Returns the end.
    fn keep(&mut self, flight: &Flight, free: u64, work: u64) -> Option<u64> {
        let now = self.event.time();
        if free > now {
            self.simulation.postpone(self.event, free);
            return None;
        }
        let noise = self.simulation.noise(flight.host, now, work);
        Some(now.saturating_add(work).saturating_add(noise))
    }

    fn calculates(&mut self, flight: Flight) -> Result<(), GoalError> {
        let Flight { host, cpu, size, .. } = flight;
        let idle = *self.simulation.cpu(host, cpu);
        let Some(end) = self.keep(&flight, idle, size) else { return Ok(()) };
        *self.simulation.cpu(host, cpu) = end;
        self.simulation.accounts[host as usize].computing += Nanos(size);
        self.simulation.waited(host, (idle, self.event.time()), host, 0);
        self.simulation.starts(host, flight.on_start)?;
        self.next(Flight { stage: Stage::Ends, ..flight }, end)
    }

    fn sends(&mut self, flight: Flight) -> Result<(), GoalError> {
        let Flight { host, peer, cpu, nic, size, .. } = flight;
        let (now, network) = (self.event.time(), self.simulation.network);
        let (o, _) = network.overheads();
        let eager = network.is_eager(size);
        let bytes = if eager { size } else { 0 };
        let work = o.0.saturating_add(network.overhead_of(bytes));
        let free = self.simulation.send_free(&flight);
        let idle = *self.simulation.cpu(host, cpu);
        let Some(end) = self.keep(&flight, free, work) else { return Ok(()) };
        *self.simulation.cpu(host, cpu) = end;
        *self.simulation.sending(host, nic) = (Nanos(now) + network.model.gap.max(o) + network.model.bytes(bytes)).0;
        self.simulation.accounts[host as usize].overhead += Nanos(work);
        self.simulation.waited(host, (idle, now), host, 0);
        self.simulation.messages += 1;
        self.simulation.starts(host, flight.on_start)?;
        let first = (Nanos(now) + o + network.model.latency).0;
        let message = Flight { host: peer, peer: host, begun: now, ..flight };
        if eager {
            let over = Simulation::moment(&flight, end)?;
            self.simulation.begin(Flight { stage: Stage::Ends, ..flight }, over);
            return self.next(Flight { stage: Stage::Arrives, ..message }, first);
        }
        self.next(Flight { stage: Stage::Asks, ..message }, first)
    }

    /// The first byte is there.
    fn arrives(&mut self, message: Flight) -> Result<(), GoalError> {
        let Flight { host, nic, size, .. } = message;
        let (now, network) = (self.event.time(), self.simulation.network);
        let bytes = network.model.bytes(size).0;
        let mut begin = now;
        if network.variant == GoalVariant::LogGp(LogGpVariant::BothSides) {
            let free = self.simulation.receiving(host, nic);
            begin = now.max(*free);
            *free = begin.saturating_add(network.model.gap.0).saturating_add(bytes);
        }
        self.next(Flight { stage: Stage::There, ..message }, begin.saturating_add(bytes))
    }

    /// A whole message or a request is there, and looks for its receive.
    fn meets(&mut self, message: Flight) -> Result<(), GoalError> {
        let slot = self.event.slot();
        if message.receive != NO_SLOT {
            return self.next(Flight { stage: Stage::Takes, ..message }, self.event.time());
        }
        match self.simulation.posted[message.host as usize].take(message.peer, message.tag) {
            Some(receive) => self.met(slot, receive),
            None => {
                self.simulation.arrived[message.host as usize].push(message.peer, message.tag, slot);
                Ok(())
            }
        }
    }

    /// A receive looks for its message.
    fn receives(&mut self, flight: &Flight) -> Result<(), GoalError> {
        let Flight { host, peer, tag, .. } = *flight;
        self.simulation.starts(host, flight.on_start)?;
        let receive = self.event.slot();
        match self.simulation.arrived[host as usize].take(peer, tag) {
            Some(message) => self.met(message, receive),
            None => {
                self.simulation.posted[host as usize].push(peer, tag, receive);
                Ok(())
            }
        }
    }

    /// A message and its receive have found each other.
    fn met(&mut self, message: u32, receive: u32) -> Result<(), GoalError> {
        let now = self.event.time();
        let flight = &mut self.simulation.flights[message as usize];
        flight.receive = receive;
        let (stage, when) = match flight.stage {
            Stage::Asks => (Stage::Answers, (Nanos(now) + self.simulation.network.model.latency).0),
            _ => (Stage::Takes, now),
        };
        flight.stage = stage;
        let when = Simulation::moment(&self.simulation.flights[message as usize], when)?;
        self.simulation.queue(message, when);
        Ok(())
    }

    /// The answer is back at the sender.
    fn answered(&mut self, message: Flight) -> Result<(), GoalError> {
        let (sender, model) = (message.peer, self.simulation.network.model);
        let bytes = model.bytes(message.size).0;
        let free = self.simulation.sending(sender, message.nic);
        let begin = self.event.time().max(*free);
        let last = begin.saturating_add(bytes);
        *free = last.saturating_add(model.gap.0);
        let ends = Flight { stage: Stage::Ends, host: sender, peer: message.host, ..message };
        let over = Simulation::moment(&ends, last)?;
        self.simulation.begin(ends, over);
        self.next(Flight { stage: Stage::Arrives, begun: begin, ..message }, begin.saturating_add(model.latency.0))
    }

    /// The receive's processor takes the message.
    fn takes(&mut self, message: Flight) -> Result<(), GoalError> {
        let receive = self.simulation.flights[message.receive as usize];
        let network = self.simulation.network;
        let (host, cpu): (Rank, u8) = (receive.host, receive.cpu);
        let work = network.overheads().1.0.saturating_add(network.overhead_of(message.size));
        let idle = *self.simulation.cpu(host, cpu);
        let Some(end) = self.keep(&receive, idle, work) else { return Ok(()) };
        *self.simulation.cpu(host, cpu) = end;
        self.simulation.accounts[host as usize].overhead += Nanos(work);
        self.simulation.waited(host, (idle, self.event.time()), message.peer, message.begun);
        self.simulation.flights.remove(message.receive as usize);
        self.next(Flight { stage: Stage::Ends, ..receive }, end)
    }

    fn ends(&mut self, flight: &Flight) -> Result<(), GoalError> {
        self.simulation.flights.remove(self.event.slot() as usize);
        self.simulation.ends(flight.host, flight.on_end)
    }
}
