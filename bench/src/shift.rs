//! What a shift around a ring of threads costs, alone and behind a synchronisation: the question of Table III
//! in Seidel & Davis 1992, which their machine left unconfirmed, put to this one.
//!
//! All ways to shift take turns within one team, in an order drawn again for every round, so each is paired
//! with the others of its round. Before each shift the team leaves a start line together, and then each
//! member comes at a random moment.
use foregather_barrier::{Algorithm, BarrierMember, Group, SignalCost};
use foregather_host::{clock, interrupt, usage};
use foregather_machine::{Address, Cause, CpuId, Error, Member, Nanos, SplitMix, block_on};
use foregather_message::{Messenger, Protocol, Ring, Settings};
use foregather_shm::{Lane, SegmentSpec, ShmFabric};
use foregather_thread::Thread;
use foregather_wait::Policy;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Rounds before the first one that counts.
const WARM_UP: u32 = 30;

/// A way to shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShiftVariant {
    /// What the nodes do first, if anything: a forced message needs it, since its receive must have been
    /// posted.
    pub before: Option<Algorithm>,
    /// How the message goes.
    pub protocol: Protocol,
}

impl ShiftVariant {
    /// All that are compared, where a hop of RDS costs that much. The first is what the others are held
    /// against.
    pub fn all(hop: SignalCost) -> [Self; 5] {
        let variant = |before, protocol| Self { before, protocol };
        let (butterfly, rds) = (Some(Algorithm::Butterfly), Some(Algorithm::Rds { hop }));
        [
            variant(None, Protocol::Long),
            variant(butterfly, Protocol::Long),
            variant(rds, Protocol::Long),
            variant(butterfly, Protocol::Forced),
            variant(rds, Protocol::Forced),
        ]
    }

    /// `long`, `butterfly+long`, ... as in results.
    pub fn name(&self) -> String {
        let before = self.before.map(|kind| format!("{}+", kind.name())).unwrap_or_default();
        before + self.protocol.name()
    }
}

/// One series of rounds.
#[derive(Clone, Debug)]
pub struct Setup {
    /// How the team waits.
    pub policy: Policy,
    /// How many members it has: a power of two.
    pub threads: u32,
    /// Their processors, repeated if there are more members.
    pub cpus: Vec<CpuId>,
    /// Length of every message.
    pub bytes: usize,
    /// The ways to shift.
    pub variants: Vec<ShiftVariant>,
    /// Members come evenly spread over so long a time.
    pub entry_skew: Nanos,
    /// How many rounds.
    pub rounds: u32,
    /// When to stop although there were fewer, but for one.
    pub at_most: Nanos,
    /// Decides orders, and when members come.
    pub seed: u64,
}

/// What a series gave for one way.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// From the last member's arrival to the last one's exit, round by round.
    pub costs: Vec<Nanos>,
    /// Processor time of all members together, what they spend before they come included, round by round.
    pub cpus: Vec<Nanos>,
}

/// One member's part in one shift.
#[derive(Clone, Copy)]
struct Pass {
    came: u64,
    left: u64,
    cpu: Nanos,
}

/// Runs one series, each member pinned to its processor; what it gave for each of the ways, in their order.
///
/// # Errors
/// If the team is no power of two, there is no processor, a thread cannot be pinned, or a message is longer
/// than any can be.
pub fn run(setup: &Setup) -> Result<Vec<Series>, Error> {
    Ring::of(0, setup.threads)?;
    if setup.cpus.is_empty() {
        let remedy = "name one for each member, or one for all".to_owned();
        return Err(Cause::Unavailable { what: "a processor to run on".to_owned(), remedy }.into());
    }
    clock::init();
    let group = Group::new(Algorithm::Dissemination, setup.threads)?;
    let slots =
        setup.variants.iter().filter_map(|variant| variant.before).map(|kind| kind.slots(setup.threads)).max().unwrap_or(0);
    let fabric = ShmFabric::between_threads(SegmentSpec::new(setup.threads, 1))?;
    let (last, end) = (AtomicU32::new(u32::MAX), clock::now() + setup.at_most);
    let place = |rank| Some(setup.cpus[rank as usize % setup.cpus.len()]);
    let told = foregather_thread::run(setup.threads, place, |cpu, rank| {
        let member = group.member(cpu, rank, setup.policy)?;
        let settings = Settings { policy: Some(setup.policy), slots, ..Settings::default() };
        let port = Messenger::new(fabric.lane(cpu, Address { rank, lane: 0 })?, settings)?;
        let told = ShiftMember::new(setup, &port)?.run(member, &last, end)?;
        port.leave();
        Ok::<_, Error>(told)
    })?;
    let told = told.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok((0..setup.variants.len()).map(|variant| together(&told, variant)).collect())
}

/// One member with all it needs for a shift.
struct ShiftMember<'a> {
    setup: &'a Setup,
    port: &'a Messenger<Lane<Thread>>,
    ring: Ring,
    out: Vec<u8>,
    into: Vec<u8>,
    /// When this member comes.
    random: SplitMix,
}

