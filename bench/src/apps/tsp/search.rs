//! Branch and bound: partial tours, their bounds, and all tours that may become shorter than the shortest.
//! Nothing here is shared.
use super::Cities;
use super::ascent::PARTS;
use core::cell::Cell;
use foregather_machine::Error;

/// Words of a tour: 148 bytes.
pub(super) const WORDS: usize = 37;
const COUNT: usize = Cities::MOST;
const LENGTH: usize = COUNT + 1;
const BOUND: usize = COUNT + 2;
const LEFT: usize = COUNT + 3;
const MAKER: usize = COUNT + 4;

/// A way from city 0 through some of the others: its cities, their number, its length, the bound of round
/// trips that begin so, the set of cities that it lacks, and the number of the thread that made it.
#[derive(Clone, Copy)]
pub(super) struct Tour(pub(super) [u32; WORDS]);

impl Tour {
    pub(super) fn begin(cities: &Cities) -> Self {
        let mut words = [0; WORDS];
        words[COUNT] = 1;
        words[LEFT] = (u32::MAX >> (Cities::MOST - cities.count())) & !1;
        Self(words)
    }

    pub(super) fn by(mut self, maker: u32) -> Self {
        self.0[MAKER] = maker;
        self
    }

    fn count(&self) -> usize {
        self.0[COUNT] as usize
    }

    fn last(&self) -> usize {
        self.0[self.count() - 1] as usize
    }

    pub(super) fn bound(&self) -> u32 {
        self.0[BOUND]
    }

    pub(super) fn lacks(&self) -> u32 {
        self.0[LEFT].count_ones()
    }
}

/// The shortest tour so far.
pub(super) trait Shortest {
    /// Its length, tolls included.
    fn length(&self) -> u32;
    /// Takes a whole tour, if it is still shorter.
    fn improve(&self, tour: &Tour) -> Result<(), Error>;
}

/// The settings of a search.
pub(super) struct SearchSettings {
    /// With tolls.
    pub(super) cities: Cities,
    /// The part of the tolls that every tour pays.
    pub(super) tolls: u32,
    pub(super) level: u32,
    pub(super) tree: u32,
}

impl SearchSettings {
    /// A tour's length without tolls.
    pub(super) fn length(&self, with_tolls: u32) -> u32 {
        (with_tolls - self.tolls) / PARTS
    }

    /// Whether a tour with that bound can become shorter: by a whole unit, or not at all.
    pub(super) fn promises(bound: u32, shortest: u32) -> bool {
        bound.saturating_add(PARTS) <= shortest
    }

    /// Tries all tours that may become shorter than the shortest.
    pub(super) fn finish(&self, tour: &Tour, shortest: &impl Shortest) -> Result<(), Error> {
        if !Self::promises(tour.bound(), shortest.length()) {
            return Ok(());
        }
        if tour.lacks() == 0 {
            // The bound of a whole tour is its length.
            return shortest.improve(tour);
        }
        self.longer(tour).try_for_each(|longer| self.finish(&longer, shortest))
    }

    /// The tour with one city more, the nearest one first.
    pub(super) fn longer(&self, tour: &Tour) -> impl Iterator<Item = Tour> {
        let Tour(words) = *tour;
        let (last, at) = (tour.last(), tour.count());
        self.cities.near(last).iter().filter(move |&next| words[LEFT] >> next & 1 == 1).map(move |&next| {
            let mut words = words;
            words[COUNT] += 1;
            words[at] = next;
            words[LENGTH] += self.cities.distance(last, next as usize);
            words[LEFT] &= !(1 << next);
            words[BOUND] = words[LENGTH] + self.rest(next as usize, words[LEFT]);
            Tour(words)
        })
    }

    /// The bound of a way from a city through all of these back to city 0.
    fn rest(&self, from: usize, left: u32) -> u32 {
        let cities = &self.cities;
        let nearest = |city: usize, of: u32| {
            let nearest = cities.near(city).iter().find(|&other| of >> other & 1 == 1);
            nearest.map_or(0, |&other| cities.distance(city, other as usize))
        };
        match left.count_ones() {
            0 => cities.distance(from, 0),
            lacks if lacks >= self.tree => nearest(from, left) + spanning_tree(cities, left) + nearest(0, left),
            _ => {
                nearest(from, left)
                    + (0..cities.count()).filter(|city| left >> city & 1 == 1).map(|city| nearest(city, !0)).sum::<u32>()
            }
        }
    }
}

/// The length of a shortest tree that connects these cities, of which there is one at least (Prim 1957).
fn spanning_tree(cities: &Cities, all: u32) -> u32 {
    let (mut away, mut total) = ([u32::MAX; Cities::MOST], 0);
    let mut newest = all.trailing_zeros();
    let mut left = all & !(1 << newest);
    while left != 0 {
        let (mut least, mut nearest, mut others) = (u32::MAX, 0, left);
        while others != 0 {
            let city = others.trailing_zeros();
            others &= others - 1;
            let distance = cities.distance(newest as usize, city as usize).min(away[city as usize]);
            away[city as usize] = distance;
            if distance < least {
                (least, nearest) = (distance, city);
            }
        }
        total += least;
        newest = nearest;
        left &= !(1 << newest);
    }
    total
}

/// The shortest length, for a program of one thread.
pub(super) struct Alone(pub(super) Cell<u32>);

impl Shortest for Alone {
    fn length(&self) -> u32 {
        self.0.get()
    }

    fn improve(&self, tour: &Tour) -> Result<(), Error> {
        self.0.set(tour.bound());
        Ok(())
    }
}
