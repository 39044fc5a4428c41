//! Figures of what barriers cost and how evenly they release, and of what disturbs a busy processor.
use crate::report::check_markup;
use crate::sample;
use foregather_report::{Figure, figure_svg, page};
use foregather_results::{Measurement, Results};

const KINDS: [(&str, f64); 4] = [("tree", 0.41), ("central", 0.27), ("dissemination", 0.3), ("rds", 0.42)];
/// Loops in a made-up trace, every so-manieth of which is interrupted.
const LOOPS: usize = 2_000;
const EVERY: usize = 20;
/// Trials in a made-up line: so many lengths in turn, and every so-manieth lies above it.
const TRIALS: usize = 240;
const STEPS: usize = 24;
const ABOVE: usize = 7;

fn case(kind: &str, policy: &str, release: &str, cost_us: f64, (p50, p99): (f64, f64)) -> Measurement {
    let m = Measurement::from_values(format!("skew/{kind}/{policy}/{release}"), "cost", "us", vec![cost_us]);
    let m = m.label("kind", kind).label("policy", policy).label("release", release).label("threads", "2");
    m.figure("exit_skew_p50_ns", p50).figure("exit_skew_p99_ns", p99)
}

/// What `measure skew` may find.
pub(crate) fn skew() -> Results {
    let mut results = sample::empty("measure skew");
    for (policy, slower, apart) in [("spin", 1.0, 120.0), ("block", 60.0, 7_300.0)] {
        for (kind, cost) in KINDS {
            let plain = case(kind, policy, "plain", cost * slower, (apart, apart * 2.5));
            let predicted = if policy == "spin" && kind != "central" { cost * 0.9 } else { f64::NAN };
            results.measurements.push(plain.figure("predicted_us", predicted));
            let harmonized = case(kind, policy, "harmonized", cost * slower * 2.6, (9.0, 100.0 * cost));
            results.measurements.push(harmonized.figure("met_percent", 97.0));
        }
    }
    results
}

/// What `measure noise` may find on so many processors.
pub(crate) fn noise(processors: usize) -> Results {
    let mut results = sample::empty("measure noise");
    for cpu in 0..processors {
        let of = |what: &str, unit: &str, values| {
            Measurement::from_values(format!("noise/{what}/cpu {cpu}"), what, unit, values).label("cpu", cpu.to_string())
        };
        let took = |i: usize| if i % EVERY == EVERY - 1 { 70.0 } else { 19.8 + 0.1 * (i % 3) as f64 };
        let all = of("loops", "ns", vec![19_800.0]).figure("floor_us", 19.8).figure("interruptions_per_s", 2_500.0);
        let all = all.figure("stolen_percent", 12.0).figure("length_p50_us", 50.2).figure("length_max_us", 8_100.0);
        let trace = of("trace", "us", (0..LOOPS).map(took).collect());
        let trace = trace.figure("floor_us", 19.8).figure("interrupted_above_us", 20.8);
        let from_line = |i: usize| if i.is_multiple_of(ABOVE) { 900.0 } else { (i % 5) as f64 - 2.0 };
        let line = of("line", "ns", (0..TRIALS).map(from_line).collect()).figure("slope_ns", 0.79).figure("intercept_ns", 22.7);
        let line = line.figure("outlier_above_ns", 8.0).figure("step_iterations", 500.0).figure("steps", STEPS as f64);
        results.measurements.extend([all, trace, line]);
    }
    results
}

/// The same with this text wherever there may be one.
pub(crate) fn hostile(evil: &str) -> Vec<Measurement> {
    let mut all = [skew().measurements, noise(1).measurements].concat();
    for m in &mut all {
        (m.what, m.unit) = (evil.to_owned(), evil.to_owned());
        for (name, label) in &mut m.labels {
            // Releases are known by their names.
            if name != "release" {
                label.push_str(evil);
            }
        }
    }
    all
}

fn drawn(figure: &Figure, results: Results) -> (String, String) {
    let results = [results];
    let svg = figure_svg(figure, &results).expect("it is drawn");
    check_markup(&svg).unwrap_or_else(|why| panic!("{figure:?}: {why}"));
    assert!(!svg.contains("NaN") && !svg.contains("inf") && !svg.contains("var("));
    (svg, page(&results))
}

/// The points of the curve with this name, plot by plot.
fn points(svg: &str, name: &str) -> Vec<Vec<(f64, f64)>> {
    let pair = |point: &str| point.split_once(',').map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()));
    let before = format!(r#"data-name="{name}" data-p=""#);
    svg.split(&before).skip(1).map(|curve| curve.split('"').next().unwrap().split(' ').filter_map(pair).collect()).collect()
}

