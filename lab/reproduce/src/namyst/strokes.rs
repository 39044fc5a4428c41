//! Figures 4 and 5 of Namyst et al. 1999, stroke by stroke, and flow control.
use super::play::{STROKES, Simulated, of, settings, simulate, spinning, turn};
use super::{count, number};
use crate::{Findings, TrialOptions};
use anyhow::Result;
use foregather_machine::{Address, Clock, Error, Fabric, Member, Nanos};
use foregather_message::{Cheaper, Messenger, Mode, Path, Receive, Settings};
use foregather_results::{Passage, Spell, Timeline};
use foregather_sim::cluster::{Activity, ClusterSpec, Nic, Stroke};
use foregather_wait::Policy;

/// A vector of figure 4, in bytes; each lies in a page.
const VECTOR: usize = 3_000;
/// What fills eight static buffers of figure 5, in bytes.
const PIECE: usize = 4_000;
/// A copy of more is one of the data, not of what announces them.
const ANNOUNCED: u32 = 120;

/// The strokes of one message of pieces of `bytes` each from rank 0 to rank 1.
fn strokes(wait: Policy, path: Path, pieces: usize, bytes: usize) -> Result<Vec<Stroke>> {
    let spec = ClusterSpec { wait, spans: STROKES, ..spinning() };
    let one = async |lane: Simulated<'_>| -> Result<(), Error> {
        let messenger = Messenger::new(lane, settings(&spec, path))?;
        let mut memory = vec![3; pieces * bytes];
        if messenger.rank() == 0 {
            let mut message = messenger.begin_packing(1)?;
            for piece in memory.chunks(bytes) {
                message.pack(Cheaper(piece), Receive::Cheaper).await?;
            }
            message.end().await
        } else {
            let mut message = messenger.begin_unpacking_from(0)?;
            for piece in memory.chunks_mut(bytes) {
                message.unpack(Mode::Cheaper, piece).await?;
            }
            message.end().await
        }
    };
    Ok(simulate(spec.clone(), one)?.report.strokes)
}

/// How often each byte of the message was copied by a processor.
fn copies(strokes: &[Stroke], bytes: usize) -> f64 {
    let copied = strokes.iter().filter(|stroke| stroke.what == Activity::Copy && stroke.bytes > ANNOUNCED);
    copied.map(|stroke| u64::from(stroke.bytes)).sum::<u64>() as f64 / bytes as f64
}

pub(super) fn figure4(_: &TrialOptions, found: &mut Findings) -> Result<()> {
    let strokes = strokes(Policy::Yield, Path::Direct, 3, VECTOR)?;
    let shows = "Node 0 registers its three vectors and offers them; node 2 registers where they go and asks for them. One descriptor \
                 gathers all three; node 1 is the switch. Node 0 deregisters when they have been read.";
    let drawn = timeline("namyst-fig4", "Figure 4: three vectors from memory to memory", shows, &strokes);
    found.timelines = vec![drawn];
    let at_sender = |what| of(&strokes, 0, what);
    let post = at_sender(Activity::Post).find(|stroke| stroke.pieces == 3);
    let sent = at_sender(Activity::Sent).last();
    let descriptors = at_sender(Activity::Sent).count();
    let entries = post.map_or(0, |post| post.pieces);
    found.answer("fig4-one-descriptor", count(descriptors, format!("of {entries} entries")));
    let (Some(post), Some(sent)) = (post, sent) else { return Ok(()) };
    let before = at_sender(Activity::Register).filter(|stroke| stroke.to <= post.from).count();
    found.answer("fig4-registrations", count(before, "before the descriptor is posted"));
    let yields = at_sender(Activity::Yield).filter(|stroke| post.to <= stroke.from && stroke.from < sent.to);
    let meanwhile = sent.to - post.to;
    found.answer("fig4-yields", count(yields.count(), format!("in the {meanwhile} in between")));
    let after = at_sender(Activity::Forget).filter(|stroke| stroke.from >= sent.to).count();
    found.answer("fig4-deregistrations", count(after, "after the completion"));
    found.answer("fig4-no-copy", number(copies(&strokes, 3 * VECTOR), "on both sides together"));
    Ok(())
}

