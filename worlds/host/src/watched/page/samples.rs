//! Samples of the code that threads execute, written by a signal handler of the preload library.
use super::{ThreadActivity, ThreadSlot, WatchPage, now};
use core::sync::atomic::{AtomicU32, Ordering::*};
use foregather_machine::{Nanos, ThreadId};

/// The instruction that a thread was about to execute, at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordedSample {
    /// Its process.
    pub process: u32,
    /// The thread.
    pub thread: ThreadId,
    /// When it was.
    pub at: Nanos,
    /// What the thread did, as far as a wrapped function shows it.
    pub activity: ThreadActivity,
    /// The address of the instruction.
    pub address: u64,
}

/// What the ring of samples tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleRecord {
    /// A thread executed something.
    Sample(RecordedSample),
    /// A thread was the last to arrive at a barrier, and samples of it were taken while it alone was missing.
    Late {
        /// The thread.
        thread: ThreadId,
        /// When the member before it arrived, and when it did.
        second: Nanos,
        /// See `second`.
        arrived: Nanos,
    },
}

/// Stands for an activity in the record of a late arrival.
const LATE: u64 = u64::MAX;

/// Why a process takes no samples any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withdrawal {
    /// The program uses the signal of the timers for itself.
    SignalTaken,
    /// The program waits for that signal, or reads it from a descriptor.
    SignalAwaited,
    /// The program changes its user or group.
    UserChanged,
    /// The system refused a timer, or no signal is free.
    Refused,
}

const WITHDRAWALS: [Withdrawal; 4] =
    [Withdrawal::SignalTaken, Withdrawal::SignalAwaited, Withdrawal::UserChanged, Withdrawal::Refused];

/// Whether samples are wanted, and what hindered them.
#[repr(C)]
pub(super) struct SamplingWords {
    wanted: AtomicU32,
    /// The index in [`WITHDRAWALS`], from 1 on.
    withdrawal: AtomicU32,
    untimed: AtomicU32,
}

/// What hindered samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SamplingState {
    /// Why the first process that takes no more samples withdrew.
    pub withdrawal: Option<Withdrawal>,
    /// Threads without a timer, because there are too many.
    pub untimed: u32,
}

impl WatchPage {
    /// Asks processes that open the page from now on for samples.
    pub fn ask_for_samples(&self) {
        self.0.sampling.wanted.store(1, Release);
    }

    /// Returns whether samples are wanted.
    pub fn wants_samples(&self) -> bool {
        self.0.sampling.wanted.load(Acquire) != 0
    }

    /// Notes that the calling process takes no more samples.
    pub fn withdraw(&self, why: Withdrawal) {
        let index = WITHDRAWALS.iter().position(|each| *each == why).map_or(0, |at| at as u32 + 1);
        // The first one is kept.
        let _ = self.0.sampling.withdrawal.compare_exchange(0, index, Relaxed, Relaxed);
    }

    /// Counts a thread that gets no timer.
    pub fn count_untimed(&self) {
        self.0.sampling.untimed.fetch_add(1, Relaxed);
    }

    /// What hindered samples so far.
    pub fn sampling_state(&self) -> SamplingState {
        let index = self.0.sampling.withdrawal.load(Relaxed) as usize;
        let withdrawal = index.checked_sub(1).and_then(|at| WITHDRAWALS.get(at)).copied();
        SamplingState { withdrawal, untimed: self.0.sampling.untimed.load(Relaxed) }
    }

