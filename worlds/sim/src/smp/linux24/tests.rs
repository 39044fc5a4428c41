//! Rules of 2.4 one by one, on machines in hand-made states.
use super::epochs::Epochs;
use super::rules::{Accounting, Linux24, Wakeup};
use crate::smp::dispatch::Dispatch;
use crate::smp::machine::{Life, Machine, NOBODY, ThreadSpec};
use crate::smp::options::{MachineSpec, Scheduler};
use crate::smp::record::Record;
use foregather_machine::{CpuId, Nanos};

/// `sleepers` threads of one job that all ran last on processor 0; load keeps the processors below `busy`
/// busy, 0 included.
fn asleep(sleepers: u32, busy: u32, cpus: u32, wakeup: Wakeup) -> (Epochs, Machine) {
    let rules = Linux24 { wakeup, ..Linux24::TSAFRIR_2002 };
    let spec = MachineSpec { cpus, scheduler: Scheduler::Linux24(rules), ..MachineSpec::tsafrir2002() };
    let threads: Vec<_> =
        (0..sleepers + busy).map(|thread| ThreadSpec { space: thread.max(sleepers - 1), ..ThreadSpec::default() }).collect();
    let mut machine = Machine::new(spec.hardware(), &threads, 1, Record::NOTHING);
    for thread in 0..sleepers {
        machine.threads[thread as usize].cpu = 0;
        machine.enter(thread, Life::Blocked);
    }
    for cpu in 0..busy {
        let thread = sleepers + cpu;
        machine.threads[thread as usize].cpu = cpu;
        machine.enter(thread, Life::Running);
        machine.processors[cpu as usize].current = thread;
    }
    machine.busy = busy;
    (Epochs::new(rules, &machine), machine)
}

/// Wakes all sleepers at once, as the last arriver at a barrier does; returns the processors marked.
fn marked_by_waking(sleepers: u32, busy: u32, cpus: u32, wakeup: Wakeup) -> (Vec<CpuId>, u64) {
    let (mut epochs, mut machine) = asleep(sleepers, busy, cpus, wakeup);
    for thread in 0..sleepers {
        machine.enter(thread, Life::Ready);
    }
    let all: Vec<u32> = (0..sleepers).collect();
    epochs.woken(&mut machine, &all, Some(0));
    (machine.marked.clone(), machine.counts.duplicate_marks)
}

/// Tsafrir & Feitelson 2002 appendix A: the loop is over before the idle processor has woken up, so all
/// choose it.
#[test]
fn under_linux_all_who_are_woken_at_once_mark_the_same_processor() {
    assert_eq!(marked_by_waking(5, 1, 8, Wakeup::Linux), (vec![1], 4));
    for careful in [Wakeup::ApMark, Wakeup::ApReserve, Wakeup::GlobalView] {
        let (mut marked, duplicates) = marked_by_waking(5, 1, 8, careful);
        marked.sort_unstable();
        marked.dedup();
        assert_eq!((marked.len(), duplicates), (5, 0), "{careful:?}");
    }
}

/// Fresh threads beat exhausted ones, on other processors too; again 2.4 marks one, and the others wait in
/// the queue.
#[test]
fn exhausted_threads_are_preempted_by_as_many_as_there_are_only_if_marks_are_remembered() {
    let marked = |wakeup| {
        let (mut epochs, mut machine) = asleep(3, 4, 4, wakeup);
        (3..7).for_each(|thread| epochs.entries[thread].counter = 10_000);
        (0..3).for_each(|thread| machine.enter(thread, Life::Ready));
        epochs.woken(&mut machine, &[0, 1, 2], Some(0));
        machine.marked.len()
    };
    assert_eq!(marked(Wakeup::Linux), 1);
    for careful in [Wakeup::ApMark, Wakeup::ApReserve, Wakeup::GlobalView] {
        assert_eq!(marked(careful), 3, "{careful:?}");
    }
}

/// A thread that has the advantage of its last processor does not give it up for a bonus of one tick.
#[test]
fn goodness_counts_counter_processor_and_address_space() {
    let (mut epochs, machine) = asleep(2, 2, 3, Wakeup::Linux);
    let tick = 5_000;
    let of = |epochs: &Epochs, thread: usize, cpu, space| {
        epochs.goodness(&epochs.entries[thread], epochs.entries[thread].counter, cpu, space)
    };
    assert_eq!(of(&epochs, 0, 1, NOBODY), (20 + 20) * tick);
    assert_eq!(of(&epochs, 0, 0, NOBODY), (20 + 20 + 15) * tick);
    assert_eq!(of(&epochs, 0, 0, machine.thread(0).spec.space), (20 + 20 + 15 + 1) * tick);
    epochs.entries[0].counter = 0;
    assert_eq!(of(&epochs, 0, 0, NOBODY), 0, "a process that has used up the allotment is as bad as any other");
    epochs.entries[0].yielded = true;
    assert_eq!(of(&epochs, 0, 0, NOBODY), -1);
}

/// Appendix A: the default allotment plus half of the rest, so never more than twice the default.
#[test]
fn an_epoch_keeps_half_of_what_is_left() {
    let (mut epochs, mut machine) = asleep(1, 0, 1, Wakeup::Linux);
    for _ in 0..40 {
        epochs.begin_epoch(&mut machine);
    }
    let counter = epochs.entries[0].counter;
    assert!((199_000..200_000).contains(&counter), "{counter}");
    epochs.entries[0].counter = 30_000;
    epochs.begin_epoch(&mut machine);
    assert_eq!(epochs.entries[0].counter, 115_000);
}

#[test]
fn the_first_in_the_list_wins_ties_unless_the_present_thread_does() {
    for (previous_wins, winner) in [(true, 2), (false, 0)] {
        let (mut epochs, mut machine) = asleep(2, 1, 1, Wakeup::Linux);
        epochs.rules.previous_wins = previous_wins;
        epochs.spaces[0] = NOBODY;
        epochs.begin(&mut machine, &[0, 1, 2]);
        epochs.candidates.retain(|&thread| thread != 2);
        assert_eq!(epochs.choose(&mut machine, 0, Some(2)), Some(winner));
    }
}

#[test]
fn ticks_take_whole_ticks_and_stagger() {
    let (mut epochs, mut machine) = asleep(1, 2, 2, Wakeup::Linux);
    epochs.rules.accounting = Accounting::Staggered;
    machine.now = Nanos(7_000);
    assert_eq!([0, 1].map(|cpu| epochs.next_tick(&machine, cpu)), [Nanos(10_000), Nanos(7_500)]);
    epochs.entries[1].counter = 6_000;
    epochs.tick(&mut machine, 0);
    assert_eq!((epochs.entries[1].counter, machine.marked.len()), (1_000, 0));
    epochs.tick(&mut machine, 0);
    assert_eq!((epochs.entries[1].counter, machine.marked.len()), (0, 1));
}
