//! Figures of simulated plans: panels, curves, matrices and strips as the labels of measurements say, and nothing else.
use crate::report::check_markup;
use crate::sample::{empty, regrets, simulated};

use foregather_report::{Figure, figure_svg, figures, page};
use foregather_results::{Measurement, Results};

fn results(measurements: Vec<Measurement>) -> Vec<Results> {
    let mut results = empty("simulate");
    results.measurements = measurements;
    vec![results]
}

/// The plan's figure, checked; and the page with it.
fn drawn(figure: &Figure, measurements: Vec<Measurement>) -> (String, String) {
    let results = results(measurements);
    let svg = figure_svg(figure, &results).unwrap_or_else(|| panic!("{figure:?} can be drawn"));
    check_markup(&svg).unwrap_or_else(|why| panic!("{figure:?}: {why}"));
    assert!(!svg.contains("NaN") && !svg.contains("inf") && !svg.contains("var("), "{figure:?}");
    (svg, page(&results))
}

#[test]
fn a_plan_over_load_is_one_curve_with_guides_where_it_peaks() {
    let (svg, page) = drawn(&Figure::Plan("fig3".to_owned()), simulated::peaks());
    assert_eq!((svg.matches("data-axis=").count(), svg.matches("data-p=").count()), (1, 1));
    assert!(svg.contains("Figure 3: one job against load<") && svg.contains("spins that succeeded (%)"));
    assert!(svg.contains("load (threads)") && svg.contains("below 50 % spinning does not pay"));
    for guide in (48..=208).step_by(16) {
        assert!(svg.contains(&format!(">{guide}</text>")), "{guide} has no label");
    }
    assert!(svg.contains("average: 60.0 \u{b1} 30.0 %"), "11 of 22 loads are multiples of 16");
    assert!(page.contains("At multiples of 16, it is 90 %, elsewhere 30 %."));
    assert!(page.contains("which nothing disturbs") && !page.contains("noisy</span>"), "virtual time is not noisy");
}

#[test]
fn what_else_varies_makes_panels_and_speedups_are_held_against_what_they_are_over() {
    let (svg, page) = drawn(&Figure::Plan("fig7".to_owned()), simulated::speedups());
    assert_eq!((svg.matches("data-axis=").count(), svg.matches("data-p=").count()), (2, 4), "two panels of two policies");
    assert_eq!(svg.matches("fill-opacity").count(), 4, "every curve has the band of its seeds");
    for told in ["grains: fine", "grains: medium", "times as fast as AB", "as fast as AB<", "load (threads for each processor)"] {
        assert!(svg.contains(told), "{told} is missing");
    }
    assert!(!svg.contains("data-name=\"AB\""), "what speedups are over is 1 by construction");
    assert!(svg.contains("CS: 1.50 \u{b1} 0.00") && svg.contains("2CS+: 1.20 \u{b1} 0.00"));
    assert!(page.contains("most with 2CS+ (grains: fine), 2; least with CS (grains: medium), 1.1. All stay above 1 everywhere."));
}

#[test]
fn a_matrix_has_a_cell_for_every_point_but_those_that_are_one_by_construction() {
    let (svg, page) = drawn(&Figure::Plan("wake".to_owned()), simulated::schemes());
    assert_eq!(svg.matches("data-m=").count(), 8, "four rows of two schemes");
    for told in ["times as fast as linux", "workload", "policy", "2 x 20", "2CS+", "ap-mark", "1.50", ".90"] {
        assert!(svg.contains(told), "{told} is missing");
    }
    assert_eq!(svg.matches(">2 x 24<").count(), 1, "a name is not repeated in the rows below");
    assert!(page.contains("from 0.9 (wakeup: gv,") && page.contains("to 1.5 (wakeup: ap-mark,"));
}

#[test]
fn a_matrix_of_many_choices_says_what_each_comes_to_and_on_which_most_depends() {
    let mut all = Vec::new();
    for (i, (a, b, c)) in
        [0, 1].iter().flat_map(|a| [0, 1].map(|b| (a, b))).flat_map(|(a, b)| [0, 1].map(|c| (a, b, c))).enumerate()
    {
        let m = Measurement::from_values(
            format!("simulate/s/{i}"),
            "Study: spins that succeeded",
            "%",
            vec![f64::from(60 * a + 10 * b)],
        );
        let m = m
            .label("plan", "s")
            .label("machine.first", a.to_string())
            .label("second", b.to_string())
            .label("third", c.to_string());
        all.push(m.label("policy", "CS").label("column-axis", "policy").label("row-axis", "machine.first second third"));
    }
    let (svg, page) = drawn(&Figure::Plan("s".to_owned()), all);
    assert_eq!(svg.matches("average of ").count(), 6);
    assert!(svg.contains("average of first 1") && svg.contains(">65</text>"), "60 and 70 come to 65 on average");
    assert!(page.contains("Most depends on first: 5 % of CS on average with 0, 65 % with 1, a difference of 60 %."));
}

