//! Compares a barrier that is called through the C interface with the same barrier in Rust: the cost of
//! handles, argument checks and error codes.
//!
//! `cargo xtask install --prefix DIR`, then `cargo bench -p foregather-c --bench beside --
//! DIR/lib/libforegather.so.0`; `--check` fails if a median ratio is above 1.05. The library is opened as an
//! installed one, so calls go through its symbols. Each pair of batches runs on the same pinned threads, the
//! order alternates, and thread 0 holds the watch; processor time is that of the process.
use core::ffi::{c_int, c_void};
use core::mem::transmute;
use core::ptr::null_mut;
use foregather::engine::host::{affinity, clock, dl::Library, usage};
use foregather::{Barrier, Member};
use std::process::ExitCode;
use std::thread;

/// The highest median ratio that passes.
const LIMIT: f64 = 1.05;
/// Pairs of batches, and waits in each, alone and of two.
const PAIRS: usize = 201;
const WAITS: [(usize, u32); 2] = [(1, 20_000), (2, 2_000)];
/// The version of the header: 0.1.
const VERSION: u32 = 1 << 12;

type Create = unsafe extern "C" fn(u32, u32, *mut *mut c_void) -> c_int;
type Wait = unsafe extern "C" fn(*mut c_void, i64, *mut c_int) -> c_int;

/// A handle of the library, and the function that waits with it.
#[derive(Clone, Copy)]
struct Waiting(*mut c_void, Wait);

// SAFETY: a handle is a number, which any thread may use.
unsafe impl Send for Waiting {}

impl Waiting {
    fn wait(&self) {
        let mut leads = 0;
        // SAFETY: the function is `fg_barrier_wait` or that of members, and the place is this thread's own.
        assert_eq!(unsafe { self.1(self.0, -1, &raw mut leads) }, 0);
    }
}

/// Makes as many handles by a function that creates.
fn handles<const N: usize>(library: &Library, create: &str, wait: &str, size: u32) -> [Waiting; N] {
    let symbol = |name| library.symbol(name).unwrap_or_else(|error| panic!("{error}"));
    // SAFETY: by foregather.h the functions that create a barrier have this type.
    let create = unsafe { transmute::<*mut c_void, Create>(symbol(create)) };
    // SAFETY: by foregather.h those that wait at one have this type.
    let wait = unsafe { transmute::<*mut c_void, Wait>(symbol(wait)) };
    let mut all = [null_mut(); N];
    // SAFETY: there is room for as many handles as the function makes, one or `size`.
    assert_eq!(unsafe { create(VERSION, size, all.as_mut_ptr()) }, 0);
    all.map(|handle| Waiting(handle, wait))
}

/// Nanoseconds of one wait, and of processor time.
type WaitCost = (f64, f64);

fn batch(waits: u32, mut wait: impl FnMut()) -> WaitCost {
    (0..waits / 20).for_each(|_| wait());
    let (began, cpu) = (clock::now(), usage::process_cpu());
    (0..waits).for_each(|_| wait());
    let per = |span: foregather::engine::Nanos| span.0 as f64 / f64::from(waits);
    (per(clock::now() - began), per(usage::process_cpu() - cpu))
}

/// Runs pairs of batches on a thread for each seat, and prints their medians. Returns that of the ratios.
fn beside<S: Send>(what: &str, waits: u32, members: Vec<S>, rust: fn(&mut S), c: fn(&mut S)) -> f64 {
    let cpus = affinity::allowed();
    let body = |rank: usize, mut member: S| {
        if let Some(&cpu) = cpus.get(rank) {
            let _ = affinity::pin(cpu);
        }
        let pair = |at: usize| {
            let (mut by_rust, mut by_c) = Default::default();
            for which in [at, at + 1] {
                match which % 2 {
                    0 => by_rust = batch(waits, || rust(&mut member)),
                    _ => by_c = batch(waits, || c(&mut member)),
                }
            }
            (by_rust, by_c)
        };
        // The first pair warms up.
        let pairs: Vec<(WaitCost, WaitCost)> = (0..=PAIRS).map(pair).skip(1).collect();
        (pairs, member)
    };
    let body = &body;
    let pairs = thread::scope(|threads| {
        let running: Vec<_> =
            members.into_iter().enumerate().map(|(rank, member)| threads.spawn(move || body(rank, member))).collect();
        // Seats are dropped when all threads have ended: a member that goes ends the waits of the others.
        let ended: Vec<_> = running.into_iter().map(|thread| thread.join().expect("it does not panic")).collect();
        ended.into_iter().next().expect("there is a thread").0
    });
    let median_of = |value: fn(&(WaitCost, WaitCost)) -> f64| {
        let mut values: Vec<f64> = pairs.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let ratio = median_of(|(rust, c)| c.0 / rust.0);
    let (rust, c) = (median_of(|pair| pair.0.0), median_of(|pair| pair.1.0));
    let (cpu_rust, cpu_c) = (median_of(|pair| pair.0.1), median_of(|pair| pair.1.1));
    println!("{what:<22} {rust:>9.1} {c:>9.1} {cpu_rust:>11.1} {cpu_c:>9.1} {ratio:>8.3}");
    ratio
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments.iter().find(|argument| !argument.starts_with('-')).map_or("libforegather.so.0", String::as_str);
    let library = match Library::open(&[path]) {
        Ok(library) => library,
        Err(error) => {
            eprintln!("{error}: `cargo xtask install --prefix DIR` makes it; pass DIR/lib/libforegather.so.0");
            return ExitCode::from(2);
        }
    };
    clock::init();
    println!(
        "{}\n{:<22} {:>9} {:>9} {:>11} {:>9} {:>8}",
        library.path().display(),
        "",
        "Rust ns",
        "C ns",
        "Rust cpu ns",
        "C cpu ns",
        "ratio"
    );
    let mut ratios = Vec::new();
    for (threads, waits) in WAITS {
        let barrier = Barrier::new(threads);
        let [handle] = handles(&library, "fg_barrier_create_of", "fg_barrier_wait", threads as u32);
        let members = (0..threads).map(|_| (&barrier, handle)).collect();
        let by_rust = |member: &mut (&Barrier, Waiting)| _ = member.0.wait().expect("all come");
        ratios.push(beside(&format!("barrier of {threads}"), waits, members, by_rust, |member| member.1.wait()));

        let handles: [Waiting; 2] = handles(&library, "fg_barrier_members_of", "fg_barrier_member_wait", threads as u32);
        let members = Barrier::new(threads).members().zip(handles).collect();
        let by_rust = |member: &mut (Member, Waiting)| _ = member.0.wait().expect("all come");
        ratios.push(beside(&format!("members of {threads}"), waits, members, by_rust, |member| member.1.wait()));
    }
    let checks = arguments.iter().any(|argument| argument == "--check");
    if checks && ratios.iter().any(|&ratio| ratio > LIMIT) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
