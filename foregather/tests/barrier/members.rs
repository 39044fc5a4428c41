//! Members with ranks.
use crate::{SOON, bounded};
use foregather::{Barrier, Member, WaitError};
use std::sync::mpsc;
use std::thread;

fn pair() -> (Member, Member) {
    let mut members = Barrier::new(2).members();
    (members.next().unwrap(), members.next().unwrap())
}

#[test]
fn ranks_are_in_order_and_rank_0_leads() {
    bounded(|| {
        let threads: Vec<_> = Barrier::new(4)
            .members()
            .map(|mut member| {
                thread::spawn(move || (0..200).map(|_| member.wait().unwrap().is_leader()).filter(|&is| is).count())
            })
            .collect();
        let led: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        assert_eq!(led, [200, 0, 0, 0]);
    });
}

#[test]
fn a_member_that_is_dropped_is_named_to_all_that_still_need_it() {
    bounded(|| {
        let mut members = Barrier::new(3).members();
        let (mut first, mut second, third) = (members.next().unwrap(), members.next().unwrap(), members.next().unwrap());
        let waits = thread::spawn(move || (second.wait().unwrap_err(), second.wait().unwrap_err()));
        thread::sleep(SOON);
        drop(third);
        let (waiting, again) = waits.join().unwrap();
        for error in [waiting, again, first.wait().unwrap_err()] {
            assert!(matches!(error, WaitError::Left(_)), "{error}");
        }
    });
}

#[test]
fn members_that_are_never_taken_have_left() {
    bounded(|| {
        let mut members = Barrier::new(3).members();
        let mut first = members.next().unwrap();
        drop(members);
        let error = first.wait().unwrap_err();
        assert!(matches!(&error, WaitError::Left(who) if who.rank.is_some()), "{error}");
    });
}

#[test]
fn the_one_who_left_is_known_by_rank_and_name() {
    bounded(|| {
        let (mut first, mut second) = pair();
        let named = thread::Builder::new().name("deserter".to_owned());
        let leaves = named.spawn(move || second.wait().map(drop)).unwrap();
        first.wait().unwrap();
        leaves.join().unwrap().unwrap();
        let error = first.wait().unwrap_err();
        let who = &error.missing()[0];
        assert_eq!((who.rank, who.name.as_deref()), (Some(1), Some("deserter")), "{error}");
        assert!(error.to_string().contains("create a new barrier"), "{error}");
    });
}

#[test]
fn a_timeout_names_every_missing_member_and_can_be_continued() {
    bounded(|| {
        let mut members: Vec<_> = Barrier::new(4).members().collect();
        let late = members.split_off(2);
        let (timed_out, told) = mpsc::channel();
        let waits: Vec<_> = members
            .into_iter()
            .map(|mut member| {
                let timed_out = timed_out.clone();
                thread::spawn(move || {
                    let error = member.wait_timeout(SOON).unwrap_err();
                    timed_out.send(()).unwrap();
                    (error, member.wait(), member)
                })
            })
            .collect();
        waits.iter().for_each(|_| told.recv().unwrap());
        let come: Vec<_> = late.into_iter().map(|mut member| thread::spawn(move || (member.wait(), member))).collect();
        let mut kept = Vec::new();
        for thread in waits {
            let (error, again, member) = thread.join().unwrap();
            let WaitError::TimedOut(missing) = &error else { panic!("{error}") };
            assert_eq!(missing.who.iter().map(|who| who.rank).collect::<Vec<_>>(), [Some(2), Some(3)], "{error}");
            assert!(missing.waited >= SOON, "{error}");
            again.unwrap();
            kept.push(member);
        }
        for thread in come {
            let (met, member) = thread.join().unwrap();
            met.unwrap();
            kept.push(member);
        }
    });
}

#[test]
fn a_member_may_be_sent_between_waits_and_says_so() {
    bounded(|| {
        let (mut first, mut second) = pair();
        let other = thread::spawn(move || {
            for _ in 0..20 {
                second.wait().unwrap();
            }
        });
        for turn in 0..20 {
            let carrier = thread::Builder::new().name(format!("carrier {turn}"));
            first = carrier
                .spawn(move || {
                    first.wait().unwrap();
                    first
                })
                .unwrap()
                .join()
                .unwrap();
        }
        other.join().unwrap();
        drop(first);
    });
}

#[test]
fn an_account_tells_how_waits_went() {
    bounded(|| {
        let (mut first, mut second) = pair();
        let other = thread::spawn(move || {
            for _ in 0..10 {
                second.wait().unwrap();
            }
        });
        for _ in 0..10 {
            first.wait().unwrap();
        }
        other.join().unwrap();
        let snapshot = first.account().snapshot();
        let ended = snapshot.last + snapshot.first_look + snapshot.spun + snapshot.yielded + snapshot.parked;
        assert_eq!(ended, 10, "{snapshot}");
    });
}
