//! Level 1: vectors. The plain functions are here; what a team may share is in `parts`.
pub(crate) mod parts;
pub(crate) mod reduce;
pub(crate) mod rotate;
pub(crate) mod update;
