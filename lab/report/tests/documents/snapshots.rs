//! The texts of figures beside this file, a snapshot a document. `UPDATE_EXPECT=1 cargo test -p
//! foregather-report` rewrites them; read what changed before you keep it.
use crate::{sample, skew_and_noise, timelines};
use expect_test::expect_file;
use foregather_report::page;
use foregather_results::{Results, TrustLevel};
use std::collections::BTreeMap;

/// Every figure on the page of these results: its caption, its texts line by line, the points of its curves,
/// how many marks of which kind it has.
fn described(results: &Results) -> String {
    let page = page(std::slice::from_ref(results));
    let mut all = String::new();
    for figure in page.split("<figure ").skip(1) {
        let (svg, rest) = figure.split_once("<figcaption>").expect("every figure has a caption");
        let caption = rest.split("</figcaption>").next().unwrap_or_default();
        // Where words are explained is no matter of the figure.
        let caption: String = caption.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect();
        let caption = caption.split("Words: ").next().unwrap_or_default().trim_end();
        let svg = &svg[svg.find("<svg").unwrap_or(0)..];
        all += &format!("# {caption}\n\n{}\n", drawn(svg));
    }
    all
}

fn drawn(svg: &str) -> String {
    let (mut lines, mut texts, mut marks) = (Vec::new(), Vec::new(), BTreeMap::<&str, usize>::new());
    for tag in svg.split('<').skip(1) {
        let (head, text) = tag.split_once('>').unwrap_or((tag, ""));
        let value = |name: &str| head.split_once(&format!(" {name}=\"")).and_then(|(_, rest)| rest.split('"').next());
        let name = head.split([' ', '/']).next().unwrap_or_default();
        match name {
            "text" | "title" => texts.push(text),
            "" => {}
            _ => *marks.entry(name).or_default() += 1,
        }
        if name == "g" && !texts.is_empty() {
            lines.push(texts.join(" | "));
            texts.clear();
        }
        lines.extend(value("data-p").map(|points| format!("curve {}: {points}", value("data-name").unwrap_or_default())));
        // Of paths with several lines or areas each part counts.
        *marks.entry("part of a path").or_default() += value("d").map_or(0, |path| path.matches(['M', 'm']).count());
        *marks.entry("of a measurement").or_default() += usize::from(value("data-m").is_some());
    }
    let marks: Vec<String> = marks.iter().filter(|mark| *mark.1 > 0).map(|(name, count)| format!("{count} {name}")).collect();
    lines.push(texts.join(" | "));
    format!("{}\n{}\n", lines.join("\n"), marks.join(", "))
}

/// A page has figures only of measurements that its results hold, however few those are.
#[test]
fn what_is_missing_is_no_figure() {
    let teams = sample::teams::teams();
    let one_size = |m: &foregather_results::Measurement| m.labels.get("ranks").is_none_or(|ranks| ranks == "2");
    let mut apps = sample::apps::apps();
    apps.measurements.retain(one_size);
    let mut dsm = sample::dsm::dsm();
    dsm.measurements.iter_mut().for_each(|m| m.figures.retain(|name, _| name != "owner_us"));
    assert_eq!(described(&sample::empty("measure teams")), "");
    assert!(!described(&apps).contains("Speedups"), "one number of ranks is no curve");
    assert!(described(&dsm).contains("the rest") && !described(&dsm).contains("owner&#39;s call"), "only parts that there are");
    assert!(page(&[dsm]).contains("Millipage, 1999") && !page(&[teams]).contains("Millipage, 1999"));
}

