//! Runs a study: each thread's program, and what is counted while it runs.
use super::counts::{Counts, Split};
use super::cpu::SmpCpu;
use super::distribution::Distribution;
use super::job::Job;
use super::lock::JobLock;
use super::machine::{Machine, ThreadSpec};
use super::mutex::{Mutex, Sections};
use super::program::{Objects, Runner, ThreadProgram};
use super::random::Random;
use super::record::Window;
use super::study::{Alternation, JobOutcome, Outcome, Stop, Study};
use super::world::{Smp, StopReason};
use crate::event::{Calendar, Queue};
use foregather_barrier::{ForkJoin, Group};
use foregather_machine::{Clock, Error, Nanos};
use foregather_wait::{Account, Snapshot, Waiter};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// The streams of random numbers that critical sections draw from, beside those of the threads' computing.
const SECTIONS: u64 = 1 << 32;

/// Runs a study while `go_on` says so.
///
/// # Errors
/// If the study makes no sense; the error says what to change.
pub fn run(study: &Study, go_on: impl Fn() -> bool) -> Result<Outcome, String> {
    run_here(study, &go_on)
}

/// Runs the study in code that is compiled with this crate, by its profile: programs that call it then
/// contain no unoptimised simulator, and no frames of 128 KiB.
fn run_here(study: &Study, go_on: &dyn Fn() -> bool) -> Result<Outcome, String> {
    run_on::<Calendar>(study, go_on)
}

/// Runs a study as [`run`] does, on the event queue `Q`.
///
/// # Errors
/// As [`run`].
pub fn run_on<Q: Queue>(study: &Study, go_on: impl Fn() -> bool) -> Result<Outcome, String> {
    study.check()?;
    let mut specs: Vec<ThreadSpec> = study.jobs.iter().enumerate().flat_map(|(number, job)| threads_of(number, job)).collect();
    for (thread, spec) in (study.jobs.len() as u32..).zip(&mut specs) {
        spec.space = if study.jobs[spec.job as usize].one_process { spec.job } else { thread };
    }
    let smp = Smp::<Q>::of(&study.machine, &specs, study.seed, study.shuffled, study.limit, study.record);
    let groups = study.jobs.iter().map(|job| Group::new(job.kind, job.threads).map_err(|error| error.to_string()));
    let groups = groups.collect::<Result<Vec<Group<SmpCpu<'_, Q>>>, String>>()?;
    let teams = study.jobs.iter().map(|job| ForkJoin::new(job.threads).map_err(|error| error.to_string()));
    let teams = teams.collect::<Result<Vec<ForkJoin<SmpCpu<'_, Q>>>, String>>()?;
    let locks = study.jobs.iter().map(|job| job.lock.as_ref().map(|lock| Mutex::new(lock.kind, job.threads))).collect();
    let books = study.jobs.iter().map(|_| Book::default()).collect();
    let objects = Objects::new(study.jobs.iter().filter_map(|job| job.program.as_deref()), specs.len() as u32);
    let stage = Stage { smp: &smp, study, groups: &groups, teams: &teams, locks, objects, books };
    let first: Vec<u32> = first_threads(&study.jobs);
    let job_of = |thread: u32| specs[thread as usize].job as usize;
    let rank_of = |thread: u32| thread - first[job_of(thread)];
    let (outputs, end, seen) =
        smp.run_while(|cpu| stage.program(cpu, job_of(cpu.number()), rank_of(cpu.number())), go_on, FinalState::take);
    if let Some(error) = outputs.into_iter().flatten().find_map(Result::err) {
        return Err(format!("a thread's wait failed: {error}"));
    }
    Ok(outcome(&stage, seen, end))
}

/// The number of each job's first thread.
fn first_threads(jobs: &[Job]) -> Vec<u32> {
    jobs.iter()
        .scan(0, |next, job| {
            *next += job.threads;
            Some(*next - job.threads)
        })
        .collect()
}

fn threads_of(number: usize, job: &Job) -> impl Iterator<Item = ThreadSpec> {
    fn nth<T: Clone>(list: &[T], rank: usize) -> Option<T> {
        (!list.is_empty()).then(|| list[rank % list.len()].clone())
    }
    (0..job.threads as usize).map(move |rank| ThreadSpec {
        job: number as u32,
        space: 0,
        nice: job.nice,
        slice: job.slice,
        group: job.group,
        pins: nth(&job.pins, rank).unwrap_or_default(),
        start: nth(&job.start, rank),
    })
}

/// What all programs of a study share.
struct Stage<'s, Q: Queue> {
    smp: &'s Smp<Q>,
    study: &'s Study,
    groups: &'s [Group<SmpCpu<'s, Q>>],
    teams: &'s [ForkJoin<SmpCpu<'s, Q>>],
    locks: Vec<Option<Mutex>>,
    objects: Objects,
    books: Vec<Book>,
}

