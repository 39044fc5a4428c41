//! `[[job]]`: threads that meet or share a lock, or mere load; and how many of them make up the load.
use super::compute::{CV, ComputeTime, GrainName, SHAPES, ShapeName};
use super::files::PlanFiles;
use super::lock::LockTable;
use super::machine;
use super::read::{AnyValue, BoundedCount, KEY, Span, Variation, count, count_at, read as read_table, table, values};
use super::tree::{Located, ParseResult, mistake};
use foregather_barrier::Algorithm;
use foregather_machine::{CpuId, Nanos};
use foregather_results::{meant, misspelt_policy};
use foregather_sim::smp::{Distribution, Eevdf, Job, MachineSpec, Scheduler};
use foregather_wait::Policy;

table! {
    "[[job]]" Table {
        threads: (usize, Threads);
        name: String, count: HowMany, barriers: (usize, BoundedCount<1, { u64::MAX / 4 }>),
        lock: (usize, LockTable), acquisitions: (usize, BoundedCount<1, { u64::MAX / 4 }>), grain: (usize, GrainName), cv: (usize, Variation),
        mean: (usize, Span), shape: (usize, ShapeName), compute: (usize, ComputeTime), rest: (usize, ComputeTime), policy: (usize, String),
        spin: (usize, Span), kind: (usize, KindName), nice: Nice, slice: (usize, Span), group: (usize, String),
        pins: Vec<(usize, AnyValue)>, start: Vec<(usize, AnyValue)>, load: bool, one_process: bool
    }
}

/// Keys that jobs that meet have, and load has not.
const MEETING_KEYS: [&str; 10] = ["barriers", "lock", "acquisitions", "grain", "cv", "mean", "shape", "policy", "spin", "kind"];
/// Keys that jobs with barriers have, and those with a lock have not.
const BARRIER_KEYS: [&str; 7] = ["barriers", "grain", "cv", "mean", "shape", "compute", "kind"];
const LOAD_KEYS: [&str; 12] =
    ["name", "threads", "count", "compute", "rest", "nice", "slice", "group", "pins", "start", "load", "one-process"];

/// How often jobs meet, how long they compute, and how they wait, unless a plan says it.
pub(super) const BARRIERS: u64 = 400;
pub(super) const COMPUTE: Nanos = Nanos::from_us(50);
pub(super) const POLICY: &str = "adaptive";

/// More threads in all are refused as an oversight.
pub(super) const THREADS_MAX: u32 = 100_000;

/// How many threads or jobs there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Number {
    Of(u32),
    /// This many for each processor.
    Times(f64),
    /// As many as make up the load.
    Fill,
}

values! {
    /// `4`, `"1.5x"` as many as processors, or `"fill"`.
    Threads(Number) = |value| if is_fill(value) { Ok(Number::Fill) } else { load_size(value) };
    /// `4`, or `"1.5x"` as many as processors.
    LoadSize(Number) = load_size;
    /// A number of jobs, 0 included, or `"fill"`.
    HowMany(Number) = |value| match value {
        AnyValue::Text(_) if is_fill(value) => Ok(Number::Fill),
        AnyValue::Text(_) => Err(format!("`{KEY}` is a number or \"fill\"")),
        _ => Ok(Number::Of(count(value, 0..=THREADS_MAX.into())? as u32)),
    };
    KindName(Algorithm) = |value| super::read::choice(value, &Algorithm::ALL.map(|kind| (kind.name(), kind)));
    Nice(i8) = |value| match value {
        AnyValue::Whole(nice @ -20..=19) => Ok(*nice as i8),
        _ => Err(format!("`{KEY}` is a whole number from -20 to 19")),
    };
}

fn is_fill(value: &AnyValue) -> bool {
    matches!(value, AnyValue::Text(word) if word == "fill")
}

fn load_size(value: &AnyValue) -> Result<Number, String> {
    let AnyValue::Text(word) = value else { return Ok(Number::Of(count(value, 1..=THREADS_MAX.into())? as u32)) };
    match word.strip_suffix('x').and_then(|times| times.trim().parse().ok()) {
        Some(times) => Ok(Number::Times(times)),
        None => Err(format!("`{KEY}` is a number, not `{word}`; write 48, or \"1.5x\" for so many threads a processor")),
    }
}

/// One table: a job, and how many such jobs there are.
struct Wanted {
    line: usize,
    job: Job,
    /// Only load may be filled up thread by thread.
    threads: Number,
    count: Number,
}

