//! Counts the fetches that a recorded run would have had with blocks of another size. Each block has one
//! writer or many readers, like minipages in the protocol.
//!
//! A fetch is **useless** if no access of its rank to the copy, until the copy is lost, would have caused a
//! fetch with blocks of one byte: no byte that the rank loads was stored by another rank since this rank lost
//! its previous copy, and no byte that it stores was loaded or stored by another rank since this rank last
//! had the right to write. A rank's first fetch of a block is **cold**; all others are **essential**. This is
//! the classification of cache misses by Dubois, Skeppstedt, Ricciulli, Ramamurthy & Stenström 1993.
use crate::Access;
use crate::journal::Bytes;
use core::ops::Range;
use serde::Serialize;
use std::collections::BTreeMap;

/// One access of a rank to an array's bytes.
pub(super) struct ArrayAccess {
    /// The rank's number, from 0 without gaps.
    pub(super) rank: usize,
    pub(super) how: How,
    pub(super) bytes: Bytes,
    /// The index of the thread among the journals, and its epoch at this access.
    pub(super) epoch: (usize, u32),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    Load,
    Store,
    /// A push: stores nothing, and gives all ranks a copy.
    Push,
}

/// Numbers of fetches, by class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Fetches {
    /// The first fetch of each block by each rank: one to read, one to write.
    pub cold: u64,
    /// Fetches of bytes that the rank needed, or that took bytes away which other ranks had needed.
    pub essential: u64,
    /// Fetches that smaller blocks would have avoided.
    pub useless: u64,
}

impl Fetches {
    /// Returns the sum of all three.
    pub fn all(&self) -> u64 {
        self.cold + self.essential + self.useless
    }

    /// Returns whether the useless ones are too few to report: fewer than four, or less than 1 %.
    pub(super) fn is_fine(&self) -> bool {
        const LEAST: u64 = 4;
        self.useless < LEAST || self.useless * 100 < self.all()
    }
}

/// The fetches of a run, and the number of useless ones for each block.
pub(super) struct UselessFetches {
    pub(super) fetches: Fetches,
    useless: BTreeMap<u32, u64>,
}

impl UselessFetches {
    /// Returns the block with the most useless fetches (the first of several), and their number.
    pub(super) fn worst(&self) -> Option<(u32, u64)> {
        let all = self.useless.iter().map(|(&block, &useless)| (block, useless));
        all.max_by_key(|&(block, useless)| (useless, core::cmp::Reverse(block)))
    }
}

/// Returns the number of pieces into which blocks of `grain` bytes split these accesses.
pub(super) fn pieces(acts: &[ArrayAccess], grain: u32) -> u64 {
    let of = |range: Range<u32>| u64::from((range.end - 1) / grain - range.start / grain + 1);
    acts.iter().flat_map(|act| act.bytes.ranges()).map(of).sum()
}

/// Counts the fetches that `ranks` ranks need for these accesses, in this order, with blocks of `grain`
/// bytes.
pub(super) fn fetches(acts: &[ArrayAccess], ranks: usize, grain: u32) -> UselessFetches {
    let mut blocks: BTreeMap<u32, BlockCopies> = BTreeMap::new();
    for act in acts {
        each_block(&act.bytes, grain, |number, bytes| {
            let block = blocks.entry(number).or_insert_with(|| BlockCopies::new(ranks));
            match act.how {
                How::Load => block.load(act.rank, &bytes),
                How::Store => block.store(act.rank, &bytes),
                How::Push => block.push(&bytes),
            }
        });
    }
    let mut outcome = UselessFetches { fetches: Fetches::default(), useless: BTreeMap::new() };
    for (number, mut block) in blocks {
        block.ranks.iter_mut().for_each(|rank| rank.lose(&mut block.fetches));
        let Fetches { cold, essential, useless } = block.fetches;
        let all = &mut outcome.fetches;
        (all.cold, all.essential, all.useless) = (all.cold + cold, all.essential + essential, all.useless + useless);
        if useless > 0 {
            outcome.useless.insert(number, useless);
        }
    }
    outcome
}

/// Calls `see` with the number of each block that the bytes overlap, and their part in it.
fn each_block(bytes: &Bytes, grain: u32, mut see: impl FnMut(u32, Bytes)) {
    let mut open: Option<(u32, Bytes)> = None;
    for Range { mut start, end } in bytes.ranges() {
        while start < end {
            let number = start / grain;
            let stop = end.min(number.saturating_add(1).saturating_mul(grain));
            match &mut open {
                Some((block, bytes)) if *block == number => bytes.include(start..stop),
                _ => {
                    let before = open.replace((number, (start..stop).into()));
                    before.into_iter().for_each(|(number, bytes)| see(number, bytes));
                }
            }
            start = stop;
        }
    }
    open.into_iter().for_each(|(number, bytes)| see(number, bytes));
}

