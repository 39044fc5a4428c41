//! A model checker, which visits every state that the protocol can reach with a few hosts.
//!
//! It runs the protocol itself ([`Server`](super::Server), [`Client`](super::Client), [`Word`](super::Word));
//! only views, bytes and the network are modelled. Each host has a server and some threads. Messages from one
//! lane to another arrive in order, and everything else interleaves in every way. A thread may do what its
//! [`Setup`] allows, forever. The number of states is still finite, because the model stores only one fact
//! about the bytes: whether they are those of the last write. The properties checked are [`PROPERTIES`].

mod act;
mod fault;
mod fingerprint;
mod host;
mod properties;
#[allow(clippy::disallowed_types)] // Its hash table has a fixed hasher.
mod search;
mod state;
mod step;
mod tell;
mod walk;

pub use fault::Fault;
pub use search::{Broken, Explored, PROPERTIES, explore};
pub use walk::{Walked, walk};

use super::{Homes, LockId};
use core::fmt;

/// The job that is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Which host manages what, and how many hosts there are.
    pub homes: Homes,
    /// Application threads of each host.
    pub threads: u32,
    /// Minipages that all of them read and write.
    pub minipages: u32,
    /// Locks that all of them take and release.
    pub locks: u32,
    /// Flags that all of them post and wait for.
    pub flags: u32,
    /// The maximum number of prefetches and pushes of a host in flight; 0 means no prefetches, and pushes
    /// that are waited for.
    pub prefetches: u32,
    /// Whether a writer may push to all others.
    pub push: bool,
    /// Whether minipages may be freed.
    pub free: bool,
    /// The maximum number of prefetches, pushes and frees of all hosts together in flight. It limits the
    /// search, not the protocol.
    pub at_once: u32,
    /// The injected mistake, for tests of the checker.
    pub fault: Option<Fault>,
}

impl Setup {
    /// Creates a setup with only reads and writes, one thread per host, and one minipage.
    pub fn new(homes: Homes) -> Self {
        Self {
            homes,
            threads: 1,
            minipages: 1,
            locks: 0,
            flags: 0,
            prefetches: 0,
            push: false,
            free: false,
            at_once: u32::MAX,
            fault: None,
        }
    }

    /// Returns the length of the longest possible queue: the number of requests that all hosts together can
    /// have waiting. One more is being served: it may be complete for the thread that sent it, while the
    /// manager does not know yet.
    pub fn bound(&self) -> usize {
        (self.homes.hosts() * (self.threads + self.prefetches)) as usize
    }
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { homes, threads, minipages, locks, flags, prefetches, push, free, at_once, fault } = *self;
        let s = |count: u32| if count == 1 { "" } else { "s" };
        write!(f, "{} hosts x {minipages} minipage{} x {threads} thread{}: ", homes.hosts(), s(minipages), s(threads))?;
        let mut what = vec!["read, write".to_string()];
        what.extend((locks > 0).then(|| format!("{locks} lock{}", s(locks))));
        what.extend((flags > 0).then(|| format!("{flags} flag{}", s(flags))));
        what.extend((prefetches > 0).then(|| format!("{prefetches} prefetch{} a host", if prefetches == 1 { "" } else { "es" })));
        what.extend(push.then(|| "push".into()));
        what.extend(free.then(|| "free".into()));
        what.extend((at_once < u32::MAX).then(|| format!("{at_once} of these at once")));
        what.extend((homes.of_lock(LockId(1)) == 0 && homes.hosts() > 1).then(|| "central manager".into()));
        what.extend(fault.map(|fault| format!("with a mistake: {fault:?}")));
        f.write_str(&what.join(", "))
    }
}

/// Returns the setups that are checked: those that take seconds or, if `large`, those that take minutes and
/// up to several gigabytes of memory.
pub fn setups(large: bool) -> Vec<Setup> {
    let spread = |hosts| Homes::spread(hosts).map(Setup::new);
    let (Ok(two), Ok(three), Ok(central)) = (spread(2), spread(3), Homes::central(3, 0).map(Setup::new)) else {
        return Vec::new();
    };
    let all = |setup| Setup { push: true, free: true, ..setup };
    if large {
        return vec![
            Setup { minipages: 2, ..three },
            Setup { minipages: 2, at_once: 1, free: true, ..three },
            Setup { minipages: 2, at_once: 1, push: true, ..three },
            Setup { threads: 2, prefetches: 1, ..all(two) },
            Setup { prefetches: 1, ..all(three) },
        ];
    }
    vec![
        Setup { minipages: 0, locks: 2, threads: 2, ..two },
        Setup { minipages: 0, locks: 1, ..three },
        Setup { minipages: 0, flags: 2, threads: 2, ..two },
        Setup { minipages: 0, flags: 1, ..three },
        Setup { locks: 1, ..three },
        all(central),
        Setup { prefetches: 1, ..three },
        Setup { threads: 2, ..all(two) },
        Setup { prefetches: 1, locks: 1, ..all(two) },
        Setup { prefetches: 2, ..all(two) },
        Setup { minipages: 2, ..all(two) },
        Setup { minipages: 2, prefetches: 1, at_once: 1, ..all(two) },
    ]
}

#[cfg(test)]
mod tests;
