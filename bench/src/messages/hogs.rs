//! Round trips beside hogs, policy by policy in turn, and the hogs alone in between: what messages cost those
//! that compute, and what those cost the messages. The hogs count, since processor time alone does not tell
//! how much a computation gets done.
use super::ends::{Ends, Errand};
use super::{Answer, Beside, HOG_VERB, strange};
use crate::compute;
use foregather_host::child::Child;
use foregather_host::{affinity, clock};
use foregather_machine::{CpuId, Error, Fabric, Nanos};
use foregather_shm::Segment;
use hdrhistogram::Histogram;
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Hogs that have just been started, or have competed, settle.
const SETTLE: Duration = Duration::from_millis(30);

/// Longer halves of round trips count as that long.
const LONGEST: Nanos = Nanos::from_ms(60_000);

/// One policy's cells so far.
struct PolicyTotals {
    rates: Vec<f64>,
    speeds: Vec<f64>,
    halves: Histogram<u64>,
    cpu_ns: [u64; 2],
    wall_ns: u64,
}

/// Rank 0's part; an end for each policy, in that order. The words of `segment` are the hogs'.
pub(super) fn measure<F: Fabric>(
    ends: &Ends<F>,
    policies: &[String],
    (segment, hogs): (&Segment, u32),
    (cells, span): (u32, Nanos),
    answer: &mut Answer,
) -> Result<(), Error> {
    let empty = || {
        let halves = Histogram::new_with_max(LONGEST.0, 3).map_err(|_| strange("a histogram".to_owned()))?;
        Ok::<_, Error>(PolicyTotals { rates: vec![], speeds: vec![], halves, cpu_ns: [0; 2], wall_ns: 0 })
    };
    let mut all: Vec<PolicyTotals> = policies.iter().map(|_| empty()).collect::<Result<_, _>>()?;
    let mut alone = Vec::new();
    std::thread::sleep(if hogs > 0 { SETTLE } else { Duration::ZERO });
    for turn in 0..cells {
        // Every other turn goes backwards.
        for i in 0..=all.len() {
            let i = if turn % 2 == 0 { i } else { all.len() - i };
            match i.checked_sub(1) {
                Some(end) => cell(ends, end, (segment, hogs), span, &mut all[end])?,
                None if hogs > 0 => {
                    let speed = Speed::of(segment, hogs);
                    std::thread::sleep(Duration::from_nanos(span.0));
                    alone.push(speed.per_s());
                }
                None => {}
            }
        }
    }
    answer.hogs =
        policies.iter().zip(all).enumerate().map(|(end, (policy, cells))| beside(ends, end, policy, &cells, &alone)).collect();
    Ok(())
}

fn cell<F: Fabric>(
    ends: &Ends<F>,
    end: usize,
    (segment, hogs): (&Segment, u32),
    span: Nanos,
    cells: &mut PolicyTotals,
) -> Result<(), Error> {
    ends.ask(Errand::UntilTold { end })?;
    let (speed, began) = (Speed::of(segment, hogs), foregather_host::usage::thread_cpu());
    let (mut round_trips, mut took) = (0_u64, 0);
    ends.round_trips(end, span, |round_trip| {
        round_trips += 1;
        took += round_trip.0;
        cells.halves.saturating_record((round_trip.0 / 2).max(1));
    })?;
    cells.speeds.push(speed.per_s());
    cells.cpu_ns[0] += (foregather_host::usage::thread_cpu() - began).0;
    cells.cpu_ns[1] += ends.spent_there()?.0;
    cells.rates.push(round_trips as f64 * 1e9 / took.max(1) as f64);
    cells.wall_ns += took;
    Ok(())
}

fn beside<F: Fabric>(ends: &Ends<F>, end: usize, policy: &str, cells: &PolicyTotals, alone: &[f64]) -> Beside {
    Beside {
        policy: policy.to_owned(),
        round_trips_per_s: cells.rates.clone(),
        mean_ns: cells.halves.mean(),
        p50_ns: cells.halves.value_at_quantile(0.5),
        p99_ns: cells.halves.value_at_quantile(0.99),
        max_ns: cells.halves.max(),
        hog_shares: cells.speeds.iter().zip(alone).map(|(speed, alone)| speed / alone.max(1e-9)).collect(),
        cpu_ns: cells.cpu_ns,
        wall_ns: cells.wall_ns,
        waits: ends.waits(end),
    }
}

