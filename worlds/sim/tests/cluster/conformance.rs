//! The suite of all fabrics, and of messages over them, on nodes with processors.
use super::*;
use foregather_conformance::fabric::{self, Fabrics, Program};

/// Clusters of that kind.
struct Kind(ClusterSpec);

impl Fabrics for Kind {
    fn run(&self, program: Program, rounds: u32) {
        let spec = ClusterSpec { nodes: program.ranks(), threads: program.lanes(), ..self.0.clone() };
        all(simulate(spec, async |lane| program.run(lane, rounds).await));
    }
}

#[test]
fn every_scheduler_and_nic_conforms() {
    for (number, spec) in everything(1, 1).into_iter().enumerate() {
        let late = ClusterSpec { jitter: us(200), seed: number as u64, ..spec };
        fabric::all(&Kind(late), 6);
    }
}

#[test]
fn a_single_processor_conforms() {
    fabric::all(&Kind(ClusterSpec::namyst1999(1, 1)), 6);
}

#[test]
fn a_nic_that_holds_back_refuses_and_never_loses() {
    Kind(today(1, 1)).run(Program::Overrun, 20);
}
