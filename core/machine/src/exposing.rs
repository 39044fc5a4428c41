//! Memory that peers may read, for as long as it is certain to be there: the one door to [`Fabric::expose`].
//!
//! A call exposes borrowed memory ([`exposing`]), as `std::thread::scope` lends to threads: no handle exists
//! whose `mem::forget` would end the borrow and not the exposure. A lane keeps the owned memory that it
//! exposes ([`Exposures`]).
use crate::{Error, Fabric, Key, Park};
use core::cell::RefCell;
use core::marker::PhantomData;
use core::mem;
use core::ops::Deref;

/// Pieces of memory that stay where they are, and are not written to, until they are unexposed: a world may
/// give their addresses to other processes. Only this module makes one, and it keeps that promise. A fabric
/// above another one hands it the pieces, and later the key to unexpose.
///
/// The promise relies on this: a future of [`Park::run_inline`] has ended when that returns. A fabric in
/// whose world it has not, so that a caller could forget it half way, copies the bytes in [`Fabric::expose`].
#[derive(Clone, Copy, Debug)]
pub struct LastingPieces<'a>(&'a [&'a [u8]]);

impl<'a> LastingPieces<'a> {
    /// The pieces, one after the other.
    pub const fn as_slices(self) -> &'a [&'a [u8]] {
        self.0
    }
}

/// What a lane lets its peers read within one call of [`exposing`]. `'env` is how long the memory lives:
/// longer than that call.
pub struct Exposing<'f, 'env, F: Fabric> {
    fabric: &'f F,
    keys: RefCell<Vec<Key>>,
    env: PhantomData<&'env mut &'env ()>,
}

/// Runs `body`, which may expose what it borrows from outside. However `body` ends, nothing of that is
/// exposed afterwards. Acts when called: await it.
pub fn exposing<'f, 'env: 'f, F: Fabric, T>(
    fabric: &'f F,
    body: impl AsyncFnOnce(&Exposing<'_, 'env, F>) -> T,
) -> impl Future<Output = T> {
    fabric.cpu().run_inline(async move {
        let exposing = Exposing { fabric, keys: RefCell::default(), env: PhantomData };
        body(&exposing).await
    })
}

impl<'env, F: Fabric> Exposing<'_, 'env, F> {
    /// Lets peers read these pieces, one after the other, until [`Exposing::unexpose`] or the end of the
    /// call.
    ///
    /// # Errors
    /// If the memory cannot be registered.
    pub fn expose(&self, pieces: &[&'env [u8]]) -> Result<Key, Error> {
        // The pieces live for `'env`, so longer than the future of `exposing`, which holds this value and
        // alone makes one. Where waits happen in place that future has ended before its caller goes on, and
        // its end, by a panic too, drops this value, which unexposes.
        let key = self.fabric.expose(LastingPieces(pieces))?;
        self.keys.borrow_mut().push(key);
        Ok(key)
    }

    /// Ends the exposure before the call does. Returns when no peer reads there any more.
    pub fn unexpose(&self, key: Key) {
        let place = self.keys.borrow().iter().position(|&exposed| exposed == key);
        if let Some(place) = place {
            self.keys.borrow_mut().swap_remove(place);
            self.fabric.unexpose(key);
        }
    }
}

impl<F: Fabric> Drop for Exposing<'_, '_, F> {
    fn drop(&mut self) {
        self.keys.take().into_iter().for_each(|key| self.fabric.unexpose(key));
    }
}

/// A lane, and memory of its own that it lets peers read.
pub struct Exposures<F: Fabric> {
    fabric: F,
    owned: RefCell<Vec<(Key, Vec<u8>)>>,
}

impl<F: Fabric> Exposures<F> {
    /// No memory exposed yet, by the lane `fabric`.
    pub const fn new(fabric: F) -> Self {
        Self { fabric, owned: RefCell::new(Vec::new()) }
    }

    /// Lets peers read all of this memory until [`Exposures::take_back`], or until this value is dropped.
    ///
    /// # Errors
    /// If the memory cannot be registered.
    pub fn expose_owned(&self, memory: Vec<u8>) -> Result<Key, Error> {
        // The bytes stay where they are until `take_back` or `drop` has unexposed them. If this value is
        // forgotten, they are never freed.
        let key = self.fabric.expose(LastingPieces(&[&memory]))?;
        self.owned.borrow_mut().push((key, memory));
        Ok(key)
    }

    /// Ends the exposure and returns the memory, once no peer reads it any more. `None`: it was taken back
    /// before.
    pub fn take_back(&self, key: Key) -> Option<Vec<u8>> {
        let place = self.owned.borrow().iter().position(|(exposed, _)| *exposed == key)?;
        let (key, memory) = self.owned.borrow_mut().swap_remove(place);
        self.fabric.unexpose(key);
        Some(memory)
    }
}

impl<F: Fabric> Deref for Exposures<F> {
    type Target = F;
    #[inline(always)]
    fn deref(&self) -> &F {
        &self.fabric
    }
}

impl<F: Fabric> Drop for Exposures<F> {
    fn drop(&mut self) {
        for (key, memory) in self.owned.take() {
            // If `unexpose` panics, the memory is not freed.
            let memory = mem::ManuallyDrop::new(memory);
            self.fabric.unexpose(key);
            drop(mem::ManuallyDrop::into_inner(memory));
        }
    }
}
