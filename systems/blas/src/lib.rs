//! The basic linear algebra subprograms, levels 1 to 3, for `f32`, `f64` and their complex numbers.
//!
//! They are written here because a team must be able to share a call without changing its bits. Each routine
//! that is worth sharing is therefore written as [`Parts`]: the result lies on a grid that depends on the
//! shape alone, a member computes any run of its cells, and the serial call computes all cells in order.
//! Calls beyond their routine's [crossover](crossovers) run on the team of the process, [`on`] runs one on a
//! given team. The README lists the routines and their signatures.
//!
//! ```
//! use foregather_blas::{Matrix, MatrixMut, Trans, gemm};
//!
//! let (a, b, mut c) = ([1.0, 3.0, 2.0, 4.0], [5.0, 7.0, 6.0, 8.0], [0.0; 4]);
//! let product = MatrixMut::columns(&mut c, 2, 2, 2)?;
//! gemm(Trans::No, Trans::No, 1.0, Matrix::columns(&a, 2, 2, 2)?, Matrix::columns(&b, 2, 2, 2)?, 0.0, product)?;
//! assert_eq!(c, [19.0, 43.0, 22.0, 50.0]);
//! # Ok::<(), foregather_blas::Error>(())
//! ```
#![deny(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]

mod cholesky;
mod crossover;
mod error;
mod grid;
#[allow(unsafe_code)]
mod kernels;
mod level1;
mod level2;
mod level3;
mod lu;
mod options;
mod parts;
mod qr;
mod scalar;
mod sweep;
mod team;

pub use cholesky::cholesky;
pub use crossover::{Crossover, Routine, crossovers, kept_crossovers};
pub use error::{Cause, Error};
pub use grid::Grid;
pub use kernels::matrix::{Matrix, MatrixMut};
pub use kernels::vector::{Vector, VectorMut};
pub use level1::parts::{Asum, Axpy, Copy, Dot, Iamax, Nrm2, Scal, Swap};
pub use level1::reduce::{asum, dot, dotc, dotu, dsdot, iamax, nrm2, sdsdot};
pub use level1::rotate::{rot, rotg, rotm, rotmg};
pub use level1::update::{axpby, axpy, copy, scal, scal_real, swap};
pub use level2::band::{Band, gbmv};
pub use level2::gemv::{Gemv, gemv};
pub use level2::ger::{Ger, ger, gerc, geru};
pub use level2::rank::{her, her2, syr, syr2};
pub use level2::symv::{Symv, hemv, symv};
pub use level2::triangle::{Triangle, TriangleMut};
pub use level2::triangular::{trmv, trsv};
pub use level3::gemm::{Gemm, gemm};
pub use level3::rank::{Rank, gemmtr, her2k, herk, syr2k, syrk};
pub use level3::symm::{Symm, hemm, symm};
pub use level3::triangular::{Triangular, trmm, trsm};
pub use lu::{Lu, lu, lu_on, residual};
pub use options::{Diag, Order, Side, Trans, Uplo};
pub use parts::Parts;
pub use qr::{qr, qr_on};
pub use scalar::{Real, Scalar, c32, c64};
pub use team::on;
