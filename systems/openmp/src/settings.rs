//! The program's environment: OpenMP's variables, read once, and what of them is wrong.
use crate::allocator::AllocatorSetting;
use crate::device::DeviceSettings;
use crate::icv::{Icvs, MOST_LEVELS, Schedule, ScheduleKind};
use crate::places::PlaceSettings;
use crate::variables::{VariableReader, list, named, number, positive, scaled, truth};
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use foregather_host::forks::Once;
use foregather_host::{affinity, pthread, settings};
use foregather_machine::{Costs, CpuId};
use foregather_team::Allowed;
use foregather_wait::Policy;

/// What the environment and the machine say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What the program's first task goes by.
    pub icvs: Icvs,
    /// Default sizes of regions by depth, from the outermost on (`OMP_NUM_THREADS`).
    pub threads: Vec<u32>,
    /// Whether constructs may be cancelled (`OMP_CANCELLATION`).
    pub cancellation: bool,
    /// Bytes of a new thread's stack (`OMP_STACKSIZE`, else `GOMP_STACKSIZE`).
    pub stack_bytes: Option<usize>,
    /// Where threads are kept, and how they are shown.
    pub places: PlaceSettings,
    /// Leagues of teams, and devices.
    pub devices: DeviceSettings,
    /// The usual allocator (`OMP_ALLOCATOR`).
    pub allocator: AllocatorSetting,
    /// The highest priority of a task (`OMP_MAX_TASK_PRIORITY`).
    pub max_task_priority: u32,
    /// Which settings are shown when the program first uses the runtime (`OMP_DISPLAY_ENV`).
    pub shown: Option<DisplayEnv>,
    /// Whether `OMP_WAIT_POLICY` asks for waits that spin (true) or sleep (false). It is obeyed only if
    /// `FOREGATHER_WAIT` is `gomp`.
    pub asks_to_spin: Option<bool>,
    /// How long it asks waits to spin, in looks (`GOMP_SPINCOUNT`). Obeyed as `asks_to_spin`.
    pub spin_looks: Option<u64>,
    /// The policy that `FOREGATHER_WAIT` names.
    pub wait: Option<String>,
    /// Whether statistics of regions are recorded (`FOREGATHER_STATS`).
    pub stats: bool,
    /// Processors that the program may use.
    pub processors: u32,
    /// Why regions have their default size.
    pub why_threads: String,
    /// What was not understood, and is ignored: a sentence each.
    pub complaints: Vec<String>,
}

/// Which settings are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DisplayEnv {
    /// Those of the standard.
    Standard,
    /// Those of the GNU runtime, too.
    All,
}

/// Variables by which a user binds threads.
const BINDING: [&str; 3] = ["OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY"];

/// The settings of this process, as they were when it first asked. What is wrong with them is said then, on
/// standard error.
pub fn settings() -> &'static Settings {
    static SETTINGS: Once<Settings> = Once::new();
    if let Some(settings) = SETTINGS.get() {
        return settings;
    }
    let read = || {
        let allowed = Allowed::by_default();
        if !BINDING.iter().any(|name| settings::variable(name).is_some()) {
            return Settings::read(settings::variable, allowed, &affinity::allowed());
        }
        // Another runtime of the program may have bound this thread by the same variables.
        let cpus = affinity::allowed_at_start();
        Settings::read(settings::variable, Allowed { processors: cpus.len() as u32, ..allowed }, &cpus)
    };
    let settings = SETTINGS.get_or_compute(read);
    settings.report_once();
    settings
}

impl Settings {
    /// Writes to standard error what is wrong with the environment, and the settings if it asks for them.
    #[cold]
    fn report_once(&self) {
        static REPORTED: AtomicBool = AtomicBool::new(false);
        if REPORTED.swap(true, Relaxed) {
            return;
        }
        self.complaints.iter().for_each(|complaint| eprintln!("foregather: {complaint}"));
        if let Some(shown) = self.shown {
            eprint!("{}", self.text(shown));
        }
    }

