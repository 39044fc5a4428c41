//! Programs run under the library, and the page shows their regions and samples of their code.
use foregather_host::watched::page::ThreadActivity::{Arrived, Lock, Part};
use foregather_host::watched::page::{
    RecordedThread, SampleRecord, SamplingState, ThreadActivity, VARIABLE, WatchPage, Withdrawal,
};
use foregather_host::watched::path_of;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// The library, beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.ancestors().map(|folder| folder.join("libforegather_watch.so")).find(|path| path.exists());
    built.expect("cargo builds the library for its tests")
}

/// Builds a program or library. `None` where that compiler or its runtime is missing.
fn built(compiler: &str, source: &str, more: &[&str]) -> Option<PathBuf> {
    let stem = Path::new(source).file_stem().unwrap().to_str().unwrap();
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
    command.args(arguments).env("LD_PRELOAD", library()).env(VARIABLE, path_of(&file)).env_remove("OMP_NUM_THREADS");
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
fn regions_of_llvms_runtime_are_on_the_page_without_its_compiler() {
    let Some(path) = built("gcc", "fork_call.c", &["-l:libomp.so.5"]) else { return };
    let seen = watched(&path, &[], "80");
    assert_eq!((seen.regions, seen.leader_parts, seen.episodes), (40, 40, 80), "two barriers each");
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

/// What the page shows of a program of `planted/hangs.c` once two of its threads wait: all three threads.
fn hung(compiler: &str, kind: &str) -> Option<[RecordedThread; 3]> {
    let path = built(compiler, "../planted/hangs.c", &["-fopenmp", "-pthread", "-g"])?;
    let (page, file) = WatchPage::create().unwrap();
    let mut command = Command::new(path);
    command.arg(kind).env("LD_PRELOAD", library()).env(VARIABLE, path_of(&file)).env_remove("OMP_NUM_THREADS");
    // LLVM's runtime then sleeps at once, at a condition variable.
    command.env("KMP_BLOCKTIME", "0");
    let mut child = command.spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut threads = Vec::new();
    while Instant::now() < deadline {
        threads = page.threads();
        let waits = |thread: &RecordedThread| matches!(thread.activity, ThreadActivity::Arrived | ThreadActivity::Lock);
        let awaited = if kind == "circle" { 3 } else { 2 };
        let is_whole = threads.len() == 3 && threads.iter().all(|thread| thread.team == 3);
        if is_whole && threads.iter().filter(|thread| waits(thread)).count() == awaited {
            break;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    threads.sort_by_key(|thread| (thread.activity != ThreadActivity::Arrived, thread.thread));
    Some(threads.try_into().unwrap())
}

#[test]
fn a_member_that_does_not_arrive_belongs_to_the_team_of_those_that_wait() {
    for compiler in ["gcc", "clang"] {
        let Some([one, other, missing]) = hung(compiler, "read") else { continue };
        assert_eq!([one.activity, other.activity, missing.activity], [Arrived, Arrived, Part], "{compiler}");
        assert!(one.leader > 0 && one.leader == other.leader && one.leader == missing.leader);
        assert!(one.code > 0 && one.subject == other.subject && one.subject == missing.subject);
    }
    let Some([one, other, missing]) = hung("gcc", "circle") else { return };
    assert_eq!([one.activity, other.activity, missing.activity], [Arrived, Arrived, Lock]);
    assert!(one.leader == missing.leader && missing.holder == missing.process, "its leader holds the mutex");
}

/// A program of `planted/trouble.c` with samples: how many there were, in how many late arrivals, and
/// what hindered them.
fn sampled(arguments: &[&str]) -> Option<(usize, usize, SamplingState)> {
    // Tests run at the same time, and use one program.
    static TROUBLE: LazyLock<Option<PathBuf>> = LazyLock::new(|| built("gcc", "../planted/trouble.c", &["-fopenmp", "-O2"]));
    let path = TROUBLE.as_ref()?;
    let (page, file) = WatchPage::create().unwrap();
    page.ask_for_samples();
    let mut command = Command::new(path);
    command.args(arguments).env("LD_PRELOAD", library()).env(VARIABLE, path_of(&file)).env_remove("OMP_NUM_THREADS");
    let ended = command.output().unwrap();
    assert_eq!(ended.status.code(), Some(7), "{arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
    let (mut count, mut late, mut next) = (0, 0, 0);
    page.samples(&mut next, |record| {
        count += usize::from(matches!(record, SampleRecord::Sample(sample) if sample.address != 0));
        late += usize::from(matches!(record, SampleRecord::Late { .. }));
    });
    Some((count, late, page.sampling_state()))
}

#[test]
fn samples_are_taken_as_often_as_processor_time_is_used() {
    // 0.6 s of work in one thread, beside others that have little or none.
    let Some((count, late, state)) = sampled(&["server", "600"]) else { return };
    assert!((5..=260).contains(&count) && late == 0, "{count} {late}");
    assert_eq!(state, SamplingState::default());
    let Some((count, late, _)) = sampled(&["extra", "600"]) else { return };
    assert!(late > 0 && late < count, "{late} late arrivals of {count} samples");
}

#[test]
fn a_program_that_uses_all_signals_gets_each_of_them_and_no_other() {
    for (waits, why) in [("0", Withdrawal::SignalTaken), ("1", Withdrawal::SignalAwaited)] {
        let Some((count, _, state)) = sampled(&["demands", "400", waits]) else { return };
        assert!(count > 0, "samples before it touched the signal");
        assert_eq!(state, SamplingState { withdrawal: Some(why), untimed: 0 });
    }
}

#[test]
fn children_and_what_they_execute_end_as_without_samples() {
    let Some((count, _, state)) = sampled(&["dies", "300"]) else { return };
    assert!(count > 0, "children have timers of their own");
    assert_eq!(state, SamplingState::default());
}

#[test]
fn more_threads_than_timers_are_counted() {
    let Some((_, _, state)) = sampled(&["threads", "100", "50"]) else { return };
    assert_eq!(state, SamplingState { withdrawal: None, untimed: 37 }, "64 of 101");
    // Any user may become the one that it is.
    let own = std::fs::metadata("/proc/self").unwrap();
    if own.uid() != own.gid() {
        return eprintln!("not run: the program takes one number for the user and the group");
    }
    let Some((_, _, state)) = sampled(&["drops", "100", &own.uid().to_string()]) else { return };
    assert_eq!(state.withdrawal, Some(Withdrawal::UserChanged));
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
