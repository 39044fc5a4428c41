//! Far more ranks than processors: they come to their end, in bounded memory, and nobody is taken for lost.
use crate::{alone, job::launcher};
use std::sync::atomic::{AtomicBool, Ordering::*};
use std::thread;

/// Runs that while so many threads of this process do nothing but compute; what the job said.
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
    let memory = |at: usize| -> u64 {
        let lines = said.lines().filter(|line| line.starts_with("memory "));
        lines.map(|line| line.split_whitespace().nth(at).unwrap().parse::<u64>().unwrap() / 1_024).max().unwrap()
    };
    let (peak_mib, shared_mib) = (memory(1), memory(2));
    println!("64 ranks: at most {peak_mib} MiB each, of which {shared_mib} MiB are shared by all");
    assert!(peak_mib < 256, "{peak_mib} MiB");
}

#[test]
fn nobody_is_lost_among_many_and_hogs() {
    let said = beside_hogs(2, 64, "computes", &[("FOREGATHER_FABRIC", "shm")]);
    assert_eq!(said.matches("met again Ok(())").count(), 64, "{said}");
}
