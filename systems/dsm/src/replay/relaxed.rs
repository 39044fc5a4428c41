//! The cost of WATER under a relaxed consistency of pages: a model of lazy release consistency with several
//! writers per page (Keleher, Cox, Dwarkadas & Zwaenepoel, TreadMarks, USENIX winter 1994), computed from
//! journals with the paper's costs.
//!
//! The first write to a page copies it (its *twin*). Locks and barriers only transfer which pages were
//! written (*notices*). A host that accesses such a page then requests the changes from its writers, which
//! only now compare it with the twin (a *diff*). The model is more favourable than a real system: a page that
//! is written again needs no second notice, and storing notices and diffs costs nothing.
use crate::journal::{Event, Journal, Operation};
use crate::{Access, Minipage};
use foregather_machine::Nanos;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The costs of operations.
#[derive(Clone, Copy, Debug)]
pub struct RelaxedPrices {
    /// The first write to a page that has a copy: a fault, and opening the page.
    pub write: Nanos,
    /// Copying a page.
    pub twin: Nanos,
    /// A fault on a page that one writer must bring up to date, without the transfer of the changed bytes.
    pub fetch: Nanos,
    /// Each further writer, requested at the same time.
    pub further: Nanos,
    /// Transferring 4096 changed bytes.
    pub page: Nanos,
    /// Finding the changes in a page.
    pub diff: Nanos,
    /// The remaining cost of a request for the host that serves it.
    pub serve: Nanos,
    /// Closing a page because of a notice.
    pub close: Nanos,
    /// A lock, for the host that had it last and for others.
    pub lock: [Nanos; 2],
    /// A barrier of one host, and each further host.
    pub barrier: [Nanos; 2],
}

/// The statistics of a run under relaxed consistency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relaxed {
    /// From the start of the clock until the slowest host finished.
    pub span: Nanos,
    /// Pages that were brought up to date.
    pub fetches: u64,
    /// Twins that were created.
    pub twins: u64,
    /// Diffs that were created.
    pub diffs: u64,
    /// Changed bytes that were transferred.
    pub bytes: u64,
}

#[derive(Clone, Copy, PartialEq)]
enum HostState {
    Runs,
    Waits,
    Ended,
}

/// What a host has done to a page that it wrote to.
#[derive(Clone, Default)]
struct Written {
    /// Bytes changed since the twin was created; `None` if there is no twin.
    since_twin: Option<u32>,
    /// The last of its intervals that a notice contains.
    noticed: u32,
    /// Its diffs: the interval up to which each reaches, and its bytes.
    diffs: Vec<(u32, u32)>,
}

struct Host<'j> {
    clock: Nanos,
    began: Nanos,
    /// The time that others took from it while it computes.
    stolen: Nanos,
    state: HostState,
    rest: std::slice::Iter<'j, Event>,
    /// How many intervals of each host it knows; for itself, how many have ended.
    knows: Vec<u32>,
    /// The pages that it wrote to in this interval.
    now: BTreeSet<u32>,
    written: BTreeMap<u32, Written>,
    /// Pages for which there are notices, and the hosts that wrote them.
    outdated: BTreeMap<u32, BTreeSet<usize>>,
    /// By page and writer: the interval up to which it has the changes.
    got: BTreeMap<(u32, usize), u32>,
}

#[derive(Default)]
struct RelaxedLock {
    held: bool,
    last: Option<usize>,
    queue: VecDeque<usize>,
    knows: Vec<u32>,
}

/// All hosts, and the notices they have exchanged.
struct RelaxedRun<'j> {
    prices: RelaxedPrices,
    hosts: Vec<Host<'j>>,
    locks: BTreeMap<u32, RelaxedLock>,
    /// By host and interval: the pages that it wrote to.
    notices: Vec<Vec<Vec<u32>>>,
    bytes: &'j [u32],
    sum: Relaxed,
}

