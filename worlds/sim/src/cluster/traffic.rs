//! Messages between nodes: how they leave, are disturbed, land, arrive, and ring; and nodes that die.
use super::cluster_event::{ClusterEvent, Parcel, Payload};
use super::fault::{MILLION, NicMistake};
use super::lane_state::{ReadProgress, Request};
use super::notice::Notice;
use super::simulation::Cluster;
use super::timeline::{Activity, Actor, Stroke};
use super::wires::Flight;
use crate::event::Queue;
use foregather_machine::{Nanos, Rank};

impl<Q: Queue> Cluster<Q> {
    /// Records a stroke that takes no time.
    pub(super) fn mark(&self, lane: u32, place: Actor, what: Activity, bytes: u32) {
        let now = self.engine.now();
        self.note(lane, (place, what), (0, bytes), (now, now));
    }

    pub(super) fn note(
        &self,
        lane: u32,
        (place, what): (Actor, Activity),
        (pieces, bytes): (u32, u32),
        (from, to): (Nanos, Nanos),
    ) {
        if self.spec.spans > 0 {
            self.timeline.note(Stroke { at: self.address(lane), place, what, pieces, bytes, from, to });
        }
    }

    /// A thread does work that takes processor time: it pays when it next waits. Returns when it will have
    /// done it.
    pub(super) fn work(&self, (lane, thread): (u32, u32), what: Activity, of: (u32, u32), cost: Nanos) -> Nanos {
        let (node, _) = self.node(lane);
        let done = node.charge(thread, cost);
        if cost > Nanos::ZERO {
            self.note(lane, (Actor::Thread, what), of, (done - cost, done));
        }
        done
    }

    /// A message leaves at `ready`; returns when its memory is its program's again.
    pub(super) fn send(&self, (from, to): (u32, u32), load: Payload, bytes: u32, ready: Nanos) -> Nanos {
        let (source, target) = (self.address(from).rank, self.address(to).rank);
        if self.dead[source as usize].get() {
            return ready;
        }
        let flying = &self.desks[from as usize].flying;
        flying.set(flying.get() + 1);
        let nic = &self.spec.nic;
        if source == target {
            let parcel = Parcel { from, to, load, flight: Flight::within(bytes), number: 0 };
            self.arrive_at(ready + nic.fragment * 2 + nic.latency, parcel);
            return ready;
        }
        let flight = self.wires.leave(source, bytes, ready);
        self.note(from, (Actor::Wire, Activity::Wire), (0, bytes), (flight.begun, flight.left));
        let parcel = Parcel { from, to, load, flight, number: 0 };
        if nic.store_and_forward {
            self.foresee(flight.at_switch(nic), ClusterEvent::Lands(parcel));
        } else {
            self.arrive_at(self.wires.land(target, flight), parcel);
        }
        flight.left
    }

    /// It will arrive then, or a little later, but not before earlier messages between the two.
    fn arrive_at(&self, time: Nanos, mut parcel: Parcel) {
        let jitter = self.spec.jitter.0;
        let late = if jitter > 0 { Nanos(self.random.borrow_mut().below(jitter + 1)) } else { Nanos::ZERO };
        let Some(time) = self.disturbed(time + late, &parcel) else { return };
        let time = {
            let mut peers = self.desks[parcel.from as usize].peers.borrow_mut();
            let peer = peers.entry(parcel.to).or_default();
            peer.numbered += 1;
            parcel.number = peer.numbered;
            peer.last = peer.last.max(time);
            peer.last
        };
        self.replay(time, &parcel);
        self.foresee(time, ClusterEvent::Arrives(parcel));
    }

    /// When a message that would arrive at `time` does, faults included. `None`: never, by a planted mistake.
    fn disturbed(&self, time: Nanos, parcel: &Parcel) -> Option<Nanos> {
        let (faults, nodes) = (&self.spec.faults, [parcel.from, parcel.to].map(|lane| self.address(lane).rank));
        let mut time = time;
        if nodes[0] == nodes[1] {
            return Some(time);
        }
        while self.hits(faults.loss_ppm) {
            if faults.planted == Some(NicMistake::NoResend) {
                return None;
            }
            time += faults.resend;
        }
        Some(faults.passes(nodes, time))
    }

