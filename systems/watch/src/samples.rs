//! Samples of the code that threads execute, added up by thread and place.
use foregather_host::watched::page::ThreadActivity;
use foregather_machine::{Nanos, ThreadId};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};

/// A function, by its file and the nearest symbol in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SampledFunction {
    /// Its name; `None` if the file has no symbol there.
    pub name: Option<String>,
    /// The library or program that it belongs to, as readers know it.
    pub library: String,
    /// Whether that is a runtime of OpenMP, whose own code forks, joins and waits.
    pub is_runtime: bool,
}

/// What a thread does in a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SampledUse {
    /// The program's work.
    Work,
    /// Waits for other threads of its pool, in code of a runtime.
    Spin,
    /// Gives its processor to other threads, again and again.
    Yield,
    /// Waits for a lock.
    Lock,
    /// Code of the C library, the loader or the kernel's page: its callers are not known.
    System,
}

/// Functions of OpenBLAS in which servers wait for calls, calls for servers, and servers for each other's
/// parts: kernels compute.
const SERVERS: [&str; 4] = ["blas_thread_server", "exec_blas", "inner_thread", "inner_advanced_thread"];
/// Functions of the C library that wait for a lock.
const LOCKS: [&str; 4] = ["pthread_spin_", "pthread_mutex_lock", "lll_lock", "pthread_rwlock_"];
/// Libraries that all kinds of functions call.
const SYSTEM: [&str; 6] = ["libc", "ld-linux", "[vdso]", "libpthread", "libforegather_watch", "unknown code"];

impl SampledUse {
    /// On a processor, waiting for other threads or for work.
    pub const SPINS: [Self; 2] = [Self::Spin, Self::Yield];
}

impl SampledFunction {
    /// What a thread that executes it does.
    pub fn used_for(&self) -> SampledUse {
        let name = self.name.as_deref().unwrap_or_default();
        let is_server = || SERVERS.iter().any(|server| name.starts_with(server));
        if self.is_runtime || (self.library == "OpenBLAS" && is_server()) {
            SampledUse::Spin
        } else if name.trim_start_matches('_').starts_with("sched_yield") {
            SampledUse::Yield
        } else if LOCKS.iter().any(|lock| name.trim_start_matches('_').starts_with(lock)) {
            SampledUse::Lock
        } else if SYSTEM.iter().any(|library| self.library.starts_with(library)) {
            SampledUse::System
        } else {
            SampledUse::Work
        }
    }

    /// `burn (planted)`.
    pub fn label(&self) -> String {
        match &self.name {
            Some(name) => format!("{name} ({})", self.library),
            None => self.library.clone(),
        }
    }
}

/// Samples of all threads. A place is what the watcher knows of an address: first where in which file, later
/// which function.
#[derive(Clone, Debug)]
pub struct SampleTally<P> {
    /// How many there were.
    pub count: u64,
    /// Samples that were overwritten before they were read.
    pub lost: u64,
    /// How often each thread was at a place, by what it did.
    pub threads: BTreeMap<(ThreadId, ThreadActivity), BTreeMap<P, u64>>,
    /// How often each thread was at a place while all other members of a team waited for it.
    pub late: BTreeMap<ThreadId, BTreeMap<P, u64>>,
    /// Samples whose episodes have not ended yet.
    pub(crate) open: BTreeMap<ThreadId, VecDeque<(Nanos, P)>>,
}

/// The most samples of a thread that wait for the end of its episode: those of forty seconds.
const OPEN: usize = 4_096;

impl<P> Default for SampleTally<P> {
    fn default() -> Self {
        let (threads, late, open) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { count: 0, lost: 0, threads, late, open }
    }
}

impl<P: Ord + Clone> SampleTally<P> {
    /// Adds a sample. Those of a thread come in the order of time, and before its arrivals that are later.
    pub fn add(&mut self, thread: ThreadId, activity: ThreadActivity, at: Nanos, place: P) {
        self.count += 1;
        *self.threads.entry((thread, activity)).or_default().entry(place.clone()).or_default() += 1;
        // A thread that lost its processor is sampled when it has one again: an idle worker is late by that
        // wait, not by the spin in which it was interrupted.
        if matches!(activity, ThreadActivity::Arrived | ThreadActivity::Idle) {
            return;
        }
        let open = self.open.entry(thread).or_default();
        if open.len() == OPEN {
            open.pop_front();
        }
        open.push_back((at, place));
    }

