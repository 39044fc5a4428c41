//! Made-up runs of programs with planted faults.

use super::empty;
use foregather_results::{Measurement, Results};

/// Results as `.ci/advise --result` gives them: two kinds of faults, one of them taken for another one once,
/// and a program without a fault.
pub(crate) fn verdicts() -> Results {
    let mut results = empty("advise planted");
    for (kind, fault, said, [runs, right, sure], [right_of_kind, runs_of_kind, sure_of_kind]) in [
        ("lock-convoy", "yes", "late-thread", [1.0, 0.0, 0.0], [9.0, 10.0, 9.0]),
        ("lock-convoy", "yes", "lock-convoy", [9.0, 9.0, 9.0], [9.0, 10.0, 9.0]),
        ("slow", "yes", "late-thread", [8.0, 8.0, 7.0], [8.0, 10.0, 8.0]),
        ("slow", "yes", "silent", [1.0, 0.0, 0.0], [8.0, 10.0, 8.0]),
        ("slow", "yes", "other-program", [1.0, 0.0, 1.0], [8.0, 10.0, 8.0]),
        ("serial", "no", "silent", [8.0, 8.0, 0.0], [8.0, 8.0, 0.0]),
    ] {
        let m = Measurement::from_values(
            format!("advise/{kind}/{said}"),
            "time that the cause explains",
            "s",
            vec![1.2; runs as usize],
        );
        let m = m.label("kind", kind).label("fault", fault).label("said", said);
        let m = m.figure("runs", runs).figure("right", right).figure("sure", sure).figure("sure_of_kind", sure_of_kind);
        results.measurements.push(m.figure("right_of_kind", right_of_kind).figure("runs_of_kind", runs_of_kind));
    }
    results
}

/// The same with labels that end in that text.
pub(crate) fn hostile(evil: &str) -> Vec<Measurement> {
    let mut all = [verdicts().measurements, cures().measurements].concat();
    for m in &mut all {
        ["kind", "said", "way"].into_iter().for_each(|name| *m.labels.entry(name.to_owned()).or_default() += evil);
    }
    all
}

/// What advice was worth: for two programs, of which the first was advised wrongly.
pub(crate) fn cures() -> Results {
    let mut results = empty("advise planted");
    let kinds = [
        ("two-pools", 0.0, [Some(0.4), None, Some(0.3), Some(0.2)]),
        ("mask", 1.0, [Some(0.5), Some(0.1), Some(0.1), Some(0.1)]),
    ];
    for (kind, right, times) in kinds {
        for (way, time) in ["as it is", "predicted", "verified", "best of 16 settings"].into_iter().zip(times) {
            let Some(time) = time else { continue };
            let m = Measurement::from_values(format!("cure/{kind}/0/{way}"), "a program", "s", vec![time]);
            let (best, gain) = (times[3].unwrap(), times[0].unwrap() / times[2].unwrap());
            let m = m.label("kind", kind).label("way", way).figure("right", right).figure("best_s", best).figure("gain", gain);
            results.measurements.push(m.figure("relative", best / time));
        }
    }
    results
}
