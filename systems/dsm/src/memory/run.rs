//! Runs a rank: its space, its server and its threads.
use super::array::Known;
use super::fault_handler::{FaultHandler, ThreadTable};
use super::first_failure::FirstFailure;
use super::heap::{SharedHeap, Site};
use super::mapped::Mapped;
use super::rank_threads::{Ended, Mailbox, RankThreads};
use super::reduction::Reduction;
use super::settings::Settings;
use super::shared_allocator::SharedAllocator;
use super::thread::Thread;
use crate::node::{Node, Requester, WordTable};
use crate::protocol::{Homes, Server};
use crate::views::{Allocator, PAGE, Shape, Space};
use foregather_barrier::{Algorithm, Group};
use foregather_machine::{Cause, Error, Fabric, Words};
use foregather_message::Messenger;
use foregather_thread as threads;
use std::fmt;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, PoisonError};

/// A run's results on one rank.
pub struct Served<F: Fabric, R> {
    /// The results of its threads, in order.
    pub threads: Vec<Ended<R>>,
    /// The server, with its state as a manager.
    pub server: Server,
    /// The sites of all allocations, which are the same on all ranks.
    pub sites: Vec<Site>,
    /// The first thread's messenger, for final messages between ranks.
    pub messenger: Messenger<F>,
}

/// Returns the number of lanes that a rank needs for `threads` threads: one for its server, and two for each
/// thread.
pub const fn lanes(threads: u32) -> u32 {
    1 + 2 * threads
}

