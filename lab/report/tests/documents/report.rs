//! The page from results of the size of a demo: complete, self-contained, small, and deaf to hostile text.
use crate::{sample, skew_and_noise, timelines};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use foregather_report::{Figure, figure_svg, figures, page};
use foregather_results::{ClaimOutcome, Measurement, Results, Value, Verdict};
use miniz_oxide::inflate::decompress_to_vec;

fn demo() -> Vec<Results> {
    let mut plans = sample::simulated::plans();
    plans.measurements = [sample::simulated::peaks(), sample::simulated::transition()].concat();
    vec![sample::waits(), sample::barriers(2), sample::butterfly(), sample::reproduction(), plans]
}

/// The results of a demo, and of experiments that a demo has no time for.
fn everything() -> Vec<Results> {
    [
        demo(),
        vec![
            sample::ablation(),
            sample::predictions(),
            sample::regrets::drawn(),
            sample::regrets::judged(),
            sample::regrets::of_runtimes(),
            skew_and_noise::skew(),
            skew_and_noise::noise(2),
            sample::messages::messages(),
            sample::dsm::dsm(),
            sample::apps::apps(),
            sample::teams::teams(),
            sample::teams::openmp(),
            sample::teams::programs(),
            sample::teams::queues(),
            sample::teams::blas(),
            sample::advice::verdicts(),
            sample::advice::cures(),
        ],
    ]
    .concat()
}

/// How many figures `everything` has: all of the list, one for each of its two plans, and the shares of drawn
/// rows beside those of the fixed ones.
fn figures_of_everything() -> usize {
    Figure::all().count() + 2 + 2
}

#[test]
fn a_page_of_everything_shows_every_figure_and_every_claim() {
    let page = page(&everything());
    assert_eq!(page.matches("<figure ").count(), figures_of_everything());
    for told in [
        "noisy",
        "spin 2us, then yield",
        "spin 2.5 far switches, then sleep",
        "worst row",
        "not comparable",
        "Xeon",
        "2026-11-18",
    ] {
        assert!(page.contains(told), "{told} is missing");
    }
    let text = without_tags(&page);
    assert!(text.contains("On two processors the quickest answer comes by spin ("), "the caption is computed from the data");
    assert!(
        text.contains(
            "At 1024 nodes the simulated barrier takes 750 us (no skew), which is what the formula 75 us x log2 n gives."
        )
    );
}

/// What is to be read of a page.
fn without_tags(page: &str) -> String {
    page.split('<').filter_map(|part| Some(part.split_once('>')?.1)).collect()
}

#[test]
fn the_headline_has_numbers_of_the_run_and_the_product_comes_first() {
    let page = page(&demo());
    let (_, lead) = page.split_once("<p class=lead>").expect("a page has a headline");
    let lead = without_tags(&format!("<p>{}", lead.split("</header>").next().unwrap_or_default()));
    for told in [
        "Under 16 loads, Foregather&#39;s barrier is ",
        "LLVM OpenMP: 0.8",
        "Rust std: 0.3",
        "A round trip between two processes",
    ] {
        assert!(lead.contains(told), "{told} is missing: {lead}");
    }
    let (_, first) = page.split_once("<figure ").expect("it has figures");
    let first = first.split("</svg>").next().unwrap_or_default();
    let names = ["Foregather<", "LLVM OpenMP<", "spin<"].map(|name| first.find(name));
    assert!(first.starts_with("id=\"f-barriers\"") && names.is_sorted() && names[0].is_some(), "{names:?}");
    assert_eq!(first.matches(">Foregather<").count(), 1, "one column is the product");
}