/// The jobs of a plan, `load` threads in all if it says so (with the line on which it does).
pub(super) fn read(
    list: &Located,
    machine: &MachineSpec,
    files: &PlanFiles,
    load: Option<(u32, usize)>,
) -> ParseResult<Vec<Job>> {
    let Some(items) = list.items().filter(|items| !items.is_empty()) else {
        return mistake(list.line, "jobs are tables of a list: [[job]]");
    };
    let wanted: Vec<Wanted> = items.iter().map(|item| one(item, machine, files)).collect::<ParseResult<_>>()?;
    let fixed = wanted.iter().map(Wanted::fixed).fold(0, u64::saturating_add);
    let filled: Vec<&Wanted> = wanted.iter().filter(|wanted| wanted.fills()).collect();
    let mut rest = match (load, filled.first()) {
        (None, None) => 0,
        (None, Some(one)) => return mistake(one.line, "\"fill\" needs `load`, the number of threads in all, at the top"),
        (Some((_, line)), None) => return mistake(line, "`load` changes nothing: no job has \"fill\""),
        (Some((load, line)), Some(_)) if u64::from(load) < fixed => {
            return mistake(line, format!("a load of {load} threads is less than the {fixed} that there are in any case"));
        }
        (Some((load, _)), Some(_)) => load - fixed as u32,
    };
    for (what, fill) in [("jobs", Wanted::fills_jobs as fn(&Wanted) -> bool), ("threads", Wanted::fills_threads)] {
        if let Some(second) = filled.iter().filter(|wanted| fill(wanted)).nth(1) {
            return mistake(second.line, format!("only one [[job]] may be filled up with {what}"));
        }
    }
    let mut counts = Vec::new();
    for wanted in &wanted {
        counts.push(match wanted.count {
            Number::Of(count) => count,
            _ => {
                let count = rest / wanted.job.threads;
                rest -= count * wanted.job.threads;
                count
            }
        });
    }
    let mut jobs = Vec::new();
    for (wanted, count) in wanted.into_iter().zip(counts) {
        let threads = if wanted.fills_threads() { rest } else { wanted.job.threads };
        let repeated = std::iter::repeat_with(|| Job { threads, ..wanted.job.clone() });
        jobs.extend(repeated.take(if threads == 0 { 0 } else { count as usize }));
    }
    enough(&jobs, list.line)?;
    Ok(jobs)
}

/// Refuses jobs that have no thread, or too many, in all.
pub(super) fn enough(jobs: &[Job], line: usize) -> ParseResult<()> {
    let threads = jobs.iter().map(|job| u64::from(job.threads)).sum::<u64>();
    if threads > u64::from(THREADS_MAX) {
        return mistake(line, format!("{threads} threads are more than a simulation should have, {THREADS_MAX}"));
    }
    if jobs.iter().any(Job::meets) {
        return Ok(());
    }
    mistake(line, "no job is left that meets: raise `load`, or lower `threads`")
}

impl Wanted {
    fn fills_jobs(&self) -> bool {
        self.count == Number::Fill
    }

    fn fills_threads(&self) -> bool {
        self.threads == Number::Fill
    }

    fn fills(&self) -> bool {
        self.fills_jobs() || self.fills_threads()
    }

    /// How many of its threads are there in any case.
    fn fixed(&self) -> u64 {
        match (self.threads, self.count) {
            (Number::Of(threads), Number::Of(count)) => u64::from(threads) * u64::from(count),
            _ => 0,
        }
    }
}

/// The number on a machine of `cpus` processors: multiples of them become numbers.
pub(super) fn resolved(key: &str, line: usize, number: Number, cpus: u32) -> ParseResult<Number> {
    let Number::Times(times) = number else { return Ok(number) };
    match (times * f64::from(cpus)).round() {
        threads if (1.0..=f64::from(THREADS_MAX)).contains(&threads) => Ok(Number::Of(threads as u32)),
        _ => mistake(
            line,
            format!(
                "`{key}` is a number of threads, and `{times}x` comes to none; write 48, or \"1.5x\" for so many threads a processor"
            ),
        ),
    }
}

