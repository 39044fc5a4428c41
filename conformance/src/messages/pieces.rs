//! One message of any pieces: every combination of modes and sizes means the same on both sides.
use super::must;
use core::cell::Cell;
use foregather_machine::{Error, Fabric, Member, SplitMix};
use foregather_message::{Cheaper, Later, Messenger, Mode, Receive, Safer};

/// The pieces of a message: how each is sent, how it is received, and how long it is.
#[derive(Clone, Debug)]
pub struct PiecePlan(pub Vec<(Mode, Receive, usize)>);

impl PiecePlan {
    /// At most `pieces` pieces of at most `longest` bytes, most of them short.
    pub fn random(seed: u64, pieces: u64, longest: usize) -> Self {
        let mut random = SplitMix(seed);
        let mut piece = |_| {
            let mode = [Mode::Safer, Mode::Later, Mode::Cheaper, Mode::Cheaper][random.below(4) as usize];
            let receive = if random.below(3) == 0 { Receive::Express } else { Receive::Cheaper };
            let scale = [8, 64, 600, longest][random.below(4) as usize].min(longest);
            (mode, receive, random.below(scale as u64 + 1) as usize)
        };
        let count = SplitMix(!seed).below(pieces + 1);
        Self((0..count).map(&mut piece).collect())
    }
}

fn byte(piece: usize, at: usize) -> u8 {
    (piece * 31 + at * 7 + at / 251) as u8
}

/// Rank 0 sends the planned message to rank 1, which answers with an empty one.
///
/// # Errors
/// If a byte is wrong; errors of the messenger.
pub async fn one_message<F: Fabric>(messenger: &Messenger<F>, plan: &PiecePlan) -> Result<(), Error> {
    if messenger.rank() > 1 {
        return Ok(());
    }
    let mut pieces: Vec<Vec<u8>> = plan.0.iter().map(|&(_, _, length)| vec![0; length]).collect();
    if messenger.rank() == 1 {
        let mut message = messenger.begin_unpacking_from(0)?;
        for (number, (piece, &(mode, receive, bytes))) in pieces.iter_mut().zip(&plan.0).enumerate() {
            // Some are taken by a receiver that knows their length.
            if number % 2 == 0 {
                must(message.next_len().await? == bytes, "the length of the next piece")?;
            }
            match receive {
                Receive::Express => message.unpack_express_into(mode, piece).await?,
                Receive::Cheaper => message.unpack(mode, piece).await?,
            }
        }
        must(plan.0.len() % 2 == 1 || message.next_len().await? == 0, "that no piece follows")?;
        message.end().await?;
        for (number, piece) in pieces.iter().enumerate() {
            must(piece.iter().enumerate().all(|(at, &is)| is == byte(number, at)), "what a piece holds")?;
        }
        return messenger.begin_packing(0)?.end().await;
    }
    for (number, piece) in pieces.iter_mut().enumerate() {
        piece.iter_mut().enumerate().for_each(|(at, into)| *into = byte(number, at));
    }
    let mut message = messenger.begin_packing(1)?;
    for (piece, &(mode, receive, _)) in pieces.iter_mut().zip(&plan.0) {
        match mode {
            Mode::Safer => {
                message.pack(Safer(piece), receive).await?;
                // It was copied: later changes of the memory do not matter.
                piece.fill(0xee);
            }
            Mode::Cheaper => message.pack(Cheaper(piece), receive).await?,
            Mode::Later => message.pack(Later(Cell::from_mut(&mut piece[..]).as_slice_of_cells()), receive).await?,
        }
    }
    message.end().await?;
    messenger.begin_unpacking_from(1)?.end().await
}
