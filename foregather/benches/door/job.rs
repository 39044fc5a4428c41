//! Compares a round trip by a rank of `job` with the same messages by a messenger of a known fabric.
use crate::{Cost, print, timed};
use foregather::engine::message::{Cheaper, Messenger, Mode, Receive, Settings};
use foregather::engine::{Address, Error, Fabric, block_on};
use foregather::processes::shm::{SegmentSpec, ShmFabric};
use foregather::threads::Thread;
use foregather::{Communicator, job};

/// The number of pairs of batches, and of round trips in each.
const PAIRS: usize = 101;
const TRIPS: u32 = 2_000;

type Letter = [u64; 4];

pub(crate) fn run() {
    let (below, door) = pairs().expect("two threads and a segment").into_iter().unzip();
    print("round trip of 32 bytes", &[("Messenger", below), ("Communicator", door)], 0);
}

/// Returns pairs of the messenger's and the rank's cost.
fn pairs() -> Result<Vec<(Cost, Cost)>, Error> {
    let fabric = ShmFabric::between_threads(SegmentSpec::new(2, 1))?;
    let mut ends = job(2, |me| {
        let lane = fabric.lane(Thread::current(), Address { rank: me.rank(), lane: 0 })?;
        let messenger = Messenger::new(lane, Settings::default())?;
        let mut pairs = Vec::new();
        for at in 0..PAIRS + 1 {
            let (door, below) = if at % 2 == 0 {
                let door = batch(|| by_door(me))?;
                (door, batch(|| below(&messenger, me.rank()))?)
            } else {
                let below = batch(|| below(&messenger, me.rank()))?;
                (batch(|| by_door(me))?, below)
            };
            pairs.push((below, door));
        }
        messenger.leave();
        // The first pair runs with cold caches.
        Ok(pairs.split_off(1))
    })?;
    Ok(ends.swap_remove(0))
}

/// Returns the cost of one round trip.
fn batch(round_trip: impl Fn() -> Result<(), Error>) -> Result<Cost, Error> {
    let mut ended = Ok(());
    let cost = timed(TRIPS, || ended = (0..TRIPS).try_for_each(|_| round_trip()));
    ended.map(|()| cost)
}

fn by_door(me: &Communicator) -> Result<(), Error> {
    let (letter, mut into): (Letter, Letter) = ([7; 4], [0; 4]);
    if me.rank() == 0 {
        me.send(1, &letter)?;
        me.receive(1, &mut into).map(drop)
    } else {
        me.receive(0, &mut into)?;
        me.send(0, &letter)
    }
}

fn below<F: Fabric>(messenger: &Messenger<F>, rank: u32) -> Result<(), Error> {
    let (letter, mut into): ([u8; 32], [u8; 32]) = ([7; 32], [0; 32]);
    if rank == 0 {
        send(messenger, 1, &letter)?;
        receive(messenger, 1, &mut into)
    } else {
        receive(messenger, 0, &mut into)?;
        send(messenger, 0, &letter)
    }
}

fn send<F: Fabric>(messenger: &Messenger<F>, to: u32, bytes: &[u8]) -> Result<(), Error> {
    block_on(messenger.send_whole(to, Cheaper(bytes), Receive::Cheaper))
}

fn receive<F: Fabric>(messenger: &Messenger<F>, from: u32, into: &mut [u8]) -> Result<(), Error> {
    block_on(async {
        let mut message = messenger.begin_unpacking_from(from)?;
        let bytes = message.next_len().await?;
        message.unpack(Mode::Cheaper, &mut into[..bytes]).await?;
        message.end().await
    })
}
