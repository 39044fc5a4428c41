//! Operations on slices. They are split by length alone, so a result has the same bits for any team.
use crate::Team;
use core::ops::Range;
use foregather_host::clock;
use foregather_machine::Nanos;
use std::sync::{Mutex, PoisonError};

/// A slice has at most this many parts. Every result depends on this number, so it never changes within a
/// major version.
const MOST_PARTS: usize = 128;
/// Levels of the tree that combines that many parts.
const LEVELS: usize = MOST_PARTS.ilog2() as usize + 1;
/// If the rest takes less than this, it is not worth a call of the team.
const WORTH: Nanos = Nanos::from_us(20);
/// After this many parts the caller checks how long they took. All but the first are multiples of a block.
const LOOKS: [usize; 3] = [1, 16, 64];
/// This many parts are combined at once, in a subtree.
const BLOCK: usize = 8;
/// The place of a block in the tree.
const BLOCK_PLACE: usize = BLOCK.ilog2() as usize;

/// How a slice is split: all parts have the same length, except for a shorter last one.
#[derive(Clone, Copy)]
struct Cut {
    part: usize,
    parts: usize,
    began: Nanos,
}

impl Cut {
    #[inline]
    fn of(len: usize) -> Self {
        let part = len.div_ceil(MOST_PARTS).max(1);
        Self { part, parts: len.div_ceil(part), began: clock::now() }
    }

    /// Returns whether, after `done` parts, the rest takes long enough for a call of the team.
    #[inline]
    fn is_worth_a_call(self, done: usize) -> bool {
        let rest_ns = |done: usize| (clock::now() - self.began).0 * (self.parts - done) as u64 / done as u64;
        LOOKS.contains(&done) && Nanos(rest_ns(done)) >= WORTH
    }
}

/// The combined results of consecutive parts: entry `place` holds the result of 2^place parts.
struct SliceTree<R, C> {
    places: [Option<R>; LEVELS],
    combine: C,
}

impl<R, C: Fn(R, R) -> R> SliceTree<R, C> {
    #[inline]
    fn new(combine: C) -> Self {
        Self { places: [const { None }; LEVELS], combine }
    }

    /// Adds the result of 2^place parts; all lower entries are empty.
    #[inline]
    fn push(&mut self, place: usize, mut result: R) {
        for place in &mut self.places[place..] {
            match place.take() {
                Some(before) => result = (self.combine)(before, result),
                None => {
                    *place = Some(result);
                    return;
                }
            }
        }
        unreachable!("more than {MOST_PARTS} parts");
    }

    /// Adds the results of a block in order; `first` has already been computed.
    #[inline]
    fn push_block(&mut self, first: R, mut next: impl FnMut() -> R) {
        let both = &self.combine;
        let front = both(both(first, next()), both(next(), next()));
        let back = both(both(next(), next()), both(next(), next()));
        let block = both(front, back);
        self.push(BLOCK_PLACE, block);
    }

    #[inline]
    fn end(self) -> Option<R> {
        let Self { places, combine } = self;
        places.into_iter().flatten().reduce(|behind, before| combine(before, behind))
    }
}

/// Maps parts of `items` and combines the results: the same bits for one thread and for any team.
///
/// `cargo add foregather`
///
/// ```
/// # use foregather_team as foregather;
/// use foregather::reduce;
///
/// let numbers: Vec<f64> = (0..1_000_000).map(|n| 1.0 / f64::from(n + 1)).collect();
/// let sum = reduce(&numbers, |part| part.iter().sum::<f64>(), |a, b| a + b);
/// assert!((sum - 14.392_726).abs() < 1e-6);
/// ```
///
/// The slice is cut into at most 128 parts of equal length, `ceil(len / 128)`, and neighbours are combined
/// first, in a binary tree. Both depend on the length alone and never change within a major version. An empty
/// slice is one empty part.
///
/// The caller starts. When it finds that the rest takes longer than 20 us, the global [`Team`] runs it, on as
/// many threads as affinity, quota and `FOREGATHER_THREADS` (an upper limit) allow and as are worthwhile. If
/// that team is busy, even because of the caller itself, the caller does all the work. `combine` runs on the
/// caller.
///
/// # Panics
/// With the first panic of `map`, after all parts that had started have ended. Results so far are dropped,
/// and the team remains usable.
///
/// # Cost
/// About 50 ns for a slice that is not worth a call of the team, and two allocations otherwise.
#[must_use]
pub fn reduce<T: Sync, R: Send>(items: &[T], map: impl Fn(&[T]) -> R + Sync, combine: impl Fn(R, R) -> R) -> R {
    Team::global().reduce(items, map, combine)
}

