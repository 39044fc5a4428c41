//! One rank's way through the deeds.
use super::deed::{Deed, PieceShape};
use super::plan::{Ending, Mishap, Plan, Talker};
use crate::draw::Draw;
use crate::subjects::napping::NappingLane;
use crate::subjects::report::{Bad, must};
use crate::subjects::tamper::TamperedLane;
use crate::worlds::us;
use foregather_machine::{Clock, Endpoint, Error, Member, Nanos, Port, Rank};
use foregather_message::{Cheaper, Later, Messenger, Mode, Protocol, Receive, Safer, collective, receive, send};
use std::cell::Cell;

/// Slots of null messages that no barrier uses.
const OWN_SLOTS: u32 = 40;
const TAG: u32 = 7;

type Done = Result<(), Bad>;

fn check(holds: bool, what: impl FnOnce() -> String) -> Done {
    must(holds, what).map_err(Bad::Wrong)
}

pub(super) async fn run(plan: &Plan, lane: TamperedLane<NappingLane<'_>>) -> Ending {
    let rank = lane.rank();
    let mut draw = Draw::for_thread(plan.seed, rank);
    let messenger = match Messenger::new(lane, plan.settings) {
        Ok(messenger) => messenger,
        Err(error) => return Err(format!("settings that fit were refused: {error}")),
    };
    messenger.delay(draw.span(us(200))).await;
    if let Mishap::Hurries(hurried, span) = plan.mishap
        && hurried == rank
    {
        messenger.set_deadline(messenger.now() + span.max(Nanos(1)));
    }
    for (number, deed) in plan.deeds.iter().enumerate() {
        match plan.mishap {
            Mishap::Vanishes(own, at) if (own, at) == (rank, number) => return Ok(Ok(())),
            Mishap::Leaves(own, at) if (own, at) == (rank, number) => {
                let settled = messenger.settle().await;
                messenger.leave();
                return Ok(settled);
            }
            Mishap::Fails(own, at) | Mishap::Abandons(own, at) if (own, at) == (rank, number) => {
                if let Mishap::Abandons(..) = plan.mishap {
                    abandon(plan, &messenger, &mut draw).await;
                }
                let error = Error::other("the swarm's own failure");
                messenger.fail(&error);
                return Ok(Err(error));
            }
            _ => {}
        }
        let disagrees = plan.mishap == Mishap::Disagrees(rank, number);
        match act(plan, &messenger, number, deed, disagrees).await {
            Ok(()) => {}
            Err(Bad::Wrong(wrong)) => return Err(format!("rank {rank}, deed {number}: {wrong}")),
            Err(Bad::Ends(error)) => {
                messenger.fail(&error);
                return Ok(Err(error));
            }
        }
    }
    if let Mishap::Circle(length) = plan.mishap
        && rank < length
        && let Err(error) = wait_for_next(&messenger, length).await
    {
        messenger.fail(&error);
        return Ok(Err(error));
    }
    if let Err(error) = messenger.settle().await {
        messenger.fail(&error);
        return Ok(Err(error));
    }
    messenger.leave();
    Ok(Ok(()))
}

async fn wait_for_next(messenger: &Talker<'_>, length: u32) -> Result<(), Error> {
    messenger.begin_unpacking_from((messenger.rank() + 1) % length)?.end().await
}

/// Begins a message, and drops it somewhere.
async fn abandon(plan: &Plan, messenger: &Talker<'_>, draw: &mut Draw) {
    let to = (messenger.rank() + 1) % plan.size;
    let bulk = vec![1; draw.bytes(20_000)];
    if draw.one_in(2) {
        let pause = draw.span(us(200));
        // Longer than any piece of a deed, so that it cannot be taken for one.
        let bulk = [&bulk[..], &[1; 12_001]].concat();
        let end = messenger.scope(async |scope| {
            let mut message = messenger.begin_packing(to)?;
            message.pack(Cheaper(&bulk), Receive::Cheaper).await?;
            scope.end_later(message).await?;
            messenger.delay(pause).await;
            Err::<(), _>(Error::other("the scope's own failure"))
        });
        drop(end.await);
        return;
    }
    let Ok(mut message) = messenger.begin_packing(to) else { return };
    if message.pack(Cheaper(&bulk), Receive::Express).await.is_ok() && draw.one_in(2) {
        messenger.delay(draw.span(us(200))).await;
    }
    if draw.one_in(2) { core::mem::forget(message) } else { drop(message) }
}

fn byte(number: usize, from: Rank, piece: usize, at: usize) -> u8 {
    (number * 53 + from as usize * 97 + piece * 31 + at * 7 + at / 251) as u8
}

