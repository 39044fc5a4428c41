//! Verdicts come from numbers and bands; every number that a claim names as its bound differs.
use super::*;
use crate::claims::{self, FailsWith};

fn verdict(claim: &Claim, answer: Answer) -> Verdict {
    judge(&Paper { paper: "p".into(), claim: vec![] }, claim, answer)
}

fn number(of: &Claim, number: f64) -> Outcome {
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
        [Outcome::Differs, Outcome::Holds, Outcome::Holds, Outcome::Differs]
    );
    assert_eq!([499.0, 500.0].map(|n| number(&at_least(500.0), n)), [Outcome::Differs, Outcome::Holds]);
    let at_most = Claim { at_most: Some(0.0), ..Claim::default() };
    assert_eq!([0.0, 1.0].map(|n| number(&at_most, n)), [Outcome::Holds, Outcome::Differs]);
    let between = Claim { between: Some([-1.0, 1.0]), ..Claim::default() };
    assert_eq!([-1.1, 0.0, 1.1].map(|n| number(&between, n)), [Outcome::Differs, Outcome::Holds, Outcome::Differs]);
    let told = |claim: &Claim| verdict(claim, Answer::CannotTry(String::new())).expected.unwrap().to_string();
    assert_eq!([told(&at_least(500.0)), told(&between)], ["at least 500", "-1 to 1"]);
    assert_eq!(number(&Claim::default(), 1.0), Outcome::NotComparable, "no band, no verdict");
    assert_eq!(number(&at_least(0.0), f64::NAN), Outcome::NotComparable);
}

#[test]
fn seeds_that_reach_over_an_edge_leave_it_undecided() {
    let sample = |values: &[f64]| verdict(&at_least(2.0), Answer::Sample(values.to_vec(), String::new()));
    assert_eq!(sample(&[2.5, 2.6, 2.55]).verdict, Outcome::Holds);
    assert_eq!(sample(&[1.5, 1.6, 1.55]).verdict, Outcome::Differs);
    let inside = sample(&[1.997, 2.008, 1.980, 2.019, 2.010]);
    assert_eq!(inside.verdict, Outcome::HoldsWithinNoise);
    assert!(inside.reason.contains("reaches out of the band"), "{}", inside.reason);
    let outside = sample(&[1.997, 2.008, 1.980, 2.019, 1.989]);
    assert_eq!(outside.verdict, Outcome::HoldsWithinNoise);
    assert!(outside.reason.contains("with its mean outside"), "{}", outside.reason);
    assert_eq!(sample(&[2.1]).verdict, Outcome::Holds, "one seed is a number");
    assert_eq!(sample(&[]).verdict, Outcome::NotComparable);
}

#[test]
fn each_number_has_to_lie_in_the_band() {
    let each = |values: &[f64]| verdict(&at_least(2.0), Answer::Each(values.to_vec(), String::new()));
    assert_eq!(each(&[2.0, 3.0, 9.0]).verdict, Outcome::Holds);
    assert_eq!(each(&[2.0, 1.9, 9.0]).verdict, Outcome::Differs);
    assert_eq!(each(&[]).verdict, Outcome::NotComparable, "nothing is no evidence");
}

#[test]
fn inputs_are_given_and_fits_are_fitted_unless_they_differ() {
    let given = Claim { given_because: Some("Table I".into()), ..at_least(2.0) };
    let fitted = Claim { fitted_because: Some("chosen".into()), ..at_least(2.0) };
    assert_eq!([number(&given, 3.0), number(&fitted, 3.0)], [Outcome::Given, Outcome::Fitted]);
    assert_eq!([number(&given, 1.0), number(&fitted, 1.0)], [Outcome::Differs, Outcome::Differs]);
    let spread = Answer::Sample(vec![1.9, 2.2, 2.3], String::new());
    assert_eq!(verdict(&fitted, spread).verdict, Outcome::Fitted);
}

#[test]
fn yes_or_no_is_no_answer_to_a_threshold() {
    let yes = || Answer::Holds(true, String::new(), String::new());
    assert_eq!(verdict(&Claim::default(), yes()).verdict, Outcome::Holds);
    assert_eq!(verdict(&at_least(2.0), yes()).verdict, Outcome::NotComparable);
}

#[test]
fn every_bound_of_every_claim_differs() {
    for paper in claims::papers().unwrap() {
        for claim in &paper.claim {
            if let Some(FailsWith::Number(bound)) = claim.fails_with {
                let answer = Answer::Number(bound, String::new());
                assert_eq!(judge(&paper, claim, answer).verdict, Outcome::Differs, "{}: {}", paper.paper, claim.id);
            }
        }
    }
}
