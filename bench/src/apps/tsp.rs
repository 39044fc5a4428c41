//! TSP: a shortest tour by branch and bound over a pool of partial tours in shared memory (Itzkovitz &
//! Schuster 1999 §4). Threads split short tours under a lock, the most promising first; the thread that takes
//! a longer one finishes it without a lock, and watches the minimum.
use super::App;
use core::cell::Cell;
use foregather_dsm::memory::{Array, Settings, SharedAllocator, Thread};
use foregather_machine::{Cause, Error, Fabric};
use serde::{Deserialize, Serialize};

mod ascent;
mod cities;
mod held_karp;
mod search;

pub use cities::Cities;
use search::{Alone, SearchSettings, Shortest, Tour, WORDS};

/// The input.
///
/// Taking a tour takes one lock, and so does recording a shorter one: the paper counts 681 of them. The
/// thread that split its predecessor writes a tour once, and the thread that finishes it reads it once: one
/// read fault if that is on another rank and the unit holds nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tsp {
    /// The cities.
    pub cities: Cities,
    /// The recursion level: one thread finishes a tour that lacks at most this many cities.
    pub level: u32,
    /// The room of the pool, in partial tours; when it is used up, the remaining tours are finished unsplit.
    pub pool: u32,
    /// Bytes of the pool that are shared as one, a multiple of 4. With 148 each tour is a unit; with others,
    /// tours lie across units.
    pub unit_bytes: u32,
    /// Tours that lack at least this many cities are bounded by a spanning tree, others by the nearest city
    /// to each: a weaker and faster bound.
    pub tree: u32,
    /// The steps that fit tolls at the cities, which bring spanning trees closer to tours; 0 for none, as in
    /// the paper.
    pub ascent: u32,
    /// Whether all ranks get a copy of each new minimum, instead of a fault at the next look.
    pub push: bool,
}

/// A thread's result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BestTour {
    /// The length of the shortest tour, as this thread reads it in the end.
    pub length: u32,
    /// Its cities in order.
    pub tour: Vec<u32>,
    /// The partial tours that this thread finished, by their places in the pool.
    pub finished: Vec<u32>,
}

/// What all threads share.
#[derive(Debug)]
pub struct SharedTours {
    /// Partial tours, one after the other.
    tours: Array<u32>,
    /// A heap of tours that are neither finished nor split: bound, cities lacking, place; the least first.
    queue: Array<u64>,
    /// The length of the queue, and the number of tours.
    lengths: Array<u32>,
    /// The length of the shortest tour: changed under a lock, read without.
    minimum: Array<u32>,
    /// The shortest tour.
    tour: Array<u32>,
}

/// Guards all but the shortest tour.
const TOURS: u32 = 0;
/// Guards the shortest tour.
const MINIMUM: u32 = 1;

impl SharedTours {
    fn tour(&self, place: u32) -> Tour {
        let mut words = [0; WORDS];
        self.tours.load(place as usize * WORDS, &mut words);
        Tour(words)
    }

    /// Adds a tour to the pool and the queue. Returns `false` if there is no room.
    fn add(&self, tour: &Tour) -> bool {
        let mut lengths = [0; 2];
        self.lengths.load(0, &mut lengths);
        let [queued, place] = lengths;
        if place as usize == self.queue.len() {
            return false;
        }
        self.tours.store(place as usize * WORDS, &tour.0);
        self.lengths.store(0, &[queued + 1, place + 1]);
        let entry = u64::from(tour.bound()) << 32 | u64::from(tour.lacks()) << 24 | u64::from(place);
        let mut at = queued as usize;
        while at > 0 {
            let above = (at - 1) / 2;
            let other = self.queue.get(above);
            if other <= entry {
                break;
            }
            self.queue.set(at, other);
            at = above;
        }
        self.queue.set(at, entry);
        true
    }

    /// Takes the most promising tour out of the queue: its bound, how many cities it lacks, its place.
    fn take(&self) -> Option<(u32, u32, u32)> {
        let left = self.lengths.get(0).checked_sub(1)? as usize;
        let (first, entry) = (self.queue.get(0), self.queue.get(left));
        self.lengths.set(0, left as u32);
        let mut at = 0;
        while 2 * at + 1 < left {
            let below = 2 * at + 1;
            let others = [below, (below + 1).min(left - 1)].map(|at| (self.queue.get(at), at));
            let (other, from) = others.into_iter().min().unwrap_or((entry, at));
            if entry <= other {
                break;
            }
            self.queue.set(at, other);
            at = from;
        }
        if left > 0 {
            self.queue.set(at, entry);
        }
        Some(((first >> 32) as u32, (first >> 24) as u32 & 0xff, first as u32 & 0xff_ffff))
    }

    /// The next tour to be finished. The caller has the lock, so no other thread splits a tour: an empty
    /// queue stays empty.
    fn next(&self, search: &SearchSettings, maker: u32) -> Option<u32> {
        loop {
            let (bound, lacks, place) = self.take()?;
            let shortest = self.minimum.get(0);
            if !SearchSettings::promises(bound, shortest) {
                return None;
            }
            if lacks <= search.level || !self.has_room(lacks) {
                return Some(place);
            }
            for tour in search.longer(&self.tour(place)).filter(|tour| SearchSettings::promises(tour.bound(), shortest)) {
                self.add(&tour.by(maker));
            }
        }
    }

    fn has_room(&self, tours: u32) -> bool {
        self.lengths.get(1) + tours <= self.queue.len() as u32
    }
}

/// A thread's view of the shortest tour.
struct Together<'t, 'd, F: Fabric> {
    thread: &'t Thread<'d, F>,
    pool: &'t SharedTours,
    push: bool,
}

impl<F: Fabric> Shortest for Together<'_, '_, F> {
    fn length(&self) -> u32 {
        self.pool.minimum.get(0)
    }

