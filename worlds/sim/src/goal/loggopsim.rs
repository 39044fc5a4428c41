//! The rules of LogGOPSim 1.1, where they differ from the model included.
//!
//! 1. A message of `s` bytes counts `s - 1` of them, so an empty one counts less than nothing.
//! 2. It keeps its sender's processor for `o + (s - 1) O`, its NIC for `g + (s - 1) G`, and arrives, all of
//!    it, `o + L` after it began.
//! 3. At its receiver it waits for the processor and the NIC *of its sender's number*; then it takes the
//!    processor for `o` and the larger of `(s - 1) O` and `(s - 1) G`, posted or not, and the NIC for
//!    `g + (s - 1) G`.
//! 4. A receive takes no time. A message longer than `S` ends its send when both are there; the sender then
//!    goes on at that moment, as if it knew without an answer. (Where a receive's size lies on the other side
//!    of `S` than its message's, that program's send ends twice or never; here the message's size decides.)
//! 5. What becomes ready is looked at when its processor is free. Work that ends in the future counts as over
//!    at once: with several processors, what depends on it may begin before.
//! 6. Ties go by the order of becoming ready; of a rank's operations that become ready together, sends come
//!    before receives, and those before calculations.
use super::error::GoalError;
use super::format::{GoalKind, Node};
use super::queue::GoalEvent;
use super::simulation::{Flight, GoalRules, Simulation, Stage};
use foregather_machine::Nanos;

pub(super) struct LogGopsimRules;

/// More than any time that is simulated.
const LONG: u64 = 1 << 63;

/// What all bytes but the first cost; less than nothing modulo 2^64, as that program counts.
#[inline]
fn rest(size: u64, byte_ps: u64) -> u64 {
    match size.checked_sub(1) {
        Some(rest) => match rest.checked_mul(byte_ps) {
            Some(ps) => ps / 1_000,
            None => (u128::from(rest) * u128::from(byte_ps) / 1_000).min(u128::from(LONG)) as u64,
        },
        None => 0u64.wrapping_sub(byte_ps / 1_000),
    }
}

impl GoalRules for LogGopsimRules {
    #[inline]
    fn looked_at(simulation: &Simulation, flight: &Flight, _: u64) -> u64 {
        match flight.stage {
            Stage::Ready(GoalKind::Send) => simulation.send_free(flight),
            _ => simulation.cpu_free(flight),
        }
    }

    fn order(ready: &mut [(Node, u32)]) {
        if ready.len() > 1 {
            by_kind(ready, |of| of.0.operation.kind);
        }
    }

    #[inline]
    fn happens(simulation: &mut Simulation, event: GoalEvent) -> Result<(), GoalError> {
        let flight = simulation.flights[event.slot() as usize];
        match flight.stage {
            Stage::Ready(GoalKind::Calc) => calculates(simulation, event, &flight),
            Stage::Ready(GoalKind::Send) => sends(simulation, event, flight),
            Stage::Ready(GoalKind::Recv) => receives(simulation, event, &flight),
            _ => arrives(simulation, event, &flight),
        }
    }
}

fn calculates(simulation: &mut Simulation, event: GoalEvent, flight: &Flight) -> Result<(), GoalError> {
    let Flight { host, cpu, size, .. } = *flight;
    let free = *simulation.cpu(host, cpu);
    if free > event.time() {
        simulation.postpone(event, free);
        return Ok(());
    }
    let noise = simulation.noise(host, event.time(), size);
    let end = event.time().saturating_add(size).saturating_add(noise);
    *simulation.cpu(host, cpu) = Simulation::moment(flight, end)?;
    simulation.accounts[host as usize].computing += Nanos(size);
    simulation.flights.remove(event.slot() as usize);
    simulation.starts(host, flight.on_start)?;
    simulation.ends(host, flight.on_end)
}

fn sends(simulation: &mut Simulation, event: GoalEvent, flight: Flight) -> Result<(), GoalError> {
    let Flight { host, peer, cpu, nic, size, .. } = flight;
    let (now, network) = (event.time(), simulation.network);
    let free = (*simulation.cpu(host, cpu)).max(*simulation.sending(host, nic));
    if free > now {
        simulation.postpone(event, free);
        return Ok(());
    }
    simulation.starts(host, flight.on_start)?;
    let o = network.model.send_overhead.0;
    let noise = simulation.noise(host, now, o);
    let busy = now.wrapping_add(o).wrapping_add(rest(size, network.overhead_byte_ps));
    *simulation.cpu(host, cpu) = Simulation::moment(&flight, busy.wrapping_add(noise))?;
    let gap = network.model.gap.0.wrapping_add(rest(size, network.model.byte_ps));
    *simulation.sending(host, nic) = Simulation::moment(&flight, now.wrapping_add(gap))?;
    simulation.accounts[host as usize].overhead += Nanos(busy.saturating_sub(now));
    simulation.messages += 1;
    simulation.flights[event.slot() as usize] = Flight { stage: Stage::Arrives, host: peer, peer: host, begun: now, ..flight };
    let arrival = now.saturating_add(o).saturating_add(network.model.latency.0);
    simulation.queue(event.slot(), Simulation::moment(&flight, arrival)?);
    if network.is_eager(size) { simulation.ends(host, flight.on_end) } else { Ok(()) }
}

