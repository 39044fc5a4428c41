//! Waits of processes that last are where `foregather hang` finds them.
use foregather::engine::host::watched::waits::{NotedWait, WaitPage};
use foregather::processes::SharedBarrier;
use foregather::{Broadcast, Error};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// Looks until a wait of this process with that call is noted.
fn noted(call: &str) -> NotedWait {
    let deadline = Instant::now() + Duration::from_secs(60);
    while Instant::now() < deadline {
        let page = WaitPage::of(std::process::id());
        let waits = page.map(|page| page.waits()).unwrap_or_default();
        if let Some(wait) = waits.into_iter().find(|wait| wait.what == call) {
            return wait;
        }
        thread::sleep(Duration::from_millis(20));
    }
    panic!("no wait is noted in `{call}`");
}

/// Returns whether no wait with that call is noted any more.
fn is_over(call: &str) -> bool {
    let page = WaitPage::of(std::process::id()).unwrap();
    !page.waits().iter().any(|wait| wait.what == call)
}

fn ended(waiter: ScopedJoinHandle<'_, Result<(), Error>>) {
    waiter.join().unwrap().unwrap();
}

#[test]
fn a_wait_at_a_barrier_names_the_ranks_that_have_not_arrived() {
    let own = std::process::id();
    let barrier = SharedBarrier::create(3).unwrap();
    let (mut first, mut second) = (barrier.member(0).unwrap(), barrier.member(1).unwrap());
    thread::scope(|threads| {
        let waiter = threads.spawn(move || first.wait());
        let wait = noted("barrier");
        assert_eq!((wait.process, wait.rank, &wait.awaited[..]), (own, Some(0), &[(1, Some(own)), (2, None)][..]));
        let mut last = barrier.member(2).unwrap();
        let late = threads.spawn(move || last.wait());
        second.wait().unwrap();
        ended(waiter);
        ended(late);
        assert!(is_over("barrier"));
    });
}

#[test]
fn waits_at_a_queue_name_the_other_end() {
    let own = std::process::id();
    let queue = Broadcast::create(1, 512).unwrap();
    let (mut writer, mut reader) = (queue.writer().unwrap(), queue.reader(1).unwrap());
    thread::scope(|threads| {
        let waiter = threads.spawn(move || reader.receive().map(|_| drop(reader)));
        let wait = noted("receive from broadcast");
        assert_eq!((wait.rank, &wait.awaited[..]), (Some(1), &[(0, Some(own))][..]));
        writer.send(b"the message").unwrap();
        ended(waiter);
        assert!(is_over("receive from broadcast"));
    });
    let queue = Broadcast::create(1, 512).unwrap();
    let (mut writer, mut reader) = (queue.writer().unwrap(), queue.reader(1).unwrap());
    thread::scope(|threads| {
        let waiter = threads.spawn(move || (0..20).try_for_each(|_| writer.send(&[7; 100])));
        let wait = noted("send to broadcast");
        assert_eq!((wait.rank, &wait.awaited[..]), (Some(0), &[(1, Some(own))][..]));
        let received = (0..20).try_for_each(|_| reader.receive().map(drop));
        assert!(received.is_ok(), "each message arrives once, whatever slices its wait had: {received:?}");
        ended(waiter);
        assert!(is_over("send to broadcast"));
    });
}
