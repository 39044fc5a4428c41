//! Jobs whose ranks are threads of one process: tests how the coordinator, heartbeat threads and unverified
//! peers interact.
mod fuzz;

use crate::detect::Launcher;
use crate::frame::{JobFrame, VERSION};
use crate::job::Job;
use crate::meet::JoinInfo;
use crate::notice::Notices;
use crate::settings::Settings;
use foregather_host::clock;
use foregather_machine::{Cause, Error, Nanos, Rank, WaitContext};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

const SECRET: &[u8] = b"between us";

/// A job before it starts, with rank 0's socket.
struct Place {
    listener: Option<TcpListener>,
    port: u16,
    settings: Settings,
}

impl Place {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let settings = Settings::from(|name| (name == "FOREGATHER_PEER_TIMEOUT").then(|| "30s".to_owned())).unwrap();
        Self { listener: Some(listener), port, settings }
    }

    fn meeting(&mut self, rank: Rank, size: u32) -> JoinInfo {
        let listener = if rank == 0 { self.listener.take() } else { None };
        JoinInfo { rank, size, name: b"job".to_vec(), candidates: vec![("127.0.0.1".to_owned(), self.port)], listener }
    }

    /// Runs `program` for every rank in a thread of its own; returns the results in rank order.
    fn run<T: Send>(mut self, size: u32, program: impl Fn(Result<Job, Error>) -> T + Sync) -> Vec<T> {
        let (settings, program) = (self.settings, &program);
        let meetings: Vec<_> = (0..size).map(|rank| self.meeting(rank, size)).collect();
        thread::scope(|scope| {
            let begin = |meeting| move || program(Job::begin(Launcher::Own, meeting, SECRET, settings));
            let ranks: Vec<_> = meetings.into_iter().map(|meeting| scope.spawn(begin(meeting))).collect();
            ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
        })
    }
}

/// Waits like a fabric, until the wait fails.
fn wait_in_vain(job: &Job) -> Error {
    let why = WaitContext::new("test", job.rank()).since(clock::now());
    loop {
        if let Err(error) = job.failure_detector().check(&why) {
            return error;
        }
        thread::sleep(std::time::Duration::from_millis(1));
    }
}

#[test]
fn everybody_gets_everybodys_addresses_in_every_round() {
    let ends = Place::new().run(5, |job| {
        let job = job.unwrap();
        assert_eq!(job.local_ranks(), [0, 1, 2, 3, 4]);
        for round in 0..20_u32 {
            let addresses = job.exchange(format!("{round} of {}", job.rank()).as_bytes()).unwrap();
            let expected: Vec<_> = (0..5).map(|rank| format!("{round} of {rank}").into_bytes()).collect();
            assert_eq!(addresses, expected);
        }
        let long = job.exchange(&vec![7; 16 << 10]).unwrap();
        assert!(long.iter().all(|address| address.len() == 16 << 10));
        assert!(matches!(Error::of(&job.exchange(&vec![7; (16 << 10) + 1])), Some(Cause::Length { .. })));
        job.leave()
    });
    assert!(ends.iter().all(Result::is_ok), "{ends:?}");
}

#[test]
fn whoever_hangs_up_without_leaving_is_lost_for_all_others() {
    for victim in [0, 2] {
        let ends = Place::new().run(4, |job| {
            let job = job.unwrap();
            if job.rank() == victim {
                return victim;
            }
            wait_in_vain(&job).lost_rank().unwrap()
        });
        assert_eq!(ends, [victim; 4]);
    }
}

#[test]
fn whoever_leaves_is_not_lost_and_exchanges_no_more() {
    let ends = Place::new().run(3, |job| {
        let job = job.unwrap();
        if job.rank() == 1 {
            return job.leave().map(|()| String::new());
        }
        let refused = job.exchange(b"x").unwrap_err().to_string();
        assert_eq!(job.failure_detector().lost(), None);
        job.leave().map(|()| refused)
    });
    assert!(ends[0].as_ref().unwrap().contains("rank 1 has left") && ends[2].as_ref().unwrap().contains("rank 1 has left"));
}

#[test]
fn those_who_do_not_come_are_named() {
    let mut place = Place::new();
    place.settings.join_timeout = Nanos::from_ms(500);
    let meeting = place.meeting(0, 3);
    let error = Job::begin(Launcher::Own, meeting, SECRET, place.settings).unwrap_err().to_string();
    assert!(error.contains("of 3 ranks 2 did not arrive") && error.contains("1, 2"), "{error}");
}

#[test]
fn an_end_before_joining_is_told_to_those_who_come_and_to_those_who_come_late() {
    let mut place = Place::new();
    let (settings, root, secret) = (place.settings, format!("127.0.0.1:{}", place.port), "between us");
    let variables = |secret: &str| {
        let all = [("FOREGATHER_ROOT", &root[..]), ("FOREGATHER_JOB", "job"), ("FOREGATHER_SECRET", secret)];
        Notices::of(&all.map(|(name, value)| (name.to_owned(), value.to_owned())))
    };
    let meetings = [0, 2, 3].map(|rank| place.meeting(rank, 4));
    let join = |meeting| thread::spawn(move || Job::begin(Launcher::Own, meeting, SECRET, settings).unwrap_err().to_string());
    let since = clock::now();
    let [zero, two, three] = meetings;
    let mut ranks = vec![join(zero), join(two)];
    // An unverified peer's report changes nothing.
    let peer = variables("a guess");
    peer.ended(2, "was bewitched");
    thread::sleep(std::time::Duration::from_millis(100));
    let launcher = variables(secret);
    launcher.ended(1, "was killed by signal 9 (SIGKILL)");
    thread::sleep(std::time::Duration::from_millis(300));
    ranks.push(join(three));
    for rank in ranks {
        let said = rank.join().unwrap();
        assert!(said.contains("rank 1 was killed by signal 9 (SIGKILL) before it joined"), "{said}");
    }
    let took = clock::now() - since;
    assert!(took < Nanos::from_ms(5_000), "{took}");
}

