//! The site's own MPI as a fabric, found at run time.
//!
//! - [`abi`]: the binary interfaces of MPI libraries, a table each.
pub mod abi;
