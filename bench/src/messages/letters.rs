//! Messages of one piece between two ranks, in the patterns that are measured.
use super::transport::LARGE;
use foregather_machine::{Error, Fabric};
use foregather_message::{Cheaper, Messenger, Mode, Receive, Safer};

#[inline]
pub(super) fn rank<F: Fabric>(end: &Messenger<F>) -> u32 {
    end.fabric().here().rank
}

#[inline]
pub(super) async fn send<F: Fabric>(end: &Messenger<F>, bytes: &[u8]) -> Result<(), Error> {
    let mut message = end.begin_packing(1 - rank(end))?;
    if bytes.len() < LARGE {
        message.pack(Safer(bytes), Receive::Express).await?;
    } else {
        message.pack(Cheaper(bytes), Receive::Cheaper).await?;
    }
    message.end().await
}

#[inline]
pub(super) async fn receive<F: Fabric>(end: &Messenger<F>, into: &mut [u8]) -> Result<(), Error> {
    let mut message = end.begin_unpacking_from(1 - rank(end))?;
    if into.len() < LARGE {
        message.unpack_express_into(Mode::Safer, into).await?;
    } else {
        message.unpack(Mode::Cheaper, into).await?;
    }
    message.end().await
}

pub(super) async fn ping_pong<F: Fabric>(end: &Messenger<F>, rounds: u32, from: &[u8], into: &mut [u8]) -> Result<(), Error> {
    for turn in 0..2 * rounds {
        if turn % 2 == rank(end) {
            send(end, from).await?;
        } else {
            receive(end, into).await?;
        }
    }
    Ok(())
}

pub(super) async fn stream<F: Fabric>(end: &Messenger<F>, rounds: u32, from: &[u8], into: &mut [u8]) -> Result<(), Error> {
    if rank(end) == 1 {
        for _ in 0..rounds {
            receive(end, into).await?;
        }
        return send(end, &[]).await;
    }
    for _ in 0..rounds {
        send(end, from).await?;
    }
    receive(end, &mut []).await
}

/// Answers until told that this was the last.
pub(super) async fn echo<F: Fabric>(end: &Messenger<F>) -> Result<(), Error> {
    loop {
        let mut more = [0; 8];
        receive(end, &mut more).await?;
        send(end, &more).await?;
        if more == [0; 8] {
            return Ok(());
        }
    }
}
