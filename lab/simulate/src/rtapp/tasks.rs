//! The tasks of an rt-app file as programs of threads.
use super::names::ResourceNames;
use crate::plan::{Located, Mistake, Value};
use foregather_machine::{CpuId, Nanos};
use foregather_results::meant;
use foregather_sim::smp::{Job, Phase, ProgramStep, ThreadProgram};

/// More threads are refused as an oversight.
const THREADS_MAX: u64 = 10_000;
/// Longer spans are refused: a thread would never come back.
const SPAN_MAX_US: i64 = 3_600_000_000;

/// How long a file without an end is simulated.
const ENDLESS: Nanos = Nanos::from_ms(10_000);

const EVENTS: [&str; 16] = [
    "run", "runtime", "sleep", "timer", "lock", "unlock", "wait", "signal", "broad", "sync", "barrier", "suspend", "resume",
    "yield", "mem", "iorun",
];
const THREAD_KEYS: [&str; 6] = ["instance", "loop", "phases", "cpus", "priority", "delay"];
/// Keys and events that are known and not simulated.
const LEFT_OUT: [&str; 13] = [
    "mem",
    "iorun",
    "fork",
    "policy",
    "dl-runtime",
    "dl-period",
    "dl-deadline",
    "nodes_membind",
    "numa",
    "util_min",
    "util_max",
    "taskgroup",
    "exec_per_loop",
];
const GLOBAL_KEYS: [&str; 15] = [
    "duration",
    "calibration",
    "default_policy",
    "pi_enabled",
    "lock_pages",
    "logdir",
    "log_basename",
    "log_size",
    "ftrace",
    "gnuplot",
    "io_device",
    "mem_buffer_size",
    "cumulative_slack",
    "frag",
    "logstats",
];
/// Keys of files before rt-app 1.0, which that program no longer runs either.
const OLD_KEYS: [&str; 4] = ["exec", "period", "deadline", "lock_order"];

/// What is left of a file.
pub(super) struct WorkloadTasks {
    pub(super) jobs: Vec<Job>,
    /// How long the file says that it lasts.
    pub(super) duration: Option<Nanos>,
    /// What was left out.
    pub(super) ignored: Vec<String>,
}

/// Reads the tasks of a file, for a machine of `cpus` processors.
pub(super) fn read(root: &Located, cpus: u32, ignore: bool) -> Result<WorkloadTasks, Mistake> {
    let mut reader = WorkloadReader { cpus, ignore, task: String::new(), names: ResourceNames::default(), ignored: Vec::new() };
    for (key, node) in entries(root, "the file")? {
        if !["tasks", "global", "resources"].contains(&key.as_str()) {
            return wrong(node, format!("unknown key `{key}`{}", meant(key, &["tasks", "global", "resources"])));
        }
    }
    let Some(tasks) = root.get("tasks") else { return wrong(root, "no `tasks`; name threads and their events in one") };
    let duration = root.get("global").map_or(Ok(None), |node| reader.global(node))?;
    let mut drafts = Vec::new();
    for (name, node) in entries(tasks, "`tasks`")? {
        reader.task = name.clone();
        drafts.push((name.as_str(), node, reader.thread(node)?));
    }
    let threads: u64 = drafts.iter().map(|(_, _, thread)| thread.instances).sum();
    if threads == 0 || threads > THREADS_MAX {
        return wrong(tasks, format!("{threads} threads: there must be 1 to {THREADS_MAX}"));
    }
    let endless = drafts.iter().find(|(.., thread)| duration.is_none() && thread.is_endless());
    if let Some((name, node, _)) = endless {
        let what = format!("line {}: `{name}` never ends, and `global` has no `duration`: {ENDLESS} are simulated", node.line);
        reader.ignored.push(what);
    }
    let duration = duration.or(endless.map(|_| ENDLESS));
    let mut jobs = Vec::new();
    for (name, _, thread) in &drafts {
        for _ in 0..thread.instances {
            jobs.push(thread.job(name, &mut reader.names));
        }
    }
    let (objects, barriers) = reader.names.counts();
    let complete = |job: Job| {
        let program =
            job.program.as_deref().cloned().map(|program| ThreadProgram { objects, barriers: barriers.clone(), ..program });
        Job { program: program.map(Into::into), ..job }
    };
    Ok(WorkloadTasks { jobs: jobs.into_iter().map(complete).collect(), duration, ignored: reader.ignored })
}

