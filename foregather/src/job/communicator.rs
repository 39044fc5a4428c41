//! The handle of a rank, which is passed to its body.
use super::call::{RankCall, call};
use super::link::{Link, over};
use super::recorded::{CallRecord, RecordedMessage, noting, through};
use super::verbs;
use bytemuck::{NoUninit, Pod, cast_slice, cast_slice_mut};
use core::time::Duration;
use foregather_machine::{Error, Member};
use foregather_message::collective::{Element, sum};

/// One rank of a job, which [`job`](crate::job) passes to the body. It sends messages to other ranks, and
/// makes collective calls.
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
/// Every call blocks until it is complete, with the adaptive policy. Messages between two ranks arrive in the
/// order in which they were sent. Data must be plain: numbers, arrays of numbers, and structures that
/// implement `Pod` of [`engine::message::bytemuck`](crate::engine::message::bytemuck), without references or
/// padding. All hosts of a job must have the same architecture, because bytes are sent unconverted.
///
/// **Collective calls:** all ranks must call [`barrier`](Self::barrier), [`sum`](Self::sum),
/// [`reduce`](Self::reduce) and [`broadcast`](Self::broadcast) in the same order, with values of the same
/// size.
///
/// # Timeouts
/// Every call has a variant that returns `Cause::TimedOut` after `timeout`, with the name of the call and how
/// long it took. After a timeout of [`receive_timeout`](Self::receive_timeout) or
/// [`receive_vec_timeout`](Self::receive_vec_timeout), nothing is lost: call again. No other call can be
/// repeated, because other ranks may already have received part of the data. The rank that timed out leaves
/// the job: all its later calls fail, and calls of ranks that depend on it fail with `Cause::Poisoned`, which
/// names its rank. A late rank may still complete the call that timed out, if it already has all the data;
/// its next call fails. Return the error from the body. A timeout of zero polls.
///
/// # Errors
/// Every call can fail because of another rank: `Cause::Poisoned` names a rank that failed, `Cause::Closed`
/// one that has returned, `Cause::PeerLost` one whose process has died or stopped responding.
/// `Cause::Deadlock` names ranks that wait for each other. After an error, messages to and from that rank may
/// be lost; return the error.
pub struct Communicator {
    pub(super) link: Link,
    pub(super) recorder: CallRecord,
}

impl Communicator {
    /// Returns the rank's number, from 0.
    ///
    /// ```
    /// assert_eq!(foregather::job(2, |me| Ok(me.rank()))?, [0, 1]);
    /// # Ok::<(), foregather::Error>(())
    /// ```
    #[must_use]
    pub fn rank(&self) -> u32 {
        over!(&self.link, messenger => messenger.rank())
    }

    /// Returns the number of ranks: those that the launcher has started or, without a launcher, the argument
    /// of [`job`](crate::job).
    ///
    /// ```
    /// assert_eq!(foregather::job(2, |me| Ok(me.size()))?, [2, 2]);
    /// # Ok::<(), foregather::Error>(())
    /// ```
    #[must_use]
    pub fn size(&self) -> u32 {
        over!(&self.link, messenger => messenger.size())
    }

    /// Sends elements to rank `to`, and returns when `data` may be reused: a message of up to 64 KiB as soon
    /// as it has been copied, a longer one when the receiver has fetched it. If all ranks send first, they do
    /// not block each other: while they wait, they accept and store messages that arrive for them (up to 1
    /// GiB). A rank may also send to itself.
    ///
    /// ```
    /// foregather::job(2, |me| {
    ///     if me.rank() == 0 { me.send(1, &[1_u32, 2, 3]) } else { me.receive(0, &mut [0_u32; 3]).map(drop) }
    /// })?;
    /// # Ok::<(), foregather::Error>(())
    /// ```
    ///
    /// A short message also waits while about 250 KiB are in flight to a rank that is computing. Between
    /// threads or processes of one host, a message of up to 120 bytes costs about half a round trip of a
    /// cache line. A long message is copied once; if the sender waits, both sides copy at once.
    ///
    /// # Errors
    /// `Cause::Rank` if there is no such rank; `Cause::Deadlock` if the message can only be received after
    /// this call, which is detected within about a second; otherwise as for [`Communicator`](Self#errors).
    #[inline]
    pub fn send<T: NoUninit>(&self, to: u32, data: &[T]) -> Result<(), Error> {
        self.send_in(call!("send"), to, data)
    }

    /// Sends like [`send`](Self::send), for at most `timeout`. After a timeout the message is lost, and this
    /// rank must [return](Self#timeouts).
    ///
    /// # Errors
    /// `Cause::TimedOut`; otherwise as for [`send`](Self::send).
    pub fn send_timeout<T: NoUninit>(&self, to: u32, data: &[T], timeout: Duration) -> Result<(), Error> {
        self.send_in(call!("send").within(timeout), to, data)
    }

