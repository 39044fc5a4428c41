//! The regret of a row, and the rule by which rows of a class are judged.
//!
//! Regret is how much longer ours takes than the best column. The best column is chosen by every other
//! process, and the regret computed by the rest: otherwise the column that was lucky would count as the best.
use foregather_results::Distribution;
use foregather_results::compare::ratio_of_medians;
use foregather_results::geomean;

/// With fewer processes of a cell nothing is judged.
pub(super) const STARTS_LEAST: u32 = 15;
/// The most that the geometric mean of the regrets may be, as a multiple of that of the noise floor: on an
/// idle machine whose processors the threads fit, and elsewhere.
const GEOMEAN_ALONE: f64 = 1.03;
const GEOMEAN_ELSEWHERE: f64 = 1.10;
/// No interval of a row's regret may lie wholly above this.
const ROW_MOST: f64 = 1.5;
/// The same of ours over our own `block`.
const BLOCK_MOST: f64 = 1.15;
/// The most processor time, over that of the best columns.
const CPU_MOST: f64 = 1.2;

/// A ratio, and the interval that holds it with 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    pub(super) ratio: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// What is known of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct RowRatios {
    /// Ours over the best column.
    pub(super) regret: Option<Interval>,
    /// The regret of ours again where only ours is beside it: what noise alone makes.
    pub(super) floor: Option<Interval>,
    /// Ours over our own `block`.
    pub(super) block: Option<Interval>,
    /// Processor time over the best column's.
    pub(super) cpu: f64,
}

/// What the rows of a class come to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ClassRatios {
    pub(super) rows: usize,
    pub(super) geomean: f64,
    pub(super) floor: f64,
    /// Rows whose regret lies wholly above what a row may have.
    pub(super) above: usize,
    pub(super) block: f64,
    pub(super) above_block: usize,
    pub(super) cpu: f64,
    most: f64,
}

/// How much longer column `of` takes than the best one of `among`, which comes with it; `None` if there is no
/// result. Each column has its results in the order of its processes.
pub(super) fn regret(columns: &[Vec<f64>], among: &[usize], of: usize) -> Option<(usize, Interval)> {
    let median = |at: usize| Distribution::of_values(&halves(&columns[at]).0).map(|all| all.quantile(0.5));
    let known = among.iter().filter_map(|&at| Some((at, median(at)?)));
    let (best, _) = known.min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some((best, ratio(&halves(&columns[best]).1, &halves(&columns[of]).1)?))
}

/// How much longer the second column takes than the first.
pub(super) fn ratio(first: &[f64], second: &[f64]) -> Option<Interval> {
    let [first, second] = [first, second].map(Distribution::of_values);
    let [ratio, low, high] = ratio_of_medians(&first?, &second?)?;
    Some(Interval { ratio, low, high })
}

/// The results that choose, of the first, third .. process, and those that judge.
fn halves(times: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let of = |odd| times.iter().enumerate().filter(move |(at, _)| at % 2 == odd).map(|(_, &time)| time).collect();
    (of(0), of(1))
}

impl RowRatios {
    /// What is to be said of the row; nothing if it is within bounds.
    pub(super) fn verdict(&self) -> &'static str {
        let above = |interval: Option<Interval>, most| interval.is_some_and(|interval| interval.low > most);
        match (above(self.regret, ROW_MOST), above(self.block, BLOCK_MOST)) {
            (true, true) => "above 1.5, block above 1.15",
            (true, false) => "above 1.5",
            (false, true) => "block above 1.15",
            (false, false) => "",
        }
    }
}

impl ClassRatios {
    /// Of the rows of a class, which is that of idle machines where threads fit, or another one.
    pub(super) fn of(rows: &[RowRatios], alone: bool) -> Self {
        let mean = |of: fn(&RowRatios) -> Option<Interval>| geomean(rows.iter().filter_map(of).map(|interval| interval.ratio));
        let above = |of: fn(&RowRatios) -> Option<Interval>, most| {
            rows.iter().filter_map(of).filter(|interval| interval.low > most).count()
        };
        Self {
            rows: rows.len(),
            geomean: mean(|row| row.regret),
            floor: mean(|row| row.floor),
            above: above(|row| row.regret, ROW_MOST),
            block: mean(|row| row.block),
            above_block: above(|row| row.block, BLOCK_MOST),
            cpu: geomean(rows.iter().map(|row| row.cpu)),
            most: if alone { GEOMEAN_ALONE } else { GEOMEAN_ELSEWHERE },
        }
    }