    /// The slot at an address, if there is one.
    pub fn slot_at(&self, address: usize) -> Option<&'static ThreadSlot> {
        let offset = address.checked_sub(self.0.slots.as_ptr().addr())?;
        let is_start = offset.is_multiple_of(size_of::<ThreadSlot>());
        if is_start { self.0.slots.get(offset / size_of::<ThreadSlot>()) } else { None }
    }

    /// Records the instruction that the thread of a slot was about to execute. May be called in a signal
    /// handler: it allocates nothing, takes no lock, makes no system call and leaves `errno` alone.
    pub fn sample(&self, slot: &ThreadSlot, address: u64) {
        let thread = slot.thread.load(Relaxed);
        if thread == 0 {
            return;
        }
        let (who, at) = (u64::from(slot.process.load(Relaxed)) << 32 | u64::from(thread), now());
        slot.sampled.store(at.0, Relaxed);
        self.0.samples.write([who, at.0, self.activity_of(slot) as u64, address]);
    }

    /// Notes that the thread of a slot arrived last at a barrier, unless no sample was taken since the member
    /// before it arrived.
    #[inline]
    pub fn note_late(&self, slot: &ThreadSlot, second: Nanos, arrived: Nanos) {
        if slot.sampled.load(Relaxed) >= second.0 && second < arrived {
            self.0.samples.write([slot.thread.load(Relaxed).into(), arrived.0, LATE, second.0]);
        }
    }

    /// Takes the records from number `*next` on, and returns how many were lost. A late arrival comes after
    /// the samples that were taken before it.
    pub fn samples(&self, next: &mut u64, mut take: impl FnMut(SampleRecord)) -> u64 {
        self.0.samples.read(next, |[who, at, activity, address]| {
            let (process, thread, at) = ((who >> 32) as u32, who as u32, Nanos(at));
            if activity == LATE {
                return take(SampleRecord::Late { thread, second: Nanos(address), arrived: at });
            }
            let activity = ThreadActivity::ALL[(activity as usize).min(ThreadActivity::ALL.len() - 1)];
            take(SampleRecord::Sample(RecordedSample { process, thread, at, activity, address }));
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_tells_what_its_thread_did() {
        let (page, _file) = WatchPage::create().unwrap();
        assert!(!page.wants_samples());
        page.ask_for_samples();
        assert!(page.wants_samples());
        let [leader, worker] = [1, 2].map(|thread| page.slot(7, thread, 0, 0).unwrap());
        let address = core::ptr::from_ref(worker).addr();
        assert!(page.slot_at(address).is_some_and(|found| core::ptr::eq(found, worker)));
        assert!(page.slot_at(address + 8).is_none() && page.slot_at(8).is_none(), "no slot begins there");
        let region = page.next_region();
        leader.open((region, 0), Nanos(0));
        worker.join(page.index(leader), 2);
        worker.begin(ThreadActivity::Arrived, region, Nanos(1));
        page.sample(worker, 0x10);
        leader.close((0, 0), Nanos(2));
        page.sample(worker, 0x20);
        let (second, arrived) = (Nanos(1), now());
        page.note_late(worker, second, arrived);
        page.note_late(worker, now(), now() + Nanos(1));
        page.note_late(leader, second, arrived);
        let (mut next, mut found) = (0, Vec::new());
        assert_eq!(page.samples(&mut next, |sample| found.push(sample)), 0);
        let [SampleRecord::Sample(first), SampleRecord::Sample(last), late] = found[..] else { panic!("{found:?}") };
        let seen = [first, last].map(|each| (each.process, each.thread, each.activity, each.address));
        assert_eq!(seen, [(7, 2, ThreadActivity::Arrived, 0x10), (7, 2, ThreadActivity::Idle, 0x20)]);
        assert_eq!(late, SampleRecord::Late { thread: 2, second, arrived }, "no other arrival was sampled");
    }

    #[test]
    fn the_first_reason_to_withdraw_is_kept() {
        let (page, _file) = WatchPage::create().unwrap();
        assert_eq!(page.sampling_state(), SamplingState::default());
        page.withdraw(Withdrawal::UserChanged);
        page.withdraw(Withdrawal::Refused);
        page.count_untimed();
        assert_eq!(page.sampling_state(), SamplingState { withdrawal: Some(Withdrawal::UserChanged), untimed: 1 });
    }
}
