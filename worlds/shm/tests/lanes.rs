//! Lanes of threads and of processes pass the suite of all fabrics, with and without direct reads of memory.
mod common;

use common::{LONG, child_with, inherited, watchdog};
use foregather_conformance::fabric::{Fabrics, Program, all};
use foregather_host::clock;
use foregather_machine::{Address, block_on};
use foregather_shm::{SegmentSpec, ShmFabric, Watch};
use foregather_thread::Thread;
use std::sync::Arc;

const ROUNDS: u32 = 20;

/// How lanes are created; each is on a thread of its own.
#[derive(Clone, Copy)]
struct How {
    /// Whether each rank is a process of its own.
    processes: bool,
    direct: bool,
    /// Whether there is memory for only a few credits.
    scarce: bool,
}

impl How {
    fn shape(self, program: Program) -> SegmentSpec {
        let shape = SegmentSpec { direct: self.direct, ..SegmentSpec::new(program.ranks(), program.lanes()) };
        let pairs = (shape.ranks * shape.lanes).pow(2) as usize;
        // A channel with three buffers and their slots.
        if self.scarce { SegmentSpec { budget: pairs * 24_000, ..shape } } else { shape }
    }
}

impl Fabrics for How {
    fn run(&self, program: Program, rounds: u32) {
        eprintln!("{program:?}");
        let shape = self.shape(program);
        if self.processes {
            return each_in_a_process(program, rounds, shape);
        }
        let exchange = ShmFabric::between_threads(shape).unwrap();
        std::thread::scope(|threads| {
            for at in (0..shape.ranks).flat_map(|rank| (0..shape.lanes).map(move |lane| Address { rank, lane })) {
                let exchange = &exchange;
                threads.spawn(move || block_on(program.run(exchange.lane(Thread::current(), at).unwrap(), rounds)));
            }
        });
    }
}

fn each_in_a_process(program: Program, rounds: u32, shape: SegmentSpec) {
    let exchange = ShmFabric::new(shape).unwrap();
    let told = |rank: u32| [program.name(), rank.to_string(), rounds.to_string()];
    let ranks: Vec<_> = (0..shape.ranks).map(|rank| child_with("rank", exchange.fd(), &told(rank), &[])).collect();
    for (number, mut rank) in ranks.into_iter().enumerate() {
        let end = rank.wait_until(clock::now() + LONG).unwrap().unwrap();
        assert!(end.success(), "{program:?}: rank {number} ended with {end}");
    }
}

#[test]
#[ignore = "runs in child processes of the next test"]
fn rank() {
    let Some((number, told)) = inherited() else { return };
    watchdog();
    let exchange = Arc::new(ShmFabric::inherited(number).unwrap());
    let (program, rank, rounds) = (Program::parse(&told[0]).unwrap(), told[1].parse().unwrap(), told[2].parse().unwrap());
    exchange.join(rank).unwrap();
    exchange.meet(&Watch::none().process(), clock::now() + LONG).unwrap();
    std::thread::scope(|threads| {
        for lane in 0..program.lanes() {
            let exchange = &exchange;
            let lane = move || exchange.lane(Watch::none().process(), Address { rank, lane }).unwrap();
            threads.spawn(move || block_on(program.run(lane(), rounds)));
        }
    });
}

#[test]
fn lanes_conform() {
    watchdog();
    for processes in [false, true] {
        let plenty = How { processes, direct: true, scarce: false };
        for how in [plenty, How { direct: false, ..plenty }, How { scarce: true, ..plenty }] {
            all(&how, ROUNDS);
            how.run(Program::Overrun, ROUNDS);
        }
    }
}
