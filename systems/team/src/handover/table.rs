//! Shares one set of workers between several libraries of this project in one process, each of which has its
//! own copy of this crate. A library that has threads for the program's regions (the provider) runs the calls
//! of the others on them.
//!
//! The provider exports the function [`TABLE_SYMBOL`], which returns its [`TeamTable`]. Only plain numbers
//! and pointers cross the boundary, and no library frees memory that another one has allocated. A panic of a
//! part stays in the library that owns the part.
use super::Panic;
use crate::TeamMember;
use crate::protocol::{Course, HelpPolicy};
use core::ffi::c_void;
use core::ptr::NonNull;
use foregather_host::dl::{self, Library};
use foregather_machine::Nanos;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The name of the function that returns a library's table, or null if it does not serve the program.
const TABLE_SYMBOL: &str = "foregather_team_table";
/// A part of the file name of every library that may have a table: `libforegather_gomp.so`, and the names
/// under which programs and wheels load an OpenMP runtime.
const FILE_NAME: &[u8] = b"gomp";

/// Identifies the libraries of one build. Libraries of other builds use their own teams, because the layout
/// of a table may have changed.
const BUILD_ID: u64 = {
    let commit = match option_env!("FOREGATHER_COMMIT") {
        Some(commit) => commit,
        None => "",
    };
    let sources = [include_str!("mod.rs"), include_str!("table.rs"), include_str!("../protocol.rs")];
    let mut id = mix(mix(0xcbf2_9ce4_8422_2325, env!("CARGO_PKG_VERSION")), commit);
    let mut at = 0;
    while at < sources.len() {
        id = mix(id, sources[at]);
        at += 1;
    }
    id
};

/// Extends an FNV-1a hash by the bytes of a text and a terminator.
const fn mix(mut hash: u64, text: &str) -> u64 {
    let (bytes, mut at) = (text.as_bytes(), 0);
    while at <= bytes.len() {
        hash = (hash ^ if at < bytes.len() { bytes[at] as u64 } else { 256 }).wrapping_mul(0x100_0000_01b3);
        at += 1;
    }
    hash
}

/// A runtime whose threads can run the calls of other libraries.
pub trait TeamProvider {
    /// Calls `part` once for every member of a team of at most `width` members that the calling thread leads.
    /// Returns the timing.
    ///
    /// # Errors
    /// The reason why the calling thread has no such team now; then nothing was called.
    fn run(width: u32, help_after: HelpPolicy, part: &(impl Fn(TeamMember) + Sync)) -> Result<Course, NoTeam>;
}

/// The reason why a provider has no team for a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum NoTeam {
    /// It has no team for this thread.
    Absent = 1,
    /// The thread is inside a region, and all the threads that the call may use are in regions.
    InWideRegion = 2,
}

/// One part of a call. It never unwinds.
type ForeignPart = unsafe extern "C" fn(work: *const (), rank: u32, size: u32);
/// [`TeamProvider::run`] with a C interface. Returns the number of a [`NoTeam`], or [`RAN`].
type ForeignRun =
    unsafe extern "C" fn(part: ForeignPart, work: *const (), width: u32, help_after: u32, course: *mut ForeignCourse) -> u32;
const RAN: u32 = 0;

/// A [`Course`] that is passed between libraries.
#[repr(C)]
#[derive(Default)]
struct ForeignCourse {
    own_ns: u64,
    whole_ns: u64,
    late: u32,
}

/// The interface that a provider exports.
#[derive(Debug)]
#[repr(C)]
pub struct TeamTable {
    /// First in every build, because it is read first.
    build: u64,
    run: ForeignRun,
}

impl TeamTable {
    /// Returns the table of that provider.
    pub const fn of<P: TeamProvider>() -> Self {
        Self { build: BUILD_ID, run: run_foreign::<P> }
    }

    /// Calls `work` once for every member of the provider's team. Returns the timing of the region and the
    /// first panic.
    ///
    /// # Errors
    /// As for [`TeamProvider::run`].
    pub(crate) fn run<F: Fn(TeamMember) + Sync>(
        &self,
        width: u32,
        work: &F,
        help_after: HelpPolicy,
    ) -> Result<(Course, Option<Panic>), NoTeam> {
        let call = GuardedCall { work, panic: Mutex::new(None) };
        let mut course = ForeignCourse::default();
        // SAFETY: `guarded` was made for what `call` is, which is borrowed until `run` returns, after all
        // parts; the course is written by this call alone.
        let ran =
            unsafe { (self.run)(guarded::<F>, core::ptr::from_ref(&call).cast(), width, help_after as u32, &raw mut course) };
        match ran {
            RAN => {}
            ran if ran == NoTeam::InWideRegion as u32 => return Err(NoTeam::InWideRegion),
            _ => return Err(NoTeam::Absent),
        }
        let ForeignCourse { own_ns, whole_ns, late } = course;
        let panic = call.panic.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok((Course { own: Nanos(own_ns), whole: Nanos(whole_ns), late }, panic))
    }
}

/// A closure whose panics stay in its own library.
struct GuardedCall<'a, F> {
    work: &'a F,
    panic: Mutex<Option<Panic>>,
}

/// Runs one part of a closure of type `F`.
///
/// # Safety
/// `call` points to a living `GuardedCall<F>`.
unsafe extern "C" fn guarded<F: Fn(TeamMember) + Sync>(call: *const (), rank: u32, size: u32) {
    // SAFETY: by this function's contract.
    let call = unsafe { &*call.cast::<GuardedCall<'_, F>>() };
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| (call.work)(TeamMember { rank, size }))) {
        call.panic.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(panic);
    }
}

