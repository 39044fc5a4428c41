//! The loops of level 2: several columns of a matrix at once, so that a vector is read once for all of them.
//!
//! Each element of the result has the same sums, however many rows or columns a call is given beside it.
use super::dispatch::by_processor;
use super::level1::halve;
use super::lines::{Pieces, in_pieces, load, piece, plus};
use super::matrix::Matrix;
use crate::scalar::Scalar;
use std::array::from_fn;
use std::hint::black_box;

/// Columns that are multiplied with a vector at a time, if the matrix has as many.
const DOTS: usize = 4;
/// Columns that are added to a vector at a time.
const ADDED: usize = 8;
/// Columns no more bytes apart than this are added all at once: caches hold what is read beside a few rows of
/// them.
const NEAR: usize = 1024;
/// The most columns that are added all at once.
const ADDED_NEAR: usize = 64;
/// Columns of a symmetric matrix that are taken as columns and as rows at a time.
pub(crate) const BOTH: usize = 4;

by_processor! {
    /// `y = alpha * a * x + beta * y`, with `conj(a)` for `a` if `conj`. The columns of `a` lie side by side
    /// in memory, as long as `y`. If `beta` is nought `y` is not read.
    fn add_columns(conj: bool, alpha: T, a: Matrix<'_, T>, x: &[T], beta: T, y: &mut [T]) = add_columns_body
}
by_processor! {
    /// `y[j] = alpha * sum(a[i, j] * x[i]) + beta * y[j]`, with `conj(a)` for `a` if `conj`. The columns of
    /// `a` are as long as `x`. If `beta` is nought `y` is not read.
    fn add_dots(conj: bool, alpha: T, a: Matrix<'_, T>, x: &[T], beta: T, y: &mut [T]) = add_dots_body
}
by_processor! {
    /// Columns of a symmetric matrix, taken as columns and as rows: `y += alpha * a`, and the sums of `a *
    /// x`. For each of the two `conj` says whether `conj(a)` stands for `a`.
    fn columns_and_rows(conj: [bool; 2], alpha: [T; BOTH], a: [&[T]; BOTH], x: &[T], y: &mut [T]) -> [T; BOTH] = both_body
}

#[inline(always)]
fn add_columns_body<T: Scalar, const FUSED: bool>(conj: bool, alpha: T, a: Matrix<'_, T>, x: &[T], beta: T, y: &mut [T]) {
    if conj && T::COMPLEX {
        add_all::<T, FUSED>(T::conj, alpha, a, x, beta, y);
    } else {
        add_all::<T, FUSED>(|a| a, alpha, a, x, beta, y);
    }
}

#[inline(always)]
fn add_all<T: Scalar, const FUSED: bool>(of: impl Fn(T) -> T + Copy, alpha: T, a: Matrix<'_, T>, x: &[T], beta: T, y: &mut [T]) {
    let (cols, mut beta) = (a.col_count(), beta);
    let near = a.layout.right.unsigned_abs() * size_of::<T>() <= NEAR;
    let most = if near { ADDED_NEAR } else { ADDED };
    assert!(a.layout.down == 1 && a.row_count() == y.len() && cols == x.len(), "columns lie side by side in memory");
    let mut from = 0;
    while from < cols {
        let group = from..cols.min(from + most);
        from = group.end;
        let scaled: [T; ADDED_NEAR];
        let mut x = &x[group.clone()];
        if alpha != T::ONE {
            scaled = from_fn(|at| if at < x.len() { alpha * x[at] } else { T::ZERO });
            x = &scaled[..x.len()];
        }
        let a = a.block(0..y.len(), group);
        in_pieces::<16>(y.len(), &mut AddColumns::<'_, '_, _, _, FUSED> { of, a, x, beta, y });
        beta = T::ONE;
    }
}

/// `y = a * x + beta * y`; `a` has a column for each element of `x`, and its columns lie side by side and are
/// as long as `y`.
struct AddColumns<'a, 'y, T, Of, const FUSED: bool> {
    of: Of,
    a: Matrix<'a, T>,
    x: &'a [T],
    beta: T,
    y: &'y mut [T],
}

impl<T: Scalar, Of: Fn(T) -> T, const FUSED: bool> Pieces for AddColumns<'_, '_, T, Of, FUSED> {
    #[inline(always)]
    fn piece<const LEN: usize>(&mut self, at: usize) {
        let (y, beta) = (&mut self.y[at..at + LEN], self.beta);
        // Two sums, so that one need not wait for the other.
        let [mut even, mut odd] = [[T::ZERO; LEN]; 2];
        if beta != T::ZERO {
            even = load(y).map(|y| beta * y);
        }
        // SAFETY: `Matrix::piece`: `add_all` asserts that columns lie side by side, have a row for each
        // element of `y`, and a factor each.
        let column = |col: usize| unsafe { self.a.piece::<LEN>(at, col) }.map(&self.of);
        let (pairs, last) = self.x.as_chunks::<2>();
        for (pair, x) in pairs.iter().enumerate() {
            even = plus::<T, FUSED, LEN>(even, x[0], &column(2 * pair));
            odd = plus::<T, FUSED, LEN>(odd, x[1], &column(2 * pair + 1));
        }
        if let [x] = last {
            even = plus::<T, FUSED, LEN>(even, *x, &column(self.x.len() - 1));
        }
        for lane in 0..LEN {
            y[lane] = even[lane] + odd[lane];
        }
    }
}

#[inline(always)]
fn add_dots_body<T: Scalar, const FUSED: bool>(conj: bool, alpha: T, a: Matrix<'_, T>, x: &[T], beta: T, y: &mut [T]) {
    // Two registers of 256 bits for each column.
    match (conj && T::COMPLEX, size_of::<T>()) {
        (false, 4) => dot_all::<T, FUSED, 16>(|a| a, alpha, a, x, beta, y),
        (false, _) => dot_all::<T, FUSED, 8>(|a| a, alpha, a, x, beta, y),
        (true, _) => dot_all::<T, FUSED, 8>(T::conj, alpha, a, x, beta, y),
    }
}

#[inline(always)]
fn dot_all<T: Scalar, const FUSED: bool, const LANES: usize>(
    of: impl Fn(T) -> T,
    alpha: T,
    a: Matrix<'_, T>,
    x: &[T],
    beta: T,
    y: &mut [T],
) {
    assert!(a.col_count() == y.len(), "a column for each element");
    let put = |y: &mut T, sum: T| {
        let scaled = if beta == T::ZERO { T::ZERO } else { beta * *y };
        *y = scaled.add_product::<FUSED>(alpha, sum);
    };
    let (groups, rest) = y.as_chunks_mut::<DOTS>();
    let from = groups.len() * DOTS;
    for (at, y) in groups.iter_mut().enumerate() {
        let sums = dot_group::<T, FUSED, LANES, DOTS>(&of, columns(a, at * DOTS), x);
        y.iter_mut().zip(sums).for_each(|(y, sum)| put(y, sum));
    }
    for (at, y) in rest.iter_mut().enumerate() {
        let [sum] = dot_group::<T, FUSED, LANES, 1>(&of, columns(a, from + at), x);
        put(y, sum);
    }
}

/// `WIDTH` columns from `col` on.
#[inline(always)]
fn columns<T: Scalar, const WIDTH: usize>(a: Matrix<'_, T>, col: usize) -> [&[T]; WIDTH] {
    from_fn(|at| a.col(col + at).as_slice().expect("columns lie side by side in memory"))
}

/// The sums of some columns' products with `x`.
#[inline(always)]
fn dot_group<T: Scalar, const FUSED: bool, const LANES: usize, const WIDTH: usize>(
    of: impl Fn(T) -> T,
    a: [&[T]; WIDTH],
    x: &[T],
) -> [T; WIDTH] {
    let a = a.map(|column| &column[..x.len()]);
    Sweep::<_, _, _, FUSED, false, WIDTH> { column: |a| a, row: of, alpha: [T::ZERO; WIDTH], a, x, y: &mut [] }.all::<LANES>()
}

#[inline(always)]
fn both_body<T: Scalar, const FUSED: bool>(
    conj: [bool; 2],
    alpha: [T; BOTH],
    a: [&[T]; BOTH],
    x: &[T],
    y: &mut [T],
) -> [T; BOTH] {
    both::<T, FUSED, BOTH>(conj, alpha, a, x, y)
}

/// Some columns, taken as columns and as rows: `y += alpha * a`, and the sums of `a * x`.
#[inline(always)]
pub(super) fn both<T: Scalar, const FUSED: bool, const WIDTH: usize>(
    conj: [bool; 2],
    alpha: [T; WIDTH],
    a: [&[T]; WIDTH],
    x: &[T],
    y: &mut [T],
) -> [T; WIDTH] {
    let len = x.len().min(y.len());
    let (x, y, a) = (&x[..len], &mut y[..len], a.map(|a| &a[..len]));
    let [column, row] = conj.map(|conj| move |a: T| a.conj_if(conj && T::COMPLEX));
    let sweep = Sweep::<_, _, _, FUSED, true, WIDTH> { column, row, alpha, a, x, y };
    if size_of::<T>() == 4 { sweep.all::<8>() } else { sweep.all::<4>() }
}

/// A value that begins where a cache line does.
#[repr(align(64))]
struct Aligned<A>(A);

/// Columns that are multiplied with `x`, each as `row` makes it, and, if `ADD`, added to `y`, as `column`
/// makes it. All have the same length.
struct Sweep<'a, T, Column, Row, const FUSED: bool, const ADD: bool, const WIDTH: usize> {
    column: Column,
    row: Row,
    alpha: [T; WIDTH],
    a: [&'a [T]; WIDTH],
    x: &'a [T],
    y: &'a mut [T],
}

impl<T: Scalar, Column, Row, const FUSED: bool, const ADD: bool, const WIDTH: usize> Sweep<'_, T, Column, Row, FUSED, ADD, WIDTH>
where
    Column: Fn(T) -> T,
    Row: Fn(T) -> T,
{
    /// The sums of each column's products: 4, 8 or 16 lanes each, which are halved for the elements that are
    /// left over.
    #[inline(always)]
    fn all<const LANES: usize>(mut self) -> [T; WIDTH] {
        let (len, add) = (self.x.len(), |sum: T, other: T| sum + other);
        let (mut lanes, mut at) = ([[T::ZERO; LANES]; WIDTH], 0);
        if len >= LANES {
            while len - at >= LANES {
                lanes = self.step(lanes, at);
                at += LANES;
            }
            // Through memory: else the compiler lays what is added below side by side in registers, and
            // shuffles in the loop. Registers stored across two cache lines would be read late.
            lanes = black_box(Aligned(lanes)).0;
        }
        // As many lanes as there are, eight or four.
        let mut eight: [[T; 8]; WIDTH] = lanes.map(|lanes| from_fn(|lane| lanes[lane % LANES]));
        if LANES == 16 {
            eight = from_fn(|col| from_fn(|lane| add(lanes[col][lane % LANES], lanes[col][(lane + 8) % LANES])));
            if len & 8 != 0 {
                eight = self.step(eight, at);
                at += 8;
            }
        }
        let mut four: [[T; 4]; WIDTH] = eight.map(|lanes| from_fn(|lane| lanes[lane]));
        if LANES > 4 {
            four = eight.map(|lanes| halve(lanes, add));
            if len & 4 != 0 {
                four = self.step(four, at);
                at += 4;
            }
        }
        let mut two: [[T; 2]; WIDTH] = four.map(|lanes| halve(lanes, add));
        if len & 2 != 0 {
            two = self.step(two, at);
            at += 2;
        }
        let mut one: [[T; 1]; WIDTH] = two.map(|lanes| halve(lanes, add));
        if len & 1 != 0 {
            one = self.step(one, at);
        }
        one.map(|[sum]| sum)
    }

    /// Takes as many elements as there are lanes, from `at` on.
    #[inline(always)]
    fn step<const LEN: usize>(&mut self, mut lanes: [[T; LEN]; WIDTH], at: usize) -> [[T; LEN]; WIDTH] {
        assert!(at + LEN <= self.x.len(), "elements of a vector");
        // SAFETY: `x` has these elements, and all columns are as long: they were cut to its length when this
        // was made.
        let (x, a) = unsafe { (piece::<T, LEN>(self.x, at), self.a.map(|a| piece::<T, LEN>(a, at))) };
        let mut sum = [T::ZERO; LEN];
        if ADD {
            sum = load(&self.y[at..at + LEN]);
        }
        for col in 0..WIDTH {
            let a = a[col];
            for lane in 0..LEN {
                if ADD {
                    sum[lane] = sum[lane].add_product::<FUSED>((self.column)(a[lane]), self.alpha[col]);
                }
                lanes[col][lane] = lanes[col][lane].add_product::<FUSED>((self.row)(a[lane]), x[lane]);
            }
        }
        if ADD {
            self.y[at..at + LEN].copy_from_slice(&sum);
        }
        lanes
    }
}
