//! A message being taken apart: piece by piece, in the order and with the modes in which it was packed.
use super::connection::{Offer, Unexpected};
use super::frame::FrameKind;
use super::frame::NONE;
use super::head::{Front, ShapeAt, read_shape};
use super::piece::{Mode, PieceFormat, Receive, WireValue};
use super::{Messenger, Waiting};
use core::future::Future;
use foregather_machine::{Cause, Error, Fabric, Park, Rank};

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
    from: Rank,
    /// How far the frame at hand was read.
    at: usize,
    piece: u32,
    /// Was the first frame looked at?
    begun: bool,
    /// The pieces so far of the offer at hand.
    group: Vec<&'m mut [u8]>,
    /// The last frame was an offer, and it was taken.
    over: bool,
    ended: bool,
}

/// How the short way to a piece ended.
enum FastPath {
    /// It was copied; how far the frame was read, and is it used up?
    Taken(usize, bool),
    /// Not all of it is here.
    NotNow,
    /// Something else was packed, or nothing more.
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
        if self.with(from).unpacking.replace(true) {
            return Err(Cause::Busy { peer: from, what: "a message being unpacked" }.into());
        }
        Ok(Incoming { messenger: self, from, at: 0, piece: 0, begun: false, group: Vec::new(), over: false, ended: false })
    }

    /// Waits for a message of anybody: of several that have come, from the rank behind the one served last. Acts when called: await it.
    ///
    /// # Errors
    /// When there can be none any more: a lost rank, all others have left, passed deadline.
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
            let open = self.with(rank).unpacking.get();
            if open { None } else { self.ready(rank).map(|ready| ready.then_some(rank)).transpose() }
        })
    }
}

impl<'c, 'm, F: Fabric> Incoming<'c, 'm, F> {
    /// Who sent it.
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

