//! What the kernel's scheduler decides: its tracepoints on all processors, by `perf_event_open`. Root may
//! read them, and programs with CAP_PERFMON where they can read tracefs.
use super::perf::{EventAttributes, ProcessorRecords, records};
use foregather_machine::{Cause, CpuId, Error, Nanos, ThreadId};
use std::fs;

/// Something that the scheduler did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SchedulerStep {
    /// A processor changed over to another thread; 0 is the idle loop.
    Switch {
        /// The thread that ran before.
        from: ThreadId,
        /// Whether it was still ready to run.
        is_ready: bool,
        /// The thread that runs next.
        to: ThreadId,
    },
    /// A thread is to be woken; a processor for it is chosen next.
    Waking {
        /// Which one.
        thread: ThreadId,
    },
    /// A thread has joined the queue of a processor.
    Woken {
        /// Which one.
        thread: ThreadId,
        /// The processor.
        on: CpuId,
    },
    /// A thread was charged for processor time.
    Ran {
        /// Which one.
        thread: ThreadId,
        /// For how long it ran since it was last charged.
        span: Nanos,
    },
    /// A thread goes to the queue of another processor.
    Migrated {
        /// Which one.
        thread: ThreadId,
        /// That processor.
        to: CpuId,
    },
    /// Records were lost, because the memory was full.
    Lost,
}

/// Something that the scheduler did, when and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchedulerRecord {
    /// When (`CLOCK_MONOTONIC`).
    pub at: Nanos,
    /// The processor that did it.
    pub cpu: CpuId,
    /// What.
    pub step: SchedulerStep,
}

const TRACEPOINT: u32 = 2;
/// A sample has the thread, the time, the processor, a count, and what the tracepoint wrote. Without the
/// count, a thread that is charged for a microsecond would have a thousand samples, and the kernel would
/// stop at that.
const SAMPLE: u64 = 1 << 1 | 1 << 2 | 1 << 7 | 1 << 8 | 1 << 10;
const RAW_AT: usize = 44;
/// Kinds of records.
const LOST: u32 = 2;
const SAMPLED: u32 = 9;
/// Memory for the records of one processor: 80,000 or more.
const DATA: usize = 8 << 20;
/// The states of a thread that is not ready, in `prev_state`.
const STATES: u64 = 0xff;
const FOLDERS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// A tracepoint, and where its fields lie.
#[derive(Clone, Debug)]
struct Tracepoint {
    name: &'static str,
    id: u16,
    fields: Vec<(usize, usize)>,
}

/// The tracepoints, with the fields that are read.
const TRACEPOINTS: [(&str, &[&str]); 5] = [
    ("sched_switch", &["prev_pid", "prev_state", "next_pid"]),
    ("sched_waking", &["pid"]),
    ("sched_wakeup", &["pid", "target_cpu"]),
    ("sched_stat_runtime", &["pid", "runtime"]),
    ("sched_migrate_task", &["pid", "dest_cpu"]),
];

impl Tracepoint {
    /// Reads its description (`events/sched/NAME/format`).
    fn parse(name: &'static str, fields: &[&str], format: &str) -> Option<Self> {
        let id = format.lines().find_map(|line| line.strip_prefix("ID:")?.trim().parse().ok())?;
        let place = |field: &&str| {
            format.lines().find_map(|line| {
                let mut parts = line.trim().strip_prefix("field:")?.split(';');
                parts.next()?.split_whitespace().last().filter(|name| name == field)?;
                let mut number = |key: &str| parts.next()?.trim().strip_prefix(key)?.parse::<usize>().ok();
                Some((number("offset:")?, number("size:")?)).filter(|(_, size)| *size <= 8)
            })
        };
        Some(Self { name, id, fields: fields.iter().map(place).collect::<Option<_>>()? })
    }