#[test]
fn idle_strangers_do_not_keep_a_rank_outside() {
    let mut place = Place::new();
    let settings = place.settings;
    let first = place.meeting(0, 2);
    let coordinator = thread::spawn(move || Job::begin(Launcher::Own, first, SECRET, settings).and_then(Job::leave));
    let idle: Vec<_> = (0..300).map(|_| TcpStream::connect(("127.0.0.1", place.port)).unwrap()).collect();
    let since = clock::now();
    let job = Job::begin(Launcher::Own, place.meeting(1, 2), SECRET, settings).unwrap();
    let took = clock::now() - since;
    job.leave().unwrap();
    coordinator.join().unwrap().unwrap();
    assert!(took < Nanos::from_ms(2_000), "{took} behind {} unverified peers", idle.len());
}

#[test]
fn strangers_are_refused_by_name_and_the_job_goes_on() {
    let mut place = Place::new();
    let settings = place.settings;
    let first = place.meeting(0, 2);
    let coordinator = thread::spawn(move || Job::begin(Launcher::Own, first, SECRET, settings).and_then(Job::leave));
    let refusal = |meeting, secret: &[u8]| Job::begin(Launcher::Own, meeting, secret, settings).unwrap_err().to_string();

    assert!(refusal(place.meeting(1, 2), b"wrong").contains("secret"));
    assert!(refusal(JoinInfo { name: b"other".to_vec(), ..place.meeting(1, 2) }, SECRET).contains("secret"));
    assert!(refusal(place.meeting(1, 3), SECRET).contains("told of 3 ranks"));
    assert!(refusal(place.meeting(7, 2), SECRET).contains("no rank 7"));
    let nonsense: [&[u8]; 3] = [b"GET / HTTP/1.0\r\n\r\n", &[2, 255, 255, 255, 255], &JobFrame::Beat.encode()];
    for bytes in nonsense {
        let mut peer = TcpStream::connect(("127.0.0.1", place.port)).unwrap();
        peer.write_all(bytes).unwrap();
        // The coordinator closes the connection, with or without a message.
        let _ = peer.read_to_end(&mut Vec::new());
    }
    let silent = TcpStream::connect(("127.0.0.1", place.port)).unwrap();
    Job::begin(Launcher::Own, place.meeting(1, 2), SECRET, settings).and_then(Job::leave).unwrap();
    coordinator.join().unwrap().unwrap();
    drop(silent);
}

#[test]
fn a_rank_joins_once() {
    let mut place = Place::new();
    let settings = place.settings;
    let (first, twin, second) = (place.meeting(0, 2), JoinInfo { rank: 0, ..place.meeting(1, 2) }, place.meeting(1, 2));
    let begin = move |meeting| thread::spawn(move || Job::begin(Launcher::Own, meeting, SECRET, settings));
    let zeros = [begin(first), begin(twin)];
    // One of the two is refused before rank 1 joins; the other must wait for rank 1.
    while !zeros.iter().any(thread::JoinHandle::is_finished) {
        thread::yield_now();
    }
    let one = begin(second);
    let ends = zeros.map(|zero| zero.join().unwrap());
    let refused: Vec<_> = ends.iter().filter_map(|end| end.as_ref().err().map(ToString::to_string)).collect();
    assert!(matches!(&refused[..], [why] if why.contains("joined already")), "{refused:?}");
    drop((ends, one.join().unwrap()));
}

#[test]
fn another_version_is_named_on_both_sides() {
    // A coordinator of another version.
    let mut place = Place::new();
    let old = place.listener.take().unwrap();
    let settings = place.settings;
    let meeting = place.meeting(1, 2);
    let answering = thread::spawn(move || {
        let (mut stream, _) = old.accept().unwrap();
        stream.write_all(&JobFrame::Hello { version: VERSION + 1, nonce: [0; 32] }.encode()).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let error = Job::begin(Launcher::Own, meeting, SECRET, settings).unwrap_err().to_string();
    assert!(error.contains(&format!("version {}", VERSION + 1)), "{error}");
    answering.join().unwrap();
    // A rank of another version.
    let mut place = Place::new();
    let meeting = place.meeting(0, 2);
    let coordinator = thread::spawn(move || {
        Job::begin(Launcher::Own, meeting, SECRET, Settings { join_timeout: Nanos::from_ms(700), ..settings })
    });
    let mut stream = TcpStream::connect(("127.0.0.1", place.port)).unwrap();
    let join = JobFrame::Join { version: VERSION + 1, rank: 1, size: 2, nonce: [0; 32], proof: [0; 32] };
    stream.write_all(&join.encode()).unwrap();
    let mut said = Vec::new();
    stream.read_to_end(&mut said).unwrap();
    assert!(String::from_utf8_lossy(&said).contains(&format!("speaks version {}", VERSION + 1)));
    assert!(coordinator.join().unwrap().is_err());
}
