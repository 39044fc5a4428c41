//! A reader whose process has died: the others get every message, the writer gets one error, and another
//! process takes over the rank.
use super::{child, kill, message};
use foregather::broadcast::{Reader, Writer};
use foregather::engine::Cause;
use foregather::{Broadcast, Error};
use foregather_host::child::Child;
use std::time::{Duration, Instant};

fn paces(bytes: usize) -> [Broadcast; 2] {
    [Broadcast::create(2, bytes).unwrap(), Broadcast::skipping(2, bytes).unwrap()]
}

/// Starts a child that has the reading end of rank 1.
fn reading_child(queue: &Broadcast) -> Child {
    let (child, began) = (child("echoing_child", queue), Instant::now());
    while !queue.replace(1).unwrap_err().to_string().contains("still runs") {
        assert!(began.elapsed() < Duration::from_secs(20), "the child does not come");
        std::thread::sleep(Duration::from_millis(1));
    }
    child
}

/// Sends messages until one call reports a lost reader. Returns how many were sent.
fn send_until_lost(writer: &mut Writer, mut number: u32) -> u32 {
    let began = Instant::now();
    loop {
        let end = writer.send(&message(number));
        number += 1;
        match Error::of(&end) {
            None => assert!(began.elapsed() < Duration::from_secs(20), "nobody is lost"),
            Some(Cause::PeerLost { rank: 1, .. }) => return number,
            Some(other) => panic!("{other}"),
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Reads all messages to the end; `first` is the number of the first one, if it is known. Returns the number
/// of the first message received, and the number after the last.
fn read_all(reader: &mut Reader, first: Option<u32>) -> (u32, u32) {
    let (mut began, mut next) = (None, first);
    loop {
        match reader.receive() {
            Ok(come) => {
                let number = u32::from_le_bytes(*come.first_chunk().unwrap());
                assert_eq!((next.unwrap_or(number), &come), (number, &message(number)));
                began.get_or_insert(number);
                next = Some(number + 1);
            }
            Err(error) => match *error.cause() {
                Cause::Closed { .. } => return (began.unwrap_or(0), next.unwrap_or(0)),
                Cause::Skipped { messages } => next = next.map(|next| next + messages as u32),
                _ => panic!("{error}"),
            },
        }
    }
}

#[test]
fn a_dead_reader_does_not_end_the_queue_for_the_living() {
    for queue in paces(1 << 14) {
        let (writer, mut living) = (queue.writer().unwrap(), queue.reader(2).unwrap());
        let child = reading_child(&queue);
        std::thread::scope(|threads| {
            // Dropped on a panic here, too, so that the readers end.
            let mut writer = writer;
            let all = threads.spawn(move || read_all(&mut living, Some(0)));
            (0..100).try_for_each(|number| writer.send(&message(number))).unwrap();
            kill(&child);
            let mut sent = send_until_lost(&mut writer, 100);
            assert_eq!(writer.lost().unwrap(), [1]);
            // More than the ring holds: no call waits for the dead reader.
            for _ in 0..2_000 {
                writer.send(&message(sent)).unwrap_or_else(|error| panic!("told twice: {error}"));
                sent += 1;
            }
            drop(writer);
            assert_eq!(all.join().unwrap().1, sent);
        });
    }
}

#[test]
fn a_writer_whose_only_reader_is_dead_is_told_at_each_message() {
    let queue = Broadcast::create(1, 1 << 12).unwrap();
    let mut writer = queue.writer().unwrap();
    let child = reading_child(&queue);
    (0..100).try_for_each(|number| writer.send(&message(number))).unwrap();
    drop(child);
    let sent = send_until_lost(&mut writer, 100);
    for number in sent..sent + 3 {
        let end = writer.send(&message(number));
        assert!(matches!(Error::of(&end), Some(Cause::PeerLost { rank: 1, .. })), "{end:?}");
    }
    let mut reader = queue.replace(1).unwrap();
    std::thread::scope(|threads| {
        // A view that waits looks twice at the message, here the first one of a new reader.
        let shown = threads.spawn(|| reader.view(None).unwrap().unwrap().to_vec());
        std::thread::sleep(Duration::from_millis(50));
        writer.send(&message(7)).unwrap();
        assert_eq!(shown.join().unwrap(), message(7));
    });
    writer.send(&message(8)).unwrap();
    assert_eq!(reader.receive().unwrap(), message(8));
}

#[test]
fn the_place_of_a_dead_reader_is_given_to_another_process() {
    for (queue, skips) in paces(1 << 14).into_iter().zip([false, true]) {
        let (mut writer, mut living) = (queue.writer().unwrap(), queue.reader(2).unwrap());
        let refused = |rank, why: &str| {
            let error = queue.replace(rank).unwrap_err();
            assert!(error.to_string().contains(why), "{error}");
        };
        refused(0, "rank 0");
        refused(3, "there is no rank 3");
        refused(1, "never taken");
        let child = reading_child(&queue);
        (0..100).try_for_each(|number| writer.send(&message(number))).unwrap();
        refused(1, "still runs");
        refused(2, "still runs");
        kill(&child);
        drop(child);
        let mut successor = queue.replace(1).unwrap();
        refused(1, "still runs");
        assert!(matches!(Error::of(&successor.receive_timeout(Duration::from_millis(1))), Some(Cause::TimedOut { .. })));
        std::thread::scope(|threads| {
            // Dropped on a panic here, too, so that the readers end.
            let mut writer = writer;
            let all = threads.spawn(move || read_all(&mut living, Some(0)));
            let new = threads.spawn(move || read_all(&mut successor, None));
            for number in 100..3_000 {
                writer.send(&message(number)).unwrap();
            }
            assert!(writer.lost().unwrap().is_empty());
            drop(writer);
            assert_eq!(all.join().unwrap().1, 3_000);
            let (first, end) = new.join().unwrap();
            assert!(end == 3_000 && (first == 100 || skips && first > 100), "{first} to {end}");
        });
        // Both have left.
        refused(1, "has left in order");
    }
}
