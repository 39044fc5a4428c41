//! Figures of simulated plans: the labels of measurements alone make panels, curves, matrices and strips.
use crate::report::check_markup;
use crate::sample::{empty, regrets, simulated};

use foregather_report::{Figure, figure_svg, figures};
use foregather_results::{Measurement, Results};

fn results(measurements: Vec<Measurement>) -> Vec<Results> {
    let mut results = empty("simulate");
    results.measurements = measurements;
    vec![results]
}

#[test]
fn without_the_adaptive_policy_or_enough_rows_there_is_no_map() {
    let map = |all: Vec<Measurement>| figure_svg(&Figure::RegretMap("space".to_owned()), &results(all));
    let all = regrets::simulated(1);
    assert!(map(all.clone()).is_some() && map(all[..9].to_vec()).is_none(), "three rows are no space");
    assert_eq!(map(all.into_iter().filter(|m| m.labels["waiting"] != "adaptive").collect()), None);
}

#[test]
fn a_run_over_time_is_small_and_dots_over_seeds_do_not_say_it_once_more() {
    let svg = figure_svg(&Figure::OverTime("fig4".to_owned()), &results(simulated::transition())).expect("it is drawn");
    assert!(svg.len() < 25_000, "{} bytes: 4,000 samples are not 4,000 marks", svg.len());
    assert_eq!(figure_svg(&Figure::Plan("fig4".to_owned()), &results(simulated::transition())), None);
}

#[test]
fn figures_are_those_of_every_plan_under_names_that_harm_nothing() {
    let names: Vec<String> = figures(&[simulated::plans()]).iter().map(Figure::name).collect();
    assert_eq!(
        names[Figure::all().count()..],
        ["fig3", "fig7", "wake", "fig4"].map(|n| [format!("{n}-map"), n.to_owned(), format!("{n}-over-time")]).concat()
    );
    let name = |plan: &str| Figure::Plan(plan.to_owned()).name();
    assert_eq!(name("../../etc/x"), "------etc-x");
    assert_eq!([name("barriers"), name("")], ["plan-barriers", "plan-"]);
    assert!(name(&"x".repeat(5_000)).len() <= 110);
}

#[test]
fn odd_measurements_of_plans_make_a_page_too() {
    let m =
        |id: &str, values: Vec<f64>| Measurement::from_values(format!("simulate/{id}"), "no title", "", values).label("plan", id);
    let over = |m: Measurement, x: &str| m.label("x-axis", "load").label("load", x);
    let state = |state: &str, values: Vec<f64>, us: f64| {
        m(state, values).label("plan", "states").label("state", state).figure("sample_us", us)
    };
    let mut all = vec![
        m("no-axes", vec![1.0]),
        over(m("one-x", vec![1.0]), "4"),
        m("no-such-label", vec![1.0]).label("x-axis", "nothing").label("series-axis", ""),
        m("nothing-in-a-matrix", vec![]).label("column-axis", "plan").label("row-axis", "nothing"),
        state("computing", vec![1.0, 2.0], 5.0),
        state("spinning", vec![1.0], 5.0),
        m("ssr", vec![99.0; 3]).label("plan", "rates").label("state", "ssr").figure("window_us", 0.0),
    ];
    for name in ["computing", "spinning", "ready", "blocked", "native"] {
        let mut wild = state(name, vec![-1e300, 1e300, 1e308, 1e308], 5.0).label("plan", "wild");
        wild.id += "-wild";
        all.push(wild);
    }
    for (i, x) in ["1e400", "-3", "NaN", "1", "1x", "0"].into_iter().enumerate() {
        let mut point = over(m("no-numbers", vec![-1e300, 1e308]), x);
        point.id = format!("simulate/no-numbers/{i}");
        all.push(point);
    }
    for figure in figures(&results(all.clone())) {
        if let Some(svg) = figure_svg(&figure, &results(all.clone())) {
            check_markup(&svg).unwrap_or_else(|why| panic!("{figure:?}: {why}"));
            assert!(!svg.contains("NaN,") && !svg.contains("=\"inf") && !svg.contains(" NaN"), "{figure:?} {svg}");
        }
    }
}
