//! A forked child gets errors or dies, and its parent's memory is unchanged.
use super::*;
use crate::memory::{Array, Settings, SharedAllocator, lanes, run};
use core::sync::atomic::Ordering::*;
use foregather_host::forks::in_child as forked;
use foregather_machine::Address;
use foregather_shm::ShmFabric;

#[test]
fn a_child_gets_errors_and_its_parent_keeps_its_pages() {
    let _stack = stack();
    for backend in backends() {
        let opener = Opener::new(backend, 1, 1);
        let serving = opener.space.serve(Arc::clone(&opener) as _).unwrap();
        let word = opener.space.word(0, 0);
        word.store(5, SeqCst);
        let status = forked(|| {
            let refused = [
                opener.space.close(page(0, 0)),
                opener.space.downgrade(page(0, 0)),
                opener.space.open(page(0, 0), Access::None, Access::Read),
                opener.space.write(0, &[1]),
                opener.space.read(0, &mut [0]),
            ];
            i32::from(
                refused.iter().filter(|result| result.is_err_and(|error| error.remedy.starts_with("fork before"))).count() != 5,
            )
        });
        assert_eq!(status.exit_status(), Some(0), "{backend:?}");
        let status = forked(|| word.load(SeqCst) as i32);
        assert_eq!(status.terminating_signal(), Some(libc::SIGSEGV), "{backend:?}");
        opener.seen();
        word.store(6, SeqCst);
        assert_eq!((word.load(SeqCst), opener.seen().len()), (6, 0), "{backend:?}: the page is still open");
        drop(serving);
    }
}

#[test]
fn a_child_may_drop_what_it_has_and_make_its_own() {
    for backend in backends() {
        let opener = Opener::new(backend, 1, 1);
        let serving = opener.space.serve(Arc::clone(&opener) as _).unwrap();
        let mut both = Some((opener, serving));
        let status = forked(|| {
            drop(both.take());
            let _stack = stack();
            let own = Opener::new(backend, 1, 1);
            // In a child of a multithreaded program, starting a thread works only by luck.
            let _serving = (backend != Backend::UserfaultThread).then(|| own.space.serve(Arc::clone(&own) as _).unwrap());
            if backend != Backend::UserfaultThread {
                own.space.word(0, 0).store(3, SeqCst);
            }
            i32::from(own.seen().len() != usize::from(backend != Backend::UserfaultThread))
        });
        assert_eq!(status.exit_status(), Some(0), "{backend:?}");
        let (opener, _serving) = both.unwrap();
        let _stack = stack();
        opener.space.word(0, 0).store(4, SeqCst);
        assert_eq!(opener.seen().len(), 1, "{backend:?}: the parent is still served");
    }
}

#[test]
fn a_thread_that_shares_memory_may_fork_and_only_the_child_suffers() {
    for backend in backends() {
        let exchange = ShmFabric::between_threads(foregather_shm::SegmentSpec::new(1, lanes(1))).unwrap();
        let lane = |lane| exchange.lane(foregather_thread::Thread::current(), Address { rank: 0, lane }).unwrap();
        let settings = Settings { bytes: 1 << 16, backend: Some(backend), ..Settings::default() };
        let layout = |layout: &mut SharedAllocator| layout.array::<u64>(2, 1);
        let served = run((0..lanes(1)).map(lane).collect(), settings, layout, |_, words: &Array<u64>| {
            words.set(0, 5);
            let status = forked(|| words.get(0) as i32);
            words.set(1, words.get(0) + 1);
            Ok((status.terminating_signal(), words.get(1)))
        });
        assert_eq!(served.unwrap().leave()[0].result, (Some(libc::SIGSEGV), 6), "{backend:?}");
    }
}
