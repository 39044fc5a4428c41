//! Groups' weights, made into weights of threads.
//!
//! A group has its weight's share among its siblings and divides it among its threads and the groups in it
//! that have any. Linux gives it one entity a processor, and each the part of the weight that its load there
//! is of the group's: a thread's share is then the product of the shares on its way up, wherever it runs.
//! That product is a thread's weight here. Linux averages loads over some 30 ms; here those of the moment
//! count, at the tick and when a thread is queued.
use super::rules::Group;
use super::weights::of_group;

/// The weights of all groups, and of what is awake in each.
pub(super) struct Shares {
    groups: Vec<Share>,
}

struct Share {
    parent: Option<u32>,
    weight: u64,
    /// The sum of the weights of its threads and groups that are not asleep.
    load: u64,
}

impl Shares {
    pub(super) fn new(groups: &[Group]) -> Self {
        let share = |group: &Group| Share { parent: group.parent, weight: of_group(group.weight), load: 0 };
        Self { groups: groups.iter().map(share).collect() }
    }

    /// A thread of that weight is no longer asleep.
    pub(super) fn enter(&mut self, group: Option<u32>, weight: u64) {
        if let Some(group) = group {
            let share = &mut self.groups[group as usize];
            share.load += weight;
            if share.load == weight {
                let (parent, weight) = (share.parent, share.weight);
                self.enter(parent, weight);
            }
        }
    }

    /// A thread of that weight sleeps again.
    pub(super) fn leave(&mut self, group: Option<u32>, weight: u64) {
        if let Some(group) = group {
            let share = &mut self.groups[group as usize];
            share.load -= weight;
            if share.load == 0 {
                let (parent, weight) = (share.parent, share.weight);
                self.leave(parent, weight);
            }
        }
    }

    /// The weight of a thread against all others, if its nice value gives it `weight` within its group.
    pub(super) fn weight(&self, mut group: Option<u32>, weight: u64) -> u64 {
        let mut part = u128::from(weight);
        while let Some(share) = group.map(|group| &self.groups[group as usize]) {
            part = part * u128::from(share.weight) / u128::from(share.load.max(1));
            group = share.parent;
        }
        (part as u64).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::weights::NICE_0;
    use super::*;

    #[test]
    fn a_threads_weight_is_the_product_of_the_shares_on_its_way_up() {
        let group = |parent, weight| Group { parent, weight, ..Group::named("g") };
        let mut shares = Shares::new(&[group(None, 300), group(Some(0), 100), group(Some(0), 200)]);
        let all = [1, 1, 2].map(Some);
        all.into_iter().for_each(|group| shares.enter(group, NICE_0));
        // Group 300 is among 100 and 200; the first has two threads.
        let near = |weight: u64, parts: u64| weight.abs_diff(NICE_0 * parts / 2) <= NICE_0 / 100;
        assert!(near(shares.weight(Some(1), NICE_0), 1) && near(shares.weight(Some(2), NICE_0), 4));
        shares.leave(Some(1), NICE_0);
        assert!(near(shares.weight(Some(1), NICE_0), 2), "what its sibling had");
        shares.leave(Some(1), NICE_0);
        assert!(near(shares.weight(Some(2), NICE_0), 6), "a group that sleeps has no share");
        assert_eq!(shares.weight(None, NICE_0), NICE_0);
        shares.leave(Some(2), NICE_0);
        assert!(shares.groups.iter().all(|share| share.load == 0));
    }
}