fn wrong<T>(node: &Located, what: impl Into<String>) -> Result<T, Mistake> {
    Err(Mistake { line: node.line, what: what.into() })
}

fn entries<'n>(node: &'n Located, what: &str) -> Result<&'n [(String, Located)], Mistake> {
    node.entries().map_or_else(|| wrong(node, format!("{what} is an object in braces, not {}", node.sort())), Ok)
}

fn whole(key: &str, node: &Located, (from, to): (i64, i64)) -> Result<i64, Mistake> {
    match node.value {
        Value::Whole(number) if (from..=to).contains(&number) => Ok(number),
        Value::Whole(number) => wrong(node, format!("`{key}` is {from} to {to}, not {number}")),
        _ => wrong(node, format!("`{key}` is a whole number from {from} to {to}, not {}", node.sort())),
    }
}

fn span(key: &str, node: &Located) -> Result<Nanos, Mistake> {
    Ok(Nanos::from_us(whole(key, node, (0, SPAN_MAX_US))? as u64))
}

fn name<'n>(key: &str, node: &'n Located) -> Result<&'n str, Mistake> {
    match &node.value {
        Value::Text(name) => Ok(name),
        _ => wrong(node, format!("`{key}` is a name in quotes, not {}", node.sort())),
    }
}

/// A number of rounds; -1 is without end.
fn times(node: Option<&Located>, usual: Option<u64>) -> Result<Option<u64>, Mistake> {
    let Some(node) = node else { return Ok(usual) };
    Ok(u64::try_from(whole("loop", node, (-1, i64::MAX))?).ok())
}

/// An event whose names are not numbers yet: timers may be each instance's own.
enum TaskEvent {
    Step(ProgramStep),
    Timer { name: String, period: Nanos, absolute: bool },
}

struct DraftPhase {
    times: Option<u64>,
    events: Vec<TaskEvent>,
}

struct Thread {
    instances: u64,
    times: Option<u64>,
    delay: Nanos,
    nice: i8,
    pins: Vec<CpuId>,
    phases: Vec<DraftPhase>,
}

impl Thread {
    fn is_endless(&self) -> bool {
        self.times.is_none() || self.phases.iter().any(|phase| phase.times.is_none())
    }

    /// One of its instances.
    fn job(&self, name: &str, names: &mut ResourceNames) -> Job {
        let instance = names.instance();
        let mut step = |event: &TaskEvent| match event {
            TaskEvent::Step(step) => *step,
            TaskEvent::Timer { name, period, absolute } => {
                ProgramStep::Timer { timer: names.timer(name, instance), period: *period, absolute: *absolute }
            }
        };
        let phases = self.phases.iter();
        let phases =
            phases.map(|phase| Phase { times: phase.times, steps: phase.events.iter().map(&mut step).collect() }).collect();
        let program = ThreadProgram { delay: self.delay, times: self.times, phases, objects: [0; 3], barriers: vec![] };
        Job {
            nice: self.nice,
            pins: (!self.pins.is_empty()).then(|| self.pins.clone()).into_iter().collect(),
            ..Job::running(name, 1, program)
        }
    }
}

struct WorkloadReader {
    cpus: u32,
    ignore: bool,
    /// The name of the task that is read.
    task: String,
    names: ResourceNames,
    ignored: Vec<String>,
}

