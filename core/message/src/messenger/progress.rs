//! The one wait, and what each of its looks does for others: it takes in what has come, returns buffers, and
//! reports what it owes.
use super::connection::Connection;
use super::frame::{FrameKind, Head};
use super::loan::FETCHED;
use super::rendezvous::Offer;
use super::unexpected::Arrived;
use super::{Messenger, count};
use crate::link::Lost;
use foregather_machine::{Address, Cause, Error, Fabric, Nanos, Rank, WaitContext, reached};
use foregather_wait::{Roster, WaitFor};

/// The purpose of a wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Waiting {
    /// A message of that rank, read in place.
    From(Rank),
    /// All of a message of that rank, of which nothing is read yet.
    Whole(Rank),
    /// A message of any rank.
    Any,
    /// That the rank takes something.
    To(Rank),
    /// Room towards that rank, which the fabric itself may make.
    Room(Rank),
    /// A null message, of that rank if the caller knows the sender.
    Signal(Option<Rank>),
    /// A packet of that rank.
    Packet(Rank),
    /// Nothing: it only looks, and must not be given work that takes time.
    Nothing,
}

impl Waiting {
    pub(super) fn peer(self) -> Option<Rank> {
        match self {
            Self::From(peer) | Self::Whole(peer) | Self::To(peer) | Self::Room(peer) | Self::Packet(peer) => Some(peer),
            Self::Signal(peer) => peer,
            Self::Any | Self::Nothing => None,
        }
    }
}

/// How a look ended.
enum LookResult<T> {
    End(Result<T, Error>),
    /// First an offer must be fetched for a peer that cannot go on before.
    Fetch(Rank, Offer),
    /// First a packet must be fetched that a peer lends.
    Borrow(Rank),
}

/// Bits of an Abort: its sender fails altogether; its sender goes away.
const FAILS: u16 = 1;
const GONE: u16 = 2;

/// How long a rank whose memory is gone may take to say why.
const REASON: Nanos = Nanos::from_ms(100);

/// The result of serving.
pub(super) enum Served {
    Nothing,
    Something,
    /// That rank cannot go on until this offer is fetched.
    Offered(Rank, Offer),
}

/// The result of obeying a frame.
enum Taken {
    /// The frame belongs to a message: it is for the program.
    Message(Head),
    /// The frame is done; did it use a buffer?
    Obeyed(bool),
}

/// The result for a frame that this wait does not read in place.
enum Drained {
    /// The frame is done, or was copied; did it use a buffer?
    Done(bool),
    Offer(Offer),
}

fn garbled(from: Rank, what: &'static str) -> Error {
    Cause::ProtocolViolation { from, what }.into()
}

impl<F: Fabric> Messenger<F> {
    /// Posts an inline frame with the credits that are owed. Without room nothing changes.
    #[inline]
    pub(super) fn post(&self, to: Rank, kind: FrameKind, extra: u16, bytes: &[u8]) -> Result<bool, Error> {
        let sent = self.with(to).link.post(&*self.fabric, self.address(to), kind, extra, bytes);
        self.posted(sent)
    }

    /// Posts the filled part of a static buffer with the credits that are owed, like [`Self::post`].
    #[inline]
    pub(super) fn post_filled(&self, to: Rank, kind: FrameKind, extra: u16, len: usize) -> Result<bool, Error> {
        let sent = self.with(to).link.post_filled(&*self.fabric, self.address(to), kind, extra, len);
        self.posted(sent)
    }

    #[inline]
    fn posted(&self, sent: Result<bool, Error>) -> Result<bool, Error> {
        let sent = sent.map_err(|error| self.blamed(error))?;
        count(&self.traffic.frames, u64::from(sent));
        Ok(sent)
    }

    /// Have all ranks left that could bring the awaited event?
    #[inline]
    fn left(&self, waiting: Waiting) -> bool {
        match waiting.peer() {
            Some(peer) => self.fabric.has_left(self.address(peer)),
            None => {
                let mut others = (0..self.size).filter(|&other| other != self.here.rank);
                self.size > 1 && others.all(|other| self.fabric.has_left(self.address(other)))
            }
        }
    }

