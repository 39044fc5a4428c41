//! Where this process's threads run, from sources that Linux gives every thread, without privileges.
//!
//! A thread's mask is kept from its first use, when its member enrols. If another program sets another mask
//! later, it does so on purpose, and the thread is moved no more until the mask has been read again.
use crate::{Guard, Scope, Thread, costs};
use core::cell::{Cell, RefCell};
use core::future::Future;
use core::sync::atomic::{AtomicU32, Ordering::*};
use foregather_host::affinity::{self, KeepOff, Mask};
use foregather_host::{cgroup, clock, forks::Once, run_state::RunState, sched, scout, usage};
use foregather_machine::{Affinity, Costs, CpuId, Nanos, Placement, ThreadId, VALUE_MASK, ready};

/// For how long a mask is believed: other programs may change it at any time.
const BELIEVED: Nanos = Nanos::from_ms(1_000);

/// What threads of this process have noted of processors. Those whose numbers are equal modulo this one share
/// a word.
static NOTES: [AtomicU32; 1024] = [const { AtomicU32::new(0) }; 1024];

fn note_of(cpu: CpuId) -> &'static AtomicU32 {
    &NOTES[cpu as usize % NOTES.len()]
}

/// This thread's mask, and what follows from it.
#[derive(Clone, Copy)]
struct Enrolled {
    mask: Mask,
    affinity: Affinity,
    read_at: Nanos,
}

thread_local! {
    static ENROLLED: Cell<Option<Enrolled>> = const { Cell::new(None) };
    static KEPT_OFF: RefCell<Option<KeepOff>> = const { RefCell::new(None) };
}

impl Enrolled {
    /// The state of this thread; `None` if the kernel does not tell.
    fn known() -> Option<Self> {
        ENROLLED.get().or_else(|| Self::read(Mask::of(None)?))
    }

    /// [`Self::known`], read again if it is older than [`BELIEVED`].
    fn believed() -> Option<Self> {
        let known = ENROLLED.get();
        match known {
            Some(enrolled) if clock::now() - enrolled.read_at < BELIEVED => known,
            // A mask that keeps the thread off a processor is not its own, either.
            Some(_) if KEPT_OFF.try_with(|kept| kept.borrow().is_some()).unwrap_or(false) => known,
            // Another thread may be moving this one: then its mask is not its own.
            Some(_) => affinity::settled().map_or(known, Self::read),
            None => Self::known(),
        }
    }

    fn read(mask: Mask) -> Option<Self> {
        let width = mask.count().min(width(cgroup::recent_quota()));
        let affinity = Affinity { fingerprint: mask.fingerprint(), width, beyond: mask.highest()? + 1 };
        ENROLLED.set(Some(Self { mask, affinity, read_at: clock::now() }));
        ENROLLED.get()
    }
}

/// Whole processors of a quota: a fraction counts as one that is there part of the time.
fn width(quota: Option<f64>) -> u32 {
    quota.map_or(u32::MAX, |cpus| (cpus.ceil() as u32).max(1))
}

/// The user's permission to move threads, for the whole process.
fn permitted() -> bool {
    static PERMITTED: Once<bool> = Once::new();
    *PERMITTED.get_or_compute(|| std::env::var_os("FOREGATHER_PLACEMENT").is_none_or(|value| value != "off"))
}

impl<G> Thread<G> {
    /// Not under a real-time class: the program that chose it has chosen the processors, too.
    fn may_be_moved(&self) -> bool {
        permitted() && !self.is_realtime()
    }

    /// Threads of other processes cannot be asked after by their numbers.
    fn knows(&self, thread: ThreadId) -> bool {
        self.scope == Scope::Private && usage::thread_cpu_of(thread).is_some()
    }
}

impl<G: Guard> Placement for Thread<G> {
    #[inline]
    fn place(&self) -> Option<CpuId> {
        Some(affinity::current())
    }

    fn identity(&self) -> Option<ThreadId> {
        Some(usage::this_thread()).filter(|&thread| thread <= VALUE_MASK)
    }

