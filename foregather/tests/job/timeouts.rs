//! Calls that time out: their errors, and what is possible afterwards.
use crate::bounded;
use crate::launched::run;
use foregather::engine::{Cause, Error};
use foregather::{Communicator, job};
use std::sync::Mutex;
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(20);
const LATE: Duration = Duration::from_millis(300);

fn nap(time: Duration) {
    std::thread::sleep(time);
}

/// One frame, several frames, and one that stays in its sender's memory.
const SIZES: [usize; 5] = [0, 8, 100, 60_000, 3 << 20];

#[test]
fn a_receive_that_timed_out_takes_nothing_and_is_called_again() {
    for bytes in SIZES {
        let end = bounded(move || {
            job(3, move |me| {
                let message: Vec<u8> = (0..bytes).map(|at| at as u8).collect();
                match me.rank() {
                    0 => {
                        // Rank 1 has made several calls.
                        me.receive_vec::<u8>(1)?;
                        me.send(1, &message)?;
                        me.send(1, &[1_u8, 2, 3])
                    }
                    // Its messages arrive while rank 1 waits for rank 0.
                    2 => me.send(1, &message).and_then(|()| me.send(1, &message)),
                    _ => {
                        let (mut into, mut polls) = (vec![0; bytes], 0);
                        let error = me.receive_timeout(0, &mut into, SHORT).unwrap_err();
                        assert!(
                            matches!(error.cause(), Cause::TimedOut { what: "`receive`", rank: 1, peer: Some(0), .. }),
                            "{error}"
                        );
                        while let Err(error) = me.receive_timeout(0, &mut into, Duration::from_micros(300)) {
                            assert!(error.is_timed_out(), "{error}");
                            polls += 1;
                            if polls == 3 {
                                me.send(0, &[1_u8])?;
                            }
                        }
                        assert!(into == message && polls >= 3, "{polls}");
                        assert_eq!(me.receive_vec_timeout::<u8>(0, SHORT * 100)?, [1, 2, 3]);
                        assert!(me.receive_vec_timeout::<u8>(2, SHORT * 100).is_ok_and(|got| got == message));
                        assert!(me.receive_vec::<u8>(2)? == message);
                        Ok(())
                    }
                }?;
                // Everything continues.
                me.sum(1_u32)
            })
        });
        assert_eq!(end, Ok(vec![3; 3]), "{bytes} bytes");
    }
}

#[test]
fn what_has_come_is_received_without_waiting() {
    let end = bounded(|| {
        job(2, |me| {
            if me.rank() == 0 {
                me.send(1, &[7_u64])?;
                me.barrier()?;
            } else {
                me.barrier()?;
                let mut into = [0_u64];
                assert_eq!(me.receive_timeout(0, &mut into, Duration::ZERO)?, 1);
                assert_eq!(into, [7]);
            }
            me.barrier_timeout(SHORT * 100)
        })
    });
    assert_eq!(end, Ok(vec![(); 2]));
}

#[test]
fn a_receive_ends_at_once_when_its_sender_has_gone_or_does_not_exist() {
    let end = bounded(|| {
        job(2, |me| {
            if me.rank() == 0 {
                return Ok(());
            }
            let began = Instant::now();
            let gone = me.receive_timeout(0, &mut [0_u8], Duration::from_secs(50)).unwrap_err();
            assert!(matches!(gone.cause(), Cause::Closed { peer: Some(0) }), "{gone}");
            let none = me.receive_timeout(7, &mut [0_u8], Duration::from_secs(50)).unwrap_err();
            assert!(matches!(none.cause(), Cause::Rank { rank: 7, size: 2 }), "{none}");
            assert!(began.elapsed() < Duration::from_secs(10));
            Ok(())
        })
    });
    assert_eq!(end, Ok(vec![(); 2]));
}

