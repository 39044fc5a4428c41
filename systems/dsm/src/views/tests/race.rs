//! The named race of the install: writing the bytes before or after opening the page.
use super::*;
use core::sync::atomic::{AtomicU32, Ordering::*};
use foregather_host::futex::{self, Scope};
use std::thread;

/// The half of an install that is done first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    /// The right order.
    BytesFirst,
    /// The mistake.
    OpenFirst,
}

/// Installs a page in two steps, between which other threads may do anything.
struct Installer {
    space: Arc<Space>,
    order: Order,
    /// One fault at a time, as a protocol would serialise them.
    turn: Mutex<bool>,
    /// 1: the first half is done; 2: continue.
    stage: AtomicU32,
}

impl Installer {
    fn reach(&self, stage: u32) {
        self.stage.store(stage, SeqCst);
        futex::wake_all(&self.stage, Scope::Private);
    }

    fn await_stage(&self, stage: u32) {
        while self.stage.load(SeqCst) < stage {
            futex::wait(&self.stage, self.stage.load(SeqCst), None, Scope::Private);
        }
    }
}

impl Faults for Installer {
    fn fault(&self, _: &Fault) -> FaultEnd {
        let mut here = self.turn.lock().unwrap();
        if *here {
            return FaultEnd::Retry;
        }
        let bytes = || self.space.write(0, &100_u64.to_ne_bytes()).unwrap();
        let open = || self.space.open(page(0, 0), Access::None, Access::Write).unwrap();
        if self.order == Order::BytesFirst {
            bytes()
        } else {
            open()
        }
        self.reach(1);
        self.await_stage(2);
        if self.order == Order::BytesFirst {
            open()
        } else {
            bytes()
        }
        *here = true;
        FaultEnd::Retry
    }
}

/// One thread faults. Between the two halves of its install, another thread of the host adds 10 to the same
/// word.
fn sum(backend: Backend, order: Order) -> u64 {
    let space = Arc::new(Space::new(Shape { backend: Some(backend), ..Shape::new(1, 1) }).unwrap());
    let installer = Arc::new(Installer { space: Arc::clone(&space), order, turn: Mutex::new(false), stage: AtomicU32::new(0) });
    let _serving = space.serve(Arc::clone(&installer) as _).unwrap();
    thread::scope(|threads| {
        threads.spawn(|| {
            let _stack = stack();
            space.word(0, 0).fetch_add(1, SeqCst);
        });
        installer.await_stage(1);
        let other = threads.spawn(|| {
            let _stack = stack();
            space.word(0, 0).fetch_add(10, SeqCst);
        });
        match order {
            // The closed page stops the other thread, wherever it is.
            Order::BytesFirst => installer.reach(2),
            Order::OpenFirst => {
                other.join().unwrap();
                installer.reach(2);
            }
        }
    });
    space.word(0, 0).load(SeqCst)
}

#[test]
fn bytes_first_and_nothing_is_lost() {
    let _stack = stack();
    for backend in backends() {
        assert_eq!(sum(backend, Order::BytesFirst), 111, "{backend:?}");
    }
}

/// The negative control of the previous test: opening first loses what another thread adds.
#[test]
fn open_first_and_what_another_thread_adds_is_lost() {
    let _stack = stack();
    // If a thread serves faults, the opening itself lets the first thread continue.
    for backend in backends().into_iter().filter(|&backend| backend != Backend::UserfaultThread) {
        assert_eq!(sum(backend, Order::OpenFirst), 101, "{backend:?}");
    }
}
