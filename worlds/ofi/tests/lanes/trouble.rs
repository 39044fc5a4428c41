//! Missing, wrong or lost things are named, and unverified peers change nothing.
use crate::{at, job, post, take, tcp, until};
use foregather_host::failure_detector::FailureDetector;
use foregather_machine::{Cause, Error, Fabric, Key, Member, Park, WaitContext, block_on};
use foregather_ofi::{Opening, Provider, found};
use std::sync::Arc;

fn cause<T>(result: Result<T, Error>) -> Cause {
    match result {
        Ok(_) => panic!("it went well"),
        Err(error) => error.cause().clone(),
    }
}

#[test]
fn a_provider_that_is_not_here_is_missing_and_others_are_named() {
    if tcp().is_none() {
        return;
    }
    for name in ["no-such-network", ""] {
        let Cause::Unavailable { what, remedy } = cause(Provider::open(name, Some(""))) else { panic!("{name}") };
        assert!(what.contains(&format!("`{name}`")) && remedy.contains("tcp"), "{what}; {remedy}");
    }
    // An address of a network that no host has.
    let Cause::Unavailable { what, .. } = cause(Provider::open("tcp", Some("203.0.113.77"))) else { panic!() };
    assert!(what.contains("203.0.113.77"), "{what}");
    assert!(matches!(cause(Provider::open("t\0cp", None)), Cause::Setting { .. }));
}

#[test]
fn what_is_found_can_be_opened() {
    if tcp().is_none() {
        return;
    }
    let found = found().unwrap();
    assert!(found.version >= (1, 14), "{found:?}");
    assert!(found.providers.iter().any(|name| name.starts_with("tcp")), "{found:?}");
}

#[test]
fn addresses_of_others_are_refused() {
    let Some(provider) = tcp() else { return };
    let open = |rank, lanes| Opening::new(Arc::clone(&provider), (rank, 2), lanes, b"a job", None).unwrap();
    let (own, two) = (open(0, 1).address(), open(1, 2).address());
    let connect = |other: Vec<u8>| cause(open(0, 1).connect(&[own.clone(), other]));
    assert!(matches!(connect(b"GET / HTTP/1.1\r\n\r\n".to_vec()), Cause::ProtocolViolation { from: 1, .. }));
    assert!(matches!(connect(Vec::new()), Cause::ProtocolViolation { from: 1, .. }));
    assert!(matches!(connect(two), Cause::Setting { .. }));
    assert!(matches!(cause(open(0, 1).connect(std::slice::from_ref(&own))), Cause::Setting { .. }));
    let mut short = own.clone();
    let name = short.len() - 16;
    short[name - 2] = 15;
    short.pop();
    assert!(matches!(connect(short), Cause::ProtocolViolation { from: 1, .. }));
    let opened = |rank, size, lanes| cause(Opening::new(Arc::clone(&provider), (rank, size), lanes, b"a job", None));
    assert!(matches!(opened(2, 2, 1), Cause::Rank { .. }));
    assert!(matches!(opened(0, 2, 0), Cause::Size { .. }));
    assert!(matches!(opened(0, 1 << 16, 32), Cause::Size { .. }));
}

#[test]
fn a_rank_that_was_lost_ends_every_wait() {
    let Some(provider) = tcp() else { return };
    let vigil = Arc::new(FailureDetector::default());
    let open = |rank| Opening::new(Arc::clone(&provider), (rank, 2), 1, b"a job", Some(Arc::clone(&vigil))).unwrap();
    let openings = [open(0), open(1)];
    let addresses = openings.each_ref().map(Opening::address);
    let [mut lanes, others] = openings.map(|opening| opening.connect(&addresses).unwrap());
    let lane = lanes.remove(0);
    let why = WaitContext::new("test", 0).of(1);
    assert_eq!(lane.cpu().check(lane.bell(), &why), Ok(()));
    std::thread::scope(|scope| {
        // There is no answer: the other lane's owner does nothing.
        let reader = scope.spawn(|| {
            let mut got = [0; 64];
            let lane = lane;
            (cause(block_on(lane.get(at(1), Key(0), &mut [&mut got]))), lane)
        });
        std::thread::sleep(core::time::Duration::from_millis(30));
        vigil.declare_lost(1);
        let (cause, lane) = reader.join().unwrap();
        assert!(matches!(cause, Cause::PeerLost { rank: 1, doing: "get", .. }), "{cause:?}");
        let checked = lane.cpu().check(lane.bell(), &why);
        assert_eq!(checked.unwrap_err().lost_rank(), Some(1));
    });
    drop(others);
}

#[test]
fn who_goes_without_a_word_is_lost_and_who_leaves_is_not() {
    let Some(provider) = tcp() else { return };
    for in_order in [false, true] {
        let mut lanes: Vec<_> = job(&provider, 2, 1).into_iter().flatten().collect();
        let (second, first) = (lanes.pop().unwrap(), lanes.pop().unwrap());
        std::thread::scope(|scope| {
            scope.spawn(move || {
                post(&second, at(0), 0, &[]);
                assert_eq!(take(&second, at(0)).0, 0);
                if in_order {
                    second.leave();
                }
            });
            scope.spawn(move || {
                post(&first, at(1), 0, &[]);
                assert_eq!(take(&first, at(1)).0, 0);
                if in_order {
                    until(&first, || first.has_left(at(1)).then_some(()));
                    first.leave();
                    return;
                }
                // It may take a few frames until the connection is known to be gone; or a new one is tried
                // forever, and then only a failure detector can tell.
                let why = WaitContext::new("test", 0).of(1);
                for n in 0..400 {
                    std::thread::sleep(core::time::Duration::from_millis(5));
                    let posted = if n < 40 { first.post(at(1), n, &[]) } else { Ok(false) };
                    first.arrived(None);
                    if let Err(error) = posted.and_then(|_| first.cpu().check(first.bell(), &why)) {
                        assert_eq!(error.lost_rank(), Some(1), "{error}");
                        return;
                    }
                }
                assert_eq!(first.peek(at(1), |head, _| head), None);
            });
        });
    }
}

