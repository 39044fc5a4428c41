//! A cure that is kept for one program on one machine: what it is kept under, its file, and what follows
//! from the runs so far.
use super::program;
use crate::cli::Exec;
use anyhow::{Context, Result, bail, ensure};
use foregather_host::watched::program::{SETTINGS, runtime_of};
use foregather_host::{affinity, cache, cgroup, facts, regular};
use foregather_results::{Speedup, TrustLevel};
use serde::{Deserialize, Serialize};
use std::collections::hash_map::DefaultHasher;
use std::fs::{self, OpenOptions};
use std::hash::Hasher;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

const SCHEMA: &str = "foregather.cure/1";
const MOST_BYTES: u64 = 64 << 10;
/// A larger script is known by its size alone.
const SCRIPT_BYTES: u64 = 4 << 20;
/// Variables that a cure may set, and whether results keep their bits.
const VARIABLES: [(&str, bool); 9] = [
    ("OMP_WAIT_POLICY", true),
    ("KMP_BLOCKTIME", true),
    ("OPENBLAS_THREAD_TIMEOUT", true),
    ("OMP_NUM_THREADS", false),
    ("OMP_THREAD_LIMIT", false),
    ("OMP_MAX_ACTIVE_LEVELS", false),
    ("OPENBLAS_NUM_THREADS", false),
    ("MKL_NUM_THREADS", false),
    ("BLIS_NUM_THREADS", false),
];
/// Pairs of runs before a verdict, and the most until there is one. Later only the last ones count.
pub(super) const ENOUGH: usize = 4;
const MOST: usize = 8;
/// A trial ends before [`ENOUGH`] pairs if their speedups multiplied are less than this: after one run that
/// takes 1.5 times as long, or two that take 1.25 times as long.
const HARMS: f64 = 2.0 / 3.0;
/// A kept cure is compared again after this number of runs.
const AGAIN: u32 = 20;
/// A program without a cure is watched again after this number of seconds: 90 days.
const STALE_S: u64 = 90 * 86_400;
/// A cure that does not make a program faster is kept if the program takes no longer than that with it, and
/// saves processor time.
const AS_LONG: f64 = 0.97;

/// What became of a program's cure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CureState {
    /// No setting is likely to help.
    Nothing,
    /// It is compared with the program as it is.
    Trial,
    /// It helps.
    Kept,
    /// It does not help, or no longer.
    Dropped,
}

/// One run of the program.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct MeasuredRun {
    pub(super) is_cured: bool,
    pub(super) wall_ms: f64,
    pub(super) cpu_ms: f64,
}

/// What is kept.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeptCure {
    schema: String,
    /// All that decides whether it is used.
    key: Vec<String>,
    /// When the program was watched, and when the cure was judged last, in seconds since 1970.
    pub(super) watched_unix_s: u64,
    pub(super) judged_unix_s: u64,
    pub(super) state: CureState,
    pub(super) variables: Vec<(String, String)>,
    /// Whether the program runs on this project's runtime.
    pub(super) own_runtime: bool,
    /// The exit code of the program as it is.
    pub(super) exit_code: Option<u8>,
    pub(super) runs: Vec<MeasuredRun>,
    /// Runs since the last comparison.
    pub(super) unmeasured: u32,
}

/// Reads the settings of a cure. `None` if there are others than variables that a cure may set, or if one may
/// change rounding and that is not allowed.
pub(super) fn settings(words: &str, own_runtime: bool, allow_rounding: bool) -> Option<(Vec<(String, String)>, bool)> {
    let variables = words.split_whitespace().map(|word| {
        let (name, value) = word.split_once('=')?;
        is_allowed(name, value).then(|| (name.to_owned(), value.to_owned()))
    });
    let variables: Vec<(String, String)> = variables.collect::<Option<_>>()?;
    let keeps_bits = |(name, _): &(String, String)| VARIABLES.contains(&(name.as_str(), true));
    let same_bits = !own_runtime && variables.iter().all(keeps_bits);
    let is_empty = variables.is_empty() && !own_runtime;
    (!is_empty && (same_bits || allow_rounding)).then_some((variables, own_runtime))
}

