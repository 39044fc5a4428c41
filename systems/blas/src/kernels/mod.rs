//! Code that must know memory and processor: views on callers' memory, loops compiled for vector units, the
//! product.
//!
//! All of the crate's unsafe code is here, behind functions that are safe to call.
pub(crate) mod columns;
pub(crate) mod corner;
pub(crate) mod direct;
mod dispatch;
pub(crate) mod level1;
mod lines;
pub(crate) mod matrix;
pub(crate) mod multiply;
pub(crate) mod product;
pub(crate) mod shared;
pub(crate) mod tile;
pub(crate) mod vector;

use num_complex::Complex;

/// No other crate can make a number: the product's kernels exist for these four, and the views take any bits
/// for a value.
pub trait MachineScalar {}
impl MachineScalar for f32 {}
impl MachineScalar for f64 {}
impl MachineScalar for Complex<f32> {}
impl MachineScalar for Complex<f64> {}
