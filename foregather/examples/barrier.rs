//! Four threads wait at a barrier a thousand times, and one thread of each episode counts it.
//!
//! `cargo add foregather --no-default-features`
use foregather::{Barrier, WaitError};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;

fn main() -> Result<(), WaitError> {
    let (barrier, meetings) = (Barrier::new(4), AtomicU32::new(0));
    thread::scope(|threads| {
        let running: Vec<_> = (0..4)
            .map(|_| {
                threads.spawn(|| {
                    for _ in 0..1_000 {
                        if barrier.wait()?.is_leader() {
                            meetings.fetch_add(1, Relaxed);
                        }
                    }
                    Ok(())
                })
            })
            .collect();
        running.into_iter().try_for_each(|thread| thread.join().expect("it does not panic"))
    })?;
    println!("{} meetings", meetings.into_inner());
    Ok(())
}