fn is_allowed(name: &str, value: &str) -> bool {
    VARIABLES.iter().any(|(known, _)| *known == name)
        && value.len() <= 16
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

impl KeptCure {
    /// For a program that was watched just now.
    pub(super) fn new(key: Vec<String>, now: u64, found: Option<(Vec<(String, String)>, bool)>) -> Self {
        let state = if found.is_some() { CureState::Trial } else { CureState::Nothing };
        let (variables, own_runtime) = found.unwrap_or_default();
        let (watched_unix_s, judged_unix_s, exit_code, runs, unmeasured) = (now, now, None, Vec::new(), 0);
        let schema = SCHEMA.to_owned();
        Self { schema, key, watched_unix_s, judged_unix_s, state, variables, own_runtime, exit_code, runs, unmeasured }
    }

    /// Returns whether the program is to be watched again.
    pub(super) fn is_stale(&self, now: u64) -> bool {
        matches!(self.state, CureState::Nothing | CureState::Dropped) && now.saturating_sub(self.judged_unix_s) > STALE_S
    }

    /// Whether the next run is measured, and if so whether with the cure. `chance` decides what begins a
    /// pair.
    pub(super) fn next_run(&self, chance: bool) -> Option<bool> {
        let measures = match self.state {
            CureState::Trial => true,
            CureState::Kept => self.unmeasured >= AGAIN || !self.runs.len().is_multiple_of(2),
            CureState::Nothing | CureState::Dropped => false,
        };
        let open = (!self.runs.len().is_multiple_of(2)).then(|| self.runs.last().map(|run| !run.is_cured)).flatten();
        measures.then(|| open.unwrap_or(chance))
    }

    /// The pairs so far, as the program is and with the cure, in milliseconds.
    fn pairs(&self, time: fn(&MeasuredRun) -> f64) -> impl Iterator<Item = (f64, f64)> {
        self.runs.as_chunks::<2>().0.iter().map(move |[one, other]| {
            let (cured, plain) = if one.is_cured { (one, other) } else { (other, one) };
            (time(plain).max(1e-3), time(cured).max(1e-3))
        })
    }

    /// How many times as fast the program is with the cure, by wall and processor time.
    pub(super) fn speedups(&self) -> Option<[Speedup; 2]> {
        Some([Speedup::of_pairs(self.pairs(|run| run.wall_ms))?, Speedup::of_pairs(self.pairs(|run| run.cpu_ms))?])
    }

    /// Adds a run, and judges the cure if the run completes a pair.
    pub(super) fn add(&mut self, run: MeasuredRun, exit_code: u8, now: u64) {
        if run.is_cured {
            // It is not the same program any more.
            if self.exit_code.is_some_and(|plain| plain != exit_code) {
                (self.state, self.judged_unix_s) = (CureState::Dropped, now);
                return;
            }
        } else {
            self.exit_code = Some(exit_code);
        }
        self.runs.push(run);
        self.unmeasured = 0;
        if self.runs.len().is_multiple_of(2) {
            let excess = self.runs.len().saturating_sub(2 * MOST);
            self.runs.drain(..excess);
            self.judge(now);
        }
    }

    fn judge(&mut self, now: u64) {
        let Some([wall, cpu]) = self.speedups() else { return };
        let pairs = self.runs.len() / 2;
        let is_faster = pairs >= ENOUGH && wall.least > 1.0;
        let saves = pairs >= MOST && wall.ratio >= AS_LONG && cpu.least > 1.1;
        let is_slower = pairs >= ENOUGH && wall.most < 1.0;
        let harms = self.pairs(|run| run.wall_ms).map(|(plain, cured)| plain / cured).product::<f64>() < HARMS;
        let helps_no_longer = self.state == CureState::Kept && wall.ratio < 1.0 && cpu.ratio < 1.1;
        let state = match self.state {
            _ if is_faster || saves => CureState::Kept,
            _ if is_slower || helps_no_longer => CureState::Dropped,
            CureState::Trial if harms || pairs >= MOST => CureState::Dropped,
            state => state,
        };
        if state != self.state || state == CureState::Kept {
            self.judged_unix_s = now;
        }
        self.state = state;
    }

    /// Its settings as a user would type them.
    pub(super) fn described(&self) -> String {
        let mut words: Vec<String> = self.variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        words.extend(self.own_runtime.then(|| "this project's runtime".to_owned()));
        words.join(" ")
    }
}

/// Why nothing may be kept here; `None` if it may.
pub(super) fn forbidden() -> Option<&'static str> {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "false");
    if ["CI", "GITHUB_ACTIONS", "GITLAB_CI"].into_iter().any(set) {
        return Some("this is a CI job");
    }
    let user = own_user();
    let home_of = std::env::var_os("HOME").and_then(|home| fs::metadata(home).ok()).map(|about| about.uid());
    let is_for_another = user == Some(0) && (set("SUDO_UID") || set("DOAS_USER") || home_of.is_some_and(|owner| owner != 0));
    is_for_another.then_some("root runs it for another user")
}