    /// Reads the variables by `of`, on a machine that allows so much, on these processors.
    pub fn read(of: impl Fn(&str) -> Option<String>, allowed: Allowed, cpus: &[CpuId]) -> Self {
        let mut reader = VariableReader::new(&of);
        let machine = allowed.members();
        let threads = reader.get("OMP_NUM_THREADS", "numbers from 1 on, a comma between", |text| list(text, positive));
        let threads = threads.unwrap_or_default();
        let boolean = |reader: &mut VariableReader<'_>, name| reader.get(name, "true or false", truth);
        let dynamic = boolean(&mut reader, "OMP_DYNAMIC").unwrap_or(false);
        let nested = boolean(&mut reader, "OMP_NESTED");
        let cancellation = boolean(&mut reader, "OMP_CANCELLATION").unwrap_or(false);
        let levels = |text: &str| text.parse::<u64>().ok().map(|levels| levels.min(MOST_LEVELS.into()) as u32);
        let levels = reader.get("OMP_MAX_ACTIVE_LEVELS", "a number from 0 on", levels);
        let limit = reader.get("OMP_THREAD_LIMIT", "a number from 1 on", positive);
        let schedule = reader.get("OMP_SCHEDULE", "[monotonic:]static|dynamic|guided|auto[,chunk]", schedule);
        let places = PlaceSettings::read(&mut reader, cpus);
        let devices = DeviceSettings::read(&mut reader);
        let allocator = reader.get("OMP_ALLOCATOR", "an allocator's name, or a space with traits", AllocatorSetting::parse);
        let allocator = allocator.unwrap_or_default();
        let priority = reader.get("OMP_MAX_TASK_PRIORITY", "a number from 0 on", number);
        let stack = reader.get("OMP_STACKSIZE", "a number of at least 16K, then B, K, M or G", bytes);
        let stack_bytes = stack.or_else(|| reader.get("GOMP_STACKSIZE", "a number of at least 16K, then B, K, M or G", bytes));
        let asks_to_spin =
            reader.get("OMP_WAIT_POLICY", "active or passive", |text| named(text, &[("active", true), ("passive", false)]));
        let spin_looks = reader.get("GOMP_SPINCOUNT", "a number, then nothing, K, M or G, or infinite", looks);
        let shown = reader.get("OMP_DISPLAY_ENV", "true, false or verbose", |text| {
            named(text, &[("false", None), ("true", Some(DisplayEnv::Standard)), ("verbose", Some(DisplayEnv::All))])
        });
        let shown = shown.flatten();
        // Several sizes, or places, are a wish for nested regions.
        let lists = threads.len() > 1 || places.is_list;
        let active_levels = levels.unwrap_or(if nested == Some(true) || nested.is_none() && lists { MOST_LEVELS } else { 1 });
        let why_threads = if threads.is_empty() { allowed.to_string() } else { "OMP_NUM_THREADS".to_owned() };
        let mut complaints = reader.complaints;
        if of("FOREGATHER").is_some_and(|value| value == "off") {
            complaints.push("FOREGATHER=off, but the program has no other OpenMP runtime: this one serves it".to_owned());
        }
        Self {
            icvs: Icvs {
                threads: threads.first().copied().unwrap_or(machine),
                dynamic,
                active_levels,
                schedule: schedule.unwrap_or(Icvs::DEFAULT.schedule),
                thread_limit: limit.unwrap_or(u32::MAX),
                bind: places.binds[0],
                device: devices.default,
                allocator: 0,
            },
            threads,
            cancellation,
            stack_bytes,
            places,
            devices,
            allocator,
            max_task_priority: priority.unwrap_or(0),
            shown,
            asks_to_spin,
            spin_looks,
            wait: of("FOREGATHER_WAIT"),
            stats: of("FOREGATHER_STATS").is_some(),
            processors: allowed.processors.max(1),
            why_threads,
            complaints,
        }
    }

    /// The default size of regions that lie `level` regions deep, where the program has named one.
    pub(crate) fn threads_at(&self, level: u32) -> Option<u32> {
        (self.threads.len() > 1).then(|| self.threads[(level as usize).min(self.threads.len() - 1)])
    }

    /// How the members of regions wait, and what is wrong with the name that was given.
    pub fn policy(&self, costs: &Costs) -> (Policy, Option<String>) {
        let usual = Policy::adaptive(costs);
        match self.wait.as_deref() {
            None => (usual, None),
            Some("gomp") => (self.asked_for().unwrap_or(usual), None),
            Some(name) => match Policy::parse(name, costs) {
                Ok(policy) => (policy, None),
                Err(error) => (usual, Some(format!("FOREGATHER_WAIT: {error}"))),
            },
        }
    }

    /// The policy that OpenMP's own variables ask for.
    fn asked_for(&self) -> Option<Policy> {
        match (self.spin_looks, self.asks_to_spin) {
            (Some(0), _) | (None, Some(false)) => Some(Policy::Block),
            (Some(looks), _) => Some(Policy::TwoPhase { spin: foregather_machine::Nanos(looks.saturating_mul(LOOK_NS)) }),
            (None, Some(true)) => Some(Policy::TwoPhase { spin: ACTIVE }),
            (None, None) => None,
        }
    }
}

