//! Switches between threads on all processors, as the kernel records them (`perf_event_open`), where this
//! process may see them: root may, and users where `kernel.perf_event_paranoid` is 0 or less.
use super::perf::{EventAttributes, ProcessorRecords, records};
use foregather_machine::{CpuId, Nanos, ThreadId};

/// What the kernel recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelRecord {
    /// A thread lost its processor, and another one got it.
    Switch {
        /// Where.
        cpu: CpuId,
        /// When.
        at: Nanos,
        /// The process and the thread that ran before; 0 for the idle loop.
        from: (u32, ThreadId),
        /// Whether it was still ready to run.
        is_ready: bool,
        /// The process and the thread that run next.
        to: (u32, ThreadId),
    },
    /// A process got a name: it has executed a file.
    Name {
        /// Which one.
        process: u32,
        /// Its name, of at most 15 bytes.
        name: String,
    },
    /// A process has started another one.
    Fork {
        /// Which one.
        process: u32,
        /// The one that started it.
        parent: u32,
    },
    /// Records were lost, because the reader was late.
    Lost,
}

const SOFTWARE: u32 = 1;
const DUMMY: u64 = 9;
/// Each record ends with the thread, the time and the processor.
const TAIL: u64 = 1 << 1 | 1 << 2 | 1 << 7;
const TAIL_BYTES: usize = 24;
/// Names, forks, a tail in all records, switches.
const FLAGS: u64 = 1 << 9 | 1 << 13 | 1 << 18 | 1 << 26;

/// Kinds of records, and marks of a switch.
const LOST: u32 = 2;
const NAME: u32 = 3;
const FORK: u32 = 7;
const SWITCH: u32 = 15;
const OUT: u16 = 1 << 13;
const PREEMPT: u16 = 1 << 14;

/// Memory for 1,300 switches of one processor. If there are more between two looks, the first ones stand for
/// all, and reading costs little.
const DATA: usize = 1 << 16;
/// On larger machines, as many files and as much memory would be needed.
const PROCESSORS: usize = 256;

/// The records of all processors.
#[derive(Debug)]
pub struct SwitchWatch(Vec<ProcessorRecords>);

impl SwitchWatch {
    /// Begins to record on these processors. `None` if the system denies it, or there are more than 256.
    pub fn open(cpus: &[CpuId]) -> Option<Self> {
        if cpus.is_empty() || cpus.len() > PROCESSORS {
            return None;
        }
        let attributes = EventAttributes::new(SOFTWARE, DUMMY, TAIL, FLAGS);
        cpus.iter().map(|&cpu| ProcessorRecords::open(cpu, DATA, &attributes, &[]).ok()).collect::<Option<Vec<_>>>().map(Self)
    }

    /// Takes what was recorded since the last call, in the order of time.
    pub fn take(&self) -> Vec<KernelRecord> {
        let mut found: Vec<(u64, KernelRecord)> = self.0.iter().flat_map(|records| parse(&records.take())).collect();
        found.sort_by_key(|(at, _)| *at);
        found.into_iter().map(|(_, record)| record).collect()
    }
}

/// Records with their times. What is cut off or of another kind is left out.
fn parse(bytes: &[u8]) -> Vec<(u64, KernelRecord)> {
    records(bytes).filter_map(parse_one).collect()
}

