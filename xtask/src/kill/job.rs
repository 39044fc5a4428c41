//! One job of a round: started, struck, and held against what must come of it.
use super::KillOptions;
use super::{Blow, Round, Wrapper};
use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// How long a rank may stand still, which is what counts if no other time is set.
pub(super) const PEER_TIMEOUT: Duration = Duration::from_secs(2);
/// By then a killed rank has been named by all others.
const NAMED: Duration = Duration::from_secs(2);
/// The same of a stopped one, beyond the time it may stand still.
const BEYOND: Duration = Duration::from_millis(500);
/// How long the ranks wait for one that is stopped before it has joined.
const JOIN_TIMEOUT: Duration = Duration::from_secs(10);
/// By then nothing is left of a job whose launcher has ended.
const GONE: Duration = Duration::from_secs(3);
/// A job that takes longer hangs.
const HANGS: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(2);

/// All processes of a round: these have a variable that no others have.
pub(super) struct RoundProcesses(String);

impl RoundProcesses {
    pub(super) fn new(seed: u64, number: u64) -> Self {
        Self(format!("KILL_ROUND={}-{seed}-{number}", std::process::id()))
    }

    /// Those that also have this variable, and are this program.
    fn processes(&self, with: Option<(&str, &Path)>) -> Vec<i32> {
        let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let found = numbers.filter(|process| {
            let variables = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
            let has = |text: &str| variables.split(|&byte| byte == 0).any(|variable| variable == text.as_bytes());
            let is = |program: &Path| fs::read_link(format!("/proc/{process}/exe")).is_ok_and(|exe| exe == program);
            has(&self.0) && with.is_none_or(|(variable, program)| has(variable) && is(program))
        });
        found.collect()
    }

    /// What each of them and its children is doing: its parent, its state, what it waits for in the kernel,
    /// the processor time it has had. One that is ending has no variables any more.
    fn states(&self) -> String {
        let numbers = fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = numbers.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        let marked = self.processes(None);
        let told = numbers.filter_map(|process| {
            let read = |name: &str| fs::read_to_string(format!("/proc/{process}/{name}")).unwrap_or_default();
            let (stat, waits) = (read("stat"), read("wchan"));
            let fields: Vec<_> = stat.rsplit(')').next()?.split_whitespace().collect();
            let (&[state, parent, ..], &[user, system, ..]) = (fields.get(..2)?, fields.get(11..13)?) else { return None };
            let ours = marked.contains(&process) || parent.parse().is_ok_and(|parent| marked.contains(&parent));
            let comm = read("comm");
            ours.then(|| format!("    | {process} of {parent}, {}: {state} in {waits}, {user} + {system} ticks\n", comm.trim()))
        });
        told.collect()
    }

    /// None of them is left, or soon will be; what is left is killed.
    pub(super) fn nothing_is_left(&self) -> Result<(), String> {
        let until = Instant::now() + GONE;
        while !self.processes(None).is_empty() {
            if Instant::now() > until {
                let left = self.processes(None);
                let what =
                    |process: &i32| fs::read_to_string(format!("/proc/{process}/cmdline")).unwrap_or_default().replace('\0', " ");
                let told: Vec<String> = left.iter().map(|process| format!("{process} ({})", what(process).trim())).collect();
                left.iter().for_each(|&process| send(process, Signal::KILL));
                return Err(format!("left behind: {}", told.join(", ")));
            }
            thread::sleep(LOOK);
        }
        Ok(())
    }
}

/// Runs it, to the end of all its processes. How long each survivor took to name the lost rank, or the job to
/// end, in milliseconds.
pub(super) fn see_through(round: &Round, marked: &RoundProcesses, options: &KillOptions) -> Result<Vec<u64>, String> {
    let mut job = LiveJob::start(round, marked, options)?;
    let came = strike_and_watch(&mut job, round, marked, options);
    let ms = came.map_err(|error| format!("{error}\n{}{}", job.told(), marked.states()))?;
    marked.nothing_is_left()?;
    Ok(ms)
}