    fn improve(&self, tour: &Tour) -> Result<(), Error> {
        let pool = self.pool;
        self.thread.locked(MINIMUM, || {
            if tour.bound() >= pool.minimum.get(0) {
                return Ok(());
            }
            pool.tour.store(0, &tour.0);
            pool.minimum.set(0, tour.bound());
            if self.push { self.thread.push(&pool.minimum, 0..1) } else { Ok(()) }
        })?
    }
}

impl Tsp {
    /// The paper's: 19 cities, recursion level 12, 785 KB of tours of 148 bytes (Table 2), the minimum
    /// pushed. Its 19 cities are unknown; these are random ones, of which about as many partial tours are
    /// finished as the paper had locks.
    pub fn paper() -> Self {
        Self { cities: Cities::random(19, 17), level: 12, pool: 5_430, unit_bytes: 148, tree: 12, ascent: 0, push: true }
    }

    /// burma14 of TSPLIB, with recursion level 9, all bounded by spanning trees.
    pub fn small() -> Self {
        let cities = Cities::published("burma14").expect("it is published");
        Self { cities, level: 9, pool: 1_024, tree: 1, ..Self::paper() }
    }

    /// The program without a pool: the length of a shortest tour.
    pub fn sequential(&self) -> u32 {
        let (search, shortest) = (self.search(), Alone(Cell::new(u32::MAX)));
        search.finish(&Tour::begin(&self.cities), &shortest).expect("no other thread takes part");
        search.length(shortest.length())
    }

    fn search(&self) -> SearchSettings {
        let (cities, tolls) = self.cities.with_tolls(self.ascent);
        SearchSettings { cities, tolls: 2 * tolls.iter().sum::<u32>(), level: self.level, tree: self.tree }
    }

    /// The number of units that fit into a page, each through a view of its own: 27 tours, as in the paper.
    fn views(&self) -> u32 {
        (4_096 / self.unit_bytes.max(1)).clamp(1, 32)
    }
}

/// Entries of the queue that are shared as one.
const QUEUED: usize = 64;

impl App for Tsp {
    type Shared = SharedTours;
    type Output = BestTour;
    const NAME: &'static str = "tsp";

    fn settings(&self) -> Settings {
        let views = self.views() as usize;
        let pages = |units: usize, bytes: usize| {
            units.div_ceil((4_096 / bytes.next_multiple_of(8)).clamp(1, views)) * bytes.div_ceil(4_096)
        };
        let unit = (self.unit_bytes as usize).max(8);
        let tours = pages((4 * WORDS * self.pool as usize).div_ceil(unit), unit);
        let pages = tours + pages((self.pool as usize).div_ceil(QUEUED), 8 * QUEUED) + 4;
        Settings { bytes: 4_096 * pages, views: self.views(), ..Settings::default() }
    }

    fn layout(&self, layout: &mut SharedAllocator) -> Result<Self::Shared, Error> {
        if !(1..1 << 24).contains(&self.pool) || self.unit_bytes < 4 || !self.unit_bytes.is_multiple_of(4) {
            let needs = "a pool of 1 to 2^24 - 1 tours, and units of a multiple of 4 bytes";
            return Err(Cause::Setting { what: "the input of TSP", needs }.into());
        }
        let pool = self.pool as usize;
        Ok(SharedTours {
            tours: layout.array(pool * WORDS, self.unit_bytes as usize / 4)?,
            queue: layout.array(pool, QUEUED)?,
            lengths: layout.array(2, 2)?,
            minimum: layout.array(1, 1)?,
            tour: layout.array(WORDS, WORDS)?,
        })
    }

    fn run<F: Fabric>(&self, thread: &Thread<'_, F>, pool: &Self::Shared) -> Result<Self::Output, Error> {
        if thread.number() == 0 {
            pool.minimum.set(0, u32::MAX);
            pool.add(&Tour::begin(&self.cities));
        }
        let search = self.search();
        thread.start_clock()?;
        let (mut finished, shortest) = (Vec::new(), Together { thread, pool, push: self.push });
        while let Some(place) = thread.locked(TOURS, || pool.next(&search, thread.number()))? {
            search.finish(&pool.tour(place), &shortest)?;
            finished.push(place);
        }
        thread.barrier()?;
        let mut words = [0; WORDS];
        pool.tour.load(0, &mut words);
        Ok(BestTour { length: search.length(shortest.length()), tour: words[..self.cities.count()].to_vec(), finished })
    }

    fn validate(&self, outputs: &[Self::Output]) -> Result<String, String> {
        let cities = &self.cities;
        let (optimum, who) = cities.optimum();
        for BestTour { length, tour, .. } in outputs {
            let mut seen = tour.clone();
            seen.sort_unstable();
            if !seen.into_iter().eq(0..cities.count() as u32) {
                return Err(format!("{tour:?} is no tour of {} cities", cities.count()));
            }
            let steps = tour.iter().zip(tour.iter().cycle().skip(1));
            let walked: u32 = steps.map(|(&from, &to)| cities.distance(from as usize, to as usize)).sum();
            if walked != *length {
                return Err(format!("the tour takes {walked}, not {length}"));
            }
            if walked != optimum {
                return Err(format!("a tour of {walked}; the shortest one of {} takes {optimum}, {who}", cities.name()));
            }
        }
        let mut finished: Vec<u32> = outputs.iter().flat_map(|found| found.finished.iter().copied()).collect();
        finished.sort_unstable();
        if let Some(twice) = finished.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("partial tour {} was finished twice", twice[0]));
        }
        let tours = finished.len();
        Ok(format!("a shortest tour of {}: {optimum}, {who}; {tours} partial tours finished, none of them twice", cities.name()))
    }
}