/// Computes the run of these journals, with one thread per host and pages of these lengths. The threads
/// compute for `pace_percent` of the recorded time.
///
/// # Errors
/// If they wait for flags, which this model does not support, or for each other forever.
pub fn relax(journals: &[Journal], bytes: &[u32], pace_percent: u64, prices: &RelaxedPrices) -> Result<Relaxed, String> {
    let count = journals.len();
    let host = |journal| Host::new(journal, count);
    let hosts = journals.iter().map(host).collect();
    let mut model = RelaxedRun {
        prices: *prices,
        hosts,
        locks: BTreeMap::new(),
        notices: vec![vec![]; count],
        bytes,
        sum: Relaxed::default(),
    };
    let computes = |event: &Event| Nanos((u128::from(event.computed_ns) * u128::from(pace_percent) / 100) as u64);
    loop {
        let due = |(number, host): (usize, &Host<'_>)| {
            let event = host.rest.as_slice().first().filter(|_| host.state == HostState::Runs)?;
            Some((host.clock + host.stolen + computes(event), number))
        };
        let Some((at, number)) = model.hosts.iter().enumerate().filter_map(due).min() else { break };
        let host = &mut model.hosts[number];
        (host.clock, host.stolen) = (at, Nanos::ZERO);
        let event = host.rest.next().expect("it is due");
        model.act(number, &event.what)?;
    }
    if model.hosts.iter().any(|host| host.state == HostState::Waits) {
        return Err("hosts wait for locks or barriers to which no other host comes: the journals are not of one run".into());
    }
    let span = model.hosts.iter().map(|host| host.clock - host.began).max().unwrap_or_default();
    Ok(Relaxed { span, ..model.sum })
}

impl<'j> Host<'j> {
    fn new(journal: &'j Journal, hosts: usize) -> Self {
        Self {
            clock: Nanos::ZERO,
            began: Nanos::ZERO,
            stolen: Nanos::ZERO,
            state: HostState::Runs,
            rest: journal.events.iter(),
            knows: vec![0; hosts],
            now: BTreeSet::new(),
            written: BTreeMap::new(),
            outdated: BTreeMap::new(),
            got: BTreeMap::new(),
        }
    }
}

