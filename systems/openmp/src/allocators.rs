//! The program's allocators, by their handles.
use crate::allocator::{Allocator, AllocatorHandle, AllocatorSource, SPACES, Trait};
use crate::here::{change, icvs};
use crate::settings::settings;
use foregather_host::forks::{Once, undivided};
use std::sync::{Arc, PoisonError, RwLock};

/// The GNU runtime's own allocator of memory that stays in place.
const PINNED: AllocatorHandle = 200;
/// The numbers of allocators that programs make begin here, beyond all of those.
const MADE: AllocatorHandle = 1024;

/// The allocators that the program has made, by number; those that it has destroyed are `None`.
static ALL: RwLock<Vec<Option<Arc<Allocator>>>> = RwLock::new(Vec::new());

/// Makes an allocator of memory in a space. `None`: there is no such space, or no memory with these traits.
pub fn make(space: usize, traits: impl IntoIterator<Item = Trait>) -> Option<AllocatorHandle> {
    let allocator = Allocator::new(traits).filter(|_| space <= SPACES)?;
    undivided(|| {
        let mut all = ALL.write().unwrap_or_else(PoisonError::into_inner);
        let free = all.iter().position(Option::is_none).unwrap_or(all.len());
        if free == all.len() {
            all.push(None);
        }
        all[free] = Some(Arc::new(allocator));
        Some(MADE + free)
    })
}

/// Destroys an allocator that the program has made, and no other.
pub fn destroy(handle: AllocatorHandle) {
    undivided(|| {
        let mut all = ALL.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(allocator) = handle.checked_sub(MADE).and_then(|at| all.get_mut(at)) {
            *allocator = None;
        }
    });
}

/// The allocator of a name; `None` for the process's memory as it is, which those that are always there give.
pub fn find(handle: AllocatorHandle) -> Option<Arc<Allocator>> {
    static OF_PINNED: Once<Option<Arc<Allocator>>> = Once::new();
    if handle == PINNED {
        // Without a stand-in, as those that are always there.
        return OF_PINNED.get_or_compute(|| Allocator::new([(7, 1), (5, 12)]).map(Arc::new)).clone();
    }
    let at = handle.checked_sub(MADE)?;
    undivided(|| ALL.read().unwrap_or_else(PoisonError::into_inner).get(at).cloned().flatten())
}

/// The usual allocator of the calling thread's task.
pub fn usual() -> AllocatorHandle {
    match icvs().allocator {
        0 => {
            static FIRST: Once<AllocatorHandle> = Once::new();
            *FIRST.get_or_compute(|| match &settings().allocator.of {
                AllocatorSource::Predefined(handle) => *handle,
                AllocatorSource::TaskSpec(space, traits) => make(*space, traits.iter().copied()).unwrap_or(1),
            })
        }
        handle => handle as AllocatorHandle,
    }
}

/// Sets [`usual`]. A number that is no handle stands for the process's memory.
pub fn set_usual(handle: AllocatorHandle) {
    let allocator = u32::try_from(handle).ok().filter(|&handle| handle > 0).unwrap_or(1);
    change(|icvs| icvs.allocator = allocator);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_is_known_until_it_is_destroyed() {
        let handle = make(0, [(2, 128)]).unwrap();
        assert!(handle > crate::allocator::PREDEFINED && find(handle).unwrap().alignment == 128);
        assert_eq!(make(5, []), None);
        destroy(handle);
        destroy(1);
        assert!(find(PINNED).unwrap().is_pinned);
        assert!(find(handle).is_none() && find(1).is_none() && find(usize::MAX).is_none());
    }
}
