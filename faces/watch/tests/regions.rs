//! Programs of two compilers run under the library, and the page shows their regions.
use foregather_host::watched::page::{VARIABLE, WatchPage};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The library, beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.ancestors().map(|folder| folder.join("libforegather_watch.so")).find(|path| path.exists());
    built.expect("cargo builds the library for its tests")
}

/// Builds a program or library. `None` where that compiler or its runtime is missing.
fn built(compiler: &str, source: &str, more: &[&str]) -> Option<PathBuf> {
    let stem = source.split('.').next().unwrap();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{stem}-{compiler}-{}", more.len()));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(source);
    let built = Command::new(compiler).args(["-O1", "-o"]).arg(&path).arg(source).args(more).output();
    let is_built = built.is_ok_and(|built| built.status.success());
    if !is_built {
        eprintln!("not run: {compiler} {more:?} does not build programs here");
    }
    is_built.then_some(path)
}

/// What the page shows of a program after its end.
struct SeenRegions {
    regions: u64,
    leader_parts: u64,
    episodes: u64,
    worker_was_last: u64,
}

fn watched(path: &Path, arguments: &[PathBuf], prints: &str) -> SeenRegions {
    let (page, file) = WatchPage::create().unwrap();
    let mut command = Command::new(path);
    command.args(arguments).env("LD_PRELOAD", library()).env(VARIABLE, WatchPage::path(&file)).env_remove("OMP_NUM_THREADS");
    let ended = command.output().unwrap();
    let printed = String::from_utf8_lossy(&ended.stdout);
    assert_eq!((ended.status.code(), printed.trim()), (Some(5), prints), "{}", String::from_utf8_lossy(&ended.stderr));
    let threads = page.all_threads();
    let leader = threads.iter().find(|thread| thread.thread == thread.process).unwrap();
    let episodes: u64 = threads.iter().map(|thread| thread.counts.episodes).sum();
    let worker_was_last = episodes - leader.counts.episodes;
    SeenRegions { regions: leader.counts.regions, leader_parts: leader.counts.parts, episodes, worker_was_last }
}

#[test]
fn regions_of_two_compilers_and_their_late_member_are_on_the_page() {
    // Regions with two barriers each; GCC's runtime ends a loop at the end of a region without a barrier.
    for (compiler, episodes) in [("gcc", 100), ("clang", 150)] {
        let Some(path) = built(compiler, "regions.c", &["-fopenmp"]) else { continue };
        let seen = watched(&path, &[], "351");
        assert_eq!((seen.regions, seen.leader_parts), (101, 101), "{compiler}");
        assert!(
            seen.episodes >= episodes && seen.worker_was_last >= 45,
            "{compiler}: {} {}",
            seen.episodes,
            seen.worker_was_last
        );
    }
}

#[test]
fn each_library_keeps_the_runtime_that_it_alone_sees() {
    let library = ["-fopenmp", "-shared", "-fPIC"];
    let Some(host) = built("gcc", "host.c", &["-ldl"]) else { return };
    let guests: Option<Vec<PathBuf>> = ["gcc", "clang"].iter().map(|compiler| built(compiler, "guest.c", &library)).collect();
    let Some(guests) = guests else { return };
    let seen = watched(&host, &guests, "80");
    assert_eq!((seen.regions, seen.leader_parts, seen.episodes), (40, 40, 40));
}

#[test]
fn without_a_page_barriers_go_to_the_runtime_that_the_library_sees() {
    let Some(host) = built("gcc", "host.c", &["-ldl"]) else { return };
    let Some(guest) = built("gcc", "guest.c", &["-fopenmp", "-shared", "-fPIC", "-DBARRIER"]) else { return };
    let mut command = Command::new(host);
    command.args([&guest, &guest]).env("LD_PRELOAD", library()).env_remove(VARIABLE).env_remove("OMP_NUM_THREADS");
    let ended = command.output().unwrap();
    assert_eq!((ended.status.code(), &*ended.stdout), (Some(5), &b"80\n"[..]), "{}", String::from_utf8_lossy(&ended.stderr));
}
