//! The decision table: what a waiter does in each state, and why. The first rule that matches the current
//! state decides.
//!
//! The blind pauses before the first decision (about 0.5 us, unless a member was recently on this processor)
//! are not part of the table, because episodes that end in them must not pay for it.
use super::Facts;

/// What a waiter does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Move to the emptier processor.
    Move,
    /// Send a scout to the emptier processor.
    Scout,
    /// Yield the processor to another runnable thread.
    Yield,
    /// Spin until the bound, or until it is time to gather the facts again.
    Spin,
    /// Check whether awaited members are running.
    Ask,
    /// Spin for one more bound.
    Stay,
    /// Fetch an awaited member that is not running to this processor, and hand the processor over to it.
    Pull,
    /// Sleep until shortly before the message is due.
    Doze,
    /// Sleep until the word changes.
    Park,
}

/// One row of the table: a state, and the action of a waiter in that state.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The name of the rule, as used in statistics and to switch the rule off.
    pub name: &'static str,
    /// Facts that must hold.
    pub when: Facts,
    /// Facts that must not hold.
    pub unless: Facts,
    /// The action of the waiter.
    pub then: Action,
    /// The reason for the action.
    pub reason: &'static str,
}

const fn rule(name: &'static str, when: Facts, then: Action, reason: &'static str) -> Rule {
    Rule { name, when, unless: Facts::NONE, then, reason }
}

const fn unless(rule: Rule, unless: Facts) -> Rule {
    Rule { unless, ..rule }
}

const CROWD: Facts = Facts::HERE.union(Facts::CROWDED).union(Facts::MOVABLE);

const FLIGHT: Facts = Facts::BACKGROUND.union(Facts::MOVABLE).union(Facts::EMPTIER);

/// The rows, in order of precedence.
pub const TABLE: [Rule; 17] = [
    rule(
        "sleep-in-crowd",
        Facts::CROWDED_OUT,
        Action::Park,
        "each yield here costs a time slice for which all members wait; a blocked thread keeps its fair share",
    ),
    rule(
        "doze",
        Facts::EXPECTED,
        Action::Doze,
        "no message is due before then; a timed sleep costs neither a wake-up nor the processor",
    ),
    unless(
        rule(
            "flee",
            FLIGHT,
            Action::Move,
            "a background thread computes on this processor, and sharing another processor would serialise little work",
        ),
        Facts::ROOMY,
    ),
    rule(
        "split-tiny",
        CROWD.union(Facts::MUCH_EMPTIER).union(Facts::TINY),
        Action::Move,
        "the episode consists of hand-overs only; two members on two processors are faster even if they share those with others",
    ),
    rule(
        "spread",
        CROWD.union(Facts::MUCH_EMPTIER).union(Facts::IDLE),
        Action::Move,
        "the other processor is idle, and this one is shared",
    ),
    unless(
        rule(
            "scout",
            CROWD.union(Facts::MUCH_EMPTIER),
            Action::Scout,
            "moving next to a background thread would be worse; probe the processor with an idle-class thread first",
        ),
        Facts::IDLE,
    ),
    rule(
        "sleep-beside-stranger",
        Facts::HERE.union(Facts::DISTRUSTED).union(Facts::CHEAP),
        Action::Park,
        "a yield would give the background thread a whole time slice; a blocked thread keeps its fair share and preempts when it wakes",
    ),
    rule(
        "sleep-realtime",
        Facts::HERE.union(Facts::REALTIME),
        Action::Park,
        "a member of an ordinary class runs only while this one sleeps",
    ),
    rule("sleep-late", Facts::HERE.union(Facts::LATE), Action::Park, "earlier yields have not helped"),
    unless(
        rule(
            "yield",
            Facts::HERE.union(Facts::CHEAP),
            Action::Yield,
            "the awaited member cannot run while this one spins, and a yield is the cheapest hand-over",
        ),
        Facts::DISTRUSTED.union(Facts::REALTIME),
    ),
    rule(
        "give-way",
        Facts::MESSAGE.union(Facts::DISTURBED).union(Facts::BRIEF_OVER),
        Action::Park,
        "other threads compute here; a blocked thread runs again as soon as its message arrives, and they get the time that it would have spun",
    ),
    unless(
        rule(
            "let-pass",
            Facts::OVERFULL.union(Facts::CHEAP).union(Facts::BOUND),
            Action::Yield,
            "an awaited member may have been moved to this processor since it was last seen, and cannot publish that before it runs",
        ),
        Facts::DISTRUSTED.union(Facts::REALTIME).union(Facts::LATE),
    ),
    unless(rule("spin", Facts::NONE, Action::Spin, "no awaited member needs this processor"), Facts::BOUND),
    unless(
        rule("ask", Facts::NONE, Action::Ask, "sleeping costs a remote wake-up and the waker's time; a check shows if it pays"),
        Facts::ASKED.union(Facts::CAP),
    ),
    rule("stay", Facts::RUNS, Action::Stay, "an awaited member computes; sleeping would only add a wake-up"),
    unless(
        rule(
            "pull",
            Facts::READY.union(Facts::FITS).union(Facts::LONG).union(Facts::PULLABLE),
            Action::Pull,
            "the awaited member queues behind a background thread for up to a time slice, and this processor is free for it",
        ),
        Facts::CAP.union(Facts::DISTURBED),
    ),
    rule("sleep", Facts::NONE, Action::Park, "another thread can make better use of the processor"),
];

/// The names of all rules.
pub(super) const RULE_NAMES: [&str; TABLE.len()] = {
    let mut names = [""; TABLE.len()];
    let mut at = 0;
    while at < TABLE.len() {
        names[at] = TABLE[at].name;
        at += 1;
    }
    names
};

