//! The yardsticks on the bare fabric: frames, and memory that is read, without messengers and without any
//! policy but to spin.
use foregather_host::pause::pause;
use foregather_machine::{Address, Error, Fabric, Key, Nanos, Park, WaitContext, block_on, exposing};

/// Looks between two checks whether a wait may go on.
const LOOKS: u32 = 1_024;

/// A rank's lane.
pub(crate) struct Bare<F> {
    pub(crate) lane: F,
    why: WaitContext,
}

impl<F: Fabric> Bare<F> {
    /// No wait lasts longer than `until`.
    pub(crate) fn new(lane: F, until: Nanos) -> Self {
        let rank = lane.here().rank;
        Self { why: WaitContext::new("measuring frames", rank).of(1 - rank).until(until), lane }
    }

    fn rank(&self) -> u32 {
        self.lane.here().rank
    }

    fn peer(&self) -> Address {
        let here = self.lane.here();
        Address { rank: 1 - here.rank, lane: here.lane }
    }

    /// A bounded wait that spins.
    #[inline]
    fn until<T>(&self, mut probe: impl FnMut() -> Result<Option<T>, Error>) -> Result<T, Error> {
        loop {
            for _ in 0..LOOKS {
                if let Some(found) = probe()? {
                    return Ok(found);
                }
                pause();
            }
            self.lane.cpu().check(self.lane.bell(), &self.why)?;
        }
    }

    /// One frame, of which `copy` says whether its bytes are rewritten.
    #[inline]
    pub(crate) fn post(&self, bytes: &[u8], copy: bool) -> Result<(), Error> {
        let to = self.peer();
        if bytes.len() <= self.lane.limits().inline {
            return self.until(|| Ok(self.lane.post(to, 0, bytes)?.then_some(())));
        }
        if copy {
            self.lane.write_with(to, |buffer| buffer[..bytes.len()].copy_from_slice(bytes));
        }
        self.until(|| Ok(self.lane.post_filled(to, 0, bytes.len())?.then_some(())))
    }

    /// One frame, of which the first byte is read or, with `copy`, all that `into` holds.
    #[inline]
    pub(crate) fn take(&self, into: &mut [u8], copy: bool, help: bool) -> Result<(), Error> {
        let from = self.until(|| {
            let come = self.lane.arrived(None);
            if help && come.is_none() {
                self.lane.progress();
            }
            Ok(come)
        })?;
        self.lane.peek(from, |_, bytes| {
            let len = bytes.len().min(into.len());
            if copy {
                into[..len].copy_from_slice(&bytes[..len]);
            } else if let (Some(to), Some(first)) = (into.first_mut(), bytes.first()) {
                *to = *first;
            }
        });
        self.lane.release(from);
        Ok(())
    }

    /// To and fro.
    pub(super) fn frames(&self, rounds: u32, from: &[u8], into: &mut [u8], copy: bool) -> Result<(), Error> {
        for turn in 0..2 * rounds {
            if turn % 2 == self.rank() { self.post(from, copy)? } else { self.take(into, copy, false)? }
        }
        Ok(())
    }

    /// One way, a frame back for each half of the credits, and one when all have come.
    pub(super) fn many_frames(&self, rounds: u32, from: &[u8], into: &mut [u8], copy: bool) -> Result<(), Error> {
        let half = (self.lane.limits().credits / 2).max(1);
        let (halves, mut returned) = (rounds / half, 0);
        if self.rank() == 1 {
            for round in 1..=rounds {
                self.take(into, copy, false)?;
                if round % half == 0 {
                    self.post(&[], true)?;
                }
            }
            return self.post(&[], true);
        }
        for round in 0..rounds {
            if round % half == 0 && round / half > returned + 1 {
                self.take(&mut [], true, false)?;
                returned += 1;
            }
            self.post(from, copy)?;
        }
        (returned..=halves).try_for_each(|_| self.take(&mut [], true, false))
    }

    /// Announced, read and answered, to and fro.
    pub(super) fn reads(&self, rounds: u32, from: &[u8], into: &mut [u8], help: bool) -> Result<(), Error> {
        block_on(exposing(&self.lane, async |lent| {
            let key = lent.expose(&[from])?;
            for turn in 0..2 * rounds {
                if turn % 2 == self.rank() {
                    self.post(&key.0.to_le_bytes(), true)?;
                    self.take(&mut [], true, help)?;
                } else {
                    let mut key = [0; 8];
                    self.take(&mut key, true, false)?;
                    block_on(self.lane.get(self.peer(), Key(u64::from_le_bytes(key)), &mut [&mut *into]))?;
                    self.post(&[], true)?;
                }
            }
            Ok(())
        }))
    }
}
