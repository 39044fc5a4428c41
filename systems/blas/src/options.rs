//! The options of the standard's routines, as types instead of letters.

/// How a matrix enters an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trans {
    /// As it is.
    No,
    /// Transposed.
    Yes,
    /// Transposed and conjugated; the same as [`Trans::Yes`] for real numbers.
    Conj,
}

/// The side of the product that the special matrix is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// `A * B`.
    Left,
    /// `B * A`.
    Right,
}

/// The triangle that is stored. The other one is never touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uplo {
    /// On and above the diagonal.
    Upper,
    /// On and below the diagonal.
    Lower,
}

impl Uplo {
    /// The triangle of the transposed matrix.
    #[must_use]
    pub fn flip(self) -> Self {
        match self {
            Self::Upper => Self::Lower,
            Self::Lower => Self::Upper,
        }
    }
}

/// The diagonal of a triangular matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Diag {
    /// The stored elements.
    Stored,
    /// Ones; the stored elements are never touched.
    Unit,
}

/// What is done with a triangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TriangleOp {
    /// `B = A * B`
    Multiply,
    /// `A * X = B`, `X` in the place of `B`.
    Solve,
}

/// Which index runs fastest in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The row: Fortran's order.
    Columns,
    /// The column: C's order.
    Rows,
}
