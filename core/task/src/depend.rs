//! What a task has to wait for, by the addresses that it and its earlier siblings name (OpenMP 5.2 §15.9.5).
//!
//! At each address the siblings form groups: those of one group may run side by side, and all of them come
//! after those of the group before. Readers form one, and so do the members of an `inoutset`; a task that
//! writes is a group of its own. Tasks that exclude each other (`mutexinoutset`) are treated as if they
//! wrote, which orders them as well.
use std::collections::BTreeMap;

/// How a task uses what lies at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DependenceType {
    /// It reads.
    In,
    /// It writes, or it excludes others.
    Out,
    /// It writes, beside others that name the same.
    InOutSet,
}

/// A use of an address; address 0 stands for all memory, which can only be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Depend {
    /// The address.
    pub address: usize,
    /// The use.
    pub access: DependenceType,
}

/// The siblings at one address: the last group, and the one that it comes after.
struct LastGroups<T> {
    access: DependenceType,
    last: Vec<T>,
    before: Vec<T>,
}

/// The children of one task by the addresses that they name.
pub struct Dependences<T> {
    at: BTreeMap<usize, LastGroups<T>>,
    /// The last child that has named all memory.
    all: Option<T>,
    /// Addresses from which on those without a living child are dropped.
    crowded: usize,
}

/// The fewest addresses that are looked through for those without a living child.
const CROWDED: usize = 64;

impl<T> Default for Dependences<T> {
    fn default() -> Self {
        Self { at: BTreeMap::new(), all: None, crowded: CROWDED }
    }
}

impl<T: Clone> Dependences<T> {
    /// The children that `task` has to wait for, which is the next child and makes these uses. `is_over` says
    /// which children are not waited for any more. A child may be named twice.
    pub fn add(&mut self, task: &T, uses: &[Depend], is_over: impl Fn(&T) -> bool) -> Vec<T> {
        let merged = if uses.len() > 1 { merged(uses) } else { Vec::new() };
        let uses = if uses.len() > 1 { &merged } else { uses };
        if uses.iter().any(|depend| depend.address == 0) {
            return self.add_to_all(task);
        }
        let mut first = Vec::new();
        for &Depend { address, access } in uses {
            let all = &self.all;
            let siblings = self.at.entry(address).or_insert_with(|| LastGroups::after(all.iter().cloned().collect()));
            siblings.add(task, access, &is_over);
            first.extend(siblings.before.iter().cloned());
        }
        if self.at.len() >= self.crowded {
            self.at.retain(|_, siblings| !siblings.last.iter().all(&is_over));
            self.crowded = (2 * self.at.len()).max(CROWDED);
        }
        first
    }

    fn add_to_all(&mut self, task: &T) -> Vec<T> {
        let mut first: Vec<T> = self.all.take().into_iter().collect();
        first.extend(core::mem::take(&mut self.at).into_values().flat_map(|siblings| siblings.last));
        self.all = Some(task.clone());
        first
    }
}

impl<T: Clone> LastGroups<T> {
    fn after(last: Vec<T>) -> Self {
        Self { access: DependenceType::Out, last, before: Vec::new() }
    }

    fn add(&mut self, task: &T, access: DependenceType, is_over: impl Fn(&T) -> bool) {
        if access == DependenceType::Out || access != self.access {
            self.access = access;
            core::mem::swap(&mut self.before, &mut self.last);
            self.last.clear();
        }
        self.before.retain(|task| !is_over(task));
        // Only when the list would grow: so a long one is looked through rarely.
        if self.last.len() == self.last.capacity() {
            self.last.retain(|task| !is_over(task));
        }
        self.last.push(task.clone());
    }
}