/// Iterations between two counts: some tens of microseconds.
const STRETCH: u64 = 20_000;
/// Values that a word has.
const WRAPS: u64 = 1 << 30;

/// The hogs of one processor, or of both; they end when this is dropped.
#[derive(Default)]
pub(super) struct Hogs {
    /// Kept for their end.
    _children: Vec<Child>,
    stop: Arc<AtomicBool>,
}

impl Drop for Hogs {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
    }
}

impl Hogs {
    /// As processes, each with a word of its own from `first` on.
    pub(super) fn processes(segment: &Segment, first: u32, cpus: impl Iterator<Item = CpuId>) -> Result<Self, Error> {
        let program = std::env::current_exe().map_err(|error| strange(format!("mount /proc: {error}")))?;
        let start = |(word, cpu): (u32, CpuId)| {
            let mut command = Command::new(&program);
            command.args([HOG_VERB.to_owned(), segment.fd().as_raw_fd().to_string(), word.to_string(), cpu.to_string()]);
            command.stdin(Stdio::null()).stdout(Stdio::null());
            Child::spawn(command, &[segment.fd()])
        };
        let children = (first..).zip(cpus).map(start).collect::<Result<_, _>>()?;
        Ok(Self { _children: children, stop: Arc::default() })
    }

    /// As threads of this process.
    pub(super) fn threads(segment: &Arc<Segment>, first: u32, cpus: impl Iterator<Item = CpuId>) -> Result<Self, Error> {
        let hogs = Self::default();
        for (word, cpu) in (first..).zip(cpus) {
            let (segment, stop) = (Arc::clone(segment), Arc::clone(&hogs.stop));
            let hog = move || affinity::pin(cpu).map(|()| count(&segment, word, || stop.load(Relaxed)));
            let made = std::thread::Builder::new().name("hog".to_owned()).spawn(hog);
            made.map_err(|error| strange(format!("no thread can be made for a hog: {error}")))?;
        }
        Ok(hogs)
    }
}

/// Computes and counts until it is to stop.
fn count(segment: &Segment, word: u32, stop: impl Fn() -> bool) {
    let mut done = 0_u64;
    while !stop() {
        compute(STRETCH);
        done += 1;
        segment.word(word).store((done % WRAPS) as u32);
    }
}

/// The whole of a hog's process: `args` are those behind [`HOG_VERB`].
///
/// # Errors
/// If the arguments are not those that rank 0 gives.
pub fn hog_main(args: &[String]) -> Result<(), Error> {
    let number = |at: usize| args.get(at).and_then(|text| text.parse::<u32>().ok()).ok_or_else(|| strange("numbers".to_owned()));
    let (segment, word) = (Segment::inherited(number(0)? as i32)?, number(1)?);
    affinity::pin(number(2)?)?;
    if word >= segment.words() {
        return Err(strange("a word of the segment".to_owned()));
    }
    count(&segment, word, || false);
    Ok(())
}

/// How fast hogs are, from one call to the next.
pub(super) struct Speed<'a> {
    segment: &'a Segment,
    hogs: u32,
    began: Nanos,
    counts: Vec<u32>,
}

impl<'a> Speed<'a> {
    pub(super) fn of(segment: &'a Segment, hogs: u32) -> Self {
        let counts = (0..hogs).map(|word| segment.word(word).load()).collect();
        Self { segment, hogs, began: clock::now(), counts }
    }

    /// Stretches a second, of all together, since the beginning.
    pub(super) fn per_s(&self) -> f64 {
        let span = (clock::now() - self.began).as_secs();
        let done = |(word, before): (u32, &u32)| (u64::from(self.segment.word(word).load()) + WRAPS - u64::from(*before)) % WRAPS;
        let all: u64 = (0..self.hogs).zip(&self.counts).map(done).sum();
        all as f64 / span.max(1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hog_gets_on_until_it_is_dropped() {
        let segment = Arc::new(Segment::new(2, 0).unwrap());
        let hogs = Hogs::threads(&segment, 0, affinity::allowed().into_iter().take(1)).unwrap();
        let speed = Speed::of(&segment, 1);
        let deadline = clock::now() + Nanos::from_ms(20_000);
        while speed.per_s() == 0.0 {
            assert!(clock::now() < deadline, "it does nothing");
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        drop(hogs);
        let still = || {
            let before = segment.word(0).load();
            std::thread::sleep(std::time::Duration::from_millis(20));
            segment.word(0).load() == before
        };
        while !still() {
            assert!(clock::now() < deadline, "it goes on forever");
        }
    }
}
