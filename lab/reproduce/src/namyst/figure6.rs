//! Figure 6 (§3.3): from memory to memory, against raw VIA that registers each message; and the smallest message.
use super::play::{ROUNDS, STROKES, half, of, raw, settings, simulate, spinning, to_and_fro, turn};
use super::points::{Points, rate};
use super::{count, number};
use crate::{Answer, Findings, Trial};
use anyhow::Result;
use foregather_machine::{Clock, Member, Nanos};
use foregather_message::{Messenger, Path};
use foregather_sim::cluster::Activity;
use foregather_sim::cluster::ClusterSpec;
use foregather_sim::cluster::raw::Registration;

/// From that size on the throughput is compared.
const LONG: usize = 32 << 10;
/// The smallest message, as small as it need be.
const SMALLEST: usize = 4;
const LATENCY: Points = Points {
    name: "fig6-overhead",
    title: "Figure 6, simulated: messages from memory to memory on VIA",
    what: "half a round trip beyond that of raw VIA",
    unit: "us",
    over: "bytes",
    series: "series",
};
const THROUGHPUT: Points = Points {
    name: "fig6",
    title: "Figure 6, simulated: throughput with memory registered for each message",
    what: "throughput of a ping-pong",
    unit: "MB/s",
    ..LATENCY
};

/// 4 B to 1 MiB.
fn sizes() -> impl Iterator<Item = usize> {
    (2..=20).map(|power| 1 << power)
}

pub(super) fn figure6(_: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let spec = spinning();
    let (mut more, mut worst) = (Vec::new(), f64::MIN);
    for bytes in sizes() {
        let (direct, anew) = (half(&spec, Path::Direct, bytes)?, raw(&spec, Registration::PerMessage, bytes)?);
        more.push((direct - anew).as_us());
        if bytes >= LONG {
            worst = worst.max(direct.0 as f64 / anew.0 as f64);
        }
        found.measurements.push(LATENCY.point("by offer and request", bytes, vec![(direct - anew).as_us()]));
        for (series, half) in [("Madeleine", direct), ("raw VIA", anew)] {
            let figure = THROUGHPUT.point(series, bytes, vec![rate(bytes, half)]).figure("half_us", half.as_us());
            found.measurements.push(figure);
        }
    }
    let mean = more.iter().sum::<f64>() / more.len() as f64;
    let (least, most) = more.iter().fold((f64::MAX, f64::MIN), |(low, high), &us| (low.min(us), high.max(us)));
    let range = format!("{least:.1} to {most:.1} us");
    found.answer("fig6-overhead", number(mean, format!("simulated, {range}")));
    let why = format!("over {} sizes", more.len());
    found.answer("fig6-overhead-constant", Answer::Each(more, why));
    found.answer("fig6-throughput", number(1.0 / worst, "the worst size"));
    let empty = raw(&spec, Registration::Once, 0)?;
    found.answer("empty-message", number(empty.as_us(), "half a round trip of raw VIA, simulated"));
    found.answer("fig6-two-messages-long", number(mean / empty.as_us(), format!("{mean:.1} us to {:.1}", empty.as_us())));
    let small = arrivals(&spec, Path::Direct, 4 << 10)? - 1.0;
    found.answer("fig6-flow-messages", number(small, "beside each message of 4 KiB"));
    smallest(&spec, &mut found)?;
    Ok(found)
}

/// How many messages arrive for each one that the program sends.
fn arrivals(spec: &ClusterSpec, path: Path, bytes: usize) -> Result<f64> {
    let played = simulate(ClusterSpec { spans: STROKES, ..spec.clone() }, async |lane| {
        let messenger = Messenger::new(lane, settings(spec, path))?;
        to_and_fro(&messenger, &mut vec![0; bytes], ROUNDS).await
    })?;
    let all: usize = (0..2).map(|rank| of(&played.report.strokes, rank, Activity::Arrive).count()).sum();
    Ok(all as f64 / f64::from(2 * ROUNDS))
}

/// With the registrations that the paper's driver makes for it, and without, as it is here.
fn smallest(spec: &ClusterSpec, found: &mut Findings) -> Result<()> {
    let half = |registered: usize| -> Result<Nanos> {
        let played = simulate(spec.clone(), async |lane| {
            let messenger = Messenger::new(lane, settings(spec, Path::Chosen))?;
            let (mut memory, began) = ([0; SMALLEST], messenger.now());
            for sender in (0..2 * ROUNDS).map(|turn| turn % 2) {
                // No bytes are no page.
                messenger.fabric().register(registered);
                turn(&messenger, messenger.rank() == sender, &mut memory).await?;
                messenger.fabric().forget(registered);
            }
            messenger.delay(Nanos::ZERO).await;
            Ok(messenger.now() - began)
        })?;
        Ok(Nanos(played.outputs[0].0 / u64::from(2 * ROUNDS)))
    };
    let (bare, registered) = (half(0)?, half(SMALLEST)?);
    let why = format!("simulated; part of it beside the wire. {} without, as messages are sent here", bare);
    found.answer("smallest-message", number(registered.as_us(), why));
    found.answer("smallest-message-registration", number((registered - bare).as_us(), "what it adds"));
    let messages = arrivals(spec, Path::Chosen, SMALLEST)?;
    found.answer("smallest-message-is-one", count(messages.round() as usize, format!("{messages} for each of {SMALLEST} B")));
    Ok(())
}
