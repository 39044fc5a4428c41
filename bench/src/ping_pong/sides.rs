//! The two sides: what they share, which is the words of the game, its semaphores and what the slave reports;
//! one round trip by each kind of method, seen from both ends; the master's part, with the round trips
//! counted in cycles; the slave's, and how a process becomes a slave.
use super::{Means, Method};
use super::{PartyKind, Setup, WARM_UP, WHAT};
use foregather_host::usage::{self, Switches};
use foregather_host::{affinity, clock, interrupt};
use foregather_machine::{Cause, Clock, CpuId, Error, Nanos, VALUE_MASK, WaitContext, Words, block_on};
use foregather_shm::Segment;
use foregather_shm::kernel::{self, Semaphore};
use foregather_thread::{Scope, Thread, Word};
use foregather_wait::{WaitFor, Waiter};
use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

const PING: u32 = 0;
const PONG: u32 = 1;
const STOP: u32 = 2;
/// The slave's processor time, in nanoseconds: two words of 30 bits.
const CPU_TIME: u32 = 3;
/// From here on: how often the slave was seen on each processor.
const CPUS: u32 = 5;
const HALF: u32 = 30;

pub(super) struct PingPongMemory {
    segment: Arc<Segment>,
    scope: Scope,
    /// The one that the master posts and the one that the slave posts; none if the method needs none.
    semaphores: Vec<Box<dyn Semaphore>>,
}

impl PingPongMemory {
    pub(super) fn new(setup: &Setup) -> Result<Self, Error> {
        let scope = if setup.side == PartyKind::Threads { Scope::Private } else { Scope::Shared };
        let cpus = affinity::allowed().last().map_or(1, |last| last + 1);
        let segment = Arc::new(Segment::new(CPUS + cpus, 2)?);
        let semaphores = match setup.method.means() {
            Means::Word(_) => vec![],
            Means::Kernel(kind) => vec![kind.create(&segment, scope)?, kind.create(&segment, scope)?],
        };
        Ok(Self { segment, scope, semaphores })
    }

    /// In the slave process: the descriptor's number and the semaphores' names.
    pub(super) fn attach(number: RawFd, method: Method, names: &[String]) -> Result<Self, Error> {
        let segment = Arc::new(Segment::inherited(number)?);
        let semaphores = names.iter().map(|name| kernel::attach(name, &segment)).collect::<Result<Vec<_>, _>>()?;
        let needed = if let Means::Kernel(_) = method.means() { 2 } else { 0 };
        if semaphores.len() != needed || segment.words() <= CPUS {
            let remedy = "it is started by its master only, from the same executable".to_owned();
            return Err(Error::from(Cause::Unavailable { what: "what a ping-pong slave needs".to_owned(), remedy }));
        }
        Ok(Self { segment, scope: Scope::Shared, semaphores })
    }

    /// What [`PingPongMemory::attach`] takes.
    pub(super) fn number_and_names(&self) -> (RawFd, Vec<String>) {
        (self.segment.fd().as_raw_fd(), self.semaphores.iter().map(|semaphore| semaphore.name()).collect())
    }

    /// What the slave must inherit.
    pub(super) fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        self.semaphores.iter().flat_map(|semaphore| semaphore.descriptors()).chain([self.segment.fd()]).collect()
    }

    /// A processor for the words.
    pub(super) fn cpu(&self) -> Thread {
        if self.scope == Scope::Private { Thread::current() } else { Thread::shared() }
    }

    pub(super) fn ping(&self) -> &Word {
        self.segment.word(PING)
    }

    pub(super) fn pong(&self) -> &Word {
        self.segment.word(PONG)
    }

    pub(super) fn masters(&self) -> &dyn Semaphore {
        &*self.semaphores[0]
    }

    pub(super) fn slaves(&self) -> &dyn Semaphore {
        &*self.semaphores[1]
    }

    /// The next ping is the last and wants no pong.
    pub(super) fn stop(&self) {
        self.segment.word(STOP).store(1);
    }

    pub(super) fn stopped(&self) -> bool {
        self.segment.word(STOP).load() != 0
    }

    /// Ends all waits of the master, and those of the slave if it lives: no other thread could leave a dead
    /// one's semaphores in an undefined state.
    pub(super) fn cancel(&self, slave_lives: bool) {
        [self.ping(), self.pong()].into_iter().for_each(|word| word.poison(self.scope));
        if let [masters, slaves] = &self.semaphores[..] {
            // A refusal means that the semaphore is gone; the kernel has told its waiters.
            let _ = slaves.post();
            if slave_lives {
                let _ = masters.post();
            }
        }
    }

    /// Checks, after a wait on a semaphore, that the partner posted it.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.ping().is_poisoned() { Err(Error::from(Cause::Poisoned { by: None })) } else { Ok(()) }
    }

    /// The slave's last act.
    pub(super) fn report(&self, cpu_time: Nanos, cpus: &BTreeMap<CpuId, u32>) {
        self.segment.word(CPU_TIME).store(cpu_time.0 as u32 & ((1 << HALF) - 1));
        self.segment.word(CPU_TIME + 1).store((cpu_time.0 >> HALF) as u32);
        for (&cpu, &count) in cpus.iter().filter(|&(cpu, _)| CPUS + cpu < self.segment.words()) {
            self.segment.word(CPUS + cpu).store(count);
        }
    }

    pub(super) fn reported(&self) -> (Nanos, BTreeMap<CpuId, u32>) {
        let load = |word| self.segment.word(word).load();
        let cpus = (CPUS..self.segment.words()).map(|word| (word - CPUS, load(word))).filter(|&(_, count)| count > 0);
        (Nanos(u64::from(load(CPU_TIME)) | u64::from(load(CPU_TIME + 1)) << HALF), cpus.collect())
    }
}

