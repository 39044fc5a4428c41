//! A message being taken apart: piece by piece, in the order and with the modes in which it was packed.
use super::frame::{FrameKind, NONE};
use super::front::{Front, ShapeAt, read_shape};
use super::piece::{Mode, PieceFormat, Receive, WireValue};
use super::rendezvous::Offer;
use super::unexpected::Arrived;
use super::{Messenger, Waiting, settled};
use core::cell::Cell;
use core::future::Future;
use core::mem;
use foregather_machine::{Cause, Error, Fabric, Park, Rank};

/// A connection's state of the message that is being unpacked: one at a time. Between messages it is as new.
#[derive(Default)]
pub(super) struct Unpacking {
    /// The frame at the head of the ring belongs to a message and was counted already.
    pub(super) held: Cell<bool>,
    busy: Cell<bool>,
    /// Was the first frame looked at?
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
        self.known(from)?;
        if self.with(from).unpacking.busy.replace(true) {
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
        let rest = match self.receive_now(from, PieceFormat { mode: sent, receive, bytes: into.len() }, into) {
            Ok(true) => Ok(None),
            Ok(false) => Ok(Some(self.fabric.cpu().run_inline(self.receive_slow(from, sent, receive, into)))),
            Err(error) => Err(error),
        };
        settled(rest)
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
        if from >= self.size || self.with(from).unpacking.busy.get() || wanted.is_long() || !self.ready_soon(from)? {
            return Ok(false);
        }
        let taken = self.read(from, |head, bytes| {
            let whole = head.kind == FrameKind::Last && head.extra == wanted.short() && bytes.len() == into.len();
            if whole {
                into.copy_from_slice(bytes);
            }
            whole
        });
        if taken == Some(true) {
            self.next(from);
        }
        Ok(taken == Some(true))
    }