fn contents(number: usize, from: Rank, piece: usize, length: usize) -> Vec<u8> {
    (0..length).map(|at| byte(number, from, piece, at)).collect()
}

async fn act(plan: &Plan, messenger: &Talker<'_>, number: usize, deed: &Deed, disagrees: bool) -> Done {
    let rank = messenger.rank();
    match *deed {
        Deed::Message { from, to, ref shapes } if from == rank => give(messenger, to, number, shapes).await,
        Deed::Message { from, to, ref shapes } if to == rank => take(messenger, from, number, shapes, disagrees).await,
        Deed::Cross { ranks, ref shapes, times } if ranks.contains(&rank) => {
            let peer = if ranks[0] == rank { ranks[1] } else { ranks[0] };
            for _ in 0..times {
                give(messenger, peer, number, shapes).await?;
            }
            for _ in 0..times {
                take(messenger, peer, number, shapes, false).await?;
            }
            Ok(())
        }
        Deed::Open { ranks, ref shapes, times } if ranks.contains(&rank) => {
            open(messenger, ranks[usize::from(ranks[0] == rank)], number, shapes, times).await
        }
        Deed::Owned { from, to, bytes, times } if from == rank => give_owned(messenger, to, number, bytes, times).await,
        Deed::Owned { from, to, bytes, times } if to == rank => {
            for _ in 0..times {
                let mut got = vec![0; bytes];
                messenger.receive_whole(from, Mode::Cheaper, Receive::Cheaper, &mut got).await?;
                check(got == contents(number, from, 0, bytes), || format!("{bytes} bytes of rank {from}'s own are others"))?;
            }
            Ok(())
        }
        Deed::Signal { from, to } if from == rank => Ok(messenger.signal(to, OWN_SLOTS + from).await?),
        Deed::Signal { from, to } if to == rank => Ok(messenger.wait_from(from, OWN_SLOTS + from).await?),
        Deed::Packet { from, to, bytes, protocol } if from == rank || to == rank => {
            packet(messenger, (from, to), number, bytes, protocol).await
        }
        Deed::Barrier => Ok(plan.barrier.over(messenger).await?),
        Deed::Collective { which, root, bytes } => together(messenger, number, (which, root), bytes).await,
        Deed::Computes { rank: own, span } if own == rank => {
            messenger.delay(span).await;
            Ok(())
        }
        _ => Ok(()),
    }
}

async fn give(messenger: &Talker<'_>, to: Rank, number: usize, shapes: &[PieceShape]) -> Done {
    let fill = |(piece, shape): (usize, &PieceShape)| contents(number, messenger.rank(), piece, shape.2);
    let mut pieces: Vec<Vec<u8>> = shapes.iter().enumerate().map(fill).collect();
    let mut message = messenger.begin_packing(to)?;
    for (piece, &(mode, receive, _)) in pieces.iter_mut().zip(shapes) {
        match mode {
            Mode::Safer => {
                message.pack(Safer(piece), receive).await?;
                // It was copied: later changes of the memory do not matter.
                piece.fill(0xee);
            }
            Mode::Cheaper => message.pack(Cheaper(piece), receive).await?,
            Mode::Later => message.pack(Later(Cell::from_mut(&mut piece[..]).as_slice_of_cells()), receive).await?,
        }
    }
    Ok(message.end().await?)
}

/// Sends messages and leaves them open until as many have come from the same rank.
async fn open(messenger: &Talker<'_>, peer: Rank, number: usize, shapes: &[PieceShape], times: u32) -> Done {
    let fill = |(piece, shape): (usize, &PieceShape)| contents(number, messenger.rank(), piece, shape.2);
    let pieces: Vec<Vec<u8>> = shapes.iter().enumerate().map(fill).collect();
    let cells: Vec<Vec<Cell<u8>>> = pieces.iter().map(|piece| piece.iter().copied().map(Cell::new).collect()).collect();
    let mut wrong = None;
    let ended = messenger
        .scope(async |scope| {
            for _ in 0..times {
                let mut message = messenger.begin_packing(peer)?;
                for ((piece, cells), &(mode, receive, _)) in pieces.iter().zip(&cells).zip(shapes) {
                    match mode {
                        Mode::Safer => message.pack(Safer(piece), receive).await?,
                        Mode::Cheaper => message.pack(Cheaper(piece), receive).await?,
                        Mode::Later => message.pack(Later(cells), receive).await?,
                    }
                }
                scope.end_later(message).await?;
            }
            for _ in 0..times {
                match take(messenger, peer, number, shapes, false).await {
                    Ok(()) => {}
                    Err(Bad::Ends(error)) => return Err(error),
                    Err(Bad::Wrong(what)) => wrong = Some(what),
                }
            }
            Ok(())
        })
        .await;
    match wrong {
        Some(what) => Err(Bad::Wrong(what)),
        None => Ok(ended?),
    }
}

