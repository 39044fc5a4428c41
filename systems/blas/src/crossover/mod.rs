//! The size from which on a call is shared: measured once for each routine on each machine, at its first use,
//! and kept.
//!
//! A call below its crossover reads one word and goes on alone. There are two crossovers: a warm one for
//! calls that follow each other, whose members are still on their processors, and a cold one for calls after
//! a pause, whose members must be woken first.
mod kept;
mod measure;
mod routine;

pub use routine::Routine;
pub(crate) use routine::{COUNT, Level, memory, work};

use foregather_host::clock;
use foregather_machine::Nanos;
use foregather_team::{Allowed, Team};
use kept::KeptSizes;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError, TryLockError};

/// The two crossovers of a routine, in the sizes that [`worth`] takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CrossoverSizes {
    pub(crate) warm: u64,
    pub(crate) cold: u64,
}

impl CrossoverSizes {
    /// The crossovers of a process that may use one member only: no call is shared.
    const NEVER: Self = Self { warm: KNOWN_MOST, cold: KNOWN_MOST };

    /// The crossovers before a measurement: twice the usual ones, and after a pause sixteen times those.
    fn unmeasured(routine: Routine) -> Self {
        let warm = routine.size_of_order(routine.usual()).saturating_mul(2);
        Self { warm, cold: warm.saturating_mul(16) }
    }
}

/// The lowest bit of a word says that its crossover is known; until then the rest is the least size that
/// may be worth a team, so that smaller calls need not look at the machine.
const KNOWN: u64 = 1;
const KNOWN_MOST: u64 = u64::MAX >> 1;

/// The decisions of one process; words are read and written without order, since each is complete by itself.
struct CrossoverTable {
    warm: [AtomicU64; COUNT],
    cold: [AtomicU64; COUNT],
    /// When the team was called last, or would have been if awake: nanoseconds of the clock.
    last_ns: AtomicU64,
    /// A call that comes within this time after the last finds the members awake.
    awake_ns: AtomicU64,
    /// The limit of the team, by its number, under which one member was all that the machine allowed.
    alone_under: AtomicU32,
    learning: Mutex<Learning>,
}

struct Learning {
    /// Whether the file has been read.
    read: bool,
    /// What the file has of each routine, or would have if it could be written.
    kept: [KeptSizes; COUNT],
    /// What cannot be used or kept, and why.
    trouble: Vec<String>,
}

static TABLE: CrossoverTable = CrossoverTable {
    warm: unknown(),
    cold: [const { AtomicU64::new(0) }; COUNT],
    last_ns: AtomicU64::new(0),
    awake_ns: AtomicU64::new(0),
    alone_under: AtomicU32::new(UNKNOWN_LIMIT),
    learning: Mutex::new(Learning { read: false, kept: [KeptSizes::NONE; COUNT], trouble: Vec::new() }),
};

/// The words of routines whose crossovers are not known.
const fn unknown() -> [AtomicU64; COUNT] {
    let (mut words, mut at) = ([const { AtomicU64::new(0) }; COUNT], 0);
    while at < COUNT {
        let routine = Routine::ALL[at];
        words[routine as usize] = AtomicU64::new(routine.size_of_order(routine.ladder()[0]) << 1);
        at += 1;
    }
    words
}

/// Whether a call of that size is to be shared. Below the crossover this is one look at one word.
#[inline(always)]
pub(crate) fn worth(routine: Routine, size: u64) -> bool {
    let word = TABLE.warm[routine as usize].load(Relaxed);
    size >= word >> 1 && above(routine, size, word)
}

/// Whether no team is worth a call of that size, by one look at one word; `false` leaves the answer to
/// [`worth`].
#[inline(always)]
pub(crate) fn is_small(routine: Routine, size: u64) -> bool {
    size < TABLE.warm[routine as usize].load(Relaxed) >> 1
}

/// Whether a call of that size is to be shared whenever it comes, for it is longer than members take to wake.
pub(crate) fn worth_waking(routine: Routine, size: u64) -> bool {
    worth(routine, size) && size >= TABLE.cold[routine as usize].load(Relaxed)
}

/// Notes that the team has been called, and is awake.
pub(crate) fn called() {
    TABLE.last_ns.store(clock::now().0, Relaxed);
}

