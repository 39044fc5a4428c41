//! What faults cost on other systems, as published or measured elsewhere: to be shown beside what is measured here, and never mixed with it.
use foregather_results::table::ResultTable;

/// What one system needs for a minipage or page of one size, in microseconds: from, to.
pub struct Published {
    /// The system, and when.
    pub system: &'static str,
    /// On what it ran.
    pub machine: &'static str,
    /// Who says so.
    pub source: &'static str,
    /// Bytes that are fetched.
    pub bytes: u32,
    /// A load of what another rank owns.
    pub read_us: Option<(f64, f64)>,
    /// A store to what was loaded before.
    pub upgrade_us: Option<(f64, f64)>,
    /// A store to what another rank owns.
    pub write_us: Option<(f64, f64)>,
}

const MILLIPAGE: &str = "PCs of 1999 under Windows NT, on Myrinet";
const ITZKOVITZ: &str = "published: Itzkovitz & Schuster 1999, Table 1";

/// All that is shown.
pub const PUBLISHED: [Published; 3] = [
    Published {
        system: "Millipage, 1999",
        machine: MILLIPAGE,
        source: ITZKOVITZ,
        bytes: 128,
        read_us: Some((204.0, 204.0)),
        upgrade_us: None,
        write_us: Some((212.0, 366.0)),
    },
    Published {
        system: "Millipage, 1999",
        machine: MILLIPAGE,
        source: ITZKOVITZ,
        bytes: 4_096,
        read_us: Some((314.0, 314.0)),
        upgrade_us: None,
        write_us: Some((327.0, 480.0)),
    },
    Published {
        system: "ArgoDSM, ARGO_LOAD_SIZE=1",
        machine: "two ranks, Open MPI 4.1.4, a virtual machine of 2 processors (Xeon)",
        source: "measured for this project on that machine, not published: medians",
        bytes: 4_096,
        read_us: Some((13.2, 13.2)),
        upgrade_us: Some((13.4, 13.4)),
        write_us: Some((25.7, 25.7)),
    },
];

/// A time, or from when to when, as text.
pub fn span(us: Option<(f64, f64)>) -> String {
    match us {
        None => "-".to_owned(),
        Some((from, to)) if from < to => format!("{from}-{to}"),
        Some((from, _)) => format!("{from}"),
    }
}

/// All of it as a table.
pub fn table() -> ResultTable {
    let mut table = ResultTable::new(["elsewhere", "bytes", "read us", "upgrade us", "write us", "machine", "source"]);
    for of in &PUBLISHED {
        let times = [of.read_us, of.upgrade_us, of.write_us].map(span);
        let mut row = vec![of.system.to_owned(), of.bytes.to_string()];
        row.extend(times);
        row.extend([of.machine.to_owned(), of.source.to_owned()]);
        table.rows.push(row);
    }
    table
}
