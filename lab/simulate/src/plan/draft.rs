//! A plan made of a few answers: what `foregather simulate --threads 10` runs, and what `--new` writes. It is
//! a text like that of a file, and is read as one; what is wrong with an answer is said with its name.
use super::job::{BARRIERS, COMPUTE, POLICY};
use super::tree::Mistake;
use anyhow::{Error, Result, anyhow, bail};
use foregather_results::number::quantity;

/// The answers, each by its name as in a plan, with its values. One with several values is varied.
#[derive(Clone, Debug, Default)]
pub struct PlanDraft {
    answers: Vec<(&'static str, Vec<String>)>,
}

/// What is tried if no policy is named: the one that adapts, and what it chooses from.
const POLICIES: [(&str, &str); 5] =
    [(POLICY, POLICY), ("block", "block"), ("spin", "spin"), ("yield", "yield"), ("two-phase", "two-phase:2CS+:remote")];
/// A title names no more values than this and one.
const NAMED: usize = 5;
/// The scheduler of Linux today.
const EEVDF: &str = "eevdf";
/// The period over which a quota is kept, in milliseconds: Linux's own.
const PERIOD_MS: f64 = 100.0;

/// The text of a plan, and which answer each of its lines is about.
struct DraftLines {
    text: String,
    answers: Vec<Option<&'static str>>,
}

impl PlanDraft {
    /// Answers one question; no values are no answer.
    #[must_use]
    pub fn with(mut self, name: &'static str, values: &[String]) -> Self {
        self.answers.extend((!values.is_empty()).then(|| (name, values.to_vec())));
        self
    }

    /// The names of the answers that were given.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<'_> {
        self.answers.iter().map(|(name, _)| *name)
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// The plan as a commented text.
    ///
    /// # Errors
    /// If an answer is missing that has no usual value, or is none.
    pub fn text(&self) -> Result<String> {
        self.lines().map(|lines| lines.text)
    }

    /// Says what is wrong in the words of the answers.
    pub(super) fn explain(&self, mistake: &Mistake) -> Error {
        let about = self.lines().ok().and_then(|lines| *lines.answers.get(mistake.line.checked_sub(1)?)?);
        match about {
            _ if mistake.line == 0 => anyhow!("--set: {}", mistake.what),
            Some("hogs") => anyhow!("--hogs: {}", mistake.what.replace("`count`", "`hogs`")),
            Some(name) => anyhow!("--{name}: {}", mistake.what),
            None => anyhow!("{}", mistake.what),
        }
    }

    fn given(&self, name: &str) -> Option<&[String]> {
        self.answers.iter().find(|(answer, _)| *answer == name).map(|(_, values)| values.as_slice())
    }

    /// The first value, as a plan has it.
    fn first(&self, name: &str, usual: &str) -> String {
        word(name, self.given(name).map_or(usual, |values| &values[0]))
    }

    fn lines(&self) -> Result<DraftLines> {
        if self.given("threads").is_none() {
            bail!("how many threads are to wait for each other? say it by --threads 8");
        }
        let others = self.given("scheduler").into_iter().flatten().find(|scheduler| *scheduler != EEVDF);
        if let (Some(other), Some(_)) = (others, self.given("quota")) {
            bail!("--quota: only the scheduler {EEVDF} keeps quotas, not `{other}`");
        }
        let mut lines = DraftLines { text: String::new(), answers: vec![] };
        lines.say(
            "# `foregather simulate FILE` runs this plan. Every key but `threads` may be left out; one that is not known is",
        );
        lines.say("# refused with its line. Times have units: ns, us, ms, s.");
        lines.say("schema = \"foregather.plan/1\"");
        lines.say(&format!("title = {}\n", text(&self.title())));
        self.machine(&mut lines)?;
        self.jobs(&mut lines);
        lines.say("[run]");
        lines.say("limit = \"1 s\" # jobs that have not met often enough by then are extrapolated");
        let seeds = self.first("seeds", "3");
        lines.key("seeds", &format!("seeds = {seeds}"), "each simulation is repeated that often, with other chances", self);
        self.sweep(&mut lines)?;
        Ok(lines)
    }

    fn machine(&self, lines: &mut DraftLines) -> Result<()> {
        lines.say("[machine]");
        let (scheduler, cpus) = (self.first("scheduler", EEVDF), self.first("cpus", "4"));
        lines.key(
            "scheduler",
            &format!("preset = {scheduler}"),
            "the scheduler: eevdf is Linux today; linux-2.4.16, linux-2.2, round-robin",
            self,
        );
        lines.key("cpus", &format!("cpus = {cpus}"), "processors", self);
        lines.say("\n[machine.prices]");
        lines.say("calibration = \"typical\" # of switches; \"machine\": what `foregather measure waits` found on this one\n");
        if let Some(quotas) = self.given("quota") {
            lines.key("quota", "[[machine.eevdf.group]]", "a container: its threads share so much processor time", self);
            lines.say("name = \"container\"");
            lines.key("quota", &format!("quota = {}", quota(&quotas[0])?), "in each period", self);
            lines.say(&format!("period = \"{PERIOD_MS} ms\"\n"));
        }
        Ok(())
    }

