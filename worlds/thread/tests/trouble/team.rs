//! Threads that meet again and again by the adaptive policy.
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering::*};
use foregather_barrier::{Algorithm, BarrierMember, Group};
use foregather_machine::{CpuId, Nanos, Rank, block_on};
use foregather_thread::Thread;
use foregather_wait::{Policy, Snapshot};

/// One member of the team.
pub(crate) type Member<'g> = BarrierMember<Thread>;

/// An episode that takes longer is taken for lost: the test fails with the rank of the awaited member.
pub(crate) const LOST: Nanos = Nanos::from_ms(20_000);

/// Sets its flag when dropped, so also when the stack unwinds: no thread goes on forever behind a test that
/// has failed.
pub(crate) struct Done<'a>(pub(crate) &'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Release);
    }
}

/// Lets `size` threads meet, pinned to their places if they have any, as long as rank 0 lets that episode
/// `go_on`. Before it arrives, each does its `work`. Returns the sum of all their waits.
pub(crate) fn meet(
    size: u32,
    place: impl Fn(Rank) -> Option<CpuId> + Sync,
    go_on: impl Fn(u32) -> bool + Sync,
    work: impl Fn(&Member<'_>, u32) + Sync,
) -> Snapshot {
    let (group, last) = (Group::new(Algorithm::Central, size).unwrap(), AtomicU32::new(u32::MAX));
    let live = |cpu, rank| {
        let mut member = group.member(cpu, rank, Policy::default()).unwrap();
        for episode in 0.. {
            // Announced one episode ahead, so that all members know of it when the last one ends.
            if rank == 0 && last.load(Acquire) == u32::MAX && !go_on(episode) {
                last.store(episode + 1, Release);
            }
            work(&member, episode);
            block_on(member.wait_for(LOST)).unwrap();
            if episode >= last.load(Acquire) {
                break;
            }
        }
        let account = member.account().snapshot();
        assert_eq!(account.failed, 0);
        account
    };
    let accounts = foregather_thread::run(size, place, live).unwrap();
    accounts.into_iter().fold(Snapshot::default(), Snapshot::plus)
}

/// Work of a length that differs from member to member and from episode to episode: waits of every kind.
pub(crate) fn uneven(member: &Member<'_>, episode: u32) {
    const LENGTHS_US: [u64; 5] = [0, 2, 0, 40, 400];
    let length = LENGTHS_US[(episode as usize / 16 + member.rank() as usize) % LENGTHS_US.len()];
    block_on(member.delay(Nanos::from_us(length)));
}
