//! Bad input, and the header and the map against the code. C programs that meet are run by `.ci/c`.
use crate::slots::Handle;
use crate::{barrier::*, border::*, ends::*, failure::*, job::*, memory::*, queue::*, shared::*, team::*};
use core::ffi::{CStr, c_int, c_void};
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use core::time::Duration;
use foregather::engine::host::forks;

const HEADER: &str = include_str!("../include/foregather.h");
const VERSION: u32 = 1 << 12;
const MS: i64 = 1_000_000;

fn message() -> String {
    // SAFETY: it is a string that stays until the next error of this thread.
    unsafe { CStr::from_ptr(fg_error_message()) }.to_str().unwrap().to_owned()
}

/// A handle that a function puts behind its last argument.
fn made(make: impl FnOnce(*mut Handle) -> c_int) -> Handle {
    let mut handle = Handle::NULL;
    assert_eq!(make(&raw mut handle), 0, "{}", message());
    handle
}

fn team() -> Handle {
    // SAFETY: the handle is this thread's own.
    made(|into| unsafe { fg_team_create_of(VERSION, 2, into) })
}

fn barrier(size: u32) -> Handle {
    // SAFETY: the handle is this thread's own.
    made(|into| unsafe { fg_barrier_create_of(VERSION, size, into) })
}

fn queue() -> Handle {
    // SAFETY: the handle is this thread's own.
    made(|into| unsafe { fg_broadcast_create_of(VERSION, 1, 1 << 12, into) })
}

fn ends(queue: Handle) -> (Handle, Handle) {
    // SAFETY: the handles are this thread's own.
    unsafe { (made(|into| fg_broadcast_writer(queue, into)), made(|into| fg_broadcast_reader(queue, 1, into))) }
}

/// Sends bytes, or tries to.
fn send(writer: Handle, message: &[u8]) -> c_int {
    // SAFETY: the bytes are a slice's.
    unsafe { fg_writer_send(writer, 20 * MS, message.as_ptr().cast(), message.len()) }
}

/// Receives into that much room. Returns the code, the length and the bytes.
fn receive(reader: Handle, room: usize) -> (c_int, usize, Vec<u8>) {
    let (mut into, mut bytes) = (vec![0; room], 0);
    // SAFETY: both places are this thread's own.
    let code = unsafe { fg_reader_receive(reader, 20 * MS, into.as_mut_ptr().cast(), room, &raw mut bytes) };
    into.truncate(bytes);
    (code, bytes, into)
}

unsafe extern "C" fn nothing(_: u32, _: u32, _: *mut c_void) {}

#[test]
fn the_header_has_the_codes_the_version_and_the_functions_of_the_map() {
    for (name, code) in CODES {
        assert!(HEADER.contains(&format!("FG_{name} = {code}")), "{name} = {code}");
    }
    let number = |name: &String| HEADER.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u32>().ok()).unwrap();
    let [major, minor, patch] = ["MAJOR", "MINOR", "PATCH"].map(|part| number(&format!("#define FG_VERSION_{part}")));
    assert_eq!(fg_version(), major << 24 | minor << 12 | patch);
    let map = include_str!("../foregather.map");
    let listed: Vec<_> =
        map.lines().filter_map(|line| line.trim().strip_suffix(';')).filter(|name| name.starts_with("fg_")).collect();
    for name in &listed {
        assert!(HEADER.contains(&format!("{name}(")), "{name} of foregather.map is not in the header");
    }
    let sources = ["barrier", "border", "ends", "failure", "job", "memory", "queue", "shared", "team"];
    let defined = sources.iter().flat_map(|name| {
        let text = std::fs::read_to_string(format!("{}/src/{name}.rs", env!("CARGO_MANIFEST_DIR"))).unwrap();
        let names = text.lines().filter(|line| line.contains("extern \"C\" fn fg_"));
        names.map(|line| line.split_once("fn ").unwrap().1.split('(').next().unwrap().to_owned()).collect::<Vec<_>>()
    });
    let mut defined: Vec<_> = defined.collect();
    defined.sort();
    assert_eq!(defined, listed, "foregather.map has these, sorted");
}

