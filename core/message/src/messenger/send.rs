//! A message on its way out: pieces become bytes of frames, or entries of a list that the receiver fetches.
use super::frame::{FrameKind, NONE, STAGE};
use super::piece::sealed::Bytes;
use super::piece::{LENGTH, Mode, Piece, PieceFormat, Receive, SHORT};
use super::rendezvous::MessageScope;
use super::{Messenger, Waiting, count, settled};
use core::cell::{Cell, RefCell};
use core::future::Future;
use core::mem;
use foregather_machine::{Cause, Error, Fabric, Park, Rank};

/// A connection's state of the message that is being packed: one at a time. Between messages it is as new.
pub(super) struct Packing {
    busy: Cell<bool>,
    /// Does the open frame hold anything? An empty piece has a shape and no bytes.
    open: Cell<bool>,
    /// Does the open frame have a credit?
    credit: Cell<bool>,
    begun: Cell<bool>,
    /// The shape of the first piece, until it has been sent.
    first: Cell<u16>,
    /// Bytes of the open frame: in `stage` while they are few enough to travel with a head, else in the
    /// fabric's static buffer.
    used: Cell<usize>,
    stage: RefCell<[u8; STAGE]>,
}

impl Default for Packing {
    fn default() -> Self {
        Self {
            busy: Cell::default(),
            open: Cell::default(),
            credit: Cell::default(),
            begun: Cell::default(),
            first: Cell::new(NONE),
            used: Cell::new(0),
            stage: RefCell::new([0; STAGE]),
        }
    }
}

impl Packing {
    pub(super) fn is_busy(&self) -> bool {
        self.busy.get()
    }

    /// The message has ended, or was given up. Returns whether it left a credit unused.
    #[inline]
    fn clear(&self) -> bool {
        self.busy.set(false);
        self.open.set(false);
        self.begun.set(false);
        self.first.set(NONE);
        self.used.set(0);
        self.credit.replace(false)
    }
}

