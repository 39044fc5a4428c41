//! Tables I to III of Seidel & Davis 1992, figures 2-1 to 2-7, and crossovers.
use super::directed::{Directed, DirectedRun, Ipsc, M};
use super::directed::{RDS, exchanged, first, sent, shifted, synchronised_shift};
use super::scenes::scenes;
use super::{count, number, us};
use crate::{Answer, Findings, TrialOptions};
use anyhow::Result;
use foregather_bench::noise;
use foregather_machine::{Clock, Endpoint, Error, Member, Nanos, Packet, Port};
use foregather_message::Protocol::{Forced, Long, Short};
use foregather_message::{Protocol, receive, send};
use foregather_sim::event::Calendar;
use foregather_sim::net::{Circuit, Circuits, HeaderBuffers, Network, PacketKind, profile};

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
    Ok(outputs.next().ok_or_else(|| anyhow::anyhow!("the nodes wait for each other forever"))??)
}

/// Microseconds, and how uncertain their mean is.
fn mean(times: &[Nanos]) -> (f64, f64) {
    let n = times.len() as f64;
    let mean = times.iter().map(|time| time.as_us()).sum::<f64>() / n;
    let variance = times.iter().map(|time| (time.as_us() - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// Node 0 sends null messages, which node 1 answers if the traffic is balanced: how long each send took, and
/// each round.
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

/// Lengths in bytes, each with the microseconds that a long message of it took: there and back, halved.
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

pub(super) fn table1(_: &TrialOptions, found: &mut Findings) -> Result<()> {
    let (a, b_l) = noise::line(&long_messages()?);
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
    let [one_way, balanced, forced] =
        [releases(MessagePattern::OneWay)?, releases(MessagePattern::Balanced)?, releases(MessagePattern::Forced)?];
    let all = [("pool-needs-releases", one_way), ("balanced-needs-no-releases", balanced), ("forced-bypasses-the-pool", forced)];
    for (id, releases) in all {
        found.answer(id, count(releases, "of 1000 messages, 64 buffers"));
    }
    let pooled = Circuits { pool: Some(POOL), ..profile::IPSC860 };
    let (wrong, right) = (mean(&rounds(pooled, false)?.0).0, mean(&rounds(pooled, true)?.0).0);
    found.answer("unbalanced-s-is-wrong", number((wrong - right).abs(), format!("{wrong:.1} us instead of {right:.1}")));
    Ok(())
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
            .filter(|circuit| {
                matches!(circuit.kind, PacketKind::Packet(Packet::Short | Packet::Probe | Packet::Request | Packet::Data))
            })
            .count())
    };
    let (short, long) = (count(100)?, count(101)?);
    Ok(number(long as f64 / short as f64, format!("{short} and {long} packets")))
}

enum MessagePattern {
    OneWay,
    Balanced,
    Forced,
}

/// Release messages that a thousand messages cause.
fn releases(traffic: MessagePattern) -> Result<usize> {
    const MESSAGES: u32 = 1_000;
    let mut pair = Directed::new(2).late(0, 1_000);
    pair.model.pool = Some(POOL);
    let balanced = matches!(traffic, MessagePattern::Balanced);
    let played = pair.run(async |node: &Ipsc<'_>| {
        let receives = balanced || node.rank() == 1;
        if matches!(traffic, MessagePattern::Forced) && receives {
            for _ in 0..MESSAGES {
                node.post(0, TAG)?;
            }
        }
        for _ in 0..MESSAGES {
            if balanced || node.rank() == 0 {
                match traffic {
                    MessagePattern::Forced => send(node, 1, TAG, &[0; 200], Protocol::Forced).await?,
                    _ => node.signal(1 - node.rank(), 0).await?,
                }
            }
            if receives {
                match traffic {
                    MessagePattern::Forced => drop(receive(node, 0, TAG, &mut []).await?),
                    _ => node.wait(0).await?,
                }
            }
        }
        Ok(())
    })?;
    Ok(played.record.0.iter().filter(|circuit| circuit.kind == PacketKind::Release).count())
}

/// `a m`, in nanoseconds: 360 a byte.
fn am(bytes: usize) -> Nanos {
    profile::IPSC860.bytes(bytes as u32)
}

const BS: Nanos = profile::IPSC860.null;
const BL: Nanos = profile::IPSC860.long;

