//! How two ranks come to be, as threads or as processes, with as many lanes as they need; over libfabric they
//! are processes that tell each other by rank 1's standard streams where their lanes are.
use super::ends::{Ends, OWN_LANES, measure_sizes, possible};
use super::hogs::Hogs;
use super::{Answer, Measurand, MessageCell, PEER_VERB, World, hogs, strange};
use crate::Cell;
use foregather_host::child::Child;
use foregather_host::{affinity, clock};
use foregather_machine::{Address, Cpu, Error, Fabric, Nanos, Placement};
use foregather_message::Settings;
use foregather_ofi::{Lane, Opening, Provider};
use foregather_shm::{Process, Segment, SegmentSpec, ShmFabric, Watch};
use foregather_thread::Word;
use foregather_wait::Policy;
use std::io::{BufRead, BufReader, Read, Write, stdin, stdout};
use std::os::fd::AsRawFd;
use std::os::unix::process::parent_id;
use std::process::{Command, Stdio};
use std::sync::Arc;

/// For the descriptor of an exchange, where there is none.
const NO_EXCHANGE: &str = "-";

/// Rank 0's whole part.
pub(super) fn run(plan: &MessageCell) -> Result<Answer, Error> {
    clock::init();
    let until = clock::now() + plan.bound();
    let segment = Arc::new(Segment::new(plan.hogs().max(1), 0)?);
    match &plan.world {
        World::Thread => threads(plan, &segment, until),
        World::Shm => first_process(plan, &segment, until),
        World::Ofi(provider) => first_over(provider, plan, &segment, until),
        World::Mpi => super::mpi::run(plan),
    }
}

impl MessageCell {
    fn hogs(&self) -> u32 {
        if let Measurand::Hogs { per_cpu, .. } = self.task { 2 * per_cpu } else { 0 }
    }

    /// Of the hogs that `rank` has within its process; rank 0 has those of both that are processes.
    fn hogs_of(&self, rank: u32, segment: &Arc<Segment>) -> Result<Hogs, Error> {
        let Measurand::Hogs { per_cpu, within, .. } = self.task else { return Ok(Hogs::default()) };
        let on = |rank: u32| std::iter::repeat_n(self.cpus[rank as usize], per_cpu as usize);
        match (within, rank) {
            (true, _) => Hogs::threads(segment, rank * per_cpu, on(rank)),
            (false, 0) => Hogs::processes(segment, 0, on(0).chain(on(1))),
            (false, _) => Ok(Hogs::default()),
        }
    }

    /// Lanes besides those that every rank has.
    fn ends(&self) -> u32 {
        match &self.task {
            Measurand::Size { transports, .. } => transports.iter().filter(|transport| transport.is_message()).count() as u32,
            Measurand::Hogs { policies, .. } => policies.len() as u32,
        }
    }

    pub(super) fn lanes(&self) -> u32 {
        OWN_LANES + self.ends()
    }
}

fn threads(plan: &MessageCell, segment: &Arc<Segment>, until: Nanos) -> Result<Answer, Error> {
    let exchange = ShmFabric::between_threads(SegmentSpec::new(2, plan.lanes()))?;
    let place = |rank: u32| Some(plan.cpus[rank as usize]);
    let ends = foregather_thread::run(2, place, |cpu, rank| {
        let _hogs = plan.hogs_of(rank, segment)?;
        rank_of(plan, lanes(&exchange, &cpu, rank)?, segment, until)
    })?;
    let answers: Vec<Answer> = ends.into_iter().collect::<Result<_, _>>()?;
    Ok(answers.into_iter().next().unwrap_or_default().with(exchange.direct_refused()))
}

/// Rank 1's process, without its standard streams.
fn peer(exchange: &str, segment: &Segment, plan: &MessageCell) -> Result<Command, Error> {
    let program = std::env::current_exe().map_err(|error| strange(format!("mount /proc: {error}")))?;
    let mut command = Command::new(program);
    command.args([PEER_VERB, exchange, &segment.fd().as_raw_fd().to_string(), &plan.to_arg()]);
    Ok(command)
}

