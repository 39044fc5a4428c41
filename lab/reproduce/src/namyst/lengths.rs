//! Figures 6 and 7 of Namyst et al. 1999: messages from memory to memory and through static buffers, over the
//! length, against raw VIA.
use super::play::{ROUNDS, STROKES, half, of, rate, raw, settings, simulate, spinning, to_and_fro, turn};
use super::{count, number};
use crate::points::Points;
use crate::{Answer, Findings, TrialOptions};
use anyhow::Result;
use foregather_machine::{Clock, Member, Nanos};
use foregather_message::{Messenger, Path};
use foregather_sim::cluster::raw::Registration;
use foregather_sim::cluster::{Activity, ClusterSpec, Nic};

/// From that size on the throughput is compared.
const LONG: usize = 32 << 10;
/// The smallest message, as small as it need be.
const SMALLEST: usize = 4;
const LATENCY: Points = Points::namyst([
    "fig6-overhead",
    "Figure 6, simulated: messages from memory to memory on VIA",
    "half a round trip beyond that of raw VIA",
    "us",
]);
const THROUGHPUT: Points = Points::namyst([
    "fig6",
    "Figure 6, simulated: throughput with memory registered for each message",
    "throughput of a ping-pong",
    "MB/s",
]);

/// 4 B to 1 MiB.
fn sizes() -> impl Iterator<Item = usize> {
    (2..=20).map(|power| 1 << power)
}

pub(super) fn figure6(_: &TrialOptions, found: &mut Findings) -> Result<()> {
    let spec = spinning();
    let (mut more, mut worst) = (Vec::new(), f64::MIN);
    for bytes in sizes() {
        let (direct, fresh) = (half(&spec, Path::Direct, bytes)?, raw(&spec, Registration::PerMessage, bytes)?);
        more.push((direct - fresh).as_us());
        if bytes >= LONG {
            worst = worst.max(direct.0 as f64 / fresh.0 as f64);
        }
        found.measurements.push(LATENCY.point("by offer and request", bytes, vec![(direct - fresh).as_us()]));
        for (series, half) in [("Madeleine", direct), ("raw VIA", fresh)] {
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
    smallest(&spec, found)?;
    Ok(())
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

/// The lengths of static buffers that are tried, in bytes; the paper's is the second.
const BUFFERS: [u32; 4] = [256, 512, 1_024, 2_048];
const PUBLISHED: u32 = 512;
/// What the first driver sent through buffers.
const SMALL: [usize; 5] = [1 << 10, 2 << 10, 3 << 10, 4 << 10, 5 << 10];
const REGISTERED_ONCE: Points =
    Points::namyst(["fig7", "Figure 7, simulated: throughput with memory registered once", "throughput of a ping-pong", "MB/s"]);
const SWEEP: Points = Points {
    series: "buffer",
    ..Points::namyst([
        "fig7-buffers",
        "Figure 7, simulated: messages through static buffers of some lengths",
        "half a round trip of raw VIA",
        "%",
    ])
};

fn buffered(spec: &ClusterSpec, buffer: u32, bytes: usize) -> Result<f64> {
    let nic = Nic { buffer, ..spec.nic };
    Ok(half(&ClusterSpec { nic, ..spec.clone() }, Path::Buffered, bytes)?.as_us())
}

/// Of each buffer, the time for the small messages as a multiple of the best buffer's; and the buffer that is
/// best over all.
fn best(spec: &ClusterSpec, sizes: &[usize]) -> Result<(u32, [f64; 4])> {
    let mut sums = [0.0; 4];
    for &bytes in sizes {
        let mut times = [0.0; 4];
        for (time, buffer) in times.iter_mut().zip(BUFFERS) {
            *time = buffered(spec, buffer, bytes)?;
        }
        let least = times.iter().copied().fold(f64::MAX, f64::min);
        for (sum, time) in sums.iter_mut().zip(times) {
            *sum += time / least / sizes.len() as f64;
        }
    }
    let place = (0..4).min_by(|&a, &b| sums[a].total_cmp(&sums[b])).unwrap_or(0);
    Ok((BUFFERS[place], sums))
}

fn words(sums: [f64; 4]) -> String {
    let of = |(buffer, sum): (u32, f64)| format!("{buffer} B {sum:.3}");
    BUFFERS.into_iter().zip(sums).map(of).collect::<Vec<_>>().join(", ")
}

pub(super) fn figure7(_: &TrialOptions, found: &mut Findings) -> Result<()> {
    let spec = spinning();
    against_raw(&spec, found)?;
    let (over_all, sums) = best(&spec, &SMALL)?;
    let why = "times the best buffer of each size, on average:";
    found.answer("fig7-best-buffer", number(f64::from(over_all), format!("{why} {}", words(sums))));
    let (longest, sums) = best(&spec, &SMALL[4..])?;
    found.answer("fig7-best-buffer-long", number(f64::from(longest), format!("times the best one: {}", words(sums))));
    let nic = spec.nic;
    let others = [
        ("a wire of ten times the rate", Nic { wire_ps: nic.wire_ps / 10, ..nic }),
        ("no switch", Nic { store_and_forward: false, ..nic }),
        (
            "a NIC of half the price",
            Nic {
                post: nic.post.percent(50),
                reap: nic.reap.percent(50),
                receive: nic.receive.percent(50),
                fragment: nic.fragment.percent(50),
                ..nic
            },
        ),
    ];
    let mut got = Vec::new();
    for (name, nic) in others {
        got.push((name, best(&ClusterSpec { nic, ..spec.clone() }, &SMALL)?.0));
    }
    let words: Vec<_> = got.iter().map(|(name, buffer)| format!("{name}: {buffer} B")).collect();
    let others = got.iter().filter(|of| of.1 != over_all).count();
    found.answer("fig7-best-depends", count(others, format!("the best buffers: {}", words.join(", "))));
    Ok(())
}

fn against_raw(spec: &ClusterSpec, found: &mut Findings) -> Result<()> {
    let share = |bytes: usize, buffer: u32| -> Result<f64> {
        Ok(buffered(spec, buffer, bytes)? / raw(spec, Registration::Once, bytes)?.as_us())
    };
    let (mut slower, mut fastest) = (Vec::new(), f64::MAX);
    for bytes in (2..=16).map(|power| 1_usize << power) {
        let once = raw(spec, Registration::Once, bytes)?;
        let through = half(spec, Path::Buffered, bytes)?;
        for (series, half) in [("static buffers of 512 B", through), ("raw VIA", once)] {
            let figure = REGISTERED_ONCE.point(series, bytes, vec![rate(bytes, half)]).figure("half_us", half.as_us());
            found.measurements.push(figure);
        }
        if through >= once {
            slower.push(format!("{bytes} B {:.3}", through.0 as f64 / once.0 as f64));
        }
        if bytes >= 256 {
            for buffer in BUFFERS {
                found.measurements.push(SWEEP.point(&buffer.to_string(), bytes, vec![100.0 * share(bytes, buffer)?]));
            }
        }
    }
    let mut small = Vec::new();
    for bytes in SMALL {
        let share = share(bytes, PUBLISHED)?;
        fastest = fastest.min(share);
        small.push(share);
    }
    found.answer("fig7-static-beats-raw", Answer::Each(small, "1 to 5 KiB".into()));
    let why = format!("times raw VIA where not faster: {}; at best {fastest:.3}", slower.join(", "));
    found.answer("fig7-static-beats-raw-everywhere", count(slower.len(), why));
    Ok(())
}