    fn running(&self, thread: ThreadId) -> Option<bool> {
        match self.scope {
            Scope::Private => usage::advances(|| usage::thread_cpu_of(thread)),
            Scope::Shared => self.guard.running(thread, affinity::current()),
        }
    }

    fn affinity(&self) -> Option<Affinity> {
        if self.may_be_moved() { Enrolled::believed().map(|enrolled| enrolled.affinity) } else { None }
    }

    fn run_queue_wait(&self) -> Option<Nanos> {
        sched::thread_run_queue_wait()
    }

    fn allows(&self, cpu: CpuId) -> bool {
        Enrolled::known().is_some_and(|enrolled| enrolled.mask.contains(cpu))
    }

    fn idle(&self, cpu: CpuId) -> Option<bool> {
        if self.may_be_moved() { scout::idle(cpu) } else { None }
    }

    fn move_to(&self, cpu: CpuId) -> impl Future<Output = bool> {
        let moved = || affinity::move_to(cpu, &Enrolled::known()?.mask).then_some(());
        ready(self.may_be_moved() && moved().is_some())
    }

    fn pull(&self, thread: ThreadId) -> impl Future<Output = bool> {
        // A thread that sleeps would not use the processor that it is given.
        let is_ready = || RunState::of(thread).is_none_or(|state| state.is_runnable);
        // Members of a team that may be moved have the same mask.
        let pulled = || affinity::pull(thread, affinity::current(), &Enrolled::known()?.mask).then_some(());
        ready(G::PULLS && self.may_be_moved() && self.knows(thread) && is_ready() && pulled().is_some())
    }

    fn keep_off(&self, cpu: Option<CpuId>) -> bool {
        let keep = |kept: &RefCell<Option<KeepOff>>| {
            // The former one first gives the mask back.
            kept.take();
            let cpu = cpu.filter(|_| self.may_be_moved());
            *kept.borrow_mut() = cpu.and_then(|cpu| affinity::keep_off(cpu, &Enrolled::known()?.mask));
            kept.borrow().is_some()
        };
        // A thread that ends keeps off nothing.
        KEPT_OFF.try_with(keep).unwrap_or(false)
    }

    fn note_of(&self, cpu: CpuId) -> u32 {
        note_of(cpu).load(Relaxed)
    }

    fn set_note(&self, cpu: CpuId, word: u32) {
        note_of(cpu).store(word, Relaxed);
    }

