//! `[sweep]`: what is varied. Every combination is a point; a choice puts values into the plan and does
//! nothing else.
use super::read::nanos;
use super::tree::{Located, ParseResult, Value, mistake};
use foregather_machine::Nanos;
use foregather_results::meant;

/// More choices on one axis are refused as an oversight.
const CHOICES_MAX: usize = 10_000;

/// Short names, and what they stand for. `*` is every job that meets.
pub(super) const SHORT: [(&str, &str); 25] = [
    ("load", "load"),
    ("threads", "job.0.threads"),
    ("cpus", "machine.cpus"),
    ("ties", "machine.ties"),
    ("preset", "machine.preset"),
    ("wakeup", "machine.linux24.wakeup"),
    ("quantum", "machine.round-robin.quantum"),
    ("seed", "run.seeds"),
    ("policy", "*.policy"),
    ("spin", "*.spin"),
    ("compute", "*.compute"),
    ("hogs", "job.hog.count"),
    ("grain", "*.grain"),
    ("cv", "*.cv"),
    ("nodes", "network.nodes"),
    ("dimension", "network.dimension"),
    ("profile", "network.profile"),
    ("arbitration", "network.arbitration"),
    ("interrupts", "network.interrupts"),
    ("barrier", "trial.barrier"),
    ("protocol", "trial.shift.protocol"),
    ("bytes", "trial.shift.bytes"),
    ("skew", "trial.skew"),
    ("delta", "trial.skew.last"),
    ("trials", "trial.trials"),
];

/// Labels that every result has: a plan's own names must not hide them.
const TAKEN: [&str; 3] = ["job", "plan", "state"];

/// One axis: a name that is varied, and its choices.
#[derive(Clone, Debug)]
pub(crate) struct SweptParameter {
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) choices: Vec<AxisValue>,
}

/// One choice on an axis.
#[derive(Clone, Debug)]
pub(crate) struct AxisValue {
    pub(crate) label: String,
    /// The choices of one group are shown as one: their numbers are taken together.
    pub(crate) group: Option<String>,
    /// The paths that it sets, and the values that it puts there.
    puts: Vec<(String, Located)>,
}

impl AxisValue {
    /// Puts the choice's values into the plan.
    pub(super) fn put_into(&self, root: &mut Located) -> ParseResult<()> {
        self.puts.iter().try_for_each(|(path, node)| put(root, path, node))
    }
}

/// The axes in the order of the file.
pub(super) fn read(node: &Located) -> ParseResult<Vec<SweptParameter>> {
    let Some(entries) = node.entries() else {
        return mistake(node.line, format!("[sweep] is a table, not {}", node.sort()));
    };
    entries.iter().map(|(name, node)| axis(name, node)).collect()
}

fn axis(name: &str, node: &Located) -> ParseResult<SweptParameter> {
    let short = SHORT.iter().any(|(short, _)| *short == name);
    let known = short || name.contains('.');
    let mut choices: Vec<AxisValue> = Vec::new();
    let mut add = |group: Option<&str>, label: String, value: &Located| {
        let puts = match (known, &value.value) {
            (true, _) => vec![(name.to_owned(), value.clone())],
            (false, Value::Table(puts)) => puts.clone(),
            (false, _) => return mistake(value.line, unknown(name)),
        };
        choices.push(AxisValue { label, group: group.map(str::to_owned), puts });
        Ok(())
    };
    let several = |node: &Located| match &node.value {
        Value::Table(_) if known && is_range(node) => range(name, node).map(Some),
        Value::List(items) => Ok(Some(items.clone())),
        _ => Ok(None),
    };
    match (several(node)?, &node.value) {
        (Some(values), _) => values.iter().try_for_each(|value| add(None, label(name, value)?, value))?,
        (None, Value::Table(entries)) => {
            for (given, value) in entries {
                match several(value)?.filter(|_| short) {
                    Some(values) => {
                        values
                            .iter()
                            .try_for_each(|value| add(Some(given), format!("{given}: {}", label(name, value)?), value))?;
                    }
                    None => add(None, given.clone(), value)?,
                }
            }
        }
        (None, _) => add(None, label(name, node)?, node)?,
    }
    if choices.is_empty() || choices.len() > CHOICES_MAX {
        return mistake(node.line, format!("`{name}` has {} choices; give 1 to {CHOICES_MAX}", choices.len()));
    }
    if TAKEN.contains(&name) {
        return mistake(node.line, format!("results have a label `{name}` already: choose another name"));
    }
    // The labels as they stand in the ids of results, where a slash divides.
    let id = |choice: &AxisValue| choice.label.replace('/', "-");
    for (at, choice) in choices.iter().enumerate() {
        if choices[..at].iter().any(|earlier| id(earlier) == id(choice)) {
            return mistake(node.line, format!("`{name}` has two choices called {}", choice.label));
        }
    }
    Ok(SweptParameter { name: name.to_owned(), line: node.line, choices })
}

