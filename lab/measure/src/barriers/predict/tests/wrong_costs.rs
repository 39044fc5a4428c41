//! What one wrong kept cost does to the adaptive policy, in simulated time: twenty times too dear, and
//! twenty times too cheap.
use super::super::team::PredictedTeam;
use crate::calibration::Calibration;
use foregather_barrier::Algorithm;
use foregather_host::costs::KeptCosts;
use foregather_machine::{Costs, Nanos};
use foregather_results::geomean;
use foregather_results::row::Row;
use foregather_wait::Policy;

/// Teams that fit two processors and teams that do not, on an idle machine and under load.
const ROWS: [&str; 7] =
    ["2t, 0 us", "2t, 20 us", "4t exponential, 20 us", "8t, 5 us", "2t + 1 hog, 5 us", "5t + 1 hog, 1 us", "8t + 2 hogs, 20 us"];

/// Microseconds per barrier of each row, the mean over all seeds.
fn times_us(costs: &Costs) -> Vec<f64> {
    let time = |row: &str| {
        let (row, policy) = (&Row::parse(row).unwrap(), Policy::adaptive(costs));
        let team = PredictedTeam::meeting(row, Algorithm::Central, policy, (2, Nanos::from_ms(60)));
        let all = team.simulate(&Calibration::of(&Costs::TYPICAL), 3).unwrap();
        all.iter().sum::<f64>() / all.len() as f64
    };
    ROWS.into_iter().map(time).collect()
}

fn ratios(wrong: &Costs, right_us: &[f64]) -> Vec<f64> {
    times_us(wrong).iter().zip(right_us).map(|(wrong, right)| wrong / right).collect()
}

#[test]
fn a_kept_cost_that_is_wrong_twentyfold_costs_programs_little() {
    let right_us = times_us(&Costs::TYPICAL);
    let mut table = String::new();
    let mut worst = (0.0_f64, 0.0_f64);
    for at in 0..Costs::NAMES.len() {
        for (times, over) in [(20, 1), (1, 20)] {
            let mut costs = Costs::TYPICAL.to_array();
            costs[at] = Nanos(costs[at].0 * times / over);
            // The kernel's own tick is used, whatever was measured.
            let kept = Costs { tick: Costs::TYPICAL.tick, ..KeptCosts::once(Costs::from_array(costs), None).costs };
            // The policy does not use the other costs.
            if Policy::adaptive(&kept) == Policy::adaptive(&Costs::TYPICAL) {
                continue;
            }
            let ratios = ratios(&kept, &right_us);
            let most = ratios.iter().copied().fold(0.0, f64::max);
            worst = (worst.0.max(geomean(ratios.iter().copied())), worst.1.max(most));
            table += &format!(
                "{} x {times} / {over}: geomean {:.3}, {ratios:.3?}\n",
                Costs::NAMES[at],
                geomean(ratios.iter().copied())
            );
        }
    }
    assert_eq!(table.lines().count(), 4, "wake-ups and yields:\n{table}");
    assert!(worst.0 <= 1.05 && worst.1 <= 1.15, "{table}");
}

/// The reason for the usual range: a wrong cost that is used as it was measured makes some row slower.
#[test]
fn a_wrong_cost_without_a_usual_range_costs_more() {
    let wrong = Costs { yield_switch: Costs::TYPICAL.yield_switch * 20, ..Costs::TYPICAL };
    let most = ratios(&wrong, &times_us(&Costs::TYPICAL)).into_iter().fold(0.0, f64::max);
    assert!(most > 1.15, "{most}");
}
