//! The protection of a page of a view, and what an access to it reports.
use super::*;
use crate::views::{PAGE, ViewAddress};
use core::sync::atomic::{AtomicBool, Ordering::*};
use foregather_machine::{Cause, Error};
use std::thread;
use std::time::Duration;

#[test]
fn this_machine_has_a_way_and_says_why_not_the_better_one() {
    let (chosen, refusal) = Backend::chosen();
    chosen.available().unwrap();
    assert_eq!(chosen == Backend::Userfault, refusal.is_none());
    assert!(refusal.is_none_or(|refusal| !refusal.to_string().is_empty()));
    Backend::Mprotect.available().unwrap();
    // CI runs both backends, and omits the better one if it is not available.
    if std::env::var("FOREGATHER_REQUIRE_PARTS").is_ok_and(|value| value == "1") {
        BACKENDS.into_iter().for_each(|backend| backend.available().unwrap());
    }
    for backend in BACKENDS {
        assert_eq!(Backend::by_name(backend.name()), Some(backend));
    }
    assert_eq!(Backend::by_name("magic"), None);
}

/// For one page of the object: reads through the first view, writes twice through the second, and writes
/// through the first.
#[test]
fn protection_is_per_view() {
    let _stack = stack();
    for backend in backends() {
        let opener = Opener::new(backend, 1, 2);
        let _serving = opener.space.serve(Arc::clone(&opener) as _).unwrap();
        let (one, two) = (opener.space.word(0, 8), opener.space.word(1, 8));
        let present = u64::from(backend != Backend::Mprotect);
        assert_eq!((one.load(SeqCst), opener.codes()), (0, vec![4]), "{backend:?}");
        two.store(5, SeqCst);
        assert_eq!(opener.codes(), [6], "{backend:?}");
        two.store(6, SeqCst);
        assert!(opener.codes().is_empty(), "{backend:?}");
        assert_eq!((one.load(SeqCst), opener.codes()), (6, vec![]), "{backend:?}");
        one.store(7, SeqCst);
        let upgrade = opener.codes();
        assert!(upgrade == [7] || present == 0 && upgrade == [6], "{backend:?}: {upgrade:?}");
        assert_eq!(two.load(SeqCst), 7);
    }
}

#[test]
fn every_transition_is_seen_by_the_next_touch() {
    let _stack = stack();
    for backend in backends() {
        let opener = Opener::new(backend, 3, 2);
        let _serving = opener.space.serve(Arc::clone(&opener) as _).unwrap();
        let (space, word) = (&opener.space, opener.space.word(1, PAGE + 16));
        let touched = |writes: bool| {
            if writes {
                word.store(1, SeqCst)
            } else {
                _ = word.load(SeqCst)
            }
            opener.seen().iter().map(|fault| fault.needs).collect::<Vec<_>>()
        };
        let here = page(1, 1);
        space.open(here, Access::None, Access::Write).unwrap();
        assert_eq!((touched(false), touched(true)), (vec![], vec![]), "{backend:?}");
        space.downgrade(here).unwrap();
        assert_eq!((touched(false), touched(true)), (vec![], vec![Access::Write]), "{backend:?}");
        space.close(here).unwrap();
        assert_eq!((touched(false), touched(true)), (vec![Access::Read], vec![Access::Write]), "{backend:?}");
        space.downgrade(here).unwrap();
        space.close(here).unwrap();
        assert_eq!(touched(false), [Access::Read], "{backend:?}: no write protection is left behind");
        space.open(here, Access::Read, Access::Write).unwrap();
        assert_eq!(touched(true), [], "{backend:?}");
        // The neighbours were not accessed during the whole test.
        for (view, offset) in [(0, PAGE), (1, 0), (1, 2 * PAGE)] {
            space.word(view, offset).load(SeqCst);
            assert_eq!(opener.seen().len(), 1, "{backend:?}: view {view}, byte {offset}");
        }
    }
}

/// A byte that was requested with a call is open when it is accessed, so the access causes no further
/// request.
#[test]
fn a_call_spares_the_fault() {
    let _stack = stack();
    for backend in backends() {
        let opener = Opener::new(backend, 2, 1);
        let space = &opener.space;
        space.ask(0, 0, Access::Write);
        assert!(opener.seen().is_empty(), "{backend:?}: nobody serves it yet");
        let _serving = space.serve(Arc::clone(&opener) as _).unwrap();
        space.ask(0, 8, Access::Read);
        assert_eq!(space.word(0, 8).load(SeqCst), 0);
        space.ask(0, PAGE + 8, Access::Write);
        space.word(0, PAGE + 8).store(1, SeqCst);
        let seen: Vec<_> = opener.seen().iter().map(|fault| (fault.place.byte(), fault.needs, fault.code)).collect();
        assert_eq!(seen, [(8, Access::Read, 0), (PAGE + 8, Access::Write, 0)], "{backend:?}");
    }
}