impl WorkloadReader {
    /// Something that is not simulated: noted if that is wanted.
    fn leave_out(&mut self, node: &Located, what: &str) -> Result<(), Mistake> {
        if !self.ignore {
            return wrong(node, format!("{what} is not simulated; remove it, or leave it out by --ignore"));
        }
        let what = format!("line {}: {what} is left out", node.line);
        if !self.ignored.contains(&what) {
            self.ignored.push(what);
        }
        Ok(())
    }

    fn global(&mut self, node: &Located) -> Result<Option<Nanos>, Mistake> {
        let mut duration = None;
        for (key, node) in entries(node, "`global`")? {
            match key.as_str() {
                "duration" => {
                    let seconds = whole(key, node, (-1, 1_000_000))?;
                    duration = u64::try_from(seconds).ok().filter(|&seconds| seconds > 0).map(|s| Nanos::from_ms(s * 1_000));
                }
                "default_policy" => self.policy(node)?,
                key if !GLOBAL_KEYS.contains(&key) => {
                    return wrong(node, format!("unknown key `{key}` in `global`{}", meant(key, &GLOBAL_KEYS)));
                }
                _ => {}
            }
        }
        Ok(duration)
    }

    fn policy(&mut self, node: &Located) -> Result<(), Mistake> {
        match name("policy", node)? {
            "SCHED_OTHER" => Ok(()),
            other => self.leave_out(node, &format!("the policy {other}")),
        }
    }

    fn thread(&mut self, node: &Located) -> Result<Thread, Mistake> {
        let own = entries(node, "a task")?;
        if let Some((key, node)) = own.iter().find(|(key, _)| OLD_KEYS.contains(&key.as_str())) {
            return wrong(node, format!("`{key}` is of files before rt-app 1.0; write events such as run, timer and lock"));
        }
        let instances = node.get("instance").map_or(Ok(1), |node| whole("instance", node, (0, THREADS_MAX as i64)))? as u64;
        let delay = node.get("delay").map_or(Ok(Nanos::ZERO), |node| span("delay", node))?;
        let nice = node.get("priority").map_or(Ok(0), |node| whole("priority", node, (-20, 99)))?;
        let nice = match (nice, node.get("priority")) {
            (20.., Some(node)) => self.leave_out(node, "a priority of real-time policies").map(|()| 0)?,
            _ => nice as i8,
        };
        let pins = node.get("cpus").map_or(Ok(vec![]), |node| self.pins(node))?;
        let users = instances as u32;
        let phases = match node.get("phases") {
            Some(phases) => {
                if let Some((key, node)) = own.iter().find(|(key, _)| event_of(key).is_some()) {
                    return wrong(node, format!("`{key}` stands beside `phases`; move it into one of them"));
                }
                let one = |(_, node): &(String, Located)| self.phase(node, times(node.get("loop"), Some(1))?, (users, false));
                entries(phases, "`phases`")?.iter().map(one).collect::<Result<_, _>>()?
            }
            None => vec![self.phase(node, Some(1), (users, true))?],
        };
        Ok(Thread { instances, times: times(node.get("loop"), None)?, delay, nice, pins, phases })
    }

    fn phase(&mut self, node: &Located, times: Option<u64>, (users, of_thread): (u32, bool)) -> Result<DraftPhase, Mistake> {
        let mut events = Vec::new();
        for (key, event) in entries(node, "a phase")? {
            if LEFT_OUT.contains(&base(key)) {
                match key.as_str() {
                    "policy" => self.policy(event)?,
                    _ => self.leave_out(event, &format!("`{key}`"))?,
                }
            } else if let Some(kind) = event_of(key) {
                self.event((kind, key), event, users, &mut events)?;
            } else if key == "cpus" && !of_thread {
                self.leave_out(event, "`cpus` of a phase")?;
            } else if !THREAD_KEYS.contains(&key.as_str()) {
                let known: Vec<&str> = EVENTS.iter().chain(&THREAD_KEYS).copied().collect();
                return wrong(event, format!("unknown event `{key}`{}", meant(key, &known)));
            }
        }
        Ok(DraftPhase { times, events })
    }

