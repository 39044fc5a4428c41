//! Three mistakes that a simulator like this one is prone to, each with the test that catches it.
use super::kernel::Kernel;
use super::linux24::Linux24;
use super::machine::{Life, Machine, NOBODY, ThreadSpec, Want};
use super::node::build;
use super::options::{MachineSpec, Scheduler, Ties};
use super::prices::Prices;
use super::record::Record;
use super::round_robin::RoundRobin;

use crate::engine::Engine;
use crate::event::Heap;
use foregather_machine::Nanos;

type Events = Engine<Heap>;

fn us(n: u64) -> Nanos {
    Nanos::from_us(n)
}

/// Starts threads of load with these nice values on `cpus` processors, up to where their first switches have
/// been foreseen.
fn begun(cpus: u32, scheduler: Scheduler, nice: &[i8]) -> (Kernel, Events) {
    let prices = Prices { switch_to_idle: us(6), ..Prices::TSAFRIR_2002 };
    let spec = MachineSpec { cpus, scheduler, prices, ..MachineSpec::tsafrir2002() };
    let threads: Vec<_> = (0..).zip(nice).map(|(space, &nice)| ThreadSpec { space, nice, ..ThreadSpec::default() }).collect();
    let machine = Machine::new(spec.hardware(), &threads, 1, Record::NOTHING);
    let scheduler = build(&spec.scheduler, &machine);
    let (mut kernel, engine) = (Kernel::new(machine, scheduler, Ties::ArriveFirst), Events::default());
    let order: Vec<u32> = (0..threads.len() as u32).collect();
    kernel.begin(&engine, &order);
    (kernel, engine)
}

/// Lets the next event happen, and threads whose programs could go on compute forever.
fn next(kernel: &mut Kernel, engine: &Events) {
    let event = engine.next().expect("an event");
    kernel.happen(engine, event.task, event.what);
    while let Some(thread) = kernel.due.pop_front() {
        if kernel.may_go_on(engine, thread) {
            let it = &mut kernel.machine.threads[thread as usize];
            (it.want, it.left) = (Want::Compute, Nanos::MAX);
            kernel.went_on(engine, thread, false);
        }
    }
    kernel.drain(engine);
    kernel.assert_consistent();
}

/// A switch that ends now has not ended before its own event, whatever else happens at this moment; else the
/// thread switched away from is never put back.
#[test]
fn a_switch_that_ends_at_this_moment_is_still_a_switch() {
    let turns = Scheduler::RoundRobin(RoundRobin { quantum: us(100) });
    let (mut kernel, engine) = begun(2, turns, &[0, 0, 0, 0]);
    // Both processors switch in at 6 and out at 106; the second then switches until 112.
    while kernel.machine.now < us(106) || !kernel.machine.cpu(1).switching {
        next(&mut kernel, &engine);
    }
    let away = kernel.machine.cpu(1).from;
    assert_ne!(away, NOBODY);
    while kernel.machine.now < us(112) {
        next(&mut kernel, &engine);
    }
    // The time is 112: the first processor's event came first, the second's is due at the same moment.
    assert_eq!((kernel.machine.now, kernel.machine.cpu(1).until), (us(112), us(112)));
    assert!(kernel.machine.cpu(1).switching && kernel.machine.thread(away).held);
    // The processor is marked for rescheduling, and there is a better thread.
    let incoming = kernel.machine.cpu(1).current;
    kernel.scheduler.yielded(&mut kernel.machine, incoming);
    kernel.machine.mark(1);
    kernel.drain(&engine);
    assert_eq!(kernel.machine.cpu(1).current, incoming);
    assert!(kernel.machine.cpu(1).switching, "a marked processor finishes its switch first");
    assert!(!kernel.scheduler.queued(&kernel.machine).contains(&away));
    next(&mut kernel, &engine);
    assert!(!kernel.machine.thread(away).held || kernel.machine.thread(away).life == Life::Running, "it can be chosen again");
}

/// A new epoch changes every allotment, so the ends that were foreseen for other processors no longer hold.
#[test]
fn a_new_epoch_rearms_every_processor() {
    // Nice 10 has half the allotment of nice 0.
    let (mut kernel, engine) = begun(2, Scheduler::Linux24(Linux24::TSAFRIR_2002), &[10, 0]);
    while kernel.machine.counts.epochs == 0 {
        next(&mut kernel, &engine);
    }
    let now = kernel.machine.now;
    for cpu in [0, 1] {
        let rest = kernel.scheduler.expiry(&kernel.machine, cpu);
        assert!(rest > now, "everybody has something left");
        assert_eq!(kernel.foreseen(cpu), rest, "processor {cpu}");
    }
}

/// A thread that is woken while its processor still switches away from it is queued when that has ended, and
/// only then.
#[test]
fn nobody_is_queued_twice() {
    for scheduler in [Scheduler::RoundRobin(RoundRobin { quantum: us(100) }), Scheduler::Linux24(Linux24::TSAFRIR_2002)] {
        let (mut kernel, engine) = begun(1, scheduler, &[0, 0]);
        next(&mut kernel, &engine);
        let first = kernel.machine.cpu(0).current;
        // It parks, and is woken at once: ready, but held by the switch away from it.
        kernel.machine.threads[first as usize].want = Want::Park;
        kernel.went_on(&engine, first, false);
        assert!(kernel.machine.cpu(0).switching && kernel.machine.cpu(0).from == first);
        kernel.wake(&[first], None);
        assert!(!kernel.scheduler.queued(&kernel.machine).contains(&first));
        kernel.drain(&engine);
        next(&mut kernel, &engine);
        let times = kernel.scheduler.queued(&kernel.machine).iter().filter(|&&thread| thread == first).count();
        assert_eq!(times + usize::from(kernel.machine.cpu(0).current == first), 1);
    }
}
