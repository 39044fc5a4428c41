//! What faults of shared memory cost elsewhere: shown beside what is measured here, and never mixed with it.
use crate::table::ResultTable;

const MILLIPAGE: &str = "PCs of 1999 under Windows NT, on Myrinet";
const ITZKOVITZ: &str = "published: Itzkovitz & Schuster 1999, Table 1";
const ARGO: &str = "two ranks, Open MPI 4.1.4, a virtual machine of 2 processors (Xeon)";
const MEDIANS: &str = "measured for this project on that machine, not published: medians";

/// Microseconds that a system needs for a minipage or page of one size: from, to.
const FAULTS: [[&str; 7]; 3] = [
    ["Millipage, 1999", "128", "204", "-", "212-366", MILLIPAGE, ITZKOVITZ],
    ["Millipage, 1999", "4096", "314", "-", "327-480", MILLIPAGE, ITZKOVITZ],
    ["ArgoDSM, ARGO_LOAD_SIZE=1", "4096", "13.2", "13.4", "25.7", ARGO, MEDIANS],
];

/// All of it as a table.
pub fn faults() -> ResultTable {
    let mut table = ResultTable::new(["elsewhere", "bytes", "read us", "upgrade us", "write us", "machine", "source"]);
    table.rows.extend(FAULTS.map(|row| row.map(str::to_owned).to_vec()));
    table
}
