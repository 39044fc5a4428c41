//! The adaptive policy by name: `adaptive:HAND-OVER:REMOTE:TICK`, or `adaptive` for the machine's costs.
//! `!RULE,RULE` after either switches off those rules.
use super::{Adaptive, AdaptiveState, Rules};
use crate::name::time;
use crate::{Policy, Strategy};
use core::fmt;
use foregather_machine::Costs;

impl Policy {
    /// Returns the adaptive policy for a machine with these costs.
    pub const fn adaptive(costs: &Costs) -> Self {
        Self::Adaptive(Adaptive::new(costs))
    }

    /// Returns the names of the rules that can be switched off.
    pub(crate) fn rules() -> impl Iterator<Item = &'static str> {
        Rules::names()
    }
}

/// Returns the adaptive policy with typical costs; [`Policy::adaptive`] takes the machine's costs.
impl Default for Policy {
    fn default() -> Self {
        Self::adaptive(&Costs::TYPICAL)
    }
}

impl Adaptive {
    /// Creates the strategy of this policy.
    pub(crate) fn strategy(self) -> impl Strategy {
        AdaptiveState::new(self)
    }

    /// Parses what follows the name `adaptive`.
    pub(crate) fn read(rest: &mut &str, costs: &Costs) -> Option<Self> {
        let mut of = Self::new(costs);
        if rest.starts_with(':') {
            (of.hand_over, of.remote, of.tick) = (time(rest)?, time(rest)?, time(rest)?);
        }
        if let Some(off) = rest.strip_prefix('!') {
            *rest = "";
            for rule in off.split(',') {
                of.without = of.without.union(Rules::named(rule)?);
            }
        }
        Some(of)
    }
}

/// Writes the text that `Adaptive::read` parses.
impl fmt::Display for Adaptive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ":{}ns:{}ns:{}ns", self.hand_over.0, self.remote.0, self.tick.0)?;
        self.without.list().enumerate().try_for_each(|(i, rule)| write!(f, "{}{rule}", if i == 0 { '!' } else { ',' }))
    }
}
