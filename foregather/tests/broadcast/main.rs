//! Broadcasts between threads and between processes, and barriers between processes: what is received, and
//! which rank an error names.
mod lost;

use foregather::engine::Cause;
use foregather::processes::SharedBarrier;
use foregather::{Broadcast, Error};
use foregather_host::child::Child;
use foregather_host::forks;
use foregather_machine::{Nanos, SplitMix};
use std::fs::{File, OpenOptions};
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The variable that gives a child process its queue.
const QUEUE: &str = "FOREGATHER_TEST_QUEUE";
/// The variable that gives it its rank.
const RANK: &str = "FOREGATHER_TEST_RANK";

fn message(number: u32) -> Vec<u8> {
    number.to_le_bytes().repeat(1 + number as usize % 50)
}

#[test]
fn threads_get_all_messages_in_order() {
    let queue = Broadcast::create(3, 2_000).unwrap();
    std::thread::scope(|threads| {
        for rank in 1..=3 {
            let mut reader = queue.reader(rank).unwrap();
            threads.spawn(move || {
                for number in 0..3_000 {
                    assert_eq!(reader.receive().unwrap(), message(number), "{number} at {rank}");
                }
                let end = reader.receive();
                assert!(matches!(Error::of(&end), Some(Cause::Closed { peer: Some(0) })), "{end:?}");
            });
        }
        let mut writer = queue.writer().unwrap();
        (0..3_000).try_for_each(|number| writer.send(&message(number))).unwrap();
    });
}

#[test]
fn a_slow_reader_is_skipped_where_that_was_asked_for() {
    let queue = Broadcast::skipping(1, 1 << 10).unwrap();
    let (mut writer, mut reader) = (queue.writer().unwrap(), queue.reader(1).unwrap());
    (0..100).try_for_each(|number| writer.send(&message(number))).unwrap();
    let Err(skipped) = reader.receive() else { panic!("100 messages fit into a ring of 1 KiB") };
    let Cause::Skipped { messages } = *skipped.cause() else { panic!("{skipped}") };
    assert!(messages > 50 && messages < 100, "{messages}");
    assert_eq!(reader.receive().unwrap(), message(messages as u32));
}

#[test]
fn a_wait_can_be_bounded_and_repeated() {
    let queue = Broadcast::create(1, 1 << 10).unwrap();
    let (mut writer, mut reader) = (queue.writer().unwrap(), queue.reader(1).unwrap());
    let late = reader.receive_timeout(Duration::from_millis(5));
    assert!(matches!(Error::of(&late), Some(Cause::TimedOut { peer: Some(0), .. })), "{late:?}");
    let full =
        std::iter::repeat_with(|| writer.send_timeout(&[&[7; 200]], Duration::from_millis(5))).find(Result::is_err).unwrap();
    assert!(matches!(Error::of(&full), Some(Cause::TimedOut { peer: Some(1), .. })), "{full:?}");
    assert!(reader.is_ready().unwrap());
    assert_eq!(reader.receive().unwrap(), [7; 200]);
}

#[test]
fn a_message_read_in_place_is_passed_when_its_view_drops() {
    let queue = Broadcast::create(1, 1 << 10).unwrap();
    let (mut writer, mut reader) = (queue.writer().unwrap(), queue.reader(1).unwrap());
    // More than the ring holds, so the writer needs messages to be consumed.
    for number in 0..200 {
        writer.send(&message(number)).unwrap();
        let view = reader.view(None).unwrap().expect("in one piece");
        assert_eq!(*view, *message(number));
    }
    // A view that is leaked, or converted to an address, does not consume the message.
    writer.send(b"again").unwrap();
    core::mem::forget(reader.view(None).unwrap());
    let raw = reader.view(None).unwrap().map(foregather::broadcast::MessageView::into_raw).unwrap();
    assert_eq!(raw.len(), 5);
    assert_eq!(*reader.view(None).unwrap().unwrap(), *b"again");
    assert!(matches!(reader.view(Some(Duration::ZERO)).unwrap_err().cause(), Cause::TimedOut { .. }));
    // The message is in several pieces, so it is received by copying.
    std::thread::scope(|threads| {
        threads.spawn(|| writer.send(&[7; 2_000]).unwrap());
        assert!(reader.view(None).unwrap().is_none());
        assert_eq!(reader.receive().unwrap(), [7; 2_000]);
    });
}

