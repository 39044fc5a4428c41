//! All policies but the adaptive one, a file each.
mod draw;
mod grain;
mod history;
mod holder_running;
mod phases;
mod randomised;
mod recent;

pub(crate) use grain::Grain;
pub(crate) use holder_running::HolderRunning;
pub(crate) use phases::Phases;
pub(crate) use randomised::Randomised;
pub(crate) use recent::Recent;
