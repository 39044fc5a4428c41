//! What a reader of a queue pays for messages that come now and then: how late it has them, and how much of a
//! processor it burns meanwhile.
//!
//! Both have a processor of their own, if there are two: where a scheduler puts them is another question. The
//! writer sleeps until shortly before a message is due, so that it is on time, and stamps it. This
//! project's ring is read by several policies; queues of other projects by a program in Python.
mod peers;

use crate::Cell;
use foregather_host::{affinity, clock, usage};
use foregather_machine::{Clock, Error, Nanos, SharedBytes, SplitMix, block_on};
use foregather_message::broadcast::{Broadcast, Pace};
use foregather_shm::{Process, Segment, Watch};
use foregather_wait::{Policy, Progress, Step, Strategy, Waiter};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Messages before the first one that counts: a rhythm has to be learnt.
const WARM_UP: usize = 10;
/// For how long before it is due a message is awaited without sleeping: longer than timers are late.
const AWAKE: Nanos = Nanos::from_us(300);
/// Bytes of the ring.
const RING: usize = 1 << 16;

foregather_machine::named! {
    /// How the gaps between messages are drawn.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Gaps {
        /// All alike, but for 1 % up or down.
        Regular = "regular",
        /// As if each moment were as likely as any other.
        Exponential = "exponential",
    }
}

impl Gaps {
    fn draw(self, mean: Nanos, random: &mut SplitMix) -> Nanos {
        let factor = match self {
            Self::Regular => 0.99 + 0.02 * random.unit(),
            Self::Exponential => -(1.0 - random.unit()).ln(),
        };
        Nanos((mean.0 as f64 * factor) as u64)
    }
}

/// One reader, and messages with that mean gap.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct QueueCell {
    /// The queue and how it is read: one of [`QueueCell::OWN`], or of [`QueueCell::OTHERS`].
    pub queue: String,
    /// The mean gap.
    pub gap_ns: u64,
    /// How gaps are drawn.
    pub gaps: Gaps,
    /// How many messages count.
    pub messages: u32,
    /// Of the gaps.
    pub seed: u64,
}

/// What the reader paid.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct QueueResult {
    /// From the stamp of a message until its reader had it: the median.
    pub p50_ns: u64,
    /// From the stamp of a message until its reader had it: 99 % were sooner.
    pub p99_ns: u64,
    /// Processor time of the reader in percent of the time.
    pub cpu_percent: f64,
}

impl QueueResult {
    fn of(mut late: Vec<u64>, cpu: Nanos, wall: Nanos) -> Self {
        late.sort_unstable();
        let at = |share: f64| late.get(((late.len() as f64 * share) as usize).min(late.len().saturating_sub(1))).copied();
        let cpu_percent = cpu.0 as f64 / wall.0.max(1) as f64 * 100.0;
        Self { p50_ns: at(0.5).unwrap_or(0), p99_ns: at(0.99).unwrap_or(0), cpu_percent }
    }
}

impl QueueCell {
    /// Readers of this project's ring.
    pub const OWN: [&str; 4] = ["foregather", "spin", "futex", "yield-1s"];
    /// Queues of Python: this project's, and others; the file of `FOREGATHER_VLLM_QUEUE`.
    pub const OTHERS: [&str; 4] = ["foregather-python", "zmq", "multiprocessing", "vllm"];

    fn gaps(&self) -> impl Iterator<Item = Nanos> {
        let (mut random, mean, gaps) = (SplitMix(self.seed), Nanos(self.gap_ns), self.gaps);
        std::iter::repeat_with(move || gaps.draw(mean, &mut random)).take(WARM_UP + self.messages as usize)
    }

    fn waiter(&self) -> Option<Waiter> {
        let policy = |policy| Some(Waiter::new(policy, 1));
        match self.queue.as_str() {
            "foregather" => {
                use foregather_machine::Placement;
                policy(Policy::adaptive(&Watch::none().process().costs()))
            }
            "spin" => policy(Policy::Spin),
            "futex" => policy(Policy::Block),
            "yield-1s" => Some(Waiter::by(Box::new(YieldThenSleep))),
            _ => None,
        }
    }
}

impl Cell for QueueCell {
    const VERB: &'static str = "queue";
    type Answer = QueueResult;