#[test]
fn an_end_that_panics_is_named() {
    let queue = Broadcast::create(1, 1 << 10).unwrap();
    let (mut writer, reader) = (queue.writer().unwrap(), queue.reader(1).unwrap());
    let panicked = std::thread::spawn(move || {
        let _reader = reader;
        panic!("as planned");
    });
    assert!(panicked.join().is_err());
    let end = writer.send(b"in vain");
    assert!(matches!(Error::of(&end), Some(Cause::Poisoned { by: Some(1) })), "{end:?}");
}

#[test]
fn other_descriptors_and_impossible_numbers_are_errors() {
    let attach = |file: File| Broadcast::attach(file.into()).unwrap_err().to_string();
    assert!(attach(File::open("/dev/null").unwrap()).contains("shared segment"));
    let other = foregather::processes::shm::Segment::of_lines(3).unwrap();
    let other = Broadcast::attach(other.fd().try_clone_to_owned().unwrap()).unwrap_err().to_string();
    assert!(other.contains("a queue of broadcasts"), "{other}");
    let barrier = SharedBarrier::create(2).unwrap();
    let wrong = Broadcast::attach(barrier.as_fd().try_clone_to_owned().unwrap()).unwrap_err().to_string();
    assert!(wrong.contains("it holds a barrier of processes"), "{wrong}");
    // As many lines as some barrier has.
    for readers in 1..40 {
        let queue = Broadcast::skipping(readers, 1 << 12).unwrap();
        let wrong = SharedBarrier::attach(queue.as_fd().try_clone_to_owned().unwrap());
        let wrong = wrong.expect_err("a queue is no barrier").to_string();
        assert!(wrong.contains("it holds a queue of broadcasts"), "{wrong}");
    }
    for (readers, bytes) in [(0, 1 << 20), (1_024, 1 << 20), (u32::MAX, 1 << 20), (1, 0), (1, usize::MAX)] {
        let end = Broadcast::create(readers, bytes);
        assert!(matches!(Error::of(&end), Some(Cause::Setting { .. })), "{readers} readers, {bytes} bytes: {end:?}");
    }
    let queue = Broadcast::create(1, 1 << 10).unwrap();
    let same = Broadcast::attach(queue.as_fd().try_clone_to_owned().unwrap()).unwrap();
    let _reader = queue.reader(1).unwrap();
    for end in [queue.reader(1), same.reader(1), same.reader(0), same.reader(2)] {
        assert!(matches!(Error::of(&end), Some(Cause::Rank { size: 2, .. })), "{end:?}");
    }
}

/// A forked child has copies of ends, which it can neither use nor damage.
#[test]
fn a_child_of_a_fork_leaves_its_parents_ends_alone() {
    let queue = Broadcast::create(1, 1 << 10).unwrap();
    let (mut writer, mut reader) = (queue.writer().unwrap(), queue.reader(1).unwrap());
    let ended = forks::in_child(|| {
        let refused = Error::of(&writer.send(b"x")).is_some() && Error::of(&reader.receive()).is_some();
        let own =
            Broadcast::create(1, 1 << 10).is_ok_and(|queue| queue.writer().is_ok_and(|mut writer| writer.send(b"x").is_ok()));
        i32::from(!(refused && own))
    });
    assert_eq!(ended.exit_status(), Some(0), "{ended:?}");
    writer.send(b"still here").unwrap();
    assert_eq!(reader.receive().unwrap(), b"still here");
}

/// Starts a [`child`] that finds its rank in a variable.
fn child_of_rank(test: &str, shared: &impl AsFd, rank: u32) -> Child {
    let mut command = command(test, shared);
    command.env(RANK, rank.to_string()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Child::spawn(command, &[shared.as_fd()]).unwrap()
}

/// Runs this program again, with one ignored test and that queue.
fn child(test: &str, shared: &impl AsFd) -> Child {
    Child::spawn(command(test, shared), &[shared.as_fd()]).unwrap()
}

fn command(test: &str, shared: &impl AsFd) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"])
        .env(QUEUE, shared.as_fd().as_raw_fd().to_string());
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}

fn kill(child: &Child) {
    rustix::process::pidfd_send_signal(child.pidfd(), rustix::process::Signal::KILL).unwrap();
}

/// In a child: returns the descriptor. `None` if the ignored tests are run by hand.
fn descriptor() -> Option<File> {
    let number = std::env::var(QUEUE).ok()?;
    Some(OpenOptions::new().read(true).write(true).open(format!("/proc/self/fd/{number}")).unwrap())
}

