//! Policies by name, on the command line and in results.
use crate::adaptive::Rules;
use crate::{Adaptive, Multiple, Policy};
use core::fmt;
use core::str::FromStr;
use foregather_machine::{Costs, Nanos, Switch};

impl Policy {
    /// Two-phase waiting, bounded by a multiple of one of this machine's two context switches.
    pub const fn two_phase(costs: &Costs, multiple: Multiple, switch: Switch) -> Self {
        Self::TwoPhase { spin: multiple.of(costs, switch) }
    }

    /// Reads `spin`, `yield`, `block`, `two-phase:20us`, `two-phase:2CS+:remote`, `spin-yield:0.62CS:local`,
    /// and those that choose anew for every wait, with their context switch: `randomised:6us`,
    /// `recent:local`, `holder-running:remote`, `grain2cs:remote`, `grain2cs:6us:100us`. `adaptive` needs no
    /// more, and `adaptive!yield,scout` switches two of its rules off. A policy's displayed name reads back
    /// as that policy.
    ///
    /// # Errors
    /// If the text names no policy; the error lists the names.
    pub fn parse(text: &str, costs: &Costs) -> Result<Self, ParsePolicyError> {
        let (head, rest) = text.split_once(':').map_or((text, None), |(head, rest)| (head, Some(rest)));
        let policy = match rest {
            _ if text.starts_with("adaptive") => adaptive(text, costs),
            None => plain(head),
            Some(rest) => with_times(head, rest, costs),
        };
        policy.ok_or_else(|| ParsePolicyError { text: text.to_owned() })
    }
}

fn plain(name: &str) -> Option<Policy> {
    [Policy::Spin, Policy::Yield, Policy::Block].into_iter().find(|policy| policy.to_string() == name)
}

fn with_times(name: &str, times: &str, costs: &Costs) -> Option<Policy> {
    Some(match name {
        "two-phase" => Policy::TwoPhase { spin: bound(times, costs)? },
        "spin-yield" => Policy::SpinThenYield { spin: bound(times, costs)? },
        "randomised" => Policy::Randomised { switch: switch(times, costs)? },
        "recent" => Policy::Recent { switch: switch(times, costs)? },
        "holder-running" => Policy::HolderRunning { switch: switch(times, costs)? },
        "grain2cs" => {
            let (first, quantum) = times.split_once(':').map_or((times, None), |(first, quantum)| (first, Some(quantum)));
            let quantum = quantum.map_or(Some(Policy::QUANTUM), time)?;
            Policy::Grain { switch: switch(first, costs)?, quantum }
        }
        _ => return None,
    })
}

/// `adaptive`, `adaptive:HAND-OVER:REMOTE:TICK`, either with `!RULE,RULE`.
fn adaptive(text: &str, costs: &Costs) -> Option<Policy> {
    let (text, off) = text.split_once('!').map_or((text, None), |(text, off)| (text, Some(off)));
    let mut of = match text.split(':').collect::<Vec<_>>()[..] {
        ["adaptive"] => Adaptive::new(costs),
        ["adaptive", hand_over, remote, tick] => {
            let (hand_over, remote, tick) = (time(hand_over)?, time(remote)?, time(tick)?);
            Adaptive { hand_over, remote, tick, without: Rules::NONE }
        }
        _ => return None,
    };
    for rule in off.iter().flat_map(|off| off.split(',')) {
        of.without = of.without.union(Rules::named(rule)?);
    }
    Some(Policy::Adaptive(of))
}

/// A time, or a multiple of one of the two switches.
fn bound(text: &str, costs: &Costs) -> Option<Nanos> {
    match text.split_once(':') {
        Some((multiple, switch)) => Some(Multiple::parse(multiple)?.of(costs, switch_named(switch)?)),
        None => time(text),
    }
}

/// A time, or one of the two switches.
fn switch(text: &str, costs: &Costs) -> Option<Nanos> {
    switch_named(text).map(|which| costs.switch(which)).or_else(|| time(text))
}

fn switch_named(text: &str) -> Option<Switch> {
    match text {
        "local" => Some(Switch::Local),
        "remote" => Some(Switch::Remote),
        _ => None,
    }
}

fn time(text: &str) -> Option<Nanos> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let n = u64::from_str(digits).ok()?;
    match &text[digits.len()..] {
        "ns" => Some(Nanos(n)),
        "us" => Some(Nanos::from_us(n)),
        "ms" => Some(Nanos::from_ms(n)),
        _ => None,
    }
}

/// Writes the name with all times in nanoseconds, so that a reader need not know the machine's costs.
impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Spin => f.write_str("spin"),
            Self::Yield => f.write_str("yield"),
            Self::Block => f.write_str("block"),
            Self::TwoPhase { spin } => write!(f, "two-phase:{}ns", spin.0),
            Self::SpinThenYield { spin } => write!(f, "spin-yield:{}ns", spin.0),
            Self::Randomised { switch } => write!(f, "randomised:{}ns", switch.0),
            Self::Recent { switch } => write!(f, "recent:{}ns", switch.0),
            Self::HolderRunning { switch } => write!(f, "holder-running:{}ns", switch.0),
            Self::Grain { switch, quantum } => write!(f, "grain2cs:{}ns:{}ns", switch.0, quantum.0),
            Self::Adaptive(Adaptive { hand_over, remote, tick, without }) => {
                write!(f, "adaptive:{}ns:{}ns:{}ns", hand_over.0, remote.0, tick.0)?;
                without.list().enumerate().try_for_each(|(i, rule)| write!(f, "{}{rule}", if i == 0 { '!' } else { ',' }))
            }
        }
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
            "`{}` is no waiting policy; there are adaptive, adaptive!RULE[,RULE...], spin, yield, block, two-phase:BOUND, spin-yield:BOUND, randomised:SWITCH, \
             recent:SWITCH, holder-running:SWITCH and grain2cs:SWITCH[:QUANTUM], where BOUND is a time (20us) or a multiple \
             of a switch (CS:local, 2CS+:remote, 0.62CS:remote) and SWITCH a time, local or remote; \
             rules are {}",
            self.text,
            Rules::names().collect::<Vec<_>>().join(", ")
        )
    }
}

impl core::error::Error for ParsePolicyError {}

#[cfg(test)]
mod tests {
    use super::*;

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
        let times = ["two-phase", "two-phase:", "two-phase:20", "two-phase:3CS+:local", "two-phase:CS", "two-phase:-1us"];
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
