//! Waits that may end before their event: a receive that can be called again, and an end that stops for good.
use super::frame::FrameKind;
use super::{Messenger, Waiting};
use crate::link::Lost;
use foregather_machine::{Error, Fabric, Rank};

impl<F: Fabric> Messenger<F> {
    /// Waits until the next message of `from` can be taken without waiting for its sender: all of its frames
    /// are here, or its pieces are offered. It takes nothing, so a caller whose deadline has passed may call
    /// again.
    ///
    /// # Errors
    /// [`Cause::Rank`](foregather_machine::Cause::Rank); when no message can come any more: a lost rank, one
    /// that has left, passed deadline.
    pub async fn arrival_of(&self, from: Rank) -> Result<(), Error> {
        self.known(from)?;
        if self.has_arrived(from)? {
            return Ok(());
        }
        let arrived = || self.has_arrived(from).map(|arrived| arrived.then_some(())).transpose();
        self.until("a message", Waiting::Whole(from), arrived).await
    }

    fn has_arrived(&self, from: Rank) -> Result<bool, Error> {
        let kept = &self.unexpected;
        if kept.has_end(from) {
            return Ok(true);
        }
        // Frames that find no more room are taken in only as the program reads them.
        let starts = kept.has(from);
        if starts && kept.is_full() {
            return Ok(true);
        }
        if !starts && !self.ready(from)? {
            return Ok(false);
        }
        // Behind kept frames only an offer is held in the ring: it is left where it is.
        let held = self.with(from).unpacking.held.get();
        Ok(held && self.head_in_ring(from).is_some_and(|kind| matches!(kind, FrameKind::Last | FrameKind::Offer)))
    }

    /// Ends all messages with all peers, which learn that this rank gives up. Its further calls fail, too.
    /// For a rank that cannot go on, but has not come to its end yet ([`Messenger::fail`]).
    pub fn abandon(&self) {
        let here = Lost::on(self.here.rank);
        self.fails.set(true);
        self.failed.set(self.failed.get().or(Some(here)));
        (0..self.size).filter(|&peer| peer != self.here.rank).for_each(|peer| self.give_up(peer));
    }
}
