//! What else decides when a program runs: quotas, the hypervisor, and other programs.
use super::{processes, program};
use crate::cgroup::{self, Throttling};
use crate::run_state::{self, fields};
use crate::sched::{self, SystemLoad};
use foregather_machine::{CpuId, Nanos};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Fields of `stat` after the name: the parent, processor time in user mode and in the kernel, the last
/// processor.
const PARENT: usize = 1;
const USER: usize = 11;
const SYSTEM: usize = 12;
const PROCESSOR: usize = 36;

/// Counters around a process, at one moment.
#[derive(Clone, Debug, Default)]
pub struct SurroundingsReading {
    /// Of the whole machine.
    pub load: SystemLoad,
    /// Of the control groups around the process.
    pub throttling: Option<Throttling>,
    /// How long some thread of the machine was ready without a processor, so far (PSI).
    pub pressure: Option<Nanos>,
}

/// The processor time of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessTime {
    /// So far, in units of the system's ticks.
    pub cpu: Nanos,
    /// The processor on which its first thread was last.
    pub last_cpu: CpuId,
    /// The process that started it, or that took it over.
    pub parent: u32,
    /// The name that it has given itself, padded with zeros. One that executes another file gets a new name.
    pub name: [u8; 16],
}

/// A program that competes for processors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Competitor {
    /// Its process.
    pub process: u32,
    /// Its name.
    pub name: String,
    /// Its processor time between the first reading and the last.
    pub cpu: Nanos,
    /// Where it ran last.
    pub last_cpu: CpuId,
    /// Whether it was missing from the last reading.
    pub has_exited: bool,
}

/// The processor times of other programs, added up from reading to reading: what a process used stays after
/// it has exited.
#[derive(Clone, Debug, Default)]
pub struct CompetitorTimes {
    before: BTreeMap<u32, ProcessTime>,
    found: BTreeMap<u32, Competitor>,
    ours: BTreeSet<u32>,
}

/// Reads the counters around a process.
pub fn read(process: u32) -> SurroundingsReading {
    SurroundingsReading {
        load: sched::load().unwrap_or_default(),
        throttling: cgroup::throttling_of(process),
        pressure: fs::read_to_string("/proc/pressure/cpu").ok().and_then(|text| parse_pressure(&text)),
    }
}

/// The processor time of each process that can be seen. Takes about 7 us for each.
pub fn process_times() -> BTreeMap<u32, ProcessTime> {
    processes().into_iter().filter_map(|each| Some((each, process_time(each)?))).collect()
}

/// A process and all processes that it has started and that have not left it.
pub fn family(process: u32, times: &BTreeMap<u32, ProcessTime>) -> Vec<u32> {
    let mut family = vec![process];
    let mut at = 0;
    while let Some(&parent) = family.get(at) {
        family.extend(times.iter().filter(|(_, time)| time.parent == parent).map(|(each, _)| *each));
        at += 1;
    }
    family
}

impl CompetitorTimes {
    /// Counts from this reading on.
    pub fn since(before: BTreeMap<u32, ProcessTime>) -> Self {
        Self { before, ..Self::default() }
    }

    /// Adds what was used since the reading before, without the processes that `is_ours` names and those that
    /// they have started.
    pub fn add(&mut self, now: BTreeMap<u32, ProcessTime>, is_ours: impl Fn(u32) -> bool) {
        self.ours.extend(now.keys().copied().filter(|&process| is_ours(process)));
        loop {
            let is_child =
                |(process, time): &(&u32, &ProcessTime)| self.ours.contains(&time.parent) && !self.ours.contains(process);
            let children: Vec<u32> = now.iter().filter(is_child).map(|(process, _)| *process).collect();
            if children.is_empty() {
                break;
            }
            self.ours.extend(children);
        }
        for (&process, time) in &now {
            let cpu = time.cpu - self.before.get(&process).map_or(Nanos::ZERO, |before| before.cpu);
            if cpu > Nanos::ZERO && !self.ours.contains(&process) {
                self.count(process, cpu, time.last_cpu);
            }
        }
        self.found.iter_mut().for_each(|(process, found)| found.has_exited = !now.contains_key(process));
        self.before = now;
    }

    fn count(&mut self, process: u32, cpu: Nanos, last_cpu: CpuId) {
        let unnamed = || Competitor { process, name: String::new(), cpu: Nanos::ZERO, last_cpu, has_exited: false };
        let found = self.found.entry(process).or_insert_with(unnamed);
        found.cpu += cpu;
        found.last_cpu = last_cpu;
        // A process that was just forked has its parent's name until it executes its own file.
        match program::name(process) {
            Some(name) => found.name = name,
            None if found.name.is_empty() => "a process that has exited".clone_into(&mut found.name),
            None => {}
        }
    }

