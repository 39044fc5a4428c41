//! What null messages promise, seen through the barriers made of them.
use crate::{AsyncProgram, Network, World, permutations};
use foregather_barrier::{Algorithm, SignalCost, SignalMatrix, Subcube};
use foregather_machine::{Cause, Clock, Endpoint, Error, Member, Nanos, SplitMix};
use foregather_wait::Policy;
use std::fmt::Debug;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// A time that tells one arrival from the next.
const STEP: Nanos = Nanos::from_us(100);

/// Everything.
pub fn all(network: &impl Network) {
    for start in orders(1..=5) {
        nobody_leaves_before_the_last_arrives(network, &start);
    }
    a_round_too_few_is_found(network);
    for kind in kinds() {
        a_subcube_needs_nobody_outside(network, kind);
        rows_and_columns_take_turns(network, kind);
    }
    for kind in [Algorithm::Butterfly, Algorithm::Sync0] {
        let odd_size_refused = network.run(3, &[Nanos::ZERO; 6], Once(kind));
        assert!(odd_size_refused.iter().all(|end| matches!(Error::of(end), Some(Cause::Size { size: 6, .. }))));
    }
    assert_eq!(network.run(2, &[Nanos::ZERO; 2], SignalsAddUp), [Ok(()), Ok(())]);
}

/// Everything over null messages made of words.
pub fn all_over_flags(world: &impl World) {
    all(&OverFlags(world));
}

/// All kinds that send messages.
fn kinds() -> impl Iterator<Item = Algorithm> {
    let waiting = Algorithm::Rds { hop: SignalCost::IPSC860 };
    Algorithm::ALL.into_iter().filter(|&kind| kind != Algorithm::Central).chain([waiting])
}

/// The times at which the members begin, for all orders in which that many can.
fn orders(sizes: impl Iterator<Item = u32>) -> impl Iterator<Item = Vec<Nanos>> {
    sizes.flat_map(permutations).map(|order| order.into_iter().map(|place| STEP * u64::from(place)).collect())
}

/// Several episodes of every barrier for this number of members, which begin at these times.
pub fn nobody_leaves_before_the_last_arrives(network: &impl Network, start: &[Nanos]) {
    let size = start.len() as u32;
    for kind in kinds().filter(|kind| kind.takes(size).is_ok()) {
        assert_eq!(left_too_early(network, kind.slots(size), kind, start), 0, "{kind:?}, beginning at {start:?}");
    }
}

/// How often a member left an episode before the last had arrived in it.
fn left_too_early(network: &impl Network, slots: u32, barrier: impl Barrier, start: &[Nanos]) -> u32 {
    let ends = network.run(slots, start, Episodes { barrier, arrived: Default::default() });
    assert_eq!(ends.len(), start.len());
    ends.into_iter().map(|end| end.unwrap_or_else(|error| panic!("{barrier:?}: {error}"))).sum()
}

/// The barrier under test: a kind, or a mistake that must be found.
trait Barrier: Copy + Debug + Sync {
    async fn pass<E: Endpoint>(self, endpoint: &E) -> Result<(), Error>;
}

impl Barrier for Algorithm {
    async fn pass<E: Endpoint>(self, endpoint: &E) -> Result<(), Error> {
        self.over(endpoint).await
    }
}

/// How long a member computes before it arrives in an episode: at random, up to a step.
fn skew(member: &impl Member, episode: usize) -> Nanos {
    Nanos(SplitMix(SplitMix::mix(u64::from(member.rank()) << 32 | episode as u64)).below(STEP.0))
}

struct Episodes<B> {
    barrier: B,
    arrived: [AtomicU32; 3],
}

impl<B: Barrier> AsyncProgram<Result<u32, Error>> for Episodes<B> {
    async fn node<E: Endpoint>(&self, endpoint: &E) -> Result<u32, Error> {
        let mut too_early = 0;
        for (episode, arrived) in self.arrived.iter().enumerate() {
            if episode > 0 {
                endpoint.delay(skew(endpoint, episode)).await;
            }
            arrived.fetch_add(1, SeqCst);
            self.barrier.pass(endpoint).await?;
            too_early += u32::from(arrived.load(SeqCst) < endpoint.size());
        }
        Ok(too_early)
    }
}

/// The negative control: a dissemination that leaves out its last round.
#[derive(Clone, Copy, Debug)]
struct RoundTooFew;

