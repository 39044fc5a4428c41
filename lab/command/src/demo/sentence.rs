//! One line of the demo: what was done, and how long each took for it.
use crate::screen::NO_BREAK;
use foregather_report::{SideBySide, TimedEntry};
use foregather_results::compare::ratio_of_medians;
use foregather_results::number::{digits, rounded};
use foregather_results::{Conclusion, Distribution, Speedup, TrustLevel};

/// Less of a difference is none.
const SAME: f64 = 0.05;
/// From this ratio of its slowest turn to its fastest on, one number says too little.
const SCATTERED: f64 = 3.0;

/// Names as they are commonly known, by those in results.
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

/// The name as it is commonly known.
pub(super) fn known(in_results: &str) -> String {
    NAMES.iter().find(|(name, _)| *name == in_results).map_or(in_results, |(_, known)| known).to_owned()
}

/// One that did it, and how long it took in each of its turns.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Contestant {
    name: String,
    /// In nanoseconds; none if it was never done in its time.
    turns: Vec<f64>,
}

impl Contestant {
    /// By its name in results.
    pub(super) fn new(name: &str, mut turns: Vec<f64>) -> Self {
        turns.retain(|ns| ns.is_finite() && *ns > 0.0);
        Self { name: known(name), turns }
    }

    /// How long it took; nothing if it was never done.
    fn ns(&self) -> Option<f64> {
        Distribution::of_values(&self.turns).map(|turns| turns.quantile(0.5))
    }

    /// Its fastest and its slowest turn, if they are far apart.
    fn range(&self) -> Option<(f64, f64)> {
        let turns = Distribution::of_values(&self.turns)?;
        Some((turns.quantile(0.0), turns.quantile(1.0))).filter(|(least, most)| most / least >= SCATTERED)
    }

    fn text(&self, kind: SentenceKind, mark: &str) -> String {
        let Self { name, .. } = self;
        match (self.ns(), self.range()) {
            (Some(ns), Some((least, most))) if kind == SentenceKind::Wait => {
                format!("{name} {mark}{} ({} to {})", time(ns), time(least), time(most))
            }
            (Some(ns), _) => format!("{name} {mark}{}", time(ns)),
            (None, _) => format!("{name} did not end in time"),
        }
    }
}

/// What a sentence is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SentenceKind {
    /// Threads that wait for each other: turns differ by where the kernel puts them.
    Wait,
    /// Something else.
    Other,
}

/// What was done, and by what.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sentence {
    pub(super) kind: SentenceKind,
    about: String,
    others: Vec<Contestant>,
    ours: Contestant,
    ours_ns: f64,
}

impl Sentence {
    /// Nothing without a number of this project, or without one to hold it against.
    pub(super) fn new(kind: SentenceKind, about: String, all: Vec<Contestant>) -> Option<Self> {
        let (mut ours, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|one| one.name == OURS);
        let ours = ours.pop().filter(|_| !others.is_empty())?;
        Some(Self { kind, about, others, ours_ns: ours.ns()?, ours })
    }

    /// All that did it, this project last.
    fn all(&self) -> impl Iterator<Item = &Contestant> {
        self.others.iter().chain([&self.ours])
    }

    /// How many times as long as this project another one took whose name begins like that.
    pub(super) fn other(&self, name: &str) -> Option<f64> {
        let other = self.others.iter().find(|other| other.name.starts_with(name))?;
        Some(other.ns()? / self.ours_ns)
    }

    /// How many times as long as this project the best of the others took.
    pub(super) fn best_other(&self) -> Option<f64> {
        self.others.iter().filter_map(|other| Some(other.ns()? / self.ours_ns)).min_by(f64::total_cmp)
    }

    /// How many times as long as this project's slowest turn the slowest one of the others took.
    pub(super) fn slowest_other(&self) -> Option<f64> {
        let slowest = |of: &Contestant| Some(Distribution::of_values(&of.turns)?.quantile(1.0));
        let ours = slowest(&self.ours)?;
        self.others.iter().filter_map(slowest).map(|ns| ns / ours).max_by(f64::total_cmp)
    }

