//! Bad input and bad luck on real threads: with fewer signals the adaptive policy still gets on, or fails by
//! name; it never hangs.
//!
//! Each test is a process of its own, which is killed if it takes too long: most change what a whole process
//! shares.
#![cfg(not(loom))]
mod alone;
mod gone;
mod hardship;
mod interrupted;
mod masks;
mod rights;
mod soak;
mod team;
