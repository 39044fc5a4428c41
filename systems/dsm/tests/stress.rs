//! Threads of several hosts add to the same words: with a single writer at a time, no update is lost and no
//! value decreases.
//!
//! The hosts are spaces of this process, and the protocol is a lock per minipage: this tests opening, closing
//! and installing. The negative control installs in the wrong order and must lose an update every time.
#![forbid(unsafe_code)]

use core::sync::atomic::{AtomicU64, Ordering::*};
use foregather_dsm::views::{Allocator, Backend, Extent, Fault, FaultEnd, Faults, MinipageTable, Shape, Space, Stack, Wish};
use foregather_dsm::{Access, Minipage};
use foregather_machine::SplitMix;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

/// A trial.
#[derive(Clone, Copy, Debug)]
struct Trial {
    backend: Backend,
    hosts: usize,
    threads: usize,
    /// Bytes of a minipage.
    unit: usize,
    units: usize,
    /// Accesses of each thread.
    accesses: u32,
    /// The mistake: open the view, then copy.
    open_first: bool,
}

/// The result of a trial.
#[derive(Debug)]
struct Outturn {
    added: u64,
    found: u64,
    went_back: u64,
    faults: u64,
    already_open: u64,
}

/// The access of each host to a minipage, and which host has its bytes.
struct Copies {
    access: Vec<Access>,
    owner: usize,
}

struct Cluster {
    trial: Trial,
    spaces: Vec<Arc<Space>>,
    table: Arc<MinipageTable>,
    copies: Vec<Mutex<Copies>>,
    faults: AtomicU64,
    already_open: AtomicU64,
    /// Where all threads wait for each other repeatedly; otherwise one thread could finish before another has
    /// started.
    round: Barrier,
}

/// Accesses between two barriers.
const ROUND: u32 = 50;

struct Host {
    number: usize,
    cluster: Arc<Cluster>,
}

impl Faults for Host {
    fn fault(&self, fault: &Fault) -> FaultEnd {
        let Some(minipage) = self.cluster.table.minipage(fault.place) else { return FaultEnd::NotMine };
        self.cluster.faults.fetch_add(1, Relaxed);
        let mut copies = self.cluster.copies[minipage.0 as usize].lock().unwrap();
        if copies.access[self.number] >= fault.needs {
            self.cluster.already_open.fetch_add(1, Relaxed);
        } else {
            self.cluster.bring(minipage, &mut copies, self.number, fault.needs);
        }
        FaultEnd::Retry
    }
}

impl Cluster {
    /// Single writer, many readers: removes the access of others that conflicts with `needs`, then installs.
    fn bring(&self, minipage: Minipage, copies: &mut Copies, host: usize, needs: Access) {
        let extent = self.table.extent(minipage).unwrap();
        for other in (0..self.trial.hosts).filter(|&other| other != host) {
            match (needs, copies.access[other]) {
                (Access::Write, Access::Read | Access::Write) => {
                    self.spaces[other].close(extent.span()).unwrap();
                    copies.access[other] = Access::None;
                }
                (Access::Read, Access::Write) => {
                    self.spaces[other].downgrade(extent.span()).unwrap();
                    copies.access[other] = Access::Read;
                }
                _ => {}
            }
        }
        let bytes = (copies.access[host] == Access::None && copies.owner != host).then(|| {
            let mut bytes = vec![0; extent.bytes];
            self.spaces[copies.owner].read(extent.offset, &mut bytes).unwrap();
            bytes
        });
        let copy = || bytes.iter().for_each(|bytes| self.spaces[host].write(extent.offset, bytes).unwrap());
        let open = || self.spaces[host].open(extent.span(), copies.access[host], needs).unwrap();
        if self.trial.open_first {
            open();
            thread::sleep(Duration::from_micros(50));
            copy();
        } else {
            copy();
            open();
        }
        copies.access[host] = needs;
        if needs == Access::Write {
            copies.owner = host;
        }
    }

    /// Runs one application thread. Returns how often it has added, and how often a value was smaller than an
    /// earlier one.
    fn work(&self, host: usize, seed: u64, extents: &[Extent]) -> (u64, u64) {
        let _stack = Stack::install().unwrap();
        let mut random = SplitMix(seed);
        let mut seen = vec![0; extents.len()];
        let (mut added, mut back) = (0, 0);
        for access in 0..self.trial.accesses {
            if access % ROUND == 0 {
                self.round.wait();
            }
            let unit = random.below(extents.len() as u64) as usize;
            let word = self.spaces[host].word(extents[unit].view, extents[unit].offset);
            let value = if random.below(4) == 0 {
                word.load(SeqCst)
            } else {
                added += 1;
                word.fetch_add(1, SeqCst) + 1
            };
            back += u64::from(value < seen[unit]);
            seen[unit] = value;
        }
        (added, back)
    }
}

