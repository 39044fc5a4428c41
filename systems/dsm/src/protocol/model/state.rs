//! The state of the modelled job at one moment.
use super::super::{Action, FlagId, Message};
use super::Setup;
use super::host::{Doing, Host, Op};
use crate::Minipage;
use foregather_machine::{Address, Rank};
use std::collections::VecDeque;
use std::rc::Rc;

/// A violated property.
pub(super) type Wrong = String;

/// A message in transit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct InTransit {
    pub(super) from: Address,
    pub(super) message: Message,
    /// Whether the bytes that follow it are those of the last write. True if there are none.
    pub(super) fresh: bool,
}

/// The hosts, and the messages in transit between their lanes.
#[derive(Clone, Debug, Hash)]
pub(super) struct GlobalState {
    /// Shared with the previous state if nothing has changed there.
    pub(super) hosts: Vec<Rc<Host>>,
    /// By sender and receiver, and for each pair in the order in which they were sent.
    wires: Vec<(Address, InTransit)>,
    /// For each lock: the requests that have arrived and were not granted, in order. Separate from the
    /// manager's state, to check it.
    lines: Vec<VecDeque<Address>>,
    /// For each flag: how many posts belong to a thread that does not know it yet.
    pub(super) posts: Vec<u32>,
}

impl GlobalState {
    pub(super) fn new(setup: &Setup) -> Self {
        let hosts = (0..setup.homes.hosts()).map(|rank| Rc::new(Host::new(setup, rank))).collect();
        Self {
            hosts,
            wires: Vec::new(),
            lines: vec![VecDeque::new(); setup.locks as usize],
            posts: vec![0; setup.flags as usize],
        }
    }

    pub(super) fn host(&self, rank: Rank) -> &Host {
        &self.hosts[rank as usize]
    }

    pub(super) fn host_mut(&mut self, rank: Rank) -> &mut Host {
        Rc::make_mut(&mut self.hosts[rank as usize])
    }

    pub(super) fn send(&mut self, to: Address, packet: InTransit) {
        let at = self.wires.partition_point(|(other, sent)| (sent.from, *other) <= (packet.from, to));
        self.wires.insert(at, (to, packet));
    }

    /// Returns the lanes from which messages to `to` are waiting.
    pub(super) fn senders(&self, to: Address) -> impl Iterator<Item = Address> {
        self.wires().filter(move |wire| wire[0].0 == to).map(|wire| wire[0].1.from)
    }

    pub(super) fn peek(&self, from: Address, to: Address) -> Option<&InTransit> {
        let head = self.wires.get(self.first(from, to));
        head.filter(|(other, packet)| (packet.from, *other) == (from, to)).map(|(_, packet)| packet)
    }

    pub(super) fn take(&mut self, from: Address, to: Address) -> Option<InTransit> {
        self.peek(from, to)?;
        Some(self.wires.remove(self.first(from, to)).1)
    }

    /// Returns how many prefetches, pushes and frees are in flight.
    pub(super) fn hints(&self) -> u32 {
        let waits = |host: &Host| {
            let asked = |doing: &Doing| matches!(doing, Doing::Asked(Op::Push(_) | Op::Free(_)));
            host.threads.iter().filter(|thread| asked(&thread.doing)).count() as u32
        };
        self.hosts.iter().map(|host| host.prefetches + waits(host)).sum()
    }

    /// Returns how many threads wait for a flag.
    pub(super) fn takers(&self, flag: FlagId) -> u32 {
        let waits = |host: &Rc<Host>| host.threads.iter().filter(|thread| thread.doing == Doing::Asked(Op::Take(flag))).count();
        self.hosts.iter().map(waits).sum::<usize>() as u32
    }

    /// Returns how many messages are in the fullest channel.
    pub(super) fn longest_wire(&self) -> usize {
        self.wires().map(<[_]>::len).max().unwrap_or(0)
    }

    fn wires(&self) -> impl Iterator<Item = &[(Address, InTransit)]> {
        self.wires.chunk_by(|a, b| (a.1.from, a.0) == (b.1.from, b.0))
    }

    fn first(&self, from: Address, to: Address) -> usize {
        self.wires.partition_point(|(other, sent)| (sent.from, *other) < (from, to))
    }

    /// Records that `writer` has written: all other bytes of that minipage become outdated.
    pub(super) fn outdate(&mut self, minipage: Minipage, writer: Rank) {
        for (rank, host) in (0..).zip(&mut self.hosts) {
            Rc::make_mut(host).outdate(minipage, rank == writer);
        }
        for (_, packet) in self.wires.iter_mut().filter(|(_, packet)| packet.message.carries() == Some(minipage)) {
            packet.fresh = false;
        }
    }

    /// Checks that a lock goes to the thread that came first, when a server has taken `packet` and performs
    /// `actions`.
    pub(super) fn first_come(&mut self, packet: &InTransit, actions: &[Action]) -> Result<(), Wrong> {
        if let Message::Lock { lock, lane } = packet.message {
            self.lines[lock.0 as usize].push_back(Address { lane, ..packet.from });
        }
        for action in actions {
            if let Action::Send { to, message: Message::Granted { lock } } = *action
                && self.lines[lock.0 as usize].pop_front() != Some(to)
            {
                return Err(format!("first come, first served: {lock:?} goes to host {} before its turn", to.rank));
            }
        }
        Ok(())
    }

    /// Returns whether nothing is in flight and no thread waits.
    pub(super) fn is_quiet(&self, setup: &Setup) -> bool {
        let settled = |minipage| {
            let holding = self.host(setup.homes.of(minipage)).server.directory().holding(minipage);
            !holding.busy && self.hosts.iter().all(|host| !host.word(minipage).is_pending())
        };
        let idle = |host: &Rc<Host>| {
            let threads = host.threads.iter().all(|thread| thread.doing == Doing::Idle && thread.held.is_none());
            threads && host.prefetches == 0 && host.todo.is_empty()
        };
        self.wires.is_empty() && self.hosts.iter().all(idle) && (0..setup.minipages).map(Minipage).all(settled)
    }
}
