//! Which ranks the members of a communicator are, and its number on the page.
//!
//! Communicators of the same ranks are numbered in the order in which they were made, which all members
//! agree on. One whose creation this layer has not seen is known by its ranks and the order of first uses,
//! which members may differ in, so its number is not certain.
use crate::abi::constants;
use crate::arguments::{MpiHandle, fortran_number};
use crate::next::find;
use crate::record::page;
use core::ffi::{CStr, c_int};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering::*};
use foregather_host::watched::calls::{MOST_MEMBERS, WORLD};
use foregather_machine::Rank;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// What is known of a communicator.
pub(crate) struct KnownCommunicator {
    /// Its number on the page.
    pub(crate) number: u16,
    /// The ranks of its members in `MPI_COMM_WORLD`; `None` for that one.
    ranks: Option<Vec<Rank>>,
    /// How many collective calls its members have begun, and the last eight.
    collectives: AtomicU64,
    last: AtomicU64,
}

impl KnownCommunicator {
    /// The rank of a member in `MPI_COMM_WORLD`.
    #[inline]
    pub(crate) fn rank(&self, member: c_int) -> Option<Rank> {
        let member = usize::try_from(member).ok()?;
        self.ranks.as_ref().map_or(Some(member as Rank), |ranks| ranks.get(member).copied())
    }

    /// Counts a collective call. Returns how many there were with it, and the last eight.
    #[inline]
    pub(crate) fn count(&self, call: u8) -> (u64, u64) {
        // Members call one after the other, so no call is lost between the two.
        let last = self.last.load(Relaxed) << 8 | u64::from(call);
        self.last.store(last, Relaxed);
        (self.collectives.fetch_add(1, Relaxed) + 1, last)
    }
}

/// What is known of each of C's handles, so that both languages count the same calls. The last ones used, of
/// either language, are in places that need no lock.
struct Registry {
    known: HashMap<usize, Option<&'static KnownCommunicator>>,
    /// How many communicators of the same ranks there were so far; whether they were seen when they were
    /// made.
    alike: HashMap<(u64, bool), u64>,
}

static REGISTRY: Mutex<Option<Registry>> = Mutex::new(None);
const PLACES: usize = 64;
static LAST_USED: [(AtomicUsize, AtomicPtr<KnownCommunicator>); PLACES] =
    [const { (AtomicUsize::new(0), AtomicPtr::new(null_mut())) }; PLACES];

/// The communicator of a handle. `None` if it is one of two groups, or there are too many.
#[inline]
pub(crate) fn of(handle: MpiHandle) -> Option<&'static KnownCommunicator> {
    let (last, known) = place(handle);
    if last.load(Acquire) == handle {
        // SAFETY: the pointer is null, or to an object that is never freed.
        let found = unsafe { known.load(Acquire).as_ref() };
        // Another thread may have changed the place meanwhile.
        if found.is_some() && last.load(Acquire) == handle {
            return found;
        }
    }
    look_up(handle, false)
}

/// Notes a communicator that its members have just made.
pub(crate) fn made(handle: MpiHandle) {
    if to_c(handle) != constants().communicator_null {
        forget(handle);
        look_up(handle, true);
    }
}

/// Removes a communicator that is about to be freed.
pub(crate) fn forget(handle: MpiHandle) {
    let mut registry = REGISTRY.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(forgotten) = registry.as_mut().and_then(|registry| registry.known.remove(&to_c(handle))).flatten() else { return };
    let is_its = |known: &AtomicPtr<KnownCommunicator>| core::ptr::eq(known.load(Relaxed), forgotten);
    LAST_USED.iter().filter(|(_, known)| is_its(known)).for_each(|(last, _)| last.store(0, Release));
}

fn place(handle: MpiHandle) -> &'static (AtomicUsize, AtomicPtr<KnownCommunicator>) {
    &LAST_USED[handle.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58]
}