    fn at_most(&self) -> Nanos {
        Nanos::from_ms(10_000) + Nanos(self.gap_ns) * (u64::from(self.messages) + WARM_UP as u64) * 3
    }

    fn run(&self) -> Result<Option<QueueResult>, String> {
        if Self::OTHERS.contains(&self.queue.as_str()) {
            return peers::run(self, &self.gaps().map(|gap| gap.0).collect::<Vec<_>>(), WARM_UP).map(Some);
        }
        read(self).map(Some).map_err(|error| error.to_string())
    }
}

/// A model of a loop that is in use: it yields for a second, and then sleeps.
struct YieldThenSleep;

impl Strategy for YieldThenSleep {
    fn spins(&self) -> bool {
        false
    }
    fn next(&mut self, wait: &Progress<'_>) -> Step {
        if wait.around.now() - wait.began < Nanos::from_ms(1_000) { Step::Yield } else { Step::Park }
    }
}

type QueueRing = Broadcast<Process, SharedBytes>;

/// Both ends, in threads of this process over words that processes share.
fn read(cell: &QueueCell) -> Result<QueueResult, Error> {
    clock::init();
    let segment = Arc::new(Segment::with_bytes(QueueRing::lines(1), RING)?);
    let ring = QueueRing::over(segment.lines(), segment.bytes(), 1, Pace::SlowestReader)?;
    let cpus = affinity::allowed();
    let place = |rank: u32| (cpus.len() > 1).then(|| cpus[rank as usize]);
    let ends = foregather_thread::run(2, place, |_, rank| if rank == 0 { write(cell, &ring) } else { collect(cell, &ring) })?;
    ends.into_iter().nth(1).expect("two ends")
}

fn write(cell: &QueueCell, ring: &QueueRing) -> Result<QueueResult, Error> {
    let mut writer = ring.writer(Watch::none().process(), Policy::Block)?;
    let mut due = writer.now() + Nanos::from_ms(20);
    for gap in cell.gaps() {
        due += gap;
        let left = due - clock::now();
        if left > AWAKE {
            std::thread::sleep(core::time::Duration::from_nanos((left - AWAKE).0));
        }
        block_on(writer.delay_until(due));
        block_on(writer.send(&[&clock::now().0.to_le_bytes()], Nanos::MAX))?;
    }
    Ok(QueueResult::default())
}

fn collect(cell: &QueueCell, ring: &QueueRing) -> Result<QueueResult, Error> {
    let waiter = cell.waiter().unwrap_or_else(|| Waiter::new(Policy::Block, 1));
    let mut reader = ring.reader_by(Watch::none().process(), 1, waiter)?;
    let (mut late, mut began, mut message) = (Vec::new(), (clock::now(), usage::thread_cpu()), Vec::new());
    for number in 0..WARM_UP + cell.messages as usize {
        if number == WARM_UP {
            began = (clock::now(), usage::thread_cpu());
        }
        message.clear();
        block_on(reader.receive(&mut message, Nanos::MAX))?;
        let now = clock::now();
        let sent = message.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes));
        if number >= WARM_UP {
            late.push(now.0.saturating_sub(sent));
        }
    }
    Ok(QueueResult::of(late, usage::thread_cpu() - began.1, clock::now() - began.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_own_reader_gets_all_messages() {
        for queue in QueueCell::OWN {
            let cell = QueueCell { queue: queue.to_owned(), gap_ns: 200_000, gaps: Gaps::Exponential, messages: 30, seed: 3 };
            let result = cell.run().unwrap().unwrap();
            assert!(result.p50_ns > 0 && result.p50_ns <= result.p99_ns && result.cpu_percent > 0.0, "{queue}: {result:?}");
        }
    }

    #[test]
    fn gaps_have_the_mean_that_was_asked_for() {
        for gaps in Gaps::ALL {
            let cell = QueueCell { queue: String::new(), gap_ns: 1_000_000, gaps, messages: 10_000, seed: 5 };
            let all: Vec<u64> = cell.gaps().map(|gap| gap.0).collect();
            let mean = all.iter().sum::<u64>() / all.len() as u64;
            assert!((950_000..1_050_000).contains(&mean), "{gaps:?}: {mean}");
        }
    }
}
