//! What a broadcast promises, under every policy and in every world.
use crate::World;
use foregather_machine::{ByteStore, Cause, Clock, Error, Nanos, Rank, SharedBytes};
use foregather_message::broadcast::{Broadcast, BroadcastReader, BroadcastWriter, Pace, WRITER};
use foregather_wait::Policy;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// Bytes of the smallest ring: eight records of one line.
const SMALL: usize = 512;

type BroadcastOf<'w, W> = Broadcast<<W as World>::Cpu<'w>, SharedBytes>;

/// One end of a broadcast.
enum BroadcastHandle<'w, W: World + 'w> {
    Writer(BroadcastWriter<W::Cpu<'w>, SharedBytes>),
    Reader(BroadcastReader<W::Cpu<'w>, SharedBytes>),
}

fn handle<'w, W: World>(broadcast: &BroadcastOf<'w, W>, cpu: W::Cpu<'w>, rank: Rank, policy: Policy) -> BroadcastHandle<'w, W> {
    match rank {
        WRITER => BroadcastHandle::Writer(broadcast.writer(cpu, policy).unwrap()),
        _ => BroadcastHandle::Reader(broadcast.reader(cpu, rank, policy).unwrap()),
    }
}

fn policies() -> [Policy; 3] {
    [Policy::default(), Policy::Block, Policy::TwoPhase { spin: Nanos::from_us(5) }]
}

/// Everything.
pub fn all(world: &impl World) {
    for policy in policies() {
        for readers in 1..=3 {
            each_reader_gets_every_message_in_order(world, policy, readers);
        }
        a_slow_reader_is_waited_for(world, policy);
        at_its_own_pace_the_writer_waits_for_none(world, policy);
        the_end_comes_after_the_last_message(world, policy);
        a_reader_that_leaves_is_not_waited_for(world, policy);
        ends_that_fail_are_named(world, policy);
    }
    what_takes_too_long_may_be_tried_again(world);
    a_message_that_was_given_up_is_not_received(world);
    messages_can_be_read_where_they_are(world);
    seats_are_taken_once(world);
    impossible_shapes_are_errors(world);
}

/// The bytes of message `number`: its length tells the number, and each byte its place.
fn message(number: usize, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (number * 31 + at) as u8).collect()
}

/// Sizes from nothing to three rings.
const SIZES: [usize; 16] = [0, 1, 31, 32, 33, 7, 200, 223, 224, 225, 96, 511, 512, 3, 1_536, 64];

fn each_reader_gets_every_message_in_order<W: World>(world: &W, policy: Policy, readers: u32) {
    let broadcast = BroadcastOf::<'_, W>::new(readers, SharedBytes::own(SMALL), Pace::SlowestReader).unwrap();
    world.run(readers + 1, async |cpu: W::Cpu<'_>, rank| match handle::<W>(&broadcast, cpu, rank, policy) {
        BroadcastHandle::Writer(mut writer) => {
            for (number, &bytes) in SIZES.iter().chain(&SIZES).enumerate() {
                let message = message(number, bytes);
                // In odd parts, some of them empty.
                let (one, two) = message.split_at(bytes / 3);
                writer.send(&[one, &[], two], Nanos::MAX).await.unwrap();
            }
        }
        BroadcastHandle::Reader(mut reader) => {
            for (number, &bytes) in SIZES.iter().chain(&SIZES).enumerate() {
                let mut come = b"before".to_vec();
                reader.receive(&mut come, Nanos::MAX).await.unwrap();
                assert_eq!(come, [b"before".to_vec(), message(number, bytes)].concat(), "{policy:?}: {number} at {rank}");
            }
        }
    });
}

fn a_slow_reader_is_waited_for<W: World>(world: &W, policy: Policy) {
    const MESSAGES: u32 = 30;
    let broadcast = BroadcastOf::<'_, W>::new(2, SharedBytes::own(SMALL), Pace::SlowestReader).unwrap();
    let (sent, read) = (AtomicU32::new(0), AtomicU32::new(0));
    world.run(3, async |cpu: W::Cpu<'_>, rank| match handle::<W>(&broadcast, cpu, rank, policy) {
        BroadcastHandle::Writer(mut writer) => {
            for number in 0..MESSAGES {
                writer.send(&[&number.to_le_bytes()], Nanos::MAX).await.unwrap();
                sent.store(number + 1, SeqCst);
            }
        }
        BroadcastHandle::Reader(mut reader) => {
            for number in 0..MESSAGES {
                if rank == 2 {
                    reader.delay(world.step()).await;
                    // Eight have room; one more may have come since.
                    assert!(sent.load(SeqCst) <= read.load(SeqCst) + 8, "{policy:?}");
                }
                let mut come = vec![];
                if rank == 2 {
                    read.fetch_add(1, SeqCst);
                }
                reader.receive(&mut come, Nanos::MAX).await.unwrap();
                assert_eq!(come, number.to_le_bytes());
            }
        }
    });
}

