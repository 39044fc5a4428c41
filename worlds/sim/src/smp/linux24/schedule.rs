//! `schedule()`: the best of the runnable threads, and a new epoch if the best has nothing left.
use super::epochs::Epochs;
use super::rules::{Accounting, Wakeup};
use crate::smp::dispatch::Dispatch;
use crate::smp::machine::{Machine, NOBODY};
use foregather_machine::{CpuId, Nanos};

impl Epochs {
    /// The goodness of the best thread for a processor, and its index if it is one of the candidates.
    fn best(&self, machine: &Machine, cpu: CpuId, present: Option<u32>) -> Option<(i64, Option<usize>)> {
        let space = self.space(machine, cpu);
        let present_goodness = |thread: u32| {
            let (entry, processor) = (&self.entries[thread as usize], machine.cpu(cpu));
            self.present_goodness(entry, processor, machine.now, (cpu, space))
        };
        let mut best = present.map(|thread| (present_goodness(thread), None));
        // Ties go to the first in the list; the present thread stands before it, or where it stands.
        let mut place = present
            .map_or(i64::MAX, |thread| if self.rules.previous_wins { i64::MIN } else { self.entries[thread as usize].place });
        // A thread from elsewhere with less left than this is not better, whatever its nice value and address
        // space.
        let enough = |least: i64| least - self.urgencies.1 - self.bonus - if self.rules.whole_ticks { self.tick } else { 0 };
        let mut bar = best.map_or(0, |(least, _)| enough(least));
        for (at, &thread) in self.candidates.iter().enumerate() {
            let entry = &self.entries[thread as usize];
            if entry.counter < bar && entry.cpu != cpu {
                continue;
            }
            let goodness = self.goodness(entry, entry.counter, cpu, space);
            let better = best.is_none_or(|(least, _)| goodness > least || goodness == least && entry.place < place);
            if better && machine.allows(thread, cpu) {
                (best, place, bar) = (Some((goodness, Some(at))), entry.place, enough(goodness));
            }
        }
        let beaten = best.is_none_or(|(goodness, _)| goodness < 0);
        if beaten && self.exhausted.iter().any(|&thread| machine.allows(thread, cpu)) { Some((0, None)) } else { best }
    }

    /// Takes the thread that the processor is reserved for, if it can be chosen.
    fn take_promised(&mut self, cpu: CpuId) -> Option<u32> {
        let promised = std::mem::replace(&mut self.reserved[cpu as usize], NOBODY);
        if promised == NOBODY {
            return None;
        }
        let mut lists = [&mut self.candidates, &mut self.exhausted].into_iter();
        lists.find_map(|list| list.iter().position(|&thread| thread == promised).map(|at| list.swap_remove(at)))
    }

    /// Takes the best thread, or lets the present one go on. If the best has nothing left, a new epoch
    /// begins.
    fn take_best(&mut self, machine: &mut Machine, cpu: CpuId, present: Option<u32>) -> Option<u32> {
        loop {
            match self.best(machine, cpu, present)? {
                (0, _) => self.begin_epoch(machine),
                (_, Some(at)) => return Some(self.candidates.swap_remove(at)),
                (_, None) => return present,
            }
        }
    }
}

impl Dispatch for Epochs {
    fn begin(&mut self, _: &mut Machine, order: &[u32]) {
        for &thread in order {
            self.last_place += 1;
            self.entries[thread as usize].place = self.last_place;
            self.offer(thread);
        }
    }

    fn choose(&mut self, machine: &mut Machine, cpu: CpuId, present: Option<u32>) -> Option<u32> {
        let chosen = self.take_promised(cpu).or_else(|| self.take_best(machine, cpu, present));
        if let Some(present) = present {
            self.entries[present as usize].yielded = false;
        }
        if chosen.is_none() {
            self.assured_until[cpu as usize] = 0;
        }
        chosen
    }

    fn dispatched(&mut self, machine: &mut Machine, cpu: CpuId, thread: u32, price: Nanos) {
        let entry = &mut self.entries[thread as usize];
        entry.cpu = cpu;
        entry.ran = 0;
        if self.rules.charge_switch && self.rules.accounting == Accounting::Exact {
            entry.counter = (entry.counter - price.0 as i64).max(machine.resolution.0 as i64);
        }
        self.spaces[cpu as usize] = entry.space;
        if self.rules.accounting == Accounting::Exact {
            self.assured_until[cpu as usize] = machine.now.0 as i64 + entry.counter;
        }
    }

    fn put_back(&mut self, machine: &mut Machine, thread: u32) {
        self.offer(thread);
        self.find_processor(machine, thread);
    }

    fn woken(&mut self, machine: &mut Machine, threads: &[u32], _: Option<CpuId>) {
        if self.rules.wakeup == Wakeup::GlobalView {
            return self.pair_all(machine, threads);
        }
        for &thread in threads {
            self.enter_list(thread);
            // A thread that is still being switched away from is put back when that has ended.
            if !machine.thread(thread).held {
                self.offer(thread);
                self.find_processor(machine, thread);
            }
        }
    }

    fn left(&mut self, _: &mut Machine, thread: u32) {
        let entry = &mut self.entries[thread as usize];
        entry.average_run = (entry.average_run + entry.ran) / 2;
    }

    fn yielded(&mut self, _: &mut Machine, thread: u32) {
        self.entries[thread as usize].yielded = true;
    }

    fn charge(&mut self, _: &Machine, _: CpuId, thread: u32, span: Nanos) {
        let entry = &mut self.entries[thread as usize];
        entry.ran += span.0 as i64;
        if self.rules.accounting == Accounting::Exact {
            entry.counter -= span.0 as i64;
        }
    }

    fn expiry(&self, machine: &Machine, cpu: CpuId) -> Nanos {
        if self.rules.accounting != Accounting::Exact {
            return Nanos::MAX;
        }
        let processor = machine.cpu(cpu);
        processor.since + self.rest(processor.current)
    }

    fn next_tick(&self, machine: &Machine, cpu: CpuId) -> Nanos {
        let tick = self.rules.tick.0;
        let offset = match self.rules.accounting {
            Accounting::Exact => return Nanos::MAX,
            Accounting::Tick => 0,
            Accounting::Staggered => u64::from(cpu) * tick / machine.processors.len() as u64,
        };
        let ticks = (machine.now.0 + tick - offset) / tick;
        Nanos(ticks * tick + offset)
    }

    fn tick(&mut self, machine: &mut Machine, cpu: CpuId) {
        let entry = &mut self.entries[machine.cpu(cpu).current as usize];
        entry.counter = (entry.counter - self.tick).max(0);
        if entry.counter == 0 {
            machine.mark(cpu);
        }
    }

    fn holds(&self) -> bool {
        self.rules.hold
    }

    fn wakes_at_once(&self) -> bool {
        self.rules.atomic_wakes
    }

    fn polls_when_idle(&self) -> bool {
        self.rules.idle_polls && !(self.candidates.is_empty() && self.exhausted.is_empty())
    }

    #[cfg(debug_assertions)]
    fn queued(&self, _: &Machine) -> Vec<u32> {
        [&self.candidates[..], &self.exhausted].concat()
    }
}
