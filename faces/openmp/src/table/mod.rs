//! The symbols, a file a family.
mod asked;
mod doacross;
mod locks;
mod loops;
mod reductions;
mod regions;
mod tasks;

use crate::export::Entry;

/// All symbols of this library.
pub fn all() -> impl Iterator<Item = &'static Entry> {
    let regions = [regions::TABLE, regions::named::TABLE, regions::old::TABLE, regions::by_the_runtime::TABLE];
    let signed = [loops::TABLE, loops::named::TABLE, loops::by_the_runtime::TABLE];
    let unsigned = [loops::unsigned_named::TABLE, loops::unsigned_by_the_runtime::TABLE];
    let by_number = [loops::by_number::TABLE, doacross::TABLE, doacross::signed::TABLE, doacross::unsigned::TABLE];
    let tasks = [tasks::TABLE];
    let rest = [doacross::variadic::TABLE, locks::TABLE, asked::TABLE, asked::places::TABLE, asked::told::TABLE];
    regions.into_iter().chain(signed).chain(unsigned).chain(by_number).chain(tasks).chain(rest).flatten()
}