fn above(routine: Routine, size: u64, word: u64) -> bool {
    if is_alone() {
        return false;
    }
    if word & KNOWN == 0 {
        let sizes = learn(routine);
        if size < sizes.warm {
            return false;
        }
    }
    let now = clock::now().0;
    let pause = now.saturating_sub(TABLE.last_ns.swap(now, Relaxed));
    pause < TABLE.awake_ns.load(Relaxed) || size >= after(Nanos(pause), TABLE.cold[routine as usize].load(Relaxed))
}

/// No limit of a team has this number.
const UNKNOWN_LIMIT: u32 = u32::MAX;

fn number(limit: Option<NonZeroU32>) -> u32 {
    limit.map_or(0, NonZeroU32::get)
}

/// Returns whether the team is known to have only one member. A program may change its thread limit, so this
/// is not stored as a crossover.
fn is_alone() -> bool {
    let limit = number(Team::global().limit());
    limit == 1 || limit == TABLE.alone_under.load(Relaxed)
}

/// The cold crossover after `pause`, if it is `cold` after a short one.
fn after(pause: Nanos, cold: u64) -> u64 {
    if pause < DEEP { cold } else { cold.saturating_mul(2) }
}

/// Finds the crossovers of a routine that is used for the first time. A measurement inside a call of the
/// team, or beside another measuring thread, would be wrong: it is left to a later call.
#[cold]
fn learn(routine: Routine) -> CrossoverSizes {
    let mut learning = match TABLE.learning.try_lock() {
        Ok(learning) => learning,
        Err(TryLockError::Poisoned(learning)) => learning.into_inner(),
        Err(TryLockError::WouldBlock) => return CrossoverSizes::unmeasured(routine),
    };
    let limit = Team::global().limit();
    let members = Allowed::under(limit).members();
    if members < 2 {
        TABLE.alone_under.store(number(limit), Relaxed);
        return CrossoverSizes::NEVER;
    }
    if !learning.read {
        read_file(&mut learning, Allowed::now().members());
    }
    if let Some(sizes) = known(routine) {
        return sizes;
    }
    if !Team::global().is_free() {
        return CrossoverSizes::unmeasured(routine);
    }
    measure_and_keep(routine, members, limit.is_some(), &mut learning)
}

/// Takes over the file's crossovers for a team of `members`.
fn read_file(learning: &mut Learning, members: u32) {
    learning.read = true;
    TABLE.awake_ns.store(measure::awake().0, Relaxed);
    match kept::load(members) {
        Ok(all) => all.into_iter().for_each(|(routine, kept)| {
            if kept.is_settled(routine) {
                publish(routine, kept.sizes(routine));
            }
            learning.kept[routine as usize] = kept;
        }),
        Err(why) => learning.trouble.push(why),
    }
}

/// Measures a routine, and keeps the result for later programs if it is of the whole team.
fn measure_and_keep(routine: Routine, members: u32, limited: bool, learning: &mut Learning) -> CrossoverSizes {
    let found = measure::measure(routine, members);
    let sizes = found.sizes.unwrap_or_else(|| CrossoverSizes::unmeasured(routine));
    let why_not = match (found.calm, limited) {
        (false, _) => Some("members came late, so other programs use the processors"),
        (true, true) => Some("the program limits the team"),
        (true, false) => None,
    };
    let kept = &mut learning.kept[routine as usize];
    // A measurement that is not kept holds for this process only, and like a first one within the usual
    // range.
    let mut now = if why_not.is_some() { KeptSizes::NONE } else { kept.clone() };
    now.add(sizes);
    let sizes = now.sizes(routine);
    publish(routine, sizes);
    if let Some(why) = why_not {
        learning.trouble.push(format!("the crossover of {} is not kept: {why}: it will be measured again", routine.name()));
        return sizes;
    }
    *kept = now;
    let kept = Routine::ALL.into_iter().zip(learning.kept.iter().cloned()).filter(|(_, kept)| !kept.is_empty());
    if let Err(why) = kept::store(members, kept) {
        learning.trouble.push(why);
    }
    sizes
}

fn known(routine: Routine) -> Option<CrossoverSizes> {
    let word = TABLE.warm[routine as usize].load(Relaxed);
    let cold = TABLE.cold[routine as usize].load(Relaxed);
    (word & KNOWN != 0).then_some(CrossoverSizes { warm: word >> 1, cold })
}

fn publish(routine: Routine, sizes: CrossoverSizes) {
    TABLE.cold[routine as usize].store(sizes.cold, Relaxed);
    TABLE.warm[routine as usize].store(sizes.warm.min(KNOWN_MOST) << 1 | KNOWN, Relaxed);
}

