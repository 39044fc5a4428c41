//! The operations of a rank, once for every fabric: on bytes, over a messenger.
//!
//! A message is one piece, whose length its receiver asks for; the bytes stay where they are if they are
//! many.
use foregather_barrier::dissemination;
use foregather_machine::{Cause, Error, Fabric, Rank, block_on};
use foregather_message::collective::{self, Element};
use foregather_message::{Cheaper, Incoming, Messenger, Mode, Receive, Settings};

/// A message up to this many bytes is copied when it is sent, and its sender goes on.
const COPIED: usize = 64 << 10;

/// The messenger of every rank: which messages are copied and which are fetched is equal on every fabric that
/// can do both.
pub(super) fn messenger<F: Fabric>(lane: F) -> Result<Messenger<F>, Error> {
    Messenger::new(lane, Settings { direct_at: Some(COPIED + 1), ..Settings::default() })
}

#[inline]
pub(super) fn send<F: Fabric>(messenger: &Messenger<F>, to: Rank, bytes: &[u8]) -> Result<(), Error> {
    block_on(messenger.send_whole(to, Cheaper(bytes), Receive::Cheaper))
}

/// Takes the next message into the place that `place` gives for its length; without a place it is taken all
/// the same, and an error.
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

/// Takes the rest of a message that has no place: the next one is right.
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

/// The number of elements in these bytes.
#[inline]
fn elements(bytes: usize, element: usize) -> Result<usize, Error> {
    match bytes.checked_div(element) {
        Some(elements) if bytes.is_multiple_of(element) => Ok(elements),
        None if bytes == 0 => Ok(0),
        _ => Err(Cause::Elements { bytes, element }.into()),
    }
}

/// Takes the next message into the beginning of `into`. Returns how many elements of that size it had.
#[inline]
pub(super) fn receive<F: Fabric>(messenger: &Messenger<F>, from: Rank, into: &mut [u8], element: usize) -> Result<usize, Error> {
    let room = into.len();
    let bytes = take(messenger, from, |bytes| {
        let place = into.get_mut(..bytes).ok_or(Cause::Length { what: "a message", bytes, room })?;
        elements(bytes, element).map(|_| place)
    })?;
    elements(bytes, element)
}

/// Takes the next message, of any length.
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

/// Both ways at once: the own message is open to be fetched while the other side's comes.
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
    // The received message may be the caller's error: the other side still gets the one that it needs.
    block_on(messenger.scope(async |scope| {
        let mut message = messenger.begin_packing(peer)?;
        message.pack(Cheaper(out), Receive::Cheaper).await?;
        scope.end_later(message).await?;
        Ok(receive(messenger, peer, into, element))
    }))?
}

#[inline]
pub(super) fn barrier<F: Fabric>(messenger: &Messenger<F>) -> Result<(), Error> {
    block_on(dissemination(messenger))
}

pub(super) fn reduce<F: Fabric, T: Element>(messenger: &Messenger<F>, value: T, combine: impl Fn(T, T) -> T) -> Result<T, Error> {
    let mut all = [value];
    block_on(collective::allreduce(messenger, &mut all, combine))?;
    Ok(all[0])
}

pub(super) fn broadcast<F: Fabric>(messenger: &Messenger<F>, root: Rank, bytes: &mut [u8]) -> Result<(), Error> {
    block_on(collective::broadcast(messenger, root, bytes))
}
