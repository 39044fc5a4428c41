//! Broadcasts: one writer and some readers at either pace; waits that are bounded, messages that are given
//! up, readers that leave, an end that fails.
use super::barrier::{SwarmCpu, outcome};
use super::report::{Bad, RunReport, must, verdict};
use super::tamper::TamperedBytes;
use crate::blame::fair;
use crate::draw::Draw;
use crate::plant::Plant;
use crate::worlds::{self, us};
use foregather_machine::{ByteStore, Cause, Clock, Error, Nanos, Rank, SharedBytes};
use foregather_message::broadcast::{Broadcast, BroadcastReader, BroadcastWriter, Pace, WRITER};
use foregather_sim::event::Heap;
use foregather_sim::smp::{MachineSpec, Smp};
use foregather_wait::Policy;
use std::cell::RefCell;

/// The drawn run.
#[derive(Debug)]
struct Plan {
    machine: MachineSpec,
    policy: Policy,
    pace: Pace,
    readers: u32,
    /// Bytes of the ring.
    ring: usize,
    messages: u32,
    /// The ranks that leave in order, and before which message; and one that fails.
    leavers: Vec<(Rank, u32)>,
    failing: Option<(Rank, u32)>,
    bounded: bool,
    points_ppm: u32,
    planted: Option<Plant>,
    seed: u64,
}

/// The bytes of the messages that were sent, or are under way, in order; and the ranks that have gone early.
#[derive(Default)]
struct Board {
    sent: Vec<Vec<u8>>,
    left: u32,
    at_fault: Vec<Rank>,
}

type TamperedBroadcast<'s> = Broadcast<SwarmCpu<'s>, TamperedBytes>;

fn plan(draw: &mut Draw, planted: Option<Plant>) -> Plan {
    let machine = worlds::machine(draw);
    let (readers, messages) = (draw.within(1..=4), draw.within(1..=30));
    let early = |draw: &mut Draw, from: Rank| (draw.within(from..=readers), draw.within(0..=messages - 1));
    let leavers = (0..if draw.one_in(3) { draw.within(1..=readers) } else { 0 }).map(|_| early(draw, 1)).collect();
    let failing = draw.one_in(4).then(|| early(draw, WRITER));
    let well = planted.is_none();
    Plan {
        policy: worlds::policy(draw, &machine),
        machine,
        pace: if well && draw.one_in(3) { Pace::Writer } else { Pace::SlowestReader },
        readers,
        ring: draw.pick(&[512, 576, 1_024, 4_096]),
        messages: if well { messages } else { 30 },
        leavers: if well { leavers } else { Vec::new() },
        failing: failing.filter(|_| well),
        bounded: draw.one_in(3),
        points_ppm: worlds::points(draw),
        planted,
        seed: draw.seed(),
    }
}

pub(super) fn run(draw: &mut Draw, planted: Option<Plant>) -> RunReport {
    let plan = plan(draw, planted);
    let drawn = format!("{plan:?}");
    let bytes = SharedBytes::own(plan.ring);
    let broadcast = match TamperedBroadcast::new(plan.readers, TamperedBytes::new(bytes.clone(), planted), plan.pace) {
        Ok(broadcast) => broadcast,
        Err(error) => return RunReport { trace: 0, end: Err(format!("a broadcast was refused: {error}")), drawn },
    };
    let board = RefCell::new(Board { at_fault: plan.failing.map(|(rank, _)| rank).into_iter().collect(), ..Board::default() });
    let smp = Smp::<Heap>::new(&plan.machine, plan.readers + 1, plan.seed);
    let smp = smp.with_points(plan.points_ppm, plan.seed ^ 1).ending_at(worlds::limit(plan.policy));
    let outputs = smp.run(async |cpu| {
        let rank = cpu.number();
        let end = match rank {
            WRITER => match broadcast.writer(cpu, plan.policy) {
                Ok(writer) => write(&plan, &board, writer).await,
                Err(error) => Err(error.into()),
            },
            _ => match broadcast.reader(cpu, rank, plan.policy) {
                Ok(reader) => read(&plan, &board, &bytes, reader).await,
                Err(error) => Err(error.into()),
            },
        };
        match end {
            Ok(()) => Ok(()),
            Err(Bad::Wrong(what)) => Err(what),
            Err(Bad::Ends(error)) => given_up(&plan, rank, &error, &board),
        }
    });
    let (ends, stuck) = outcome(&smp, outputs);
    RunReport { trace: smp.history().1, end: verdict(stuck, ends), drawn }
}

fn given_up(plan: &Plan, rank: Rank, error: &Error, board: &RefCell<Board>) -> Result<(), String> {
    let board = board.borrow();
    match error.cause() {
        Cause::Closed { peer: None } if rank == WRITER && board.left == plan.readers => Ok(()),
        _ => fair(rank, error, &board.at_fault),
    }
}

/// Returns whether this rank must leave, or fail, before that message.
fn goes(early: impl IntoIterator<Item = (Rank, u32)>, rank: Rank, message: u32) -> bool {
    early.into_iter().any(|at| at == (rank, message))
}