/// A message being built. Dropped before [`Outgoing::end`], it poisons its connection: the receiver learns
/// which rank gave up. Forgotten, it keeps its connection for ever, and the memory that it borrows is not
/// read afterwards.
///
/// `'m` is how long its [`Cheaper`](super::Cheaper) and [`Later`](super::Later) pieces stay borrowed.
#[must_use = "a message that is dropped before its end poisons the connection"]
pub struct Outgoing<'c, 'm, F: Fabric> {
    messenger: &'c Messenger<F>,
    /// The pieces that leave only at the end: the first one that is fetched or read late, and all behind it.
    #[allow(clippy::box_collection, reason = "one word: a handle is moved with each message")]
    late: Option<Box<Vec<(PieceFormat, Late<'m>)>>>,
    to: Rank,
}

enum Late<'m> {
    Copied(Vec<u8>),
    Lasting(&'m [u8]),
    Cells(&'m [Cell<u8>]),
}

impl<F: Fabric> Messenger<F> {
    /// Begins a message to that rank, of which there can be one at a time.
    ///
    /// # Errors
    /// [`Cause::Rank`]; [`Cause::Busy`] if one is open; [`Cause::Poisoned`] if one was given up before.
    #[inline]
    pub fn begin_packing<'m>(&self, to: Rank) -> Result<Outgoing<'_, 'm, F>, Error> {
        self.known(to)?;
        let with = self.with(to);
        if let Some(lost) = with.link.ended() {
            return Err(self.accused(lost, "a message"));
        }
        if with.packing.busy.replace(true) {
            return Err(Cause::Busy { peer: to, what: "a message being packed" }.into());
        }
        Ok(Outgoing { messenger: self, late: None, to })
    }

    /// Sends a message of that one piece. The frames are those of [`Messenger::begin_packing`], but no
    /// message is built. Acts when called: await it.
    ///
    /// # Errors
    /// As [`Messenger::begin_packing`] and [`Outgoing::end`].
    #[inline]
    pub fn send_whole<'m, P: Piece<'m>>(
        &self,
        to: Rank,
        piece: P,
        receive: Receive,
    ) -> impl Future<Output = Result<(), Error>> + use<'_, 'm, F, P> {
        let rest = match self.send_now(to, &piece, receive) {
            Ok(true) => Ok(None),
            Ok(false) => Ok(Some(self.fabric.cpu().run_inline(self.send_slow(to, piece, receive)))),
            Err(error) => Err(error),
        };
        settled(rest)
    }

    #[cold]
    async fn send_slow<'m, P: Piece<'m>>(&self, to: Rank, piece: P, receive: Receive) -> Result<(), Error> {
        let mut message = self.begin_packing(to)?;
        message.pack(piece, receive).await?;
        message.end().await
    }

    /// The short way: one frame, straight from the caller's memory. `false`: nothing has changed.
    #[inline]
    fn send_now<'m, P: Piece<'m>>(&self, to: Rank, piece: &P, receive: Receive) -> Result<bool, Error> {
        let bytes = match piece.bytes() {
            Bytes::Now(bytes) => bytes,
            Bytes::Lasting(bytes) if bytes.len() < self.rules.direct_at => bytes,
            Bytes::Lasting(_) | Bytes::AtEnd(_) => return Ok(false),
        };
        let shape = PieceFormat { mode: P::MODE, receive, bytes: bytes.len() };
        if to >= self.size || bytes.len() > self.buffer || shape.is_long() {
            return Ok(false);
        }
        let with = self.with(to);
        if with.link.ended().is_some() || with.packing.busy.get() || !with.link.take_credit() {
            return Ok(false);
        }
        let sent = if bytes.len() <= self.inline {
            self.post(to, FrameKind::Last, shape.short(), bytes)
        } else {
            self.fabric.write_with(self.address(to), |buffer| buffer[..bytes.len()].copy_from_slice(bytes));
            self.post_filled(to, FrameKind::Last, shape.short(), bytes.len())
        };
        if matches!(sent, Ok(true)) {
            count(&self.traffic.messages, 1);
        } else {
            with.link.untake_credit();
        }
        sent
    }
}

impl<'c, 'm, F: Fabric> Outgoing<'c, 'm, F> {
    /// Adds a piece. The receiver unpacks one of the same length with the same two modes. Acts when called:
    /// await it.
    ///
    /// # Errors
    /// When the message can no longer be sent: lost, left or poisoned peer, passed deadline.
    #[inline]
    pub fn pack<P: Piece<'m>>(&mut self, piece: P, receive: Receive) -> impl Future<Output = Result<(), Error>> {
        let messenger = self.messenger;
        let rest = if self.pack_now(&piece, receive) {
            None
        } else {
            Some(messenger.fabric.cpu().run_inline(self.pack_rest(piece, receive)))
        };
        settled(Ok(rest))
    }

    /// Ends the message: when this is done, all memory borrowed for it is free again.
    /// [`MessageScope::end_later`] ends it and goes on. Acts when called: await it.
    ///
    /// # Errors
    /// As [`Outgoing::pack`].
    #[inline]
    pub fn end(self) -> impl Future<Output = Result<(), Error>> {
        let messenger = self.messenger;
        let now = if self.late.is_none() && self.take_credit() { self.post(FrameKind::Last) } else { Ok(false) };
        let rest = match now {
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
    fn packing(&self) -> &'c Packing {
        &self.messenger.with(self.to).packing
    }

    #[inline]
    fn take_credit(&self) -> bool {
        let with = self.messenger.with(self.to);
        let credit = with.packing.credit.get() || with.link.take_credit();
        with.packing.credit.set(credit);
        credit
    }

    /// All of the message has left, or is offered.
    #[inline]
    pub(super) fn finish(self) {
        self.packing().clear();
        count(&self.messenger.traffic.messages, 1);
        debug_assert!(self.late.is_none());
        // Dropping it would count as giving the message up. It holds nothing to be freed.
        mem::forget(self);
    }

    /// The short way: a piece that fits into the open frame.
    #[inline]
    fn pack_now<P: Piece<'m>>(&mut self, piece: &P, receive: Receive) -> bool {
        let bytes = match piece.bytes() {
            Bytes::Now(bytes) => bytes,
            Bytes::Lasting(bytes) if bytes.len() < self.messenger.rules.direct_at => bytes,
            Bytes::Lasting(_) | Bytes::AtEnd(_) => return false,
        };
        let shape = PieceFormat { mode: P::MODE, receive, bytes: bytes.len() };
        let fits = self.packing().used.get() + SHORT + LENGTH + bytes.len() <= self.messenger.buffer;
        if self.late.is_some() || !fits || !self.take_credit() {
            return false;
        }
        self.put_shape(shape);
        self.put(bytes);
        true
    }

