//! Several threads of a node (§3): a computing one beside a transferring one, two that send at once, and how a waiter finds out.
use super::number;
use super::play::{ROUNDS, settings, simulate, simulate_some, to_and_fro, turn};
use crate::{Findings, Trial};
use anyhow::Result;
use foregather_machine::{Clock, Fabric, Member, Nanos};
use foregather_message::{Messenger, Path, Settings};
use foregather_sim::cluster::ClusterSpec;
use foregather_sim::smp::{RoundRobin, Scheduler};
use foregather_wait::Policy;

/// A turn of a thread library that lets nobody in before it is over.
const QUANTUM: Nanos = Nanos::from_us(1_000);
/// What is transferred: the longest message of one descriptor, so many times that the 200 ms for which Linux 2.2 lets no sleeper in
/// at once after the start are few.
const BYTES: usize = 32 << 10;
const TRANSFERS: u32 = 1_000;
/// Small messages of the others.
const SMALL: usize = 32;

/// Two nodes of so many threads, which sleep while they wait: under Linux 2.2, or taking turns.
fn nodes(threads: u32, turns: bool) -> ClusterSpec {
    let mut spec = ClusterSpec { wait: Policy::Block, ..ClusterSpec::namyst1999(2, threads) };
    if turns {
        spec.machine.scheduler = Scheduler::RoundRobin(RoundRobin { quantum: QUANTUM });
    }
    spec
}

pub(super) fn overlap(_: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let alone = together(false, Nanos::ZERO)?;
    // As long as the transfer, so that neither hides the other.
    let both = together(false, alone)?;
    let in_turns = together(true, alone)?.0 as f64 / alone.0 as f64;
    let why = format!(
        "{both} for both, {alone} for each alone; {in_turns:.2} x where a waiter is let in only after a turn of {QUANTUM}"
    );
    found.answer("overlap-on-one-processor", number(both.0 as f64 / alone.0 as f64, why));
    let (one, two) = (at_once(1)?, at_once(2)?);
    let share = two.0 as f64 / (2 * one.0) as f64;
    let why = format!("{two} for two threads at once, {one} for one");
    found.answer("several-threads-send-at-once", number(share, why));
    let (polled, slept) = (interrupts(1, None)?, interrupts(2, None)?);
    let spinning = interrupts(1, Some(Policy::Spin))?.1;
    let why = format!("adaptive waiting, simulated; alone a message takes {}, and {spinning} if it is polled for", polled.1);
    found.answer("completion-by-thread-state", number(polled.0, why));
    found.answer("completion-by-interrupt", number(slept.0, "adaptive waiting, simulated, beside a worker"));
    Ok(found)
}

/// When both are done: a thread of node 0 that takes in transfers, and one beside it that computes for so long.
fn together(turns: bool, work: Nanos) -> Result<Nanos> {
    let spec = nodes(2, turns);
    let played = simulate(spec.clone(), async |lane| {
        if lane.here().lane == 1 {
            lane.delay(if lane.rank() == 0 { work } else { Nanos::ZERO }).await;
            return Ok(lane.now());
        }
        let messenger = Messenger::new(lane, settings(&spec, Path::Direct))?;
        let mut memory = vec![0; BYTES];
        for _ in 0..TRANSFERS {
            turn(&messenger, messenger.rank() == 1, &mut memory).await?;
        }
        messenger.delay(Nanos::ZERO).await;
        Ok(messenger.now())
    })?;
    Ok(played.outputs[0].max(played.outputs[1]))
}

/// How long it takes until as many threads of two nodes, each in its lane, have exchanged small messages.
fn at_once(threads: u32) -> Result<Nanos> {
    let spec = nodes(threads, false);
    let played = simulate(spec.clone(), async |lane| {
        let messenger = Messenger::new(lane, settings(&spec, Path::Chosen))?;
        to_and_fro(&messenger, &mut [0; SMALL], ROUNDS).await?;
        messenger.delay(Nanos::ZERO).await;
        Ok(messenger.now())
    })?;
    Ok(played.outputs.into_iter().max().unwrap_or_default())
}

/// Interrupts for each small message, where all other threads compute, and half a round trip.
fn interrupts(threads: u32, policy: Option<Policy>) -> Result<(f64, Nanos)> {
    let (outputs, report) = simulate_some(nodes(threads, false), async |lane| {
        while lane.here().lane > 0 {
            lane.delay(Nanos::MAX).await;
        }
        let messenger = Messenger::new(lane, Settings { policy, ..Settings::default() })?;
        let began = messenger.now();
        to_and_fro(&messenger, &mut [0; SMALL], ROUNDS).await?;
        messenger.fabric().stop();
        Ok(messenger.now() - began)
    })?;
    let all: u64 = report.counts.iter().map(|counts| counts.interrupts).sum();
    let took = outputs.into_iter().flatten().max().unwrap_or_default();
    Ok((all as f64 / f64::from(2 * ROUNDS), Nanos(took.0 / u64::from(2 * ROUNDS))))
}
