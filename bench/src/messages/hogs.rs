//! Round trips beside hogs, policy by policy in turn, and the hogs alone in between: what messages cost those who compute, and what
//! those cost the messages.
use super::counted::Speed;
use super::ends::{Ends, Errand};
use super::{Answer, Beside, strange};
use foregather_machine::{Error, Fabric, Nanos};
use foregather_shm::Segment;
use hdrhistogram::Histogram;
use std::time::Duration;

/// Hogs that have just been started, or have competed, settle.
const SETTLE: Duration = Duration::from_millis(30);

/// Longer halves of round trips count as that long.
const LONGEST: Nanos = Nanos::from_ms(60_000);

/// One policy's cells so far.
struct Cells {
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
        Ok::<_, Error>(Cells { rates: vec![], speeds: vec![], halves, cpu_ns: [0; 2], wall_ns: 0 })
    };
    let mut all: Vec<Cells> = policies.iter().map(|_| empty()).collect::<Result<_, _>>()?;
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
    cells: &mut Cells,
) -> Result<(), Error> {
    ends.ask(Errand::UntilTold { end })?;
    let (speed, began) = (Speed::of(segment, hogs), foregather_host::usage::thread_cpu());
    let (mut trips, mut took) = (0_u64, 0);
    ends.round_trips(end, span, |trip| {
        trips += 1;
        took += trip.0;
        cells.halves.saturating_record((trip.0 / 2).max(1));
    })?;
    cells.speeds.push(speed.per_s());
    cells.cpu_ns[0] += (foregather_host::usage::thread_cpu() - began).0;
    cells.cpu_ns[1] += ends.spent_there()?.0;
    cells.rates.push(trips as f64 * 1e9 / took.max(1) as f64);
    cells.wall_ns += took;
    Ok(())
}

fn beside<F: Fabric>(ends: &Ends<F>, end: usize, policy: &str, cells: &Cells, alone: &[f64]) -> Beside {
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