#[test]
fn figures_stand_under_their_topics_and_papers_and_claims_lead_to_them() {
    let mut results = timelines::played();
    let claim = |id: &str, verdict| Verdict {
        paper: "seidel-davis1992".to_owned(),
        id: id.to_owned(),
        claim: "c".to_owned(),
        expected: None,
        got: None,
        unit: "us".to_owned(),
        verdict,
        reason: "r".to_owned(),
    };
    results.verdicts = vec![claim("fig3-11b-twice", ClaimOutcome::Holds), claim("rds-bears-65", ClaimOutcome::Differs)];
    let page = page(&[sample::waits(), sample::barriers(1), results]);
    let at = |part: &str| page.find(part).unwrap_or_else(|| panic!("{part} is missing"));
    assert!(
        at("<h2 id=\"first\">") < at("<h2 id=\"topic-4\">") && at("<h2 id=\"topic-4\">") < at("<h2 id=\"seidel-davis1992\">")
    );
    assert!(page.contains("<cite>Global Synchronization Algorithms for the Intel iPSC/860</cite>"));
    assert!(at("data-outcome=\"differs\" open") < at("data-outcome=\"holds\">"), "what differs comes first and is open");
    assert!(page.contains("<code>fig3-11b-twice</code> \u{b7} <a href=\"#f-fig3-11b\">figure 3-11b</a>"));
    for link in page.split("href=\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
        assert!(["id=\"{}\"", "id={}>"].iter().any(|id| page.contains(&id.replace("{}", link))), "#{link} leads nowhere");
    }
}

#[test]
fn very_many_rows_make_a_page_of_the_first_of_them_that_says_so() {
    let mut results = sample::empty("measure barriers");
    let many = |i: usize| {
        let m = Measurement::from_values(format!("barriers/{i}"), "a row", "us", vec![1.0]);
        let m = m.label("row", format!("row {}", i / 2)).label("waiter", ["central/adaptive", "rust-std"][i % 2]);
        m.label("kind", ["ours", "peer"][i % 2]).figure("oracle_share", 1.0)
    };
    results.measurements = (0..100_000).map(many).collect();
    let plan =
        |i: usize| Measurement::from_values(format!("simulate/{i}"), "t: w", "us", vec![1.0]).label("plan", format!("p{i}"));
    results.measurements.extend((0..1_000).map(plan));
    let page = page(&[results]);
    assert!(page.len() < 4_000_000, "{} bytes", page.len());
    for told in [
        "The first 250 of 10000 rows; the data have the others.",
        "Figures show the first 20000 of 101000 measurements of measure barriers; its data have all.",
        "Of 1000 plans and 0 timelines the first 200 of each may have figures",
    ] {
        assert!(page.contains(told), "{told} is missing");
    }
}

#[test]
fn a_page_of_nothing_says_so() {
    let told = "There is nothing to show: these results have no measurements.";
    assert!(page(&[sample::empty("measure waits")]).contains(told) && !page(&demo()).contains(told));
}

#[test]
fn the_page_of_a_demo_is_small_and_asks_nobody_for_anything() {
    let page = page(&demo());
    assert!(page.len() < 240_000, "{} bytes", page.len());
    let without_namespace = page.replace("http://www.w3.org/2000/svg", "");
    for reference in ["http:", "https:", "//cdn", "<link rel=\"stylesheet", "src=", "@import", "url("] {
        assert!(!without_namespace.contains(reference), "{reference}");
    }
}

#[test]
fn the_page_holds_the_document_itself() {
    let results = sample::waits();
    let page = page(std::slice::from_ref(&results));
    let (_, data) = page.split_once("id=\"data0\">").expect("the page holds data");
    let packed = BASE64_STANDARD.decode(data.split('<').next().unwrap_or_default()).expect("it is base64");
    let text = decompress_to_vec(&packed).expect("it is raw deflate");
    assert_eq!(serde_json::from_slice::<Results>(&text).expect("it is a document"), results);
    assert!(packed.len() * 3 < text.len());
}

