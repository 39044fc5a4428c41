//! What was found, as measurements and as tables, and what faults cost on other systems, as published or
//! measured elsewhere: to be shown beside what is measured here, and never mixed with it.
use foregather_bench::dsm::{DsmBenchmark, Figures, Quantity, Timed};
use foregather_results::elsewhere;
use foregather_results::ids::{ASKED, COMPUTING, FAULT_PARTS, FAULTS, VIEWS};
use foregather_results::number::{digits, short};
use foregather_results::table::Shows::{By, Figure, Label};
use foregather_results::table::{Heading, ResultTable, texts};
use foregather_results::{Distribution, Measurement};
use std::collections::BTreeMap;

/// What ids of faults answered at once, and of calls, begin with.
pub const AT_ONCE: &str = "dsm-at-once/";
/// What ids of requests on the bare fabric begin with.
pub const FETCHES: &str = "dsm-fetch/";
/// Values that differ by less are kept as one: the clock's reading alone takes longer.
const GRAIN_NS: u64 = 10;

/// What a cell is, in words.
pub(super) fn name_of(task: &DsmBenchmark) -> String {
    match task {
        DsmBenchmark::Faults { bytes, backend, policy, computing, asking, .. } => {
            let (what, owner) = (if *asking { "calls" } else { "faults" }, if *computing { ", the owner computes" } else { "" });
            format!("{what} for {bytes} bytes, {backend}, {policy}{owner}")
        }
        DsmBenchmark::Fetch { .. } => "fetches by bare frames".to_owned(),
        DsmBenchmark::AtOnce { backend, .. } => format!("faults answered at once, {backend}"),
        DsmBenchmark::Views { bytes, views, .. } => format!("{} KiB through {views} views", bytes >> 10),
    }
}

/// What two turns of a cell gave.
pub(super) fn together(mut all: Figures, new: Figures) -> Figures {
    for new in new.timed {
        match all.timed.iter_mut().find(|known| (known.what, known.bytes) == (new.what, new.bytes)) {
            None => all.timed.push(new),
            Some(known) => {
                known.ns.extend(new.ns);
                known.cpu_ns = [known.cpu_ns[0] + new.cpu_ns[0], known.cpu_ns[1] + new.cpu_ns[1]];
            }
        }
    }
    all.notes.extend(new.notes);
    all
}

/// A cell, and the times of all its turns.
type CellTimes = (DsmBenchmark, Vec<Timed>);

/// All that the cells gave.
pub(super) fn measurements(fabric: &str, cells: &[CellTimes]) -> Vec<Measurement> {
    let mut all: Vec<Measurement> = cells.iter().flat_map(|cell| of_cell(fabric, cell)).collect();
    let medians: BTreeMap<String, f64> = all.iter().filter_map(|m| Some((m.id.clone(), m.summary.p50?))).collect();
    for m in all.iter_mut().filter(|m| m.id.starts_with(FAULTS) || m.id.starts_with(ASKED)) {
        *m = with_parts(m.clone(), &medians);
    }
    all
}

