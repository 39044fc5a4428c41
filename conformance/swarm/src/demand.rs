//! The swarm's command line.
use crate::plant::Plant;
use crate::subjects::{PLANTS, Subject};

pub(crate) const HELP: &str = "\
Runs of drawn worlds, programs and faults, each out of one number.

  --seeds N         so many runs of each subject (500)
  --from S          from that seed on (0)
  --subject NAME    of this subject alone; several may be named
  --seed N          this one run, told in full, with its drawn world and program
  --plant FAULT     with a planted fault: it must be found
  --sample          a quick look: 1500 seeds of each subject, every planted fault, and the points of conformance/reached.toml
  --write           writes down which run reached which point first

Exit codes: 0 all is well, 1 a run failed, a planted fault was not found or a point not reached, 2 wrong usage.";

/// The options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Demand {
    pub(crate) seeds: u64,
    pub(crate) from: u64,
    pub(crate) subjects: Vec<Subject>,
    pub(crate) one: Option<u64>,
    pub(crate) plant: Option<String>,
    pub(crate) sample: bool,
    pub(crate) write: bool,
}

impl Demand {
    /// Reads the command line.
    ///
    /// # Errors
    /// In words, with the possible values.
    pub(crate) fn read(arguments: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut demand = Self { seeds: 500, from: 0, subjects: vec![], one: None, plant: None, sample: false, write: false };
        let mut arguments = arguments.into_iter();
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or_else(|| format!("{argument} needs a value"));
            let number = |text: String| text.parse::<u64>().map_err(|_| format!("`{text}` is no number"));
            match argument.as_str() {
                "--seeds" => demand.seeds = number(value()?)?,
                "--from" => demand.from = number(value()?)?,
                "--seed" => demand.one = Some(number(value()?)?),
                "--plant" => demand.plant = Some(value()?),
                "--subject" => demand.subjects.push(subject(&value()?)?),
                "--sample" => demand.sample = true,
                "--write" => demand.write = true,
                other => return Err(format!("`{other}` is not known")),
            }
        }
        if let Some(name) = &demand.plant
            && !PLANTS.iter().any(|(known, ..)| known == name)
        {
            let names: Vec<&str> = PLANTS.iter().map(|(name, ..)| *name).collect();
            return Err(format!("no fault is called `{name}`; there are {}", names.join(", ")));
        }
        if demand.subjects.is_empty() {
            demand.subjects = Subject::ALL.to_vec();
        }
        Ok(demand)
    }

    /// The planted faults that are asked for, with their subjects; all of them if none is named.
    pub(crate) fn plants(&self) -> impl Iterator<Item = (&'static str, Subject, Plant)> {
        let named = |name: &str| self.plant.as_deref().is_none_or(|wanted| wanted == name);
        PLANTS.into_iter().filter(move |(name, subject, _)| named(name) && self.subjects.contains(subject))
    }
}

fn subject(name: &str) -> Result<Subject, String> {
    let names = || Subject::ALL.map(Subject::name).join(", ");
    Subject::named(name).ok_or_else(|| format!("no subject is called `{name}`; there are {}", names()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Demand, String> {
        Demand::read(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn what_is_asked_for_is_read() {
        let demand = read("--seeds 7 --from 3 --subject team --plant done-before --write").unwrap();
        assert_eq!((demand.seeds, demand.from, demand.subjects.clone()), (7, 3, vec![Subject::Team]));
        assert!(demand.write && !demand.sample);
        assert_eq!(demand.plants().map(|(name, ..)| name).collect::<Vec<_>>(), ["done-before"]);
        for (line, needs) in [("--seeds", "a value"), ("--seed x", "no number"), ("--plant x", "there are"), ("--x", "not known")]
        {
            assert!(read(line).unwrap_err().contains(needs), "{line}");
        }
    }

    #[test]
    fn every_subject_has_two_planted_faults_or_more() {
        for subject in Subject::ALL {
            assert!(PLANTS.iter().filter(|(_, of, _)| *of == subject).count() >= 2, "{subject:?}");
        }
    }
}
