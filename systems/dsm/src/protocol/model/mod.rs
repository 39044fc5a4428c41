//! Every state that the protocol can reach with a few hosts, one after the other: a model checker.
//!
//! The protocol itself runs ([`Server`](super::Server), [`Client`](super::Client), [`Word`](super::Word));
//! only views, bytes and wires are modelled. Each host has a server and some threads; messages from one lane
//! to another arrive in order, and everything else interleaves in every way. A thread may do what its
//! [`Setup`] allows, forever: the states are finite nevertheless, since the model keeps one fact of the
//! bytes, whether they are those of the last write. The properties checked: [`PROPERTIES`].

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

/// The job that is explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setup {
    /// Which host manages what, and how many hosts there are.
    pub homes: Homes,
    /// Application threads of each host.
    pub threads: u32,
    /// Minipages that all of them read and write.
    pub minipages: u32,
    /// Locks that all of them take and leave.
    pub locks: u32,
    /// Flags that all of them post and wait for.
    pub flags: u32,
    /// Prefetches and pushes that a host may have under way; 0: no prefetch, and pushes are waited for.
    pub prefetches: u32,
    /// Whether a writer may push to all others.
    pub push: bool,
    /// Whether minipages may be freed.
    pub free: bool,
    /// Prefetches, pushes and frees that all hosts together may have under way: it limits the exploration,
    /// not the protocol.
    pub at_once: u32,
    /// The planted mistake, for tests of the checker.
    pub fault: Option<Fault>,
}

impl Setup {
    /// Reads and writes only, one thread a host, one minipage.
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

    /// The longest queue that may form: a host waits for this many requests. One more is being served: it may
    /// have ended for the thread that asked, while the manager does not know yet.
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

/// The jobs worth exploring: those that take seconds, or those that take minutes and up to some gigabytes of
/// memory.
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
