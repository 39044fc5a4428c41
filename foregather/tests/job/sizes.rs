//! Ranks that disagree about sizes: sender and receiver, or the ranks of a collective call.
use crate::bounded;
use foregather::engine::{Cause, Error};
use foregather::{Communicator, job};

/// Rank 0 sends `sent` bytes and then three; returns rank 1's result of the first receive, and whether the
/// second one succeeds.
fn first(sent: usize, receive: impl Fn(&Communicator) -> Result<usize, Error> + Sync + Send + 'static) -> Result<usize, Error> {
    let mut ends = bounded(move || {
        job(2, |me| {
            if me.rank() == 0 {
                me.send(1, &vec![7_u8; sent])?;
                me.send(1, &[1_u8, 2, 3])?;
                return Ok(Ok(0));
            }
            let first = receive(me);
            assert_eq!(me.receive_vec::<u8>(0)?, [1, 2, 3], "the next one");
            Ok(first)
        })
    })
    .unwrap();
    ends.pop().unwrap()
}

#[test]
fn a_message_that_is_too_long_is_named_with_both_lengths_and_taken() {
    for sent in [9, 100, 5_000, 64 << 10, 1 << 20] {
        let end = first(sent, |me| me.receive(0, &mut [0_u32; 2]));
        assert!(matches!(Error::of(&end), Some(&Cause::Length { bytes, room: 8, .. }) if bytes == sent), "{end:?}");
        let text = end.unwrap_err().to_string();
        assert!(text.contains(&sent.to_string()) && text.contains('8'), "{text}");
        let end = first(sent, |me| me.exchange(0, &[0_u32; 40_000], &mut [0; 2]));
        // Rank 0 does not receive, and leaves: the rank that gets the error first names it.
        assert!(matches!(Error::of(&end), Some(Cause::Length { .. } | Cause::Closed { peer: Some(0) })), "{end:?}");
    }
}

#[test]
fn a_shorter_message_is_counted_and_one_of_no_whole_elements_is_an_error() {
    assert_eq!(first(8, |me| me.receive(0, &mut [0_u32; 5])), Ok(2));
    assert_eq!(first(0, |me| me.receive(0, &mut [0_u32; 5])), Ok(0));
    assert_eq!(first(0, |me| me.receive(0, &mut [[0_u32; 0]; 5])), Ok(0));
    for receive in
        [|me: &Communicator| me.receive(0, &mut [0_u32; 5]), |me: &Communicator| me.receive_vec::<u32>(0).map(|all| all.len())]
    {
        let end = first(7, receive);
        assert!(matches!(Error::of(&end), Some(Cause::Elements { bytes: 7, element: 4 })), "{end:?}");
    }
    let end = first(7, |me| me.receive(0, &mut [[0_u32; 0]; 5]));
    assert!(matches!(Error::of(&end), Some(Cause::Length { bytes: 7, room: 0, .. })), "{end:?}");
    let said = first(28, |me| me.receive(0, &mut [0_f64; 5])).unwrap_err().to_string();
    assert_eq!(said, "a message of 28 bytes is no whole number of elements of 8 bytes; receive the type that was sent");
}

#[test]
fn collective_calls_with_values_of_different_sizes_are_named() {
    let ends = [
        bounded(|| job(3, |me| if me.rank() == 1 { me.sum(1_u32).map(drop) } else { me.sum(1.0_f64).map(drop) })),
        bounded(|| job(3, |me| me.broadcast(0, &mut vec![0_u8; 9 + me.rank() as usize]))),
        bounded(|| job(2, |me| me.broadcast(0, &mut vec![0_u8; 100_000 + me.rank() as usize]))),
    ];
    for end in ends {
        assert!(matches!(Error::of(&end), Some(Cause::Mismatch { .. })), "{end:?}");
    }
}
