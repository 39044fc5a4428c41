//! Memory that ranks share: threads of this process, or processes that a launcher has started.
//!
//! - [`Shared`]: a rank. [`Array`], [`Rows`], [`Locked`]: shared objects. [`SharedElement`]: types of
//!   elements.
//! - `ranks`: starts ranks and collects their results. `state`: what a rank and its locks share.
//! - `elements`: the memory of elements. `views`: ranks with separate memories.

mod array;
mod elements;
mod locked;
mod plain;
mod rank;
mod ranks;
mod rows;
mod state;
mod views;

pub use array::Array;
pub use locked::Locked;
pub use plain::SharedElement;
pub use rank::Shared;
pub use ranks::shared;
pub use rows::Rows;
