//! The user's settings, read from environment variables when a job starts.
use crate::own::variable;
use foregather_machine::{Cause, Error, Nanos};
use std::net::IpAddr;

/// How long a rank may be unresponsive before the others report it lost; `off` disables the check.
const PEER_TIMEOUT: &str = "FOREGATHER_PEER_TIMEOUT";
/// How long the ranks of a job wait at start-up for all of them to join.
const JOIN_TIMEOUT: &str = "FOREGATHER_JOIN_TIMEOUT";
/// The remedy in errors about collective MPI calls that take longer than that.
pub(crate) const MORE_TIME: &str = "restart the job, or allow more time with FOREGATHER_JOIN_TIMEOUT";
/// How long a wait lasts before a message is printed; 0 disables it.
const WATCHDOG: &str = "FOREGATHER_WATCHDOG";
/// The address at which other hosts of the job reach this one.
pub(crate) const HOST_ADDRESS: &str = "FOREGATHER_HOST_ADDRESS";

/// The settings of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The time within which all ranks learn of an unresponsive rank; [`Nanos::MAX`] for never.
    pub(crate) peer_timeout: Nanos,
    /// The time within which all ranks must have joined.
    pub(crate) join_timeout: Nanos,
    /// How long a wait lasts before a message is printed; [`Nanos::MAX`] for never.
    pub(crate) watchdog: Nanos,
    /// The address to bind to and to be reached at, if other hosts take part.
    pub(crate) host_address: Option<IpAddr>,
}

/// The default peer timeout.
const USUAL_PEER_TIMEOUT_S: u64 = 2;

impl Settings {
    /// Returns the time within which all ranks learn of a dead or unresponsive rank, if they can.
    pub(crate) fn notice(&self) -> Nanos {
        if self.peer_timeout == Nanos::MAX { Nanos::from_ms(USUAL_PEER_TIMEOUT_S * 1_000) } else { self.peer_timeout }
    }

    /// Reads the settings from this process's environment.
    pub(crate) fn from_env() -> Result<Self, Error> {
        Self::from(variable)
    }

    /// Reads the settings from variables.
    pub(crate) fn from(var: impl Fn(&str) -> Option<String>) -> Result<Self, Error> {
        let span = |what: &'static str, usual_s: u64, least_ms: u64| {
            let Some(text) = var(what).filter(|text| !text.trim().is_empty()) else { return Ok(Nanos::from_ms(usual_s * 1_000)) };
            let span = duration(&text).filter(|&span| span >= Nanos::from_ms(least_ms));
            let needs = match what {
                PEER_TIMEOUT => "a span such as 2s or 800ms, of half a second at least, or `off`",
                WATCHDOG => "a span such as 10s or 800ms, or 0 for no word",
                _ => "a span such as 60s or 800ms, of half a second at least",
            };
            span.ok_or_else(|| Error::from(Cause::Setting { what, needs }))
        };
        let watchdog = match span(WATCHDOG, 10, 0)? {
            Nanos::ZERO => Nanos::MAX,
            long => long,
        };
        let host_address = match var(HOST_ADDRESS).filter(|text| !text.trim().is_empty()) {
            None => None,
            Some(text) => {
                let needs = "an address in figures, as 10.0.0.7 or fd00::7";
                Some(text.trim().parse().map_err(|_| Error::from(Cause::Setting { what: HOST_ADDRESS, needs }))?)
            }
        };
        let off = var(PEER_TIMEOUT).is_some_and(|text| text.trim() == "off");
        let peer_timeout = if off { Nanos::MAX } else { span(PEER_TIMEOUT, USUAL_PEER_TIMEOUT_S, 500)? };
        Ok(Self { peer_timeout, join_timeout: span(JOIN_TIMEOUT, 60, 500)?, watchdog, host_address })
    }
}

/// Parses `2s`, `1.5 s`, `800ms`, `5min`, or a bare 0.
fn duration(text: &str) -> Option<Nanos> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: f64 = number.parse().ok()?;
    let unit_ms = match unit.trim() {
        "ms" => 1.0,
        "s" => 1e3,
        "min" => 60e3,
        "" if number == 0.0 => 1.0,
        _ => return None,
    };
    let ms = number * unit_ms;
    (ms <= 1e12).then_some(Nanos((ms * 1e6) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &'static str, value: &'static str) -> Result<Settings, Error> {
        Settings::from(|asked| (asked == name).then(|| value.to_owned()))
    }

    #[test]
    fn spans_have_units() {
        assert_eq!(duration("2s"), Some(Nanos::from_ms(2_000)));
        assert_eq!(duration(" 1.5 s "), Some(Nanos::from_ms(1_500)));
        assert_eq!(duration("800ms"), Some(Nanos::from_ms(800)));
        assert_eq!(duration("0"), Some(Nanos::ZERO));
        for bad in ["", "2", "s", "-1s", "2 parsec", "1e3s", "...s", "99999999999999s", "NaNs"] {
            assert_eq!(duration(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_is_not_set_is_usual() {
        let usual = Settings::from(|_| None).unwrap();
        assert_eq!(usual.peer_timeout, Nanos::from_ms(2_000));
        assert_eq!(usual.watchdog, Nanos::from_ms(10_000));
        assert_eq!(of(PEER_TIMEOUT, " "), Ok(usual));
    }

    fn usual_notice() -> Nanos {
        Settings::from(|_| None).unwrap().notice()
    }

    #[test]
    fn what_is_set_counts_and_nonsense_is_named() {
        assert_eq!(of(PEER_TIMEOUT, "5s").unwrap().peer_timeout, Nanos::from_ms(5_000));
        assert_eq!(of(PEER_TIMEOUT, " off").map(|set| (set.peer_timeout, set.notice())), Ok((Nanos::MAX, usual_notice())));
        assert_eq!(of(WATCHDOG, "0").unwrap().watchdog, Nanos::MAX);
        assert_eq!(of(HOST_ADDRESS, "10.0.0.7").unwrap().host_address, Some("10.0.0.7".parse().unwrap()));
        for (name, bad) in [
            (PEER_TIMEOUT, "0"),
            (PEER_TIMEOUT, "10ms"),
            (PEER_TIMEOUT, "2"),
            (PEER_TIMEOUT, "never"),
            (JOIN_TIMEOUT, "soon"),
            (HOST_ADDRESS, "here"),
        ] {
            let error = of(name, bad).unwrap_err().to_string();
            assert!(error.contains(name), "{error}");
        }
    }
}