pub(super) fn table2(_: &TrialOptions, found: &mut Findings) -> Result<()> {
    found.answer("send-null", us(sent(0, Short)?.cost()));
    found.answer("send-long", us(sent(M, Long)?.cost()));
    found.answer("send-forced", us(sent(M, Forced)?.cost()));
    exchanges(found)?;
    let eight = |late| Directed::new(8).last_late(late);
    found.answer("shift-long-close", us(shifted(&eight(60), M, Long)?.cost()));
    found.answer("shift-long-apart", us(shifted(&eight(75), M, Long)?.cost()));
    found.answer("shift-forced", us(shifted(&eight(1_000), M, Forced)?.cost()));
    let four_kib = |late| shifted(&eight(late), 4_096, Long).map(|played| played.cost());
    found.answer("shift-factor-of-two", super::ratio(four_kib(75)?, four_kib(0)?));
    let wrong = everywhere()?;
    found.answer("table2-everywhere", count(wrong.0, format!("of {} costs by formula", wrong.1)));
    Ok(())
}

fn exchanges(found: &mut Findings) -> Result<()> {
    let simple = |late: Nanos| exchanged(M, Long, false, late).map(|played| played.cost());
    let synchronised = |late: Nanos| exchanged(M, Long, true, late).map(|played| played.cost());
    let step = Nanos::from_us;
    let apart = simple(BS)?;
    found.answer("exchange-long-close", us(simple(step(60))?));
    found.answer("exchange-long-apart", us(apart));
    let end = am(M) + Nanos(BL.0 / 2);
    let flat = [am(M), end].into_iter().map(simple).collect::<Result<Vec<_>>>()?;
    let moves = flat.iter().map(|cost| Nanos(cost.0.abs_diff(apart.0))).max().unwrap_or(Nanos::ZERO);
    found.answer("exchange-long-apart-is-flat", number(moves.as_us(), "at b_s, am, am + b_l/2"));
    found.answer("exchange-long-far-apart", us(simple(end + step(500))?));
    let sequential = first(1, 200, |late| Ok(simple(step(late))? > am(M) + BL + step(late)))?;
    let why = "the largest delta in whole microseconds at which the two messages still travel at once";
    for id in ["threshold-stated", "threshold-measured"] {
        found.answer(id, number((sequential - 1) as f64, why));
    }
    found.answer("synchronised-exchange-long", us(synchronised(BS)?));
    found.answer("synchronised-exchange-forced", us(exchanged(M, Forced, true, BS)?.cost()));
    let dearer = first(75, 12_000, |late| Ok(synchronised(step(late))? > simple(step(late))?))?;
    found.answer("synchronising-pays-up-to", number((dearer - 1) as f64, "in steps of a microsecond"));
    found.answer("almost-half", super::ratio(synchronised(BS)?, apart));
    let pays = first(101, 4_096, |bytes| {
        let cost = |synchronised| exchanged(bytes as usize, Long, synchronised, BS).map(|played| played.cost());
        Ok(cost(true)? < cost(false)?)
    })?;
    found.answer("a-few-hundred-bytes", number(pays as f64, "the smallest such message"));
    Ok(())
}

/// Costs that are not what the formulas say, and all that were tried.
fn everywhere() -> Result<(usize, usize)> {
    let (mut wrong, mut all) = (0, 0);
    let mut check = |got: Nanos, expected: Nanos| {
        wrong += usize::from(got != expected);
        all += 1;
    };
    let step = Nanos::from_us;
    for bytes in [1 << 10, 4 << 10, 16 << 10, 64 << 10] {
        let (concurrent, sequential) = (am(bytes) + BL, am(bytes) * 2 + BL.percent(150));
        check(exchanged(bytes, Long, false, step(60))?.cost(), concurrent + step(60));
        check(exchanged(bytes, Long, false, BS)?.cost(), sequential);
        check(exchanged(bytes, Long, true, BS)?.cost(), concurrent + BS * 2);
        check(exchanged(bytes, Forced, true, BS)?.cost(), am(bytes) + BS * 3);
        for nodes in [4, 8, 16, 32, 64, 128] {
            let ring = |late| Directed::new(nodes).last_late(late);
            check(shifted(&ring(60), bytes, Long)?.cost(), concurrent + step(60));
            check(shifted(&ring(75), bytes, Long)?.cost(), sequential);
            check(shifted(&ring(1_000), bytes, Forced)?.cost(), am(bytes) + BS + step(1_000));
        }
    }
    Ok((wrong, all))
}

/// The long messages, or those of another kind.
fn messages<T>(played: &DirectedRun<T>, packet: Packet) -> Vec<&Circuit> {
    played.record.0.iter().filter(|circuit| circuit.kind == PacketKind::Packet(packet)).collect()
}

/// For how long all of them were on their way at the same time.
fn together(circuits: &[&Circuit]) -> Nanos {
    let latest = circuits.iter().map(|circuit| circuit.granted).max().unwrap_or(Nanos::ZERO);
    circuits.iter().map(|circuit| circuit.left).min().unwrap_or(Nanos::ZERO) - latest
}