    /// What it wrote.
    fn read(&self, raw: &[u8]) -> Option<SchedulerStep> {
        let value = |index: usize| {
            let (at, size) = self.fields[index];
            let mut bytes = [0; 8];
            bytes[..size].copy_from_slice(raw.get(at..at + size)?);
            Some(u64::from_le_bytes(bytes))
        };
        let number = |index| value(index).map(|value| value as u32);
        Some(match self.name {
            "sched_switch" => SchedulerStep::Switch { from: number(0)?, is_ready: value(1)? & STATES == 0, to: number(2)? },
            "sched_waking" => SchedulerStep::Waking { thread: number(0)? },
            "sched_wakeup" => SchedulerStep::Woken { thread: number(0)?, on: number(1)? },
            "sched_stat_runtime" => SchedulerStep::Ran { thread: number(0)?, span: Nanos(value(1)?) },
            _ => SchedulerStep::Migrated { thread: number(0)?, to: number(1)? },
        })
    }
}

/// The scheduler's records of some processors.
#[derive(Debug)]
pub struct SchedulerWatch {
    tracepoints: Vec<Tracepoint>,
    records: Vec<ProcessorRecords>,
}

impl SchedulerWatch {
    /// Begins to record on these processors.
    ///
    /// # Errors
    /// If the system does not show its tracepoints, or denies recording.
    pub fn open(cpus: &[CpuId]) -> Result<Self, Error> {
        let described = |(name, fields): (&'static str, &[&str])| {
            let read = |folder: &&str| fs::read_to_string(format!("{folder}/events/sched/{name}/format")).ok();
            Tracepoint::parse(name, fields, &FOLDERS.iter().find_map(read)?)
        };
        let tracepoints = TRACEPOINTS.map(described).into_iter().collect::<Option<Vec<_>>>().ok_or_else(|| {
            let remedy = "run as root, and mount it if need be: mount -t tracefs nodev /sys/kernel/tracing".to_owned();
            Error::from(Cause::Unavailable { what: "a readable tracefs with the scheduler's tracepoints".into(), remedy })
        })?;
        let attributes = |tracepoint: &Tracepoint| EventAttributes::new(TRACEPOINT, u64::from(tracepoint.id), SAMPLE, 0);
        let all: Vec<EventAttributes> = tracepoints.iter().map(attributes).collect();
        let records = cpus.iter().map(|&cpu| ProcessorRecords::open(cpu, DATA, &all[0], &all[1..])).collect::<Result<_, _>>();
        let records = records.map_err(|error| {
            let remedy = "run as root or with CAP_PERFMON; in a container, allow perf_event_open in the seccomp filter";
            Error::from(Cause::Os {
                what: "recording the scheduler's tracepoints",
                errno: error.raw_os_error().unwrap_or(0),
                remedy,
            })
        })?;
        Ok(Self { tracepoints, records })
    }

    /// Takes what was recorded since the last call, in the order of time.
    pub fn take(&self) -> Vec<SchedulerRecord> {
        let mut found: Vec<_> = self.records.iter().flat_map(|records| parse(&self.tracepoints, &records.take())).collect();
        found.sort_by_key(|record| record.at);
        found
    }
}

/// Records of one processor, in their order. What is cut off or of another kind is left out.
fn parse(tracepoints: &[Tracepoint], bytes: &[u8]) -> Vec<SchedulerRecord> {
    let (mut found, mut last) = (Vec::new(), (Nanos::ZERO, 0));
    for record in records(bytes) {
        let parsed = match u32::from_le_bytes([record[0], record[1], record[2], record[3]]) {
            SAMPLED => sample(tracepoints, record),
            LOST => Some(SchedulerRecord { at: last.0, cpu: last.1, step: SchedulerStep::Lost }),
            _ => None,
        };
        if let Some(parsed) = parsed {
            last = (parsed.at, parsed.cpu);
            found.push(parsed);
        }
    }
    found
}

