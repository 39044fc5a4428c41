//! What of a fault is the fabric's: a request and its answer with a minipage's bytes as bare frames, between ranks that spin.
use super::{Figures, Quantity, Timed};
use crate::messages::Bare;
use foregather_machine::{Error, Fabric, Nanos};

/// Bytes of a request, and of what precedes the bytes of an answer: those of a message of the protocol.
pub(super) const HEAD: usize = 24;

/// A rank's part.
pub(super) fn measure<F: Fabric>(lane: F, sizes: &[usize], rounds: u32, until: Nanos) -> Result<Figures, Error> {
    let (rank, most) = (lane.here().rank, lane.limits().buffer);
    let bare = Bare::new(lane, until);
    let mut timed = Vec::new();
    for &bytes in sizes {
        let mut of = Timed::of(Quantity::Fetch, bytes);
        let (from, mut into) = (vec![1; HEAD + bytes], vec![0; HEAD + bytes]);
        for _ in 0..rounds {
            let mut done = Ok(());
            if rank == 0 {
                of.time(|| done = ask(&bare, &mut into, most));
            } else {
                done = answer(&bare, &from, most);
            }
            done?;
        }
        timed.push(of);
    }
    bare.lane.leave();
    Ok(Figures { timed, notes: vec![] })
}

fn ask<F: Fabric>(bare: &Bare<F>, into: &mut [u8], most: usize) -> Result<(), Error> {
    bare.post(&[0; HEAD], true)?;
    into.chunks_mut(most).try_for_each(|part| bare.take(part, true, false))
}

fn answer<F: Fabric>(bare: &Bare<F>, from: &[u8], most: usize) -> Result<(), Error> {
    bare.take(&mut [0; HEAD], true, false)?;
    from.chunks(most).try_for_each(|part| bare.post(part, true))
}
