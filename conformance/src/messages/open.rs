//! Several messages open at a time: in a scope, or from memory that the messenger keeps; and handles that are
//! dropped or forgotten.
use super::must;
use foregather_machine::{Cause, Error, Fabric, Member};
use foregather_message::{Cheaper, Messenger, Mode, Receive, Safer};

fn contents(from: u32, number: u32, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (from * 31 + number * 17 + at as u32) as u8).collect()
}

/// Each of two ranks has `count` messages open to the other one before it takes any. Their numbers say
/// whether they are cut into pieces.
///
/// # Errors
/// If one is lost, out of order or changed; errors of the messenger.
pub async fn several_open<F: Fabric>(messenger: &Messenger<F>, count: u32, bytes: usize) -> Result<(), Error> {
    let (here, peer) = (messenger.rank(), 1 - messenger.rank());
    let bodies: Vec<_> = (0..count).map(|number| contents(here, number, bytes)).collect();
    messenger
        .scope(async |scope| {
            for (number, body) in (0_u32..).zip(&bodies) {
                let mut message = messenger.begin_packing(peer)?;
                if number % 2 == 0 {
                    message.pack(Safer(&number.to_le_bytes()), Receive::Express).await?;
                }
                message.pack(Cheaper(body), Receive::Cheaper).await?;
                scope.end_later(message).await?;
            }
            for number in 0..count {
                let mut body = vec![0; bytes];
                if number % 2 == 0 {
                    let mut message = messenger.begin_unpacking_from(peer)?;
                    let said: u32 = message.unpack_express(Mode::Safer).await?;
                    must(said == number, "the order of open messages")?;
                    message.unpack(Mode::Cheaper, &mut body).await?;
                    message.end().await?;
                } else {
                    messenger.receive_whole(peer, Mode::Cheaper, Receive::Cheaper, &mut body).await?;
                }
                must(body == contents(peer, number, bytes), "what an open message holds")?;
            }
            Ok(())
        })
        .await
}

/// Rank 0 sends from memory that it gives away: it gets one back, drops the handle of one, and forgets that
/// of one. Rank 1 sends whole messages that rank 0 takes as pieces.
///
/// # Errors
/// If bytes or memory are not those expected; errors of the messenger.
pub async fn owned<F: Fabric>(messenger: &Messenger<F>, bytes: usize) -> Result<(), Error> {
    if messenger.rank() == 0 {
        let first = messenger.send_owned(1, contents(0, 0, bytes)).await?;
        drop(messenger.send_owned(1, contents(0, 1, bytes)).await?);
        core::mem::forget(messenger.send_owned(1, contents(0, 2, bytes)).await?);
        let last = messenger.send_owned(1, contents(0, 3, bytes)).await?;
        must(first.wait().await? == contents(0, 0, bytes), "that memory is given back")?;
        must(last.wait().await? == contents(0, 3, bytes), "that memory is given back")?;
        let mut body = vec![0; bytes];
        let mut message = messenger.begin_unpacking_from(1)?;
        message.unpack(Mode::Safer, &mut body).await?;
        message.end().await?;
        return must(body == contents(1, 9, bytes), "what a whole message holds");
    }
    for number in 0..4 {
        let mut body = vec![0; bytes];
        messenger.receive_whole(0, Mode::Cheaper, Receive::Cheaper, &mut body).await?;
        must(body == contents(0, number, bytes), "what owned memory held when it was sent")?;
    }
    messenger.send_whole(0, Safer(&contents(1, 9, bytes)), Receive::Cheaper).await
}

/// Rank 0 leaves its scope by an error while messages are open. Rank 1 gets what it could still fetch, and
/// then learns which rank gave up; never other bytes.
///
/// # Errors
/// If it gets anything else.
pub async fn given_up_open<F: Fabric>(messenger: &Messenger<F>, bytes: usize) -> Result<(), Error> {
    if messenger.rank() == 0 {
        let mut body = contents(0, 0, bytes);
        let end = messenger
            .scope(async |scope| {
                for _ in 0..3 {
                    let mut message = messenger.begin_packing(1)?;
                    message.pack(Cheaper(&body), Receive::Cheaper).await?;
                    scope.end_later(message).await?;
                }
                Err::<(), _>(Error::from(Cause::Setting { what: "a body", needs: "to fail" }))
            })
            .await;
        body.fill(0);
        must(matches!(Error::of(&end), Some(Cause::Setting { what: "a body", .. })), "that a scope's error is its body's")?;
        // If all messages had left, or were fetched, none was given up: this one is.
        let again = messenger.begin_packing(1).map(drop);
        let given_up = matches!(Error::of(&again), None | Some(Cause::Poisoned { by: Some(0) }));
        return must(given_up, "that what is given up stays so");
    }
    loop {
        let mut body = vec![0; bytes];
        match messenger.receive_whole(0, Mode::Cheaper, Receive::Cheaper, &mut body).await {
            Ok(()) => must(body == contents(0, 0, bytes), "what was fetched in time")?,
            end => return must(matches!(Error::of(&end), Some(Cause::Poisoned { by: Some(0) })), "who gave up"),
        }
    }
}