/// One use for each address: different uses of one address are a write.
fn merged(uses: &[Depend]) -> Vec<Depend> {
    let mut uses = uses.to_vec();
    uses.sort_unstable_by_key(|depend| depend.address);
    uses.dedup_by(|later, first| {
        let same = later.address == first.address;
        if same && later.access != first.access {
            first.access = DependenceType::Out;
        }
        same
    });
    uses
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_machine::SplitMix;

    fn uses(uses: &[(usize, DependenceType)]) -> Vec<Depend> {
        uses.iter().map(|&(address, access)| Depend { address, access }).collect()
    }

    fn sorted(mut tasks: Vec<u32>) -> Vec<u32> {
        tasks.sort_unstable();
        tasks.dedup();
        tasks
    }

    #[test]
    fn readers_come_after_the_writer_and_before_the_next() {
        use DependenceType::*;
        let mut children = Dependences::default();
        let mut next = |task, of: &[(usize, DependenceType)]| sorted(children.add(&task, &uses(of), |_| false));
        assert_eq!(next(0, &[(8, Out)]), [0_u32; 0]);
        assert_eq!(next(1, &[(8, In)]), [0]);
        assert_eq!(next(2, &[(8, In), (16, Out)]), [0]);
        assert_eq!(next(3, &[(8, InOutSet)]), [1, 2]);
        assert_eq!(next(4, &[(8, InOutSet), (16, In)]), [1, 2]);
        assert_eq!(next(5, &[(8, In), (8, Out)]), [3, 4], "both uses are one write");
        assert_eq!(next(6, &[(0, Out)]), [4, 5], "the last groups of all addresses");
        assert_eq!(next(7, &[(24, In)]), [6], "an address that is new comes after all memory, too");
        assert_eq!(next(8, &[(0, Out)]), [6, 7]);
    }

    #[test]
    fn what_is_over_is_forgotten() {
        let mut children = Dependences::default();
        for task in 0..100_000_u32 {
            let of = uses(&[(8, DependenceType::In), (16 * (task as usize + 1), DependenceType::Out)]);
            assert_eq!(children.add(&task, &of, |_| true), [0_u32; 0]);
            assert!(children.at.len() <= CROWDED && children.at.values().all(|siblings| siblings.last.len() <= CROWDED));
        }
    }

    /// A task of the random program below.
    struct Sibling {
        uses: Vec<Depend>,
        first: Vec<usize>,
        /// The earlier siblings that are over before this one begins.
        after: Vec<bool>,
    }

    /// Returns whether two siblings must not run at the same time.
    fn conflict(one: &[Depend], other: &[Depend]) -> bool {
        let may_overlap = |a: &Depend, b: &Depend| a.access == b.access && a.access != DependenceType::Out;
        let is_all = |depend: &Depend| depend.address == 0;
        one.iter().chain(other).any(is_all)
            || one.iter().any(|a| other.iter().any(|b| a.address == b.address && !may_overlap(a, b)))
    }

    fn drawn(random: &mut SplitMix) -> Vec<Depend> {
        if random.below(500) == 0 {
            return uses(&[(0, DependenceType::Out)]);
        }
        let access = |random: &mut SplitMix| {
            [DependenceType::In, DependenceType::In, DependenceType::Out, DependenceType::InOutSet][random.below(4) as usize]
        };
        merged(
            &(0..1 + random.below(4))
                .map(|_| Depend { address: 8 + random.below(300) as usize, access: access(random) })
                .collect::<Vec<_>>(),
        )
    }

    /// OpenMP 5.2 §15.9.5: a task depends on every earlier sibling with which it shares an address, unless
    /// both only read or both name it by `inoutset`. That holds for any number of addresses.
    #[test]
    fn siblings_in_conflict_are_ordered_and_others_are_not_whatever_the_number_of_addresses() {
        for seed in 0..20 {
            let (mut random, mut children) = (SplitMix(seed), Dependences::default());
            let (mut all, mut over) = (Vec::<Sibling>::new(), vec![false; 1_000]);
            for task in 0..1_000 {
                let uses = drawn(&mut random);
                let first = children.add(&task, &uses, |&task| over[task]);
                let mut after = vec![false; task];
                for &before in &first {
                    assert!(conflict(&uses, &all[before].uses), "seed {seed}: {task} need not wait for {before}");
                    after[before] = true;
                    all[before].after.iter().zip(&mut after).for_each(|(theirs, mine)| *mine |= theirs);
                }
                for (before, sibling) in all.iter().enumerate().filter(|(before, _)| !over[*before]) {
                    let ordered = after[before] || !conflict(&uses, &sibling.uses);
                    assert!(ordered, "seed {seed}: {task} does not wait for {before}: {uses:?} after {:?}", sibling.uses);
                }
                all.push(Sibling { uses, first, after });
                // Tasks end in any order that their dependences allow; some live long.
                for _ in 0..3 {
                    let one = random.below(all.len() as u64) as usize;
                    over[one] |= all[one].first.iter().all(|&before| over[before]);
                }
            }
        }
    }
}
