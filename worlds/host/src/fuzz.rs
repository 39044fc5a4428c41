//! Seeded nonsense for parsers of foreign bytes, and a bound on what they allocate for it. For tests alone: a
//! test binary names [`CountingHeap`](crate::heap::CountingHeap) as its allocator and calls [`feed`].
use crate::heap;
use foregather_machine::SplitMix;

/// What a parser may allocate for any input, and for each byte of it.
const BYTES_FREE: u64 = 64 << 10;
const BYTES_EACH: u64 = 16;
/// The length of the longest input.
const LONGEST: usize = 2_048;
/// The number of inputs without the variable.
const SAMPLE: u64 = 100_000;
/// The variable that sets the number of inputs of all parsers together.
const COUNT: &str = "FOREGATHER_FUZZ";

/// A reader of foreign bytes, and inputs that it understands.
pub struct Parser {
    /// Its name in the report.
    pub name: &'static str,
    /// The inputs that mutations begin with.
    pub seeds: Vec<Vec<u8>>,
    /// Reads an input; `true`: it was valid.
    pub read: fn(&[u8]) -> bool,
}

/// Prints the input if the parser panics.
struct Witness<'a>(&'static str, &'a [u8]);

impl Drop for Witness<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{} by {:?}", self.0, self.1);
        }
    }
}

/// Feeds the parsers in turn with mutated seeds. `FOREGATHER_FUZZ` sets the number of inputs of all together;
/// 100,000 without it.
///
/// # Panics
/// If a parser panics, or allocates more than 64 KiB and 16 bytes for each byte that it reads.
pub fn feed(parsers: &[Parser], seed: u64) {
    let count = std::env::var(COUNT).map_or(SAMPLE, |count| count.parse().expect("FOREGATHER_FUZZ is a number of inputs"));
    for (at, parser) in (0..).zip(parsers) {
        let (mut random, mut input, mut sensible, mut most) =
            (SplitMix(SplitMix::mix(seed) ^ at), Vec::with_capacity(2 * LONGEST), 0_u64, 0);
        let each = count / parsers.len() as u64 + 1;
        for _ in 0..each {
            mutate(&mut random, &parser.seeds, &mut input);
            let witness = Witness(parser.name, &input);
            let (made_sense, held) = heap::held_by(|| (parser.read)(&input));
            sensible += u64::from(made_sense);
            assert!(held <= BYTES_FREE + BYTES_EACH * input.len() as u64, "{held} bytes for {}", input.len());
            drop(witness);
            most = held.max(most);
        }
        assert!(sensible > 0, "{}: nothing made sense", parser.name);
        println!("{}: {each} inputs, {sensible} made sense, {most} bytes at most", parser.name);
    }
}

/// Mutates one of the seeds into `input`.
fn mutate(random: &mut SplitMix, seeds: &[Vec<u8>], input: &mut Vec<u8>) {
    input.clear();
    input.extend_from_slice(&seeds[random.below(seeds.len() as u64) as usize]);
    for _ in 0..random.below(5) {
        let at = random.below(input.len() as u64 + 1) as usize;
        let some = random.below(24) as usize;
        let odd = [0, 1, 0x7f, 0x80, 0xff, b' ', b'\n', b',', b'[', b'0'][random.below(10) as usize];
        match random.below(7) {
            0 => input.truncate(at),
            1 => input.insert(at, odd),
            2 => input.extend((0..some).map(|_| random.next() as u8)),
            3 => drop(input.drain(at..(at + some).min(input.len()))),
            4 => {
                let other = &seeds[random.below(seeds.len() as u64) as usize];
                input.truncate(at);
                input.extend_from_slice(&other[at.min(other.len())..]);
            }
            5 => input.extend_from_within(at..),
            _ if at < input.len() => input[at] = if random.below(2) == 0 { odd } else { random.next() as u8 },
            _ => {}
        }
        input.truncate(LONGEST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "out of range")]
    fn a_parser_that_trusts_a_length_is_found() {
        let read = |bytes: &[u8]| bytes.first().is_some_and(|&len| bytes[1..1 + usize::from(len)].is_empty());
        feed(&[Parser { name: "trusting", seeds: vec![vec![0], vec![3, 1, 2, 3]], read }], 1);
    }
}
