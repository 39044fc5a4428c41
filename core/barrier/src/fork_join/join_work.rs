//! Work that members of a region do while they wait for its end.
use core::convert::Infallible;
use foregather_machine::{Cpu, Nanos, Rank};

/// Work that the parts of a region queue, such as tasks. The region is over when all its parts and all this
/// work are done.
///
/// Members that have done their part take pieces of work while they wait. A piece must count as open
/// ([`ForkJoin::open_work`](crate::ForkJoin::open_work)) from before it can be found until it is done. Only
/// parts and other work may create work: once all parts are done and no work is open, no more appears. After
/// any change that could let a waiting member find work, ring [`ForkJoin::bells`](crate::ForkJoin::bells).
pub trait JoinWork<C: Cpu> {
    /// A piece of work.
    type Item;

    /// Takes a piece that member `rank` may do now. With `is_patient`, pieces that are not worth fetching are
    /// left to the members that created them.
    fn find(&self, cpu: &C, rank: Rank, is_patient: bool) -> Option<Self::Item>;

    /// Puts back a piece that member `rank` has taken although it belongs to a later region (race T11).
    fn put_back(&self, cpu: &C, rank: Rank, item: Self::Item);

    /// Returns how long a member sleeps before it takes any piece, even one that is not worth fetching; after
    /// each further sleep without result, the time doubles. Returns [`Nanos::MAX`] until there is a piece
    /// that is not worth fetching; a ring announces the first one.
    fn patience(&self) -> Nanos;

    /// Runs a piece, and then those that `next` returns.
    fn run(&self, cpu: &C, rank: Rank, first: Self::Item, next: impl Fn() -> Option<Self::Item>) -> impl Future<Output = ()>;

    /// Called by a worker that will not take part in further regions.
    fn leave(&self) {}
}

/// No work: regions that consist of parts only.
#[derive(Clone, Copy, Debug)]
pub struct NoWork;

impl<C: Cpu> JoinWork<C> for NoWork {
    type Item = Infallible;

    #[inline]
    fn find(&self, _: &C, _: Rank, _: bool) -> Option<Infallible> {
        None
    }
    fn put_back(&self, _: &C, _: Rank, item: Infallible) {
        match item {}
    }
    #[inline]
    fn patience(&self) -> Nanos {
        Nanos::MAX
    }
    async fn run(&self, _: &C, _: Rank, first: Infallible, _: impl Fn() -> Option<Infallible>) {
        match first {}
    }
}

/// The result of a wait with work.
pub(super) enum Found<E, I> {
    /// The awaited event.
    Event(E),
    Work(I),
    /// No work, but the patience has changed.
    Nothing,
}

/// The result of a wait for an event or for work of `W`.
pub(super) type FoundOf<C, W, E> = Found<E, <W as JoinWork<C>>::Item>;

/// The maximum sleep of a member before it takes any piece.
const MOST_PATIENCE: Nanos = Nanos::from_ms(64);

/// Returns the next patience, after a wait with this `patience` that found nothing.
pub(super) fn next_patience<C: Cpu>(patience: Nanos, work: &impl JoinWork<C>) -> Nanos {
    if patience == Nanos::MAX { work.patience() } else { (patience * 2).min(MOST_PATIENCE) }
}
