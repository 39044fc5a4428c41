//! The cost of messages over libfabric's tcp beside the same provider driven with the fewest possible calls:
//! batches of both by turns in one run, between two pinned threads on the loopback address. With a number,
//! for messages of that many bytes only; behind it `buffered`, `direct` or `all`: the way by which they go.
#![allow(
    dead_code,
    unreachable_pub,
    reason = "the bare side borrows the declarations of libfabric from the crate, which has more and shows some"
)]

#[path = "../../src/abi.rs"]
mod abi;
mod bare;
#[path = "../../src/endpoint.rs"]
mod endpoint;
#[path = "../../src/library.rs"]
mod library;
#[path = "../../src/provider.rs"]
mod provider;
#[path = "../../src/signals.rs"]
mod signals;

use abi::{WAIT_FD, WAIT_NONE};
use bare::Bare;
use endpoint::ActiveEndpoint;
use foregather_host::{affinity, clock};
use foregather_machine::{Error, Member, block_on};
use foregather_message::{Cheaper, Messenger, Mode, Path, Receive, Safer, Settings};
use foregather_ofi::{Lane, Opening};
use std::sync::Arc;

type Ends = Messenger<Lane>;

/// Turns, of one batch each; short ones, so that some are undisturbed.
const BATCHES: usize = 151;
/// From this size on pieces are sent and received CHEAPER.
const LARGE: usize = 4_096;
const SIZES: [usize; 6] = [8, 512, 4 << 10, 64 << 10, 256 << 10, 1 << 20];

async fn send(messenger: &Ends, bytes: &[u8]) -> Result<(), Error> {
    let mut message = messenger.begin_packing(1 - messenger.rank())?;
    if bytes.len() < LARGE {
        message.pack(Safer(bytes), Receive::Express).await?;
    } else {
        message.pack(Cheaper(bytes), Receive::Cheaper).await?;
    }
    message.end().await
}

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

/// Half a round trip, in ns.
fn timed(rounds: u32, work: impl FnOnce() -> Result<(), Error>) -> Result<f64, Error> {
    let began = clock::now();
    work()?;
    Ok((clock::now() - began).0 as f64 / f64::from(2 * rounds))
}

fn sorted(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = numbers.collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn measure([bare, sleeper]: &mut [Bare; 2], messenger: &Ends) -> Result<(), Error> {
    let says = messenger.rank() == 0;
    let (bytes, mut into) = (vec![1; 1 << 20], vec![2; 1 << 20]);
    let only: Option<usize> = std::env::args().nth(1).and_then(|size| size.parse().ok());
    for size in SIZES.into_iter().filter(|&size| only.is_none_or(|only| only == size)) {
        let rounds = ((8 << 20) / size).clamp(10, 200) as u32;
        let (bytes, into) = (&bytes[..size], &mut into[..size]);
        let mut turns = Vec::new();
        let before = messenger.traffic();
        for _ in 0..=BATCHES {
            let mut raw = |end: &mut Bare| {
                timed(rounds, || {
                    end.ping_pong(rounds, says, bytes, into);
                    Ok(())
                })
            };
            turns.push([raw(bare)?, raw(sleeper)?, timed(rounds, || block_on(ping_pong(messenger, rounds, bytes, into)))?]);
        }
        // The first turn is for warming up.
        let turns = &turns[1..];
        if says {
            let per_message = |n: u64| n as f64 / (f64::from(rounds) * (BATCHES + 1) as f64);
            let traffic = messenger.traffic();
            print!("{size:>8} B");
            for (at, who) in ["raw", "raw, able to sleep", "messages"].into_iter().enumerate() {
                let times = sorted(turns.iter().map(|turn| turn[at] / 1_000.0));
                let ratio = sorted(turns.iter().map(|turn| turn[at] / turn[0]))[BATCHES / 2];
                print!("  {who} {:.2} us (least {:.2}) {ratio:.3}", times[BATCHES / 2], times[0]);
            }
            let frames = per_message(traffic.frames - before.frames);
            println!(
                "  frames {frames:.2}, {:.2} of them credits",
                per_message(traffic.acknowledgements - before.acknowledgements)
            );
        }
    }
    Ok(())
}

fn lanes() -> Result<Vec<Lane>, Error> {
    let provider = Arc::new(foregather_ofi::Provider::open("tcp", Some("127.0.0.1"))?);
    let openings = [0, 1].map(|rank| Opening::new(Arc::clone(&provider), (rank, 2), 1, b"a bench", None));
    let [first, second] = openings;
    let openings = [first?, second?];
    let addresses = openings.each_ref().map(Opening::address);
    let [first, second] = openings.map(|opening| opening.connect(&addresses));
    Ok([first?, second?].into_iter().flatten().collect())
}

/// Two ends, with or without a descriptor to sleep on.
fn bares(wait: u64) -> Result<[Bare; 2], Error> {
    let provider = Arc::new(provider::Provider::open("tcp", Some("127.0.0.1"))?);
    let (first, second) = (ActiveEndpoint::open(Arc::clone(&provider), wait)?, ActiveEndpoint::open(provider, wait)?);
    let names = (first.name()?, second.name()?);
    Ok([Bare::new(first, &names.1), Bare::new(second, &names.0)])
}

fn main() -> Result<(), Error> {
    let cpus = affinity::allowed();
    if cpus.len() < 2 {
        println!("needs two processors");
        return Ok(());
    }
    let paths = match std::env::args().nth(2).as_deref() {
        Some("buffered") => vec![Path::Buffered],
        Some("direct") => vec![Path::Direct],
        Some("all") => vec![Path::Chosen, Path::Buffered, Path::Direct],
        _ => vec![Path::Chosen],
    };
    for path in paths {
        let bares = bares(WAIT_NONE)?.into_iter().zip(bares(WAIT_FD)?);
        let ends = bares.zip(lanes()?).zip(cpus.iter().copied());
        std::thread::scope(|scope| {
            let threads: Vec<_> = ends
                .map(|((bares, lane), cpu)| {
                    scope.spawn(move || -> Result<(), Error> {
                        affinity::pin(cpu)?;
                        let messenger = Messenger::new(lane, Settings { path, ..Settings::default() })?;
                        if messenger.rank() == 0 {
                            println!("{path:?}: directly from {} bytes on", messenger.direct_at());
                        }
                        measure(&mut <[Bare; 2]>::from(bares), &messenger)?;
                        if messenger.rank() == 0 {
                            println!("{}", messenger.account());
                        }
                        messenger.leave();
                        Ok(())
                    })
                })
                .collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
        })?;
    }
    Ok(())
}
