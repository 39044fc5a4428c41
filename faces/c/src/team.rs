//! Teams of threads that call a function of C with a pointer.
use crate::border::{call, check, create, place, tell};
use crate::failure::{INVALID, Refusal};
use crate::slots::{self, Handle};
use core::ffi::{c_char, c_int, c_void};
use foregather::Team;

/// A team of the caller's own; `None` is the one that all libraries of the process share.
pub(crate) struct AnyTeam(Option<Team>);

impl AnyTeam {
    fn team(&self) -> &Team {
        self.0.as_ref().unwrap_or_else(|| Team::global())
    }
}

/// A pointer of the caller's, for its own function on any thread.
#[derive(Clone, Copy)]
pub(crate) struct Data(pub(crate) *mut c_void);

// SAFETY: it is handed to the caller's function and used nowhere else; by the contract of the functions that
// take it, that function may be called with it on any thread, on several at once.
unsafe impl Send for Data {}
// SAFETY: as for `Send`: by the contract of the functions that take it.
unsafe impl Sync for Data {}

impl Data {
    /// A method, so that a closure takes all of it.
    pub(crate) fn get(self) -> *mut c_void {
        self.0
    }
}

type MemberFn = unsafe extern "C" fn(u32, u32, *mut c_void);
type PartFn = unsafe extern "C" fn(usize, *mut c_void);

pub(crate) fn no_function() -> Refusal {
    Refusal::new(INVALID, "the function is null")
}

/// # Safety
/// `into` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_team_create_of(version: u32, members: u32, into: *mut Handle) -> c_int {
    let make = || {
        check(version)?;
        let team = if members == 0 { Team::fitting() } else { Team::new(members)? };
        Ok(AnyTeam(Some(team)))
    };
    // SAFETY: by this function's contract.
    unsafe { create(into, make) }
}

/// # Safety
/// `into` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_team_global_of(version: u32, into: *mut Handle) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { create(into, || check(version).map(|()| AnyTeam(None))) }
}

/// # Safety
/// `work` may be called with `data` on any thread, on several at once.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_team_run(team: Handle, work: Option<MemberFn>, data: *mut c_void) -> c_int {
    let data = Data(data);
    call(|| {
        let (team, work) = (slots::enter::<AnyTeam>(team)?, work.ok_or_else(no_function)?);
        // SAFETY: by this function's contract.
        team.team().run(|member| unsafe { work(member.rank(), member.size(), data.get()) });
        Ok(())
    })
}

/// # Safety
/// `work` may be called with `data` on any thread, on several at once.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_team_split(team: Handle, parts: usize, work: Option<PartFn>, data: *mut c_void) -> c_int {
    let data = Data(data);
    call(|| {
        let (team, work) = (slots::enter::<AnyTeam>(team)?, work.ok_or_else(no_function)?);
        // SAFETY: by this function's contract.
        team.team().split(parts, |part| unsafe { work(part, data.get()) });
        Ok(())
    })
}

/// # Safety
/// `into` is null, or the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_team_members(team: Handle, into: *mut u32) -> c_int {
    call(|| {
        // SAFETY: by this function's contract.
        unsafe { place(into) }?.write(slots::enter::<AnyTeam>(team)?.team().members());
        Ok(())
    })
}

/// # Safety
/// `into` is null or has `size` bytes, `length` is null or a number, and both are the caller's alone.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn fg_team_statistics(team: Handle, into: *mut c_char, size: usize, length: *mut usize) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { tell::<AnyTeam>(team, |it| it.team().report().to_string(), into, size, length) }
}

#[unsafe(no_mangle)]
pub(crate) extern "C" fn fg_team_destroy(team: Handle) -> c_int {
    call(|| slots::remove::<AnyTeam>(team))
}
