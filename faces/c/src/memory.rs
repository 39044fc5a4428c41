//! Memory that ranks share: one function of C on every rank.
use crate::border::{call, check, elements, elements_mut, place};
use crate::failure::{Refusal, SETTING};
use crate::job::{Function, sum};
use crate::lent::{Lent, Loan, run, with};
use crate::slots::{Handle, Thing};
use crate::team::{Data, no_function};
use core::cell::RefCell;
use core::ffi::{c_int, c_void};
use core::ptr;
use foregather::engine::message::collective::Element;
use foregather::{Array, Locked, Plain, Shared, shared};
use std::rc::Rc;

/// A rank while its function runs, whatever the lifetimes say, and what that has made.
struct Sharer {
    rank: &'static Shared<'static>,
    arrays: Made<AnyArray>,
    locks: Made<Locked<'static, u8>>,
}

/// Things, each behind its loan, which is dropped first.
struct Made<T>(RefCell<Vec<(Loan<T>, Rc<T>)>>)
where
    Lent<T>: Thing;

impl<T> Made<T>
where
    Lent<T>: Thing,
{
    fn lend(&self, thing: T) -> Result<Handle, Refusal> {
        let thing = Rc::new(thing);
        // SAFETY: the thing is kept behind its loan.
        let loan = unsafe { Loan::of(Rc::as_ptr(&thing)) }?;
        let handle = loan.handle;
        self.0.borrow_mut().push((loan, thing));
        Ok(handle)
    }
}

impl Thing for Lent<Sharer> {
    const KIND: u64 = 10;
    const NAME: &'static str = "rank of shared memory";
    const INHERITED: bool = false;
}

impl Thing for Lent<AnyArray> {
    const KIND: u64 = 11;
    const NAME: &'static str = "shared array";
    const INHERITED: bool = false;
}

/// Its value is of no use: what it guards are arrays.
impl Thing for Lent<Locked<'static, u8>> {
    const KIND: u64 = 12;
    const NAME: &'static str = "shared lock";
    const INHERITED: bool = false;
}

/// By the number of an element's bytes: C's types are patterns of bits here.
enum AnyArray {
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

/// Are there as many elements from `first` on?
fn has_all<T: Plain>(array: &Array<T>, first: usize, count: usize) -> Result<(), Refusal> {
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
pub(crate) unsafe extern "C" fn fg_shared_rank_rank(rank: Handle, into: *mut u32) -> c_int {
    call(|| {
        // SAFETY: by this function's contract.
        unsafe { place(into) }?.write(with_rank(rank, |me| Ok(me.rank.rank()))?);
        Ok(())
    })
}

/// # Safety
/// `into` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_shared_rank_size(rank: Handle, into: *mut u32) -> c_int {
    call(|| {
        // SAFETY: by this function's contract.
        unsafe { place(into) }?.write(with_rank(rank, |me| Ok(me.rank.size()))?);
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn fg_shared_rank_barrier(rank: Handle) -> c_int {
    call(|| with_rank(rank, |me| Ok(me.rank.barrier()?)))
}

/// # Safety
/// `value` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_shared_rank_sum_double(rank: Handle, value: *mut f64) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { sum_of_all(rank, value) }
}

/// # Safety
/// `value` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_shared_rank_sum_int64(rank: Handle, value: *mut i64) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { sum_of_all(rank, value) }
}

/// # Safety
/// As [`sum`].
unsafe fn sum_of_all<T: Element + Send + 'static>(rank: Handle, value: *mut T) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { sum(value, |value| with_rank(rank, |me| Ok(me.rank.sum(value)?))) }
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
pub(crate) unsafe extern "C" fn fg_shared_rank_array(rank: Handle, bytes: usize, count: usize, into: *mut Handle) -> c_int {
    let make = |me: &Sharer| {
        me.arrays.lend(match bytes {
            1 => AnyArray::One(me.rank.array(count)?),
            2 => AnyArray::Two(me.rank.array(count)?),
            4 => AnyArray::Four(me.rank.array(count)?),
            8 => AnyArray::Eight(me.rank.array(count)?),
            _ => return Err(Refusal::new(SETTING, format!("elements have 1, 2, 4 or 8 bytes, not {bytes}"))),
        })
    };
    // SAFETY: by this function's contract.
    unsafe { made(rank, into, make) }
}

/// # Safety
/// `into` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_shared_rank_lock(rank: Handle, into: *mut Handle) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { made(rank, into, |me| me.locks.lend(me.rank.locked()?)) }
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
    work: Option<unsafe extern "C" fn(*mut c_void)>,
    data: *mut c_void,
) -> c_int {
    call(|| {
        let work = work.ok_or_else(no_function)?;
        // SAFETY: by this function's contract.
        with(lock, |lock: &Locked<'static, u8>| lock.with(|_| unsafe { work(data) }))
    })
}
