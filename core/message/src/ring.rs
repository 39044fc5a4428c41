//! A ring through a hypercube, and the shift around it (Seidel & Davis 1992 §2.3).
use crate::{Protocol, send_and_receive};
use foregather_machine::{Cause, Error, Port, Rank};

/// A node's place in the ring that the reflected Gray code lays through a hypercube: each step flips one bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// The node before this one.
    pub previous: Rank,
    /// The node after this one.
    pub next: Rank,
}

/// The node at a place of the ring.
const fn gray(place: u32) -> Rank {
    place ^ (place >> 1)
}

/// The place of a node: the inverse of [`gray`].
const fn place(node: Rank) -> u32 {
    let mut place = node;
    let mut shift = 1;
    while shift < u32::BITS {
        place ^= place >> shift;
        shift *= 2;
    }
    place
}

impl Ring {
    /// The place of `rank` among `size` nodes.
    ///
    /// # Errors
    /// [`Cause::Size`] unless `size` is a power of two; [`Cause::Rank`] if there is no such rank.
    pub fn of(rank: Rank, size: u32) -> Result<Self, Error> {
        if !size.is_power_of_two() {
            return Err(Cause::Size { what: "a Gray-code ring", size, needs: "a power of two" }.into());
        }
        if rank >= size {
            return Err(Cause::Rank { rank, size }.into());
        }
        let at = |place: u32| gray(place & (size - 1));
        Ok(Self { previous: at(place(rank).wrapping_sub(1)), next: at(place(rank) + 1) })
    }

    /// Announces the receive of the next shift: a forced one needs it before the neighbour sends.
    ///
    /// # Errors
    /// The port's errors.
    pub fn post<P: Port>(self, port: &P, tag: u32) -> Result<(), Error> {
        port.post(self.previous, tag)
    }

    /// Sends to the next node and receives from the previous one, whose message was [posted](Ring::post).
    /// Returns how many bytes came.
    ///
    /// # Errors
    /// The port's errors.
    pub async fn shift<P: Port>(
        self,
        port: &P,
        tag: u32,
        out: &[u8],
        into: &mut [u8],
        protocol: Protocol,
    ) -> Result<usize, Error> {
        send_and_receive(port, (self.next, out), (self.previous, into), tag, protocol).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_step_of_the_ring_flips_one_bit_and_all_nodes_are_on_it() {
        for size in [2, 4, 8, 128, 1 << 20] {
            let (mut node, mut steps) = (0, 0);
            loop {
                let ring = Ring::of(node, size).unwrap();
                assert_eq!((node ^ ring.next).count_ones(), 1);
                assert_eq!(Ring::of(ring.next, size).unwrap().previous, node);
                (node, steps) = (ring.next, steps + 1);
                if node == 0 {
                    break;
                }
            }
            assert_eq!(steps, size);
        }
        assert_eq!(Ring::of(0, 1).unwrap(), Ring { previous: 0, next: 0 });
    }

    #[test]
    fn a_ring_needs_a_power_of_two_and_a_rank_within() {
        assert!(matches!(Error::of(&Ring::of(0, 6)), Some(Cause::Size { size: 6, .. })));
        assert!(matches!(Error::of(&Ring::of(8, 8)), Some(Cause::Rank { rank: 8, size: 8 })));
        assert!(matches!(Error::of(&Ring::of(0, 0)), Some(Cause::Size { size: 0, .. })));
    }
}
