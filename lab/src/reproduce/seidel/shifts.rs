//! Shifts after synchronisation (§4): what they cost, and how often they are concurrent.
use crate::reproduce::{Findings, Trial};
use anyhow::Result;

pub(super) fn shift_cost(_: &Trial) -> Result<Findings> {
    Ok(Findings::default())
}

pub(super) fn success(_: &Trial) -> Result<Findings> {
    Ok(Findings::default())
}
