//! IS: the rank that each of many small numbers has once they are sorted, found by counting (NAS Parallel
//! Benchmarks; shared as in Itzkovitz & Schuster 1999 §4). Keys and ranks are private; only the counts of all
//! values are shared.
use super::App;
use core::ops::Range;
use foregather_dsm::memory::{Array, Settings, SharedAllocator, Thread};
use foregather_machine::{Cause, Error, Fabric};
use serde::{Deserialize, Serialize};

/// The input: `2^keys_log2` keys below `2^values_log2`, ranked `iterations` times with two keys changed
/// before each.
///
/// The counts lie in `regions` units. In stage `s` thread `t` adds its counts to region `t + s`, so no two
/// threads are in one region, and the first thread there overwrites the counts of the iteration before. Each
/// stage ends with a barrier, and so does the reading of all counts: `iterations x (regions + 1)` barriers
/// with no more threads than regions, 90 with the paper's input. On `p` ranks of one thread an iteration has
/// `regions` upgrades by the threads that come first, `regions (p - 1)` fetches to write by later ones, and
/// `regions (p - 1)` reads of the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Is {
    /// The number of keys is 2 to this power; at least 5.
    pub keys_log2: u32,
    /// The number of values that a key can have is 2 to this power; from 5 on, below 32.
    pub values_log2: u32,
    /// How often all keys are ranked, after one round that does not count; 1 to 10.
    pub iterations: u32,
    /// Units of the shared counts; the paper had 8, one for each host.
    pub regions: u32,
}

/// A thread's result: its part of the keys, in order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ranked {
    /// Its keys, as they are in the end.
    pub keys: Vec<u32>,
    /// The place of each among all keys.
    pub ranks: Vec<u32>,
    /// For each of its watched keys, how many keys were less, iteration by iteration.
    pub watched: Vec<Watched>,
}

/// The count of one watched key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Watched {
    /// The iteration, from 1 on.
    pub iteration: u32,
    /// Which of the five watched keys.
    pub which: u32,
    /// How many keys were less.
    pub less: u32,
}

/// How many keys are watched.
const WATCHED: usize = 5;
/// Keys number `iteration` and `iteration + MARKS` are changed before each.
const MARKS: usize = 10;

/// The values that NAS publishes for a class: the watched keys, and the rank of each in iteration `it` as
/// `rank + sign x (it - back)`.
struct Nas {
    name: &'static str,
    keys_log2: u32,
    values_log2: u32,
    watched: [usize; WATCHED],
    ranks: [i64; WATCHED],
    signs: [i64; WATCHED],
    back: [i64; WATCHED],
}

const CLASSES: [Nas; 3] = [
    Nas {
        name: "S",
        keys_log2: 16,
        values_log2: 11,
        watched: [48_427, 17_148, 23_627, 62_548, 4_431],
        ranks: [0, 18, 346, 64_917, 65_463],
        signs: [1, 1, 1, -1, -1],
        back: [0; WATCHED],
    },
    Nas {
        name: "W",
        keys_log2: 20,
        values_log2: 16,
        watched: [357_773, 934_767, 875_723, 898_999, 404_505],
        ranks: [1_249, 11_698, 1_039_987, 1_043_896, 1_048_018],
        signs: [1, 1, -1, -1, -1],
        back: [2, 2, 0, 0, 0],
    },
    Nas {
        name: "A",
        keys_log2: 23,
        values_log2: 19,
        watched: [2_112_377, 662_041, 5_336_171, 3_642_833, 4_250_760],
        ranks: [104, 17_523, 123_928, 8_288_932, 8_388_264],
        signs: [1, 1, 1, -1, -1],
        back: [1; WATCHED],
    },
];

impl Is {
    /// The paper's: 2^23 keys of 2^9 values (Table 2); no class of the NAS.
    pub const fn paper() -> Self {
        Self { keys_log2: 23, values_log2: 9, iterations: 10, regions: 8 }
    }

    /// NAS class S: 2^16 keys of 2^11 values.
    pub const fn small() -> Self {
        Self { keys_log2: 16, values_log2: 11, ..Self::paper() }
    }

    /// A class of the NAS: S, W or A.
    pub fn class(name: &str) -> Option<Self> {
        let class = CLASSES.iter().find(|class| class.name == name)?;
        Some(Self { keys_log2: class.keys_log2, values_log2: class.values_log2, ..Self::paper() })
    }

    /// The number of keys.
    pub const fn keys(&self) -> usize {
        1 << self.keys_log2
    }

    /// The number of values that a key can have.
    pub const fn values(&self) -> usize {
        1 << self.values_log2
    }

    /// The program without shared memory.
    pub fn sequential(&self) -> Ranked {
        let mut part = ThreadKeys::new(self, 0..self.keys());
        for iteration in [1].into_iter().chain(1..=self.iterations) {
            part.count(self, iteration);
            part.all.copy_from_slice(&part.mine);
            part.rank(self, iteration);
        }
        part.ranked
    }

