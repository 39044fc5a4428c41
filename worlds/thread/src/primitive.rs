//! The only place that imports atomics and the futex, so that loom can stand in for both.

#[cfg(not(loom))]
pub(crate) use real::Futex;

#[cfg(loom)]
pub(crate) use model::Futex;
#[cfg(loom)]
pub use model::Scope;

#[cfg(not(loom))]
mod real {
    use core::sync::atomic::AtomicU32;
    use foregather_host::futex::{self, Scope};
    use foregather_machine::Nanos;

    /// A 32-bit word on which threads can sleep.
    #[derive(Default)]
    #[repr(transparent)]
    pub(crate) struct Futex(pub(crate) AtomicU32);

    impl Futex {
        pub(crate) fn wait(&self, expected: u32, timeout: Option<Nanos>, scope: Scope) {
            futex::wait(&self.0, expected, timeout, scope);
        }
        pub(crate) fn wake_all(&self, scope: Scope) {
            futex::wake_all(&self.0, scope);
        }
        #[cold]
        pub(crate) fn wake_one(&self, scope: Scope) {
            futex::wake_one(&self.0, scope);
        }
    }
}

/// What the kernel promises, in loom's terms: comparing and going to sleep is one step with regard to a wake.
#[cfg(loom)]
mod model {
    use foregather_machine::Nanos;
    use loom::sync::atomic::{AtomicU32, Ordering::SeqCst};
    use loom::sync::{Condvar, Mutex};

    /// The threads that may sleep on a word: makes no difference here.
    #[derive(Clone, Copy, Debug)]
    pub enum Scope {
        /// Threads of this process.
        Private,
    }

    #[derive(Default)]
    pub(crate) struct Futex(pub(crate) AtomicU32, Mutex<()>, Condvar);

    impl Futex {
        pub(crate) fn wait(&self, expected: u32, _: Option<Nanos>, _: Scope) {
            let kernel = self.1.lock().unwrap();
            if self.0.load(SeqCst) == expected {
                drop(self.2.wait(kernel).unwrap());
            }
        }
        pub(crate) fn wake_all(&self, _: Scope) {
            let _kernel = self.1.lock().unwrap();
            self.2.notify_all();
        }
        pub(crate) fn wake_one(&self, _: Scope) {
            let _kernel = self.1.lock().unwrap();
            self.2.notify_one();
        }
    }
}
