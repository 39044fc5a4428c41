//! What the nodes of the directed cases do: the operations of Table II, and a barrier with a shift behind it.
use super::directed::{Directed, DirectedRun, Ipsc};
use anyhow::Result;
use foregather_barrier::{Algorithm, SignalCost};
use foregather_machine::{Clock, Error, Member, Nanos, Port};
use foregather_message::{Protocol, Ring, exchange, receive, send, synchronised_exchange};

const TAG: u32 = 3;

/// The paper's three.
pub(super) const GSYNC: Algorithm = Algorithm::Butterfly;
pub(super) const SYNC0: Algorithm = Algorithm::Sync0;
pub(super) const RDS: Algorithm = Algorithm::Rds { hop: SignalCost::IPSC860 };
pub(super) const THREE: [Algorithm; 3] = [GSYNC, SYNC0, RDS];

/// Node 0 sends to node 1.
pub(super) fn sent(bytes: usize, protocol: Protocol) -> Result<DirectedRun<()>> {
    Directed::new(2).run(async |node: &Ipsc<'_>| {
        let out = vec![0; bytes];
        if node.rank() == 0 {
            return send(node, 1, TAG, &out, protocol).await;
        }
        node.post(0, TAG)?;
        receive(node, 0, TAG, &mut []).await.map(drop)
    })
}

/// Two nodes exchange messages, the second one late, by microseconds or to the nanosecond.
pub(super) fn exchanged(bytes: usize, protocol: Protocol, synchronised: bool, late: Nanos) -> Result<DirectedRun<()>> {
    let mut directed = Directed::new(2);
    directed.late.push((1, late));
    directed.run(async |node: &Ipsc<'_>| {
        let (peer, out) = (1 - node.rank(), vec![0; bytes]);
        let came = if synchronised {
            synchronised_exchange(node, peer, TAG, &out, &mut [], protocol).await
        } else {
            exchange(node, peer, TAG, &out, &mut [], protocol).await
        };
        came.map(drop)
    })
}

/// A shift around a ring that nobody has synchronised. The receives are posted before anybody is late, as forced messages need it.
pub(super) fn shifted(directed: &Directed, bytes: usize, protocol: Protocol) -> Result<DirectedRun<()>> {
    let punctual = Directed { late: vec![], ..directed.clone() };
    punctual.run(async |node: &Ipsc<'_>| {
        let ring = Ring::of(node.rank(), node.size())?;
        ring.post(node, TAG)?;
        node.delay(directed.lateness(node.rank())).await;
        shift(node, ring, bytes, protocol).await
    })
}

async fn shift(node: &Ipsc<'_>, ring: Ring, bytes: usize, protocol: Protocol) -> Result<(), Error> {
    ring.shift(node, TAG, &vec![0; bytes], &mut [], protocol).await.map(drop)
}

/// A barrier alone.
pub(super) fn synchronised(directed: &Directed, kind: Algorithm) -> Result<DirectedRun<()>> {
    directed.run(async |node: &Ipsc<'_>| kind.over(node).await)
}

/// A barrier and a shift: when each node was through the barrier.
pub(super) fn synchronised_shift(
    directed: &Directed,
    kind: Algorithm,
    bytes: usize,
    protocol: Protocol,
) -> Result<DirectedRun<Nanos>> {
    directed.run(async |node: &Ipsc<'_>| {
        let ring = Ring::of(node.rank(), node.size())?;
        ring.post(node, TAG)?;
        kind.over(node).await?;
        let left = node.ideal();
        shift(node, ring, bytes, protocol).await?;
        Ok(left)
    })
}

/// The longest time that a node took from its exit of the barrier to the end of its shift.
pub(super) fn slowest(played: &DirectedRun<Nanos>) -> Nanos {
    played.ends.iter().zip(&played.outputs).map(|(&end, &left)| end - left).max().unwrap_or(Nanos::ZERO)
}

/// The first whole number between `from` and `to` for which `holds`, which then goes on holding; `to` if there is none.
pub(super) fn first(from: u64, to: u64, mut holds: impl FnMut(u64) -> Result<bool>) -> Result<u64> {
    let (mut low, mut high) = (from, to);
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle)? {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Ok(high)
}
