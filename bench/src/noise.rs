//! What a busy processor is disturbed by, seen from a loop that ought to take the same time again and again:
//! figures 3-9 and 3-10 of Seidel & Davis 1992 on this machine. A line is fitted in spite of that.
use crate::work::compute;
use foregather_host::{clock, interrupt};
use foregather_machine::{CpuId, Error, Nanos};

/// How long the loop of a trace takes about: short against the time between two ticks of any kernel.
const LOOP: Nanos = Nanos::from_us(20);
/// The number of loops whose times a trace keeps in their order.
const TRACE: usize = 2_000;
/// A loop longer than the floor by this, and by this share of it, was interrupted.
const ABOVE: Nanos = Nanos(1_000);
const ABOVE_PERCENT: u64 = 5;
/// The floor is where a twentieth of the loops is below.
const FLOOR: usize = 20;
/// Loops of these lengths, in iterations, so often each, give the line.
const STEPS: u64 = 24;
const STEP: u64 = 500;
const TRIALS: u64 = 40;

/// What one processor showed.
#[derive(Clone, Debug)]
pub struct Trace {
    /// The processor.
    pub cpu: CpuId,
    /// Iterations of every loop.
    pub iterations: u64,
    /// The first loops, in nanoseconds, in their order.
    pub first_ns: Vec<u64>,
    /// All of them, by length, with how often.
    pub histogram: Vec<(u64, u64)>,
    /// A loop that nothing disturbs.
    pub floor: Nanos,
    /// When each interruption began, from the first loop on, and by how much its loop was longer than the
    /// floor.
    pub interruptions: Vec<(Nanos, Nanos)>,
    /// How long it was watched.
    pub watched: Nanos,
    /// What `k` iterations took: every trial.
    pub points: Vec<(f64, f64)>,
    /// The line through them, outliers excluded: nanoseconds an iteration, and at none.
    pub line: (f64, f64),
}

impl Trace {
    /// The share of the time that interruptions took.
    pub fn stolen_percent(&self) -> f64 {
        let stolen: u64 = self.interruptions.iter().map(|(_, length)| length.0).sum();
        stolen as f64 * 100.0 / self.watched.0.max(1) as f64
    }

    /// From the beginning of one interruption to that of the next, in nanoseconds.
    pub fn periods_ns(&self) -> Vec<f64> {
        self.interruptions.windows(2).map(|pair| (pair[1].0 - pair[0].0).0 as f64).collect()
    }
}

/// Watches each of these processors with a thread of its own, all at once, for `span`.
///
/// # Errors
/// If a thread cannot be pinned.
pub fn measure(cpus: &[CpuId], span: Nanos) -> Result<Vec<Trace>, Error> {
    clock::init();
    let place = |rank| Some(cpus[rank as usize]);
    foregather_thread::run(cpus.len() as u32, place, |_, rank| trace(cpus[rank as usize], span))
}

fn timed(iterations: u64) -> u64 {
    let began = clock::cycles_serialized();
    compute(iterations);
    clock::cycles_serialized().saturating_sub(began)
}

fn trace(cpu: CpuId, span: Nanos) -> Trace {
    let points: Vec<(f64, f64)> = (0..STEPS * TRIALS)
        .map(|trial| {
            // Every length in turn, so that a disturbance does not hit one of them alone.
            let iterations = (trial % STEPS + 1) * STEP;
            (iterations as f64, clock::cycles_to_nanos(timed(iterations)).0 as f64)
        })
        .collect();
    let line = line(&points);
    let iterations = (((LOOP.0 as f64 - line.1) / line.0.max(1e-3)) as u64).clamp(1, 1 << 24);
    let began = clock::cycles_serialized();
    let end = began.saturating_add(clock::nanos_to_cycles(span));
    let mut loops = Vec::with_capacity((span.0 / LOOP.0 + 1).min(1 << 22) as usize);
    while clock::cycles() < end && !interrupt::requested() {
        let at = clock::cycles();
        loops.push((at, timed(iterations)));
    }
    let watched = clock::cycles_to_nanos(clock::cycles_serialized() - began);
    let loops: Vec<(Nanos, Nanos)> = loops
        .into_iter()
        .map(|(at, took)| (clock::cycles_to_nanos(at.saturating_sub(began)), clock::cycles_to_nanos(took)))
        .collect();
    let floor = floor(&loops);
    let interruptions = interruptions(&loops, floor, above(floor));
    let first_ns = loops.iter().take(TRACE).map(|(_, took)| took.0).collect();
    Trace { cpu, iterations, first_ns, histogram: histogram(&loops), floor, interruptions, watched, points, line }
}

/// How long a loop takes that nothing disturbs: a twentieth of them take no longer. Loops are given as when
/// they began and what they took.
pub fn floor(loops: &[(Nanos, Nanos)]) -> Nanos {
    let mut lengths: Vec<Nanos> = loops.iter().map(|&(_, took)| took).collect();
    lengths.sort_unstable();
    lengths.get(lengths.len() / FLOOR).copied().unwrap_or_default()
}

/// A loop longer than this floor by more than that was interrupted.
pub fn above(floor: Nanos) -> Nanos {
    ABOVE.max(floor.percent(ABOVE_PERCENT))
}

/// The loops that took longer than the floor by more than `above`: when they began, and by how much they were
/// longer.
pub fn interruptions(loops: &[(Nanos, Nanos)], floor: Nanos, above: Nanos) -> Vec<(Nanos, Nanos)> {
    loops.iter().filter(|&&(_, took)| took > floor + above).map(|&(at, took)| (at, took - floor)).collect()
}

