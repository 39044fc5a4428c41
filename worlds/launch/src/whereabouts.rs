//! Determines which ranks share a host: those on one running kernel whose processes can see each other's
//! PIDs.
use foregather_machine::{Cause, Error};
use rustix::fs::stat;
use std::fs;

/// The location of a rank's process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Whereabouts {
    /// The boot ID of the running kernel.
    boot: String,
    /// The PID namespace of its PID.
    namespace: u64,
    /// Its PID.
    pub(crate) pid: i32,
    /// The host's name, for messages.
    pub(crate) host: String,
}

impl Whereabouts {
    /// Returns the location of this process.
    pub(crate) fn here() -> Result<Self, Error> {
        let unreadable = |what: &str, error: &dyn std::fmt::Display| {
            Error::from(Cause::Unavailable { what: what.to_owned(), remedy: format!("mount /proc ({error})") })
        };
        let boot = "/proc/sys/kernel/random/boot_id";
        let boot = fs::read_to_string(boot).map_err(|error| unreadable(boot, &error))?.trim().to_owned();
        let namespace = "/proc/self/ns/pid";
        let namespace = stat(namespace).map_err(|error| unreadable(namespace, &error))?.st_ino;
        let host: String =
            rustix::system::uname().nodename().to_string_lossy().chars().filter(|c| c.is_ascii_graphic()).collect();
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        Ok(Self { boot, namespace, pid, host: if host.is_empty() { "?".to_owned() } else { host } })
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        format!("{} {} {} {}", self.boot, self.namespace, self.pid, self.host).into_bytes()
    }

    /// Decodes a location. Returns `None` if the bytes are malformed.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let mut words = std::str::from_utf8(bytes).ok()?.split(' ');
        let (boot, namespace, pid) = (words.next()?.to_owned(), words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let host = words.next()?.to_owned();
        (words.next().is_none() && pid > 0 && !boot.is_empty()).then_some(Self { boot, namespace, pid, host })
    }

    /// Returns whether the two processes can share memory and see each other.
    pub(crate) fn beside(&self, other: &Self) -> bool {
        self.boot == other.boot && self.namespace == other.namespace
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_process_is_beside_itself_and_not_beside_one_elsewhere() {
        let here = Whereabouts::here().unwrap();
        assert_eq!(Whereabouts::decode(&here.encode()), Some(here.clone()));
        assert!(here.beside(&Whereabouts { pid: 1, host: "x".to_owned(), ..here.clone() }));
        assert!(!here.beside(&Whereabouts { boot: "y".to_owned(), ..here.clone() }));
        assert!(!here.beside(&Whereabouts { namespace: 1, ..here.clone() }));
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(bytes in prop::collection::vec(any::<u8>(), 0..60), text in "[0-9a-f ]{0,40}") {
            let _ = Whereabouts::decode(&bytes);
            if let Some(found) = Whereabouts::decode(text.as_bytes()) {
                prop_assert!(found.pid > 0);
            }
        }
    }
}
