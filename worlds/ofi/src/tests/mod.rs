//! Bytes and frames that no peer of ours sends.
mod fuzz;
mod hostile;