/// The master does `ping` and `await_pong`, the slave `await_ping` and `pong`. Rounds count from 1.
pub(super) trait Link {
    fn ping(&self, round: u32) -> Result<(), Error>;
    fn await_ping(&self, round: u32) -> Result<(), Error>;
    fn pong(&self, round: u32) -> Result<(), Error>;
    fn await_pong(&self, round: u32) -> Result<(), Error>;
}

/// The end of `why.rank`. No process is watched from here: the supervisor poisons the words when the partner
/// dies.
pub(super) fn link<'a>(method: Method, board: &'a PingPongMemory, why: WaitContext) -> Box<dyn Link + 'a> {
    match (method, method.means()) {
        (Method::OneSemaphore, _) => Box::new(HandOff { board, why }),
        (_, Means::Kernel(_)) => Box::new(Barriers { board, why }),
        (_, Means::Word(policy)) => {
            let cpu = if method == Method::SpinHot { board.cpu().without_pauses() } else { board.cpu() };
            Box::new(OnWords { board, cpu, waiter: Waiter::new(policy, why.rank), why })
        }
    }
}

/// Two words: the master stores its turn in one, the slave answers in the other.
struct OnWords<'a> {
    board: &'a PingPongMemory,
    cpu: Thread,
    waiter: Waiter,
    why: WaitContext,
}

impl OnWords<'_> {
    fn wait(&self, on: &Word, round: u32) -> Result<(), Error> {
        let come = || (self.cpu.load(on) == round & VALUE_MASK).then_some(());
        block_on(self.waiter.wait(&self.cpu, on, false, || (self.why, WaitFor::Unknown), come).finish())
    }
}

impl Link for OnWords<'_> {
    fn ping(&self, round: u32) -> Result<(), Error> {
        self.cpu.publish(self.board.ping(), round);
        Ok(())
    }
    fn await_ping(&self, round: u32) -> Result<(), Error> {
        self.wait(self.board.ping(), round)
    }
    fn pong(&self, round: u32) -> Result<(), Error> {
        self.cpu.publish(self.board.pong(), round);
        Ok(())
    }
    fn await_pong(&self, round: u32) -> Result<(), Error> {
        self.wait(self.board.pong(), round)
    }
}

fn take(semaphore: &dyn Semaphore, board: &PingPongMemory, why: &WaitContext) -> Result<(), Error> {
    semaphore.wait(why)?;
    board.check()
}

/// Guignon's protocol for semaphores: a barrier opens the parallel section and another one closes it, and in
/// a barrier each side posts its own semaphore and waits for the other's.
struct Barriers<'a> {
    board: &'a PingPongMemory,
    why: WaitContext,
}

impl Barriers<'_> {
    fn masters_barrier(&self) -> Result<(), Error> {
        self.board.masters().post()?;
        take(self.board.slaves(), self.board, &self.why)
    }
    fn slaves_barrier(&self) -> Result<(), Error> {
        self.board.slaves().post()?;
        take(self.board.masters(), self.board, &self.why)
    }
}

impl Link for Barriers<'_> {
    fn ping(&self, _: u32) -> Result<(), Error> {
        self.masters_barrier()
    }
    fn await_ping(&self, _: u32) -> Result<(), Error> {
        self.slaves_barrier()
    }
    fn pong(&self, _: u32) -> Result<(), Error> {
        self.slaves_barrier()
    }
    fn await_pong(&self, _: u32) -> Result<(), Error> {
        self.masters_barrier()
    }
}

/// Post one, wait for the other: the least that two semaphores can do.
struct HandOff<'a> {
    board: &'a PingPongMemory,
    why: WaitContext,
}

