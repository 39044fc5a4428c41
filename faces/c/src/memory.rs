//! Memory that ranks share: one function of C on every rank.
use crate::border::{call, check, elements, elements_mut, limit, place};
use crate::failure::{Refusal, SETTING};
use crate::job::{Function, sum};
use crate::lent::{Lent, LentHandle, run, with};
use crate::slots::{Handle, Thing};
use crate::team::{Data, no_function};
use core::cell::RefCell;
use core::ffi::{c_int, c_void};
use core::ptr;
use foregather::engine::message::collective::Element;
use foregather::{Array, Error, Locked, Shared, SharedElement, shared};
use std::rc::Rc;

/// A rank while its function runs, whatever the lifetimes say, and what that has made.
pub(crate) struct Sharer {
    rank: &'static Shared<'static>,
    arrays: Made<AnyArray>,
    locks: Made<Locked<'static, u8>>,
}

/// Things, each behind its loan, which is dropped first.
struct Made<T>(RefCell<Vec<(LentHandle<T>, Rc<T>)>>)
where
    Lent<T>: Thing;

impl<T> Made<T>
where
    Lent<T>: Thing,
{
    fn lend(&self, thing: T) -> Result<Handle, Refusal> {
        let thing = Rc::new(thing);
        // SAFETY: the thing is kept behind its loan.
        let loan = unsafe { LentHandle::of(Rc::as_ptr(&thing)) }?;
        let handle = loan.handle;
        self.0.borrow_mut().push((loan, thing));
        Ok(handle)
    }
}

/// By the number of an element's bytes: C's types are patterns of bits here.
pub(crate) enum AnyArray {
    One(Array<u8>),
    Two(Array<u16>),
    Four(Array<u32>),
    Eight(Array<u64>),
}

macro_rules! typed {
    ($any:expr, $array:ident => $what:expr) => {
        match $any {
            AnyArray::One($array) => $what,
            AnyArray::Two($array) => $what,
            AnyArray::Four($array) => $what,
            AnyArray::Eight($array) => $what,
        }
    };
}

/// Checks that the array has `count` elements from index `first` on.
fn has_all<T: SharedElement>(array: &Array<T>, first: usize, count: usize) -> Result<(), Refusal> {
    match array.len().checked_sub(first) {
        Some(rest) if count <= rest => Ok(()),
        _ => Err(Refusal::new(SETTING, format!("there are no {count} elements from {first} on, of {}", array.len()))),
    }
}

/// # Safety
/// `body` may be called with `data` on any thread, on several at once.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_shared_of(version: u32, ranks: u32, body: Option<Function>, data: *mut c_void) -> c_int {
    let data = Data(data);
    call(|| {
        check(version)?;
        let body = body.ok_or_else(no_function)?;
        shared(ranks, |rank| {
            // SAFETY: of the lifetimes alone: the sharer is dropped here, before the rank.
            let lasting = unsafe { &*ptr::from_ref(rank).cast::<Shared<'static>>() };
            let sharer = Sharer { rank: lasting, arrays: Made(RefCell::default()), locks: Made(RefCell::default()) };
            // SAFETY: by this function's contract.
            run(rank.rank(), &sharer, |handle| unsafe { body(handle, data.get()) })
        })?;
        Ok(())
    })
}

fn with_rank<R>(rank: Handle, body: impl FnOnce(&Sharer) -> Result<R, Refusal>) -> Result<R, Refusal> {
    with(rank, body)
}

/// # Safety
/// `into` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_memory_rank(rank: Handle, into: *mut u32) -> c_int {
    call(|| {
        // SAFETY: by this function's contract.
        unsafe { place(into) }?.write(with_rank(rank, |me| Ok(me.rank.rank()))?);
        Ok(())
    })
}

