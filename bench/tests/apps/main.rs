//! The five programs on shared memory find what is known of their inputs, and their proofs can fail.
mod common;
mod is;
mod lu;
mod sor;
mod tsp;
mod water;
