//! A block from every member for every member.
use super::{Tag, TaggedPort, blocks, room_for};
use foregather_machine::{Cause, Error, Port};

/// From this many bytes on, each block goes by itself.
pub const ALL_TO_ALL_LONG: usize = 256;

/// Sends the `r`-th of `n` blocks, all of one length, to rank `r`; the block of every member comes into the
/// front of `into`, in the order of the ranks.
///
/// Short: blocks travel together by the bits of their distance (Bruck et al. 1997), `log2 n c(n/2 b)` for
/// blocks of `b` bytes. Long: `n - 1` messages of one block, to one member after the other, `(n - 1) c(b)`.
///
/// # Errors
/// [`Cause::Setting`] unless the blocks are equal, [`Cause::Length`] if there is too little room,
/// [`Cause::Mismatch`] if a member has blocks of another length; the port's errors.
pub async fn all_to_all<P: Port>(port: &P, out: &[u8], into: &mut [u8]) -> Result<(), Error> {
    let (link, size) = (TaggedPort::new(port, Tag::AllToAll), port.size());
    let block = out.len() / size as usize;
    if block * size as usize != out.len() {
        return Err(Cause::Setting { what: "blocks for all", needs: "a block of one length for each member" }.into());
    }
    let into = room_for(into, size, block)?;
    if block < ALL_TO_ALL_LONG {
        return by_bits(&link, out, into, block).await;
    }
    let at = |rank| blocks(rank..rank + 1, block);
    into[at(link.rank())].copy_from_slice(&out[at(link.rank())]);
    for distance in 1..size {
        let (to, from) = (link.after(distance), link.before(distance));
        link.give_and_take((to, &out[at(to)]), (from, &mut into[at(from)])).await?;
    }
    Ok(())
}

/// A block with `d` places to go goes on by each power of two in `d`, together with all others that do.
async fn by_bits<P: Port>(link: &TaggedPort<'_, P>, out: &[u8], into: &mut [u8], block: usize) -> Result<(), Error> {
    let size = link.size();
    let at = |place| blocks(place..place + 1, block);
    // The blocks by the distance that they go.
    let mut going = out.to_vec();
    going.rotate_left(at(link.rank()).start);
    let (mut together, mut come) = (Vec::new(), Vec::new());
    let mut bit = 1;
    while bit < size {
        let moved = || (0..size).filter(|distance| distance & bit > 0);
        together.clear();
        moved().for_each(|distance| together.extend_from_slice(&going[at(distance)]));
        come.resize(together.len(), 0);
        link.give_and_take((link.after(bit), &together), (link.before(bit), &mut come)).await?;
        (0..).zip(moved()).for_each(|(i, distance)| going[at(distance)].copy_from_slice(&come[at(i)]));
        bit <<= 1;
    }
    (0..size).for_each(|distance| into[at(link.before(distance))].copy_from_slice(&going[at(distance)]));
    Ok(())
}