/// The bytes of message `number`, which begin with it.
fn message(plan: &Plan, draw: &mut Draw, number: u32) -> Vec<u8> {
    let most = if plan.pace == Pace::Writer { plan.ring / 8 * 5 } else { plan.ring * 3 };
    let filler = draw.seed() as u8;
    let mut bytes = vec![filler; draw.bytes(most).max(4)];
    bytes[..4].copy_from_slice(&number.to_le_bytes());
    bytes
}

async fn write(plan: &Plan, board: &RefCell<Board>, mut writer: BroadcastWriter<SwarmCpu<'_>, TamperedBytes>) -> Result<(), Bad> {
    let mut draw = Draw::for_thread(plan.seed, WRITER);
    for number in 0..plan.messages {
        writer.delay(draw.span(us(100))).await;
        if goes(plan.failing, WRITER, number) {
            writer.fail();
            return Ok(());
        }
        let message = message(plan, &mut draw, number);
        board.borrow_mut().sent.push(message.clone());
        if let Err(end) = send(plan, &mut draw, &mut writer, &message).await {
            let mut board = board.borrow_mut();
            board.sent.pop();
            if !matches!(end.cause(), Cause::TimedOut { .. }) {
                // What the readers get from here on is its end.
                board.at_fault.push(WRITER);
                return Err(end.into());
            }
        }
    }
    Ok(())
}

/// Sends a message, in one of several ways. `TimedOut` if it was given up.
async fn send(
    plan: &Plan,
    draw: &mut Draw,
    writer: &mut BroadcastWriter<SwarmCpu<'_>, TamperedBytes>,
    message: &[u8],
) -> Result<(), Error> {
    let (one, two) = message.split_at(draw.below(message.len() as u64 + 1) as usize);
    if !(plan.bounded && draw.one_in(2)) {
        return writer.send(&[one, &[], two], Nanos::MAX).await;
    }
    let deadline = |draw: &mut Draw, writer: &BroadcastWriter<_, _>| writer.now() + draw.span(us(300));
    let mut end = writer.send(&[one, two], deadline(draw, writer)).await;
    while matches!(Error::of(&end), Some(Cause::TimedOut { .. })) && !draw.one_in(4) {
        end = writer.go_on(&[message], deadline(draw, writer)).await;
    }
    end
}

async fn read(
    plan: &Plan,
    board: &RefCell<Board>,
    bytes: &SharedBytes,
    mut reader: BroadcastReader<SwarmCpu<'_>, TamperedBytes>,
) -> Result<(), Bad> {
    let rank = reader.rank();
    let mut draw = Draw::for_thread(plan.seed, rank);
    let mut next = 0;
    loop {
        reader.delay(draw.span(us(200))).await;
        if goes(plan.failing, rank, next) {
            reader.fail();
            return Ok(());
        }
        if goes(plan.leavers.iter().copied(), rank, next) {
            board.borrow_mut().left += 1;
            return Ok(());
        }
        match receive(plan, &mut draw, bytes, &mut reader).await {
            Ok(come) => {
                let sent = board.borrow().sent.get(next as usize).is_some_and(|sent| *sent == come);
                must(sent, || format!("rank {rank} got something else than message {next}")).map_err(Bad::Wrong)?;
                next += 1;
            }
            Err(end) => match *end.cause() {
                Cause::TimedOut { .. } if plan.bounded => {}
                Cause::Skipped { messages } if plan.pace == Pace::Writer && messages > 0 => next += messages as u32,
                Cause::Closed { peer: Some(WRITER) } => return ends(board, rank, next),
                Cause::Poisoned { by: Some(WRITER) } => {
                    ends(board, rank, next)?;
                    return Err(end.into());
                }
                _ => return Err(end.into()),
            },
        }
    }
}

/// The writer sends nothing more: this reader has all that was sent, or was told that it missed it.
fn ends(board: &RefCell<Board>, rank: Rank, next: u32) -> Result<(), Bad> {
    let sent = board.borrow().sent.len();
    must(next as usize == sent, || format!("rank {rank} has {next} messages of {sent} at the end")).map_err(Bad::Wrong)
}

/// The next message, in one of several ways.
async fn receive(
    plan: &Plan,
    draw: &mut Draw,
    bytes: &SharedBytes,
    reader: &mut BroadcastReader<SwarmCpu<'_>, TamperedBytes>,
) -> Result<Vec<u8>, Error> {
    let deadline = if plan.bounded && draw.one_in(2) { reader.now() + draw.span(us(300)) } else { Nanos::MAX };
    let passes_first = plan.planted == Some(Plant::PassedFirst);
    if plan.pace == Pace::SlowestReader && (passes_first || draw.one_in(3)) {
        let view = reader.view(deadline).await?;
        if view.is_whole() {
            let mut come = vec![0; view.bytes];
            if passes_first {
                reader.pass()?;
            }
            reader.delay(draw.span(us(50))).await;
            bytes.load(view.at, &mut come);
            if !passes_first {
                reader.pass()?;
            }
            return Ok(come);
        }
    }
    let mut come = Vec::new();
    reader.receive(&mut come, deadline).await.map(|()| come)
}