#[cold]
fn look_up(handle: MpiHandle, is_new: bool) -> Option<&'static KnownCommunicator> {
    let mut registry = REGISTRY.lock().unwrap_or_else(PoisonError::into_inner);
    let registry = registry.get_or_insert_with(|| Registry { known: HashMap::new(), alike: HashMap::new() });
    let named = to_c(handle);
    let found = match registry.known.get(&named) {
        Some(known) => *known,
        None => {
            let found = registry.enter(named, is_new);
            registry.known.insert(named, found);
            found
        }
    };
    if let Some(found) = found {
        let (last, known) = place(handle);
        // In this order: a handle is never seen beside the communicator of another one.
        last.store(0, Release);
        known.store(core::ptr::from_ref(found).cast_mut(), Release);
        last.store(handle, Release);
    }
    found
}

impl Registry {
    fn enter(&mut self, handle: usize, is_new: bool) -> Option<&'static KnownCommunicator> {
        let (number, ranks) = if handle == constants().world {
            (WORLD, None)
        } else {
            let ranks = ranks(handle)?;
            let group = ranks.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &rank| mixed(hash, u64::from(rank)));
            let alike = self.alike.entry((group, is_new)).or_default();
            *alike += 1;
            let identity = mixed(mixed(group, *alike), is_new.into());
            (page()?.communicator(identity, is_new || ranks.len() == 1, &ranks)?, Some(ranks))
        };
        let known = KnownCommunicator { number, ranks, collectives: AtomicU64::new(0), last: AtomicU64::new(0) };
        Some(Box::leak(Box::new(known)))
    }
}

fn mixed(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23)
}

/// C's handle.
fn to_c(handle: MpiHandle) -> usize {
    let Some(number) = fortran_number(handle) else { return handle };
    // MPICH's numbers are the same in both languages, and there may be no function.
    let Some(found) = find(c"PMPI_Comm_f2c").filter(|_| constants().handle_bytes == 8) else { return number as usize };
    // SAFETY: MPI's function of this name takes Fortran's number and returns C's handle, here of 8 bytes.
    unsafe { core::mem::transmute::<*mut core::ffi::c_void, unsafe extern "C" fn(c_int) -> usize>(found)(number as c_int) }
}

/// Calls a function of MPI that succeeds with 0.
pub(crate) fn ask(name: &CStr, arguments: [usize; 5]) -> Option<()> {
    let found = find(name)?;
    // SAFETY: the function takes five words at most, of those kinds; what is more than it takes is not read.
    let result = unsafe {
        let call = core::mem::transmute::<*mut core::ffi::c_void, unsafe extern "C" fn(usize, usize, usize, usize, usize) -> c_int>(
            found,
        );
        call(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4])
    };
    (result == 0).then_some(())
}

/// The ranks of the members of C's handle, in `MPI_COMM_WORLD`. `None` for two groups, and if some are of
/// another job.
fn ranks(communicator: usize) -> Option<Vec<Rank>> {
    let world = constants().world;
    let (mut is_inter, mut size): (c_int, c_int) = (0, 0);
    let (mut group, mut all): (usize, usize) = (0, 0);
    let address = |of: &mut usize| (&raw mut *of).expose_provenance();
    let integer = |of: &mut c_int| (&raw mut *of).expose_provenance();
    ask(c"PMPI_Comm_test_inter", [communicator, integer(&mut is_inter), 0, 0, 0])?;
    ask(c"PMPI_Comm_size", [communicator, integer(&mut size), 0, 0, 0])?;
    if is_inter != 0 || size as usize > MOST_MEMBERS {
        return None;
    }
    ask(c"PMPI_Comm_group", [communicator, address(&mut group), 0, 0, 0])?;
    ask(c"PMPI_Comm_group", [world, address(&mut all), 0, 0, 0])?;
    let members: Vec<c_int> = (0..size).collect();
    let mut found: Vec<c_int> = vec![-1; size as usize];
    let (from, to) = (members.as_ptr().expose_provenance(), found.as_mut_ptr().expose_provenance());
    ask(c"PMPI_Group_translate_ranks", [group, size as usize, from, all, to])?;
    ask(c"PMPI_Group_free", [address(&mut group), 0, 0, 0, 0])?;
    ask(c"PMPI_Group_free", [address(&mut all), 0, 0, 0, 0])?;
    found.into_iter().map(|rank| Rank::try_from(rank).ok().filter(|&rank| (rank as usize) < MOST_MEMBERS)).collect()
}
