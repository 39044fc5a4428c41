//! What is written through one mapping of the page is read through another.
use super::super::path_of;
use super::*;

const WANTED: AwaitedMessage = AwaitedMessage { is_send: false, peer: Some(3), tag: Some(7), communicator: WORLD };

#[test]
fn messages_fit_into_words() {
    for message in [
        WANTED,
        AwaitedMessage { is_send: true, peer: Some(0), tag: Some(0), communicator: 255 },
        AwaitedMessage { peer: None, tag: None, ..WANTED },
    ] {
        assert_eq!(AwaitedMessage::of_word(message.to_word()), Some(message));
    }
    assert_eq!(AwaitedMessage::of_word(0), None);
}

#[test]
fn a_call_is_read_through_another_mapping() {
    let (page, file) = CallPage::create().unwrap();
    let other = CallPage::open(Path::new(&path_of(&file))).unwrap();
    let slot = other.slot(10, 11).unwrap();
    slot.is_rank(2, 4, 3, 5);
    slot.count(WANTED, 1);
    slot.count(AwaitedMessage { is_send: true, ..WANTED }, 1);
    slot.count(AwaitedMessage { tag: None, ..WANTED }, 1);
    slot.begin(MpiCall::Recv, &[WANTED.to_word()], false, None, None);
    let seen = page.calls().remove(0);
    assert_eq!((seen.process, seen.thread, seen.rank, seen.size), (10, 11, Some(2), 4));
    assert_eq!((seen.level, seen.threads), (3, 5));
    assert_eq!((seen.call, seen.is_inside, seen.number), (Some(MpiCall::Recv), true, 1));
    assert_eq!((seen.awaited, seen.has_unknown, seen.wild), (vec![WANTED], false, 1));
    assert_eq!((seen.sent.get(3, 7), seen.wanted.get(3, 7), seen.sent.get(3, 8)), (1, 1, 0));
    assert_eq!(seen.recent, [AwaitedMessage { is_send: true, ..WANTED }]);
    slot.end();
    slot.begin(MpiCall::Bcast, &[0; AWAITED + 1], false, Some(5), Some(1));
    slot.finalizes();
    let seen = page.calls().remove(0);
    assert_eq!((seen.call, seen.communicator, seen.root, seen.has_unknown), (Some(MpiCall::Bcast), Some(5), Some(1), true));
    assert_eq!(page.progress(), [(10, 11, 5, true)]);
    assert!(CallPage::open(Path::new("/proc/self/exe")).is_none(), "another file");
}

#[test]
fn collective_calls_are_known_for_a_while() {
    let (page, _file) = CallPage::create().unwrap();
    let slot = page.slot(1, 1).unwrap();
    let last = (MpiCall::Barrier as u64) << 8 | MpiCall::Bcast as u64;
    slot.count_collective(20, 9, last);
    let seen = page.calls().remove(0).collectives[0];
    assert_eq!(seen, CollectiveCount::new(20, 9, &[MpiCall::Bcast, MpiCall::Barrier]));
    assert_eq!((seen.call(9), seen.call(8)), (Some(MpiCall::Bcast), Some(MpiCall::Barrier)));
    assert_eq!((seen.call(10), seen.call(1), seen.call(0)), (None, None, None));
}

#[test]
fn members_of_a_communicator_find_the_same_number() {
    let (page, _file) = CallPage::create().unwrap();
    let number = page.communicator(77, true, &[1, 64, 900]).unwrap();
    assert_eq!(page.communicator(77, true, &[1, 64, 900]), Some(number));
    assert_ne!(page.communicator(78, true, &[1]), Some(number));
    let expected = RecordedCommunicator { is_certain: true, members: vec![1, 64, 900] };
    assert_eq!((number > WORLD, page.read_communicator(number)), (true, Some(expected)));
    assert_eq!(page.read_communicator(200), None);
    let too_many = (0..400).filter(|each| page.communicator(1_000 + each, true, &[1]).is_none()).count();
    assert_eq!(too_many, 400 + 3 - COMMUNICATORS);
}

#[test]
fn threads_without_a_slot_are_counted() {
    let (page, _file) = CallPage::create().unwrap();
    let taken = (0..SLOTS as u32 + 2).filter(|thread| page.slot(1, thread + 1).is_some()).count();
    assert_eq!((taken, page.without_slot()), (SLOTS, 2));
}

#[test]
fn a_surplus_is_counted_tag_by_tag() {
    let sent = MessageCounts::of(&[(1, 5, 3), (1, 6, 1)]);
    let wanted = MessageCounts::of(&[(0, 5, 2), (0, 7, 4)]);
    assert_eq!(sent.surplus(1, &wanted, 0), 1 + 1);
}