    /// Foresees the second arrival of a message, if there is one.
    fn replay(&self, time: Nanos, parcel: &Parcel) {
        let faults = &self.spec.faults;
        if self.address(parcel.from).rank != self.address(parcel.to).rank && self.hits(faults.replay_ppm) {
            let flying = &self.desks[parcel.from as usize].flying;
            flying.set(flying.get() + 1);
            self.foresee(time + faults.resend, ClusterEvent::Arrives(parcel.clone()));
        }
    }

    /// Returns whether this message has arrived before, and records its number.
    fn came_before(&self, parcel: &Parcel) -> bool {
        if self.spec.faults.replay_ppm == 0 || self.spec.faults.planted == Some(NicMistake::ReplayDelivered) {
            return false;
        }
        let mut peers = self.desks[parcel.from as usize].peers.borrow_mut();
        let peer = peers.entry(parcel.to).or_default();
        let before = parcel.number <= peer.taken;
        peer.taken = peer.taken.max(parcel.number);
        before
    }

    /// Draws only for a fault that is on, from a stream of its own: a fault that is off changes no trace.
    fn hits(&self, ppm: u32) -> bool {
        ppm > 0 && self.fates.borrow_mut().below(MILLION.into()) < u64::from(ppm)
    }

    /// Acts on a scheduled event.
    pub(super) fn happens_here(&self, happening: ClusterEvent) {
        match happening {
            ClusterEvent::Lands(parcel) => self.arrive_at(self.wires.land(self.address(parcel.to).rank, parcel.flight), parcel),
            ClusterEvent::Arrives(parcel) => {
                let from = parcel.from;
                if !self.came_before(&parcel) && !self.dead[self.address(parcel.to).rank as usize].get() {
                    self.arrives(parcel);
                }
                let flying = &self.desks[from as usize].flying;
                flying.set(flying.get() - 1);
                self.may_leave(from);
            }
            ClusterEvent::Served(lane) => {
                let (desk, (node, _), rank) = (&self.desks[lane as usize], self.node(lane), self.address(lane).rank);
                desk.interrupted.set(false);
                if !self.dead[rank as usize].get() {
                    node.rouse(&self.engine, &desk.bell);
                    self.touch(rank);
                }
            }
            ClusterEvent::Sweep(rank) => {
                self.sweep(rank);
            }
            ClusterEvent::Room(lane) => self.ring(lane),
            ClusterEvent::Leaves(lane) => self.may_leave(lane),
            ClusterEvent::Dies(rank) => {
                self.dead[rank as usize].set(true);
                self.foresee(self.engine.now() + self.spec.detection, ClusterEvent::Lost(rank));
            }
            ClusterEvent::Resumes(rank) => {
                self.nodes[rank as usize].idle_until(self.engine.now());
                self.touch(rank);
            }
            ClusterEvent::Lost(rank) => self.lose(rank),
        }
    }

    fn lose(&self, lost: Rank) {
        for (rank, node) in (0..).zip(&self.nodes) {
            if !self.dead[rank as usize].get() {
                node.lose(&self.engine, lost);
                self.touch(rank);
            }
        }
    }

    /// A lane that is leaving has left once all that it posted has arrived.
    fn may_leave(&self, lane: u32) {
        let desk = &self.desks[lane as usize];
        if desk.leaving.get() && desk.flying.get() == 0 && !desk.left.replace(true) {
            (0..self.desks.len() as u32).filter(|&other| other != lane).for_each(|other| self.ring(other));
        }
    }

    /// An event of a lane: a polling thread sees it; a sleeping one is told by the NIC, or when another
    /// thread polls for it.
    fn ring(&self, lane: u32) {
        if !self.goes_unnoticed(self.address(lane).rank, lane) {
            self.announce(lane);
        }
    }

    /// Returns whether the event of a sleeping lane must wait until a thread polls; if so, it is recorded.
    fn goes_unnoticed(&self, rank: Rank, lane: u32) -> bool {
        let Notice::Sweeps(sweeps) = self.spec.nic.notice else { return false };
        if self.nodes[rank as usize].has_idle() || !self.nodes[rank as usize].has_sleeper(&self.desks[lane as usize].bell) {
            return false;
        }
        let mut timer = self.timers[rank as usize].borrow_mut();
        if timer.unnoticed.is_empty() {
            let at = timer.after(self.engine.now(), &sweeps);
            self.foresee(at, ClusterEvent::Sweep(rank));
        }
        if !timer.unnoticed.contains(&lane) {
            timer.unnoticed.push(lane);
        }
        true
    }

