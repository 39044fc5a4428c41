//! The iteration space of a loop: its iterations by number, from 0 on, and how they are cut into chunks.
//!
//! A program's loop runs over signed or unsigned numbers of 64 bits, up or down; a space keeps the first, the
//! step and the end as they are, in two's complement, and counts the iterations. So there is one engine for
//! all loops, and for sections, which are a loop over their numbers.
use crate::icv::{Schedule, ScheduleKind};
use core::ops::Range;

/// The iterations of a loop that a team shares. All members name the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IterationSpace {
    first: u64,
    end: u64,
    step: u64,
    /// The number of iterations.
    pub(crate) count: u64,
    pub(crate) kind: ScheduleKind,
    /// Iterations a chunk; at least as many for guided loops; 0 for a static loop means one chunk a member.
    pub(crate) chunk: u64,
    /// Whether the loop has an `ordered` clause.
    pub(crate) ordered: bool,
}

/// Chunks beyond this would make their counter come round. No program lives to see the last of them.
const MOST_CHUNKS: u32 = 62;

impl IterationSpace {
    /// No iterations.
    pub const NONE: Self = Self { first: 0, end: 0, step: 1, count: 0, kind: ScheduleKind::Static, chunk: 0, ordered: false };

    /// From `first` to before `end`, or down to after it for a negative `step`.
    pub fn signed(schedule: Schedule, first: i64, end: i64, step: i64) -> Self {
        let (span, forward) =
            if step > 0 { (end.wrapping_sub(first), end > first) } else { (first.wrapping_sub(end), first > end) };
        let count = if forward && step != 0 { (span as u64 - 1) / step.unsigned_abs() + 1 } else { 0 };
        Self::of(schedule, first as u64, end as u64, step as u64, count)
    }

    /// From `first` to before `end`; if not `up`, down to after it, with the step in two's complement.
    pub fn unsigned(schedule: Schedule, up: bool, first: u64, end: u64, step: u64) -> Self {
        let (span, width) = if up { (end.wrapping_sub(first), step) } else { (first.wrapping_sub(end), step.wrapping_neg()) };
        let forward = if up { end > first } else { first > end };
        let count = if forward && width != 0 { (span - 1) / width + 1 } else { 0 };
        Self::of(schedule, first, end, step, count)
    }

    /// The numbers from 1 to `count`, one by one.
    pub fn sections(count: u32) -> Self {
        Self::unsigned(Schedule::new(ScheduleKind::Dynamic, 1), true, 1, u64::from(count) + 1, 1)
    }

    /// The same space, whose iterations have a part in order.
    #[must_use]
    pub fn ordered(self, ordered: bool) -> Self {
        Self { ordered, ..self }
    }

    fn of(schedule: Schedule, first: u64, end: u64, step: u64, count: u64) -> Self {
        let chunk = match schedule.kind {
            ScheduleKind::Static | ScheduleKind::Auto => schedule.chunk,
            ScheduleKind::Dynamic | ScheduleKind::Guided => schedule.chunk.max(1).max(count >> MOST_CHUNKS),
        };
        Self { first, end, step, count, kind: schedule.kind, chunk, ordered: false }
    }

    /// The program's own bounds of some iterations: those of the last one are the loop's own end.
    #[inline]
    pub(crate) fn bounds(&self, iterations: &Range<u64>) -> (u64, u64) {
        let at = |iteration: u64| self.first.wrapping_add(iteration.wrapping_mul(self.step));
        (at(iterations.start), if iterations.end == self.count { self.end } else { at(iterations.end) })
    }

    /// The chunk with that number of a loop whose chunks have one length.
    #[inline]
    pub(crate) fn chunk(&self, number: u64) -> Option<Range<u64>> {
        let from = number.checked_mul(self.chunk).filter(|&from| from < self.count)?;
        Some(from..from + self.chunk.min(self.count - from))
    }