    /// Puts a shape into the open frame: there is a credit and room.
    #[inline]
    fn put_shape(&self, shape: PieceFormat) {
        let packing = self.packing();
        packing.open.set(true);
        if packing.begun.replace(true) {
            self.put(&shape.short().to_le_bytes());
        } else {
            packing.first.set(shape.short());
        }
        if shape.is_long() {
            self.put(&(shape.bytes as u64).to_le_bytes());
        }
    }

    #[inline]
    fn put(&self, bytes: &[u8]) {
        let packing = self.packing();
        let at = packing.used.get();
        let end = at + bytes.len();
        let (stage, inline) = (&packing.stage, self.messenger.inline);
        if end <= inline {
            stage.borrow_mut()[at..end].copy_from_slice(bytes);
        } else {
            self.messenger.fabric.write_with(self.messenger.address(self.to), |buffer| {
                if at <= inline {
                    buffer[..at].copy_from_slice(&stage.borrow()[..at]);
                }
                buffer[at..end].copy_from_slice(bytes);
            });
        }
        packing.open.set(true);
        packing.used.set(end);
    }

    #[inline]
    fn post(&self, kind: FrameKind) -> Result<bool, Error> {
        let packing = self.packing();
        let (used, first) = (packing.used.get(), packing.first.get());
        let sent = if used <= self.messenger.inline {
            self.messenger.post(self.to, kind, first, &packing.stage.borrow()[..used])?
        } else {
            self.messenger.post_filled(self.to, kind, first, used)?
        };
        if sent {
            self.sent();
        }
        Ok(sent)
    }

    /// The open frame has left, with its credit.
    #[inline]
    fn sent(&self) {
        let packing = self.packing();
        packing.open.set(false);
        packing.credit.set(false);
        packing.first.set(0);
        packing.used.set(0);
    }

