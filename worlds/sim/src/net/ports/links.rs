//! The links of a hypercube: a circuit takes those of its route one after the other, the lowest dimension
//! first, and holds them.
//!
//! All circuits take dimensions in the same order, so they cannot wait for each other in a circle.
use foregather_machine::Rank;
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

/// A link, by the node it leaves and its dimension.
type LinkId = (Rank, u32);

/// The circuits that hold links, and those that wait for them.
#[derive(Default)]
pub(super) struct HeldLinks(RefCell<State>);

#[derive(Default)]
struct State {
    /// Links that are held, with the circuits that wait for them.
    held: BTreeMap<LinkId, VecDeque<Circuit>>,
}

/// A circuit on its way: how far it has come.
#[derive(Clone, Copy)]
struct Circuit {
    from: Rank,
    to: Rank,
    at: Rank,
}

impl Circuit {
    /// The next link of its route; `None` at the end.
    fn next(&self) -> Option<LinkId> {
        let differs = self.at ^ self.to;
        (differs != 0).then(|| (self.at, differs.trailing_zeros()))
    }
}

impl State {
    /// Takes links until another circuit holds one. Returns whether the route is complete.
    fn advance(&mut self, mut circuit: Circuit) -> bool {
        while let Some(link) = circuit.next() {
            if let Some(waiting) = self.held.get_mut(&link) {
                waiting.push_back(circuit);
                return false;
            }
            self.held.insert(link, VecDeque::new());
            circuit.at ^= 1 << link.1;
        }
        true
    }
}

impl HeldLinks {
    /// The number of links of a route.
    pub(super) const fn hops(from: Rank, to: Rank) -> u32 {
        (from ^ to).count_ones()
    }

    /// Begins a route. Returns whether it is already complete.
    pub(super) fn take_all(&self, from: Rank, to: Rank) -> bool {
        self.0.borrow_mut().advance(Circuit { from, to, at: from })
    }

    /// Gives a route's links back; returns the circuits whose routes are complete now.
    pub(super) fn free_all(&self, from: Rank, to: Rank) -> Vec<(Rank, Rank)> {
        let (mut state, mut complete) = (self.0.borrow_mut(), Vec::new());
        let mut route = Circuit { from, to, at: from };
        while let Some(link) = route.next() {
            route.at ^= 1 << link.1;
            let mut waiting = state.held.remove(&link).unwrap_or_default();
            if let Some(mut first) = waiting.pop_front() {
                // It has the link now, and with it the circuits that wait behind.
                state.held.insert(link, waiting);
                first.at ^= 1 << link.1;
                if state.advance(first) {
                    complete.push((first.from, first.to));
                }
            }
        }
        complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_directed_and_held_until_given_back() {
        let links = HeldLinks::default();
        assert!(links.take_all(1, 7), "by 3");
        assert!(!links.take_all(0, 7), "has 0-1 and waits for 1-3");
        assert!(!links.take_all(0, 1), "which holds up others behind it");
        assert!(links.take_all(3, 1), "the other direction is another link");
        assert_eq!(links.free_all(1, 7), [(0, 7)]);
        assert_eq!(links.free_all(0, 7), [(0, 1)]);
        assert_eq!(links.free_all(0, 1), []);
    }
}
