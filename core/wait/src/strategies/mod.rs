//! All policies but the adaptive one, a file each; a new one also has a line in `policy.rs`.
mod draw;
pub(crate) mod grain;
mod history;
pub(crate) mod holder_running;
pub(crate) mod phases;
pub(crate) mod randomised;
pub(crate) mod recent;

use phases::Phases;
