//! What a fault is made of, and what many views cost. The kernel's part: faults that are answered at once,
//! and the calls that protect memory, alone. The fabric's part: a request and its answer with a minipage's
//! bytes as bare frames, between ranks that spin. Views: one loop over minipages that are all open, through a
//! view for each of a page's minipages, and the same through one view (the overhead of MultiView; Itzkovitz &
//! Schuster 1999 tried up to 1664 views).
use super::{Figures, Quantity, Timed};
use crate::messages::Bare;
use foregather_dsm::Access;
use foregather_dsm::views::{Backend, Fault, FaultEnd, Faults, PAGE, Refused, Shape, Space, Span, Stack};
use foregather_machine::{Error, Fabric, Nanos};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU64};

/// Pages that are touched. Between two of them is one that stays closed, so that under mprotect each is a
/// mapping of its own.
const TOUCHED: u32 = 200;

/// Opens what is touched, and does nothing else.
struct AtOnce {
    space: Arc<Space>,
    /// What may be done with each page: `Access as u8`.
    pages: Vec<AtomicU8>,
}

impl AtOnce {
    fn access(&self, page: u32) -> Access {
        match self.pages[page as usize].load(Relaxed) {
            0 => Access::None,
            1 => Access::Read,
            _ => Access::Write,
        }
    }

    fn open(&self, page: u32, to: Access) -> Result<(), Refused> {
        let from = self.access(page);
        self.note(page, to);
        if from < to { self.space.open(span(page), from, to) } else { Ok(()) }
    }

    fn downgrade(&self, page: u32) -> Result<(), Refused> {
        self.note(page, Access::Read);
        self.space.downgrade(span(page))
    }

    fn close(&self, page: u32) -> Result<(), Refused> {
        self.note(page, Access::None);
        self.space.close(span(page))
    }

    fn note(&self, page: u32, access: Access) {
        self.pages[page as usize].store(access as u8, Relaxed);
    }
}

impl Faults for AtOnce {
    fn fault(&self, fault: &Fault) -> FaultEnd {
        match self.open(fault.place.page, fault.needs) {
            Ok(()) => FaultEnd::Retry,
            // The signal goes its usual way, which ends this process.
            Err(_) => FaultEnd::NotMine,
        }
    }
}

fn span(page: u32) -> Span {
    Span { view: 0, page, pages: 1 }
}

/// All pages through all states, `rounds` times.
pub(super) fn at_once(backend: Backend, rounds: u32) -> Result<Figures, Error> {
    let space = Arc::new(Space::new(Shape { backend: Some(backend), ..Shape::new(2 * TOUCHED, 1) })?);
    let pages = (0..space.pages()).map(|_| AtomicU8::default()).collect();
    let all = Arc::new(AtOnce { space: Arc::clone(&space), pages });
    let _stack = Stack::install()?;
    let _serving = space.serve(Arc::clone(&all) as _)?;
    let mut timed = Vec::new();
    for _ in 0..rounds {
        let mut through = Through { all: &all, timed: &mut timed };
        through.touch(Quantity::ReadAtOnce, |space, offset| _ = space.word(0, offset).load(Relaxed));
        through.touch(Quantity::UpgradeAtOnce, |space, offset| space.word(0, offset).store(1, Relaxed));
        through.call(Quantity::CloseWritten, AtOnce::close)?;
        through.touch(Quantity::WriteAtOnce, |space, offset| space.word(0, offset).store(2, Relaxed));
        through.call(Quantity::Downgrade, AtOnce::downgrade)?;
        through.call(Quantity::CloseRead, AtOnce::close)?;
        through.call(Quantity::OpenToRead, |all, page| all.open(page, Access::Read))?;
        through.call(Quantity::Raise, |all, page| all.open(page, Access::Write))?;
        through.call(Quantity::CloseWritten, AtOnce::close)?;
        through.call(Quantity::OpenToWrite, |all, page| all.open(page, Access::Write))?;
        through.call(Quantity::CloseWritten, AtOnce::close)?;
    }
    let notes = space.warning().map(ToString::to_string).into_iter().collect();
    Ok(Figures { timed, notes })
}

struct Through<'t> {
    all: &'t AtOnce,
    timed: &'t mut Vec<Timed>,
}

