//! The symbols, a file a family.
mod allocators;
mod doacross;
mod interop;
mod locks;
mod loops;
mod openacc;
mod places;
mod provider;
mod queries;
mod reductions;
mod regions;
mod targets;
mod tasks;
mod teams;

use crate::export::ExportedSymbol;

/// All symbols of this library.
pub fn all() -> impl Iterator<Item = &'static ExportedSymbol> {
    let regions = [regions::TABLE, regions::named::TABLE, regions::old::TABLE, regions::by_the_runtime::TABLE];
    let signed = [loops::TABLE, loops::named::TABLE, loops::by_the_runtime::TABLE];
    let unsigned = [loops::unsigned_named::TABLE, loops::unsigned_by_the_runtime::TABLE];
    let by_number = [loops::by_number::TABLE, doacross::TABLE, doacross::signed::TABLE, doacross::unsigned::TABLE];
    let rest = [
        tasks::TABLE,
        doacross::variadic::TABLE,
        locks::TABLE,
        locks::new::TABLE,
        locks::old::TABLE,
        queries::TABLE,
        queries::told::TABLE,
    ];
    let places = [places::TABLE, places::numbered::TABLE, places::shown::TABLE, allocators::TABLE];
    let teams = [teams::TABLE, teams::limits::TABLE, teams::leagues::TABLE, teams::errors::TABLE, interop::TABLE];
    let targets = [targets::TABLE, targets::regions::TABLE, targets::images::TABLE, targets::memory::TABLE];
    regions
        .into_iter()
        .chain(signed)
        .chain(unsigned)
        .chain(by_number)
        .chain(rest)
        .chain(places)
        .chain(teams)
        .chain(targets)
        .chain(openacc::all())
        .chain([provider::TABLE])
        .flatten()
}
