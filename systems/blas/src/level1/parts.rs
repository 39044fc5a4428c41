//! Level 1 as parts: runs of elements, or blocks of a sum.
use super::{reduce, update};
use crate::error::{Error, same};
use crate::grid::Grid;
use crate::kernels::shared::{SharedPointer, Sums};
use crate::kernels::vector::{Vector, VectorMut};
use crate::parts::Parts;
use crate::scalar::{Real, Scalar};
use std::ops::Range;

/// The grid of a vector that is written element by element: cells of whole lines of memory.
fn elements(len: usize) -> Grid {
    Grid::even(len, 128, 32)
}

/// Defines a routine that writes `out`, a vector, reading `x` at the same indices.
macro_rules! elementwise {
    ($(#[$doc:meta])* $name:ident, $routine:literal, $position:literal, ($($field:ident: $kind:ty),*), $work:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<'a, T> {
            $($field: $kind,)*
            x: Vector<'a, T>,
            y: SharedPointer<VectorMut<'a, T>>,
        }

        impl<'a, T: Scalar> $name<'a, T> {
            /// Makes the call.
            ///
            /// # Errors
            /// If the lengths differ.
            pub fn new($($field: $kind,)* x: Vector<'a, T>, y: VectorMut<'a, T>) -> Result<Self, Error> {
                same($routine, $position, "y", y.len(), x.len())?;
                let grid = elements(y.len());
                Ok(Self { $($field,)* x, y: SharedPointer::vector(y, grid) })
            }
        }

        impl<T: Scalar> Parts for $name<'_, T> {
            type Output = ();

            fn cells(&self) -> usize {
                self.y.cells()
            }

            fn part(&self, cells: Range<usize>) {
                let (y, span) = self.y.take(cells);
                $work($(self.$field,)* self.x.range(span), y);
            }

            fn finish(self) {}

            fn whole(self) {
                $work($(self.$field,)* self.x, self.y.into_whole());
            }
        }
    };
}

elementwise! {
    /// `y += alpha * x` as parts.
    Axpy, "axpy", 5, (alpha: T), update::add
}
elementwise! {
    /// `y = x` as parts.
    Copy, "copy", 4, (), update::assign
}

/// `x *= alpha` as parts.
#[derive(Debug)]
pub struct Scal<'a, T> {
    alpha: T,
    x: SharedPointer<VectorMut<'a, T>>,
}

impl<'a, T: Scalar> Scal<'a, T> {
    /// Makes the call.
    pub fn new(alpha: T, x: VectorMut<'a, T>) -> Self {
        let grid = elements(x.len());
        Self { alpha, x: SharedPointer::vector(x, grid) }
    }
}

impl<T: Scalar> Parts for Scal<'_, T> {
    type Output = ();

    fn cells(&self) -> usize {
        self.x.cells()
    }

    fn part(&self, cells: Range<usize>) {
        update::multiply(self.alpha, self.x.take(cells).0);
    }

    fn finish(self) {}

    fn whole(self) {
        update::multiply(self.alpha, self.x.into_whole());
    }
}

/// The exchange of two vectors as parts.
#[derive(Debug)]
pub struct Swap<'a, T> {
    x: SharedPointer<VectorMut<'a, T>>,
    y: SharedPointer<VectorMut<'a, T>>,
}

impl<'a, T: Scalar> Swap<'a, T> {
    /// Makes the call.
    ///
    /// # Errors
    /// If the lengths differ.
    pub fn new(x: VectorMut<'a, T>, y: VectorMut<'a, T>) -> Result<Self, Error> {
        same("swap", 4, "y", y.len(), x.len())?;
        let grid = if x.is_spread() && y.is_spread() { elements(x.len()) } else { Grid::single(x.len()) };
        Ok(Self { x: SharedPointer::vector(x, grid), y: SharedPointer::vector(y, grid) })
    }
}

impl<T: Scalar> Parts for Swap<'_, T> {
    type Output = ();

    fn cells(&self) -> usize {
        self.x.cells()
    }

    fn part(&self, cells: Range<usize>) {
        update::exchange(self.x.take(cells.clone()).0, self.y.take(cells).0);
    }

    fn finish(self) {}

    fn whole(self) {
        update::exchange(self.x.into_whole(), self.y.into_whole());
    }
}