    /// Was a message given up that this wait depends on?
    #[inline]
    fn poisoned(&self, waiting: Waiting) -> Option<Lost> {
        match waiting {
            Waiting::Any => self.connections.iter().find_map(|with| with.link.ended()),
            // Null messages go on when messages were given up, unless a rank fails altogether: it may keep
            // other ranks from theirs.
            Waiting::Signal(peer) => self.failed.get().or_else(|| self.gone(peer)),
            _ => waiting.peer().and_then(|peer| self.with(peer).link.ended()),
        }
    }

    /// Has the messenger that could signal, or one of those, gone away without leaving? Returns why its
    /// connection has ended.
    fn gone(&self, peer: Option<Rank>) -> Option<Lost> {
        let why = |with: &Connection| with.link.ended().filter(|_| with.gone.get());
        match peer {
            Some(peer) => why(self.with(peer)),
            None => self.connections.iter().find_map(why),
        }
    }

    /// One look of a wait: has the event come, and if not, what can be done for others?
    #[inline]
    fn look<T>(
        &self,
        what: &'static str,
        waiting: Waiting,
        found: &mut impl FnMut() -> Option<Result<T, Error>>,
    ) -> Option<LookResult<T>> {
        // First, since the acts of a peer before it left are seen below.
        let left = self.left(waiting);
        if let Some(end) = found() {
            if left {
                reached("messenger:2");
            }
            return Some(LookResult::End(end));
        }
        match self.serve(waiting) {
            Err(error) => return Some(LookResult::End(Err(error))),
            Ok(Served::Offered(from, offer)) => return Some(LookResult::Fetch(from, offer)),
            // Serving may have brought the awaited event, whose bell has rung already.
            Ok(Served::Something) => {
                if let Some(end) = found() {
                    reached("messenger:1");
                    return Some(LookResult::End(end));
                }
            }
            Ok(Served::Nothing) => {}
        }
        if let Some(lender) = self.lender() {
            return Some(LookResult::Borrow(lender));
        }
        // Before the ranks that gave up because of the circle.
        if self.circles.is_chased()
            && let Err(circle) = self.chase(what, waiting)
        {
            return Some(LookResult::End(Err(circle)));
        }
        // A peer gives up by a frame, so that is known by now.
        if let Some(blame) = self.poisoned(waiting) {
            return Some(LookResult::End(Err(self.accused(blame, what))));
        }
        left.then(|| LookResult::End(Err(Cause::Closed { peer: waiting.peer() }.into())))
    }

    /// The one wait. Only its beginning is the caller's: a look of its own that found nothing.
    pub(super) async fn until<T>(
        &self,
        what: &'static str,
        waiting: Waiting,
        found: impl FnMut() -> Option<Result<T, Error>>,
    ) -> Result<T, Error> {
        self.until_by(what, waiting, self.deadline.get(), found).await
    }

    async fn until_by<T>(
        &self,
        what: &'static str,
        waiting: Waiting,
        deadline: Nanos,
        mut found: impl FnMut() -> Option<Result<T, Error>>,
    ) -> Result<T, Error> {
        let mut why = WaitContext { peer: waiting.peer(), ..WaitContext::new(what, self.here.rank).until(deadline) };
        self.circles.begin_wait();
        let mut patience = self.patience(waiting);
        loop {
            let look = || self.look(what, waiting, &mut found);
            let roster = Roster::new(self.fabric.roster());
            let whom = if self.exposed.get() > 0 { WaitFor::Copy } else { WaitFor::Message };
            let waited = self.waiter.on_lane_for(&*self.fabric, why, whom(roster, waiting.peer()), patience, look).await;
            match waited.map_err(|error| self.blamed(error))? {
                Some(LookResult::End(end)) => return end.map_err(|error| self.blamed(error)),
                // Boxed, since otherwise every wait would have to hold its state.
                Some(LookResult::Fetch(from, offer)) => Box::pin(self.fetch_aside(from, offer)).await?,
                Some(LookResult::Borrow(from)) => Box::pin(self.fetch_loan_aside(from)).await?,
                None => {
                    if why.since == Nanos::ZERO {
                        why = why.since(self.fabric.now() - patience);
                    }
                    self.begin_chase(waiting);
                    patience = patience * 2;
                }
            }
        }
    }