fn of_cell(fabric: &str, (task, all): &CellTimes) -> Vec<Measurement> {
    let of = |timed: &Timed| match task {
        DsmBenchmark::Faults { bytes, backend, policy, computing, asking, .. } => {
            let (kind, what) = match (*computing, *asking) {
                (true, _) => (COMPUTING, "a fault now and then while the owner computes"),
                (false, true) => (ASKED, "an accessor's call for what it has not"),
                (false, false) => (FAULTS, "a fault"),
            };
            let id = format!("{kind}{fabric}/{backend}/{policy}/{bytes}B/{}", timed.what.name());
            let m = spread(id, what, timed).label("fabric", fabric).label("policy", policy.clone());
            let m = m.label("backend", backend.clone()).label("bytes", bytes.to_string()).label("touch", timed.what.name());
            // What computes uses all of its processor, whatever faults do.
            let faults = if *computing { f64::NAN } else { timed.ns.len() as f64 };
            let [here, there] = timed.cpu_ns.map(|ns| ns as f64 / 1e3 / faults);
            m.figure("cpu_us", here + there).figure("cpu_us_here", here).figure("cpu_us_owner", there)
        }
        DsmBenchmark::Fetch { .. } => {
            let m = spread(format!("{FETCHES}{fabric}/{}B", timed.bytes), "a request and its answer as bare frames", timed);
            m.label("fabric", fabric).label("bytes", timed.bytes.to_string())
        }
        DsmBenchmark::AtOnce { backend, .. } => {
            let id = format!("{AT_ONCE}{backend}/{}", timed.what.name());
            spread(id, "within one process", timed).label("backend", backend.clone()).label("touch", timed.what.name())
        }
        DsmBenchmark::Views { .. } => unreachable!("views are held against one view"),
    };
    match task {
        DsmBenchmark::Views { backend, bytes, views, .. } => of_views((backend, *bytes, *views), all).into_iter().collect(),
        _ => all.iter().map(of).collect(),
    }
}

/// Many values, with the figure that a summary has not.
fn spread(id: String, what: &str, timed: &Timed) -> Measurement {
    let mut histogram = BTreeMap::new();
    for ns in &timed.ns {
        *histogram.entry(ns.div_ceil(GRAIN_NS) * GRAIN_NS).or_insert(0) += 1;
    }
    let m = Measurement::from_histogram(id, what, "ns", histogram.into_iter().collect());
    let p10 = m.distribution().map_or(f64::NAN, |all| all.quantile(0.1));
    m.figure("p10_ns", p10)
}

/// The parts of a fault were measured alone, so what remains is no more than a difference of medians.
fn with_parts(m: Measurement, medians: &BTreeMap<String, f64>) -> Measurement {
    let [fabric, backend, bytes, touch] = ["fabric", "backend", "bytes", "touch"].map(|name| m.text(name).to_owned());
    let (at_once, opening, owner, bytes) = match touch.as_str() {
        "read" => (Quantity::ReadAtOnce, Quantity::OpenToRead, Quantity::Downgrade, bytes),
        "upgrade" => (Quantity::UpgradeAtOnce, Quantity::Raise, Quantity::CloseRead, "0".to_owned()),
        _ => (Quantity::WriteAtOnce, Quantity::OpenToWrite, Quantity::CloseWritten, bytes),
    };
    let median = |id: String| medians.get(&id).copied().unwrap_or(f64::NAN);
    let of_call = |what: Quantity| median(format!("{AT_ONCE}{backend}/{}", what.name()));
    // Without a signal there is only the opening.
    let first = of_call(if m.id.starts_with(ASKED) { opening } else { at_once });
    let parts = [first, of_call(owner), median(format!("{FETCHES}{fabric}/{bytes}B"))];
    let whole = m.median();
    let rest = whole - parts.iter().sum::<f64>();
    let m = m.figure("of_at_once", whole / of_call(at_once));
    let m = FAULT_PARTS.iter().zip(parts).fold(m, |m, (name, ns)| m.figure(name, ns / 1e3));
    m.figure(FAULT_PARTS[3], rest / 1e3)
}

fn of_views((backend, bytes, views): (&str, usize, u32), timed: &[Timed]) -> Option<Measurement> {
    let of = |what: Quantity| {
        timed.iter().find(|timed| timed.what == what).map(|timed| timed.ns.iter().map(|&ns| ns as f64).collect())
    };
    let (many, one): (Vec<f64>, Vec<f64>) = (of(Quantity::ThroughViews)?, of(Quantity::ThroughOne)?);
    let one = Distribution::of_values(&one)?;
    let kib = (bytes >> 10).to_string();
    let m = Measurement::from_values(format!("{VIEWS}{backend}/{kib}KiB/{views}"), "a traversal through all views", "ns", many);
    let ratio = m.summary.min.unwrap_or(f64::NAN) / one.quantile(0.0);
    let median = m.median() / one.quantile(0.5);
    let m = m.label("backend", backend).label("kib", kib).label("views", views.to_string());
    Some(m.figure("one_view_ns", one.quantile(0.0)).figure("ratio", ratio).figure("ratio_of_medians", median))
}