/// The sums of one job.
#[derive(Default)]
struct Book {
    met: Cell<u64>,
    acquisitions: Cell<u64>,
    /// Threads that have taken the lock as often as they should.
    through: Cell<u32>,
    finished: Cell<Option<Nanos>>,
    waits: Cell<Snapshot>,
    alternation: Cell<Alternation>,
    windows: RefCell<Vec<Window>>,
}

/// Enters a member's account into its job's book, however its program ends.
struct Entering<'b>(&'b Book, Arc<Account>);

impl Drop for Entering<'_> {
    fn drop(&mut self) {
        self.0.waits.set(self.0.waits.get().plus(self.1.snapshot()));
    }
}

/// Load computes without end, or computes and rests by turns.
async fn run_load<Q: Queue>(stage: &Stage<'_, Q>, job: &Job, cpu: SmpCpu<'_, Q>, rank: u32, mut random: Random) {
    let resolution = stage.study.machine.resolution;
    loop {
        cpu.delay(job.compute.draw(rank, &mut random, resolution)).await;
        if let Some(rest) = &job.rest {
            cpu.sleep(rest.draw(rank, &mut random, resolution)).await;
        }
    }
}

/// A thread computes and meets the others, again and again.
async fn run_member<'s, Q: Queue>(
    stage: &Stage<'s, Q>,
    number: usize,
    cpu: SmpCpu<'s, Q>,
    rank: u32,
    mut random: Random,
) -> Result<(), Error> {
    let (job, book, resolution) = (&stage.study.jobs[number], &stage.books[number], stage.study.machine.resolution);
    let mut member = stage.groups[number].member(cpu, rank, job.policy)?;
    let _entering = Entering(book, Arc::clone(member.account()));
    let mut before = None;
    for round in 1..=job.barriers {
        cpu.delay(job.compute.draw(rank, &mut random, resolution)).await;
        member.wait().await?;
        if book.met.get() < round {
            book.met.set(round);
            if round == job.barriers {
                book.finished.set(Some(cpu.now()));
                stage.finished();
            }
        }
        let (spun, parked) = cpu.waited();
        // A thread that came last breaks the chain: it did not spin.
        let before = std::mem::replace(&mut before, spun.then_some(!parked));
        if spun {
            book.note(before, !parked);
            if number == 0 {
                book.window(cpu.now(), stage.study.record.window, !parked);
            }
        }
    }
    Ok(())
}

/// A leader opens regions, and its workers do their parts.
async fn run_team_member<'s, Q: Queue>(
    stage: &Stage<'s, Q>,
    (number, gap): (usize, &Distribution),
    cpu: SmpCpu<'s, Q>,
    rank: u32,
    mut random: Random,
) -> Result<(), Error> {
    let (job, book, resolution) = (&stage.study.jobs[number], &stage.books[number], stage.study.machine.resolution);
    let team = &stage.teams[number];
    if rank > 0 {
        let mut worker = team.worker(cpu, rank, job.policy)?;
        let _entering = Entering(book, Arc::clone(worker.account()));
        while worker.wait().await?.is_some() {
            worker.delay(job.compute.draw(rank, &mut random, resolution)).await;
            worker.done()?;
        }
        return Ok(());
    }
    let mut leader = team.leader(cpu, job.policy)?;
    let _entering = Entering(book, Arc::clone(leader.account()));
    for region in 1..=job.barriers {
        leader.delay(gap.draw(rank, &mut random, resolution)).await;
        leader.fork()?;
        leader.delay(job.compute.draw(rank, &mut random, resolution)).await;
        leader.join().await?;
        book.met.set(region);
    }
    book.finished.set(Some(leader.now()));
    leader.finish()?;
    stage.finished();
    Ok(())
}

/// A thread goes through its program.
async fn run_program<Q: Queue>(
    stage: &Stage<'_, Q>,
    number: usize,
    program: &ThreadProgram,
    cpu: SmpCpu<'_, Q>,
) -> Result<(), Error> {
    let book = &stage.books[number];
    let mut runner = Runner::new(&stage.objects, cpu);
    let _entering = Entering(book, Arc::clone(runner.waiter.account()));
    runner.run(program, || book.met.set(book.met.get() + 1)).await
}

/// A thread computes and takes its job's lock, again and again.
async fn run_locker<Q: Queue>(
    stage: &Stage<'_, Q>,
    (number, (mutex, lock)): (usize, (&Mutex, &JobLock)),
    cpu: SmpCpu<'_, Q>,
    rank: u32,
    mut random: Random,
) -> Result<(), Error> {
    let (job, book, resolution) = (&stage.study.jobs[number], &stage.books[number], stage.study.machine.resolution);
    let waiter = Waiter::new(job.policy, rank);
    let _entering = Entering(book, Arc::clone(waiter.account()));
    let sections = Random::new(stage.study.seed, SECTIONS | u64::from(cpu.number()));
    let mut sections = Sections::new(lock, rank, resolution, sections);
    for _ in 0..job.barriers {
        cpu.delay(job.compute.draw(rank, &mut random, resolution)).await;
        mutex.acquire(&cpu, &waiter, (rank, job.threads)).await?;
        book.acquisitions.set(book.acquisitions.get() + 1);
        sections.hold(&cpu).await;
        mutex.release(&cpu);
        cpu.end_section();
    }
    book.through.set(book.through.get() + 1);
    if book.through.get() == job.threads {
        book.finished.set(Some(cpu.now()));
        stage.finished();
    }
    Ok(())
}

