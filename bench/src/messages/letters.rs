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
    if bytes.len() < LARGE {
        end.send_whole(1 - rank(end), Safer(bytes), Receive::Express).await
    } else {
        end.send_whole(1 - rank(end), Cheaper(bytes), Receive::Cheaper).await
    }
}

#[inline]
pub(super) async fn receive<F: Fabric>(end: &Messenger<F>, into: &mut [u8]) -> Result<(), Error> {
    let (sent, receive) = if into.len() < LARGE { (Mode::Safer, Receive::Express) } else { (Mode::Cheaper, Receive::Cheaper) };
    end.receive_whole(1 - rank(end), sent, receive, into).await
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

/// Messages that are open each way at a time.
const WINDOW: u32 = 16;

pub(super) async fn both_ways<F: Fabric>(end: &Messenger<F>, rounds: u32, from: &[u8], into: &mut [u8]) -> Result<(), Error> {
    for done in (0..rounds).step_by(WINDOW as usize) {
        let now = WINDOW.min(rounds - done);
        end.scope(async |scope| {
            for _ in 0..now {
                if from.len() < LARGE {
                    send(end, from).await?;
                } else {
                    let mut message = end.begin_packing(1 - rank(end))?;
                    message.pack(Cheaper(from), Receive::Cheaper).await?;
                    scope.end_later(message).await?;
                }
            }
            for _ in 0..now {
                receive(end, into).await?;
            }
            Ok(())
        })
        .await?;
    }
    Ok(())
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
