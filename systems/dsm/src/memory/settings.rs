//! The size of the shared memory, and how it is protected.
use crate::views::Backend;
use foregather_machine::{Fabric, Placement};
use foregather_message::Settings as Letters;
use foregather_wait::adaptive::Rules;
use foregather_wait::{Adaptive, Policy};

/// Settings of a run. All except the policy must be the same on all ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The maximum number of bytes that can be shared, rounded up to whole pages.
    pub bytes: usize,
    /// The number of views: this many minipages may share a page. Beyond about 32, address translation costs
    /// more than the views save.
    pub views: u32,
    /// The number of threads per rank.
    pub threads: u32,
    /// The number of locks, and of flags. Unused ones cost nothing.
    pub locks: u32,
    /// The maximum number of prefetches of a rank in flight.
    pub prefetches: u32,
    /// Whether rank 0 manages every minipage, instead of all ranks in turn.
    pub central: bool,
    /// How pages are protected; `None` for the best backend of this machine. Programs that pass pointers to
    /// shared memory to system calls need [`Backend::UserfaultThread`]: each fault takes longer, and if the
    /// machine forbids it, `run` returns an error.
    pub backend: Option<Backend>,
    /// Whether the accessors of arrays request access with a function call instead of faulting. Pointers
    /// always fault; measurements and tests can make accessors fault, too.
    pub asking: bool,
    /// How servers and threads wait; `None` for the adaptive policy without its rule `give-way`.
    pub policy: Option<Policy>,
    /// The maximum number of events in each thread's [`Journal`](crate::journal::Journal); 0 for no journal.
    pub journal: usize,
}

impl Default for Settings {
    /// 16 MiB with 7 views, one thread, a million locks, 8 prefetches. With mprotect, each page of each view
    /// may cost a mapping; two such ranks in one process leave some of the 65,530 mappings that a process may
    /// have.
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
    /// Returns the limits of the messages between threads.
    pub(super) fn letters(&self) -> Letters {
        Letters { policy: self.policy, ..Letters::default() }
    }

    /// Returns how the owner of that lane waits: with the adaptive policy except for one rule, by which a
    /// thread that is preempted while it waits yields to background threads. Here, the server of its own rank
    /// preempts it for microseconds, and after a sleep it would be twice as late.
    pub(super) fn policy_of(&self, lane: &impl Fabric) -> Policy {
        self.policy.unwrap_or_else(|| {
            let without = Rules::named("give-way").unwrap_or_default();
            Policy::Adaptive(Adaptive { without, ..Adaptive::new(&lane.cpu().costs()) })
        })
    }
}