    /// A thread polls, and notices all unnoticed events. `true`: there were some.
    pub(super) fn sweep(&self, rank: Rank) -> bool {
        let lanes = std::mem::take(&mut self.timers[rank as usize].borrow_mut().unnoticed);
        lanes.iter().for_each(|&lane| self.announce(lane));
        !lanes.is_empty()
    }

    fn announce(&self, lane: u32) {
        let (desk, (node, _), rank) = (&self.desks[lane as usize], self.node(lane), self.address(lane).rank);
        if self.dead[rank as usize].get() || desk.interrupted.get() {
            return;
        }
        let price = self.spec.nic.interrupt;
        if let Some(served) = node.ring(&self.engine, &desk.bell, price) {
            desk.interrupted.set(true);
            self.note(lane, (Actor::Nic, Activity::Interrupt), (0, 0), (self.engine.now(), served));
            self.foresee(served, ClusterEvent::Served(lane));
        }
        self.touch(rank);
    }

    fn arrives(&self, parcel: Parcel) {
        let Parcel { from, to, load, flight, .. } = parcel;
        let desk = &self.desks[to as usize];
        self.mark(to, Actor::Nic, Activity::Arrive, flight.bytes);
        match load {
            Payload::Frame(frame) => {
                let mut inbox = desk.inbox.borrow_mut();
                if self.spec.nic.drops && inbox.unreleased(from) >= self.spec.nic.room() {
                    return self.drop_one(to, flight.bytes);
                }
                self.frames.set(self.frames.get() + 1);
                inbox.put(from, frame);
            }
            Payload::Request { key, ticket, pieces } => return self.asked(to, Request { by: from, key, ticket, pieces }),
            Payload::Part => return,
            Payload::Data { ticket, bytes } => self.answer(to, ticket, ReadProgress::Here(bytes)),
            Payload::Refusal { ticket } => self.answer(to, ticket, ReadProgress::Refused),
            Payload::Raw { last } => {
                let Some(receives) = desk.receives.get().checked_sub(1) else { return self.drop_one(to, flight.bytes) };
                desk.receives.set(receives);
                if !last {
                    return;
                }
                desk.came.set(desk.came.get() + 1);
            }
        }
        self.ring(to);
    }

    fn drop_one(&self, lane: u32, bytes: u32) {
        self.dropped.set(self.dropped.get() + 1);
        self.mark(lane, Actor::Nic, Activity::Drop, bytes);
    }

    /// A peer wants to read the memory exposed at `lane`: the NIC of a reading network sends it by itself,
    /// else the lane's owner must.
    fn asked(&self, lane: u32, request: Request) {
        let desk = &self.desks[lane as usize];
        if !desk.exposed.borrow().contains_key(&request.key) {
            self.refuse(lane, &request);
        } else if self.spec.nic.reads {
            self.serve(lane, &request, self.engine.now(), Nanos::ZERO);
        } else {
            desk.requests.borrow_mut().push_back(request);
            self.ring(lane);
        }
    }

    pub(super) fn refuse(&self, lane: u32, request: &Request) {
        self.send((lane, request.by), Payload::Refusal { ticket: request.ticket }, 0, self.engine.now());
    }

    /// Sends the exposed memory, by as many descriptors as that takes: the first is posted at `first`, each
    /// of the others `apart` later.
    pub(super) fn serve(&self, lane: u32, request: &Request, first: Nanos, apart: Nanos) {
        let exposed = self.desks[lane as usize].exposed.borrow();
        let Some(memory) = exposed.get(&request.key) else { return };
        let (bytes, here) = (memory.bytes.clone(), memory.pieces.len());
        drop(exposed);
        let descriptors = self.spec.nic.descriptors(bytes.len(), here.max(request.pieces as usize));
        let share = bytes.len().div_ceil(descriptors as usize);
        let mut rest = bytes.len();
        for number in 1..=descriptors {
            let part = share.min(rest);
            rest -= part;
            let load = if number == descriptors {
                Payload::Data { ticket: request.ticket, bytes: bytes.clone() }
            } else {
                Payload::Part
            };
            let sent = self.send((lane, request.by), load, part as u32, first + apart * u64::from(number - 1));
            self.note(lane, (Actor::Nic, Activity::Sent), (here as u32, part as u32), (sent, sent));
        }
    }

    fn answer(&self, lane: u32, ticket: u64, read: ReadProgress) {
        // A read that was dropped is no longer there.
        if let Some(open) = self.desks[lane as usize].reads.borrow_mut().get_mut(&ticket) {
            *open = read;
        }
    }
}
