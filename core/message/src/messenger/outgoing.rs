//! A message on its way out: pieces become bytes of frames, or entries of a list that the receiver fetches.
use super::connection::Offer;
use super::frame::{FrameKind, NONE};
use super::piece::sealed::Bytes;
use super::piece::{LENGTH, Mode, Piece, PieceFormat, Receive, SHORT};
use super::{Messenger, Waiting, count, take};
use core::cell::Cell;
use core::future::Future;
use foregather_machine::{Cause, Error, Fabric, Key, Park, Rank};

/// A message being built. Dropped before [`Outgoing::end`], it poisons its connection: the receiver is told who gave up.
///
/// `'m` is how long its [`Cheaper`](super::Cheaper) and [`Later`](super::Later) pieces stay borrowed.
#[must_use = "a message that is dropped before its end poisons the connection"]
pub struct Outgoing<'c, 'm, F: Fabric> {
    messenger: &'c Messenger<F>,
    to: Rank,
    /// Is anything in the open frame? An empty piece has a shape and no bytes.
    open: bool,
    /// Its bytes: in the connection's `stage` while they fit there, else in the fabric's static buffer.
    used: usize,
    /// Is there a credit for it?
    credit: bool,
    /// The shape of the first piece, until it has been sent.
    first: u16,
    begun: bool,
    ended: bool,
    /// What only some messages need, so that the others are small and quick to move.
    more: Option<Box<More<'m>>>,
}

#[derive(Default)]
struct More<'m> {
    /// Pieces that the receiver will fetch at once.
    group: Vec<(PieceFormat, &'m [u8])>,
    /// From the first LATER piece on, everything waits for the end.
    deferred: Vec<(PieceFormat, Deferred<'m>)>,
    exposed: Vec<Key>,
}

enum Deferred<'m> {
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
        if let Some(blame) = with.poisoned.get() {
            return Err(self.accused(blame, "a message"));
        }
        if with.packing.replace(true) {
            return Err(Cause::Busy { peer: to, what: "a message being packed" }.into());
        }
        Ok(Outgoing {
            messenger: self,
            to,
            open: false,
            used: 0,
            credit: false,
            first: NONE,
            begun: false,
            ended: false,
            more: None,
        })
    }
}

