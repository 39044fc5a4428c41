//! Tasks, their groups, and what they reduce.
use super::reductions::{described, register, share};
use super::regions::{Body, Outlined, opening};
use crate::export::entries;
use core::ffi::{c_int, c_long, c_uint, c_ulong, c_ulonglong, c_void};
use foregather_openmp::tasking::{self, CompletionEvent, TaskDispatch, TaskKind, TaskNow, TaskSpec};
use foregather_openmp::worksharing::{self, AtEnd};
use foregather_openmp::{IterationSpace, parallel, task};
use foregather_task::{Depend, DependenceType, GroupOf, Traits};
use std::sync::OnceLock;

/// Copies a task's data to where they stay, if they are more than bytes.
type Copier = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// The bits by which a compiler says what a task is.
mod flags {
    pub(super) const FINAL: u32 = 1 << 1;
    pub(super) const DEPEND: u32 = 1 << 3;
    pub(super) const PRIORITY: u32 = 1 << 4;
    pub(super) const UP: u32 = 1 << 8;
    pub(super) const GRAIN: u32 = 1 << 9;
    pub(super) const IF: u32 = 1 << 10;
    pub(super) const NO_GROUP: u32 = 1 << 11;
    pub(super) const REDUCTION: u32 = 1 << 12;
    pub(super) const DETACH: u32 = 1 << 13;
    pub(super) const STRICT: u32 = 1 << 14;
}

/// Words of data that lie beside the task's body.
const SMALL: usize = 8;

/// A task's body with its data, as the compiler passes them.
#[derive(Clone, Copy)]
struct PassedTask {
    body: Body,
    data: *mut c_void,
    copier: Option<Copier>,
    bytes: usize,
    align: usize,
}

impl PassedTask {
    /// What the compiler says of the task. What a copier has built the task's body destroys.
    fn spec<'a>(&self, deferred: bool, flags: u32, priority: c_int, depends: &'a [Depend]) -> TaskSpec<'a> {
        let kind = TaskKind { is_final: flags & flags::FINAL != 0, is_needed: self.copier.is_some() };
        let traits = Traits { priority: priority.max(0) as u32, detached: flags & flags::DETACH != 0, ..Traits::default() };
        TaskSpec { deferred, kind, traits, depends, code: self.body as usize }
    }

    /// The data in memory of their own.
    fn copy(&self) -> OwnData {
        let Self { data, copier, bytes, align, .. } = *self;
        let own = OwnData::of(bytes, align);
        // SAFETY: by the compiler's contract `data` has `bytes`, which `copier` copies if there is one.
        unsafe {
            match copier {
                Some(copier) => copier(own.at, data),
                None => core::ptr::copy_nonoverlapping(data.cast::<u8>(), own.at.cast(), bytes),
            }
        }
        own
    }

    /// Does the task where it is met, with data that are the caller's unless they have to be copied.
    fn now(&self, now: TaskNow) {
        now.run(|| {
            let own = self.copier.map(|_| self.copy());
            // SAFETY: the compiler passes a body for such data.
            unsafe { (self.body)(own.as_ref().map_or(self.data, |own| own.at)) }
        });
    }

    /// A task that is done when and where a member finds it. `fill` completes its data.
    fn later(&self, fill: impl FnOnce(*mut c_void)) -> tasking::TaskBody {
        let Self { body, data, copier, bytes, align } = *self;
        let mut words = [0_u64; SMALL];
        if copier.is_none() && bytes <= size_of_val(&words) && align <= align_of::<u64>() {
            // Bytes can be moved, so they need no memory of their own.
            let at = words.as_mut_ptr().cast();
            // SAFETY: by the compiler's contract `data` has `bytes`, and `words` has room for them.
            unsafe { core::ptr::copy_nonoverlapping(data.cast::<u8>(), at, bytes) };
            fill(at.cast());
            // SAFETY: the compiler passes a body for such data.
            return Box::new(move || unsafe { body(words.as_mut_ptr().cast()) });
        }
        let own = self.copy();
        fill(own.at);
        Box::new(move || own.pass_to(body))
    }
}

/// Data of a task that nothing else has.
struct OwnData {
    at: *mut c_void,
    /// How long they are in memory of this library's; `None`: they have none.
    memory: Option<Box<[u8]>>,
}

