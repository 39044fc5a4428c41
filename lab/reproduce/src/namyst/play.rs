//! Messages of one piece, to and fro: the same source in simulation and on this machine; and how it is
//! simulated.
use anyhow::{Result, bail};
use foregather_machine::{Clock, Error, Fabric, Member, Nanos};
use foregather_message::{Cheaper, Messenger, Mode, Path, Receive, Settings};
use foregather_sim::cluster::raw::{PingPong, Registration, ping_pong};
use foregather_sim::cluster::{Activity, Cluster, ClusterSpec, Lane, Report, Stroke};
use foregather_sim::event::Heap;
use foregather_wait::Policy;

/// Round trips of a simulated ping-pong: each is like the others.
pub(super) const ROUNDS: u32 = 10;
/// The most strokes that are kept: more than any scene has.
pub(super) const STROKES: usize = 100_000;
/// Where the simulated ping-pongs run.
pub(super) type Simulated<'s> = Lane<'s, Heap>;

/// The outcome of a simulation in which all threads came to an end.
pub(super) struct Finished<T> {
    pub(super) outputs: Vec<T>,
    pub(super) report: Report<Result<T, Error>>,
}

/// One message of one piece: sent, or received.
pub(super) async fn turn<F: Fabric>(messenger: &Messenger<F>, sends: bool, memory: &mut [u8]) -> Result<(), Error> {
    let peer = 1 - messenger.rank();
    if sends {
        let mut message = messenger.begin_packing(peer)?;
        message.pack(Cheaper(memory), Receive::Cheaper).await?;
        message.end().await
    } else {
        let mut message = messenger.begin_unpacking_from(peer)?;
        message.unpack(Mode::Cheaper, memory).await?;
        message.end().await
    }
}

/// Rank 0 and rank 1 send each other the memory `rounds` times.
pub(super) async fn to_and_fro<F: Fabric>(messenger: &Messenger<F>, memory: &mut [u8], rounds: u32) -> Result<(), Error> {
    for _ in 0..rounds {
        for sender in 0..2 {
            turn(messenger, messenger.rank() == sender, memory).await?;
        }
    }
    Ok(())
}

/// Two nodes as the paper's programs had them: alone, and polling.
pub(super) fn spinning() -> ClusterSpec {
    ClusterSpec { wait: Policy::Spin, ..ClusterSpec::namyst1999(2, 1) }
}

/// A messenger that waits as raw VIA does there.
pub(super) fn settings(spec: &ClusterSpec, path: Path) -> Settings {
    Settings { path, policy: Some(spec.wait), ..Settings::default() }
}

/// Runs a program on every thread until all have come to an end.
pub(super) fn simulate<T>(spec: ClusterSpec, program: impl AsyncFn(Simulated<'_>) -> Result<T, Error>) -> Result<Finished<T>> {
    let (outputs, report) = simulate_some(spec, program)?;
    match outputs.into_iter().collect() {
        Some(outputs) => Ok(Finished { outputs, report }),
        None => bail!("a simulation got stuck: {}", deadlocked(&report)),
    }
}

/// Each thread's output, if it had one, and all else.
pub(super) type Outputs<T> = (Vec<Option<T>>, Report<Result<T, Error>>);

/// The same until a program stops it: the others have no output then.
pub(super) fn simulate_some<T>(
    spec: ClusterSpec,
    program: impl AsyncFn(Simulated<'_>) -> Result<T, Error>,
) -> Result<Outputs<T>> {
    let cluster = Cluster::<Heap>::new(spec).map_err(anyhow::Error::msg)?;
    let mut report = cluster.run(|lane| program(lane));
    let outputs = std::mem::take(&mut report.outputs).into_iter().map(Option::transpose).collect::<Result<_, Error>>()?;
    Ok((outputs, report))
}

fn deadlocked<T>(report: &Report<T>) -> String {
    report.deadlocked.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// How long `rounds` round trips take that go on as they have begun: how they begin and end does not count.
pub(super) fn steady(rounds: u32, run: impl Fn(u32) -> Result<PingPong>) -> Result<PingPong> {
    let (once, twice) = (run(rounds)?, run(2 * rounds)?);
    let elapsed = twice.elapsed - once.elapsed;
    Ok(PingPong { half: Nanos(elapsed.0 / u64::from(2 * rounds)), elapsed, computed: twice.computed - once.computed })
}

/// A ping-pong by the message layer between the first threads of two nodes; all others compute.
pub(super) fn layered(spec: &ClusterSpec, path: Path, bytes: usize, rounds: u32) -> Result<PingPong> {
    let (outputs, report) = simulate_some(spec.clone(), async |lane| {
        while lane.here().lane > 0 {
            lane.delay(Nanos::MAX).await;
        }
        let messenger = Messenger::new(lane, settings(spec, path))?;
        let mut memory = vec![7; bytes];
        let began = messenger.now();
        to_and_fro(&messenger, &mut memory, rounds).await?;
        // The clock goes on when what the verbs cost has been paid.
        messenger.delay(Nanos::ZERO).await;
        let elapsed = messenger.now() - began;
        if messenger.rank() == 0 {
            messenger.fabric().stop();
        }
        Ok(elapsed)
    })?;
    let Some(elapsed) = outputs.into_iter().next().flatten() else { bail!("a simulation got stuck: {}", deadlocked(&report)) };
    let workers = report.splits.iter().enumerate().filter(|(number, _)| number % spec.threads as usize > 0);
    let computed = workers.fold(Nanos::ZERO, |sum, (_, split)| sum + split.compute);
    Ok(PingPong { half: Nanos(elapsed.0 / u64::from(2 * rounds)), elapsed, computed })
}

/// The same by the NIC alone.
pub(super) fn bare(spec: &ClusterSpec, registration: Registration, bytes: usize, rounds: u32) -> Result<PingPong> {
    ping_pong::<Heap>(spec, bytes, rounds, registration).map_err(anyhow::Error::msg)
}

/// Half a round trip by the message layer.
pub(super) fn half(spec: &ClusterSpec, path: Path, bytes: usize) -> Result<Nanos> {
    Ok(steady(ROUNDS, |rounds| layered(spec, path, bytes, rounds))?.half)
}

/// Half a round trip by the NIC alone.
pub(super) fn raw(spec: &ClusterSpec, registration: Registration, bytes: usize) -> Result<Nanos> {
    Ok(steady(ROUNDS, |rounds| bare(spec, registration, bytes, rounds))?.half)
}

/// The strokes of one kind at one rank.
pub(super) fn of(strokes: &[Stroke], rank: u32, what: Activity) -> impl Iterator<Item = &Stroke> + Clone {
    strokes.iter().filter(move |stroke| stroke.at.rank == rank && stroke.what == what)
}

/// Megabytes a second.
pub(super) fn rate(bytes: usize, half: Nanos) -> f64 {
    bytes as f64 * 1e3 / half.0.max(1) as f64
}
