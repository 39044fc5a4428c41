//! Programs over messengers, which are created and left as by a user. A fault ends in an error or, after 30
//! s, in a timeout.
use super::Program;
use super::talk::BOUND;
use crate::PortProgram;
use crate::collective::Everything;
use crate::messages::{
    PiecePlan, abandoned, crossfire, disagreeing, given_up_open, later_is_read_at_the_end, left_in_order, must, one_message,
    owned, several_open,
};
use foregather_barrier::{Algorithm, dissemination};
use foregather_machine::{Clock, Endpoint, Error, Fabric, Member};
use foregather_message::{Messenger, Mode, Receive, Safer, Settings};

pub(super) async fn run_to_end<F: Fabric>(program: Program, fabric: F, rounds: u32) {
    let here = fabric.here();
    let end = run(program, fabric, rounds).await;
    end.unwrap_or_else(|error| panic!("{program:?}, {here:?}: {error}"));
}

async fn run<F: Fabric>(program: Program, fabric: F, rounds: u32) -> Result<(), Error> {
    let messenger = Messenger::new(fabric, Settings::default())?;
    messenger.set_deadline(messenger.now() + BOUND);
    let buffer = messenger.fabric().limits().buffer;
    match program {
        // Short pieces and buffers first, then pieces that are long enough for all other protocols.
        Program::Crossfire => {
            crossfire(&messenger, rounds, buffer / 3, 0).await?;
            // Without it, a rank could receive a longer piece where it expects a shorter one.
            dissemination(&messenger).await?;
            crossfire(&messenger, rounds.min(6), 2 * buffer, 40 * buffer).await?;
        }
        Program::Pieces => {
            for round in 0..rounds {
                one_message(&messenger, &PiecePlan::random(round.into(), 12, 50 * buffer)).await?;
            }
        }
        Program::Later => later_is_read_at_the_end(&messenger).await?,
        Program::PingPong => ping_pong(&messenger, rounds.saturating_mul(8)).await?,
        Program::Anybody => anybody(&messenger).await?,
        Program::DisagreeShort => disagreeing(&messenger, buffer / 2).await?,
        Program::DisagreeLong => disagreeing(&messenger, 100 * buffer).await?,
        Program::Abandoned => abandoned(&messenger).await?,
        Program::SeveralOpen => {
            several_open(&messenger, rounds.min(40), 20 * buffer).await?;
            owned(&messenger, buffer / 2).await?;
            owned(&messenger, 20 * buffer).await?;
        }
        Program::GivenUpOpen => given_up_open(&messenger, 100 * buffer).await?,
        Program::LeftInOrder => return left_in_order(messenger).await,
        _ => together(&messenger, buffer).await?,
    }
    messenger.leave();
    Ok(())
}

async fn ping_pong<F: Fabric>(messenger: &Messenger<F>, turns: u32) -> Result<(), Error> {
    let peer = 1 - messenger.rank();
    for turn in 0..turns {
        if turn % 2 == messenger.rank() {
            let mut message = messenger.begin_packing(peer)?;
            message.pack(Safer(&u64::from(turn).to_le_bytes()), Receive::Express).await?;
            message.end().await?;
        } else {
            let mut message = messenger.begin_unpacking().await?;
            let said: u64 = message.unpack_express(Mode::Safer).await?;
            message.end().await?;
            must(said == u64::from(turn), "whose turn it is")?;
        }
    }
    Ok(())
}

/// Two ranks send two messages each, and then a signal, before rank 1 receives any: it must receive from them
/// in turn.
async fn anybody<F: Fabric>(messenger: &Messenger<F>) -> Result<(), Error> {
    if messenger.rank() != 1 {
        for number in 0..2_u32 {
            let mut message = messenger.begin_packing(1)?;
            message.pack(Safer(&number.to_le_bytes()), Receive::Express).await?;
            message.end().await?;
        }
        return messenger.signal(1, messenger.rank()).await;
    }
    for slot in [0, 2] {
        messenger.wait(slot).await?;
    }
    let mut before = None;
    for _ in 0..4 {
        let mut message = messenger.begin_unpacking().await?;
        let from = message.from();
        let _: u32 = message.unpack_express(Mode::Safer).await?;
        message.end().await?;
        must(before.replace(from) != Some(from), "that senders take turns")?;
    }
    Ok(())
}

async fn together<F: Fabric>(messenger: &Messenger<F>, buffer: usize) -> Result<(), Error> {
    for kind in Algorithm::ALL {
        if kind != Algorithm::Central && kind.takes(messenger.size()).is_ok() {
            kind.over(messenger).await?;
        }
    }
    for (root, bytes) in [(0, 0), (4, buffer / 2 + 1), (2, 5 * buffer)] {
        Everything { root, bytes }.node(messenger).await?;
    }
    Ok(())
}