impl Through<'_> {
    fn timed(&mut self, what: Quantity) -> &mut Timed {
        let known = self.timed.iter().position(|timed| timed.what == what);
        let at = known.unwrap_or_else(|| {
            self.timed.push(Timed::of(what, 0));
            self.timed.len() - 1
        });
        &mut self.timed[at]
    }

    fn touch(&mut self, what: Quantity, touch: impl Fn(&Space, usize)) {
        let all = self.all;
        let timed = self.timed(what);
        for page in 0..TOUCHED {
            timed.time(|| touch(&all.space, (2 * page + 1) as usize * PAGE));
        }
    }

    fn call(&mut self, what: Quantity, call: impl Fn(&AtOnce, u32) -> Result<(), Refused>) -> Result<(), Error> {
        let all = self.all;
        let timed = self.timed(what);
        let mut done = Ok(());
        for page in 0..TOUCHED {
            timed.time(|| {
                if let Err(refused) = call(all, 2 * page + 1) {
                    done = Err(refused);
                }
            });
        }
        Ok(done?)
    }
}

/// Bytes of a request, and of what precedes the bytes of an answer: those of a message of the protocol.
pub(super) const HEAD: usize = 24;

/// A rank's part.
pub(super) fn fetch<F: Fabric>(lane: F, sizes: &[usize], rounds: u32, until: Nanos) -> Result<Figures, Error> {
    let (rank, most) = (lane.here().rank, lane.limits().buffer);
    let bare = Bare::new(lane, until);
    let mut timed = Vec::new();
    for &bytes in sizes {
        let mut of = Timed::of(Quantity::Fetch, bytes);
        let (from, mut into) = (vec![1; HEAD + bytes], vec![0; HEAD + bytes]);
        for _ in 0..rounds {
            let mut done = Ok(());
            if rank == 0 {
                of.time(|| done = ask(&bare, &mut into, most));
            } else {
                done = answer(&bare, &from, most);
            }
            done?;
        }
        timed.push(of);
    }
    bare.lane.leave();
    Ok(Figures { timed, notes: vec![] })
}

fn ask<F: Fabric>(bare: &Bare<F>, into: &mut [u8], most: usize) -> Result<(), Error> {
    bare.post(&[0; HEAD], true)?;
    into.chunks_mut(most).try_for_each(|part| bare.take(part, true, false))
}

fn answer<F: Fabric>(bare: &Bare<F>, from: &[u8], most: usize) -> Result<(), Error> {
    bare.take(&mut [0; HEAD], true, false)?;
    from.chunks(most).try_for_each(|part| bare.post(part, true))
}

const WORD: usize = size_of::<AtomicU64>();

/// Runs both loops in turn, the given number of times.
pub(super) fn views(backend: Backend, (bytes, views): (usize, u32), turns: u32) -> Result<Figures, Error> {
    let pages = bytes.div_ceil(PAGE) as u32;
    let space = Space::new(Shape { backend: Some(backend), most_views: views, ..Shape::new(pages, views) })?;
    // A page of the object must be there before it can be opened.
    for page in 0..pages as usize {
        space.write(page * PAGE, &[1])?;
    }
    for view in 0..views {
        space.open(Span { view, page: 0, pages }, Access::None, Access::Write)?;
    }
    let [mut many, mut one] = [Quantity::ThroughViews, Quantity::ThroughOne].map(|what| Timed::of(what, bytes));
    // The first turn meets page tables and caches that know of nothing.
    for turn in 0..=turns {
        many.time(|| traverse(&space, views, |view| view));
        one.time(|| traverse(&space, views, |_| 0));
        if turn == 0 {
            many.ns.clear();
            one.ns.clear();
        }
    }
    Ok(Figures { timed: vec![many, one], notes: space.warning().map(ToString::to_string).into_iter().collect() })
}

/// Loads every word of every minipage, as many minipages to a page as there are views.
fn traverse(space: &Space, minipages: u32, through: impl Fn(u32) -> u32) {
    let words = PAGE / minipages as usize / WORD;
    let mut sum = 0u64;
    for page in 0..space.pages() as usize {
        for minipage in 0..minipages {
            let first = page * PAGE + minipage as usize * words * WORD;
            let minipage = space.words(through(minipage), first, words);
            sum = minipage.iter().fold(sum, |sum, word| sum.wrapping_add(word.load(Relaxed)));
        }
    }
    black_box(sum);
}
