//! The culprit of an episode that fails after more than one member has left.
use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use foregather_barrier::{Algorithm, Group};
use foregather_conformance::scripted::Script;
use foregather_machine::{Cause, Error, Nanos};
use foregather_wait::Policy;

/// Rank 1 completes the episode and leaves; rank 0 gives up in it. Rank 2, which waits for rank 0, gets an
/// error that names rank 0.
#[test]
fn a_member_that_has_done_its_part_is_not_to_blame() {
    let first = Script::on(0, 1);
    first.takes_turns.set(true);
    let third = first.beside(0, 3);
    // A moment later, the word on which rank 2 waits is poisoned.
    third.poison.set(third.now.get() + Nanos(1));
    let clock = third.now.clone();
    let group = Group::new(Algorithm::Dissemination, 3).unwrap();
    let second = first.beside(0, 2);
    let mut one = group.member(first, 0, Policy::Block).unwrap();
    let mut two = group.member(second, 1, Policy::Block).unwrap();
    let mut three = group.member(third, 2, Policy::Block).unwrap();
    let mut context = Context::from_waker(Waker::noop());
    {
        let mut one_waits = Box::pin(one.wait());
        let mut three_waits = pin!(three.wait());
        {
            let mut two_waits = pin!(two.wait());
            assert!(one_waits.as_mut().poll(&mut context).is_pending());
            assert!(two_waits.as_mut().poll(&mut context).is_pending());
            assert!(three_waits.as_mut().poll(&mut context).is_pending());
            assert_eq!(two_waits.as_mut().poll(&mut context), Poll::Ready(Ok(())));
        }
        drop(two);
        drop(one_waits);
        clock.set(clock.get() + Nanos(2));
        let Poll::Ready(told) = three_waits.as_mut().poll(&mut context) else { panic!("rank 2 waits on") };
        assert!(matches!(Error::of(&told), Some(Cause::Poisoned { by: Some(0) })), "{told:?}");
    }
    drop(one);
}