    fn nas(&self) -> Option<&'static Nas> {
        CLASSES.iter().find(|class| (class.keys_log2, class.values_log2) == (self.keys_log2, self.values_log2))
    }

    /// The numbers of the watched keys.
    fn watched(&self) -> [usize; WATCHED] {
        self.nas().map_or_else(|| core::array::from_fn(|which| self.keys() * (which + 1) / (WATCHED + 1)), |class| class.watched)
    }

    /// The two keys that an iteration changes, and their new values.
    fn marks(&self, iteration: u32) -> [(usize, u32); 2] {
        [(iteration as usize, iteration), (iteration as usize + MARKS, self.values() as u32 - iteration)]
    }

    /// Keys of NAS: the mean of four uniform numbers below 1, times the number of values.
    fn generate(&self, part: Range<usize>) -> Vec<u32> {
        let mut random = Randlc::after(4 * part.start as u64);
        let key = |_| ((0..4).map(|_| random.next()).sum::<u64>() >> (Randlc::BITS + 2 - self.values_log2)) as u32;
        part.map(key).collect()
    }

    fn check(&self) -> Result<(), Error> {
        let sound = (5..32).contains(&self.keys_log2) && (5..32).contains(&self.values_log2);
        if sound && (1..=MARKS as u32).contains(&self.iterations) && (1..=self.values()).contains(&(self.regions as usize)) {
            return Ok(());
        }
        let needs = "2^5 to 2^31 keys and values, 1 to 10 iterations, and 1 region at least, but no more than values";
        Err(Cause::Setting { what: "the input of IS", needs }.into())
    }
}

/// The generator of NAS: `x = a x mod 2^46`; the number drawn is `x / 2^46`, here kept whole.
struct Randlc(u64);

impl Randlc {
    const BITS: u32 = 46;
    const A: u64 = 1_220_703_125;
    const SEED: u64 = 314_159_265;

    /// The generator after `draws` draws.
    fn after(draws: u64) -> Self {
        let (mut x, mut power, mut left) = (Self::SEED, Self::A, draws);
        while left > 0 {
            if left & 1 == 1 {
                x = Self::times(x, power);
            }
            power = Self::times(power, power);
            left >>= 1;
        }
        Self(x)
    }

    // 2^46 divides 2^64, so an overflow would be cut off anyway.
    const fn times(a: u64, b: u64) -> u64 {
        a.wrapping_mul(b) & ((1 << Self::BITS) - 1)
    }

    fn next(&mut self) -> u64 {
        self.0 = Self::times(self.0, Self::A);
        self.0
    }
}

/// A thread's private data.
struct ThreadKeys {
    /// The number of its first key.
    first: usize,
    ranked: Ranked,
    /// By value, how many of its keys have it.
    mine: Vec<u32>,
    /// By value, how many keys of threads whose counts came in before.
    before: Vec<u32>,
    /// By value, how many keys of all threads.
    all: Vec<u32>,
    region: Vec<u32>,
}

impl ThreadKeys {
    fn new(is: &Is, part: Range<usize>) -> Self {
        let none = || vec![0; is.values()];
        let (first, ranks) = (part.start, vec![0; part.len()]);
        let ranked = Ranked { keys: is.generate(part), ranks, watched: Vec::new() };
        Self { first, ranked, mine: none(), before: none(), all: none(), region: Vec::new() }
    }

    fn count(&mut self, is: &Is, iteration: u32) {
        for (number, value) in is.marks(iteration) {
            if let Some(key) = number.checked_sub(self.first).and_then(|at| self.ranked.keys.get_mut(at)) {
                *key = value;
            }
        }
        self.mine.fill(0);
        self.ranked.keys.iter().for_each(|&key| self.mine[key as usize] += 1);
    }

    /// Adds its counts of one region to those of all threads.
    fn add(&mut self, counts: &Array<u32>, region: usize, comes_first: bool) {
        let values = region * counts.unit()..((region + 1) * counts.unit()).min(counts.len());
        let (mine, before) = (&self.mine[values.clone()], &mut self.before[values.clone()]);
        if comes_first {
            before.fill(0);
            return counts.store(values.start, mine);
        }
        counts.load_for_update(values.start, before);
        self.region.clear();
        self.region.extend(mine.iter().zip(before).map(|(mine, before)| mine + *before));
        counts.store(values.start, &self.region);
    }

    fn rank(&mut self, is: &Is, iteration: u32) {
        if iteration == 1 {
            // It is done twice: the first time does not count.
            self.ranked.watched.clear();
        }
        let mut less = 0;
        for all in &mut self.all {
            less += core::mem::replace(all, less);
        }
        for (which, number) in is.watched().into_iter().enumerate() {
            if let Some(&key) = number.checked_sub(self.first).and_then(|at| self.ranked.keys.get(at)) {
                let less = self.all[key as usize];
                self.ranked.watched.push(Watched { iteration, which: which as u32, less });
            }
        }
        // From the number of lesser keys to the rank of this thread's first key of that value.
        self.all.iter_mut().zip(&self.before).for_each(|(all, before)| *all += before);
        for (rank, &key) in self.ranked.ranks.iter_mut().zip(&self.ranked.keys) {
            *rank = self.all[key as usize];
            self.all[key as usize] += 1;
        }
    }

