//! Policies by name, on the command line and in results; spin bounds as multiples of a context switch.
use crate::Policy;
use core::fmt;
use core::str::FromStr;
use foregather_machine::{Costs, Nanos, Switch};

/// The spin bounds of Tsafrir & Feitelson 2002 §4.2, as multiples of one context switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Multiple {
    /// One context switch: never worse than twice the best choice made in hindsight.
    Cs,
    /// Slightly more than one (1.25).
    CsPlus,
    /// Slightly more than two (2.5): the partner that has just decided to block must finish that and be woken again.
    TwoCsPlus,
}

impl Multiple {
    /// All of them, shortest first.
    pub const ALL: [Self; 3] = [Self::Cs, Self::CsPlus, Self::TwoCsPlus];

    /// The bound on this machine, for one of its two switches.
    pub const fn of(self, costs: &Costs, switch: Switch) -> Nanos {
        costs.switch(switch).percent(match self {
            Self::Cs => 100,
            Self::CsPlus => 125,
            Self::TwoCsPlus => 250,
        })
    }

    /// `CS`, `CS+`, `2CS+`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cs => "CS",
            Self::CsPlus => "CS+",
            Self::TwoCsPlus => "2CS+",
        }
    }
}

impl Policy {
    /// Two-phase waiting, bounded by a multiple of one of this machine's two context switches.
    pub const fn two_phase(costs: &Costs, multiple: Multiple, switch: Switch) -> Self {
        Self::TwoPhase { spin: multiple.of(costs, switch) }
    }

    /// Reads `spin`, `yield`, `block`, `two-phase:20us`, `two-phase:2CS+:remote`, `spin-yield:CS:local`.
    ///
    /// # Errors
    /// If the text names no policy; the error lists those there are.
    pub fn parse(text: &str, costs: &Costs) -> Result<Self, ParsePolicyError> {
        let error = || ParsePolicyError { text: text.to_owned() };
        let (head, bound) = text.split_once(':').map_or((text, None), |(head, bound)| (head, Some(bound)));
        match (head, bound) {
            ("spin", None) => Ok(Self::Spin),
            ("yield", None) => Ok(Self::Yield),
            ("block", None) => Ok(Self::Block),
            ("two-phase", Some(bound)) => Ok(Self::TwoPhase { spin: parse_bound(bound, costs).ok_or_else(error)? }),
            ("spin-yield", Some(bound)) => Ok(Self::SpinThenYield { spin: parse_bound(bound, costs).ok_or_else(error)? }),
            _ => Err(error()),
        }
    }
}

fn parse_bound(text: &str, costs: &Costs) -> Option<Nanos> {
    if let Some((multiple, switch)) = text.split_once(':') {
        let multiple = Multiple::ALL.into_iter().find(|m| m.name() == multiple)?;
        let switch = match switch {
            "local" => Switch::Local,
            "remote" => Switch::Remote,
            _ => return None,
        };
        return Some(multiple.of(costs, switch));
    }
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let n = u64::from_str(digits).ok()?;
    match &text[digits.len()..] {
        "ns" => Some(Nanos(n)),
        "us" => Some(Nanos::from_us(n)),
        "ms" => Some(Nanos::from_ms(n)),
        _ => None,
    }
}

/// A text that names no policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsePolicyError {
    text: String,
}

impl fmt::Display for ParsePolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is no waiting policy; there are spin, yield, block, two-phase:BOUND and spin-yield:BOUND, \
             where BOUND is a time (20us) or CS, CS+, 2CS+ of a switch (2CS+:remote, CS:local)",
            self.text
        )
    }
}

impl core::error::Error for ParsePolicyError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_can_be_named() {
        let costs = Costs::TYPICAL;
        let parse = |text| Policy::parse(text, &costs);
        assert_eq!(parse("spin"), Ok(Policy::Spin));
        assert_eq!(parse("two-phase:20us"), Ok(Policy::TwoPhase { spin: Nanos::from_us(20) }));
        assert_eq!(parse("two-phase:2CS+:local"), Ok(Policy::TwoPhase { spin: Nanos(2_750) }));
        assert_eq!(parse("spin-yield:CS:remote"), Ok(Policy::SpinThenYield { spin: Nanos(19_000) }));
        for wrong in
            ["", "spinn", "two-phase", "two-phase:", "two-phase:20", "two-phase:3CS:local", "block:1us", "two-phase:-1us"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
