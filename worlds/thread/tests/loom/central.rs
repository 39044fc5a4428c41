//! Every interleaving of the central barrier's named races (`core/barrier/README.md`) on real words: tickets,
//! arrivals that outlast their wait, places that are vacated and claimed.
use foregather_barrier::{Algorithm, Arrival, BarrierMember, Central, Group, Transient};
use foregather_machine::{
    Cause, Clock, CounterOf, CpuId, Error, Nanos, Park, Placement, Rank, SharedLines, WaitContext, WordLine, Words, block_on,
};
use foregather_thread::{Scope::Private, Word};
use foregather_wait::{Policy, Roster, Waiter};
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU32, Ordering::AcqRel, Ordering::Relaxed};
use loom::thread;
use std::cell::RefCell;

/// A thread's processor in loom's world. Deadlines have always passed: the first check of a bounded wait
/// gives up.
#[derive(Clone, Copy, PartialEq)]
struct Looming(CpuId);

impl Clock for Looming {
    fn now(&self) -> Nanos {
        Nanos(1)
    }
    async fn delay(&self, _: Nanos) {}
}

impl Placement for Looming {
    fn place(&self) -> Option<CpuId> {
        Some(self.0)
    }
}

impl Words for Looming {
    type Word = Word;
    fn load(&self, word: &Word) -> u32 {
        word.load()
    }
    fn store(&self, word: &Word, value: u32) {
        word.store(value);
    }
    fn publish(&self, word: &Word, value: u32) {
        word.publish(value, Private);
    }
    fn fetch_add(&self, word: &Word, n: u32) -> u32 {
        word.fetch_add(n, Private)
    }
    fn add_last(&self, word: &Word, n: u32) {
        touch();
        word.add_last(n, Private);
        if *self == LATE {
            touch();
        }
    }
    fn compare_exchange(&self, word: &Word, expected: u32, new: u32) -> Result<u32, u32> {
        word.compare_exchange(expected, new, Private)
    }
    fn poison(&self, word: &Word) {
        word.poison(Private);
    }
    fn take_ticket(&self, counter: &CounterOf<Self>) -> u64 {
        counter.fetch_add(1, AcqRel)
    }
}

impl Park for Looming {
    fn spin_briefly<T>(&self, mut probe: impl FnMut() -> Option<T>) -> Option<T> {
        probe()
    }
    async fn spin_for<T>(&self, _: &Word, budget: Nanos, mut probe: impl FnMut() -> Option<T>) -> (Option<T>, Nanos) {
        thread::yield_now();
        (probe(), budget)
    }
    async fn yield_now(&self) {
        thread::yield_now();
    }
    fn prepare_park(&self, on: &Word) -> u32 {
        on.prepare_park()
    }
    async fn park(&self, on: &Word, prepared: u32, _: Nanos) {
        on.park(prepared, None, Private);
    }
    fn check(&self, on: &Word, context: &WaitContext) -> Result<(), Error> {
        if on.is_poisoned() {
            return Err(Cause::Poisoned { by: None }.into());
        }
        if context.deadline < Nanos::MAX { Err(Error::timed_out(context, Nanos(1))) } else { Ok(()) }
    }
}

const HERE: Looming = Looming(0);

/// A processor that touches a word after its last addition, as one does that clears the armed bit.
const LATE: Looming = Looming(1);

/// Memory that one thread gives away. Threads share it by Rust's own `Arc`, since loom's may not be dropped
/// when a model has failed.
struct Memory(UnsafeCell<()>);

// SAFETY: there is nothing in it; loom complains if one thread has it exclusively while another reads it.
unsafe impl Send for Memory {}
// SAFETY: references to it from several threads read nothing.
unsafe impl Sync for Memory {}

loom::thread_local! {
    /// The memory that this thread's words lie in.
    static MEMORY: RefCell<Option<std::sync::Arc<Memory>>> = RefCell::new(None);
}

/// Reads the memory, if this thread has any.
fn touch() {
    MEMORY.with(|memory| memory.borrow().as_ref().inspect(|memory| memory.0.with(|_| ())).is_some());
}

/// Every interleaving with at most two preemptions.
fn model(body: impl Fn() + Send + Sync + 'static) {
    let mut explorer = loom::model::Builder::new();
    explorer.preemption_bound = Some(2);
    explorer.check(body);
}

/// A thread with room for a member, whose account does not fit on loom's own stacks.
fn spawn<T: Send + 'static>(body: impl FnOnce() -> T + Send + 'static) -> thread::JoinHandle<T> {
    thread::Builder::new().stack_size(1 << 16).spawn(body).unwrap()
}

fn lines(count: usize) -> Arc<Vec<WordLine<Word>>> {
    Arc::new((0..count).map(|_| WordLine::default()).collect())
}