fn unknown(name: &str) -> String {
    let short = SHORT.map(|(short, _)| short);
    if let hint = meant(name, &short)
        && hint.contains("did you mean")
    {
        return format!("`{name}` cannot vary by itself{hint}");
    }
    format!(
        "`{name}` is neither one of {} nor a dotted key in quotes (\"machine.cpus\"); \
         under a name of your own each choice is a table of such keys",
        short.join(", ")
    )
}

/// The name of a choice to which the plan gives none.
fn label(name: &str, node: &Located) -> ParseResult<String> {
    match &node.value {
        Value::Text(text) => Ok(text.clone()),
        Value::Whole(whole) => Ok(whole.to_string()),
        Value::Real(real) => Ok(real.to_string()),
        Value::Flag(flag) => Ok(flag.to_string()),
        _ => mistake(node.line, format!("give each choice of `{name}` a name: {{ name = {} }}", node.sort())),
    }
}

fn is_range(node: &Located) -> bool {
    node.get("from").is_some() && node.get("to").is_some()
}

/// `{ from = 40, to = 208, step = 8 }`, also of times; both ends included.
fn range(name: &str, node: &Located) -> ParseResult<Vec<Located>> {
    let (what, line) = (format!("the range of `{name}`"), node.line);
    let [from, to, step] = ["from", "to", "step"].map(|key| node.get(key));
    let other = node.entries().into_iter().flatten().find(|(key, _)| !["from", "to", "step"].contains(&key.as_str()));
    if let Some((key, node)) = other {
        return mistake(node.line, format!("unknown key `{key}` in {what}{}", meant(key, &["from", "to", "step"])));
    }
    let Some(step) = steps(&what, from.unwrap_or(node), to.unwrap_or(node), step)? else {
        return mistake(
            line,
            format!("{what} leads nowhere, or too far: it needs from <= to, step > 0, at most {CHOICES_MAX} steps"),
        );
    };
    Ok(step.into_iter().map(|value| Located { line, value }).collect())
}

fn steps(what: &str, from: &Located, to: &Located, step: Option<&Located>) -> ParseResult<Option<Vec<Value>>> {
    let all = |from: f64, to: f64, step: f64| {
        let count = ((to - from) / step + 1e-9).floor();
        (step > 0.0 && (0.0..CHOICES_MAX as f64).contains(&count))
            .then(|| (0..=count as u64).map(move |i| from + i as f64 * step))
    };
    if let (Value::Text(_), Some(step)) = (&from.value, step) {
        let ns = |Located { line, value }: &Located| match value {
            Value::Text(text) => {
                nanos(text).map_or_else(|error| mistake(*line, format!("{what}: {error}")), |ns| Ok(ns.0 as f64))
            }
            _ => mistake(*line, format!("{what}: `a time` is a text, not {}", value.sort())),
        };
        return Ok(
            all(ns(from)?, ns(to)?, ns(step)?).map(|all| all.map(|ns| Value::Text(short_time(Nanos(ns as u64)))).collect())
        );
    }
    let number = |Located { line, value }: &Located| match value {
        Value::Whole(whole) => Ok(*whole as f64),
        Value::Real(real) => Ok(*real),
        _ => mistake(*line, format!("{what} is of numbers, or of times with a step")),
    };
    let whole = [Some(from), Some(to), step].into_iter().flatten().all(|placed| matches!(placed.value, Value::Whole(_)));
    // A tenth is no sum of binary fractions: twelve digits are what was meant.
    let value = |number: f64| if whole { Value::Whole(number as i64) } else { Value::Real((number * 1e12).round() / 1e12) };
    let all = all(number(from)?, number(to)?, step.map_or(Ok(1.0), number)?);
    Ok(all.map(|all| all.map(value).collect()))
}

/// The time in the largest unit that divides it.
fn short_time(time: Nanos) -> String {
    let unit = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")]
        .into_iter()
        .find(|(unit, _)| time.0.is_multiple_of(*unit) && time.0 > 0);
    unit.map_or_else(|| format!("{} ns", time.0), |(unit, name)| format!("{} {name}", time.0 / unit))
}

