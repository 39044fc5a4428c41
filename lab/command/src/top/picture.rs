//! What was seen of processes or threads between two looks: rows, their columns, and orders of rows.
//! `lab/results/schema/top.schema.json` describes it as JSON.
use foregather_machine::{CpuId, Nanos, shown};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// A picture of all processes, or of the threads of one.
#[derive(Clone, Debug, Serialize)]
pub(super) struct TopPicture {
    pub(super) schema: &'static str,
    #[serde(rename = "interval_ns", serialize_with = "ns")]
    pub(super) interval: Nanos,
    /// How many processors are online.
    pub(super) processors: u32,
    /// The process whose threads are shown.
    pub(super) process: Option<u32>,
    /// All processes, or that one.
    pub(super) processes: Vec<ProcessRow>,
    pub(super) threads: Vec<ThreadRow>,
    /// What could not be seen, and why.
    pub(super) not_seen: Vec<String>,
}

/// A process. Its times are those of its threads, added up.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct ProcessRow {
    pub(super) process: u32,
    /// `None` if the system hides the process.
    pub(super) name: Option<String>,
    pub(super) user: Option<u32>,
    pub(super) threads: u32,
    #[serde(rename = "ran_ns", serialize_with = "ns")]
    pub(super) ran: Nanos,
    #[serde(rename = "ready_ns", serialize_with = "ns")]
    pub(super) ready: Nanos,
    /// On a processor, waiting for others; `None` if nothing records that.
    #[serde(rename = "spun_ns", serialize_with = "known_ns")]
    pub(super) spun: Option<Nanos>,
    /// Asleep until a partner arrives or a mutex is free; `None` if nothing records that.
    #[serde(rename = "blocked_ns", serialize_with = "known_ns")]
    pub(super) blocked: Option<Nanos>,
    /// Ready, spun and blocked, as far as they are known.
    #[serde(rename = "lost_ns", serialize_with = "ns")]
    pub(super) lost: Nanos,
    /// In which calls how many of its threads sleep.
    pub(super) asleep_in: BTreeMap<&'static str, u32>,
}

/// A thread.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ThreadRow {
    pub(super) thread: u32,
    pub(super) name: Option<String>,
    pub(super) state: &'static str,
    pub(super) cpu: CpuId,
    #[serde(rename = "ran_ns", serialize_with = "ns")]
    pub(super) ran: Nanos,
    #[serde(rename = "ready_ns", serialize_with = "ns")]
    pub(super) ready: Nanos,
    #[serde(rename = "asleep_ns", serialize_with = "ns")]
    pub(super) asleep: Nanos,
    /// On a processor, waiting for others; `None` if nothing records that.
    #[serde(rename = "spun_ns", serialize_with = "known_ns")]
    pub(super) spun: Option<Nanos>,
    /// How often it was preempted, or yielded, in the interval.
    pub(super) preempted: Option<u64>,
    /// How often it went to sleep in the interval.
    pub(super) slept: Option<u64>,
    /// What it waits for at the end of the interval; `None` if it does not, or the system hides that.
    pub(super) waits_for: Option<String>,
}

/// A column of a table of rows `R`.
pub(super) struct TopColumn<R> {
    pub(super) heading: &'static str,
    /// Narrower screens leave it out.
    from: usize,
    /// Its width; 0 for all that is left.
    pub(super) width: usize,
    cell: fn(&R, Nanos) -> String,
    /// What rows are sorted by, the largest first. `None` for columns of text.
    key: Option<fn(&R) -> u64>,
}

