//! The decision table: what a waiter does in which state, and why. The first rule whose state is the present
//! one decides.
//!
//! The blind pauses that come before (some half a microsecond, unless a member was on this processor lately)
//! are no row: episodes that end in them must not pay for a table.
use super::Facts;

/// What a waiter does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Action {
    /// Move to the emptier processor.
    Move,
    /// Send a scout to the emptier processor.
    Scout,
    /// Offer the processor to another thread.
    Yield,
    /// Keep the processor, until the bound or until it is time to look around again.
    Spin,
    /// Ask whether an awaited member holds a processor.
    Ask,
    /// Spin for one more bound.
    Stay,
    /// Fetch an awaited member that does not run to this processor, and hand it over.
    Pull,
    /// Sleep until shortly before the event is due.
    Doze,
    /// Sleep until the word changes.
    Park,
}

/// One row: a state, and what a waiter does in it.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Its name: in statistics, and to switch it off.
    pub name: &'static str,
    /// Facts that must hold.
    pub when: Facts,
    /// Facts that must not hold.
    pub unless: Facts,
    /// What the waiter does.
    pub then: Action,
    /// Why it does that.
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

/// The rows, first come first.
pub const TABLE: [Rule; 17] = [
    rule(
        "sleep-in-crowd",
        Facts::CROWDED_OUT,
        Action::Park,
        "each pause here is paid with a turn that all members wait for; a sleeper keeps its claim to the processor",
    ),
    rule(
        "doze",
        Facts::EXPECTED,
        Action::Doze,
        "nothing comes before then: a sleep that ends by itself costs neither a wake-up nor the processor",
    ),
    unless(
        rule(
            "flee",
            FLIGHT,
            Action::Move,
            "a background thread computes on my processor, and there is little work that would be done one after the other elsewhere",
        ),
        Facts::ROOMY,
    ),
    rule(
        "split-tiny",
        CROWD.union(Facts::MUCH_EMPTIER).union(Facts::TINY),
        Action::Move,
        "the episode is nothing but hand-overs: half of a spread pair is better than all of a stacked one",
    ),
    rule(
        "spread",
        CROWD.union(Facts::MUCH_EMPTIER).union(Facts::IDLE),
        Action::Move,
        "the processor is free and this one is shared",
    ),
    unless(
        rule(
            "scout",
            CROWD.union(Facts::MUCH_EMPTIER),
            Action::Scout,
            "moving beside a background thread would make it worse: ask somebody who runs only where nobody else does",
        ),
        Facts::IDLE,
    ),
    rule(
        "sleep-beside-stranger",
        Facts::HERE.union(Facts::DISTRUSTED).union(Facts::CHEAP),
        Action::Park,
        "a yield would hand a whole turn to the background thread; a sleeper keeps its claim and preempts at its wake-up",
    ),
    rule(
        "sleep-realtime",
        Facts::HERE.union(Facts::REALTIME),
        Action::Park,
        "a member of an ordinary class runs only while I sleep",
    ),
    rule("sleep-late", Facts::HERE.union(Facts::LATE), Action::Park, "yields have not helped"),
    unless(
        rule(
            "yield",
            Facts::HERE.union(Facts::CHEAP),
            Action::Yield,
            "it cannot run while I spin, and a yield is the cheapest hand-over there is",
        ),
        Facts::DISTRUSTED.union(Facts::REALTIME),
    ),
    rule(
        "give-way",
        Facts::MESSAGE.union(Facts::DISTURBED).union(Facts::BRIEF_OVER),
        Action::Park,
        "others compute here: a sleeper is back at once when its message comes, and what it would have spun is theirs",
    ),
    unless(
        rule(
            "let-pass",
            Facts::OVERFULL.union(Facts::CHEAP).union(Facts::BOUND),
            Action::Yield,
            "whom I await may have been brought to this processor since it was last seen, and cannot say so before it runs",
        ),
        Facts::DISTRUSTED.union(Facts::REALTIME).union(Facts::LATE),
    ),
    unless(rule("spin", Facts::NONE, Action::Spin, "nobody I wait for needs my processor"), Facts::BOUND),
    unless(
        rule("ask", Facts::NONE, Action::Ask, "sleeping costs one remote wake-up and its waker's time: is it worth it?"),
        Facts::ASKED.union(Facts::CAP),
    ),
    rule("stay", Facts::RUNS, Action::Stay, "it computes; to sleep would only add a wake-up"),
    unless(
        rule(
            "pull",
            Facts::READY.union(Facts::FITS).union(Facts::LONG).union(Facts::PULLABLE),
            Action::Pull,
            "it queues behind a background thread for up to a turn, and my processor is free for it",
        ),
        Facts::CAP.union(Facts::DISTURBED),
    ),
    rule("sleep", Facts::NONE, Action::Park, "the processor is worth more to somebody else"),
];

/// The names of all rows.
pub(super) const RULE_NAMES: [&str; TABLE.len()] = {
    let mut names = [""; TABLE.len()];
    let mut at = 0;
    while at < TABLE.len() {
        names[at] = TABLE[at].name;
        at += 1;
    }
    names
};

/// Some rules of the table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rules(u32);

/// Rules that cannot be switched off.
const ALWAYS: [&str; 2] = ["spin", "sleep"];

impl Rules {
    /// No rule.
    pub const NONE: Self = Self(0);
    /// The blind pauses before the first decision.
    pub(crate) const BLINK: Self = Self(1 << TABLE.len());
    pub(crate) const SLEEP_IN_CROWD: Self = Self(1);
    pub(crate) const SCOUT: Self = Self(1 << 5);

    /// The rule of that name; `blink` for the blind pauses. Spinning and sleeping cannot be switched off:
    /// without them there would be nothing left to do.
    pub fn named(name: &str) -> Option<Self> {
        let row = TABLE.iter().position(|rule| rule.name == name && !ALWAYS.contains(&name));
        row.map(|at| Self(1 << at)).or_else(|| (name == "blink").then_some(Self::BLINK))
    }

    /// The names of all rules that can be switched off.
    pub fn names() -> impl Iterator<Item = &'static str> {
        TABLE.iter().map(|rule| rule.name).filter(|name| !ALWAYS.contains(name)).chain(["blink"])
    }

    /// The rules of both sets.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns whether it has all rules of `other`.
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Their names, in order.
    pub fn list(self) -> impl Iterator<Item = &'static str> {
        Self::names().filter(move |name| Self::named(name).is_some_and(|rule| self.has(rule)))
    }
}

/// The number of the row that decides, if the rules of `off` are switched off.
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
