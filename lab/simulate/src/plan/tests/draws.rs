//! Draws: the axis that regrets are over is whole, the seed alone decides what is drawn, and draws that make
//! no sense are refused.
use super::*;

const SWEEP: &str = "[sweep]\ncpus = [2, 4, 8]\ncv = [0.1, 0.2, 0.3, 0.4]\nthreads = [2, 3, 4, 5, 6]\npolicy = [\"block\", \"spin\", \"yield\"]\n\
                     [figure]\ny = \"regret\"\n";

fn plan(draw: &str) -> Plan {
    parse(&with_job(&format!("{SWEEP}{draw}"))).unwrap()
}

fn rows(plan: &Plan) -> Vec<Vec<String>> {
    (0..plan.points()).map(|point| plan.labels(point).into_iter().map(|(_, label)| label).collect()).collect()
}

#[test]
fn every_combination_of_the_others_has_so_many_draws_with_all_policies() {
    let plan = plan("[draw]\nof = [\"threads\", \"cv\"]\ntimes = 7\n");
    let rows = rows(&plan);
    assert_eq!(rows.len(), 3 * 7 * 3);
    for cpus in ["2", "4", "8"] {
        assert_eq!(rows.iter().filter(|row| row[0] == cpus).count(), 7 * 3);
    }
    for (point, row) in rows.iter().enumerate() {
        let rivals: Vec<usize> = plan.rivals(point).unwrap().collect();
        assert!(rivals.contains(&point) && rivals.len() == 3);
        assert!(rivals.iter().all(|&rival| rows[rival][..3] == row[..3]), "{row:?}");
        assert_eq!(rows[plan.baseline(point).unwrap()][3], "block");
    }
    let distinct = |column: usize| rows.iter().map(|row| &row[column]).collect::<std::collections::BTreeSet<_>>().len();
    assert_eq!([distinct(1), distinct(2)], [4, 5], "all is drawn at some time");
}

#[test]
fn the_seed_alone_decides_what_is_drawn() {
    let drawn = |seed: u32| rows(&plan(&format!("[draw]\nof = [\"threads\", \"cv\", \"cpus\"]\ntimes = 6\nseed = {seed}\n")));
    assert_eq!(drawn(7).len(), 6 * 3);
    assert_eq!(drawn(7), drawn(7));
    assert_ne!(drawn(7), drawn(8));
    assert_eq!(rows(&plan("[draw]\nof = [\"cv\"]\ntimes = 4\n")), rows(&plan("")), "all of them are all of them");
}

#[test]
fn draws_that_make_no_sense_are_refused() {
    for (draw, says) in [
        ("[draw]\ntimes = 2", "[draw] needs `of`"),
        ("[draw]\nof = []", "`of` is a list of names that vary"),
        ("[draw]\nof = [\"cvs\"]", "`cvs` does not vary in [sweep]; did you mean `cv`?"),
        ("[draw]\nof = [\"policy\"]", "regrets are over `policy`: all of its choices are needed"),
        ("[draw]\nof = [\"cv\"]\ntimes = 5", "`times` is 1 to 4, not 5"),
        ("[draw]\nof = [\"cv\"]\ntime = 5", "unknown key `time` in [draw]; did you mean `times`?"),
        ("over = { cv = \"0.1\" }\n[draw]\nof = [\"cv\"]", "`over` must be a choice of what regrets are over"),
    ] {
        refused(&with_job(&format!("{SWEEP}{draw}")), says);
    }
    refused(&with_job("[sweep]\ncv = [0.1, 0.2]\n[draw]\nof = [\"cv\"]"), "[draw] is for figures of regrets");
}