#[test]
fn a_handle_that_is_null_destroyed_made_up_or_of_another_kind_is_an_error() {
    let (team, barrier) = (team(), barrier(1));
    // SAFETY: nothing is written behind null.
    let run = |handle| unsafe { fg_team_run(handle, Some(nothing), null_mut()) };
    assert_eq!(run(team), 0);
    assert_eq!((run(Handle::NULL), message()), (INVALID, "a team is needed, and this is null".to_owned()));
    assert_eq!(run(barrier), INVALID);
    assert!(message().contains("another kind"), "{}", message());
    for made_up in [1, 3, 0xdead_beef_0000, u64::MAX, u64::MAX - 12] {
        assert_eq!(run(Handle(made_up)), INVALID, "{made_up:x}: {}", message());
    }
    assert_eq!((fg_team_destroy(team), fg_team_destroy(team), run(team)), (0, INVALID, INVALID));
    assert_eq!(message(), "this team was destroyed before");
    assert_eq!((fg_error_code(), fg_error_rank(), fg_error_messages()), (INVALID, -1, 0));
    // SAFETY: a null function or place is what is tried.
    let nulls = unsafe { [fg_barrier_create_of(VERSION, 1, null_mut()), fg_team_run(self::team(), None, null_mut())] };
    assert_eq!(nulls, [INVALID; 2]);
    assert_eq!(fg_barrier_destroy(barrier), 0);
}

#[test]
fn a_header_of_another_version_is_refused() {
    let mut into = Handle(7);
    for other in [0, 2 << 12, 1 << 24 | 1 << 12] {
        // SAFETY: the place is this thread's own.
        assert_eq!(unsafe { fg_barrier_create_of(other, 1, &raw mut into) }, VERSION_DIFFERS);
        assert_eq!(into, Handle::NULL);
    }
    assert!(message().contains("the header is of version 1.1 and the library of 0.1.0"), "{}", message());
    assert_eq!((fg_check_version(0, 1), fg_check_version(0, 2), fg_check_version(1, 0)), (0, VERSION_DIFFERS, VERSION_DIFFERS));
}

#[test]
fn numbers_that_are_not_taken_are_named() {
    let mut into = Handle::NULL;
    let into = &raw mut into;
    // SAFETY: the place is this thread's own.
    unsafe {
        assert_eq!(fg_barrier_create_of(VERSION, 0, into), SETTING);
        assert_eq!(fg_barrier_members_of(VERSION, 1 << 25, into), SETTING);
        assert_eq!(fg_team_create_of(VERSION, 5_000, into), SETTING);
        assert_eq!(fg_broadcast_create_of(VERSION, 0, 4_096, into), SETTING);
        assert_eq!(fg_shared_barrier_create_of(VERSION, 0, into), SETTING);
        assert_eq!(fg_broadcast_attach_of(VERSION, -1, into), SETTING);
        assert_eq!(fg_shared_barrier_attach_of(VERSION, 987_654, into), SYSTEM);
    }
    let queue = queue();
    // SAFETY: the place is this thread's own.
    assert_eq!(unsafe { fg_broadcast_reader(queue, 2, into) }, RANK);
    let (writer, reader) = ends(queue);
    // SAFETY: the places are this thread's own.
    assert_eq!(unsafe { (fg_broadcast_writer(queue, into), fg_broadcast_reader(queue, 1, into)) }, (RANK, RANK));
    assert_eq!([fg_broadcast_destroy(queue), fg_writer_destroy(writer), fg_reader_destroy(reader)], [0; 3]);
}

