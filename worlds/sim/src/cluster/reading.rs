//! Reading a peer's memory, and making one's own known to the NIC.
//!
//! On a NIC that reads by itself that is a request and its answer. On VIA the reader posts receives for its
//! pieces and sends a request; the other side answers in [`progress`](foregather_machine::Fabric::progress),
//! by one descriptor that gathers the memory that it exposes.
use super::cluster_event::Payload;
use super::lane::Lane;
use super::lane_state::ReadProgress;
use super::timeline::Activity;
use crate::event::Queue;
use foregather_machine::{Address, Cause, Error, Fabric, Key, WaitContext};
use std::rc::Rc;

/// A read that was asked for; once dropped, its answer is ignored.
struct Asked<'l, 's, Q: Queue> {
    lane: &'l Lane<'s, Q>,
    ticket: u64,
    pieces: Vec<usize>,
}

impl<Q: Queue> Drop for Asked<'_, '_, Q> {
    fn drop(&mut self) {
        self.lane.cluster.desks[self.lane.number as usize].reads.borrow_mut().remove(&self.ticket);
        self.pieces.iter().for_each(|&bytes| self.lane.forget(bytes));
    }
}

impl<Q: Queue> Asked<'_, '_, Q> {
    /// The answer, if it has come.
    fn look(&self) -> Option<Option<Rc<[u8]>>> {
        match self.lane.cluster.desks[self.lane.number as usize].reads.borrow().get(&self.ticket)? {
            ReadProgress::Asked => None,
            ReadProgress::Refused => Some(None),
            ReadProgress::Here(bytes) => Some(Some(bytes.clone())),
        }
    }
}

impl<Q: Queue> Lane<'_, Q> {
    /// Makes `bytes` bytes in one piece known to the NIC.
    pub fn register(&self, bytes: usize) {
        let nic = &self.cluster.spec.nic;
        self.work(Activity::Register, 1, bytes, nic.paging(nic.register, bytes));
    }

    /// Makes the NIC forget them.
    pub fn forget(&self, bytes: usize) {
        let nic = &self.cluster.spec.nic;
        self.work(Activity::Forget, 1, bytes, nic.paging(nic.forget, bytes));
    }

    pub(super) async fn read(&self, from: Address, Key(key): Key, into: &mut [&mut [u8]]) -> Result<(), Error> {
        let (cluster, nic) = (self.cluster, &self.cluster.spec.nic);
        let peer = self.peer(from)?;
        let pieces: Vec<usize> = into.iter().map(|piece| piece.len()).collect();
        let length: usize = pieces.iter().sum();
        pieces.iter().for_each(|&bytes| self.register(bytes));
        let desk = &cluster.desks[self.number as usize];
        let asked = Asked { lane: self, ticket: desk.number(), pieces };
        desk.reads.borrow_mut().insert(asked.ticket, ReadProgress::Asked);
        let count = asked.pieces.len();
        self.work(Activity::Receive, count, length, nic.receive * u64::from(nic.descriptors(length, count)));
        let ready = self.work(Activity::Post, 0, 0, nic.post);
        cluster.send((self.number, peer), Payload::Request { key, ticket: asked.ticket, pieces: count as u32 }, 0, ready);
        let why = WaitContext::new("get", self.here().rank).of(from.rank);
        let look = || {
            // Otherwise two lanes that read from each other would wait for each other.
            self.progress();
            asked.look()
        };
        let (came, _) = cluster.spec.wait.wait(&self.cpu, self.bell(), why, look).await?;
        self.work(Activity::Complete, count, length, nic.reap);
        let Some(bytes) = came.filter(|bytes| bytes.len() >= length) else {
            return Err(Cause::Unexposed { rank: from.rank }.into());
        };
        let mut rest = &bytes[..];
        for piece in into.iter_mut() {
            let (first, more) = rest.split_at(piece.len());
            piece.copy_from_slice(first);
            rest = more;
        }
        Ok(())
    }
}