fn one(node: &Located, machine: &MachineSpec, files: &PlanFiles) -> ParseResult<Wanted> {
    let table: Table = read_table(node)?;
    let (line, load) = (node.line, table.load == Some(true));
    if let Some((key, node)) = MEETING_KEYS.iter().find_map(|key| Some((key, node.get(key)?))).filter(|_| load) {
        return mistake(node.line, format!("unknown key `{key}` in a [[job]] with load = true{}", meant(key, &LOAD_KEYS)));
    }
    let threads = resolved("threads", table.threads.0, table.threads.1.0, machine.cpus)?;
    let count = table.count.as_ref().map_or(Number::Of(1), |count| count.0);
    if threads == Number::Fill && (!load || count != Number::Of(1)) {
        let what = "threads = \"fill\" is for one [[job]] with load = true; jobs that meet have count = \"fill\"";
        return mistake(line, what);
    }
    let size = if let Number::Of(threads) = threads { threads } else { 1 };
    let (name, nice, one_process) = (table.name.clone(), table.nice.clone(), table.one_process == Some(true));
    let slice = slice(table.slice.as_ref(), machine)?;
    let group = group(table.group.as_ref(), machine)?;
    let (pins, start) = (sets(&table.pins, machine.cpus), processors("start", &table.start, machine.cpus));
    if let Some((key, node)) = BARRIER_KEYS.iter().find_map(|key| Some((key, node.get(key)?))).filter(|_| table.lock.is_some()) {
        let what = format!("`{key}` is of jobs that meet at barriers: a job with a `lock` has `acquisitions`, and its `think`");
        return mistake(node.line, what);
    }
    let mut job = match load {
        true => table.loading(size, files)?,
        false if table.lock.is_some() => table.locking(size, machine, files)?,
        false => table.meeting(size, machine, files)?,
    };
    job.name = name.unwrap_or(job.name);
    job.one_process |= one_process;
    Ok(Wanted {
        line,
        threads,
        count,
        job: Job { nice: nice.map_or(0, i8::from), slice, group, pins: pins?, start: start?, ..job },
    })
}

impl Table {
    /// A job of load: it computes without end, or computes and rests by turns.
    fn loading(self, threads: u32, files: &PlanFiles) -> ParseResult<Job> {
        let load = Job::load("load", threads);
        match (self.compute, self.rest) {
            (None, None) => Ok(load),
            (Some((line, compute)), Some((rest_line, rest))) => {
                let rest = Some(rest.distribution("rest", rest_line, files)?);
                Ok(Job { compute: compute.distribution("compute", line, files)?, rest, ..load })
            }
            (Some((line, _)), None) | (None, Some((line, _))) => {
                mistake(line, "load that does not compute without end has both: `compute`, and `rest` after it")
            }
        }
    }

    fn meeting(self, threads: u32, machine: &MachineSpec, files: &PlanFiles) -> ParseResult<Job> {
        if let Some((line, _)) = self.rest {
            return mistake(line, "`rest` is for a [[job]] with load = true: who meets waits at its barriers");
        }
        if let Some((line, _)) = self.acquisitions {
            return mistake(line, "`acquisitions` is how often each thread takes a `lock`: give one, or `barriers`");
        }
        let barriers = self.barriers.as_ref().map_or(BARRIERS, |(_, barriers)| barriers.0);
        let policy = policy((self.policy.as_ref(), self.spin.as_ref()), machine)?;
        let kind = kind(self.kind.as_ref(), threads)?;
        let compute = self.compute(threads, machine, files)?;
        Ok(Job { kind, ..Job::meeting("job", threads, barriers, compute, policy) })
    }

    /// Threads that share a lock, and wait for it as is usual for its kind unless there is a `policy` or a
    /// `spin`.
    fn locking(self, threads: u32, machine: &MachineSpec, files: &PlanFiles) -> ParseResult<Job> {
        if let Some((line, _)) = self.rest {
            return mistake(line, "`rest` is for a [[job]] with load = true: a thread that shares a `lock` has `think`");
        }
        let acquisitions = self.acquisitions.as_ref().map_or(BARRIERS, |(_, acquisitions)| acquisitions.0);
        let own = self.policy.is_some() || self.spin.is_some();
        let policy = own.then(|| policy((self.policy.as_ref(), self.spin.as_ref()), machine)).transpose()?;
        let (lock, think) = self.lock.map(|(_, table)| table.lock(machine, files)).expect("a job with a lock")?;
        let job = Job::locking("job", threads, acquisitions, think, lock);
        Ok(Job { policy: policy.unwrap_or(job.policy), ..job })
    }