    fn jobs(&self, lines: &mut DraftLines) {
        lines.key("threads", "[[job]]", "threads that compute, wait for each other at a barrier, and compute again", self);
        lines.say("name = \"job\"");
        let [threads, compute] = [self.first("threads", ""), self.first("compute", &quantity(COMPUTE.0 as f64, "ns"))];
        lines.key("threads", &format!("threads = {threads}"), "", self);
        lines.key(
            "compute",
            &format!("compute = {compute}"),
            "between two barriers; or { normal = { mean = \"50 us\", deviation = \"5 us\" } }",
            self,
        );
        lines.key(
            "barriers",
            &format!("barriers = {}", self.first("barriers", &BARRIERS.to_string())),
            "how often they meet",
            self,
        );
        lines.key("policy", &format!("policy = {}", self.first("policy", POLICY)), "how they wait", self);
        if self.given("quota").is_some() {
            lines.say("group = \"container\"");
        }
        lines.say("\n[[job]] # other programs, of one thread each, that only compute");
        lines.say("name = \"hog\"\nload = true\nthreads = 1");
        lines.key("hogs", &format!("count = {}\n", self.first("hogs", "0")), "", self);
    }

    /// What has several values, the policies last: a figure has the first along it, and a line for each
    /// policy.
    fn sweep(&self, lines: &mut DraftLines) -> Result<()> {
        let varied: Vec<_> = self.answers.iter().filter(|(name, values)| values.len() > 1 && *name != "policy").collect();
        let policies = self.policies();
        if !varied.is_empty() || policies.is_some() {
            lines.say("\n[sweep] # every combination is simulated");
        }
        for (name, values) in &varied {
            let choices = if *name == "quota" { quotas(values)? } else { list(name, values) };
            lines.key(name, &format!("{} = {choices}", swept(name)), "", self);
        }
        if let Some(policies) = &policies {
            lines.key("policy", &format!("policy = {policies}"), "", self);
        }
        lines.say("\n[figure]");
        let mut axes = varied.iter().map(|(name, _)| swept(name)).take(1).chain(policies.map(|_| "policy"));
        for side in ["x", "series"] {
            axes.next().into_iter().for_each(|axis| lines.say(&format!("{side} = \"{}\"", axis.trim_matches('"'))));
        }
        lines.say("y = \"barrier-time\" # from barrier to barrier; also elapsed, speedup, switches-per-barrier, spin-share");
        Ok(())
    }

    /// The choices of policies, if there are several.
    fn policies(&self) -> Option<String> {
        match self.given("policy") {
            None => {
                let named = POLICIES.map(|(name, policy)| format!("{name} = \"{policy}\""));
                Some(format!("{{ {} }}", named.join(", ")))
            }
            Some(several) if several.len() > 1 => Some(list("policy", several)),
            Some(_) => None,
        }
    }

    fn title(&self) -> String {
        let of = |name: &str, one: &str, more: &str| {
            self.given(name).filter(|values| *values != ["0"]).map(|values| {
                let noun = if *values == ["1"] { one } else { more };
                let (last, others) = values.split_last().expect("an answer has a value");
                let first = match others {
                    [] => String::new(),
                    [first, ..] if others.len() > NAMED => format!("{first} to "),
                    _ => format!("{} or ", others.join(", ")),
                };
                format!("{first}{last}{noun}")
            })
        };
        let threads = of("threads", " thread", " threads");
        let compute = of("compute", "", "").map(|times| format!(", {times} of work each"));
        let cpus = of("cpus", " processor", " processors").map(|cpus| format!(" on {cpus}"));
        let hogs = of("hogs", " busy program", " busy programs").map(|hogs| format!(" beside {hogs}"));
        [threads, cpus, hogs, compute].into_iter().flatten().collect()
    }
}

impl DraftLines {
    fn say(&mut self, line: &str) {
        self.push(line, None);
    }

    /// A line that an answer gives, with a comment.
    fn key(&mut self, name: &'static str, line: &str, comment: &str, draft: &PlanDraft) {
        let about = draft.given(name).map(|_| name);
        if comment.is_empty() { self.push(line, about) } else { self.push(&format!("{line} # {comment}"), about) }
    }

    fn push(&mut self, line: &str, about: Option<&'static str>) {
        self.text.push_str(line);
        self.text.push('\n');
        self.answers.extend(line.split('\n').map(|_| about));
    }
}

/// Answers that are counts: all others are texts.
const COUNTS: [&str; 5] = ["threads", "cpus", "hogs", "barriers", "seeds"];

/// A value as a plan has it.
fn word(name: &str, value: &str) -> String {
    match (value.parse::<i64>(), value.parse::<f64>()) {
        (Ok(whole), _) if COUNTS.contains(&name) => whole.to_string(),
        (_, Ok(real)) if COUNTS.contains(&name) && real.is_finite() => format!("{real:?}"),
        _ => text(value),
    }
}

/// The name under which a plan varies an answer, in quotes if it needs them.
fn swept(name: &'static str) -> &'static str {
    match name {
        "barriers" => "\"job.job.barriers\"",
        "scheduler" => "preset",
        name => name,
    }
}

fn list(name: &str, values: &[String]) -> String {
    format!("[{}]", values.iter().map(|value| word(name, value)).collect::<Vec<_>>().join(", "))
}

/// A text in quotes.
fn text(value: &str) -> String {
    let quoted = |c: char| match c {
        '"' | '\\' => format!("\\{c}"),
        c if c.is_control() => format!("\\u{:04X}", u32::from(c)),
        c => c.to_string(),
    };
    format!("\"{}\"", value.chars().map(quoted).collect::<String>())
}

/// Processors' worth of time, as the time of a period.
fn quota(processors: &str) -> Result<String> {
    match processors.parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(text(&format!("{} ms", (number * PERIOD_MS * 1e3).round() / 1e3))),
        _ => bail!("--quota: `{processors}` is no number of processors; write 1.5 for so much processor time"),
    }
}

fn quotas(values: &[String]) -> Result<String> {
    let choice =
        |value: &String| Ok(format!("{} = {{ \"machine.eevdf.group.container.quota\" = {} }}", text(value), quota(value)?));
    Ok(format!("{{ {} }}", values.iter().map(choice).collect::<Result<Vec<_>>>()?.join(", ")))
}