#[test]
fn hostile_text_is_shown_and_never_obeyed() {
    let evil = "<script>alert(1)</script>\"'&]]>\u{1b}[2J";
    let mut results = sample::empty(evil);
    results.argv.push(evil.to_owned());
    results.notes.push(evil.to_owned());
    results.noise.facts.push(evil.to_owned());
    results.provenance.cpu = Some(evil.to_owned());
    let ping_pong =
        |gap| Measurement::from_values(format!("ping-pong/{}/{}/{}/{gap}", "<b>", "<i>", "<u>"), evil, evil, vec![1.0; 30]);
    results.measurements.extend([ping_pong("0us"), ping_pong("<s>")]);
    let barrier = Measurement::from_values(evil, evil, evil, vec![1.0, 2.0]);
    let barrier = barrier.label("row", evil).label("waiter", evil).label("kind", evil).label("class", "hogs").label("off", evil);
    let barrier = barrier.figure("oracle_share", 1.0).figure("times_full", 2.0);
    let barrier = barrier.figure("measured_us", 1.0).figure("predicted_us", 2.0).figure("factor", 2.0);
    results.measurements.push(barrier.figure("share", 1.0).figure("cpu_us_per_episode", 2.0).figure(evil, 3.0));
    results.measurements.extend(skew_and_noise::hostile(evil));
    results.measurements.extend(sample::messages::hostile(evil));
    results.measurements.extend(sample::dsm::hostile(evil));
    results.measurements.extend(sample::apps::hostile(evil));
    results.measurements.extend(sample::teams::hostile(evil));
    let mut drawn = sample::regrets::drawn().measurements;
    drawn.iter_mut().for_each(|m| _ = m.labels.insert("oracle".to_owned(), evil.to_owned()));
    results.measurements.extend(drawn);
    results.measurements.extend([sample::regrets::hostile(evil), sample::advice::hostile(evil)].concat());
    let mut space = sample::regrets::simulated(1);
    space.iter_mut().for_each(|m| {
        m.labels.insert(evil.to_owned(), evil.to_owned());
        m.labels.values_mut().filter(|choice| *choice == "1 hog" || *choice == "1x").for_each(|choice| *choice += evil);
    });
    results.measurements.extend(space);
    let simulated = Measurement::from_values("simulated/butterfly/x", evil, evil, vec![1.0]);
    results.measurements.push(simulated.label("nodes", "4").label("series", evil));
    // Curves have three points at least.
    let further = |m: &Measurement, times: u32| {
        let mut m = Measurement { id: format!("{}/{times}", m.id), ..m.clone() };
        let numbers = m.labels.values_mut().filter_map(|label| Some((label.parse::<u32>().ok()? * times, label)));
        numbers.for_each(|(number, label)| *label = number.to_string());
        m.figures.entry("measured_us".to_owned()).and_modify(|us| *us *= f64::from(times));
        m
    };
    let further: Vec<_> = results.measurements.iter().flat_map(|m| [10, 100].map(|times| further(m, times))).collect();
    results.measurements.extend(further);
    for (i, axes) in [["x-axis", "series-axis"], ["column-axis", "row-axis"]].into_iter().enumerate() {
        for x in ["<b>", "<i>"] {
            let plan =
                Measurement::from_values(format!("{i}{x}"), evil, evil, vec![1.0, 2.0]).label("plan", format!("{evil}{i}"));
            let plan = plan.label("<x>", x).label(evil, evil).label(axes[0], "<x>").label(axes[1], evil);
            results.measurements.extend([plan]);
        }
    }
    for state in ["computing", "spinning", "ready", "blocked", "native"] {
        let strip =
            Measurement::from_values(format!("{evil}{state}"), evil, evil, vec![1.0; 9]).label("plan", format!("{evil}2"));
        results.measurements.push(strip.label("state", state).label(evil, evil).figure("sample_us", 5.0));
    }
    let text = || evil.to_owned();
    let value = || Some(Value::Text(evil.to_owned()));
    let verdict = ClaimOutcome::Holds;
    results.verdicts.push(Verdict {
        paper: text(),
        id: text(),
        claim: text(),
        expected: value(),
        got: value(),
        unit: text(),
        verdict,
        reason: text(),
    });
    let page = page(&[results.clone(), results]);
    assert_eq!(page.matches("<figure ").count(), 2 * (Figure::all().count() + 5), "hostile labels are drawn like others");
    assert_eq!(page.matches("<script").count(), 3, "the page's own script and the data of two results");
    assert!(!page.contains("<script>alert") && !page.contains('\u{1b}') && !page.contains("<u>"));
}