/// Runs a program on the threads of this rank. All ranks of the job make the same call. `layout` allocates
/// shared memory, with the same calls on every rank; each thread gets its result.
///
/// # Errors
/// If the number of lanes is not [`lanes`], the space cannot be created, a thread returns an error, or a rank
/// is lost. The first reason is returned; all other ranks get [`Cause::PeerLost`] or [`Cause::Poisoned`] with
/// the rank that caused it at their next wait. A thread that cannot load or store ends the process, because a
/// load cannot return an error.
///
/// # Panics
/// If a thread panics, with its panic.
pub fn run<F, S, R>(
    lanes: Vec<F>,
    settings: Settings,
    layout: impl FnOnce(&mut SharedAllocator) -> Result<S, Error>,
    program: impl Fn(&Thread<'_, F>, &S) -> Result<R, Error> + Sync,
) -> Result<Served<F, R>, Error>
where
    F: Fabric + Send + 'static,
    <F::Cpu as Words>::Word: Send + Sync,
    S: Sync,
    R: Send,
{
    let count = settings.threads;
    let (known, slot) = (lanes.len(), lanes.first().map(|lane| (lane.rank(), lane.size())));
    let mailbox = Mailbox::new(lanes, settings);
    let Some((rank, ranks)) = slot.filter(|_| known == self::lanes(count) as usize && count > 0) else {
        let needs = "one for the server and two for each thread, of which there is at least one";
        return Err(Cause::Setting { what: "the number of lanes for shared memory", needs }.into());
    };
    let homes = if settings.central { Homes::central(ranks, 0)? } else { Homes::spread(ranks)? };
    let (mapped, words, shared, heap) = mapped((ranks, &settings), layout)?;
    let node = Arc::new(Node::with_words(homes, words, mapped.clone()));
    let requester = |slot| {
        let lane = mailbox.asking(slot);
        let policy = settings.policy_of(&lane);
        Requester::new(lane, &node, policy)
    };
    let slots = Arc::new(ThreadTable::new((1..=count).map(requester).collect()));
    let (table, observed, asking) = (mapped.table, settings.journal > 0, settings.asking);
    let handler = FaultHandler { node: Arc::clone(&node), slots: Arc::clone(&slots), table, rank, observed, asking };
    let serving = mapped.space.serve(Arc::new(handler))?;

    let (beside, working) = (Group::new(Algorithm::Central, count)?, AtomicU32::new(count));
    let (reduction, heap, end) = (Reduction::new(count), Mutex::new(heap), FirstFailure::of(rank));
    let rank_threads = RankThreads { node: &node, slots: &slots, settings, beside, working, reduction, heap, end, shared };
    let parts = threads::run(
        1 + count,
        |_| None,
        |cpu, number| match number {
            0 => rank_threads.serve(&mailbox).map(|part| ThreadEnd::Server(Box::new(part))),
            slot => rank_threads.work(&mailbox, cpu, slot, &program).map(|part| ThreadEnd::Thread(Box::new(part))),
        },
    )?;
    drop(serving);
    if let Err(error) = node.check() {
        // Other ranks may be waiting for threads that ended normally, too.
        parts.into_iter().flatten().for_each(|part| part.fail(&error));
        return Err(rank_threads.end.check().err().unwrap_or(error));
    }
    // Leave normally only if all threads ended normally; otherwise ranks that wait for this one learn that it
    // is gone.
    (1..=count).for_each(|slot| slots.of(slot).lane().leave());
    let (mut threads, mut server, mut messenger) = (Vec::new(), None, None);
    for part in parts.into_iter().flatten() {
        match part {
            ThreadEnd::Server(part) => {
                part.1.leave();
                server = Some(*part);
            }
            ThreadEnd::Thread(part) => {
                let (ended, letters) = *part;
                threads.push(ended);
                match messenger {
                    None => messenger = Some(letters),
                    Some(_) => letters.leave(),
                }
            }
        }
    }
    let ((server, _lane), messenger) = (server.expect("there is one server"), messenger.expect("there is a thread"));
    let sites = rank_threads.heap.into_inner().unwrap_or_else(PoisonError::into_inner).into_sites();
    Ok(Served { threads, server, sites, messenger })
}

/// How one of a rank's threads ended.
enum ThreadEnd<F: Fabric, R> {
    Server(Box<(Server, F)>),
    Thread(Box<(Ended<R>, Messenger<F>)>),
}

impl<F: Fabric, R> ThreadEnd<F, R> {
    fn fail(self, error: &Error) {
        match self {
            Self::Thread(part) => part.1.fail(error),
            Self::Server(part) => part.1.leave(),
        }
    }
}

foregather_machine::debug_by! { [F: Fabric, R: fmt::Debug] Served<F, R>, "Served", |this| threads: this.threads }

impl<F: Fabric, R> Served<F, R> {
    /// Leaves normally; otherwise the other ranks report this rank lost. Returns the results of its threads.
    pub fn leave(self) -> Vec<Ended<R>> {
        self.messenger.leave();
        self.threads
    }
}

/// Returns the space, the words of its minipages, and the result of `layout`.
fn mapped<S>(
    (ranks, settings): (u32, &Settings),
    layout: impl FnOnce(&mut SharedAllocator) -> Result<S, Error>,
) -> Result<(Mapped, Arc<WordTable>, S, SharedHeap), Error> {
    let pages = u32::try_from(settings.bytes.div_ceil(PAGE)).unwrap_or(u32::MAX);
    let allocator = Allocator::new(pages, settings.views)?;
    let shape =
        Shape { backend: settings.backend, most_views: settings.views.max(32), filled: 0, ..Shape::new(pages, settings.views) };
    let space = Arc::new(Space::new(shape)?);
    let table = Arc::clone(allocator.table());
    let words = Arc::new(WordTable::new(table.minipages())?);
    let asked = settings.asking.then(|| Arc::clone(&words));
    let heap = SharedHeap::new(allocator, Known { space: Arc::clone(&space), words: asked, observed: settings.journal > 0 });
    let mut layouts = SharedAllocator::new(heap, ranks, settings.threads);
    let shared = layout(&mut layouts)?;
    Ok((Mapped { space, table }, words, shared, layouts.heap))
}
