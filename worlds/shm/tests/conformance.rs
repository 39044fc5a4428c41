//! Runs the suite of all worlds on the processor of a process, whose words other processes may map.
use foregather_conformance::{PortProgram, Ports, World, barrier, broadcast, collective, cpu, harmonize, port, team};
use foregather_host::affinity;
use foregather_machine::{Address, Clock, Nanos, Rank, block_on};
use foregather_message::{Messenger, Settings};
use foregather_shm::{Process, SegmentSpec, ShmFabric, Watch};
use foregather_wait::Policy;

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
    broadcast::all(&Processes);
}

/// Messengers of threads that wait with this policy.
struct Messengers(Policy);

impl Ports for Messengers {
    fn run<T: Send>(&self, slots: u32, start: &[Nanos], program: &(impl PortProgram<T> + Sync)) -> Vec<T> {
        let size = start.len() as u32;
        let fabric = ShmFabric::between_threads(SegmentSpec::new(size, 1)).unwrap();
        let settings = Settings { policy: Some(self.0), slots: slots.max(1), ..Settings::default() };
        let member = |cpu, rank| {
            let lane = fabric.lane(cpu, Address { rank, lane: 0 }).unwrap();
            let messenger = Messenger::new(lane, settings).unwrap();
            block_on(async {
                messenger.delay(start[rank as usize]).await;
                let end = program.node(&messenger).await;
                messenger.leave();
                end
            })
        };
        foregather_thread::run(size, |_| None, member).unwrap()
    }
}

#[test]
fn threads_conform_in_sized_messages() {
    for policy in [Policy::Block, Policy::TwoPhase { spin: Nanos::from_us(5) }, Policy::default()] {
        port::all(&Messengers(policy));
    }
    collective::all(&Messengers(Policy::Block));
}