/// Two threads take turns at a barrier of one, so their meetings may end at once.
fn take_turns(release: fn(&Central<'_, Looming>, u64)) {
    fn turn(shared: &[WordLine<Word>], release: fn(&Central<'_, Looming>, u64)) -> u64 {
        let ticket = HERE.take_ticket(shared[0].counter());
        release(&Central::over(shared, 1), ticket);
        ticket
    }
    model(move || {
        let shared = lines(Central::<Looming>::LINES);
        let other = {
            let shared = shared.clone();
            thread::spawn(move || turn(&shared, release))
        };
        let meetings = [turn(&shared, release), other.join().unwrap()];
        let central = Central::<Looming>::over(&shared, 1);
        for meeting in meetings {
            assert!(central.released(&HERE, meeting).is_some(), "meeting {meeting} never ends");
        }
    });
}

#[test]
fn two_meetings_that_end_at_once_both_end() {
    take_turns(|central, _| {
        HERE.fetch_add(central.epoch(), 1);
    });
    // Again by the barrier's own text, with waiters.
    model(|| {
        let shared = lines(Central::<Looming>::LINES);
        let meet = |shared: &[WordLine<Word>]| {
            let central = Central::<Looming>::over(shared, 2);
            let Arrival { meeting, is_last } = central.arrive(&HERE);
            let released = || central.released(&HERE, meeting);
            let context = WaitContext::new("central", 0);
            assert!(is_last || block_on(Policy::Block.wait(&HERE, central.epoch(), context, released)).is_ok());
            is_last
        };
        let others: Vec<_> = (0..3)
            .map(|_| {
                let shared = shared.clone();
                thread::spawn(move || u32::from(meet(&shared)))
            })
            .collect();
        let lasts = u32::from(meet(&shared)) + others.into_iter().map(|other| other.join().unwrap()).sum::<u32>();
        assert_eq!(lasts, 2, "one leader each");
    });
}

/// The negative control: an epoch that is stored goes back when the earlier meeting's last member comes late.
#[test]
#[should_panic(expected = "never ends")]
fn an_epoch_that_is_stored_goes_back() {
    take_turns(|central, meeting| HERE.publish(central.epoch(), meeting as u32 + 1));
}

fn member(group: &Group<Looming>, rank: Rank) -> BarrierMember<Looming> {
    group.member(HERE, rank, Policy::Block).unwrap()
}

/// Rank 0 gives up at once and comes back; rank 1 waits. No member may leave a meeting to which the other has
/// not come.
fn give_up(come_back: fn(&mut BarrierMember<Looming>)) {
    model(move || {
        let group = Group::new(Algorithm::Central, 2).unwrap();
        let come = Arc::new(AtomicU32::new(0));
        let both: Vec<_> = [0, 1]
            .into_iter()
            .map(|rank| {
                let (group, come) = (group.clone(), come.clone());
                spawn(move || {
                    let mut member = member(&group, rank);
                    let mut together = true;
                    for meeting in 1..=2 {
                        come.fetch_add(1, Relaxed);
                        match rank {
                            0 => come_back(&mut member),
                            _ => block_on(member.wait()).unwrap(),
                        }
                        together &= come.load(Relaxed) >= 2 * meeting;
                    }
                    // Kept until both are through: a member that goes may poison the other's wait.
                    (together, member)
                })
            })
            .collect();
        let ends: Vec<_> = both.into_iter().map(|thread| thread.join().unwrap()).collect();
        let together = ends.iter().all(|(together, _)| *together);
        drop(ends);
        assert!(together, "released before all had come");
    });
}

#[test]
fn an_arrival_whose_time_is_over_counts_once() {
    give_up(|member| match block_on(member.wait_for(Nanos::ZERO)) {
        Ok(()) => {}
        Err(error) => {
            assert!(matches!(error.cause(), Cause::TimedOut { .. }), "{error}");
            block_on(member.wait()).unwrap();
        }
    });
}

/// The negative control: a member that arrives again when it comes back is counted twice.
#[test]
#[should_panic(expected = "released before all had come")]
fn an_arrival_that_is_made_again_releases_too_early() {
    model(|| {
        let shared = lines(Central::<Looming>::LINES);
        let come = Arc::new(AtomicU32::new(0));
        let other = {
            let (shared, come) = (shared.clone(), come.clone());
            thread::spawn(move || {
                come.fetch_add(1, Relaxed);
                Central::<Looming>::over(&shared, 2).arrive(&HERE);
            })
        };
        let central = Central::<Looming>::over(&shared, 2);
        come.fetch_add(1, Relaxed);
        let first = central.arrive(&HERE);
        let mut together = true;
        if !first.is_last && central.released(&HERE, first.meeting).is_none() {
            // The wait has timed out; the member comes back.
            let again = central.arrive(&HERE);
            if again.is_last || central.released(&HERE, again.meeting).is_some() {
                together = come.load(Relaxed) >= 2;
            }
        }
        other.join().unwrap();
        assert!(together, "released before all had come");
    });
}

/// One thread vacates a place and another claims it, and publishes where it is. Returns the words that all
/// see in the end.
fn hand_over(vacate: fn(Roster<'_, Looming>, &[WordLine<Word>])) {
    model(move || {
        let shared = lines(Roster::<Looming>::lines(1));
        let roster = Roster::<Looming>::new(&shared);
        assert!(roster.claim(&HERE, 0));
        roster.enroll(&HERE, 0);
        let next = {
            let shared = shared.clone();
            thread::spawn(move || {
                let roster = Roster::<Looming>::new(&shared);
                let claimed = roster.claim(&HERE, 0);
                if claimed {
                    roster.enroll(&Looming(7), 0);
                }
                claimed
            })
        };
        vacate(roster, &shared);
        if next.join().unwrap() {
            assert_eq!(roster.cpu_of(&HERE, 0), Some(7), "the new member's place was erased");
        } else {
            assert!(roster.claim(&HERE, 0), "a vacated place can be claimed");
        }
    });
}

#[test]
fn a_place_is_free_only_when_nothing_more_is_written_there() {
    hand_over(|roster, _| roster.vacate(&HERE, 0));
}

/// The negative control: a place that is freed first and cleared then.
#[test]
#[should_panic(expected = "was erased")]
fn a_place_that_is_freed_first_loses_its_next_member() {
    const AFFINITY: usize = 3;
    const PLACE: usize = 1;
    hand_over(|_, lines| {
        HERE.store(&lines[1][AFFINITY], 0);
        HERE.store(&lines[1][PLACE], 0);
    });
}

/// Rank 1 goes away as soon as it has met rank 0, which poisons the word on which rank 0 waits.
fn released_and_poisoned(wait: fn(&mut BarrierMember<Looming>, &SharedLines<Word>) -> Result<(), Error>) {
    model(move || {
        let lines = SharedLines::own(Group::<Looming>::lines(Algorithm::Central, 2));
        let group = Group::over(lines.clone(), Algorithm::Central, 2).unwrap();
        let goes = {
            let group = group.clone();
            spawn(move || block_on(member(&group, 1).wait()).is_ok())
        };
        let waits = spawn(move || {
            let mut member = member(&group, 0);
            (wait(&mut member, &lines).is_ok(), member)
        });
        let (gone, (met, member)) = (goes.join().unwrap(), waits.join().unwrap());
        drop(member);
        assert!(gone && met, "the meeting was complete");
    });
}

#[test]
fn a_member_that_goes_after_the_release_spoils_nothing() {
    released_and_poisoned(|member, _| block_on(member.wait()));
}

/// The negative control: a waiter that asks for poison and does not look once more.
#[test]
#[should_panic(expected = "the meeting was complete")]
fn a_waiter_without_a_last_look_fails_in_vain() {
    released_and_poisoned(|member, lines| {
        let epoch = &lines[0][0];
        // Arrives, and gives up at once.
        if block_on(member.wait_for(Nanos::ZERO)).is_ok() {
            return Ok(());
        }
        loop {
            let prepared = HERE.prepare_park(epoch);
            let come = HERE.load(epoch) != 0;
            HERE.check(epoch, &WaitContext::new("no last look", 0))?;
            if come {
                return Ok(());
            }
            block_on(HERE.park(epoch, prepared, Nanos::MAX));
        }
    });
}

/// Two threads meet, and one of them destroys the barrier as soon as it is back.
fn destroy(cpu: Looming) {
    fn meet(cpu: Looming, shared: &[WordLine<Word>], memory: &std::sync::Arc<Memory>, destroys: bool) {
        MEMORY.with(|mine| *mine.borrow_mut() = Some(memory.clone()));
        let barrier = Transient::over(Central::of(&shared[0][0], shared[0].counter(), 2), &shared[0][1]);
        block_on(barrier.meet(&cpu, &Waiter::new(Policy::Block, 0))).unwrap();
        if destroys {
            block_on(barrier.dissolve(&cpu, 2)).unwrap();
            memory.0.with_mut(|_| ());
        }
    }
    model(move || {
        let (shared, memory) = (lines(1), std::sync::Arc::new(Memory(UnsafeCell::new(()))));
        let other = {
            let (shared, memory) = (shared.clone(), memory.clone());
            spawn(move || meet(cpu, &shared, &memory, true))
        };
        let third = {
            let (shared, memory) = (shared.clone(), memory.clone());
            spawn(move || meet(cpu, &shared, &memory, false))
        };
        other.join().unwrap();
        third.join().unwrap();
    });
}

#[test]
fn a_barrier_is_destroyed_by_the_first_that_is_back() {
    destroy(HERE);
}

/// The negative control of race 15.
#[test]
#[should_panic(expected = "oncurrent")]
fn a_late_touch_is_found() {
    destroy(LATE);
}
