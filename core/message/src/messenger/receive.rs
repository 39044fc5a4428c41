//! A message being taken apart: piece by piece, in the order and with the modes in which it was packed.
use super::channel::Messenger;
use super::connections::garbled;
use super::frame::{FrameKind, Head, NONE};
use super::incoming::{Front, ShapeAt, read_shape};
use super::piece::{Mode, PieceFormat, Receive, WireValue};
use super::progress::{Waiting, settled};
use super::rendezvous::Offer;
use core::cell::Cell;
use core::future::Future;
use core::mem;
use foregather_machine::{Cause, Error, Fabric, Park, Rank};

/// A connection's state of the message that is being unpacked: one at a time. Between messages it is as new.
#[derive(Default)]
pub(super) struct Unpacking {
    busy: Cell<bool>,
    /// The first frame was looked at.
    begun: Cell<bool>,
    /// The last frame was an offer, and it was taken.
    over: Cell<bool>,
    piece: Cell<u32>,
    /// How far the frame at hand was read.
    at: Cell<usize>,
}

impl Unpacking {
    #[inline]
    fn clear(&self) {
        self.busy.set(false);
        self.begun.set(false);
        self.over.set(false);
        self.piece.set(0);
        self.at.set(0);
    }
}

/// A message being taken apart. Dropped before [`Incoming::end`], it poisons its connection.
///
/// `'m` is how long the memory of its CHEAPER pieces stays borrowed: they cannot be read before the end.
///
/// ```compile_fail,E0503
/// # use foregather_machine::{Error, Fabric};
/// # use foregather_message::{Messenger, Mode};
/// async fn early<F: Fabric>(messenger: &Messenger<F>) -> Result<u8, Error> {
///     let mut body = [0; 8];
///     let mut message = messenger.begin_unpacking().await?;
///     message.unpack(Mode::Cheaper, &mut body).await?;
///     let early = body[0]; // still borrowed by the message
///     message.end().await?;
///     Ok(early)
/// }
/// ```
#[must_use = "a message that is dropped before its end poisons the connection"]
pub struct Incoming<'c, 'm, F: Fabric> {
    messenger: &'c Messenger<F>,
    /// The pieces so far of the offer at hand.
    #[allow(clippy::box_collection, reason = "one word: a handle is moved with each message")]
    group: Option<Box<Vec<&'m mut [u8]>>>,
    from: Rank,
}

/// How the short way to a piece ended.
enum FastPath {
    /// The piece was copied; how far the frame was read, and whether it is used up.
    Taken(usize, bool),
    /// Not all of the piece is here.
    NotNow,
    /// Another piece was packed, or none.
    Disagree(Option<PieceFormat>),
    Malformed,
}