fn first_process(plan: &MessageCell, segment: &Arc<Segment>, until: Nanos) -> Result<Answer, Error> {
    let exchange = Arc::new(ShmFabric::new(SegmentSpec::new(2, plan.lanes()))?);
    let mut command = peer(&exchange.fd().as_raw_fd().to_string(), segment, plan)?;
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let mut peer = Child::spawn(command, &[exchange.fd(), segment.fd()])?;
    let pidfd = peer.pidfd().try_clone_to_owned().map_err(|error| strange(format!("a descriptor: {error}")))?;
    let _hogs = plan.hogs_of(0, segment)?;
    affinity::pin(plan.cpus[0])?;
    let answer = process(plan, &exchange, Watch::of(1, pidfd).process(), 0, segment, until)?;
    peer.wait_until(until)?;
    Ok(answer.with(exchange.direct_refused()))
}

fn first_over(provider: &str, plan: &MessageCell, segment: &Arc<Segment>, until: Nanos) -> Result<Answer, Error> {
    let mut command = peer(NO_EXCHANGE, segment, plan)?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut peer = Child::spawn(command, &[segment.fd()])?;
    let streams = peer.streams();
    let (Some(mut tell), Some(mut told)) = (streams.stdin.take(), streams.stdout.take()) else {
        return Err(strange("rank 1's standard streams".to_owned()));
    };
    let _hogs = plan.hogs_of(0, segment)?;
    affinity::pin(plan.cpus[0])?;
    let lanes = lanes_over(plan, (0, std::process::id()), provider, (&mut tell, &mut told))?;
    let answer = rank_of(plan, lanes, segment, until)?;
    peer.wait_until(clock::now() + PARTING)?;
    Ok(answer)
}

/// The whole of rank 1's process: `args` are those behind [`PEER_VERB`].
///
/// # Errors
/// If the arguments are not those that rank 0 gives, or rank 0 ends in the middle.
pub fn peer_main(args: &[String]) -> Result<(), Error> {
    clock::init();
    if let [plan] = args {
        return super::mpi::rank(&MessageCell::from_arg(plan).map_err(strange)?);
    }
    let [exchange, segment, plan] = args else { return Err(strange("two descriptors and a plan".to_owned())) };
    let number = |text: &String| text.parse().map_err(|_| strange("a descriptor".to_owned()));
    let segment = Arc::new(Segment::inherited(number(segment)?)?);
    let plan = MessageCell::from_arg(plan).map_err(strange)?;
    let until = clock::now() + plan.bound();
    let _hogs = plan.hogs_of(1, &segment)?;
    affinity::pin(plan.cpus[1])?;
    if let World::Ofi(provider) = &plan.world {
        let streams: (&mut dyn Write, &mut dyn Read) = (&mut stdout(), &mut stdin());
        let lanes = lanes_over(&plan, (1, parent_id()), provider, streams)?;
        return rank_of(&plan, lanes, &segment, until).map(|_| ());
    }
    let exchange = Arc::new(ShmFabric::inherited(number(exchange)?)?);
    process(&plan, &exchange, Watch::parent(0)?.process(), 1, &segment, until).map(|_| ())
}

fn process(
    plan: &MessageCell,
    exchange: &Arc<ShmFabric>,
    cpu: Process,
    rank: u32,
    segment: &Segment,
    until: Nanos,
) -> Result<Answer, Error> {
    exchange.join(rank)?;
    exchange.meet(&cpu, until)?;
    rank_of(plan, lanes(exchange, &cpu, rank)?, segment, until)
}

fn lanes<C: Cpu<Word = Word> + Clone>(
    exchange: &Arc<ShmFabric>,
    cpu: &C,
    rank: u32,
) -> Result<Vec<foregather_shm::Lane<C>>, Error> {
    (0..exchange.shape().lanes).map(|lane| exchange.lane(cpu.clone(), Address { rank, lane })).collect()
}

