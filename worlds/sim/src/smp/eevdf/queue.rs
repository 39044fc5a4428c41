//! One processor's queue: earliest eligible virtual deadline first (Stoica & Abdel-Wahab 1995).
//!
//! A thread's lag is what it has had less than its fair share: the queue's average virtual time, by weight,
//! less its own. A thread whose lag is zero or more is eligible; of the eligible ones that with the earliest
//! deadline wins.
use super::weights::{Virtual, virtual_span};
use foregather_machine::{CpuId, Nanos};

/// Where the scheduler keeps a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueuePosition {
    /// It sleeps, or is over.
    Asleep,
    /// It is in its processor's queue; it may be running.
    Queued,
    /// It sleeps, but stays in the queue until its debt is paid: a thread that has had too much must not gain
    /// by a nap, nor must the others (`DELAY_DEQUEUE`).
    Dozing,
    /// It could run, but its group has used up its quota there.
    Stopped,
}

/// A thread as the scheduler sees it.
pub(super) struct Entity {
    pub(super) group: Option<u32>,
    /// The weight of its nice value.
    pub(super) own_weight: u64,
    /// Its own weight, divided among its group.
    pub(super) weight: u64,
    /// How much time it asks for at a time.
    pub(super) slice: Nanos,
    /// The virtual time it has had.
    pub(super) had: Virtual,
    /// By when it should have had its slice.
    pub(super) deadline: Virtual,
    /// Up to this moment no thread takes its processor from it.
    pub(super) protected: Virtual,
    /// Its lag when it left its queue.
    pub(super) lag: Virtual,
    /// What remained to its deadline, if it left in the middle of a slice.
    pub(super) rest: Option<Virtual>,
    pub(super) place: QueuePosition,
    /// The processor whose queue it is or was in.
    pub(super) cpu: CpuId,
    /// From this moment on its caches count as cold.
    pub(super) cold_from: Nanos,
}

impl Entity {
    pub(super) fn new(group: Option<u32>, weight: u64, slice: Nanos, cpu: CpuId) -> Self {
        Self {
            group,
            own_weight: weight,
            weight,
            slice,
            had: 0,
            deadline: 0,
            protected: 0,
            lag: 0,
            rest: None,
            place: QueuePosition::Asleep,
            cpu,
            cold_from: Nanos::ZERO,
        }
    }

    /// Requests the next slice if this one is used up. Returns whether it was.
    pub(super) fn renew(&mut self) -> bool {
        let over = self.had >= self.deadline;
        if over {
            self.deadline = self.had + virtual_span(self.slice, self.weight);
        }
        over
    }
}

/// The threads of one processor.
#[derive(Default)]
pub(super) struct Queue {
    /// Those that run, could run, or doze, in the order in which they came.
    pub(super) members: Vec<u32>,
    /// How many of them doze.
    pub(super) dozing: usize,
    /// Threads of groups that have used up their quota here.
    pub(super) stopped: Vec<u32>,
    /// Of the present thread's time, what `update` has accounted for before it was charged.
    pub(super) ahead: Nanos,
    /// A woken thread would run now, but waits for the next tick (`NEED_RESCHED_LAZY`).
    pub(super) put_off: bool,
    /// The sum of all members' weights.
    weight: Virtual,
    /// The sum of weight times virtual time.
    moment: Virtual,
    /// The average when the last member left.
    base: Virtual,
}

impl Queue {
    /// How many threads run or could.
    pub(super) fn runnable(&self) -> usize {
        self.members.len() - self.dozing
    }

    /// The average virtual time of the members, by weight: their fair share.
    pub(super) fn average(&self) -> Virtual {
        if self.weight == 0 { self.base } else { self.moment.div_euclid(self.weight) }
    }

    /// Returns whether it has had at most its share. This is exact, whatever the average is rounded to, so
    /// some member is always eligible.
    #[inline]
    pub(super) fn eligible(&self, entity: &Entity) -> bool {
        entity.had * self.weight <= self.moment
    }