pub(super) fn fig2(_: &TrialOptions, found: &mut Findings) -> Result<()> {
    found.timelines = scenes("fig2")?;
    let overlap = |synchronised, protocol, packet, late| {
        exchanged(M, protocol, synchronised, late).map(|played| together(&messages(&played, packet)))
    };
    let (close, apart) = (overlap(false, Long, Packet::Data, Nanos::ZERO)?, overlap(false, Long, Packet::Data, BS)?);
    found.answer("fig2-1-at-once", us(close));
    found.answer("fig2-2-one-after-the-other", us(apart));
    let [long, forced] = [(Long, Packet::Data), (Forced, Packet::Forced)].map(|(how, packet)| overlap(true, how, packet, BS));
    found.answer("fig2-3-null-messages-help", number(long?.min(forced?).as_us(), "the less of the two"));
    let ring =
        |late| shifted(&Directed::new(8).last_late(late), M, Long).map(|played| together(&messages(&played, Packet::Data)));
    let (close, apart) = (ring(60)?, ring(75)?);
    found.answer("fig2-5-whole-ring-at-once", number(close.as_us(), "all eight at once"));
    found.answer("fig2-5-never-from-bs-on", number(apart.as_us(), "all eight at once"));
    let mut waited = Nanos::ZERO;
    for late in [0, 75, 1_000, 20_000] {
        let played = shifted(&Directed::new(8).last_late(late), M, Forced)?;
        waited = messages(&played, Packet::Forced).iter().fold(waited, |most, circuit| most.max(circuit.granted - circuit.asked));
    }
    found.answer("fig2-7-forced-never-waits", us(waited));
    Ok(())
}

/// Table III, by its formula.
fn recommended(dimension: u32) -> u64 {
    let round_trips = BS * u64::from(2 * dimension) - Nanos(BL.0 / 2);
    (round_trips.0 * 1_000).div_ceil(profile::IPSC860.byte_ps)
}

const TABLE_THREE: [&str; 6] = ["table3-d2", "table3-d3", "table3-d4", "table3-d5", "table3-d6", "table3-d7"];

pub(super) fn table3(_: &TrialOptions, found: &mut Findings) -> Result<()> {
    for (dimension, id) in (2..).zip(TABLE_THREE) {
        found.answer(id, number(recommended(dimension) as f64, "from the profile's constants"));
    }
    found.answer("crossover-smallest", number(recommended(2) as f64, "d = 2"));
    found.answer("crossover-largest", number(recommended(7) as f64, "d = 7"));
    Ok(())
}

/// What a long shift costs alone, and with RDS before it, the last node 75 us late.
fn alone_and_synchronised(dimension: u32, bytes: u64) -> Result<(Nanos, Nanos)> {
    let late = Directed::new(1 << dimension).last_late(75);
    Ok((shifted(&late, bytes as usize, Long)?.cost(), synchronised_shift(&late, RDS, bytes as usize, Long)?.cost()))
}

pub(super) fn crossover(_: &TrialOptions, found: &mut Findings) -> Result<()> {
    let (mut counted, mut as_it_is, mut dearer, mut at_four_kib) = (vec![], vec![], 0, 0);
    for dimension in 2..=7 {
        counted.push(first(101, 8_192, |bytes| {
            let (alone, synchronised) = alone_and_synchronised(dimension, bytes)?;
            Ok(synchronised <= alone + BS)
        })?);
        as_it_is.push(first(101, 8_192, |bytes| {
            let (alone, synchronised) = alone_and_synchronised(dimension, bytes)?;
            Ok(synchronised <= alone)
        })?);
        let (alone, synchronised) = alone_and_synchronised(dimension, recommended(dimension))?;
        dearer += usize::from(synchronised > alone);
        let (alone, synchronised) = alone_and_synchronised(dimension, 4_096)?;
        at_four_kib += usize::from(synchronised >= alone);
    }
    let in_words = |sizes: &[u64]| sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
    let table: Vec<u64> = (2..=7).map(recommended).collect();
    let differ = counted.iter().zip(&table).filter(|(counted, table)| counted != table).count();
    found.answer("crossover-as-counted", count(differ, format!("from {} bytes on, d = 2 to 7", in_words(&counted))));
    let why = format!("it costs no more from {} bytes on, d = 2 to 7", in_words(&as_it_is));
    found.answer("crossover-as-it-is", count(dearer, why));
    found.answer("crossover-several-kilobytes", count(at_four_kib, "one node 75 us late"));
    Ok(())
}
