//! An observation as JSON and back, so that it can be judged on another machine.
//!
//! Reading trusts nothing: a value of another kind, a number that no counter reaches or a name that is not
//! known is an error that says where it is.
use crate::{EpisodeTally, Ledger, Observation, PythonLine, PythonLines, SampleTally, SampledFunction, ThreadAccount, TimeSplit};
use foregather_host::cgroup::Throttling;
use foregather_host::sched::SystemLoad;
use foregather_host::watched::page::{ActivityCounts, ActivityTimes, Creations, KnownWork, RecordedThread, ThreadActivity};
use foregather_host::watched::program::{ProgramFacts, SETTINGS};
use foregather_host::watched::surroundings::Competitor;
use foregather_host::watched::task::{SystemCall, TaskFacts, TaskReading, TaskState};
use foregather_machine::Nanos;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// More time or events than these together are no recording: sums of them stay below 2^63.
const MOST: u64 = i64::MAX as u64;

impl Observation {
    /// All of it as JSON, but for what [`Observation::python`] and samples have not decided yet.
    pub fn to_json(&self) -> Value {
        self.store()
    }

    /// Reads what [`Observation::to_json`] returned.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub fn from_json(value: &Value) -> Result<Self, String> {
        let sum = summed(value);
        if sum > u128::from(MOST) {
            return Err("its numbers add up to more than 292 years in nanoseconds".to_owned());
        }
        let seen = Self::restore(value)?;
        if seen.quota.is_some_and(|quota| !(0.001..=1e6).contains(&quota)) {
            return Err("quota: expected 0.001 to 1000000 processors".to_owned());
        }
        let unknown = |(name, _): &(String, String)| !SETTINGS.contains(&name.as_str());
        if let Some((name, _)) = seen.programs.iter().flat_map(|program| &program.settings).find(|setting| unknown(setting)) {
            return Err(format!("programs: {name} is no setting of threads"));
        }
        Ok(seen)
    }
}

/// All whole numbers of a value, added up.
fn summed(value: &Value) -> u128 {
    match value {
        Value::Number(number) => number.as_u64().unwrap_or(0).into(),
        Value::Array(all) => all.iter().map(summed).sum(),
        Value::Object(all) => all.values().map(summed).sum(),
        _ => 0,
    }
}

/// What a recording can hold.
trait Stored: Sized {
    fn store(&self) -> Value;
    fn restore(value: &Value) -> Result<Self, String>;
}

fn expected<T>(value: Option<T>, what: &str) -> Result<T, String> {
    value.ok_or_else(|| format!("expected {what}"))
}

/// A part of a value; an error says which one.
fn part<T: Stored>(name: &str, value: &Value) -> Result<T, String> {
    T::restore(value).map_err(|why| match why.strip_prefix("expected") {
        Some(_) => format!("{name}: {why}"),
        None => format!("{name}.{why}"),
    })
}

fn field<T: Stored>(all: &Value, name: &str) -> Result<T, String> {
    part(name, all.get(name).unwrap_or(&Value::Null))
}

macro_rules! scalars {
    ($($kind:ty, $what:literal, $read:expr;)*) => {$(
        impl Stored for $kind {
            fn store(&self) -> Value {
                json!(self)
            }

            fn restore(value: &Value) -> Result<Self, String> {
                let read: fn(&Value) -> Option<Self> = $read;
                expected(read(value), $what)
            }
        }
    )*};
}

scalars! {
    u32, "a number of type u32", |value| value.as_u64()?.try_into().ok();
    u64, "a number of type u64", Value::as_u64;
    i32, "a whole number", |value| value.as_i64()?.try_into().ok();
    i64, "a whole number", |value| value.as_i64().filter(|number| number.unsigned_abs() <= MOST);
    f64, "a number", |value| value.as_f64().filter(|number| number.is_finite());
    bool, "true or false", Value::as_bool;
    String, "text", |value| value.as_str().map(str::to_owned);
}

impl Stored for Nanos {
    fn store(&self) -> Value {
        self.0.store()
    }
    fn restore(value: &Value) -> Result<Self, String> {
        u64::restore(value).map(Self)
    }
}

/// An address or another number of which no sum is made.
struct Hexadecimal(u64);

impl Stored for Hexadecimal {
    fn store(&self) -> Value {
        json!(format!("{:#x}", self.0))
    }
    fn restore(value: &Value) -> Result<Self, String> {
        let digits = value.as_str().and_then(|text| text.strip_prefix("0x"));
        expected(digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()), "an address").map(Self)
    }
}

impl<T: Stored> Stored for Option<T> {
    fn store(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::store)
    }
    fn restore(value: &Value) -> Result<Self, String> {
        if value.is_null() { Ok(None) } else { T::restore(value).map(Some) }
    }
}