    /// A number for the chunk that an iteration is in, for members that wait for each other's: one member
    /// does all that has one number, in order.
    pub(crate) fn part_of(&self, iteration: u64, size: u32) -> u64 {
        match self.kind {
            ScheduleKind::Dynamic => iteration / self.chunk,
            ScheduleKind::Static | ScheduleKind::Auto if self.chunk > 0 => iteration / self.chunk,
            // The member that has it: the first `rest` have one more.
            ScheduleKind::Static | ScheduleKind::Auto => {
                let (whole, rest) = (self.count / u64::from(size), self.count % u64::from(size));
                let longer = rest * (whole + 1);
                if iteration < longer { iteration / (whole + 1) } else { rest + (iteration - longer) / whole.max(1) }
            }
            ScheduleKind::Guided => iteration,
        }
    }

    /// One more than the greatest [`IterationSpace::part_of`].
    pub(crate) fn parts(&self, size: u32) -> u64 {
        self.count.checked_sub(1).map_or(0, |last| self.part_of(last, size) + 1)
    }

    /// What a member of a guided loop takes of the iterations from `from` on: an even share of the rest.
    pub(crate) fn guided(&self, from: u64, size: u32) -> Option<Range<u64>> {
        let rest = self.count.checked_sub(from).filter(|&rest| rest > 0)?;
        Some(from..from + rest.div_ceil(size.into()).max(self.chunk).min(rest))
    }

