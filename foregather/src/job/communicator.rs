//! The handle of a rank, for its body.
use super::call::{RankCall, call};
use super::link::{Link, over};
use super::verbs;
use bytemuck::{NoUninit, Pod, cast_slice, cast_slice_mut};
use core::time::Duration;
use foregather_machine::{Error, Member};
use foregather_message::collective::{Element, sum};

/// One rank of a job, as [`job`](crate::job) passes it to the body: messages to the others, and operations of
/// all ranks together.
///
/// ```
/// let sums = foregather::job(4, |me| {
///     if me.rank() == 0 {
///         me.send(1, &[1.5_f64, 2.5])?;
///     } else if me.rank() == 1 {
///         let numbers: Vec<f64> = me.receive_vec(0)?;
///         assert_eq!(numbers, [1.5, 2.5]);
///     }
///     me.barrier()?;
///     me.sum(u64::from(me.rank()))
/// })?;
/// assert_eq!(sums, [6; 4]);
/// # Ok::<(), foregather::Error>(())
/// ```
///
/// Every call waits until it is done, by the adaptive policy. Messages between two ranks arrive in the order
/// in which they were sent. Data is plain: numbers, arrays of them, and structures for which `Pod` of
/// [`engine::message::bytemuck`](crate::engine::message::bytemuck) says so; no references, and nothing with
/// padding. The ranks of a job may live on hosts of one kind only: bytes travel as they are.
///
/// **Together**: all ranks call [`barrier`](Self::barrier), [`sum`](Self::sum), [`reduce`](Self::reduce),
/// [`broadcast`](Self::broadcast) in the same order, with values of the same size.
///
/// # Timeouts
/// Every call has a form that gives up after a `timeout` with `Cause::TimedOut`, which names the call and
/// how long it lasted. [`receive_timeout`](Self::receive_timeout) and
/// [`receive_vec_timeout`](Self::receive_vec_timeout) take nothing then, and may be called again. Any
/// other call has taken part in something that cannot be undone: this rank gives up. Its own further
/// calls end with `Cause::Poisoned` by its rank, and so do those of all ranks that need it. A rank that
/// arrives late may still complete this one call, if this rank had sent all that it needs; its next call
/// fails. Return the error. A timeout of zero only looks.
///
/// # Errors
/// Every call can fail because of another rank: `Cause::Poisoned` names one that failed, `Cause::Closed` one
/// that has returned, `Cause::PeerLost` one whose process has died or stands still. `Cause::Deadlock` names
/// ranks that wait for each other. After an error messages to and from that rank may be lost: return it.
pub struct Communicator(pub(super) Link);

impl Communicator {
    /// Its number, from 0.
    ///
    /// ```
    /// assert_eq!(foregather::job(2, |me| Ok(me.rank()))?, [0, 1]);
    /// # Ok::<(), foregather::Error>(())
    /// ```
    #[must_use]
    pub fn rank(&self) -> u32 {
        over!(&self.0, messenger => messenger.rank())
    }

    /// The number of ranks: as many as a launcher has started, else as [`job`](crate::job) was asked for.
    ///
    /// ```
    /// assert_eq!(foregather::job(2, |me| Ok(me.size()))?, [2, 2]);
    /// # Ok::<(), foregather::Error>(())
    /// ```
    #[must_use]
    pub fn size(&self) -> u32 {
        over!(&self.0, messenger => messenger.size())
    }