impl<F: Fabric> Messenger<F> {
    /// Begins to take the next message of that rank apart, whether it has come yet or not.
    ///
    /// # Errors
    /// [`Cause::Rank`]; [`Cause::Busy`] if one is open; [`Cause::Poisoned`] if one was given up on this side.
    #[inline]
    pub fn begin_unpacking_from<'m>(&self, from: Rank) -> Result<Incoming<'_, 'm, F>, Error> {
        self.connections.known(from)?;
        if self.unpacking(from).busy.replace(true) {
            return Err(Cause::Busy { peer: from, what: "a message being unpacked" }.into());
        }
        Ok(Incoming { messenger: self, group: None, from })
    }

    /// Takes the next message of that rank, which is one piece of that length: the receiver of
    /// [`Messenger::send_whole`]. Acts when called: await it.
    ///
    /// # Errors
    /// As [`Messenger::begin_unpacking_from`] and [`Incoming::end`].
    #[inline]
    pub fn receive_whole<'a>(
        &'a self,
        from: Rank,
        sent: Mode,
        receive: Receive,
        into: &'a mut [u8],
    ) -> impl Future<Output = Result<(), Error>> + use<'a, F> {
        let now = self.receive_now(from, PieceFormat { mode: sent, receive, bytes: into.len() }, into);
        settled(now.map(|done| (!done).then(|| self.fabric().cpu().run_inline(self.receive_slow(from, sent, receive, into)))))
    }

    #[cold]
    async fn receive_slow(&self, from: Rank, sent: Mode, receive: Receive, into: &mut [u8]) -> Result<(), Error> {
        let mut message = self.begin_unpacking_from(from)?;
        match receive {
            Receive::Express => message.unpack_express_into(sent, into).await?,
            Receive::Cheaper => message.unpack(sent, into).await?,
        }
        message.end().await
    }

    /// The short way: the whole message is one frame, with that piece. `false`: nothing has changed.
    #[inline]
    fn receive_now(&self, from: Rank, wanted: PieceFormat, into: &mut [u8]) -> Result<bool, Error> {
        let (connections, incoming) = (&self.connections, &self.incoming);
        if from >= connections.size || self.unpacking(from).busy.get() || wanted.is_long() || !self.ready_soon(from)? {
            return Ok(false);
        }
        let taken = incoming.read(connections, from, |head, bytes| {
            let whole = head.kind == FrameKind::Last && head.extra == wanted.short() && bytes.len() == into.len();
            if whole {
                into.copy_from_slice(bytes);
            }
            whole
        });
        if taken == Some(true) {
            incoming.next(connections, from);
        }
        Ok(taken == Some(true))
    }

    /// Waits for a message of any rank: of several that have come, from the rank after the one served last.
    /// Acts when called: await it.
    ///
    /// # Errors
    /// When no message can come any more: a lost rank, all others have left, passed deadline.
    pub fn begin_unpacking<'m>(&self) -> impl Future<Output = Result<Incoming<'_, 'm, F>, Error>> {
        self.fabric().cpu().run_inline(async move {
            let ready = |rank| {
                let open = self.unpacking(rank).busy.get();
                if open { None } else { self.ready(rank).map(|ready| ready.then_some(rank)).transpose() }
            };
            let from = self.unless_now("a message", Waiting::Any, || self.incoming.find(ready)).await?;
            self.incoming.served(from);
            self.begin_unpacking_from(from)
        })
    }

    /// Waits until the next message of `from` can be taken without waiting for its sender: all of its frames
    /// are here, or its pieces are offered. It takes nothing, so a caller whose deadline has passed may call
    /// again.
    ///
    /// # Errors
    /// [`Cause::Rank`]; when no message can come any more: a lost rank, one that has left, passed deadline.
    pub async fn arrival_of(&self, from: Rank) -> Result<(), Error> {
        self.connections.known(from)?;
        let arrived = || self.has_arrived(from).map(|arrived| arrived.then_some(())).transpose();
        self.unless_now("a message", Waiting::Whole(from), arrived).await
    }

    fn has_arrived(&self, from: Rank) -> Result<bool, Error> {
        let starts = self.incoming.has(from);
        // Frames that find no more room are taken in only as the program reads them.
        if starts && (self.incoming.has_end(from) || self.incoming.is_full()) {
            return Ok(true);
        }
        if !starts && !self.ready(from)? {
            return Ok(false);
        }
        // Behind kept frames only an offer is held in the ring: it is left where it is.
        Ok(self.incoming.is_held(from) && self.incoming.is_end_in_ring(&self.connections, from))
    }
}

impl<'c, 'm, F: Fabric> Incoming<'c, 'm, F> {
    /// The rank that sent it.
    pub fn from(&self) -> Rank {
        self.from
    }

    /// The next piece, of an EXPRESS kind: a number or an array of bytes. Acts when called: await it.
    ///
    /// # Errors
    /// [`Cause::Mismatch`] if something else was packed; when the message can no longer come.
    #[inline]
    pub fn unpack_express<T: WireValue>(&mut self, sent: Mode) -> impl Future<Output = Result<T, Error>> {
        let mut bytes = T::EMPTY;
        let wanted = PieceFormat { mode: sent, receive: Receive::Express, bytes: bytes.as_ref().len() };
        let (cpu, now) = (self.messenger.fabric().cpu(), self.take_now(wanted, bytes.as_mut()));
        let rest = async move {
            let mut bytes = T::EMPTY;
            self.express(wanted, bytes.as_mut()).await.map(|()| bytes)
        };
        let rest = now.map(|done| (!done).then(|| cpu.run_inline(rest)));
        async move {
            Ok(T::from_bytes(match rest? {
                None => bytes,
                Some(rest) => rest.await?,
            }))
        }
    }

