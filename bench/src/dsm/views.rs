//! What many views cost: one loop over minipages that are all open, through a view for each of a page's minipages, and the same
//! through one view (the overhead of MultiView; Itzkovitz & Schuster 1999 tried up to 1664 views).
use super::{Figures, Quantity, Timed};
use foregather_dsm::Access;
use foregather_dsm::views::{Backend, PAGE, Shape, Space, Span};
use foregather_machine::Error;
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

const WORD: usize = size_of::<AtomicU64>();

/// Both loops in turn, so many times.
pub(super) fn measure(backend: Backend, (bytes, views): (usize, u32), turns: u32) -> Result<Figures, Error> {
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
