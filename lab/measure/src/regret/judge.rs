//! The regret of a row: how much longer ours takes than the best column. The best column is chosen by every
//! other process, and the regret computed by the rest: otherwise the column that was lucky would count as
//! the best.
use foregather_results::Distribution;
use foregather_results::compare::ratio_of_medians;

/// A ratio, and the interval that holds it with 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    pub(super) ratio: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// How much longer column `of` takes than the best one, which comes with it; `None` if there is no result.
/// Each column has its results in the order of its processes.
pub(super) fn regret(columns: &[Vec<f64>], of: usize) -> Option<(usize, Interval)> {
    let (chosen_by, judged_by): (Vec<_>, Vec<_>) = columns.iter().map(|times| halves(times)).unzip();
    let median = |times: &Vec<f64>| Distribution::of_values(times).map(|all| all.quantile(0.5));
    let known = chosen_by.iter().enumerate().filter_map(|(at, times)| median(times).map(|median| (at, median)));
    let (best, _) = known.min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some((best, ratio(&judged_by[best], &judged_by[of])?))
}

/// How much longer the second column takes than the first.
pub(super) fn ratio(first: &[f64], second: &[f64]) -> Option<Interval> {
    let [first, second] = [first, second].map(Distribution::of_values);
    let [ratio, low, high] = ratio_of_medians(&first?, &second?)?;
    Some(Interval { ratio, low, high })
}

fn halves(times: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let of = |odd| times.iter().enumerate().filter(move |(at, _)| at % 2 == odd).map(|(_, &time)| time).collect();
    (of(1), of(0))
}

/// The geometric mean.
pub(super) fn geomean(ratios: &[f64]) -> f64 {
    (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len().max(1) as f64).exp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_column_is_chosen_by_other_processes_than_those_that_are_judged() {
        // The second column is lucky in the processes that choose, and no faster in those that judge.
        let (ours, lucky) = (vec![10.0; 8], [20.0, 1.0].repeat(4));
        let (best, of_ours) = regret(&[ours.clone(), lucky], 0).unwrap();
        assert_eq!((best, of_ours.ratio), (1, 0.5));
        let (best, of_ours) = regret(&[ours, vec![5.0; 8]], 0).unwrap();
        assert_eq!((best, of_ours.ratio, of_ours.low, of_ours.high), (1, 2.0, 2.0, 2.0));
        assert_eq!(regret(&[vec![], vec![]], 0), None);
        assert!((geomean(&[2.0, 8.0]) - 4.0).abs() < 1e-9);
    }
}