#[test]
fn a_time_limit_ends_a_wait_and_the_next_one_goes_on() {
    let (mut members, mut leads) = ([Handle::NULL; 2], 7);
    // SAFETY: there is room for two.
    assert_eq!(unsafe { fg_barrier_members_of(VERSION, 2, members.as_mut_ptr()) }, 0);
    // SAFETY: the place is each thread's own.
    let wait = |at: usize, limit, leads: &mut c_int| unsafe { fg_barrier_member_wait(members[at], limit, leads) };
    assert_eq!((wait(0, 5 * MS, &mut leads), fg_error_rank()), (TIMED_OUT, 1));
    std::thread::scope(|threads| {
        threads.spawn(|| wait(1, -1, &mut 0));
        assert_eq!((wait(0, -1, &mut leads), leads), (0, 1));
    });
    let (mut text, mut length) = ([1; 20], 0);
    // SAFETY: both places are this thread's own.
    assert_eq!(unsafe { fg_barrier_member_statistics(members[0], text.as_mut_ptr(), text.len(), &raw mut length) }, 0);
    assert!(length > 20 && text[19] == 0 && text[18] > 1, "{length} {text:?}");
    assert_eq!(fg_barrier_member_destroy(members[1]), 0);
    assert_eq!((wait(0, -1, &mut leads), fg_error_rank()), (POISONED, 1));
    assert_eq!(fg_barrier_member_destroy(members[0]), 0);
}

#[test]
fn members_leave_together_or_are_told_how_late_they_are() {
    let (mut members, mut late) = ([Handle::NULL; 2], 7);
    // SAFETY: there is room for two.
    assert_eq!(unsafe { fg_barrier_members_of(VERSION, 2, members.as_mut_ptr()) }, 0);
    // SAFETY: the place is each thread's own.
    let leave = |at: usize, slack, late: &mut u64| unsafe { fg_barrier_member_harmonize(members[at], slack, late) };
    assert_eq!((leave(0, 501 * MS, &mut late), late), (SETTING, 7));
    std::thread::scope(|threads| {
        threads.spawn(|| (0..20).for_each(|_| assert_eq!(leave(1, 0, &mut 0), 0)));
        for _ in 0..20 {
            assert_eq!(leave(0, 0, &mut late), 0);
            assert!((1..1_000_000_000).contains(&late), "without slack each member is late: {late}");
        }
    });
    let one = |member| move || (0..200).filter(|_| leave(member, -1, &mut 9) == 0).count();
    let well = std::thread::scope(|threads| [0, 1].map(|at| threads.spawn(one(at))).map(|thread| thread.join().unwrap()));
    assert_eq!(well, [200; 2]);
    assert_eq!(fg_barrier_member_destroy(members[1]), 0);
    assert_eq!((leave(0, -1, &mut late), fg_error_rank()), (POISONED, 1));
    assert_eq!(fg_barrier_member_destroy(members[0]), 0);
}

