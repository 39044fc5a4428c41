//! Does it pay to synchronise before a shift, on this machine? Seidel & Davis 1992 ask it of a hypercube (Table III), and
//! left it unconfirmed; here threads shift around a ring in shared memory.
//!
//! [`output`](mod@output): measurements, the table for people, and the answer in words.

pub mod output;

use crate::Measured;
use crate::skew::ENTRY_SKEW;
use anyhow::Result;
use foregather_barrier::SignalCost;
use foregather_bench::loggp;
use foregather_bench::shift::{self, Series, Setup, Way};
use foregather_cli::Shift;
use foregather_host::{affinity, interrupt};
use foregather_machine::{Nanos, SplitMix};
use foregather_message::Ring;
use foregather_results::progress::Progress;
use foregather_wait::Policy;

/// Teams, if none is asked for.
const TEAMS: [u32; 2] = [2, 4];
/// Lengths of messages, in bytes.
const SIZES: [usize; 6] = [64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10];
/// All series together take no longer, and how often each is measured.
const TIME: (Nanos, u32) = (Nanos::from_ms(17_000), 7);
const QUICK_TIME: (Nanos, u32) = (Nanos::from_ms(3_500), 3);
/// More rounds would tell no more.
const ROUNDS: u32 = 2_000;

/// One team and one length: all repetitions, each with a series for every way.
pub struct Case {
    threads: u32,
    bytes: usize,
    /// `spin` where everybody has a processor, else `block`.
    policy: Policy,
    ways: Vec<Way>,
    series: Vec<Vec<Series>>,
}

/// Runs what the options ask for.
///
/// # Errors
/// If a team is no power of two, or a series cannot be run at all.
pub fn run(options: &Shift, quiet: bool) -> Result<Measured> {
    let cpus = affinity::allowed();
    let teams = options.threads.map_or(TEAMS.to_vec(), |threads| vec![threads]);
    let mut notes = Vec::new();
    let hop = match loggp::measure() {
        Ok((loggp, _)) => SignalCost { send: loggp.send_overhead, latency: loggp.null() },
        Err(error) => {
            notes.push(format!("RDS does not wait in its last phase, since nobody knows what a hop costs here: {error}"));
            SignalCost::ZERO
        }
    };
    let mut cases = Vec::new();
    for threads in teams {
        Ring::of(0, threads)?;
        let policy = if threads as usize <= cpus.len() { Policy::Spin } else { Policy::Block };
        cases.extend(SIZES.map(|bytes| Case { threads, bytes, policy, ways: Way::all(hop).to_vec(), series: vec![] }));
    }
    let (time, usual) = if options.quick { QUICK_TIME } else { TIME };
    let repetitions = options.repetitions.unwrap_or(usual);
    let at_most = Nanos(time.0 / (cases.len() as u64 * u64::from(usual)));
    let mut progress = Progress::new("shift", cases.len() * repetitions as usize, quiet);
    let mut random = SplitMix(options.seed);
    for _ in 0..repetitions {
        for i in random.shuffled(cases.len()) {
            let case = &mut cases[i];
            progress.step(&format!("{} threads, {} bytes", case.threads, case.bytes));
            if !interrupt::requested() {
                case.series.push(shift::run(&case.setup(&cpus, at_most, random.next()))?);
            }
        }
    }
    cases.retain(|case| !case.series.is_empty());
    notes.extend(output::answers(&cases));
    Ok(Measured { measurements: cases.iter().flat_map(output::measurements).collect(), notes })
}

impl Case {
    fn setup(&self, cpus: &[u32], at_most: Nanos, seed: u64) -> Setup {
        let (policy, threads, bytes, ways) = (self.policy, self.threads, self.bytes, self.ways.clone());
        let cpus = cpus.to_vec();
        Setup { policy, threads, cpus, bytes, ways, entry_skew: ENTRY_SKEW, rounds: ROUNDS, at_most, seed }
    }
}
