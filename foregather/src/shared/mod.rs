//! Memory that ranks share: ranks are threads of this process, or processes of a launcher.
//!
//! - [`Shared`]: a rank. [`Array`], [`Rows`], [`Locked`]: what ranks share. [`SharedElement`]: the kinds of
//!   values.
//! - `ranks`: how ranks start, and where their results go. `state`: what a rank and its locks share.
//! - `elements`: the memory of elements. `views`: ranks that share no memory.

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
