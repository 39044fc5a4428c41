//! Level 1: vectors. The plain functions are here; `parts` has those that a team may share.
pub(crate) mod parts;
pub(crate) mod reduce;
pub(crate) mod rotate;
pub(crate) mod update;
