//! Compares messages over MPI with `MPI_Send` and `MPI_Recv` of the same library. One run of two pinned
//! processes alternates batches of both.
//!
//! `mpiexec -n 2 target/release/examples/beside_mpi [BYTES [buffered|direct|all]]`; with `idle`, it measures
//! the share of a processor that a rank uses while it waits for three seconds.
use core::ffi::{c_int, c_void};
use foregather_host::dl::Library;
use foregather_host::{affinity, clock, usage};
use foregather_machine::{Address, Cause, Error, Fabric, Member, block_on};
use foregather_message::{Cheaper, Messenger, Mode, Path, Receive, Safer, Settings};
use foregather_mpi::abi::{ALL, Abi, Constant};
use foregather_mpi::{Lane, Mpi, MpiInfo};

type Ends = Messenger<Lane>;

/// The number of batches. They are short, so that some run without background load.
const BATCHES: usize = 101;
/// From this size on pieces are sent and received CHEAPER.
const LARGE: usize = 4_096;
const SIZES: [usize; 7] = [8, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];

type Send = unsafe extern "C" fn(*const c_void, c_int, usize, c_int, c_int, usize) -> c_int;
type Receive6 = unsafe extern "C" fn(*mut c_void, c_int, usize, c_int, c_int, usize, usize) -> c_int;

/// MPI called directly, as from a C program.
struct Bare {
    send: Send,
    receive: Receive6,
    byte: usize,
    world: usize,
    ignore: usize,
    peer: c_int,
}

impl Bare {
    fn of(info: &MpiInfo, rank: u32) -> Result<Self, Error> {
        let library = Library::open(&[&info.path.to_string_lossy()])?;
        let abi: &Abi = ALL.iter().find(|abi| abi.name == info.interface).copied().ok_or(Cause::Closed { peer: None })?;
        let handle = |constant| match constant {
            Constant::Number(number) => Ok(number),
            Constant::Symbol(name) => library.symbol(name).map(|address| address.addr()),
        };
        // SAFETY: MPI declares the two functions with these parameters; handles fit a word.
        let (send, receive) = unsafe {
            (
                core::mem::transmute::<*mut c_void, Send>(library.symbol("MPI_Send")?),
                core::mem::transmute::<*mut c_void, Receive6>(library.symbol("MPI_Recv")?),
            )
        };
        let (byte, world) = (handle(abi.byte)?, handle(abi.comm_world)?);
        Ok(Self { send, receive, byte, world, ignore: abi.status_ignore, peer: 1 - rank as c_int })
    }

    fn ping_pong(&self, rounds: u32, is_first: bool, bytes: &[u8], into: &mut [u8]) {
        for turn in 0..2 * rounds {
            // SAFETY: the memory outlives the calls, which block; no other thread calls MPI.
            let code = unsafe {
                if (turn % 2 == 0) == is_first {
                    (self.send)(bytes.as_ptr().cast(), bytes.len() as c_int, self.byte, self.peer, 1, self.world)
                } else {
                    (self.receive)(
                        into.as_mut_ptr().cast(),
                        into.len() as c_int,
                        self.byte,
                        self.peer,
                        1,
                        self.world,
                        self.ignore,
                    )
                }
            };
            assert_eq!(code, 0);
        }
    }
}

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
        if turn % 2 == messenger.rank() { send(messenger, bytes).await? } else { receive(messenger, into).await? }
    }
    Ok(())
}

/// Frames of the fabric itself, written and read in place in its buffers.
fn frames(lane: &Lane, rounds: u32, bytes: usize) -> Result<(), Error> {
    let to = Address { rank: 1 - lane.rank(), lane: 1 };
    for turn in 0..2 * rounds {
        if turn % 2 == lane.rank() {
            if bytes <= lane.limits().inline {
                lane.post(to, 0, &[1; 240][..bytes])?;
            } else {
                lane.post_filled(to, 0, bytes)?;
            }
        } else {
            while lane.peek(to, |_, bytes| bytes.first().copied()).is_none() {}
            lane.release(to);
        }
    }
    Ok(())
}

