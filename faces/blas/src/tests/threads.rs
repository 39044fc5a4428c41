//! The number of threads: what it is, and which calls it holds for.
use super::{again, case};
use foregather_team::Team;
use std::ffi::{CStr, c_char, c_int};

unsafe extern "C" {
    fn foregather_blas_get_num_threads() -> c_int;
    fn foregather_blas_set_num_threads(threads: c_int);
    fn foregather_blas_version() -> *const c_char;
    fn cblas_dgemm(
        order: c_int,
        transa: c_int,
        transb: c_int,
        m: c_int,
        n: c_int,
        k: c_int,
        alpha: f64,
        a: *const f64,
        lda: c_int,
        b: *const f64,
        ldb: c_int,
        beta: f64,
        c: *mut f64,
        ldc: c_int,
    );
}

fn threads() -> c_int {
    // SAFETY: it takes nothing.
    unsafe { foregather_blas_get_num_threads() }
}

fn set(threads: c_int) {
    // SAFETY: any number may be set.
    unsafe { foregather_blas_set_num_threads(threads) }
}

/// A product that every team is worth; returns how many calls the team has shared.
fn product() -> u64 {
    const N: usize = 700;
    let (a, mut c) = (vec![1.0; N * N], vec![0.0; N * N]);
    let n = N as c_int;
    // SAFETY: the standard's arguments.
    unsafe { cblas_dgemm(102, 111, 111, n, n, n, 1.0, a.as_ptr(), n, a.as_ptr(), n, 0.0, c.as_mut_ptr(), n) };
    assert!(c.iter().all(|&sum| sum == N as f64));
    Team::global().report().regions
}

/// Returns whether the team shares products. Under background load, the team is not used for a while.
fn shares() -> bool {
    let before = Team::global().report().regions;
    (0..20).any(|_| product() > before)
}

#[test]
fn a_number_of_threads_holds_from_the_next_call_on() {
    if let Some(machine) = case() {
        let machine: c_int = machine.parse().expect("the machine's number");
        let named = std::env::var("FOREGATHER_THREADS").map_or(machine, |named| named.parse().expect("a number"));
        assert_eq!(threads(), named);
        set(1);
        assert_eq!((threads(), product(), product()), (1, 0, 0));
        set(2);
        assert_eq!(threads(), machine.min(2));
        assert_eq!(shares(), machine > 1);
        set(1);
        let shared = product();
        assert_eq!(product(), shared);
        set(1_000_000);
        assert_eq!((threads(), shares()), (machine, machine > 1));
        for none in [0, -3] {
            set(none);
            assert_eq!(threads(), named);
        }
        return;
    }
    let machine = Team::fitting().allowed();
    let machine = foregather_team::Allowed { wanted: None, ..machine }.members().to_string();
    for variables in [&[("FOREGATHER_THREADS", "1")][..], &[]] {
        let output = again("tests::threads::a_number_of_threads_holds_from_the_next_call_on", &machine, variables);
        assert!(output.status.success(), "{variables:?}: {output:?}");
    }
}

#[test]
fn the_version_is_a_string_of_c() {
    // SAFETY: a string that lives as long as the library.
    let version = unsafe { CStr::from_ptr(foregather_blas_version()) };
    assert_eq!(version.to_str(), Ok(env!("CARGO_PKG_VERSION")));
}
