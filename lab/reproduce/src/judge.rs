//! Holds what an experiment found against what its claim asks for. Thresholds are the claim's (`papers/`),
//! and the verdict comes from the numbers alone. What the mean of several seeds is worth is said by its 95 %
//! interval by Student's t.
use foregather_results::claims::{Claim, Expected, Paper};
use foregather_results::number::digits;
use foregather_results::{ClaimOutcome, Value, Verdict, interval_of_mean};
use std::fmt;

/// What an experiment found out about one claim.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A number, to be held against the claim's band.
    Number(f64, String),
    /// The number once for each seed: the mean's interval is held against the band.
    Sample(Vec<f64>, String),
    /// Several numbers, each of which has to lie in the band.
    Each(Vec<f64>, String),
    /// Several numbers, each once for each seed: each mean's interval is held against the band.
    EachSample(Vec<Vec<f64>>, String),
    /// A plain fact, where nothing is to be counted or measured: whether it is so, what was found, and why.
    Holds(bool, String, String),
    /// It cannot be tried here; why.
    CannotTry(String),
}

/// Where the number of a claim has to lie, ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ClaimBand {
    least: f64,
    most: f64,
}

impl ClaimBand {
    /// What the claim asks for; nothing if it names no number.
    pub(super) fn of(claim: &Claim) -> Option<Self> {
        let about = match claim.expected {
            Some(Expected::Number(expected)) => claim.tolerance.map(|tolerance| {
                let room = tolerance * expected.abs();
                [expected - room, expected + room]
            }),
            _ => None,
        };
        let at_least = claim.at_least.map(|least| [least, f64::INFINITY]);
        let at_most = claim.at_most.map(|most| [f64::NEG_INFINITY, most]);
        let [least, most] = claim.between.or(at_least).or(at_most).or(about)?;
        Some(Self { least, most })
    }

    fn holds(self, number: f64) -> bool {
        self.least <= number && number <= self.most
    }

    fn judge(self, number: f64) -> ClaimOutcome {
        if self.holds(number) { ClaimOutcome::Holds } else { ClaimOutcome::Differs }
    }

    /// The mean and its interval against the band: a mean outside differs however far its interval reaches, a
    /// mean inside holds, within noise if its interval reaches over an edge.
    fn judge_interval(self, [mean, low, high]: [f64; 3]) -> ClaimOutcome {
        match self.judge(mean) {
            ClaimOutcome::Holds if !(self.holds(low) && self.holds(high)) => ClaimOutcome::HoldsWithinNoise,
            verdict => verdict,
        }
    }
}

impl fmt::Display for ClaimBand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (least, most) = (digits(self.least, 4), digits(self.most, 4));
        if self.most == f64::INFINITY {
            write!(f, "at least {least}")
        } else if self.least == f64::NEG_INFINITY {
            write!(f, "at most {most}")
        } else {
            write!(f, "{least} to {most}")
        }
    }
}

/// What was found, what follows, and the experiment's words for it.
type Judged = (Option<Value>, ClaimOutcome, String);

fn untried(why: impl Into<String>) -> Judged {
    (None, ClaimOutcome::NotComparable, why.into())
}

fn of_sample(values: &[f64], band: Option<ClaimBand>, why: &str) -> Judged {
    let interval @ [mean, low, high] = interval_of_mean(values);
    let verdict = band.map_or(ClaimOutcome::NotComparable, |band| band.judge_interval(interval));
    let doubt = match verdict {
        ClaimOutcome::HoldsWithinNoise => ", which reaches out of the band",
        ClaimOutcome::Differs if band.is_some_and(|band| low <= band.most && band.least <= high) => {
            ", which reaches into the band, with its mean outside"
        }
        _ => "",
    };
    let words = format!("95 % interval of {} seeds {} to {}{doubt}", values.len(), digits(low, 4), digits(high, 4));
    (Some(Value::Number(mean)), verdict, if why.is_empty() { words } else { format!("{why}; {words}") })
}

fn of_each(values: &[f64], band: Option<ClaimBand>, why: String) -> Judged {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let verdict = band.map_or(ClaimOutcome::NotComparable, |band| band.judge(low).min(band.judge(high)));
    (Some(Value::Text(format!("{} to {}", digits(low, 4), digits(high, 4)))), verdict, why)
}

fn of_each_sample(samples: &[Vec<f64>], band: Option<ClaimBand>, why: &str) -> Judged {
    let intervals: Vec<[f64; 3]> = samples.iter().map(|values| interval_of_mean(values)).collect();
    let means: Vec<f64> = intervals.iter().map(|[mean, ..]| *mean).collect();
    let (got, verdict, _) = of_each(&means, band, String::new());
    let words: Vec<String> =
        intervals.iter().map(|[_, low, high]| format!("{} to {}", digits(*low, 4), digits(*high, 4))).collect();
    let reaches =
        |band: ClaimBand| intervals.iter().any(|&interval| band.judge_interval(interval) == ClaimOutcome::HoldsWithinNoise);
    let doubtful = verdict == ClaimOutcome::Holds && band.is_some_and(reaches);
    let (verdict, doubt) =
        if doubtful { (ClaimOutcome::HoldsWithinNoise, ", which reach out of the band") } else { (verdict, "") };
    let words = format!("95 % intervals of {} seeds {}{doubt}", samples[0].len(), words.join(" and "));
    (got, verdict, if why.is_empty() { words } else { format!("{why}; {words}") })
}