    /// Gives a thread that is in no queue its place in virtual time. It comes back with the lag that it left
    /// with: adding it moves the average, so it must be put a little further out (`PLACE_LAG`).
    pub(super) fn place(&self, entity: &mut Entity) {
        let weight = Virtual::from(entity.weight);
        let lag = if self.weight == 0 { 0 } else { entity.lag * (self.weight + weight) / self.weight };
        entity.had = self.average() - lag;
        entity.deadline = entity.had + entity.rest.take().unwrap_or_else(|| virtual_span(entity.slice, entity.weight));
    }

    pub(super) fn add(&mut self, thread: u32, entity: &Entity) {
        self.members.push(thread);
        self.count(entity, 1);
    }

    /// Takes a thread out; its lag is kept, up to `most` of real time either way.
    pub(super) fn take(&mut self, thread: u32, entity: &mut Entity, most: Nanos) {
        let most = virtual_span(most, entity.weight);
        self.base = self.average();
        entity.lag = (self.base - entity.had).clamp(-most, most);
        self.members.retain(|&other| other != thread);
        self.count(entity, -1);
    }

    /// A member has had `by` more virtual time.
    #[inline]
    pub(super) fn advance(&mut self, entity: &mut Entity, by: Virtual) {
        entity.had += by;
        self.moment += Virtual::from(entity.weight) * by;
    }

    /// A member's weight changes. What it is owed in real time stays, and so does the average.
    pub(super) fn reweigh(&mut self, entity: &mut Entity, weight: u64) {
        let average = self.average();
        self.count(entity, -1);
        let scaled = |span: Virtual| span * Virtual::from(entity.weight) / Virtual::from(weight);
        let had = average - scaled(average - entity.had);
        entity.deadline = had + scaled(entity.deadline - entity.had);
        entity.protected = had + scaled(entity.protected - entity.had);
        (entity.had, entity.weight) = (had, weight);
        self.count(entity, 1);
    }

    fn count(&mut self, entity: &Entity, sign: Virtual) {
        self.weight += sign * Virtual::from(entity.weight);
        self.moment += sign * Virtual::from(entity.weight) * entity.had;
    }

    /// The thread that should run. The present one goes on while it is eligible and protected; ties go to the
    /// others.
    pub(super) fn pick(&self, entities: &[Entity], present: Option<u32>) -> Option<u32> {
        let eligible = |thread: &u32| self.eligible(&entities[*thread as usize]);
        let deadline = |thread: u32| entities[thread as usize].deadline;
        let present = present.filter(|&thread| entities[thread as usize].place == QueuePosition::Queued && eligible(&thread));
        if let Some(thread) = present.filter(|&thread| entities[thread as usize].had < entities[thread as usize].protected) {
            return Some(thread);
        }
        let others = self.members.iter().copied().filter(|&thread| Some(thread) != present);
        let best = others.filter(eligible).min_by_key(|&thread| deadline(thread));
        match (present, best) {
            (Some(present), Some(best)) if deadline(present) >= deadline(best) => Some(best),
            (present, best) => present.or(best),
        }
    }

    /// The sums are those of the members.
    #[cfg(debug_assertions)]
    pub(super) fn assert_consistent(&self, entities: &[Entity]) {
        let members = || self.members.iter().map(|&thread| &entities[thread as usize]);
        let weight = |entity: &Entity| Virtual::from(entity.weight);
        assert_eq!(self.weight, members().map(weight).sum::<Virtual>());
        assert_eq!(self.moment, members().map(|entity| weight(entity) * entity.had).sum::<Virtual>());
        assert_eq!(self.dozing, members().filter(|entity| entity.place == QueuePosition::Dozing).count());
        assert!(self.members.is_empty() || members().any(|entity| self.eligible(entity)), "somebody is always eligible");
    }
}

