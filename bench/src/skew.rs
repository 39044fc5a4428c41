//! What a barrier costs and how unevenly its members leave it: the experiment by which barriers are ranked
//! twice.
//!
//! Members come at random moments within a span, as they would after work, and each notes by the cycle
//! counter, in order with the instructions around it, when it came and when it left. Two processors' counters
//! are compared, so the skew is true within [`clock::cross_cpu_offset_bound`] only.
use foregather_barrier::{Algorithm, BarrierMember, Group, Punctual};
use foregather_host::{clock, interrupt, usage};
use foregather_machine::named;
use foregather_machine::{Cause, CpuId, Error, Nanos, SplitMix, block_on};
use foregather_thread::Thread;
use foregather_wait::Policy;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Episodes before the first one that counts: lines are touched, and the adapted slack has found its place.
/// They take a quarter of the time at most.
const WARM_UP: u32 = 300;

named! {
    /// How members leave the barrier.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Release {
        /// As the news reaches them.
        Plain = "plain",
        /// At one moment, with an adapted slack.
        Harmonized = "harmonized",
    }
}

/// One series of episodes.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The barrier.
    pub kind: Algorithm,
    /// How members wait in it.
    pub policy: Policy,
    /// How they leave it.
    pub release: Release,
    /// How many there are.
    pub threads: u32,
    /// Their processors, repeated if there are more members.
    pub cpus: Vec<CpuId>,
    /// They come evenly spread over so long a time.
    pub entry_skew: Nanos,
    /// How many episodes.
    pub episodes: u32,
    /// When to stop although there were fewer, but for one.
    pub at_most: Nanos,
    /// Decides when they come.
    pub seed: u64,
}

/// One episode, all members taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Episode {
    /// From the last member's arrival to the last one's exit.
    pub cost: Nanos,
    /// From the first member's exit to the last one's.
    pub skew: Nanos,
    /// Whether all of them left on time. Always true if they did not have to.
    pub met: bool,
}

/// What a series gave.
#[derive(Clone, Debug)]
pub struct Series {
    /// Every episode but those of the warm-up.
    pub episodes: Vec<Episode>,
    /// Processor time of all members together, from when each had warmed up, the time they spend before they
    /// come included.
    pub cpu: Nanos,
    /// The longest slack that a member asked for at the end.
    pub slack: Nanos,
}

/// One member's part in one episode.
struct Pass {
    came: u64,
    left: u64,
    met: bool,
}

/// All that a member brings home.
struct MemberLog {
    passes: Vec<Pass>,
    cpu: Nanos,
    slack: Nanos,
}

/// From which episode to which is measured: announced by member 0 before a barrier, so all members know of it
/// behind that.
struct EpisodeRange {
    first: AtomicU32,
    last: AtomicU32,
    began: Nanos,
}

impl EpisodeRange {
    /// Member 0 is about to begin that episode.
    fn announce(&self, setup: &Setup, episode: u32) {
        let (first, late) = (self.first.load(Relaxed), |share| clock::now() > self.began + setup.at_most.percent(share));
        if first == u32::MAX {
            if episode + 1 >= WARM_UP || late(25) {
                self.first.store(episode + 1, Relaxed);
            }
        } else if episode + 1 >= first + setup.episodes || late(100) || interrupt::requested() {
            self.last.store(episode, Relaxed);
        }
    }
}

/// Runs one series, each member pinned to its processor.
///
/// # Errors
/// If the barrier does not take that many members, there is no processor, or a thread cannot be pinned.
pub fn run(setup: &Setup) -> Result<Series, Error> {
    let group = Group::new(setup.kind, setup.threads)?;
    if setup.cpus.is_empty() {
        let remedy = "name one for each member, or one for all".to_owned();
        return Err(Cause::Unavailable { what: "a processor to run on".to_owned(), remedy }.into());
    }
    clock::init();
    let never = || AtomicU32::new(u32::MAX);
    let stretch = EpisodeRange { first: never(), last: never(), began: clock::now() };
    let place = |rank| Some(setup.cpus[rank as usize % setup.cpus.len()]);
    let told = foregather_thread::run(setup.threads, place, |cpu, rank| {
        let mut member = group.member(cpu, rank, setup.policy)?;
        run_member(setup, &mut member, &stretch)
    })?;
    let told = told.into_iter().collect::<Result<Vec<_>, _>>()?;
    let cpu = told.iter().fold(Nanos::ZERO, |sum, member| sum + member.cpu);
    let slack = told.iter().map(|member| member.slack).max().unwrap_or_default();
    Ok(Series { episodes: together(&told), cpu, slack })
}

