//! What was seen of processes or threads between two looks: rows, their columns, and orders of rows.
//! `lab/results/schema/top.schema.json` describes it as JSON.
use TopCell::{Count, Rate, Share, Text};
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
    cell: TopCell<R>,
}

/// What a column shows of a row. Rows can be sorted by all but text, the largest first.
#[derive(Clone, Copy)]
enum TopCell<R> {
    Text(fn(&R) -> String),
    Count(fn(&R) -> u32),
    /// A time as a share of the interval.
    Share(fn(&R) -> Option<Nanos>),
    /// A number as a rate per second.
    Rate(fn(&R) -> Option<u64>),
}

impl<R> TopCell<R> {
    fn is_number(&self) -> bool {
        !matches!(self, Text(_))
    }

    fn shown(&self, row: &R, interval: Nanos) -> String {
        let known = |cell: Option<String>| cell.unwrap_or_else(|| "-".to_owned());
        match self {
            Text(text) => text(row),
            Count(count) => count(row).to_string(),
            Share(time) => known(time(row).map(|time| format!("{:.1}", time.0 as f64 * 100.0 / interval.0.max(1) as f64))),
            Rate(count) => known(count(row).map(|count| format!("{:.0}", count as f64 * 1e9 / interval.0.max(1) as f64))),
        }
    }

    /// What rows are sorted by.
    fn key(&self, row: &R) -> u64 {
        match self {
            Text(_) => 0,
            Count(count) => count(row).into(),
            Share(time) => time(row).map_or(0, |time| time.0),
            Rate(count) => count(row).unwrap_or(0),
        }
    }
}

const fn column<R>(heading: &'static str, from: usize, width: usize, cell: TopCell<R>) -> TopColumn<R> {
    TopColumn { heading, from, width, cell }
}

const PROCESSES: [TopColumn<ProcessRow>; 10] = [
    column("PROCESS", 0, 7, Text(|row| row.process.to_string())),
    column("LOST %", 0, 7, Share(|row| Some(row.lost))),
    column("RAN %", 0, 7, Share(|row| Some(row.ran))),
    column("READY %", 0, 7, Share(|row| Some(row.ready))),
    column("SPUN %", 72, 7, Share(|row| row.spun)),
    column("BLOCKED %", 72, 9, Share(|row| row.blocked)),
    column("THREADS", 60, 7, Count(|row| row.threads)),
    column("USER", 100, 6, Text(|row| row.user.map_or("-".into(), |user| user.to_string()))),
    column("ASLEEP IN", 100, 44, Text(ProcessRow::calls)),
    column("NAME", 0, 0, Text(|row| name(row.name.as_deref()))),
];

const THREADS: [TopColumn<ThreadRow>; 11] = [
    column("THREAD", 0, 7, Text(|row| row.thread.to_string())),
    column("STATE", 0, 8, Text(|row| row.state.to_owned())),
    column("CPU", 0, 4, Text(|row| row.cpu.to_string())),
    column("READY %", 0, 7, Share(|row| Some(row.ready))),
    column("RAN %", 0, 6, Share(|row| Some(row.ran))),
    column("ASLEEP %", 100, 8, Share(|row| Some(row.asleep))),
    column("SPUN %", 120, 6, Share(|row| row.spun)),
    column("PREEMPTED/s", 120, 11, Rate(|row| row.preempted)),
    column("SLEEPS/s", 80, 8, Rate(|row| row.slept)),
    column("NAME", 80, 15, Text(|row| name(row.name.as_deref()))),
    column("WAITS FOR", 0, 0, Text(|row| row.waits_for.as_deref().map_or_else(String::new, text))),
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
            Some(_) => THREADS[column.at].cell.shown(&self.threads[row], self.interval),
            None => PROCESSES[column.at].cell.shown(&self.processes[row], self.interval),
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
        .map(|(at, column)| ShownColumn { heading: column.heading, width: column.width, is_number: column.cell.is_number(), at })
        .collect();
    let taken: usize = columns.iter().map(|column| column.width + 1).sum();
    let rest = width.saturating_sub(taken.saturating_sub(1)).max(1);
    columns.iter_mut().filter(|column| column.width == 0).for_each(|column| column.width = rest);
    columns
}

fn sorted<R>(columns: &[TopColumn<R>], rows: &[R], sort: usize) -> (&'static str, Vec<usize>) {
    let mut order: Vec<usize> = (0..rows.len()).collect();
    let numbers: Vec<_> = columns.iter().filter(|column| column.cell.is_number()).collect();
    let Some(column) = numbers.get(sort % numbers.len().max(1)) else { return ("", order) };
    order.sort_by_key(|&row| core::cmp::Reverse(column.cell.key(&rows[row])));
    (column.heading, order)
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

fn name(name: Option<&str>) -> String {
    name.map_or_else(|| "(not readable)".to_owned(), text)
}

fn text(foreign: &str) -> String {
    shown(foreign).into_owned()
}
