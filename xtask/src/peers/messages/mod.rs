//! Messages of other libraries beside ours, between two pinned processes, in alternation.
//!
//! [`ask`]: what was asked for. [`contestant`]: who takes part, and how each is run. [`sample`]: what they print. [`table`]: the end.
mod ask;
mod contestant;
mod sample;
mod table;

use super::Trouble;
use anyhow::{Context, Result};
use ask::Ask;
use contestant::Contestant;
use sample::Sample;
use std::path::Path;

/// The whole comparison, printed.
pub(super) fn hold(arguments: &[&str]) -> Result<(), Trouble> {
    let ask = Ask::parse(arguments)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask must lie in a workspace")?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), |place| root.join(place));
    let mut peers = Vec::new();
    let mut missing = Vec::new();
    for name in &ask.who {
        match contestant::peer(name, root, &target) {
            Ok(peer) => peers.push(peer),
            Err(Trouble::Missing(what)) => missing.push(what),
            Err(other) => return Err(other),
        }
    }
    missing.iter().for_each(|what| eprintln!("left out: {what}"));
    if peers.is_empty() {
        return Err(Trouble::Missing("there is nobody to compare with".to_owned()));
    }
    let mut all = vec![contestant::ours(root)?];
    all.extend(peers);
    print!("{}", table::of(&run_all(&mut all, &ask)?));
    Ok(())
}

/// What everybody came to in all rounds, ours first. Every other round goes backwards, so that nobody always comes first; who fails is
/// left out from then on, but for us.
fn run_all(all: &mut [Contestant], ask: &Ask) -> Result<Vec<(&'static str, Vec<Sample>)>> {
    let mut found: Vec<(&'static str, Vec<Sample>)> = all.iter().map(|who| (who.name, vec![])).collect();
    for round in 0..ask.rounds {
        let mut order: Vec<usize> = (0..all.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for at in order.into_iter().filter(|&at| !all[at].failed).collect::<Vec<_>>() {
            match all[at].run(ask) {
                Ok(samples) => found[at].1.extend(samples),
                Err(error) if at == 0 => return Err(error),
                Err(error) => {
                    eprintln!("left out: {}: {error:#}", all[at].name);
                    all[at].failed = true;
                }
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_fails_is_left_out_and_the_others_go_on() {
        let shell = |name, script: &str| Contestant::script(name, script);
        let line = r#"{\"bytes\":8,\"pattern\":\"stream\",\"min_ns\":1.0,\"p50_ns\":2.0}"#;
        let mut all = [shell("good", &format!("echo \"{line}\"")), shell("bad", "exit 3")];
        let ask = Ask { rounds: 3, ..Ask::default() };
        let found = run_all(&mut all, &ask).unwrap();
        assert_eq!((found[0].1.len(), found[1].1.len()), (3, 0));
        assert!(run_all(&mut [shell("ours", "exit 3")], &ask).is_err(), "without ours there is nothing to say");
    }
}