    /// The error for a caller that was `doing` something with a message that was given up before.
    #[cold]
    pub(super) fn accused(&self, blame: Lost, doing: &'static str) -> Error {
        self.blamed(blame.error(self.fabric.now(), doing))
    }

    /// Remembers the rank to blame for all that is given up because of this error. A loss explains what comes
    /// after it.
    #[cold]
    pub(super) fn blamed(&self, error: Error) -> Error {
        let Some(blame) = Lost::of(&error) else { return error };
        if blame.lost || !self.culprit.get().lost {
            self.culprit.set(blame);
        }
        error
    }

    /// Gives up the connection: its message will never be whole. The peer is told, now or as soon as there is
    /// room.
    #[cold]
    pub(super) fn give_up(&self, peer: Rank) {
        if self.with(peer).link.end(self.culprit.get()) {
            self.tell_abort(peer);
        }
    }

    fn tell_abort(&self, peer: Rank) {
        if !self.abort(peer, if self.fails.get() { FAILS } else { 0 }) {
            self.backlog.set(true);
        }
    }

    fn abort(&self, peer: Rank, extra: u16) -> bool {
        let told = self.with(peer).link.abort::<FrameKind>(&*self.fabric, self.address(peer), extra);
        count(&self.traffic.frames, u64::from(told));
        told
    }

    /// This messenger goes away without leaving. A peer that knows why their connection has ended must hear
    /// that, too: it may wait for null messages, which go on after an end.
    pub(super) fn go_away(&self, peer: Rank) {
        self.with(peer).link.end(self.culprit.get());
        self.abort(peer, if self.fails.get() { FAILS | GONE } else { GONE });
    }

    /// Is there a frame, or are there fetched pieces, of a message of `from`?
    #[inline]
    pub(super) fn ready(&self, from: Rank) -> Result<bool, Error> {
        let with = self.with(from);
        if with.unpacking.held.get() || self.unexpected.has(from) {
            return Ok(true);
        }
        let at = self.address(from);
        while let Some(taken) = self.fabric.peek(at, |bits, bytes| self.obey(from, bits, bytes)) {
            match taken.inspect_err(|_| self.give_up(from))? {
                Taken::Message(_) => {
                    with.unpacking.held.set(true);
                    return Ok(true);
                }
                Taken::Obeyed(costs) => self.give_back(from, costs),
            }
        }
        Ok(false)
    }

    /// Obeys a frame, unless it is part of a message.
    #[inline]
    fn obey(&self, from: Rank, bits: u32, bytes: &[u8]) -> Result<Taken, Error> {
        let with = self.with(from);
        let head: Head = with.link.receive(self.rules.terms, from, bits)?;
        if head.kind.is_message() { Ok(Taken::Message(head)) } else { self.obey_other(from, head, bytes) }
    }

    fn obey_other(&self, from: Rank, head: Head, bytes: &[u8]) -> Result<Taken, Error> {
        let with = self.with(from);
        match head.kind {
            FrameKind::Done if head.extra == FETCHED && with.loans.fetch() => {}
            FrameKind::Done if head.extra < FETCHED && with.offers.fetch(head.extra) => {}
            FrameKind::Done => return Err(garbled(from, "more pieces fetched than were offered")),
            FrameKind::Abort => {
                let blame = Lost::unpack(from, bytes, self.size);
                if head.extra & FAILS != 0 {
                    self.failed.set(self.failed.get().or(Some(blame)));
                }
                if head.extra & GONE != 0 {
                    if with.link.ended().is_some() {
                        reached("messenger:10");
                    }
                    with.gone.set(true);
                }
                with.link.has_heard(blame);
            }
            FrameKind::Signal => {
                let slot = self.signals.get(usize::from(head.extra));
                let slot = slot.ok_or_else(|| garbled(from, "a slot that does not exist"))?;
                slot.set(slot.get() + 1);
            }
            FrameKind::Packet => self.take_packet(from, head.extra, bytes)?,
            FrameKind::Lent => self.take_loan(from, bytes)?,
            FrameKind::Chase | FrameKind::Heard | FrameKind::Deadlock => self.note_chase(from, head.kind, bytes)?,
            FrameKind::Credit | FrameKind::Data | FrameKind::Last | FrameKind::Offer => {}
        }
        Ok(Taken::Obeyed(head.kind.costs()))
    }

