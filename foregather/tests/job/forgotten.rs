//! What a receiver gets of a message that its sender has forgotten (`mem::forget`), and that [`job`](foregather::job) has no such handles.
use crate::bounded;
use foregather::engine::message::{Cheaper, Messenger, Mode, Receive, Settings};
use foregather::engine::{Address, Cause, Error, block_on, dissemination};
use foregather::processes::shm::{Lane, SegmentSpec, ShmFabric};
use foregather::threads::{self, Thread};
use std::mem::forget;

const LARGE: usize = 1 << 20;
const OLD: u8 = 1;
const NEW: u8 = 2;

/// Rank 0 does the first, both meet, and rank 1 does the second; what that gave.
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
                // Lives until both are done, so nobody reads freed memory here.
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

/// What a later piece of that message would be: nothing ends it.
fn express(messenger: &Messenger<Lane<Thread>>) -> Result<u8, Error> {
    let mut into = vec![0; LARGE];
    let mut message = messenger.begin_unpacking_from(0)?;
    let end = block_on(message.unpack_express_into(Mode::Cheaper, &mut into));
    forget(message);
    assert!(end.is_err() || into.iter().all(|byte| matches!(*byte, OLD | NEW)), "bytes that the buffer never held");
    end.map(|()| into[0])
}

/// A large EXPRESS piece is offered at once, and stays offered: forgetting its message ends the borrow and not the offer. Here the buffer
/// still lives, and the receiver gets what was written since; were it freed, it would get whatever is there then. `Messenger` is for
/// those who never forget a message; open messages that are bounded by a scope are to come.
#[test]
fn a_forgotten_message_shows_what_its_memory_holds_by_then() {
    let sends = |messenger: &Messenger<Lane<Thread>>, buffer: &mut [u8]| {
        let mut message = messenger.begin_packing(1)?;
        block_on(message.pack(Cheaper(&*buffer), Receive::Express))?;
        forget(message);
        buffer.fill(NEW);
        Ok(())
    };
    // The dissemination of rank 1 takes the offer aside before or after the change, as it happens. Where the receiver may not copy out of
    // the sender's memory itself, the sender copies piece by piece, some before the change and some after it; and what is left when the
    // message is forgotten never comes: then the two wait for each other, and are told so.
    let got = two(sends, express);
    let circle = matches!(Error::of(&got), Some(Cause::Deadlock { .. }));
    assert!(matches!(got, Ok(OLD | NEW)) || circle, "{got:?}");
}

/// A CHEAPER piece goes with the end of its message. One that was forgotten before has sent nothing, and its connection stays taken.
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

/// A receiver that forgets its message has the bytes that it got, and no second message at once.
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

/// `Rank` gives out nothing that could be forgotten: when `send` returns, the bytes are the receiver's whatever becomes of the buffer.
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
