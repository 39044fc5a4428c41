//! Memory that ranks share: threads of this process, or what a launcher has started.
//!
//! - [`Shared`]: a rank. [`Array`], [`Rows`], [`Locked`]: what ranks share. [`Plain`]: of which kinds of values.
//! - `ranks`: who starts them, and what becomes of their results.
//! - `meeting`: what threads do together. `elements`: in which memory elements lie. `views`: ranks that share no memory.

mod array;
mod elements;
mod locked;
mod meeting;
mod plain;
mod rank;
mod ranks;
mod rows;
mod views;

pub use array::Array;
pub use locked::Locked;
pub use plain::Plain;
pub use rank::Shared;
pub use ranks::shared;
pub use rows::Rows;
