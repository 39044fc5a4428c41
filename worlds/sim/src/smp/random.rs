//! Random numbers: one stream a thread, so that what a thread draws does not depend on the order in which
//! threads run.
use foregather_machine::SplitMix;

/// One thread's stream.
#[derive(Clone, Debug)]
pub(super) struct Random {
    numbers: SplitMix,
    /// The other half of a pair of normal numbers.
    spare: Option<f64>,
    /// Where a trace is read next.
    place: Option<u64>,
    /// How many phases are over.
    phases: u64,
}

impl Random {
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        let scattered = SplitMix(seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95)).next();
        Self { numbers: SplitMix(scattered ^ stream), spare: None, place: None, phases: 0 }
    }

    pub(super) fn next(&mut self) -> u64 {
        self.numbers.next()
    }

    /// A number evenly distributed below `n`.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.numbers.below(n)
    }

    /// A number evenly distributed above 0 and up to 1.
    pub(super) fn unit(&mut self) -> f64 {
        self.numbers.unit()
    }

    /// A normally distributed number of mean 0 and variance 1.
    pub(super) fn normal(&mut self) -> f64 {
        self.spare.take().unwrap_or_else(|| {
            let (one, other) = self.numbers.normal_pair();
            self.spare = Some(other);
            one
        })
    }

    /// The next of `n` places, round and round from a random one.
    pub(super) fn step(&mut self, n: u64) -> u64 {
        let place = self.place.map_or_else(|| self.below(n), |place| (place + 1) % n);
        self.place = Some(place);
        place
    }

    /// The next of `n` phases, round and round from the first one.
    pub(super) fn phase(&mut self, n: u64) -> u64 {
        self.phases += 1;
        (self.phases - 1) % n
    }

    /// Puts the items into a random order.
    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        self.numbers.shuffle(items);
    }
}