/// About what one look of a spinning thread takes.
const LOOK_NS: u64 = 3;
/// How long a thread that was asked to spin does so before it sleeps.
const ACTIVE: foregather_machine::Nanos = foregather_machine::Nanos::from_ms(5 * 60 * 1_000);

fn schedule(text: &str) -> Option<Schedule> {
    let (modifier, text) = text.split_once(':').map_or((None, text), |(modifier, text)| (Some(modifier.trim()), text.trim()));
    let monotonic = match modifier {
        None => false,
        Some(name) if name.eq_ignore_ascii_case("monotonic") => true,
        Some(name) if name.eq_ignore_ascii_case("nonmonotonic") => false,
        Some(_) => return None,
    };
    let (name, chunk) = text.split_once(',').map_or((text, None), |(name, chunk)| (name.trim(), Some(chunk.trim())));
    let kind = named(
        name,
        &[
            ("static", ScheduleKind::Static),
            ("dynamic", ScheduleKind::Dynamic),
            ("guided", ScheduleKind::Guided),
            ("auto", ScheduleKind::Auto),
        ],
    )?;
    let chunk = match chunk {
        None if kind == ScheduleKind::Static || kind == ScheduleKind::Auto => 0,
        None => 1,
        Some("0") if kind == ScheduleKind::Static => 0,
        Some(chunk) => positive(chunk)?.into(),
    };
    // The plain kind of a static schedule comes in order anyway.
    Some(Schedule { kind, chunk, monotonic: monotonic || kind == ScheduleKind::Static && modifier.is_none() })
}

/// A size of stacks that a thread can have.
fn bytes(text: &str) -> Option<usize> {
    let bytes = scaled(text, &[(' ', 10), ('b', 0), ('k', 10), ('m', 20), ('g', 30)])?;
    usize::try_from(bytes).ok().filter(|&bytes| bytes >= pthread::LEAST_STACK_BYTES)
}

