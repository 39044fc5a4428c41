//! Copies to and from memory that others may write at the same time, by whole words where it is aligned.
//!
//! Every access to the shared side is atomic, so a copy that meets a write yields old or new words, and is never undefined.
use core::ptr::NonNull;
use core::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

const WORD: usize = size_of::<u64>();

/// # Safety
/// The bytes from `from` on, as many as `into` has, are mapped and readable, and only ever accessed atomically in this process, or by
/// other means than Rust's references.
pub(super) unsafe fn out_of(from: NonNull<u8>, into: &mut [u8]) {
    let (head, words) = split(from, into.len());
    // SAFETY: within the bytes that the caller vouches for.
    let byte = |at| unsafe { from.add(at).cast::<AtomicU8>().as_ref() };
    let mut at = head;
    for (to, from) in into[..head].iter_mut().zip(0..) {
        *to = byte(from).load(Relaxed);
    }
    for to in into[head..head + words * WORD].chunks_exact_mut(WORD) {
        // SAFETY: as above, and aligned since `head`.
        to.copy_from_slice(&unsafe { from.add(at).cast::<AtomicU64>().as_ref() }.load(Relaxed).to_ne_bytes());
        at += WORD;
    }
    for (to, from) in into[at..].iter_mut().zip(at..) {
        *to = byte(from).load(Relaxed);
    }
}

/// # Safety
/// As [`out_of`], and writable.
pub(super) unsafe fn into(to: NonNull<u8>, from: &[u8]) {
    let (head, words) = split(to, from.len());
    // SAFETY: within the bytes that the caller vouches for.
    let byte = |at| unsafe { to.add(at).cast::<AtomicU8>().as_ref() };
    let mut at = head;
    for (to, from) in (0..).zip(&from[..head]) {
        byte(to).store(*from, Relaxed);
    }
    for from in from[head..head + words * WORD].chunks_exact(WORD) {
        let word = u64::from_ne_bytes(from.try_into().expect("a chunk of a word"));
        // SAFETY: as above, and aligned since `head`.
        unsafe { to.add(at).cast::<AtomicU64>().as_ref() }.store(word, Relaxed);
        at += WORD;
    }
    for (to, from) in (at..).zip(&from[at..]) {
        byte(to).store(*from, Relaxed);
    }
}

/// How many bytes come before the first aligned word, and how many whole words follow.
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
                // SAFETY: the 64 bytes are this test's own.
                unsafe { into(base, &[0; 64]) };
                // SAFETY: within them.
                unsafe { into(base.add(start), &from) };
                // SAFETY: as above.
                unsafe { out_of(base, &mut whole) };
                assert_eq!(&whole[start..start + from.len()], from);
                assert_eq!(whole.iter().filter(|&&byte| byte != 0).count(), from.len());
                let mut back = vec![0; from.len()];
                // SAFETY: as above.
                unsafe { out_of(base.add(start), &mut back) };
                assert_eq!(back, from);
            }
        }
    }
}