const OF_FAULTS: [Heading; 16] = [
    ("touch", Label("touch")),
    ("by", By(|m| if m.id.starts_with(ASKED) { "accessor" } else { "fault" }.to_owned())),
    ("bytes", Label("bytes")),
    ("back end", Label("backend")),
    ("policy", Label("policy")),
    ("owner", By(|m| if m.id.starts_with(COMPUTING) { "computes" } else { "waits" }.to_owned())),
    ("p50 us", By(|m| us(m.summary.p50))),
    ("p10", By(|m| us(Some(m.number("p10_ns"))))),
    ("p99", By(|m| us(m.summary.p99))),
    ("min", By(|m| us(m.summary.min))),
    ("/ at once", Figure("of_at_once")),
    ("cpu us", Figure("cpu_us")),
    ("signal, open", Figure(FAULT_PARTS[0])),
    ("owner's call", Figure(FAULT_PARTS[1])),
    ("frames", Figure(FAULT_PARTS[2])),
    ("rest", Figure(FAULT_PARTS[3])),
];
const ALONE: [Heading; 6] = [
    ("alone", By(|m| if is_fetch(m) { format!("fetch of {} bytes", m.text("bytes")) } else { m.text("touch").to_owned() })),
    ("of", By(|m| m.text(if is_fetch(m) { "fabric" } else { "backend" }).to_owned())),
    ("p50 us", OF_FAULTS[6].1),
    ("p10", OF_FAULTS[7].1),
    ("p99", OF_FAULTS[8].1),
    ("min", OF_FAULTS[9].1),
];

fn is_fetch(m: &Measurement) -> bool {
    m.id.starts_with(FETCHES)
}

fn us(ns: Option<f64>) -> String {
    ns.map_or_else(|| "-".to_owned(), |ns| digits(ns / 1e3, 3))
}

/// All tables, as far as there is something to show; what others have measured comes last.
pub(super) fn text(all: &[Measurement]) -> String {
    let of = |columns: &[Heading], kinds: &[&str]| {
        ResultTable::of(columns, all.iter().filter(|m| kinds.iter().any(|kind| m.id.starts_with(kind))))
    };
    let elsewhere = all.iter().any(|m| m.id.starts_with(FAULTS)).then(elsewhere::faults);
    texts([of(&OF_FAULTS, &[FAULTS, ASKED, COMPUTING]), of(&ALONE, &[AT_ONCE, FETCHES]), views(all)].into_iter().chain(elsewhere))
}

/// A row for each size, a column for each number of views.
fn views(all: &[Measurement]) -> ResultTable {
    let all: Vec<&Measurement> = all.iter().filter(|m| m.id.starts_with(VIEWS)).collect();
    let distinct = |name: &str| {
        let mut numbers: Vec<u32> = all.iter().filter_map(|m| m.text(name).parse().ok()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    };
    let counts = distinct("views");
    let mut table =
        ResultTable::new(["through views / one view".to_owned()].into_iter().chain(counts.iter().map(u32::to_string)));
    for kib in distinct("kib") {
        let of = |views: &u32| {
            let found = all.iter().find(|m| m.text("kib") == kib.to_string() && m.text("views") == views.to_string());
            found.and_then(|m| m.figures.get("ratio")).map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}"))
        };
        let row = [format!("{}iB", short_of(kib))].into_iter().chain(counts.iter().map(of)).collect();
        table.rows.push(row);
    }
    table
}

