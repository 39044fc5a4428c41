//! Calls of a rank whose job is recorded (`foregather run --record`).
use core::cell::RefCell;
use foregather_launch::RankRecorder;
use foregather_machine::{Endpoint, Error, Member, Packet, Port, Rank};
use foregather_message::collective;

/// The tag of the program's own messages, of signals in slot 0, and of the first kind of collective message.
/// All are below 2^16, because not every simulator reads larger tags.
const OWN: u32 = 0;
const SIGNALS: u32 = 1;
const PACKETS: u32 = 1 << 8;

/// What a rank records, if it does.
pub(super) type CallRecord = Option<RefCell<RankRecorder>>;

/// A message of the program, for its record.
#[derive(Clone, Copy)]
pub(super) enum RecordedMessage {
    /// To that rank, of that many bytes.
    Sent(Rank, usize),
    /// From that rank.
    Received(Rank, usize),
    /// To that rank, and one of that many bytes from it at the same time.
    Exchanged(Rank, usize, usize),
}

/// Makes a call that is no computation of the program, and records the message that `noted` returns for its
/// result. A call that fails is not recorded.
#[inline]
pub(super) fn noting<T>(
    recorder: &CallRecord,
    act: impl FnOnce() -> Result<T, Error>,
    noted: impl FnOnce(&T) -> RecordedMessage,
) -> Result<T, Error> {
    let Some(recorder) = recorder else { return act() };
    recorder.borrow_mut().pause();
    let end = act();
    let mut recorder = recorder.borrow_mut();
    match end.as_ref().map(noted) {
        Ok(RecordedMessage::Sent(to, bytes)) => recorder.sent(to, bytes, OWN),
        Ok(RecordedMessage::Received(from, bytes)) => recorder.received(from, bytes, OWN),
        Ok(RecordedMessage::Exchanged(peer, out, into)) => {
            recorder.sent(peer, out, OWN);
            recorder.received_meanwhile(peer, into, OWN);
        }
        Err(_) => {}
    }
    recorder.resume();
    end
}

/// Makes a collective call over a messenger, or over a [`RecordedPort`] if the job is recorded.
macro_rules! through {
    ($recorder:expr, $messenger:ident, $port:ident => $what:expr) => {
        match $recorder {
            None => {
                let $port = $messenger;
                $what
            }
            Some(recorder) => {
                recorder.borrow_mut().pause();
                let $port = &$crate::job::recorded::RecordedPort { port: $messenger, recorder };
                let end = $what;
                recorder.borrow_mut().resume();
                end
            }
        }
    };
}
pub(super) use through;

/// A port that records the messages that pass through it.
pub(super) struct RecordedPort<'r, P> {
    pub(super) port: &'r P,
    pub(super) recorder: &'r RefCell<RankRecorder>,
}

foregather_machine::clock_by! { [P: Port] RecordedPort<'_, P>, |this| this.port }

impl<P: Port> Member for RecordedPort<'_, P> {
    foregather_machine::forward! { |this| this.port => fn rank() -> Rank; fn size() -> u32; }
}

impl<P: Port> Endpoint for RecordedPort<'_, P> {
    async fn signal(&self, peer: Rank, slot: u32) -> Result<(), Error> {
        self.port.signal(peer, slot).await?;
        self.recorder.borrow_mut().sent(peer, 0, SIGNALS + slot);
        Ok(())
    }

    /// Not recorded, because the sender is unknown: a job's barrier calls [`Endpoint::wait_from`].
    async fn wait(&self, slot: u32) -> Result<(), Error> {
        self.port.wait(slot).await
    }

    async fn wait_from(&self, peer: Rank, slot: u32) -> Result<(), Error> {
        self.port.wait_from(peer, slot).await?;
        self.recorder.borrow_mut().received(peer, 0, SIGNALS + slot);
        Ok(())
    }
}

/// The tag of a collective message in the record.
const fn tag_of(tag: u32) -> u32 {
    PACKETS + tag.wrapping_sub(collective::TAGS.start)
}

/// Packets that ask for a message or permit it are not recorded: the simulator adds those of its own network.
impl<P: Port> Port for RecordedPort<'_, P> {
    foregather_machine::forward! { |this| this.port => fn short_limit() -> usize; fn post(from: Rank, tag: u32) -> Result<(), Error>; }

    async fn transmit(&self, to: Rank, packet: Packet, tag: u32, bytes: &[u8]) -> Result<(), Error> {
        self.port.transmit(to, packet, tag, bytes).await?;
        if !matches!(packet, Packet::Probe | Packet::Request) {
            self.recorder.borrow_mut().sent(to, bytes.len(), tag_of(tag));
        }
        Ok(())
    }

    async fn accept(&self, from: Rank, tag: u32, into: &mut [u8]) -> Result<usize, Error> {
        let bytes = self.port.accept(from, tag, into).await?;
        self.recorder.borrow_mut().received(from, bytes, tag_of(tag));
        Ok(bytes)
    }

    async fn transmit_and_accept(
        &self,
        (to, packet): (Rank, Packet),
        out: &[u8],
        from: Rank,
        into: &mut [u8],
        tag: u32,
    ) -> Result<usize, Error> {
        let bytes = self.port.transmit_and_accept((to, packet), out, from, into, tag).await?;
        let mut recorder = self.recorder.borrow_mut();
        recorder.sent(to, out.len(), tag_of(tag));
        recorder.received_meanwhile(from, bytes, tag_of(tag));
        Ok(bytes)
    }

    async fn requested(&self, from: Rank, tag: u32) -> Result<(), Error> {
        self.port.requested(from, tag).await
    }
}