impl<'c, 'm, F: Fabric> Outgoing<'c, 'm, F> {
    /// Adds a piece. The receiver unpacks one of the same length with the same two modes. Acts when called: await it.
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
        async move {
            match rest {
                None => Ok(()),
                Some(rest) => rest.await,
            }
        }
    }

    /// Ends the message: everything borrowed for it is free again when this is done. Acts when called: await it.
    ///
    /// # Errors
    /// As [`Outgoing::pack`].
    #[inline]
    pub fn end(mut self) -> impl Future<Output = Result<(), Error>> {
        let messenger = self.messenger;
        let now = if self.more.is_none() && self.take_credit() { self.post(FrameKind::Last) } else { Ok(false) };
        self.ended = now == Ok(true);
        let rest = match now {
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

    #[inline]
    fn take_credit(&mut self) -> bool {
        self.credit = self.credit || self.messenger.with(self.to).link.take_credit();
        self.credit
    }

    /// The short way: a piece that fits into the open frame.
    #[inline]
    fn pack_now<P: Piece<'m>>(&mut self, piece: &P, receive: Receive) -> bool {
        let bytes = match piece.bytes() {
            Bytes::Now(bytes) => bytes,
            Bytes::Lasting(bytes) if bytes.len() < self.messenger.rules.direct_at => bytes,
            Bytes::Lasting(_) | Bytes::AtEnd(_) => return false,
        };
        if self.more.is_some() {
            return false;
        }
        let shape = PieceFormat { mode: P::MODE, receive, bytes: bytes.len() };
        let fits = self.used + SHORT + LENGTH + bytes.len() <= self.messenger.buffer;
        if !fits || !self.take_credit() {
            return false;
        }
        self.put_shape(shape);
        self.put(bytes);
        true
    }

    /// Into the open frame: there is a credit and room.
    #[inline]
    fn put_shape(&mut self, shape: PieceFormat) {
        self.open = true;
        if self.begun {
            self.put(&shape.short().to_le_bytes());
        } else {
            (self.begun, self.first) = (true, shape.short());
        }
        if shape.is_long() {
            self.put(&(shape.bytes as u64).to_le_bytes());
        }
    }

    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        let (at, end) = (self.used, self.used + bytes.len());
        let stage = &self.messenger.with(self.to).stage;
        if end <= self.messenger.inline {
            stage.borrow_mut()[at..end].copy_from_slice(bytes);
        } else {
            self.messenger.fabric.write_with(self.messenger.address(self.to), |buffer| {
                if at <= self.messenger.inline {
                    buffer[..at].copy_from_slice(&stage.borrow()[..at]);
                }
                buffer[at..end].copy_from_slice(bytes);
            });
        }
        (self.open, self.used) = (true, end);
    }

    #[inline]
    fn post(&mut self, kind: FrameKind) -> Result<bool, Error> {
        let used = self.used;
        let sent = if used <= self.messenger.inline {
            self.messenger.post(self.to, kind, self.first, &self.messenger.with(self.to).stage.borrow()[..used])?
        } else {
            self.messenger.post_filled(self.to, kind, self.first, used)?
        };
        if sent {
            (self.open, self.used, self.credit, self.first) = (false, 0, false, 0);
            if kind == FrameKind::Last {
                count(&self.messenger.traffic.messages, 1);
            }
        }
        Ok(sent)
    }

    fn more(&mut self) -> &mut More<'m> {
        self.more.get_or_insert_default()
    }

    fn grouped(&self) -> usize {
        self.more.as_ref().map_or(0, |more| more.group.len())
    }

    #[cold]
    async fn pack_rest<P: Piece<'m>>(&mut self, piece: P, receive: Receive) -> Result<(), Error> {
        let bytes = piece.bytes();
        let length = match &bytes {
            Bytes::Now(bytes) | Bytes::Lasting(bytes) => bytes.len(),
            Bytes::AtEnd(cells) => cells.len(),
        };
        let shape = PieceFormat { mode: P::MODE, receive, bytes: length };
        if matches!(bytes, Bytes::AtEnd(_)) || self.more.as_ref().is_some_and(|more| !more.deferred.is_empty()) {
            self.more().deferred.push((
                shape,
                match bytes {
                    Bytes::Now(bytes) => Deferred::Copied(bytes.to_vec()),
                    Bytes::Lasting(bytes) => Deferred::Lasting(bytes),
                    Bytes::AtEnd(cells) => Deferred::Cells(cells),
                },
            ));
            return Ok(());
        }
        match bytes {
            Bytes::Now(bytes) => self.append(shape, bytes).await,
            Bytes::Lasting(bytes) => self.lasting(shape, bytes).await,
            Bytes::AtEnd(_) => Ok(()),
        }
    }

    /// A piece that may stay where it is.
    async fn lasting(&mut self, shape: PieceFormat, bytes: &'m [u8]) -> Result<(), Error> {
        let grouped = self.grouped() > 0 && shape.receive == Receive::Cheaper;
        if bytes.len() < self.messenger.rules.direct_at && !grouped || bytes.is_empty() {
            return self.append(shape, bytes).await;
        }
        if shape.receive == Receive::Express || self.grouped() == self.messenger.gather {
            self.offer_group(false).await?;
        }
        self.more().group.push((shape, bytes));
        if shape.receive == Receive::Express { self.offer_group(false).await } else { Ok(()) }
    }

    /// A piece as bytes of frames.
    async fn append(&mut self, shape: PieceFormat, mut bytes: &[u8]) -> Result<(), Error> {
        self.offer_group(false).await?;
        if self.used + SHORT + LENGTH > self.messenger.buffer {
            self.flush(FrameKind::Data).await?;
        }
        self.wait_for_credit().await?;
        self.put_shape(shape);
        while !bytes.is_empty() {
            if self.used == self.messenger.buffer {
                self.flush(FrameKind::Data).await?;
                self.wait_for_credit().await?;
            }
            let (now, later) = bytes.split_at(bytes.len().min(self.messenger.buffer - self.used));
            self.put(now);
            bytes = later;
        }
        Ok(())
    }

    /// The pieces of the group are offered, if there are any.
    async fn offer_group(&mut self, last: bool) -> Result<(), Error> {
        if self.grouped() == 0 {
            return Ok(());
        }
        if self.open {
            self.flush(FrameKind::Data).await?;
        }
        self.wait_for_credit().await?;
        let messenger = self.messenger;
        let (to, more) = (messenger.address(self.to), self.more());
        let pieces: Vec<&[u8]> = more.group.iter().map(|(_, bytes)| *bytes).collect();
        let key = messenger.fabric.expose(&pieces)?;
        more.exposed.push(key);
        messenger.exposed.set(messenger.exposed.get() + 1);
        let shapes = more.group.drain(..).map(|(shape, _)| shape);
        let len = messenger.fabric.write_with(to, |buffer| Offer::write(key, shapes, buffer));
        let post = || {
            let sent = messenger.post_filled(self.to, FrameKind::Offer, u16::from(last), len);
            sent.map(|sent| sent.then_some(())).transpose()
        };
        messenger.until("room for an offer", Waiting::Room(self.to), post).await?;
        (self.begun, self.credit, self.first) = (true, false, 0);
        Ok(())
    }

    async fn wait_for_credit(&mut self) -> Result<(), Error> {
        if self.take_credit() {
            return Ok(());
        }
        let (messenger, to) = (self.messenger, self.to);
        messenger.until("a credit", Waiting::To(to), || self.take_credit().then_some(Ok(()))).await
    }

    async fn flush(&mut self, kind: FrameKind) -> Result<(), Error> {
        self.wait_for_credit().await?;
        let (messenger, to) = (self.messenger, self.to);
        if self.post(kind)? {
            return Ok(());
        }
        messenger
            .until("room for a message", Waiting::Room(to), || self.post(kind).map(|sent| sent.then_some(())).transpose())
            .await
    }

    /// What was put off for LATER pieces goes now, in its order.
    async fn replay(&mut self) -> Result<(), Error> {
        for (shape, piece) in core::mem::take(&mut self.more().deferred) {
            match piece {
                Deferred::Copied(bytes) => self.append(shape, &bytes).await?,
                Deferred::Lasting(bytes) => self.lasting(shape, bytes).await?,
                Deferred::Cells(cells) => {
                    debug_assert!(shape.mode == Mode::Later);
                    let bytes: Vec<u8> = cells.iter().map(Cell::get).collect();
                    self.append(shape, &bytes).await?;
                }
            }
        }
        Ok(())
    }

    #[cold]
    async fn end_rest(mut self) -> Result<(), Error> {
        self.replay().await?;
        if self.grouped() == 0 {
            self.flush(FrameKind::Last).await?;
        } else {
            self.offer_group(true).await?;
            count(&self.messenger.traffic.messages, 1);
        }
        self.ended = true;
        let (messenger, offers) = (self.messenger, self.more().exposed.len() as u32);
        if offers == 0 {
            return Ok(());
        }
        let done = &messenger.with(self.to).done;
        let taken = || take(done, offers).map(Ok);
        messenger.until("its pieces to be fetched", Waiting::To(self.to), taken).await.inspect_err(|_| self.ended = false)
    }
}

impl<F: Fabric> Drop for Outgoing<'_, '_, F> {
    #[inline]
    fn drop(&mut self) {
        let messenger = self.messenger;
        let with = messenger.with(self.to);
        with.packing.set(false);
        if self.credit {
            with.link.untake_credit();
        }
        // Whoever finds the pieces gone looks behind them for why.
        if !self.ended {
            messenger.give_up(self.to);
        }
        if let Some(more) = &self.more {
            more.exposed.iter().for_each(|&key| messenger.fabric.unexpose(key));
            messenger.exposed.set(messenger.exposed.get() - more.exposed.len() as u32);
        }
    }
}