fn inherited() -> Option<Broadcast> {
    Some(Broadcast::attach(descriptor()?.into()).unwrap())
}

#[test]
#[ignore = "started by the other tests"]
fn echoing_child() {
    let Some(queue) = inherited() else { return };
    let mut reader = queue.reader(1).unwrap();
    for number in 0..100 {
        assert_eq!(reader.receive().unwrap(), message(number));
    }
    std::thread::sleep(Duration::from_secs(60));
}

/// A reader is killed while the writer sends, and while it waits for room.
#[test]
fn a_killed_reader_is_named() {
    for bytes in [1 << 20, 1 << 12] {
        let queue = Broadcast::create(2, bytes).unwrap();
        let (mut writer, mut other) = (queue.writer().unwrap(), queue.reader(2).unwrap());
        let child = child("echoing_child", &queue);
        std::thread::scope(|threads| {
            threads.spawn(move || while other.receive().is_ok() {});
            (0..100).try_for_each(|number| writer.send(&message(number))).unwrap();
            threads.spawn(move || {
                std::thread::sleep(Duration::from_millis(50));
                kill(&child);
            });
            let began = Instant::now();
            let end = std::iter::repeat_with(|| {
                std::thread::sleep(Duration::from_millis(1));
                writer.send(&[1; 500])
            });
            let end = end.take(5_000).find(Result::is_err).expect("an error within 5000 messages");
            assert!(matches!(Error::of(&end), Some(Cause::PeerLost { rank: 1, .. })), "{end:?}");
            assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
            drop(writer);
        });
    }
}

#[test]
#[ignore = "started by the other tests"]
fn writing_child() {
    let Some(queue) = inherited() else { return };
    let mut writer = queue.writer().unwrap();
    (0..100).try_for_each(|number| writer.send(&message(number))).unwrap();
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn a_killed_writer_is_named_once_all_is_read() {
    let queue = Broadcast::create(1, 1 << 20).unwrap();
    let mut reader = queue.reader(1).unwrap();
    let child = child("writing_child", &queue);
    let mut got = 0;
    let end = loop {
        match reader.receive() {
            Ok(come) => assert_eq!(come, message(got)),
            Err(error) => break error,
        }
        got += 1;
        if got == 50 {
            kill(&child);
        }
    };
    assert!(got >= 50 && matches!(end.cause(), Cause::PeerLost { rank: 0, .. }), "{end} after {got}");
}

#[test]
#[ignore = "started by the other tests"]
fn meeting_child() {
    let Some(file) = descriptor() else { return };
    let mut member = SharedBarrier::attach(file.into()).unwrap().member(1).unwrap();
    (0..100).try_for_each(|_| member.wait()).unwrap();
    std::thread::sleep(Duration::from_secs(60));
}

#[test]
fn processes_meet_and_a_killed_one_is_named() {
    let barrier = SharedBarrier::create(2).unwrap();
    let mut member = barrier.member(0).unwrap();
    let child = child("meeting_child", &barrier);
    (0..100).try_for_each(|_| member.wait()).unwrap();
    let late = member.wait_timeout(Duration::from_millis(5));
    assert!(matches!(Error::of(&late), Some(Cause::TimedOut { peer: Some(1), .. })), "{late:?}");
    kill(&child);
    let (began, end) = (Instant::now(), member.wait());
    assert!(matches!(Error::of(&end), Some(Cause::PeerLost { rank: 1, .. })), "{end:?}");
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    let again = barrier.member(0);
    assert!(matches!(Error::of(&again), Some(Cause::Rank { rank: 0, size: 2 })), "{again:?}");
    assert!(matches!(Error::of(&SharedBarrier::create(0)), Some(Cause::Size { .. })));
}

/// The lines of a busy child: it has its end, which rank it has lost, or the writer has left normally.
const READY: &str = "ready";
const LOST: &str = "lost rank ";

/// Waits until a child has its end: if it is killed before that, no rank reports it lost.
fn until_ready(child: &mut Child) {
    let (mut said, mut byte) = (Vec::new(), [0]);
    let stdout = child.streams().stdout.as_mut().unwrap();
    while !said.ends_with(READY.as_bytes()) {
        assert_eq!(stdout.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&said));
        said.push(byte[0]);
    }
}

