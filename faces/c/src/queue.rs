//! Broadcasts: the queue, which processes hand each other by a descriptor.
use crate::border::{call, check, create, place};
use crate::ends::{ReadingEnd, WritingEnd};
use crate::failure::{Refusal, SETTING, SYSTEM};
use crate::slots::{self, Handle};
use core::ffi::c_int;
use foregather::Broadcast;
use foregather::engine::host::forks;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// A copy of a caller's descriptor.
///
/// # Safety
/// The descriptor is open, if it is not negative, and stays open during the call.
pub(crate) unsafe fn copy_of(descriptor: c_int) -> Result<OwnedFd, Refusal> {
    if descriptor < 0 {
        return Err(Refusal::new(SETTING, format!("{descriptor} is no descriptor")));
    }
    // SAFETY: by this function's contract, and -1 was refused; one that is not open is refused by the system.
    let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
    forks::undivided(|| borrowed.try_clone_to_owned())
        .map_err(|error| Refusal::new(SYSTEM, format!("descriptor {descriptor} cannot be copied: {error}")))
}

/// # Safety
/// `into` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_broadcast_create_of(version: u32, readers: u32, bytes: usize, into: *mut Handle) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { create(into, || check(version).and_then(|()| Ok(Broadcast::create(readers, bytes)?))) }
}

/// # Safety
/// `into` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_broadcast_skipping_of(version: u32, readers: u32, bytes: usize, into: *mut Handle) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { create(into, || check(version).and_then(|()| Ok(Broadcast::skipping(readers, bytes)?))) }
}

/// # Safety
/// `into` is null, or the caller's alone; the descriptor stays open during the call.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_broadcast_attach_of(version: u32, descriptor: c_int, into: *mut Handle) -> c_int {
    // SAFETY: by this function's contract.
    let make = || check(version).and_then(|()| Ok(Broadcast::attach(unsafe { copy_of(descriptor) }?)?));
    // SAFETY: by this function's contract.
    unsafe { create(into, make) }
}

/// # Safety
/// `into` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_broadcast_fd(broadcast: Handle, into: *mut c_int) -> c_int {
    call(|| {
        // SAFETY: by this function's contract.
        unsafe { place(into) }?.write(slots::enter::<Broadcast>(broadcast)?.as_fd().as_raw_fd());
        Ok(())
    })
}

/// # Safety
/// `into` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_broadcast_readers(broadcast: Handle, into: *mut u32) -> c_int {
    call(|| {
        // SAFETY: by this function's contract.
        unsafe { place(into) }?.write(slots::enter::<Broadcast>(broadcast)?.readers());
        Ok(())
    })
}

/// # Safety
/// `into` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_broadcast_writer(broadcast: Handle, into: *mut Handle) -> c_int {
    let make = || WritingEnd::new(slots::enter::<Broadcast>(broadcast)?.writer()?);
    // SAFETY: by this function's contract.
    unsafe { create(into, make) }
}

/// # Safety
/// `into` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_broadcast_reader(broadcast: Handle, rank: u32, into: *mut Handle) -> c_int {
    let make = || ReadingEnd::new(slots::enter::<Broadcast>(broadcast)?.reader(rank)?);
    // SAFETY: by this function's contract.
    unsafe { create(into, make) }
}

/// # Safety
/// `into` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_broadcast_replace(broadcast: Handle, rank: u32, into: *mut Handle) -> c_int {
    let make = || ReadingEnd::new(slots::enter::<Broadcast>(broadcast)?.replace(rank)?);
    // SAFETY: by this function's contract.
    unsafe { create(into, make) }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn fg_broadcast_destroy(broadcast: Handle) -> c_int {
    call(|| slots::remove::<Broadcast>(broadcast))
}