    /// Releases the frame at the head of the ring.
    #[inline]
    pub(super) fn give_back(&self, from: Rank, costs: bool) {
        self.fabric.release(self.address(from));
        if costs {
            self.owe_credit(from);
        }
    }

    #[inline]
    pub(super) fn owe_credit(&self, from: Rank) {
        if self.with(from).link.owes_one_more(self.rules.terms) {
            self.acknowledge(from);
        }
    }

    #[cold]
    fn acknowledge(&self, to: Rank) {
        match self.with(to).link.grant::<FrameKind>(&*self.fabric, self.address(to)) {
            Ok(true) => {
                count(&self.traffic.frames, 1);
                count(&self.traffic.acknowledgements, 1);
            }
            Ok(false) => self.backlog.set(true),
            // A peer that is lost needs no credits; the wait reports the loss.
            Err(error) => drop(self.blamed(error)),
        }
    }

    /// Takes in what has come, as far as this wait does not read it in place; returns owed credits; helps
    /// peers that read from here.
    #[inline]
    pub(super) fn serve(&self, waiting: Waiting) -> Result<Served, Error> {
        let mut served = if self.exposed.get() > 0 && self.fabric.progress() { Served::Something } else { Served::Nothing };
        let in_place = |from: Rank| waiting == Waiting::Any || waiting == Waiting::From(from);
        let mut at = None;
        while let Some(from) = self.fabric.arrived(at) {
            at = Some(from);
            if in_place(from.rank) && from.lane == self.here.lane {
                continue;
            }
            match self.drain(from, waiting)? {
                Served::Nothing => {}
                Served::Something => served = Served::Something,
                offered @ Served::Offered(..) => return Ok(offered),
            }
        }
        // After what has come, since that may call for an answer, or be the room that was missing.
        if self.backlog.get() {
            self.retry_credits();
        }
        Ok(served)
    }

    #[cold]
    fn drain(&self, at: Address, waiting: Waiting) -> Result<Served, Error> {
        let (from, with) = (at.rank, self.with(at.rank));
        if at.lane != self.here.lane {
            return Err(garbled(from, "a frame from another lane"));
        }
        let mut served = Served::Nothing;
        while let Some(drained) = self.fabric.peek(at, |bits, bytes| self.drain_frame(from, bits, bytes)) {
            let (costs, offer) = match drained.inspect_err(|_| self.give_up(from))? {
                Drained::Done(costs) => (costs, None),
                Drained::Offer(_) if waiting == Waiting::Nothing || waiting == Waiting::Whole(from) => {
                    with.unpacking.held.set(true);
                    break;
                }
                Drained::Offer(offer) => (true, Some(offer)),
            };
            with.unpacking.held.set(false);
            self.give_back(from, costs);
            served = Served::Something;
            if let Some(offer) = offer {
                return Ok(Served::Offered(from, offer));
            }
        }
        Ok(served)
    }

    fn drain_frame(&self, from: Rank, bits: u32, bytes: &[u8]) -> Result<Drained, Error> {
        // A frame that is held was obeyed when it was found.
        let taken = if self.with(from).unpacking.held.get() {
            Taken::Message(Head::unpack(bits).ok_or_else(|| garbled(from, "a frame that changed"))?)
        } else {
            self.obey(from, bits, bytes)?
        };
        match taken {
            Taken::Message(head) if head.kind == FrameKind::Offer => {
                let offer = Offer::read(head, bytes).ok_or_else(|| garbled(from, "an offer of nothing"))?;
                let full = self.unexpected.is_full();
                if !full && !self.unexpected.has_offers(from) {
                    return Ok(Drained::Offer(offer));
                }
                if !full {
                    reached("messenger:11");
                }
                self.keep(from, Arrived::Offered(offer), full);
                Ok(Drained::Done(!full))
            }
            Taken::Message(head) => {
                let full = self.unexpected.is_full();
                self.keep(from, Arrived::Frame(head, bytes.to_vec()), full);
                Ok(Drained::Done(!full))
            }
            Taken::Obeyed(costs) => Ok(Drained::Done(costs)),
        }
    }

