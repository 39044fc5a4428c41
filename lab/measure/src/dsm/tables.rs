//! What was found, as tables for people.
use super::output::{ASKED, AT_ONCE, COMPUTING, FAULTS, FETCHES, PARTS, VIEWS, label};
use super::published;
use foregather_results::Measurement;
use foregather_results::number::{digits, short};
use foregather_results::table::ResultTable;

/// All tables, as far as there is something to show; what others have measured comes last.
pub fn text(all: &[Measurement]) -> String {
    let faults = all.iter().any(|m| m.id.starts_with(FAULTS)).then(published::table);
    let tables = [faults_of(all), alone(all), views(all)].into_iter().chain(faults);
    let told: Vec<String> = tables.filter(|table| !table.rows.is_empty()).map(|table| table.to_text()).collect();
    told.join("\n")
}

fn us(ns: Option<f64>) -> String {
    ns.map_or_else(|| "-".to_owned(), |ns| digits(ns / 1e3, 3))
}

fn figure(m: &Measurement, name: &str) -> Option<f64> {
    m.figures.get(name).copied()
}

fn faults_of(all: &[Measurement]) -> ResultTable {
    let own = ["touch", "by", "bytes", "back end", "policy", "owner", "p50 us", "p10", "p99", "min", "/ at once", "cpu us"];
    let mut table = ResultTable::new(own.into_iter().chain(["signal, open", "owner's call", "frames", "rest"]));
    for m in all.iter().filter(|m| [FAULTS, ASKED, COMPUTING].iter().any(|kind| m.id.starts_with(kind))) {
        let mut row = ["touch", "bytes", "backend", "policy"].map(|name| label(m, name)).to_vec();
        row.insert(1, if m.id.starts_with(ASKED) { "accessor" } else { "fault" }.to_owned());
        row.push(if m.id.starts_with(COMPUTING) { "computes" } else { "waits" }.to_owned());
        row.extend([m.summary.p50, figure(m, "p10_ns"), m.summary.p99, m.summary.min].map(us));
        let shown = |name: &&str| figure(m, name).map_or_else(|| "-".to_owned(), |us| digits(us, 3));
        row.extend(["of_at_once", "cpu_us"].iter().chain(&PARTS).map(shown));
        table.rows.push(row);
    }
    table
}

fn alone(all: &[Measurement]) -> ResultTable {
    let mut table = ResultTable::new(["alone", "of", "p50 us", "p10", "p99", "min"]);
    for m in all.iter().filter(|m| m.id.starts_with(AT_ONCE) || m.id.starts_with(FETCHES)) {
        let fetch = m.id.starts_with(FETCHES);
        let name = if fetch { format!("fetch of {} bytes", label(m, "bytes")) } else { label(m, "touch") };
        let mut row = vec![name, label(m, if fetch { "fabric" } else { "backend" })];
        row.extend([m.summary.p50, figure(m, "p10_ns"), m.summary.p99, m.summary.min].map(us));
        table.rows.push(row);
    }
    table
}

/// A row for each size, a column for each number of views.
fn views(all: &[Measurement]) -> ResultTable {
    let all: Vec<&Measurement> = all.iter().filter(|m| m.id.starts_with(VIEWS)).collect();
    let distinct = |name: &str| {
        let mut numbers: Vec<u32> = all.iter().filter_map(|m| label(m, name).parse().ok()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    };
    let counts = distinct("views");
    let mut table =
        ResultTable::new(["through views / one view".to_owned()].into_iter().chain(counts.iter().map(u32::to_string)));
    for kib in distinct("kib") {
        let of = |views: &u32| {
            let found = all.iter().find(|m| label(m, "kib") == kib.to_string() && label(m, "views") == views.to_string());
            found.and_then(|m| figure(m, "ratio")).map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"))
        };
        let row = [format!("{}iB", short_of(kib))].into_iter().chain(counts.iter().map(of)).collect();
        table.rows.push(row);
    }
    table
}

fn short_of(kib: u32) -> String {
    if kib.is_multiple_of(1_024) { format!("{} M", kib >> 10) } else { format!("{} K", short(f64::from(kib))) }
}
