//! A state in 128 bits, so that hundreds of millions of states can be distinguished without being stored.
//!
//! It consists of two halves, each a chain of multiplications folded to 64 bits with its own constants. It is
//! the same on all machines and in all runs.
use std::hash::{Hash, Hasher};

/// 64 bits each of the fractions of the golden ratio, e, and the square roots of 2 and 3, made odd.
const STEP: [u64; 2] = [0x9e37_79b9_7f4a_7c15, 0xb7e1_5162_8aed_2a6b];
const START: [u64; 2] = [0x6a09_e667_f3bc_c909, 0xbb67_ae85_84ca_a73b];

struct Halves([u64; 2]);

/// Returns the fingerprint of a value.
pub(super) fn fingerprint(value: &impl Hash) -> u128 {
    let mut halves = Halves(START);
    value.hash(&mut halves);
    // Once more, so that the last word also goes through two multiplications.
    halves.write_u64(0);
    u128::from(halves.0[0]) << 64 | u128::from(halves.0[1])
}

impl Hasher for Halves {
    fn finish(&self) -> u64 {
        self.0[0]
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        for (half, step) in self.0.iter_mut().zip(STEP) {
            let product = u128::from(*half ^ value).wrapping_mul(u128::from(step));
            // The word is added again, because a product of zero would lose it.
            *half = (product as u64 ^ (product >> 64) as u64).wrapping_add(value).rotate_left(23);
        }
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn write_isize(&mut self, value: isize) {
        self.write_u64(value as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn values_that_differ_in_one_bit_are_told_apart_in_both_halves() {
        let mut seen = [BTreeSet::new(), BTreeSet::new()];
        for at in 0..256 {
            let mut words = [0_u32; 8];
            words[at / 32] = 1 << (at % 32);
            let print = fingerprint(&words);
            assert!(seen[0].insert(print as u64) && seen[1].insert((print >> 64) as u64));
        }
    }
}
