//! Is a prediction near enough, and how many are?
use super::super::rows::Row;
use super::super::summary::geomean_and_worst;
use super::super::waiters::CANDIDATE;
use foregather_results::Measurement;

/// A prediction of a team that is alone is near enough if it is off by no more than this.
pub const LIMIT_ALONE: f64 = 1.3;
/// Beside hogs and under a quota single events decide, and the kernel has reasons that the simulator does not know.
pub const LIMIT_CROWDED: f64 = 2.0;

/// What a row is called that has neither hogs nor a quota, and what one is called that has.
const LOADS: [&str; 2] = ["alone", "hogs or quota"];

fn is_crowded(row: &Row) -> bool {
    row.hogs > 0 || row.quota.is_some()
}

/// By which factor a prediction of that row may be off.
pub(super) fn limit(row: &Row) -> f64 {
    if is_crowded(row) { LIMIT_CROWDED } else { LIMIT_ALONE }
}

/// Has a row hogs or a quota?
pub(super) fn load(row: &Row) -> &'static str {
    LOADS[usize::from(is_crowded(row))]
}

/// How many predictions are within, and how far they are off: of the adaptive waiter and of all, alone and not.
pub(super) fn groups(predictions: &[Measurement]) -> Vec<Measurement> {
    let whose = [CANDIDATE, "all"];
    whose.iter().flat_map(|who| LOADS.iter().filter_map(|load| group(predictions, who, load))).collect()
}

fn group(predictions: &[Measurement], who: &str, load: &str) -> Option<Measurement> {
    let is = |m: &Measurement, name: &str, value: &str| m.labels.get(name).is_some_and(|label| label == value);
    let mine = |m: &&Measurement| is(m, "load", load) && (who == "all" || is(m, "waiter", who));
    let mine: Vec<&Measurement> = predictions.iter().filter(mine).collect();
    let figures = |name: &str| mine.iter().filter_map(|m| m.figures.get(name).copied()).collect::<Vec<f64>>();
    let factors = figures("factor");
    let (geomean, worst) = geomean_and_worst(&factors, false)?;
    let what = "measured and predicted time per barrier differ by this factor";
    Some(
        Measurement::from_values(format!("prediction-summary/{who}/{load}"), what, "factor", factors)
            .label("name", who)
            .label("load", load)
            .figure("within", figures("within").iter().sum())
            .figure("limit", figures("limit").first().copied().unwrap_or(f64::NAN))
            .figure("geomean", geomean)
            .figure("worst", worst),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prediction(waiter: &str, load: &str, factor: f64) -> Measurement {
        let within = if factor <= 2.0 { 1.0 } else { 0.0 };
        let m = Measurement::from_values("a", "", "", vec![1.0]).label("waiter", waiter).label("load", load);
        m.figure("factor", factor).figure("within", within).figure("limit", 2.0)
    }

    #[test]
    fn the_adaptive_waiter_and_all_have_a_group_for_each_load() {
        let all = [
            prediction(CANDIDATE, LOADS[0], 1.0),
            prediction("central/spin", LOADS[0], 4.0),
            prediction("central/spin", LOADS[1], 1.5),
        ];
        let found = groups(&all);
        let ids: Vec<&str> = found.iter().map(|m| m.id.as_str()).collect();
        let expected = ["central/adaptive/alone", "all/alone", "all/hogs or quota"];
        assert_eq!(ids, expected.map(|id| format!("prediction-summary/{id}")));
        let alone = &found[1];
        assert_eq!(
            (alone.summary.n, alone.figures["within"], alone.figures["geomean"], alone.figures["worst"]),
            (2, 1.0, 2.0, 4.0)
        );
        assert_eq!(groups(&[]), []);
    }
}