// SAFETY: the compiler has made the task for any thread of its team, and its data are its own.
unsafe impl Send for OwnData {}

impl OwnData {
    fn of(bytes: usize, align: usize) -> Self {
        let align = align.max(1);
        let mut memory = vec![0; bytes + align - 1].into_boxed_slice();
        let at = memory.as_mut_ptr().map_addr(|address| address.next_multiple_of(align)).cast();
        Self { at, memory: Some(memory) }
    }

    fn pass_to(self, body: Body) {
        // SAFETY: the compiler passes a body for such data, which are called once.
        unsafe { body(self.at) };
        drop(self.memory);
    }
}

/// The use that an object of two words stands for: an address, and a kind.
///
/// # Safety
/// `object` is the address of one.
unsafe fn object(object: *const c_void) -> Depend {
    // SAFETY: by this function's contract.
    let [address, kind] = unsafe { *object.cast::<[usize; 2]>() };
    let access = match kind {
        1 => DependenceType::In,
        5 => DependenceType::InOutSet,
        _ => DependenceType::Out,
    };
    Depend { address, access }
}

/// The uses that `count` objects stand for.
///
/// # Safety
/// `objects` has that number of addresses.
pub(super) unsafe fn named(count: c_int, objects: *const *const c_void) -> Vec<Depend> {
    // SAFETY: by this function's contract.
    (0..count.max(0) as usize).map(|at| unsafe { object(*objects.add(at)) }).collect()
}

/// The uses that a compiler's list has.
///
/// # Safety
/// `list` is null, or such a list.
pub(super) unsafe fn uses(list: *const *const c_void) -> Vec<Depend> {
    if list.is_null() {
        return Vec::new();
    }
    // SAFETY: by this function's contract the list is as long as its first words say.
    let word = |at: usize| unsafe { (*list.add(at)).addr() };
    // Either how many there are and how many of them are written; or, after a 0, those two, how many exclude
    // each other, and how many are read; the rest are objects.
    let (all, written, exclusive, read, first) =
        if word(0) > 0 { (word(0), word(1), 0, word(0) - word(1), 2) } else { (word(1), word(2), word(3), word(4), 5) };
    let one = |number: usize| {
        let at = first + number;
        match number {
            _ if number < written + exclusive => Depend { address: word(at), access: DependenceType::Out },
            _ if number < written + exclusive + read => Depend { address: word(at), access: DependenceType::In },
            // SAFETY: by this function's contract the rest are addresses of objects.
            _ => unsafe { object(*list.add(at)) },
        }
    };
    (0..all).map(one).collect()
}

/// The iterations of a loop that becomes tasks.
struct Iterations {
    first: u64,
    step: u64,
    count: u64,
}

/// How many tasks a loop of `count` iterations becomes, and how many iterations the first of them have; the
/// first `longer` have one more.
fn chunks(count: u64, flags: u32, asked: u64) -> (u64, u64, u64) {
    let strict = flags & flags::STRICT != 0;
    let tasks = match asked {
        0 => u64::from(task().size).min(count),
        grain if flags & flags::GRAIN != 0 && strict => return (count.div_ceil(grain), grain, 0),
        grain if flags & flags::GRAIN != 0 => (count / grain).max(1),
        tasks => tasks.min(count),
    };
    (tasks, count / tasks, count % tasks)
}

/// A loop's iterations as tasks, whose data begin with the bounds of their iterations.
///
/// # Safety
/// `passed` is what the compiler passes for such a loop, and so are the other arguments.
unsafe fn task_loop(passed: PassedTask, flags: u32, asked: u64, priority: c_int, iterations: Iterations) {
    let Iterations { first, step, count } = iterations;
    let groups = flags & flags::NO_GROUP == 0;
    if groups {
        tasking::begin_group(GroupOf::Program);
        if flags & flags::REDUCTION != 0 {
            // SAFETY: by this function's contract the address of the reductions' description follows the
            // bounds.
            unsafe { register(*passed.data.cast::<*mut usize>().add(2), task().size) };
        }
    }
    if count > 0 {
        let (tasks, length, longer) = chunks(count, flags, asked);
        let mut from = 0;
        for number in 0..tasks {
            let to = (from + length + u64::from(number < longer)).min(count);
            let bounds = [from, to].map(|iteration| first.wrapping_add(iteration.wrapping_mul(step)));
            // SAFETY: by this function's contract the data begin with the bounds.
            let fill = |data: *mut c_void| unsafe { data.cast::<[u64; 2]>().write(bounds) };
            match tasking::spawn(passed.spec(flags & flags::IF != 0, flags, priority, &[])) {
                TaskDispatch::Discard => {}
                TaskDispatch::Run(now) => {
                    let own = passed.copy();
                    fill(own.at);
                    now.run(|| own.pass_to(passed.body));
                }
                TaskDispatch::Defer(later) => later.hand_over(passed.later(fill)),
            }
            from = to;
        }
    }
    if groups {
        tasking::end_group();
    }
}

