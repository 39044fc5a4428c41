//! A message on its way out: pieces become bytes of frames, or entries of a list that the receiver fetches.
use super::channel::Messenger;
use super::connections::count;
use super::frame::{FrameKind, NONE, STAGE};
use super::piece::sealed::Bytes;
use super::piece::{Cheaper, LENGTH, Mode, Piece, PieceFormat, Receive, SHORT};
use super::progress::{Waiting, settled};
use super::rendezvous::Posted;
use super::scope::MessageScope;
use core::cell::{Cell, RefCell};
use core::future::Future;
use core::mem;
use foregather_machine::{Cause, Error, Fabric, Park, Rank};

/// A connection's state of the message that is being packed: one at a time. Between messages it is as new.
pub(super) struct Packing {
    busy: Cell<bool>,
    /// Whether the open frame holds anything. An empty piece has a shape and no bytes.
    open: Cell<bool>,
    /// Whether the open frame has a credit.
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
    #[inline]
    pub(super) fn is_busy(&self) -> bool {
        self.busy.get()
    }

    pub(super) fn busy(to: Rank) -> Error {
        Cause::Busy { peer: to, what: "a message being packed" }.into()
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
/// which rank gave up. Forgotten, it keeps its connection forever, and the memory that it borrows is not
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
        self.connections.known(to)?;
        if let Some(lost) = self.connections.link(to).ended() {
            return Err(self.connections.accused(lost, "a message"));
        }
        if self.packing(to).busy.replace(true) {
            return Err(Packing::busy(to));
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
        let now = self.send_now(to, &piece, receive);
        settled(now.map(|done| (!done).then(|| self.fabric().cpu().run_inline(self.send_slow(to, piece, receive)))))
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
        let connections = &self.connections;
        let bytes = match piece.bytes() {
            Bytes::Now(bytes) => bytes,
            Bytes::Lasting(bytes) if bytes.len() < connections.rules.direct_at => bytes,
            Bytes::Lasting(_) | Bytes::AtEnd(_) => return Ok(false),
        };
        let shape = PieceFormat { mode: P::MODE, receive, bytes: bytes.len() };
        if to >= connections.size || bytes.len() > connections.rules.buffer || shape.is_long() {
            return Ok(false);
        }
        let link = connections.link(to);
        if link.ended().is_some() || self.packing(to).is_busy() || !link.take_credit() {
            return Ok(false);
        }
        let sent = connections.post_paid(to, FrameKind::Last, shape.short(), bytes);
        if matches!(sent, Ok(true)) {
            count(&connections.traffic.messages, 1);
        }
        sent
    }

    /// Sends a message of one CHEAPER piece that is received CHEAPER, from memory that the messenger keeps
    /// until the receiver has fetched it. The returned handle gives the memory back. Acts when called: await
    /// it.
    ///
    /// # Errors
    /// As [`Messenger::begin_packing`] and [`Outgoing::end`]. The memory is freed then.
    pub fn send_owned(&self, to: Rank, memory: Vec<u8>) -> impl Future<Output = Result<Pending<'_, F>, Error>> {
        self.fabric().cpu().run_inline(async move {
            self.free_fetched();
            if memory.len() < self.direct_at() {
                self.send_whole(to, Cheaper(&memory), Receive::Cheaper).await?;
                return Ok(Pending { messenger: self, held: PendingMemory::Here(memory) });
            }
            let message = self.begin_packing(to)?;
            message.wait_for_credit().await?;
            let shape = PieceFormat { mode: Mode::Cheaper, receive: Receive::Cheaper, bytes: memory.len() };
            let fabric = &self.connections.fabric;
            let key = fabric.expose_owned(memory)?;
            let posted = self.post_offer(to, key, core::iter::once(shape), true).await;
            let posted = posted.inspect_err(|_| drop(fabric.take_back(key)))?;
            self.exposed.add_owned(posted);
            message.finish();
            Ok(Pending { messenger: self, held: PendingMemory::Offered(posted) })
        })
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
        let (cpu, done) = (self.messenger.fabric().cpu(), self.pack_now(&piece, receive));
        settled(Ok((!done).then(|| cpu.run_inline(self.pack_rest(piece, receive)))))
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
        settled(now.map(|done| {
            if done {
                self.finish();
                return None;
            }
            Some(messenger.fabric().cpu().run_inline(self.end_rest()))
        }))
    }