pub(super) fn figure5(_: &TrialOptions, found: &mut Findings) -> Result<()> {
    let buffered = strokes(Policy::Spin, Path::Buffered, 1, PIECE)?;
    let shows = "While one buffer is on the wire, node 0 fills the next and node 2 empties the one before; node 1 is the switch. \
                 Nothing is registered.";
    let drawn = timeline("namyst-fig5", "Figure 5: one message through eight static buffers", shows, &buffered);
    found.timelines = vec![drawn];
    let calls = |strokes: &[Stroke]| -> usize {
        (0..2).map(|rank| of(strokes, rank, Activity::Register).count() + of(strokes, rank, Activity::Forget).count()).sum()
    };
    let (direct, none) = (calls(&strokes(Policy::Spin, Path::Direct, 1, PIECE)?), calls(&buffered));
    found.answer("fig5-registrations-saved", count(direct - none, format!("{direct} from memory to memory, {none} here")));
    found.answer("fig5-copies", number(copies(&buffered, PIECE), "on both sides together"));
    let wires: Vec<(Nanos, Nanos)> = of(&buffered, 0, Activity::Wire).map(|wire| (wire.from, wire.to)).collect();
    let (mut hidden, mut all) = (Nanos::ZERO, Nanos::ZERO);
    for copy in of(&buffered, 0, Activity::Copy) {
        all += copy.to - copy.from;
        for &(from, to) in &wires {
            hidden += copy.to.min(to) - copy.from.max(from);
        }
    }
    let why = format!("{hidden} of {all} of copying at the sender, {} buffers", wires.len());
    found.answer("fig5-copies-overlap", number(hidden.0 as f64 / all.0.max(1) as f64, why));
    Ok(())
}

/// The strokes of two nodes as a timeline of three.
fn timeline(name: &str, title: &str, shows: &str, strokes: &[Stroke]) -> Timeline {
    let node = |rank: u32| 2 * rank;
    let nic = ClusterSpec::namyst1999(2, 1).nic;
    let packets: Vec<Passage> = [0, 1].into_iter().flat_map(|rank| passages(strokes, rank, node, &nic)).collect();
    let did = |what| match what {
        Activity::Register | Activity::Forget => Some("registered"),
        Activity::Copy => Some("copied"),
        Activity::Post | Activity::Receive | Activity::Complete => Some("posted"),
        _ => None,
    };
    let spell = |stroke: &Stroke| {
        let (from_us, to_us) = (stroke.from.as_us(), stroke.to.as_us());
        Some(Spell { node: node(stroke.at.rank), what: did(stroke.what)?.to_owned(), from_us, to_us })
    };
    let end = strokes.iter().map(|stroke| stroke.to).max().unwrap_or_default().as_us();
    Timeline {
        name: name.to_owned(),
        title: title.to_owned(),
        shows: shows.to_owned(),
        nodes: 3,
        came_us: vec![0.0; 3],
        done_us: vec![end; 3],
        left_us: vec![],
        packets,
        busy: strokes.iter().filter(|stroke| stroke.to > stroke.from).filter_map(spell).collect(),
    }
}

/// What `rank` sends: each message to the switch, and on from there as soon as its first fragment is whole
/// and the wire is free.
fn passages(strokes: &[Stroke], rank: u32, node: impl Fn(u32) -> u32, nic: &Nic) -> Vec<Passage> {
    let mut all = Vec::new();
    let mut free = Nanos::ZERO;
    // Messages between two lanes keep their order.
    for (wire, arrival) in of(strokes, rank, Activity::Wire).zip(of(strokes, 1 - rank, Activity::Arrive)) {
        let first = u64::from(wire.bytes.min(nic.cut)) + u64::from(nic.framing);
        let whole = (wire.from + Nanos(first * nic.wire_ps / 1_000)).min(wire.to) + nic.latency;
        let (begins, ends) = (whole.max(free), arrival.from - nic.fragment);
        free = ends;
        let kind = match wire.bytes {
            0 => "null",
            1..=ANNOUNCED => "short",
            _ => "data",
        };
        let passage = |from: u32, to: u32, asked: Nanos, began: Nanos, ended: Nanos| Passage {
            kind: kind.to_owned(),
            from,
            to,
            asked_us: asked.as_us(),
            began_us: began.as_us(),
            granted_us: began.as_us(),
            left_us: ended.as_us(),
            arrived_us: ended.as_us(),
        };
        all.push(passage(node(rank), 1, wire.from, wire.from, wire.to));
        all.push(passage(1, node(1 - rank), whole, begins, ends));
    }
    all
}

