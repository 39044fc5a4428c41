//! A thread's processor: all that waiting needs of a world.
use crate::{Park, Placement};

/// A processor's number, as the operating system (or the simulated machine) counts them.
pub type CpuId = u32;

/// Shared words, parking, placement and the clock, together: barriers and protocols over words are written
/// against it.
pub trait Cpu: Park + Placement {}

impl<C: Park + Placement> Cpu for C {}