    /// How long it computes: `grain` with `cv`, `mean` with `shape`, or `compute`.
    fn compute(self, threads: u32, machine: &MachineSpec, files: &PlanFiles) -> ParseResult<Distribution> {
        let ways = [
            ("grain", self.grain.as_ref().map(|of| of.0)),
            ("mean", self.mean.as_ref().map(|of| of.0)),
            ("compute", self.compute.as_ref().map(|of| of.0)),
        ];
        let mut given = ways.into_iter().filter_map(|(way, line)| Some((way, line?)));
        let way = given.next().map_or("compute", |(way, _)| way);
        if let Some((other, line)) = given.next() {
            return mistake(line, format!("`{other}` takes the place of `{way}`: give one of them"));
        }
        let of = [("cv", "grain", self.cv.as_ref().map(|of| of.0)), ("shape", "mean", self.shape.as_ref().map(|of| of.0))];
        if let Some((key, of, line)) = of.into_iter().find_map(|(key, of, line)| Some((key, of, line?)).filter(|_| way != of)) {
            return mistake(line, format!("`{key}` belongs to `{of}`: `{way}` says all by itself"));
        }
        match (self.grain, self.mean, self.compute) {
            (Some((_, grain)), ..) => Ok(grain.0.normal(machine.prices.switch, self.cv.map_or(CV, |(_, cv)| cv.0))),
            (_, Some((_, mean)), _) => Ok(self.shape.map_or(SHAPES[0].1, |(_, shape)| shape.0)(mean.0, threads)),
            (.., Some((line, kinds))) => kinds.distribution("compute", line, files),
            (None, None, None) => Ok(Distribution::Constant(COMPUTE)),
        }
    }
}

/// A value and its line.
type WithLine<T> = (usize, T);

/// `policy`, or `spin`, the bound of two-phase waiting. Multiples of a switch are those of the simulated
/// machine.
pub(super) fn policy(
    (policy, spin): (Option<&WithLine<String>>, Option<&WithLine<Span>>),
    machine: &MachineSpec,
) -> ParseResult<Policy> {
    let (line, name) = match (policy, spin) {
        (Some(_), Some((line, _))) => {
            return mistake(*line, "`spin` is short for a `policy` of two-phase waiting: give one of them");
        }
        (None, Some((_, spin))) => return Ok(Policy::TwoPhase { spin: spin.0 }),
        (Some((line, name)), None) => (*line, name.as_str()),
        (None, None) => (0, POLICY),
    };
    Policy::parse(name, &machine.costs())
        .or_else(|error| mistake(line, misspelt_policy(name).unwrap_or_else(|| error.to_string())))
}

pub(super) fn kind(given: Option<&(usize, KindName)>, most_threads: u32) -> ParseResult<Algorithm> {
    let Some((line, KindName(kind))) = given else { return Ok(Algorithm::Central) };
    kind.takes(most_threads).map_or_else(|error| mistake(*line, error.to_string()), |()| Ok(*kind))
}

/// The slice of the job's threads, within what Linux allows.
fn slice(given: Option<&(usize, Span)>, machine: &MachineSpec) -> ParseResult<Option<Nanos>> {
    let Some((line, Span(slice))) = given else { return Ok(None) };
    let (least, most) = (Eevdf::LEAST_SLICE, Eevdf::MOST_SLICE);
    match &machine.scheduler {
        Scheduler::Eevdf(_) if (least..=most).contains(slice) => Ok(Some(*slice)),
        Scheduler::Eevdf(_) => mistake(*line, format!("a job's `slice` is {least} to {most}, not {slice}")),
        _ => mistake(*line, "only under preset = \"eevdf\" has a job a `slice` of its own"),
    }
}

fn group(given: Option<&(usize, String)>, machine: &MachineSpec) -> ParseResult<Option<u32>> {
    let Some((line, name)) = given else { return Ok(None) };
    match &machine.scheduler {
        Scheduler::Eevdf(eevdf) => machine::find_group(name, *line, &eevdf.groups).map(Some),
        _ => mistake(*line, "only preset = \"eevdf\" has groups"),
    }
}

/// What each thread is pinned to: a processor, or a list of processors.
fn sets(given: &Option<Vec<(usize, AnyValue)>>, cpus: u32) -> ParseResult<Vec<Vec<CpuId>>> {
    let set = |(line, pin): &(usize, AnyValue)| match pin {
        AnyValue::List(list) if list.is_empty() => mistake(*line, "a thread of `pins` may run on no processor: name one"),
        AnyValue::List(list) => processors("pins", &Some(list.iter().map(|cpu| (*line, cpu.clone())).collect()), cpus),
        one => processors("pins", &Some(vec![(*line, one.clone())]), cpus),
    };
    given.iter().flatten().map(set).collect()
}

/// A list of processors, counted from 0.
fn processors(key: &str, given: &Option<Vec<(usize, AnyValue)>>, cpus: u32) -> ParseResult<Vec<CpuId>> {
    let most = u64::from(cpus - 1);
    given.iter().flatten().map(|cpu| Ok(count_at(key, cpu, 0..=most)? as CpuId)).collect()
}
