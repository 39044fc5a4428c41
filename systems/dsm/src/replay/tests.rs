//! Replays journals on the simulated fabric of `conformance`, in any order of deliveries: the faults must be
//! those of the protocol.
use super::{Player, Profile, Sizes, TimeSpent};
use crate::journal::{Event, Journal, Operation};
use crate::node::{Node, Requester, WaitKind, serve};
use crate::protocol::{Counts, Homes, Server};
use crate::{Access, Minipage};
use core::future::Future;
use core::pin::Pin;
use foregather_barrier::Algorithm as Barrier;
use foregather_conformance::table::{Chooser as Order, Table};
use foregather_machine::{Error, Limits};
use foregather_message::{Messenger, Settings};
use foregather_wait::{Policy, Waiter};
use std::rc::Rc;

const LIMITS: Limits = Limits { lanes: 3, inline: 28, buffer: 64, credits: 4, spare: 5, gather: 1, direct: false };
const BYTES: [u32; 3] = [8, 40, 600];

fn journal(thread: u32, did: impl IntoIterator<Item = Operation>) -> Journal {
    let event = |what| Event { computed_ns: 10, at_ns: 0, waited_ns: 0, what };
    Journal { thread, events: did.into_iter().map(event).collect(), ..Journal::default() }
}

fn read(minipage: u32) -> Operation {
    Operation::touch(Minipage(minipage), Access::Read, 0..4)
}

fn write(minipage: u32) -> Operation {
    Operation::touch(Minipage(minipage), Access::Write, 0..4)
}

enum End {
    Server(Server),
    Thread(TimeSpent),
}

type Program<'t> = Pin<Box<dyn Future<Output = Result<End, Error>> + 't>>;

/// Replays one journal per rank. Returns how the threads' time was spent, and the managers' counts of the
/// first minipages.
fn replay(seed: u64, journals: &[Journal], prefetches: u32) -> (Vec<TimeSpent>, Vec<(Minipage, Counts)>) {
    let ranks = journals.len() as u32;
    let table = Table::new(ranks, LIMITS, Order::random(seed));
    let homes = Homes::spread(ranks).unwrap();
    let mut programs: Vec<Program<'_>> = Vec::new();
    for (rank, journal) in (0..ranks).zip(journals) {
        let node = Rc::new(Node::new(homes, BYTES.len() as u32, Sizes::new(BYTES, Profile::MILLIPAGE_1999)));
        let (served, lane) = (Rc::clone(&node), table.lane(rank, 0));
        programs.push(Box::pin(async move {
            let server = Server::new(homes, rank, BYTES.len() as u32, 2);
            serve(&lane, &*served, server, &Waiter::new(Policy::Block, rank)).await.map(End::Server)
        }));
        let (lane, letters) = (table.lane(rank, 1), table.lane(rank, 2));
        programs.push(Box::pin(async move {
            let settings = Settings { policy: Some(Policy::Block), ..Settings::default() };
            let messenger = Messenger::new(letters, settings)?;
            let mut player = Player {
                node: &node,
                requester: Requester::new(lane, &node, Policy::Block),
                messenger: &messenger,
                barrier: Barrier::Dissemination,
                prefetches,
                pushes: true,
                pace_percent: 100,
            };
            let played = player.run(journal).await.map(End::Thread)?;
            messenger.leave();
            Ok(played)
        }));
    }
    let ends = table.run(programs, |_| ());
    let (mut threads, mut counts) = (Vec::new(), Vec::new());
    for end in ends {
        match end.expect("nobody waits forever").unwrap() {
            End::Server(server) => counts.extend(server.directory().counts()),
            End::Thread(played) => threads.push(played),
        }
    }
    counts.sort_by_key(|(minipage, _)| *minipage);
    (threads, counts)
}

fn faults(played: &TimeSpent) -> [u64; 4] {
    [WaitKind::ReadFault, WaitKind::WriteFault, WaitKind::Upgrade, WaitKind::Barrier].map(|kind| played.waited.count(kind))
}

#[test]
fn a_touch_is_a_fault_if_and_only_if_the_copy_does_not_allow_it() {
    let writer = journal(0, [write(2), Operation::Barrier, Operation::Barrier, read(2), Operation::End]);
    let others = [1, 2].map(|rank| {
        let turn = if rank == 1 { write(2) } else { read(2) };
        journal(rank, [Operation::Barrier, read(2), read(2), Operation::Barrier, turn, Operation::End])
    });
    let journals = [writer, others[0].clone(), others[1].clone()];
    for seed in 0..30 {
        let (threads, counts) = replay(seed, &journals, 0);
        // After the second barrier, one rank upgrades while two read: the order decides whether they still
        // have a copy by then.
        assert_eq!(threads[0].waited.count(WaitKind::WriteFault), 1, "seed {seed}");
        assert_eq!(faults(&threads[1]), [1, 0, 1, 2], "seed {seed}");
        assert_eq!((threads[1].computed.0, threads[2].waited.count(WaitKind::WriteFault)), (60, 0));
        let of = counts.iter().find(|(minipage, _)| *minipage == Minipage(2)).unwrap().1;
        assert_eq!((of.writes, of.upgrades), (2, 1), "seed {seed}");
    }
}

#[test]
fn what_is_measured_begins_at_the_start() {
    let both = |rank| journal(rank, [write(rank), Operation::Barrier, Operation::Start, read(1 - rank), Operation::End]);
    let (threads, _) = replay(1, &[both(0), both(1)], 0);
    assert_eq!(threads.iter().map(faults).collect::<Vec<_>>(), [[1, 0, 0, 0]; 2]);
    assert_eq!(threads[0].computed.0, 20, "reading, and the end");
}

#[test]
fn locks_pushes_and_prefetches_are_played_or_left_out() {
    let first = [
        write(0),
        Operation::Push { minipage: Minipage(0) },
        Operation::Barrier,
        Operation::Lock(1),
        write(1),
        Operation::Unlock(1),
        Operation::End,
    ];
    let ask = Operation::Prefetch { minipage: Minipage(2), access: Access::Read };
    let second = [ask, Operation::Barrier, read(0), Operation::Lock(1), Operation::Unlock(1), read(2), Operation::End];
    let journals = [journal(0, first), journal(1, second)];
    for seed in 0..30 {
        let (threads, counts) = replay(seed, &journals, 4);
        assert_eq!((threads[0].hints, threads[1].hints), (1, 1));
        assert_eq!(threads[1].waited.count(WaitKind::ReadFault), 0, "pushed and prefetched: seed {seed}");
        assert_eq!(threads[1].waited.count(WaitKind::Lock), 1);
        assert_eq!(counts[0].1.pushed, 1);
        let (threads, _) = replay(seed, &journals, 0);
        assert_eq!(threads[1].waited.count(WaitKind::ReadFault), 1, "not prefetched: seed {seed}");
    }
}