/// Messages of each pattern.
const MESSAGES: u32 = 200;
/// How many one side sends before the other answers with as many.
const BURST: u32 = 8;
/// Their length: one static buffer.
const BYTES: usize = 400;
/// The first driver returned credits alone when two were left.
const ALERT: u32 = 2;
/// How long a busy receiver takes no message.
const BUSY: Nanos = Nanos::from_us(100_000);

/// The end of a pattern: messages, acknowledgements, messages lost.
struct Flow {
    messages: u64,
    acknowledgements: u64,
    lost: u64,
}

/// `burst` messages one way, then as many back if `answered`, until all have been sent; the receiver of the
/// first begins late.
fn flow(burst: u32, answered: bool, late: Nanos) -> Result<Flow> {
    let spec = spinning();
    let played = simulate(spec.clone(), async |lane| {
        let settings = Settings { alert: Some(ALERT), ..settings(&spec, Path::Buffered) };
        let messenger = Messenger::new(lane, settings)?;
        let mut memory = [1; BYTES];
        if messenger.rank() == 1 {
            messenger.delay(late).await;
        }
        for message in 0..MESSAGES {
            let sender = if answered { message / burst % 2 } else { 0 };
            turn(&messenger, messenger.rank() == sender, &mut memory).await?;
        }
        Ok(messenger.traffic())
    })?;
    let sum = |of: fn(&foregather_message::Traffic) -> u64| played.outputs.iter().map(of).sum();
    let (messages, acknowledgements) = (sum(|traffic| traffic.messages), sum(|traffic| traffic.acknowledgements));
    Ok(Flow { messages, acknowledgements, lost: played.report.dropped })
}

/// How many frames are lost if `beyond` more are posted than there are receives, and how many arrive.
fn unasked(beyond: u32) -> Result<(u64, u64)> {
    let spec = spinning();
    let posts = spec.nic.credits + spec.nic.spare + beyond;
    let played = simulate(spec, async |lane| {
        let peer = Address { rank: 1 - lane.rank(), lane: 0 };
        if lane.rank() == 0 {
            for number in 0..posts {
                lane.post(peer, number, &[])?;
            }
        }
        lane.delay(BUSY).await;
        Ok(())
    })?;
    Ok((played.report.dropped, played.report.frames))
}

pub(super) fn credits(_: &TrialOptions, found: &mut Findings) -> Result<()> {
    const BEYOND: u32 = 10;
    let (lost, arrived) = unasked(BEYOND)?;
    let why = format!("of {} posted without a credit, {arrived} arrived", lost + arrived);
    found.answer("via-has-no-flow-control", count(lost as usize, why));
    let patterns = [flow(1, true, Nanos::ZERO)?, flow(BURST, true, Nanos::ZERO)?];
    let alone: u64 = patterns.iter().map(|flow| flow.acknowledgements).sum();
    let messages: u64 = patterns.iter().map(|flow| flow.messages).sum();
    found.answer("credits-avoid-acknowledgements", count(alone as usize, format!("beside {messages} messages")));
    let one_way = flow(MESSAGES, false, BUSY)?;
    let got = format!("{} for {} messages", one_way.acknowledgements, one_way.messages);
    let for_one = one_way.messages as f64 / one_way.acknowledgements.max(1) as f64;
    found.answer("credits-one-way", number(for_one, format!("{got}, with an alert level of {ALERT} of 32")));
    let why = format!("of {} to a receiver that takes none for {BUSY}", one_way.messages);
    found.answer("credits-lose-nothing", count(one_way.lost as usize, why));
    Ok(())
}
