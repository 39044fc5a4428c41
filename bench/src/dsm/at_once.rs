//! What of a fault is the kernel's: faults that are answered at once, and the calls that protect memory, alone.
use super::{Figures, Quantity, Timed};
use foregather_dsm::Access;
use foregather_dsm::views::{Backend, Fault, FaultEnd, Faults, PAGE, Refused, Shape, Space, Span, Stack};
use foregather_machine::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Pages that are touched. Between two of them is one that stays closed, so that under mprotect each is a mapping of its own.
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

/// All pages through all states, so many times.
pub(super) fn measure(backend: Backend, rounds: u32) -> Result<Figures, Error> {
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