    /// Counts the samples of the last member of an episode that were taken while it alone was missing: after
    /// the arrival of the member before it.
    pub fn settle(&mut self, last: ThreadId, second: Nanos, arrived: Nanos) {
        let Some(open) = self.open.get_mut(&last) else { return };
        while open.front().is_some_and(|(at, _)| *at <= arrived) {
            let Some((at, place)) = open.pop_front() else { return };
            if at >= second {
                *self.late.entry(last).or_default().entry(place).or_default() += 1;
            }
        }
    }

    /// Renames the places; counts of places with one new name are added up.
    pub fn at_places<Q: Ord + Clone>(self, place: impl Fn(&P) -> Q) -> SampleTally<Q> {
        let renamed = |counts: BTreeMap<P, u64>| {
            let mut found: BTreeMap<Q, u64> = BTreeMap::new();
            counts.iter().for_each(|(from, count)| *found.entry(place(from)).or_default() += count);
            found
        };
        SampleTally {
            count: self.count,
            lost: self.lost,
            threads: self.threads.into_iter().map(|(key, counts)| (key, renamed(counts))).collect(),
            late: self.late.into_iter().map(|(key, counts)| (key, renamed(counts))).collect(),
            open: BTreeMap::new(),
        }
    }

    /// All places, each once.
    pub fn places(&self) -> impl Iterator<Item = &P> {
        let all: BTreeMap<&P, ()> = self.threads.values().flat_map(BTreeMap::keys).map(|place| (place, ())).collect();
        all.into_keys()
    }
}

/// With fewer samples of a thread, its waits are not shared out.
const FEW: u64 = 10;
/// With fewer samples, no function is named.
const NAMED: u64 = 5;
/// A function of the program's own that takes this part is named, whatever the C library takes.
const OWN: f64 = 0.2;

impl SampleTally<SampledFunction> {
    /// Which part of a thread's time in activities that count as work it spent waiting, in such functions.
    pub fn share(&self, thread: ThreadId, uses: &[SampledUse]) -> f64 {
        let works = [ThreadActivity::Own, ThreadActivity::Part, ThreadActivity::Condition];
        let counts = works.iter().filter_map(|activity| self.threads.get(&(thread, *activity))).flatten();
        let (mut all, mut found) = (0, 0);
        for (function, count) in counts {
            all += count;
            found += if uses.contains(&function.used_for()) { *count } else { 0 };
        }
        if all < FEW { 0.0 } else { found as f64 / all as f64 }
    }

    /// The function in which these threads were most, among those that are used for that.
    pub fn most_used(&self, threads: &[ThreadId], uses: &[SampledUse]) -> Option<&SampledFunction> {
        let theirs = self.threads.iter().filter(|((thread, _), _)| threads.contains(thread)).flat_map(|(_, counts)| counts);
        summed(theirs).into_iter().map(|(function, _)| function).find(|function| uses.contains(&function.used_for()))
    }

    /// The function in which a thread, or any if that is `None`, was most while others waited for it, and its
    /// share of those samples.
    pub fn late_in(&self, thread: Option<ThreadId>) -> Option<(&SampledFunction, f64)> {
        let late = self.late.iter().filter(|(each, _)| thread.is_none_or(|thread| thread == **each));
        named(late.flat_map(|(_, counts)| counts))
    }

    /// The function of the program's own that takes most of the samples, and its share of all.
    pub fn hottest(&self) -> Option<(&SampledFunction, f64)> {
        named(self.threads.values().flatten()).filter(|(function, _)| function.used_for() == SampledUse::Work)
    }

    /// All functions with their counts, the most frequent one first.
    pub fn functions(&self) -> Vec<(&SampledFunction, u64)> {
        summed(self.threads.values().flatten())
    }
}

fn summed<'a>(counts: impl Iterator<Item = (&'a SampledFunction, &'a u64)>) -> Vec<(&'a SampledFunction, u64)> {
    let mut found: BTreeMap<&SampledFunction, u64> = BTreeMap::new();
    counts.for_each(|(function, count)| *found.entry(function).or_default() += count);
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by_key(|(_, count)| core::cmp::Reverse(*count));
    found
}