fn strike_and_watch(
    job: &mut LiveJob,
    round: &Round,
    marked: &RoundProcesses,
    options: &KillOptions,
) -> Result<Vec<u64>, String> {
    if !round.at_start {
        job.wait_for(|lines| lines.iter().filter(|line| line.starts_with("ready ")).count() == round.size as usize)?;
    }
    thread::sleep(Duration::from_micros(round.after_us));
    let program = options.folder.join("examples/survivors");
    let since = match round.blow {
        Blow::Rank(_) | Blow::Stop | Blow::ShortStop => {
            let names = if options.is_over_mpi() { &["PMI_RANK", "OMPI_COMM_WORLD_RANK"][..] } else { &["FOREGATHER_RANK"] };
            let of_rank = |name: &&str| marked.processes(Some((&format!("{name}={}", round.victim), &program))).first().copied();
            let find = || names.iter().find_map(of_rank);
            let process = job.until(find)?;
            strike(process, round)
        }
        _ => strike(job.launcher.id() as i32, round),
    };
    let ms = if options.is_over_mpi() { job.end_over_mpi(round, since)? } else { job.end(round, since)? };
    if round.blow != Blow::KillLauncher {
        return Ok(ms);
    }
    // Of a launcher that is killed it counts how long its ranks take.
    marked.nothing_is_left().map(|()| vec![ms_from(since)])
}

fn ms_from(since: Duration) -> u64 {
    now().saturating_sub(since).as_millis() as u64
}

/// Does it to that process; when, by the clock of all processes.
fn strike(process: i32, round: &Round) -> Duration {
    let pause = Duration::from_micros(round.pause_us);
    let since = now();
    match round.blow {
        Blow::Rank(signal) => {
            send(process, signal);
            // The standard library takes the first one for its own guard pages, and two that wait to be
            // delivered are one.
            while signal == Signal::SEGV && now() < since + HANGS && lives(process) {
                thread::sleep(Duration::from_millis(20));
                send(process, signal);
            }
        }
        Blow::Stop => send(process, Signal::STOP),
        Blow::ShortStop | Blow::StopLauncher => {
            send(process, Signal::STOP);
            thread::sleep(pause);
            send(process, Signal::CONT);
        }
        Blow::KillLauncher => send(process, Signal::KILL),
        Blow::TermLauncher => send(process, Signal::TERM),
        Blow::TermLauncherTwice => {
            send(process, Signal::TERM);
            thread::sleep(pause / 8);
            send(process, Signal::TERM);
        }
    }
    since
}

struct LiveJob {
    launcher: Child,
    /// What the ranks print, without whose it is.
    lines: Arc<Mutex<Vec<String>>>,
    said: Arc<Mutex<Vec<u8>>>,
    until: Instant,
}