fn run_member(setup: &Setup, member: &mut BarrierMember<Thread>, stretch: &EpisodeRange) -> Result<MemberLog, Error> {
    let mut random = SplitMix(setup.seed.wrapping_mul(1_009).wrapping_add(u64::from(member.rank())));
    let mut pass = |member: &mut BarrierMember<Thread>| {
        block_on(member.delay(Nanos(random.below(setup.entry_skew.0.max(1)))));
        let came = clock::cycles_serialized();
        let met = match setup.release {
            Release::Plain => block_on(member.wait()).map(|()| true),
            Release::Harmonized => block_on(member.harmonize_adapted()).map(|punctual| punctual == Punctual::Met),
        }?;
        Ok::<_, Error>(Pass { came, left: clock::cycles_serialized(), met })
    };
    let mut passes = Vec::with_capacity(setup.episodes as usize);
    let mut cpu = Nanos::ZERO;
    for episode in 0.. {
        if member.rank() == 0 {
            stretch.announce(setup, episode);
        }
        let passed = pass(member)?;
        let first = stretch.first.load(Relaxed);
        if episode + 1 == first {
            cpu = usage::thread_cpu();
        } else if episode >= first {
            passes.push(passed);
        }
        if episode >= stretch.last.load(Relaxed) {
            break;
        }
    }
    let cpu = usage::thread_cpu() - cpu;
    Ok(MemberLog { passes, cpu, slack: member.slack() })
}

/// Episode by episode, what all members did.
fn together(told: &[MemberLog]) -> Vec<Episode> {
    let count = told.iter().map(|member| member.passes.len()).min().unwrap_or(0);
    let episode = |at: usize| {
        let all = || told.iter().map(|member| &member.passes[at]);
        let last_came = all().map(|pass| pass.came).max().unwrap_or(0);
        let (first_left, last_left) = (all().map(|pass| pass.left).min(), all().map(|pass| pass.left).max());
        let span = |from: u64| clock::cycles_to_nanos(last_left.unwrap_or(0).saturating_sub(from));
        Episode { cost: span(last_came), skew: span(first_left.unwrap_or(0)), met: all().all(|pass| pass.met) }
    };
    (0..count).map(episode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_host::affinity;

    fn setup(release: Release, threads: u32) -> Setup {
        Setup {
            kind: Algorithm::Central,
            policy: Policy::Block,
            release,
            threads,
            cpus: affinity::allowed(),
            entry_skew: Nanos(1_700),
            episodes: 200,
            at_most: Nanos::from_ms(10_000),
            seed: 3,
        }
    }

    #[test]
    fn every_episode_is_told_and_none_ends_before_its_last_member_came() {
        for release in Release::ALL {
            let series = run(&setup(release, 3)).unwrap();
            assert_eq!(series.episodes.len(), 200);
            // Counters of two processors may differ by as much as a line takes; no barrier takes less than
            // nothing.
            assert!(series.episodes.iter().filter(|episode| episode.cost > Nanos::ZERO).count() > 190, "{:?}", series.episodes);
            assert!(series.cpu > Nanos::ZERO);
            assert!(release == Release::Harmonized || series.episodes.iter().all(|episode| episode.met));
        }
    }

    #[test]
    fn the_time_bounds_a_series() {
        let series = run(&Setup { at_most: Nanos::ZERO, ..setup(Release::Plain, 2) }).unwrap();
        assert_eq!(series.episodes.len(), 1);
    }

    #[test]
    fn what_cannot_be_run_is_said() {
        assert!(run(&Setup { cpus: vec![], ..setup(Release::Plain, 2) }).is_err());
        assert!(run(&Setup { kind: Algorithm::Butterfly, ..setup(Release::Plain, 3) }).is_err());
    }
}
