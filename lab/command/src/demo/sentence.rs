//! One line of the demo: what was done, and how long each took for it.
use crate::screen::NO_BREAK;
use foregather_results::Measurement;
use foregather_results::number::{digits, rounded};

/// Less of a difference is none.
const SAME: f64 = 0.05;

/// The names that people know, by those in results.
const NAMES: [(&str, &str); 11] = [
    ("gomp", "libgomp"),
    ("omp", "libomp"),
    ("rust-std", "Rust's Barrier"),
    ("pthread", "pthread_barrier"),
    ("std-scope", "std::thread::scope"),
    ("openblas", "OpenBLAS"),
    ("pipe", "a pipe"),
    ("team", OURS),
    ("foregather", OURS),
    ("central/adaptive", OURS),
    ("chosen", OURS),
];

/// This project.
const OURS: &str = "Foregather";

/// One that did it, and how long it took.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Contestant {
    name: String,
    /// Nothing if it was not done in its time.
    ns: Option<f64>,
}

impl Contestant {
    /// By its name in results.
    pub(super) fn new(name: &str, ns: f64) -> Self {
        let known = NAMES.iter().find(|(in_results, _)| *in_results == name).map_or(name, |(_, known)| known);
        Self { name: known.to_owned(), ns: Some(ns).filter(|ns| ns.is_finite() && *ns > 0.0) }
    }
}

/// What a sentence is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Threads that wait for each other.
    Wait,
    /// Something else.
    Other,
}

/// What was done, and by whom.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sentence {
    pub(super) kind: Kind,
    about: String,
    others: Vec<Contestant>,
    ours_ns: f64,
}

impl Sentence {
    /// Nothing without a number of this project.
    pub(super) fn new(kind: Kind, about: String, all: Vec<Contestant>) -> Option<Self> {
        let (ours, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|one| one.name == OURS);
        Some(Self { kind, about, others, ours_ns: ours.first()?.ns? })
    }

    /// Its numbers, by what it is about and by names for people.
    pub(super) fn measurements(&self) -> Vec<Measurement> {
        let ours = Contestant { name: OURS.to_owned(), ns: Some(self.ours_ns) };
        let one = |one: &Contestant| {
            let id = format!("demo/{}/{}", self.about.replace('/', "-"), one.name);
            let us = one.ns.map(|ns| ns / 1e3).into_iter().collect();
            Measurement::from_values(id, self.about.clone(), "us", us).label("about", &self.about).label("by", &one.name)
        };
        self.others.iter().chain([&ours]).map(one).collect()
    }

