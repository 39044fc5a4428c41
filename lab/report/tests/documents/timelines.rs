//! Timelines from the simulator to the page.
use crate::report::check_markup;
use crate::sample;
use foregather_report::{Figure, figure_svg, figures, page};
use foregather_reproduce::seidel::scenes::scenes;
use foregather_results::{Passage, Results, Spell, Timeline};

/// All timelines of a paper, as its reproduction gives them.
pub(crate) fn played() -> Results {
    let names = ["fig2", "gsync", "sync0", "rds", "interrupt"];
    let timelines = names.into_iter().flat_map(|name| scenes(name).expect("it can be played")).collect();
    Results { timelines, ..sample::empty("reproduce") }
}

/// How often a kind of bar or title occurs.
fn count(svg: &str, told: &str) -> usize {
    svg.matches(told).count()
}

#[test]
fn every_timeline_is_a_figure_with_all_its_packets_and_a_caption() {
    let results = [played()];
    let drawn: Vec<Figure> = figures(&results).into_iter().filter(|figure| matches!(figure, Figure::Timeline(_))).collect();
    assert_eq!(drawn.len(), results[0].timelines.len());
    let mut bytes = 0;
    for (figure, timeline) in drawn.iter().zip(&results[0].timelines) {
        let svg = figure_svg(figure, &results).expect("it is drawn");
        check_markup(&svg).unwrap_or_else(|why| panic!("{}: {why}", timeline.name));
        bytes += svg.len();
        assert!(!svg.contains("var(") && !svg.contains("NaN"));
        assert_eq!(count(&svg, "<title>"), timeline.packets.len() + timeline.busy.len(), "{}", timeline.name);
        for node in 0..timeline.nodes {
            assert!(svg.contains(&format!(">node {node}<")), "{}", timeline.name);
        }
    }
    assert!(bytes < 128 << 10, "{bytes} bytes");
    let page = page(&results);
    assert_eq!(page.matches("<figure ").count(), drawn.len());
    assert!(page.contains(&results[0].timelines[4].shows));
}

#[test]
fn a_blocked_packet_is_hatched_and_an_interrupt_is_named() {
    let results = [played()];
    let svg = |name: &str| figure_svg(&Figure::Timeline(name.to_owned()), &results).unwrap();
    let hit = svg("fig3-11b");
    assert!(hit.contains("2 interrupted from 275.0 to 325.0 us") && hit.contains("waits for a port"), "{hit}");
    assert!(svg("fig3-8").contains("waits on purpose") && !svg("fig2-1").contains("waits for a port"));
}

#[test]
fn timelines_survive_a_file_and_older_files_have_none() {
    let results = played();
    assert_eq!(Results::parse(&results.to_json()).unwrap(), results);
    let none = sample::empty("measure waits");
    assert!(!none.to_json().contains("timelines"));
    assert!(Results::parse(&none.to_json()).unwrap().timelines.is_empty());
}

#[test]
fn hostile_and_empty_timelines_are_harmless() {
    let evil = "<script>alert(1)</script>\"'&]]>";
    let passage = Passage {
        kind: evil.to_owned(),
        from: 0,
        to: 9,
        asked_us: 5.0,
        began_us: 3.0,
        granted_us: -1.0,
        left_us: 1e300,
        arrived_us: 0.0,
    };
    let spell = Spell { node: 7, what: evil.to_owned(), from_us: 9.0, to_us: 2.0 };
    let text = || evil.to_owned();
    let bad = Timeline {
        name: text(),
        title: text(),
        shows: text(),
        nodes: 1,
        packets: vec![passage],
        busy: vec![spell],
        ..Timeline::default()
    };
    let empty = Timeline { name: "empty".to_owned(), ..Timeline::default() };
    let results = Results { timelines: vec![bad, empty], ..sample::empty("reproduce") };
    let page = page(std::slice::from_ref(&results));
    assert!(!page.contains("<script>alert") && !page.contains("NaN"));
    let svg = figure_svg(&Figure::Timeline(text()), &[results]).unwrap();
    check_markup(&svg).unwrap();
}

/// Not a test: writes a page of all timelines into the directory `FOREGATHER_SAMPLE`, to be looked at.
#[test]
#[ignore = "writes files for a person to look at; set FOREGATHER_SAMPLE to a directory"]
fn write_timelines_to_look_at() {
    let directory = std::path::PathBuf::from(std::env::var_os("FOREGATHER_SAMPLE").expect("FOREGATHER_SAMPLE names a directory"));
    let write = |name: &str, text: &str| foregather_results::output::write(&directory.join(name), text).expect("it is writable");
    write("timelines.html", &page(&[played()]));
}
