//! Parsing of policy names, as used on the command line and in results.
use crate::{Multiple, Policy};
use core::fmt;
use core::str::FromStr;
use foregather_machine::{Costs, Nanos, Switch};

impl Policy {
    /// Returns two-phase waiting with a spin bound that is a multiple of a local or a remote context switch.
    pub const fn two_phase(costs: &Costs, multiple: Multiple, switch: Switch) -> Self {
        Self::TwoPhase { spin: multiple.of(costs, switch) }
    }

    /// Parses a policy. The fixed policies are `spin`, `yield`, `block`, `two-phase:20us`,
    /// `two-phase:2CS+:remote`, `spin-yield:0.62CS:local`. Those that decide again for each wait take the
    /// cost of a context switch: `randomised:6us`, `recent:local`, `holder-running:remote`,
    /// `grain2cs:remote`, `grain2cs:6us:100us`. `adaptive` needs no parameter; `adaptive!yield,scout`
    /// switches off two of its rules. The `Display` form of a policy parses as the same policy.
    ///
    /// # Errors
    /// If the text names no policy; the error lists the names.
    pub fn parse(text: &str, costs: &Costs) -> Result<Self, ParsePolicyError> {
        Self::read(text, costs).ok_or_else(|| ParsePolicyError { text: text.to_owned() })
    }
}

/// How often a policy yields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Yields(pub u32);

impl Yields {
    pub(crate) fn read(rest: &mut &str, _: &Costs) -> Option<Self> {
        next(rest)?.parse().ok().map(Self)
    }
}

impl fmt::Display for Yields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":{}", self.0)
    }
}

/// Returns the policy name at the start of a usage text.
pub(crate) fn name_of(usage: &str) -> &str {
    usage.split([':', '[']).next().unwrap_or(usage)
}

/// Returns what follows the policy name of `usage` in `text`, or `None` if `text` does not begin with that
/// name.
pub(crate) fn after<'t>(text: &'t str, usage: &str) -> Option<&'t str> {
    text.strip_prefix(name_of(usage)).filter(|rest| rest.is_empty() || rest.starts_with([':', '!']))
}

/// Takes the parameter between the leading colon and the next `:` or `!`.
fn next<'t>(rest: &mut &'t str) -> Option<&'t str> {
    let text = rest.strip_prefix(':')?;
    let (next, more) = text.split_at(text.find([':', '!']).unwrap_or(text.len()));
    *rest = more;
    Some(next)
}

/// Parses a time, or a multiple of a local or remote switch.
pub(crate) fn bound(rest: &mut &str, costs: &Costs) -> Option<Nanos> {
    let text = std::mem::take(rest).strip_prefix(':')?;
    match text.split_once(':') {
        Some((multiple, switch)) => Some(Multiple::parse(multiple)?.of(costs, switch_named(switch)?)),
        None => parse_time(text),
    }
}

/// Parses a time, `local` or `remote`.
pub(crate) fn switch(rest: &mut &str, costs: &Costs) -> Option<Nanos> {
    let text = next(rest)?;
    switch_named(text).map(|which| costs.switch(which)).or_else(|| parse_time(text))
}

/// Parses a time.
pub(crate) fn time(rest: &mut &str) -> Option<Nanos> {
    parse_time(next(rest)?)
}

/// Parses a time; returns the default quantum if there is none.
pub(crate) fn quantum(rest: &mut &str, _: &Costs) -> Option<Nanos> {
    if rest.is_empty() { Some(Policy::QUANTUM) } else { time(rest) }
}

fn switch_named(text: &str) -> Option<Switch> {
    match text {
        "local" => Some(Switch::Local),
        "remote" => Some(Switch::Remote),
        _ => None,
    }
}

fn parse_time(text: &str) -> Option<Nanos> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let n = u64::from_str(digits).ok()?;
    match &text[digits.len()..] {
        "ns" => Some(Nanos(n)),
        "us" => Some(Nanos::from_us(n)),
        "ms" => Some(Nanos::from_ms(n)),
        _ => None,
    }
}

/// The error for a text that names no policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParsePolicyError {
    text: String,
}

impl fmt::Display for ParsePolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown waiting policy `{}`; expected one of {}, where BOUND is a time (20us) or a multiple of a switch \
             (CS:local, 2CS+:remote, 0.62CS:remote) and SWITCH a time, local or remote; rules are {}",
            self.text,
            Policy::USAGES.join(", "),
            Policy::rules().collect::<Vec<_>>().join(", ")
        )
    }
}

impl core::error::Error for ParsePolicyError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Adaptive;
    use crate::adaptive::Rules;

    fn parse(text: &str) -> Option<Policy> {
        Policy::parse(text, &Costs::TYPICAL).ok()
    }

    #[test]
    fn every_policy_can_be_named_and_is_read_as_it_is_shown() {
        let us = Nanos::from_us;
        let without = Rules::named("yield").unwrap().union(Rules::named("blink").unwrap());
        for (name, policy) in [
            ("spin", Policy::Spin),
            ("yield", Policy::Yield),
            ("block", Policy::Block),
            ("two-phase:20us", Policy::TwoPhase { spin: us(20) }),
            ("two-phase:2CS+:local", Policy::TwoPhase { spin: Nanos(2_750) }),
            ("two-phase:0.62CS:remote", Policy::TwoPhase { spin: Nanos(11_780) }),
            ("spin-yield:CS:remote", Policy::SpinThenYield { spin: us(19) }),
            ("yield-block:33", Policy::YieldThenBlock(Yields(33))),
            ("spin-yield:5CS:local", Policy::SpinThenYield { spin: Nanos(5_500) }),
            ("randomised:local", Policy::Randomised { switch: Nanos(1_100) }),
            ("recent:6us", Policy::Recent { switch: us(6) }),
            ("holder-running:remote", Policy::HolderRunning { switch: us(19) }),
            ("grain2cs:6us", Policy::Grain { switch: us(6), quantum: us(100) }),
            ("adaptive", Policy::adaptive(&Costs::TYPICAL)),
            (
                "adaptive:1us:2us:3us!yield,blink",
                Policy::Adaptive(Adaptive { hand_over: us(1), remote: us(2), tick: us(3), without }),
            ),
            ("grain2cs:local:10ms", Policy::Grain { switch: Nanos(1_100), quantum: Nanos::from_ms(10) }),
        ] {
            assert_eq!(parse(name), Some(policy), "{name}");
            assert_eq!(parse(&policy.to_string()), Some(policy), "{policy}");
        }
    }

    #[test]
    fn what_names_no_policy_is_refused() {
        let times = [
            "two-phase",
            "two-phase:",
            "two-phase:20",
            "two-phase:3CS+:local",
            "two-phase:CS",
            "two-phase:-1us",
            "yield-block:2us",
        ];
        let switches = ["recent", "recent:", "recent:CS:local", "randomised:near", "holder-running:6us:6us", "recent:local:"];
        let quanta = ["grain2cs", "grain2cs:6us:", "grain2cs:6us:local", "grain2cs:6us:1ms:1ms"];
        let adaptive = ["adaptive:", "adaptive!", "adaptive!spin", "adaptive!yield,", "adaptives", "adaptive:1us:1us"];
        for wrong in ["", "spinn", "block:1us", ":"].into_iter().chain(times).chain(switches).chain(quanta).chain(adaptive) {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
        let error = Policy::parse("spinn", &Costs::TYPICAL).unwrap_err().to_string();
        assert!(error.contains("`spinn`") && error.contains("grain2cs"), "{error}");
    }
}
