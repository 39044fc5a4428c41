//! Combines the values of all members in one fixed order, whichever way they travel.
//!
//! Along each dimension of the [`Cube`], the lowest first, the values of the lower end are combined with
//! those of the upper end. So [`reduce`](super::reduce) and [`allreduce`](super::allreduce) combine every
//! value in rank order and in the same brackets, for every root and every length: floats come out bit for bit
//! the same.
use super::cube::Cube;
use super::element::write_all;
use super::{Element, Tag, TaggedPort};
use core::ops::Range;
use foregather_machine::{Error, Port, Rank};

/// From this many bytes on, reductions halve the values instead of doubling the messages.
pub const REDUCE_LONG: usize = 2 << 10;
/// Below this many members halving gains nothing.
const MANY: u32 = 4;

/// One member's part in a reduction.
pub(super) struct Reduction<'v, P, T, F> {
    pub(super) link: TaggedPort<'v, P>,
    pub(super) cube: Cube,
    values: &'v mut [T],
    combine: F,
    /// The values that this member still works on.
    window: Range<usize>,
    /// Buffers of the bytes that go out, and that come in.
    given: Vec<u8>,
    taken: Vec<u8>,
}

impl<'v, P: Port, T: Element, F: Fn(T, T) -> T> Reduction<'v, P, T, F> {
    pub(super) fn new(port: &'v P, tag: Tag, values: &'v mut [T], combine: F) -> Self {
        let window = 0..values.len();
        Self {
            link: TaggedPort::new(port, tag),
            cube: Cube::of(port),
            values,
            combine,
            window,
            given: Vec::new(),
            taken: Vec::new(),
        }
    }

    pub(super) fn is_long(&self) -> bool {
        self.link.size() >= MANY && size_of_val(self.values) >= REDUCE_LONG
    }

    async fn give(&mut self, to: Rank, range: Range<usize>) -> Result<(), Error> {
        write_all(&self.values[range], &mut self.given);
        self.link.give(to, &self.given).await
    }

    /// Takes `take` values of `from`, and gives it the values `give` of ours at the same time, if any.
    async fn trade(&mut self, from: Rank, take: usize, give: Option<Range<usize>>) -> Result<(), Error> {
        self.taken.resize(take * T::BYTES, 0);
        let Some(give) = give else { return self.link.take(from, &mut self.taken).await };
        write_all(&self.values[give], &mut self.given);
        self.link.give_and_take((from, &self.given), (from, &mut self.taken)).await
    }

    /// Combines our values with those that were taken.
    fn merge(&mut self, range: Range<usize>, merge: impl Fn(&F, T, T) -> T) {
        let theirs = self.taken.chunks_exact(T::BYTES).map(T::read);
        self.values[range].iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine = merge(&self.combine, *mine, theirs));
    }

    pub(super) async fn give_all(&mut self, to: Rank) -> Result<(), Error> {
        self.give(to, 0..self.values.len()).await
    }

    pub(super) async fn replace_all(&mut self, from: Rank) -> Result<(), Error> {
        self.trade(from, self.values.len(), None).await?;
        self.merge(0..self.values.len(), |_, _, theirs| theirs);
        Ok(())
    }

    /// Combines our window with the one at the other end of that edge; gives it the values `give` of ours at
    /// the same time, if any.
    pub(super) async fn combine(&mut self, dimension: u32, give: Option<Range<usize>>) -> Result<(), Error> {
        let window = self.window.clone();
        self.trade(self.cube.across(dimension), window.len(), give).await?;
        if self.cube.is_upper(dimension) {
            self.merge(window, |combine, mine, theirs| combine(theirs, mine));
        } else {
            self.merge(window, |combine, mine, theirs| combine(mine, theirs));
        }
        Ok(())
    }

    pub(super) fn window(&self) -> Range<usize> {
        self.window.clone()
    }

    pub(super) async fn give_window(&mut self, dimension: u32) -> Result<(), Error> {
        self.give(self.cube.across(dimension), self.window.clone()).await
    }

    /// The surplus members hand in their values. Returns the member that acts for this one, if it is a
    /// surplus one.
    pub(super) async fn fold(&mut self) -> Result<Option<Rank>, Error> {
        let actor = self.cube.represented_by();
        if let Some(actor) = actor {
            self.give_all(actor).await?;
        } else if let Some(other) = self.cube.represents() {
            self.trade(other, self.window.len(), None).await?;
            self.merge(self.window.clone(), |combine, mine, theirs| combine(mine, theirs));
        }
        Ok(actor)
    }

    /// The halves of a window: ours and the other end's.
    fn halves(&self, window: &Range<usize>, dimension: u32) -> (Range<usize>, Range<usize>) {
        let middle = window.start.midpoint(window.end);
        let (lower, upper) = (window.start..middle, middle..window.end);
        if self.cube.is_upper(dimension) { (upper, lower) } else { (lower, upper) }
    }

    /// Recursive halving: along each dimension the two ends combine one half of the values each. Returns the
    /// windows of all steps, the whole one first.
    pub(super) async fn halve(&mut self) -> Result<Vec<Range<usize>>, Error> {
        let mut windows = Vec::new();
        for dimension in self.cube.dimensions() {
            let (ours, theirs) = self.halves(&self.window, dimension);
            windows.push(core::mem::replace(&mut self.window, ours));
            self.combine(dimension, Some(theirs)).await?;
        }
        Ok(windows)
    }

    /// Takes the half that the other end of that edge has combined, so that `window` is whole again; gives it
    /// ours at the same time if `give` is set.
    pub(super) async fn widen(&mut self, dimension: u32, window: Range<usize>, give: bool) -> Result<(), Error> {
        let (_, theirs) = self.halves(&window, dimension);
        let ours = core::mem::replace(&mut self.window, window);
        self.trade(self.cube.across(dimension), theirs.len(), give.then_some(ours)).await?;
        self.merge(theirs, |_, _, theirs| theirs);
        Ok(())
    }
}