    /// Waits for a message of any rank: of several that have come, from the rank after the one served last.
    /// Acts when called: await it.
    ///
    /// # Errors
    /// When no message can come any more: a lost rank, all others have left, passed deadline.
    pub fn begin_unpacking<'m>(&self) -> impl Future<Output = Result<Incoming<'_, 'm, F>, Error>> {
        self.fabric.cpu().run_inline(async move {
            let from = match self.anybody() {
                Some(from) => from?,
                None => self.until("a message", Waiting::Any, || self.anybody()).await?,
            };
            self.turn.set((from + 1) % self.size);
            self.begin_unpacking_from(from)
        })
    }

    fn anybody(&self) -> Option<Result<Rank, Error>> {
        let first = self.turn.get();
        (first..self.size).chain(0..first).find_map(|rank| {
            let open = self.with(rank).unpacking.busy.get();
            if open { None } else { self.ready(rank).map(|ready| ready.then_some(rank)).transpose() }
        })
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
        let messenger = self.messenger;
        let rest = match self.take_now(wanted, bytes.as_mut()) {
            Err(error) => Err(error),
            Ok(true) => Ok(None),
            Ok(false) => Ok(Some(messenger.fabric.cpu().run_inline(async move {
                let mut bytes = T::EMPTY;
                self.express(wanted, bytes.as_mut()).await.map(|()| bytes)
            }))),
        };
        async move {
            Ok(T::from_bytes(match rest? {
                None => bytes,
                Some(rest) => rest.await?,
            }))
        }
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
        let messenger = self.messenger;
        let rest = match self.take_now(wanted, into) {
            Err(error) => Err(error),
            Ok(true) => Ok(None),
            Ok(false) => Ok(Some(messenger.fabric.cpu().run_inline(self.express(wanted, into)))),
        };
        settled(rest)
    }

    /// The next piece, of a CHEAPER kind: it is there when the message has ended. Acts when called: await it.
    ///
    /// # Errors
    /// As [`Incoming::unpack_express`].
    #[inline]
    pub fn unpack(&mut self, sent: Mode, into: &'m mut [u8]) -> impl Future<Output = Result<(), Error>> {
        let wanted = PieceFormat { mode: sent, receive: Receive::Cheaper, bytes: into.len() };
        let messenger = self.messenger;
        let rest = match self.take_now(wanted, into) {
            Err(error) => Err(error),
            Ok(true) => Ok(None),
            Ok(false) => Ok(Some(messenger.fabric.cpu().run_inline(self.cheaper(wanted, into)))),
        };
        settled(rest)
    }

    /// Ends the message: all of its pieces are there. Acts when called: await it.
    ///
    /// # Errors
    /// [`Cause::Mismatch`] if there are pieces left; as [`Incoming::unpack_express`].
    #[inline]
    pub fn end(self) -> impl Future<Output = Result<(), Error>> {
        let messenger = self.messenger;
        let rest = match self.end_now() {
            Ok(true) => {
                self.finish();
                Ok(None)
            }
            Ok(false) => Ok(Some(messenger.fabric.cpu().run_inline(self.end_rest()))),
            Err(error) => Err(error),
        };
        settled(rest)
    }

    #[inline]
    fn state(&self) -> &'c Unpacking {
        &self.messenger.with(self.from).unpacking
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

    #[cold]
    fn garbled(&self, what: &'static str) -> Error {
        Cause::ProtocolViolation { from: self.from, what }.into()
    }

    /// Where the shape of the next piece is, if a frame is at hand.
    #[inline]
    fn shape(&self) -> Option<ShapeAt> {
        let (at, begun) = (self.state().at.get(), self.state().begun.get());
        self.messenger.read(self.from, |head, bytes| read_shape(head, bytes, at, begun))
    }

    /// Moves on to the beginning of the next frame, if there is one.
    #[inline]
    fn next_frame(&self) {
        self.state().begun.set(true);
        self.state().at.set(0);
        self.messenger.next(self.from);
    }

    /// The short way: the whole piece is in the frame at hand. `false`: nothing has changed.
    #[inline]
    fn take_now(&mut self, wanted: PieceFormat, into: &mut [u8]) -> Result<bool, Error> {
        let state = self.state();
        if self.is_grouping() || state.over.get() || !self.messenger.ready_soon(self.from)? {
            return Ok(false);
        }
        let (at, begun) = (state.at.get(), state.begun.get());
        let step = self.messenger.read(self.from, |head, bytes| match read_shape(head, bytes, at, begun) {
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
            Some(FastPath::Malformed) => Err(self.garbled("a piece without a shape")),
        }
    }

    /// Waits until the connection has a head.
    async fn frame(&self) -> Result<Front, Error> {
        let (messenger, from) = (self.messenger, self.from);
        if !messenger.ready(from)? {
            let ready = || messenger.ready(from).map(|ready| ready.then_some(())).transpose();
            messenger.until("the message", Waiting::From(from), ready).await?;
        }
        messenger.front(from).ok_or_else(|| self.garbled("an offer of nothing"))
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

    /// Is the next piece of the offer the one that is wanted?
    fn agree(&self, offer: &Offer, wanted: PieceFormat) -> Result<(), Error> {
        let packed = offer.shapes.get(self.grouped()).copied();
        let agreed = packed == Some(wanted) && !self.state().over.get();
        if agreed { Ok(()) } else { Err(self.disagree(packed, Some(wanted))) }
    }

    async fn take_offer(&mut self, offer: &Offer, into: &mut [&mut [u8]]) -> Result<(), Error> {
        let (messenger, from, state) = (self.messenger, self.from, self.state());
        let pieces = into.len() as u32;
        let aside = messenger.unexpected.read(from, |arrived| {
            let Arrived::Fetched(_, bytes) = arrived else { return false };
            let mut rest = &bytes[..];
            for piece in &mut *into {
                let (now, later) = rest.split_at(piece.len());
                piece.copy_from_slice(now);
                rest = later;
            }
            true
        });
        if aside != Some(true) {
            messenger.fetch(from, offer, into).await?;
        }
        self.next_frame();
        state.piece.set(state.piece.get() + pieces);
        state.over.set(offer.last);
        Ok(())
    }

    /// A piece that comes in frames, of which the first may hold only its beginning. Returns the offer
    /// instead, if it is one.
    async fn through_frames(&mut self, wanted: PieceFormat, into: &mut [u8]) -> Result<Option<Offer>, Error> {
        let state = self.state();
        if state.over.get() {
            return Err(self.disagree(None, Some(wanted)));
        }
        loop {
            let kind = match self.frame().await? {
                Front::Offer(offer) | Front::Fetched(offer) => return Ok(Some(offer)),
                Front::Frame(kind) => kind,
            };
            match self.shape() {
                Some(ShapeAt::At(shape, at)) if shape == wanted => {
                    state.begun.set(true);
                    state.at.set(at);
                    break;
                }
                Some(ShapeAt::At(shape, _)) => return Err(self.disagree(Some(shape), Some(wanted))),
                Some(ShapeAt::NotHere) if kind == FrameKind::Data => self.next_frame(),
                Some(ShapeAt::Nowhere) => return Err(self.disagree(None, Some(wanted))),
                _ => return Err(self.garbled("a piece without a shape")),
            }
        }
        self.copy_frames(into).await.map(|()| None)
    }

    /// The bytes of a piece whose shape was read.
    async fn copy_frames(&mut self, mut into: &mut [u8]) -> Result<(), Error> {
        let (messenger, from, state) = (self.messenger, self.from, self.state());
        loop {
            let at = state.at.get();
            let copied = messenger.read(from, |head, bytes| {
                let rest = bytes.get(at..).unwrap_or_default();
                let now = rest.len().min(into.len());
                into[..now].copy_from_slice(&rest[..now]);
                (now, now == rest.len() && head.kind == FrameKind::Data, head.kind)
            });
            let Some((now, over, kind)) = copied else { return Err(self.garbled("an offer within a piece")) };
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
                return Err(self.garbled("a piece that ends too soon"));
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

    /// Has the message ended here?
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
        let last = self.messenger.read(self.from, |head, bytes| {
            let empty = if begun { true } else { head.extra == NONE };
            head.kind == FrameKind::Last && empty && at == bytes.len()
        });
        if last == Some(true) {
            self.messenger.next(self.from);
        }
        Ok(last == Some(true))
    }

    #[cold]
    async fn end_rest(self) -> Result<(), Error> {
        if self.is_grouping() {
            let packed = self.messenger.front(self.from).and_then(|front| match front {
                Front::Offer(offer) | Front::Fetched(offer) => offer.shapes.get(self.grouped()).copied(),
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
                Front::Offer(offer) | Front::Fetched(offer) => offer.shapes.first().copied(),
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
        self.messenger.give_up(self.from);
    }
}
