//! The table of CI's steps, `.ci/steps.toml`: which there are, what each needs, and which are run for a name.
use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// The table as it is written. A step's name is its key.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTable {
    within: u64,
    limit: u64,
    need: BTreeMap<String, CiNeed>,
    beside: toml::Table,
    alone: toml::Table,
}

#[derive(Debug)]
pub(super) struct StepTable {
    /// Seconds after which no further step begins.
    pub(super) within: u64,
    need: BTreeMap<String, CiNeed>,
    step: Vec<CiStep>,
}

/// A need that is no program.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct CiNeed {
    /// A command that succeeds if it is met.
    test: String,
    /// What to do about it.
    remedy: String,
}

#[derive(Deserialize, Clone, Default, Debug)]
#[serde(deny_unknown_fields, default)]
pub(super) struct CiStep {
    #[serde(skip)]
    pub(super) name: String,
    pub(super) about: String,
    /// A command line.
    pub(super) run: String,
    /// The time limit.
    pub(super) seconds: u64,
    /// Whether it runs alone: it measures, or its tests have short time limits.
    #[serde(skip)]
    pub(super) alone: bool,
    /// Whether it holds the build lock of `target/`.
    pub(super) builds: bool,
    /// The steps that must pass before this one.
    pub(super) after: Vec<String>,
    /// Names of `[need.NAME]`, programs, or paths; `A or B` if one of them is enough.
    pub(super) needs: Vec<String>,
    /// Debian's packages, which `.ci/run` installs.
    packages: String,
    /// Whether it may be left out where something is missing, even if parts are required.
    pub(super) optional: bool,
}

impl StepTable {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let WrittenTable { within, limit, need, beside, alone } = toml::from_str(text).context("the table of steps")?;
        let steps = |table: toml::Table, alone: bool| -> Result<Vec<CiStep>> {
            let named = |(name, step): (String, toml::Value)| {
                let step: CiStep = step.try_into().with_context(|| format!("step {name}"))?;
                ensure!(!step.run.is_empty(), "step {name}: it has no `run`");
                Ok(CiStep { name, alone, seconds: if step.seconds == 0 { limit } else { step.seconds }, ..step })
            };
            table.into_iter().map(named).collect()
        };
        let step = [steps(beside, false)?, steps(alone, true)?].concat();
        let mut known = BTreeSet::new();
        for CiStep { name, after, .. } in &step {
            if let Some(unknown) = after.iter().find(|name| !known.contains(name)) {
                bail!("step {name}: `{unknown}` is not a step above it");
            }
            ensure!(known.insert(name), "two steps are named {name}");
        }
        Ok(Self { within, need, step })
    }

    /// Returns the named steps and what must pass before them, in the order of the table.
    pub(super) fn select(&self, names: &[&str]) -> Result<Vec<CiStep>, String> {
        let of = |name: &str| self.step.iter().find(|step| step.name == name);
        let mut wanted: BTreeSet<&str> = BTreeSet::new();
        let mut pending: Vec<&str> = match names {
            ["all"] => self.step.iter().map(|step| step.name.as_str()).collect(),
            names => names.to_vec(),
        };
        while let Some(name) = pending.pop() {
            let step = of(name).ok_or_else(|| format!("no step is named `{name}`; `.ci/run --list` lists the steps"))?;
            if wanted.insert(&step.name) {
                pending.extend(step.after.iter().map(String::as_str));
            }
        }
        Ok(self.step.iter().filter(|step| wanted.contains(step.name.as_str())).cloned().collect())
    }

    /// Returns a command that succeeds if a need is met.
    pub(super) fn test_of(&self, need: &str) -> String {
        let tests = need.split(" or ").map(|name| match self.need.get(name) {
            Some(need) => format!("{{ {}; }}", need.test),
            None if name.contains('/') => format!("test -e {name}"),
            None => format!("command -v {name}"),
        });
        tests.collect::<Vec<_>>().join(" || ")
    }

    /// Returns the name of a need with what to do about it.
    pub(super) fn remedy(&self, need: &str) -> String {
        let last = need.rsplit(" or ").next().unwrap_or(need);
        let remedy = self.need.get(last).map_or_else(|| format!("apt-get install {last}"), |known| known.remedy.clone());
        format!("{need} ({remedy})")
    }

    pub(super) fn listing(&self) -> String {
        self.step.iter().map(|step| format!("{:<12} {}\n", step.name, step.about)).collect()
    }
}

#[cfg(test)]
pub(super) fn fake(name: &str, after: &[&str]) -> CiStep {
    let after = after.iter().map(|&name| name.to_owned()).collect();
    CiStep { name: name.to_owned(), after, ..CiStep::default() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "within = 9\nlimit = 1\n[need.root]\ntest = 'false'\nremedy = 'become root'\n\
        [beside.lint]\nrun = 'true'\nbuilds = true\n[beside.build]\nrun = 'true'\nseconds = 2\n\
        [alone.smoke]\nrun = 'true'\nafter = ['build']\nneeds = ['root', 'gcc']\npackages = 'gcc'\n";

    fn selected(names: &[&str]) -> Vec<(String, bool, u64)> {
        let steps = StepTable::parse(TEXT).unwrap().select(names).unwrap();
        steps.into_iter().map(|step| (step.name, step.alone, step.seconds)).collect()
    }

    #[test]
    fn a_step_is_selected_with_what_must_pass_before_it_in_the_tables_order() {
        let [lint, build, smoke] = [("lint", false, 1), ("build", false, 2), ("smoke", true, 1)]
            .map(|(name, alone, limit)| (name.to_owned(), alone, limit));
        assert_eq!(selected(&["smoke"]), [build.clone(), smoke.clone()]);
        assert_eq!(selected(&["smoke", "lint"]), [lint, build, smoke]);
        assert_eq!(selected(&["all"]).len(), 3);
        let error = StepTable::parse(TEXT).unwrap().select(&["lints"]).unwrap_err();
        assert!(error.starts_with("no step is named `lints`"), "{error}");
    }

    #[test]
    fn a_table_that_contradicts_itself_is_refused() {
        let wrong = |text: &str| format!("{:#}", StepTable::parse(text).unwrap_err());
        assert_eq!(wrong(&TEXT.replace("['build']", "['nothing']")), "step smoke: `nothing` is not a step above it");
        assert_eq!(wrong(&TEXT.replace("beside.lint", "alone.build")), "two steps are named build");
        assert!(wrong(&TEXT.replace("seconds", "minutes")).contains("minutes"));
        assert_eq!(wrong(&TEXT.replace("run = 'true'\nbuilds", "builds")), "step lint: it has no `run`");
    }

    #[test]
    fn a_need_names_its_remedy() {
        let table = StepTable::parse(TEXT).unwrap();
        assert_eq!(table.test_of("target/words or root"), "test -e target/words || { false; }");
        assert_eq!(table.remedy("target/words or root"), "target/words or root (become root)");
        assert_eq!(table.test_of("gcc"), "command -v gcc");
        assert_eq!(table.remedy("gcc"), "gcc (apt-get install gcc)");
    }

    #[test]
    fn the_table_of_this_repository_is_well_formed() {
        let table = StepTable::parse(include_str!("../../../.ci/steps.toml")).unwrap();
        assert!(table.within < 5400, "a run is ended after 90 minutes");
    }
}