    fn iterate<F: Fabric>(&mut self, is: &Is, iteration: u32, thread: &Thread<'_, F>, counts: &Array<u32>) -> Result<(), Error> {
        self.count(is, iteration);
        let (me, threads, regions) = (thread.number() as usize, thread.all() as usize, counts.units());
        let stages = regions.max(threads);
        for stage in 0..stages {
            let region = (me + stage) % stages;
            // The last thread is the first to meet a region that no thread begins with, on its way up.
            let comes_first = stage == 0 || (me + 1 == threads && me + stage < stages);
            if region < regions {
                self.add(counts, region, comes_first);
            }
            thread.barrier()?;
        }
        counts.load(0, &mut self.all);
        thread.barrier()?;
        self.rank(is, iteration);
        Ok(())
    }
}

impl App for Is {
    type Shared = Array<u32>;
    type Output = Ranked;
    const NAME: &'static str = "is";

    fn settings(&self) -> Settings {
        Settings { bytes: 4 * self.values() + 4_096 * (self.regions as usize + 1), views: 8, ..Settings::default() }
    }

    fn layout(&self, layout: &mut SharedAllocator) -> Result<Self::Shared, Error> {
        self.check()?;
        layout.array(self.values(), self.values().div_ceil(self.regions as usize))
    }

    fn run<F: Fabric>(&self, thread: &Thread<'_, F>, counts: &Self::Shared) -> Result<Self::Output, Error> {
        let mut part = ThreadKeys::new(self, thread.share(self.keys()));
        // As in NAS: once before the clock runs.
        part.iterate(self, 1, thread, counts)?;
        thread.start_clock()?;
        for iteration in 1..=self.iterations {
            part.iterate(self, iteration, thread, counts)?;
        }
        Ok(part.ranked)
    }

    fn validate(&self, outputs: &[Self::Output]) -> Result<String, String> {
        let mut expected = self.generate(0..self.keys());
        let less = self.less(&mut expected);
        let keys = || outputs.iter().flat_map(|output| &output.keys);
        if !keys().eq(&expected) {
            return Err("the keys are not those that were to be ranked".to_owned());
        }
        self.sorted(keys().zip(outputs.iter().flat_map(|output| &output.ranks)))?;
        let mut watched: Vec<Watched> = outputs.iter().flat_map(|output| output.watched.iter().copied()).collect();
        watched.sort_unstable();
        if let Some((found, should)) = watched.iter().zip(&less).find(|(found, should)| found != should) {
            return Err(format!("found {found:?}, should be {should:?}"));
        }
        if watched.len() != less.len() {
            return Err(format!("{} ranks of watched keys instead of {}", watched.len(), less.len()));
        }
        let tests = less.len();
        let Some(class) = self.nas() else {
            return Ok(format!(
                "{} keys sorted by their ranks, a permutation; {tests} ranks of watched keys by counting",
                self.keys()
            ));
        };
        published(class, &watched)?;
        Ok(format!("NAS class {}: {tests} published ranks and the full sort of {} keys", class.name, self.keys()))
    }
}

impl Is {
    /// How many keys are less than each watched one, by comparing it with all; `keys` are changed as in the
    /// iterations.
    fn less(&self, keys: &mut [u32]) -> Vec<Watched> {
        let mut found = Vec::new();
        for iteration in 1..=self.iterations {
            self.marks(iteration).into_iter().for_each(|(number, value)| keys[number] = value);
            for (which, number) in (0..).zip(self.watched()) {
                let less = keys.iter().filter(|&&key| key < keys[number]).count() as u32;
                found.push(Watched { iteration, which, less });
            }
        }
        found
    }

    /// Checks that the ranks are a permutation, and that they sort the keys.
    fn sorted<'k>(&self, ranked: impl Iterator<Item = (&'k u32, &'k u32)>) -> Result<(), String> {
        let mut places = vec![None; self.keys()];
        for (key, rank) in ranked {
            let place = places.get_mut(*rank as usize).ok_or_else(|| format!("rank {rank} of {} keys", self.keys()))?;
            if place.replace(*key).is_some() {
                return Err(format!("two keys have the rank {rank}"));
            }
        }
        let wrong = places.iter().zip(&places[1..]).position(|(this, next)| this.is_none() || this > next);
        wrong.map_or(Ok(()), |rank| Err(format!("not sorted at rank {rank}: {:?}, then {:?}", places[rank], places[rank + 1])))
    }
}

/// Checks that the ranks are those that NAS publishes.
fn published(class: &Nas, watched: &[Watched]) -> Result<(), String> {
    for found in watched {
        let which = found.which as usize;
        let rank = class.ranks[which] + class.signs[which] * (i64::from(found.iteration) - class.back[which]);
        if i64::from(found.less) != rank {
            return Err(format!("{found:?}: the NAS publish {rank} for class {}", class.name));
        }
    }
    Ok(())
}