    /// The processors that a thread may run on; none if it may run on all of them.
    fn pins(&mut self, node: &Located) -> Result<Vec<CpuId>, Mistake> {
        let Some(items) = node.items() else { return wrong(node, "`cpus` is a list of processors, as in [0]") };
        let most = i64::from(self.cpus) - 1;
        items.iter().map(|cpu| Ok(whole("cpus", cpu, (0, most))? as CpuId)).collect()
    }

    fn event(&mut self, (kind, key): (&str, &str), node: &Located, users: u32, into: &mut Vec<TaskEvent>) -> Result<(), Mistake> {
        let step = match kind {
            "run" | "runtime" => ProgramStep::Run(span(key, node)?),
            "sleep" => ProgramStep::Sleep(span(key, node)?),
            "timer" => {
                into.push(timer(node)?);
                return Ok(());
            }
            "lock" => ProgramStep::Lock(self.names.mutex(name(key, node)?)),
            "unlock" => ProgramStep::Unlock(self.names.mutex(name(key, node)?)),
            "wait" | "sync" => {
                let (condition, mutex) = pair(key, node)?;
                let (condition, mutex) = (self.names.condition(condition), self.names.mutex(mutex));
                if kind == "sync" {
                    into.push(TaskEvent::Step(ProgramStep::Signal(condition)));
                }
                ProgramStep::Wait { condition, mutex }
            }
            "signal" => ProgramStep::Signal(self.names.condition(name(key, node)?)),
            "broad" => ProgramStep::Broadcast(self.names.condition(name(key, node)?)),
            "barrier" => ProgramStep::Barrier(self.names.barrier(name(key, node)?, users)),
            "suspend" | "resume" => {
                let of = match name(key, node)? {
                    "" => &self.task,
                    name => name,
                };
                let suspended = self.names.suspended(of);
                if kind == "suspend" { ProgramStep::Suspend(suspended) } else { ProgramStep::Broadcast(suspended) }
            }
            _ => ProgramStep::Yield,
        };
        into.push(TaskEvent::Step(step));
        Ok(())
    }
}

/// A name without the digits that tell events of one kind apart.
fn base(key: &str) -> &str {
    key.trim_end_matches(|c: char| c.is_ascii_digit())
}

/// The kind of event that a name means.
fn event_of(key: &str) -> Option<&'static str> {
    EVENTS.into_iter().find(|event| *event == base(key))
}

fn timer(node: &Located) -> Result<TaskEvent, Mistake> {
    let table = entries(node, "`timer`")?;
    if let Some((key, node)) = table.iter().find(|(key, _)| !["ref", "period", "mode"].contains(&key.as_str())) {
        return wrong(node, format!("unknown key `{key}` in `timer`{}", meant(key, &["ref", "period", "mode"])));
    }
    let (Some(of), Some(period)) = (node.get("ref"), node.get("period")) else {
        return wrong(node, "a timer needs `ref`, its name, and `period`, in microseconds");
    };
    let absolute = match node.get("mode").map_or(Ok("relative"), |node| name("mode", node))? {
        "relative" => false,
        "absolute" => true,
        other => return wrong(node, format!("`{other}` is no mode of a timer; there are relative and absolute")),
    };
    Ok(TaskEvent::Timer { name: name("ref", of)?.to_owned(), period: span("period", period)?, absolute })
}

/// The condition and the mutex of a wait.
fn pair<'n>(key: &str, node: &'n Located) -> Result<(&'n str, &'n str), Mistake> {
    match (node.get("ref"), node.get("mutex")) {
        (Some(of), Some(mutex)) => Ok((name("ref", of)?, name("mutex", mutex)?)),
        _ => wrong(node, format!("`{key}` is {{ \"ref\" : .., \"mutex\" : .. }}: the condition and its mutex")),
    }
}