fn judged(answer: Answer, band: Option<ClaimBand>) -> Judged {
    match answer {
        Answer::CannotTry(why) => untried(why),
        // A threshold that is left to the experiment is one that no reader sees.
        Answer::Holds(..) if band.is_some() => untried("the claim names a threshold, and its experiment answers yes or no"),
        Answer::Holds(holds, got, why) => {
            (Some(Value::Text(got)), if holds { ClaimOutcome::Holds } else { ClaimOutcome::Differs }, why)
        }
        Answer::Number(number, _) if !number.is_finite() => untried("the experiment gave no number"),
        Answer::Sample(values, _) | Answer::Each(values, _) if values.is_empty() || values.iter().any(|v| !v.is_finite()) => {
            untried("the experiment gave no numbers")
        }
        Answer::EachSample(samples, _)
            if samples.is_empty() || samples.iter().any(|all| all.is_empty() || all.iter().any(|v| !v.is_finite())) =>
        {
            untried("the experiment gave no numbers")
        }
        Answer::EachSample(samples, why) => of_each_sample(&samples, band, &why),
        Answer::Number(number, why) => {
            (Some(Value::Number(number)), band.map_or(ClaimOutcome::NotComparable, |band| band.judge(number)), why)
        }
        Answer::Sample(values, why) => of_sample(&values, band, &why),
        Answer::Each(values, why) => of_each(&values, band, why),
    }
}