#[test]
fn every_barrier_has_one_row_a_policy_and_the_cheapest_comes_first() {
    let (svg, page) = drawn(&Figure::Skew, skew());
    assert!(svg.contains("Barriers of 2 members"));
    let parts: Vec<&str> = svg.split(">waiting by ").skip(1).collect();
    assert_eq!(parts.len(), 2);
    for (part, policy) in parts.iter().zip(["spin", "block"]) {
        assert!(part.starts_with(policy));
        let at = |kind: &str| part.find(&format!(">{kind}<")).unwrap_or_else(|| panic!("{kind} is missing under {policy}"));
        assert!(KINDS.iter().all(|(kind, _)| part.matches(&format!(">{kind}<")).count() == 1));
        assert!(at("central") < at("dissemination") && at("dissemination") < at("tree") && at("tree") < at("rds"));
    }
    // Measurement 2 is central, plain, under spin.
    for number in 0..skew().measurements.len() {
        assert_eq!(svg.matches(&format!(r#"data-m="{number}""#)).count(), 1, "measurement {number}");
    }
    for told in [
        "Waiting by spin, central costs least: 270 ns, and its members leave 120 ns apart in the median and 300 ns at p99; \
         central, harmonized, is the evenest: 9 ns apart in the median and 27 ns at p99, with 97 % that meet, \
         for 702 ns.",
        "Waiting by block, central costs least: 16.2 us",
    ] {
        assert!(page.contains(told), "{told}");
    }
}

#[test]
fn predictions_stand_where_there_are_some_and_what_nobody_beats_is_filled() {
    let (svg, _) = drawn(&Figure::Skew, skew());
    let predictions = |svg: &str| {
        svg.split(r#"data-s="2"><path d=""#).skip(1).map(|d| d.split('"').next().unwrap().matches('M').count()).sum::<usize>()
    };
    assert!(predictions(&svg) == KINDS.len() - 1 && svg.contains("LogGP"));
    // Central is the cheapest, plain and of the harmonized, which are all as even: two dots for each of both, in two parts.
    let dots = |fill: &str| svg.matches(&format!(r#"r="3.6" fill="{fill}""#)).count();
    assert_eq!(dots("#0072b2") + dots("#d55e00"), 2 * 2 * 2);
    assert_eq!(dots("#fff"), 2 * 2 * 2 * (KINDS.len() - 1));
    let mut alone = skew();
    alone.measurements.retain(|m| m.labels["release"] == "plain" && m.labels["policy"] == "block");
    alone.measurements.iter_mut().for_each(|m| m.figures.clear());
    let (svg, page) = drawn(&Figure::Skew, alone);
    assert!(predictions(&svg) == 0 && !svg.contains("LogGP"));
    assert!(page.contains("Waiting by block, central costs least: 16.2 us."), "without a skew nothing is said of it");
}

#[test]
fn a_trace_shows_every_interruption_and_the_floor() {
    let (svg, page) = drawn(&Figure::NoiseTrace, noise(2));
    assert!(svg.contains(">processor 0<") && svg.contains(">processor 1<"));
    let interrupted = points(&svg, "interrupted");
    assert_eq!(interrupted.iter().map(Vec::len).collect::<Vec<_>>(), [LOOPS / EVERY; 2]);
    assert!(interrupted[0].iter().all(|point| point.1 == 70.0));
    let floor = &points(&svg, "floor")[0];
    assert!(floor.len() == 2 && floor.iter().all(|point| point.1 == 19.8));
    let (_, left_alone) = svg.split_once(r#"data-name="interrupted""#).unwrap();
    let marks = left_alone.split("<path d=\"").nth(1).unwrap().split('"').next().unwrap().matches('M').count();
    assert_eq!(marks, LOOPS / EVERY, "none is left out though there are many");
    assert!(page.contains(
        "On processor 1 a loop that nothing disturbs takes 19.8 us; 2.5k interruptions a second of 50.2 us in the median and \
         8.1 ms at most take 12 % of the time."
    ));
}

#[test]
fn a_line_goes_through_its_trials_and_outliers_are_marked() {
    let (svg, page) = drawn(&Figure::NoiseLine, noise(1));
    let (line, near) = (&points(&svg, "fitted line")[0], &points(&svg, "trials (median and range)")[0]);
    assert_eq!(line[..], [(500.0, 0.4177), (12_000.0, 9.503)]);
    assert_eq!(near.len(), STEPS);
    assert!(near.iter().all(|(k, us)| (us - (0.79 * k + 22.7) / 1e3).abs() < 0.01), "{near:?}");
    let outliers = &points(&svg, "left out")[0];
    assert_eq!(outliers.len(), TRIALS.div_ceil(ABOVE));
    assert!(outliers.iter().all(|(k, us)| (us - (0.79 * k + 922.7) / 1e3).abs() < 0.01), "{outliers:?}");
    assert!(
        page.contains("k iterations take 0.79 ns k + 22.7 ns: 35 of 240 trials, which lie more than 8 ns above, are left out.")
    );
}

#[test]
fn of_many_processors_four_are_shown_and_the_title_says_so() {
    for figure in [Figure::NoiseTrace, Figure::NoiseLine] {
        let (svg, _) = drawn(&figure, noise(6));
        assert_eq!((svg.matches(">processor ").count(), svg.matches("(first 4 of 6 processors)<").count()), (4, 1), "{figure:?}");
    }
}

#[test]
fn what_an_older_version_wrote_is_no_figure_and_no_error() {
    let mut old = noise(1);
    old.measurements.iter_mut().for_each(|m| m.figures.clear());
    assert_eq!(figure_svg(&Figure::NoiseTrace, &[old.clone()]), None);
    assert_eq!(figure_svg(&Figure::NoiseLine, &[old]), None);
    assert_eq!(figure_svg(&Figure::Skew, &[sample::waits()]), None);
}

#[test]
fn hostile_names_of_barriers_and_processors_stay_text() {
    let results = Results { measurements: hostile("<script>\"'&"), ..sample::empty("measure skew") };
    for figure in [Figure::Skew, Figure::NoiseTrace, Figure::NoiseLine] {
        let (svg, _) = drawn(&figure, results.clone());
        assert!(!svg.contains("<script") && svg.contains("&lt;script&gt;"), "{figure:?}");
    }
}
