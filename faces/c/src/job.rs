//! Jobs: one function of C on every rank.
use crate::border::{bytes, call, check, limit, place, room};
use crate::failure::{INVALID, Refusal};
use crate::lent::{self, run};
use crate::slots::Handle;
use crate::team::{Data, no_function};
use core::ffi::{c_int, c_void};
use core::mem::MaybeUninit;
use foregather::engine::Cause;
use foregather::engine::message::collective::Element;
use foregather::{Communicator, Error, job};

pub(crate) type Function = unsafe extern "C" fn(Handle, *mut c_void) -> c_int;

/// # Safety
/// `body` may be called with `data` on any thread, on several at once.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_job_of(version: u32, ranks: u32, body: Option<Function>, data: *mut c_void) -> c_int {
    let data = Data(data);
    call(|| {
        check(version)?;
        let body = body.ok_or_else(no_function)?;
        // SAFETY: by this function's contract.
        job(ranks, |me| run(me.rank(), me, |handle| unsafe { body(handle, data.get()) }))?;
        Ok(())
    })
}

fn with<T>(rank: Handle, body: impl FnOnce(&Communicator) -> Result<T, Error>) -> Result<T, Refusal> {
    lent::with(rank, body)
}

/// # Safety
/// `into` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_comm_rank(rank: Handle, into: *mut u32) -> c_int {
    call(|| {
        // SAFETY: by this function's contract.
        unsafe { place(into) }?.write(with(rank, |me| Ok(me.rank()))?);
        Ok(())
    })
}

/// # Safety
/// `into` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_comm_size(rank: Handle, into: *mut u32) -> c_int {
    call(|| {
        // SAFETY: by this function's contract.
        unsafe { place(into) }?.write(with(rank, |me| Ok(me.size()))?);
        Ok(())
    })
}

/// # Safety
/// `at` is null, or points to `length` bytes that are not written during the call.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_comm_send(rank: Handle, timeout_ns: i64, to: u32, at: *const c_void, length: usize) -> c_int {
    call(|| {
        // SAFETY: by this function's contract.
        let message = unsafe { bytes(at.cast(), length) }?;
        with(rank, |me| match limit(timeout_ns) {
            None => me.send(to, message),
            Some(timeout) => me.send_timeout(to, message, timeout),
        })
    })
}

/// The caller's room, with bytes in it that a message may be written over.
///
/// # Safety
/// As [`room`].
unsafe fn cleared<'a>(at: *mut c_void, size: usize) -> Result<&'a mut [u8], Refusal> {
    // SAFETY: by this function's contract.
    let room = unsafe { room(at.cast(), size) }?;
    // SAFETY: C knows no uninitialised bytes: what is behind a pointer that a program passes are bytes, and
    // they are read by no code before they are written.
    Ok(unsafe { &mut *(core::ptr::from_mut(room) as *mut [u8]) })
}

/// # Safety
/// `length` is null or points to a number that is the caller's alone.
unsafe fn came(bytes: usize, length: *mut usize) {
    // SAFETY: by this function's contract.
    if let Some(length) = unsafe { length.cast::<MaybeUninit<usize>>().as_mut() } {
        length.write(bytes);
    }
}

/// The length of a message that was too long, too.
///
/// # Safety
/// As [`came`].
unsafe fn answer(came_or_not: Result<usize, Refusal>, length: *mut usize) -> Result<(), Refusal> {
    let too_long = |failure: &Refusal| match failure.error.as_ref().map(Error::cause) {
        Some(Cause::Length { bytes, .. } | Cause::Elements { bytes, .. }) => Some(*bytes),
        _ => None,
    };
    if let Some(bytes) = came_or_not.as_ref().map_or_else(too_long, |bytes| Some(*bytes)) {
        // SAFETY: by this function's contract.
        unsafe { came(bytes, length) };
    }
    came_or_not.map(drop)
}

/// # Safety
/// `into` is null or has room for `size` bytes, `length` is null or a number, and both are the caller's
/// alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_comm_receive(
    rank: Handle,
    timeout_ns: i64,
    from: u32,
    into: *mut c_void,
    size: usize,
    length: *mut usize,
) -> c_int {
    call(|| {
        // SAFETY: by this function's contract.
        let into = unsafe { cleared(into, size) }?;
        let came = with(rank, |me| match limit(timeout_ns) {
            None => me.receive(from, into),
            Some(timeout) => me.receive_timeout(from, into, timeout),
        });
        // SAFETY: by this function's contract.
        unsafe { answer(came, length) }
    })
}

/// # Safety
/// `at` is null or points to `bytes_out` bytes that are not written during the call; the rest as
/// [`fg_comm_receive`], and `into` is apart from it.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_comm_exchange(
    rank: Handle,
    timeout_ns: i64,
    peer: u32,
    at: *const c_void,
    bytes_out: usize,
    into: *mut c_void,
    size: usize,
    length: *mut usize,
) -> c_int {
    call(|| {
        // SAFETY: by this function's contract.
        let (out, into) = unsafe { (bytes(at.cast(), bytes_out)?, cleared(into, size)?) };
        let came = with(rank, |me| match limit(timeout_ns) {
            None => me.exchange(peer, out, into),
            Some(timeout) => me.exchange_timeout(peer, out, into, timeout),
        });
        // SAFETY: by this function's contract.
        unsafe { answer(came, length) }
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn fg_comm_barrier(rank: Handle, timeout_ns: i64) -> c_int {
    call(|| with(rank, |me| limit(timeout_ns).map_or_else(|| me.barrier(), |timeout| me.barrier_timeout(timeout))))
}

/// # Safety
/// `value` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_comm_sum_double(rank: Handle, timeout_ns: i64, value: *mut f64) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { sum_of_all(rank, timeout_ns, value) }
}

/// # Safety
/// `value` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_comm_sum_int64(rank: Handle, timeout_ns: i64, value: *mut i64) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { sum_of_all(rank, timeout_ns, value) }
}

/// # Safety
/// As [`sum`].
unsafe fn sum_of_all<T: Element>(rank: Handle, timeout_ns: i64, value: *mut T) -> c_int {
    let of_all = |value| {
        with(rank, |me| match limit(timeout_ns) {
            None => me.sum(value),
            Some(timeout) => me.sum_timeout(value, timeout),
        })
    };
    // SAFETY: by this function's contract.
    unsafe { sum(value, of_all) }
}

/// # Safety
/// `value` is null, or points to a number that is the caller's alone.
pub(crate) unsafe fn sum<T: Copy>(value: *mut T, sum: impl FnOnce(T) -> Result<T, Refusal>) -> c_int {
    call(|| {
        // SAFETY: by this function's contract.
        let value = unsafe { value.as_mut() }.ok_or_else(|| Refusal::new(INVALID, "the address of the number is null"))?;
        *value = sum(*value)?;
        Ok(())
    })
}

/// # Safety
/// `at` is null, or points to `length` bytes that are the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_comm_broadcast(
    rank: Handle,
    timeout_ns: i64,
    root: u32,
    at: *mut c_void,
    length: usize,
) -> c_int {
    call(|| {
        // SAFETY: by this function's contract.
        let data = unsafe { cleared(at, length) }?;
        with(rank, |me| match limit(timeout_ns) {
            None => me.broadcast(root, data),
            Some(timeout) => me.broadcast_timeout(root, data, timeout),
        })
    })
}
