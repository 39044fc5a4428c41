//! A processor made of shuttle's primitives: every step of a member may come before or after every step of
//! the others.
use foregather_machine::{Cause, Clock, CounterOf, Error, Nanos, Park, Placement, SharedWord, VALUE_MASK, WaitContext, Words};
use shuttle::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
use shuttle::sync::{Arc, Condvar, Mutex};
use shuttle::thread;

/// The processor.
#[derive(Clone, Copy)]
pub(crate) struct Scheduled;

/// Its words.
#[derive(Default)]
pub(crate) struct Word {
    value: AtomicU32,
    poisoned: AtomicBool,
    version: Mutex<u32>,
    changed: Condvar,
}

impl SharedWord for Word {
    type Counter = AtomicU64;
}

impl Word {
    fn change(&self) {
        *self.version.lock().unwrap() += 1;
        self.changed.notify_all();
    }
}

impl Clock for Scheduled {
    fn now(&self) -> Nanos {
        Nanos(1)
    }
    async fn delay(&self, _: Nanos) {
        thread::yield_now();
    }
}

impl Placement for Scheduled {}

impl Words for Scheduled {
    type Word = Word;

    fn load(&self, word: &Word) -> u32 {
        word.value.load(SeqCst)
    }
    fn store(&self, word: &Word, value: u32) {
        word.value.store(value, SeqCst);
    }
    fn publish(&self, word: &Word, value: u32) {
        word.value.store(value, SeqCst);
        word.change();
    }
    fn fetch_add(&self, word: &Word, n: u32) -> u32 {
        let add = |value: u32| Some(value.wrapping_add(n) & VALUE_MASK);
        let before = word.value.fetch_update(SeqCst, SeqCst, add).unwrap();
        word.change();
        before
    }
    fn compare_exchange(&self, word: &Word, expected: u32, new: u32) -> Result<u32, u32> {
        let exchanged = word.value.compare_exchange(expected, new, SeqCst, SeqCst);
        if exchanged.is_ok() {
            word.change();
        }
        exchanged
    }
    fn poison(&self, word: &Word) {
        word.poisoned.store(true, SeqCst);
        word.change();
    }
    fn take_ticket(&self, counter: &CounterOf<Self>) -> u64 {
        counter.fetch_add(1, SeqCst)
    }
}

impl Park for Scheduled {
    fn spin_briefly<T>(&self, mut probe: impl FnMut() -> Option<T>) -> Option<T> {
        thread::yield_now();
        probe()
    }
    async fn spin_for<T>(&self, _: &Word, budget: Nanos, mut probe: impl FnMut() -> Option<T>) -> (Option<T>, Nanos) {
        thread::yield_now();
        (probe(), budget)
    }
    async fn yield_now(&self) {
        thread::yield_now();
    }
    fn prepare_park(&self, on: &Word) -> u32 {
        *on.version.lock().unwrap()
    }
    async fn park(&self, on: &Word, armed: u32, _: Nanos) {
        drop(on.changed.wait_while(on.version.lock().unwrap(), |version| *version == armed).unwrap());
    }
    fn check(&self, on: &Word, _: &WaitContext) -> Result<(), Error> {
        if on.poisoned.load(SeqCst) { Err(Cause::Poisoned { by: None }.into()) } else { Ok(()) }
    }
}

/// Runs `member` on `size` threads and waits for all.
pub(crate) fn team(size: u32, member: impl Fn(u32) + Send + Sync + 'static) {
    let member = Arc::new(member);
    let spawn = |rank| {
        let member = member.clone();
        thread::spawn(move || member(rank))
    };
    (0..size).map(spawn).collect::<Vec<_>>().into_iter().for_each(|thread| thread.join().unwrap());
}