    /// The same for a piece of any length, into memory of the caller.
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
        async move {
            match rest? {
                None => Ok(()),
                Some(rest) => rest.await,
            }
        }
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
        async move {
            match rest? {
                None => Ok(()),
                Some(rest) => rest.await,
            }
        }
    }

    /// Ends the message: all of its pieces are there. Acts when called: await it.
    ///
    /// # Errors
    /// [`Cause::Mismatch`] if there are pieces left; as [`Incoming::unpack_express`].
    #[inline]
    pub fn end(mut self) -> impl Future<Output = Result<(), Error>> {
        let messenger = self.messenger;
        let rest = match self.end_now() {
            Ok(true) => Ok(None),
            Ok(false) => Ok(Some(messenger.fabric.cpu().run_inline(self.end_rest()))),
            Err(error) => Err(error),
        };
        async move {
            match rest? {
                None => Ok(()),
                Some(rest) => rest.await,
            }
        }
    }

    #[cold]
    fn disagree(&self, packed: Option<PieceFormat>, unpacked: Option<PieceFormat>) -> Error {
        let words = |shape: Option<PieceFormat>| shape.map_or("nothing more".to_owned(), |shape| shape.to_string());
        Cause::Mismatch { from: self.from, piece: self.piece, packed: words(packed), unpacked: words(unpacked) }.into()
    }

    #[cold]
    fn garbled(&self, what: &'static str) -> Error {
        Cause::ProtocolViolation { from: self.from, what }.into()
    }

    /// The short way: the whole piece is in the frame at hand. `false`: nothing has changed.
    #[inline]
    fn take_now(&mut self, wanted: PieceFormat, into: &mut [u8]) -> Result<bool, Error> {
        if !self.group.is_empty() || self.over || !self.messenger.ready_soon(self.from)? {
            return Ok(false);
        }
        let (at, begun) = (self.at, self.begun);
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
                (self.begun, self.at, self.piece) = (true, at, self.piece + 1);
                if over {
                    self.at = 0;
                    self.messenger.next(self.from);
                }
                Ok(true)
            }
            // Nothing to read in place: something fetched.
            Some(FastPath::NotNow) | None => Ok(false),
            Some(FastPath::Disagree(packed)) => Err(self.disagree(packed, Some(wanted))),
            Some(FastPath::Malformed) => Err(self.garbled("a piece without a shape")),
        }
    }

    /// Waits until something is at the head.
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
        if !self.group.is_empty() {
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
        self.group.push(into);
        self.piece += 1;
        if self.group.len() == offer.shapes.len() {
            let mut group = core::mem::take(&mut self.group);
            self.piece -= 1;
            self.take_offer(&offer, &mut group).await?;
        }
        Ok(())
    }

    /// Is the next piece of the offer the one that is wanted?
    fn agree(&self, offer: &Offer, wanted: PieceFormat) -> Result<(), Error> {
        let packed = offer.shapes.get(self.group.len()).copied();
        if packed == Some(wanted) && !self.over { Ok(()) } else { Err(self.disagree(packed, Some(wanted))) }
    }

    async fn take_offer(&mut self, offer: &Offer, into: &mut [&mut [u8]]) -> Result<(), Error> {
        let (messenger, from) = (self.messenger, self.from);
        if let Some((Unexpected::Fetched(_, bytes), _)) = messenger.with(from).kept.borrow().front() {
            let mut rest = &bytes[..];
            for piece in into {
                let (now, later) = rest.split_at(piece.len());
                piece.copy_from_slice(now);
                rest = later;
            }
        } else {
            messenger.fetch(from, offer, into).await?;
        }
        messenger.next(from);
        (self.begun, self.at, self.piece, self.over) = (true, 0, self.piece + 1, offer.last);
        Ok(())
    }

    /// A piece that comes in frames, of which the first may hold its beginning only. Gives the offer instead, if it is one.
    async fn through_frames(&mut self, wanted: PieceFormat, into: &mut [u8]) -> Result<Option<Offer>, Error> {
        if self.over {
            return Err(self.disagree(None, Some(wanted)));
        }
        let (messenger, from) = (self.messenger, self.from);
        loop {
            match self.frame().await? {
                Front::Offer(offer) | Front::Fetched(offer) => return Ok(Some(offer)),
                Front::Frame(kind) => {
                    let (at, begun) = (self.at, self.begun);
                    let place = messenger.read(from, |head, bytes| read_shape(head, bytes, at, begun));
                    match place {
                        Some(ShapeAt::At(shape, at)) if shape == wanted => {
                            (self.begun, self.at) = (true, at);
                            break;
                        }
                        Some(ShapeAt::At(shape, _)) => return Err(self.disagree(Some(shape), Some(wanted))),
                        Some(ShapeAt::NotHere) if kind == FrameKind::Data => {
                            (self.begun, self.at) = (true, 0);
                            messenger.next(from);
                        }
                        Some(ShapeAt::Nowhere) => return Err(self.disagree(None, Some(wanted))),
                        _ => return Err(self.garbled("a piece without a shape")),
                    }
                }
            }
        }
        self.copy_frames(into).await.map(|()| None)
    }

    /// The bytes of a piece whose shape was read.
    async fn copy_frames(&mut self, mut into: &mut [u8]) -> Result<(), Error> {
        let (messenger, from) = (self.messenger, self.from);
        loop {
            let at = self.at;
            let copied = messenger.read(from, |head, bytes| {
                let rest = bytes.get(at..).unwrap_or_default();
                let now = rest.len().min(into.len());
                into[..now].copy_from_slice(&rest[..now]);
                (now, now == rest.len() && head.kind == FrameKind::Data, head.kind)
            });
            let Some((now, over, kind)) = copied else { return Err(self.garbled("an offer within a piece")) };
            (self.at, into) = (self.at + now, &mut into[now..]);
            if over {
                self.at = 0;
                messenger.next(from);
            }
            if into.is_empty() {
                self.piece += 1;
                return Ok(());
            }
            if kind != FrameKind::Data {
                return Err(self.garbled("a piece that ends too soon"));
            }
            self.frame().await?;
        }
    }

    #[inline]
    fn end_now(&mut self) -> Result<bool, Error> {
        if self.over {
            self.ended = true;
            return Ok(true);
        }
        if !self.group.is_empty() || !self.messenger.ready(self.from)? {
            return Ok(false);
        }
        let (at, begun) = (self.at, self.begun);
        let last = self.messenger.read(self.from, |head, bytes| {
            let empty = if begun { true } else { head.extra == NONE };
            head.kind == FrameKind::Last && empty && at == bytes.len()
        });
        if last == Some(true) {
            self.messenger.next(self.from);
            self.ended = true;
        }
        Ok(self.ended)
    }

    #[cold]
    async fn end_rest(mut self) -> Result<(), Error> {
        if !self.group.is_empty() {
            let packed = self.messenger.front(self.from).and_then(|front| match front {
                Front::Offer(offer) | Front::Fetched(offer) => offer.shapes.get(self.group.len()).copied(),
                Front::Frame(_) => None,
            });
            return Err(self.disagree(packed, None));
        }
        loop {
            let front = self.frame().await?;
            if self.end_now()? {
                return Ok(());
            }
            let (at, begun) = (self.at, self.begun);
            let packed = match front {
                Front::Offer(offer) | Front::Fetched(offer) => offer.shapes.first().copied(),
                Front::Frame(_) => match self.messenger.read(self.from, |head, bytes| read_shape(head, bytes, at, begun)) {
                    Some(ShapeAt::At(shape, _)) => Some(shape),
                    // The frame is used up, and the next one may be the last.
                    Some(ShapeAt::NotHere) => {
                        (self.begun, self.at) = (true, 0);
                        self.messenger.next(self.from);
                        continue;
                    }
                    _ => None,
                },
            };
            return Err(self.disagree(packed, None));
        }
    }
}

impl<F: Fabric> Drop for Incoming<'_, '_, F> {
    #[inline]
    fn drop(&mut self) {
        // What was given up stays open on this side: nobody can tell any more where the next message begins.
        self.messenger.with(self.from).unpacking.set(!self.ended);
        if !self.ended {
            self.messenger.give_up(self.from);
        }
    }
}