#[cfg(test)]
mod tests {
    use super::super::weights::{NICE_0, of_nice};
    use super::*;

    const SLICE: Nanos = Nanos::from_ms(3);

    fn queue(of: &[(i8, Virtual)]) -> (Queue, Vec<Entity>) {
        let mut queue = Queue::default();
        let entity = |&(nice, had): &(i8, Virtual)| {
            let mut entity = Entity::new(None, of_nice(nice), SLICE, 0);
            (entity.had, entity.deadline, entity.place) = (had, had + virtual_span(SLICE, entity.weight), QueuePosition::Queued);
            entity
        };
        let entities: Vec<_> = of.iter().map(entity).collect();
        for (thread, entity) in (0..).zip(&entities) {
            queue.add(thread, entity);
        }
        (queue, entities)
    }

    #[test]
    fn only_who_has_had_at_most_its_share_is_eligible() {
        let (queue, mut entities) = queue(&[(0, 100), (0, 200), (0, 600)]);
        assert_eq!(queue.average(), 300);
        assert_eq!([0, 1, 2].map(|t: usize| queue.eligible(&entities[t])), [true, true, false]);
        // An early deadline is of no use to a thread that has had too much.
        entities[2].deadline = 0;
        assert_eq!(queue.pick(&entities, None), Some(0));
        entities[1].deadline = entities[0].deadline - 1;
        assert_eq!(queue.pick(&entities, None), Some(1));
    }

    #[test]
    fn the_average_goes_by_weight() {
        let (queue, _) = queue(&[(0, 0), (10, 1134)]);
        assert_eq!(queue.average(), 110);
    }

    #[test]
    fn the_present_thread_goes_on_while_protected_and_eligible() {
        let (mut queue, mut entities) = queue(&[(0, 100), (0, 100)]);
        (entities[0].deadline, entities[0].protected) = (900, 101);
        assert_eq!(queue.pick(&entities, Some(0)), Some(0), "protected");
        entities[0].protected = 100;
        entities[1].deadline = 900;
        assert_eq!(queue.pick(&entities, Some(0)), Some(1), "ties go to others");
        entities[1].deadline = 901;
        assert_eq!(queue.pick(&entities, Some(0)), Some(0), "the earlier deadline");
        queue.advance(&mut entities[0], 1);
        entities[0].protected = 1_000;
        assert_eq!(queue.pick(&entities, Some(0)), Some(1), "it has had more than its share");
    }

    /// The lag that a thread leaves with is owed to it again, though it moves the average.
    #[test]
    fn a_thread_comes_back_with_the_lag_it_left_with() {
        let (mut queue, mut entities) = queue(&[(0, 10_000), (-5, 50_000), (3, 90_000)]);
        for (thread, owes) in [(0, false), (2, true)] {
            let before = queue.average() - entities[thread].had;
            queue.take(thread as u32, &mut entities[thread], SLICE);
            assert_eq!((entities[thread].lag, before < 0), (before, owes));
            queue.place(&mut entities[thread]);
            queue.add(thread as u32, &entities[thread]);
            assert!((queue.average() - entities[thread].had - before).abs() <= 2);
        }
        let mut entity = Entity::new(None, NICE_0, SLICE, 0);
        entity.had = -(1 << 60);
        queue.add(3, &entity);
        queue.take(3, &mut entity, SLICE);
        assert_eq!(entity.lag, virtual_span(SLICE, NICE_0), "lag is limited");
    }

    #[test]
    fn a_new_weight_leaves_the_average_where_it_was() {
        let (mut queue, mut entities) = queue(&[(0, 10_000), (0, 50_000)]);
        queue.reweigh(&mut entities[0], NICE_0 * 4);
        assert_eq!((queue.average(), entities[0].had), (30_000, 25_000));
        queue.reweigh(&mut entities[0], NICE_0);
        assert_eq!((queue.average(), entities[0].had), (30_000, 10_000));
    }
}