#[test]
fn what_a_thread_is_in_is_not_destroyed_and_a_member_takes_one_call_at_a_time() {
    let mut members = [Handle::NULL; 2];
    // SAFETY: there is room for two.
    assert_eq!(unsafe { fg_barrier_members_of(VERSION, 2, members.as_mut_ptr()) }, 0);
    std::thread::scope(|threads| {
        // SAFETY: null is no place.
        let wait = |at: usize, limit| unsafe { fg_barrier_member_wait(members[at], limit, null_mut()) };
        // Either of the two may be in a call when the other one tries.
        let waiting = threads.spawn(move || std::iter::repeat_with(|| wait(0, -1)).find(|&code| code != BUSY).unwrap());
        while wait(0, 0) != BUSY {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!((fg_barrier_member_destroy(members[0]), wait(0, 0)), (BUSY, BUSY));
        assert_eq!((wait(1, -1), waiting.join().unwrap()), (0, 0));
    });
    assert_eq!(members.map(|member| fg_barrier_member_destroy(member)), [0; 2]);
}

#[test]
fn a_message_that_does_not_fit_stays_be_it_in_one_piece_or_in_several() {
    let queue = queue();
    let (writer, reader) = ends(queue);
    assert_eq!(receive(reader, 10).0, TIMED_OUT);
    let (mut at, mut bytes): (*const c_void, usize) = (null(), 0);
    // SAFETY: both places are this thread's own.
    let mut view = |limit| (unsafe { fg_reader_view(reader, limit, &raw mut at, &raw mut bytes) }, bytes);
    assert_eq!(view(0).0, TIMED_OUT);
    assert_eq!((send(writer, b"hello"), send(writer, b"you")), (0, 0));
    assert_eq!(receive(reader, 3).0, LENGTH);
    assert!(message().contains("5 bytes does not fit into 3"), "{}", message());
    assert_eq!((view(0), receive(reader, 5)), ((0, 5), (0, 5, b"hello".to_vec())));
    assert_eq!((view(-1), fg_reader_pass(reader), receive(reader, 9).0), ((0, 3), 0, TIMED_OUT));
    let long = [7; 10_000];
    std::thread::scope(|threads| {
        threads.spawn(move || {
            // SAFETY: the bytes are an array's.
            assert_eq!(unsafe { fg_writer_send(writer, -1, long.as_ptr().cast(), long.len()) }, 0);
        });
        while view(20 * MS).0 != IN_PIECES {}
        let mut bytes = 0;
        // SAFETY: the places are this thread's own, or null with no bytes.
        assert_eq!(unsafe { fg_reader_receive(reader, -1, null_mut(), 0, &raw mut bytes) }, LENGTH);
        assert_eq!(bytes, 10_000);
        assert_eq!((view(0), receive(reader, 10_000)), ((0, 10_000), (0, 10_000, long.to_vec())));
    });
    assert_eq!((fg_writer_destroy(writer), receive(reader, 9).0), (0, CLOSED));
    // SAFETY: null with bytes is what is tried.
    assert_eq!(unsafe { fg_reader_receive(reader, -1, null_mut(), 5, null_mut()) }, INVALID);
    assert_eq!([fg_reader_destroy(reader), fg_broadcast_destroy(queue)], [0; 2]);
}

#[test]
fn a_reader_that_was_overtaken_is_told_how_much_it_has_missed() {
    // SAFETY: the handle is this thread's own.
    let queue = made(|into| unsafe { fg_broadcast_skipping_of(VERSION, 1, 512, into) });
    let (writer, reader) = ends(queue);
    (0..100_u8).for_each(|n| assert_eq!(send(writer, &[n; 60]), 0));
    assert_eq!(receive(reader, 60).0, SKIPPED);
    let (code, bytes, message) = receive(reader, 60);
    assert_eq!((code, bytes, u64::from(message[0])), (0, 60, fg_error_messages()));
    assert_eq!([fg_writer_destroy(writer), fg_reader_destroy(reader), fg_broadcast_destroy(queue)], [0; 3]);
}

#[test]
fn a_child_of_a_fork_has_teams_and_queues_and_is_refused_its_parents_other_handles() {
    let (team, barrier, queue) = (team(), barrier(1), queue());
    let (writer, reader) = ends(queue);
    // SAFETY: the function does nothing, and null is no place.
    let run = || unsafe { fg_team_run(team, Some(nothing), null_mut()) };
    // SAFETY: null is no place.
    let wait = || unsafe { fg_barrier_wait(barrier, -1, null_mut()) };
    assert_eq!((run(), wait()), (0, 0));
    let ended = forks::in_child(|| {
        let refused = [wait(), send(writer, b"x"), receive(reader, 1).0] == [FORKED; 3];
        let named = message() == "this reader is the parent process's: a child of a fork makes or takes one of its own";
        let ended = [fg_writer_destroy(writer), fg_reader_destroy(reader), fg_barrier_destroy(barrier)] == [0; 3];
        let works = run() == 0 && fg_broadcast_destroy(queue) == 0 && fg_team_destroy(team) == 0;
        [refused, named, ended, works].iter().map(|&well| i32::from(!well)).fold(0, |all, bad| all << 1 | bad)
    });
    assert_eq!(ended.exit_status(), Some(0), "bits of refused, named, ended, works");
    assert_eq!((send(writer, b"parent"), receive(reader, 6).2), (0, b"parent".to_vec()));
    assert_eq!([wait(), fg_barrier_destroy(barrier), fg_writer_destroy(writer), fg_reader_destroy(reader)], [0; 4]);
    assert_eq!([fg_team_destroy(team), fg_broadcast_destroy(queue)], [0; 2]);
}

#[test]
fn a_barrier_of_processes_is_attached_by_its_descriptor() {
    // SAFETY: the handles are this thread's own.
    unsafe {
        let barrier = made(|into| fg_shared_barrier_create_of(VERSION, 2, into));
        let first = made(|into| fg_shared_barrier_member(barrier, 0, into));
        assert_eq!(fg_shared_member_wait(first, 5 * MS), TIMED_OUT);
        let mut descriptor = -1;
        assert_eq!(fg_shared_barrier_fd(barrier, &raw mut descriptor), 0);
        let ended = forks::in_child(|| {
            let here = made(|into| fg_shared_barrier_attach_of(VERSION, descriptor, into));
            let second = made(|into| fg_shared_barrier_member(here, 1, into));
            i32::from(fg_shared_member_wait(first, 0) != FORKED) + fg_shared_member_wait(second, 1_000 * MS)
        });
        assert_eq!((ended.exit_status(), fg_shared_member_wait(first, -1)), (Some(0), 0));
        assert_eq!((fg_shared_member_wait(first, -1), fg_error_rank()), (PEER_LOST, 1), "{}", message());
        let mut into = Handle::NULL;
        assert_eq!(fg_broadcast_attach_of(VERSION, descriptor, &raw mut into), SYSTEM, "{}", message());
        assert!(message().contains("it holds a barrier of processes"), "{}", message());
        let queue = queue();
        assert_eq!(fg_broadcast_fd(queue, &raw mut descriptor), 0);
        assert_eq!(fg_shared_barrier_attach_of(VERSION, descriptor, &raw mut into), SYSTEM, "{}", message());
        assert!(message().contains("it holds a queue of broadcasts"), "{}", message());
        assert_eq!(fg_broadcast_destroy(queue), 0);
        assert_eq!([fg_shared_member_destroy(first), fg_shared_barrier_destroy(barrier)], [0; 2]);
    }
}

/// The child takes the reading end and dies with it.
#[test]
fn the_place_of_a_dead_reader_is_given_out_again() {
    let queue = queue();
    // SAFETY: the handles are this thread's own.
    unsafe {
        let writer = made(|into| fg_broadcast_writer(queue, into));
        let (mut into, mut lost, mut count) = (Handle::NULL, [7; 2], 7);
        let ended = forks::in_child(|| {
            let here = made(|into| fg_broadcast_reader(queue, 1, into));
            i32::from(here == Handle::NULL)
        });
        assert_eq!(ended.exit_status(), Some(0));
        assert_eq!((send(writer, b"to nobody"), fg_error_rank()), (PEER_LOST, 1), "{}", message());
        assert_eq!(fg_writer_lost(writer, lost.as_mut_ptr(), 2, &raw mut count), 0);
        assert_eq!((lost, count), ([1, 7], 1));
        assert_eq!(
            (fg_writer_lost(writer, null_mut(), 0, null_mut()), fg_writer_lost(writer, null_mut(), 1, null_mut())),
            (0, INVALID)
        );
        assert_eq!(fg_broadcast_reader(queue, 1, &raw mut into), RANK);
        let reader = made(|into| fg_broadcast_replace(queue, 1, into));
        assert_eq!(fg_broadcast_replace(queue, 1, &raw mut into), SYSTEM);
        assert!(message().contains("still runs"), "{}", message());
        assert_eq!((send(writer, b"to somebody"), receive(reader, 20).2), (0, b"to somebody".to_vec()));
        assert_eq!(fg_writer_lost(writer, lost.as_mut_ptr(), 2, &raw mut count), 0);
        assert_eq!(count, 0);
        assert_eq!([fg_writer_destroy(writer), fg_reader_destroy(reader), fg_broadcast_destroy(queue)], [0; 3]);
    }
}

/// Rank 1 fails in a way that `data` says; rank 0 waits for it.
unsafe extern "C" fn fails(me: Handle, data: *mut c_void) -> c_int {
    let (mut rank, mut byte, mut length) = (9, 0_u8, 0);
    // SAFETY: the places are this function's own.
    unsafe {
        assert_eq!(fg_comm_rank(me, &raw mut rank), 0);
        match (rank, data.addr()) {
            (0, 1) => {
                assert_eq!(fg_comm_send(me, -1, 1, b"long".as_ptr().cast(), 4), 0);
                fg_comm_receive(me, -1, 1, (&raw mut byte).cast(), 1, null_mut())
            }
            (0, _) => fg_comm_barrier(me, -1),
            (_, 1) => {
                let code = fg_comm_receive(me, -1, 0, (&raw mut byte).cast(), 1, &raw mut length);
                assert_eq!(length, 4);
                code
            }
            (_, handle) if handle > 100 => {
                std::thread::scope(|threads| threads.spawn(move || fg_comm_rank(me, null_mut())).join().unwrap())
            }
            (_, code) => code as c_int,
        }
    }
}

#[test]
fn a_job_gives_the_error_of_the_rank_that_failed() {
    // SAFETY: the function takes any pointer.
    let job = |data: usize| unsafe { fg_job_of(VERSION, 2, Some(fails), core::ptr::without_provenance_mut(data)) };
    assert_eq!((job(1), message()), (LENGTH, "a message of 4 bytes does not fit: there is room for 1".to_owned()));
    assert_eq!((job(77), message()), (FAILED, "the function of rank 1 returned 77".to_owned()));
    assert_eq!((job(101), message()), (FAILED, "the function of rank 1 returned 6".to_owned()));
    // SAFETY: a null function is what is tried.
    assert_eq!(unsafe { fg_job_of(VERSION, 2, None, null_mut()) }, INVALID);
}

/// Rank 0 asks for a message until rank 1, which is late, has sent it. Then rank 1 is late at a barrier.
unsafe extern "C" fn is_late(me: Handle, _: *mut c_void) -> c_int {
    let (mut rank, mut byte, mut one) = (9, 0_u8, 1.0);
    let nap = |ms| std::thread::sleep(std::time::Duration::from_millis(ms));
    // SAFETY: the places are this function's own.
    unsafe {
        assert_eq!(fg_comm_rank(me, &raw mut rank), 0);
        if rank == 1 {
            nap(30);
            assert_eq!(fg_comm_send(me, 1_000_000_000, 0, b"x".as_ptr().cast(), 1), 0);
            nap(200);
            return fg_comm_sum_double(me, -1, &raw mut one);
        }
        assert_eq!(fg_comm_receive(me, 0, 1, (&raw mut byte).cast(), 1, null_mut()), TIMED_OUT);
        assert!(message().starts_with("`receive`: rank 0 timed out after ") && fg_error_rank() == 1, "{}", message());
        while fg_comm_receive(me, 1_000_000, 1, (&raw mut byte).cast(), 1, null_mut()) == TIMED_OUT {}
        assert_eq!(byte, b'x');
        let code = fg_comm_barrier(me, 20_000_000);
        assert!(code == TIMED_OUT && message().starts_with("`barrier`: rank 0 timed out after "), "{}", message());
        assert_eq!(fg_comm_barrier(me, -1), POISONED);
        fg_comm_barrier(me, 0);
        code
    }
}

/// As [`is_late`], in shared memory.
unsafe extern "C" fn shares_late(me: Handle, _: *mut c_void) -> c_int {
    let (mut rank, mut lock, mut one) = (9, Handle::NULL, 1.0);
    // SAFETY: the places are this function's own.
    unsafe {
        assert_eq!(fg_memory_rank(me, &raw mut rank), 0);
        assert_eq!(fg_memory_lock(me, 60_000_000_000, &raw mut lock), 0);
        if rank == 1 {
            std::thread::sleep(std::time::Duration::from_millis(200));
            return fg_memory_barrier(me, -1).max(fg_memory_barrier(me, -1));
        }
        let code = fg_memory_sum_double(me, 20_000_000, &raw mut one);
        assert!(message().starts_with("`sum`: rank 0 timed out after "), "{}", message());
        assert_eq!(fg_memory_barrier(me, -1), POISONED);
        code
    }
}

#[test]
fn a_rank_that_is_late_is_a_timeout() {
    // SAFETY: the functions take no pointer.
    let ends =
        unsafe { [fg_job_of(VERSION, 2, Some(is_late), null_mut()), fg_shared_of(VERSION, 2, Some(shares_late), null_mut())] };
    assert!(ends.iter().all(|code| [TIMED_OUT, FAILED, POISONED].contains(code)), "{ends:?} {}", message());
}

/// Tries what cannot be done with shared memory, and keeps the handle of an array.
unsafe extern "C" fn misuses(me: Handle, kept: *mut c_void) -> c_int {
    let (mut array, mut lock, mut into, mut four) = (Handle::NULL, Handle::NULL, Handle(7), [9_u32; 4]);
    let at = four.as_mut_ptr();
    // SAFETY: the places are this function's own, and `kept` is an atomic.
    unsafe {
        let bad = [fg_memory_array(me, -1, 3, 8, &raw mut into), fg_memory_array(me, -1, 8, 0, &raw mut into)];
        assert_eq!((bad, into), ([SETTING; 2], Handle::NULL), "{}", message());
        assert_eq!(fg_memory_array(me, -1, 4, 10, &raw mut array), 0);
        assert_eq!(fg_shared_array_load(array, 7, 4, at.cast()), SETTING);
        assert_eq!(message(), "there are no 4 elements from 7 on, of 10");
        assert_eq!(fg_shared_array_store(array, usize::MAX, 1, at.cast()), SETTING);
        assert_eq!(
            [fg_shared_array_load(array, 0, 4, null_mut()), fg_shared_array_load(array, 0, 1, at.byte_add(1).cast())],
            [INVALID; 2]
        );
        assert!(message().contains("elements of 4 bytes cannot begin at"), "{}", message());
        assert_eq!((fg_shared_array_load(array, 6, 4, at.cast()), four), (0, [0; 4]));
        assert_eq!([fg_shared_lock_with(array, -1, None, null_mut()), fg_memory_lock(array, -1, &raw mut lock)], [INVALID; 2]);
        assert_eq!(fg_memory_lock(me, -1, &raw mut lock), 0);
        let elsewhere = std::thread::scope(|threads| threads.spawn(move || fg_memory_barrier(me, -1)).join().unwrap());
        assert_eq!(elsewhere, INVALID);
        (*kept.cast::<AtomicU64>()).store(array.0, Relaxed);
        let mut given = (me, lock);
        assert_eq!(fg_shared_lock_with(lock, -1, Some(meets), (&raw mut given).cast()), 0);
        fg_memory_barrier(me, -1)
    }
}

/// What would wait for the other ranks, within a lock.
unsafe extern "C" fn meets(given: *mut c_void) {
    // SAFETY: `misuses` passes these two.
    let (me, lock) = unsafe { *given.cast::<(Handle, Handle)>() };
    // SAFETY: the function does not come to be called.
    let codes = unsafe { [fg_memory_barrier(me, -1), fg_shared_lock_with(lock, -1, Some(meets), given)] };
    assert_eq!(codes, [SYSTEM; 2], "{}", message());
}

#[test]
fn shared_memory_is_its_ranks_and_lasts_as_long_as_their_function() {
    let kept = AtomicU64::new(0);
    // SAFETY: the functions take that pointer.
    let share = |body| unsafe { fg_shared_of(VERSION, 2, body, (&raw const kept).cast_mut().cast()) };
    assert_eq!(share(None), INVALID);
    assert_eq!(share(Some(misuses)), 0, "{}", message());
    let mut into = 0_u32;
    // SAFETY: the place is this thread's own.
    assert_eq!(unsafe { fg_shared_array_load(Handle(kept.load(Relaxed)), 0, 1, (&raw mut into).cast()) }, INVALID);
    assert_eq!(message(), "this shared array was destroyed before");
}

#[test]
fn a_panic_becomes_a_code() {
    assert_eq!((call(|| panic!("wrong")), message()), (PANIC, "this library has failed: wrong".to_owned()));
}

#[test]
fn handles_are_given_out_and_destroyed_by_many_threads() {
    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..200 {
                    let all = [(); 10].map(|()| barrier(1));
                    // SAFETY: null is no place.
                    assert_eq!(all.map(|one| unsafe { fg_barrier_wait(one, -1, null_mut()) }), [0; 10]);
                    assert_eq!(all.map(|one| fg_barrier_destroy(one)), [0; 10]);
                    assert_eq!(all.map(|one| fg_barrier_destroy(one)), [INVALID; 10]);
                }
            });
        }
    });
}