/// The most frequent function of the program's own, else the most frequent one.
fn named<'a>(counts: impl Iterator<Item = (&'a SampledFunction, &'a u64)>) -> Option<(&'a SampledFunction, f64)> {
    let found = summed(counts);
    let all: u64 = found.iter().map(|(_, count)| count).sum();
    let share = |count: u64| count as f64 / all as f64;
    let own = found.iter().find(|(function, count)| function.used_for() == SampledUse::Work && share(*count) >= OWN);
    let &(function, count) = own.or(found.first())?;
    (all >= NAMED).then(|| (function, share(count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(name: &str, library: &str) -> SampledFunction {
        let name = (!name.is_empty()).then(|| name.to_owned());
        SampledFunction { name, library: library.to_owned(), is_runtime: library == "libgomp" }
    }

    #[test]
    fn what_a_function_is_for_is_known_by_its_name_and_library() {
        for (name, library, used) in [
            ("", "libgomp", SampledUse::Spin),
            ("blas_thread_server", "OpenBLAS", SampledUse::Spin),
            ("inner_thread", "OpenBLAS", SampledUse::Spin),
            ("dgemm_kernel_HASWELL", "OpenBLAS", SampledUse::Work),
            ("blas_thread_server", "sum", SampledUse::Work),
            ("__sched_yield", "libc", SampledUse::Yield),
            ("__lll_lock_wait", "libc", SampledUse::Lock),
            ("pthread_spin_lock", "libc", SampledUse::Lock),
            ("clock_gettime", "[vdso]", SampledUse::System),
            ("burn", "planted", SampledUse::Work),
        ] {
            assert_eq!(function(name, library).used_for(), used, "{name} {library}");
        }
        assert_eq!(function("burn", "planted").label(), "burn (planted)");
        assert_eq!(function("", "libgomp").label(), "libgomp");
    }

    #[test]
    fn samples_within_a_late_arrival_are_counted_apart() {
        let mut tally = SampleTally::default();
        for (at, place) in [(10, "before"), (30, "late"), (40, "late"), (55, "after"), (70, "late"), (99, "open")] {
            tally.add(1, ThreadActivity::Part, Nanos(at), place);
        }
        tally.add(1, ThreadActivity::Idle, Nanos(75), "idle");
        tally.add(2, ThreadActivity::Arrived, Nanos(35), "spin");
        for (second, arrived) in [(20, 50), (60, 80)] {
            tally.settle(1, Nanos(second), Nanos(arrived));
        }
        assert_eq!(tally.late, BTreeMap::from([(1, BTreeMap::from([("late", 3)]))]));
        assert_eq!((tally.count, tally.places().count()), (8, 6));
        assert_eq!(tally.threads[&(1, ThreadActivity::Part)]["after"], 1);
    }

    #[test]
    fn the_own_function_is_named_before_the_clock_that_it_reads() {
        let mut tally = SampleTally::default();
        for at in 0..30 {
            let place = if at % 3 == 0 { function("burn", "planted") } else { function("", "[vdso]") };
            tally.add(1, ThreadActivity::Part, Nanos(at), place);
        }
        assert_eq!(tally.hottest().map(|(found, share)| (found.label(), share)), Some(("burn (planted)".to_owned(), 1.0 / 3.0)));
        assert_eq!(tally.late_in(None), None, "nobody was late");
        tally.settle(1, Nanos(15), Nanos(29));
        assert_eq!(tally.late_in(Some(1)).map(|(found, _)| found.label()).as_deref(), Some("burn (planted)"));
        assert_eq!(tally.late_in(Some(2)), None);
    }

    #[test]
    fn the_share_of_spins_needs_some_samples_outside_of_waits() {
        let mut tally = SampleTally::default();
        for at in 0..20 {
            tally.add(1, ThreadActivity::Own, Nanos(at), function(if at < 15 { "sched_yield" } else { "work" }, "libc"));
            tally.add(1, ThreadActivity::Idle, Nanos(at), function("", "libgomp"));
        }
        (0..9).for_each(|at| tally.add(2, ThreadActivity::Own, Nanos(at), function("sched_yield", "libc")));
        assert_eq!(tally.share(1, &[SampledUse::Yield, SampledUse::Spin]), 0.75);
        assert_eq!((tally.share(2, &[SampledUse::Yield]), tally.share(3, &[SampledUse::Yield])), (0.0, 0.0));
    }
}