fn run(trial: Trial) -> Outturn {
    let views = (4_096 / trial.unit.next_multiple_of(8)) as u32;
    let pages = trial.units.div_ceil(views as usize) as u32;
    let mut allocator = Allocator::new(pages, views).unwrap();
    let wish = Wish { bytes: trial.unit, site: 0, chunk: 1 };
    let extents: Vec<Extent> = (0..trial.units).map(|_| allocator.allocate(wish).unwrap().extent).collect();
    let space = || Arc::new(Space::new(Shape { backend: Some(trial.backend), ..Shape::new(pages, views) }).unwrap());
    let copies = || Mutex::new(Copies { access: vec![Access::None; trial.hosts], owner: 0 });
    let cluster = Arc::new(Cluster {
        trial,
        spaces: (0..trial.hosts).map(|_| space()).collect(),
        table: Arc::clone(allocator.table()),
        copies: (0..trial.units).map(|_| copies()).collect(),
        faults: AtomicU64::new(0),
        already_open: AtomicU64::new(0),
        round: Barrier::new(trial.hosts * trial.threads),
    });
    let host = |number| Arc::new(Host { number, cluster: Arc::clone(&cluster) });
    let _serving: Vec<_> = (0..trial.hosts).map(|number| cluster.spaces[number].serve(host(number)).unwrap()).collect();
    let parts: Vec<(u64, u64)> = thread::scope(|scope| {
        let workers = (0..trial.hosts * trial.threads).map(|number| {
            let (cluster, extents) = (&cluster, &extents);
            scope.spawn(move || cluster.work(number % trial.hosts, number as u64 + 1, extents))
        });
        let workers: Vec<_> = workers.collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let _stack = Stack::install().unwrap();
    Outturn {
        added: parts.iter().map(|part| part.0).sum(),
        found: extents.iter().map(|extent| cluster.spaces[0].word(extent.view, extent.offset).load(SeqCst)).sum(),
        went_back: parts.iter().map(|part| part.1).sum(),
        faults: cluster.faults.load(Relaxed),
        already_open: cluster.already_open.load(Relaxed),
    }
}

/// Returns the backends of this machine.
fn backends() -> Vec<Backend> {
    let all = [Backend::Userfault, Backend::UserfaultThread, Backend::Mprotect];
    all.into_iter().filter(|backend| backend.available().is_ok()).collect()
}

#[test]
fn nothing_is_lost_and_no_value_goes_back() {
    for backend in backends() {
        let mut coalesced = 0;
        for (hosts, threads) in [(2, 1), (2, 2), (2, 4), (3, 3), (4, 2)] {
            for (unit, units) in [(148, 64), (672, 24)] {
                let trial = Trial { backend, hosts, threads, unit, units, accesses: 1_000, open_first: false };
                let end = run(trial);
                println!("{trial:?}: {end:?}");
                assert!(end.found == end.added && end.went_back == 0, "{trial:?}: {end:?}");
                // In every round, every host encounters most of the minipages that another host has.
                assert!(end.faults > u64::from(trial.accesses / ROUND) * 10, "the hosts did not meet: {trial:?}: {end:?}");
                coalesced += end.already_open;
            }
        }
        // If a thread serves faults, the kernel resumes all threads that wait for the page.
        let alone = coalesced == 0 && backend != Backend::UserfaultThread;
        assert!(!alone, "{backend:?}: no two threads of a host have ever faulted together");
    }
}

/// The negative control: if this finds nothing, the previous test proves nothing.
#[test]
fn opening_before_the_bytes_are_there_loses_updates() {
    // If a thread serves faults, only those threads of the host run between its two steps that it has just
    // resumed.
    for backend in backends().into_iter().filter(|&backend| backend != Backend::UserfaultThread) {
        for (unit, units) in [(148, 8), (672, 6)] {
            let trial = Trial { backend, hosts: 2, threads: 4, unit, units, accesses: 3_000, open_first: true };
            let end = run(trial);
            println!("{trial:?}: {end:?}");
            assert!(end.found < end.added, "{trial:?}: {end:?}");
        }
    }
}