    /// The processes that used a processor, the busiest first.
    pub fn finish(self) -> Vec<Competitor> {
        let mut found: Vec<Competitor> = self.found.into_values().filter(|each| !self.ours.contains(&each.process)).collect();
        found.sort_by_key(|each| (core::cmp::Reverse(each.cpu), each.process));
        found
    }
}

fn process_time(process: u32) -> Option<ProcessTime> {
    parse_stat(&run_state::read_stat(process)?)
}

fn parse_stat(stat: &[u8]) -> Option<ProcessTime> {
    let fields = fields(stat)?;
    let ticks = |field: usize| fields.get(field)?.parse::<u64>().ok();
    let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second();
    let cpu = Nanos((ticks(USER)? + ticks(SYSTEM)?).saturating_mul(tick));
    let (starts, ends) = (stat.iter().position(|&byte| byte == b'(')?, stat.iter().rposition(|&byte| byte == b')')?);
    let mut name = [0; 16];
    name.iter_mut().zip(stat.get(starts + 1..ends)?).for_each(|(to, from)| *to = *from);
    Some(ProcessTime { cpu, last_cpu: fields.get(PROCESSOR)?.parse().ok()?, parent: fields.get(PARENT)?.parse().ok()?, name })
}

/// `some avg10=0.00 avg60=0.00 avg300=0.00 total=12345`, the total in microseconds.
fn parse_pressure(text: &str) -> Option<Nanos> {
    let line = text.lines().find(|line| line.starts_with("some "))?;
    line.rsplit_once("total=")?.1.trim().parse().ok().map(Nanos::from_us)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_is_read_and_malformed_text_refused() {
        assert_eq!(parse_pressure("some avg10=0.00 avg60=0.10 total=42\nfull total=0\n"), Some(Nanos::from_us(42)));
        assert_eq!(parse_pressure("full avg10=0 total=1\n"), None);
        assert_eq!(parse_pressure("some total=x"), None);
    }

    #[test]
    fn the_name_of_a_process_may_have_any_characters() {
        let line = format!("7 (a) (b) R 3 {} 1 2", "0 ".repeat(40));
        let time = parse_stat(line.as_bytes()).unwrap();
        assert_eq!((time.parent, &time.name[..7]), (3, &b"a) (b\0\0"[..]));
    }

    #[test]
    fn a_busy_child_is_a_competitor_even_after_it_has_exited_unless_it_is_ours() {
        let own = std::process::id();
        let mut child = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let (mut others, mut ours) = (CompetitorTimes::default(), CompetitorTimes::default());
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        let of = |times: &CompetitorTimes| times.clone().finish().into_iter().find(|found| found.process == child.id());
        while of(&others).is_none_or(|found| found.cpu < Nanos::from_ms(50)) && std::time::Instant::now() < deadline {
            others.add(process_times(), |_| false);
            ours.add(process_times(), |process| process == own);
        }
        let seen = of(&others).unwrap();
        let own_child = of(&ours);
        let process = child.id();
        child.kill().unwrap();
        child.wait().unwrap();
        others.add(process_times(), |_| false);
        let found = others.finish().into_iter().find(|found| found.process == process).unwrap();
        assert_eq!((own_child, seen.has_exited), (None, false), "a child of ours is ours");
        assert!(found.has_exited && found.cpu >= Nanos::from_ms(50) && found.name == seen.name, "{found:?}");
    }

    #[test]
    fn what_was_used_before_the_first_reading_is_not_counted() {
        let at = |cpu_ms: &[(u32, u64)]| -> BTreeMap<u32, ProcessTime> {
            cpu_ms
                .iter()
                .map(|&(process, ms)| (process, ProcessTime { cpu: Nanos::from_ms(ms), ..ProcessTime::default() }))
                .collect()
        };
        // No system has processes of such numbers.
        let [old, short, idle] = [1 << 30, (1 << 30) + 1, (1 << 30) + 2];
        let mut times = CompetitorTimes::since(at(&[(old, 900), (idle, 70)]));
        times.add(at(&[(old, 910), (short, 40), (idle, 70)]), |_| false);
        times.add(at(&[(old, 930), (idle, 70)]), |_| false);
        let found: Vec<_> = times.finish().into_iter().map(|each| (each.process, each.cpu, each.has_exited)).collect();
        assert_eq!(found, [(short, Nanos::from_ms(40), true), (old, Nanos::from_ms(30), false)]);
    }
}