#[test]
fn a_space_of_regrets_is_summed_up_by_two_properties_at_a_time() {
    let (svg, page) = drawn(&Figure::RegretMap("space".to_owned()), regrets::simulated(5));
    for told in ["members by processors", "strangers by processors", "step by processors", "best policy"] {
        assert!(svg.contains(told), "{told} is missing");
    }
    assert_eq!(svg.matches("35 rows of 256, all:").count(), 3, "every map sums up a machine");
    assert!(svg.contains("7 rows of 2, 1x: mean "), "a row a stranger");
    assert!(svg.contains("5 rows of 2, none: mean .04, worst .08"), "sizes of team lose 0 to 8 % beside nothing");
    assert_eq!(svg.matches("data-m=").count(), 12, "the worst rows are listed");
    let all = regrets::simulated(5);
    let lost: Vec<f64> = all.iter().filter(|m| m.labels["waiting"] == "adaptive").filter_map(|m| m.summary.mean).collect();
    let mean = format!("{:.2}", lost.iter().sum::<f64>() / 175.0).replace("0.", ".");
    assert!(page.contains(&format!("Over 175 rows the adaptive policy loses {mean} of its time on average")), "{mean}");
}

#[test]
fn without_the_adaptive_policy_or_enough_rows_there_is_no_map() {
    let map = |all: Vec<Measurement>| figure_svg(&Figure::RegretMap("space".to_owned()), &results(all));
    let all = regrets::simulated(1);
    assert!(map(all.clone()).is_some() && map(all[..9].to_vec()).is_none(), "three rows are no space");
    assert_eq!(map(all.into_iter().filter(|m| m.labels["waiting"] != "adaptive").collect()), None);
}

#[test]
fn drawn_rows_of_a_machine_are_held_against_peers_and_the_best_of_all() {
    let (svg, page) = {
        let results = [regrets::drawn()];
        (figure_svg(&Figure::BarrierRegret, &results).expect("rows were drawn"), page(&results))
    };
    for told in [
        "strangers by members, against the best peer<",
        "strangers by members, against the best peer or fixed policy<",
        "1 rows of 5-8, 1 hog: mean .75, worst .75",
        "1 rows of 5-8, 1 hog: mean .80, worst .80",
        "1 rows of 9-16, longer bursts: mean 0, worst 0",
        "5t + 1 hog log-normal, 10 us",
        "central/block",
    ] {
        assert!(svg.contains(told), "{told} is missing");
    }
    // What it wins elsewhere does not make up for what it loses: .8 + .2 + .02 + .1 + .3 of eight rows.
    assert!(page.contains("Over 8 rows the adaptive policy loses .18 of its time on average"), "{page}");
    assert!(page.contains("and .80 in the worst row; 1 lose more than half."));
}

#[test]
fn a_run_over_time_is_shown_as_a_whole_and_around_its_transition() {
    let (svg, page) = drawn(&Figure::OverTime("fig4".to_owned()), simulated::transition());
    assert_eq!(svg.matches("scale(").count(), 2 * 4, "two stretches of four states");
    assert_eq!(svg.matches("in step from 50 ms on").count(), 2);
    for told in [
        "seed: 1",
        "Around the transition",
        "computing",
        "spinning",
        "ready",
        "blocked",
        "processors that the threads ran on last",
    ] {
        assert!(svg.contains(told), "{told} is missing");
    }
    assert!(page.contains("After 50 ms the job falls into step (seed: 1): from then on at least 95 % of its spins succeed"));
    assert!(page.contains("In 2 other runs after 125 ms, in 1 of them never."));
    assert!(svg.len() < 25_000, "{} bytes: 4,000 samples are not 4,000 marks", svg.len());
    let plan = Figure::Plan("fig4".to_owned());
    assert_eq!(figure_svg(&plan, &results(simulated::transition())), None, "dots over seeds would say it once more");
}

#[test]
fn figures_are_those_of_every_plan_under_names_that_harm_nothing() {
    let names: Vec<String> = figures(&[simulated::plans()]).iter().map(Figure::name).collect();
    assert_eq!(
        names[Figure::ALL.len()..],
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
