//! All policies except the adaptive one, each in its own file. A new policy also needs an entry in
//! `policy.rs`.
mod draw;
pub(crate) mod grain;
mod history;
pub(crate) mod holder_running;
pub(crate) mod phases;
pub(crate) mod randomised;
pub(crate) mod recent;

use phases::Phases;