fn own_user() -> Option<u32> {
    foregather_host::watched::program::user(std::process::id())
}

/// All that a cure depends on, as far as it can be known before the program runs.
pub(super) fn key(program: &Path, options: &Exec) -> Result<Vec<String>> {
    let machine = facts::machine();
    let mut key = vec![
        format!("foregather {}", env!("CARGO_PKG_VERSION")),
        format!("machine {:?} {}", machine.cpu, machine.kernel),
        format!("program {} {}", program.display(), identity(program)?),
        format!("may change rounding: {}", options.allow_rounding),
        format!("processors {:?} of {:?}, quota {:?}", affinity::allowed(), cgroup::cpuset(), cgroup::quota()),
    ];
    let is_interpreter = program.file_name().is_some_and(|name| {
        let name = name.to_string_lossy();
        ["python", "bash", "sh", "perl", "ruby", "julia", "Rscript"].iter().any(|known| name.starts_with(known))
    });
    let mut words = options.program.iter().skip(1).peekable();
    if is_interpreter && let Some(script) = words.next_if(|word| Path::new(word).is_file()) {
        let script = fs::canonicalize(script)?;
        key.push(format!("script {} {}", script.display(), identity(&script)?));
    }
    key.extend(words.map(|word| format!("argument {}", shape(&word.to_string_lossy()))));
    let set = |name: &&str| std::env::var(name).ok().map(|value| format!("{name}={value}"));
    key.extend(SETTINGS.iter().chain(&["OMP_THREAD_LIMIT"]).filter_map(set));
    if let Ok(Some(loaded)) = program::what(program) {
        let runtimes = program::libraries_of(&loaded).into_iter().filter(|file| runtime_of(&file.to_string_lossy()).is_some());
        for file in runtimes {
            key.push(format!("runtime {} {}", file.display(), identity(&file)?));
        }
    }
    Ok(key)
}

/// The kind of an argument. Numbers and files seldom decide how threads wait; a word may, and may be secret.
fn shape(word: &str) -> String {
    match word {
        _ if word.parse::<f64>().is_ok() => "number".to_owned(),
        _ if word.starts_with('-') => word.split('=').next().unwrap_or(word).to_owned(),
        // An output file need not exist before the first run.
        _ if word.contains('/') || Path::new(word).extension().is_some() || Path::new(word).exists() => "path".to_owned(),
        _ => {
            let mut hash = DefaultHasher::new();
            hash.write(word.as_bytes());
            format!("word {:x}", hash.finish())
        }
    }
}