fn sample(tracepoints: &[Tracepoint], record: &[u8]) -> Option<SchedulerRecord> {
    let at = u64::from_le_bytes(record.get(16..24)?.try_into().ok()?);
    let cpu = u32::from_le_bytes(record.get(24..28)?.try_into().ok()?);
    let raw = record.get(RAW_AT..)?;
    let id = u16::from_le_bytes(raw.get(..2)?.try_into().ok()?);
    let step = tracepoints.iter().find(|tracepoint| tracepoint.id == id)?.read(raw)?;
    Some(SchedulerRecord { at: Nanos(at), cpu, step })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity;
    use crate::usage::this_thread;

    const FORMAT: &str = "name: sched_switch\nID: 372\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
        \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
        \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\
        \tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n";

    fn switch() -> Tracepoint {
        Tracepoint::parse("sched_switch", TRACEPOINTS[0].1, FORMAT).unwrap()
    }

    #[test]
    fn a_tracepoint_is_read_where_its_description_says() {
        let tracepoint = switch();
        assert_eq!((tracepoint.id, tracepoint.fields.as_slice()), (372, &[(24, 4), (32, 8), (56, 4)][..]));
        assert!(Tracepoint::parse("sched_wakeup", &["pid"], FORMAT).is_none(), "a field that it does not have");
        let mut raw = vec![0_u8; 64];
        (raw[24], raw[33], raw[56]) = (7, 1, 9);
        let switched = |is_ready| Some(SchedulerStep::Switch { from: 7, is_ready, to: 9 });
        assert_eq!(tracepoint.read(&raw), switched(true), "preempted");
        raw[32] = 1;
        assert_eq!(tracepoint.read(&raw), switched(false));
        assert_eq!(tracepoint.read(&raw[..50]), None);
    }

    #[test]
    fn samples_are_read_and_cut_ones_are_left_out() {
        let mut raw = vec![0_u8; 60];
        raw[..2].copy_from_slice(&372_u16.to_le_bytes());
        (raw[24], raw[56]) = (7, 9);
        let head = |kind: u32, size: usize| [&kind.to_le_bytes()[..], &[0, 0], &(size as u16).to_le_bytes()].concat();
        let mut sampled = head(SAMPLED, RAW_AT + raw.len());
        sampled.extend(
            [0_u8; 8]
                .into_iter()
                .chain(500_u64.to_le_bytes())
                .chain([3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 60, 0, 0, 0])
                .chain(raw),
        );
        let lost = head(LOST, 24).into_iter().chain([0; 16]).collect::<Vec<u8>>();
        let step = SchedulerStep::Switch { from: 7, is_ready: true, to: 9 };
        let found = parse(&[switch()], &[sampled.clone(), lost].concat());
        let at = |step| SchedulerRecord { at: Nanos(500), cpu: 3, step };
        assert_eq!(found, [at(step), at(SchedulerStep::Lost)]);
        (0..sampled.len()).for_each(|length| assert_eq!(parse(&[switch()], &sampled[..length]), []));
    }

    #[test]
    fn a_sleepers_steps_are_recorded() {
        let cpu = affinity::allowed()[0];
        let watch = match SchedulerWatch::open(&[cpu]) {
            Ok(watch) => watch,
            Err(error) => return eprintln!("not run here: {error}"),
        };
        let sleeper = std::thread::spawn(move || {
            affinity::pin(cpu).unwrap();
            (0..20).for_each(|_| std::thread::sleep(std::time::Duration::from_millis(1)));
            this_thread()
        });
        let who = sleeper.join().unwrap();
        let records = watch.take();
        let count = |what: &dyn Fn(&SchedulerStep) -> bool| records.iter().filter(|record| what(&record.step)).count();
        let all = [
            count(&|step| matches!(step, SchedulerStep::Switch { from, is_ready: false, .. } if *from == who)),
            count(&|step| matches!(step, SchedulerStep::Waking { thread } if *thread == who)),
            count(&|step| *step == SchedulerStep::Woken { thread: who, on: cpu }),
            count(&|step| matches!(step, SchedulerStep::Ran { thread, .. } if *thread == who)),
        ];
        assert!(all.iter().all(|&count| count >= 20) || count(&|step| *step == SchedulerStep::Lost) > 0, "{all:?}");
    }
}