/// Defines a reduction over `x`.
macro_rules! reduction {
    ($(#[$doc:meta])* $name:ident, $block:ty = $nothing:expr, $out:ty, $part:expr, $finish:expr, $whole:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $name<'a, T: Scalar> {
            x: Vector<'a, T>,
            sums: Sums<$block>,
        }

        impl<'a, T: Scalar> $name<'a, T> {
            /// Makes the call.
            #[must_use]
            pub fn new(x: Vector<'a, T>) -> Self {
                Self { x, sums: Sums::new(reduce::grid(x.len()).cells(), $nothing) }
            }
        }

        impl<T: Scalar> Parts for $name<'_, T> {
            type Output = $out;

            fn cells(&self) -> usize {
                self.sums.cells()
            }

            fn part(&self, cells: Range<usize>) {
                let grid = reduce::grid(self.x.len());
                self.sums.fill(cells, |cell| {
                    let span = grid.span(cell..cell + 1);
                    $part(self.x.range(span.clone()), span.start)
                });
            }

            fn finish(self) -> $out {
                $finish(self.x, self.sums.all())
            }

            fn whole(self) -> $out {
                $whole(self.x)
            }
        }
    };
}

reduction! {
    /// The sum of absolute values as parts.
    Asum, T::Real = T::Real::ZERO, T::Real,
    |x, _| reduce::asum_block(x),
    |_, sums: Vec<T::Real>| reduce::tree(0..sums.len(), &|cell| sums[cell]),
    reduce::asum_here
}
reduction! {
    /// The Euclidean norm as parts.
    Nrm2, T::Real = T::Real::ZERO, T::Real,
    |x, _| reduce::squares_block(x),
    |x, sums: Vec<T::Real>| reduce::norm_of(x, reduce::tree(0..sums.len(), &|cell| sums[cell])),
    reduce::nrm2_here
}
reduction! {
    /// The index of the greatest element as parts.
    Iamax, Option<(usize, T::Real)> = None, Option<usize>,
    |x, start| reduce::iamax_block(x).map(|(at, size)| (start + at, size)),
    first_of_greatest,
    reduce::iamax_here
}

fn first_of_greatest<T: Scalar>(x: Vector<'_, T>, found: Vec<Option<(usize, T::Real)>>) -> Option<usize> {
    if !x.is_empty() && x.get(0).abs1().is_nan() {
        return Some(0);
    }
    let better = |best: (usize, T::Real), next: (usize, T::Real)| if next.1 > best.1 { next } else { best };
    found.into_iter().flatten().reduce(better).map(|(at, _)| at)
}

/// The sum of products as parts.
#[derive(Debug)]
pub struct Dot<'a, T: Scalar> {
    conj: bool,
    x: Vector<'a, T>,
    y: Vector<'a, T>,
    sums: Sums<T>,
}

impl<'a, T: Scalar> Dot<'a, T> {
    /// Makes the call; `conj` conjugates `x`.
    ///
    /// # Errors
    /// If the lengths differ.
    pub fn new(conj: bool, x: Vector<'a, T>, y: Vector<'a, T>) -> Result<Self, Error> {
        same("dot", 4, "y", y.len(), x.len())?;
        Ok(Self::of(conj, x, y))
    }

    /// Makes the call with vectors of one length.
    pub(crate) fn of(conj: bool, x: Vector<'a, T>, y: Vector<'a, T>) -> Self {
        Self { conj, x, y, sums: Sums::new(reduce::grid(x.len()).cells(), T::ZERO) }
    }
}

impl<T: Scalar> Parts for Dot<'_, T> {
    type Output = T;

    fn cells(&self) -> usize {
        self.sums.cells()
    }

    fn part(&self, cells: Range<usize>) {
        let grid = reduce::grid(self.x.len());
        self.sums.fill(cells, |cell| {
            let span = grid.span(cell..cell + 1);
            reduce::dot_block(self.conj, self.x.range(span.clone()), self.y.range(span))
        });
    }

    fn finish(self) -> T {
        let sums = self.sums.all();
        reduce::tree(0..sums.len(), &|cell| sums[cell])
    }

    fn whole(self) -> T {
        reduce::dot_here(self.conj, self.x, self.y)
    }
}
