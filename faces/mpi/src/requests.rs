//! Which messages requests stand for. An entry lives as long as its request, so that the handle of another
//! one is not taken for it.
use crate::arguments::Handle;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering::*};

struct Entry {
    request: AtomicUsize,
    message: AtomicU64,
}

/// Requests that are open at a time; what is not entered is unknown.
const ENTRIES: usize = 4_096;
/// How many places are tried for a request.
const TRIED: usize = 8;
static KNOWN: [Entry; ENTRIES] = [const { Entry { request: AtomicUsize::new(0), message: AtomicU64::new(0) } }; ENTRIES];

#[inline]
fn places(request: Handle) -> impl Iterator<Item = &'static Entry> {
    let first = request.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
    (0..TRIED).map(move |at| &KNOWN[(first + at) % ENTRIES])
}

/// Enters a request for the message of that word.
#[inline]
pub(crate) fn enter(request: Handle, message: u64) {
    let is_free = |entry: &&Entry| {
        let known = entry.request.load(Relaxed);
        known == request || known == 0 && entry.request.compare_exchange(0, request, AcqRel, Relaxed).is_ok()
    };
    if let Some(entry) = places(request).find(is_free) {
        entry.message.store(message, Release);
    }
}

/// The word of a request's message. `None` if that is not known.
#[inline]
pub(crate) fn message(request: Handle) -> Option<u64> {
    let entry = places(request).find(|entry| entry.request.load(Relaxed) == request)?;
    Some(entry.message.load(Acquire)).filter(|&message| message != 0)
}

/// Removes a request that has ended.
#[inline]
pub(crate) fn forget(request: Handle) {
    if let Some(entry) = places(request).find(|entry| entry.request.load(Relaxed) == request) {
        entry.message.store(0, Relaxed);
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
        let requests: Vec<Handle> = (first..first + 3 * ENTRIES).collect();
        requests.iter().for_each(|&request| enter(request, request as u64));
        let known = requests.iter().filter_map(|&request| Some((request, message(request)?))).collect::<Vec<_>>();
        assert!(known.len() > ENTRIES / 2 && known.iter().all(|&(request, message)| request as u64 == message));
        requests.iter().for_each(|&request| forget(request));
        assert!(requests.iter().all(|&request| message(request).is_none()));
    }
}
