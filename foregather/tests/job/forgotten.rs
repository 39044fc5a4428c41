//! What a receiver gets from a message whose sender has leaked it (`mem::forget`); [`job`](foregather::job)
//! has no such handles.
use crate::bounded;
use foregather::engine::message::{Cheaper, Messenger, Mode, Receive, Settings};
use foregather::engine::{Address, Cause, Error, block_on, dissemination};
use foregather::processes::shm::{Lane, SegmentSpec, ShmFabric};
use foregather::threads::{self, Thread};
use std::mem::forget;
use std::panic::{AssertUnwindSafe, catch_unwind};

const LARGE: usize = 1 << 20;
const OLD: u8 = 1;
const NEW: u8 = 2;

/// Rank 0 does the first, both wait for each other, and rank 1 does the second; returns its result.
fn two(
    sends: impl Fn(&Messenger<Lane<Thread>>, &mut [u8]) -> Result<(), Error> + Sync + Send + 'static,
    receives: impl Fn(&Messenger<Lane<Thread>>) -> Result<u8, Error> + Sync + Send + 'static,
) -> Result<u8, Error> {
    bounded(move || {
        let fabric = ShmFabric::between_threads(SegmentSpec::new(2, 1))?;
        let mut ends = threads::run(
            2,
            |_| None,
            |cpu, rank| {
                let settings = Settings { direct_at: Some(1_000), ..Settings::default() };
                let messenger = Messenger::new(fabric.lane(cpu, Address { rank, lane: 0 })?, settings)?;
                // Lives until both are done, so that no rank reads freed memory here.
                let mut buffer = vec![OLD; LARGE];
                if rank == 0 {
                    sends(&messenger, &mut buffer)?;
                }
                block_on(dissemination(&messenger))?;
                let end = if rank == 1 { receives(&messenger) } else { Ok(0) };
                let met = block_on(dissemination(&messenger));
                messenger.leave();
                end.and_then(|got| met.map(|()| got))
            },
        )?;
        ends.pop().expect("two ranks")
    })
}

/// Receives a later piece of that message; no call ends the message.
fn express(messenger: &Messenger<Lane<Thread>>) -> Result<u8, Error> {
    let mut into = vec![0; LARGE];
    let mut message = messenger.begin_unpacking_from(0)?;
    let end = block_on(message.unpack_express_into(Mode::Cheaper, &mut into));
    forget(message);
    assert!(end.is_err() || into.iter().all(|byte| matches!(*byte, OLD | NEW)), "bytes that the buffer never held");
    end.map(|()| into[0])
}

/// Nothing of a message is exposed before its end, so a message that is leaked before its end exposes
/// nothing, whatever its pieces are. Its receiver gets an error.
#[test]
fn a_forgotten_message_exposes_nothing() {
    let sends = |messenger: &Messenger<Lane<Thread>>, buffer: &mut [u8]| {
        let mut message = messenger.begin_packing(1)?;
        block_on(message.pack(Cheaper(&*buffer), Receive::Express))?;
        forget(message);
        buffer.fill(NEW);
        Ok(())
    };
    let got = two(sends, express);
    assert!(matches!(Error::of(&got), Some(Cause::Deadlock { .. })), "{got:?}");
}

/// Memory that was given to the messenger is unchanged, even if the handle is leaked.
#[test]
fn a_forgotten_pending_leaves_its_memory_alone() {
    for forgotten in [false, true] {
        let sends = move |messenger: &Messenger<Lane<Thread>>, buffer: &mut [u8]| {
            let pending = block_on(messenger.send_owned(1, buffer.to_vec()))?;
            if forgotten {
                forget(pending)
            } else {
                drop(pending)
            }
            buffer.fill(NEW);
            Ok(())
        };
        let receives = |messenger: &Messenger<Lane<Thread>>| {
            let mut into = vec![0; LARGE];
            block_on(messenger.receive_whole(0, Mode::Cheaper, Receive::Cheaper, &mut into))?;
            assert!(into.iter().all(|byte| *byte == OLD), "bytes that the buffer got later");
            Ok(into[0])
        };
        assert_eq!(two(sends, receives), Ok(OLD));
    }
}

