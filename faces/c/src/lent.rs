//! What a rank has only while its function runs, and only on its own thread.
use crate::failure::{INVALID, Refusal};
use crate::slots::{self, Handle, Thing};
use core::ffi::c_int;
use core::marker::PhantomData;
use core::ptr;
use foregather::Error;
use std::thread::{ThreadId, current};

/// A thing that was lent to the thread that has made its [`LentHandle`].
pub(crate) struct Lent<T> {
    thing: *const T,
    thread: ThreadId,
}

// SAFETY: the pointer is followed on that thread alone, as `with` checks.
unsafe impl<T> Send for Lent<T> {}
// SAFETY: as for `Send`.
unsafe impl<T> Sync for Lent<T> {}

/// Calls `body` with what was lent to this thread by that handle.
pub(crate) fn with<T, R, E>(handle: Handle, body: impl FnOnce(&T) -> Result<R, E>) -> Result<R, Refusal>
where
    Lent<T>: Thing,
    Refusal: From<E>,
{
    let here = slots::enter::<Lent<T>>(handle)?;
    if here.thread != current().id() {
        return Err(Refusal::new(INVALID, format!("a {} is its own thread's: this is another one", Lent::<T>::NAME)));
    }
    // SAFETY: by the contract of `Loan::of` the thing is there while its handle is, and this is its thread.
    Ok(body(unsafe { &*here.thing })?)
}

/// A handle of a thing, which ends with the loan.
pub(crate) struct LentHandle<T>
where
    Lent<T>: Thing,
{
    pub(crate) handle: Handle,
    of: PhantomData<*const T>,
}

impl<T> LentHandle<T>
where
    Lent<T>: Thing,
{
    /// # Safety
    /// The thing is there, at its place, until the loan was dropped, which this thread does.
    pub(crate) unsafe fn of(thing: *const T) -> Result<Self, Refusal> {
        let handle = slots::insert(Lent { thing, thread: current().id() })?;
        Ok(Self { handle, of: PhantomData })
    }
}

impl<T> Drop for LentHandle<T>
where
    Lent<T>: Thing,
{
    fn drop(&mut self) {
        // Another thread that has tried it is refused, and soon out again.
        while slots::remove::<Lent<T>>(self.handle).is_err_and(|failure| failure.code != INVALID) {}
    }
}

/// A rank's part: calls the function of C with a handle of its rank, which ends with the call.
pub(crate) fn run<T>(rank: u32, thing: &T, body: impl FnOnce(Handle) -> c_int) -> Result<(), Error>
where
    Lent<T>: Thing,
{
    // SAFETY: the loan is dropped below.
    let loan = unsafe { LentHandle::of(ptr::from_ref(thing)) }.map_err(|failure| Error::other(failure.message))?;
    let code = body(loan.handle);
    drop(loan);
    if code == 0 {
        return Ok(());
    }
    // What the library said last on this thread, if the function returns that.
    let said = Refusal::last(code).and_then(|failure| failure.error);
    Err(said.unwrap_or_else(|| Error::other(format!("the function of rank {rank} returned {code}"))))
}