/// The crossovers of one routine as lengths of vectors, or orders of square matrices, of `f64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crossover {
    /// The routine that they are crossovers of.
    pub routine: Routine,
    /// From this size on, calls that follow another one are shared. `None` if none is.
    pub warm: Option<u64>,
    /// From this size on, calls after a pause are shared. `None` if none is.
    pub cold: Option<u64>,
}

/// The crossovers of this process; unknown ones are measured now (a few milliseconds each). The texts say
/// what could not be used or kept, and why.
pub fn crossovers() -> (Vec<Crossover>, Vec<String>) {
    let order = |routine: Routine, size: u64| (size < KNOWN_MOST).then(|| routine.order_of_size(size));
    let one = |&routine: &Routine| {
        let sizes = known(routine).unwrap_or_else(|| learn(routine));
        Crossover { routine, warm: order(routine, sizes.warm), cold: order(routine, sizes.cold) }
    };
    let all = Routine::ALL.iter().map(one).collect();
    (all, TABLE.learning.lock().unwrap_or_else(PoisonError::into_inner).trouble.clone())
}

/// The file that keeps crossovers from run to run, if there is one, and for how many routines it has them for
/// a team of `members`, or why it is ignored. Measures nothing.
pub fn kept_crossovers(members: u32) -> (Option<PathBuf>, Result<usize, String>) {
    (kept::path(), kept::load(members).map(|all| all.len()))
}

/// Members sleep after this many wake-ups without a call.
const AWAKE_WAKES: u64 = 10;
/// A call after a pause is shared if it takes as long alone as this many wake-ups. A member that has slept
/// for a millisecond begins three wake-ups late, and saves half of the call less that.
const COLD_WAKES: u64 = 8;
/// A member that has slept for longer than this begins twice as late.
const DEEP: Nanos = Nanos::from_ms(4);

/// How long a call must take alone so that waking the members pays.
fn cold_time(wake: Nanos) -> Nanos {
    wake * COLD_WAKES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_shared_from_its_crossover_on_and_after_a_pause_only_if_it_is_long() {
        // No other test of this crate computes a norm.
        let (routine, name) = (Routine::Nrm2, Routine::Nrm2 as usize);
        publish(routine, CrossoverSizes { warm: 1_000, cold: 50_000 });
        TABLE.awake_ns.store(u64::MAX, Relaxed);
        called();
        assert!(!worth(routine, 999) && worth(routine, 1_000));
        TABLE.awake_ns.store(0, Relaxed);
        assert!(!worth(routine, 49_999) && worth(routine, 50_000));
        assert_eq!(known(routine), Some(CrossoverSizes { warm: 1_000, cold: 50_000 }));
        publish(routine, CrossoverSizes::NEVER);
        assert!(!worth(routine, KNOWN_MOST - 1));
        let word = unknown()[name].load(Relaxed);
        TABLE.warm[name].store(word, Relaxed);
        assert!(known(routine).is_none() && !worth(routine, (word >> 1) - 1), "too small for anybody's team");
    }

    #[test]
    fn one_member_that_was_found_under_another_limit_is_no_reason() {
        assert_ne!(number(None), UNKNOWN_LIMIT);
        TABLE.alone_under.store(number(NonZeroU32::new(3)), Relaxed);
        assert!(!is_alone(), "no test of this crate sets a limit");
        TABLE.alone_under.store(UNKNOWN_LIMIT, Relaxed);
    }

    #[test]
    fn a_long_pause_asks_for_a_call_twice_as_long() {
        assert_eq!([Nanos::ZERO, Nanos(DEEP.0 - 1), DEEP, Nanos::MAX].map(|pause| after(pause, 7)), [7, 7, 14, 14]);
        assert_eq!(after(DEEP, u64::MAX), u64::MAX, "never");
    }

    #[test]
    fn orders_and_sizes_are_each_others_inverse() {
        for routine in Routine::ALL {
            let ladder = routine.ladder();
            assert!(ladder.windows(2).all(|steps| steps[0] < steps[1]), "{}", routine.name());
            for &n in ladder {
                assert_eq!(routine.order_of_size(routine.size_of_order(n)), n as u64);
            }
            assert!(ladder.len() >= 3, "two steps in a row decide");
        }
        assert_eq!(work::<crate::c64>(2, 3, 4), 24 * 32);
        assert_eq!(work::<f32>(usize::MAX, 3, 4), u64::MAX);
    }
}
