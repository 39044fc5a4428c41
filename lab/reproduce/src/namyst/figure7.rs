//! Figure 7 (§3.3): pipelined static buffers against raw VIA that registers once, and which buffers are best. Predicted: the model
//! of the card was fitted to figure 6.
use super::play::{half, raw, spinning};
use super::points::{Points, rate};
use super::{count, number};
use crate::{Answer, Findings, Trial};
use anyhow::Result;
use foregather_message::Path;
use foregather_sim::cluster::raw::Registration;
use foregather_sim::cluster::{Card, ClusterSpec};

/// The lengths of static buffers that are tried, in bytes; the paper's is the second.
const BUFFERS: [u32; 4] = [256, 512, 1_024, 2_048];
const PUBLISHED: u32 = 512;
/// What the first driver sent through buffers.
const SMALL: [usize; 5] = [1 << 10, 2 << 10, 3 << 10, 4 << 10, 5 << 10];
const THROUGHPUT: Points = Points {
    name: "fig7",
    title: "Figure 7, simulated: throughput with memory registered once",
    what: "throughput of a ping-pong",
    unit: "MB/s",
    over: "bytes",
    series: "series",
};
const SWEEP: Points = Points {
    name: "fig7-buffers",
    title: "Figure 7, simulated: messages through static buffers of some lengths",
    what: "half a round trip of raw VIA",
    unit: "%",
    over: "bytes",
    series: "buffer",
};

fn buffered(spec: &ClusterSpec, buffer: u32, bytes: usize) -> Result<f64> {
    let card = Card { buffer, ..spec.card };
    Ok(half(&ClusterSpec { card, ..spec.clone() }, Path::Buffered, bytes)?.as_us())
}

/// Of each buffer, the time for the small messages as a multiple of the best buffer's; and the buffer that is best over all.
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

pub(super) fn figure7(_: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let spec = spinning();
    against_raw(&spec, &mut found)?;
    let (over_all, sums) = best(&spec, &SMALL)?;
    let why = "times the best buffer of each size, on average:";
    found.answer("fig7-best-buffer", number(f64::from(over_all), format!("{why} {}", words(sums))));
    let (longest, sums) = best(&spec, &SMALL[4..])?;
    found.answer("fig7-best-buffer-long", number(f64::from(longest), format!("times the best one: {}", words(sums))));
    let card = spec.card;
    let others = [
        ("a wire of ten times the rate", Card { wire_ps: card.wire_ps / 10, ..card }),
        ("no switch", Card { store_and_forward: false, ..card }),
        (
            "a card of half the price",
            Card {
                post: card.post.percent(50),
                reap: card.reap.percent(50),
                receive: card.receive.percent(50),
                fragment: card.fragment.percent(50),
                ..card
            },
        ),
    ];
    let mut got = Vec::new();
    for (name, card) in others {
        got.push((name, best(&ClusterSpec { card, ..spec.clone() }, &SMALL)?.0));
    }
    let words: Vec<_> = got.iter().map(|(name, buffer)| format!("{name}: {buffer} B")).collect();
    let others = got.iter().filter(|of| of.1 != over_all).count();
    found.answer("fig7-best-depends", count(others, format!("the best buffers: {}", words.join(", "))));
    Ok(found)
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
            let figure = THROUGHPUT.point(series, bytes, vec![rate(bytes, half)]).figure("half_us", half.as_us());
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
