//! OpenACC on the host, which is the one device that there is: constructs run where they are met, data is
//! where it is, queues are always empty.
mod constructs;
mod data;
mod devices;
mod plugins;

use crate::export::ExportedSymbol;

/// All symbols of it.
pub(super) fn all() -> impl Iterator<Item = &'static [ExportedSymbol]> {
    [constructs::TABLE, data::TABLE, devices::TABLE, devices::pairs::TABLE, plugins::TABLE].into_iter()
}