impl LiveJob {
    fn start(round: &Round, marked: &RoundProcesses, options: &KillOptions) -> Result<Self, String> {
        let mut command = Self::command(round, options);
        command.args(round.wrapper.words()).arg(options.folder.join("examples/survivors")).arg(round.state.to_string());
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("FOREGATHER_") && name != "FOREGATHER_MPI") {
            command.env_remove(name);
        }
        if options.is_over_mpi() {
            command.env("FOREGATHER_FABRIC", "mpi");
        }
        command.env("FOREGATHER_JOIN_TIMEOUT", format!("{}s", JOIN_TIMEOUT.as_secs()));
        command.envs(marked.0.split_once('=')).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut launcher = command.spawn().map_err(|error| error.to_string())?;
        let (lines, said) = (Arc::<Mutex<Vec<String>>>::default(), Arc::<Mutex<Vec<u8>>>::default());
        let (out, err) = (launcher.stdout.take().ok_or("no pipe")?, launcher.stderr.take().ok_or("no pipe")?);
        let to = Arc::clone(&lines);
        thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                to.lock().unwrap().push(line.split_once("] ").map_or(line.clone(), |(_, text)| text.to_owned()));
            }
        });
        let to = Arc::clone(&said);
        thread::spawn(move || {
            BufReader::new(err).bytes().map_while(Result::ok).for_each(|byte| to.lock().unwrap().push(byte));
        });
        Ok(Self { launcher, lines, said, until: Instant::now() + HANGS })
    }

    /// The launcher, up to the program's words.
    fn command(round: &Round, options: &KillOptions) -> Command {
        let size = round.size.to_string();
        let mut words = options.mpiexec.split_whitespace();
        let mut command = match words.next() {
            Some(mpiexec) if options.is_over_mpi() => Command::new(mpiexec),
            _ => Command::new(options.folder.join("foregather")),
        };
        if options.is_over_mpi() {
            command.args(words).args(["-n", &size]);
        } else {
            command.args(["run", "-n", &size, "--fabric", &options.fabric, "--"]);
        }
        command
    }

    /// The first that is found, before the job counts as hanging.
    fn until<T>(&self, find: impl Fn() -> Option<T>) -> Result<T, String> {
        loop {
            match find() {
                Some(found) => return Ok(found),
                None if Instant::now() > self.until => return Err("it hangs".to_owned()),
                None => thread::sleep(LOOK),
            }
        }
    }

    fn wait_for(&self, done: impl Fn(&[String]) -> bool) -> Result<(), String> {
        self.until(|| done(&self.lines.lock().unwrap()).then_some(()))
    }

    fn ended(&mut self) -> Result<ExitStatus, String> {
        loop {
            match self.launcher.try_wait().map_err(|error| error.to_string())? {
                Some(status) => return Ok(status),
                None if Instant::now() > self.until => return Err("it hangs".to_owned()),
                None => thread::sleep(LOOK),
            }
        }
    }

    /// Waits for its end, and holds it against what must come of the round.
    fn end(&mut self, round: &Round, since: Duration) -> Result<Vec<u64>, String> {
        match round.blow {
            Blow::Rank(signal) => {
                self.ends_with(&self.codes(round, 128 + signal.as_raw()))?;
                self.named(round, since, NAMED)
            }
            Blow::Stop => {
                self.ends_with(&self.codes(round, 128 + Signal::KILL.as_raw()))?;
                let timeout = if round.at_start { JOIN_TIMEOUT } else { PEER_TIMEOUT };
                self.named(round, since, timeout + BEYOND)
            }
            Blow::ShortStop | Blow::StopLauncher => {
                self.outlives(round, since)?;
                let told = now();
                send(self.launcher.id() as i32, Signal::TERM);
                self.ends_with(&[130])?;
                Ok(vec![ms_from(told)])
            }
            // One that has hardly begun has no handler yet.
            Blow::TermLauncher | Blow::TermLauncherTwice if round.at_start => {
                self.ends_with(&[130, 128 + Signal::TERM.as_raw()]).map(|()| vec![ms_from(since)])
            }
            Blow::TermLauncher | Blow::TermLauncherTwice => self.ends_with(&[130]).map(|()| vec![ms_from(since)]),
            Blow::KillLauncher => self.ends_with(&[128 + Signal::KILL.as_raw()]).map(|()| vec![ms_from(since)]),
        }
    }

    /// Waits until a rank that has stood still for a moment would have been taken for lost.
    fn outlives(&self, round: &Round, since: Duration) -> Result<(), String> {
        if round.at_start {
            self.wait_for(|lines| lines.iter().filter(|line| line.starts_with("ready ")).count() == round.size as usize)?;
        }
        // A rank that is taken for lost is so within the timeout from the stop's beginning.
        thread::sleep(PEER_TIMEOUT.saturating_sub(now().saturating_sub(since)) + BEYOND);
        if self.lines.lock().unwrap().iter().any(|line| !line.starts_with("ready ")) {
            return Err("a rank was lost by a short stop".to_owned());
        }
        Ok(())
    }

    /// As [`LiveJob::end`] under a launcher of MPI, which ends the other ranks before all of them can name
    /// the lost one.
    fn end_over_mpi(&mut self, round: &Round, since: Duration) -> Result<Vec<u64>, String> {
        let mut asked = since;
        if let Blow::ShortStop | Blow::StopLauncher = round.blow {
            self.outlives(round, since)?;
            asked = now();
            send(self.launcher.id() as i32, Signal::TERM);
        }
        let status = self.ended()?;
        if status.success() {
            return Err("it ended as if nothing had been lost".to_owned());
        }
        if let Blow::Rank(_) | Blow::Stop = round.blow {
            let lines = self.lines.lock().unwrap();
            let wrong = |line: &&String| {
                let words: Vec<_> = line.split_whitespace().collect();
                matches!(words[..], ["lost", _, _, lost, ..] if lost != round.victim.to_string())
            };
            if let Some(line) = lines.iter().find(wrong) {
                return Err(format!("`{line}` names another rank"));
            }
        }
        Ok(vec![ms_from(asked)])
    }

    /// What a job may end with that has lost a rank: with its code; but a wrapper ends later than its rank,
    /// perhaps than the survivors too, and the end of a rank that has not joined is told by the launcher
    /// alone.
    fn codes(&self, round: &Round, code: i32) -> Vec<i32> {
        let late = round.wrapper != Wrapper::Alone || round.at_start && round.blow == Blow::Stop;
        if late { vec![code, 1] } else { vec![code] }
    }

    fn ends_with(&mut self, codes: &[i32]) -> Result<(), String> {
        let status = self.ended()?;
        let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        if codes.contains(&code) { Ok(()) } else { Err(format!("it ended with {code} instead of {codes:?}")) }
    }

    /// Which of the others named the right rank, and when. A job that is lost while it starts may end before
    /// all of them know each other: then those that say anything name the right one in time.
    fn named(&self, round: &Round, since: Duration, within: Duration) -> Result<Vec<u64>, String> {
        let mut knew = BTreeMap::new();
        for line in self.lines.lock().unwrap().iter() {
            if let ["lost", rank, at_ns, lost, ..] = line.split_whitespace().collect::<Vec<_>>()[..] {
                let number = |text: &str| text.parse::<u64>().map_err(|_| format!("`{line}` is garbled"));
                if number(lost)? != u64::from(round.victim) {
                    return Err(format!("rank {rank} blames {lost}"));
                }
                knew.insert(number(rank)?, Duration::from_nanos(number(at_ns)?).saturating_sub(since));
            }
        }
        if !round.at_start && knew.len() != round.size as usize - 1 {
            return Err(format!("only {:?} name the lost rank", knew.keys()));
        }
        match knew.iter().find(|(_, after)| **after > within) {
            Some((rank, after)) => Err(format!("rank {rank} named the lost one after {} ms", after.as_millis())),
            None => Ok(knew.values().map(|after| after.as_millis() as u64).collect()),
        }
    }

    /// What ranks and launcher have said so far, as text.
    fn told(&self) -> String {
        let lines = self.lines.lock().unwrap().join("\n");
        let said = String::from_utf8_lossy(&self.said.lock().unwrap()).into_owned();
        format!("{lines}\n{said}").lines().map(|line| format!("    | {line}\n")).collect()
    }
}

impl Drop for LiveJob {
    fn drop(&mut self) {
        let _ = self.launcher.kill();
        let _ = self.launcher.wait();
    }
}

/// A process that has ended meanwhile gets none.
fn send(process: i32, signal: Signal) {
    let _ = Pid::from_raw(process).map(|process| kill_process(process, signal));
}

fn lives(process: i32) -> bool {
    fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// As every process of this machine counts.
fn now() -> Duration {
    let time = clock_gettime(ClockId::Monotonic);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
