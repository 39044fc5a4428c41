//! Which messages requests stand for. An entry lives as long as its request, so that the handle of another
//! one is not taken for it.
use crate::arguments::MpiHandle;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};

struct PendingRequest {
    request: AtomicUsize,
    message: AtomicU64,
}

/// Requests that are open at a time. Of two that share a place, the first one becomes unknown.
const ENTRIES: usize = 1 << 14;
static KNOWN: [PendingRequest; ENTRIES] =
    [const { PendingRequest { request: AtomicUsize::new(0), message: AtomicU64::new(0) } }; ENTRIES];

#[inline]
fn place(request: MpiHandle) -> &'static PendingRequest {
    &KNOWN[request.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - ENTRIES.ilog2())]
}

/// Enters a request for the message of that word, or for an unknown one (0).
#[inline]
pub(crate) fn enter(request: MpiHandle, message: u64) {
    let entry = place(request);
    entry.request.store(0, Relaxed);
    entry.message.store(message, Release);
    entry.request.store(request, Release);
}

/// The word of a request's message. `None` if that is not known.
#[inline]
pub(crate) fn message(request: MpiHandle) -> Option<u64> {
    let entry = place(request);
    let message = (entry.request.load(Acquire) == request).then(|| entry.message.load(Acquire))?;
    // Another thread may have entered another request meanwhile.
    (message != 0 && entry.request.load(Relaxed) == request).then_some(message)
}

/// Removes a request that has ended.
#[inline]
pub(crate) fn forget(request: MpiHandle) {
    let entry = place(request);
    if entry.request.load(Relaxed) == request {
        entry.request.store(0, Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_known_until_it_ends() {
        assert_eq!(message(0x1000), None);
        enter(0x1000, 5);
        enter(0x2000, 6);
        assert_eq!((message(0x1000), message(0x2000)), (Some(5), Some(6)));
        forget(0x1000);
        assert_eq!((message(0x1000), message(0x2000)), (None, Some(6)));
        forget(0x2000);
    }

    #[test]
    fn requests_without_room_are_unknown_and_others_are_right() {
        let first = 1 << 40;
        let requests: Vec<MpiHandle> = (first..first + ENTRIES / 2).collect();
        requests.iter().for_each(|&request| enter(request, request as u64));
        let known = requests.iter().filter_map(|&request| Some((request, message(request)?))).collect::<Vec<_>>();
        assert!(known.len() > ENTRIES / 3 && known.iter().all(|&(request, message)| request as u64 == message));
        requests.iter().for_each(|&request| forget(request));
        assert!(requests.iter().all(|&request| message(request).is_none()));
    }
}