#[test]
#[ignore = "started by the other tests"]
fn busy_child() {
    let Some(queue) = inherited() else { return };
    let rank: u32 = std::env::var(RANK).unwrap().parse().unwrap();
    let mut random = SplitMix(u64::from(rank));
    let end = match rank {
        0 => {
            let mut writer = queue.writer().unwrap();
            println!("{READY}");
            (0..).find_map(|number| {
                if number % 64 == 0 {
                    std::thread::sleep(Duration::from_micros(random.below(2_000)));
                }
                writer.send(&message(number)).err()
            })
        }
        rank => {
            let mut reader = queue.reader(rank).unwrap();
            println!("{READY}");
            std::iter::repeat_with(|| reader.receive()).find_map(Result::err)
        }
    };
    match end.unwrap().cause() {
        Cause::PeerLost { rank, .. } => println!("{LOST}{rank}"),
        Cause::Closed { .. } => println!("closed"),
        other => println!("{other}"),
    }
}

/// The writer or a reader is killed at any moment: each rank that still needs it names it within a second.
#[test]
fn an_end_that_is_killed_at_any_moment_is_named() {
    let rounds: u64 = std::env::var("FOREGATHER_SOAK").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(5);
    let mut random = SplitMix(Instant::now().elapsed().as_nanos() as u64 ^ u64::from(std::process::id()));
    let mut longest = Duration::ZERO;
    for round in 0..rounds {
        let queue = Broadcast::create(2, [1 << 12, 1 << 16, 1 << 20][random.below(3) as usize]).unwrap();
        let mut children: Vec<Child> = (0..3).map(|rank| child_of_rank("busy_child", &queue, rank)).collect();
        children.iter_mut().for_each(until_ready);
        std::thread::sleep(Duration::from_micros(random.below(20_000)));
        let victim = random.below(3) as usize;
        kill(&children[victim]);
        let killed = Instant::now();
        for (rank, child) in children.into_iter().enumerate().filter(|&(rank, _)| rank != victim) {
            let output = child.output_within(Nanos::from_ms(5_000)).unwrap_or_else(|error| panic!("round {round}: {error}"));
            let said = String::from_utf8_lossy(&output.stdout);
            let expected = if victim == 0 || rank == 0 { format!("{LOST}{victim}\n") } else { "closed\n".to_owned() };
            assert!(said.contains(&expected), "round {round}: rank {rank} of a queue without {victim} says: {said}");
        }
        longest = longest.max(killed.elapsed());
    }
    println!("{rounds} kills, all named within {longest:?}");
    assert!(longest < Duration::from_secs(2), "{longest:?}");
}

#[test]
#[ignore = "started by the other tests"]
fn surviving_child() {
    let Some(file) = descriptor() else { return };
    let rank: u32 = std::env::var(RANK).unwrap().parse().unwrap();
    let mut member = SharedBarrier::attach(file.into()).unwrap().member(rank).unwrap();
    let end = std::iter::repeat_with(|| member.wait()).find_map(Result::err).unwrap();
    match end.cause() {
        Cause::PeerLost { rank, .. } => println!("{LOST}{rank}"),
        other => println!("{other}"),
    }
}

/// A member of a barrier is killed at any moment: each of the others gets the same error.
#[test]
fn each_survivor_of_a_barrier_has_lost_the_member_that_was_killed() {
    let mut random = SplitMix(u64::from(std::process::id()));
    for round in 0..6 {
        let barrier = SharedBarrier::create(5).unwrap();
        let children: Vec<Child> = (0..4).map(|rank| child_of_rank("surviving_child", &barrier, rank)).collect();
        let mut member = barrier.member(4).unwrap();
        // All have arrived.
        member.wait().unwrap();
        let victim = random.below(4) as usize;
        let (pause, killed) = (Duration::from_micros(random.below(20_000)), &children[victim]);
        let end = std::thread::scope(|threads| {
            threads.spawn(move || {
                std::thread::sleep(pause);
                kill(killed);
            });
            std::iter::repeat_with(|| member.wait()).find_map(Result::err).unwrap()
        });
        assert!(matches!(*end.cause(), Cause::PeerLost { rank, .. } if rank as usize == victim), "round {round}: {end}");
        for (rank, child) in children.into_iter().enumerate().filter(|&(rank, _)| rank != victim) {
            let output = child.output_within(Nanos::from_ms(5_000)).unwrap_or_else(|error| panic!("round {round}: {error}"));
            let said = String::from_utf8_lossy(&output.stdout);
            assert!(said.contains(&format!("{LOST}{victim}\n")), "round {round}: rank {rank} without {victim} says: {said}");
        }
    }
}