/// Puts a value at a path, or where its short name says.
fn put(root: &mut Located, path: &str, node: &Located) -> ParseResult<()> {
    if let ("seed", Value::Whole(_)) = (path, &node.value) {
        // `seed` is one seed; `run.seeds` would read a number as how many there are.
        return root.set("run.seeds", &Located { line: node.line, value: Value::List(vec![node.clone()]) });
    }
    let path = SHORT.iter().find(|(short, _)| *short == path).map_or(path, |(_, long)| long);
    let Some(key) = path.strip_prefix("*.") else {
        // Of two keys for the same number, the new one takes the place of the other.
        let other = [("network.nodes", "network.dimension"), ("network.dimension", "network.nodes")];
        if let Some((_, old)) = other.iter().find(|(new, _)| *new == path) {
            root.remove(old);
        }
        return root.set(path, node);
    };
    let mut meeting: Vec<String> = Vec::new();
    if root.get("mix").is_some() {
        meeting.push("mix".into());
    }
    let jobs = root.get("job").and_then(Located::items).unwrap_or_default();
    let loads = |job: &Located| matches!(job.get("load"), Some(Located { value: Value::Flag(true), .. }));
    meeting.extend((0..jobs.len()).filter(|&at| !loads(&jobs[at])).map(|at| format!("job.{at}")));
    // Of two keys for the policy, the new one takes the place of the other.
    let instead = [("policy", "spin"), ("spin", "policy")].into_iter().find(|(new, _)| *new == key);
    for place in meeting {
        if let Some((_, old)) = instead {
            root.remove(&format!("{place}.{old}"));
        }
        root.set(&format!("{place}.{key}"), node)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(text: &str) -> Result<Vec<String>, String> {
        let axes = read(Located::parse(text).unwrap().get("sweep").unwrap())
            .map_err(|error| format!("{}: {}", error.line, error.what))?;
        Ok(axes[0].choices.iter().map(|choice| choice.label.clone()).collect())
    }

    #[test]
    fn ranges_include_both_ends() {
        for (range, expected) in [
            ("load = { from = 40, to = 56, step = 8 }", &["40", "48", "56"][..]),
            ("load = { from = 1, to = 3 }", &["1", "2", "3"]),
            ("cv = { from = 0.1, to = 0.3, step = 0.1 }", &["0.1", "0.2", "0.3"]),
            ("spin = { from = \"0 us\", to = \"2 us\", step = \"500 ns\" }", &["0 ns", "500 ns", "1 us", "1500 ns", "2 us"]),
            ("policy = { AB = \"block\", CS = \"two-phase:6us\" }", &["AB", "CS"]),
            ("policy = [\"block\", \"spin\"]", &["block", "spin"]),
            ("\"machine.linux24.hold\" = [true, false]", &["true", "false"]),
            ("load = { few = [8, 16], many = { from = 32, to = 33 } }", &["few: 8", "few: 16", "many: 32", "many: 33"]),
            ("what-i-like = { small = { load = 3, cpus = 2 }, large = {} }", &["small", "large"]),
        ] {
            assert_eq!(labels(&format!("[sweep]\n{range}")).unwrap(), expected, "{range}");
        }
    }

    #[test]
    fn sweeps_that_lead_nowhere_are_refused() {
        for (sweep, says) in [
            ("load = { from = 56, to = 40, step = 8 }", "2: the range of `load` leads nowhere"),
            ("load = { from = 0, to = 40, step = 0 }", "leads nowhere"),
            ("load = { from = 0, to = 1000000 }", "too far"),
            ("load = { from = 0, to = 40, stepp = 1 }", "did you mean `step`"),
            ("polcy = [\"block\", \"spin\"]", "`polcy` cannot vary by itself; did you mean `policy`?"),
            ("load = { from = \"1 us\", to = 40, step = \"1 us\" }", "`a time` is a text"),
            ("laod = [1, 2]", "did you mean `load`?"),
            ("temperature = [1, 2]", "neither one of load"),
            ("machine.cpus = [1, 2]", "in quotes"),
            ("load = [1, 1]", "two choices called 1"),
            ("load = []", "0 choices"),
            ("ties = [\"a/b\", \"a-b\"]", "two choices called a-b"),
            ("job = { a = { load = 1 } }", "choose another name"),
            ("\"job.0.compute\" = [{ constant = \"1 us\" }]", "a name"),
        ] {
            let said = labels(&format!("[sweep]\n{sweep}")).unwrap_err();
            assert!(said.contains(says), "{sweep}: {said}");
        }
    }

    #[test]
    fn short_names_reach_every_job_that_meets() {
        let mut root = Located::parse("[[job]]\nspin = 1\n[[job]]\nload = true\n[[job]]\n[run]").unwrap();
        put(&mut root, "policy", &Located::text(9, "block")).unwrap();
        put(&mut root, "seed", &Located { line: 9, value: Value::Whole(7) }).unwrap();
        let jobs = root.get("job").unwrap().items().unwrap();
        let has = |at: usize, key| jobs[at].get(key).is_some();
        assert_eq!([has(0, "policy"), has(1, "policy"), has(2, "policy"), has(0, "spin")], [true, false, true, false]);
        assert_eq!(root.get("run").unwrap().get("seeds").unwrap().items().unwrap().len(), 1);
    }
}
