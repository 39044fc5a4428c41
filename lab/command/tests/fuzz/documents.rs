//! Documents of results, through everything that reads them: tables, comparisons, the page, single figures.
use crate::mutation::Dice;
use crate::{many, sample, tried};
use foregather_report as report;
use foregather_results::{Results, compare};
use serde_json::Value;

/// One of each kind that there is a figure for.
fn samples() -> Vec<Value> {
    let all = [
        sample::waits(),
        sample::barriers(2),
        sample::ablation(),
        sample::predictions(),
        sample::butterfly(),
        sample::reproduction(),
        sample::apps::apps(),
        sample::dsm::dsm(),
        sample::messages::messages(),
        sample::simulated::plans(),
        sample::teams::teams(),
        sample::teams::openmp(),
        sample::teams::programs(),
        sample::teams::queues(),
        sample::teams::blas(),
    ];
    all.iter().map(|results| serde_json::to_value(results).unwrap()).collect()
}

/// Leaves `most` elements of each list, which are enough to be drawn.
fn shortened(value: &mut Value, most: usize) {
    match value {
        Value::Array(items) => {
            items.truncate(most);
            items.iter_mut().for_each(|item| shortened(item, most));
        }
        Value::Object(entries) => entries.values_mut().for_each(|value| shortened(value, most)),
        _ => {}
    }
}

/// A window of the measurements, as short as a document of few numbers, with some changes.
fn mutated(dice: &mut Dice, samples: &[Value]) -> String {
    let mut document = dice.of(samples).clone();
    if let Some(all) = document["measurements"].as_array_mut() {
        let from = dice.below(all.len());
        all.drain(..from);
        all.truncate(1 + dice.below(12));
    }
    shortened(&mut document, 12);
    for _ in 0..dice.below(4) {
        dice.change(&mut document);
    }
    let text = document.to_string();
    if dice.below(3) > 0 { text } else { dice.changed(&text, &samples[0].to_string()[..2_000]) }
}

/// What the resamples of a comparison take, whatever is compared.
const RESAMPLES_BYTES: u64 = 128 << 10;
/// What a page and its figures take whatever they show: the style sheet, the scripts, the papers' texts, axes
/// and legends.
const PAGE_BYTES: u64 = 1 << 20;

fn documents(count: u64) {
    let samples = samples();
    let yardstick = Results::parse(&samples[0].to_string()).unwrap();
    let (mut most, mut most_of_page, mut read) = (0.0_f64, 0.0_f64, 0);
    for number in 0..count {
        let text = mutated(&mut Dice::new(1, number), &samples);
        let mut found = None;
        let share = tried(number, &text, RESAMPLES_BYTES, || {
            let Ok(results) = Results::parse(&text) else { return };
            drop(results.to_table());
            drop(results.to_csv());
            let comparison = compare::compare(&results, if number % 2 == 0 { &yardstick } else { &results });
            drop(comparison.to_text());
            drop(comparison.table().to_csv());
            found = Some(results);
        });
        most = most.max(share);
        let Some(results) = found.map(|results| [results]) else { continue };
        read += 1;
        let share = tried(number, &text, PAGE_BYTES, || {
            drop(report::page(&results));
            for figure in report::figures(&results) {
                drop(report::figure_svg(&figure, &results));
            }
        });
        most_of_page = most_of_page.max(share);
    }
    eprintln!(
        "documents: {count} tried, {read} of them read; the most memory was {most:.2} of its bound, of pages {most_of_page:.2}"
    );
    assert!(read > 0);
}

#[test]
fn a_sample_of_documents_is_read_or_refused_within_bounds() {
    documents(1_000);
}

#[test]
#[ignore = "takes a quarter of an hour; FOREGATHER_FUZZ says how many"]
fn many_documents_are_read_or_refused_within_bounds() {
    documents(many());
}
