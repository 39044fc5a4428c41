//! Programs of tasks, as a compiler makes them for GNU's binary interface.
use core::ffi::{c_int, c_long, c_uint, c_void};
use foregather_bench::openmp::Construct;
use std::sync::OnceLock;

type TaskFn = extern "C" fn(*mut c_void);

/// Makes a task: body, data, copier, bytes, alignment, whether it may be done later, flags, uses, priority,
/// event.
pub(crate) type Make = unsafe extern "C" fn(
    TaskFn,
    *mut c_void,
    *const c_void,
    c_long,
    c_long,
    bool,
    c_uint,
    *const *const c_void,
    c_int,
    *mut c_void,
);

/// What a compiler makes of tasks.
#[derive(Clone, Copy)]
pub(crate) struct TaskCalls {
    pub(crate) make: Make,
    pub(crate) wait: unsafe extern "C" fn(),
}

/// Tasks of each member, one after the other.
const IN_TURN: usize = 32;
/// Levels of a tree.
const DEPTH: usize = 6;
const CHAIN: usize = 64;
const SIDE: usize = 8;
/// The flag of a task that uses something.
const DEPEND: c_uint = 1 << 3;

/// The calls, for bodies, which get nothing but a number.
static CALLS: OnceLock<TaskCalls> = OnceLock::new();

impl TaskCalls {
    /// A member's part of a construct of tasks. Those of one member are the first one's.
    pub(crate) fn part(self, construct: Construct, rank: u32) {
        let calls = *CALLS.get_or_init(|| self);
        match construct {
            Construct::TaskWait => {
                for _ in 0..IN_TURN {
                    calls.make(leaf, 0, &[], 0);
                    calls.wait();
                }
            }
            Construct::TaskTree if rank == 0 => node(core::ptr::from_ref(&DEPTH).cast_mut().cast()),
            Construct::TaskChain if rank == 0 => {
                (0..CHAIN).for_each(|_| calls.make(leaf, 0, &[0], 1));
            }
            Construct::TaskStencil if rank == 0 => {
                // The cells have a rim, so that each has both neighbours.
                let cell = |row: usize, column: usize| row * (SIDE + 1) + column;
                for row in 1..=SIDE {
                    for column in 1..=SIDE {
                        calls.make(leaf, 0, &[cell(row, column), cell(row - 1, column), cell(row, column - 1)], 1);
                    }
                }
            }
            _ => {}
        }
    }

    /// Makes a task with a number, which uses places of its siblings; the first `written` of them it writes.
    fn make(self, body: TaskFn, number: usize, places: &[usize], written: usize) {
        static PLACES: [u8; 256] = [0; 256];
        let mut number = number;
        let mut uses = [core::ptr::null::<c_void>(); 8];
        uses[0] = core::ptr::without_provenance(places.len());
        uses[1] = core::ptr::without_provenance(written);
        for (of, &place) in uses[2..].iter_mut().zip(places) {
            *of = core::ptr::from_ref(&PLACES[place]).cast();
        }
        let (flags, list) = if places.is_empty() { (0, core::ptr::null()) } else { (DEPEND, uses.as_ptr()) };
        let (bytes, align) = (size_of::<usize>() as c_long, align_of::<usize>() as c_long);
        let data = (&raw mut number).cast();
        let (no_copier, no_event) = (core::ptr::null(), core::ptr::null_mut());
        // SAFETY: this is the function's type by GNU's binary interface; the data are copied, and the list is
        // only read.
        unsafe { (self.make)(body, data, no_copier, bytes, align, true, flags, list, 0, no_event) };
    }

    fn wait(self) {
        // SAFETY: a plain call of the runtime.
        unsafe { (self.wait)() };
    }
}

extern "C" fn leaf(data: *mut c_void) {
    std::hint::black_box(data);
}

/// A node of the tree, whose data are the levels below it.
extern "C" fn node(data: *mut c_void) {
    // SAFETY: such a task was made with a number.
    let levels = unsafe { *data.cast::<usize>() };
    if let (Some(calls), 1..) = (CALLS.get(), levels) {
        calls.make(node, levels - 1, &[], 0);
        calls.make(node, levels - 1, &[], 0);
        calls.wait();
    }
}