/// Whether a fetch has been useful so far; `None` if the copy has no fetch that counts as essential or
/// useless, for example only a cold one.
type FetchUse = Option<bool>;

/// A rank's copy of a block.
#[derive(Clone, Default)]
struct RankCopy {
    access: Access,
    /// The most access that it has had.
    had: Access,
    /// Bytes that other ranks have stored since this rank lost its previous copy.
    unseen: Bytes,
    /// Bytes that other ranks have loaded since this rank last could write: a store to them is essential.
    watched: Bytes,
    /// The fetch that brought this copy.
    read: FetchUse,
    /// The fetch that gave it the right to write.
    write: FetchUse,
}

impl RankCopy {
    /// Fetches access `need` if the copy has less.
    fn fetch(&mut self, need: Access, fetches: &mut Fetches) {
        if self.access >= need {
            return;
        }
        let open = if need == Access::Write { &mut self.write } else { &mut self.read };
        if self.had < need {
            fetches.cold += 1;
        } else {
            *open = Some(false);
        }
        (self.access, self.had) = (need, need.max(self.had));
    }

    /// Loses the right to write but keeps the copy.
    fn lower(&mut self, fetches: &mut Fetches) {
        if self.access == Access::Write {
            self.access = Access::Read;
            // The fetch to write also brought the copy: from now on, what the rank loads decides its class.
            if self.read.is_none() && self.write == Some(false) {
                self.read = self.write.take();
            }
            close(&mut self.write, fetches);
            self.watched = Bytes::default();
        }
    }

    /// Loses the copy.
    fn lose(&mut self, fetches: &mut Fetches) {
        if self.access > Access::None {
            close(&mut self.write, fetches);
            close(&mut self.read, fetches);
            *self = Self { had: self.had, ..Self::default() };
        }
    }
}

fn close(open: &mut FetchUse, fetches: &mut Fetches) {
    match open.take() {
        Some(true) => fetches.essential += 1,
        Some(false) => fetches.useless += 1,
        None => {}
    }
}

struct BlockCopies {
    ranks: Vec<RankCopy>,
    fetches: Fetches,
}

impl BlockCopies {
    fn new(ranks: usize) -> Self {
        Self { ranks: vec![RankCopy::default(); ranks], fetches: Fetches::default() }
    }

    fn load(&mut self, rank: usize, bytes: &Bytes) {
        let Self { ranks, fetches } = self;
        let fresh = ranks[rank].access == Access::None;
        for (number, other) in ranks.iter_mut().enumerate() {
            if number != rank {
                if fresh {
                    other.lower(fetches);
                }
                if other.access < Access::Write && other.had == Access::Write {
                    other.watched.unite(bytes);
                }
            }
        }
        let copy = &mut ranks[rank];
        copy.fetch(Access::Read, fetches);
        if copy.unseen.common(bytes).is_some() {
            let open = if copy.read.is_some() { &mut copy.read } else { &mut copy.write };
            open.iter_mut().for_each(|useful| *useful = true);
        }
    }

    fn store(&mut self, rank: usize, bytes: &Bytes) {
        let Self { ranks, fetches } = self;
        let exclusive = ranks[rank].access == Access::Write;
        for (number, other) in ranks.iter_mut().enumerate() {
            if number != rank {
                if !exclusive {
                    other.lose(fetches);
                }
                if other.had > Access::None {
                    other.unseen.unite(bytes);
                }
            }
        }
        let copy = &mut ranks[rank];
        copy.fetch(Access::Write, fetches);
        if copy.unseen.common(bytes).or_else(|| copy.watched.common(bytes)).is_some() {
            copy.write.iter_mut().for_each(|useful| *useful = true);
        }
    }

    fn push(&mut self, bytes: &Bytes) {
        let Self { ranks, fetches } = self;
        for copy in ranks {
            copy.lower(fetches);
            copy.access = Access::Read;
            copy.had = copy.had.max(Access::Read);
            // A rank that stores to these bytes next has to invalidate the copies again, at any granularity.
            copy.watched.unite(bytes);
        }
    }
}

#[cfg(test)]
mod tests;