/// Lengths rounded to 10 ns, with their counts.
fn histogram(loops: &[(Nanos, Nanos)]) -> Vec<(u64, u64)> {
    let mut counts = std::collections::BTreeMap::new();
    for (_, took) in loops {
        *counts.entry((took.0 + 5) / 10 * 10).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

/// The fit leaves out points that lie more than this many median distances above the line.
const FAR: f64 = 4.0;
/// The fit looks at all slopes of at most this many points; of more it takes an even sample.
const MANY: usize = 400;

/// `(slope, intercept)` of `y = slope x + intercept`. At first the median of the slopes between all pairs
/// (Theil 1950, Sen 1968); then, without the points that lie far above that, the least squares.
///
/// Two different `x` are needed; otherwise the slope is 0, and the intercept the median.
pub fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let first = through_medians(points);
    let far = far(points, first);
    let near: Vec<_> = points.iter().copied().filter(|&point| residual(point, first) <= far).collect();
    least_squares(&near).unwrap_or(first)
}

/// How far above a line a point may lie without being an outlier of these.
pub fn far(points: &[(f64, f64)], line: (f64, f64)) -> f64 {
    let size = points.iter().map(|point| point.1.abs()).fold(0.0, f64::max);
    (FAR * median(points.iter().map(|&point| residual(point, line).abs()).collect())).max(1e-9 * size)
}

fn residual((x, y): (f64, f64), (slope, intercept): (f64, f64)) -> f64 {
    y - (slope * x + intercept)
}

fn through_medians(points: &[(f64, f64)]) -> (f64, f64) {
    let few: Vec<_> = points.iter().step_by(points.len().div_ceil(MANY).max(1)).collect();
    let pairs = few.iter().enumerate().flat_map(|(i, a)| few[i + 1..].iter().map(move |b| (a, b)));
    let slope = median(pairs.filter(|(a, b)| a.0 != b.0).map(|(a, b)| (b.1 - a.1) / (b.0 - a.0)).collect());
    (slope, median(points.iter().map(|&(x, y)| y - slope * x).collect()))
}

/// `None` if all points have one `x`.
fn least_squares(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|point| (point.0 - x) * (point.0 - x)).sum();
    let common: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    (spread > 0.0).then(|| (common / spread, y - common / spread * x))
}

/// The median; 0 of nothing.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_host::affinity;

    #[test]
    fn interruptions_are_what_lies_above_the_floor() {
        // As in figure 3-9: loops of 1367 us, every seventh of which meets an interrupt of 50 us.
        let us = Nanos::from_us;
        let loops: Vec<_> =
            (0..700u64).map(|i| (us(1_367) * i + us(50) * (i / 7), us(if i % 7 == 3 { 1_417 + 50 } else { 1_367 }))).collect();
        let floor = floor(&loops);
        assert_eq!(floor, us(1_367));
        let found = interruptions(&loops, floor, ABOVE);
        assert_eq!(found.len(), 100);
        assert!(found.iter().all(|&(_, length)| length == us(100)));
        assert_eq!(found[1].0 - found[0].0, us(7 * 1_367 + 50));
    }

    #[test]
    fn this_machine_has_a_loop_whose_cost_grows_with_its_iterations() {
        let all = measure(&affinity::allowed(), Nanos::from_ms(20)).unwrap();
        for trace in all {
            assert!(trace.line.0 > 0.0 && trace.floor > Nanos::ZERO && trace.watched >= Nanos::from_ms(20), "{trace:?}");
            let loops: u64 = trace.histogram.iter().map(|&(_, count)| count).sum();
            assert!(loops > 0 && trace.first_ns.len() as u64 <= loops);
            assert!((0.0..=100.0).contains(&trace.stolen_percent()));
        }
    }

    fn assert_near((slope, intercept): (f64, f64), expected: (f64, f64), tolerance: f64) {
        assert!((slope - expected.0).abs() <= tolerance && (intercept - expected.1).abs() <= tolerance, "{slope} {intercept}");
    }

    #[test]
    fn an_exact_line_is_found() {
        let points: Vec<_> = (0..50).map(|k| (f64::from(k * 100), 0.126 * f64::from(k * 100) + 2.0)).collect();
        assert_near(line(&points), (0.126, 2.0), 1e-9);
    }

    #[test]
    fn interrupts_that_add_fifty_do_not_move_the_line() {
        let interrupted = |k: u32| if k.is_multiple_of(4) { 50.0 } else { 0.0 };
        let points: Vec<_> = (0..2_000).map(|k| (f64::from(k), 0.126 * f64::from(k) + 2.0 + interrupted(k))).collect();
        assert_near(line(&points), (0.126, 2.0), 1e-9);
    }

    #[test]
    fn small_errors_average_out() {
        let points: Vec<_> =
            (0..300u32).map(|k| (f64::from(k), 3.0 * f64::from(k) + 1.0 + f64::from(k * 7 % 11) / 10.0 - 0.5)).collect();
        assert_near(line(&points), (3.0, 1.0), 0.05);
    }

    #[test]
    fn without_two_places_there_is_no_slope() {
        assert_eq!(line(&[]), (0.0, 0.0));
        assert_eq!(line(&[(3.0, 7.0)]), (0.0, 7.0));
        assert_eq!(line(&[(3.0, 7.0), (3.0, 9.0), (3.0, 8.0)]), (0.0, 8.0));
    }
}