    fn costs(&self) -> Costs {
        let costs = costs::of_this_machine();
        Costs { remote_wake: costs.remote_wake.max(self.guard.nap()), ..costs }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run;
    use core::sync::atomic::AtomicBool;
    use foregather_host::sched::{self, SchedClass};
    use foregather_machine::block_on;

    /// Runs on a thread of its own, whose mask and class concern no other test.
    fn alone(body: impl Fn() + Sync) {
        run(1, |_| None, |_, _| body()).unwrap();
    }

    #[test]
    fn an_affinity_tells_the_mask_and_the_quota() {
        alone(|| {
            let (cpu, allowed) = (Thread::current(), affinity::allowed());
            let affinity = cpu.affinity().unwrap();
            assert_eq!(affinity.beyond, allowed.last().unwrap() + 1);
            assert_eq!(affinity.width, width(cgroup::quota()).min(allowed.len() as u32));
            assert!((1..=VALUE_MASK).contains(&affinity.fingerprint));
            assert!(allowed.iter().all(|&there| cpu.allows(there)) && !cpu.allows(affinity.beyond));
            affinity::pin(allowed[0]).unwrap();
            assert_eq!(cpu.affinity(), Some(affinity), "it is not read in every wait");
            ENROLLED.set(ENROLLED.get().map(|enrolled| Enrolled { read_at: Nanos::ZERO, ..enrolled }));
            // Other tests move threads meanwhile, and no mask is settled then.
            let fresh = (0..10_000).any(|_| {
                std::thread::sleep(std::time::Duration::from_millis(1));
                cpu.affinity().is_some_and(|again| again.width == 1 && again.beyond == allowed[0] + 1)
            });
            assert!(fresh);
        });
    }

    #[test]
    fn part_of_a_processor_counts_as_one() {
        assert_eq!([None, Some(0.1), Some(1.0), Some(1.5), Some(7.65)].map(width), [u32::MAX, 1, 1, 2, 8]);
    }

    #[test]
    fn a_thread_moves_unless_somebody_has_bound_it() {
        alone(|| {
            let (cpu, allowed) = (Thread::current(), affinity::allowed());
            assert!(!block_on(cpu.move_to(allowed.last().unwrap() + 1)));
            for &there in &allowed {
                assert!(block_on(cpu.move_to(there)));
                assert_eq!(affinity::allowed(), allowed);
            }
            if allowed.len() > 1 {
                affinity::pin(allowed[0]).unwrap();
                assert!(!block_on(cpu.move_to(allowed[1])));
                assert_eq!(affinity::allowed(), allowed[..1]);
            }
        });
    }

    #[test]
    fn a_thread_is_kept_off_one_processor_at_a_time() {
        alone(|| {
            let (cpu, allowed) = (Thread::current(), affinity::allowed());
            let own = cpu.affinity();
            for &there in &allowed {
                assert_eq!(cpu.keep_off(Some(there)), allowed.len() > 1);
                ENROLLED.set(ENROLLED.get().map(|enrolled| Enrolled { read_at: Nanos::ZERO, ..enrolled }));
                assert_eq!(cpu.affinity(), own, "its own mask is still the one that it came with");
                assert_eq!(cpu.place() == Some(there), allowed.len() == 1);
                assert_eq!(affinity::allowed().len(), (allowed.len() - 1).max(1));
            }
            assert!(!cpu.keep_off(None));
            assert_eq!(affinity::allowed(), allowed);
        });
    }

    #[test]
    fn threads_are_known_to_their_process_and_to_no_other() {
        alone(|| {
            let (private, shared) = (Thread::current(), Thread::shared());
            let me = private.identity().unwrap();
            assert_eq!((private.running(me), shared.running(me)), (Some(true), None));
            assert_eq!(private.running(VALUE_MASK), None, "nobody");
            assert!(!block_on(private.pull(VALUE_MASK)) && !block_on(shared.pull(me)));
            assert!(private.place().is_some_and(|cpu| private.allows(cpu)));
        });
    }

    #[test]
    fn a_member_is_pulled_and_stays_free() {
        let (name, done) = (AtomicU32::new(0), AtomicBool::new(false));
        let meet = |cpu: Thread, rank| {
            let (own, allowed) = (cpu.affinity(), affinity::allowed());
            if rank == 0 {
                while name.load(Acquire) == 0 {
                    std::thread::yield_now();
                }
                let pulled = block_on(cpu.pull(name.load(Acquire)));
                done.store(true, Release);
                assert!(pulled);
            } else {
                name.store(cpu.identity().unwrap(), Release);
                while !done.load(Acquire) {
                    std::thread::yield_now();
                }
            }
            assert!(own.is_some() && affinity::allowed() == allowed);
        };
        run(2, |_| None, meet).unwrap();
    }

    /// Needs a right that the test may lack.
    #[test]
    fn nobody_moves_a_thread_of_a_real_time_class() {
        alone(|| {
            if sched::set_class(SchedClass::RoundRobin, 1).is_ok() {
                let cpu = Thread::current();
                assert_eq!((cpu.affinity(), cpu.idle(0)), (None, None));
                assert!(!block_on(cpu.move_to(affinity::current())));
            }
        });
    }

    #[test]
    #[ignore = "runs in a child process of the next test, whose environment forbids moving"]
    fn forbidden() {
        let cpu = Thread::current();
        assert_eq!((cpu.affinity(), cpu.idle(0)), (None, None));
        assert!(!block_on(cpu.move_to(affinity::current())) && !block_on(cpu.pull(cpu.identity().unwrap())));
    }

    #[test]
    fn one_variable_forbids_moving() {
        let mut this = std::process::Command::new(std::env::current_exe().unwrap());
        this.args(["--exact", "placement::tests::forbidden", "--ignored"]).env("FOREGATHER_PLACEMENT", "off");
        let output = this.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}
