//! A thread's lane: the verbs of [`Fabric`] on a NIC.
use super::cluster_event::{ClusterEvent, Frame, Payload};
use super::lane_state::Exposed;
use super::report::Report;
use super::simulation::Cluster;
use super::timeline::Activity;
use crate::event::Queue;
use crate::smp::SmpCpu;
use crate::word::SimWord;
use foregather_machine::{
    Address, Cause, Clock, Error, Fabric, FabricCosts, Key, LastingPieces, Limits, Member, Nanos, Rank, WordLine,
};

/// One thread of one node, and the lane that it owns.
pub struct Lane<'s, Q> {
    pub(super) cluster: &'s Cluster<Q>,
    pub(super) number: u32,
    pub(super) cpu: SmpCpu<'s, Q>,
}

impl<Q: Queue> Cluster<Q> {
    /// Runs a program on every thread of every node, once, until no event is left, a program has stopped it
    /// all ([`Lane::stop`]), or the limit has come.
    pub fn run<'s, F: Future>(&'s self, program: impl Fn(Lane<'s, Q>) -> F) -> Report<F::Output> {
        self.run_lanes(|number| program(Lane::new(self, number)))
    }
}

impl<'s, Q: Queue> Lane<'s, Q> {
    pub(super) fn new(cluster: &'s Cluster<Q>, number: u32) -> Self {
        let (node, thread) = cluster.node(number);
        Self { cluster, number, cpu: node.cpu(&cluster.engine, thread) }
    }

    /// Another lane of this node, used by this thread, which pays for it; the thread of that number must not
    /// use it.
    pub fn beside(&self, lane: u32) -> Self {
        let number = self.cluster.number(Address { rank: self.here().rank, lane });
        let (node, _) = self.cluster.node(number);
        Self { cluster: self.cluster, number, cpu: node.cpu(&self.cluster.engine, self.cpu.number()) }
    }

    /// Ends the simulation at this moment.
    pub fn stop(&self) {
        self.cluster.stopped.set(true);
    }

    /// Charges processor time for work on `pieces` pieces and `bytes` bytes; returns when it will have been
    /// done.
    pub(super) fn work(&self, what: Activity, pieces: usize, bytes: usize, cost: Nanos) -> Nanos {
        self.cluster.work((self.number, self.cpu.number()), what, (pieces as u32, bytes as u32), cost)
    }

    /// That lane's number, if it exists and is not known to be lost.
    pub(super) fn peer(&self, to: Address) -> Result<u32, Error> {
        let spec = &self.cluster.spec;
        if to.rank >= spec.nodes {
            Err(Cause::Rank { rank: to.rank, size: spec.nodes }.into())
        } else if to.lane >= spec.threads {
            Err(Cause::Slot { slot: to.lane, slots: spec.threads }.into())
        } else if self.cluster.nodes[self.here().rank as usize].lost() == Some(to.rank) {
            Err(Error::lost(to.rank))
        } else {
            Ok(self.cluster.number(to))
        }
    }

    /// Sends a frame if there is room for it.
    fn frame(&self, to: u32, head: u32, bytes: Box<[u8]>) -> bool {
        let (cluster, nic) = (self.cluster, &self.cluster.spec.nic);
        if !nic.drops && !self.has_room(to) {
            return false;
        }
        self.work(Activity::Copy, 1, bytes.len(), nic.copy(bytes.len()));
        let ready = self.work(Activity::Post, 1, bytes.len(), nic.post);
        let length = bytes.len() as u32;
        cluster.send((self.number, to), Payload::Frame(Frame { head, bytes }), length, ready);
        true
    }

    /// Takes room for one frame; if there is none, the bell rings when there is.
    fn has_room(&self, to: u32) -> bool {
        let cluster = self.cluster;
        let mut peers = cluster.desks[self.number as usize].peers.borrow_mut();
        let peer = peers.entry(to).or_default();
        let admitted = peer.admits(self.cpu.now(), cluster.spec.nic.room());
        if let Some(at) = peer.next_release().filter(|_| !admitted) {
            cluster.foresee(at, ClusterEvent::Room(self.number));
        }
        admitted
    }

    fn too_long(what: &'static str, bytes: usize, room: usize) -> Result<bool, Error> {
        Err(Cause::Length { what, bytes, room }.into())
    }
}

foregather_machine::clock_by! { [Q: Queue] Lane<'_, Q>, |this| this.cpu }

impl<Q: Queue> Member for Lane<'_, Q> {
    fn rank(&self) -> Rank {
        self.here().rank
    }
    fn size(&self) -> u32 {
        self.cluster.spec.nodes
    }
}

impl<'s, Q: Queue> Fabric for Lane<'s, Q> {
    type Cpu = SmpCpu<'s, Q>;

    fn cpu(&self) -> &Self::Cpu {
        &self.cpu
    }
    fn bell(&self) -> &SimWord {
        &self.cluster.desks[self.number as usize].bell
    }
    fn roster(&self) -> &[WordLine<SimWord>] {
        &self.cluster.rosters[self.here().lane as usize]
    }
    fn here(&self) -> Address {
        self.cluster.address(self.number)
    }
    fn limits(&self) -> Limits {
        self.cluster.spec.nic.limits(self.cluster.spec.threads)
    }
    fn costs(&self) -> FabricCosts {
        self.cluster.spec.nic.costs()
    }