impl<T: Stored> Stored for Vec<T> {
    fn store(&self) -> Value {
        self.iter().map(T::store).collect()
    }
    fn restore(value: &Value) -> Result<Self, String> {
        let all = expected(value.as_array(), "a list")?;
        all.iter().enumerate().map(|(at, each)| part(&format!("[{at}]"), each)).collect()
    }
}

impl<A: Stored, B: Stored> Stored for (A, B) {
    fn store(&self) -> Value {
        json!([self.0.store(), self.1.store()])
    }
    fn restore(value: &Value) -> Result<Self, String> {
        match value.as_array().map(Vec::as_slice) {
            Some([first, second]) => Ok((A::restore(first)?, B::restore(second)?)),
            _ => Err("expected a pair".to_owned()),
        }
    }
}

impl<T: Stored + Copy, const N: usize> Stored for [T; N] {
    fn store(&self) -> Value {
        self.iter().map(T::store).collect()
    }
    fn restore(value: &Value) -> Result<Self, String> {
        expected(Vec::restore(value)?.try_into().ok(), "another number of entries")
    }
}

impl<K: Stored + Ord + Clone, V: Stored + Clone> Stored for BTreeMap<K, V> {
    fn store(&self) -> Value {
        self.iter().map(|(key, value)| json!([key.store(), value.store()])).collect()
    }
    fn restore(value: &Value) -> Result<Self, String> {
        Ok(Vec::<(K, V)>::restore(value)?.into_iter().collect())
    }
}

impl<T: Stored + Ord + Clone> Stored for BTreeSet<T> {
    fn store(&self) -> Value {
        self.iter().map(T::store).collect()
    }
    fn restore(value: &Value) -> Result<Self, String> {
        Ok(Vec::restore(value)?.into_iter().collect())
    }
}

/// Enums without fields, by the names of their variants.
macro_rules! words {
    ($($kind:ident { $($word:ident),* })*) => {$(
        impl Stored for $kind {
            fn store(&self) -> Value {
                json!(match self { $(Self::$word => stringify!($word)),* })
            }
            fn restore(value: &Value) -> Result<Self, String> {
                match value.as_str() {
                    $(Some(stringify!($word)) => Ok(Self::$word),)*
                    _ => Err(concat!("expected a ", stringify!($kind)).to_owned()),
                }
            }
        }
    )*};
}

words! {
    TaskState { Runnable, Sleeping, Device, Stopped, Exited }
    ThreadActivity { Own, Part, Arrived, Idle, Condition, Lock }
}

impl Stored for SystemCall {
    fn store(&self) -> Value {
        match self {
            Self::Futex { address, has_timeout } => json!([Hexadecimal(*address).store(), has_timeout]),
            Self::Sleep => json!("Sleep"),
            Self::Events => json!("Events"),
            Self::Child => json!("Child"),
            Self::File => json!("File"),
            Self::Other => json!("Other"),
        }
    }
    fn restore(value: &Value) -> Result<Self, String> {
        Ok(match value.as_str() {
            Some("Sleep") => Self::Sleep,
            Some("Events") => Self::Events,
            Some("Child") => Self::Child,
            Some("File") => Self::File,
            Some("Other") => Self::Other,
            _ => {
                let (Hexadecimal(address), has_timeout) = Stored::restore(value)?;
                Self::Futex { address, has_timeout }
            }
        })
    }
}

/// Structures, field by field; those after a semicolon are addresses, and those after a second one empty.
macro_rules! structures {
    ($($kind:ty { $($name:ident),*; $($address:ident),*; $($empty:ident),* })*) => {$(
        impl Stored for $kind {
            fn store(&self) -> Value {
                let mut all = Map::new();
                $(all.insert(stringify!($name).to_owned(), self.$name.store());)*
                $(all.insert(stringify!($address).to_owned(), Hexadecimal(self.$address).store());)*
                all.into()
            }
            fn restore(all: &Value) -> Result<Self, String> {
                expected(all.as_object(), concat!("a ", stringify!($kind)))?;
                Ok(Self {
                    $($name: field(all, stringify!($name))?,)*
                    $($address: field::<Hexadecimal>(all, stringify!($address))?.0,)*
                    $($empty: Default::default(),)*
                })
            }
        }
    )*};
}

