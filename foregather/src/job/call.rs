//! A call of the program: its name in errors, and how long it may take.
use core::time::Duration;
use foregather_machine::{Cause, Clock, Error, Fabric, Member, Nanos, Rank, block_on};
use foregather_message::Messenger;

/// A call of the program.
#[derive(Clone, Copy, Debug)]
pub(super) struct RankCall {
    /// Its name, in errors.
    pub(super) name: &'static str,
    /// The call in an error about ranks that wait for each other.
    pub(super) in_circle: &'static str,
    /// Whether all ranks make it: the rank that this one waits for may itself wait for the late one.
    pub(super) together: bool,
    /// How long it may take.
    pub(super) timeout: Option<Duration>,
}

/// The [`RankCall`] of a name. One `together` is made by all ranks: in a circle another rank is in another
/// call.
macro_rules! call {
    ($name:literal) => {
        $crate::job::call::RankCall {
            name: concat!("`", $name, "`"),
            in_circle: concat!("`", $name, "`"),
            together: false,
            timeout: None,
        }
    };
    ($name:literal together) => {
        $crate::job::call::RankCall {
            name: concat!("`", $name, "`"),
            in_circle: concat!(
                "`",
                $name,
                "`, and another rank is in another call: all ranks call `barrier`, `sum`, `reduce` and `broadcast` in the same order"
            ),
            together: true,
            timeout: None,
        }
    };
}
pub(super) use call;

impl RankCall {
    /// This call, for at most that time.
    pub(super) const fn within(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// Makes the call. No part of it can be repeated: if its time is over this rank gives up, and the others
    /// learn of it.
    #[inline]
    pub(super) fn run<F: Fabric, T>(self, messenger: &Messenger<F>, act: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        let Some(timeout) = self.timeout else { return act().map_err(|error| self.failed(error)) };
        let end = self.limited(messenger, timeout, act);
        if end.as_ref().is_err_and(Error::is_timed_out) {
            messenger.abandon();
        }
        end
    }

    /// Makes a call that takes the next message of `from`. If its time is over nothing was taken.
    #[inline]
    pub(super) fn take<F: Fabric, T>(
        self,
        messenger: &Messenger<F>,
        from: Rank,
        act: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let Some(timeout) = self.timeout else { return act().map_err(|error| self.failed(error)) };
        self.limited(messenger, timeout, || block_on(messenger.arrival_of(from)).and_then(|()| act()))
    }

    /// Runs `act`, in which each wait ends after `timeout`. The error says how long the whole call lasted.
    fn limited<F: Fabric, T>(
        self,
        messenger: &Messenger<F>,
        timeout: Duration,
        act: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        let began = messenger.now();
        messenger.set_deadline(began + Nanos(u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX)));
        let end = act();
        messenger.set_deadline(Nanos::MAX);
        end.map_err(|error| match *error.cause() {
            Cause::TimedOut { rank, peer, .. } => {
                let peer = peer.filter(|_| !self.together || messenger.size() == 2);
                Cause::TimedOut { what: self.name, rank, peer, waited_ns: (messenger.now() - began).0 }.into()
            }
            _ => self.failed(error),
        })
    }

    /// The error of this call, in the program's words: what it waits for within the protocols says nothing to
    /// the user.
    #[cold]
    fn failed(self, error: Error) -> Error {
        match *error.cause() {
            Cause::Deadlock { ref ranks, .. } => Cause::Deadlock { ranks: ranks.clone(), doing: self.in_circle }.into(),
            Cause::PeerLost { rank, since, doing } if !doing.is_empty() => {
                Cause::PeerLost { rank, since, doing: self.name }.into()
            }
            _ => error,
        }
    }
}
