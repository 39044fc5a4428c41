//! Short lines of a matrix as arrays: copied in pieces of fixed lengths, where a call to copy memory would cost more than the line.
use super::matrix::{Layout, Matrix, MatrixMut};
use crate::scalar::Scalar;

/// Lines that begin where lines of memory do: what was written to one would reach its next reader late from across two of those.
#[repr(align(64))]
pub(super) struct AlignedLines<T, const N: usize>(pub(super) [[T; N]; N]);

impl<T: Scalar, const N: usize> AlignedLines<T, N> {
    /// Noughts.
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

/// Copies elements to the start of another slice that is no shorter.
#[inline(always)]
pub(super) fn put<T: Scalar>(from: &[T], to: &mut [T]) {
    let mut at = 0;
    while from.len() - at >= 16 {
        at = piece::<T, 16>(from, to, at);
    }
    if from.len() & 8 != 0 {
        at = piece::<T, 8>(from, to, at);
    }
    if from.len() & 4 != 0 {
        at = piece::<T, 4>(from, to, at);
    }
    if from.len() & 2 != 0 {
        at = piece::<T, 2>(from, to, at);
    }
    if from.len() & 1 != 0 {
        piece::<T, 1>(from, to, at);
    }
}

#[inline(always)]
fn piece<T: Scalar, const LEN: usize>(from: &[T], to: &mut [T], at: usize) -> usize {
    to[at..at + LEN].copy_from_slice(&from[at..at + LEN]);
    at + LEN
}

/// `line + factor * other`. Made anew and without an exit from the loop: so the compiler makes whole registers of it.
#[inline(always)]
pub(super) fn plus<T: Scalar, const FUSED: bool, const N: usize>(mut line: [T; N], factor: T, other: &[T; N]) -> [T; N] {
    for lane in 0..N {
        line[lane] = line[lane].add_product::<FUSED>(other[lane], factor);
    }
    line
}

/// The columns of a matrix of at most `N` rows and columns, where they lie if they lie side by side and are meant as they are, else
/// copied into `held`.
#[inline(always)]
pub(super) fn columns<'m, T: Scalar, const N: usize>(
    matrix: Matrix<'m, T>,
    conj: bool,
    held: &'m mut Option<AlignedLines<T, N>>,
) -> [&'m [T]; N] {
    let Layout { rows, cols, down, .. } = matrix.layout;
    assert!(rows <= N && cols <= N, "lines are short");
    let mut columns: [&[T]; N] = [&[]; N];
    if down == 1 && !(conj && T::COMPLEX) {
        for (at, column) in columns[..cols].iter_mut().enumerate() {
            *column = side_by_side(matrix, at);
        }
        return columns;
    }
    let copy = held.insert(AlignedLines::new());
    let lines = if down == 1 { matrix } else { matrix.t() };
    for line in 0..lines.col_count() {
        for (at, &value) in side_by_side(lines, line).iter().enumerate() {
            let (row, col) = if down == 1 { (at, line) } else { (line, at) };
            copy.0[col % N][row % N] = value.conj_if(conj);
        }
    }
    for (column, copy) in columns[..cols].iter_mut().zip(&copy.0) {
        *column = &copy[..rows];
    }
    columns
}

/// A column whose elements lie side by side: every matrix has such columns or such rows.
#[inline(always)]
pub(super) fn side_by_side<T: Scalar>(matrix: Matrix<'_, T>, col: usize) -> &[T] {
    matrix.col(col).as_slice().expect("the lines of a matrix lie side by side in memory")
}

/// The same, to be written.
#[inline(always)]
pub(super) fn side_by_side_mut<'m, T: Scalar>(matrix: &'m mut MatrixMut<'_, T>, col: usize) -> &'m mut [T] {
    matrix.reborrow().col(col).into_slice().expect("the lines of a matrix lie side by side in memory")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c64;

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

    #[test]
    fn columns_are_the_same_from_either_order() {
        let memory: Vec<c64> = (0..400).map(|at| c64::new(f64::from(at), 1.0)).collect();
        for (rows, cols, conj) in (0..=8).flat_map(|rows| (0..=8).map(move |cols| (rows, cols, (rows + cols) % 2 == 0))) {
            let by_columns = Matrix::columns(&memory, rows, cols, rows + 2).unwrap();
            let by_rows = Matrix::rows(&memory, rows, cols, cols + 1).unwrap();
            for matrix in [by_columns, by_rows, by_rows.t(), by_columns.t()] {
                let mut held = None;
                for (col, column) in columns::<c64, 8>(matrix, conj, &mut held).into_iter().enumerate() {
                    let wanted = (0..matrix.row_count()).map(|row| matrix.get(row, col).conj_if(conj));
                    let inside = col < matrix.col_count();
                    assert!(if inside { column.iter().copied().eq(wanted) } else { column.is_empty() }, "column {col}");
                }
            }
        }
    }
}