impl<'a> ShiftMember<'a> {
    fn new(setup: &'a Setup, port: &'a Messenger<Lane<Thread>>) -> Result<Self, Error> {
        let (rank, bytes) = (port.rank(), setup.bytes);
        let random = SplitMix(SplitMix::mix(setup.seed).wrapping_add(u64::from(rank)));
        Ok(Self { setup, port, ring: Ring::of(rank, setup.threads)?, out: vec![rank as u8; bytes], into: vec![0; bytes], random })
    }

    /// Round after round, until one is the last; each way's passes.
    fn run(mut self, mut member: BarrierMember<Thread>, last: &AtomicU32, end: Nanos) -> Result<Vec<Vec<Pass>>, Error> {
        // All members draw the same orders.
        let mut orders = SplitMix(self.setup.seed);
        let variants = self.setup.variants.len();
        let mut passes = vec![Vec::with_capacity(self.setup.rounds as usize); variants];
        for round in 0.. {
            if self.port.rank() == 0 && (round + 1 >= WARM_UP + self.setup.rounds || clock::now() > end || interrupt::requested())
            {
                last.store(round, Relaxed);
            }
            for variant in orders.shuffled(variants) {
                let pass = self.pass(&mut member, self.setup.variants[variant])?;
                passes[variant].push(pass);
            }
            // Announced before a start line, so known to all members behind it.
            if round >= last.load(Relaxed) {
                break;
            }
        }
        for passes in &mut passes {
            passes.drain(..passes.len().saturating_sub(1).min(WARM_UP as usize));
        }
        Ok(passes)
    }

    fn pass(&mut self, member: &mut BarrierMember<Thread>, variant: ShiftVariant) -> Result<Pass, Error> {
        if variant.protocol == Protocol::Forced {
            self.ring.post(self.port, 0)?;
        }
        block_on(member.harmonize_adapted())?;
        let cpu = usage::thread_cpu();
        block_on(member.delay(Nanos(self.random.below(self.setup.entry_skew.0.max(1)))));
        let came = clock::cycles_serialized();
        if let Some(kind) = variant.before {
            block_on(kind.over(self.port))?;
        }
        block_on(self.ring.shift(self.port, 0, &self.out, &mut self.into, variant.protocol))?;
        let left = clock::cycles_serialized();
        Ok(Pass { came, left, cpu: usage::thread_cpu() - cpu })
    }
}

/// One way, all members taken together.
fn together(told: &[Vec<Vec<Pass>>], variant: usize) -> Series {
    let rounds = told.iter().map(|member| member[variant].len()).min().unwrap_or(0);
    let all = |round: usize| told.iter().map(move |member| &member[variant][round]);
    let cost = |round| {
        let (came, left) = (all(round).map(|pass| pass.came).max(), all(round).map(|pass| pass.left).max());
        clock::cycles_to_nanos(left.unwrap_or(0).saturating_sub(came.unwrap_or(0)))
    };
    let cpu = |round| all(round).fold(Nanos::ZERO, |sum, pass| sum + pass.cpu);
    Series { costs: (0..rounds).map(cost).collect(), cpus: (0..rounds).map(cpu).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_host::affinity;

    fn setup(threads: u32, bytes: usize) -> Setup {
        Setup {
            policy: Policy::Block,
            threads,
            cpus: affinity::allowed(),
            bytes,
            variants: ShiftVariant::all(SignalCost::ZERO).to_vec(),
            entry_skew: Nanos(1_700),
            rounds: 20,
            at_most: Nanos::from_ms(20_000),
            seed: 3,
        }
    }

    #[test]
    fn every_way_is_gone_in_every_round_by_every_team() {
        for (threads, bytes) in [(1, 64), (2, 0), (2, 70_000), (4, 3_000)] {
            let series = run(&setup(threads, bytes)).unwrap();
            assert_eq!(series.len(), 5);
            for variant in series {
                assert_eq!(variant.costs.len(), 20, "{threads} threads, {bytes} bytes");
                assert!(variant.costs.iter().filter(|cost| cost.0 > 0).count() > 15, "{:?}", variant.costs);
                assert!(variant.cpus.iter().all(|cpu| cpu.0 > 0), "{:?}", variant.cpus);
            }
        }
    }

    #[test]
    fn the_time_bounds_a_series_and_what_cannot_be_run_is_said() {
        let series = run(&Setup { at_most: Nanos::ZERO, ..setup(2, 64) }).unwrap();
        assert!(series.iter().all(|variant| variant.costs.len() == 1));
        assert!(matches!(Error::of(&run(&setup(3, 64))), Some(Cause::Size { size: 3, .. })));
        assert!(run(&Setup { cpus: vec![], ..setup(2, 64) }).is_err());
    }

    #[test]
    fn ways_have_names_of_their_own() {
        let names: Vec<_> = ShiftVariant::all(SignalCost::ZERO).iter().map(ShiftVariant::name).collect();
        assert_eq!(names, ["long", "butterfly+long", "rds+long", "butterfly+forced", "rds+forced"]);
    }
}