    /// Sends elements to that rank, and returns when `data` may be changed: up to 64 KiB when it is copied,
    /// beyond when it was fetched. Ranks that all send first do not wait for each other: while they wait they
    /// take in, and keep, messages that have come for them (up to 1 GiB). So a rank may also send to itself.
    ///
    /// ```
    /// foregather::job(2, |me| {
    ///     if me.rank() == 0 { me.send(1, &[1_u32, 2, 3]) } else { me.receive(0, &mut [0_u32; 3]).map(drop) }
    /// })?;
    /// # Ok::<(), foregather::Error>(())
    /// ```
    ///
    /// A copy waits, too, while some 250 KiB are on their way to a rank that computes. A message up to 120
    /// bytes costs about half a round trip of a cache line between threads and processes of one host; a long
    /// one is copied once, by both sides at once if the sender waits.
    ///
    /// # Errors
    /// `Cause::Rank` if there is no such rank; `Cause::Deadlock` if it can only be received after this call,
    /// which is known within about a second; else as [`Communicator`] says.
    #[inline]
    pub fn send<T: NoUninit>(&self, to: u32, data: &[T]) -> Result<(), Error> {
        self.send_in(call!("send"), to, data)
    }

    /// [`send`](Self::send) that gives up after `timeout`. Then the message is lost, and this rank can only
    /// [return](Self#timeouts).
    ///
    /// # Errors
    /// `Cause::TimedOut`; else as [`send`](Self::send).
    pub fn send_timeout<T: NoUninit>(&self, to: u32, data: &[T], timeout: Duration) -> Result<(), Error> {
        self.send_in(call!("send").within(timeout), to, data)
    }

    #[inline]
    fn send_in<T: NoUninit>(&self, call: RankCall, to: u32, data: &[T]) -> Result<(), Error> {
        over!(&self.0, messenger => call.run(messenger, || verbs::send(messenger, to, cast_slice(data))))
    }

    /// Waits for the next message of that rank, and puts its elements into the beginning of `into`. Returns
    /// how many there were.
    ///
    /// ```
    /// let came = foregather::job(2, |me| {
    ///     let mut into = [0.0_f32; 8];
    ///     if me.rank() == 0 { me.send(1, &[0.5_f32; 5]).map(|()| 5) } else { me.receive(0, &mut into) }
    /// })?;
    /// assert_eq!(came, [5, 5]);
    /// # Ok::<(), foregather::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Cause::Length`, with both lengths in bytes, for a message that is longer than `into`, and
    /// `Cause::Elements` for one that is no whole number of elements: it is taken all the same, and the next
    /// one is right. `Cause::Rank`,
    /// `Cause::Deadlock` as for [`send`](Self::send); else as [`Communicator`] says.
    #[inline]
    pub fn receive<T: Pod>(&self, from: u32, into: &mut [T]) -> Result<usize, Error> {
        self.receive_in(call!("receive"), from, into)
    }

    /// [`receive`](Self::receive) that gives up after `timeout`. Nothing is lost: the next call receives the
    /// message.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let polls = foregather::job(2, |me| {
    ///     if me.rank() == 0 {
    ///         std::thread::sleep(Duration::from_millis(20));
    ///         return me.send(1, &[7_u32]).map(|()| 0);
    ///     }
    ///     for polls in 0.. {
    ///         match me.receive_timeout(0, &mut [0_u32], Duration::from_millis(1)) {
    ///             Ok(_) => return Ok(polls),
    ///             Err(error) if error.is_timed_out() => {} // do something else meanwhile
    ///             Err(error) => return Err(error),
    ///         }
    ///     }
    ///     Ok(0)
    /// })?;
    /// assert!(polls[1] > 0);
    /// # Ok::<(), foregather::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Cause::TimedOut`; else as [`receive`](Self::receive).
    pub fn receive_timeout<T: Pod>(&self, from: u32, into: &mut [T], timeout: Duration) -> Result<usize, Error> {
        self.receive_in(call!("receive").within(timeout), from, into)
    }

    #[inline]
    fn receive_in<T: Pod>(&self, call: RankCall, from: u32, into: &mut [T]) -> Result<usize, Error> {
        let into = cast_slice_mut(into);
        over!(&self.0, messenger => call.take(messenger, from, || verbs::receive(messenger, from, into, size_of::<T>())))
    }

