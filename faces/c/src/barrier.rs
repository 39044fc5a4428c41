//! Barriers of threads, and members with ranks.
use crate::border::{alone, call, check, create, limit, place, tell};
use crate::failure::{Refusal, SETTING};
use crate::slots::{self, Handle, Thing};
use core::ffi::{c_char, c_int};
use core::mem::MaybeUninit;
use foregather::engine::{Account, Punctual};
use foregather::{Barrier, BarrierWaitResult, Member};
use std::sync::{Arc, Mutex};

pub(crate) struct OneMember {
    member: Mutex<Member>,
    account: Arc<Account>,
    rank: u32,
}

fn size_of_barrier(size: u32) -> Result<usize, Refusal> {
    if (1..=1 << 24).contains(&size) {
        return Ok(size as usize);
    }
    Err(Refusal::new(SETTING, format!("a barrier cannot have {size} members: it has 1 to 16777216")))
}

/// Says whether this thread leads the meeting, to callers that ask.
///
/// # Safety
/// `leads` is null, or points to a number that no other thread uses during the call.
unsafe fn met(met: BarrierWaitResult, leads: *mut c_int) {
    // SAFETY: by this function's contract.
    if let Some(leads) = unsafe { leads.cast::<MaybeUninit<c_int>>().as_mut() } {
        leads.write(met.is_leader().into());
    }
}

/// # Safety
/// `into` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_barrier_create_of(version: u32, size: u32, into: *mut Handle) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { create(into, || check(version).and_then(|()| size_of_barrier(size)).map(Barrier::new)) }
}

/// # Safety
/// `leads` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_barrier_wait(barrier: Handle, timeout_ns: i64, leads: *mut c_int) -> c_int {
    call(|| {
        let barrier = slots::enter::<Barrier>(barrier)?;
        let meeting = limit(timeout_ns).map_or_else(|| barrier.wait(), |limit| barrier.wait_timeout(limit))?;
        // SAFETY: by this function's contract.
        unsafe { met(meeting, leads) };
        Ok(())
    })
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn fg_barrier_destroy(barrier: Handle) -> c_int {
    call(|| slots::remove::<Barrier>(barrier))
}

/// # Safety
/// `into` is null, or has room for `size` handles and is the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_barrier_members_of(version: u32, size: u32, into: *mut Handle) -> c_int {
    call(|| {
        check(version)?;
        let size = size_of_barrier(size)?;
        // SAFETY: by this function's contract; that it is not null is all that is asked.
        unsafe { place(into) }?;
        // SAFETY: by this function's contract there is room for that number, which is below 2^24.
        let all = unsafe { core::slice::from_raw_parts_mut(into.cast::<MaybeUninit<Handle>>(), size) };
        for handle in all.iter_mut() {
            handle.write(Handle::NULL);
        }
        let mut given = Vec::with_capacity(size);
        for member in Barrier::new(size).members() {
            let (rank, account) = (member.rank(), member.account().clone());
            match slots::insert(OneMember { member: Mutex::new(member), account, rank }) {
                Ok(handle) => given.push(handle),
                Err(failure) => {
                    given.into_iter().for_each(|handle| drop(slots::remove::<OneMember>(handle)));
                    return Err(failure);
                }
            }
        }
        for (to, handle) in all.iter_mut().zip(given) {
            to.write(handle);
        }
        Ok(())
    })
}

/// # Safety
/// `leads` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_barrier_member_wait(member: Handle, timeout_ns: i64, leads: *mut c_int) -> c_int {
    call(|| {
        let member = slots::enter::<OneMember>(member)?;
        let mut member = alone(&member.member, OneMember::NAME)?;
        let meeting = match limit(timeout_ns) {
            None => member.wait(),
            Some(limit) => member.wait_timeout(limit),
        };
        // SAFETY: by this function's contract.
        unsafe { met(meeting?, leads) };
        Ok(())
    })
}

/// # Safety
/// `late_ns` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_barrier_member_harmonize(member: Handle, slack_ns: i64, late_ns: *mut u64) -> c_int {
    call(|| {
        let member = slots::enter::<OneMember>(member)?;
        let punctual = alone(&member.member, OneMember::NAME)?.harmonize(limit(slack_ns))?;
        // SAFETY: by this function's contract.
        if let Some(late_ns) = unsafe { late_ns.cast::<MaybeUninit<u64>>().as_mut() } {
            late_ns.write(match punctual {
                Punctual::Met => 0,
                Punctual::Missed { by } => by.0,
            });
        }
        Ok(())
    })
}

/// # Safety
/// `into` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_barrier_member_rank(member: Handle, into: *mut u32) -> c_int {
    call(|| {
        // SAFETY: by this function's contract.
        unsafe { place(into) }?.write(slots::enter::<OneMember>(member)?.rank);
        Ok(())
    })
}

/// # Safety
/// `into` is null or has `size` bytes, `length` is null or a number, and both are the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_barrier_member_statistics(
    member: Handle,
    into: *mut c_char,
    size: usize,
    length: *mut usize,
) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { tell::<OneMember>(member, |it| it.account.snapshot().to_string(), into, size, length) }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn fg_barrier_member_destroy(member: Handle) -> c_int {
    call(|| slots::remove::<OneMember>(member))
}
