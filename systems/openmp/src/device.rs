//! Devices: there is the host alone. What the environment says of them, and of the leagues of teams that
//! target regions consist of.
use crate::variables::{VariableReader, named, number, positive};

/// Whether target regions run on devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// On the device if there is one.
    Default,
    /// A program that needs a device which is not there ends.
    Mandatory,
    /// On the host.
    Disabled,
}

impl Offload {
    /// Its name in the environment.
    pub fn name(self) -> &'static str {
        ["DEFAULT", "MANDATORY", "DISABLED"][self as usize]
    }
}

/// What the environment says of devices and teams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceSettings {
    /// The device of target regions that name none (`OMP_DEFAULT_DEVICE`).
    pub default: i32,
    /// Whether target regions run on devices (`OMP_TARGET_OFFLOAD`).
    pub offload: Offload,
    /// Teams of a league that names no number (`OMP_NUM_TEAMS`); 0 if none was named.
    pub teams: u32,
    /// The most threads of a team (`OMP_TEAMS_THREAD_LIMIT`); 0 if no limit was named.
    pub thread_limit: u32,
}

/// By this number no device is meant (`omp_invalid_device`).
const INVALID: i32 = -4;

impl DeviceSettings {
    /// Reads the variables.
    pub(crate) fn read(reader: &mut VariableReader<'_>) -> Self {
        let offloads = [("default", Offload::Default), ("mandatory", Offload::Mandatory), ("disabled", Offload::Disabled)];
        let offload = reader.get("OMP_TARGET_OFFLOAD", "mandatory, disabled or default", |text| named(text, &offloads));
        let offload = offload.unwrap_or(Offload::Default);
        let default = reader.get("OMP_DEFAULT_DEVICE", "a number from 0 on", number);
        let otherwise = if offload == Offload::Mandatory { INVALID } else { 0 };
        Self {
            default: default.and_then(|device| i32::try_from(device).ok()).unwrap_or(otherwise),
            offload,
            teams: reader.get("OMP_NUM_TEAMS", "a number from 1 on", positive).unwrap_or(0),
            thread_limit: reader.get("OMP_TEAMS_THREAD_LIMIT", "a number from 1 on", positive).unwrap_or(0),
        }
    }
}
