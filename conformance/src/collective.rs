//! What collective operations promise, in every world with sized messages: the results of one member that
//! computes everything alone.
use crate::{PortProgram, Ports};
use foregather_machine::{Cause, Error, Nanos, Port, Rank, SplitMix};
use foregather_message::collective::{
    Element, all_gather, all_to_all, allreduce, broadcast, gather, maximum, minimum, reduce, shift, sum,
};
use std::fmt::Debug;

/// Everything, for a few sizes; [`one`] for any.
pub fn all(ports: &impl Ports) {
    for size in [1, 2, 3, 5, 8] {
        for (root, bytes) in [(0, 0), (size - 1, 7), (size / 2, 13_000), (0, 20_000)] {
            one(ports, &vec![Nanos::ZERO; size as usize], root, bytes);
        }
    }
    what_cannot_be_is_refused(ports);
    another_length_is_named(ports);
}

/// Every operation once, with payloads of about `bytes` bytes, by members that begin at these times.
pub fn one(ports: &impl Ports, start: &[Nanos], root: Rank, bytes: usize) {
    let ends = ports.run(1, start, &Everything { root, bytes });
    assert!(ends.iter().all(Result::is_ok) && ends.len() == start.len(), "{ends:?}");
    // Floats have no sequential oracle but each other: all members, and both operations.
    let bits: Vec<_> = ends.into_iter().flatten().collect();
    assert!(bits.iter().all(|all| all.0 == bits[0].0), "{bytes} bytes: floats differ from member to member");
    assert_eq!(bits[root as usize].0, bits[root as usize].1, "{bytes} bytes: reduce and allreduce differ");
}

/// The contents of `rank`, of `bytes` bytes.
fn contents(rank: Rank, bytes: usize) -> Vec<u8> {
    let mut random = SplitMix(SplitMix::mix(u64::from(rank) + 1));
    (0..bytes).map(|_| random.next() as u8).collect()
}

fn numbers<T>(rank: Rank, count: usize, make: impl Fn(u64) -> T) -> Vec<T> {
    let mut random = SplitMix(SplitMix::mix(u64::from(rank) + 77));
    (0..count).map(|_| make(random.next())).collect()
}

/// Every operation once, on one member.
pub(crate) struct Everything {
    pub(crate) root: Rank,
    pub(crate) bytes: usize,
}

/// The bits of the floats that allreduce and reduce made here.
pub(crate) type Bits = (Vec<u64>, Vec<u64>);

impl PortProgram<Result<Bits, Error>> for Everything {
    async fn node<P: Port>(&self, port: &P) -> Result<Bits, Error> {
        self.bytes_arrive(port).await?;
        self.blocks_arrive(port).await?;
        self.integers(port, |bits| bits as u32, [sum, minimum, maximum]).await?;
        self.integers(port, |bits| bits as i64, [sum, minimum, maximum]).await?;
        self.brackets(port).await?;
        self.floats(port).await
    }
}

impl Everything {
    async fn bytes_arrive<P: Port>(&self, port: &P) -> Result<(), Error> {
        let (me, size) = (port.rank(), port.size());
        let mut bytes = if me == self.root { contents(me, self.bytes) } else { vec![0; self.bytes] };
        broadcast(port, self.root, &mut bytes).await?;
        assert!(bytes == contents(self.root, self.bytes), "rank {me} of {size}: broadcast of {} bytes", self.bytes);
        for distance in [0, 1, size - 1, 2 * size + 3] {
            // Each rank has another length.
            let of = |rank: Rank| contents(rank, self.bytes + rank as usize);
            let mut into = vec![0; self.bytes + size as usize];
            let came = shift(port, distance, &of(me), &mut into).await?;
            let from = (me + size - distance % size) % size;
            assert!(into[..came] == of(from), "rank {me} of {size}: shift by {distance}");
        }
        Ok(())
    }

    async fn blocks_arrive<P: Port>(&self, port: &P) -> Result<(), Error> {
        let (me, size) = (port.rank(), port.size());
        let block = self.bytes;
        let every: Vec<u8> = (0..size).flat_map(|rank| contents(rank, block)).collect();
        let mut into = vec![0; every.len() + 1];
        all_gather(port, &contents(me, block), &mut into).await?;
        assert!(into[..every.len()] == every, "rank {me} of {size}: all-gather of {block} bytes");
        into.fill(0);
        gather(port, self.root, &contents(me, block), if me == self.root { &mut into } else { &mut [] }).await?;
        assert!(me != self.root || into[..every.len()] == every, "rank {me} of {size}: gather of {block} bytes");
        for block in [block, block % 250] {
            let for_all = |from: Rank| contents(from, block * size as usize);
            let expected = (0..size).flat_map(|from| for_all(from)[block * me as usize..][..block].to_vec());
            let expected: Vec<_> = expected.collect();
            let mut into = vec![0; expected.len()];
            all_to_all(port, &for_all(me), &mut into).await?;
            assert!(into == expected, "rank {me} of {size}: all-to-all of {block} bytes");
        }
        Ok(())
    }

