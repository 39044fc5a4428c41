//! The costs of switching here: kept from an earlier measurement, or else typical ones. A program never
//! measures them itself: its first regions come before that could end, and a thread that measures at the
//! lowest priority can delay the end of its process by seconds under load.
use foregather_host::forks::Once;
use foregather_host::{costs, facts};
use foregather_machine::Costs;

static COSTS: Once<Costs> = Once::new();

/// Returns the costs for all waits of this process.
pub(crate) fn of_this_machine() -> Costs {
    *COSTS.get_or_compute(|| {
        let typical = || Costs { tick: facts::tick().unwrap_or(Costs::TYPICAL.tick), ..Costs::TYPICAL };
        costs::load().ok().flatten().map_or_else(typical, |kept| kept.costs)
    })
}