/// The build id of a file, else a hash of what it holds.
fn identity(file: &Path) -> Result<String> {
    let about = fs::metadata(file).with_context(|| format!("cannot read {}", file.display()))?;
    if let Some(id) = program::build_id(file) {
        return Ok(id);
    }
    let mut hash = DefaultHasher::new();
    if about.len() <= SCRIPT_BYTES {
        hash.write(&regular::read(file, SCRIPT_BYTES)?);
    }
    Ok(format!("{} bytes {:x}", about.len(), hash.finish()))
}

/// The file of a key.
pub(super) fn path(key: &[String]) -> Option<PathBuf> {
    let mut hash = DefaultHasher::new();
    key.iter().for_each(|line| hash.write(line.as_bytes()));
    Some(cache::folder()?.join("cures").join(format!("{:016x}.json", hash.finish())))
}

/// What is kept under a key. `None` if there is nothing, or nothing for this very key.
///
/// # Errors
/// If the file is another user's, others may write it, or it is damaged.
pub(super) fn load(path: &Path, key: &[String]) -> Result<Option<KeptCure>> {
    let Ok(about) = fs::symlink_metadata(path) else { return Ok(None) };
    let remedy = "it is not used; remove it";
    ensure!(about.is_file() && Some(about.uid()) == own_user(), "{} belongs to another user: {remedy}", path.display());
    ensure!(about.permissions().mode() & 0o077 == 0, "others may read or write {}: {remedy}", path.display());
    let text = regular::read_text(path, MOST_BYTES)?;
    let kept: KeptCure = serde_json::from_str(&text).with_context(|| format!("{} is damaged: {remedy}", path.display()))?;
    if kept.variables.iter().any(|(name, value)| !is_allowed(name, value)) || kept.runs.len() > 2 * MOST {
        bail!("{} is damaged: {remedy}", path.display());
    }
    Ok(Some(kept).filter(|kept| kept.schema == SCHEMA && kept.key == key))
}