const PROCESSES: [TopColumn<ProcessRow>; 10] = [
    TopColumn { heading: "PROCESS", from: 0, width: 7, cell: |row, _| row.process.to_string(), key: None },
    TopColumn { heading: "LOST %", from: 0, width: 7, cell: |row, of| percent(row.lost, of), key: Some(|row| row.lost.0) },
    TopColumn { heading: "RAN %", from: 0, width: 7, cell: |row, of| percent(row.ran, of), key: Some(|row| row.ran.0) },
    TopColumn { heading: "READY %", from: 0, width: 7, cell: |row, of| percent(row.ready, of), key: Some(|row| row.ready.0) },
    TopColumn {
        heading: "SPUN %",
        from: 72,
        width: 7,
        cell: |row, of| known(row.spun, of),
        key: Some(|row| row.spun.map_or(0, |time| time.0)),
    },
    TopColumn {
        heading: "BLOCKED %",
        from: 72,
        width: 9,
        cell: |row, of| known(row.blocked, of),
        key: Some(|row| row.blocked.map_or(0, |time| time.0)),
    },
    TopColumn {
        heading: "THREADS",
        from: 60,
        width: 7,
        cell: |row, _| row.threads.to_string(),
        key: Some(|row| row.threads.into()),
    },
    TopColumn {
        heading: "USER",
        from: 100,
        width: 6,
        cell: |row, _| row.user.map_or("-".into(), |user| user.to_string()),
        key: None,
    },
    TopColumn { heading: "ASLEEP IN", from: 100, width: 44, cell: |row, _| row.calls(), key: None },
    TopColumn { heading: "NAME", from: 0, width: 0, cell: |row, _| name(row.name.as_deref()), key: None },
];

const THREADS: [TopColumn<ThreadRow>; 11] = [
    TopColumn { heading: "THREAD", from: 0, width: 7, cell: |row, _| row.thread.to_string(), key: None },
    TopColumn { heading: "STATE", from: 0, width: 8, cell: |row, _| row.state.to_owned(), key: None },
    TopColumn { heading: "CPU", from: 0, width: 4, cell: |row, _| row.cpu.to_string(), key: None },
    TopColumn { heading: "READY %", from: 0, width: 7, cell: |row, of| percent(row.ready, of), key: Some(|row| row.ready.0) },
    TopColumn { heading: "RAN %", from: 0, width: 6, cell: |row, of| percent(row.ran, of), key: Some(|row| row.ran.0) },
    TopColumn {
        heading: "ASLEEP %",
        from: 100,
        width: 8,
        cell: |row, of| percent(row.asleep, of),
        key: Some(|row| row.asleep.0),
    },
    TopColumn {
        heading: "SPUN %",
        from: 120,
        width: 6,
        cell: |row, of| known(row.spun, of),
        key: Some(|row| row.spun.map_or(0, |time| time.0)),
    },
    TopColumn {
        heading: "PREEMPTED/s",
        from: 120,
        width: 11,
        cell: |row, of| rate(row.preempted, of),
        key: Some(|row| row.preempted.unwrap_or(0)),
    },
    TopColumn {
        heading: "SLEEPS/s",
        from: 80,
        width: 8,
        cell: |row, of| rate(row.slept, of),
        key: Some(|row| row.slept.unwrap_or(0)),
    },
    TopColumn { heading: "NAME", from: 80, width: 15, cell: |row, _| name(row.name.as_deref()), key: None },
    TopColumn {
        heading: "WAITS FOR",
        from: 0,
        width: 0,
        cell: |row, _| row.waits_for.as_deref().map_or_else(String::new, text),
        key: None,
    },
];

/// A heading with its width, as a screen shows it.
pub(super) struct ShownColumn {
    pub(super) heading: &'static str,
    pub(super) width: usize,
    /// Whether its cells are numbers, which stand to the right.
    #[cfg_attr(not(feature = "top"), expect(dead_code, reason = "the table that is printed finds out itself"))]
    pub(super) is_number: bool,
    at: usize,
}