fn receives(simulation: &mut Simulation, event: GoalEvent, flight: &Flight) -> Result<(), GoalError> {
    let Flight { host, peer, tag, cpu, nic, .. } = *flight;
    simulation.starts(host, flight.on_start)?;
    let Some(slot) = simulation.arrived[host as usize].take(peer, tag) else {
        simulation.posted[host as usize].push(peer, tag, event.slot());
        return Ok(());
    };
    let message = simulation.flights.remove(slot as usize);
    simulation.flights.remove(event.slot() as usize);
    if !simulation.network.is_eager(message.size) {
        answered(simulation, event.time(), &message, (cpu, nic))?;
    }
    simulation.ends(host, flight.on_end)
}

/// The sender of a long message, whose receive is at hand, goes on.
fn answered(simulation: &mut Simulation, now: u64, message: &Flight, at: (u8, u8)) -> Result<(), GoalError> {
    let (sender, receiver) = (message.peer, message.host);
    let cpu = simulation.cpu(sender, at.0);
    let free = *cpu;
    *cpu = free.max(now);
    let nic = simulation.sending(sender, at.1);
    *nic = (*nic).max(now);
    simulation.waited(sender, (free, now), receiver, now);
    simulation.ends(sender, message.on_end)
}

fn arrives(simulation: &mut Simulation, event: GoalEvent, message: &Flight) -> Result<(), GoalError> {
    let Flight { host, peer, tag, cpu, nic, size, .. } = *message;
    let (now, network) = (event.time(), simulation.network);
    let idle = *simulation.cpu(host, cpu);
    let free = idle.max(*simulation.receiving(host, nic));
    if free > now {
        simulation.postpone(event, free);
        return Ok(());
    }
    let o = network.model.send_overhead.0;
    let noise = simulation.noise(host, now, o);
    let bytes = rest(size, network.model.byte_ps);
    let busy = now.wrapping_add(o).wrapping_add(rest(size, network.overhead_byte_ps).max(bytes));
    *simulation.cpu(host, cpu) = Simulation::moment(message, busy.wrapping_add(noise))?;
    *simulation.receiving(host, nic) = Simulation::moment(message, now.wrapping_add(network.model.gap.0).wrapping_add(bytes))?;
    simulation.accounts[host as usize].overhead += Nanos(busy.saturating_sub(now));
    simulation.waited(host, (idle, now), peer, message.begun);
    let Some(slot) = simulation.posted[host as usize].take(peer, tag) else {
        simulation.arrived[host as usize].push(peer, tag, event.slot());
        return Ok(());
    };
    let receive = simulation.flights.remove(slot as usize);
    simulation.flights.remove(event.slot() as usize);
    if !network.is_eager(size) {
        answered(simulation, now, message, (cpu, nic))?;
    }
    simulation.ends(host, receive.on_end)
}

/// Runs up to this length are left to insertion.
const SHORT: usize = 16;

/// Orders by kind as the introsort does (Musser 1997) that C++ programs get from their standard library:
/// longer runs are parted around the median of three, then all is sorted by insertion, which keeps equal ones
/// as they are.
fn by_kind<T: Copy>(ready: &mut [T], kind: impl Fn(&T) -> GoalKind + Copy) {
    part(ready, kind);
    ready.sort_by_key(kind);
}

fn part<T: Copy>(mut all: &mut [T], kind: impl Fn(&T) -> GoalKind + Copy) {
    while all.len() > SHORT {
        let (one, middle, last) = (1, all.len() / 2, all.len() - 1);
        let [a, b, c] = [one, middle, last].map(|at| kind(&all[at]));
        // Which of equal ones is the median matters, since they change places.
        let median = match a < b {
            true if b < c => middle,
            true if a < c => last,
            true => one,
            false if a < c => one,
            false if b < c => last,
            false => middle,
        };
        all.swap(0, median);
        let pivot = kind(&all[0]);
        let (mut low, mut high) = (1, all.len());
        loop {
            while kind(&all[low]) < pivot {
                low += 1;
            }
            high -= 1;
            while pivot < kind(&all[high]) {
                high -= 1;
            }
            if low >= high {
                break;
            }
            all.swap(low, high);
            low += 1;
        }
        let (before, after) = std::mem::take(&mut all).split_at_mut(low);
        part(after, kind);
        all = before;
    }
}
