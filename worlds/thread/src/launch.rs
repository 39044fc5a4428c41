//! The members of a group as threads of this process.
use crate::Thread;
use foregather_host::affinity;
use foregather_machine::{CpuId, Error, Rank};
use std::panic::resume_unwind;

/// Runs `body` on `size` new threads, the one of rank `r` pinned to `place(r)` if that names a processor, and returns
/// what they gave in the order of their ranks.
///
/// # Errors
/// If a thread cannot be pinned; its body then does not run, and dropped handles tell the others.
///
/// # Panics
/// If a body panics, with its panic, after all threads have ended.
pub fn run<T: Send>(
    size: u32,
    place: impl Fn(Rank) -> Option<CpuId> + Sync,
    body: impl Fn(Thread, Rank) -> T + Sync,
) -> Result<Vec<T>, Error> {
    let (place, body) = (&place, &body);
    let member = move |rank| {
        if let Some(cpu) = place(rank) {
            affinity::pin(cpu)?;
        }
        Ok(body(Thread::current(), rank))
    };
    std::thread::scope(|threads| {
        let members: Vec<_> = (0..size).map(|rank| threads.spawn(move || member(rank))).collect();
        let ends: Vec<_> = members.into_iter().map(|member| member.join()).collect();
        ends.into_iter().map(|end| end.unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}