#[test]
fn nothing_and_odd_values_make_a_page_too() {
    assert!(page(&[]).contains("</html>"));
    let mut results = sample::empty("measure waits");
    let m = |id: &str, values| Measurement::from_values(id, "", "", values);
    results.measurements = vec![
        m("ping-pong/process/two-cpus/spin/0us", vec![]),
        m("ping-pong/process/two-cpus/futex/0us", vec![0.0, -3.0]),
        m("ping-pong/too/short", vec![1.0]),
        m("simulated/butterfly/a", vec![5.0]).label("nodes", "many"),
        m("simulated/butterfly/b", vec![0.0]).label("nodes", "1"),
        m("barriers/x", vec![1.0]).label("row", "r").label("waiter", "w").figure("oracle_share", 0.0),
        m("barriers/y", vec![]).label("row", "r").label("waiter", "v"),
    ];
    let page = page(&[results]);
    assert!(!page.contains("NaN") && !page.contains("=\"inf"), "no coordinate is without a place");
}

#[test]
fn a_figure_alone_has_plain_colours_and_needs_no_page() {
    for figure in Figure::all() {
        let svg = figure_svg(&figure, &everything()).unwrap_or_else(|| panic!("{figure:?} can be drawn"));
        assert!(svg.starts_with("<svg width=\"") && !svg.contains("var("), "{figure:?}");
        check_markup(&svg).unwrap_or_else(|why| panic!("{figure:?}: {why}"));
    }
    assert_eq!(figure_svg(&Figure::Of("butterfly"), &[sample::waits()]), None);
}

/// Checks for well-formed XML, as far as figures use it. A malformed stand-alone figure shows an error
/// instead of the picture.
pub(crate) fn check_markup(mut rest: &str) -> Result<(), String> {
    let mut open = Vec::new();
    while let Some((text, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').ok_or("a tag has no end")?;
        rest = after;
        let entities = text.split('&').skip(1).all(|e| ["amp;", "lt;", "gt;", "quot;", "#39;"].iter().any(|k| e.starts_with(k)));
        let quoted = tag.matches('"').count();
        let name = tag.trim_matches('/').split(' ').next().unwrap_or_default();
        let values = tag.matches("=\"").count();
        if !entities || text.contains('>') || name.is_empty() || !name.chars().all(char::is_alphanumeric) || quoted != 2 * values
        {
            return Err(format!("{text:?} <{tag}>"));
        }
        match (tag.starts_with('/'), tag.ends_with('/')) {
            (true, _) if open.pop() != Some(name) => return Err(format!("</{name}> closes nothing")),
            (false, false) => open.push(name),
            _ => {}
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("{open:?} is never closed")) }
}

#[test]
fn the_check_of_markup_finds_what_is_wrong() {
    assert_eq!(check_markup(r#"<svg a="1"><g><path d="M0 0"/></g><text>1 &lt; 2</text></svg>"#), Ok(()));
    for wrong in ["<svg><g></svg>", "<svg>", "<svg>< 0.03</svg>", "<svg>a & b</svg>", "<svg a=1\"></svg>", "<svg"] {
        assert!(check_markup(wrong).is_err(), "{wrong}");
    }
}

/// Not a test: writes the page and the figures of a demo into the directory `FOREGATHER_SAMPLE`, to be looked
/// at.
#[test]
#[ignore = "writes files for a person to look at; set FOREGATHER_SAMPLE to a directory"]
fn write_a_sample_to_look_at() {
    let directory = std::path::PathBuf::from(std::env::var_os("FOREGATHER_SAMPLE").expect("FOREGATHER_SAMPLE names a directory"));
    let write = |name: &str, text: &str| foregather_results::output::write(&directory.join(name), text).expect("it is writable");
    write("report.html", &page(&demo()));
    write("full.html", &page(&[sample::waits(), sample::barriers(4), sample::butterfly(), sample::reproduction()]));
    for figure in figures(&demo()) {
        if let Some(svg) = figure_svg(&figure, &demo()) {
            write(&format!("{}.svg", figure.name()), &svg);
        }
    }
    for (i, results) in everything().into_iter().enumerate() {
        results.write(&directory.join(format!("{i}-{}.json", results.experiment.replace(' ', "-")))).expect("it is writable");
    }
}