fn parse_one(record: &[u8]) -> Option<(u64, KernelRecord)> {
    let body = record.get(8..record.len().checked_sub(TAIL_BYTES)?)?;
    let tail = &record[record.len() - TAIL_BYTES..];
    let word = |from: &[u8], at: usize| Some(u32::from_le_bytes(from.get(at..at + 4)?.try_into().ok()?));
    let at = u64::from_le_bytes(tail[8..16].try_into().ok()?);
    let marks = u16::from_le_bytes([record[4], record[5]]);
    let parsed = match word(record, 0)? {
        SWITCH if marks & OUT != 0 => KernelRecord::Switch {
            cpu: word(tail, 16)?,
            at: Nanos(at),
            from: (word(tail, 0)?, word(tail, 4)?),
            is_ready: marks & PREEMPT != 0,
            to: (word(body, 0)?, word(body, 4)?),
        },
        NAME if word(body, 0) == word(body, 4) => {
            let name = body.get(8..)?.split(|&byte| byte == 0).next()?;
            KernelRecord::Name { process: word(body, 0)?, name: String::from_utf8_lossy(name).into_owned() }
        }
        FORK if word(body, 0) != word(body, 4) => KernelRecord::Fork { process: word(body, 0)?, parent: word(body, 4)? },
        LOST => KernelRecord::Lost,
        _ => return None,
    };
    Some((at, parsed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::affinity;
    use crate::usage::this_thread;

    fn record(kind: u32, marks: u16, body: &[u32], tail: [u32; 6]) -> Vec<u8> {
        let size = 8 + body.len() * 4 + TAIL_BYTES;
        let mut bytes: Vec<u8> =
            kind.to_le_bytes().into_iter().chain(marks.to_le_bytes()).chain((size as u16).to_le_bytes()).collect();
        bytes.extend(body.iter().chain(&tail).flat_map(|word| word.to_le_bytes()));
        bytes
    }

    #[test]
    fn records_are_read_and_cut_ones_are_left_out() {
        let name = u32::from_le_bytes(*b"cc1\0");
        let bytes = [
            record(SWITCH, OUT | PREEMPT, &[30, 31], [20, 21, 500, 0, 3, 0]),
            record(SWITCH, 0, &[20, 21], [30, 31, 500, 0, 3, 0]),
            record(NAME, 0, &[30, 30, name, 0], [30, 30, 600, 0, 3, 0]),
            record(NAME, 0, &[30, 31, name, 0], [30, 31, 600, 0, 3, 0]),
            record(FORK, 0, &[40, 30, 40, 30, 0, 0], [30, 30, 700, 0, 3, 0]),
            record(LOST, 0, &[1, 0, 9, 0], [0, 0, 800, 0, 3, 0]),
        ];
        let found: Vec<KernelRecord> = parse(&bytes.concat()).into_iter().map(|(_, record)| record).collect();
        let switch = KernelRecord::Switch { cpu: 3, at: Nanos(500), from: (20, 21), is_ready: true, to: (30, 31) };
        let name = KernelRecord::Name { process: 30, name: "cc1".to_owned() };
        assert_eq!(found, [switch, name, KernelRecord::Fork { process: 40, parent: 30 }, KernelRecord::Lost]);
        for length in 0..bytes[0].len() {
            assert_eq!(parse(&bytes[0][..length]), []);
        }
        let mut short = bytes[0].clone();
        short[6] = 10;
        assert_eq!(parse(&short[..10]), [], "a record that is too short for its tail");
        short[6] = 0;
        assert_eq!(parse(&short), [], "a record of no length");
    }

    #[test]
    fn a_thread_that_sleeps_is_seen_to_lose_its_processor() {
        let cpu = affinity::allowed()[0];
        let Some(watch) = SwitchWatch::open(&[cpu]) else {
            eprintln!("not run: perf_event_open is denied");
            return;
        };
        let sleeper = std::thread::spawn(move || {
            affinity::pin(cpu).unwrap();
            (0..20).for_each(|_| std::thread::sleep(std::time::Duration::from_millis(1)));
            (std::process::id(), this_thread())
        });
        let who = sleeper.join().unwrap();
        let records = watch.take();
        let slept = |record: &&KernelRecord| matches!(record, KernelRecord::Switch { from, is_ready: false, .. } if *from == who);
        // Other programs may have filled the memory meanwhile.
        assert!(records.iter().filter(slept).count() >= 10 || records.contains(&KernelRecord::Lost), "{records:?}");
    }
}
