//! The hosts file: one line per host, `name [slots=N] [address=A]`, or `name:N` as for MPICH; `#` starts a
//! comment.
use std::net::IpAddr;

/// The maximum number of hosts and of slots.
const MOST: usize = 4_096;

/// A host on which ranks can run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name for the remote shell. `localhost` needs no remote shell.
    pub name: String,
    /// How many ranks run there.
    pub slots: u32,
    /// The address at which other hosts reach it, if its name does not resolve to that.
    pub address: Option<IpAddr>,
}

impl Host {
    /// Parses a hosts file.
    ///
    /// # Errors
    /// A message with the number of the invalid line.
    pub fn parse(text: &str) -> Result<Vec<Self>, String> {
        let mut hosts = Vec::new();
        for (at, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            hosts.extend(one(line).map_err(|what| format!("line {}: {what}", at + 1))?);
            if hosts.len() > MOST {
                return Err(format!("more than {MOST} hosts are a mistake"));
            }
        }
        if hosts.is_empty() { Err("no host is named: write one a line".to_owned()) } else { Ok(hosts) }
    }

    /// Returns whether it is this host, which needs no remote shell.
    pub(super) fn is_here(&self) -> bool {
        self.name == "localhost"
    }
}

fn one(line: &str) -> Result<Option<Host>, String> {
    let mut words = line.split_whitespace();
    let Some(name) = words.next() else { return Ok(None) };
    let sound = |c: char| c.is_ascii_alphanumeric() || "._-:@".contains(c);
    if name.starts_with('-') || !name.chars().all(sound) {
        return Err(format!("`{}` is no host's name", name.escape_debug()));
    }
    // An IPv6 address has more than one colon.
    let (name, after_colon) = match name.split_once(':') {
        Some((name, slots)) if !slots.contains(':') && !name.is_empty() => (name, Some(slots)),
        _ => (name, None),
    };
    let count = |text: &str| text.parse().ok().filter(|n| (1..=MOST as u32).contains(n));
    let slots = after_colon.map(|text| {
        count(text).ok_or_else(|| format!("`{name}:{text}`: a number of ranks from 1 to {MOST} belongs after the colon"))
    });
    let mut host = Host { name: name.to_owned(), slots: slots.transpose()?.unwrap_or(1), address: None };
    for word in words {
        let wrong = || format!("`{}`: write slots=N or address=A, with A in figures", word.escape_debug());
        match word.split_once('=') {
            Some(("slots", _)) if after_colon.is_some() => {
                return Err(format!("`{}`: the number of ranks stands after the host's name already", word.escape_debug()));
            }
            Some(("slots", n)) => host.slots = count(n).ok_or_else(wrong)?,
            Some(("address", a)) => host.address = Some(a.parse().map_err(|_| wrong())?),
            _ => return Err(wrong()),
        }
    }
    Ok(Some(host))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn hosts_have_slots_and_addresses() {
        let hosts = Host::parse("# ours\nn1 slots=4 address=10.0.0.1\n\n n2 # one\n").unwrap();
        let n1 = Host { name: "n1".to_owned(), slots: 4, address: Some("10.0.0.1".parse().unwrap()) };
        assert_eq!(hosts, [n1, Host { name: "n2".to_owned(), slots: 1, address: None }]);
    }

    #[test]
    fn a_number_after_a_colon_is_that_of_slots_and_an_address_has_more_colons() {
        let hosts = Host::parse("n1:4 address=10.0.0.1\nme@n2:2\nfd00::7 slots=3").unwrap();
        let found: Vec<_> = hosts.iter().map(|host| (&host.name[..], host.slots)).collect();
        assert_eq!(found, [("n1", 4), ("me@n2", 2), ("fd00::7", 3)]);
    }

    #[test]
    fn mistakes_have_a_line() {
        for bad in [
            "a\nn2:0",
            "a\nn2:x",
            "a\nn2:",
            "a\nn2:2 slots=2",
            "n1\nn2 slots=0",
            "a\nn2 slot=3",
            "a\n-oProxyCommand=x",
            "a\nn;rm",
            "a\nb address=n1",
            "a\nb slots=5000",
        ] {
            let error = Host::parse(bad).unwrap_err();
            assert!(error.contains("line 2"), "{error}");
        }
        assert!(Host::parse("# nobody\n").is_err());
    }

    proptest! {
        #[test]
        fn no_text_breaks_it(text in "[a-z0-9=# \n.\\-]{0,80}|.{0,80}") {
            if let Ok(hosts) = Host::parse(&text) {
                prop_assert!(hosts.iter().all(|host| host.slots > 0 && !host.name.starts_with('-')));
            }
        }
    }
}
