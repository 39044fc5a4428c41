//! The page, written and read through two mappings.
use super::super::path_of;
use super::*;

#[test]
fn what_is_written_through_one_mapping_is_read_through_another() {
    let (page, file) = WatchPage::create().unwrap();
    let other = WatchPage::open(Path::new(&path_of(&file))).unwrap();
    let pool = other.name(b"libgomp.so.1+0x20");
    let slot = other.slot(7, 8, 3, pool).unwrap();
    slot.begin(ThreadActivity::Lock, 0x10, Nanos(5));
    slot.waits_for(9);
    ThreadSlot::add(&slot.counts.locks, 2);
    slot.count_episode(3, Nanos(4), Nanos(9));
    slot.count_episode(2, Nanos(1), Nanos(1));
    let seen = page.threads();
    let expected = (7, 8, 3, "libgomp.so.1+0x20", ThreadActivity::Lock, 0x10, 9, 2);
    let one = &seen[0];
    let got = (one.process, one.thread, one.creator, one.pool.as_str(), one.activity, one.subject, one.holder, one.counts.locks);
    assert_eq!((seen.len(), got), (1, expected));
    let counts = one.counts;
    assert_eq!((counts.episodes, counts.lead_ns, counts.waited_ns, counts.members), (2, 5, 10, 3));
    assert_eq!(page.name(b"libgomp.so.1+0x20"), pool);
    assert!(WatchPage::open(Path::new("/proc/self/exe")).is_none(), "another file");
}

#[test]
fn a_worker_that_arrived_is_idle_once_its_leader_has_closed_the_region() {
    let (page, _file) = WatchPage::create().unwrap();
    let [leader, worker] = [1, 2].map(|thread| page.slot(1, thread, 0, 0).unwrap());
    let region = page.next_region();
    leader.open((region, 0x40), Nanos(0));
    worker.join(page.index(leader), 2);
    worker.begin(ThreadActivity::Arrived, region, Nanos(1));
    let seen = page.threads().pop().unwrap();
    assert_eq!((seen.leader, seen.code), (page.index(leader), 0x40));
    let doing = || page.threads()[1].activity;
    assert_eq!(doing(), ThreadActivity::Arrived);
    let opens = |thread| page.has_open_region(1, thread);
    assert_eq!((opens(1), opens(2), opens(3)), (true, false, false));
    leader.close((0, 0), Nanos(2));
    assert_eq!((doing(), opens(1)), (ThreadActivity::Idle, false));
}

#[test]
fn times_of_a_worker_are_exact_between_looks() {
    let (page, _file) = WatchPage::create().unwrap();
    let [leader, worker] = [1, 2].map(|thread| page.slot(1, thread, 0, 0).unwrap());
    worker.since.store(0, Relaxed);
    worker.join(page.index(leader), 2);
    // Two regions in turn, and one in which it has no part. The leader closes them at 40, 140 and 240.
    worker.begin_part(1, Nanos(0), Nanos(10));
    worker.begin(ThreadActivity::Arrived, 1, Nanos(30));
    worker.begin_part(2, Nanos(40), Nanos(100));
    worker.begin(ThreadActivity::Arrived, 2, Nanos(120));
    worker.begin_part(4, Nanos(240), Nanos(300));
    worker.leave(Nanos(305));
    let times = page.all_threads()[1].times.map(|time| time.0);
    let by = |activity: ThreadActivity| times[activity as usize];
    let [own, part, arrived, idle] =
        [ThreadActivity::Own, ThreadActivity::Part, ThreadActivity::Arrived, ThreadActivity::Idle].map(by);
    assert_eq!((own, part, arrived, idle), (10, 20 + 20 + 5, 10, 60 + 180));
    assert_eq!((page.threads().len(), page.all_threads().len()), (1, 2), "the worker has exited");
}

#[test]
fn a_leader_waits_from_the_opening_of_a_region_to_its_own_part() {
    let (page, _file) = WatchPage::create().unwrap();
    let leader = page.slot(1, 1, 0, 0).unwrap();
    leader.since.store(0, Relaxed);
    let before = leader.doing();
    leader.open((1, 0), Nanos(10));
    leader.begin_part(1, Nanos(0), Nanos(30));
    leader.begin(ThreadActivity::Arrived, 1, Nanos(35));
    leader.close((0, 0), Nanos(36));
    leader.resume(before, Nanos(36));
    leader.leave(Nanos(40));
    let times = page.all_threads()[0].times.map(|time| time.0);
    assert_eq!(&times[..4], [10 + 4, 5, 20 + 1, 0]);
}

#[test]
fn threads_without_a_slot_are_counted_until_one_is_given_back() {
    let (page, _file) = WatchPage::create().unwrap();
    let slots: Vec<_> = (0..SLOTS as u32).map(|thread| page.slot(1, thread + 1, 0, 0).unwrap()).collect();
    assert!(page.slot(1, 5_000, 0, 0).is_none());
    assert_eq!(page.creations().without_slot, 1);
    slots[7].leave(now());
    assert!(page.slot(1, 5_001, 0, 0).is_some());
    assert_eq!(page.threads().iter().filter(|thread| thread.thread == 5_001).count(), 1);
}