#[test]
fn several_pages_are_opened_and_closed_at_once() {
    let _stack = stack();
    for backend in backends() {
        let opener = Opener::new(backend, 5, 1);
        let _serving = opener.space.serve(Arc::clone(&opener) as _).unwrap();
        let span = Span { view: 0, page: 1, pages: 3 };
        let touches = || (0..5).for_each(|page| _ = opener.space.word(0, page * PAGE).fetch_add(1, SeqCst));
        opener.space.open(span, Access::None, Access::Read).unwrap();
        opener.space.open(span, Access::Read, Access::Write).unwrap();
        touches();
        assert_eq!(opener.seen().iter().map(|fault| fault.place.page).collect::<Vec<_>>(), [0, 4], "{backend:?}");
        opener.space.close(span).unwrap();
        touches();
        assert_eq!(opener.seen().iter().map(|fault| fault.place.page).collect::<Vec<_>>(), [1, 2, 3], "{backend:?}");
    }
}

#[test]
fn a_fault_says_where_who_and_what() {
    let _stack = stack();
    for backend in backends() {
        let opener = Opener::new(backend, 2, 3);
        let _serving = opener.space.serve(Arc::clone(&opener) as _).unwrap();
        opener.space.word(2, PAGE + 24).store(1, SeqCst);
        let [fault] = opener.seen()[..] else { panic!("one fault") };
        assert_eq!((fault.place, fault.needs), (ViewAddress { view: 2, page: 1, offset: 24 }, Access::Write));
        assert_eq!(fault.address, opener.space.application(2, PAGE + 24).addr());
        let this = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        assert_eq!(fault.on_behalf_of, (backend == Backend::UserfaultThread).then_some(this), "{backend:?}");
        assert_eq!((fault.place.byte(), opener.space.locate(fault.address)), (PAGE + 24, Some(fault.place)));
    }
}

#[test]
fn the_privileged_view_is_always_open_and_the_same_memory() {
    let _stack = stack();
    for backend in backends() {
        let opener = Opener::new(backend, 2, 2);
        let _serving = opener.space.serve(Arc::clone(&opener) as _).unwrap();
        let space = &opener.space;
        space.write(PAGE - 3, b"across").unwrap();
        let mut back = [0; 6];
        space.read(PAGE - 3, &mut back).unwrap();
        assert_eq!((&back, opener.seen().len()), (b"across", 0));
        assert_eq!(space.word(1, PAGE).load(SeqCst).to_ne_bytes()[..3], *b"oss");
        space.word(1, 0).store(9, SeqCst);
        space.read(0, &mut back[..1]).unwrap();
        assert_eq!(back[0], 9);
        // SAFETY: the byte is mapped, and no other thread accesses it.
        assert_eq!(unsafe { space.privileged(0).read() }, 9);
        assert_eq!(space.locate(space.privileged(0).addr()), None);
        assert_eq!(space.locate(space.application(0, 0).addr() - 1), None);
    }
}

#[test]
fn errno_survives_a_fault() {
    struct Failing(Arc<Opener>);
    impl Faults for Failing {
        fn fault(&self, fault: &Fault) -> FaultEnd {
            // SAFETY: the kernel refuses this descriptor, and the C library notes that.
            assert_eq!(unsafe { libc::close(-1) }, -1);
            self.0.fault(fault)
        }
    }
    let _stack = stack();
    for backend in backends() {
        let opener = Opener::new(backend, 1, 1);
        let _serving = opener.space.serve(Arc::new(Failing(Arc::clone(&opener)))).unwrap();
        // SAFETY: errno of this thread is always there.
        unsafe { *libc::__errno_location() = 77 };
        opener.space.word(0, 0).load(SeqCst);
        // SAFETY: errno of this thread is always there.
        assert_eq!((unsafe { *libc::__errno_location() }, opener.seen().len()), (77, 1), "{backend:?}");
    }
}

