//! Barriers of processes of one host: the functions `fg_shared_barrier_*` and `fg_shared_member_*`.
use crate::border::{alone, call, check, create, limit, place, tell};
use crate::queue::copy_of;
use crate::slots::{self, Handle, Thing};
use core::ffi::{c_char, c_int};
use foregather::engine::Account;
use foregather::processes::{SharedBarrier, SharedMember};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Arc, Mutex};

/// A member, and the record of its waits. The record is outside the lock, so that it can be read during a
/// wait.
pub(crate) struct OneSharedMember {
    member: Mutex<SharedMember>,
    account: Arc<Account>,
}

/// # Safety
/// `into` is null, or points to a handle that no other thread uses during the call.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_shared_barrier_create_of(version: u32, size: u32, into: *mut Handle) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { create(into, || check(version).and_then(|()| Ok(SharedBarrier::create(size)?))) }
}

/// # Safety
/// `into` is null, or points to a handle that no other thread uses during the call; the descriptor stays open
/// during the call.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_shared_barrier_attach_of(version: u32, descriptor: c_int, into: *mut Handle) -> c_int {
    // SAFETY: by this function's contract, the descriptor stays open while `create` calls this.
    let make = || check(version).and_then(|()| Ok(SharedBarrier::attach(unsafe { copy_of(descriptor) }?)?));
    // SAFETY: by this function's contract.
    unsafe { create(into, make) }
}

/// # Safety
/// `into` is null, or points to a number that no other thread uses during the call.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_shared_barrier_fd(barrier: Handle, into: *mut c_int) -> c_int {
    call(|| {
        // SAFETY: by this function's contract.
        unsafe { place(into) }?.write(slots::enter::<SharedBarrier>(barrier)?.as_fd().as_raw_fd());
        Ok(())
    })
}

/// # Safety
/// `into` is null, or points to a number that no other thread uses during the call.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_shared_barrier_size(barrier: Handle, into: *mut u32) -> c_int {
    call(|| {
        // SAFETY: by this function's contract.
        unsafe { place(into) }?.write(slots::enter::<SharedBarrier>(barrier)?.size());
        Ok(())
    })
}

/// # Safety
/// `into` is null, or points to a handle that no other thread uses during the call.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_shared_barrier_member(barrier: Handle, rank: u32, into: *mut Handle) -> c_int {
    let make = || {
        let mut member = slots::enter::<SharedBarrier>(barrier)?.member(rank)?;
        let account = member.account()?;
        Ok(OneSharedMember { member: Mutex::new(member), account })
    };
    // SAFETY: by this function's contract.
    unsafe { create(into, make) }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn fg_shared_barrier_destroy(barrier: Handle) -> c_int {
    call(|| slots::remove::<SharedBarrier>(barrier))
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn fg_shared_member_wait(member: Handle, timeout_ns: i64) -> c_int {
    call(|| {
        let member = slots::enter::<OneSharedMember>(member)?;
        let mut member = alone(&member.member, OneSharedMember::NAME)?;
        Ok(match limit(timeout_ns) {
            None => member.wait(),
            Some(limit) => member.wait_timeout(limit),
        }?)
    })
}

/// # Safety
/// `into` is null or points to `size` bytes, `length` is null or points to a number, and no other thread uses
/// either during the call.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_shared_member_statistics(
    member: Handle,
    into: *mut c_char,
    size: usize,
    length: *mut usize,
) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { tell::<OneSharedMember>(member, |it| it.account.snapshot().to_string(), into, size, length) }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn fg_shared_member_destroy(member: Handle) -> c_int {
    call(|| slots::remove::<OneSharedMember>(member))
}