fn short_of(kib: u32) -> String {
    if kib.is_multiple_of(1_024) { format!("{} M", kib >> 10) } else { format!("{} K", short(f64::from(kib))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(what: Quantity, bytes: usize, ns: &[u64]) -> Timed {
        Timed { what, bytes, ns: ns.to_vec(), cpu_ns: [4_000, 2_000] }
    }

    fn cells() -> [CellTimes; 3] {
        let backend = || "mprotect".to_owned();
        let faults = DsmBenchmark::Faults {
            bytes: 148,
            backend: backend(),
            policy: "spin".into(),
            computing: false,
            asking: false,
            pause_ns: 0,
            rounds: 1,
        };
        let alone = [
            (Quantity::ReadAtOnce, 2_000),
            (Quantity::Downgrade, 500),
            (Quantity::UpgradeAtOnce, 3_000),
            (Quantity::CloseRead, 700),
        ];
        let alone = alone.into_iter().map(|(what, ns)| timed(what, 0, &[ns])).collect();
        [
            (faults, vec![timed(Quantity::Read, 148, &[5_001, 4_000, 9_000]), timed(Quantity::Upgrade, 148, &[5_000])]),
            (DsmBenchmark::AtOnce { backend: backend(), rounds: 1 }, alone),
            (
                DsmBenchmark::Fetch { sizes: vec![], rounds: 1 },
                vec![timed(Quantity::Fetch, 0, &[300]), timed(Quantity::Fetch, 148, &[400])],
            ),
        ]
    }

    #[test]
    fn what_remains_of_a_fault_is_what_its_parts_leave() {
        let all = measurements("shm", &cells());
        let read = all.iter().find(|m| m.id == "dsm-faults/shm/mprotect/spin/148B/read").unwrap();
        assert_eq!((read.summary.p50, read.summary.n), (Some(5_010.0), 3), "rounded up to ten");
        let near = |m: &Measurement, name: &str, us: f64| assert!((m.figures[name] - us).abs() < 1e-9, "{name}: {:?}", m.figures);
        near(read, "signal_us", 2.0);
        near(read, "frames_us", 0.4);
        near(read, "rest_us", 5.01 - 2.0 - 0.5 - 0.4);
        near(read, "cpu_us", 2.0);
        near(read, "of_at_once", 5.01 / 2.0);
        let upgrade = all.iter().find(|m| m.id.ends_with("/upgrade")).unwrap();
        // A grant has no bytes, and closes what could be read.
        near(upgrade, "rest_us", 5.0 - 3.0 - 0.7 - 0.3);
    }

    #[test]
    fn a_part_that_was_not_measured_leaves_no_rest() {
        let all = measurements("shm", &cells()[..1]);
        assert!(all.iter().all(|m| !m.figures.contains_key("rest_us") && m.figures.contains_key("p10_ns")));
    }

    #[test]
    fn turns_are_gathered_and_views_are_held_against_one() {
        let task = DsmBenchmark::Views { backend: "userfaultfd".into(), bytes: 1 << 20, views: 27, turns: 1 };
        let turn = |many, one| Figures {
            timed: vec![timed(Quantity::ThroughViews, 1 << 20, &[many]), timed(Quantity::ThroughOne, 1 << 20, &[one])],
            notes: vec![],
        };
        let all = measurements("shm", &[(task, together(turn(300, 200), turn(360, 240)).timed)]);
        assert_eq!((all.len(), all[0].figures["ratio"], all[0].summary.n), (1, 1.5, 2));
        let told = text(&all);
        assert!(told.contains("1 MiB") && told.contains("1.50") && !told.contains("Millipage"), "{told}");
    }

    #[test]
    fn people_see_what_others_have_measured_beside_faults() {
        let told = text(&measurements("shm", &cells()));
        assert!(told.contains("Millipage, 1999") && told.contains("212-366") && told.contains("13.2"), "{told}");
        assert!(told.contains("signal, open") && told.contains("fetch of 148 bytes"), "{told}");
    }
}