    #[inline]
    fn packing(&self) -> &'c Packing {
        self.messenger.packing(self.to)
    }

    #[inline]
    fn take_credit(&self) -> bool {
        let packing = self.packing();
        let credit = packing.credit.get() || self.messenger.connections.link(self.to).take_credit();
        packing.credit.set(credit);
        credit
    }

    /// All of the message has left, or is offered.
    #[inline]
    fn finish(self) {
        self.packing().clear();
        count(&self.messenger.connections.traffic.messages, 1);
        debug_assert!(self.late.is_none());
        // Dropping it would count as giving the message up. It holds nothing to be freed.
        mem::forget(self);
    }

    /// The short way: a piece that fits into the open frame.
    #[inline]
    fn pack_now<P: Piece<'m>>(&mut self, piece: &P, receive: Receive) -> bool {
        let bytes = match piece.bytes() {
            Bytes::Now(bytes) => bytes,
            Bytes::Lasting(bytes) if bytes.len() < self.messenger.direct_at() => bytes,
            Bytes::Lasting(_) | Bytes::AtEnd(_) => return false,
        };
        let shape = PieceFormat { mode: P::MODE, receive, bytes: bytes.len() };
        if self.late.is_some() || !self.fits(bytes.len()) || !self.take_credit() {
            return false;
        }
        self.put_shape(shape);
        self.put(bytes);
        true
    }

    /// Returns whether the open frame has room for a shape and `bytes` bytes.
    #[inline]
    fn fits(&self, bytes: usize) -> bool {
        self.packing().used.get() + SHORT + LENGTH + bytes <= self.messenger.connections.rules.buffer
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
        let (packing, connections) = (self.packing(), &self.messenger.connections);
        let at = packing.used.get();
        let end = at + bytes.len();
        let (stage, inline) = (&packing.stage, connections.rules.inline);
        if end <= inline {
            stage.borrow_mut()[at..end].copy_from_slice(bytes);
        } else {
            connections.fabric.write_with(connections.address(self.to), |buffer| {
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
        let (packing, connections) = (self.packing(), &self.messenger.connections);
        let (used, first) = (packing.used.get(), packing.first.get());
        let sent = if used <= connections.rules.inline {
            connections.post(self.to, kind, first, &packing.stage.borrow()[..used])?
        } else {
            connections.post_filled(self.to, kind, first, used)?
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

    /// Returns whether the piece stays where it is, to be fetched.
    fn is_large(&self, bytes: &[u8]) -> bool {
        bytes.len() >= self.messenger.direct_at() && !bytes.is_empty()
    }

    /// Sends a piece as bytes of frames.
    async fn append(&self, shape: PieceFormat, mut bytes: &[u8]) -> Result<(), Error> {
        let (packing, buffer) = (self.packing(), self.messenger.connections.rules.buffer);
        if !self.fits(0) {
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

    async fn wait_for_credit(&self) -> Result<(), Error> {
        let taken = || self.take_credit().then_some(Ok(()));
        self.messenger.unless_now("a credit", Waiting::To(self.to), taken).await
    }

    async fn flush(&self, kind: FrameKind) -> Result<(), Error> {
        self.wait_for_credit().await?;
        let posted = || self.post(kind).map(|sent| sent.then_some(())).transpose();
        self.messenger.unless_now("room for a message", Waiting::Room(self.to), posted).await
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
    async fn end_within(mut self, scope: &MessageScope<'_, 'm, F>) -> Result<(), Error> {
        let mut group = Vec::new();
        for (shape, piece) in self.late.take().into_iter().flat_map(|late| *late) {
            match piece {
                Late::Lasting(bytes) if self.joins(&group, shape, bytes) => {
                    let alone = shape.receive == Receive::Express;
                    if alone || group.len() == self.messenger.connections.rules.gather {
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

    /// Returns whether that piece is fetched. A small piece is, if it travels in a list that is fetched
    /// anyway.
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
        message.messenger.fabric().cpu().run_inline(message.end_within(self))
    }
}

impl<F: Fabric> Drop for Outgoing<'_, '_, F> {
    fn drop(&mut self) {
        let connections = &self.messenger.connections;
        if self.packing().clear() {
            connections.link(self.to).untake_credit();
        }
        connections.give_up(self.to);
    }
}

/// A message that was sent from owned memory. Dropped, it leaves the memory to the messenger until it was
/// fetched.
#[must_use = "`wait` gives the memory back"]
pub struct Pending<'c, F: Fabric> {
    messenger: &'c Messenger<F>,
    held: PendingMemory,
}

enum PendingMemory {
    /// Its bytes have left.
    Here(Vec<u8>),
    Offered(Posted),
    Nowhere,
}

impl<F: Fabric> Pending<'_, F> {
    /// Returns whether [`Pending::wait`] would return at once. Looks at what has come, and takes nothing in.
    pub fn is_fetched(&self) -> bool {
        match &self.held {
            PendingMemory::Here(_) | PendingMemory::Nowhere => true,
            PendingMemory::Offered(posted) => self.messenger.rendezvous.is_fetched(*posted),
        }
    }

    /// Waits until the receiver has fetched the message, and returns the memory. Acts when called: await it.
    ///
    /// # Errors
    /// As [`Outgoing::end`]. The memory is freed then.
    pub fn wait(mut self) -> impl Future<Output = Result<Vec<u8>, Error>> {
        let messenger = self.messenger;
        messenger.fabric().cpu().run_inline(async move {
            match mem::replace(&mut self.held, PendingMemory::Nowhere) {
                PendingMemory::Here(memory) => Ok(memory),
                PendingMemory::Nowhere => Ok(Vec::new()),
                PendingMemory::Offered(posted) => {
                    let fetched = messenger.until_fetched(posted).await;
                    if fetched.is_err() {
                        // Before the memory goes: a receiver that finds it gone looks behind it for the
                        // reason.
                        messenger.connections.give_up(posted.to);
                    }
                    let memory = messenger.exposed.take_back(&messenger.connections, posted);
                    fetched?;
                    memory.ok_or_else(|| Cause::Unexposed { rank: posted.to }.into())
                }
            }
        })
    }
}

impl<F: Fabric> Drop for Pending<'_, F> {
    fn drop(&mut self) {
        if let PendingMemory::Offered(posted) = self.held {
            self.messenger.exposed.orphan(posted);
        }
    }
}
