//! Many more ranks than processors: they finish, use limited memory, and no rank is reported lost.
use crate::{alone, job::launcher};
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::thread;

/// Runs the job while `hogs` threads of this process compute; returns its output.
fn beside_hogs(hogs: usize, size: u32, name: &str, variables: &[(&str, &str)]) -> String {
    let _alone = alone();
    let over = AtomicBool::new(false);
    thread::scope(|threads| {
        for _ in 0..hogs {
            threads.spawn(|| {
                while !over.load(Relaxed) {
                    core::hint::spin_loop();
                }
            });
        }
        let output = launcher(size, name, variables).output();
        over.store(true, Relaxed);
        let output = output.unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{text}");
        text
    })
}

#[test]
fn sixty_four_ranks_on_few_processors_come_to_their_end_in_bounded_memory() {
    let said = beside_hogs(0, 64, "example", &[("FOREGATHER_FABRIC", "shm")]);
    assert!(said.contains("64 ranks: sum 2080, 64 shifts"), "{said}");
    // Anywhere in a line: the test harness of another rank may have started it.
    let peaks = said.split("memory ").skip(1).filter_map(|told| told.split_once(" kB")?.0.parse::<u64>().ok());
    let peaks: Vec<_> = peaks.collect();
    let most_mib = peaks.iter().max().unwrap() / 1_024;
    println!("64 ranks: at most {most_mib} MiB each");
    assert!(peaks.len() == 64 && most_mib < 64, "{most_mib} MiB, told by {} ranks", peaks.len());
}

#[test]
fn nobody_is_lost_among_many_and_hogs() {
    let said = beside_hogs(2, 64, "computes", &[("FOREGATHER_FABRIC", "shm")]);
    assert_eq!(said.matches("met again Ok(())").count(), 64, "{said}");
}
