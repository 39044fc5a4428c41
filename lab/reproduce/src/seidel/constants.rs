//! Table I, measured inside the simulator as its authors measured it (§2.1, §2.4, §3.3): a null message there and back, halved;
//! sends with balanced traffic; long messages of several lengths. And what goes wrong if the traffic is not balanced.
use super::directed::{Directed, Ipsc};
use super::{count, number};
use crate::{Answer, Findings, Trial};
use anyhow::Result;
use foregather_bench::fit;
use foregather_machine::{Clock, Endpoint, Error, Member, Nanos, Packet, Port};
use foregather_message::{Protocol, receive, send};
use foregather_sim::event::Calendar;
use foregather_sim::net::{Circuits, HeaderBuffers, Network, PacketKind, profile};

const TRIALS: usize = 10_000;
const TAG: u32 = 1;
/// Header buffers, where they are counted; the paper gives no number.
pub(super) const POOL: HeaderBuffers = HeaderBuffers { buffers: 64, release: 1 };

/// Two nodes under the interrupts of the paper; what the first one's program gave.
fn two<T>(model: Circuits, program: impl AsyncFn(&Ipsc<'_>) -> Result<T, Error>) -> Result<T> {
    let network = Network::<Calendar, _>::new(2, 2, model)?.without_contents().interrupted(profile::AS_STATED, 9)?;
    let nodes = network.nodes();
    let run = network.run(&nodes, |_| Nanos::ZERO, |node| program(node));
    let mut outputs = run.outputs.into_iter().flatten();
    Ok(outputs.next().ok_or_else(|| anyhow::anyhow!("the nodes wait for each other for ever"))??)
}

/// Microseconds, and how uncertain their mean is.
fn mean(times: &[Nanos]) -> (f64, f64) {
    let n = times.len() as f64;
    let mean = times.iter().map(|time| time.as_us()).sum::<f64>() / n;
    let variance = times.iter().map(|time| (time.as_us() - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// Node 0 sends null messages, which node 1 answers if the traffic is balanced: how long each send took, and each round.
fn rounds(model: Circuits, balanced: bool) -> Result<(Vec<Nanos>, Vec<Nanos>)> {
    two(model, async |node: &Ipsc<'_>| {
        let (mut sends, mut rounds) = (Vec::new(), Vec::new());
        for _ in 0..TRIALS {
            let began = node.now();
            if node.rank() == 0 {
                node.signal(1, 0).await?;
                sends.push(node.now() - began);
            } else {
                node.wait(0).await?;
            }
            if balanced && node.rank() == 0 {
                node.wait(0).await?;
            } else if balanced {
                node.signal(0, 0).await?;
            }
            rounds.push(node.now() - began);
        }
        Ok((sends, rounds))
    })
}

/// Bytes, and the microseconds that a long message of so many took: there and back, halved.
fn long_messages() -> Result<Vec<(f64, f64)>> {
    two(profile::IPSC860, async |node: &Ipsc<'_>| {
        let mut points = Vec::new();
        for round in 0..400 {
            let (bytes, peer) = (1_024 * (1 + round % 40), 1 - node.rank());
            let (out, began) = (vec![0; bytes], node.now());
            if node.rank() == 0 {
                send(node, peer, TAG, &out, Protocol::Long).await?;
                receive(node, peer, TAG, &mut []).await?;
            } else {
                receive(node, peer, TAG, &mut []).await?;
                send(node, peer, TAG, &out, Protocol::Long).await?;
            }
            points.push((bytes as f64, (node.now() - began).as_us() / 2.0));
        }
        Ok(points)
    })
}

pub(super) fn table1(_: &Trial) -> Result<Findings> {
    let mut found = Findings::default();
    let (a, b_l) = fit::line(&long_messages()?);
    found.answer("table1-a", number(a, "the slope over 1 to 40 KiB"));
    found.answer("table1-a-older", number(a, "what the model was given"));
    found.answer("table1-bl", number(b_l, "the intercept"));
    let (sends, round_trips) = rounds(profile::IPSC860, true)?;
    let ((twice, error), (s, error_of_s)) = (mean(&round_trips), mean(&sends));
    let b_s = twice / 2.0;
    found.answer("table1-bs", number(b_s, format!("half of the mean of {TRIALS} round trips")));
    found.answer("table1-s", number(s, format!("the mean of {TRIALS} sends")));
    found.answer("sender-before-receiver", number(b_s - s, format!("means of {b_s:.1} and {s:.1} us")));
    let worst = error.max(error_of_s);
    found.answer("ten-thousand-trials", number(worst, "the larger standard error of the two means"));
    found.answer("short-limit", packets()?);
    let [one_way, balanced, forced] = [releases(Sending::OneWay)?, releases(Sending::Balanced)?, releases(Sending::Forced)?];
    let all = [("pool-needs-releases", one_way), ("balanced-needs-no-releases", balanced), ("forced-bypasses-the-pool", forced)];
    for (id, releases) in all {
        found.answer(id, count(releases, "of 1000 messages, 64 buffers"));
    }
    let pooled = Circuits { pool: Some(POOL), ..profile::IPSC860 };
    let (wrong, right) = (mean(&rounds(pooled, false)?.0).0, mean(&rounds(pooled, true)?.0).0);
    found.answer("unbalanced-s-is-wrong", number((wrong - right).abs(), format!("{wrong:.1} us instead of {right:.1}")));
    Ok(found)
}

/// Packets that a message of 100 bytes and one of 101 consist of.
fn packets() -> Result<Answer> {
    let count = |bytes: usize| -> Result<usize> {
        let played = Directed::new(2).run(async |node: &Ipsc<'_>| {
            if node.rank() == 1 {
                return receive(node, 0, TAG, &mut []).await.map(drop);
            }
            send(node, 1, TAG, &vec![0; bytes], Protocol::of_length(node, bytes)).await
        })?;
        Ok(played
            .record
            .0
            .iter()
            .filter(|way| matches!(way.kind, PacketKind::Packet(Packet::Short | Packet::Probe | Packet::Request | Packet::Data)))
            .count())
    };
    let (short, long) = (count(100)?, count(101)?);
    Ok(number(long as f64 / short as f64, format!("{short} and {long} packets")))
}

enum Sending {
    OneWay,
    Balanced,
    Forced,
}

/// Release messages that a thousand messages cause.
fn releases(traffic: Sending) -> Result<usize> {
    const MESSAGES: u32 = 1_000;
    let mut pair = Directed::new(2).late(0, 1_000);
    pair.model.pool = Some(POOL);
    let balanced = matches!(traffic, Sending::Balanced);
    let played = pair.run(async |node: &Ipsc<'_>| {
        let receives = balanced || node.rank() == 1;
        if matches!(traffic, Sending::Forced) && receives {
            for _ in 0..MESSAGES {
                node.post(0, TAG)?;
            }
        }
        for _ in 0..MESSAGES {
            if balanced || node.rank() == 0 {
                match traffic {
                    Sending::Forced => send(node, 1, TAG, &[0; 200], Protocol::Forced).await?,
                    _ => node.signal(1 - node.rank(), 0).await?,
                }
            }
            if receives {
                match traffic {
                    Sending::Forced => drop(receive(node, 0, TAG, &mut []).await?),
                    _ => node.wait(0).await?,
                }
            }
        }
        Ok(())
    })?;
    Ok(played.record.0.iter().filter(|way| way.kind == PacketKind::Release).count())
}