    /// How many times as fast as another one this project is; `None` if that one never did it.
    fn speedup(&self, other: &Contestant) -> Option<Speedup> {
        let [ours, theirs] = [&self.ours, other].map(|of| Distribution::of_values(&of.turns));
        let [ratio, least, most] = ratio_of_medians(&ours?, &theirs?)?;
        Some(Speedup { ratio, least, most, pairs: self.ours.turns.len().min(other.turns.len()) as u64 })
    }

    /// What follows for this project on a machine with that noise: faster than all others, or slower than
    /// one of them.
    pub(super) fn conclusion(&self, noise: TrustLevel) -> Conclusion {
        let all: Vec<Speedup> = self.others.iter().filter_map(|other| self.speedup(other)).collect();
        let of = |speedup: &Speedup| match speedup.conclusion(noise) {
            Conclusion::Faster | Conclusion::Slower if (speedup.ratio - 1.0).abs() < SAME => Conclusion::NoDifference,
            other => other,
        };
        let doubts = [Conclusion::Unusable, Conclusion::OnePair, Conclusion::Slower, Conclusion::NoDifference];
        let found: Vec<Conclusion> = all.iter().map(of).collect();
        doubts.into_iter().find(|doubt| found.contains(doubt)).unwrap_or(Conclusion::Faster)
    }

    /// Returns whether another library is faster.
    pub(super) fn is_lost(&self) -> bool {
        self.conclusion(TrustLevel::Quiet) == Conclusion::Slower
    }

    /// Returns whether this project is faster than all others.
    pub(super) fn is_won(&self) -> bool {
        self.conclusion(TrustLevel::Quiet) == Conclusion::Faster && self.best_other().is_some()
    }

    /// The fastest one, where another one is faster.
    fn faster(&self) -> Option<&Contestant> {
        let by_ratio = |a: &(&Contestant, f64), b: &(&Contestant, f64)| a.1.total_cmp(&b.1);
        let best = self.others.iter().filter_map(|other| Some((other, self.speedup(other)?.ratio))).min_by(by_ratio);
        best.filter(|_| self.is_lost()).map(|(other, _)| other)
    }

    /// The same for a page.
    pub(super) fn side_by_side(&self, noise: TrustLevel) -> SideBySide {
        let faster = self.faster();
        let entry = |of: &Contestant| TimedEntry {
            name: of.name.clone(),
            is_ours: of.name == OURS,
            is_faster: faster == Some(of),
            ns: Distribution::of_values(&of.turns).map(|turns| [0.5, 0.0, 1.0].map(|q| turns.quantile(q))),
        };
        let entries = [&self.ours].into_iter().chain(&self.others).map(entry).collect();
        SideBySide { about: self.about.clone(), entries, conclusion: self.conclusion(noise) }
    }