fn at_its_own_pace_the_writer_waits_for_none<W: World>(world: &W, policy: Policy) {
    const MESSAGES: u64 = 200;
    let broadcast = BroadcastOf::<'_, W>::new(2, SharedBytes::own(1_024), Pace::Writer).unwrap();
    let ends = world.run(3, async |cpu: W::Cpu<'_>, rank| match handle::<W>(&broadcast, cpu, rank, policy) {
        BroadcastHandle::Writer(mut writer) => {
            for number in 0..MESSAGES {
                let bytes = [8, 100, 600][number as usize % 3];
                let mut message = message(number as usize, bytes);
                message[..8].copy_from_slice(&number.to_le_bytes());
                writer.send(&[&message], Nanos::MAX).await.unwrap();
                if number % 50 == 49 {
                    writer.delay(world.step()).await;
                }
            }
            (MESSAGES, 0)
        }
        BroadcastHandle::Reader(mut reader) => {
            let (mut next, mut missed) = (0, 0);
            loop {
                let mut come = vec![];
                match reader.receive(&mut come, Nanos::MAX).await.map_err(|error| error.cause().clone()) {
                    Ok(()) => {
                        let number = u64::from_le_bytes(*come.first_chunk().unwrap());
                        assert_eq!(number, next, "{policy:?} at {rank}");
                        let bytes = [8, 100, 600][number as usize % 3];
                        assert_eq!(come[8..], message(number as usize, bytes)[8..], "{policy:?}: {number} at {rank}");
                        next += 1;
                    }
                    Err(Cause::Skipped { messages }) => (next, missed) = (next + messages, missed + messages),
                    Err(Cause::Closed { peer: Some(WRITER) }) => return (next, missed),
                    Err(other) => panic!("{other}"),
                }
                if rank == 2 {
                    reader.delay(world.step() * 3).await;
                }
            }
        }
    });
    assert!(ends.iter().all(|&(all, _)| all == MESSAGES), "{policy:?}: {ends:?}");
    assert!(ends[2].1 > 0, "{policy:?}: the slow reader has missed nothing");
}

fn the_end_comes_after_the_last_message<W: World>(world: &W, policy: Policy) {
    let broadcast = BroadcastOf::<'_, W>::new(1, SharedBytes::own(SMALL), Pace::SlowestReader).unwrap();
    world.run(2, async |cpu: W::Cpu<'_>, rank| match handle::<W>(&broadcast, cpu, rank, policy) {
        BroadcastHandle::Writer(mut writer) => {
            writer.send(&[b"last"], Nanos::MAX).await.unwrap();
            writer.close();
        }
        BroadcastHandle::Reader(mut reader) => {
            // On a busy machine the writer may be late.
            while !reader.is_ready() {
                reader.delay(world.step() * 4).await;
            }
            let mut come = vec![];
            reader.receive(&mut come, Nanos::MAX).await.unwrap();
            assert_eq!(come, b"last");
            for _ in 0..2 {
                assert_eq!(reader.receive(&mut come, Nanos::MAX).await, Err(Cause::Closed { peer: Some(WRITER) }.into()));
            }
        }
    });
}

fn a_reader_that_leaves_is_not_waited_for<W: World>(world: &W, policy: Policy) {
    let broadcast = BroadcastOf::<'_, W>::new(2, SharedBytes::own(SMALL), Pace::SlowestReader).unwrap();
    world.run(3, async |cpu: W::Cpu<'_>, rank| match handle::<W>(&broadcast, cpu, rank, policy) {
        BroadcastHandle::Writer(mut writer) => {
            let end = loop {
                if let Err(error) = writer.send(&[&[7; 100]], Nanos::MAX).await {
                    break error;
                }
            };
            assert_eq!(*end.cause(), Cause::Closed { peer: None }, "{policy:?}");
        }
        BroadcastHandle::Reader(mut reader) => {
            // Rank 1 reads nothing, and leaves while the writer waits for it.
            reader.delay(world.step() * u64::from(rank)).await;
            for _ in 0..(rank - 1) * 20 {
                reader.receive(&mut vec![], Nanos::MAX).await.unwrap();
            }
        }
    });
}

