//! Copies to and from memory that other threads may write at the same time, by whole words, and at the ends
//! by aligned halves.
//!
//! Every access to the shared side is atomic, so a copy that races with a write yields old or new words, and
//! is never undefined behaviour.
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

const WORD: usize = size_of::<u64>();
const HALF: usize = size_of::<u32>();

/// # Safety
/// The bytes from `from` on, as many as `into` has, are mapped and readable, and this process accesses them
/// only atomically, or by other means than Rust's references.
#[inline]
pub(super) unsafe fn out_of(from: NonNull<u8>, into: &mut [u8]) {
    let (head, words) = split(from, into.len());
    let (first, rest) = into.split_at_mut(head);
    let (middle, last) = rest.split_at_mut(words * WORD);
    // SAFETY: the part's bytes are among those of this function's contract.
    unsafe { out_of_part(from, first) };
    // SAFETY: `head` is at most the length of `into`.
    let mut at = unsafe { from.add(head) };
    for to in middle.chunks_exact_mut(WORD) {
        // SAFETY: the word is among the bytes of this function's contract, and aligned since `head`.
        to.copy_from_slice(&unsafe { at.cast::<AtomicU64>().as_ref() }.load(Relaxed).to_ne_bytes());
        // SAFETY: at most one byte behind those of this function's contract.
        at = unsafe { at.add(WORD) };
    }
    // SAFETY: the part's bytes are among those of this function's contract.
    unsafe { out_of_part(at, last) };
}

/// Copies less than a word, at either end, by aligned halves, so that these are not torn either.
///
/// # Safety
/// As [`out_of`].
#[inline]
unsafe fn out_of_part(from: NonNull<u8>, into: &mut [u8]) {
    if let (Ok(half), true) = (<&mut [u8; HALF]>::try_from(&mut *into), from.cast::<AtomicU32>().is_aligned()) {
        // SAFETY: the half is among the bytes of this function's contract, and aligned by the check.
        *half = unsafe { from.cast::<AtomicU32>().as_ref() }.load(Relaxed).to_ne_bytes();
        return;
    }
    for (to, at) in into.iter_mut().zip(0..) {
        // SAFETY: `at` is less than the length of `into`, so the byte is among those of this function's
        // contract.
        *to = unsafe { from.add(at).cast::<AtomicU8>().as_ref() }.load(Relaxed);
    }
}

/// # Safety
/// As [`out_of`] with the sides exchanged: the bytes from `to` on, as many as `from` has; and they are
/// writable.
#[inline]
pub(super) unsafe fn into(to: NonNull<u8>, from: &[u8]) {
    let (head, words) = split(to, from.len());
    let (first, rest) = from.split_at(head);
    let (middle, last) = rest.split_at(words * WORD);
    // SAFETY: the part's bytes are among those of this function's contract.
    unsafe { into_part(to, first) };
    // SAFETY: `head` is at most the length of `from`.
    let mut at = unsafe { to.add(head) };
    for from in middle.chunks_exact(WORD) {
        let word = u64::from_ne_bytes(from.try_into().expect("a chunk of a word"));
        // SAFETY: the word is among the bytes of this function's contract, and aligned since `head`.
        unsafe { at.cast::<AtomicU64>().as_ref() }.store(word, Relaxed);
        // SAFETY: at most one byte behind those of this function's contract.
        at = unsafe { at.add(WORD) };
    }
    // SAFETY: the part's bytes are among those of this function's contract.
    unsafe { into_part(at, last) };
}

/// Copies less than a word, at either end.
///
/// # Safety
/// As [`into`].
#[inline]
unsafe fn into_part(to: NonNull<u8>, from: &[u8]) {
    if let (Ok(half), true) = (<[u8; HALF]>::try_from(from), to.cast::<AtomicU32>().is_aligned()) {
        // SAFETY: the half is among the bytes of this function's contract, and aligned by the check.
        unsafe { to.cast::<AtomicU32>().as_ref() }.store(u32::from_ne_bytes(half), Relaxed);
        return;
    }
    for (&from, at) in from.iter().zip(0..) {
        // SAFETY: `at` is less than the length of `from`, so the byte is among those of this function's
        // contract.
        unsafe { to.add(at).cast::<AtomicU8>().as_ref() }.store(from, Relaxed);
    }
}

/// Returns how many bytes come before the first aligned word, and how many whole words follow.
#[inline]
fn split(shared: NonNull<u8>, bytes: usize) -> (usize, usize) {
    let head = shared.as_ptr().addr().wrapping_neg() % WORD;
    let head = head.min(bytes);
    (head, (bytes - head) / WORD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_piece_at_any_alignment_is_copied_and_nothing_else() {
        let mut memory: Vec<u64> = vec![0; 8];
        let base = NonNull::new(memory.as_mut_ptr().cast::<u8>()).unwrap();
        for start in 0..9 {
            for len in 0..30 {
                let from: Vec<u8> = (1..=len).collect();
                let mut whole = [0; 64];
                // SAFETY: the 64 bytes are this test's own, and accessed only here.
                unsafe { into(base, &[0; 64]) };
                // SAFETY: the range lies within the test's 64 bytes.
                unsafe { into(base.add(start), &from) };
                // SAFETY: the 64 bytes are this test's own, and accessed only here.
                unsafe { out_of(base, &mut whole) };
                assert_eq!(&whole[start..start + from.len()], from);
                assert_eq!(whole.iter().filter(|&&byte| byte != 0).count(), from.len());
                let mut back = vec![0; from.len()];
                // SAFETY: the range lies within the test's 64 bytes.
                unsafe { out_of(base.add(start), &mut back) };
                assert_eq!(back, from);
            }
        }
    }
}