    #[cold]
    async fn pack_rest<P: Piece<'m>>(&mut self, piece: P, receive: Receive) -> Result<(), Error> {
        let bytes = piece.bytes();
        let length = match &bytes {
            Bytes::Now(bytes) | Bytes::Lasting(bytes) => bytes.len(),
            Bytes::AtEnd(cells) => cells.len(),
        };
        let shape = PieceFormat { mode: P::MODE, receive, bytes: length };
        let late = match bytes {
            Bytes::AtEnd(cells) => Late::Cells(cells),
            Bytes::Lasting(bytes) if self.late.is_some() || self.is_large(bytes) => Late::Lasting(bytes),
            Bytes::Now(bytes) if self.late.is_some() => Late::Copied(bytes.to_vec()),
            Bytes::Now(bytes) | Bytes::Lasting(bytes) => return self.append(shape, bytes).await,
        };
        self.late.get_or_insert_default().push((shape, late));
        Ok(())
    }

    /// Does the piece stay where it is, to be fetched?
    fn is_large(&self, bytes: &[u8]) -> bool {
        bytes.len() >= self.messenger.rules.direct_at && !bytes.is_empty()
    }

    /// Sends a piece as bytes of frames.
    async fn append(&self, shape: PieceFormat, mut bytes: &[u8]) -> Result<(), Error> {
        let (packing, buffer) = (self.packing(), self.messenger.buffer);
        if packing.used.get() + SHORT + LENGTH > buffer {
            self.flush(FrameKind::Data).await?;
        }
        self.wait_for_credit().await?;
        self.put_shape(shape);
        while !bytes.is_empty() {
            if packing.used.get() == buffer {
                self.flush(FrameKind::Data).await?;
                self.wait_for_credit().await?;
            }
            let (now, later) = bytes.split_at(bytes.len().min(buffer - packing.used.get()));
            self.put(now);
            bytes = later;
        }
        Ok(())
    }

    pub(super) async fn wait_for_credit(&self) -> Result<(), Error> {
        if self.take_credit() {
            return Ok(());
        }
        let taken = || self.take_credit().then_some(Ok(()));
        self.messenger.until("a credit", Waiting::To(self.to), taken).await
    }

    async fn flush(&self, kind: FrameKind) -> Result<(), Error> {
        self.wait_for_credit().await?;
        if self.post(kind)? {
            return Ok(());
        }
        let posted = || self.post(kind).map(|sent| sent.then_some(())).transpose();
        self.messenger.until("room for a message", Waiting::Room(self.to), posted).await
    }

    #[cold]
    async fn end_rest(self) -> Result<(), Error> {
        if self.late.is_none() {
            self.flush(FrameKind::Last).await?;
            self.finish();
            return Ok(());
        }
        self.messenger.scope(async move |scope| self.end_within(scope).await).await
    }

    /// Sends what has not left yet, and offers the pieces to be fetched: the scope waits for them.
    pub(super) async fn end_within(mut self, scope: &MessageScope<'_, 'm, F>) -> Result<(), Error> {
        let mut group = Vec::new();
        for (shape, piece) in self.late.take().into_iter().flat_map(|late| *late) {
            match piece {
                Late::Lasting(bytes) if self.joins(&group, shape, bytes) => {
                    let alone = shape.receive == Receive::Express;
                    if alone || group.len() == self.messenger.gather {
                        self.offer(scope, &mut group, false).await?;
                    }
                    group.push((shape, bytes));
                    if alone {
                        self.offer(scope, &mut group, false).await?;
                    }
                }
                Late::Lasting(bytes) => self.append_behind(scope, &mut group, shape, bytes).await?,
                Late::Copied(bytes) => self.append_behind(scope, &mut group, shape, &bytes).await?,
                Late::Cells(cells) => {
                    debug_assert!(shape.mode == Mode::Later);
                    let bytes: Vec<u8> = cells.iter().map(Cell::get).collect();
                    self.append_behind(scope, &mut group, shape, &bytes).await?;
                }
            }
        }
        if group.is_empty() {
            self.flush(FrameKind::Last).await?;
        } else {
            self.offer(scope, &mut group, true).await?;
        }
        self.finish();
        Ok(())
    }

    /// Is that piece fetched? A small piece is, if it travels in a list that is fetched anyway.
    fn joins(&self, group: &[(PieceFormat, &[u8])], shape: PieceFormat, bytes: &[u8]) -> bool {
        self.is_large(bytes) || !group.is_empty() && shape.receive == Receive::Cheaper && !bytes.is_empty()
    }

    async fn append_behind(
        &self,
        scope: &MessageScope<'_, 'm, F>,
        group: &mut Vec<(PieceFormat, &'m [u8])>,
        shape: PieceFormat,
        bytes: &[u8],
    ) -> Result<(), Error> {
        self.offer(scope, group, false).await?;
        self.append(shape, bytes).await
    }

    /// Offers the pieces of the group, if there are any.
    async fn offer(
        &self,
        scope: &MessageScope<'_, 'm, F>,
        group: &mut Vec<(PieceFormat, &'m [u8])>,
        last: bool,
    ) -> Result<(), Error> {
        if group.is_empty() {
            return Ok(());
        }
        if self.packing().open.get() {
            self.flush(FrameKind::Data).await?;
        }
        self.wait_for_credit().await?;
        scope.offer(self.to, group, last).await?;
        self.packing().begun.set(true);
        self.sent();
        Ok(())
    }
}

impl<'s, 'env, F: Fabric> MessageScope<'s, 'env, F> {
    /// Ends a message without waiting until its large pieces were fetched: the memory that it borrows stays
    /// borrowed until the scope ends. Acts when called: await it.
    ///
    /// # Errors
    /// As [`Outgoing::end`].
    pub fn end_later(&self, message: Outgoing<'s, 'env, F>) -> impl Future<Output = Result<(), Error>> {
        self.messenger.fabric.cpu().run_inline(message.end_within(self))
    }
}

impl<F: Fabric> Drop for Outgoing<'_, '_, F> {
    fn drop(&mut self) {
        let with = self.messenger.with(self.to);
        if with.packing.clear() {
            with.link.untake_credit();
        }
        self.messenger.give_up(self.to);
    }
}