/// A part of another library's call, which any thread may run.
struct ForeignCall {
    part: ForeignPart,
    work: *const (),
}

// SAFETY: `run_foreign` makes it of a part that its contract allows any thread to call.
unsafe impl Sync for ForeignCall {}

impl ForeignCall {
    fn call(&self, member: TeamMember) {
        // SAFETY: `run_foreign` makes it of a part and its work, and uses it no longer than its caller lends
        // them.
        unsafe { (self.part)(self.work, member.rank, member.size) }
    }
}

/// Runs another library's call on the provider's team.
///
/// # Safety
/// Any thread may call `part` with `work` until this returns, and `course` can be written.
unsafe extern "C" fn run_foreign<P: TeamProvider>(
    part: ForeignPart,
    work: *const (),
    width: u32,
    help_after: u32,
    course: *mut ForeignCourse,
) -> u32 {
    let call = ForeignCall { part, work };
    let help_after = [HelpPolicy::AfterOwnTime, HelpPolicy::AtOnce].into_iter().find(|&policy| policy as u32 == help_after);
    match P::run(width, help_after.unwrap_or(HelpPolicy::Never), &|member| call.call(member)) {
        Ok(Course { own, whole, late }) => {
            // SAFETY: by this function's contract.
            unsafe { course.write(ForeignCourse { own_ns: own.0, whole_ns: whole.0, late }) };
            RAN
        }
        Err(why) => why as u32,
    }
}

/// The threads on which a library's calls run.
#[derive(Debug)]
pub(crate) enum TeamSource {
    /// Its own threads: there is no provider.
    Own,
    /// Its own threads: that library is of another build.
    OtherBuild(PathBuf),
    /// The threads of that provider.
    Provider(&'static TeamTable),
}

impl TeamSource {
    /// Looks for a provider among the loaded libraries, including those of `RTLD_LOCAL`. Returns `None` if no
    /// library was loaded since the last call, which left its count in `before`. A provider stays loaded from
    /// then on.
    pub(crate) fn find(before: &mut u64) -> Option<Self> {
        let (now, paths) = dl::loaded_since(*before, |name| name.windows(FILE_NAME.len()).any(|part| part == FILE_NAME))?;
        *before = now;
        let mut source = Self::Own;
        for library in paths.iter().filter_map(|path| Library::loaded(path)) {
            let Some(function) = library.symbol(TABLE_SYMBOL).ok().and_then(NonNull::new) else { continue };
            // SAFETY: only this project's libraries have a function of that name, whose type no build
            // changes.
            let table = unsafe { core::mem::transmute::<NonNull<c_void>, extern "C" fn() -> *const TeamTable>(function) }();
            // SAFETY: it returns null or its table, which begins with the build in every one, and lives as
            // long as the library, which is never unloaded.
            match unsafe { table.cast::<u64>().as_ref() } {
                None => {}
                // SAFETY: a table of this build is what the type says.
                Some(&BUILD_ID) => return Some(Self::Provider(unsafe { &*table })),
                Some(_) => source = Self::OtherBuild(library.path().to_owned()),
            }
        }
        Some(source)
    }
}

impl core::fmt::Display for TeamSource {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Own => f.write_str("its own: the program does not use Foregather's OpenMP runtime"),
            Self::OtherBuild(path) => write!(
                f,
                "its own: {} is of another build; install both libraries from one release to have one team",
                path.display()
            ),
            Self::Provider(_) => f.write_str("those of Foregather's OpenMP runtime"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

    /// Calls all parts in turn, last one first.
    struct InTurn;

    impl TeamProvider for InTurn {
        fn run(width: u32, help_after: HelpPolicy, part: &(impl Fn(TeamMember) + Sync)) -> Result<Course, NoTeam> {
            if width < 2 {
                return Err(if width == 0 { NoTeam::InWideRegion } else { NoTeam::Absent });
            }
            (0..width).rev().for_each(|rank| part(TeamMember { rank, size: width }));
            let late = help_after as u32;
            Ok(Course { own: Nanos(5), whole: Nanos(7), late })
        }
    }

    #[test]
    fn a_call_goes_to_the_provider_and_back_with_its_panic() {
        let table = TeamTable::of::<InTurn>();
        let parts = AtomicU32::new(0);
        let count = |member: TeamMember| _ = parts.fetch_add(1 << (8 * member.rank()), Relaxed);
        for help_after in [HelpPolicy::AfterOwnTime, HelpPolicy::AtOnce, HelpPolicy::Never] {
            let (course, panic) = table.run(3, &count, help_after).unwrap();
            assert_eq!(course, Course { own: Nanos(5), whole: Nanos(7), late: help_after as u32 });
            assert!(panic.is_none());
        }
        assert_eq!(parts.load(Relaxed), 0x03_03_03);
        for (width, why) in [(0, NoTeam::InWideRegion), (1, NoTeam::Absent)] {
            assert_eq!(table.run(width, &|_| (), HelpPolicy::AtOnce).err(), Some(why));
        }
        let fails = |member: TeamMember| assert!(member.rank() != 1, "in part {}", member.rank());
        let (_, panic) = table.run(3, &fails, HelpPolicy::AtOnce).unwrap();
        assert_eq!(panic.unwrap().downcast_ref::<String>().map(String::as_str), Some("in part 1"));
    }

    #[test]
    fn a_build_is_known_by_all_of_its_texts() {
        let id = |texts: &[&str]| texts.iter().fold(1, |id, text| mix(id, text));
        assert_ne!(id(&["ab", "c"]), id(&["a", "bc"]));
        assert_ne!(id(&["ab", ""]), id(&["ab"]));
        assert_ne!(BUILD_ID, 0);
    }
}
