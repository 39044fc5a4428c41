//! Ranks that wait for each other.
use crate::bounded;
use foregather::engine::{Cause, Error};
use foregather::{Communicator, job};
use std::sync::Mutex;
use std::time::Duration;

const LARGE: usize = 8 << 20;

#[test]
fn ranks_that_all_send_first_do_not_wait_for_each_other() {
    for (ranks, bytes) in [(2, LARGE), (3, LARGE), (3, 64 << 10), (3, (64 << 10) + 1), (2, 0)] {
        let got = bounded(move || {
            job(ranks, |me| {
                let (to, from) = ((me.rank() + 1) % me.size(), (me.rank() + me.size() - 1) % me.size());
                me.send(to, &vec![me.rank() as u8; bytes])?;
                let got = me.receive_vec::<u8>(from)?;
                Ok(got == vec![from as u8; bytes])
            })
        });
        assert_eq!(got, Ok(vec![true; ranks as usize]), "{ranks} ranks, {bytes} bytes");
    }
}

#[test]
fn both_ways_at_once() {
    for bytes in [1, 64 << 10, LARGE] {
        let got = bounded(move || {
            job(3, |me| {
                let (peer, mut into) = ((3 - me.rank()) % 3, vec![9; bytes]);
                let came = me.exchange(peer, &vec![me.rank() as u8; bytes], &mut into)?;
                Ok(came == bytes && into == vec![peer as u8; bytes])
            })
        });
        assert_eq!(got, Ok(vec![true; 3]), "{bytes} bytes");
    }
}

#[test]
fn a_rank_may_send_to_itself() {
    let got = bounded(|| {
        job(2, |me| {
            me.send(me.rank(), &[7_u32; 4])?;
            me.send(me.rank(), &vec![5_u64; 100_000])?;
            let few: Vec<u32> = me.receive_vec(me.rank())?;
            let many: Vec<u64> = me.receive_vec(me.rank())?;
            Ok(few == [7; 4] && many == vec![5; 100_000])
        })
    });
    assert_eq!(got, Ok(vec![true; 2]));
}

/// Returns the ranks of the deadlock that every rank's error named.
fn circles(ranks: u32, act: impl Fn(&Communicator) -> Result<(), Error> + Sync + Send + 'static) -> Vec<Vec<u32>> {
    let heard = bounded(move || {
        let heard = Mutex::new(Vec::new());
        let end = job(ranks, |me| {
            let end = act(me);
            heard.lock().unwrap().push(end.clone());
            // After all have got the error: a rank that leaves causes another error.
            std::thread::sleep(Duration::from_millis(100));
            end
        });
        assert!(matches!(Error::of(&end), Some(Cause::Deadlock { .. })), "{end:?}");
        heard.into_inner().unwrap()
    });
    let circle = |end: &Result<(), Error>| match Error::of(end) {
        Some(Cause::Deadlock { ranks, .. }) => {
            let mut ranks = ranks.clone();
            ranks.sort_unstable();
            ranks
        }
        _ => panic!("{end:?}"),
    };
    heard.iter().map(circle).collect()
}

/// An error contains the user's names of the calls. For a collective call, it says that another rank made a
/// different call.
#[test]
fn ranks_that_wait_for_each_other_are_told_in_which_calls() {
    let said = |of: fn(&Communicator) -> Result<(), Error>| {
        let said = Mutex::new(vec![String::new(); 2]);
        let _ = job(2, |me| {
            let end = of(me);
            said.lock().unwrap()[me.rank() as usize] = end.as_ref().unwrap_err().to_string();
            std::thread::sleep(Duration::from_millis(100));
            end
        });
        said.into_inner().unwrap()
    };
    let calls = said(|me| if me.rank() == 0 { me.barrier() } else { me.sum(1_u32).map(drop) });
    for (said, call) in calls.iter().zip(["barrier", "sum"]) {
        assert!(said.contains(&format!("waiting in: `{call}`, and another rank is in another call")), "{said}");
        assert!(said.contains("all ranks call `barrier`, `sum`, `reduce` and `broadcast` in the same order"), "{said}");
    }
    for said in said(|me| me.receive(1 - me.rank(), &mut [0_u8]).map(drop)) {
        assert!(said.contains("waiting in: `receive`;"), "{said}");
    }
}

#[test]
fn ranks_that_wait_for_each_other_are_told_who_they_are() {
    let next = |me: &Communicator| (me.rank() + 1) % me.size();
    for ranks in 1..5 {
        let all: Vec<u32> = (0..ranks).collect();
        let told = circles(ranks, move |me| me.receive(next(me), &mut [0_u8]).map(drop));
        assert_eq!(told, vec![all.clone(); ranks as usize]);
    }
    // Collective calls that do not match, and one that waits for a message of a rank in such a call.
    assert_eq!(circles(2, |me| if me.rank() == 0 { me.barrier() } else { me.sum(1_u32).map(drop) }), vec![vec![0, 1]; 2]);
    assert_eq!(
        circles(2, |me| if me.rank() == 0 { me.barrier() } else { me.receive(0, &mut [0_u8]).map(drop) }),
        vec![vec![0, 1]; 2]
    );
}

#[test]
#[ignore = "takes 4 GiB; the same with less to keep is in conformance/tests/messages.rs"]
fn senders_that_may_keep_no_more_are_told_who_they_are() {
    // Each sends more than the other may store before it receives: two pieces of 600 MiB, and a third.
    let told = circles(2, |me| {
        let piece = vec![0_u8; 600 << 20];
        (0..3).try_for_each(|_| me.send(1 - me.rank(), &piece))
    });
    assert_eq!(told, vec![vec![0, 1]; 2]);
}

#[test]
fn a_rank_that_only_computes_is_waited_for() {
    let end = bounded(|| {
        job(3, |me| {
            if me.rank() == 0 {
                std::thread::sleep(Duration::from_millis(1_200));
                me.send(1, &[1_u8])?;
            } else if me.rank() == 1 {
                me.receive(0, &mut [0_u8])?;
                me.send(2, &[1_u8])?;
            } else {
                me.receive(1, &mut [0_u8])?;
            }
            me.barrier()
        })
    });
    assert_eq!(end, Ok(vec![(); 3]));
}