/// A scope that panics gives up its open messages before the buffer can change: the receiver gets the old
/// bytes, or an error that names the rank.
#[test]
fn a_scope_that_panics_gives_up_what_is_open() {
    let sends = |messenger: &Messenger<Lane<Thread>>, buffer: &mut [u8]| {
        let panic = catch_unwind(AssertUnwindSafe(|| {
            block_on(messenger.scope(async |scope| {
                let mut message = messenger.begin_packing(1)?;
                message.pack(Cheaper(&*buffer), Receive::Cheaper).await?;
                scope.end_later(message).await?;
                std::panic::resume_unwind(Box::new("in the middle"));
                #[allow(unreachable_code)]
                Ok::<(), Error>(())
            }))
        }));
        assert!(panic.is_err());
        buffer.fill(NEW);
        Ok(())
    };
    let receives = |messenger: &Messenger<Lane<Thread>>| {
        let mut into = vec![0; LARGE];
        let end = block_on(messenger.receive_whole(0, Mode::Cheaper, Receive::Cheaper, &mut into));
        assert!(end.is_err() || into.iter().all(|byte| *byte == OLD), "bytes that the buffer got later");
        end.map(|()| into[0])
    };
    let got = two(sends, receives);
    assert!(matches!(Error::of(&got), None | Some(Cause::Poisoned { by: Some(0) })), "{got:?}");
}

/// A CHEAPER piece is sent at the end of its message. A message that was leaked before has sent nothing, and
/// its connection stays busy.
#[test]
fn what_was_not_sent_yet_is_not_seen() {
    let sends = |messenger: &Messenger<Lane<Thread>>, buffer: &mut [u8]| {
        let mut message = messenger.begin_packing(1)?;
        block_on(message.pack(Cheaper(&*buffer), Receive::Cheaper))?;
        forget(message);
        buffer.fill(NEW);
        let again = messenger.begin_packing(1).map(drop);
        assert!(matches!(Error::of(&again), Some(Cause::Busy { peer: 1, .. })), "{again:?}");
        Ok(())
    };
    assert_eq!(two(sends, |_| Ok(7)), Ok(7));
}

/// A receiver that leaks its message keeps the bytes that it got, and cannot receive a second message.
#[test]
fn a_forgotten_receiver_stays_busy() {
    let sends = |messenger: &Messenger<Lane<Thread>>, _: &mut [u8]| {
        let mut message = messenger.begin_packing(1)?;
        block_on(message.pack(Cheaper(&[OLD; 8]), Receive::Cheaper))?;
        block_on(message.end())
    };
    let receives = |messenger: &Messenger<Lane<Thread>>| {
        let mut into = [0; 8];
        let mut message = messenger.begin_unpacking_from(0)?;
        block_on(message.unpack(Mode::Cheaper, &mut into))?;
        forget(message);
        let again = messenger.begin_unpacking_from(0).map(drop);
        assert!(matches!(Error::of(&again), Some(Cause::Busy { peer: 0, .. })), "{again:?}");
        Ok(into[0])
    };
    assert_eq!(two(sends, receives), Ok(OLD));
}

/// `Rank` returns nothing that could be leaked: when `send` returns, the receiver has the bytes, even if the
/// buffer changes.
#[test]
fn a_rank_has_nothing_to_forget() {
    for bytes in [100, 64 << 10, LARGE] {
        let got = bounded(move || {
            foregather::job(2, |me| {
                if me.rank() == 0 {
                    let mut data = vec![OLD; bytes];
                    me.send(1, &data)?;
                    data.fill(NEW);
                    drop(data);
                }
                me.barrier()?;
                if me.rank() == 0 { Ok(vec![]) } else { me.receive_vec::<u8>(0) }
            })
        });
        assert_eq!(got, Ok(vec![vec![], vec![OLD; bytes]]));
    }
}