    /// In words; `mark` stands before each number that is rough.
    pub(super) fn text(&self, mark: &str) -> String {
        let all: Vec<String> = self.all().map(|one| one.text(self.kind, mark)).collect();
        let faster = self.faster().filter(|_| mark.is_empty());
        let faster = faster.map_or(String::new(), |other| format!("; here {} is faster", other.name));
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

    pub(in super::super) fn sentence(kind: SentenceKind, about: &str, all: &[(&str, f64)]) -> Sentence {
        Sentence::new(kind, about.to_owned(), all.iter().map(|(name, ns)| Contestant::new(name, vec![*ns; 3])).collect()).unwrap()
    }

    pub(in super::super) fn plain(text: &str) -> String {
        text.replace(NO_BREAK, " ")
    }

    fn said(sentence: &Sentence, mark: &str) -> String {
        plain(&sentence.text(mark))
    }

    #[test]
    fn all_are_named_with_their_times_and_a_faster_one_is_said() {
        let region =
            |gomp, omp| sentence(SentenceKind::Wait, "A region", &[("foregather", 22_400.0), ("gomp", gomp), ("omp", omp)]);
        let won = region(3_140_000.0, 2_400_000.0);
        assert_eq!(said(&won, ""), "A region: libgomp 3.1 ms, libomp 2.4 ms, Foregather 22 us.");
        assert!(won.is_won() && won.best_other().is_some_and(|ratio| (100.0..120.0).contains(&ratio)));
        let lost = region(9_000.0, 21_000.0);
        assert_eq!(said(&lost, ""), "A region: libgomp 9 us, libomp 21 us, Foregather 22 us; here libgomp is faster.");
        assert_eq!(
            said(&lost, "~"),
            "A region: libgomp ~9 us, libomp ~21 us, Foregather ~22 us.",
            "rough numbers are not judged"
        );
        let same = region(22_000.0, 30_000.0);
        assert!(!same.is_won() && same.faster().is_none() && said(&same, "").ends_with("Foregather 22 us."));
    }

    #[test]
    fn one_that_is_missing_is_left_out_and_one_that_collapsed_is_said() {
        let alone = vec![Contestant::new("chosen", vec![112.0])];
        assert_eq!(Sentence::new(SentenceKind::Wait, "A message".to_owned(), alone), None, "nothing beside it");
        let stuck = sentence(SentenceKind::Wait, "A barrier", &[("central/adaptive", 800.0), ("gomp", f64::NAN)]);
        assert_eq!(said(&stuck, ""), "A barrier: libgomp did not end in time, Foregather 800 ns.");
        assert!(!stuck.is_won() && stuck.faster().is_none());
        assert_eq!(
            Sentence::new(SentenceKind::Other, "A product".to_owned(), vec![Contestant::new("openblas", vec![1e6])]),
            None
        );
        assert_eq!(
            Sentence::new(SentenceKind::Other, "A product".to_owned(), vec![Contestant::new("foregather", vec![f64::NAN])]),
            None
        );
    }

    #[test]
    fn turns_that_are_far_apart_are_shown_as_such_and_win_nothing() {
        let all = [("foregather", vec![6.5e3, 7e3, 6e3]), ("gomp", vec![2.34e6, 6e3, 5e3]), ("omp", vec![9e3, 8e3, 9e3])];
        let all: Vec<Contestant> = all.into_iter().map(|(name, turns)| Contestant::new(name, turns)).collect();
        let region = Sentence::new(SentenceKind::Wait, "A region".to_owned(), all.clone()).unwrap();
        assert_eq!(said(&region, ""), "A region: libgomp 6 us (5 us to 2.3 ms), libomp 9 us, Foregather 6.5 us.");
        assert!(!region.is_won() && !region.is_lost() && region.slowest_other().is_some_and(|ratio| ratio > 330.0));
        let other = Sentence::new(SentenceKind::Other, "A product".to_owned(), all).unwrap();
        assert!(said(&other, "").contains("libgomp 6 us,"));
    }

    #[test]
    fn nothing_follows_from_one_turn_or_an_unusable_machine() {
        let of = |ours: &[f64], theirs: &[f64], noise| {
            let all = [("team", ours), ("gomp", theirs)].map(|(name, turns)| Contestant::new(name, turns.to_vec()));
            Sentence::new(SentenceKind::Wait, "A region".to_owned(), all.into()).unwrap().side_by_side(noise).conclusion
        };
        let (ours, theirs) = (&[10.0, 11.0, 10.5], &[30.0, 31.0, 33.0]);
        assert_eq!(of(ours, theirs, TrustLevel::Noisy), Conclusion::Faster);
        assert_eq!(of(theirs, ours, TrustLevel::Quiet), Conclusion::Slower);
        assert_eq!(of(ours, ours, TrustLevel::Quiet), Conclusion::NoDifference);
        assert_eq!(of(&ours[..1], theirs, TrustLevel::Quiet), Conclusion::OnePair);
        assert_eq!(of(ours, theirs, TrustLevel::Unusable), Conclusion::Unusable);
        assert_eq!(of(&[10.0, 100.0, 12.0], &[90.0, 11.0, 30.0], TrustLevel::Quiet), Conclusion::NoDifference, "they overlap");
    }

    #[test]
    fn times_have_two_digits() {
        let said = [96.4, 996.0, 1_234.0, 21_999.0, 3_140_000.0, 1.3e9].map(|ns| plain(&time(ns)));
        assert_eq!(said, ["96 ns", "1 us", "1.2 us", "22 us", "3.1 ms", "1.3 s"]);
    }
}
