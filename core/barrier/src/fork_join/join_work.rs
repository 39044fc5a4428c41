//! What members of a region do while they wait for its end.
use core::convert::Infallible;
use foregather_machine::{Cpu, Nanos, Rank};

/// Work that parts of a region leave behind: the region is over when all parts and all of it are done.
///
/// Members that have done their part take it while they wait. It counts as open
/// ([`ForkJoin::open_work`](crate::ForkJoin::open_work)) from before it can be found until it is done. It is
/// made by parts and by other work alone: once all parts are done and none is open, none will be. A change of
/// what a member looks for is followed by a ring of [`ForkJoin::bells`](crate::ForkJoin::bells).
pub trait JoinWork<C: Cpu> {
    /// A piece of it.
    type Item;

    /// Takes a piece that member `rank` may do now. `is_patient` leaves those that are not worth fetching.
    fn find(&self, cpu: &C, rank: Rank, is_patient: bool) -> Option<Self::Item>;

    /// Gives back a piece of a region that member `rank` has not begun (race T11).
    fn put_back(&self, cpu: &C, rank: Rank, item: Self::Item);

    /// How long a member sleeps before it takes any piece; twice as long after that, and so on. Forever until
    /// there is a piece that is not worth fetching, whose coming is followed by a ring.
    fn patience(&self) -> Nanos;

    /// Does a piece, and then those that `next` finds.
    fn run(&self, cpu: &C, rank: Rank, first: Self::Item, next: impl Fn() -> Option<Self::Item>) -> impl Future<Output = ()>;

    /// The calling worker is a member of no further region.
    fn leave(&self) {}
}

/// Regions of parts alone.
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

/// What a wait with work has found.
pub(super) enum Found<E, I> {
    /// What it waits for.
    Event(E),
    Work(I),
    /// No work, but another patience.
    Nothing,
}

/// What a wait has found that is for an event, or for work of `W`.
pub(super) type FoundOf<C, W, E> = Found<E, <W as JoinWork<C>>::Item>;

/// The longest sleep of a member that will take any piece.
const MOST_PATIENCE: Nanos = Nanos::from_ms(64);

/// The patience after a wait with that one that has found nothing.
pub(super) fn next_patience<C: Cpu>(patience: Nanos, work: &impl JoinWork<C>) -> Nanos {
    if patience == Nanos::MAX { work.patience() } else { (patience * 2).min(MOST_PATIENCE) }
}
