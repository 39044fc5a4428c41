//! Failing messages: both sides get an error that says why, and no rank waits forever.
use super::must;
use core::cell::Cell;
use foregather_machine::{Cause, Clock, Endpoint, Error, Fabric, Member, Nanos};
use foregather_message::{Cheaper, Later, Messenger, Mode, Receive, Safer};

/// A LATER piece is read when the message ends, and EXPRESS data behind it still comes first at the receiver.
///
/// # Errors
/// If it is read before; errors of the messenger.
pub async fn later_is_read_at_the_end<F: Fabric>(messenger: &Messenger<F>) -> Result<(), Error> {
    if messenger.rank() == 0 {
        let mut value = 1_u32.to_le_bytes();
        let cells = Cell::from_mut(&mut value[..]).as_slice_of_cells();
        let mut message = messenger.begin_packing(1)?;
        message.pack(Later(cells), Receive::Express).await?;
        message.pack(Safer(&7_u32.to_le_bytes()), Receive::Express).await?;
        cells.iter().zip(2_u32.to_le_bytes()).for_each(|(cell, byte)| cell.set(byte));
        message.end().await
    } else {
        let mut message = messenger.begin_unpacking_from(0)?;
        let later: u32 = message.unpack_express(Mode::Later).await?;
        let behind: u32 = message.unpack_express(Mode::Safer).await?;
        message.end().await?;
        must((later, behind) == (2, 7), "what was written to a LATER piece before the end")
    }
}

/// The two sides disagree about the second piece: the receiver is told both opinions, and the sender that the
/// connection is lost.
///
/// # Errors
/// If anything else happens.
pub async fn disagreeing<F: Fabric>(messenger: &Messenger<F>, big: usize) -> Result<(), Error> {
    let bulk = vec![1; big];
    if messenger.rank() == 0 {
        let mut message = messenger.begin_packing(1)?;
        message.pack(Safer(&[1; 4]), Receive::Express).await?;
        let packed = message.pack(Cheaper(&bulk), Receive::Cheaper).await;
        let ended = if packed.is_ok() { message.end().await } else { packed };
        let lost = if ended.is_ok() { messenger.begin_unpacking_from(1)?.end().await } else { ended };
        must(matches!(Error::of(&lost), Some(Cause::Poisoned { by: Some(1) })), "what a sender is told about a disagreement")
    } else {
        let mut short = vec![0; big - 1];
        let mut message = messenger.begin_unpacking_from(0)?;
        message.unpack_express_into(Mode::Safer, &mut [0; 4]).await?;
        let told = match message.unpack(Mode::Cheaper, &mut short).await {
            Ok(()) => message.end().await,
            told => told,
        };
        let Some(Cause::Mismatch { from: 0, piece: 1, packed, unpacked }) = Error::of(&told) else {
            return must(false, "that a disagreement is named");
        };
        must(packed.starts_with(&big.to_string()) && unpacked.starts_with(&(big - 1).to_string()), "both opinions")
    }
}

/// Rank 0 drops a message in the middle: rank 1 is told so instead of waiting for the rest.
///
/// # Errors
/// If rank 1 is not told.
pub async fn abandoned<F: Fabric>(messenger: &Messenger<F>) -> Result<(), Error> {
    if messenger.rank() == 0 {
        let bulk = vec![1; 100_000];
        let mut message = messenger.begin_packing(1)?;
        message.pack(Safer(&bulk[..9_000]), Receive::Cheaper).await?;
        drop(message);
        let again = messenger.begin_packing(1).map(drop);
        must(matches!(Error::of(&again), Some(Cause::Poisoned { by: Some(0) })), "that a dropped message poisons its connection")
    } else {
        let mut rest = vec![0; 9_000];
        let mut message = messenger.begin_unpacking_from(0)?;
        let told = match message.unpack(Mode::Safer, &mut rest).await {
            Ok(()) => message.end().await,
            told => told,
        };
        must(matches!(Error::of(&told), Some(Cause::Poisoned { by: Some(0) })), "who dropped a message")
    }
}

/// All but rank 1 leave in order; rank 1 gets what they had sent, and is then told that nothing more comes.
///
/// # Errors
/// If rank 1 is not told.
pub async fn left_in_order<F: Fabric>(messenger: Messenger<F>) -> Result<(), Error> {
    if messenger.rank() != 1 {
        let mut message = messenger.begin_packing(1)?;
        message.pack(Safer(b"the last"), Receive::Express).await?;
        message.end().await?;
        messenger.leave();
        return Ok(());
    }
    for _ in 1..messenger.size() {
        let mut message = messenger.begin_unpacking().await?;
        let last: [u8; 8] = message.unpack_express(Mode::Safer).await?;
        message.end().await?;
        must(&last == b"the last", "what was sent before leaving")?;
    }
    let told = messenger.begin_unpacking().await.map(drop);
    must(matches!(Error::of(&told), Some(Cause::Closed { peer: None })), "that all others have left")?;
    let told = messenger.begin_unpacking_from(0)?.end().await;
    must(matches!(Error::of(&told), Some(Cause::Closed { peer: Some(0) })), "that rank 0 has left")?;
    messenger.leave();
    Ok(())
}

/// Rank 1 waits for a message that never comes, with a deadline.
///
/// # Errors
/// If the wait does not end by the deadline.
pub async fn impatient<F: Fabric>(messenger: &Messenger<F>, patience: Nanos) -> Result<(), Error> {
    if messenger.rank() == 1 {
        messenger.set_deadline(messenger.now() + patience);
        let told = messenger.begin_unpacking().await.map(drop);
        must(matches!(Error::of(&told), Some(Cause::TimedOut { .. })), "that a deadline ends a wait")?;
        messenger.set_deadline(Nanos::MAX);
    }
    Ok(())
}

/// Rank 0 of three goes away without leaving: all ranks that wait for it are told, for null messages, too;
/// the others go on.
///
/// # Errors
/// If a rank is not told.
pub async fn gone<F: Fabric>(messenger: Messenger<F>) -> Result<(), Error> {
    if messenger.rank() == 0 {
        drop(messenger);
        return Ok(());
    }
    // Rank 1 has given its connection up before.
    if messenger.rank() == 1 {
        drop(messenger.begin_packing(0)?);
    }
    let told = messenger.wait_from(0, 1).await;
    must(matches!(Error::of(&told), Some(Cause::Poisoned { by: Some(0 | 1) })), "that null messages of one that has gone fail")?;
    let told = messenger.begin_unpacking_from(0)?.end().await;
    must(matches!(Error::of(&told), Some(Cause::Poisoned { by: Some(0 | 1) })), "who has gone")?;
    let other = 3 - messenger.rank();
    messenger.signal(other, 2).await?;
    messenger.wait_from(other, 2).await?;
    messenger.leave();
    Ok(())
}