impl TopPicture {
    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        if self.process.is_some() { self.threads.len() } else { self.processes.len() }
    }

    /// The number of the process or thread of a row.
    #[cfg(feature = "top")]
    pub(super) fn id(&self, row: usize) -> u32 {
        if self.process.is_some() { self.threads[row].thread } else { self.processes[row].process }
    }

    /// The columns for which a screen has room.
    pub(super) fn columns(&self, width: usize) -> Vec<ShownColumn> {
        if self.process.is_some() { fitting(&THREADS, width) } else { fitting(&PROCESSES, width) }
    }

    /// The cells of a row.
    pub(super) fn cells(&self, row: usize, columns: &[ShownColumn]) -> Vec<String> {
        let shown = |column: &ShownColumn| match self.process {
            Some(_) => (THREADS[column.at].cell)(&self.threads[row], self.interval),
            None => (PROCESSES[column.at].cell)(&self.processes[row], self.interval),
        };
        columns.iter().map(shown).collect()
    }

    /// The column by which rows are sorted, and their order. `sort` counts the columns that can be sorted by,
    /// round and round.
    pub(super) fn order(&self, sort: usize) -> (&'static str, Vec<usize>) {
        if self.process.is_some() { sorted(&THREADS, &self.threads, sort) } else { sorted(&PROCESSES, &self.processes, sort) }
    }

    /// The line above the table.
    pub(super) fn headline(&self) -> String {
        let sum = |time: fn(&ProcessRow) -> Nanos| {
            self.processes.iter().fold(Nanos::ZERO, |sum, row| sum + time(row)).0 as f64 / self.interval.0.max(1) as f64
        };
        let (ran, ready) = (sum(|row| row.ran), sum(|row| row.ready));
        let threads: u32 = self.processes.iter().map(|row| row.threads).sum();
        let of = match (self.process, self.processes.first()) {
            (Some(process), Some(row)) => format!("{} ({process})", name(row.name.as_deref())),
            (Some(process), None) => format!("process {process}"),
            (None, _) => counted(self.processes.len(), "process"),
        };
        let (threads, processors) = (counted(threads as usize, "thread"), counted(self.processors as usize, "processor"));
        let seconds = self.interval.0 as f64 / 1e9;
        format!("{of}, {threads}: {ran:.1} ran and {ready:.1} were ready on {processors}, mean of {seconds:.1} s")
    }
}

impl ProcessRow {
    fn calls(&self) -> String {
        self.asleep_in.iter().map(|(call, count)| format!("{call} {count}")).collect::<Vec<_>>().join(", ")
    }
}

fn fitting<R>(all: &[TopColumn<R>], width: usize) -> Vec<ShownColumn> {
    let fits = |(_, column): &(usize, &TopColumn<R>)| column.from <= width;
    let mut columns: Vec<_> = all
        .iter()
        .enumerate()
        .filter(fits)
        .map(|(at, column)| ShownColumn { heading: column.heading, width: column.width, is_number: column.key.is_some(), at })
        .collect();
    let taken: usize = columns.iter().map(|column| column.width + 1).sum();
    let rest = width.saturating_sub(taken.saturating_sub(1)).max(1);
    columns.iter_mut().filter(|column| column.width == 0).for_each(|column| column.width = rest);
    columns
}

fn sorted<R>(columns: &[TopColumn<R>], rows: &[R], sort: usize) -> (&'static str, Vec<usize>) {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    let keys: Vec<_> = columns.iter().filter_map(|column| Some((column.heading, column.key?))).collect();
    let Some(&(heading, key)) = keys.get(sort % keys.len().max(1)) else { return ("", order) };
    order.sort_by_key(|&row| core::cmp::Reverse(key(&rows[row])));
    (heading, order)
}

fn ns<S: Serializer>(time: &Nanos, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(time.0)
}

fn known_ns<S: Serializer>(time: &Option<Nanos>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.0).serialize(serializer)
}

/// `1 process`, `2 processes`, `2 threads`.
pub(super) fn counted(count: usize, what: &str) -> String {
    let ending = if what.ends_with('s') { "es" } else { "s" };
    format!("{count} {what}{}", if count == 1 { "" } else { ending })
}

fn percent(time: Nanos, of: Nanos) -> String {
    format!("{:.1}", time.0 as f64 * 100.0 / of.0.max(1) as f64)
}

fn known(time: Option<Nanos>, of: Nanos) -> String {
    time.map_or_else(|| "-".to_owned(), |time| percent(time, of))
}

fn rate(count: Option<u64>, of: Nanos) -> String {
    count.map_or_else(|| "-".to_owned(), |count| format!("{:.0}", count as f64 * 1e9 / of.0.max(1) as f64))
}

fn name(name: Option<&str>) -> String {
    name.map_or_else(|| "(not readable)".to_owned(), text)
}

fn text(foreign: &str) -> String {
    shown(foreign).into_owned()
}