#[test]
fn frames_of_another_job_are_not_listened_to() {
    let Some(provider) = tcp() else { return };
    let open = |rank, job: &[u8]| Opening::new(Arc::clone(&provider), (rank, 2), 1, job, None).unwrap();
    let (first, second, unverified) = (open(0, b"this"), open(1, b"this"), open(1, b"that"));
    let (one, two, three) = (first.address(), second.address(), unverified.address());
    let mut first = first.connect(&[one.clone(), two.clone()]).unwrap();
    let mut second = second.connect(&[one.clone(), two]).unwrap();
    let mut unverified = unverified.connect(&[one, three]).unwrap();
    let (first, second, unverified) = (first.remove(0), second.remove(0), unverified.remove(0));
    std::thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            let lane = first;
            // Whichever comes first, only the second frame counts.
            let frame = take(&lane, at(1));
            lane.leave();
            frame
        });
        for n in 0..5 {
            post(&unverified, at(0), n, b"from an unverified peer");
        }
        drop(unverified);
        post(&second, at(0), 99, b"from us");
        second.leave();
        drop(second);
        assert_eq!(receiver.join().unwrap(), (99, b"from us".to_vec()));
    });
}

/// The address at which a rank of one lane listens: its lane's `sockaddr_in` ends the rank's address.
fn listens_at(address: &[u8]) -> std::net::SocketAddr {
    let [_, _, high, low, host @ ..] = *address.last_chunk::<16>().unwrap();
    let &host = host.first_chunk::<4>().unwrap();
    assert_eq!(host, [127, 0, 0, 1], "only this test's own endpoint is written to");
    std::net::SocketAddr::from((host, u16::from_be_bytes([high, low])))
}

#[test]
fn a_tcp_client_that_speaks_something_else_disturbs_nobody() {
    use std::io::Write as _;
    let Some(provider) = tcp() else { return };
    let openings = [0, 1].map(|rank| Opening::new(Arc::clone(&provider), (rank, 2), 1, b"a job", None).unwrap());
    let addresses = openings.each_ref().map(Opening::address);
    let ports = addresses.each_ref().map(|address| listens_at(address));
    let lanes = openings.map(|opening| opening.connect(&addresses).unwrap().remove(0));
    std::thread::scope(|scope| {
        for lane in lanes {
            scope.spawn(move || {
                let peer = at(1 - lane.rank());
                let wait = core::time::Duration::from_millis(200);
                let stream = std::net::TcpStream::connect_timeout(&ports[peer.rank as usize], wait);
                let mut stream = stream.expect("the other lane listens");
                stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
                for n in 0..50 {
                    post(&lane, peer, n, &[1; 100]);
                    assert_eq!(take(&lane, peer), (n, vec![1; 100]));
                }
                drop(stream);
                lane.leave();
            });
        }
    });
}

#[test]
fn a_loss_ends_the_opening_before_another_endpoint_is_made() {
    let Some(provider) = tcp() else { return };
    let vigil = Arc::new(FailureDetector::default());
    vigil.declare_lost(1);
    let cause = cause(Opening::new(provider, (0, 2), 3, b"a job", Some(vigil)));
    assert!(matches!(cause, Cause::PeerLost { rank: 1, doing: "opening libfabric", .. }), "{cause:?}");
}

/// Lanes of rank 0 that have left with frames on their way to a rank that never looks; returns the seconds
/// that dropping them took.
fn dropping_s(vigil: &Arc<FailureDetector>, lost: bool) -> Option<f64> {
    let provider = tcp()?;
    let open = |rank| Opening::new(Arc::clone(&provider), (rank, 2), 3, b"a job", Some(Arc::clone(vigil))).unwrap();
    let openings = [open(0), open(1)];
    let addresses = openings.each_ref().map(Opening::address);
    let [lanes, others] = openings.map(|opening| opening.connect(&addresses).unwrap());
    for lane in &lanes {
        post(lane, at(1), 0, b"to nowhere");
        lane.leave();
    }
    if lost {
        vigil.declare_lost(1);
    }
    let since = foregather_host::clock::now();
    drop(lanes);
    let took = foregather_host::clock::now() - since;
    drop(others);
    Some(took.as_secs())
}

#[test]
fn lanes_that_left_together_share_their_patience() {
    let Some(took_s) = dropping_s(&Arc::default(), false) else { return };
    assert!((1.5..3.5).contains(&took_s), "{took_s} s");
}

#[test]
fn nothing_is_delivered_after_a_loss() {
    let Some(took_s) = dropping_s(&Arc::default(), true) else { return };
    assert!(took_s < 1.0, "{took_s} s");
}
