//! What the demo says: some sentences with numbers, what they mean, what to run next, and where the page is.
use super::sentence::{Sentence, SentenceKind, two_digits};
use crate::screen::{Ink, Screen};
use foregather_results::{Distribution, Noise, TrustLevel};

/// Before a number that others have disturbed.
const ROUGH: &str = "~";

/// The name of those contestants that are NumPy, and from which ratio on it is told how to change that.
const NUMPY: &str = "NumPy";
const WORTH_IT: f64 = 1.2;
/// A slowest turn that is that many times worse than all else is told.
const MUCH: f64 = 3.0;

/// All that the terminal shows in the end.
pub(super) struct Said<'a> {
    pub(super) sentences: &'a [Sentence],
    pub(super) noise: &'a Noise,
    /// What is not here.
    pub(super) lacking: &'a [String],
    /// What could not be measured, and why.
    pub(super) failed: &'a [String],
    /// Where the page is.
    pub(super) page: &'a str,
    pub(super) seconds: f64,
}

impl Said<'_> {
    pub(super) fn text(&self, screen: &Screen) -> String {
        let rough = self.noise.verdict != TrustLevel::Quiet;
        let mark = if rough { ROUGH } else { "" };
        let sentences: Vec<String> = self.sentences.iter().map(|sentence| screen.wrapped(&sentence.text(mark), 2)).collect();
        if sentences.is_empty() {
            return screen.wrapped(&format!("Nothing was compared. The page is {}.", self.page), 2);
        }
        let meaning = if rough { self.disturbance() } else { self.meaning() };
        let ink = if rough { Ink::Amiss } else { Ink::Strong };
        let mut parts = vec![sentences.join("\n")];
        parts.extend((!meaning.is_empty()).then(|| screen.inked(ink, &screen.wrapped(&meaning, 0))));
        parts.push(next(screen));
        let mut end = vec![screen.wrapped(&format!("{:.0} s. Figures and all numbers: {}", self.seconds, self.page), 2)];
        end.extend(self.failed.iter().map(|why| screen.wrapped(&format!("Not measured: {why}"), 2)));
        if !self.lacking.is_empty() {
            let lacking = self.lacking.join(", ");
            let said = format!("Not here: {lacking}. `foregather doctor --peers` says what that costs, and how to get it.");
            end.push(screen.wrapped(&said, 2));
        }
        parts.push(end.join("\n"));
        parts.join("\n\n")
    }

    /// What disturbed the machine meanwhile.
    fn disturbance(&self) -> String {
        let percent = |value: Option<f64>, least: f64| value.filter(|&value| value >= least).map(two_digits);
        let others = percent(self.noise.foreign_percent, 5.0).map(|percent| format!("other programs used {percent} % of it"));
        let taken = percent(self.noise.steal_percent, 1.0).map(|percent| format!("the hypervisor took {percent} % of it"));
        let why = others.or(taken).unwrap_or_else(|| "the same took different times".to_owned());
        format!("This machine was not quiet: {why}. Numbers after {ROUGH} are rough, and nothing is concluded from them.")
    }

    /// What the numbers mean for programs, in a sentence or two.
    fn meaning(&self) -> String {
        let times = |ratio: f64| format!("{} times", two_digits(ratio));
        let numpy = self.sentences.iter().find_map(|sentence| sentence.other(NUMPY)).filter(|ratio| *ratio > WORTH_IT);
        let numpy = numpy.map(|ratio| {
            format!("NumPy's product takes {} as long: `foregather exec --blas` puts Foregather's under NumPy.", times(ratio))
        });
        self.waits().into_iter().chain(numpy).collect::<Vec<_>>().join(" ")
    }

    /// The same of threads that wait for each other, if anything else did it, too.
    fn waits(&self) -> Option<String> {
        let waits = || self.sentences.iter().filter(|sentence| sentence.kind == SentenceKind::Wait);
        let ratios: Vec<f64> = waits().filter_map(Sentence::best_other).collect();
        let won = Distribution::of_values(&waits().filter(|s| s.is_won()).filter_map(Sentence::best_other).collect::<Vec<_>>());
        let lost = waits().any(Sentence::is_lost);
        let slowest = waits().filter_map(Sentence::slowest_other).fold(0.0, f64::max);
        let told = match won {
            _ if ratios.is_empty() => return None,
            None if lost => "Programs whose threads wait for each other would gain nothing here".to_owned(),
            None => "Of the ways in which threads wait for each other none is clearly the best here".to_owned(),
            Some(won) => {
                let [least, most] = [0.0, 1.0].map(|q| two_digits(won.quantile(q)));
                let range = if least == most { most } else { format!("{least} to {most}") };
                let place = if lost { "Where Foregather is first" } else { "Where threads of a program wait for each other" };
                let count = match won.count() {
                    wins if lost || wins as usize == ratios.len() => String::new(),
                    wins => format!(" in {wins} of {} cases", ratios.len()),
                };
                let keep = if lost { "; where another one is, keep that" } else { "" };
                format!("{place}, the best other way takes {range} times as long as Foregather{count}{keep}")
            }
        };
        let worst = ratios.iter().copied().fold(1.0, f64::max);
        let rare = (slowest > MUCH * worst).then(|| {
            format!(", and the slowest turn of another one {} times as long as Foregather's slowest", two_digits(slowest))
        });
        Some(format!("{told}{}.", rare.unwrap_or_default()))
    }
}

