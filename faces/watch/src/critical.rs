//! Critical sections of the GNU OpenMP runtime, and of others by its names.
//!
//! A thread that finds the section free enters without reading the clock. Only a thread that has to wait
//! records that, and the section's holder is kept where watchers read it.
use crate::next::{KnownCallers, NextFunction, to_c};
use crate::openmp::region_code;
use crate::record;
use core::ffi::c_void;
use core::mem::transmute;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering::*};
use foregather_host::watched::page::{CRITICAL_SECTION, ThreadActivity, ThreadSlot};

/// A critical section of the program. Its holder is where a mutex of the GNU C library has it: after 8 bytes.
#[repr(C, align(64))]
struct KnownSection {
    /// The address of the word that the compiler keeps for the section's name; 0 if this place is free.
    name: AtomicU64,
    /// The thread inside; 0 if there is none.
    holder: AtomicU32,
    /// The number of threads that are inside or wait.
    present: AtomicU32,
}

impl KnownSection {
    const fn new() -> Self {
        Self { name: AtomicU64::new(0), holder: AtomicU32::new(0), present: AtomicU32::new(0) }
    }

    /// Enters by `wait`, which returns when the calling thread is inside.
    #[inline]
    fn enter(&self, wait: impl FnOnce()) {
        let slot = record::slot();
        match slot.filter(|_| self.present.fetch_add(1, Relaxed) > 0) {
            None => wait(),
            Some(slot) => {
                slot.waits_for(self.holder.load(Relaxed));
                ThreadSlot::add(&slot.counts.locks, 1);
                let subject = core::ptr::from_ref(self).addr() as u64 | CRITICAL_SECTION;
                record::during(ThreadActivity::Lock, subject, wait);
                slot.waits_for(0);
            }
        }
        self.holder.store(slot.map_or(0, ThreadSlot::thread), Relaxed);
    }

    /// Leaves by `end`, after which another thread may be inside.
    #[inline]
    fn leave(&self, end: impl FnOnce()) {
        self.holder.store(0, Relaxed);
        end();
        if record::slot().is_some() {
            self.present.fetch_sub(1, Relaxed);
        }
    }
}

const SECTIONS: usize = 256;
/// How many places are tried for a name. If others have all of them, the section is not recorded.
const TRIED: usize = 8;

static UNNAMED: KnownSection = KnownSection::new();
static NAMED: [KnownSection; SECTIONS] = [const { KnownSection::new() }; SECTIONS];

/// Returns the place of the section with that name.
#[inline]
fn named(word: *mut *mut c_void) -> Option<&'static KnownSection> {
    let name = word.addr() as u64;
    let first = (name >> 3) as usize;
    let mut places = (0..TRIED).map(|at| &NAMED[(first + at) % SECTIONS]);
    places.find(|place| {
        place.name.load(Relaxed) == name
            || place.name.compare_exchange(0, name, Relaxed, Relaxed).map_or_else(|taken| taken == name, |_| true)
    })
}

/// Declares functions that enter or leave a section.
macro_rules! sections {
    ($($name:ident($($word:ident)?) by $by:ident of $section:expr;)*) => {$(
        /// Enters or leaves a critical section, as the GNU runtime's function of this name.
        ///
        /// # Safety
        /// As that function.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name($($word: *mut *mut c_void)?) {
            static NEXT: NextFunction = NextFunction::new(to_c(concat!(stringify!($name), "\0")));
            static KNOWN: KnownCallers = KnownCallers::new();
            let code = region_code($name as *const c_void);
            let found = KNOWN.of(code, to_c(concat!(stringify!($name), "\0")), &NEXT, $name as *const c_void);
            // SAFETY: the runtime's function of this name, with the argument of the program.
            let next = || unsafe {
                transmute::<*mut c_void, unsafe extern "C-unwind" fn($(sections!(@kind $word))?)>(found)($($word)?)
            };
            match record::page().and($section) {
                Some(section) => section.$by(next),
                None => next(),
            }
        }
    )*};
    (@kind $word:ident) => { *mut *mut c_void };
}

sections! {
    GOMP_critical_start() by enter of Some(&UNNAMED);
    GOMP_critical_end() by leave of Some(&UNNAMED);
    GOMP_critical_name_start(word) by enter of named(word);
    GOMP_critical_name_end(word) by leave of named(word);
}