    /// Whether the goals are met, and which are not. Noise never makes a goal harder than it is.
    pub(super) fn verdict(&self, starts: u32) -> String {
        if starts < STARTS_LEAST {
            return format!("not judged: {starts} of {STARTS_LEAST} starts");
        }
        let bound = self.most * if self.floor > 1.0 { self.floor } else { 1.0 };
        let missed = [
            (self.geomean > bound).then(|| format!("geomean above {bound:.2}")),
            (self.above > 0).then(|| format!("rows above {ROW_MOST}")),
            (self.above_block > 0).then(|| format!("rows above block x {BLOCK_MOST}")),
            (self.cpu > CPU_MOST).then(|| format!("processor time above {CPU_MOST}")),
        ];
        let missed: Vec<String> = missed.into_iter().flatten().collect();
        if missed.is_empty() { "met".to_owned() } else { format!("missed: {}", missed.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_column_is_chosen_by_other_processes_than_those_that_are_judged() {
        // The second column is lucky in the processes that choose, and slower in those that judge.
        let (ours, lucky) = (vec![10.0; 8], [1.0, 20.0].repeat(4));
        let (best, of_ours) = regret(&[ours.clone(), lucky], &[0, 1], 0).unwrap();
        assert_eq!((best, of_ours.ratio), (1, 0.5));
        let columns = [ours, vec![5.0; 8], vec![2.0; 8]];
        let (best, of_ours) = regret(&columns, &[0, 1], 0).unwrap();
        assert_eq!((best, of_ours.ratio, of_ours.low, of_ours.high), (1, 2.0, 2.0, 2.0));
        assert_eq!(regret(&columns, &[0, 1, 2], 0).unwrap().1.ratio, 5.0);
        assert_eq!(regret(&[vec![], vec![]], &[0, 1], 0), None);
        assert!((geomean([2.0, f64::NAN, 8.0]) - 4.0).abs() < 1e-9 && geomean([]).is_nan());
    }

    fn row(regret: f64, low: f64, block_low: f64, cpu: f64) -> RowRatios {
        let of = |ratio, low| Some(Interval { ratio, low, high: ratio * 2.0 });
        RowRatios { regret: of(regret, low), floor: of(1.02, 0.9), block: of(1.0, block_low), cpu }
    }

    #[test]
    fn each_goal_can_be_missed_alone() {
        let verdict = |rows: &[RowRatios], alone| ClassRatios::of(rows, alone).verdict(15);
        let fine = row(1.10, 1.0, 1.0, 1.1);
        assert_eq!(verdict(&[fine; 4], false), "met", "1.10 is below 1.10 times a floor of 1.02");
        assert_eq!(verdict(&[fine; 4], true), "missed: geomean above 1.05");
        let few = |one| {
            let fast = row(0.9, 0.8, 0.8, 1.0);
            [fine, fast, fast, fast, fast, one]
        };
        assert_eq!(verdict(&few(row(1.9, 1.49, 1.14, 1.0)), false), "met", "an interval that holds a bound is not above it");
        assert_eq!(verdict(&few(row(1.9, 1.51, 1.0, 1.0)), false), "missed: rows above 1.5");
        assert_eq!(verdict(&few(row(1.0, 0.9, 1.16, 1.0)), false), "missed: rows above block x 1.15");
        assert_eq!(verdict(&few(row(1.0, 0.9, 1.0, 3.0)), false), "missed: processor time above 1.2");
        assert_eq!(ClassRatios::of(&[fine; 4], false).verdict(14), "not judged: 14 of 15 starts");
        assert_eq!(row(2.0, 1.6, 1.2, 1.0).verdict(), "above 1.5, block above 1.15");
        assert_eq!((fine.verdict(), row(2.0, 1.6, 1.0, 1.0).verdict()), ("", "above 1.5"));
    }

    #[test]
    fn a_floor_below_one_makes_no_goal_harder() {
        let low = |floor| Some(Interval { ratio: floor, low: 0.5, high: 1.5 });
        let row = RowRatios { floor: low(0.8), ..row(1.09, 1.0, 1.0, 1.0) };
        assert_eq!(ClassRatios::of(&[row; 3], false).verdict(15), "met");
        let without = RowRatios { floor: None, ..row };
        assert_eq!(ClassRatios::of(&[without; 3], false).verdict(15), "met");
    }
}