    /// Receives a message of any length, into memory of its own.
    ///
    /// ```
    /// let got = foregather::job(2, |me| {
    ///     if me.rank() == 0 { me.send(1, &[[1, 2], [3, 4_i64]])?; }
    ///     if me.rank() == 1 { me.receive_vec::<[i64; 2]>(0) } else { Ok(vec![]) }
    /// })?;
    /// assert_eq!(got[1], [[1, 2], [3, 4]]);
    /// # Ok::<(), foregather::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Cause::Elements` if it is no whole number of elements, `Cause::Length` if there is no memory for it;
    /// else as [`receive`](Self::receive).
    pub fn receive_vec<T: Pod>(&self, from: u32) -> Result<Vec<T>, Error> {
        over!(&self.0, messenger => call!("receive_vec").take(messenger, from, || verbs::receive_vec(messenger, from)))
    }

    /// [`receive_vec`](Self::receive_vec) that gives up after `timeout`, as
    /// [`receive_timeout`](Self::receive_timeout) does.
    ///
    /// # Errors
    /// `Cause::TimedOut`; else as [`receive_vec`](Self::receive_vec).
    pub fn receive_vec_timeout<T: Pod>(&self, from: u32, timeout: Duration) -> Result<Vec<T>, Error> {
        let call = call!("receive_vec").within(timeout);
        over!(&self.0, messenger => call.take(messenger, from, || verbs::receive_vec(messenger, from)))
    }

    /// Sends `out` to that rank and receives its message into the beginning of `into`. Returns how many
    /// elements came. The other rank does the same. Neither keeps a copy of a long message, as ranks that
    /// both [`send`](Self::send) first do.
    ///
    /// ```
    /// let got = foregather::job(2, |me| {
    ///     let (out, mut into) = (vec![me.rank(); 100_000], vec![9; 100_000]);
    ///     me.exchange(1 - me.rank(), &out, &mut into)?;
    ///     Ok(into[99_999])
    /// })?;
    /// assert_eq!(got, [1, 0]);
    /// # Ok::<(), foregather::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`receive`](Self::receive): `out` has been sent all the same.
    pub fn exchange<T: Pod>(&self, peer: u32, out: &[T], into: &mut [T]) -> Result<usize, Error> {
        self.exchange_in(call!("exchange"), peer, out, into)
    }

    /// [`exchange`](Self::exchange) that gives up after `timeout`. Then this rank can only
    /// [return](Self#timeouts).
    ///
    /// # Errors
    /// `Cause::TimedOut`; else as [`exchange`](Self::exchange).
    pub fn exchange_timeout<T: Pod>(&self, peer: u32, out: &[T], into: &mut [T], timeout: Duration) -> Result<usize, Error> {
        self.exchange_in(call!("exchange").within(timeout), peer, out, into)
    }

    fn exchange_in<T: Pod>(&self, call: RankCall, peer: u32, out: &[T], into: &mut [T]) -> Result<usize, Error> {
        let (out, into) = (cast_slice(out), cast_slice_mut(into));
        over!(&self.0, messenger => {
            call.run(messenger, || verbs::exchange(messenger, messenger.rank(), peer, out, into, size_of::<T>()))
        })
    }

    /// Waits until all ranks are here, by `log2` of their number messages, one after the other.
    ///
    /// ```
    /// foregather::job(3, |me| me.barrier())?;
    /// # Ok::<(), foregather::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Communicator`] says.
    #[inline]
    pub fn barrier(&self) -> Result<(), Error> {
        over!(&self.0, messenger => call!("barrier" together).run(messenger, || verbs::barrier(messenger)))
    }

    /// [`barrier`](Self::barrier) that gives up after `timeout`. Then this rank can only
    /// [return](Self#timeouts).
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// let end = foregather::job(2, |me| {
    ///     if me.rank() == 1 {
    ///         std::thread::sleep(Duration::from_millis(50)); // too late
    ///     }
    ///     me.barrier_timeout(Duration::from_millis(10))
    /// });
    /// // `barrier`: rank 0 timed out after 10.06 ms waiting for rank 1; allow more time, or find what holds
    /// // rank 1 up
    /// assert!(end.unwrap_err().is_timed_out());
    /// ```
    ///
    /// # Errors
    /// `Cause::TimedOut`; else as [`barrier`](Self::barrier).
    pub fn barrier_timeout(&self, timeout: Duration) -> Result<(), Error> {
        let call = call!("barrier" together).within(timeout);
        over!(&self.0, messenger => call.run(messenger, || verbs::barrier(messenger)))
    }

