//! What each member of a team does, in any barrier: compute, wait, again.
use crate::{BarrierCell, CellResult, Work};
use foregather_host::usage::{self, Switches};
use foregather_host::{affinity, clock};
use foregather_machine::Nanos;
use hdrhistogram::Histogram;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Barriers before measuring: threads are born, lines are touched, and the kernel has placed all of them.
const WARM_UP: u32 = 8;
/// One episode in this number is sampled for its exit skew and placement.
const SAMPLE: u64 = 16;
/// Samples kept of each member.
const SAMPLES: usize = 4_096;

/// What the members of one cell share.
pub struct Episodes<'c> {
    cell: &'c BarrierCell,
    last_episode: AtomicU64,
    exits: Mutex<Vec<Vec<Exit>>>,
    result: Mutex<Option<CellResult>>,
}

/// When and where a member left a sampled episode.
#[derive(Clone, Copy)]
struct Exit {
    cycles: u64,
    cpu: u32,
}

/// Member 0's stopwatch.
struct Meter {
    began: u64,
    last: u64,
    end: u64,
    cpu_ns: u64,
    switches: Switches,
    spans: Histogram<u64>,
}

/// An empty list for all samples of a member, whose memory has its pages: else a fault on a new page would
/// end, now and then, a spin of a few microseconds for which nothing else is in the way.
fn room() -> Vec<Exit> {
    let mut exits = vec![Exit { cycles: 1, cpu: 1 }; SAMPLES];
    exits.clear();
    exits
}

/// For any time up to some minutes, in cycles or nanoseconds, three digits of it; what is longer counts as
/// that.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 1 << 40, 3).expect("these bounds and digits are allowed")
}

impl Meter {
    /// A stopwatch whose memory has its pages: a page fault takes a few microseconds, for which others wait.
    fn new() -> Self {
        let mut spans = histogram();
        spans.reset();
        Self { began: 0, last: 0, end: 0, cpu_ns: 0, switches: Switches::default(), spans }
    }

    fn begin(&mut self, cell: &BarrierCell) {
        (self.cpu_ns, self.switches) = (usage::process_cpu().0, usage::process_switches());
        self.began = clock::cycles();
        self.end = self.began + clock::nanos_to_cycles(Nanos(cell.span_ns));
        self.last = self.began;
    }

    /// Counts one episode. Returns whether the time is over.
    #[inline]
    fn tick(&mut self) -> bool {
        let now = clock::cycles();
        self.spans.saturating_record(now - self.last);
        self.last = now;
        now >= self.end
    }

    fn finish(self, episodes: u64) -> CellResult {
        let nanos = |cycles| clock::cycles_to_nanos(cycles).0;
        let wall_ns = nanos(clock::cycles() - self.began);
        let switches = usage::process_switches();
        CellResult {
            episodes,
            wall_ns,
            cpu_ns: usage::process_cpu().0 - self.cpu_ns,
            p50_ns: nanos(self.spans.value_at_quantile(0.5)),
            p99_ns: nanos(self.spans.value_at_quantile(0.99)),
            max_ns: nanos(self.spans.max()),
            voluntary: switches.voluntary - self.switches.voluntary,
            involuntary: switches.involuntary - self.switches.involuntary,
            ..CellResult::default()
        }
    }
}

/// Where the members of a team meet. A closure that waits in a barrier is one.
pub trait Meeting {
    /// Why it can fail.
    type Error;

    /// One barrier of all members.
    ///
    /// # Errors
    /// If they can no longer meet.
    fn wait(&mut self) -> Result<(), Self::Error>;

    /// The one behind which they begin to measure: as a start line better than a bare barrier, where there is
    /// one.
    ///
    /// # Errors
    /// As [`Meeting::wait`].
    fn start(&mut self) -> Result<(), Self::Error> {
        self.wait()
    }
}

impl<E, F: FnMut() -> Result<(), E>> Meeting for F {
    type Error = E;
    #[inline]
    fn wait(&mut self) -> Result<(), E> {
        self()
    }
}

impl<'c> Episodes<'c> {
    /// For one run of a cell.
    pub fn new(cell: &'c BarrierCell) -> Self {
        let exits = Mutex::new(vec![vec![]; cell.threads as usize]);
        Self { cell, last_episode: AtomicU64::new(u64::MAX), exits, result: Mutex::new(None) }
    }

    /// The part of `rank`, on the thread that calls it.
    ///
    /// # Errors
    /// The first error of the meeting, which ends this member's part.
    pub fn member<M: Meeting>(&self, rank: u32, mut meeting: M) -> Result<(), M::Error> {
        let cell = self.cell;
        let mut work = Work::new(cell.grain_ns, cell.iterations_per_us, cell.shape, u64::from(rank));
        let (mut exits, mut meter) = (room(), (rank == 0).then(Meter::new));
        for _ in 1..WARM_UP {
            meeting.wait()?;
        }
        meeting.start()?;
        if let Some(meter) = &mut meter {
            meter.begin(cell);
        }
        let settled = clock::cycles() + clock::nanos_to_cycles(Nanos(cell.settle_ns));
        let (mut episode, mut settling) = (0, 0);
        loop {
            if cell.fork_join {
                meeting.wait()?;
            }
            work.run();
            // The last episode is announced before a barrier, so all members know of it behind that barrier.
            if let Some(meter) = &mut meter {
                if cell.settle_ns > 0 && episode == settling && clock::cycles() < settled {
                    meter.begin(cell);
                    settling += 1;
                } else if meter.tick() {
                    self.last_episode.store(episode, Relaxed);
                }
            }
            meeting.wait()?;
            if episode.is_multiple_of(SAMPLE) && exits.len() < SAMPLES {
                exits.push(Exit { cycles: clock::cycles(), cpu: affinity::current() });
            }
            if episode >= self.last_episode.load(Relaxed) {
                break;
            }
            episode += 1;
        }
        if let Some(meter) = meter {
            *self.result.lock().expect("nobody panics with it") = Some(meter.finish(episode + 1 - settling));
        }
        self.exits.lock().expect("nobody panics with it")[rank as usize] = exits;
        Ok(())
    }

    /// When all members have ended: what it came to; `None` if member 0 did not get through.
    pub fn result(self) -> Option<CellResult> {
        let exits = self.exits.into_inner().expect("nobody panics with it");
        let result = self.result.into_inner().expect("nobody panics with it")?;
        let samples = exits.iter().map(Vec::len).min().unwrap_or(0);
        let mut skew = histogram();
        let mut stacked = 0;
        for sample in 0..samples {
            let here = || exits.iter().map(|member| member[sample]);
            let (first, last) = (here().map(|e| e.cycles).min(), here().map(|e| e.cycles).max());
            skew.saturating_record(clock::cycles_to_nanos(last.unwrap_or(0) - first.unwrap_or(0)).0);
            stacked += u32::from(here().all(|exit| exit.cpu == exits[0][sample].cpu));
        }
        let quantile = |q| (samples > 0 && self.cell.threads > 1).then(|| skew.value_at_quantile(q));
        let stacked = if self.cell.threads > 1 { f64::from(stacked) / samples.max(1) as f64 } else { 0.0 };
        Some(CellResult { exit_skew_p50_ns: quantile(0.5), exit_skew_p99_ns: quantile(0.99), stacked, ..result })
    }
}