structures! {
    Observation {
        ledger, episodes, creations, programs, siblings, usable, quota, throttling, load, pressure, competitors, instead,
        command, python, samples, ran_for;;
    }
    Ledger { threads, began, ended, moved, moving, looks, is_far;; }
    ThreadAccount { last, seen, total, moments, held_up, cpus, facts, recorded, before, carried;; }
    TimeSplit { ran, ready, device, asleep;; }
    EpisodeTally { count, waited, lead, members, leads;; }
    Creations { created, refused, errno, without_slot;; }
    ProgramFacts { process, name, runtimes, settings;; }
    Competitor { process, name, cpu, last_cpu, has_exited;; }
    Throttling { periods, throttled, stopped;; }
    SystemLoad { runnable, tasks, steal, busy, idle;; }
    PythonLines { looks, lines;; }
    PythonLine { place, with_region, looks;; }
    SampleTally<SampledFunction> { count, lost, threads, late;; open }
    SampledFunction { name, library, is_runtime;; }
    TaskReading { process, thread, state, ran, queued, cpu, disk_faults, call;; }
    TaskFacts { name, allowed, preempted, slept;; }
    RecordedThread { process, thread, creator, pool, activity, since, holder, team, counts, times, part_work; subject; leader, code }
    ActivityCounts {
        regions, region_ns, sized, parts, nested, locks, yields, episodes, lead_ns, waited_ns, members;;
    }
    KnownWork { stretches, known, known_ns;; }
}

/// All times of a thread have the length of this type.
const _: fn(&Value) -> Result<ActivityTimes, String> = Stored::restore;

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_machine::SplitMix;

    fn seen() -> Observation {
        let mut seen = Observation { command: Some("./sum".into()), quota: Some(1.5), ..Observation::default() };
        let settings = vec![("OMP_NUM_THREADS".to_owned(), "4".to_owned())];
        seen.programs.push(ProgramFacts { process: 1, name: "sum".into(), runtimes: vec!["libgomp".into()], settings });
        seen.instead = Some([(7, Nanos(8))].into());
        for at in (0..=2_000).step_by(10) {
            let call = Some(SystemCall::Futex { address: u64::MAX, has_timeout: false });
            let ran = Nanos::from_ms(at);
            let (state, queued) = (TaskState::Runnable, Nanos(ran.0 / 2));
            let reading = TaskReading { process: 1, thread: 1, state, ran, queued, cpu: 1, disk_faults: 0, call };
            let record = RecordedThread { process: 1, thread: 1, subject: u64::MAX, team: 2, ..RecordedThread::default() };
            seen.ledger.add(Nanos::from_ms(at), &[reading], &[record]);
        }
        seen.ledger.note(1, TaskFacts { name: "sum".into(), allowed: vec![0], preempted: 3, slept: 1 });
        let mut samples = SampleTally::default();
        let function = SampledFunction { name: None, library: "libc".into(), is_runtime: false };
        samples.add(1, ThreadActivity::Part, Nanos(5), function);
        seen.samples = Some(samples);
        seen
    }

    #[test]
    fn an_observation_comes_back_as_it_was() {
        let seen = seen();
        let json = seen.to_json();
        let again = Observation::from_json(&json).unwrap();
        assert_eq!(again.to_json(), json);
        assert_eq!(crate::causes::judge(&again), crate::causes::judge(&seen));
        assert_eq!(again.spent(), seen.spent());
    }

    #[test]
    fn an_error_says_where_it_is() {
        let why = |path: &str, value: Value| {
            let mut json = seen().to_json();
            *json.pointer_mut(path).unwrap() = value;
            Observation::from_json(&json).unwrap_err()
        };
        assert_eq!(why("/usable", json!(3)), "usable: expected a list");
        assert_eq!(
            why("/ledger/threads/0/1/total/ran", json!(-1)),
            "ledger.threads.[0].total.ran: expected a number of type u64"
        );
        assert_eq!(why("/ledger/began", json!(u64::MAX)), "its numbers add up to more than 292 years in nanoseconds");
        assert_eq!(why("/quota", json!(0)), "quota: expected 0.001 to 1000000 processors");
        assert_eq!(why("/programs/0/settings/0/0", json!("PATH")), "programs: PATH is no setting of threads");
    }

    /// Every value of a recording, replaced by others, is an error or an observation that can be judged.
    #[test]
    fn no_recording_makes_a_panic() {
        let text = seen().to_json().to_string();
        let values = ["0", "1", "-1", "9223372036854775000", "1e300", "null", "\"\"", "[]", "{}", "[[]]", "4294967295"];
        let mut random = SplitMix(5);
        let ends = |c: char| ",]}".contains(c);
        let starts: Vec<usize> = text.match_indices([':', '[', ',']).map(|(at, _)| at + 1).collect();
        for _ in 0..3_000 {
            let at = starts[random.below(starts.len() as u64) as usize];
            let end = at + text[at..].find(ends).unwrap();
            let value = values[random.below(values.len() as u64) as usize];
            let changed = format!("{}{value}{}", &text[..at], &text[end..]);
            let Ok(json) = serde_json::from_str(&changed) else { continue };
            if let Ok(seen) = Observation::from_json(&json) {
                let (causes, spent) = (crate::causes::judge(&seen), seen.spent());
                assert!(causes.len() <= crate::causes::WaitCause::ALL.len() && spent.total() >= spent.work);
            }
        }
    }
}
