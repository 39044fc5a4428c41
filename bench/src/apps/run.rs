//! Runs a program on all ranks, and brings the results to rank 0.
use super::App;
use foregather_dsm::Minipage;
use foregather_dsm::journal::Journal;
use foregather_dsm::memory::{Ended, Served, Settings, SharedAllocator, Site, Thread, run};
use foregather_dsm::node::Stats;
use foregather_dsm::protocol::Counts;
use foregather_machine::{Cause, Error, Fabric, Member, Nanos, Rank, Words, block_on};
use foregather_message::{Cheaper, Messenger, Mode, Receive};
use serde::{Deserialize, Serialize};
use std::any::Any;

/// The results of a program on all ranks.
#[derive(Clone, Debug)]
pub struct AppResult<O> {
    /// The results of all threads, by their numbers.
    pub threads: Vec<ThreadResult<O>>,
    /// All that was allocated, and where.
    pub sites: Vec<Site>,
    /// How often each minipage was requested, as its manager saw it; minipages without requests are left out.
    pub traffic: Vec<(Minipage, Counts)>,
}

/// The result of a thread.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ThreadResult<O> {
    /// What the program returned.
    pub output: O,
    /// How long it ran from [`Thread::start_clock`](foregather_dsm::memory::Thread::start_clock) on, in
    /// nanoseconds.
    pub span_ns: u64,
    /// How long it ran before, on cold memory, in nanoseconds.
    pub cold_ns: u64,
    /// Where the time since then went.
    #[serde(rename = "tally")]
    pub stats: Stats,
    /// Its journal, if it was asked to write one.
    pub journal: Option<Journal>,
}

impl<O> AppResult<O> {
    /// The outputs of all threads, for [`App::validate`], and the rest.
    pub fn split(self) -> (Vec<O>, AppResult<()>) {
        let Self { threads, sites, traffic } = self;
        let apart = |played: ThreadResult<O>| {
            let ThreadResult { output, span_ns, cold_ns, stats: tally, journal } = played;
            (output, ThreadResult { output: (), span_ns, cold_ns, stats: tally, journal })
        };
        let (outputs, threads) = threads.into_iter().map(apart).unzip();
        (outputs, AppResult { threads, sites, traffic })
    }

    /// How long the slowest thread took, from the start of the clock on.
    pub fn span(&self) -> Nanos {
        Nanos(self.threads.iter().map(|played| played.span_ns).max().unwrap_or_default())
    }
}

/// A rank's message to rank 0.
#[derive(Serialize, Deserialize)]
struct RankReport<O> {
    threads: Vec<ThreadResult<O>>,
    traffic: Vec<(Minipage, Counts)>,
}

/// Runs a program on this rank; all ranks of the job make the same call. Returns the results of all ranks on
/// rank 0, and `None` on others.
///
/// # Errors
/// As [`run`].
pub fn run_app<A: App, F>(app: &A, lanes: Vec<F>, settings: Settings) -> Result<Option<AppResult<A::Output>>, Error>
where
    F: Fabric + Send + 'static,
    <F::Cpu as Words>::Word: Send + Sync,
{
    let layout = |layout: &mut SharedAllocator| Ok(Box::new(app.layout(layout)?) as AnyShared);
    let program = |thread: &Thread<'_, F>, shared: &AnyShared| {
        let shared: &dyn Any = &**shared;
        let shared = shared.downcast_ref().expect("what this program laid out");
        Ok(Box::new(app.run(thread, shared)?) as AnyOutput)
    };
    let Served { threads, server, sites, messenger } = run_any(lanes, settings, &layout, &program)?;
    let played = |end: Ended<AnyOutput>| ThreadResult {
        output: *end.result.downcast().expect("what this program gives"),
        span_ns: end.span.0,
        cold_ns: end.cold.0,
        stats: end.stats,
        journal: end.journal,
    };
    let told = RankReport { threads: threads.into_iter().map(played).collect(), traffic: server.directory().counts().collect() };
    let outcome = if messenger.rank() == 0 {
        let (mut threads, mut traffic) = (told.threads, told.traffic);
        for rank in 1..messenger.size() {
            let told: RankReport<A::Output> = postcard::from_bytes(&hear(&messenger, rank)?)
                .map_err(|_| Cause::ProtocolViolation { from: rank, what: "what came of a program" })?;
            threads.extend(told.threads);
            traffic.extend(told.traffic);
        }
        in_order(&mut traffic);
        Some(AppResult { threads, sites, traffic })
    } else {
        let told =
            postcard::to_stdvec(&told).map_err(|error| Cause::Refused { why: format!("an output cannot be told: {error}") })?;
        tell(&messenger, &told)?;
        None
    };
    messenger.leave();
    Ok(outcome)
}

fn in_order(traffic: &mut [(Minipage, Counts)]) {
    traffic.sort_by_key(|(minipage, _)| *minipage);
}

/// What threads share, and what one of them returns, for any program: so the code below is compiled once for
/// each fabric, not once for each program on each fabric.
type AnyShared = Box<dyn Any + Sync>;
type AnyOutput = Box<dyn Any + Send>;
type AnyProgram<'p, F> = dyn Fn(&Thread<'_, F>, &AnyShared) -> Result<AnyOutput, Error> + Sync + 'p;

fn run_any<F>(
    lanes: Vec<F>,
    settings: Settings,
    layout: &dyn Fn(&mut SharedAllocator) -> Result<AnyShared, Error>,
    program: &AnyProgram<'_, F>,
) -> Result<Served<F, AnyOutput>, Error>
where
    F: Fabric + Send + 'static,
    <F::Cpu as Words>::Word: Send + Sync,
{
    run(lanes, settings, layout, program)
}

fn tell<F: Fabric>(messenger: &Messenger<F>, bytes: &[u8]) -> Result<(), Error> {
    let len = (bytes.len() as u64).to_le_bytes();
    block_on(async {
        let mut message = messenger.begin_packing(0)?;
        message.pack(Cheaper(&len), Receive::Express).await?;
        message.pack(Cheaper(bytes), Receive::Cheaper).await?;
        message.end().await
    })
}

fn hear<F: Fabric>(messenger: &Messenger<F>, from: Rank) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    block_on(async {
        let mut message = messenger.begin_unpacking_from(from)?;
        let len: u64 = message.unpack_express(Mode::Cheaper).await?;
        bytes = vec![0; len as usize];
        message.unpack(Mode::Cheaper, &mut bytes).await?;
        message.end().await
    })?;
    Ok(bytes)
}