impl Link for HandOff<'_> {
    fn ping(&self, _: u32) -> Result<(), Error> {
        self.board.masters().post()
    }
    fn await_ping(&self, _: u32) -> Result<(), Error> {
        take(self.board.masters(), self.board, &self.why)
    }
    fn pong(&self, _: u32) -> Result<(), Error> {
        self.board.slaves().post()
    }
    fn await_pong(&self, _: u32) -> Result<(), Error> {
        take(self.board.slaves(), self.board, &self.why)
    }
}

/// From here on the master really sleeps; shorter sleeps end whenever the timer likes.
const SLEEPS_FROM: Nanos = Nanos::from_us(100);

/// What the master saw.
pub(super) struct Measured {
    pub(super) cycles: Vec<u64>,
    pub(super) cpus: BTreeMap<CpuId, u32>,
    pub(super) cpu_time: Nanos,
    pub(super) switches: Switches,
}

pub(super) fn master(setup: &Setup, board: &PingPongMemory, link: &dyn Link) -> Result<Measured, Error> {
    let round_trip = |round| {
        let began = clock::cycles();
        link.ping(round)?;
        link.await_pong(round)?;
        Ok::<_, Error>(clock::cycles().saturating_sub(began))
    };
    for round in 1..=WARM_UP {
        round_trip(round)?;
    }
    let mut cycles = Vec::with_capacity(setup.runs.min(1 << 20) as usize);
    let mut cpus = BTreeMap::new();
    let until = clock::now() + setup.at_most;
    let (cpu_time, switches) = (usage::thread_cpu(), usage::thread_switches());
    let mut round = WARM_UP;
    while cycles.len() < setup.runs as usize && clock::now() < until && !interrupt::requested() {
        idle(setup.gap);
        round = round.wrapping_add(1);
        cycles.push(round_trip(round)?);
        *cpus.entry(affinity::current()).or_insert(0) += 1;
    }
    let (cpu_time, after) = (usage::thread_cpu() - cpu_time, usage::thread_switches());
    board.stop();
    link.ping(round.wrapping_add(1))?;
    let voluntary = after.voluntary - switches.voluntary;
    let switches = Switches { voluntary, involuntary: after.involuntary - switches.involuntary };
    Ok(Measured { cycles, cpus, cpu_time, switches })
}

fn idle(gap: Nanos) {
    if gap >= SLEEPS_FROM {
        std::thread::sleep(Duration::from_nanos(gap.0));
    } else if gap > Nanos::ZERO {
        block_on(Thread::current().delay(gap));
    }
}

/// The first argument of a slave process.
pub const VERB: &str = "__ping-pong-slave";
/// For "no processor in particular".
const ANYWHERE: &str = "-";

/// Answers until the master says that it is over.
pub(super) fn slave(board: &PingPongMemory, link: &dyn Link) -> Result<(), Error> {
    let mut cpus = BTreeMap::new();
    let (mut round, mut began) = (0u32, Nanos::ZERO);
    loop {
        round = round.wrapping_add(1);
        link.await_ping(round)?;
        if board.stopped() {
            board.report(usage::thread_cpu() - began, &cpus);
            return Ok(());
        }
        link.pong(round)?;
        if round == WARM_UP {
            (began, cpus) = (usage::thread_cpu(), BTreeMap::new());
        } else {
            *cpus.entry(affinity::current()).or_insert(0) += 1;
        }
    }
}

/// Appends to a command what [`slave_main`] takes.
pub(super) fn tell(command: &mut Command, board: &PingPongMemory, method: Method, cpu: Option<CpuId>) {
    let (number, names) = board.number_and_names();
    let cpu = cpu.map_or(ANYWHERE.to_owned(), |cpu| cpu.to_string());
    command.args([VERB, method.name(), &number.to_string(), &cpu]).args(names);
}

/// The whole of a slave process: `args` are those of the process, from [`VERB`] on (which may be left out).
///
/// # Errors
/// If the arguments are not those that a master gives, or the master ends in the middle.
pub fn slave_main(args: &[String]) -> Result<(), Error> {
    let strange = || {
        Error::from(Cause::Unavailable {
            what: "the arguments of a ping-pong slave".to_owned(),
            remedy: "do not start it by hand: a master starts it".to_owned(),
        })
    };
    let args = args.strip_prefix(&[VERB.to_owned()]).unwrap_or(args);
    let [method, number, cpu, names @ ..] = args else { return Err(strange()) };
    let method = Method::parse(method)?;
    let board = PingPongMemory::attach(number.parse().map_err(|_| strange())?, method, names)?;
    // Control-C at the terminal reaches this process, too; the master then ends the game in good order.
    interrupt::install()?;
    if cpu != ANYWHERE {
        affinity::pin(cpu.parse().map_err(|_| strange())?)?;
    }
    clock::init();
    slave(&board, &*link(method, &board, WaitContext::new(WHAT, 1).of(0)))
}
