//! Tasks that are waited for together, and the values that they reduce.
use foregather_machine::Words;
use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};

/// What a group belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupOf {
    /// The program, which may cancel it.
    Program,
    /// A region or a loop that reduces over tasks.
    Construct,
}

/// The tasks that are made between the beginning and the end of a group, and their descendants.
pub struct TaskGroup<C: Words> {
    /// The group around it.
    pub outer: Option<Arc<Self>>,
    of: GroupOf,
    /// Its tasks that are not complete.
    pub unfinished: C::Word,
    is_cancelled: C::Word,
    reductions: Mutex<Vec<Reductions>>,
}

impl<C: Words> TaskGroup<C> {
    /// A group within another one, or within none.
    pub fn within(outer: Option<Arc<Self>>, of: GroupOf) -> Self {
        Self { outer, of, unfinished: C::Word::default(), is_cancelled: C::Word::default(), reductions: Mutex::default() }
    }

    /// The tasks of the innermost group of the program's own that have not begun do nothing from now on.
    pub fn cancel(&self, cpu: &C) {
        if let Some(group) = self.and_outer().find(|group| group.of == GroupOf::Program) {
            cpu.store(&group.is_cancelled, 1);
        }
    }

    /// Returns whether this group or one that encloses it was cancelled.
    pub fn is_cancelled(&self, cpu: &C) -> bool {
        self.and_outer().any(|group| cpu.load(&group.is_cancelled) != 0)
    }

    /// Its tasks reduce these values.
    pub fn reduce(&self, reductions: Reductions) {
        self.reductions.lock().unwrap_or_else(PoisonError::into_inner).push(reductions);
    }

    /// Where member `rank` has its copy of what lies at `address`, or of what another member's copy at
    /// `address` is of; and where that is.
    pub fn reduced(&self, address: usize, rank: u32) -> Option<(usize, usize)> {
        self.and_outer().find_map(|group| {
            let reductions = group.reductions.lock().unwrap_or_else(PoisonError::into_inner);
            reductions.iter().rev().find_map(|reductions| reductions.copy(address, rank))
        })
    }

    /// It and the groups around it, from it on.
    pub fn and_outer(&self) -> impl Iterator<Item = &Self> {
        core::iter::successors(Some(self), |group| group.outer.as_deref())
    }
}

/// Values that tasks reduce: each member has a copy of all of them.
#[derive(Clone)]
pub struct Reductions {
    /// Where the copies begin.
    pub copies: usize,
    /// How far the copies of one member are from those of the next.
    pub bytes: usize,
    /// How many members have copies.
    pub members: u32,
    /// The values: the address of each, and how far its copy is from the beginning of a member's copies.
    pub values: Vec<(usize, usize)>,
    /// Keeps the copies alive, if they are not the caller's.
    pub memory: Option<Arc<dyn Any + Send + Sync>>,
}

impl Reductions {
    fn copy(&self, address: usize, rank: u32) -> Option<(usize, usize)> {
        let within = address.wrapping_sub(self.copies);
        let is_copy = within < self.bytes * self.members as usize;
        let is_asked = |&&(original, offset): &&(usize, usize)| {
            if is_copy { within % self.bytes == offset } else { original == address }
        };
        let &(original, offset) = self.values.iter().find(is_asked)?;
        Some((self.copies + rank as usize * self.bytes + offset, original))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_found_by_the_value_and_by_any_copy() {
        let reductions = Reductions { copies: 1_000, bytes: 64, members: 3, values: vec![(8, 0), (16, 32)], memory: None };
        assert_eq!(reductions.copy(16, 2), Some((1_160, 16)));
        assert_eq!(reductions.copy(1_032, 2), Some((1_160, 16)), "member 0 has passed its copy on");
        assert_eq!(reductions.copy(8, 0), Some((1_000, 8)));
        assert_eq!((reductions.copy(24, 0), reductions.copy(1_008, 0)), (None, None));
    }
}
