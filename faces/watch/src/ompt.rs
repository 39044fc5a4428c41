//! Regions and barriers of LLVM's and Intel's OpenMP runtimes, by OMPT: a runtime that starts looks for
//! `ompt_start_tool` in all libraries, registers the callbacks below and calls them where threads arrive.
//!
//! A runtime keeps a word for each region and each task of a team; here they point to a [`Region`] and a
//! [`RegionPart`]. A worker's part ends when the worker is needed again, and its region may be closed by
//! then.
use crate::next::NextFunction;
use crate::openmp::is_opening;
use crate::record;
use crate::region::{Region, RegionPart};
use core::ffi::{CStr, c_char, c_int, c_uint, c_void};
use core::mem::transmute;
use core::ptr::null_mut;
use core::sync::atomic::AtomicPtr;

/// What a runtime needs to know of a tool, as the OpenMP specification lays it out.
#[derive(Debug)]
#[repr(C)]
pub struct ToolFunctions {
    initialize: extern "C" fn(Lookup, c_int, *mut c_void) -> c_int,
    finalize: extern "C" fn(*mut c_void),
    /// For the tool's own use.
    data: AtomicPtr<c_void>,
}

type Lookup = unsafe extern "C" fn(*const c_char) -> *mut c_void;
type StartTool = unsafe extern "C" fn(c_uint, *const c_char) -> *const ToolFunctions;
/// A runtime's word for a region or a task.
type ToolWord = *mut c_void;

/// Numbers of the specification.
const PARALLEL_BEGIN: c_int = 3;
const PARALLEL_END: c_int = 4;
const IMPLICIT_TASK: c_int = 7;
const SYNC_REGION: c_int = 23;
const BEGIN: c_int = 1;
const INITIAL_TASK: c_int = 1;
const LEAGUE: c_int = 0x4000_0000;
/// Barriers: of unknown kind, implicit, explicit, at the end of a loop, at the end of a region.
const BARRIERS: [c_int; 5] = [1, 2, 3, 8, 9];

/// Starts this library as the tool of a runtime, unless the user has another one.
///
/// # Safety
/// As the OpenMP specification says of a function of this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ompt_start_tool(version: c_uint, runtime: *const c_char) -> *const ToolFunctions {
    static NEXT: NextFunction = NextFunction::new(c"ompt_start_tool");
    static OWN: ToolFunctions = ToolFunctions { initialize, finalize, data: AtomicPtr::new(null_mut()) };
    let next = NEXT.get();
    let other = if next.is_null() {
        core::ptr::null()
    } else {
        // SAFETY: the arguments are the caller's, and the specification says what the function gives.
        unsafe { transmute::<*mut c_void, StartTool>(next)(version, runtime) }
    };
    if !other.is_null() || std::env::var_os("OMP_TOOL_LIBRARIES").is_some() || record::page().is_none() {
        return other;
    }
    &raw const OWN
}

extern "C" fn initialize(lookup: Lookup, _device: c_int, _data: *mut c_void) -> c_int {
    let find = |name: &CStr| {
        // SAFETY: the runtime hands this function out for names that end with a zero.
        unsafe { lookup(name.as_ptr()) }
    };
    let set = find(c"ompt_set_callback");
    if set.is_null() {
        return 0;
    }
    // SAFETY: the specification says what the function of this name takes and gives.
    let set = unsafe { transmute::<*mut c_void, unsafe extern "C" fn(c_int, *const c_void) -> c_int>(set) };
    for (event, callback) in [
        (PARALLEL_BEGIN, parallel_begin as *const c_void),
        (PARALLEL_END, parallel_end as *const c_void),
        (IMPLICIT_TASK, implicit_task as *const c_void),
        (SYNC_REGION, sync_region as *const c_void),
    ] {
        // SAFETY: each callback has the arguments that the specification gives for its event.
        unsafe { set(event, callback) };
    }
    1
}

extern "C" fn finalize(_data: *mut c_void) {}

/// Opens a region, on its leader.
unsafe extern "C" fn parallel_begin(
    _task: *mut ToolWord,
    _frame: *const c_void,
    region: *mut ToolWord,
    _asked: c_uint,
    flags: c_int,
    code: *const c_void,
) {
    let is_recorded = is_opening();
    let (Some(page), Some(slot)) = (record::page(), record::slot()) else { return };
    if is_recorded || flags & LEAGUE != 0 {
        return;
    }
    // SAFETY: the runtime hands over its word for the new region, which no other thread knows yet.
    unsafe { region.write(Box::into_raw(Box::new(Region::open(page, slot, code))).cast()) };
}

/// Closes a region, on its leader.
unsafe extern "C" fn parallel_end(region: *mut ToolWord, _task: *mut ToolWord, _flags: c_int, _code: *const c_void) {
    // SAFETY: `parallel_begin` wrote the word, and all members have arrived, so none uses the region.
    let Some(region) = (unsafe { take::<Region>(region) }) else { return };
    if let Some(slot) = record::slot() {
        region.close(slot);
    }
}

/// Begins or ends a part of a region.
unsafe extern "C" fn implicit_task(
    endpoint: c_int,
    region: *mut ToolWord,
    task: *mut ToolWord,
    members: c_uint,
    _index: c_uint,
    flags: c_int,
) {
    if flags & INITIAL_TASK != 0 {
        return;
    }
    let Some(slot) = record::slot() else { return };
    if endpoint == BEGIN {
        // SAFETY: the region is open while its parts begin, and the word of the new task is this thread's.
        unsafe {
            if let Some(region) = at::<Region>(region) {
                task.write(Box::into_raw(Box::new(RegionPart::begin(region, members, slot))).cast());
            }
        }
    // SAFETY: this function wrote the word when the task began, on this thread.
    } else if let Some(part) = unsafe { take::<RegionPart>(task) } {
        part.end(slot);
    }
}

/// Begins or ends a wait of a part.
unsafe extern "C" fn sync_region(kind: c_int, endpoint: c_int, region: *mut ToolWord, task: *mut ToolWord, _code: *const c_void) {
    if !BARRIERS.contains(&kind) {
        return;
    }
    // SAFETY: the word is that of this thread's task, which no other thread uses.
    let (Some(slot), Some(part)) = (record::slot(), unsafe { at::<RegionPart>(task) }) else { return };
    if endpoint != BEGIN {
        part.go_on(slot);
    // SAFETY: a member that has not arrived yet keeps its region open.
    } else if let Some(region) = unsafe { at::<Region>(region) } {
        part.arrive(region, slot);
    }
}

/// What a runtime's word points to.
///
/// # Safety
/// The word, if there is one, is zero or points to a `T` of this library that outlives the reference.
unsafe fn at<'a, T>(word: *mut ToolWord) -> Option<&'a T> {
    // SAFETY: the caller promises it.
    unsafe { word.as_ref()?.cast::<T>().as_ref() }
}

/// Takes what a runtime's word points to.
///
/// # Safety
/// As for [`at`]; it was a box, and no reference to it is used any more.
unsafe fn take<T>(word: *mut ToolWord) -> Option<Box<T>> {
    // SAFETY: the caller promises it.
    unsafe {
        let found = core::mem::replace(word.as_mut()?, null_mut()).cast::<T>();
        (!found.is_null()).then(|| Box::from_raw(found))
    }
}
