//! The record of a job: a trace that the simulator runs to its end, with all messages and bytes.
use crate::launched::run;
use foregather::sim::goal::{GoalBytes, GoalNetwork, GoalOutcome, GoalRun, GoalTrace, convert, simulate};
use foregather::sim::net::profile;
use std::io::Cursor;
use std::path::PathBuf;

fn place(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn opened(text: &str) -> GoalTrace {
    let (_, binary) = convert(text.as_bytes(), Cursor::new(Vec::new())).unwrap();
    GoalTrace::open(Box::new(GoalBytes(binary.into_inner()))).unwrap()
}

fn simulated(trace: GoalTrace, network: GoalNetwork) -> GoalOutcome {
    simulate(trace, &GoalRun { network, noise: None }, &mut |_, _| true).unwrap()
}

/// Each rank sends 8 and 800,000 bytes round the ring. Then three messages of 12 bytes broadcast, two rounds
/// of 4 null messages are a barrier, and two rounds of 4 messages of 4 bytes add up numbers.
#[test]
fn a_recorded_job_is_simulated_to_its_end_with_all_its_messages() {
    let path = place("ring.goal");
    for jobs in [1, 2] {
        let case = if jobs == 1 { "ring" } else { "twice" };
        let (code, text) = run(4, case, &[("TEST_RECORD", path.to_str().unwrap())]);
        let (messages, bytes) = (jobs * (4 + 4 + 3 + 8 + 8), jobs * (4 * 8 + 4 * 800_000 + 3 * 12 + 8 * 4));
        assert_eq!(code, Some(0), "{text}");
        assert!(text.contains(&format!("recorded {messages} messages of {bytes} bytes")), "{text}");
        let trace = std::fs::read_to_string(&path).unwrap();
        assert!(trace.contains(": calc "), "{trace}");
        for network in [GoalNetwork::loggopsim(profile::LOGGOPSIM), GoalNetwork::loggp(profile::INFINIBAND_TUKEY)] {
            let outcome = simulated(opened(&trace), network);
            assert_eq!((outcome.ranks.len(), outcome.messages, outcome.unreceived), (4, messages, 0), "{trace}");
            let ring = simulated(opened(&trace).repeat(64).unwrap(), network);
            assert_eq!((ring.ranks.len(), ring.messages, ring.unreceived), (256, 64 * messages, 0));
            assert_eq!(ring.last().1, outcome.last().1, "without noise, copies take as long as the original");
        }
    }
    std::fs::remove_file(path).unwrap();
}

#[test]
fn a_program_that_is_no_rank_has_no_record() {
    let path = place("none.goal");
    let (code, text) = run(2, "no rank", &[("TEST_RECORD", path.to_str().unwrap())]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("no record: rank 0 recorded nothing") && !path.exists(), "{text}");
}
