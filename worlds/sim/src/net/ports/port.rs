//! One node's two ports, and the line of nodes that wait for its receive port.
//!
//! A node waits in one line at most, for it holds its send port meanwhile; so the lines are lists through the
//! nodes.
use crate::net::packet::Parcel;
use foregather_machine::{Rank, SplitMix};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

const NOBODY: Rank = Rank::MAX;

pub(super) struct PortPair {
    /// The packet that holds the send port.
    pub(super) sending: Cell<Option<Parcel>>,
    /// The packets that wait for it.
    queue: RefCell<VecDeque<Parcel>>,
    /// The packet that the program is preparing.
    preparing: Cell<Option<Parcel>>,
    /// Whether the receive port is held.
    pub(super) receiving: Cell<bool>,
    /// Whether it will be assigned after all events at the current time.
    pub(super) open: Cell<bool>,
    /// The line of nodes that wait for it.
    first: Cell<Rank>,
    last: Cell<Rank>,
    /// The node behind this one in another node's line.
    next: Cell<Rank>,
}

impl Default for PortPair {
    fn default() -> Self {
        Self {
            sending: Cell::new(None),
            queue: RefCell::default(),
            preparing: Cell::new(None),
            receiving: Cell::new(false),
            open: Cell::new(false),
            first: Cell::new(NOBODY),
            last: Cell::new(NOBODY),
            next: Cell::new(NOBODY),
        }
    }
}

impl PortPair {
    /// Takes the send port, or waits for it. Returns whether it was free.
    #[inline]
    pub(super) fn enqueue(&self, parcel: Parcel) -> bool {
        let free = self.sending.get().is_none();
        if free {
            self.sending.set(Some(parcel));
        } else {
            self.queue.borrow_mut().push_back(parcel);
        }
        free
    }

    /// Leaves the send port to the next packet, if there is one.
    #[inline]
    pub(super) fn leave(&self) -> Option<Parcel> {
        let next = self.queue.borrow_mut().pop_front();
        self.sending.set(next);
        next
    }

    pub(super) fn prepare(&self, parcel: Parcel) {
        self.preparing.set(Some(parcel));
    }

    pub(super) fn prepared(&self) -> Option<Parcel> {
        self.preparing.take()
    }

    /// Returns whether the receive port must be assigned from now on.
    #[inline]
    pub(super) fn opens(&self) -> bool {
        let opens = !self.open.get() && !self.receiving.get() && self.first.get() != NOBODY;
        if opens {
            self.open.set(true);
        }
        opens
    }
}

/// `from` lines up for the receive port of `to`.
#[inline]
pub(super) fn line_up(pairs: &[PortPair], from: Rank, to: Rank) {
    let line = &pairs[to as usize];
    pairs[from as usize].next.set(NOBODY);
    match line.last.replace(from) {
        NOBODY => line.first.set(from),
        last => pairs[last as usize].next.set(from),
    }
}

fn behind(pairs: &[PortPair], node: Rank) -> Option<Rank> {
    Some(pairs[node as usize].next.get()).filter(|&next| next != NOBODY)
}

/// The nodes in the line for `to`, each with the one before it.
fn line(pairs: &[PortPair], to: Rank) -> impl Iterator<Item = (Rank, Rank)> {
    let first = Some(pairs[to as usize].first.get()).filter(|&first| first != NOBODY);
    let step = |&(_, node): &(Rank, Rank)| behind(pairs, node).map(|next| (node, next));
    std::iter::successors(first.map(|first| (NOBODY, first)), step)
}

/// Takes the node behind `before` out of the line for `to`.
#[inline]
fn take(pairs: &[PortPair], to: Rank, (before, node): (Rank, Rank)) -> Rank {
    let (line, next) = (&pairs[to as usize], pairs[node as usize].next.get());
    match before {
        NOBODY => line.first.set(next),
        before => pairs[before as usize].next.set(next),
    }
    if next == NOBODY {
        line.last.set(before);
    }
    node
}

/// Takes the node that has waited longest.
#[inline]
pub(super) fn first(pairs: &[PortPair], to: Rank) -> Rank {
    take(pairs, to, (NOBODY, pairs[to as usize].first.get()))
}

/// Takes the node that comes over the lowest dimension.
#[inline]
pub(super) fn lowest(pairs: &[PortPair], to: Rank) -> Rank {
    let first = (NOBODY, pairs[to as usize].first.get());
    if behind(pairs, first.1).is_none() {
        return take(pairs, to, first);
    }
    // A route ends with its highest dimension.
    let dimension = |node: Rank| (node ^ to).checked_ilog2();
    let chosen = line(pairs, to).min_by_key(|&(_, node)| dimension(node)).unwrap_or(first);
    take(pairs, to, chosen)
}

/// Takes any node.
#[inline]
pub(super) fn any(pairs: &[PortPair], to: Rank, random: &mut SplitMix) -> Rank {
    let first = (NOBODY, pairs[to as usize].first.get());
    if behind(pairs, first.1).is_none() {
        return take(pairs, to, first);
    }
    let chosen = random.below(line(pairs, to).count() as u64) as usize;
    let chosen = line(pairs, to).nth(chosen).unwrap_or(first);
    take(pairs, to, chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The line for `to`, emptied by `choose`.
    fn emptied(to: Rank, waiting: &[Rank], mut choose: impl FnMut(&[PortPair], Rank) -> Rank) -> Vec<Rank> {
        let pairs: Vec<PortPair> = (0..16).map(|_| PortPair::default()).collect();
        waiting.iter().for_each(|&node| line_up(&pairs, node, to));
        let taken = waiting.iter().map(|_| choose(&pairs, to)).collect();
        assert_eq!((pairs[to as usize].first.get(), pairs[to as usize].last.get()), (NOBODY, NOBODY), "the line is empty");
        taken
    }

    /// A route corrects its dimensions from the lowest to the highest, so it comes in over the highest one in
    /// which its ends differ: from node 5 to node 0 over dimension 2, although they also differ in
    /// dimension 0.
    #[test]
    fn the_port_goes_to_the_node_that_comes_over_the_lowest_dimension() {
        assert_eq!(emptied(0, &[5, 2], lowest), [2, 5]);
        assert_eq!(emptied(0, &[9, 6, 3, 1], lowest), [1, 3, 6, 9]);
        assert_eq!(emptied(6, &[0, 15, 3, 4, 7], lowest), [7, 4, 0, 3, 15], "0 and 3 come over one dimension, as they wait");
        // Every pair of nodes that come over different dimensions, in either order.
        for (to, one, other) in (0..16).flat_map(|to| (0..16).flat_map(move |one| (0..16).map(move |other| (to, one, other)))) {
            let over = |node: Rank| (0..4).rev().find(|bit| (node ^ to) >> bit & 1 == 1);
            if let (Some(first), Some(second)) = (over(one), over(other))
                && first < second
            {
                assert_eq!(emptied(to, &[one, other], lowest), [one, other], "to {to}");
                assert_eq!(emptied(to, &[other, one], lowest), [one, other], "to {to}");
            }
        }
    }

    #[test]
    fn the_node_that_has_waited_longest_is_first_and_any_node_may_be_drawn() {
        assert_eq!(emptied(0, &[5, 2, 9], first), [5, 2, 9]);
        let mut random = SplitMix(1);
        let drawn: Vec<Rank> = (0..100).map(|_| emptied(0, &[5, 2, 9], |pairs, to| any(pairs, to, &mut random))[0]).collect();
        assert!([5, 2, 9].iter().all(|node| drawn.iter().filter(|drawn| *drawn == node).count() > 20), "{drawn:?}");
    }
}