    /// Combines the values of all ranks, in the order of ranks by a fixed tree: the same bits on every rank.
    ///
    /// ```
    /// let longest = foregather::job(3, |me| me.reduce(f64::from(me.rank()), f64::max))?;
    /// assert_eq!(longest, [2.0; 3]);
    /// # Ok::<(), foregather::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Cause::Mismatch` if ranks give values of different sizes; else as [`Communicator`] says.
    pub fn reduce<T: Element>(&self, value: T, combine: impl Fn(T, T) -> T) -> Result<T, Error> {
        self.reduce_in(call!("reduce" together), value, combine)
    }

    /// [`reduce`](Self::reduce) that gives up after `timeout`. Then this rank can only
    /// [return](Self#timeouts).
    ///
    /// # Errors
    /// `Cause::TimedOut`; else as [`reduce`](Self::reduce).
    pub fn reduce_timeout<T: Element>(&self, value: T, combine: impl Fn(T, T) -> T, timeout: Duration) -> Result<T, Error> {
        self.reduce_in(call!("reduce" together).within(timeout), value, combine)
    }

    /// The sum of all ranks' values: integers wrap, floats are added by the tree of [`reduce`](Self::reduce).
    ///
    /// ```
    /// assert_eq!(foregather::job(3, |me| me.sum(me.rank() + 1))?, [6; 3]);
    /// # Ok::<(), foregather::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`reduce`](Self::reduce).
    pub fn sum<T: Element>(&self, value: T) -> Result<T, Error> {
        self.reduce_in(call!("sum" together), value, sum)
    }

    /// [`sum`](Self::sum) that gives up after `timeout`. Then this rank can only [return](Self#timeouts).
    ///
    /// # Errors
    /// `Cause::TimedOut`; else as [`sum`](Self::sum).
    pub fn sum_timeout<T: Element>(&self, value: T, timeout: Duration) -> Result<T, Error> {
        self.reduce_in(call!("sum" together).within(timeout), value, sum)
    }

    fn reduce_in<T: Element>(&self, call: RankCall, value: T, combine: impl Fn(T, T) -> T) -> Result<T, Error> {
        over!(&self.0, messenger => call.run(messenger, || verbs::reduce(messenger, value, combine)))
    }

    /// Copies `root`'s `data` to all ranks, into `data` everywhere, of the same length.
    ///
    /// ```
    /// let got = foregather::job(3, |me| {
    ///     let mut data = [me.rank() * 10; 2];
    ///     me.broadcast(1, &mut data)?;
    ///     Ok(data)
    /// })?;
    /// assert_eq!(got, [[10, 10]; 3]);
    /// # Ok::<(), foregather::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Cause::Rank` if there is no such root, `Cause::Mismatch` if lengths differ; else as [`Communicator`]
    /// says.
    pub fn broadcast<T: Pod>(&self, root: u32, data: &mut [T]) -> Result<(), Error> {
        self.broadcast_in(call!("broadcast" together), root, data)
    }

    /// [`broadcast`](Self::broadcast) that gives up after `timeout`. Then this rank can only
    /// [return](Self#timeouts).
    ///
    /// # Errors
    /// `Cause::TimedOut`; else as [`broadcast`](Self::broadcast).
    pub fn broadcast_timeout<T: Pod>(&self, root: u32, data: &mut [T], timeout: Duration) -> Result<(), Error> {
        self.broadcast_in(call!("broadcast" together).within(timeout), root, data)
    }

    fn broadcast_in<T: Pod>(&self, call: RankCall, root: u32, data: &mut [T]) -> Result<(), Error> {
        over!(&self.0, messenger => call.run(messenger, || verbs::broadcast(messenger, root, cast_slice_mut(data))))
    }
}