    #[inline]
    fn send_in<T: NoUninit>(&self, call: RankCall, to: u32, data: &[T]) -> Result<(), Error> {
        let bytes: &[u8] = cast_slice(data);
        let send = || over!(&self.link, messenger => call.run(messenger, || verbs::send(messenger, to, bytes)));
        noting(&self.recorder, send, |()| RecordedMessage::Sent(to, bytes.len()))
    }

    /// Waits for the next message from rank `from`, and stores its elements at the beginning of `into`.
    /// Returns how many there were.
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
    /// `Cause::Length`, with both lengths in bytes, if the message is longer than `into`, and
    /// `Cause::Elements` if its length is not a multiple of the element size: in both cases the message is
    /// discarded, and the next call receives the next message. `Cause::Rank` and `Cause::Deadlock` as for
    /// [`send`](Self::send); otherwise as for [`Communicator`](Self#errors).
    #[inline]
    pub fn receive<T: Pod>(&self, from: u32, into: &mut [T]) -> Result<usize, Error> {
        self.receive_in(call!("receive"), from, into)
    }

    /// Receives like [`receive`](Self::receive), for at most `timeout`. After a timeout nothing is lost: the
    /// next call receives the message.
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
    /// `Cause::TimedOut`; otherwise as for [`receive`](Self::receive).
    pub fn receive_timeout<T: Pod>(&self, from: u32, into: &mut [T], timeout: Duration) -> Result<usize, Error> {
        self.receive_in(call!("receive").within(timeout), from, into)
    }

    #[inline]
    fn receive_in<T: Pod>(&self, call: RankCall, from: u32, into: &mut [T]) -> Result<usize, Error> {
        let into = cast_slice_mut(into);
        let receive = || over!(&self.link, messenger => call.take(messenger, from, || verbs::receive(messenger, from, into, size_of::<T>())));
        noting(&self.recorder, receive, |&elements| RecordedMessage::Received(from, elements * size_of::<T>()))
    }

    /// Receives a message of any length into a new vector.
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
    /// `Cause::Elements` if its length is not a multiple of the element size, `Cause::Length` if there is no
    /// memory for it; otherwise as for [`receive`](Self::receive).
    pub fn receive_vec<T: Pod>(&self, from: u32) -> Result<Vec<T>, Error> {
        self.receive_vec_in(call!("receive_vec"), from)
    }

    /// Receives like [`receive_vec`](Self::receive_vec), for at most `timeout`. After a timeout nothing is
    /// lost.
    ///
    /// # Errors
    /// `Cause::TimedOut`; otherwise as for [`receive_vec`](Self::receive_vec).
    pub fn receive_vec_timeout<T: Pod>(&self, from: u32, timeout: Duration) -> Result<Vec<T>, Error> {
        self.receive_vec_in(call!("receive_vec").within(timeout), from)
    }

    fn receive_vec_in<T: Pod>(&self, call: RankCall, from: u32) -> Result<Vec<T>, Error> {
        let receive = || over!(&self.link, messenger => call.take(messenger, from, || verbs::receive_vec(messenger, from)));
        noting(&self.recorder, receive, |all: &Vec<T>| RecordedMessage::Received(from, size_of_val(&all[..])))
    }

    /// Sends `out` to rank `peer`, and receives its message into the beginning of `into`. Returns the number
    /// of elements received. The other rank makes the same call. Unlike two ranks that both
    /// [`send`](Self::send) first, neither stores a copy of a long message.
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
    /// As for [`receive`](Self::receive); even then, `out` has been sent.
    pub fn exchange<T: Pod>(&self, peer: u32, out: &[T], into: &mut [T]) -> Result<usize, Error> {
        self.exchange_in(call!("exchange"), peer, out, into)
    }

    /// Exchanges like [`exchange`](Self::exchange), for at most `timeout`. After a timeout this rank must
    /// [return](Self#timeouts).
    ///
    /// # Errors
    /// `Cause::TimedOut`; otherwise as for [`exchange`](Self::exchange).
    pub fn exchange_timeout<T: Pod>(&self, peer: u32, out: &[T], into: &mut [T], timeout: Duration) -> Result<usize, Error> {
        self.exchange_in(call!("exchange").within(timeout), peer, out, into)
    }

    fn exchange_in<T: Pod>(&self, call: RankCall, peer: u32, out: &[T], into: &mut [T]) -> Result<usize, Error> {
        let (out, into): (&[u8], _) = (cast_slice(out), cast_slice_mut(into));
        let exchange = || {
            over!(&self.link, messenger => {
                call.run(messenger, || verbs::exchange(messenger, messenger.rank(), peer, out, into, size_of::<T>()))
            })
        };
        noting(&self.recorder, exchange, |&elements| RecordedMessage::Exchanged(peer, out.len(), elements * size_of::<T>()))
    }