impl Barrier for RoundTooFew {
    async fn pass<E: Endpoint>(self, endpoint: &E) -> Result<(), Error> {
        let mut round = 0;
        while 2 << round < endpoint.size() {
            endpoint.signal((endpoint.rank() + (1 << round)) % endpoint.size(), round).await?;
            endpoint.wait(round).await?;
            round += 1;
        }
        Ok(())
    }
}

fn a_round_too_few_is_found(network: &impl Network) {
    for size in 3..=5 {
        let found = orders(size..=size).map(|start| left_too_early(network, 2, RoundTooFew, &start)).sum::<u32>();
        assert!(found > 0, "the check is blind for {size} members");
    }
}

struct Once(Algorithm);

impl AsyncProgram<Result<(), Error>> for Once {
    async fn node<E: Endpoint>(&self, endpoint: &E) -> Result<(), Error> {
        self.0.over(endpoint).await
    }
}

/// Members whose middle bit is 1 leave; the others meet.
fn a_subcube_needs_nobody_outside(network: &impl Network, kind: Algorithm) {
    let ends = network.run(kind.slots(4) + 1, &[Nanos::ZERO; 8], FourOfEight { kind, arrived: Default::default() });
    assert_eq!(ends, [const { Ok(()) }; 8], "{kind:?}");
}

struct FourOfEight {
    kind: Algorithm,
    arrived: [AtomicU32; 3],
}

impl AsyncProgram<Result<(), Error>> for FourOfEight {
    async fn node<E: Endpoint>(&self, endpoint: &E) -> Result<(), Error> {
        if endpoint.rank() & 0b010 > 0 {
            return Ok(());
        }
        let cube = Subcube::new(endpoint, 0b101, 1)?;
        for (episode, arrived) in self.arrived.iter().enumerate() {
            cube.delay(skew(&cube, episode)).await;
            arrived.fetch_add(1, SeqCst);
            self.kind.over(&cube).await?;
            assert_eq!(arrived.load(SeqCst), 4, "{:?}: left the subcube too early", self.kind);
        }
        Ok(())
    }
}

/// A member whose row has met and whose column has met has heard of the whole grid.
fn rows_and_columns_take_turns(network: &impl Network, kind: Algorithm) {
    let ends = network.run(2 * kind.slots(4), &[Nanos::ZERO; 16], GridTest { kind, arrived: Default::default() });
    assert_eq!(ends, [const { Ok(()) }; 16], "{kind:?}");
}

struct GridTest {
    kind: Algorithm,
    /// Arrivals by row, for each episode.
    arrived: [[AtomicU32; 4]; 3],
}

impl AsyncProgram<Result<(), Error>> for GridTest {
    async fn node<E: Endpoint>(&self, endpoint: &E) -> Result<(), Error> {
        let (row, column) = (Subcube::row(endpoint, 0)?, Subcube::column(endpoint, self.kind.slots(4))?);
        for (episode, arrived) in self.arrived.iter().enumerate() {
            let mine = &arrived[endpoint.rank() as usize / 4];
            endpoint.delay(skew(endpoint, episode)).await;
            mine.fetch_add(1, SeqCst);
            self.kind.over(&row).await?;
            assert_eq!(mine.load(SeqCst), 4, "{:?}: left the row too early", self.kind);
            self.kind.over(&column).await?;
            let all = arrived.iter().map(|row| row.load(SeqCst)).sum::<u32>();
            assert_eq!(all, 16, "{:?}: left the column too early", self.kind);
        }
        Ok(())
    }
}

struct SignalsAddUp;

impl AsyncProgram<Result<(), Error>> for SignalsAddUp {
    async fn node<E: Endpoint>(&self, endpoint: &E) -> Result<(), Error> {
        for _ in 0..10 {
            endpoint.signal(1 - endpoint.rank(), 1).await?;
        }
        for _ in 0..10 {
            endpoint.wait(1).await?;
        }
        Ok(())
    }
}

/// A world with words as a network.
struct OverFlags<'w, W>(&'w W);

impl<W: World> Network for OverFlags<'_, W> {
    fn run<T: Send>(&self, slots: u32, start: &[Nanos], program: impl AsyncProgram<T> + Sync) -> Vec<T> {
        let size = start.len() as u32;
        let flags = SignalMatrix::new(size, slots);
        self.0.run(size, async |cpu: W::Cpu<'_>, rank| {
            let end = flags.endpoint(cpu, rank, Policy::Block);
            end.delay(start[rank as usize]).await;
            program.node(&end).await
        })
    }
}