fn looks(text: &str) -> Option<u64> {
    if text.eq_ignore_ascii_case("infinite") || text.eq_ignore_ascii_case("infinity") {
        return Some(u64::MAX);
    }
    scaled(text, &[(' ', 0), ('k', 10), ('m', 20), ('g', 30)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Settings {
        let of = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        Settings::read(of, Allowed { processors: 8, quota: Some(3.5), wanted: None, share: None }, &[0, 1, 2, 3, 4, 5, 6, 7])
    }

    #[test]
    fn an_empty_environment_takes_what_processors_and_quota_allow() {
        let settings = read(&[]);
        assert_eq!(settings.icvs, Icvs { threads: 4, ..Icvs::DEFAULT });
        assert_eq!((settings.complaints.len(), settings.processors), (0, 8));
        assert_eq!(settings.threads_at(1), None);
    }

    #[test]
    fn sizes_may_be_a_list_which_asks_for_nested_regions() {
        let settings = read(&[("OMP_NUM_THREADS", " 16 , 2")]);
        assert_eq!(settings.icvs.threads, 16, "more than the machine has, since it was asked for");
        assert!(settings.icvs.active_levels > 1);
        assert_eq!([1, 2, 9].map(|level| settings.threads_at(level)), [Some(2), Some(2), Some(2)]);
        let flat = read(&[("OMP_NUM_THREADS", "16,2"), ("OMP_NESTED", "false")]);
        assert_eq!(flat.icvs.active_levels, 1);
        for (levels, active) in [("3", 3), ("4294967296", MOST_LEVELS)] {
            assert_eq!(read(&[("OMP_NESTED", "TRUE"), ("OMP_MAX_ACTIVE_LEVELS", levels)]).icvs.active_levels, active);
        }
    }

    #[test]
    fn variables_for_all_devices_hold_where_there_is_none_for_the_host() {
        let settings = read(&[("OMP_NUM_TEAMS_ALL", "3"), ("OMP_NUM_THREADS_ALL", "46,2"), ("OMP_NUM_THREADS", "5")]);
        assert_eq!((settings.devices.teams, settings.icvs.threads), (3, 5));
        assert!(read(&[("OMP_NUM_TEAMS_ALL", "x")]).complaints[0].starts_with("OMP_NUM_TEAMS_ALL=x"));
        assert_eq!(read(&[("OMP_TARGET_OFFLOAD", "mandatory")]).icvs.device, -4, "a program that demands a device has none");
    }

    #[test]
    fn schedules_have_a_modifier_a_kind_and_a_chunk() {
        let of = |text| read(&[("OMP_SCHEDULE", text)]).icvs.schedule;
        assert_eq!(of("guided,7"), Schedule { kind: ScheduleKind::Guided, chunk: 7, monotonic: false });
        assert_eq!(of("MONOTONIC: Dynamic , 3"), Schedule { kind: ScheduleKind::Dynamic, chunk: 3, monotonic: true });
        assert_eq!(of("nonmonotonic:dynamic"), Schedule { kind: ScheduleKind::Dynamic, chunk: 1, monotonic: false });
        assert_eq!((of("static").chunk, of("static,0").chunk, of("auto").kind), (0, 0, ScheduleKind::Auto));
    }

    #[test]
    fn what_is_not_understood_is_said_and_ignored() {
        for (name, wrong) in [
            ("OMP_NUM_THREADS", "0"),
            ("OMP_NUM_THREADS", "2,,3"),
            ("OMP_NUM_THREADS", "99999999999"),
            ("OMP_SCHEDULE", "fast"),
            ("OMP_SCHEDULE", "dynamic,0"),
            ("OMP_SCHEDULE", "sometimes:static"),
            ("OMP_DYNAMIC", "maybe"),
            ("OMP_STACKSIZE", "2 T"),
            ("OMP_STACKSIZE", "0"),
            ("OMP_STACKSIZE", "15"),
            ("OMP_STACKSIZE", "99999999999999999999g"),
            ("OMP_PROC_BIND", "true,near"),
            ("OMP_PROC_BIND", "close,true"),
            ("OMP_PLACES", "{0"),
            ("OMP_PLACES", "{9}"),
            ("GOMP_CPU_AFFINITY", "3-1"),
            ("OMP_DISPLAY_ENV", "loud"),
            ("OMP_DEFAULT_DEVICE", "-1"),
            ("OMP_NUM_TEAMS", "0"),
            ("OMP_TARGET_OFFLOAD", "never"),
            ("OMP_WAIT_POLICY", "busy"),
            ("GOMP_SPINCOUNT", "-1"),
            ("OMP_MAX_ACTIVE_LEVELS", "-1"),
            ("OMP_MAX_TASK_PRIORITY", "high"),
            ("OMP_THREAD_LIMIT", "\u{1b}[2J"),
        ] {
            let settings = read(&[(name, wrong)]);
            assert_eq!(settings.complaints.len(), 1, "{name}={wrong}");
            assert!(settings.complaints[0].starts_with(name) && !settings.complaints[0].contains('\u{1b}'), "{settings:?}");
            assert_eq!(Settings { complaints: Vec::new(), ..settings }, read(&[]), "{name}={wrong}");
        }
    }

    #[test]
    fn stacks_are_in_kibibytes_unless_a_letter_says_otherwise() {
        for (text, bytes) in [("512", 512 << 10), ("16 M", 16 << 20), ("16384b", 16384), ("1g", 1 << 30)] {
            assert_eq!(read(&[("OMP_STACKSIZE", text)]).stack_bytes, Some(bytes), "{text}");
        }
        assert_eq!(read(&[("GOMP_STACKSIZE", "64")]).stack_bytes, Some(64 << 10));
    }

    #[test]
    fn the_programs_wish_to_spin_is_kept_and_obeyed_only_if_the_user_says_so() {
        let costs = Costs::TYPICAL;
        let passive = [("OMP_WAIT_POLICY", "PASSIVE")];
        assert_eq!(read(&passive).asks_to_spin, Some(false));
        assert_eq!(read(&passive).policy(&costs), (Policy::adaptive(&costs), None));
        let obeyed =
            |more: &[(&'static str, &'static str)]| read(&[&[("FOREGATHER_WAIT", "gomp")], more].concat()).policy(&costs).0;
        assert_eq!(obeyed(&passive), Policy::Block);
        assert_eq!(obeyed(&[]), Policy::adaptive(&costs));
        assert_eq!(obeyed(&[("GOMP_SPINCOUNT", "0")]), Policy::Block);
        assert!(matches!(obeyed(&[("GOMP_SPINCOUNT", "10k")]), Policy::TwoPhase { spin } if spin.0 == 10 * 1024 * LOOK_NS));
        assert!(matches!(obeyed(&[("GOMP_SPINCOUNT", "infinite")]), Policy::TwoPhase { .. }));
        let (policy, trouble) = read(&[("FOREGATHER_WAIT", "hope")]).policy(&costs);
        assert_eq!(policy, Policy::adaptive(&costs));
        assert!(trouble.unwrap().contains("FOREGATHER_WAIT"));
    }
}