/// What to run after this.
fn next(screen: &Screen) -> String {
    let verbs = [
        ("`foregather exec --compare 5 -- ./your-program`", "what a program of yours gains, unchanged"),
        ("`foregather measure barriers --quick`", "all ways of waiting, under more kinds of load"),
        ("`foregather advise -- ./your-program`", "why its threads wait, and what mends that"),
        ("`foregather doctor`", "what this machine has and lacks"),
    ];
    let line = |(command, what): &(&str, &str)| screen.wrapped(&format!("{command}: {what}"), 2);
    format!("{}\n{}", screen.inked(Ink::Strong, "Next:"), verbs.iter().map(line).collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::super::sentence::tests::sentence;
    use super::*;

    fn sentences() -> Vec<Sentence> {
        let region = [("foregather", 22_400.0), ("gomp", 3_140_000.0), ("omp", 2_400_000.0)];
        let product = [("NumPy by the reference BLAS", 61e6), ("openblas", 2.9e6), ("foregather", 3e6)];
        vec![
            sentence(SentenceKind::Wait, "A parallel region of 2 threads beside one busy program", &region),
            sentence(
                SentenceKind::Wait,
                "4 threads that meet at a barrier, alone on 2 processors",
                &[("central/adaptive", 3e3), ("rust-std", 18e3)],
            ),
            sentence(SentenceKind::Other, "A product of two matrices of 512 x 512", &product),
            sentence(
                SentenceKind::Other,
                "A message of 8 bytes from one process to another",
                &[("chosen", 110.0), ("pipe", 9e3)],
            ),
        ]
    }

    fn said(sentences: &[Sentence], noise: &Noise, lacking: &[String], columns: usize) -> String {
        let failed = &["no shared memory".to_owned()][..lacking.len().min(1)];
        Said { sentences, noise, lacking, failed, page: "foregather-report.html", seconds: 31.4 }.text(&Screen::plain(columns))
    }

    #[test]
    fn sentences_come_first_then_what_they_mean_and_what_is_next() {
        expect_test::expect![[r#"
            A parallel region of 2 threads beside one busy program:
              libgomp 3.1 ms, libomp 2.4 ms, Foregather 22 us.
            4 threads that meet at a barrier, alone on 2 processors:
              Rust's Barrier 18 us, Foregather 3 us.
            A product of two matrices of 512 x 512: NumPy by the
              reference BLAS 61 ms, OpenBLAS 2.9 ms, Foregather 3 ms.
            A message of 8 bytes from one process to another: a pipe
              9 us, Foregather 110 ns.

            Where threads of a program wait for each other, the best
            other way takes 6 to 110 times as long as Foregather.
            NumPy's product takes 20 times as long:
            `foregather exec --blas` puts Foregather's under NumPy.

            Next:
            `foregather exec --compare 5 -- ./your-program`: what a
              program of yours gains, unchanged
            `foregather measure barriers --quick`: all ways of
              waiting, under more kinds of load
            `foregather advise -- ./your-program`: why its threads
              wait, and what mends that
            `foregather doctor`: what this machine has and lacks

            31 s. Figures and all numbers: foregather-report.html
            Not measured: no shared memory
            Not here: libomp, NumPy. `foregather doctor --peers` says
              what that costs, and how to get it."#]]
        .assert_eq(&said(&sentences(), &Noise::default(), &["libomp", "NumPy"].map(str::to_owned), 60));
    }

    #[test]
    fn a_noisy_machine_is_said_once_and_nothing_is_concluded() {
        let noise = Noise { verdict: TrustLevel::Unusable, foreign_percent: Some(47.9), ..Noise::default() };
        let text = said(&sentences(), &noise, &[], 1_000);
        assert!(
            text.starts_with("A parallel region of 2 threads beside one busy program: libgomp ~3.1 ms, libomp ~2.4 ms,"),
            "{text}"
        );
        assert_eq!(text.matches("other programs used 48 % of it").count(), 1, "{text}");
        assert!(!text.contains("is faster") && !text.contains("as long") && !text.contains("Not here"), "{text}");
    }

    #[test]
    fn where_another_one_is_faster_that_is_said_and_kept() {
        let region = |gomp: f64| sentence(SentenceKind::Wait, "A region", &[("foregather", 20e3), ("gomp", gomp)]);
        let of = |sentences: &[Sentence]| said(sentences, &Noise::default(), &[], 1_000);
        let some = of(&[region(10e3), region(90e3)]);
        assert!(some.contains("libgomp 10 us, Foregather 20 us; here libgomp is faster."), "{some}");
        assert!(
            some.contains("the best other way takes 4.5 times as long as Foregather; where another one is, keep that."),
            "{some}"
        );
        let even = of(&[region(20.5e3), region(90e3)]);
        assert!(
            even.contains("wait for each other, the best other way takes 4.5 times as long as Foregather in 1 of 2 cases."),
            "{even}"
        );
        assert!(of(&[region(20.5e3)]).contains("none is clearly the best here."));
        assert!(of(&[region(10e3)]).contains("would gain nothing here"));
        assert_eq!(of(&[]), "Nothing was compared. The page is foregather-report.html.");
    }

    #[test]
    fn no_terminal_is_too_narrow() {
        let text = said(&sentences(), &Noise::default(), &["libomp".to_owned()], 20);
        let wide = |line: &&str| line.chars().count() > 20 && !line.contains('`');
        let words: Vec<&str> = text.lines().filter(wide).collect();
        assert!(words.iter().all(|line| line.trim().split(' ').count() == 1), "{words:?}");
    }
}