type Call = (&'static str, fn(&Communicator) -> Result<(), Error>);

/// Each collective call, with a short timeout.
const TOGETHER: [Call; 4] = [
    ("`barrier`", |me| me.barrier_timeout(SHORT)),
    ("`sum`", |me| me.sum_timeout(1_u64, SHORT).map(drop)),
    ("`reduce`", |me| me.reduce_timeout(1.5_f64, f64::max, SHORT).map(drop)),
    ("`broadcast`", |me| me.broadcast_timeout(2, &mut [0_u8; 3], SHORT)),
];

/// Rank 2 arrives late, after the others have given up. Returns the errors of the ranks, in rank order, and
/// the end of the job.
fn late(call: fn(&Communicator) -> Result<(), Error>) -> (Vec<[Option<Error>; 2]>, Error) {
    bounded(move || {
        let told = Mutex::new(vec![[None, None]; 3]);
        let end = job(3, |me| {
            if me.rank() == 2 {
                nap(LATE);
            }
            let first = call(me);
            let then = me.sum(1_u32).map(drop);
            told.lock().unwrap()[me.rank() as usize] = [first.clone().err(), then.err()];
            first
        });
        (told.into_inner().unwrap(), end.unwrap_err())
    })
}

#[test]
fn a_call_of_all_ranks_that_timed_out_ends_the_job_for_the_late_rank_too() {
    for (name, call) in TOGETHER {
        let (told, end) = late(call);
        // The first of the two to give up ends the other one's wait.
        let gave_up = |told: &&[Option<Error>; 2]| told[0].as_ref().is_some_and(Error::is_timed_out);
        let [first, then] = told[..2].iter().find(gave_up).unwrap();
        let first = first.as_ref().unwrap();
        let Cause::TimedOut { what, rank, peer: None, waited_ns } = *first.cause() else { panic!("{name}: {first}") };
        assert!(what == name && waited_ns >= SHORT.as_nanos() as u64, "{first}");
        assert!(first.to_string().starts_with(&format!("{name}: rank {rank} timed out after ")), "{first}");
        assert!(matches!(then.as_ref().unwrap().cause(), Cause::Poisoned { by: Some(_) }), "{name}: {then:?}");
        // The late rank gets an error with the rank that gave up, at this call or the next one: a broadcast's
        // root only sends.
        let heard = told[2].iter().flatten().next().unwrap();
        assert!(matches!(heard.cause(), Cause::Poisoned { by: Some(0 | 1) }), "{name}: {heard}");
        assert!(end.is_timed_out(), "{name}: {end}");
    }
}

#[test]
fn of_two_ranks_the_other_one_is_named() {
    let end = bounded(|| {
        job(2, |me| {
            if me.rank() == 0 {
                return me.barrier_timeout(SHORT);
            }
            nap(LATE);
            Ok(())
        })
    });
    let error = end.unwrap_err();
    assert!(matches!(error.cause(), Cause::TimedOut { what: "`barrier`", rank: 0, peer: Some(1), .. }), "{error}");
}

#[test]
fn a_send_or_an_exchange_that_nobody_takes_gives_up() {
    let calls: [Call; 3] = [
        // It stays in its sender's memory.
        ("`send`", |me| me.send_timeout(1, &vec![1_u8; 1 << 20], SHORT)),
        // Copies for which there is no more room.
        ("`send`", |me| (0..1_000).try_for_each(|_| me.send_timeout(1, &[1_u8; 60_000], SHORT))),
        ("`exchange`", |me| me.exchange_timeout(1, &[1_u8], &mut [0_u8; 1], SHORT).map(drop)),
    ];
    for (name, call) in calls {
        let end = bounded(move || {
            let told = Mutex::new(Vec::new());
            let end = job(2, |me| {
                if me.rank() == 0 {
                    let end = call(me);
                    assert!(matches!(me.barrier().unwrap_err().cause(), Cause::Poisoned { by: Some(0) }));
                    return end;
                }
                nap(LATE * 3);
                // It may still complete a barrier at which rank 0 had arrived, but no second one.
                let end = me.barrier().and_then(|()| me.barrier());
                told.lock().unwrap().push(end.clone());
                end
            });
            (end.unwrap_err(), told.into_inner().unwrap())
        });
        assert!(
            matches!(end.0.cause(), Cause::TimedOut { what, rank: 0, peer: Some(1), .. } if *what == name),
            "{name}: {}",
            end.0
        );
        assert!(matches!(end.1[..], [Err(ref told)] if matches!(told.cause(), Cause::Poisoned { by: Some(0) })), "{:?}", end.1);
    }
}

#[test]
fn a_job_whose_body_hides_the_timeout_fails_on_the_others() {
    let end = bounded(|| {
        job(2, |me| {
            if me.rank() == 0 {
                return me.barrier_timeout(SHORT).or(Ok(()));
            }
            nap(LATE);
            me.barrier().and_then(|()| me.barrier())
        })
    });
    assert!(matches!(end.unwrap_err().cause(), Cause::Poisoned { by: Some(0) }));
}

#[test]
fn long_timeouts_change_nothing() {
    let end = bounded(|| {
        job(3, |me| {
            let long = Duration::MAX;
            let (next, before) = ((me.rank() + 1) % 3, (me.rank() + 2) % 3);
            let mut from = [0];
            me.send_timeout(next, &[me.rank()], long)?;
            me.receive_timeout(before, &mut from, long)?;
            let mut data = [me.rank(); 2];
            me.broadcast_timeout(1, &mut data, long)?;
            me.barrier_timeout(long)?;
            let most = me.reduce_timeout(from[0], u32::max, long)?;
            Ok((from[0] == before, data, most, me.sum_timeout(1_u32, long)?))
        })
    });
    assert_eq!(end, Ok(vec![(true, [1; 2], 2, 3); 3]));
}

#[test]
fn processes_time_out_as_threads_do() {
    let (code, text) = run(2, "receives late", &[]);
    assert_eq!((code, text.matches("received after a timeout").count()), (Some(0), 1), "{text}");
    let (code, text) = run(3, "arrives late", &[]);
    assert_eq!(code, Some(1), "{text}");
    assert!((0..2).any(|rank| text.contains(&format!("body {rank}: `sum`: rank {rank} timed out after "))), "{text}");
    assert!(text.contains("body 2: rank 0 has failed") || text.contains("body 2: rank 1 has failed"), "{text}");
    assert_eq!(text.matches("the job: ").count(), 3, "{text}");
}
