//! `reschedule_idle()`: which processor is interrupted for a thread that has become ready, and the
//! alternatives that Tsafrir & Feitelson 2002 §4.3 compare it with.
use super::epochs::Epochs;
use super::rules::Wakeup;
use crate::smp::machine::{Machine, NOBODY, Processor};
use foregather_machine::{CpuId, Nanos};

impl Epochs {
    /// Marks a processor for the thread, if there is one on which it should run at once.
    pub(super) fn find_processor(&mut self, machine: &mut Machine, thread: u32) {
        match self.rules.wakeup {
            Wakeup::Linux => self.mark_best(machine, thread, false),
            Wakeup::ApMark | Wakeup::GlobalView => self.mark_best(machine, thread, true),
            Wakeup::ApReserve => self.reserve_best(machine, thread),
            Wakeup::Linux22 => self.mark_like_22(machine, thread),
        }
    }

    /// 2.4: marks the thread's own processor if idle; else the one idle for longest; else the one whose
    /// thread it beats by most, if by more than the threshold. An idle processor that was marked still counts
    /// as idle, unless `careful`: this is the flaw.
    fn mark_best(&mut self, machine: &mut Machine, thread: u32, careful: bool) {
        let own = machine.thread(thread).cpu;
        let usable = |cpu: CpuId, processor: &Processor| machine.allows(thread, cpu) && !(careful && processor.marked);
        if machine.cpu(own).current == NOBODY && usable(own, machine.cpu(own)) {
            return machine.mark(own);
        }
        let entry = &self.entries[thread as usize];
        let anywhere = self.goodness_anywhere(entry, entry.counter);
        if anywhere <= 0 && machine.all_busy() {
            // A thread that has nothing left beats no other.
            return;
        }
        let advantage = |cpu: CpuId, processor: &Processor| {
            let present = &self.entries[processor.current as usize];
            let theirs = self.present_goodness(present, processor, machine.now, (cpu, present.space));
            self.with_advantages(anywhere, entry, cpu, present.space) - theirs
        };
        let (mut target, mut longest, mut most) = (None, Nanos::MAX, self.threshold);
        // A running thread with this much left cannot be beaten by one from another processor, whatever their
        // nice values and address spaces.
        let enough = machine.now.0 as i64 + (anywhere - self.penalty - self.urgencies.0 - self.threshold).max(1);
        for (cpu, &until) in (0..).zip(&self.assured_until) {
            if until >= enough && cpu != entry.cpu {
                debug_assert!(advantage(cpu, machine.cpu(cpu)) <= self.threshold, "what is assured of processor {cpu} holds");
                continue;
            }
            let processor = machine.cpu(cpu);
            if !usable(cpu, processor) {
            } else if processor.current == NOBODY {
                if processor.last_schedule < longest {
                    (target, longest) = (Some(cpu), processor.last_schedule);
                }
            } else if longest == Nanos::MAX && advantage(cpu, processor) > most {
                (target, most) = (Some(cpu), advantage(cpu, processor));
            }
        }
        if let Some(cpu) = target {
            self.note_foreign(machine, own, cpu);
            machine.mark(cpu);
        }
    }

    /// Counts a thread that takes over a processor which is not its own from one that has something left.
    fn note_foreign(&self, machine: &mut Machine, own: CpuId, cpu: CpuId) {
        let present = machine.cpu(cpu).current;
        let foreign = cpu != own && present != NOBODY && self.counter(machine, present) > 0;
        machine.counts.foreign_marks += u64::from(foreign);
    }

    /// H. Franke's patch to 2.4.5: a marked processor belongs to the thread that marked it. A better one
    /// takes it over, and the loser looks again.
    fn reserve_best(&mut self, machine: &mut Machine, thread: u32) {
        let mut homeless = Some(thread);
        while let Some(thread) = homeless.take() {
            let promised = |cpu: CpuId| {
                let to = self.reserved[cpu as usize];
                if to == NOBODY { machine.cpu(cpu).current } else { to }
            };
            let own = machine.thread(thread).cpu;
            let allowed = || machine.cpus().filter(|&cpu| machine.allows(thread, cpu));
            let free = |cpu: &CpuId| promised(*cpu) == NOBODY;
            let idle = allowed().filter(free).min_by_key(|&cpu| (cpu != own, machine.cpu(cpu).last_schedule));
            let target = idle.or_else(|| {
                let advantages = allowed().map(|cpu| (self.advantage(machine, thread, cpu, promised(cpu)), cpu));
                let best = advantages.max_by_key(|&(advantage, cpu)| (advantage, std::cmp::Reverse(cpu)));
                best.filter(|&(advantage, _)| advantage > self.threshold).map(|(_, cpu)| cpu)
            });
            if let Some(cpu) = target {
                let loser = std::mem::replace(&mut self.reserved[cpu as usize], thread);
                homeless = (loser != NOBODY).then_some(loser);
                if !machine.cpu(cpu).marked {
                    self.note_foreign(machine, own, cpu);
                    machine.mark(cpu);
                }
            }
        }
    }

    /// 2.2: the last idle processor found, the thread's own before others; else its own, if it beats the
    /// thread there; else, for threads that run only shortly, any other.
    fn mark_like_22(&mut self, machine: &mut Machine, thread: u32) {
        let own = machine.thread(thread).cpu;
        let idle = |cpu: CpuId| machine.cpu(cpu).current == NOBODY && machine.allows(thread, cpu);
        let beats = |cpu: CpuId| {
            let present = machine.cpu(cpu).current;
            present != NOBODY && machine.allows(thread, cpu) && self.advantage(machine, thread, cpu, present) > self.threshold
        };
        let brief = self.entries[thread as usize].average_run < self.rules.cache_flush.0 as i64;
        let target = if idle(own) {
            Some(own)
        } else if let Some(cpu) = machine.cpus().rev().find(|&cpu| idle(cpu)) {
            Some(cpu)
        } else if beats(own) {
            Some(own)
        } else {
            machine.cpus().find(|&cpu| brief && beats(cpu))
        };
        if let Some(cpu) = target {
            machine.mark(cpu);
        }
    }

    /// The global view: of all pairs of woken threads and processors the best first, each thread and
    /// processor once.
    pub(super) fn pair_all(&mut self, machine: &mut Machine, threads: &[u32]) {
        let mut pairs = Vec::new();
        for &thread in threads {
            self.enter_list(thread);
            if machine.thread(thread).held {
                continue;
            }
            self.offer(thread);
            for cpu in machine.cpus().filter(|&cpu| !machine.cpu(cpu).marked && machine.allows(thread, cpu)) {
                let present = machine.cpu(cpu).current;
                // Idle processors come before all others, the thread's own before other idle ones.
                let worth = match present {
                    NOBODY => i64::MAX - i64::from(machine.thread(thread).cpu != cpu),
                    _ => self.advantage(machine, thread, cpu, present),
                };
                if worth > self.threshold {
                    pairs.push((std::cmp::Reverse(worth), thread, cpu));
                }
            }
        }
        pairs.sort_unstable();
        let (mut paired, mut taken) = (Vec::new(), Vec::new());
        for (_, thread, cpu) in pairs {
            if !paired.contains(&thread) && !taken.contains(&cpu) {
                paired.push(thread);
                taken.push(cpu);
                machine.mark(cpu);
            }
        }
    }
}
