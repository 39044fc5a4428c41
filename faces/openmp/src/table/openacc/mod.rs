//! OpenACC on the host, which is the one device that there is: constructs run where they are met, data is
//! where it is, queues are always empty.
mod constructs;
mod data;
mod devices;
mod plugins;

use crate::export::ExportedSymbol;

/// All symbols of it.
pub(super) fn all() -> impl Iterator<Item = &'static [ExportedSymbol]> {
    let data = [data::TABLE, data::addresses::TABLE, data::moves::TABLE, data::queued::TABLE];
    let fortran = [data::fortran::TABLE, data::fortran_queued::TABLE, data::arrays::TABLE, data::arrays_queued::TABLE];
    let pointers = [data::pointers::TABLE, data::pointers_queued::TABLE];
    let rest = [constructs::TABLE, devices::TABLE, plugins::TABLE];
    data.into_iter().chain(fortran).chain(pointers).chain(rest)
}
