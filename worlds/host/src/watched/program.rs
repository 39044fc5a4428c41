//! What a process is, and which runtimes and settings of threads it has.
use super::{calls, page};
use crate::run_state;
use foregather_machine::Rank;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Variables that decide how threads are made and wait. No other variable of a foreign process is kept.
pub const SETTINGS: [&str; 20] = [
    "OMP_NUM_THREADS",
    "OMP_WAIT_POLICY",
    "OMP_PROC_BIND",
    "OMP_PLACES",
    "OMP_DYNAMIC",
    "OMP_MAX_ACTIVE_LEVELS",
    "OMP_NESTED",
    "GOMP_SPINCOUNT",
    "GOMP_CPU_AFFINITY",
    "KMP_BLOCKTIME",
    "KMP_AFFINITY",
    "OPENBLAS_NUM_THREADS",
    "OPENBLAS_THREAD_TIMEOUT",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
    "FOREGATHER_WAIT",
    "FOREGATHER_THREADS",
];

/// Parts of file names, and the runtimes that they stand for. The first that fits counts.
const RUNTIMES: [(&str, &str); 12] = [
    ("libforegather_gomp", "foregather"),
    ("libforegather_blas", "foregather (BLAS)"),
    ("libgomp", "libgomp"),
    ("libiomp5", "libiomp5"),
    ("libomp.", "libomp"),
    ("libomp-", "libomp"),
    ("libmkl_", "MKL"),
    ("libopenblas", "OpenBLAS"),
    ("libscipy_openblas", "OpenBLAS"),
    ("libblis", "BLIS"),
    ("libtbb", "TBB"),
    ("libpython", "Python"),
];

/// A process, as far as it matters for advice about its threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramFacts {
    /// Its number.
    pub process: u32,
    /// The name of its file.
    pub name: String,
    /// Its runtimes of threads, each once, in the order in which they are mapped.
    pub runtimes: Vec<String>,
    /// Those of [`SETTINGS`] that it was started with.
    pub settings: Vec<(String, String)>,
}

/// Looks at a process. `None` if there is none of that number. What the system hides is left empty.
pub fn read(process: u32) -> Option<ProgramFacts> {
    let name = name(process)?;
    let maps = fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
    let environ = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
    let mut runtimes = runtimes(&maps);
    if name.starts_with("python") && !runtimes.iter().any(|each| each == "Python") {
        runtimes.push("Python".to_owned());
    }
    Some(ProgramFacts { process, name, runtimes, settings: settings(&environ) })
}

/// The name of a process's file, else the name that it has given itself. `None` if there is none of that
/// number, or the system hides it.
pub fn name(process: u32) -> Option<String> {
    let of_file = executable(process).and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    // The kernel appends this if the file was replaced while the program runs.
    let of_file = of_file.map(|name| name.strip_suffix(" (deleted)").map_or(name.clone(), str::to_owned));
    of_file.or_else(|| Some(fs::read_to_string(format!("/proc/{process}/comm")).ok()?.trim().to_owned()))
}

/// The path of the page that a process of this user records into: `foregather advise` has started it.
pub fn page_path(process: u32) -> Option<PathBuf> {
    path_in(process, page::VARIABLE)
}

/// The path of the page into which a process of this user notes its calls of MPI: `foregather hang` has
/// started it.
pub fn call_page_path(process: u32) -> Option<PathBuf> {
    path_in(process, calls::VARIABLE)
}

/// The path of a page that a variable of a process of this user names. No other file of that user is opened.
fn path_in(process: u32, variable: &str) -> Option<PathBuf> {
    let path = setting(process, variable).filter(|_| user(process) == user(std::process::id()));
    path.filter(|path| path.starts_with("/proc/")).map(PathBuf::from)
}

/// Variables by which launchers name a process's rank, those of this project's own first.
const RANKS: [&str; 5] = ["FOREGATHER_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"];

/// The rank that a launcher has given a process. What the process starts has the same variables.
pub fn rank(process: u32) -> Option<Rank> {
    RANKS.iter().find_map(|name| setting(process, name)?.parse().ok())
}