    fn post(&self, to: Address, head: u32, bytes: &[u8]) -> Result<bool, Error> {
        let room = self.cluster.spec.nic.inline as usize;
        if bytes.len() > room {
            return Self::too_long("an inline frame", bytes.len(), room);
        }
        Ok(self.frame(self.peer(to)?, head, bytes.into()))
    }
    fn write_with<R>(&self, to: Address, write: impl FnOnce(&mut [u8]) -> R) -> R {
        let length = self.cluster.spec.nic.buffer as usize;
        let number = self.cluster.number(to);
        let take = || {
            std::mem::take(&mut self.cluster.desks[self.number as usize].peers.borrow_mut().entry(number).or_default().filling)
        };
        // Lent without a borrow of the table, since `write` may do more than write.
        let mut buffer = take();
        buffer.resize(length, 0);
        let result = write(&mut buffer);
        self.cluster.desks[self.number as usize].peers.borrow_mut().entry(number).or_default().filling = buffer;
        result
    }
    fn post_filled(&self, to: Address, head: u32, len: usize) -> Result<bool, Error> {
        let room = self.cluster.spec.nic.buffer as usize;
        if len > room {
            return Self::too_long("a static buffer", len, room);
        }
        let number = self.peer(to)?;
        let bytes = {
            let peers = self.cluster.desks[self.number as usize].peers.borrow();
            let filled = peers.get(&number).map_or(&[][..], |peer| &peer.filling);
            let mut bytes = vec![0; len];
            bytes[..len.min(filled.len())].copy_from_slice(&filled[..len.min(filled.len())]);
            bytes
        };
        Ok(self.frame(number, head, bytes.into()))
    }

    fn arrived(&self, after: Option<Address>) -> Option<Address> {
        let first = after.map_or(0, |after| self.cluster.number(after) + 1);
        self.cluster.desks[self.number as usize].inbox.borrow().next(first).map(|number| self.cluster.address(number))
    }
    fn peek<R>(&self, from: Address, read: impl FnOnce(u32, &[u8]) -> R) -> Option<R> {
        let inbox = self.cluster.desks[self.number as usize].inbox.borrow();
        inbox.first(self.cluster.number(from)).map(|frame| read(frame.head, &frame.bytes))
    }
    fn release(&self, from: Address) {
        let (cluster, nic) = (self.cluster, &self.cluster.spec.nic);
        let from = cluster.number(from);
        let Some(frame) = cluster.desks[self.number as usize].inbox.borrow_mut().take(from) else { return };
        let length = frame.bytes.len();
        self.work(Activity::Complete, 0, length, nic.reap);
        self.work(Activity::Copy, 1, length, nic.copy(length));
        let known = self.work(Activity::Receive, 1, 0, nic.receive) + nic.latency;
        if !nic.drops {
            let mut peers = cluster.desks[from as usize].peers.borrow_mut();
            if peers.entry(self.number).or_default().release(known) {
                cluster.foresee(known, ClusterEvent::Room(from));
            }
        }
    }

    fn expose(&self, pieces: LastingPieces<'_>) -> Result<Key, Error> {
        let pieces = pieces.as_slices();
        pieces.iter().for_each(|piece| self.register(piece.len()));
        let desk = &self.cluster.desks[self.number as usize];
        let key = desk.number();
        let exposed = Exposed { bytes: pieces.concat().into(), pieces: pieces.iter().map(|piece| piece.len()).collect() };
        desk.exposed.borrow_mut().insert(key, exposed);
        Ok(Key(key))
    }
    fn unexpose(&self, Key(key): Key) {
        let desk = &self.cluster.desks[self.number as usize];
        let Some(exposed) = desk.exposed.borrow_mut().remove(&key) else { return };
        exposed.pieces.iter().for_each(|&bytes| self.forget(bytes));
        let mut requests = desk.requests.borrow_mut();
        requests.iter().filter(|request| request.key == key).for_each(|request| self.cluster.refuse(self.number, request));
        requests.retain(|request| request.key != key);
    }
    fn get(&self, from: Address, key: Key, into: &mut [&mut [u8]]) -> impl Future<Output = Result<(), Error>> {
        self.read(from, key, into)
    }
    fn progress(&self) -> bool {
        let (cluster, nic) = (self.cluster, &self.cluster.spec.nic);
        let next = || cluster.desks[self.number as usize].requests.borrow_mut().pop_front();
        let mut helped = false;
        while let Some(request) = next() {
            self.work(Activity::Complete, 0, 0, nic.reap);
            self.work(Activity::Receive, 1, 0, nic.receive);
            let (bytes, pieces) = {
                let exposed = cluster.desks[self.number as usize].exposed.borrow();
                exposed.get(&request.key).map_or((0, 0), |memory| (memory.bytes.len(), memory.pieces.len()))
            };
            let posts = nic.descriptors(bytes, pieces.max(request.pieces as usize));
            let ready = self.work(Activity::Post, pieces, bytes, nic.post * u64::from(posts));
            cluster.serve(self.number, &request, ready - nic.post * u64::from(posts - 1), nic.post);
            helped = true;
        }
        helped
    }

    fn charge(&self, span: Nanos) {
        self.work(Activity::Owed, 0, 0, span);
    }

    fn leave(&self) {
        let desk = &self.cluster.desks[self.number as usize];
        if !desk.leaving.replace(true) {
            let ready = self.work(Activity::Post, 0, 0, self.cluster.spec.nic.post);
            self.cluster.foresee(ready + self.cluster.spec.nic.latency, ClusterEvent::Leaves(self.number));
        }
    }
    fn has_left(&self, peer: Address) -> bool {
        self.cluster.desks.get(self.cluster.number(peer) as usize).is_some_and(|desk| desk.left.get())
    }
}