/// A rank's whole part. Only rank 0 has an answer.
pub(super) fn rank_of<F: Fabric>(plan: &MessageCell, lanes: Vec<F>, segment: &Segment, until: Nanos) -> Result<Answer, Error> {
    let mut answer = Answer::default();
    let rank = lanes.first().map_or(0, |lane| lane.here().rank);
    let limits = lanes.first().map(|lane| lane.limits()).ok_or_else(|| strange("lanes".to_owned()))?;
    match &plan.task {
        Measurand::Size { bytes, transports, batches, batch_ns } => {
            let transports = possible(transports, *bytes, &limits);
            let settings: Vec<Settings> =
                transports.iter().filter(|transport| transport.is_message()).map(|transport| transport.settings()).collect();
            let mut ends = Ends::new(lanes, &settings, transports, *bytes, until)?;
            ends.greet()?;
            if rank == 1 {
                return ends.serve(*bytes).map(|()| answer);
            }
            measure_sizes(&mut ends, *bytes, (*batches, *batch_ns), &mut answer)?;
            finish(ends, &mut answer)?;
        }
        Measurand::Hogs { policies, cells, cell_ns, .. } => {
            let costs = lanes[0].cpu().costs();
            let policy = |name: &String| Policy::parse(name, &costs).map_err(|error| strange(error.to_string()));
            let settings: Vec<Settings> = policies
                .iter()
                .map(|name| Ok(Settings { policy: Some(policy(name)?), ..Settings::default() }))
                .collect::<Result<_, Error>>()?;
            let ends = Ends::new(lanes, &settings, vec![], 8, until)?;
            ends.greet()?;
            if rank == 1 {
                return ends.serve(8).map(|()| answer);
            }
            hogs::measure(&ends, policies, (segment, plan.hogs()), (*cells, Nanos(*cell_ns)), &mut answer)?;
            finish(ends, &mut answer)?;
        }
    }
    Ok(answer)
}

fn finish<F: Fabric>(ends: Ends<F>, answer: &mut Answer) -> Result<(), Error> {
    ends.tell(answer);
    ends.ask(super::ends::Errand::Leave)?;
    ends.leave();
    Ok(())
}

impl Answer {
    fn with(mut self, note: Option<String>) -> Self {
        self.notes.extend(note);
        self
    }
}

/// Addresses of lanes are shorter.
const LONGEST: u64 = 1 << 20;

/// The lanes of `rank`, once it has told its address and was told the other's. `job` is the number of rank
/// 0's process.
fn lanes_over(
    plan: &MessageCell,
    (rank, job): (u32, u32),
    provider: &str,
    (tell, told): (&mut dyn Write, &mut dyn Read),
) -> Result<Vec<Lane>, Error> {
    // Both ranks are on this host.
    let host = (provider == "tcp").then_some("127.0.0.1");
    let provider = Arc::new(Provider::open(provider, host)?);
    let opening = Opening::new(provider, (rank, 2), plan.lanes(), &job.to_le_bytes(), None)?;
    let own = opening.address();
    let lost = |error: std::io::Error| strange(format!("the other rank's address: {error}"));
    writeln!(tell, "{}", written(&own)).and_then(|()| tell.flush()).map_err(lost)?;
    let mut line = String::new();
    BufReader::new(told.take(LONGEST)).read_line(&mut line).map_err(lost)?;
    let theirs = read(line.trim()).ok_or_else(|| strange("the other rank's address; its provider may be missing".to_owned()))?;
    opening.connect(&if rank == 0 { [own, theirs] } else { [theirs, own] })
}

/// As one line of text.
fn written(address: &[u8]) -> String {
    address.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read(text: &str) -> Option<Vec<u8>> {
    let digits: Vec<u8> = text.chars().map(|c| c.to_digit(16).map(|digit| digit as u8)).collect::<Option<_>>()?;
    let whole = !digits.is_empty() && digits.len().is_multiple_of(2);
    whole.then(|| digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// Connections are closed in good order, unless that takes longer.
pub(super) const PARTING: Nanos = Nanos::from_ms(5_000);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_was_written() {
        let address: Vec<u8> = (0..=255).collect();
        assert_eq!(read(&written(&address)), Some(address));
        assert_eq!([read(""), read("abc"), read("zz")], [None, None, None]);
    }
}
