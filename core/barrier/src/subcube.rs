//! A subset of the members as a group of its own: a subcube of a hypercube, or a row or column of a square
//! grid.
//!
//! Every algorithm over [`Endpoint`] or [`Port`] runs on a subcube unchanged, because only the bits in which
//! the members differ matter (Seidel & Davis 1992 §3.3).
use core::future::Future;
use foregather_machine::{Cause, Endpoint, Error, Member, Packet, Port, Rank};

/// The members of an endpoint whose ranks agree with its own in all bits outside a mask. Their ranks in the
/// subcube are the packed bits inside the mask. Errors of the underlying endpoint still contain that
/// endpoint's ranks and slots.
#[derive(Debug)]
pub struct Subcube<'e, E> {
    endpoint: &'e E,
    mask: Rank,
    offset: u32,
}

impl<'e, E: Endpoint> Subcube<'e, E> {
    /// Creates the subcube of the members whose ranks differ from that of `endpoint` only in bits of `mask`.
    /// Slot 0 of the subcube is slot `offset` of the endpoint, because two subcubes that are in use at the
    /// same time need separate slots. Tags of sized messages are not changed.
    ///
    /// # Errors
    /// [`Cause::Size`] unless the endpoint's size is a power of two and the mask is less than the size.
    pub fn new(endpoint: &'e E, mask: Rank, offset: u32) -> Result<Self, Error> {
        let size = endpoint.size();
        let needs = match size.is_power_of_two() {
            false => "a power of two to have subcubes; tournament, dissemination and rds synchronise any size as a whole",
            true if mask >= size => "a mask of bits below its size",
            true => return Ok(Self { endpoint, mask, offset }),
        };
        Err(Cause::Size { what: "subcube", size, needs }.into())
    }

    /// Creates the row of the endpoint in a square grid whose ranks are numbered row by row.
    ///
    /// # Errors
    /// [`Cause::Size`] unless the endpoint's size is a power of four.
    pub fn row(endpoint: &'e E, offset: u32) -> Result<Self, Error> {
        Self::new(endpoint, side(endpoint.size())? - 1, offset)
    }

    /// Creates the column of the endpoint in the same grid.
    ///
    /// # Errors
    /// [`Cause::Size`] unless the endpoint's size is a power of four.
    pub fn column(endpoint: &'e E, offset: u32) -> Result<Self, Error> {
        let side = side(endpoint.size())?;
        Self::new(endpoint, (side - 1) * side, offset)
    }

    /// Returns the rank that member `peer` of the subcube has in the endpoint.
    ///
    /// # Errors
    /// [`Cause::Rank`] if the subcube has no such member.
    pub fn to_parent_rank(&self, peer: Rank) -> Result<Rank, Error> {
        if peer >= self.size() {
            return Err(Cause::Rank { rank: peer, size: self.size() }.into());
        }
        Ok(self.endpoint.rank() & !self.mask | spread(peer, self.mask))
    }
}

/// Returns the number of rows of a square grid of `size` members.
fn side(size: u32) -> Result<u32, Error> {
    if size.is_power_of_two() && size.trailing_zeros().is_multiple_of(2) {
        return Ok(1 << (size.trailing_zeros() / 2));
    }
    Err(Cause::Size { what: "square grid", size, needs: "a power of four: 1, 4, 16, 64, ..." }.into())
}

/// Returns the bits of `value` inside `mask`, packed.
fn pack(value: u32, mut mask: u32) -> u32 {
    let (mut packed, mut bit) = (0, 0);
    while mask != 0 {
        packed |= (value >> mask.trailing_zeros() & 1) << bit;
        (mask, bit) = (mask & (mask - 1), bit + 1);
    }
    packed
}

/// Spreads packed bits over `mask`: the inverse of [`pack`].
fn spread(mut packed: u32, mut mask: u32) -> u32 {
    let mut value = 0;
    while mask != 0 {
        value |= (packed & 1) << mask.trailing_zeros();
        (mask, packed) = (mask & (mask - 1), packed >> 1);
    }
    value
}

foregather_machine::clock_by! { [E: Endpoint] Subcube<'_, E>, |this| this.endpoint }

impl<E: Endpoint> Member for Subcube<'_, E> {
    fn rank(&self) -> Rank {
        pack(self.endpoint.rank(), self.mask)
    }
    fn size(&self) -> u32 {
        1 << self.mask.count_ones()
    }
}

impl<E: Endpoint> Endpoint for Subcube<'_, E> {
    async fn signal(&self, peer: Rank, slot: u32) -> Result<(), Error> {
        self.endpoint.signal(self.to_parent_rank(peer)?, self.offset + slot).await
    }
    fn wait(&self, slot: u32) -> impl Future<Output = Result<(), Error>> {
        self.endpoint.wait(self.offset + slot)
    }
}

impl<E: Port> Port for Subcube<'_, E> {
    fn short_limit(&self) -> usize {
        self.endpoint.short_limit()
    }
    async fn transmit(&self, to: Rank, packet: Packet, tag: u32, bytes: &[u8]) -> Result<(), Error> {
        self.endpoint.transmit(self.to_parent_rank(to)?, packet, tag, bytes).await
    }
    fn post(&self, from: Rank, tag: u32) -> Result<(), Error> {
        self.endpoint.post(self.to_parent_rank(from)?, tag)
    }
    async fn accept(&self, from: Rank, tag: u32, into: &mut [u8]) -> Result<usize, Error> {
        self.endpoint.accept(self.to_parent_rank(from)?, tag, into).await
    }
    async fn transmit_and_accept(
        &self,
        (to, packet): (Rank, Packet),
        out: &[u8],
        from: Rank,
        into: &mut [u8],
        tag: u32,
    ) -> Result<usize, Error> {
        let (to, from) = (self.to_parent_rank(to)?, self.to_parent_rank(from)?);
        self.endpoint.transmit_and_accept((to, packet), out, from, into, tag).await
    }
    async fn requested(&self, from: Rank, tag: u32) -> Result<(), Error> {
        self.endpoint.requested(self.to_parent_rank(from)?, tag).await
    }
}