/// Calls `act` for each item, in any order, on as many threads as are worthwhile.
///
/// `cargo add foregather`
///
/// ```
/// # use foregather_team as foregather;
/// use foregather::for_each;
///
/// let mut rows = vec![vec![1.0_f64; 1_000]; 500];
/// for_each(&mut rows, |row| row.iter_mut().for_each(|x| *x = x.sqrt() + 1.0));
/// assert!(rows.iter().flatten().all(|&x| x == 2.0));
/// ```
///
/// The caller starts. When it finds that the rest takes longer than 20 us, the global [`Team`] runs it, in at
/// most 128 parts. If that team is busy, even because of the caller itself, the caller does all the work.
///
/// # Panics
/// With the first panic of `act`, after all parts that had started have ended: some items have then been
/// processed, others not. The team remains usable.
///
/// # Cost
/// As for [`reduce`].
pub fn for_each<T: Send>(items: &mut [T], act: impl Fn(&mut T) + Sync) {
    Team::global().for_each(items, act);
}

impl Team {
    /// Reduces like [`reduce`], on this team.
    #[must_use]
    pub fn reduce<T: Sync, R: Send>(&self, items: &[T], map: impl Fn(&[T]) -> R + Sync, combine: impl Fn(R, R) -> R) -> R {
        if items.is_empty() {
            return map(items);
        }
        let (cut, mut tree) = (Cut::of(items.len()), SliceTree::new(combine));
        let mut chunks = items.chunks(cut.part);
        let mut next = || chunks.next().map_or_else(|| unreachable!("a part too many"), &map);
        let mut first = Some(next());
        let (mut done, mut is_worth_a_call) = (0, cut.is_worth_a_call(1));
        while !is_worth_a_call && done + BLOCK <= cut.parts {
            let first = first.take().unwrap_or_else(&mut next);
            tree.push_block(first, &mut next);
            done += BLOCK;
            is_worth_a_call = cut.is_worth_a_call(done);
        }
        if let Some(first) = first {
            tree.push(0, first);
            done = 1;
        }
        if is_worth_a_call {
            let part = |at: usize| &items[at * cut.part..items.len().min((at + 1) * cut.part)];
            self.map(done..cut.parts, |at| map(part(at))).for_each(|result| tree.push(0, result));
        } else {
            (done..cut.parts).for_each(|_| tree.push(0, next()));
        }
        tree.end().expect("there is one part at least")
    }

    /// Maps the parts on the team, and returns their results in order.
    #[inline(never)]
    fn map<R: Send>(&self, parts: Range<usize>, map: impl Fn(usize) -> R + Sync) -> impl Iterator<Item = R> {
        let results: Vec<Mutex<Option<R>>> = parts.clone().map(|_| Mutex::new(None)).collect();
        self.split(results.len(), |at| {
            let result = map(parts.start + at);
            *results[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        });
        let taken = |result: Mutex<Option<R>>| result.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.into_iter().map(move |result| taken(result).expect("each part is mapped once"))
    }

    /// Calls `act` like [`for_each`], on this team.
    pub fn for_each<T: Send>(&self, items: &mut [T], act: impl Fn(&mut T) + Sync) {
        let cut = Cut::of(items.len());
        let mut parts = items.chunks_mut(cut.part);
        for done in 0..cut.parts {
            if cut.is_worth_a_call(done) {
                break;
            }
            parts.next().into_iter().flatten().for_each(&act);
        }
        let rest: Vec<Mutex<Option<&mut [T]>>> = parts.map(|part| Mutex::new(Some(part))).collect();
        if !rest.is_empty() {
            self.split(rest.len(), |at| {
                let part = rest[at].lock().unwrap_or_else(PoisonError::into_inner).take();
                part.into_iter().flatten().for_each(&act);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_combined_first_whatever_the_number_of_parts() {
        let by_levels = |parts: usize| {
            let mut row: Vec<String> = (0..parts).map(|part| part.to_string()).collect();
            while row.len() > 1 {
                row = row
                    .chunks(2)
                    .map(|pair| if pair.len() == 2 { format!("({})", pair.join(" ")) } else { pair[0].clone() })
                    .collect();
            }
            row.pop()
        };
        for parts in 0..=MOST_PARTS {
            let mut tree = SliceTree::new(|a, b| format!("({a} {b})"));
            let blocks = parts / BLOCK;
            for block in 0..blocks {
                let mut names = (block * BLOCK..).map(|part| part.to_string());
                tree.push_block(names.next().unwrap(), || names.next().unwrap());
            }
            (blocks * BLOCK..parts).for_each(|part| tree.push(0, part.to_string()));
            assert_eq!(tree.end(), by_levels(parts), "{parts}");
        }
    }

    #[test]
    fn a_cut_covers_every_length_in_at_most_128_parts() {
        for len in (0..2_000).chain([1 << 20, (1 << 20) + 1]) {
            let cut = Cut::of(len);
            assert!(cut.parts <= MOST_PARTS && cut.parts * cut.part >= len, "{len}");
            assert!(len == 0 || (cut.parts - 1) * cut.part < len, "{len}: the last part is empty");
        }
    }
}