fn ends_that_fail_are_named<W: World>(world: &W, policy: Policy) {
    for culprit in [WRITER, 2] {
        let broadcast = BroadcastOf::<'_, W>::new(2, SharedBytes::own(SMALL), Pace::SlowestReader).unwrap();
        let poisoned = Error::from(Cause::Poisoned { by: Some(culprit) });
        world.run(3, async |cpu: W::Cpu<'_>, rank| match handle::<W>(&broadcast, cpu, rank, policy) {
            BroadcastHandle::Writer(mut writer) => {
                writer.send(&[b"first"], Nanos::MAX).await.unwrap();
                if culprit == WRITER {
                    return writer.fail();
                }
                let end = loop {
                    if let Err(error) = writer.send(&[&[7; 100]], Nanos::MAX).await {
                        break error;
                    }
                };
                assert_eq!(end, poisoned, "{policy:?}");
                assert_eq!(writer.send(&[], Nanos::MAX).await, Err(poisoned.clone()), "{policy:?}: it stays so");
            }
            BroadcastHandle::Reader(mut reader) => {
                reader.delay(world.step() * 4).await;
                let mut come = vec![];
                reader.receive(&mut come, Nanos::MAX).await.unwrap();
                assert_eq!(come, b"first");
                if rank == culprit {
                    return reader.fail();
                }
                let end = loop {
                    if let Err(error) = reader.receive(&mut come, Nanos::MAX).await {
                        break error;
                    }
                };
                let expected = if culprit == WRITER { poisoned.clone() } else { Cause::Closed { peer: Some(WRITER) }.into() };
                assert_eq!(end, expected, "{policy:?}");
            }
        });
    }
}

fn timed_out(end: &Result<(), Error>, peer: Rank) -> bool {
    matches!(Error::of(end), Some(Cause::TimedOut { peer: Some(whom), .. }) if *whom == peer)
}

fn what_takes_too_long_may_be_tried_again<W: World>(world: &W) {
    let broadcast = BroadcastOf::<'_, W>::new(1, SharedBytes::own(SMALL), Pace::SlowestReader).unwrap();
    let begun = AtomicU32::new(0);
    world.run(2, async |cpu: W::Cpu<'_>, rank| match handle::<W>(&broadcast, cpu, rank, Policy::default()) {
        BroadcastHandle::Writer(mut writer) => {
            while begun.load(SeqCst) == 0 {
                writer.delay(world.step()).await;
            }
            writer.send(&[&[1; 1_000]], Nanos::MAX).await.unwrap();
            let mut sent = 0;
            let end = loop {
                let deadline = writer.now() + world.step() * 4;
                match writer.send(&[&[2; 20]], deadline).await {
                    Ok(()) => sent += 1,
                    late => break late,
                }
            };
            assert!(timed_out(&end, 1) && sent >= 8, "{end:?} after {sent}");
            begun.store(2 + sent, SeqCst);
        }
        BroadcastHandle::Reader(mut reader) => {
            let mut come = vec![];
            let deadline = reader.now() + world.step() * 2;
            let end = reader.receive(&mut come, deadline).await;
            assert!(timed_out(&end, WRITER) && come.is_empty(), "{end:?}");
            begun.store(1, SeqCst);
            while reader.receive(&mut come, reader.now() + world.step()).await.is_err() {}
            assert_eq!(come, [1; 1_000]);
            while begun.load(SeqCst) < 2 {
                reader.delay(world.step()).await;
            }
            for _ in 2..begun.load(SeqCst) {
                come.clear();
                reader.receive(&mut come, Nanos::MAX).await.unwrap();
                assert_eq!(come, [2; 20]);
            }
            assert_eq!(reader.receive(&mut come, Nanos::MAX).await, Err(Cause::Closed { peer: Some(WRITER) }.into()));
        }
    });
}