/// A set of rules of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rules(u32);

/// Rules that cannot be switched off.
const ALWAYS: [&str; 2] = ["spin", "sleep"];

impl Rules {
    /// The empty set.
    pub const NONE: Self = Self(0);
    /// The blind pauses before the first decision.
    pub(crate) const BLINK: Self = Self(1 << TABLE.len());
    pub(crate) const SLEEP_IN_CROWD: Self = Self(1);
    pub(crate) const SCOUT: Self = Self(1 << 5);

    /// Returns the rule of this name; `blink` stands for the blind pauses. Returns `None` if there is no such
    /// rule, and for `spin` and `sleep`, which cannot be switched off because no action would be left.
    pub fn named(name: &str) -> Option<Self> {
        let row = TABLE.iter().position(|rule| rule.name == name && !ALWAYS.contains(&name));
        row.map(|at| Self(1 << at)).or_else(|| (name == "blink").then_some(Self::BLINK))
    }

    /// Returns the names of all rules that can be switched off.
    pub fn names() -> impl Iterator<Item = &'static str> {
        TABLE.iter().map(|rule| rule.name).filter(|name| !ALWAYS.contains(name)).chain(["blink"])
    }

    /// Returns the union of both sets.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether this set contains all rules of `other`.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the names of the rules in this set, in order.
    pub fn list(self) -> impl Iterator<Item = &'static str> {
        Self::names().filter(move |name| Self::named(name).is_some_and(|rule| self.has(rule)))
    }
}

/// Returns the index of the row that decides if the rules in `off` are switched off.
pub fn decide(facts: Facts, off: Rules) -> usize {
    let applies = |(at, rule): &(usize, &Rule)| facts.has(rule.when) && !facts.any(rule.unless) && off.0 & (1 << at) == 0;
    TABLE.iter().enumerate().find(applies).map_or(TABLE.len() - 1, |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(facts: Facts) -> &'static str {
        TABLE[decide(facts, Rules::NONE)].name
    }

    #[test]
    fn every_rule_decides_in_some_state_and_the_last_in_any() {
        for (at, rule) in TABLE.iter().enumerate() {
            let earlier = &TABLE[..at];
            let hidden = earlier.iter().any(|other| rule.when.has(other.when) && other.unless == Facts::NONE);
            assert!(!hidden, "{} never decides", rule.name);
        }
        let bound = Facts::BOUND | Facts::ASKED;
        for (facts, name) in [
            (Facts::NONE, "spin"),
            (Facts::BOUND, "ask"),
            (bound, "sleep"),
            (bound | Facts::RUNS, "stay"),
            (Facts::BOUND | Facts::CAP, "sleep"),
            (bound | Facts::READY | Facts::FITS | Facts::LONG | Facts::PULLABLE, "pull"),
            (bound | Facts::READY | Facts::FITS | Facts::PULLABLE, "sleep"),
            (bound | Facts::READY | Facts::FITS | Facts::LONG | Facts::PULLABLE | Facts::DISTURBED, "sleep"),
            (Facts::HERE | Facts::CHEAP, "yield"),
            (Facts::HERE | Facts::CHEAP | Facts::BOUND, "yield"),
            (Facts::HERE, "spin"),
            (Facts::HERE | Facts::LATE, "sleep-late"),
            (Facts::HERE | Facts::REALTIME, "sleep-realtime"),
            (Facts::HERE | Facts::DISTRUSTED | Facts::CHEAP, "sleep-beside-stranger"),
            (Facts::HERE | Facts::DISTRUSTED, "spin"),
            (CROWD | Facts::CHEAP, "yield"),
            (CROWD | Facts::EMPTIER | Facts::MUCH_EMPTIER, "scout"),
            (CROWD | Facts::EMPTIER | Facts::MUCH_EMPTIER | Facts::IDLE, "spread"),
            (CROWD | Facts::EMPTIER | Facts::MUCH_EMPTIER | Facts::TINY, "split-tiny"),
            (FLIGHT, "flee"),
            (Facts::EXPECTED | Facts::HERE | Facts::CHEAP, "doze"),
            (FLIGHT | Facts::CROWDED_OUT, "sleep-in-crowd"),
            (Facts::BACKGROUND | Facts::EMPTIER, "spin"),
            (Facts::MESSAGE | Facts::DISTURBED | Facts::BRIEF_OVER, "give-way"),
            (Facts::MESSAGE | Facts::BRIEF_OVER, "spin"),
            (Facts::MESSAGE | Facts::DISTURBED, "spin"),
            (Facts::DISTURBED | Facts::BRIEF_OVER, "spin"),
        ] {
            assert_eq!(chosen(facts), name, "{facts}");
        }
    }

    #[test]
    fn a_rule_switched_off_leaves_the_decision_to_the_next() {
        let off = Rules::named("yield").unwrap();
        assert_eq!(TABLE[decide(Facts::HERE | Facts::CHEAP, off)].name, "spin");
        assert_eq!((Rules::named("spin"), Rules::named("sleep")), (None, None));
        assert_eq!((Rules::named("blink"), Rules::named("blin")), (Some(Rules::BLINK), None));
        assert_eq!(off.union(Rules::BLINK).list().collect::<Vec<_>>(), ["yield", "blink"]);
    }

    #[test]
    fn names_are_those_of_the_rows() {
        assert_eq!(Rules::named("scout"), Some(Rules::SCOUT));
        assert_eq!(Rules::named("sleep-in-crowd"), Some(Rules::SLEEP_IN_CROWD));
        let names: std::collections::BTreeSet<_> = TABLE.iter().map(|rule| rule.name).collect();
        assert_eq!(names.len(), TABLE.len());
    }
}
