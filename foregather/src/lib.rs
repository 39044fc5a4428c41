//! Foregather makes parallel programs wait well.
//!
//! Everything else stands in modules: [`engine`] has the traits and algorithms beneath, [`threads`], [`processes`] and [`sim`] are
//! the worlds they run in, [`blas`] is linear algebra on a team.
#![forbid(unsafe_code)]

mod barrier;
pub mod engine;

pub use barrier::{Barrier, Guard, Member, Met};
pub use foregather_machine::{Error, Missing, WaitError, Who};
#[cfg(feature = "team")]
pub use foregather_team::{Team, for_each, reduce};

/// Linear algebra that a team shares, with the same bits for any team.
#[cfg(feature = "blas")]
pub use foregather_blas as blas;
/// Virtual time: networks, processors that threads share, clusters.
#[cfg(feature = "sim")]
pub use foregather_sim as sim;
/// The world of threads.
pub use foregather_thread as threads;

/// The worlds of processes: on one host, on several, and who starts them.
#[cfg(feature = "job")]
pub mod processes {
    /// Jobs: who am I, where are the others.
    pub use foregather_launch as launch;
    /// libfabric, found at run time.
    pub use foregather_ofi as ofi;
    /// Segments of memory that processes of one host share.
    pub use foregather_shm as shm;
}
