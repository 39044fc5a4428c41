//! Work on slices, cut by their length alone: so a result has the same bits for any team.
use crate::Team;
use foregather_host::clock;
use foregather_machine::Nanos;
use std::sync::{Mutex, PoisonError};

/// A slice has at most that many parts. The number belongs to every result: it never changes within a major version.
const MOST_PARTS: usize = 128;
/// Levels of the tree by which that many parts are combined.
const LEVELS: usize = MOST_PARTS.ilog2() as usize + 1;
/// A rest that takes less than that is not worth a call of the team.
const WORTH: Nanos = Nanos::from_us(20);
/// After so many parts the caller looks how long they took.
const LOOKS: [usize; 3] = [1, 16, 64];

/// The parts of a slice: as long as each other, the last one shorter.
#[derive(Clone, Copy)]
struct Grid {
    part: usize,
    parts: usize,
}

impl Grid {
    fn of(len: usize) -> Self {
        let part = len.div_ceil(MOST_PARTS).max(1);
        Self { part, parts: len.div_ceil(part) }
    }

    /// The caller does one part after the other until it sees that the rest is worth a call of the team. How many it has done.
    #[inline]
    fn begin(self, mut act: impl FnMut(usize)) -> usize {
        let began = clock::now();
        for at in 0..self.parts {
            if LOOKS.contains(&at) {
                let rest_ns = (clock::now() - began).0 * (self.parts - at) as u64 / at as u64;
                if Nanos(rest_ns) >= WORTH {
                    return at;
                }
            }
            act(at);
        }
        self.parts
    }
}

/// Results of parts that came in order, combined neighbour by neighbour: a place holds those of 2^place parts.
struct Tree<R, C> {
    places: [Option<R>; LEVELS],
    combine: C,
}

impl<R, C: Fn(R, R) -> R> Tree<R, C> {
    fn new(combine: C) -> Self {
        Self { places: [const { None }; LEVELS], combine }
    }

    #[inline]
    fn push(&mut self, mut result: R) {
        for place in &mut self.places {
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

    fn end(self) -> Option<R> {
        let Self { places, combine } = self;
        places.into_iter().flatten().reduce(|behind, before| combine(before, behind))
    }
}

/// Maps parts of `items` and combines what the parts give: the same bits whatever computes them, one thread or any team.
///
/// ```
/// use foregather_team::reduce;
///
/// let numbers: Vec<f64> = (0..1_000_000).map(|n| 1.0 / f64::from(n + 1)).collect();
/// let sum = reduce(&numbers, |part| part.iter().sum::<f64>(), |a, b| a + b);
/// assert!((sum - 14.392_726).abs() < 1e-6);
/// ```
///
/// The slice is cut into at most 128 parts of equal length, `ceil(len / 128)`, and neighbours are combined first, in a binary tree. Both
/// depend on the length alone and never change within a major version. An empty slice is one empty part.
///
/// The caller begins; when it sees that the rest takes longer than 20 us, the global [`Team`] does it. While that is busy, be it with
/// the caller itself, the caller does all. `combine` runs on the caller.
///
/// # Panics
/// With the first panic of `map`, when all that was begun has ended; what was made is dropped. The team works on.
///
/// # Cost
/// About 50 ns for a slice that is not worth a call, and two allocations otherwise.
#[must_use]
pub fn reduce<T: Sync, R: Send>(items: &[T], map: impl Fn(&[T]) -> R + Sync, combine: impl Fn(R, R) -> R) -> R {
    Team::global().reduce(items, map, combine)
}

/// Does something with each item, in any order, on as many threads as pay.
///
/// ```
/// use foregather_team::for_each;
///
/// let mut rows = vec![vec![1.0_f64; 1_000]; 500];
/// for_each(&mut rows, |row| row.iter_mut().for_each(|x| *x = x.sqrt() + 1.0));
/// assert!(rows.iter().flatten().all(|&x| x == 2.0));
/// ```
///
/// The caller begins; when it sees that the rest takes longer than 20 us, the global [`Team`] shares it, in at most 128 parts. While
/// that is busy, be it with the caller itself, the caller does all.
///
/// # Panics
/// With the first panic of `act`, when all that was begun has ended: some items are done then, others not. The team works on.
///
/// # Cost
/// As [`reduce`].
pub fn for_each<T: Send>(items: &mut [T], act: impl Fn(&mut T) + Sync) {
    Team::global().for_each(items, act);
}

impl Team {
    /// [`reduce`] on this team.
    #[must_use]
    pub fn reduce<T: Sync, R: Send>(&self, items: &[T], map: impl Fn(&[T]) -> R + Sync, combine: impl Fn(R, R) -> R) -> R {
        let grid = Grid::of(items.len());
        let mut tree = Tree::new(combine);
        let map_part = |at: usize| {
            let first = at * grid.part;
            map(&items[first..items.len().min(first + grid.part)])
        };
        let done = grid.begin(|at| tree.push(map_part(at)));
        let rest: Vec<Mutex<Option<R>>> = (done..grid.parts).map(|_| Mutex::new(None)).collect();
        if !rest.is_empty() {
            self.split(rest.len(), |at| {
                let result = map_part(done + at);
                *rest[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            });
        }
        for result in rest {
            tree.push(result.into_inner().unwrap_or_else(PoisonError::into_inner).expect("each part is mapped once"));
        }
        tree.end().unwrap_or_else(|| map(&[]))
    }

    /// [`for_each`] on this team.
    pub fn for_each<T: Send>(&self, items: &mut [T], act: impl Fn(&mut T) + Sync) {
        let grid = Grid::of(items.len());
        let mut parts = items.chunks_mut(grid.part);
        grid.begin(|_| parts.next().into_iter().flatten().for_each(&act));
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
            let mut tree = Tree::new(|a, b| format!("({a} {b})"));
            (0..parts).for_each(|part| tree.push(part.to_string()));
            assert_eq!(tree.end(), by_levels(parts), "{parts}");
        }
    }

    #[test]
    fn a_grid_covers_every_length_in_at_most_128_parts() {
        for len in (0..2_000).chain([1 << 20, (1 << 20) + 1]) {
            let grid = Grid::of(len);
            assert!(grid.parts <= MOST_PARTS && grid.parts * grid.part >= len, "{len}");
            assert!(len == 0 || (grid.parts - 1) * grid.part < len, "{len}: the last part is empty");
        }
    }
}