/// # Safety
/// `into` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_memory_size(rank: Handle, into: *mut u32) -> c_int {
    call(|| {
        // SAFETY: by this function's contract.
        unsafe { place(into) }?.write(with_rank(rank, |me| Ok(me.rank.size()))?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn fg_memory_barrier(rank: Handle, timeout_ns: i64) -> c_int {
    let barrier = |me: &Sharer| match limit(timeout_ns) {
        None => me.rank.barrier(),
        Some(timeout) => me.rank.barrier_timeout(timeout),
    };
    call(|| with_rank(rank, |me| Ok(barrier(me)?)))
}

/// # Safety
/// `value` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_memory_sum_double(rank: Handle, timeout_ns: i64, value: *mut f64) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { sum_of_all(rank, timeout_ns, value) }
}

/// # Safety
/// `value` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_memory_sum_int64(rank: Handle, timeout_ns: i64, value: *mut i64) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { sum_of_all(rank, timeout_ns, value) }
}

/// # Safety
/// As [`sum`].
unsafe fn sum_of_all<T: Element + Send + 'static>(rank: Handle, timeout_ns: i64, value: *mut T) -> c_int {
    let of_all = |value| {
        with_rank(rank, |me| match limit(timeout_ns) {
            None => Ok(me.rank.sum(value)?),
            Some(timeout) => Ok(me.rank.sum_timeout(value, timeout)?),
        })
    };
    // SAFETY: by this function's contract.
    unsafe { sum(value, of_all) }
}

fn array<T: SharedElement>(rank: &Shared<'_>, timeout_ns: i64, count: usize) -> Result<Array<T>, Error> {
    match limit(timeout_ns) {
        None => rank.array(count),
        Some(timeout) => rank.array_timeout(count, timeout),
    }
}

/// Puts the handle of what a rank makes into `into`, or null.
///
/// # Safety
/// As [`place`].
unsafe fn made(rank: Handle, into: *mut Handle, make: impl FnOnce(&Sharer) -> Result<Handle, Refusal>) -> c_int {
    call(|| {
        // SAFETY: by this function's contract.
        let into = unsafe { place(into) }?;
        into.write(Handle::NULL);
        into.write(with_rank(rank, make)?);
        Ok(())
    })
}

/// # Safety
/// `into` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_memory_array(
    rank: Handle,
    timeout_ns: i64,
    bytes: usize,
    count: usize,
    into: *mut Handle,
) -> c_int {
    let make = |me: &Sharer| {
        me.arrays.lend(match bytes {
            1 => AnyArray::One(array(me.rank, timeout_ns, count)?),
            2 => AnyArray::Two(array(me.rank, timeout_ns, count)?),
            4 => AnyArray::Four(array(me.rank, timeout_ns, count)?),
            8 => AnyArray::Eight(array(me.rank, timeout_ns, count)?),
            _ => return Err(Refusal::new(SETTING, format!("elements have 1, 2, 4 or 8 bytes, not {bytes}"))),
        })
    };
    // SAFETY: by this function's contract.
    unsafe { made(rank, into, make) }
}

/// # Safety
/// `into` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_memory_lock(rank: Handle, timeout_ns: i64, into: *mut Handle) -> c_int {
    let make = |me: &Sharer| {
        me.locks.lend(match limit(timeout_ns) {
            None => me.rank.locked()?,
            Some(timeout) => me.rank.locked_timeout(timeout)?,
        })
    };
    // SAFETY: by this function's contract.
    unsafe { made(rank, into, make) }
}

/// # Safety
/// `into` is null, or has room for `count` elements of the array, and is the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_shared_array_load(array: Handle, first: usize, count: usize, into: *mut c_void) -> c_int {
    let load = |array: &AnyArray| {
        typed!(array, array => {
            has_all(array, first, count)?;
            // SAFETY: by this function's contract.
            array.read(first, unsafe { elements_mut(into.cast(), count) }?);
        });
        Ok::<_, Refusal>(())
    };
    call(|| with(array, load))
}

/// # Safety
/// `from` is null, or has `count` elements of the array, which are not written during the call.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_shared_array_store(array: Handle, first: usize, count: usize, from: *const c_void) -> c_int {
    let store = |array: &AnyArray| {
        typed!(array, array => {
            has_all(array, first, count)?;
            // SAFETY: by this function's contract.
            array.write(first, unsafe { elements(from.cast(), count) }?);
        });
        Ok::<_, Refusal>(())
    };
    call(|| with(array, store))
}

/// # Safety
/// `work` may be called with `data` on this thread.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_shared_lock_with(
    lock: Handle,
    timeout_ns: i64,
    work: Option<unsafe extern "C" fn(*mut c_void)>,
    data: *mut c_void,
) -> c_int {
    call(|| {
        let work = work.ok_or_else(no_function)?;
        // SAFETY: by this function's contract.
        let work = |_: &mut u8| unsafe { work(data) };
        with(lock, |lock: &Locked<'static, u8>| match limit(timeout_ns) {
            None => lock.with(work),
            Some(timeout) => lock.with_timeout(timeout, work),
        })
    })
}