/// Returns half a round trip, in us.
fn timed(rounds: u32, work: impl FnOnce() -> Result<(), Error>) -> Result<f64, Error> {
    let began = clock::now();
    work()?;
    Ok((clock::now() - began).0 as f64 / f64::from(2 * rounds) / 1_000.0)
}

fn sorted(numbers: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut sorted: Vec<f64> = numbers.collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

fn measure(bare: &Bare, messenger: &Ends, lane: &Lane, only: Option<usize>) -> Result<(), Error> {
    let says = messenger.rank() == 0;
    let (bytes, mut into) = (vec![1; 1 << 20], vec![2; 1 << 20]);
    let sizes = only.map_or(SIZES.to_vec(), |only| vec![only.min(bytes.len())]);
    for size in sizes {
        let rounds = ((8 << 20) / size).clamp(10, 200) as u32;
        let (bytes, into) = (&bytes[..size], &mut into[..size]);
        let as_frame = size.min(lane.limits().buffer);
        let mut turns = Vec::new();
        for _ in 0..=BATCHES {
            let raw = timed(rounds, || {
                bare.ping_pong(rounds, says, bytes, into);
                Ok(())
            })?;
            let messages = timed(rounds, || block_on(ping_pong(messenger, rounds, bytes, into)))?;
            turns.push([raw, messages, timed(rounds, || frames(lane, rounds, as_frame))?]);
        }
        // The first batch is a warm-up.
        let turns = &turns[1..];
        if says {
            print!("{size:>8} B");
            for (at, who) in ["MPI", "messages", "frames"].into_iter().enumerate().filter(|&(at, _)| at < 2 || as_frame == size) {
                let times = sorted(turns.iter().map(|turn| turn[at]));
                let ratio = sorted(turns.iter().map(|turn| turn[at] / turn[0]))[BATCHES / 2];
                print!("  {who} {:.2} us (least {:.2}) {ratio:.3}", times[BATCHES / 2], times[0]);
            }
            println!();
        }
    }
    Ok(())
}

/// Measures rank 1 while it waits for a message that rank 0 sends after three seconds.
fn idle(messenger: &Ends) -> Result<(), Error> {
    let (began, before) = (clock::now(), usage::process_cpu());
    if messenger.rank() == 0 {
        std::thread::sleep(core::time::Duration::from_secs(3));
        return block_on(send(messenger, &[1; 8]));
    }
    block_on(receive(messenger, &mut [0; 8]))?;
    let share = (usage::process_cpu() - before).0 as f64 / (clock::now() - began).0 as f64;
    println!("rank 1 waited for {}, and took {:.2} % of a processor", clock::now() - began, 100.0 * share);
    Ok(())
}

fn main() -> Result<(), Error> {
    let mpi = Mpi::join((Some(2), std::env::var_os("OMPI_COMM_WORLD_SIZE").is_some()))?;
    let cpus = affinity::allowed();
    if let Some(&cpu) = cpus.get(mpi.rank() as usize) {
        affinity::pin(cpu)?;
    }
    let only = std::env::args().nth(1).and_then(|size| size.parse().ok());
    let paths = match std::env::args().nth(2).as_deref() {
        Some("buffered") => vec![Path::Buffered],
        Some("direct") => vec![Path::Direct],
        Some("all") => vec![Path::Chosen, Path::Buffered, Path::Direct],
        _ => vec![Path::Chosen],
    };
    let bare = Bare::of(&mpi.info(), mpi.rank())?;
    for path in paths {
        let mut lanes = Lane::group(mpi, 2, None, None)?.into_iter();
        let (Some(first), Some(second)) = (lanes.next(), lanes.next()) else { continue };
        let messenger = Messenger::new(first, Settings { path, ..Settings::default() })?;
        if mpi.rank() == 0 {
            println!("{}, {path:?}: directly from {} bytes on", mpi.name(), messenger.direct_at());
        }
        if std::env::args().nth(1).as_deref() == Some("idle") {
            idle(&messenger)?;
        } else {
            measure(&bare, &messenger, &second, only)?;
        }
        if mpi.rank() == 0 {
            println!("{}", messenger.account());
        }
        messenger.leave();
        second.leave();
    }
    Ok(())
}