    /// The best of the others, and how many times as long it took as this project.
    pub(super) fn best_other(&self) -> Option<(&str, f64)> {
        let timed = self.others.iter().filter_map(|other| Some((other.name.as_str(), other.ns? / self.ours_ns)));
        timed.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// How many times as long as this project another one took whose name begins like that, and its name.
    pub(super) fn other(&self, name: &str) -> Option<(&str, f64)> {
        let other = self.others.iter().find(|other| other.name.starts_with(name))?;
        Some((other.name.as_str(), other.ns? / self.ours_ns))
    }

    /// Is another one faster?
    pub(super) fn is_lost(&self) -> bool {
        self.best_other().is_some_and(|(_, ratio)| ratio < 1.0 - SAME)
    }

    /// Is this project faster than all others?
    pub(super) fn is_won(&self) -> bool {
        self.best_other().is_some_and(|(_, ratio)| ratio > 1.0 + SAME)
    }

    /// In words; `mark` stands before each number that is rough.
    pub(super) fn text(&self, mark: &str) -> String {
        let ours = Contestant { name: OURS.to_owned(), ns: Some(self.ours_ns) };
        let said = |one: &Contestant| match one.ns {
            Some(ns) => format!("{} {mark}{}", one.name, time(ns)),
            None => format!("{} did not end in time", one.name),
        };
        let all: Vec<String> = self.others.iter().chain([&ours]).map(said).collect();
        let faster = match self.best_other() {
            Some((name, _)) if self.is_lost() && mark.is_empty() => format!("; here {name} is faster"),
            _ => String::new(),
        };
        format!("{}: {}{faster}.", self.about, all.join(", "))
    }
}

/// Two digits, in the unit that suits them.
pub(super) fn time(ns: f64) -> String {
    let (scale, unit) = match ns {
        ns if ns >= 0.995e9 => (1e9, "s"),
        ns if ns >= 0.995e6 => (1e6, "ms"),
        ns if ns >= 0.995e3 => (1e3, "us"),
        _ => (1.0, "ns"),
    };
    format!("{}{NO_BREAK}{unit}", two_digits(ns / scale))
}

/// A number with two digits, the others zeros.
pub(super) fn two_digits(number: f64) -> String {
    digits(rounded(number, 2), 2)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn sentence(kind: Kind, about: &str, all: &[(&str, f64)]) -> Sentence {
        Sentence::new(kind, about.to_owned(), all.iter().map(|(name, ns)| Contestant::new(name, *ns)).collect()).unwrap()
    }

    fn said(sentence: &Sentence, mark: &str) -> String {
        sentence.text(mark).replace(NO_BREAK, " ")
    }

    #[test]
    fn all_are_named_with_their_times_and_a_faster_one_is_said() {
        let region = |gomp, omp| sentence(Kind::Wait, "A region", &[("foregather", 22_400.0), ("gomp", gomp), ("omp", omp)]);
        let won = region(3_140_000.0, 2_400_000.0);
        assert_eq!(said(&won, ""), "A region: libgomp 3.1 ms, libomp 2.4 ms, Foregather 22 us.");
        assert!(won.is_won() && won.best_other().is_some_and(|(name, ratio)| name == "libomp" && ratio > 100.0));
        let lost = region(9_000.0, 21_000.0);
        assert_eq!(said(&lost, ""), "A region: libgomp 9 us, libomp 21 us, Foregather 22 us; here libgomp is faster.");
        assert_eq!(
            said(&lost, "~"),
            "A region: libgomp ~9 us, libomp ~21 us, Foregather ~22 us.",
            "rough numbers are not judged"
        );
        let same = region(22_000.0, 30_000.0);
        let kept = won.measurements();
        assert_eq!((kept.len(), kept[2].id.as_str(), kept[2].median()), (3, "demo/A region/Foregather", 22.4));
        assert!(!same.is_won() && !same.is_lost() && said(&same, "").ends_with("Foregather 22 us."));
    }

    #[test]
    fn one_that_is_missing_is_left_out_and_one_that_collapsed_is_said() {
        let alone = sentence(Kind::Wait, "A message", &[("chosen", 112.0)]);
        assert_eq!((said(&alone, ""), alone.best_other()), ("A message: Foregather 110 ns.".to_owned(), None));
        let stuck = sentence(Kind::Wait, "A barrier", &[("central/adaptive", 800.0), ("gomp", f64::NAN)]);
        assert_eq!(said(&stuck, ""), "A barrier: libgomp did not end in time, Foregather 800 ns.");
        assert!(!stuck.is_won() && !stuck.is_lost());
        assert_eq!(Sentence::new(Kind::Other, "A product".to_owned(), vec![Contestant::new("openblas", 1e6)]), None);
        assert_eq!(Sentence::new(Kind::Other, "A product".to_owned(), vec![Contestant::new("foregather", f64::NAN)]), None);
    }

    #[test]
    fn times_have_two_digits() {
        let said = [96.4, 996.0, 1_234.0, 21_999.0, 3_140_000.0, 1.3e9].map(|ns| time(ns).replace(NO_BREAK, " "));
        assert_eq!(said, ["96 ns", "1 us", "1.2 us", "22 us", "3.1 ms", "1.3 s"]);
    }
}
