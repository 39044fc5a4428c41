//! Registrations of memory that is lent for a while, shared by all lenders of the same memory at the same
//! time.
//!
//! A cache that keeps registrations of memory which is no longer borrowed must learn of every `munmap`, and
//! its hooks into the allocator crash programs. This one keeps nothing beyond the borrow: a registration
//! lives as long as it is in use, and is found by its range meanwhile. So it can never describe memory that
//! has gone.
use crate::abi::{MR_VIRT_ADDR, READ, REMOTE_READ};
use crate::endpoint::{ActiveEndpoint, MemoryRegion};
use crate::wire::RemoteMemory;
use core::cell::RefCell;
use foregather_machine::Error;
use std::sync::{Arc, Weak};

struct RegisteredRange {
    start: usize,
    len: usize,
    registration: Weak<MemoryRegion>,
}

/// The registrations that are in use.
#[derive(Default)]
pub(crate) struct Registrations(RefCell<Vec<RegisteredRange>>);

impl Registrations {
    /// The registration of exactly that memory: one that is in use, or a new one. A larger one will not do:
    /// the rest of its memory may be given back while this one is still used.
    ///
    /// # Safety
    /// The memory must stay where it is until the registration is dropped.
    pub(crate) unsafe fn lease(
        &self,
        endpoint: &ActiveEndpoint,
        memory: *const u8,
        len: usize,
    ) -> Result<Arc<MemoryRegion>, Error> {
        let mut all = self.0.borrow_mut();
        all.retain(|known| known.registration.strong_count() > 0);
        let same = all.iter().find(|known| known.start == memory as usize && known.len == len);
        if let Some(registration) = same.and_then(|known| known.registration.upgrade()) {
            return Ok(registration);
        }
        // SAFETY: the memory stays in place until the registration is dropped, by this function's `# Safety`
        // section.
        let registration = Arc::new(unsafe { endpoint.register(memory, len, READ | REMOTE_READ)? });
        all.push(RegisteredRange { start: memory as usize, len, registration: Arc::downgrade(&registration) });
        Ok(registration)
    }
}

/// The record by which a peer reads registered memory.
pub(crate) fn record(endpoint: &ActiveEndpoint, registration: &MemoryRegion, memory: *const u8, len: usize) -> RemoteMemory {
    // Some networks address memory as the program does, others from where the registration begins.
    let by_address = endpoint.provider().memory_mode() & MR_VIRT_ADDR != 0;
    RemoteMemory { address: if by_address { memory as u64 } else { 0 }, len: len as u64, key: registration.key() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::WAIT_FD;
    use crate::provider::Provider;

    #[test]
    fn the_same_memory_is_registered_once_and_no_longer_than_it_is_used() {
        let endpoint = match Provider::open("tcp", Some("127.0.0.1"))
            .and_then(|provider| ActiveEndpoint::open(Arc::new(provider), WAIT_FD))
        {
            Ok(endpoint) => endpoint,
            Err(why) => {
                assert!(std::env::var_os("FOREGATHER_REQUIRE_PARTS").is_none(), "a part is missing: {why}");
                return eprintln!("skipped: {why}");
            }
        };
        let (all, memory) = (Registrations::default(), [0_u8; 100]);
        // SAFETY: the vector outlives its registrations.
        let lease = |len| unsafe { all.lease(&endpoint, memory.as_ptr(), len).unwrap() };
        let known = || all.0.borrow().iter().filter(|known| known.registration.strong_count() > 0).count();
        let (first, second) = (lease(100), lease(100));
        assert!(Arc::ptr_eq(&first, &second));
        let part = lease(50);
        assert!(!Arc::ptr_eq(&first, &part) && first.key() != part.key(), "the rest may be given back earlier");
        drop(first);
        assert_eq!(known(), 2);
        drop((second, part));
        assert_eq!(known(), 0);
        assert!(lease(100).key() != 0 && known() == 0);
    }
}
