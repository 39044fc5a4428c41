//! What was asked for on the command line.
use super::Trouble;

/// A comparison with SimGrid.
#[derive(Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) nodes: Vec<u32>,
    pub(super) skew_us: u64,
    pub(super) rounds: u32,
    /// What is run instead of our own simulator, as words; its arguments follow.
    pub(super) ours: Option<Vec<String>>,
}

const NODES_MAX: u32 = 1 << 24;

impl Plan {
    pub(super) fn parse(arguments: &[&str]) -> Result<Self, Trouble> {
        let usage = |what: String| Err(Trouble::Usage(what));
        let mut plan = Self { nodes: vec![1024, 16384], skew_us: 100, rounds: 3, ours: None };
        let ["simgrid", options @ ..] = arguments else {
            return usage("expected what to compare: simgrid or messages".to_owned());
        };
        for option in options.chunks(2) {
            let [name, value] = option else { return usage(format!("`{}` needs a value", option[0])) };
            match *name {
                "--nodes" => plan.nodes = value.split(',').map(nodes).collect::<Result<_, _>>()?,
                "--skew-us" => plan.skew_us = number(name, value)?,
                "--rounds" => plan.rounds = number(name, value)?,
                "--ours" => plan.ours = Some(value.split_whitespace().map(str::to_owned).collect()),
                _ => return usage(format!("no option `{name}`")),
            }
        }
        if plan.rounds == 0 || plan.ours.as_ref().is_some_and(Vec::is_empty) {
            return usage("--rounds must be at least 1, and --ours must name a program".to_owned());
        }
        Ok(plan)
    }
}

pub(super) fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, Trouble> {
    value.parse().map_err(|_| Trouble::Usage(format!("{name}: `{value}` is not a whole number that fits")))
}

fn nodes(value: &str) -> Result<u32, Trouble> {
    let nodes: u32 = number("--nodes", value)?;
    if nodes.is_power_of_two() && (2..=NODES_MAX).contains(&nodes) {
        return Ok(nodes);
    }
    Err(Trouble::Usage(format!("--nodes: a butterfly has a power of two of nodes from 2 to {NODES_MAX}, not {nodes}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_replace_the_defaults() {
        let plan = Plan::parse(&["simgrid"]).unwrap();
        assert_eq!((&plan.nodes[..], plan.skew_us, plan.rounds), (&[1024, 16384][..], 100, 3));
        assert_eq!(plan.ours, None);
        let arguments = ["simgrid", "--nodes", "8,16", "--skew-us", "0", "--rounds", "5", "--ours", "./a b"];
        let expected = Plan { nodes: vec![8, 16], skew_us: 0, rounds: 5, ours: Some(vec!["./a".to_owned(), "b".to_owned()]) };
        assert_eq!(Plan::parse(&arguments).unwrap(), expected);
    }

    #[test]
    fn wrong_usage_names_the_culprit() {
        for (arguments, culprit) in [
            (&[][..], "simgrid"),
            (&["simgird"], "simgrid"),
            (&["simgrid", "--nodes"], "--nodes"),
            (&["simgrid", "--nodes", "8,12"], "12"),
            (&["simgrid", "--nodes", "1"], "not 1"),
            (&["simgrid", "--nodes", "x"], "`x`"),
            (&["simgrid", "--skew-us", "-1"], "`-1`"),
            (&["simgrid", "--rounds", "0"], "--rounds"),
            (&["simgrid", "--ours", " "], "--ours"),
            (&["simgrid", "--node", "8"], "`--node`"),
        ] {
            match Plan::parse(arguments) {
                Err(Trouble::Usage(what)) => assert!(what.contains(culprit), "{arguments:?}: {what}"),
                other => panic!("{arguments:?}: {other:?}"),
            }
        }
    }
}
