//! VIA without a message layer above it: the programs that Namyst et al. 1999 §3.3 compare with theirs. Both
//! sides know beforehand how long the message is, so nothing is agreed upon; a receive is always posted
//! before the peer may send.
use super::cluster_event::Payload;
use super::lane::Lane;
use super::simulation::Cluster;
use super::spec::ClusterSpec;
use super::timeline::Activity;
use crate::event::Queue;
use foregather_machine::{Address, Clock, Error, Fabric, Member, Nanos, WaitContext};

/// When memory is registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Registration {
    /// Again for each message, on both sides (figure 6).
    PerMessage,
    /// Once, before the first message (figure 7).
    Once,
}

/// The result of a ping-pong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PingPong {
    /// Half a round trip, on average.
    pub half: Nanos,
    /// From the first message to the last.
    pub elapsed: Nanos,
    /// Processor time that threads which only compute had meanwhile, on all nodes.
    pub computed: Nanos,
}

impl<Q: Queue> Lane<'_, Q> {
    /// Posts receives for one message of that length.
    fn raw_receive(&self, bytes: usize) {
        let nic = &self.cluster.spec.nic;
        let descriptors = nic.descriptors(bytes, 1);
        self.work(Activity::Receive, 1, bytes, nic.receive * u64::from(descriptors));
        let receives = &self.cluster.desks[self.number as usize].receives;
        receives.set(receives.get() + descriptors);
    }

    fn raw_send(&self, to: Address, bytes: usize) {
        let nic = &self.cluster.spec.nic;
        let descriptors = nic.descriptors(bytes, 1) as usize;
        let (share, mut rest) = (bytes.div_ceil(descriptors), bytes);
        for number in 1..=descriptors {
            let part = share.min(rest);
            rest -= part;
            let ready = self.work(Activity::Post, 1, part, nic.post);
            let load = Payload::Raw { last: number == descriptors };
            self.cluster.send((self.number, self.cluster.number(to)), load, part as u32, ready);
        }
    }

    /// Waits for one message and takes it.
    async fn raw_take(&self, peer: Address) -> Result<(), Error> {
        let came = &self.cluster.desks[self.number as usize].came;
        let take = || came.get().checked_sub(1).map(|rest| came.set(rest));
        let why = WaitContext::new("raw", self.rank()).of(peer.rank);
        self.cluster.spec.wait.wait(&self.cpu, self.bell(), why, take).await?;
        self.work(Activity::Complete, 1, 0, self.cluster.spec.nic.reap);
        Ok(())
    }
}

/// Two nodes send a message of `bytes` bytes to and fro `rounds` times, by the NIC alone. The first thread
/// of each node does that; any others only compute.
///
/// # Errors
/// If the cluster is invalid, or a thread waited in vain; the error says why.
pub fn ping_pong<Q: Queue>(
    spec: &ClusterSpec,
    bytes: usize,
    rounds: u32,
    registration: Registration,
) -> Result<PingPong, String> {
    let cluster = Cluster::<Q>::new(ClusterSpec { nodes: 2, ..spec.clone() })?;
    let report = cluster.run(async |lane| {
        if lane.here().lane > 0 {
            loop {
                lane.delay(Nanos::MAX).await;
            }
        }
        let spent = exchange(&lane, bytes, rounds.max(1), registration).await;
        if lane.rank() == 0 || spent.is_err() {
            lane.stop();
        }
        spent.map(|spent| (lane.rank(), spent))
    });
    let mut elapsed = None;
    for output in report.outputs.iter().flatten() {
        let (rank, took) = output.as_ref().map_err(ToString::to_string)?;
        elapsed = elapsed.or((*rank == 0).then_some(*took));
    }
    let Some(elapsed) = elapsed else {
        return Err(format!("nobody was done after {}; {} messages were lost", report.end, report.dropped));
    };
    let workers = report.splits.iter().enumerate().filter(|(number, _)| number % spec.threads as usize > 0);
    let computed = workers.fold(Nanos::ZERO, |sum, (_, split)| sum + split.compute);
    Ok(PingPong { half: Nanos(elapsed.0 / (2 * u64::from(rounds.max(1)))), elapsed, computed })
}

async fn exchange<Q: Queue>(lane: &Lane<'_, Q>, bytes: usize, rounds: u32, registration: Registration) -> Result<Nanos, Error> {
    let peer = Address { rank: 1 - lane.rank(), lane: 0 };
    let fresh = registration == Registration::PerMessage;
    let prepare = || {
        if fresh {
            lane.register(bytes);
        }
        lane.raw_receive(bytes);
    };
    let say = || {
        if fresh {
            lane.register(bytes);
        }
        lane.raw_send(peer, bytes);
    };
    let done = || {
        if fresh {
            lane.forget(bytes);
        }
    };
    prepare();
    lane.delay(Nanos::ZERO).await;
    let began = lane.now();
    for round in 1..=rounds {
        if lane.rank() == 0 {
            say();
            // While the message is on its way.
            done();
        }
        lane.raw_take(peer).await?;
        done();
        if round < rounds || lane.rank() == 1 {
            prepare();
        }
        if lane.rank() == 1 {
            say();
            done();
        }
    }
    lane.delay(Nanos::ZERO).await;
    Ok(lane.now() - began)
}