/// A variable that a process was started with.
fn setting(process: u32, name: &str) -> Option<String> {
    let environ = fs::read(format!("/proc/{process}/environ")).ok()?;
    let value = |entry: &[u8]| Some(str::from_utf8(entry).ok()?.strip_prefix(name)?.strip_prefix('=')?.to_owned());
    environ.split(|&byte| byte == 0).find_map(value)
}

/// The file of a process's program; `None` for another user's.
pub fn executable(process: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/exe")).ok()
}

/// The user that a process runs as.
pub fn user(process: u32) -> Option<u32> {
    fs::metadata(format!("/proc/{process}")).ok().map(|about| about.uid())
}

/// Those of the processes that are of the same user and the same file as this one. Two programs that only
/// share an interpreter are not the same, so their scripts are compared, too.
pub fn same_programs(process: u32, others: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let about = |each: u32| Some((user(each)?, executable(each)?, script(each)));
    let own = about(process);
    others.into_iter().filter(|&each| own.is_some() && about(each) == own).collect()
}

/// Returns whether the process is there and has not exited.
pub fn is_running(process: u32) -> bool {
    run_state::started(process).is_some() && run_state::unreaped_status(process).is_none()
}

/// The first argument if it does not begin with a dash: what interpreters run.
fn script(process: u32) -> Option<Vec<u8>> {
    let line = fs::read(format!("/proc/{process}/cmdline")).ok()?;
    line.split(|&byte| byte == 0).nth(1).filter(|word| !word.is_empty() && !word.starts_with(b"-")).map(<[u8]>::to_vec)
}

/// The runtime of threads that a file contains.
pub fn runtime_of(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    RUNTIMES.iter().find(|(part, _)| name.contains(part)).map(|(_, runtime)| *runtime)
}

fn runtimes(maps: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for path in maps.lines().filter_map(|line| line.split_ascii_whitespace().nth(5)) {
        if let Some(runtime) = runtime_of(path)
            && !found.iter().any(|each| each == runtime)
        {
            found.push(runtime.to_owned());
        }
    }
    found
}

fn settings(environ: &[u8]) -> Vec<(String, String)> {
    let pairs = environ.split(|&byte| byte == 0).filter_map(|entry| str::from_utf8(entry).ok()?.split_once('='));
    pairs.filter(|(name, _)| SETTINGS.contains(name)).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn runtimes_are_known_by_the_files_that_are_mapped() {
        let maps = "7f00-7f01 r-xp 0000 08:01 5 /opt/x/libgomp-a34b3233.so.1.0.0\n\
                    7f01-7f02 rw-p 0000 08:01 5 /opt/x/libgomp-a34b3233.so.1.0.0\n\
                    7f02-7f03 rw-p 0000 00:00 0\n\
                    7f03-7f04 r-xp 0000 08:01 6 /opt/x/libscipy_openblas64_-ff651d7f.so\n\
                    7f04-7f05 r-xp 0000 08:01 7 /usr/lib/llvm-14/lib/libomp.so.5\n";
        assert_eq!(runtimes(maps), ["libgomp", "OpenBLAS", "libomp"]);
    }

    #[test]
    fn only_settings_of_threads_are_kept_of_an_environment() {
        let kept = settings(b"PATH=/bin\0OMP_NUM_THREADS=4\0SECRET=x\0GOMP_SPINCOUNT=\0broken\0");
        assert_eq!(kept, [("OMP_NUM_THREADS".to_owned(), "4".to_owned()), ("GOMP_SPINCOUNT".to_owned(), String::new())]);
    }

    #[test]
    fn two_processes_of_a_program_know_each_other_and_a_third_is_another() {
        let start = |program: &str, argument: &str| Command::new(program).arg(argument).spawn().unwrap();
        let mut all = [start("sleep", "1000"), start("sleep", "1000"), start("sleep", "999")];
        let [one, two, other] = [all[0].id(), all[1].id(), all[2].id()];
        // A child has its parent's file until it has executed its own.
        while read(one).is_none_or(|facts| facts.name == read(std::process::id()).unwrap().name) {
            std::thread::yield_now();
        }
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
        while !same_programs(one, [two]).contains(&two) && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        let (same, is_running) = (same_programs(one, [one, two, other]), is_running(one));
        for child in &mut all {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!(same, [one, two]);
        assert!(is_running && !super::is_running(one), "it runs, and then it has ended");
    }
}