/// One of the handles is dropped, one forgotten, and the others give their memory back.
async fn give_owned(messenger: &Talker<'_>, to: Rank, number: usize, bytes: usize, times: u32) -> Done {
    let memory = || contents(number, messenger.rank(), 0, bytes);
    let mut pending = Vec::new();
    for turn in 0..times {
        let sent = messenger.send_owned(to, memory()).await?;
        match turn % 4 {
            1 => drop(sent),
            2 => core::mem::forget(sent),
            _ => pending.push(sent),
        }
    }
    for sent in pending {
        let back = sent.wait().await?;
        check(back == memory(), || "memory that was given back is other memory".into())?;
    }
    Ok(())
}

async fn take(messenger: &Talker<'_>, from: Rank, number: usize, shapes: &[PieceShape], disagrees: bool) -> Done {
    let mut pieces: Vec<Vec<u8>> = shapes.iter().map(|shape| vec![0; shape.2 + usize::from(disagrees)]).collect();
    let mut message = messenger.begin_unpacking_from(from)?;
    for (piece, &(mode, receive, _)) in pieces.iter_mut().zip(shapes) {
        match receive {
            Receive::Express => message.unpack_express_into(mode, piece).await?,
            Receive::Cheaper => message.unpack(mode, piece).await?,
        }
    }
    message.end().await?;
    check(!disagrees, || "a message was unpacked by other lengths than it was packed by".into())?;
    for (at, piece) in pieces.iter().enumerate() {
        let right = *piece == contents(number, from, at, piece.len());
        check(right, || format!("piece {at} of {} bytes from rank {from} is not what was sent", piece.len()))?;
    }
    Ok(())
}

async fn packet(messenger: &Talker<'_>, (from, to): (Rank, Rank), number: usize, bytes: usize, protocol: Protocol) -> Done {
    let sent = contents(number, from, 0, bytes);
    let forced = protocol == Protocol::Forced;
    if messenger.rank() == from {
        if forced {
            messenger.wait_from(to, OWN_SLOTS + to).await?;
        }
        return Ok(send(messenger, to, TAG, &sent, protocol).await?);
    }
    if forced {
        Port::post(messenger, from, TAG)?;
        messenger.signal(from, OWN_SLOTS + to).await?;
    }
    let mut got = vec![0; bytes];
    let length = receive(messenger, from, TAG, &mut got).await?;
    check(length == bytes && got == sent, || format!("a packet of {bytes} bytes from rank {from} is not what was sent"))
}

/// Collective operations whose results each rank can compute.
async fn together(messenger: &Talker<'_>, number: usize, (which, root): (u64, Rank), bytes: usize) -> Done {
    let (rank, size) = (messenger.rank(), messenger.size());
    let own = contents(number, rank, 0, bytes);
    let all: Vec<u8> = (0..size).flat_map(|other| contents(number, other, 0, bytes)).collect();
    let mut into = vec![0; bytes * size as usize];
    let numbers = |of: Rank| -> Vec<u64> { (0..bytes as u64 / 8).map(|at| at * 3 + u64::from(of) + 1).collect() };
    let sums: Vec<u64> = (0..bytes as u64 / 8).map(|at| (0..size).map(|of| at * 3 + u64::from(of) + 1).sum()).collect();
    match which {
        0 => {
            let mut value = if rank == root { own } else { vec![0; bytes] };
            collective::broadcast(messenger, root, &mut value).await?;
            check(value == contents(number, root, 0, bytes), || "a broadcast brought something else".into())
        }
        1 => {
            collective::all_gather(messenger, &own, &mut into).await?;
            check(into == all, || "an all-gather brought something else".into())
        }
        2 => {
            collective::gather(messenger, root, &own, &mut into).await?;
            check(rank != root || into == all, || "a gather brought something else".into())
        }
        3 => {
            let mut value = numbers(rank);
            collective::allreduce(messenger, &mut value, collective::sum).await?;
            check(value == sums, || "an allreduce brought something else".into())
        }
        4 => {
            let mut value = numbers(rank);
            collective::reduce(messenger, root, &mut value, collective::sum).await?;
            check(rank != root || value == sums, || "a reduce brought something else".into())
        }
        _ => {
            let mine: Vec<u8> = (0..size as usize).flat_map(|to| contents(number, rank, to, bytes)).collect();
            let theirs: Vec<u8> = (0..size).flat_map(|from| contents(number, from, rank as usize, bytes)).collect();
            collective::all_to_all(messenger, &mine, &mut into).await?;
            check(into == theirs, || "an all-to-all brought something else".into())
        }
    }
}
