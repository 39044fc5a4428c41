//! `libforegather_watch.so`: records when threads of a program arrive, wait and go on, for
//! `foregather advise`.
//!
//! Each function here has the name of one of a runtime or of the C library, notes what its caller begins,
//! calls the function that the program would have called without this library, and notes its end. It changes
//! no argument that a program can see, no result and no error. Without the page that `advise` names in the
//! environment it only passes calls on.
//!
//! [`openmp`]: regions and barriers of the GNU runtime. [`locks`]: critical sections and locks. [`ompt`]:
//! regions and barriers of LLVM's and Intel's, which report them by callbacks. [`region`]: what both have
//! in common. [`threads`]: creation, barriers, condition variables and mutexes of POSIX threads.
//! [`record`]: the page and this thread's slot. [`sampler`]: which code threads execute. [`signals`]:
//! functions by which a program touches signals or its user. [`next`]: functions that the program would
//! have called.
//!
//! All functions may be unwound through, because the C library ends cancelled threads by unwinding.

mod locks;
mod next;
mod ompt;
mod openmp;
mod record;
mod region;
mod sampler;
mod signals;
mod threads;

pub use locks::*;
pub use ompt::*;
pub use openmp::*;
pub use record::foregather_watch_has_open_region;
pub use signals::*;
pub use threads::*;
