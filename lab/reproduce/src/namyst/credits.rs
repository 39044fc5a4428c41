//! Flow control (§3.1): without credits VIA loses messages; with them few acknowledgements travel alone.
use super::play::{settings, simulate, spinning, turn};
use super::{count, number};
use crate::{Findings, Trial};
use anyhow::Result;
use foregather_machine::{Address, Clock, Fabric, Member, Nanos};
use foregather_message::{Messenger, Path, Settings};

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

/// What came of a pattern: messages, acknowledgements, messages lost.
struct Flow {
    messages: u64,
    acknowledgements: u64,
    lost: u64,
}

/// So many messages one way, then as many back if `answered`, until all have been sent; the receiver of the first begins late.
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

/// How many frames are lost if so many more are posted than there are receives, and how many arrive.
fn unasked(beyond: u32) -> Result<(u64, u64)> {
    let spec = spinning();
    let posts = spec.card.credits + spec.card.spare + beyond;
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

pub(super) fn credits(_: &Trial) -> Result<Findings> {
    const BEYOND: u32 = 10;
    let mut found = Findings::default();
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
    Ok(found)
}
