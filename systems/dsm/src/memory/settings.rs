//! How much is shared, and how it is protected.
use crate::views::Backend;
use foregather_machine::{Fabric, Placement};
use foregather_message::Settings as Letters;
use foregather_wait::adaptive::Rules;
use foregather_wait::{Adaptive, Policy};

/// Settings of a run: the same on all ranks, but for the policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Bytes that can be shared, rounded up to whole pages.
    pub bytes: usize,
    /// Views: this many minipages may share a page. Beyond about 32, address translation costs more than it
    /// saves.
    pub views: u32,
    /// Threads of each rank.
    pub threads: u32,
    /// The number of locks, and of flags. Unused ones cost nothing.
    pub locks: u32,
    /// How many prefetches of a rank may be under way.
    pub prefetches: u32,
    /// Whether rank 0 manages every minipage, instead of all ranks in turn.
    pub central: bool,
    /// How pages are protected; `None` for the better way that this machine has. Programs that pass pointers
    /// into shared memory to system calls need [`Backend::UserfaultThread`]: each fault takes longer, and
    /// where the machine forbids it, `run` says so.
    pub backend: Option<Backend>,
    /// Whether the accessors of arrays ask by a call for what they would fault on. Otherwise they fault, as
    /// pointers always do; measurements and tests need that.
    pub asking: bool,
    /// How servers and threads wait; `None` for the policy that adapts, without its rule `give-way`.
    pub policy: Option<Policy>,
    /// Events for which each thread's [`Journal`](crate::journal::Journal) has room; 0 for no journal.
    pub journal: usize,
}

impl Default for Settings {
    /// 16 MiB through 7 views, one thread, a million locks, 8 prefetches. Where mprotect protects pages, each
    /// page of each view may cost a mapping: of the 65,530 that a process may have, two such ranks in one
    /// process leave some.
    fn default() -> Self {
        Self {
            bytes: 16 << 20,
            views: 7,
            threads: 1,
            locks: 1 << 20,
            prefetches: 8,
            central: false,
            backend: None,
            asking: true,
            policy: None,
            journal: 0,
        }
    }
}

impl Settings {
    /// The limits of the messages between threads.
    pub(super) fn letters(&self) -> Letters {
        Letters { policy: self.policy, ..Letters::default() }
    }

    /// How the owner of that lane waits: by the adaptive policy, but for one rule. A thread that is preempted
    /// while it waits for a message gives way to strangers; here its own rank's server preempts it, for
    /// microseconds, and a sleeper is twice as late.
    pub(super) fn policy_of(&self, lane: &impl Fabric) -> Policy {
        self.policy.unwrap_or_else(|| {
            let without = Rules::named("give-way").unwrap_or_default();
            Policy::Adaptive(Adaptive { without, ..Adaptive::new(&lane.cpu().costs()) })
        })
    }
}
