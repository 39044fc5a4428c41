//! Short lines of a matrix as arrays: copied in pieces of fixed lengths, where a call to copy memory would cost more than the line.
use super::matrix::{Layout, Matrix, MatrixMut};
use crate::scalar::Scalar;

/// At most `N` elements, and noughts after them.
#[inline(always)]
pub(super) fn load<T: Scalar, const N: usize>(from: &[T]) -> [T; N] {
    let mut line = [T::ZERO; N];
    put(from, &mut line);
    line
}

/// Writes as many elements of a line as there is room for.
#[inline(always)]
pub(super) fn store<T: Scalar, const N: usize>(line: &[T; N], to: &mut [T]) {
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

/// The columns of a matrix of at most `N` rows and columns, each followed by noughts, conjugated if so asked.
#[inline(always)]
pub(super) fn columns<T: Scalar, const N: usize>(matrix: Matrix<'_, T>, conj: bool) -> [[T; N]; N] {
    let mut columns = [[T::ZERO; N]; N];
    let Layout { rows, cols, .. } = matrix.layout;
    assert!(rows <= N && cols <= N, "lines are short");
    if matrix.layout.down == 1 {
        for (at, column) in columns[..cols].iter_mut().enumerate() {
            *column = load(side_by_side(matrix, at));
        }
    } else {
        let transposed = matrix.t();
        for row in 0..rows {
            for (column, &value) in columns.iter_mut().zip(side_by_side(transposed, row)) {
                column[row] = value;
            }
        }
    }
    if conj && T::COMPLEX {
        columns.as_flattened_mut().iter_mut().for_each(|value| *value = value.conj());
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
                let all = columns::<c64, 8>(matrix, conj);
                for (col, row) in (0..8).flat_map(|col| (0..8).map(move |row| (col, row))) {
                    let inside = row < matrix.row_count() && col < matrix.col_count();
                    let wanted = if inside { matrix.get(row, col).conj_if(conj) } else { c64::ZERO };
                    assert_eq!(all[col][row], wanted, "({row}, {col})");
                }
            }
        }
    }
}
