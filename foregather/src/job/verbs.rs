//! The operations of a rank, on bytes over a messenger, once for every fabric.
//!
//! A message is one piece, and its receiver reads the length first. Long messages are not copied when they
//! are sent.
use foregather_barrier::dissemination;
use foregather_machine::{Cause, Error, Fabric, Port, Rank, block_on};
use foregather_message::collective::{self, Element};
use foregather_message::{Cheaper, Incoming, Messenger, Mode, Receive, Settings};

/// A message up to this many bytes is copied when it is sent, so that its sender can continue.
const COPIED: usize = 64 << 10;

/// Creates the messenger of a rank. Which messages are copied and which are fetched is the same on every
/// fabric that supports both.
pub(super) fn messenger<F: Fabric>(lane: F) -> Result<Messenger<F>, Error> {
    Messenger::new(lane, Settings { direct_at: Some(COPIED + 1), ..Settings::default() })
}

#[inline]
pub(super) fn send<F: Fabric>(messenger: &Messenger<F>, to: Rank, bytes: &[u8]) -> Result<(), Error> {
    block_on(messenger.send_whole(to, Cheaper(bytes), Receive::Cheaper))
}

/// Receives the next message into the memory that `place` returns for its length. If it returns none, the
/// message is discarded, and the call returns an error.
#[inline]
fn take<'m, F: Fabric>(
    messenger: &Messenger<F>,
    from: Rank,
    place: impl FnOnce(usize) -> Result<&'m mut [u8], Error>,
) -> Result<usize, Error> {
    block_on(async {
        let mut message = messenger.begin_unpacking_from(from)?;
        let bytes = message.next_len().await?;
        match place(bytes) {
            Ok(into) => {
                message.unpack(Mode::Cheaper, into).await?;
                message.end().await.map(|()| bytes)
            }
            Err(error) => discard(message, bytes).await.and(Err(error)),
        }
    })
}

/// Discards the rest of a message, so that the next receive gets the next message.
#[cold]
async fn discard<F: Fabric>(message: Incoming<'_, '_, F>, bytes: usize) -> Result<(), Error> {
    let mut rest = Vec::new();
    reserve(&mut rest, bytes)?;
    rest.resize(bytes, 0);
    discard_into(message, &mut rest).await
}

async fn discard_into<'m, F: Fabric>(mut message: Incoming<'_, 'm, F>, rest: &'m mut [u8]) -> Result<(), Error> {
    message.unpack(Mode::Cheaper, rest).await?;
    message.end().await
}

fn reserve<T>(into: &mut Vec<T>, elements: usize) -> Result<(), Error> {
    let bytes = elements.saturating_mul(size_of::<T>());
    into.try_reserve_exact(elements).map_err(|_| Cause::Length { what: "a message", bytes, room: 0 }.into())
}

/// Returns the number of elements in `bytes` bytes.
#[inline]
fn elements(bytes: usize, element: usize) -> Result<usize, Error> {
    match bytes.checked_div(element) {
        Some(elements) if bytes.is_multiple_of(element) => Ok(elements),
        None if bytes == 0 => Ok(0),
        _ => Err(Cause::Elements { bytes, element }.into()),
    }
}

/// Receives the next message into the beginning of `into`. Returns how many elements of that size it had.
#[inline]
pub(super) fn receive<F: Fabric>(messenger: &Messenger<F>, from: Rank, into: &mut [u8], element: usize) -> Result<usize, Error> {
    let room = into.len();
    let bytes = take(messenger, from, |bytes| {
        let place = into.get_mut(..bytes).ok_or(Cause::Length { what: "a message", bytes, room })?;
        elements(bytes, element).map(|_| place)
    })?;
    elements(bytes, element)
}

/// Receives the next message, of any length.
pub(super) fn receive_vec<F: Fabric, T: bytemuck::Pod>(messenger: &Messenger<F>, from: Rank) -> Result<Vec<T>, Error> {
    let mut all = Vec::new();
    take(messenger, from, |bytes| {
        let elements = elements(bytes, size_of::<T>())?;
        reserve(&mut all, elements)?;
        all.resize(elements, T::zeroed());
        Ok(bytemuck::cast_slice_mut(&mut all))
    })?;
    Ok(all)
}

/// Sends and receives at once: the other side can fetch the outgoing message while its own arrives.
pub(super) fn exchange<F: Fabric>(
    messenger: &Messenger<F>,
    here: Rank,
    peer: Rank,
    out: &[u8],
    into: &mut [u8],
    element: usize,
) -> Result<usize, Error> {
    if peer == here {
        let room = into.len();
        let place = into.get_mut(..out.len()).ok_or(Cause::Length { what: "a message", bytes: out.len(), room })?;
        place.copy_from_slice(out);
        return elements(out.len(), element);
    }
    // A wrong length of the received message may be the caller's error; the other side still gets the message
    // that it needs.
    block_on(messenger.scope(async |scope| {
        let mut message = messenger.begin_packing(peer)?;
        message.pack(Cheaper(out), Receive::Cheaper).await?;
        scope.end_later(message).await?;
        Ok(receive(messenger, peer, into, element))
    }))?
}

#[inline]
pub(super) fn barrier(port: &impl Port) -> Result<(), Error> {
    block_on(dissemination(port))
}

pub(super) fn reduce<T: Element>(port: &impl Port, value: T, combine: impl Fn(T, T) -> T) -> Result<T, Error> {
    let mut all = [value];
    block_on(collective::allreduce(port, &mut all, combine))?;
    Ok(all[0])
}

pub(super) fn broadcast(port: &impl Port, root: Rank, bytes: &mut [u8]) -> Result<(), Error> {
    block_on(collective::broadcast(port, root, bytes))
}