impl<'s, Q: Queue> Stage<'s, Q> {
    async fn program(&self, cpu: SmpCpu<'s, Q>, job: usize, rank: u32) -> Result<(), Error> {
        let random = Random::new(self.study.seed, u64::from(cpu.number()));
        if let Some(program) = &self.study.jobs[job].program {
            return run_program(self, job, program, cpu).await;
        }
        let it = &self.study.jobs[job];
        if let Some(gap) = &it.gap {
            return run_team_member(self, (job, gap), cpu, rank, random).await;
        }
        match self.locks[job].as_ref().zip(it.lock.as_ref()) {
            _ if !it.meets() => run_load(self, it, cpu, rank, random).await,
            Some(lock) => return run_locker(self, (job, lock), cpu, rank, random).await,
            None => return run_member(self, job, cpu, rank, random).await,
        }
        Ok(())
    }

    /// A job has met for the last time.
    fn finished(&self) {
        let all = || self.study.jobs.iter().zip(&self.books).all(|(job, book)| !job.meets() || book.finished.get().is_some());
        if self.study.stop == Stop::FirstJob || self.study.stop == Stop::AllJobs && all() {
            self.smp.stop();
        }
    }
}

impl Book {
    /// A spin succeeded or not, after an earlier one that did or not.
    fn note(&self, before: Option<bool>, succeeded: bool) {
        let mut all = self.alternation.get();
        match before {
            Some(true) => all.after_success[usize::from(!succeeded)] += 1,
            Some(false) => all.after_failure[usize::from(!succeeded)] += 1,
            None => {}
        }
        self.alternation.set(all);
    }

    fn window(&self, now: Nanos, length: Nanos, succeeded: bool) {
        if length > Nanos::ZERO {
            let mut windows = self.windows.borrow_mut();
            let at = (now.0 / length.0) as usize;
            if windows.len() <= at {
                windows.resize(at + 1, Window::default());
            }
            let count = if succeeded { &mut windows[at].succeeded } else { &mut windows[at].failed };
            *count += 1;
        }
    }
}

/// What the machine looked like at the end.
struct FinalState {
    time: Nanos,
    counts: Counts,
    split: Split,
    by_job: Vec<Split>,
    effective_load: f64,
    idle_while_ready: Nanos,
    recorded: super::record::Recorded,
}

impl FinalState {
    fn take(machine: &mut Machine) -> Self {
        let now = machine.now;
        let jobs = machine.threads.iter().map(|t| t.spec.job + 1).max().unwrap_or(0);
        let mut by_job = vec![Split::default(); jobs as usize];
        for thread in &machine.threads {
            by_job[thread.spec.job as usize].add(thread.split);
        }
        let mut split = Split::default();
        machine.processors.iter().for_each(|processor| split.add(processor.split));
        Self {
            time: now,
            counts: machine.counts,
            split,
            by_job,
            effective_load: machine.load_integral as f64 / now.0.max(1) as f64,
            idle_while_ready: machine.idle_while_ready,
            recorded: std::mem::take(&mut machine.recorded),
        }
    }
}

fn outcome<Q: Queue>(stage: &Stage<'_, Q>, seen: FinalState, end: StopReason) -> Outcome {
    let (events, trace) = stage.smp.history();
    let mut recorded = seen.recorded;
    recorded.windows = stage.books.first().map(|book| book.windows.take()).unwrap_or_default();
    let job = |(number, book): (usize, &Book)| {
        let (job, acquisitions, finished) = (&stage.study.jobs[number], book.acquisitions.get(), book.finished.get());
        let threads = u64::from(job.threads);
        let met = if job.lock.is_some() { acquisitions / threads } else { book.met.get() };
        let done = if job.lock.is_some() { acquisitions as f64 / threads as f64 } else { met as f64 };
        let share = job.barriers as f64 / done;
        let elapsed_ns = finished.map_or(seen.time.0 as f64 * share, |time| time.0 as f64);
        let (waits, alternation) = (book.waits.get(), book.alternation.get());
        JobOutcome { met, acquisitions, finished, elapsed_ns, waits, split: seen.by_job[number], alternation }
    };
    Outcome {
        time: seen.time,
        events,
        trace,
        interrupted: end == StopReason::Interrupted,
        jobs: stage.books.iter().enumerate().map(job).collect(),
        split: seen.split,
        counts: seen.counts,
        effective_load: seen.effective_load,
        idle_while_ready: seen.idle_while_ready,
        recorded,
    }
}