#[test]
fn figures_are_as_they_were() {
    macro_rules! same {
        ($($name:literal: $results:expr,)*) => {
            $(expect_file![concat!("snapshots/", $name, ".txt")].assert_eq(&described(&$results));)*
        };
    }
    let of = |measurements| Results { measurements, ..sample::empty("simulate") };
    same! {
        "waits": sample::waits(),
        "barriers": sample::barriers(1),
        "ablation": sample::ablation(),
        "predictions": sample::predictions(),
        "drawn": sample::regrets::drawn(),
        "judged": sample::regrets::judged(),
        "advice": sample::advice::verdicts(),
        "cures": sample::advice::cures(),
        "runtimes": sample::regrets::of_runtimes(),
        "butterfly": sample::butterfly(),
        "skew": skew_and_noise::skew(),
        "skew-old": skew_and_noise::old_skew(),
        "noise": skew_and_noise::noise(2),
        "noise-of-many": skew_and_noise::noise(6),
        "messages": sample::messages::messages(),
        "dsm": sample::dsm::dsm(),
        "apps": sample::apps::apps(),
        "teams": sample::teams::teams(),
        "openmp": sample::teams::openmp(),
        "programs": sample::teams::programs(),
        "queues": sample::teams::queues(),
        "blas": sample::teams::blas(),
        "peaks": of(sample::simulated::peaks()),
        "speedups": of(sample::simulated::speedups()),
        "schemes": of(sample::simulated::schemes()),
        "study": of(sample::simulated::study()),
        "transition": of(sample::simulated::transition()),
        "regrets": of(sample::regrets::simulated(2)),
        "timelines": timelines::played(),
    }
}

/// What the head of a page says of these results.
fn lead(results: &Results) -> String {
    let page = page(std::slice::from_ref(results));
    let lead = page.split_once("<p class=lead>").map_or("", |(_, rest)| rest.split("</p>").next().unwrap_or_default());
    lead.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect()
}

/// Pages of one, two and many, on quiet, noisy and unusable machines: nothing follows from an unusable one,
/// nor from values that were measured once.
#[test]
fn headlines_conclude_only_where_the_numbers_allow_it() {
    let [mut one, mut once, mut slower, mut same] = [(); 4].map(|()| sample::teams::programs());
    let change = |of: &mut Results, name: &str, value: f64| {
        of.measurements.iter_mut().filter_map(|m| m.figures.get_mut(name)).for_each(|figure| *figure = value);
    };
    one.measurements.truncate(2);
    once.measurements.truncate(2);
    once.measurements.iter_mut().for_each(|m| m.summary.n = 1);
    for (name, value) in [("ratio", 0.5), ("ratio_least", 0.4), ("ratio_most", 0.6)] {
        change(&mut slower, name, value);
    }
    for (name, value) in [("ratio", 1.1), ("ratio_least", 0.9), ("ratio_most", 1.3)] {
        change(&mut same, name, value);
    }
    let mut row = sample::barriers(1);
    let name = row.measurements[0].labels["row"].clone();
    row.measurements.retain(|m| m.labels.get("row") == Some(&name));
    let mut row_once = row.clone();
    row_once.measurements.iter_mut().for_each(|m| m.summary.n = 1);
    let mut construct = sample::teams::openmp();
    let first = construct.measurements[0].labels.clone();
    construct
        .measurements
        .retain(|m| ["construct", "hogs", "threads"].iter().all(|name| m.labels.get(*name) == first.get(*name)));
    let all = [
        ("one program", one),
        ("one program, one pair", once),
        ("two programs", sample::teams::programs()),
        ("two slower programs", slower),
        ("two programs without a difference", same),
        ("one load", row),
        ("one load, measured once", row_once),
        ("many loads", sample::barriers(1)),
        ("one construct", construct),
        ("many constructs", sample::teams::openmp()),
        ("round trips", sample::waits()),
    ];
    let mut said = String::new();
    for (name, mut results) in all {
        for verdict in [TrustLevel::Quiet, TrustLevel::Noisy, TrustLevel::Unusable] {
            results.noise.verdict = verdict;
            said += &format!("{name}, {verdict}: {}\n", lead(&results));
        }
    }
    expect_file!["snapshots/headlines.txt"].assert_eq(&said);
    for line in
        said.lines().filter(|line| line.contains(", unusable: ") || line.contains(" once, ") || line.contains("one pair, "))
    {
        assert!(line.contains("No conclusion about ") && !line.ends_with(": faster."), "{line}");
    }
}