/// Keeps it, for this user alone; a reader sees the old file or the whole new one.
///
/// # Errors
/// If it cannot be written.
pub(super) fn store(path: &Path, kept: &KeptCure) -> Result<()> {
    let folder = path.parent().context("a folder")?;
    cache::make(folder)?;
    let part = path.with_extension(format!("{}.part", std::process::id()));
    let written = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part).and_then(|mut file| {
        file.write_all(serde_json::to_string_pretty(kept)?.as_bytes())?;
        fs::rename(&part, path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written.with_context(|| format!("cannot write {}", path.display()))
}

/// A comparison in words.
pub(super) fn words(wall: &Speedup) -> String {
    format!("{:.2} times as fast in {} pairs: {}", wall.ratio, wall.pairs, wall.conclusion(TrustLevel::Quiet))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept() -> KeptCure {
        let found = settings("OMP_WAIT_POLICY=passive", false, false);
        KeptCure::new(vec!["key".to_owned()], 1_000, found)
    }

    /// Runs pairs in which the program takes those times, plain and with the cure.
    fn after(mut kept: KeptCure, pairs: usize, plain_ms: f64, cured_ms: f64) -> KeptCure {
        for at in 0..2 * pairs {
            let is_cured = kept.next_run(at % 4 == 0).unwrap();
            let jitter = 1.0 + (at % 3) as f64 / 100.0;
            let ms = if is_cured { cured_ms } else { plain_ms } * jitter;
            kept.add(MeasuredRun { is_cured, wall_ms: ms, cpu_ms: ms }, 0, 2_000);
            if kept.state != CureState::Trial {
                break;
            }
        }
        kept
    }

    #[test]
    fn only_settings_that_keep_bits_are_taken_unless_others_are_allowed() {
        let passive = vec![("OMP_WAIT_POLICY".to_owned(), "passive".to_owned())];
        assert_eq!(settings("OMP_WAIT_POLICY=passive", false, false), Some((passive, false)));
        let one = "OMP_NUM_THREADS=1 OMP_THREAD_LIMIT=1";
        assert_eq!([false, true].map(|allow| settings(one, false, allow).is_some()), [false, true]);
        assert_eq!([false, true].map(|allow| settings("", true, allow).is_some()), [false, true]);
        for wrong in ["taskset -c 0", "LD_PRELOAD=x", "OMP_WAIT_POLICY=a/b", "", "env -u OMP_WAIT_POLICY"] {
            assert_eq!(settings(wrong, false, true), None, "{wrong}");
        }
    }

    #[test]
    fn a_cure_is_kept_if_it_helps_and_dropped_if_not_or_no_longer() {
        let faster = after(kept(), 8, 100.0, 50.0);
        assert_eq!((faster.state, faster.runs.len(), faster.judged_unix_s), (CureState::Kept, 2 * ENOUGH, 2_000));
        for (cured_ms, pairs) in [(55.0, ENOUGH), (70.0, 2), (100.0, 1)] {
            let slower = after(kept(), 8, 50.0, cured_ms);
            assert_eq!((slower.state, slower.runs.len()), (CureState::Dropped, 2 * pairs), "{cured_ms} ms");
        }
        let same = after(kept(), 8, 100.0, 100.0);
        assert_eq!((same.state, same.runs.len()), (CureState::Dropped, 2 * MOST));
        let mut later = faster;
        assert_eq!(later.next_run(true), None, "it was compared just now");
        for _ in 0..MOST {
            later.unmeasured = AGAIN;
            for _ in 0..2 {
                if let Some(is_cured) = later.next_run(true) {
                    let ms = if is_cured { 160.0 } else { 100.0 };
                    later.add(MeasuredRun { is_cured, wall_ms: ms, cpu_ms: ms }, 0, 3_000);
                }
            }
        }
        assert_eq!((later.state, later.judged_unix_s), (CureState::Dropped, 3_000));
        assert!(!later.is_stale(4_000) && later.is_stale(3_001 + STALE_S));
    }

    #[test]
    fn another_exit_code_drops_a_cure_at_once() {
        let mut kept = kept();
        kept.add(MeasuredRun { is_cured: false, wall_ms: 1.0, cpu_ms: 1.0 }, 3, 5);
        assert_eq!(kept.next_run(false), Some(true), "the other half of the pair");
        kept.add(MeasuredRun { is_cured: true, wall_ms: 0.1, cpu_ms: 0.1 }, 134, 6);
        assert_eq!((kept.state, kept.judged_unix_s), (CureState::Dropped, 6));
    }

    #[test]
    fn a_file_is_used_only_for_its_key_and_only_if_nobody_else_can_write_it() {
        let path = std::env::temp_dir().join(format!("foregather-cure-{}", std::process::id())).join("one.json");
        let kept = kept();
        store(&path, &kept).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(load(&path, &kept.key).unwrap(), Some(kept.clone()));
        assert_eq!(load(&path, &["other".to_owned()]).unwrap(), None);
        assert_eq!(load(Path::new("/no/such/file"), &kept.key).unwrap(), None);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o622)).unwrap();
        assert!(load(&path, &kept.key).unwrap_err().to_string().starts_with("others may read or write"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        for wrong in [text[..text.len() / 2].to_owned(), text.replace("OMP_WAIT_POLICY", "LD_PRELOAD")] {
            fs::write(&path, wrong).unwrap();
            assert!(load(&path, &kept.key).unwrap_err().to_string().contains("is damaged"));
        }
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
    }

    #[test]
    fn arguments_are_known_by_their_kind() {
        assert_eq!(["3", "-n", "--size=9", "/"].map(shape), ["number", "-n", "--size", "path"]);
        assert!(shape("solve") != shape("check") && !shape("solve").contains("solve"));
        assert_eq!(["no/such/folder", "not-there.png", "."].map(shape), ["path"; 3], "an output may be new");
    }
}
