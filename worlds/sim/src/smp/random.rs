//! Random numbers: one stream a thread, so that what a thread draws does not depend on who runs before it.

/// Steele, Lea & Flood 2014 (SplitMix): the same numbers on every machine.
#[derive(Clone, Debug)]
pub(super) struct Random {
    state: u64,
    /// The other half of a pair of normal numbers.
    spare: Option<f64>,
    /// Where a trace is read next.
    place: Option<u64>,
}

impl Random {
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        let mut seeded = Self { state: seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95), spare: None, place: None };
        seeded.state = seeded.next() ^ stream;
        seeded
    }

    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Evenly below `n`.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// Above 0 and at most 1.
    pub(super) fn unit(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// Box & Muller 1958.
    pub(super) fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let (radius, angle) = ((-2.0 * self.unit().ln()).sqrt(), std::f64::consts::TAU * self.unit());
        self.spare = Some(radius * angle.sin());
        radius * angle.cos()
    }

    /// The next of `n` places, round and round from a random one.
    pub(super) fn step(&mut self, n: u64) -> u64 {
        let place = self.place.map_or_else(|| self.below(n), |place| (place + 1) % n);
        self.place = Some(place);
        place
    }

    /// A permutation (Fisher & Yates).
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}
