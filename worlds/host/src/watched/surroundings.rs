//! What else decides when a program runs: quotas, the hypervisor, and other programs.
use super::{processes, program};
use crate::cgroup::{self, Throttling};
use crate::run_state::fields;
use crate::sched::{self, SystemLoad};
use foregather_machine::{CpuId, Nanos};
use std::collections::BTreeMap;
use std::fs;

/// Fields of `stat` after the name: processor time in user mode and in the kernel, the last processor.
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
    /// The processor time of each process that can be seen.
    pub processes: BTreeMap<u32, ProcessTime>,
}

/// The processor time of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ProcessTime {
    /// So far, in units of the system's ticks.
    pub cpu: Nanos,
    /// The processor on which its first thread was last.
    pub last_cpu: CpuId,
}

/// A program that competes for processors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Competitor {
    /// Its process.
    pub process: u32,
    /// Its name.
    pub name: String,
    /// Its processor time between two readings.
    pub cpu: Nanos,
    /// Where it ran last.
    pub last_cpu: CpuId,
}

/// Reads all counters. Takes about 5 us for each process of the machine.
pub fn read(process: u32) -> SurroundingsReading {
    let processes = processes().into_iter().filter_map(|each| Some((each, process_time(each)?))).collect();
    SurroundingsReading {
        load: sched::load().unwrap_or_default(),
        throttling: cgroup::throttling_of(process),
        pressure: fs::read_to_string("/proc/pressure/cpu").ok().and_then(|text| parse_pressure(&text)),
        processes,
    }
}

/// The processes that used a processor between two readings, the busiest first, without those that `is_ours`
/// names.
pub fn competitors(before: &SurroundingsReading, after: &SurroundingsReading, is_ours: impl Fn(u32) -> bool) -> Vec<Competitor> {
    let used = |(&process, time): (&u32, &ProcessTime)| {
        let cpu = time.cpu - before.processes.get(&process).map_or(Nanos::ZERO, |before| before.cpu);
        (cpu > Nanos::ZERO && !is_ours(process)).then_some((process, cpu, time.last_cpu))
    };
    let mut found: Vec<_> = after.processes.iter().filter_map(used).collect();
    found.sort_by_key(|&(process, cpu, _)| (core::cmp::Reverse(cpu), process));
    let name = |process| program::read(process).map_or_else(|| "a process that has ended".to_owned(), |facts| facts.name);
    let named =
        found.into_iter().take(4).map(|(process, cpu, last_cpu)| Competitor { process, name: name(process), cpu, last_cpu });
    named.collect()
}

fn process_time(process: u32) -> Option<ProcessTime> {
    parse_stat(&fs::read(format!("/proc/{process}/stat")).ok()?)
}

fn parse_stat(stat: &[u8]) -> Option<ProcessTime> {
    let fields = fields(stat)?;
    let ticks = |field: usize| fields.get(field)?.parse::<u64>().ok();
    let tick = 1_000_000_000 / rustix::param::clock_ticks_per_second();
    let cpu = Nanos((ticks(USER)? + ticks(SYSTEM)?).saturating_mul(tick));
    Some(ProcessTime { cpu, last_cpu: fields.get(PROCESSOR)?.parse().ok()? })
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
    fn a_busy_child_is_a_competitor_unless_it_is_ours() {
        let before = read(std::process::id());
        let mut child = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
        let busy = |after: &SurroundingsReading, ours: u32| {
            competitors(&before, after, |process| process != child.id() || process == ours).pop()
        };
        let mut after = read(std::process::id());
        while busy(&after, 0).is_none_or(|found| found.cpu < Nanos::from_ms(50)) && std::time::Instant::now() < deadline {
            after = read(std::process::id());
        }
        let (found, own) = (busy(&after, 0), busy(&after, child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!((found.map(|found| found.process), own), (Some(child.id()), None));
    }
}