fn a_message_that_was_given_up_is_not_received<W: World>(world: &W) {
    let broadcast = BroadcastOf::<'_, W>::new(1, SharedBytes::own(SMALL), Pace::SlowestReader).unwrap();
    let given_up = AtomicU32::new(0);
    world.run(2, async |cpu: W::Cpu<'_>, rank| match handle::<W>(&broadcast, cpu, rank, Policy::default()) {
        BroadcastHandle::Writer(mut writer) => {
            let deadline = writer.now() + world.step() * 4;
            assert!(timed_out(&writer.send(&[&[1; 5_000]], deadline).await, 1));
            given_up.store(1, SeqCst);
            writer.send(&[&[2; 5_000]], Nanos::MAX).await.unwrap();
            // This one is gone on with.
            let message = message(3, 5_000);
            let mut end = writer.send(&[&message], writer.now() + world.step()).await;
            let mut times = 0;
            while end.is_err() {
                assert!(timed_out(&end, 1), "{end:?}");
                times += 1;
                end = writer.go_on(&[&message[..7], &message[7..]], writer.now() + world.step()).await;
            }
            assert!(times > 0, "the reader was never late");
        }
        BroadcastHandle::Reader(mut reader) => {
            while given_up.load(SeqCst) == 0 {
                reader.delay(world.step()).await;
            }
            let mut come = vec![];
            reader.receive(&mut come, Nanos::MAX).await.unwrap();
            assert_eq!(come, [2; 5_000]);
            reader.delay(world.step() * 20).await;
            come.clear();
            reader.receive(&mut come, Nanos::MAX).await.unwrap();
            assert_eq!(come, message(3, 5_000));
        }
    });
}

fn messages_can_be_read_where_they_are<W: World>(world: &W) {
    let bytes = SharedBytes::own(SMALL);
    let broadcast = BroadcastOf::<'_, W>::new(1, bytes.clone(), Pace::SlowestReader).unwrap();
    world.run(2, async |cpu: W::Cpu<'_>, rank| match handle::<W>(&broadcast, cpu, rank, Policy::default()) {
        BroadcastHandle::Writer(mut writer) => {
            for number in 0..20 {
                writer.send(&[&message(number, 100)], Nanos::MAX).await.unwrap();
                writer.send(&[&message(number, 300)], Nanos::MAX).await.unwrap();
            }
        }
        BroadcastHandle::Reader(mut reader) => {
            for number in 0..20 {
                let view = reader.view(Nanos::MAX).await.unwrap();
                assert!(view.is_whole() && view.bytes == 100);
                let mut seen = vec![0; view.bytes];
                bytes.load(view.at, &mut seen);
                assert_eq!(seen, message(number, 100));
                assert_eq!(reader.view(Nanos::MAX).await, Ok(view), "it stays until it is passed");
                reader.pass().unwrap();
                // One of several records is copied.
                let view = reader.view(Nanos::MAX).await.unwrap();
                assert!(!view.is_whole() && view.total == 300);
                reader.pass().unwrap();
                let mut come = vec![];
                reader.receive(&mut come, Nanos::MAX).await.unwrap();
                assert_eq!(come, message(number, 300));
            }
        }
    });
}

fn seats_are_taken_once<W: World>(world: &W) {
    let broadcast = BroadcastOf::<'_, W>::new(1, SharedBytes::own(SMALL), Pace::SlowestReader).unwrap();
    let refused = world.run(3, async |cpu: W::Cpu<'_>, rank| {
        // The writer's seat is taken by one of three, and no reader has rank 0 or 2.
        let (none, writer) = (broadcast.reader(cpu, rank * 2 % 4, Policy::Block).err(), rank);
        (none, writer)
    });
    for (none, rank) in refused {
        assert_eq!(none, Some(Cause::Rank { rank: rank * 2 % 4, size: 2 }.into()));
    }
    let writers = world.run(3, async |cpu: W::Cpu<'_>, _| broadcast.writer(cpu, Policy::Block).err());
    let second = Some(Error::from(Cause::Rank { rank: WRITER, size: 2 }));
    assert_eq!(writers.iter().filter(|end| end.is_none()).count(), 1, "{writers:?}");
    assert!(writers.iter().all(|end| end.is_none() || *end == second), "{writers:?}");
}

fn impossible_shapes_are_errors<W: World>(_: &W) {
    let new = |readers, bytes| BroadcastOf::<'_, W>::new(readers, SharedBytes::own(bytes), Pace::Writer).err();
    for (readers, bytes) in [(0, SMALL), (1_024, SMALL), (u32::MAX, SMALL), (1, 0), (1, SMALL - 8)] {
        let end = new(readers, bytes);
        assert!(end.is_some_and(|error| matches!(error.cause(), Cause::Setting { .. })), "{readers} readers, {bytes} bytes");
    }
    assert_eq!((new(1, SMALL), new(1_023, SMALL)), (None, None));
}
