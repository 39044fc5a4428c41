//! A call of the program: its name in error messages, and its timeout.
use core::time::Duration;
use foregather_machine::{Cause, Clock, Error, Fabric, Member, Nanos, Rank, block_on};
use foregather_message::Messenger;

/// A call that the program makes.
#[derive(Clone, Copy, Debug)]
pub(super) struct RankCall {
    /// Its name in error messages.
    pub(super) name: &'static str,
    /// Its name in errors about ranks that wait for each other.
    pub(super) in_circle: &'static str,
    /// Whether it is a collective call. In a collective call the awaited rank may itself be waiting for the
    /// late one.
    pub(super) together: bool,
    /// Its timeout, if any.
    pub(super) timeout: Option<Duration>,
}

/// Creates the [`RankCall`] of that name. With `together` it is collective: if ranks wait for each other,
/// another rank is in a different call.
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
    /// Returns this call with that timeout.
    pub(super) const fn within(self, timeout: Duration) -> Self {
        Self { timeout: Some(timeout), ..self }
    }

    /// Makes the call, which cannot be repeated: after a timeout this rank leaves the job, and the others are
    /// informed.
    #[inline]
    pub(super) fn run<F: Fabric, T>(self, messenger: &Messenger<F>, act: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        let Some(timeout) = self.timeout else { return act().map_err(|error| self.failed(error)) };
        let end = self.limited(messenger, timeout, act);
        if end.as_ref().is_err_and(Error::is_timed_out) {
            messenger.abandon();
        }
        end
    }

    /// Makes a call that takes the next message from `from`. After a timeout nothing has been taken.
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

    /// Runs `act`, in which each wait ends after `timeout`. The error contains the duration of the whole
    /// call.
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

    /// Returns the error of this call in the program's terms: what the protocols wait for internally means
    /// nothing to the user.
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