#[test]
fn a_base_can_be_wished_for_unless_it_is_taken() {
    let taken = Space::new(Shape::new(4, 3)).unwrap();
    let base = taken.application(0, 0).addr();
    let wish = Shape { base: Some(base), ..Shape::new(4, 3) };
    let error = Space::new(wish).unwrap_err();
    assert!(matches!(error.cause(), Cause::Os { errno: libc::EEXIST, remedy, .. } if remedy.contains("another base")), "{error}");
    let crooked = Shape { base: Some(base + 8), ..wish };
    assert!(matches!(Space::new(crooked).unwrap_err().cause(), Cause::Os { .. }));
    assert_eq!((taken.pages(), taken.views(), taken.bytes()), (4, 3, 4 * PAGE));
    // Far from where the kernel maps anything, but different for two processes of this test.
    let free = 0x2000_0000_0000 + (std::process::id() as usize % 1_000) * (1 << 30);
    let space = Space::new(Shape { base: Some(free), ..wish }).unwrap();
    assert_eq!(space.application(0, 0).addr(), free);
}

#[test]
fn a_space_is_served_once_at_a_time_and_again_afterwards() {
    let _stack = stack();
    for backend in backends() {
        let opener = Opener::new(backend, 1, 1);
        for turn in 0..3 {
            let serving = opener.space.serve(Arc::clone(&opener) as _).unwrap();
            let again = opener.space.serve(Arc::clone(&opener) as _);
            assert!(matches!(Error::of(&again), Some(Cause::Setting { .. })), "{turn}");
            opener.space.word(0, 0).load(SeqCst);
            assert_eq!(opener.seen().len(), 1);
            drop(serving);
            opener.space.close(page(0, 0)).unwrap();
        }
        assert_eq!(Arc::strong_count(&opener.space), 1, "{backend:?}: nothing is left behind");
    }
}

/// Opens pages after a delay.
struct Slow {
    opener: Arc<Opener>,
    asked: AtomicBool,
}

impl Faults for Slow {
    fn fault(&self, fault: &Fault) -> FaultEnd {
        self.asked.store(true, SeqCst);
        thread::sleep(Duration::from_millis(20));
        self.opener.fault(fault)
    }
}

#[test]
fn serving_ends_when_the_last_handler_has_gone_on() {
    // A thread that serves faults exits first.
    for backend in backends().into_iter().filter(|&backend| backend != Backend::UserfaultThread) {
        let slow = Arc::new(Slow { opener: Opener::new(backend, 1, 1), asked: AtomicBool::new(false) });
        let space = &slow.opener.space;
        let serving = space.serve(Arc::clone(&slow) as _).unwrap();
        thread::scope(|threads| {
            threads.spawn(|| {
                let _stack = stack();
                space.word(0, 0).load(SeqCst)
            });
            while !slow.asked.load(SeqCst) {
                thread::yield_now();
            }
            drop(serving);
            assert_eq!(slow.opener.seen().len(), 1, "{backend:?}: it was still looking");
        });
        #[cfg(feature = "probes")]
        assert!(foregather_machine::reached_here().contains_key("views:5"));
    }
}

#[test]
fn what_cannot_be_locked_is_said() {
    let space = Space::new(Shape::new(1, 1)).unwrap();
    let warning = space.warning().map(ToString::to_string);
    assert!(warning.is_none_or(|text| text.contains("ulimit -l 4")));
}

#[test]
#[should_panic(expected = "no such pages")]
fn there_are_no_pages_beyond_the_last() {
    let space = Space::new(Shape::new(2, 1)).unwrap();
    let _ = space.close(Span { view: 0, page: 1, pages: 2 });
}

#[test]
#[should_panic(expected = "of 4096")]
fn there_are_no_bytes_beyond_the_last() {
    let _ = Space::new(Shape::new(1, 1)).unwrap().write(PAGE - 1, &[1, 2]);
}

#[test]
fn words_next_to_each_other_are_those_of_their_view_and_fault_like_any() {
    let _stack = stack();
    for backend in backends() {
        let opener = Opener::new(backend, 2, 2);
        let _serving = opener.space.serve(Arc::clone(&opener) as _).unwrap();
        let words = opener.space.words(1, PAGE - 16, 4);
        assert!(words.len() == 4 && opener.seen().is_empty(), "{backend:?}: nothing is touched yet");
        words[3].store(7, SeqCst);
        let places: Vec<_> = opener.seen().iter().map(|fault| fault.place).collect();
        assert_eq!(places, [ViewAddress { view: 1, page: 1, offset: 8 }], "{backend:?}");
        assert_eq!(opener.space.word(1, PAGE + 8).load(SeqCst), 7);
        assert!(opener.space.words(0, 0, 0).is_empty());
    }
}
