//! Several threads of a node (§3): a computing one beside a transferring one, two that send at once, and how a waiter finds out.
use super::play::{ROUNDS, settings, simulate, simulate_some, to_and_fro, turn};
use super::{holds, number};
use crate::reproduce::{Findings, Trial};
use anyhow::Result;
use foregather_machine::{Clock, Fabric, Member, Nanos};
use foregather_message::{Messenger, Path, Settings};
use foregather_sim::cluster::ClusterSpec;
use foregather_sim::smp::{RoundRobin, Scheduler};
use foregather_wait::Policy;

/// A turn of the thread library beside which messages travel: short beside a transfer.
const QUANTUM: Nanos = Nanos::from_us(1_000);
/// What is transferred: the longest message of one descriptor, so many times.
const BYTES: usize = 32 << 10;
const TRANSFERS: u32 = 20;
/// Small messages of the others.
const SMALL: usize = 32;
/// Two at once take less than this share of one after the other.
const AT_ONCE: f64 = 0.75;

/// Two nodes of so many threads that take turns.
fn turns(threads: u32, wait: Policy) -> ClusterSpec {
    let mut spec = ClusterSpec { wait, ..ClusterSpec::namyst1999(2, threads) };
    spec.machine.scheduler = Scheduler::RoundRobin(RoundRobin { quantum: QUANTUM });
    spec
}

pub(super) fn overlap(_: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let alone = together(TRANSFERS, Nanos::ZERO)?;
    // As long as the transfer, so that neither hides the other.
    let both = together(TRANSFERS, alone)?;
    let why = format!("{both} for both, {alone} for each alone");
    found.answer("overlap-on-one-processor", number(both.0 as f64 / alone.0 as f64, why));
    let (one, two) = (at_once(1)?, at_once(2)?);
    let share = two.0 as f64 / (2 * one.0) as f64;
    let why = format!("{two} for two threads at once, {one} for one");
    found.answer("several-threads-send-at-once", holds(share < AT_ONCE, format!("{share:.2} x one after the other"), why));
    let (polled, slept) = (interrupts(1)?, interrupts(2)?);
    let got = format!("{polled:.2} interrupts a message alone, {slept:.2} beside a worker");
    found.answer("completion-by-thread-state", holds(polled < 0.1 && slept > 0.5, got, "adaptive waiting, 4 KiB, simulated"));
    Ok(found)
}

/// When both are done: a thread of node 0 that takes in transfers, and one beside it that computes for so long.
fn together(transfers: u32, work: Nanos) -> Result<Nanos> {
    let spec = turns(2, Policy::Block);
    let played = simulate(spec.clone(), async |lane| {
        if lane.here().lane == 1 {
            lane.delay(if lane.rank() == 0 { work } else { Nanos::ZERO }).await;
            return Ok(lane.now());
        }
        let messenger = Messenger::new(lane, settings(&spec, Path::Direct))?;
        let mut memory = vec![0; BYTES];
        for _ in 0..transfers {
            turn(&messenger, messenger.rank() == 1, &mut memory).await?;
        }
        messenger.delay(Nanos::ZERO).await;
        Ok(messenger.now())
    })?;
    Ok(played.outputs[0].max(played.outputs[1]))
}

/// How long it takes until as many threads of two nodes, each in its lane, have exchanged small messages.
fn at_once(threads: u32) -> Result<Nanos> {
    let spec = turns(threads, Policy::Block);
    let played = simulate(spec.clone(), async |lane| {
        let messenger = Messenger::new(lane, settings(&spec, Path::Chosen))?;
        to_and_fro(&messenger, &mut [0; SMALL], ROUNDS).await?;
        messenger.delay(Nanos::ZERO).await;
        Ok(messenger.now())
    })?;
    Ok(played.outputs.into_iter().max().unwrap_or_default())
}

/// Interrupts for each message of 4 KiB, where all other threads compute.
fn interrupts(threads: u32) -> Result<f64> {
    let spec = turns(threads, Policy::Block);
    let (_, report) = simulate_some(spec, async |lane| {
        while lane.here().lane > 0 {
            lane.delay(Nanos::MAX).await;
        }
        let messenger = Messenger::new(lane, Settings { path: Path::Buffered, ..Settings::default() })?;
        to_and_fro(&messenger, &mut [0; 4 << 10], ROUNDS).await?;
        messenger.fabric().stop();
        Ok(())
    })?;
    let all: u64 = report.counts.iter().map(|counts| counts.interrupts).sum();
    Ok(all as f64 / f64::from(2 * ROUNDS))
}
