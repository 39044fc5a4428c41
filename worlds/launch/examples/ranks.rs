//! One program for every launcher and every fabric: ranks wait at a barrier, reduce, shift around their ring,
//! and pack messages in all modes.
//!
//! Each rank checks its results, and rank 0 prints one line that depends only on the number of ranks:
//! `foregather run -n 8 ranks`, `mpiexec -n 8 ranks`, `mpirun -n 8 ranks` and `srun -n 8 ranks` all print the
//! same.
use foregather_barrier::dissemination;
use foregather_launch::{Job, Lanes};
use foregather_machine::{Error, Fabric, Member, Rank, SplitMix, block_on};
use foregather_message::collective::{allreduce, shift, sum};
use foregather_message::{Cheaper, Later, Messenger, Mode, Receive, Safer, Settings};
use std::cell::Cell;

/// A piece that is too long for any static buffer.
const LARGE: usize = 256 << 10;
/// A piece that fits into a static buffer.
const SMALL: usize = 1_000;

#[allow(dead_code, reason = "the tests call `run` in processes of their own")]
fn main() -> Result<(), Error> {
    run()
}

/// Joins the job, runs the program, and leaves.
pub(crate) fn run() -> Result<(), Error> {
    let job = Job::join()?;
    // Once, at the start: the code below is compiled for each fabric.
    let result = match job.lanes(1)? {
        Lanes::Shm(lanes) => of_rank(lanes)?,
        Lanes::Ofi(lanes) => of_rank(lanes)?,
        Lanes::Mpi(lanes) => of_rank(lanes)?,
    };
    if job.rank() == 0 {
        println!("{result}");
    }
    job.leave()
}

fn of_rank<F: Fabric>(lanes: Vec<F>) -> Result<String, Error> {
    let mut result = String::new();
    for lane in lanes {
        let messenger = Messenger::new(lane, Settings::default())?;
        result = block_on(program(&messenger))?;
        messenger.leave();
    }
    Ok(result)
}

async fn program<F: Fabric>(messenger: &Messenger<F>) -> Result<String, Error> {
    let (rank, size) = (messenger.rank(), messenger.size());
    dissemination(messenger).await?;

    // A short reduction, and one long enough for the other algorithm.
    let (mut total, mut many) = ([u64::from(rank) + 1], vec![rank; LARGE / 4]);
    allreduce(messenger, &mut total, sum).await?;
    allreduce(messenger, &mut many, sum).await?;
    assert_eq!(total[0], u64::from(size) * (u64::from(size) + 1) / 2);
    assert!(many.iter().all(|&value| u64::from(value) == total[0] - u64::from(size)));

    // Once around: every rank's letter passes here, and in the end this rank has its own again.
    let mut letter = contents(rank, SMALL);
    for step in 1..=size {
        let mut into = vec![0; SMALL];
        let came = shift(messenger, 1, &letter, &mut into).await?;
        letter = into;
        assert!(came == SMALL && letter == contents((rank + size - step) % size, SMALL), "step {step} round the ring");
    }

    let mut read = [fingerprint(&letter)];
    if size > 1 {
        // All send before any rank receives: a waiting rank accepts messages that have arrived.
        send(messenger, (rank + 1) % size).await?;
        read[0] = read[0].wrapping_add(receive(messenger, (rank + size - 1) % size).await?);
    }
    allreduce(messenger, &mut read, sum).await?;
    dissemination(messenger).await?;
    Ok(format!("{size} ranks: sum {}, {size} shifts, messages {:016x}", total[0], read[0]))
}

/// Sends a message of every send mode with every receive mode; it contains the length of its last pieces.
async fn send<F: Fabric>(messenger: &Messenger<F>, to: Rank) -> Result<(), Error> {
    let rank = messenger.rank();
    let (small, large) = (contents(rank, SMALL), contents(rank, LARGE));
    let mut late = [0; 8];
    let late = Cell::from_mut(&mut late[..]).as_slice_of_cells();
    let mut message = messenger.begin_packing(to)?;
    message.pack(Safer(&(LARGE as u64).to_le_bytes()), Receive::Express).await?;
    message.pack(Safer(&small), Receive::Cheaper).await?;
    message.pack(Cheaper(&small), Receive::Express).await?;
    message.pack(Cheaper(&large), Receive::Cheaper).await?;
    message.pack(Later(late), Receive::Express).await?;
    message.pack(Later(late), Receive::Cheaper).await?;
    late.iter().zip(u64::from(rank).to_le_bytes()).for_each(|(cell, byte)| cell.set(byte));
    message.end().await
}

/// Receives what [`send`] sends; returns a fingerprint.
async fn receive<F: Fabric>(messenger: &Messenger<F>, from: Rank) -> Result<u64, Error> {
    let (mut small, mut early, mut late) = (vec![0; SMALL], vec![0; SMALL], [0; 8]);
    // Borrowed by the message, so it must outlive it; its length is in the message itself.
    let mut large;
    let mut message = messenger.begin_unpacking().await?;
    assert_eq!(message.from(), from, "only one rank has sent anything here");
    let length: u64 = message.unpack_express(Mode::Safer).await?;
    large = vec![0; length as usize];
    message.unpack(Mode::Safer, &mut small).await?;
    message.unpack_express_into(Mode::Cheaper, &mut early).await?;
    assert!(early == contents(from, SMALL), "an EXPRESS piece is there at once");
    message.unpack(Mode::Cheaper, &mut large).await?;
    let sender: u64 = message.unpack_express(Mode::Later).await?;
    assert_eq!(sender, u64::from(from), "a LATER piece is read when its message ends");
    message.unpack(Mode::Later, &mut late).await?;
    message.end().await?;
    assert!(late == sender.to_le_bytes() && small == early && large == contents(from, LARGE), "what was packed was unpacked");
    Ok([&small, &early, &large, &late[..]].into_iter().map(fingerprint).fold(sender, u64::wrapping_add))
}

/// Returns the bytes that this rank sends: arbitrary, but different for each rank.
fn contents(rank: Rank, bytes: usize) -> Vec<u8> {
    let mut random = SplitMix(u64::from(rank));
    (0..bytes).map(|_| random.next() as u8).collect()
}

/// Returns different numbers for different bytes.
fn fingerprint(bytes: &[u8]) -> u64 {
    bytes.iter().fold(1, |so_far, &byte| SplitMix::mix(so_far ^ u64::from(byte)))
}