    /// The length of the next piece, for a receiver that does not know it; 0 if no piece follows. Acts when
    /// called: await it.
    ///
    /// # Errors
    /// When the message can no longer come.
    #[inline]
    pub fn next_len(&self) -> impl Future<Output = Result<usize, Error>> {
        let now = self.messenger.ready_soon(self.from).map(|ready| if ready { self.shape() } else { None });
        let rest = now.map(|shape| match shape {
            Some(ShapeAt::At(shape, _)) => Ok(shape.bytes),
            _ => Err(self.messenger.fabric().cpu().run_inline(self.wait_for_len())),
        });
        async move {
            match rest? {
                Ok(bytes) => Ok(bytes),
                Err(rest) => rest.await,
            }
        }
    }

    #[cold]
    async fn wait_for_len(&self) -> Result<usize, Error> {
        while !self.state().over.get() {
            let kind = match self.frame().await? {
                Front::Offer(offer) => return Ok(offer.shapes.get(self.grouped()).map_or(0, |shape| shape.bytes)),
                Front::Frame(kind) => kind,
            };
            match self.shape() {
                Some(ShapeAt::At(shape, _)) => return Ok(shape.bytes),
                // The frame is used up, and the piece is in a later one.
                Some(ShapeAt::NotHere) if kind == FrameKind::Data => self.next_frame(),
                Some(ShapeAt::Nowhere) => return Ok(0),
                _ => return Err(garbled(self.from, "a piece without a shape")),
            }
        }
        Ok(0)
    }