impl RelaxedRun<'_> {
    fn act(&mut self, number: usize, what: &Operation) -> Result<(), String> {
        match what {
            Operation::Touch { minipage: Minipage(page), access, bytes, .. } => {
                let fetched = self.update(number, *page);
                if *access == Access::Write {
                    let bytes = bytes.ranges().map(|range| range.end - range.start).sum();
                    self.write(number, *page, bytes, fetched);
                }
            }
            Operation::Lock(name) => {
                let lock = self.locks.entry(*name).or_default();
                if lock.held {
                    lock.queue.push_back(number);
                    self.hosts[number].state = HostState::Waits;
                } else {
                    self.grant(number, *name);
                }
            }
            Operation::Unlock(name) => {
                self.end_interval(number);
                let lock = self.locks.entry(*name).or_default();
                (lock.held, lock.last, lock.knows) = (false, Some(number), self.hosts[number].knows.clone());
                if let Some(next) = lock.queue.pop_front() {
                    self.hosts[next].clock = self.hosts[number].clock;
                    self.hosts[next].state = HostState::Runs;
                    self.grant(next, *name);
                }
            }
            Operation::Barrier => {
                self.end_interval(number);
                self.hosts[number].state = HostState::Waits;
                self.meet();
            }
            Operation::Start => {
                self.hosts[number].began = self.hosts[number].clock;
                self.sum = Relaxed::default();
            }
            Operation::End => self.hosts[number].state = HostState::Ended,
            Operation::Post(_) | Operation::Wait(_) => return Err("the model of relaxed consistency has no flags".into()),
            Operation::Prefetch { .. } | Operation::Push { .. } => {}
        }
        Ok(())
    }

    /// Brings a page up to date if a notice says that it is outdated. Returns whether it was.
    fn update(&mut self, number: usize, page: u32) -> bool {
        let Some(writers) = self.hosts[number].outdated.remove(&page) else { return false };
        // Its own changes must not get lost.
        let mut takes = self.prices.fetch + if self.compare(number, page) { self.prices.diff } else { Nanos::ZERO };
        let (mut bytes, mut compared) = (0, false);
        for &writer in &writers {
            let written = &self.hosts[writer].written[&page];
            if written.diffs.last().is_none_or(|&(until, _)| until < written.noticed) {
                let makes = self.compare(writer, page);
                compared |= makes;
                self.steal(writer, if makes { self.prices.diff } else { Nanos::ZERO });
            }
            self.steal(writer, self.prices.serve);
            let written = &self.hosts[writer].written[&page];
            let got = self.hosts[number].got.get(&(page, writer)).copied().unwrap_or(0);
            bytes += written.diffs.iter().filter(|&&(until, _)| until > got).map(|&(_, bytes)| u64::from(bytes)).sum::<u64>();
            let until = written.diffs.last().map_or(0, |&(until, _)| until).max(written.noticed);
            self.hosts[number].got.insert((page, writer), until);
        }
        takes += if compared { self.prices.diff } else { Nanos::ZERO };
        takes += self.prices.further * (writers.len() as u64 - 1) + Nanos(self.prices.page.0 * bytes / 4_096);
        self.hosts[number].clock += takes;
        self.sum.fetches += 1;
        self.sum.bytes += bytes;
        true
    }

    /// Takes a host's processor for that time; a host that waits does not notice.
    fn steal(&mut self, number: usize, span: Nanos) {
        let host = &mut self.hosts[number];
        host.stolen += if host.state == HostState::Runs { span } else { Nanos::ZERO };
    }

    /// Creates a diff of a page and drops its twin. Returns whether there was one.
    fn compare(&mut self, number: usize, page: u32) -> bool {
        let length = self.bytes[page as usize];
        let host = &mut self.hosts[number];
        let open = host.now.contains(&page);
        // Its next interval announces what it has written since the last release.
        let until = host.knows[number] + u32::from(open);
        let Some(written) = host.written.get_mut(&page) else { return false };
        let Some(bytes) = written.since_twin.take() else { return false };
        written.diffs.push((until, bytes.min(length)));
        self.sum.diffs += 1;
        true
    }

    fn write(&mut self, number: usize, page: u32, bytes: u32, fetched: bool) {
        let RelaxedPrices { twin, write, .. } = self.prices;
        let host = &mut self.hosts[number];
        let written = host.written.entry(page).or_default();
        if written.since_twin.is_none() {
            self.sum.twins += 1;
            // A fault that fetched the page also opens it for writing.
            host.clock += if fetched { twin } else { write + twin };
        }
        written.since_twin = Some(written.since_twin.unwrap_or(0) + bytes);
        host.now.insert(page);
    }

    fn end_interval(&mut self, number: usize) {
        let host = &mut self.hosts[number];
        if host.now.is_empty() {
            return;
        }
        host.knows[number] += 1;
        for page in &host.now {
            host.written.get_mut(page).expect("it was written to").noticed = host.knows[number];
        }
        self.notices[number].push(std::mem::take(&mut host.now).into_iter().collect());
    }

    /// Adds what another host knew to what a host knows.
    fn learn(&mut self, number: usize, knew: &[u32]) {
        let host = &mut self.hosts[number];
        for (writer, (knows, &knew)) in host.knows.iter_mut().zip(knew).enumerate().filter(|&(writer, _)| writer != number) {
            for pages in self.notices[writer].iter().take(knew as usize).skip(*knows as usize) {
                for &page in pages {
                    let writers = host.outdated.entry(page).or_default();
                    host.clock += if writers.is_empty() { self.prices.close } else { Nanos::ZERO };
                    writers.insert(writer);
                }
            }
            *knows = knew.max(*knows);
        }
    }

    fn grant(&mut self, number: usize, name: u32) {
        let lock = self.locks.get_mut(&name).expect("somebody asked for it");
        lock.held = true;
        let knew = lock.knows.clone();
        self.hosts[number].clock += self.prices.lock[usize::from(lock.last != Some(number))];
        self.learn(number, &knew);
    }

    /// Passes a barrier: all hosts continue, and know everything.
    fn meet(&mut self) {
        let locked = self.locks.values().flat_map(|lock| &lock.queue).count();
        let waiting = self.hosts.iter().filter(|host| host.state == HostState::Waits).count() - locked;
        if waiting < self.hosts.iter().filter(|host| host.state != HostState::Ended).count() {
            return;
        }
        let all: Vec<u32> = (0..self.hosts.len()).map(|number| self.hosts[number].knows[number]).collect();
        let [one, further] = self.prices.barrier;
        let last = self.hosts.iter().map(|host| host.clock).max().unwrap_or_default();
        for number in 0..self.hosts.len() {
            self.hosts[number].clock = last + one + further * (all.len() as u64 - 1);
            self.hosts[number].state = HostState::Runs;
            self.learn(number, &all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRICES: RelaxedPrices = RelaxedPrices {
        write: Nanos::ZERO,
        twin: Nanos(1),
        fetch: Nanos(100),
        further: Nanos(10),
        page: Nanos(4_096),
        diff: Nanos(1_000),
        serve: Nanos(20_000),
        close: Nanos(100_000),
        lock: [Nanos::ZERO; 2],
        barrier: [Nanos::ZERO; 2],
    };

    fn journals<const HOSTS: usize>(did: [Vec<Operation>; HOSTS]) -> Vec<Journal> {
        let event = |what| Event { computed_ns: 1_000_000, at_ns: 0, waited_ns: 0, what };
        let journal = |(thread, did): (usize, Vec<Operation>)| Journal {
            thread: thread as u32,
            events: did.into_iter().chain([Operation::End]).map(event).collect(),
            ..Journal::default()
        };
        did.into_iter().enumerate().map(journal).collect()
    }

    fn touch(access: Access, bytes: u32) -> Operation {
        Operation::touch(Minipage(0), access, 0..bytes)
    }

    #[test]
    fn two_writers_of_a_page_do_not_disturb_each_other_until_somebody_reads_what_they_wrote() {
        use Access::{Read, Write};
        let writes = |bytes| vec![touch(Write, bytes), touch(Write, bytes), Operation::Barrier, Operation::Barrier];
        let reads = vec![Operation::Barrier, touch(Read, 8), touch(Read, 8), Operation::Barrier];
        let all = relax(&journals([writes(8), writes(100), reads]), &[4_096], 100, &PRICES).unwrap();
        // Each wrote its bytes twice, and only the reader fetched, once from both.
        assert_eq!(all, Relaxed { span: all.span, fetches: 1, twins: 2, diffs: 2, bytes: 216 });
        // It computes before three events of the writers and four of its own; its page is closed, and brought
        // up to date by one diff from each.
        let fetch = 100 + 10 + 1_000 + 216;
        assert_eq!(all.span.0, 7_000_000 + 1 + 100_000 + fetch);
    }

    #[test]
    fn a_lock_hands_on_only_what_its_last_owner_knew() {
        use Access::{Read, Write};
        let first = vec![Operation::Lock(1), touch(Write, 8), Operation::Unlock(1), Operation::Barrier];
        // It takes the same lock later, because it computes longer; or it takes another lock.
        let then = |lock| {
            vec![
                Operation::Start,
                Operation::Start,
                Operation::Start,
                Operation::Lock(lock),
                touch(Read, 8),
                Operation::Unlock(lock),
                Operation::Barrier,
            ]
        };
        let fetches = |lock| relax(&journals([first.clone(), then(lock)]), &[64], 100, &PRICES).unwrap().fetches;
        assert_eq!((fetches(1), fetches(2)), (1, 0));
    }

    #[test]
    fn nobody_asks_twice_for_the_same_and_each_new_write_takes_a_twin_after_a_diff() {
        use Access::{Read, Write};
        let rounds = 3;
        let writes = (0..rounds).flat_map(|_| [touch(Write, 8), Operation::Barrier, Operation::Barrier]).collect();
        let reads = (0..rounds).flat_map(|_| [Operation::Barrier, touch(Read, 8), touch(Read, 8), Operation::Barrier]).collect();
        let all = relax(&journals([writes, reads]), &[64], 100, &PRICES).unwrap();
        assert_eq!((all.fetches, all.twins, all.diffs, all.bytes), (rounds, rounds, rounds, 8 * rounds));
    }

    #[test]
    fn who_waits_for_ever_is_an_error() {
        let hung = journals([vec![Operation::Lock(1)], vec![Operation::Start, Operation::Lock(1)]]);
        assert!(relax(&hung, &[], 100, &PRICES).unwrap_err().to_string().contains("no other host comes"));
    }
}
