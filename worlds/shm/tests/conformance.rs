//! The suite of all worlds, on the processor of a process, whose words other processes may map.
use foregather_conformance::{World, barrier, cpu, harmonize, team};
use foregather_host::affinity;
use foregather_machine::{Nanos, Rank, block_on};
use foregather_shm::{Process, Watch};

struct Processes;

impl World for Processes {
    type Cpu<'w> = Process;

    fn run<'w, T: Send, F: Future<Output = T>>(&'w self, size: u32, program: impl Fn(Self::Cpu<'w>, Rank) -> F + Sync) -> Vec<T> {
        foregather_thread::run(size, |_| None, |_, rank| block_on(program(Watch::none().process(), rank))).unwrap()
    }

    fn processors(&self) -> u32 {
        affinity::allowed().len() as u32
    }

    fn step(&self) -> Nanos {
        Nanos::from_us(20)
    }
}

#[test]
fn processes_conform() {
    cpu::all(&Processes);
    barrier::all(&Processes);
    harmonize::all(&Processes);
    team::all(&Processes);
}