    /// What member `rank` of `size` does in its round `round` of a static loop.
    pub(crate) fn static_chunk(&self, round: u64, rank: u32, size: u32) -> Option<Range<u64>> {
        let (rank, size) = (u64::from(rank), u64::from(size));
        if self.chunk > 0 {
            return self.chunk(round.checked_mul(size)?.checked_add(rank)?);
        }
        let (whole, rest) = (self.count / size, self.count % size);
        let from = |rank: u64| rank * whole + rank.min(rest);
        let mine = from(rank)..from(rank + 1);
        (round == 0 && !mine.is_empty()).then_some(mine)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(kind: ScheduleKind, chunk: u64) -> Schedule {
        Schedule::new(kind, chunk)
    }

    /// The program's numbers that a chunk stands for.
    fn walk(space: &IterationSpace, chunk: &Range<u64>) -> Vec<u64> {
        let (from, _) = space.bounds(chunk);
        (0..chunk.end - chunk.start).map(|i| from.wrapping_add(i.wrapping_mul(space.step))).collect()
    }

    #[test]
    fn loops_count_what_c_would() {
        let signed = |first, end, step| IterationSpace::signed(plain(ScheduleKind::Dynamic, 1), first, end, step).count;
        assert_eq!(signed(0, 10, 1), 10);
        assert_eq!(signed(0, 10, 3), 4);
        assert_eq!(signed(10, 0, -3), 4);
        assert_eq!(signed(5, 5, 1), 0);
        assert_eq!(signed(5, 4, 1), 0);
        assert_eq!(signed(4, 5, -1), 0);
        assert_eq!(signed(i64::MIN, i64::MAX, 1), u64::MAX);
        assert_eq!(signed(i64::MAX, i64::MIN, i64::MIN), 2);
        assert_eq!(signed(0, 10, 0), 0, "a step of nothing is the program's mistake, and no hang");
        let unsigned = |up, first, end, step: i64| {
            IterationSpace::unsigned(plain(ScheduleKind::Guided, 1), up, first, end, step as u64).count
        };
        assert_eq!(unsigned(true, 0, u64::MAX, 1), u64::MAX);
        assert_eq!(unsigned(false, 10, 0, -3), 4);
        assert_eq!(unsigned(true, 3, 3, 1), 0);
        assert_eq!(unsigned(false, 0, 3, -1), 0);
        assert_eq!(IterationSpace::sections(3).count, 3);
        assert_eq!(IterationSpace::sections(0).count, 0);
    }

    #[test]
    fn the_last_chunk_ends_where_the_loop_ends() {
        let space = IterationSpace::signed(plain(ScheduleKind::Dynamic, 4), 0, 10, 3);
        assert_eq!(space.bounds(&space.chunk(0).unwrap()), (0, 10));
        let down = IterationSpace::unsigned(plain(ScheduleKind::Dynamic, 2), false, 10, 0, 3u64.wrapping_neg());
        assert_eq!(down.bounds(&down.chunk(0).unwrap()), (10, 4));
        assert_eq!(down.bounds(&down.chunk(1).unwrap()), (4, 0));
        assert_eq!(down.chunk(2), None);
    }

    #[test]
    fn a_loop_of_all_numbers_has_chunks_whose_number_does_not_come_round() {
        let space = IterationSpace::unsigned(plain(ScheduleKind::Dynamic, 1), true, 0, u64::MAX, 1);
        assert!(space.count / space.chunk < 1 << 63);
        assert_eq!(space.chunk(u64::MAX), None);
    }

    proptest! {
        #[test]
        fn every_iteration_is_dealt_once(count in 0i64..200, chunk in 0u64..9, size in 1u32..7, guided: bool) {
            let numbers: Vec<u64> = (0..count as u64).map(|i| (3 + 2 * i as i64) as u64).collect();
            let space = |kind| IterationSpace::signed(plain(kind, chunk), 3, 3 + 2 * count, 2);
            let fixed = space(ScheduleKind::Static);
            let mut all: Vec<u64> = Vec::new();
            for rank in 0..size {
                all.extend((0..).map_while(|round| fixed.static_chunk(round, rank, size)).flat_map(|chunk| walk(&fixed, &chunk)));
            }
            all.sort_unstable();
            prop_assert_eq!(&all, &numbers);
            for rank in 0..size {
                let parts = |chunk: Range<u64>| chunk.map(|iteration| fixed.part_of(iteration, size)).collect::<Vec<_>>();
                for part in (0..).map_while(|round| fixed.static_chunk(round, rank, size)).map(parts) {
                    prop_assert!(part.iter().all(|&of| of == part[0] && of < fixed.parts(size)));
                }
            }
            let taken = space(if guided { ScheduleKind::Guided } else { ScheduleKind::Dynamic });
            let (mut all, mut at) = (Vec::new(), 0);
            while let Some(chunk) = if guided { taken.guided(at, size) } else { taken.chunk(at) } {
                at = if guided { chunk.end } else { at + 1 };
                all.extend(walk(&taken, &chunk));
            }
            prop_assert_eq!(&all, &numbers);
        }

        /// OpenMP 5.2 §11.5.3: chunks of a static loop go to the members round-robin, in the order of their
        /// numbers. Without a chunk size there is one chunk a member, and lengths differ by one at most.
        #[test]
        fn static_chunks_go_round_by_the_members_numbers(count in 0u64..300, chunk in 0u64..9, size in 1u32..9) {
            let space = IterationSpace::signed(plain(ScheduleKind::Static, chunk), 0, count as i64, 1);
            let (mut at, mut lengths) = (0, Vec::new());
            for number in 0_u64.. {
                let (round, rank) = (number / u64::from(size), (number % u64::from(size)) as u32);
                let chunk_of_it = space.static_chunk(round, rank, size);
                if at == count {
                    prop_assert_eq!(chunk_of_it, None, "round {}, member {}", round, rank);
                    break;
                }
                let whole = if chunk > 0 { chunk } else { count / u64::from(size) + u64::from(number < count % u64::from(size)) };
                prop_assert_eq!(chunk_of_it, Some(at..count.min(at + whole)), "round {}, member {}", round, rank);
                at = count.min(at + whole);
                lengths.push(whole);
            }
            prop_assert!(chunk > 0 || lengths.len() as u64 == count.min(size.into()));
        }

        /// OpenMP 5.2 §11.5.3: a chunk of a guided loop is proportional to the iterations that are left over
        /// the number of threads, and no shorter than the chunk size unless it is the last one.
        #[test]
        fn guided_chunks_are_an_even_share_of_the_rest_and_no_shorter_than_the_chunk_size(
            count in 0u64..3000,
            chunk in 0u64..200,
            size in 1u32..9,
        ) {
            let space = IterationSpace::signed(plain(ScheduleKind::Guided, chunk), 0, count as i64, 1);
            let mut at = 0;
            while let Some(taken) = space.guided(at, size) {
                let (rest, len) = (count - at, taken.end - taken.start);
                prop_assert_eq!(taken.start, at);
                prop_assert!(len >= chunk.max(1) || len == rest, "{} of {} iterations, at least {}", len, rest, chunk);
                let share = rest.div_ceil(size.into());
                prop_assert!(len >= share && (len == share || len <= chunk), "{} of {} iterations by {}", len, rest, size);
                at = taken.end;
            }
            prop_assert_eq!(at, count);
        }
    }
}
