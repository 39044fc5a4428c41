//! The four messengers that a rank may have: the only place that names all of them.
use foregather_machine::Error;
use foregather_message::Messenger;
use foregather_shm::{Lane, Process};
use foregather_thread::Thread;

/// A rank's messenger. One `match` per call has no measurable cost, and keeps the fabric out of the user's
/// types.
pub(super) enum Link {
    /// To threads of this process.
    Threads(Messenger<Lane<Thread>>),
    /// To processes of this host.
    Processes(Messenger<Lane<Process>>),
    /// To processes of several hosts.
    Cluster(Messenger<foregather_ofi::Lane>),
    /// To processes that the site's MPI connects.
    Mpi(Messenger<foregather_mpi::Lane>),
}

/// Calls a function on the messenger of any fabric.
macro_rules! over {
    ($link:expr, $messenger:ident => $what:expr) => {
        match $link {
            $crate::job::link::Link::Threads($messenger) => $what,
            $crate::job::link::Link::Processes($messenger) => $what,
            $crate::job::link::Link::Cluster($messenger) => $what,
            $crate::job::link::Link::Mpi($messenger) => $what,
        }
    };
}
pub(super) use over;

impl Link {
    /// Leaves the job. Messages that this rank has sent can still be received.
    pub(super) fn leave(self) {
        over!(self, messenger => messenger.leave());
    }

    /// Leaves the job because of `error`: the waits of all other ranks fail with the rank that it names.
    pub(super) fn fail(self, error: &Error) {
        over!(self, messenger => messenger.fail(error));
    }
}