    /// Waits until all ranks have arrived. Costs `log2(ranks)` messages per rank, one after another.
    ///
    /// ```
    /// foregather::job(3, |me| me.barrier())?;
    /// # Ok::<(), foregather::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Communicator`](Self#errors).
    #[inline]
    pub fn barrier(&self) -> Result<(), Error> {
        self.barrier_in(call!("barrier" together))
    }

    /// Waits like [`barrier`](Self::barrier), for at most `timeout`. After a timeout this rank must
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
    /// `Cause::TimedOut`; otherwise as for [`barrier`](Self::barrier).
    pub fn barrier_timeout(&self, timeout: Duration) -> Result<(), Error> {
        self.barrier_in(call!("barrier" together).within(timeout))
    }

    #[inline]
    fn barrier_in(&self, call: RankCall) -> Result<(), Error> {
        over!(&self.link, messenger => through!(&self.recorder, messenger, port => call.run(messenger, || verbs::barrier(port))))
    }

    /// Combines the values of all ranks in rank order, in a fixed tree. Every rank gets a result with the
    /// same bits.
    ///
    /// ```
    /// let longest = foregather::job(3, |me| me.reduce(f64::from(me.rank()), f64::max))?;
    /// assert_eq!(longest, [2.0; 3]);
    /// # Ok::<(), foregather::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Cause::Mismatch` if ranks pass values of different sizes; otherwise as for
    /// [`Communicator`](Self#errors).
    pub fn reduce<T: Element>(&self, value: T, combine: impl Fn(T, T) -> T) -> Result<T, Error> {
        self.reduce_in(call!("reduce" together), value, combine)
    }

    /// Reduces like [`reduce`](Self::reduce), for at most `timeout`. After a timeout this rank must
    /// [return](Self#timeouts).
    ///
    /// # Errors
    /// `Cause::TimedOut`; otherwise as for [`reduce`](Self::reduce).
    pub fn reduce_timeout<T: Element>(&self, value: T, combine: impl Fn(T, T) -> T, timeout: Duration) -> Result<T, Error> {
        self.reduce_in(call!("reduce" together).within(timeout), value, combine)
    }

    /// Returns the sum of all ranks' values. Integers wrap; floats are added in the tree of
    /// [`reduce`](Self::reduce).
    ///
    /// ```
    /// assert_eq!(foregather::job(3, |me| me.sum(me.rank() + 1))?, [6; 3]);
    /// # Ok::<(), foregather::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`reduce`](Self::reduce).
    pub fn sum<T: Element>(&self, value: T) -> Result<T, Error> {
        self.reduce_in(call!("sum" together), value, sum)
    }

    /// Adds like [`sum`](Self::sum), for at most `timeout`. After a timeout this rank must
    /// [return](Self#timeouts).
    ///
    /// # Errors
    /// `Cause::TimedOut`; otherwise as for [`sum`](Self::sum).
    pub fn sum_timeout<T: Element>(&self, value: T, timeout: Duration) -> Result<T, Error> {
        self.reduce_in(call!("sum" together).within(timeout), value, sum)
    }

    fn reduce_in<T: Element>(&self, call: RankCall, value: T, combine: impl Fn(T, T) -> T) -> Result<T, Error> {
        over!(&self.link, messenger => {
            through!(&self.recorder, messenger, port => call.run(messenger, || verbs::reduce(port, value, combine)))
        })
    }

    /// Copies the `data` of rank `root` into the `data` of all other ranks, which must have the same length.
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
    /// `Cause::Rank` if there is no such root, `Cause::Mismatch` if lengths differ; otherwise as for
    /// [`Communicator`](Self#errors).
    pub fn broadcast<T: Pod>(&self, root: u32, data: &mut [T]) -> Result<(), Error> {
        self.broadcast_in(call!("broadcast" together), root, data)
    }

    /// Broadcasts like [`broadcast`](Self::broadcast), for at most `timeout`. After a timeout this rank must
    /// [return](Self#timeouts).
    ///
    /// # Errors
    /// `Cause::TimedOut`; otherwise as for [`broadcast`](Self::broadcast).
    pub fn broadcast_timeout<T: Pod>(&self, root: u32, data: &mut [T], timeout: Duration) -> Result<(), Error> {
        self.broadcast_in(call!("broadcast" together).within(timeout), root, data)
    }

    fn broadcast_in<T: Pod>(&self, call: RankCall, root: u32, data: &mut [T]) -> Result<(), Error> {
        let bytes = cast_slice_mut(data);
        over!(&self.link, messenger => {
            through!(&self.recorder, messenger, port => call.run(messenger, || verbs::broadcast(port, root, bytes)))
        })
    }
}
