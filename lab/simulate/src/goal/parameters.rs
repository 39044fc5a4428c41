//! A network by its name, and values of it that are changed.
use crate::plan::{nanos, picos};
use anyhow::{Context, Result, bail};
use foregather_host::regular;
use foregather_results::meant;
use foregather_sim::goal::{GoalNetwork, GoalNoise, GoalVariant};
use foregather_sim::net::profile;
use std::path::Path;

/// The networks that traces run on; the first is meant if none is named.
pub const NETWORKS: [(&str, GoalNetwork); 4] = [
    ("loggops:loggopsim", GoalNetwork::loggopsim(profile::LOGGOPSIM)),
    ("loggp:loggopsim", GoalNetwork::loggp(profile::LOGGOPSIM)),
    ("loggp:infiniband-tukey", GoalNetwork::loggp(profile::INFINIBAND_TUKEY)),
    ("loggp:ipsc860", GoalNetwork::loggp(profile::IPSC860_FREE)),
];

/// The keys that `--set` changes.
const KEYS: [&str; 8] = ["latency", "overhead", "send-overhead", "receive-overhead", "gap", "byte", "overhead-byte", "eager-max"];
/// The longest noise file.
const NOISE_BYTES_MAX: u64 = 256 << 20;

/// A network by its name, with some values changed.
///
/// # Errors
/// If there is no such network, key or value.
pub fn network(name: Option<&str>, set: &[(String, String)]) -> Result<GoalNetwork> {
    let name = name.unwrap_or(NETWORKS[0].0);
    let names = NETWORKS.map(|(name, _)| name);
    let Some((_, mut network)) = NETWORKS.into_iter().find(|(known, _)| *known == name) else {
        bail!("--network: no network `{name}`{}; there are {}", meant(name, &names), names.join(", "));
    };
    for (key, value) in set {
        change(&mut network, key, value).map_err(|what| anyhow::anyhow!("--set {key}={value}: {what}"))?;
    }
    Ok(network)
}

fn change(network: &mut GoalNetwork, key: &str, value: &str) -> Result<(), String> {
    let model = &mut network.model;
    match key {
        "latency" => model.latency = nanos(value)?,
        "overhead" => (model.send_overhead, model.receive_overhead) = (nanos(value)?, nanos(value)?),
        "send-overhead" | "receive-overhead" if network.variant == GoalVariant::LogGopsim => {
            return Err("loggops:loggopsim has one overhead for both sides: set `overhead`".to_owned());
        }
        "send-overhead" => model.send_overhead = nanos(value)?,
        "receive-overhead" => model.receive_overhead = nanos(value)?,
        "gap" => model.gap = nanos(value)?,
        "byte" => model.byte_ps = picos(value)?,
        "overhead-byte" => network.overhead_byte_ps = picos(value)?,
        "eager-max" => network.eager_max = value.parse().map_err(|_| "expected a number of bytes".to_owned())?,
        _ => return Err(format!("no such value of a network{}; there are {}", meant(key, &KEYS), KEYS.join(", "))),
    }
    Ok(())
}

/// Noise from a file: a line each of a start and a duration in nanoseconds.
///
/// # Errors
/// If the file cannot be read, or has another form.
pub fn noise(path: &Path, seed: u64) -> Result<GoalNoise> {
    let name = path.display();
    let text = regular::read_text(path, NOISE_BYTES_MAX).with_context(|| format!("cannot read the noise {name}"))?;
    GoalNoise::parse(&text, seed).with_context(|| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use foregather_machine::Nanos;

    #[test]
    fn names_and_values_are_understood_or_refused() {
        let set =
            |pairs: &[(&str, &str)]| pairs.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect::<Vec<_>>();
        let changed = network(None, &set(&[("latency", "5 us"), ("byte", "0.5 ns"), ("eager-max", "0")])).unwrap();
        assert_eq!((changed.model.latency, changed.model.byte_ps, changed.eager_max), (Nanos(5_000), 500, 0));
        for (name, pairs, expected) in [
            (Some("loggp:tukey"), &[][..], "no network `loggp:tukey`"),
            (None, &[("send-overhead", "1 us")][..], "set `overhead`"),
            (None, &[("latencie", "1 us")][..], "did you mean"),
            (None, &[("gap", "5")][..], "a time needs its unit"),
            (None, &[("eager-max", "many")][..], "expected a number of bytes"),
        ] {
            let error = network(name, &set(pairs)).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
