//! Holds what an experiment found against what its claim asks for. Thresholds are the claim's (`papers/`), and the verdict comes
//! from the numbers alone.
use super::claims::{Claim, Expected, Paper};
use super::interval;
use foregather_results::number::digits;
use foregather_results::{Outcome, Value, Verdict};
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

    fn judge(self, number: f64) -> Outcome {
        if self.holds(number) { Outcome::Holds } else { Outcome::Differs }
    }

    /// The mean's interval against the band: undecided if it reaches over an edge.
    fn judge_interval(self, low: f64, high: f64) -> Outcome {
        if high < self.least || low > self.most {
            Outcome::Differs
        } else if self.holds(low) && self.holds(high) {
            Outcome::Holds
        } else {
            Outcome::HoldsWithinNoise
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
type Judged = (Option<Value>, Outcome, String);

fn untried(why: impl Into<String>) -> Judged {
    (None, Outcome::NotComparable, why.into())
}

fn of_sample(values: &[f64], band: Option<ClaimBand>, why: &str) -> Judged {
    let [mean, low, high] = interval::of_mean(values);
    let verdict = band.map_or(Outcome::NotComparable, |band| band.judge_interval(low, high));
    let doubt = match verdict {
        Outcome::HoldsWithinNoise if band.is_some_and(|band| band.holds(mean)) => ", which reaches out of the band",
        Outcome::HoldsWithinNoise => ", which reaches into the band, with its mean outside",
        _ => "",
    };
    let words = format!("95 % interval of {} seeds {} to {}{doubt}", values.len(), digits(low, 4), digits(high, 4));
    (Some(Value::Number(mean)), verdict, if why.is_empty() { words } else { format!("{why}; {words}") })
}

fn of_each(values: &[f64], band: Option<ClaimBand>, why: String) -> Judged {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let verdict = band.map_or(Outcome::NotComparable, |band| band.judge(low).min(band.judge(high)));
    (Some(Value::Text(format!("{} to {}", digits(low, 4), digits(high, 4)))), verdict, why)
}

fn judged(answer: Answer, band: Option<ClaimBand>) -> Judged {
    match answer {
        Answer::CannotTry(why) => untried(why),
        // A threshold that is left to the experiment is one that no reader sees.
        Answer::Holds(..) if band.is_some() => untried("the claim names a threshold, and its experiment answers yes or no"),
        Answer::Holds(holds, got, why) => (Some(Value::Text(got)), if holds { Outcome::Holds } else { Outcome::Differs }, why),
        Answer::Number(number, _) if !number.is_finite() => untried("the experiment gave no number"),
        Answer::Sample(values, _) | Answer::Each(values, _) if values.is_empty() || values.iter().any(|v| !v.is_finite()) => {
            untried("the experiment gave no numbers")
        }
        Answer::Number(number, why) => {
            (Some(Value::Number(number)), band.map_or(Outcome::NotComparable, |band| band.judge(number)), why)
        }
        Answer::Sample(values, why) => of_sample(&values, band, &why),
        Answer::Each(values, why) => of_each(&values, band, why),
    }
}

/// The verdict on one claim.
pub(super) fn judge(paper: &Paper, claim: &Claim, answer: Answer) -> Verdict {
    let band = ClaimBand::of(claim);
    let (got, verdict, found) = judged(answer, band);
    let agrees = matches!(verdict, Outcome::Holds | Outcome::HoldsWithinNoise);
    let verdict = match verdict {
        _ if agrees && claim.given_because.is_some() => Outcome::Given,
        _ if agrees && claim.fitted_because.is_some() => Outcome::Fitted,
        verdict => verdict,
    };
    let because = match verdict {
        Outcome::Given => claim.given_because.as_deref(),
        Outcome::Fitted => claim.fitted_because.as_deref(),
        Outcome::Differs => claim.differs_because.as_deref(),
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
mod tests;
