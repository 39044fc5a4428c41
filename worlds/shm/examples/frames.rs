//! Measures the cost of frames between two pinned threads, directly over lanes: half a round trip, a stream,
//! and a direct copy with and without help. For tuning; run it on an idle machine with `--release`.
use foregather_host::{affinity, clock, pause::pause};
use foregather_machine::{Address, Error, Fabric, Key, Nanos, block_on, exposing};
use foregather_shm::{Lane, SegmentSpec, ShmFabric};
use foregather_thread::Thread;

type Spinning = Lane<Thread>;

const AT: [Address; 2] = [Address { rank: 0, lane: 0 }, Address { rank: 1, lane: 0 }];
/// The fastest of this many batches is used.
const BATCHES: u32 = 11;

fn send(lane: &Spinning, to: Address, head: u32, bytes: &[u8]) -> Result<(), Error> {
    if bytes.len() > lane.limits().inline {
        lane.write_with(to, |buffer| buffer[..bytes.len()].copy_from_slice(bytes));
        while !lane.post_filled(to, head, bytes.len())? {
            pause();
        }
        return Ok(());
    }
    while !lane.post(to, head, bytes)? {
        pause();
    }
    Ok(())
}

fn receive(lane: &Spinning, into: &mut [u8]) -> u32 {
    let from = loop {
        if let Some(from) = lane.arrived(None) {
            break from;
        }
        lane.progress();
        pause();
    };
    let head = lane.peek(from, |head, bytes| {
        into[..bytes.len()].copy_from_slice(bytes);
        head
    });
    lane.release(from);
    head.unwrap_or(0)
}

/// Sends back and forth, `rounds` times.
fn ping_pong(lane: &Spinning, rounds: u32, bytes: &[u8], into: &mut [u8]) -> Result<(), Error> {
    let rank = lane.here().rank;
    for turn in 0..2 * rounds {
        if turn % 2 == rank {
            send(lane, AT[1 - rank as usize], 0, bytes)?;
        } else {
            receive(lane, into);
        }
    }
    Ok(())
}

/// Sends one way, and one frame back after all have arrived.
fn stream(lane: &Spinning, rounds: u32, bytes: &[u8], into: &mut [u8]) -> Result<(), Error> {
    if lane.here().rank == 1 {
        for _ in 0..rounds {
            receive(lane, into);
        }
        return send(lane, AT[0], 0, &[]);
    }
    for _ in 0..rounds {
        send(lane, AT[1], 0, bytes)?;
    }
    receive(lane, into);
    Ok(())
}

/// Exposes, copies and acknowledges memory, back and forth. With `help`, the waiting side takes part in the
/// copy.
fn copies(lane: &Spinning, rounds: u32, bytes: &[u8], into: &mut [u8], help: bool) -> Result<(), Error> {
    let rank = lane.here().rank;
    let peer = AT[1 - rank as usize];
    block_on(exposing(lane, async |lent| {
        let key = lent.expose(&[bytes])?;
        for turn in 0..2 * rounds {
            if turn % 2 == rank {
                send(lane, peer, 0, &key.0.to_ne_bytes())?;
                while lane.arrived(None).is_none() {
                    if help {
                        lane.progress();
                    }
                    pause();
                }
                receive(lane, into);
            } else {
                let mut key = [0; 8];
                receive(lane, &mut key);
                block_on(lane.get(peer, Key(u64::from_ne_bytes(key)), &mut [&mut into[..bytes.len()]]))?;
                send(lane, peer, 0, &[])?;
            }
        }
        Ok(())
    }))
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

fn measure(lane: &Spinning) -> Result<(), Error> {
    let says = lane.here().rank == 0;
    let (bytes, mut into) = (vec![1; 4 << 20], vec![2; 4 << 20]);
    for size in [8, 64, 120, 512, 4_096] {
        let half = best(20_000, |rounds| ping_pong(lane, rounds, &bytes[..size], &mut into))? / 2.0;
        let each = best(200_000, |rounds| stream(lane, rounds, &bytes[..size], &mut into))?;
        if says {
            println!("{size:>8} B  half round trip {half:8.1} ns  stream {each:6.1} ns, {:6.2} M/s", 1_000.0 / each);
        }
    }
    for size in [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20] {
        let rounds = ((8 << 20) / size).clamp(5, 500) as u32;
        let mut with = |help| best(rounds, |rounds| copies(lane, rounds, &bytes[..size], &mut into, help));
        let (alone, helped) = (with(false)? / 2.0, with(true)? / 2.0);
        if says {
            println!("{size:>8} B  one side {alone:10.0} ns  both sides {helped:10.0} ns");
        }
    }
    Ok(())
}

fn main() -> Result<(), Error> {
    let cpus = affinity::allowed();
    let exchange = ShmFabric::between_threads(SegmentSpec::new(2, 1))?;
    let place = |rank: u32| cpus.get(rank as usize).copied();
    if cpus.len() < 2 {
        println!("needs two processors");
        return Ok(());
    }
    let ends = foregather_thread::run(2, place, |cpu, rank| {
        let lane = exchange.lane(cpu, AT[rank as usize])?;
        measure(&lane)?;
        if rank == 0 {
            println!("{:?}\n{:?}", lane.limits(), lane.costs());
        }
        Ok(())
    })?;
    ends.into_iter().collect()
}
