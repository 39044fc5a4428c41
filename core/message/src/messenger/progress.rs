//! The one wait, and what each of its looks does for others: it takes in what has come, returns buffers, and
//! reports what it owes.
use super::channel::Messenger;
use super::connections::{count, garbled};
use super::deadlock::{DeadlockDetection, PATIENCE};
use super::frame::{FrameKind, Head};
use super::incoming::UnexpectedMessage;
use super::rendezvous::Offer;
use crate::link::Lost;
use foregather_machine::{Address, Cause, Error, Fabric, Key, Nanos, Packet, Rank, WaitContext, reached};
use foregather_wait::{Roster, Wait, WaitFor};

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

    /// The one rank that can end this wait, by a frame.
    fn chased(self) -> Option<Rank> {
        match self {
            Self::From(peer) | Self::Whole(peer) | Self::To(peer) | Self::Packet(peer) | Self::Signal(Some(peer)) => Some(peer),
            Self::Signal(None) | Self::Room(_) | Self::Any | Self::Nothing => None,
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
    /// The frame has been handled. Holds whether it used a buffer.
    Obeyed(bool),
}

/// The result for a frame that this wait does not read in place.
enum Drained {
    /// The frame has been handled or copied. Holds whether it used a buffer.
    Done(bool),
    Offer(Offer),
}

/// The rest of a verb that has acted: nothing, an error, or a wait.
#[inline]
pub(super) async fn settled(rest: Result<Option<impl Future<Output = Result<(), Error>>>, Error>) -> Result<(), Error> {
    match rest? {
        None => Ok(()),
        Some(rest) => rest.await,
    }
}

impl<F: Fabric> Messenger<F> {
    /// Why this wait cannot end well, if a message that it depends on was given up.
    #[inline]
    fn poisoned(&self, waiting: Waiting) -> Option<Lost> {
        match waiting {
            Waiting::Any => self.connections.ended(None),
            Waiting::Signal(peer) => self.connections.ended_for_signals(peer),
            _ => waiting.peer().and_then(|peer| self.connections.ended(Some(peer))),
        }
    }

    /// The rank that this wait is for, if it may be part of a circle. A wait with a deadline ends by itself.
    fn chased(&self, waiting: Waiting) -> Option<Rank> {
        let possible = || self.deadline() == Nanos::MAX && DeadlockDetection::longest_chain(&self.connections) > 0;
        waiting.chased().filter(|_| possible())
    }

    /// Returns whether a frame is still to be sent there, as soon as there is room, that could end a wait.
    fn is_behind(&self, peer: Rank) -> bool {
        let link = self.connections.link(peer);
        let behind = self.rendezvous.is_untold(peer) || link.is_untold() || self.packets.has_requests(peer);
        behind || link.overdue(self.connections.rules.terms)
    }

    /// Polls once for a wait: returns the event if it has occurred, and otherwise serves other peers.
    #[inline]
    fn look<T>(
        &self,
        what: &'static str,
        waiting: Waiting,
        found: &mut impl FnMut() -> Option<Result<T, Error>>,
    ) -> Option<LookResult<T>> {
        // First, since the acts of a peer before it left are seen below.
        let left = self.connections.has_left(waiting.peer());
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
        if let Some(lender) = self.rendezvous.lender(&self.connections) {
            return Some(LookResult::Borrow(lender));
        }
        // Before the ranks that gave up because of the circle.
        if self.deadlock.is_chased()
            && let Some(next) = self.chased(waiting)
            && let Err(circle) = self.deadlock.judge(&self.connections, (what, next), |peer| self.is_behind(peer))
        {
            return Some(LookResult::End(Err(circle)));
        }
        // A peer gives up by a frame, so that is known by now.
        if let Some(blame) = self.poisoned(waiting) {
            return Some(LookResult::End(Err(self.connections.accused(blame, what))));
        }
        left.then(|| LookResult::End(Err(Cause::Closed { peer: waiting.peer() }.into())))
    }

    /// [`Self::until`], unless the event has come.
    #[inline]
    pub(super) async fn unless_now<T>(
        &self,
        what: &'static str,
        waiting: Waiting,
        mut found: impl FnMut() -> Option<Result<T, Error>>,
    ) -> Result<T, Error> {
        match found() {
            Some(end) => end,
            None => self.until(what, waiting, found).await,
        }
    }

    /// The one wait. Only its beginning is the caller's: a look of its own that found nothing.
    pub(super) async fn until<T>(
        &self,
        what: &'static str,
        waiting: Waiting,
        found: impl FnMut() -> Option<Result<T, Error>>,
    ) -> Result<T, Error> {
        self.until_by(what, waiting, self.deadline(), found).await
    }

    async fn until_by<T>(
        &self,
        what: &'static str,
        waiting: Waiting,
        deadline: Nanos,
        mut found: impl FnMut() -> Option<Result<T, Error>>,
    ) -> Result<T, Error> {
        let connections = &self.connections;
        let fabric = &*connections.fabric;
        let mut why = WaitContext { peer: waiting.peer(), ..WaitContext::new(what, connections.here.rank).until(deadline) };
        self.deadlock.begin_wait();
        // How long the wait goes on before it sends a chase: at first, and then twice as long each time,
        // since another chase may replace it.
        let mut patience = if self.chased(waiting).is_some() { PATIENCE } else { Nanos::MAX };
        loop {
            let look = || self.look(what, waiting, &mut found);
            let whom = if self.exposed.is_empty() { WaitFor::Message } else { WaitFor::Copy };
            let whom = whom(Roster::new(fabric.roster()), waiting.peer());
            let waited = self.waiter.on_lane_for(fabric, why, whom, patience, look).await;
            match waited.map_err(|error| connections.blamed(error))? {
                Some(LookResult::End(end)) => return end.map_err(|error| connections.blamed(error)),
                // Boxed, since otherwise every wait would have to hold its state.
                Some(LookResult::Fetch(from, offer)) => Box::pin(self.fetch_aside(from, offer)).await?,
                Some(LookResult::Borrow(from)) => Box::pin(self.fetch_loan_aside(from)).await?,
                None => {
                    if why.since == Nanos::ZERO {
                        why = why.since(fabric.now() - patience);
                    }
                    if let Some(next) = self.chased(waiting) {
                        self.deadlock.begin_chase(connections, next);
                    }
                    patience = patience * 2;
                }
            }
        }
    }

    /// The part of a wait for `from` that costs no future; it serves no other peer meanwhile.
    #[inline]
    pub(super) fn ready_soon(&self, from: Rank) -> Result<bool, Error> {
        if self.ready(from)? {
            return Ok(true);
        }
        let (fabric, here) = (&*self.connections.fabric, self.connections.here.rank);
        let ready = || self.ready(from).map(|ready| ready.then_some(())).transpose();
        let why = || {
            let whom = WaitFor::Message(Roster::new(fabric.roster()), Some(from));
            (WaitContext::new("a message", here).of(from), whom)
        };
        match self.waiter.wait(fabric.cpu(), fabric.bell(), false, why, ready) {
            Wait::Now(found) => found.map(|()| true),
            Wait::Slow(_) => Ok(false),
        }
    }

    /// Returns whether there is a frame, or fetched pieces, of a message of `from`.
    #[inline]
    pub(super) fn ready(&self, from: Rank) -> Result<bool, Error> {
        if self.incoming.is_held(from) || self.incoming.has(from) {
            return Ok(true);
        }
        while let Some(taken) = self.obey_front(from) {
            match taken.inspect_err(|_| self.connections.give_up(from))? {
                Taken::Message(_) => {
                    self.incoming.set_held(from, true);
                    return Ok(true);
                }
                Taken::Obeyed(costs) => self.connections.release(from, costs),
            }
        }
        Ok(false)
    }

    #[inline]
    fn obey_front(&self, from: Rank) -> Option<Result<Taken, Error>> {
        self.connections.fabric.peek(self.connections.address(from), |bits, bytes| self.obey(from, bits, bytes))
    }

    /// Obeys a frame, unless it is part of a message.
    #[inline]
    fn obey(&self, from: Rank, bits: u32, bytes: &[u8]) -> Result<Taken, Error> {
        let head: Head = self.connections.link(from).receive(self.connections.rules.terms, from, bits)?;
        if head.kind.is_message() { Ok(Taken::Message(head)) } else { self.obey_other(from, head, bytes) }
    }

    fn obey_other(&self, from: Rank, Head { kind, extra, .. }: Head, bytes: &[u8]) -> Result<Taken, Error> {
        let connections = &self.connections;
        match kind {
            FrameKind::Done if self.rendezvous.take_done(from, extra) => {}
            FrameKind::Done => return Err(garbled(from, "more pieces fetched than were offered")),
            FrameKind::Abort => connections.take_abort(from, extra, bytes),
            FrameKind::Signal => self.packets.take_signal(from, extra)?,
            FrameKind::Packet => self.packets.take_packet(connections, from, extra, bytes)?,
            FrameKind::Lent => self.rendezvous.take_loan(from, bytes)?,
            FrameKind::Chase | FrameKind::Heard | FrameKind::Deadlock => {
                self.deadlock.take_frame(connections, from, kind, bytes)?;
            }
            FrameKind::Credit | FrameKind::Data | FrameKind::Last | FrameKind::Offer => {}
        }
        Ok(Taken::Obeyed(kind.costs()))
    }

    /// Takes in what has come, as far as this wait does not read it in place; returns owed credits; helps
    /// peers that read from here.
    #[inline]
    pub(super) fn serve(&self, waiting: Waiting) -> Result<Served, Error> {
        let fabric = &self.connections.fabric;
        let helped = !self.exposed.is_empty() && fabric.progress();
        let mut served = if helped { Served::Something } else { Served::Nothing };
        let in_place = |from: Rank| waiting == Waiting::Any || waiting == Waiting::From(from);
        let mut at = None;
        while let Some(from) = fabric.arrived(at) {
            at = Some(from);
            if in_place(from.rank) && from.lane == self.connections.here.lane {
                continue;
            }
            match self.drain(from, waiting)? {
                Served::Nothing => {}
                Served::Something => served = Served::Something,
                offered @ Served::Offered(..) => return Ok(offered),
            }
        }
        // After what has come, since that may call for an answer, or be the room that was missing.
        if self.connections.take_backlog() {
            self.retry();
        }
        Ok(served)
    }

    #[cold]
    fn drain(&self, at: Address, waiting: Waiting) -> Result<Served, Error> {
        let from = at.rank;
        if at.lane != self.connections.here.lane {
            return Err(garbled(from, "a frame from another lane"));
        }
        let mut served = Served::Nothing;
        while let Some(drained) = self.connections.fabric.peek(at, |bits, bytes| self.drain_frame(from, bits, bytes)) {
            let (costs, offer) = match drained.inspect_err(|_| self.connections.give_up(from))? {
                Drained::Done(costs) => (costs, None),
                Drained::Offer(_) if waiting == Waiting::Nothing || waiting == Waiting::Whole(from) => {
                    self.incoming.set_held(from, true);
                    break;
                }
                Drained::Offer(offer) => (true, Some(offer)),
            };
            self.incoming.set_held(from, false);
            self.connections.release(from, costs);
            served = Served::Something;
            if let Some(offer) = offer {
                return Ok(Served::Offered(from, offer));
            }
        }
        Ok(served)
    }

    fn drain_frame(&self, from: Rank, bits: u32, bytes: &[u8]) -> Result<Drained, Error> {
        // A frame that is held was obeyed when it was found.
        let taken = if self.incoming.is_held(from) {
            Taken::Message(Head::unpack(bits).ok_or_else(|| garbled(from, "a frame that changed"))?)
        } else {
            self.obey(from, bits, bytes)?
        };
        match taken {
            Taken::Message(head) => {
                let full = self.incoming.is_full();
                let arrived = if head.kind == FrameKind::Offer {
                    let offer = Offer::read(head, bytes).ok_or_else(|| garbled(from, "an offer of nothing"))?;
                    if !full && !self.incoming.has_offers(from) {
                        return Ok(Drained::Offer(offer));
                    }
                    if !full {
                        reached("messenger:11");
                    }
                    UnexpectedMessage::Offered(offer)
                } else {
                    UnexpectedMessage::Frame(head, bytes.to_vec())
                };
                self.keep(from, arrived, full);
                Ok(Drained::Done(!full))
            }
            Taken::Obeyed(costs) => Ok(Drained::Done(costs)),
        }
    }

    fn keep(&self, from: Rank, arrived: UnexpectedMessage, unpaid: bool) {
        if self.packing(from).is_busy() {
            reached("messenger:3");
        }
        if unpaid {
            let link = self.connections.link(from);
            link.defer();
            if link.overdue(self.connections.rules.terms) {
                // Credits that the peer may wait for are owed already; this look sends them, once it no
                // longer looks at a frame.
                self.connections.retry_later();
            }
        }
        self.incoming.push(from, arrived, unpaid);
    }

    /// Fetches what a peer offers before the program asks for it, because the program waits for another rank.
    #[cold]
    async fn fetch_aside(&self, from: Rank, offer: Offer) -> Result<(), Error> {
        if !self.exposed.is_empty() {
            reached("messenger:4");
        }
        let mut aside = self.room_aside(from, offer.bytes())?;
        self.fetch(from, &offer, &mut [&mut aside]).await?;
        self.keep(from, UnexpectedMessage::Fetched(offer, aside), false);
        Ok(())
    }

    /// Fetches the packet that `from` lends, which the program has not asked for.
    #[cold]
    async fn fetch_loan_aside(&self, from: Rank) -> Result<(), Error> {
        let Some(loan) = self.rendezvous.loan(&self.connections, from) else { return Ok(()) };
        let mut aside = self.room_aside(from, loan.bytes)?;
        self.fetch_loan(from, &mut aside).await?;
        self.packets.inbox(|inbox| {
            inbox.admits(Packet::Data, (from, loan.tag));
            inbox.arrive(Packet::Data, (from, loan.tag), aside);
        });
        Ok(())
    }

    /// Memory for the pieces that `from` offers or lends.
    fn room_aside(&self, from: Rank, bytes: usize) -> Result<Vec<u8>, Error> {
        let mut aside = Vec::new();
        if aside.try_reserve_exact(bytes).is_err() {
            self.connections.give_up(from);
            return Err(Cause::Length { what: "a message that came", bytes, room: 0 }.into());
        }
        aside.resize(bytes, 0);
        Ok(aside)
    }

    /// Fetches what a peer offers, and tells the peer so.
    pub(super) async fn fetch(&self, from: Rank, offer: &Offer, into: &mut [&mut [u8]]) -> Result<(), Error> {
        self.get(from, offer.key, into).await?;
        self.rendezvous.report_fetched(&self.connections, from);
        Ok(())
    }

    /// Fetches the packet that `from` lends into `into`, and tells it so. Returns its length.
    pub(super) async fn fetch_loan(&self, from: Rank, into: &mut [u8]) -> Result<usize, Error> {
        let Some(loan) = self.rendezvous.begin_fetch(from) else { return Ok(0) };
        if !self.exposed.is_empty() {
            reached("messenger:12");
        }
        self.get(from, loan.key, &mut [&mut into[..loan.bytes]]).await?;
        self.rendezvous.report_loan(&self.connections, from);
        Ok(loan.bytes)
    }

    /// Reads the memory that `from` has exposed under that key.
    async fn get(&self, from: Rank, key: Key, into: &mut [&mut [u8]]) -> Result<(), Error> {
        let connections = &self.connections;
        if let Err(error) = connections.fabric.get(connections.address(from), key, into).await {
            let error = if let Cause::Unexposed { .. } = error.cause() { self.withdrawn(from).await } else { error };
            return Err(connections.blamed(error));
        }
        count(&connections.traffic.direct_bytes, into.iter().map(|piece| piece.len() as u64).sum());
        Ok(())
    }

    /// The memory that `from` had exposed is gone, since it gave that up. It said why before it took the
    /// memory away, but a frame may come later than a read fails.
    async fn withdrawn(&self, from: Rank) -> Error {
        reached("messenger:5");
        let said = || self.reason(from);
        let doing = "a piece in its sender's memory";
        let reason = match said() {
            Some(reason) => reason,
            None => {
                reached("messenger:13");
                // Boxed, since otherwise every fetch would have to hold its state.
                let deadline = self.deadline().min(self.connections.fabric.now() + REASON);
                Box::pin(self.until_by(doing, Waiting::From(from), deadline, said)).await
            }
        };
        match reason {
            Err(error) if !matches!(error.cause(), Cause::TimedOut { .. }) => error,
            _ => self.connections.accused(self.connections.link(from).ended().unwrap_or(Lost::on(from)), doing),
        }
    }

    /// Whether `from` has said why it gave up. The rest of what it sent is of no use any more.
    fn reason(&self, from: Rank) -> Option<Result<(), Error>> {
        while self.connections.link(from).ended().is_none() {
            let taken = if self.incoming.set_held(from, false) { Ok(Taken::Obeyed(true)) } else { self.obey_front(from)? };
            match taken {
                Ok(Taken::Obeyed(costs)) => self.connections.release(from, costs),
                Ok(Taken::Message(head)) => self.connections.release(from, head.kind.costs()),
                Err(error) => return Some(Err(error)),
            }
        }
        Some(Ok(()))
    }

    /// Tries again what found no room: there may be some now.
    #[cold]
    fn retry(&self) {
        let connections = &self.connections;
        for peer in 0..connections.size {
            self.rendezvous.retry(connections, peer);
            connections.retry_end(peer);
            self.deadlock.retry(connections, peer);
            self.packets.retry(connections, peer);
            connections.retry_credits(peer);
        }
    }
}