/// Where the calling thread's copies of `ptrs` are. The values of the first `originals` follow the copies.
///
/// # Safety
/// `ptrs` has `count` and `originals` addresses.
unsafe fn remap(count: usize, originals: usize, ptrs: *mut usize) {
    for at in 0..count {
        // SAFETY: by this function's contract.
        let address = unsafe { *ptrs.add(at) };
        let Some((copy, original)) = tasking::reduced(address) else {
            panic!("a task reduces what no group around it reduces, at {address:#x}");
        };
        // SAFETY: by this function's contract.
        unsafe {
            ptrs.add(at).write(copy);
            if at < originals {
                ptrs.add(count + at).write(original);
            }
        }
    }
}

entries! {
    "GOMP_2.0" {
        fn GOMP_task(
            body: Body, data: *mut c_void, copier: Option<Copier>, bytes: c_long, align: c_long,
            deferred: bool, flags: c_uint, depend: *const *const c_void, priority: c_int, detach: *mut *const c_void,
        ) {
            let passed = PassedTask { body, data, copier, bytes: bytes.max(0) as usize, align: align.max(1) as usize };
            // SAFETY: the compiler passes a list with that bit.
            let depends = if flags & flags::DEPEND != 0 { unsafe { uses(depend) } } else { Vec::new() };
            // Compilers before GCC 6 pass no priority.
            let priority = if flags & flags::PRIORITY != 0 { priority } else { 0 };
            let spec = passed.spec(deferred, flags, priority, &depends);
            // The data of a detached task begin with its event, which the program is told, too.
            let tell = |event: CompletionEvent, data: *mut c_void| {
                let event = Box::into_raw(Box::new(event)).cast_const().cast::<c_void>();
                // SAFETY: the compiler passes a word for the event of such a task, and data that begin with
                // it.
                unsafe {
                    detach.write(event);
                    data.cast::<*const c_void>().write(event);
                }
            };
            let detached = spec.traits.detached;
            match tasking::spawn(spec) {
                TaskDispatch::Discard => {}
                TaskDispatch::Run(now) => {
                    now.event().filter(|_| detached).into_iter().for_each(|event| tell(event, data));
                    passed.now(now);
                }
                TaskDispatch::Defer(later) => {
                    let event = detached.then(|| later.event());
                    let fill = |data| event.into_iter().for_each(|event| tell(event, data));
                    later.hand_over(passed.later(fill));
                }
            }
        }
        fn GOMP_taskwait() {
            tasking::wait_for_children();
        }
    }
    "GOMP_3.0" {
        fn GOMP_taskyield() {
            tasking::yield_to_others();
        }
    }
    "GOMP_4.0" {
        fn GOMP_taskgroup_start() {
            tasking::begin_group(GroupOf::Program);
        }
        fn GOMP_taskgroup_end() {
            tasking::end_group();
        }
    }
    "GOMP_4.5" {
        fn GOMP_taskloop(
            body: Body, data: *mut c_void, copier: Option<Copier>, bytes: c_long, align: c_long,
            flags: c_uint, asked: c_ulong, priority: c_int, start: c_long, end: c_long, step: c_long,
        ) {
            let passed = PassedTask { body, data, copier, bytes: bytes.max(0) as usize, align: align.max(1) as usize };
            let distance = if step > 0 { i128::from(end) - i128::from(start) } else { i128::from(start) - i128::from(end) };
            let count = (distance.max(0) as u128).div_ceil(step.unsigned_abs().max(1).into()) as u64;
            // SAFETY: the compiler passes such a loop.
            unsafe { task_loop(passed, flags, asked, priority, Iterations { first: start as u64, step: step as u64, count }) }
        }
        fn GOMP_taskloop_ull(
            body: Body, data: *mut c_void, copier: Option<Copier>, bytes: c_long, align: c_long,
            flags: c_uint, asked: c_ulong, priority: c_int, start: c_ulonglong, end: c_ulonglong, step: c_ulonglong,
        ) {
            let passed = PassedTask { body, data, copier, bytes: bytes.max(0) as usize, align: align.max(1) as usize };
            let (distance, stride) = if flags & flags::UP != 0 { (end.saturating_sub(start), step) } else { (start.saturating_sub(end), step.wrapping_neg()) };
            let count = distance.div_ceil(stride.max(1));
            // SAFETY: the compiler passes such a loop.
            unsafe { task_loop(passed, flags, asked, priority, Iterations { first: start, step, count }) }
        }
    }
    "GOMP_5.0" {
        fn GOMP_taskwait_depend(depend: *const *const c_void) {
            // SAFETY: the compiler passes such a list.
            tasking::wait_for(&unsafe { uses(depend) });
        }
        fn GOMP_taskgroup_reduction_register(description: *mut usize) {
            // SAFETY: the compiler passes a description.
            unsafe { register(description, task().size) }
        }
        fn GOMP_taskgroup_reduction_unregister(description: *mut usize) {
            // SAFETY: the copies of a description that was registered are memory of `register`.
            unsafe { libc::free(core::ptr::with_exposed_provenance_mut(*description.add(2))) }
        }
        fn GOMP_task_reduction_remap(count: usize, originals: usize, ptrs: *mut usize) {
            // SAFETY: the compiler passes that number of addresses.
            unsafe { remap(count, originals, ptrs) }
        }
        fn GOMP_parallel_reductions(body: Body, data: *mut c_void, threads: c_uint, flags: c_uint) -> c_uint {
            let outlined = Outlined { body, data };
            let described_once = OnceLock::new();
            parallel(opening(threads, flags, None), &|| {
                tasking::begin_group(GroupOf::Construct);
                let reductions = described_once.get_or_init(|| {
                    // SAFETY: the data of such a region begin with the address of a description.
                    unsafe {
                        let description = *outlined.data.cast::<*mut usize>();
                        register(description, task().size);
                        described(description, task().size)
                    }
                });
                tasking::reduce(reductions.clone());
                outlined.call();
                tasking::end_group();
            });
            described_once.get().map_or(1, |reductions| reductions.members)
        }
        fn GOMP_workshare_task_reduction_unregister(cancelled: bool) {
            tasking::end_group();
            if !cancelled {
                worksharing::barrier();
            }
        }
    }
    "GOMP_5.1" {
        fn GOMP_scope_start(description: *mut usize) {
            worksharing::begin(IterationSpace::NONE);
            // SAFETY: the compiler passes a description, or none.
            unsafe { share(description, core::ptr::null_mut()) };
            worksharing::end(AtEnd::NoWait);
        }
    }
    "GOMP_5.1.1" {
        fn GOMP_taskwait_depend_nowait(depend: *const *const c_void) {
            // SAFETY: the compiler passes such a list.
            let depends = unsafe { uses(depend) };
            let spec = TaskSpec { deferred: true, kind: TaskKind::default(), traits: Traits::default(), depends: &depends, code: 0 };
            match tasking::spawn(spec) {
                TaskDispatch::Discard => {}
                TaskDispatch::Run(now) => now.run(|| {}),
                TaskDispatch::Defer(later) => later.hand_over(Box::new(|| {})),
            }
        }
    }
    "OMP_5.0.1" {
        fn omp_fulfill_event omp_fulfill_event_(event: usize) {
            fulfil(event);
        }
    }
}

/// Fulfils an event that a program was told.
fn fulfil(event: usize) {
    // SAFETY: by the standard a program fulfils an event once: this takes what `GOMP_task` has given away.
    let event = unsafe { Box::from_raw(core::ptr::with_exposed_provenance_mut::<CompletionEvent>(event)) };
    event.fulfil();
}
