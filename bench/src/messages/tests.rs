//! Between threads: every way gives every batch, and hogs that are threads are seen to be disturbed. No time
//! is tested.
use super::world::run;
use super::{Measurand, MessageCell, Pattern, Transport, World};
use crate::Cell;
use foregather_host::affinity;

fn plan(task: Measurand) -> MessageCell {
    let cpus = affinity::allowed();
    MessageCell { world: World::Thread, cpus: [cpus[0], cpus[1 % cpus.len()]], task }
}

#[test]
fn every_way_gives_every_batch_in_its_patterns() {
    for bytes in [1, 64, 4_096, 70_000] {
        let transports = Transport::ALL.to_vec();
        let answer = run(&plan(Measurand::Size { bytes, transports, batches: 2, batch_ns: 20_000 })).unwrap();
        let found: Vec<(Transport, Pattern)> = answer.sizes.iter().map(|timed| (timed.transport, timed.pattern)).collect();
        let has = |transport, pattern| found.contains(&(transport, pattern));
        assert!(
            has(Transport::Chosen, Pattern::PingPong)
                && has(Transport::Chosen, Pattern::Stream)
                && has(Transport::Memcpy, Pattern::PingPong)
        );
        assert_eq!(has(Transport::Buffered, Pattern::Stream), bytes >= 4_096, "{found:?}");
        assert_eq!(has(Transport::Frames, Pattern::Stream), bytes <= 4_096, "{found:?}");
        for timed in &answer.sizes {
            assert!(timed.ns.len() == 2 && timed.ns.iter().all(|&ns| ns > 0.0), "{timed:?}");
            let waits = timed.waits.map(|waits| waits.first_look + waits.spun + waits.yielded + waits.slept);
            assert_eq!(waits.is_some(), timed.transport.is_message(), "{timed:?}");
        }
    }
}

#[test]
fn every_policy_moves_messages_beside_hogs() {
    let policies: Vec<String> = ["spin", "two-phase:50us", "block", "adaptive"].map(str::to_owned).to_vec();
    for per_cpu in [0, 1] {
        let policies = policies.clone();
        let task = Measurand::Hogs { policies: policies.clone(), per_cpu, within: true, cells: 2, cell_ns: 10_000_000 };
        let answer = run(&plan(task)).unwrap();
        assert_eq!(answer.hogs.iter().map(|beside| beside.policy.clone()).collect::<Vec<_>>(), policies);
        for beside in answer.hogs {
            assert!(beside.round_trips_per_s.len() == 2 && beside.round_trips_per_s.iter().all(|&rate| rate > 0.0), "{beside:?}");
            assert!(beside.p50_ns <= beside.p99_ns && beside.p99_ns <= beside.max_ns, "{beside:?}");
            assert_eq!(beside.hog_shares.len(), if per_cpu > 0 { 2 } else { 0 }, "{beside:?}");
        }
    }
}

#[test]
fn an_unknown_policy_is_an_error_that_names_it() {
    let task = Measurand::Hogs { policies: vec!["spim".to_owned()], per_cpu: 0, within: false, cells: 1, cell_ns: 1 };
    let error = run(&plan(task)).unwrap_err().to_string();
    assert!(error.contains("spim"), "{error}");
}

#[test]
fn a_cell_is_read_as_it_was_written() {
    let plan = plan(Measurand::Size { bytes: 8, transports: Transport::ALL.to_vec(), batches: 3, batch_ns: 9 });
    assert_eq!(MessageCell::from_arg(&plan.to_arg()).unwrap(), plan);
    assert!(MessageCell::from_arg("{}").is_err());
}
