//! Measures the cost of messages between two pinned threads, for each protocol: half a round trip, and a
//! stream. For tuning; run it on an idle machine with `--release`, and with a number to measure only messages
//! of that many bytes. `foregather measure messages` measures this more thoroughly.
use foregather_host::{affinity, clock};
use foregather_machine::{Address, Error, Member, Nanos, block_on};
use foregather_message::{Cheaper, Messenger, Mode, Path, Receive, Safer, Settings};
use foregather_shm::{Lane, SegmentSpec, ShmFabric};
use foregather_thread::Thread;

type Ends = Messenger<Lane<Thread>>;

/// The fastest of this many batches is used.
const BATCHES: u32 = 11;
/// From this size on pieces are received CHEAPER.
const LARGE: usize = 4_096;

#[inline]
async fn send(messenger: &Ends, bytes: &[u8]) -> Result<(), Error> {
    let mut message = messenger.begin_packing(1 - messenger.rank())?;
    if bytes.len() < LARGE {
        message.pack(Safer(bytes), Receive::Express).await?;
    } else {
        message.pack(Cheaper(bytes), Receive::Cheaper).await?;
    }
    message.end().await
}

#[inline]
async fn receive(messenger: &Ends, into: &mut [u8]) -> Result<(), Error> {
    let mut message = messenger.begin_unpacking_from(1 - messenger.rank())?;
    if into.len() < LARGE {
        message.unpack_express_into(Mode::Safer, into).await?;
    } else {
        message.unpack(Mode::Cheaper, into).await?;
    }
    message.end().await
}

async fn ping_pong(messenger: &Ends, rounds: u32, bytes: &[u8], into: &mut [u8]) -> Result<(), Error> {
    for turn in 0..2 * rounds {
        if turn % 2 == messenger.rank() {
            send(messenger, bytes).await?;
        } else {
            receive(messenger, into).await?;
        }
    }
    Ok(())
}

async fn stream(messenger: &Ends, rounds: u32, bytes: &[u8], into: &mut [u8]) -> Result<(), Error> {
    if messenger.rank() == 1 {
        for _ in 0..rounds {
            receive(messenger, into).await?;
        }
        return send(messenger, &[]).await;
    }
    for _ in 0..rounds {
        send(messenger, bytes).await?;
    }
    receive(messenger, &mut []).await
}

fn best(rounds: u32, mut work: impl FnMut(u32) -> Result<(), Error>) -> Result<f64, Error> {
    work(rounds / 10 + 1)?;
    let mut best = Nanos::MAX;
    for _ in 0..BATCHES {
        let began = clock::now();
        work(rounds)?;
        best = best.min(clock::now() - began);
    }
    Ok(best.0 as f64 / f64::from(rounds))
}

fn measure(messenger: &Ends, path: Path) -> Result<(), Error> {
    let says = messenger.rank() == 0;
    let (bytes, mut into) = (vec![1; 4 << 20], vec![2; 4 << 20]);
    let only: Option<usize> = std::env::args().nth(1).and_then(|size| size.parse().ok());
    for size in [8, 56, 64, 512, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20] {
        if only.is_some_and(|only| only != size) {
            continue;
        }
        let rounds = ((8 << 20) / size).clamp(5, 20_000) as u32;
        let (bytes, into) = (&bytes[..size], &mut into[..size]);
        let half = best(rounds, |rounds| block_on(ping_pong(messenger, rounds, bytes, into)))? / 2.0;
        let each = best(rounds * 4, |rounds| block_on(stream(messenger, rounds, bytes, into)))?;
        if says {
            println!("{path:?} {size:>8} B  half round trip {half:10.1} ns  stream {each:10.1} ns, {:7.2} M/s", 1_000.0 / each);
        }
    }
    Ok(())
}

fn main() -> Result<(), Error> {
    let cpus = affinity::allowed();
    if cpus.len() < 2 {
        println!("needs two processors");
        return Ok(());
    }
    for path in [Path::Chosen, Path::Buffered, Path::Direct] {
        let exchange = ShmFabric::between_threads(SegmentSpec::new(2, 1))?;
        let ends = foregather_thread::run(
            2,
            |rank| cpus.get(rank as usize).copied(),
            |cpu, rank| {
                let messenger =
                    Messenger::new(exchange.lane(cpu, Address { rank, lane: 0 })?, Settings { path, ..Settings::default() })?;
                if rank == 0 {
                    println!("{path:?}: directly from {} bytes on", messenger.direct_at());
                }
                measure(&messenger, path)?;
                if rank == 0 {
                    println!("{}", messenger.account());
                }
                messenger.leave();
                Ok(())
            },
        )?;
        ends.into_iter().collect::<Result<(), Error>>()?;
    }
    Ok(())
}
