//! Decides which of several things happens next: by a seed, or every one of them in turn.
use foregather_machine::SplitMix;

/// Makes choices and remembers them.
#[derive(Clone, Debug)]
pub struct Chooser {
    /// Each choice taken, and of how many, if all are to be tried.
    taken: Vec<(usize, usize)>,
    depth: usize,
    random: Option<SplitMix>,
}

impl Chooser {
    /// Random choices. A walk through all orders varies the late choices first, and misses what early ones
    /// cause.
    pub fn random(seed: u64) -> Self {
        Self { taken: Vec::new(), depth: 0, random: Some(SplitMix(seed)) }
    }

    /// The first of all orders; [`Chooser::advance`] goes on to the next.
    pub fn every() -> Self {
        Self { taken: Vec::new(), depth: 0, random: None }
    }

    pub(super) fn choose(&mut self, of: usize) -> usize {
        if let Some(random) = &mut self.random {
            return random.below(of as u64) as usize;
        }
        if self.depth == self.taken.len() {
            self.taken.push((0, of));
        }
        self.depth += 1;
        self.taken[self.depth - 1].0
    }

    /// Goes on to the next order; `false` after the last.
    pub fn advance(&mut self) -> bool {
        self.depth = 0;
        while let Some((taken, of)) = self.taken.pop() {
            if taken + 1 < of {
                self.taken.push((taken + 1, of));
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sequence_of_choices_is_made_once() {
        let (mut chooser, mut seen) = (Chooser::every(), Vec::new());
        loop {
            let first = chooser.choose(3);
            seen.push((first, chooser.choose(first + 1)));
            if !chooser.advance() {
                break;
            }
        }
        assert_eq!(seen, [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1), (2, 2)]);
    }
}
