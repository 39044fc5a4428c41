//! Short lines of a matrix as arrays: copied in pieces of fixed lengths, where a call to copy memory would
//! cost more than the line.
use super::matrix::{Matrix, MatrixMut};
use crate::scalar::Scalar;

/// Lines that begin where cache lines do: a value that was stored across two of those would reach its next
/// reader late.
#[repr(align(64))]
pub(super) struct AlignedLines<T, const N: usize>(pub(super) [[T; N]; N]);

impl<T: Scalar, const N: usize> AlignedLines<T, N> {
    /// Lines of noughts.
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self([[T::ZERO; N]; N])
    }
}

/// At most `N` elements, and noughts after them.
#[inline(always)]
pub(super) fn load<T: Scalar, const N: usize>(from: &[T]) -> [T; N] {
    if let Ok(whole) = from.try_into() {
        return whole;
    }
    let mut line = [T::ZERO; N];
    put(from, &mut line);
    line
}

/// Writes as many elements of a line as there is room for.
#[inline(always)]
pub(super) fn store<T: Scalar, const N: usize>(line: &[T; N], to: &mut [T]) {
    if let Ok(whole) = <&mut [T; N]>::try_from(&mut *to) {
        *whole = *line;
        return;
    }
    let len = to.len().min(N);
    put(&line[..len], to);
}

/// `LEN` elements of a slice from `at` on, without a look at its length.
///
/// # Safety
/// The slice has these elements.
#[inline(always)]
pub(super) unsafe fn piece<T, const LEN: usize>(slice: &[T], at: usize) -> &[T; LEN] {
    debug_assert!(at + LEN <= slice.len());
    // SAFETY: this function's `# Safety`: the slice has these elements.
    unsafe { &*slice.as_ptr().add(at).cast() }
}

/// Work on elements that lie side by side, which is done in pieces of lengths that the compiler knows.
pub(super) trait Pieces {
    /// Does the work for `LEN` elements from `at` on.
    fn piece<const LEN: usize>(&mut self, at: usize);
}

/// Does the work for `len` elements: pieces of `MOST`, which is 8, 16 or 32, then at most one piece of each
/// shorter length.
#[inline(always)]
pub(super) fn in_pieces<const MOST: usize>(len: usize, work: &mut impl Pieces) {
    let mut at = 0;
    while len - at >= MOST {
        work.piece::<MOST>(at);
        at += MOST;
    }
    if MOST > 16 && len & 16 != 0 {
        work.piece::<16>(at);
        at += 16;
    }
    if MOST > 8 && len & 8 != 0 {
        work.piece::<8>(at);
        at += 8;
    }
    if len & 4 != 0 {
        work.piece::<4>(at);
        at += 4;
    }
    if len & 2 != 0 {
        work.piece::<2>(at);
        at += 2;
    }
    if len & 1 != 0 {
        work.piece::<1>(at);
    }
}

/// Does the work from the end to the start, pieces of `MOST`, which is 8 or 16, first.
#[inline(always)]
pub(super) fn in_pieces_back<const MOST: usize>(len: usize, work: &mut impl Pieces) {
    let mut end = len;
    while end >= MOST {
        end -= MOST;
        work.piece::<MOST>(end);
    }
    if MOST > 8 && end & 8 != 0 {
        end -= 8;
        work.piece::<8>(end);
    }
    if end & 4 != 0 {
        end -= 4;
        work.piece::<4>(end);
    }
    if end & 2 != 0 {
        end -= 2;
        work.piece::<2>(end);
    }
    if end & 1 != 0 {
        work.piece::<1>(end - 1);
    }
}

/// Copies elements to the start of another slice that is no shorter.
#[inline(always)]
pub(super) fn put<T: Scalar>(from: &[T], to: &mut [T]) {
    struct Put<'a, T>(&'a [T], &'a mut [T]);
    impl<T: Scalar> Pieces for Put<'_, T> {
        #[inline(always)]
        fn piece<const LEN: usize>(&mut self, at: usize) {
            self.1[at..at + LEN].copy_from_slice(&self.0[at..at + LEN]);
        }
    }
    in_pieces::<16>(from.len(), &mut Put(from, to));
}

/// `line + factor * other`. The line is a new one, and the loop has no exit: so the compiler makes whole
/// registers of it.
#[inline(always)]
pub(super) fn plus<T: Scalar, const FUSED: bool, const N: usize>(mut line: [T; N], factor: T, other: &[T; N]) -> [T; N] {
    for lane in 0..N {
        line[lane] = line[lane].add_product::<FUSED>(other[lane], factor);
    }
    line
}

/// A column whose elements lie side by side: every matrix has such columns or such rows.
#[inline(always)]
pub(super) fn side_by_side<T: Scalar>(matrix: Matrix<'_, T>, col: usize) -> &[T] {
    matrix.col(col).as_slice().expect("the lines of a matrix lie side by side in memory")
}

/// A column whose elements lie side by side, to be written.
#[inline(always)]
pub(super) fn side_by_side_mut<'m, T: Scalar>(matrix: &'m mut MatrixMut<'_, T>, col: usize) -> &'m mut [T] {
    matrix.reborrow().col(col).into_slice().expect("the lines of a matrix lie side by side in memory")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_every_length_come_and_go_whole() {
        let from: Vec<f64> = (1..40).map(f64::from).collect();
        for len in 0..from.len() {
            let mut to = [0.0; 40];
            put(&from[..len], &mut to);
            assert!(to[..len] == from[..len] && to[len..].iter().all(|&rest| rest == 0.0), "{len}");
        }
        for len in 0..=16 {
            let line: [f64; 16] = load(&from[..len]);
            let mut to = vec![0.0; len];
            store(&line, &mut to);
            assert!(to == from[..len] && line[len..].iter().all(|&rest| rest == 0.0), "{len}");
        }
    }
}
