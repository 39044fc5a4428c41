//! Sets of bytes: sorted ranges that do not touch each other.
use core::fmt;
use core::ops::Range;
use serde::{Deserialize, Serialize};

/// A set of bytes of a minipage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bytes(Vec<(u32, u32)>);

impl From<Range<u32>> for Bytes {
    fn from(range: Range<u32>) -> Self {
        Self(if range.is_empty() { vec![] } else { vec![(range.start, range.end)] })
    }
}

impl Bytes {
    /// Returns its ranges, sorted, none adjacent to another.
    pub fn ranges(&self) -> impl Iterator<Item = Range<u32>> + '_ {
        self.0.iter().map(|&(start, end)| start..end)
    }

    /// Returns whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a range.
    pub fn include(&mut self, more: Range<u32>) {
        if more.is_empty() {
            return;
        }
        if let Some((start, end)) = self.0.last_mut()
            && (*start..=*end).contains(&more.start)
        {
            // Rows are visited in order, so this is almost always the case.
            *end = more.end.max(*end);
            return;
        }
        let from = self.0.partition_point(|&(_, end)| end < more.start);
        let to = self.0.partition_point(|&(start, _)| start <= more.end);
        let start = self.0.get(from).filter(|_| from < to).map_or(more.start, |&(start, _)| start.min(more.start));
        let end = self.0[from..to].last().map_or(more.end, |&(_, end)| end.max(more.end));
        self.0.splice(from..to, [(start, end)]);
    }

    /// Adds all bytes of another set.
    pub fn unite(&mut self, others: &Self) {
        others.ranges().for_each(|range| self.include(range));
    }

    /// Returns whether it contains all bytes of another set.
    pub fn holds(&self, others: &Self) -> bool {
        others.ranges().all(|other| {
            let before = self.0.partition_point(|&(start, _)| start <= other.start);
            self.0[..before].last().is_some_and(|&(_, end)| other.end <= end)
        })
    }

    /// Returns the first bytes that both sets have in common.
    pub fn common(&self, other: &Self) -> Option<Range<u32>> {
        let (mut left, mut right) = (self.0.iter().peekable(), other.0.iter().peekable());
        while let (Some(&&(from, to)), Some(&&(start, end))) = (left.peek(), right.peek()) {
            if from < end && start < to {
                return Some(from.max(start)..to.min(end));
            }
            if to <= start {
                left.next()
            } else {
                right.next()
            };
        }
        None
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: usize = 3;
        write!(f, "bytes")?;
        for (nth, &(start, end)) in self.0.iter().take(SHOWN).enumerate() {
            write!(f, "{}{start} to {}", if nth == 0 { " " } else { ", " }, end - 1)?;
        }
        if self.0.len() > SHOWN { write!(f, " and {} more ranges", self.0.len() - SHOWN) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ranges: &[(u32, u32)]) -> Bytes {
        let mut bytes = Bytes::default();
        ranges.iter().for_each(|&(start, end)| bytes.include(start..end));
        bytes
    }

    #[test]
    fn they_are_kept_in_order_and_joined_with_their_neighbours() {
        let all = of(&[(8, 16), (40, 44), (16, 20), (0, 4), (30, 32), (4, 8), (43, 50), (10, 12), (20, 31), (60, 60)]);
        assert_eq!(all.ranges().collect::<Vec<_>>(), [0..32, 40..50]);
    }

    #[test]
    fn they_hold_what_lies_within_one_of_their_ranges() {
        let all = of(&[(4, 8), (12, 20)]);
        for (others, holds) in [(of(&[]), true), (of(&[(4, 8), (13, 20)]), true), (of(&[(7, 9)]), false), (of(&[(2, 4)]), false)]
        {
            assert_eq!(all.holds(&others), holds, "{others:?}");
        }
    }

    #[test]
    fn the_first_common_ones_are_found() {
        let left = of(&[(0, 4), (8, 12), (20, 30)]);
        for (right, common) in [(of(&[(4, 8)]), None), (of(&[(4, 8), (11, 21)]), Some(11..12)), (of(&[(29, 40)]), Some(29..30))] {
            assert_eq!((left.common(&right), right.common(&left)), (common.clone(), common));
        }
    }
}