    /// [`Incoming::unpack_express`] for a piece of any length, into memory of the caller.
    ///
    /// # Errors
    /// As [`Incoming::unpack_express`].
    #[inline]
    pub fn unpack_express_into<'a>(
        &'a mut self,
        sent: Mode,
        into: &'a mut [u8],
    ) -> impl Future<Output = Result<(), Error>> + use<'a, 'c, 'm, F> {
        let wanted = PieceFormat { mode: sent, receive: Receive::Express, bytes: into.len() };
        let (cpu, now) = (self.messenger.fabric().cpu(), self.take_now(wanted, into));
        settled(now.map(|done| (!done).then(|| cpu.run_inline(self.express(wanted, into)))))
    }

    /// The next piece, of a CHEAPER kind: it is there when the message has ended. Acts when called: await it.
    ///
    /// # Errors
    /// As [`Incoming::unpack_express`].
    #[inline]
    pub fn unpack(&mut self, sent: Mode, into: &'m mut [u8]) -> impl Future<Output = Result<(), Error>> {
        let wanted = PieceFormat { mode: sent, receive: Receive::Cheaper, bytes: into.len() };
        let (cpu, now) = (self.messenger.fabric().cpu(), self.take_now(wanted, into));
        settled(now.map(|done| (!done).then(|| cpu.run_inline(self.cheaper(wanted, into)))))
    }

    /// Ends the message: all of its pieces are there. Acts when called: await it.
    ///
    /// # Errors
    /// [`Cause::Mismatch`] if there are pieces left; as [`Incoming::unpack_express`].
    #[inline]
    pub fn end(self) -> impl Future<Output = Result<(), Error>> {
        let messenger = self.messenger;
        settled(self.end_now().map(|done| {
            if done {
                self.finish();
                return None;
            }
            Some(messenger.fabric().cpu().run_inline(self.end_rest()))
        }))
    }

    #[inline]
    fn state(&self) -> &'c Unpacking {
        self.messenger.unpacking(self.from)
    }

    /// Reads the frame at hand; `None` if fetched pieces are there.
    #[inline]
    fn read<R>(&self, read: impl FnOnce(Head, &[u8]) -> R) -> Option<R> {
        self.messenger.incoming.read(&self.messenger.connections, self.from, read)
    }

    /// Releases the frame at hand.
    #[inline]
    fn release(&self) {
        self.messenger.incoming.next(&self.messenger.connections, self.from);
    }

    fn front(&self) -> Option<Front> {
        self.messenger.incoming.front(&self.messenger.connections, self.from)
    }

    fn is_grouping(&self) -> bool {
        self.group.as_ref().is_some_and(|group| !group.is_empty())
    }

    fn grouped(&self) -> usize {
        self.group.as_ref().map_or(0, |group| group.len())
    }

    #[cold]
    fn disagree(&self, packed: Option<PieceFormat>, unpacked: Option<PieceFormat>) -> Error {
        let words = |shape: Option<PieceFormat>| shape.map_or("nothing more".to_owned(), |shape| shape.to_string());
        let piece = self.state().piece.get() + self.grouped() as u32;
        Cause::Mismatch { from: self.from, piece, packed: words(packed), unpacked: words(unpacked) }.into()
    }

    /// Where the shape of the next piece is, if a frame is at hand.
    #[inline]
    fn shape(&self) -> Option<ShapeAt> {
        let at = (self.state().at.get(), self.state().begun.get());
        self.read(|head, bytes| read_shape(head, bytes, at))
    }

    /// Moves on to the beginning of the next frame, if there is one.
    #[inline]
    fn next_frame(&self) {
        self.state().begun.set(true);
        self.state().at.set(0);
        self.release();
    }

    /// The short way: the whole piece is in the frame at hand. `false`: nothing has changed.
    #[inline]
    fn take_now(&mut self, wanted: PieceFormat, into: &mut [u8]) -> Result<bool, Error> {
        let state = self.state();
        if self.is_grouping() || state.over.get() || !self.messenger.ready_soon(self.from)? {
            return Ok(false);
        }
        let at = (state.at.get(), state.begun.get());
        let step = self.read(|head, bytes| match read_shape(head, bytes, at) {
            ShapeAt::At(shape, at) if shape == wanted => match bytes.get(at..at + into.len()) {
                Some(piece) => {
                    into.copy_from_slice(piece);
                    let end = at + into.len();
                    FastPath::Taken(end, end == bytes.len() && head.kind == FrameKind::Data)
                }
                None => FastPath::NotNow,
            },
            ShapeAt::At(shape, _) => FastPath::Disagree(Some(shape)),
            ShapeAt::Nowhere => FastPath::Disagree(None),
            ShapeAt::NotHere => FastPath::NotNow,
            ShapeAt::Malformed => FastPath::Malformed,
        });
        match step {
            Some(FastPath::Taken(at, over)) => {
                state.begun.set(true);
                state.at.set(at);
                state.piece.set(state.piece.get() + 1);
                if over {
                    self.next_frame();
                }
                Ok(true)
            }
            // There is nothing to read in place: fetched pieces.
            Some(FastPath::NotNow) | None => Ok(false),
            Some(FastPath::Disagree(packed)) => Err(self.disagree(packed, Some(wanted))),
            Some(FastPath::Malformed) => Err(garbled(self.from, "a piece without a shape")),
        }
    }

    /// Waits until the connection has a head.
    async fn frame(&self) -> Result<Front, Error> {
        let (messenger, from) = (self.messenger, self.from);
        let ready = || messenger.ready(from).map(|ready| ready.then_some(())).transpose();
        messenger.unless_now("the message", Waiting::From(from), ready).await?;
        self.front().ok_or_else(|| garbled(self.from, "an offer of nothing"))
    }

    #[cold]
    async fn express(&mut self, wanted: PieceFormat, into: &mut [u8]) -> Result<(), Error> {
        if self.is_grouping() {
            return Err(self.disagree(None, Some(wanted)));
        }
        let Some(offer) = self.through_frames(wanted, into).await? else { return Ok(()) };
        self.agree(&offer, wanted)?;
        if offer.shapes.len() != 1 {
            return Err(self.disagree(None, Some(wanted)));
        }
        self.take_offer(&offer, &mut [into]).await
    }

    #[cold]
    async fn cheaper(&mut self, wanted: PieceFormat, into: &'m mut [u8]) -> Result<(), Error> {
        let Some(offer) = self.through_frames(wanted, into).await? else { return Ok(()) };
        self.agree(&offer, wanted)?;
        let group = self.group.get_or_insert_default();
        group.push(into);
        if group.len() < offer.shapes.len() {
            return Ok(());
        }
        let mut group = mem::take(&mut **group);
        self.take_offer(&offer, &mut group).await
    }

    /// Checks that the next piece of the offer is the one that is wanted.
    fn agree(&self, offer: &Offer, wanted: PieceFormat) -> Result<(), Error> {
        let packed = offer.shapes.get(self.grouped()).copied();
        let agreed = packed == Some(wanted) && !self.state().over.get();
        if agreed { Ok(()) } else { Err(self.disagree(packed, Some(wanted))) }
    }

    async fn take_offer(&mut self, offer: &Offer, into: &mut [&mut [u8]]) -> Result<(), Error> {
        let (messenger, from) = (self.messenger, self.from);
        let pieces = into.len() as u32;
        if !messenger.incoming.take_fetched(from, into) {
            messenger.fetch(from, offer, into).await?;
        }
        self.next_frame();
        let state = self.state();
        state.piece.set(state.piece.get() + pieces);
        state.over.set(offer.last);
        Ok(())
    }

    /// A piece that comes in frames, of which the first may hold only its beginning. Returns the offer
    /// instead, if it is one.
    async fn through_frames(&mut self, wanted: PieceFormat, into: &mut [u8]) -> Result<Option<Offer>, Error> {
        if self.state().over.get() {
            return Err(self.disagree(None, Some(wanted)));
        }
        loop {
            let kind = match self.frame().await? {
                Front::Offer(offer) => return Ok(Some(offer)),
                Front::Frame(kind) => kind,
            };
            match self.shape() {
                Some(ShapeAt::At(shape, at)) if shape == wanted => {
                    self.state().begun.set(true);
                    self.state().at.set(at);
                    break;
                }
                Some(ShapeAt::At(shape, _)) => return Err(self.disagree(Some(shape), Some(wanted))),
                Some(ShapeAt::NotHere) if kind == FrameKind::Data => self.next_frame(),
                Some(ShapeAt::Nowhere) => return Err(self.disagree(None, Some(wanted))),
                _ => return Err(garbled(self.from, "a piece without a shape")),
            }
        }
        self.copy_frames(into).await.map(|()| None)
    }

    /// The bytes of a piece whose shape was read.
    async fn copy_frames(&mut self, mut into: &mut [u8]) -> Result<(), Error> {
        let state = self.state();
        loop {
            let at = state.at.get();
            let copied = self.read(|head, bytes| {
                let rest = bytes.get(at..).unwrap_or_default();
                let now = rest.len().min(into.len());
                into[..now].copy_from_slice(&rest[..now]);
                (now, now == rest.len() && head.kind == FrameKind::Data, head.kind)
            });
            let Some((now, over, kind)) = copied else { return Err(garbled(self.from, "an offer within a piece")) };
            state.at.set(at + now);
            into = &mut into[now..];
            if over {
                self.next_frame();
            }
            if into.is_empty() {
                state.piece.set(state.piece.get() + 1);
                return Ok(());
            }
            if kind != FrameKind::Data {
                return Err(garbled(self.from, "a piece that ends too soon"));
            }
            self.frame().await?;
        }
    }

    /// The message was taken as a whole.
    #[inline]
    fn finish(mut self) {
        self.state().clear();
        drop(self.group.take());
        // Dropping it would count as giving the message up. It holds nothing to be freed.
        mem::forget(self);
    }

    /// Returns whether the message has ended here.
    #[inline]
    fn end_now(&self) -> Result<bool, Error> {
        let state = self.state();
        if state.over.get() {
            return Ok(true);
        }
        if self.is_grouping() || !self.messenger.ready(self.from)? {
            return Ok(false);
        }
        let (at, begun) = (state.at.get(), state.begun.get());
        let last = self.read(|head, bytes| {
            let empty = begun || head.extra == NONE;
            head.kind == FrameKind::Last && empty && at == bytes.len()
        });
        if last == Some(true) {
            self.release();
        }
        Ok(last == Some(true))
    }

    #[cold]
    async fn end_rest(self) -> Result<(), Error> {
        if self.is_grouping() {
            let packed = self.front().and_then(|front| match front {
                Front::Offer(offer) => offer.shapes.get(self.grouped()).copied(),
                Front::Frame(_) => None,
            });
            return Err(self.disagree(packed, None));
        }
        loop {
            let front = self.frame().await?;
            if self.end_now()? {
                self.finish();
                return Ok(());
            }
            let packed = match front {
                Front::Offer(offer) => offer.shapes.first().copied(),
                Front::Frame(_) => match self.shape() {
                    Some(ShapeAt::At(shape, _)) => Some(shape),
                    // The frame is used up, and the next one may be the last.
                    Some(ShapeAt::NotHere) => {
                        self.next_frame();
                        continue;
                    }
                    _ => None,
                },
            };
            return Err(self.disagree(packed, None));
        }
    }
}

/// A message that was given up stays open on this side: the beginning of the next message cannot be found any
/// more.
impl<F: Fabric> Drop for Incoming<'_, '_, F> {
    fn drop(&mut self) {
        self.messenger.connections.give_up(self.from);
    }
}
