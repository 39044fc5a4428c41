//! Memory that another process has filled with nonsense: each call ends with an error that says so, within
//! its time, and touches nothing outside of the ring.
use super::super::record::{Header, RecordKind, UNIT, most};
use super::super::{Broadcast, LEFT, POSITION, Pace, WRITER};
use foregather_conformance::scripted::Script;
use foregather_machine::{ByteStore, Cause, Error, Nanos, SharedBytes, Words, block_on};
use foregather_wait::Policy;

/// Another process stores a word.
fn poke(word: &<Script as Words>::Word, value: u32) {
    Script::on(9, 9).store(word, value);
}

/// Memory that another process has filled with nonsense: a record, and up to where all is written.
fn forge(ring: &Broadcast<Script, SharedBytes>, unit: usize, record: Header, written: u32) {
    record.store(&ring.0.bytes, unit * UNIT);
    poke(ring.0.written(), written);
}

fn is_violation<T>(end: &Result<T, Error>) -> bool {
    matches!(Error::of(end), Some(Cause::ProtocolViolation { from: WRITER, .. }))
}

#[test]
fn a_record_that_would_reach_beyond_the_ring_is_refused() {
    const ROOM: u32 = 64;
    let bytes = most(ROOM) as u32;
    for pace in [Pace::SlowestReader, Pace::Writer] {
        for (at, kind) in [(ROOM - 1, RecordKind::First), (ROOM - 1, RecordKind::Padding), (0, RecordKind::Padding)] {
            let ring = Broadcast::new(1, SharedBytes::own(ROOM as usize * UNIT), pace).unwrap();
            let mut reader = ring.reader(Script::on(1, 2), 1, Policy::Block).unwrap();
            reader.begin_at(at.into());
            let header = Header { bytes, kind, total: bytes.into(), message: 0, position: at.into() };
            forge(&ring, at as usize, header, at + ROOM / 2);
            if pace == Pace::SlowestReader {
                let view = block_on(reader.view(Nanos::MAX));
                assert!(is_violation(&view), "{kind:?} at {at}: {view:?}");
            }
            let end = block_on(reader.receive(&mut vec![], Nanos::MAX));
            assert!(is_violation(&end), "{pace:?}, {kind:?} at {at}: {end:?}");
        }
    }
}

/// Zeros are padding at position 0, behind which no record begins.
#[test]
fn a_reader_of_zeros_ends_with_an_error() {
    for written in [1, 2, 7, 63, 64, POSITION, LEFT, LEFT | 2] {
        for pace in [Pace::SlowestReader, Pace::Writer] {
            let ring = Broadcast::new(1, SharedBytes::own(64 * UNIT), pace).unwrap();
            let mut reader = ring.reader(Script::on(1, 2), 1, Policy::Block).unwrap();
            poke(ring.0.written(), written);
            let end = block_on(reader.receive(&mut vec![], Nanos(1)));
            let closed = matches!(Error::of(&end), Some(Cause::Closed { .. })) && written == LEFT;
            assert!(closed || is_violation(&end), "{pace:?}, {written:x}: {end:?}");
        }
    }
}

#[test]
fn a_writer_whose_ring_was_overwritten_goes_on_after_an_error() {
    let ring = Broadcast::new(1, SharedBytes::own(8 * UNIT), Pace::Writer).unwrap();
    let mut writer = ring.writer(Script::on(0, 1), Policy::Block).unwrap();
    let mut send = || block_on(writer.send(&[&[7; 100]], Nanos::MAX));
    assert_eq!([send(), send(), send()], [Ok(()), Ok(()), Ok(())]);
    ring.0.bytes.store(0, &[0xFF; 8 * UNIT]);
    let end = send();
    assert!(is_violation(&end), "{end:?}");
    assert_eq!(send(), Ok(()));
}

#[test]
fn a_reader_at_a_position_outside_of_the_ring_is_named() {
    let ring = Broadcast::new(2, SharedBytes::own(8 * UNIT), Pace::SlowestReader).unwrap();
    let mut writer = ring.writer(Script::on(0, 1), Policy::Block).unwrap();
    for _ in 0..2 {
        block_on(writer.send(&[&[7; 100]], Nanos::MAX)).unwrap();
    }
    poke(ring.0.place(1).read(0), LEFT);
    poke(ring.0.place(2).read(0), 3 * LEFT / 4);
    let end = block_on(writer.send(&[&[7; 100]], Nanos::MAX));
    assert!(matches!(Error::of(&end), Some(Cause::ProtocolViolation { from: 2, .. })), "{end:?}");
}

/// What has been joined of a long message stays where it is when a wait ends.
#[test]
fn a_long_message_in_many_bounded_waits_is_joined_once() {
    let ring = Broadcast::new(1, SharedBytes::own(8 * UNIT), Pace::SlowestReader).unwrap();
    let mut writer = ring.writer(Script::on(0, 1), Policy::Block).unwrap();
    let mut reader = ring.reader(Script::on(1, 2), 1, Policy::Block).unwrap();
    let message: Vec<u8> = (0..100_000_u32).map(|at| at as u8).collect();
    let mut end = block_on(writer.send(&[&message], Nanos(1)));
    let (mut addresses, mut waits) = (std::collections::BTreeSet::new(), 0);
    let mut whole = Vec::new();
    while block_on(reader.receive(&mut whole, Nanos(1))).is_err() {
        assert!(whole.is_empty());
        addresses.insert(reader.joined_at());
        waits += 1;
        end = end.or_else(|_| block_on(writer.go_on(&[&message], Nanos(1))));
    }
    assert_eq!((end, whole == message), (Ok(()), true), "after {waits} waits");
    // It grows to twice as much each time, and is handed out as it is.
    assert!(waits > 200 && addresses.len() < 12 && addresses.contains(&whole.as_ptr().addr()), "{waits} waits, {addresses:?}");
}
