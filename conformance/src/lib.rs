//! One suite, every world: what [`Cpu`] and [`Endpoint`] promise,
//! tested through the barriers built on them.
//!
//! - [`World`] is what a world under test provides; [`cpu::all`], [`barrier::all`],
//!   [`harmonize::all`], [`team::all`], [`tasks::all`] and [`broadcast::all`] run everything.
//! - [`Network`] is what a world with native null messages provides; [`endpoint::all`] runs everything;
//!   [`endpoint::all_over_flags`] does so in a world with words.
//! - [`Ports`] is what a world with native sized messages provides, and a messenger; [`port::all`] and
//!   [`collective::all`] run everything.
//! - [`scripted`]: a processor that does what a test says. [`table`]: a fabric on which every order of
//!   deliveries can be tested.
//! - [`fabric`]: programs for worlds with frames and lanes, which [`fabric::Fabrics`] provides.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]
#![allow(async_fn_in_trait)]

pub mod barrier;
pub mod broadcast;
pub mod collective;
pub mod cpu;
pub mod endpoint;
pub mod fabric;
pub mod harmonize;
pub mod messages;
mod orders;
pub mod port;
pub mod scripted;
pub mod table;
pub mod tasks;
pub mod team;

use foregather_machine::{Cpu, Endpoint, Nanos, Port, Rank};

pub use orders::permutations;

/// A world with processors and words.
pub trait World: Sync {
    /// Its processor.
    type Cpu<'w>: Cpu<Word: Send + Sync>
    where
        Self: 'w;

    /// Runs `program` for each rank below `size` at the same time.
    fn run<'w, T: Send, F: Future<Output = T>>(&'w self, size: u32, program: impl Fn(Self::Cpu<'w>, Rank) -> F + Sync) -> Vec<T>;

    /// How many members can run at the same time; an unbounded spinner must not share its processor.
    fn processors(&self) -> u32;

    /// A time that tells one arrival from the next in this world.
    fn step(&self) -> Nanos;
}

/// A world with native null messages.
pub trait Network {
    /// Runs `program` on `size` nodes with `slots` slots each; node `i` begins at `start[i]`.
    fn run<T: Send>(&self, slots: u32, start: &[Nanos], program: impl AsyncProgram<T> + Sync) -> Vec<T>;
}

/// A program that runs on any endpoint.
pub trait AsyncProgram<T> {
    /// One node's part.
    async fn node<E: Endpoint>(&self, endpoint: &E) -> T;
}

/// A world with native sized messages.
pub trait Ports {
    /// Runs `program` on `start.len()` nodes with `slots` slots each; node `i` begins at `start[i]`.
    fn run<T: Send>(&self, slots: u32, start: &[Nanos], program: &(impl PortProgram<T> + Sync)) -> Vec<T>;
}

/// A program that runs on any port.
pub trait PortProgram<T> {
    /// One node's part.
    async fn node<P: Port>(&self, port: &P) -> T;
}
