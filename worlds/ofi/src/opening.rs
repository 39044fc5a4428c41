//! How lanes are made: open them, tell the others their address, and learn the others' addresses.
use crate::abi::WAIT_FD;
use crate::cpu::Tended;
use crate::endpoint::ActiveEndpoint;
use crate::inner::{Inner, LaneSet};
use crate::lane::Lane;
use crate::peers::RemoteLane;
use crate::proof::{LaneKey, Proofs, draw};
use crate::provider::Provider;
use crate::wire::{EndpointAddress, LANES_MAX};
use foregather_host::failure_detector::FailureDetector;
use foregather_machine::{Cause, Error, Rank, WaitContext};
use std::sync::Arc;

/// The lanes of a rank that are open, but do not know the others yet.
pub struct Opening {
    provider: Arc<Provider>,
    lane_set: LaneSet,
    key: LaneKey,
    address: Vec<u8>,
    endpoints: Vec<ActiveEndpoint>,
    failure_detector: Option<Arc<FailureDetector>>,
}

/// The action of an opening, for the error of one that a loss cuts short.
const OPENING: &str = "opening libfabric";

impl Opening {
    /// Opens `lanes` endpoints for `rank` of `size`. `job` is a secret, of any length, that all ranks of a
    /// job know and others do not: frames of others are ignored. With a `vigil`, this and all waits of the
    /// lanes fail once it knows that a rank was lost.
    ///
    /// # Errors
    /// If the job has no such rank, there are too many lanes, or libfabric refuses; [`Cause::PeerLost`] after
    /// a loss.
    pub fn new(
        provider: Arc<Provider>,
        (rank, size): (Rank, u32),
        lanes: u32,
        job: &[u8],
        vigil: Option<Arc<FailureDetector>>,
    ) -> Result<Self, Error> {
        if rank >= size {
            return Err(Cause::Rank { rank, size }.into());
        }
        if lanes == 0 || u64::from(size) * u64::from(lanes) > LANES_MAX {
            return Err(
                Cause::Size { what: "a fabric's lanes", size: lanes, needs: "at least one a rank, and 2^20 in all" }.into()
            );
        }
        // Opening one takes tens of milliseconds, in which no wait looks at the failure detector.
        let whole = || vigil.as_ref().map_or(Ok(()), |vigil| vigil.check(&WaitContext::new(OPENING, rank)));
        let open = |_| whole().and_then(|()| ActiveEndpoint::open(Arc::clone(&provider), WAIT_FD));
        let endpoints: Vec<_> = (0..lanes).map(open).collect::<Result<_, _>>()?;
        whole()?;
        let names = endpoints.iter().map(ActiveEndpoint::name).collect::<Result<_, _>>()?;
        let address = EndpointAddress { provider: provider.name().to_owned(), drawn: draw()?, lanes: names }.write();
        let key = LaneKey::new(job);
        Ok(Self {
            provider,
            lane_set: LaneSet { rank, size, lanes, stamp: key.stamp() },
            key,
            address,
            endpoints,
            failure_detector: vigil,
        })
    }

    /// The address of this rank's lanes: to be handed to each other rank unchanged.
    pub fn address(&self) -> Vec<u8> {
        self.address.clone()
    }

    /// The lanes, once every rank's address is known: in the order of the ranks, this one's own among them.
    /// Connections are made at the first send.
    ///
    /// # Errors
    /// [`Cause::ProtocolViolation`] for an address that is invalid or of another version; [`Cause::Setting`]
    /// if there are not as many as ranks, or of another provider or number of lanes.
    pub fn connect(self, addresses: &[Vec<u8>]) -> Result<Vec<Lane>, Error> {
        let lane_set = self.lane_set;
        if addresses.len() != lane_set.size as usize {
            return Err(Cause::Setting { what: "the number of addresses", needs: "one of each rank, in order" }.into());
        }
        let addresses = addresses.iter().enumerate().map(|(from, bytes)| EndpointAddress::read(bytes, from as Rank));
        let addresses: Vec<EndpointAddress> = addresses.collect::<Result<_, _>>()?;
        let own = EndpointAddress::read(&self.address, lane_set.rank)?;
        let len = own.lanes.first().map_or(0, Vec::len);
        for (from, address) in addresses.iter().enumerate() {
            if address.provider != self.provider.name() || address.lanes.len() != lane_set.lanes as usize {
                let needs = "the same provider and as many lanes at every rank";
                return Err(Cause::Setting { what: "the fabric", needs }.into());
            }
            // libfabric reads as many bytes from the address book's entry as its own names have; those of shm
            // are texts.
            let fits = |name: &Vec<u8>| if own.provider == "shm" { name.ends_with(&[0]) } else { name.len() == len };
            if !address.lanes.iter().all(fits) {
                return Err(Cause::ProtocolViolation { from: from as Rank, what: "an address of another kind" }.into());
            }
        }
        let drawn = addresses.iter().map(|address| address.drawn).collect();
        let proofs = Arc::new(Proofs { key: self.key, drawn, lanes: lane_set.lanes });
        let names: Vec<&Vec<u8>> = addresses.iter().flat_map(|address| &address.lanes).collect();
        let lanes = self.endpoints.into_iter().enumerate().map(|(lane, endpoint)| {
            let peers = names.iter().map(|name| Ok(RemoteLane::at(endpoint.insert(name)?))).collect::<Result<_, Error>>()?;
            Inner::start(
                lane_set,
                lane as u32,
                peers,
                Arc::clone(&proofs),
                Tended::new(endpoint, self.failure_detector.clone()).processor(),
            )
            .map(Lane::new)
        });
        lanes.collect()
    }
}

foregather_machine::debug_by! { [] Opening, "Opening", |this| provider: this.provider.name(), seat: this.lane_set }
