//! What was asked for on the command line.
use super::super::plan::number;
use super::Trouble;

/// Longer messages do not fit into the peers' buffers.
const BYTES_MAX: usize = 16 << 20;
pub(super) const PEERS: [&str; 4] = ["openmpi", "mpich", "ucx", "libfabric"];

/// A comparison of messages.
#[derive(Debug, PartialEq)]
pub(super) struct Ask {
    pub(super) sizes: Vec<usize>,
    pub(super) rounds: u32,
    pub(super) batches: u32,
    pub(super) cpus: [u32; 2],
    pub(super) who: Vec<&'static str>,
}

impl Default for Ask {
    fn default() -> Self {
        let sizes = vec![8, 64, 512, 4 << 10, 64 << 10, 1 << 20, 4 << 20];
        Self { sizes, rounds: 3, batches: 11, cpus: [0, 1], who: PEERS.to_vec() }
    }
}

impl Ask {
    pub(super) fn parse(options: &[&str]) -> Result<Self, Trouble> {
        let usage = |what: String| Err(Trouble::Usage(what));
        let mut ask = Self::default();
        for option in options.chunks(2) {
            let [name, value] = option else { return usage(format!("`{}` needs a value", option[0])) };
            match *name {
                "--sizes" => ask.sizes = value.split(',').map(bytes).collect::<Result<_, _>>()?,
                "--rounds" => ask.rounds = positive(name, value)?,
                "--batches" => ask.batches = positive(name, value)?,
                "--cpus" => match value.split(',').map(|cpu| number(name, cpu)).collect::<Result<Vec<u32>, _>>()?[..] {
                    [a, b] if a != b => ask.cpus = [a, b],
                    _ => return usage(format!("--cpus: two different processors, not `{value}`")),
                },
                "--who" => ask.who = value.split(',').map(peer).collect::<Result<_, _>>()?,
                _ => return usage(format!("no option `{name}`")),
            }
        }
        Ok(ask)
    }
}

fn positive(name: &str, value: &str) -> Result<u32, Trouble> {
    let n: u32 = number(name, value)?;
    if (1..=1_000).contains(&n) { Ok(n) } else { Err(Trouble::Usage(format!("{name}: 1 to 1000, not {n}"))) }
}

fn bytes(value: &str) -> Result<usize, Trouble> {
    let n: usize = number("--sizes", value)?;
    if (1..=BYTES_MAX).contains(&n) { Ok(n) } else { Err(Trouble::Usage(format!("--sizes: 1 to {BYTES_MAX} bytes, not {n}"))) }
}

fn peer(value: &str) -> Result<&'static str, Trouble> {
    let known = PEERS.into_iter().find(|name| *name == value);
    known.ok_or_else(|| Trouble::Usage(format!("--who: `{value}` is none of {}", PEERS.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_replace_the_defaults() {
        assert_eq!(Ask::parse(&[]).unwrap(), Ask::default());
        let options = ["--sizes", "8,16", "--rounds", "1", "--batches", "2", "--cpus", "4,5", "--who", "ucx,mpich"];
        let asked = Ask { sizes: vec![8, 16], rounds: 1, batches: 2, cpus: [4, 5], who: vec!["ucx", "mpich"] };
        assert_eq!(Ask::parse(&options).unwrap(), asked);
    }

    #[test]
    fn wrong_usage_names_the_culprit() {
        for (options, culprit) in [
            (["--sizes", "0"], "not 0"),
            (["--sizes", "8,x"], "`x`"),
            (["--rounds", "0"], "--rounds"),
            (["--cpus", "1"], "`1`"),
            (["--cpus", "1,1"], "`1,1`"),
            (["--who", "lam"], "lam"),
            (["--size", "8"], "`--size`"),
        ] {
            match Ask::parse(&options) {
                Err(Trouble::Usage(what)) => assert!(what.contains(culprit), "{options:?}: {what}"),
                other => panic!("{options:?}: {other:?}"),
            }
        }
        assert!(matches!(Ask::parse(&["--cpus"]), Err(Trouble::Usage(_))));
    }
}
