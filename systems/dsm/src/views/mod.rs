//! One memory object, mapped several times: each minipage of a page has a view of its own, and so its own
//! protection.
//!
//! - [`Space`]: the object, its application views and the privileged one. Opens and closes pages of a view.
//! - [`Faults`]: the handler of accesses to closed pages; [`Space::serve`] starts and ends its service.
//! - [`Room`]: how much memory is shared by default.
//! - [`Allocator`] and [`MinipageTable`]: which bytes of the object a minipage has, and in which view.
//!
//! States, system calls, races and limits are in the README beside this file.
#![allow(unsafe_code)]

mod allocator;
mod backend;
mod copy;
mod end;
mod fault;
mod handler;
mod layout;
mod limits;
mod mapping;
mod mprotect;
mod origin;
mod plain;
mod protect;
mod proxy;
mod serving;
mod shape;
mod space;
mod stack;
mod table;
mod uffd;
mod userfault;

#[cfg(test)]
mod tests;

pub use allocator::{Allocation, Allocator, Wish};
pub use backend::Backend;
pub use end::end_process;
pub use fault::{Fault, FaultEnd, Faults};
pub use layout::{Extent, GRAIN, PAGE, Span, ViewAddress};
pub use limits::Room;
pub use protect::Refused;
pub use serving::Serving;
pub use shape::Shape;
pub use space::Space;
pub use stack::Stack;
pub use table::MinipageTable;
pub(crate) use table::no_memory;
