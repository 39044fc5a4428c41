//! The threads of this runtime for calls of this project's other libraries.
use crate::export::entries;
use crate::load::stands_aside;
use core::ptr::null;
use foregather_openmp::PoolProvider;
use foregather_team::TeamTable;

static POOLS: TeamTable = TeamTable::of::<PoolProvider>();

entries! {
    "FOREGATHER_1" {
        fn foregather_team_table() -> *const TeamTable {
            if stands_aside() { null() } else { &raw const POOLS }
        }
    }
}
