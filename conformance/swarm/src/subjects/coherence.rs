//! The coherence protocol in its model: random ways through its states, longer than any search goes, with
//! more hosts than a search can take.
use super::report::RunReport;
use crate::draw::Draw;
use crate::plant::Plant;
use foregather_dsm::protocol::Homes;
use foregather_dsm::protocol::model::{Setup, walk};

fn setup(draw: &mut Draw, planted: Option<Plant>) -> Option<Setup> {
    let hosts = draw.within(2..=5);
    let homes = if draw.one_in(4) { Homes::central(hosts, draw.within(0..=hosts - 1)) } else { Homes::spread(hosts) };
    let locks = draw.within(0..=2);
    let mut setup = Setup {
        threads: draw.within(1..=3),
        minipages: draw.within(0..=3),
        locks,
        // A thread that holds a lock and waits for a flag may block the thread that would post it: so a
        // program has locks or flags, not both.
        flags: if locks == 0 { draw.within(0..=2) } else { 0 },
        prefetches: draw.within(0..=3),
        push: draw.one_in(2),
        free: draw.one_in(6),
        at_once: if draw.one_in(3) { draw.within(1..=3) } else { u32::MAX },
        ..Setup::new(homes.ok()?)
    };
    if let Some(Plant::Model(fault)) = planted {
        (setup.fault, setup.locks, setup.flags, setup.minipages) = (Some(fault), 1, 0, setup.minipages.max(1));
    }
    Some(setup)
}

pub(super) fn run(draw: &mut Draw, planted: Option<Plant>) -> RunReport {
    let (setup, steps, seed) = (setup(draw, planted), draw.within(20..=400), draw.seed());
    let Some(setup) = setup else {
        return RunReport { trace: 0, end: Err("a job of two to five hosts was refused".into()), drawn: String::new() };
    };
    let drawn = format!("{setup}; {steps} steps");
    match walk(&setup, seed, steps) {
        Ok(walked) => RunReport { trace: walked.trace, end: Ok(()), drawn },
        Err(broken) => RunReport { trace: broken.states, end: Err(broken.to_string()), drawn },
    }
}
