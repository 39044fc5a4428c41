//! Finds the programs that ran on a processor while a thread of the watched program was ready to run there.
use foregather_host::watched::switches::KernelRecord;
use foregather_machine::{CpuId, Nanos, ThreadId};
use std::collections::{BTreeMap, BTreeSet};

/// Sums over the kernel's records of context switches. A preempted thread waits for the processor that it
/// lost until it runs again, there or on another one. Waits after a sleep are missing, because the kernel
/// does not record the wake-up that starts them.
#[derive(Clone, Debug, Default)]
pub struct SwitchTally {
    /// The watched processes.
    ours: BTreeSet<u32>,
    /// When the current thread of each processor started to run.
    since: BTreeMap<CpuId, Nanos>,
    /// The watched threads that wait for each processor.
    waiting: BTreeMap<CpuId, BTreeSet<ThreadId>>,
    /// How long each other process ran while watched threads waited for its processor, and the last such
    /// processor.
    instead: BTreeMap<u32, (Nanos, CpuId)>,
    /// Names of processes that were started since the records began.
    names: BTreeMap<u32, String>,
    /// How often records were lost.
    pub lost: u64,
}

impl SwitchTally {
    /// Adds processes to the watched ones.
    pub fn watch(&mut self, processes: impl IntoIterator<Item = u32>) {
        self.ours.extend(processes);
    }

    /// Adds a record. Records must arrive in order of time.
    pub fn add(&mut self, record: KernelRecord) {
        match record {
            KernelRecord::Switch { cpu, at, from, is_ready, to } => self.switch(cpu, at, from, is_ready, to),
            KernelRecord::Fork { process, parent } if self.ours.contains(&parent) => self.watch([process]),
            KernelRecord::Fork { process, parent } => {
                // A child keeps its parent's name until it executes a file.
                if let Some(name) = self.names.get(&parent).cloned() {
                    self.names.insert(process, name);
                }
            }
            KernelRecord::Name { process, name } => {
                self.names.insert(process, name);
            }
            KernelRecord::Lost => {
                // The lost records may have been switches, so nothing is known about any processor.
                self.lost += 1;
                self.since.clear();
                self.waiting.clear();
            }
        }
    }

    fn switch(&mut self, cpu: CpuId, at: Nanos, from: (u32, ThreadId), is_ready: bool, to: (u32, ThreadId)) {
        let waits = self.waiting.get(&cpu).is_some_and(|threads| !threads.is_empty());
        if let Some(since) = self.since.insert(cpu, at)
            && waits
            && from.0 != 0
            && !self.ours.contains(&from.0)
        {
            let instead = self.instead.entry(from.0).or_default();
            *instead = (instead.0 + (at - since), cpu);
        }
        if self.ours.contains(&from.0) && is_ready {
            self.waiting.entry(cpu).or_default().insert(from.1);
        }
        if to.0 != 0 && self.ours.contains(&to.0) {
            self.waiting.values_mut().for_each(|threads| _ = threads.remove(&to.1));
        }
    }

    /// Returns for each other process how long it ran while watched threads waited for its processor, the
    /// last such processor, and the name of the process if it was started since the records began.
    pub fn instead(&self) -> impl Iterator<Item = (u32, Nanos, CpuId, Option<&str>)> {
        let theirs = self.instead.iter().filter(|(process, _)| !self.ours.contains(process));
        theirs.map(|(process, (time, cpu))| (*process, *time, *cpu, self.names.get(process).map(String::as_str)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn switch(cpu: CpuId, at: u64, from: u32, is_ready: bool, to: u32) -> KernelRecord {
        KernelRecord::Switch { cpu, at: Nanos(at), from: (from, from), is_ready, to: (to, to) }
    }

    #[test]
    fn processes_that_run_instead_of_a_preempted_thread_are_counted() {
        let mut tally = SwitchTally::default();
        tally.watch([1, 2]);
        for record in [
            switch(0, 10, 1, true, 50),
            // Processor 1: no watched thread waits for it.
            switch(1, 10, 0, true, 60),
            switch(0, 14, 50, true, 51),
            switch(0, 17, 51, false, 1),
            switch(1, 25, 60, true, 61),
            // Thread 1 sleeps: the others no longer run instead of it.
            switch(0, 30, 1, false, 50),
            switch(0, 40, 50, true, 2),
            // Thread 2 is preempted on processor 0, and runs on processor 1.
            switch(0, 50, 2, true, 50),
            switch(1, 55, 61, true, 2),
            switch(0, 60, 50, true, 0),
        ] {
            tally.add(record);
        }
        let found: Vec<_> = tally.instead().map(|(process, time, ..)| (process, time.0)).collect();
        assert_eq!(found, [(50, 4), (51, 3)]);
    }

    #[test]
    fn children_are_watched_too_and_names_are_kept() {
        let mut tally = SwitchTally::default();
        tally.watch([1]);
        tally.add(KernelRecord::Fork { process: 7, parent: 1 });
        tally.add(KernelRecord::Name { process: 50, name: "make".to_owned() });
        tally.add(KernelRecord::Fork { process: 51, parent: 50 });
        for record in [switch(0, 10, 7, true, 51), switch(0, 15, 51, false, 7)] {
            tally.add(record);
        }
        assert_eq!(tally.instead().collect::<Vec<_>>(), [(51, Nanos(5), 0, Some("make"))]);
        tally.add(switch(0, 20, 7, true, 51));
        tally.add(KernelRecord::Lost);
        tally.add(switch(0, 90, 51, false, 7));
        assert_eq!(
            (tally.lost, tally.instead().map(|(_, time, ..)| time.0).sum::<u64>()),
            (1, 5),
            "after lost records, no time may be counted"
        );
        tally.watch([51]);
        assert_eq!(tally.instead().count(), 0, "a process that is watched later is no longer another process");
    }
}
