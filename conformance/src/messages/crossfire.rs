//! Every rank sends to every other, far beyond all credits, before any receives.
use super::must;
use foregather_machine::{Error, Fabric, Member};
use foregather_message::{Cheaper, Messenger, Mode, Receive, Safer};

fn byte(from: u32, message: u32, at: usize) -> u8 {
    (from * 7 + message * 3 + at as u32) as u8
}

/// Sends `count` messages of a number, `small` bytes and `big` bytes to each other rank, then receives as
/// many.
///
/// # Errors
/// If a message is lost, doubled, out of order or changed; errors of the messenger.
pub async fn crossfire<F: Fabric>(messenger: &Messenger<F>, count: u32, small: usize, big: usize) -> Result<(), Error> {
    let (size, rank) = (messenger.size(), messenger.rank());
    for number in 0..count {
        for peer in (1..size).map(|step| (rank + step) % size) {
            let body: Vec<u8> = (0..small).map(|at| byte(rank, number, at)).collect();
            let bulk: Vec<u8> = (0..big).map(|at| byte(rank, number, at + 1)).collect();
            let mut message = messenger.begin_packing(peer)?;
            message.pack(Safer(&number.to_le_bytes()), Receive::Express).await?;
            message.pack(Safer(&body), Receive::Cheaper).await?;
            message.pack(Cheaper(&bulk), Receive::Cheaper).await?;
            message.end().await?;
        }
    }
    let mut next = vec![0; size as usize];
    for _ in 0..count * (size - 1) {
        let (mut body, mut bulk) = (vec![0; small], vec![0; big]);
        let mut message = messenger.begin_unpacking().await?;
        let from = message.from();
        let number: u32 = message.unpack_express(Mode::Safer).await?;
        message.unpack(Mode::Safer, &mut body).await?;
        message.unpack(Mode::Cheaper, &mut bulk).await?;
        message.end().await?;
        must(number == core::mem::replace(&mut next[from as usize], number + 1), "the order of one rank's messages")?;
        must(body.iter().enumerate().all(|(at, &is)| is == byte(from, number, at)), "what a copied piece holds")?;
        must(bulk.iter().enumerate().all(|(at, &is)| is == byte(from, number, at + 1)), "what a lasting piece holds")?;
    }
    Ok(())
}
