//! The processors that a thread may use, as a value: it can be kept, compared, and given back.
use foregather_machine::{CpuId, ThreadId};
use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};

/// A set of processors. `None` in place of a thread means the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask(CpuSet);

impl Mask {
    /// The processors that a thread may use, as far as they exist; `None` if the kernel does not tell, has
    /// more than 1024 processors, or there is no such thread.
    pub fn of(thread: Option<ThreadId>) -> Option<Self> {
        sched_getaffinity(number(thread)?).ok().map(Self)
    }

    /// One processor; `None` beyond the 1024th.
    pub fn only(cpu: CpuId) -> Option<Self> {
        let mut set = CpuSet::new();
        set.set(slot(cpu)?);
        Some(Self(set))
    }

    /// Only `cpu`, if it is among these.
    pub(super) fn one(&self, cpu: CpuId) -> Option<Self> {
        Self::only(cpu).filter(|_| self.contains(cpu))
    }

    /// These without `cpu`, if others are left.
    pub(super) fn without(&self, cpu: CpuId) -> Option<Self> {
        let mut set = self.0;
        set.unset(slot(cpu).filter(|_| self.contains(cpu))?);
        (set.count() > 0).then_some(Self(set))
    }

    /// Keeps a thread on these processors. `false` if this process may not do that, or none of them, or no
    /// such thread, exists.
    pub fn give(&self, thread: Option<ThreadId>) -> bool {
        number(thread).is_some_and(|thread| sched_setaffinity(thread, &self.0).is_ok())
    }

    /// Returns whether the mask contains the processor.
    pub fn contains(&self, cpu: CpuId) -> bool {
        slot(cpu).is_some_and(|cpu| self.0.is_set(cpu))
    }

    /// How many processors there are.
    pub fn count(&self) -> u32 {
        self.0.count()
    }

    /// The processor with the highest number.
    pub fn highest(&self) -> Option<CpuId> {
        self.cpus().last()
    }

    /// A number below 2^29 and above 0: equal for equal masks, and hardly ever for different ones.
    pub fn fingerprint(&self) -> u32 {
        const RANGE: u32 = (1 << 29) - 1;
        // Fowler, Noll and Vo's hash.
        let hash = self
            .cpus()
            .flat_map(u32::to_le_bytes)
            .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        hash % RANGE + 1
    }

    fn cpus(&self) -> impl Iterator<Item = CpuId> {
        (0..CpuSet::MAX_CPU).filter(|&cpu| self.0.is_set(cpu)).map(|cpu| cpu as CpuId)
    }
}

fn slot(cpu: CpuId) -> Option<usize> {
    usize::try_from(cpu).ok().filter(|&cpu| cpu < CpuSet::MAX_CPU)
}

/// The thread's number as the kernel wants it; `None` if no such thread can exist. 0 is no thread, although
/// the kernel would take it for the caller.
fn number(thread: Option<ThreadId>) -> Option<Option<Pid>> {
    match thread {
        None => Some(None),
        Some(thread) => Pid::from_raw(i32::try_from(thread).ok()?).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{affinity, usage};
    use std::collections::BTreeSet;

    #[test]
    fn a_mask_tells_what_the_kernel_does() {
        let (mask, allowed) = (Mask::of(None).unwrap(), affinity::allowed());
        assert_eq!((mask.count() as usize, mask.highest()), (allowed.len(), allowed.last().copied()));
        assert!(allowed.iter().all(|&cpu| mask.contains(cpu)));
        assert_eq!(Mask::of(Some(usage::this_thread())), Some(mask));
        assert!(mask.give(None) && Mask::of(None) == Some(mask));
    }

    #[test]
    fn fingerprints_differ_fit_and_are_never_0() {
        let mut masks: Vec<_> = (0..1024).map(|cpu| Mask::only(cpu).unwrap()).collect();
        let mut growing = CpuSet::new();
        for cpu in 0..1024 {
            masks.push(Mask(growing));
            growing.set(cpu);
        }
        let prints: BTreeSet<_> = masks.iter().map(Mask::fingerprint).collect();
        // {0} is among both halves.
        assert_eq!(prints.len(), masks.len() - 1);
        assert!(prints.iter().all(|&print| print > 0 && print < 1 << 29));
    }

    #[test]
    fn impossible_processors_and_threads_are_refused() {
        let mask = Mask::of(None).unwrap();
        for cpu in [1024, u32::MAX] {
            assert!(Mask::only(cpu).is_none() && !mask.contains(cpu));
        }
        assert!(!Mask::only(1023).unwrap().give(None), "a processor that is not there");
        assert!(!Mask(CpuSet::new()).give(None) && Mask(CpuSet::new()).highest().is_none());
        let ended = std::thread::spawn(usage::this_thread).join().unwrap();
        for nobody in [0, u32::MAX, (1 << 30) - 1, ended] {
            // The kernel takes a moment to forget a thread that has been joined.
            let gone = (0..5_000).any(|_| {
                let there = Mask::of(Some(nobody)).is_some() || mask.give(Some(nobody));
                if there {
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                !there
            });
            assert!(gone, "{nobody}");
        }
    }
}
