//! The table of CI's steps, `.ci/steps.toml`: which there are, what each needs, and which are run for a name.
use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct StepTable {
    /// Seconds after which no further step begins.
    pub(super) within: u64,
    need: BTreeMap<String, CiNeed>,
    step: Vec<CiStep>,
    /// The steps of a room, with `{room}` for its folder and `{package}` for its package.
    room: Vec<CiStep>,
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

#[derive(Deserialize, Clone, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct CiStep {
    pub(super) name: String,
    pub(super) about: String,
    /// A command line.
    pub(super) run: String,
    /// The time limit.
    pub(super) seconds: u64,
    #[serde(default)]
    pub(super) wants: CiResource,
    /// The steps that must pass before this one.
    #[serde(default)]
    pub(super) after: Vec<String>,
    /// Names of `[need.NAME]`, programs, or paths; `A or B` if one of them is enough.
    #[serde(default)]
    pub(super) needs: Vec<String>,
    /// Debian's packages, which `.ci/run` installs.
    #[serde(default)]
    packages: String,
    /// Whether it may be left out where something is missing, even if parts are required.
    #[serde(default)]
    pub(super) optional: bool,
    /// For rooms: a file or folder, without `.rs`, that the room must have.
    only_with: Option<String>,
}

/// What a step wants for itself.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Default, Debug)]
#[serde(rename_all = "lowercase")]
pub(super) enum CiResource {
    /// One processor.
    #[default]
    Processor,
    /// The build lock of `target/`.
    Cargo,
    /// The machine: it measures, or its tests have time limits.
    Alone,
}

impl StepTable {
    pub(super) fn parse(text: &str) -> Result<Self> {
        let table: Self = toml::from_str(text).context("the table of steps")?;
        let mut known = BTreeSet::new();
        for step in &table.step {
            let unknown = step.after.iter().find(|name| !known.contains(name));
            ensure!(unknown.is_none(), "step {}: `{}` is not a step above it", step.name, unknown.map_or("", String::as_str));
            ensure!(known.insert(&step.name), "two steps are named {}", step.name);
        }
        Ok(table)
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
            let step =
                of(name).ok_or_else(|| format!("no step or room is named `{name}`; `cargo xtask ci --list` lists the steps"))?;
            if wanted.insert(&step.name) {
                pending.extend(step.after.iter().map(String::as_str));
            }
        }
        Ok(self.step.iter().filter(|step| wanted.contains(step.name.as_str())).cloned().collect())
    }

    /// Returns the steps of one room.
    pub(super) fn of_room(&self, root: &Path, room: &str) -> Result<Vec<CiStep>> {
        let manifest = fs::read_to_string(root.join(room).join("Cargo.toml")).with_context(|| format!("{room} is no room"))?;
        let manifest: toml::Table = manifest.parse()?;
        let package = manifest["package"]["name"].as_str().context("a package has a name")?;
        let has = |part: &String| ["", ".rs"].iter().any(|end| root.join(room).join(format!("{part}{end}")).exists());
        let steps = self.room.iter().filter(|step| step.only_with.as_ref().is_none_or(has));
        let steps = steps.map(|step| CiStep {
            name: step.name.replace("{room}", room),
            run: step.run.replace("{room}", room).replace("{package}", package),
            ..step.clone()
        });
        Ok(steps.collect())
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
    pub(super) fn remedy(&self, need: &str, step: &CiStep) -> String {
        let last = need.rsplit(" or ").next().unwrap_or(need);
        match self.need.get(last) {
            Some(known) => format!("{need} is missing; {}", known.remedy),
            None if step.packages.is_empty() => format!("{need} is missing; install {last}"),
            None => format!("{need} is missing; apt-get install {}", step.packages),
        }
    }

    pub(super) fn listing(&self) -> String {
        let mut lines = format!("{:<14} {:>6}  {:<10} about\n", "name", "limit", "wants");
        for CiStep { name, about, seconds, wants, after, needs, packages, optional, .. } in &self.step {
            let wants = format!("{wants:?}").to_lowercase();
            lines += &format!("{name:<14} {seconds:>4} s  {wants:<10} {about}{}\n", if *optional { " (optional)" } else { "" });
            let details = [("after", after.join(", ")), ("needs", needs.join(", ")), ("packages", packages.clone())];
            for (what, text) in details.iter().filter(|(_, text)| !text.is_empty()) {
                lines += &format!("{:35}{what}: {text}\n", "");
            }
        }
        lines
    }
}

