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
    let unsigned = [loops::unsigned_named::TABLE, loops::unsigned_by_the_runtime::TABLE, loops::by_number::TABLE];
    let doacross = [doacross::TABLE, doacross::signed::TABLE, doacross::unsigned::TABLE, doacross::variadic::TABLE];
    let rest = [tasks::TABLE, locks::TABLE, locks::new::TABLE, locks::old::TABLE, interop::TABLE, provider::TABLE];
    let queries = [queries::TABLE, queries::numbers::TABLE, queries::schedules::TABLE, queries::pauses::TABLE];
    let places = [places::TABLE, places::numbers::TABLE, places::numbered::TABLE, places::shown::TABLE];
    let memory = [allocators::TABLE, allocators::handles::TABLE, targets::memory::TABLE, targets::usual::TABLE];
    let teams = [teams::TABLE, teams::limits::TABLE, teams::leagues::TABLE, teams::errors::TABLE];
    let targets = [targets::TABLE, targets::regions::TABLE, targets::images::TABLE];
    let all = [&regions[..], &signed, &unsigned, &doacross, &rest, &queries, &places, &memory, &teams, &targets].concat();
    all.into_iter().chain(openacc::all()).flatten()
}