    fn keep(&self, from: Rank, arrived: Arrived, unpaid: bool) {
        if self.with(from).packing.is_busy() {
            reached("messenger:3");
        }
        let link = &self.with(from).link;
        if unpaid {
            link.defer();
            if link.overdue(self.rules.terms) {
                // Credits that the peer may wait for are owed already; this look sends them, once it no
                // longer looks at a frame.
                self.backlog.set(true);
            }
        }
        self.unexpected.push(from, arrived, unpaid);
    }

    /// Fetches what a peer offers before the program asks for it, because the program waits for another rank.
    #[cold]
    pub(super) async fn fetch_aside(&self, from: Rank, offer: Offer) -> Result<(), Error> {
        if self.exposed.get() > 0 {
            reached("messenger:4");
        }
        let mut aside = self.room_aside(from, offer.bytes())?;
        self.fetch(from, &offer, &mut [&mut aside]).await?;
        self.keep(from, Arrived::Fetched(offer, aside), false);
        Ok(())
    }

    /// Memory for the pieces that `from` offers or lends.
    pub(super) fn room_aside(&self, from: Rank, bytes: usize) -> Result<Vec<u8>, Error> {
        let mut aside = Vec::new();
        if aside.try_reserve_exact(bytes).is_err() {
            self.give_up(from);
            return Err(Cause::Length { what: "a message that came", bytes, room: 0 }.into());
        }
        aside.resize(bytes, 0);
        Ok(aside)
    }

    /// The memory that `from` had exposed is gone, since it gave that up. It said why before it took the
    /// memory away, but a frame may come later than a read fails.
    pub(super) async fn withdrawn(&self, from: Rank) -> Error {
        reached("messenger:5");
        let said = || self.reason(from);
        let doing = "a piece in its sender's memory";
        let reason = match said() {
            Some(reason) => reason,
            None => {
                reached("messenger:13");
                // Boxed, since otherwise every fetch would have to hold its state.
                let deadline = self.deadline.get().min(self.fabric.now() + REASON);
                Box::pin(self.until_by(doing, Waiting::From(from), deadline, said)).await
            }
        };
        match reason {
            Err(error) if !matches!(error.cause(), Cause::TimedOut { .. }) => error,
            _ => self.accused(self.with(from).link.ended().unwrap_or(Lost::on(from)), doing),
        }
    }

    /// Has `from` said why it gave up? The rest of what it sent is of no use any more.
    fn reason(&self, from: Rank) -> Option<Result<(), Error>> {
        let with = self.with(from);
        while with.link.ended().is_none() {
            let taken = if with.unpacking.held.replace(false) { Ok(Taken::Obeyed(true)) } else { self.front_frame(from)? };
            match taken {
                Ok(Taken::Obeyed(costs)) => self.give_back(from, costs),
                Ok(Taken::Message(head)) => self.give_back(from, head.kind.costs()),
                Err(error) => return Some(Err(error)),
            }
        }
        Some(Ok(()))
    }

    fn front_frame(&self, from: Rank) -> Option<Result<Taken, Error>> {
        self.fabric.peek(self.address(from), |bits, bytes| self.obey(from, bits, bytes))
    }

    /// Tries the backlog again: there may be room now.
    #[cold]
    fn retry_credits(&self) {
        self.backlog.set(false);
        for peer in 0..self.size {
            let with = self.with(peer);
            if with.offers.untold() > 0 {
                self.retell(peer);
            }
            if with.loans.is_untold() {
                self.tell_loan(peer);
            }
            if with.link.is_untold() {
                self.tell_abort(peer);
            }
            if with.pursuit.is_unheard() {
                self.hear(peer);
            }
            if with.packets.has_requests() {
                self.answer(peer);
            }
            if with.link.overdue(self.rules.terms) {
                self.acknowledge(peer);
            }
        }
    }
}