#[cfg(test)]
pub(super) fn fake(name: &str, wants: CiResource, after: &[&str]) -> CiStep {
    let after = after.iter().map(|&name| name.to_owned()).collect();
    let (name, about, run, packages) = (name.to_owned(), String::new(), String::new(), String::new());
    CiStep { name, about, run, seconds: 1, wants, after, needs: Vec::new(), packages, optional: false, only_with: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "within = 9\n\
        [need.root]\ntest = 'false'\nremedy = 'become root'\n\
        [[step]]\nname = 'build'\nabout = 'a'\nrun = 'true'\nseconds = 1\n\
        [[step]]\nname = 'lint'\nabout = 'b'\nrun = 'true'\nseconds = 1\nwants = 'cargo'\n\
        [[step]]\nname = 'smoke'\nabout = 'c'\nrun = 'true'\nseconds = 1\nafter = ['build']\nneeds = ['root', 'gcc']\npackages = 'gcc'\n\
        [[room]]\nname = '{room} loom'\nabout = 'd'\nrun = 'test {package}'\nseconds = 1\nonly_with = 'tests/loom'\n";

    fn names(steps: &[CiStep]) -> Vec<&str> {
        steps.iter().map(|step| step.name.as_str()).collect()
    }

    #[test]
    fn a_step_is_selected_with_what_must_pass_before_it_in_the_tables_order() {
        let table = StepTable::parse(TEXT).unwrap();
        assert_eq!(names(&table.select(&["smoke"]).unwrap()), ["build", "smoke"]);
        assert_eq!(names(&table.select(&["smoke", "lint"]).unwrap()), ["build", "lint", "smoke"]);
        assert_eq!(names(&table.select(&["all"]).unwrap()), ["build", "lint", "smoke"]);
        assert!(table.select(&["lints"]).unwrap_err().starts_with("no step or room is named `lints`"));
    }

    #[test]
    fn a_table_that_contradicts_itself_is_refused() {
        let wrong = |text: &str| format!("{:#}", StepTable::parse(text).unwrap_err());
        assert_eq!(wrong(&TEXT.replace("['build']", "['nothing']")), "step smoke: `nothing` is not a step above it");
        assert_eq!(wrong(&TEXT.replace("'lint'", "'build'")), "two steps are named build");
        assert!(wrong(&TEXT.replace("seconds", "minutes")).contains("minutes"));
    }

    #[test]
    fn a_need_names_its_remedy() {
        let table = StepTable::parse(TEXT).unwrap();
        let smoke = &table.select(&["smoke"]).unwrap()[1];
        assert_eq!(table.test_of("root"), "{ false; }");
        assert_eq!(table.test_of("target/words or root"), "test -e target/words || { false; }");
        assert_eq!(table.remedy("target/words or root", smoke), "target/words or root is missing; become root");
        assert_eq!(table.test_of("gcc"), "command -v gcc");
        assert_eq!(table.remedy("root", smoke), "root is missing; become root");
        assert_eq!(table.remedy("gcc", smoke), "gcc is missing; apt-get install gcc");
        assert!(table.listing().contains("needs: root, gcc\n"), "{}", table.listing());
    }

    #[test]
    fn a_room_has_the_steps_that_fit_it() {
        let (table, root) = (StepTable::parse(TEXT).unwrap(), crate::build::root().unwrap());
        assert_eq!(table.of_room(root, "core/wait").unwrap().len(), 0);
        let loom = &table.of_room(root, "worlds/thread").unwrap()[0];
        assert_eq!((loom.name.as_str(), loom.run.as_str()), ("worlds/thread loom", "test foregather-thread"));
    }

    #[test]
    fn the_table_of_this_repository_is_well_formed() {
        let table = StepTable::parse(include_str!("../../../.ci/steps.toml")).unwrap();
        let steps = table.select(&["all"]).unwrap();
        let alone = steps.iter().skip_while(|step| step.wants != CiResource::Alone);
        assert!(alone.clone().all(|step| step.wants == CiResource::Alone), "others would wait for no reason");
        assert_eq!(alone.clone().next().unwrap().name, "tests");
        assert!(table.within < 5400, "a run is ended after 90 minutes");
    }
}
