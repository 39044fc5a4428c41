//! Sized messages over each installed MPI pass the suite that all ports must pass. Its programs return
//! values, so all nodes are lanes of one process, each posing as a rank: MPI delivers each frame to the
//! process that sent it.
mod installed;

use foregather_conformance::{PortProgram, Ports, port};
use foregather_machine::{
    Address, Clock, Error, Fabric, FabricCosts, Key, LastingPieces, Limits, Member, Nanos, Rank, WordLine, block_on,
};
use foregather_message::{Messenger, Settings};
use foregather_mpi::{Lane, Mpi, MpiProcessor};
use foregather_thread::Word;
use installed::{installed, run_part};
use std::process::Command;

/// The variable that makes a child run the suite.
const PART: &str = "FOREGATHER_MPI_TEST_PORT";

/// A lane that poses as the only lane of a rank.
struct AsRank {
    lane: Lane,
    size: u32,
    roster: Box<[WordLine<Word>]>,
}

fn lane_of(rank: Address) -> Address {
    Address { rank: 0, lane: if rank.lane == 0 { rank.rank } else { u32::MAX } }
}

fn rank_of(lane: Address) -> Address {
    Address { rank: lane.lane, lane: 0 }
}

foregather_machine::clock_by! { [] AsRank, |this| this.lane }

impl Member for AsRank {
    fn rank(&self) -> Rank {
        self.here().rank
    }
    fn size(&self) -> u32 {
        self.size
    }
}

impl Fabric for AsRank {
    type Cpu = MpiProcessor;

    fn cpu(&self) -> &MpiProcessor {
        self.lane.cpu()
    }
    fn bell(&self) -> &Word {
        self.lane.bell()
    }
    fn roster(&self) -> &[WordLine<Word>] {
        &self.roster
    }
    fn here(&self) -> Address {
        rank_of(self.lane.here())
    }
    fn limits(&self) -> Limits {
        Limits { lanes: 1, ..self.lane.limits() }
    }
    fn costs(&self) -> FabricCosts {
        self.lane.costs()
    }
    fn post(&self, to: Address, head: u32, bytes: &[u8]) -> Result<bool, Error> {
        self.lane.post(lane_of(to), head, bytes)
    }
    fn write_with<R>(&self, to: Address, write: impl FnOnce(&mut [u8]) -> R) -> R {
        self.lane.write_with(lane_of(to), write)
    }
    fn post_filled(&self, to: Address, head: u32, len: usize) -> Result<bool, Error> {
        self.lane.post_filled(lane_of(to), head, len)
    }
    fn arrived(&self, after: Option<Address>) -> Option<Address> {
        self.lane.arrived(after.map(lane_of)).map(rank_of)
    }
    fn peek<R>(&self, from: Address, read: impl FnOnce(u32, &[u8]) -> R) -> Option<R> {
        self.lane.peek(lane_of(from), read)
    }
    fn release(&self, from: Address) {
        self.lane.release(lane_of(from));
    }
    fn expose(&self, pieces: LastingPieces<'_>) -> Result<Key, Error> {
        self.lane.expose(pieces)
    }
    fn unexpose(&self, key: Key) {
        self.lane.unexpose(key);
    }
    fn get(&self, from: Address, key: Key, into: &mut [&mut [u8]]) -> impl Future<Output = Result<(), Error>> {
        self.lane.get(lane_of(from), key, into)
    }
    fn progress(&self) -> bool {
        self.lane.progress()
    }
    fn leave(&self) {
        self.lane.leave();
    }
    fn has_left(&self, peer: Address) -> bool {
        self.lane.has_left(lane_of(peer))
    }
}

struct Nodes(&'static Mpi);

impl Ports for Nodes {
    fn run<T: Send>(&self, slots: u32, start: &[Nanos], program: &(impl PortProgram<T> + Sync)) -> Vec<T> {
        let size = start.len() as u32;
        let settings = Settings { slots: slots.max(1), ..Settings::default() };
        let node = |lane: Lane, start: Nanos| {
            let roster = (0..=size).map(|_| WordLine::default()).collect();
            let messenger = Messenger::new(AsRank { lane, size, roster }, settings).unwrap();
            block_on(async {
                messenger.delay(start).await;
                let end = program.node(&messenger).await;
                messenger.leave();
                end
            })
        };
        let lanes = Lane::group(self.0, size, None, None).unwrap();
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                lanes.into_iter().zip(start).map(|(lane, &start)| scope.spawn(move || node(lane, start))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    }
}

/// Runs the suite. Does nothing in the parent.
#[test]
fn part() {
    if installed::part(PART).is_some() {
        port::all(&Nodes(Mpi::join((None, false)).unwrap()));
        println!("all of it ran");
    }
}

#[test]
fn nodes_conform_over_every_mpi() {
    for mpi in installed() {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env("FOREGATHER_MPI", mpi.library());
        let output = run_part(command, PART, "1");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(output.status.success() && said.contains("all of it ran"), "{}: {}\n{said}", mpi.name, output.status);
    }
}