#[test]
fn the_first_thread_that_is_back_from_a_barrier_destroys_it() {
    for _ in 0..300 {
        let one = barrier(3);
        let codes = std::thread::scope(|threads| {
            // SAFETY: null is no place.
            let wait = || unsafe { fg_barrier_wait(one, -1, null_mut()) };
            let running = [(); 3].map(|()| threads.spawn(move || (wait(), fg_barrier_destroy(one))));
            running.map(|thread| thread.join().unwrap())
        });
        assert_eq!(codes.map(|(waited, _)| waited), [0; 3]);
        let destroyed = codes.map(|(_, destroyed)| destroyed);
        assert!(destroyed.iter().all(|code| [0, INVALID, BUSY].contains(code)), "{destroyed:?}");
        // None has if another one needed longer than 10 ms for its way out.
        let count = destroyed.iter().filter(|&&code| code == 0).count();
        assert_eq!(count + usize::from(fg_barrier_destroy(one) == 0), 1, "{destroyed:?}");
    }
}

#[test]
fn a_handle_may_be_destroyed_while_others_try_it() {
    let (handle, over) = (&AtomicU64::new(team().0), &AtomicBool::new(false));
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(move || {
                let mut members = 0;
                while !over.load(Relaxed) {
                    // SAFETY: the place is this thread's own.
                    let code = unsafe { fg_team_members(Handle(handle.load(Relaxed)), &raw mut members) };
                    assert!([0, INVALID].contains(&code) && members <= 2, "{code}: {members}");
                }
            });
        }
        for _ in 0..2_000 {
            let old = Handle(handle.swap(team().0, Relaxed));
            // Busy if another thread loses its processor within a call for longer than 10 ms.
            let ended = std::iter::repeat_with(|| fg_team_destroy(old)).find(|&code| code != BUSY);
            assert_eq!((ended, fg_team_destroy(old)), (Some(0), INVALID));
        }
        over.store(true, Relaxed);
    });
}

#[test]
fn a_thread_that_waits_at_a_fork_stops_no_child() {
    let (barrier, team) = (barrier(2), team());
    std::thread::scope(|threads| {
        // SAFETY: null is no place.
        let wait = |limit| unsafe { fg_barrier_wait(barrier, limit, null_mut()) };
        let waiting = threads.spawn(move || wait(-1));
        std::thread::sleep(Duration::from_millis(5));
        let ended = forks::in_child(|| {
            let codes = [wait(0), fg_barrier_destroy(barrier), fg_barrier_destroy(barrier), fg_team_destroy(team)];
            i32::from(codes != [FORKED, 0, INVALID, 0])
        });
        assert_eq!(ended.exit_status(), Some(0));
        assert_eq!((wait(-1), waiting.join().unwrap()), (0, 0));
    });
    assert_eq!((fg_barrier_destroy(barrier), fg_team_destroy(team)), (0, 0));
}