/// The verdict on one claim.
pub(super) fn judge(paper: &Paper, claim: &Claim, answer: Answer) -> Verdict {
    let band = ClaimBand::of(claim);
    let (got, verdict, found) = judged(answer, band);
    let agrees = matches!(verdict, ClaimOutcome::Holds | ClaimOutcome::HoldsWithinNoise);
    let verdict = match verdict {
        _ if claim.not_comparable_because.is_some() => ClaimOutcome::NotComparable,
        _ if agrees && claim.given_because.is_some() => ClaimOutcome::Given,
        _ if agrees && claim.fitted_because.is_some() => ClaimOutcome::Fitted,
        verdict => verdict,
    };
    let because = match verdict {
        ClaimOutcome::Given => claim.given_because.as_deref(),
        ClaimOutcome::Fitted => claim.fitted_because.as_deref(),
        ClaimOutcome::Differs => claim.differs_because.as_deref(),
        ClaimOutcome::NotComparable => claim.not_comparable_because.as_deref(),
        _ => None,
    };
    let words = [found.as_str(), because.unwrap_or_default(), claim.expected_reason.as_deref().unwrap_or_default()];
    Verdict {
        paper: paper.paper.clone(),
        id: claim.id.clone(),
        claim: claim.text.clone(),
        expected: match claim.expected {
            Some(Expected::Number(number)) => Some(Value::Number(number)),
            _ => band.map(|band| Value::Text(band.to_string())),
        },
        got,
        unit: claim.unit.clone().unwrap_or_default(),
        verdict,
        reason: words.into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join("; "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_results::claims::{self, FailsWith};

    fn verdict(claim: &Claim, answer: Answer) -> Verdict {
        judge(&Paper { paper: "p".into(), ..Paper::default() }, claim, answer)
    }

    fn number(of: &Claim, number: f64) -> ClaimOutcome {
        verdict(of, Answer::Number(number, String::new())).verdict
    }

    fn at_least(least: f64) -> Claim {
        Claim { at_least: Some(least), ..Claim::default() }
    }

    #[test]
    fn a_band_is_about_a_number_or_has_absolute_ends() {
        let about = Claim { expected: Some(Expected::Number(2.0)), tolerance: Some(0.1), ..Claim::default() };
        assert_eq!(
            [1.7, 1.9, 2.1, 2.3].map(|n| number(&about, n)),
            [ClaimOutcome::Differs, ClaimOutcome::Holds, ClaimOutcome::Holds, ClaimOutcome::Differs]
        );
        assert_eq!([499.0, 500.0].map(|n| number(&at_least(500.0), n)), [ClaimOutcome::Differs, ClaimOutcome::Holds]);
        let at_most = Claim { at_most: Some(0.0), ..Claim::default() };
        assert_eq!([0.0, 1.0].map(|n| number(&at_most, n)), [ClaimOutcome::Holds, ClaimOutcome::Differs]);
        let between = Claim { between: Some([-1.0, 1.0]), ..Claim::default() };
        assert_eq!(
            [-1.1, 0.0, 1.1].map(|n| number(&between, n)),
            [ClaimOutcome::Differs, ClaimOutcome::Holds, ClaimOutcome::Differs]
        );
        let told = |claim: &Claim| verdict(claim, Answer::CannotTry(String::new())).expected.unwrap().to_string();
        assert_eq!([told(&at_least(500.0)), told(&between)], ["at least 500", "-1 to 1"]);
        assert_eq!(number(&Claim::default(), 1.0), ClaimOutcome::NotComparable, "no band, no verdict");
        assert_eq!(number(&at_least(0.0), f64::NAN), ClaimOutcome::NotComparable);
    }

    #[test]
    fn a_mean_decides_and_its_interval_says_whether_noise_could_change_that() {
        let sample = |values: &[f64]| verdict(&at_least(2.0), Answer::Sample(values.to_vec(), String::new()));
        assert_eq!(sample(&[2.5, 2.6, 2.55]).verdict, ClaimOutcome::Holds);
        assert_eq!(sample(&[1.5, 1.6, 1.55]).verdict, ClaimOutcome::Differs);
        let inside = sample(&[1.997, 2.008, 1.980, 2.019, 2.010]);
        assert_eq!(inside.verdict, ClaimOutcome::HoldsWithinNoise);
        assert!(inside.reason.contains("reaches out of the band"), "{}", inside.reason);
        let outside = sample(&[1.997, 2.008, 1.980, 2.019, 1.989]);
        assert_eq!(outside.verdict, ClaimOutcome::Differs, "an interval that touches the band is no agreement");
        assert!(outside.reason.contains("with its mean outside"), "{}", outside.reason);
        assert_eq!(sample(&[2.1]).verdict, ClaimOutcome::Holds, "one seed is a number");
        assert_eq!(sample(&[]).verdict, ClaimOutcome::NotComparable);
    }

    #[test]
    fn each_number_has_to_lie_in_the_band() {
        let each = |values: &[f64]| verdict(&at_least(2.0), Answer::Each(values.to_vec(), String::new()));
        assert_eq!(each(&[2.0, 3.0, 9.0]).verdict, ClaimOutcome::Holds);
        assert_eq!(each(&[2.0, 1.9, 9.0]).verdict, ClaimOutcome::Differs);
        assert_eq!(each(&[]).verdict, ClaimOutcome::NotComparable, "nothing is no evidence");
    }

    #[test]
    fn each_mean_has_to_lie_in_the_band_and_the_widest_interval_says_how_surely() {
        let each = |samples: &[&[f64]]| {
            let samples = samples.iter().map(|values| values.to_vec()).collect();
            verdict(&at_least(2.0), Answer::EachSample(samples, "lowest and highest".into()))
        };
        let (sure, near, below) = ([2.5, 2.6, 2.55], [1.99, 2.04, 2.05], [1.9, 1.95, 1.92]);
        assert_eq!(each(&[&sure, &sure]).verdict, ClaimOutcome::Holds);
        let doubtful = each(&[&near, &sure]);
        assert_eq!(doubtful.verdict, ClaimOutcome::HoldsWithinNoise);
        assert!(doubtful.reason.contains("which reach out of the band"), "{}", doubtful.reason);
        assert_eq!(each(&[&below, &sure]).verdict, ClaimOutcome::Differs);
        assert_eq!(each(&[&[]]).verdict, ClaimOutcome::NotComparable);
    }

    #[test]
    fn inputs_are_given_and_fits_are_fitted_unless_they_differ() {
        let given = Claim { given_because: Some("Table I".into()), ..at_least(2.0) };
        let fitted = Claim { fitted_because: Some("chosen".into()), ..at_least(2.0) };
        assert_eq!([number(&given, 3.0), number(&fitted, 3.0)], [ClaimOutcome::Given, ClaimOutcome::Fitted]);
        assert_eq!([number(&given, 1.0), number(&fitted, 1.0)], [ClaimOutcome::Differs, ClaimOutcome::Differs]);
        let spread = Answer::Sample(vec![1.9, 2.2, 2.3], String::new());
        assert_eq!(verdict(&fitted, spread).verdict, ClaimOutcome::Fitted);
    }

    #[test]
    fn what_no_run_can_decide_keeps_its_number_and_gets_no_verdict() {
        let other = Claim { not_comparable_because: Some("another program".into()), ..at_least(2.0) };
        for answer in [1.0, 3.0] {
            let verdict = verdict(&other, Answer::Number(answer, "counted".into()));
            assert_eq!((verdict.verdict, verdict.got), (ClaimOutcome::NotComparable, Some(Value::Number(answer))));
            assert_eq!(verdict.reason, "counted; another program");
        }
    }

    #[test]
    fn yes_or_no_is_no_answer_to_a_threshold() {
        let yes = || Answer::Holds(true, String::new(), String::new());
        assert_eq!(verdict(&Claim::default(), yes()).verdict, ClaimOutcome::Holds);
        assert_eq!(verdict(&at_least(2.0), yes()).verdict, ClaimOutcome::NotComparable);
    }

    #[test]
    fn every_bound_of_every_claim_differs() {
        for paper in claims::papers().unwrap() {
            for claim in &paper.claim {
                if let Some(FailsWith::Number(bound)) = claim.fails_with {
                    let answer = Answer::Number(bound, String::new());
                    assert_eq!(judge(&paper, claim, answer).verdict, ClaimOutcome::Differs, "{}: {}", paper.paper, claim.id);
                }
            }
        }
    }
}