    async fn integers<P: Port, T: Element + PartialEq + Debug>(
        &self,
        port: &P,
        make: impl Fn(u64) -> T + Copy,
        functions: [fn(T, T) -> T; 3],
    ) -> Result<(), Error> {
        let of = |rank| numbers(rank, self.bytes / T::BYTES, make);
        for combine in functions {
            let both = |left: Vec<T>, right: Vec<T>| left.into_iter().zip(right).map(|(l, r)| combine(l, r)).collect();
            let expected = (1..port.size()).map(of).fold(of(0), both);
            let mut values = of(port.rank());
            allreduce(port, &mut values, combine).await?;
            assert_eq!(values, expected, "allreduce");
            let mut values = of(port.rank());
            reduce(port, self.root, &mut values, combine).await?;
            assert!(port.rank() != self.root || values == expected, "reduce to {}", self.root);
        }
        Ok(())
    }

    /// An operation that is associative and no more: two digits, the first of the left one and the last of
    /// the right one.
    async fn brackets<P: Port>(&self, port: &P) -> Result<(), Error> {
        let ends = |left: u32, right: u32| left & 0xffff_0000 | right & 0xffff;
        let mut values = vec![port.rank() << 16 | port.rank(); self.bytes / 4];
        let mut at_root = values.clone();
        allreduce(port, &mut values, ends).await?;
        assert!(values.iter().all(|&value| value == port.size() - 1), "allreduce out of order");
        reduce(port, self.root, &mut at_root, ends).await?;
        assert!(port.rank() != self.root || at_root == values, "reduce to {} out of order", self.root);
        Ok(())
    }

    async fn floats<P: Port>(&self, port: &P) -> Result<Bits, Error> {
        let mut everywhere = numbers(port.rank(), self.bytes / 8, |bits| bits as f64 * f64::from(bits as u32));
        let mut at_root = everywhere.clone();
        allreduce(port, &mut everywhere, sum).await?;
        reduce(port, self.root, &mut at_root, sum).await?;
        let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect();
        Ok((bits(everywhere), bits(at_root)))
    }
}

fn what_cannot_be_is_refused(ports: &impl Ports) {
    assert_eq!(ports.run(1, &[Nanos::ZERO; 2], &RefusedOperations), [Ok(()), Ok(())]);
}

/// An impossible operation sends no message, so no rank waits for one.
struct RefusedOperations;

impl PortProgram<Result<(), Error>> for RefusedOperations {
    async fn node<P: Port>(&self, port: &P) -> Result<(), Error> {
        let nobody = |end: Result<(), Error>| matches!(Error::of(&end), Some(Cause::Rank { rank: 2, size: 2 }));
        assert!(nobody(broadcast(port, 2, &mut [0]).await));
        assert!(nobody(reduce(port, 2, &mut [0_u32], sum).await));
        assert!(nobody(gather(port, 2, &[0], &mut [0; 2]).await));
        let too_long = |end: Result<(), Error>| matches!(Error::of(&end), Some(Cause::Length { bytes: 6, room: 5, .. }));
        assert!(too_long(all_gather(port, &[0; 3], &mut [0; 5]).await));
        assert!(too_long(all_to_all(port, &[0; 6], &mut [0; 5]).await));
        let unequal = all_to_all(port, &[0; 5], &mut [0; 6]).await;
        assert!(matches!(Error::of(&unequal), Some(Cause::Setting { .. })));
        Ok(())
    }
}

fn another_length_is_named(ports: &impl Ports) {
    let ends = ports.run(1, &[Nanos::ZERO; 2], &OneMore);
    assert_eq!(ends, [Ok(()), Ok(())]);
}

/// Rank 1 has another length; a rank that receives from it gets both lengths.
struct OneMore;

impl PortProgram<Result<(), Error>> for OneMore {
    async fn node<P: Port>(&self, port: &P) -> Result<(), Error> {
        let peer = 1 - port.rank();
        for (at_0, at_1) in [(40, 44), (44, 40), (0, 4)] {
            let (mine, theirs) = if port.rank() == 0 { (at_0, at_1) } else { (at_1, at_0) };
            let end = allreduce(port, &mut vec![1_u32; mine / 4], sum).await;
            let (packed, unpacked) = (format!("{theirs} bytes"), format!("{mine} bytes"));
            assert_eq!(end, Err(Cause::Mismatch { from: peer, piece: 0, packed, unpacked }.into()));
        }
        Ok(())
    }
}
