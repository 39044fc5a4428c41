//! The manager's state of locks: a holder and a queue, first come, first served. If the holder of a lock
//! panicked, no thread can take the lock again, because the data that it guards may be half changed.
use super::{Homes, Message, garbled};
use foregather_machine::{Address, Error, Rank};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

/// The number of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockId(pub u32);

/// How often a lock was taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockCounts {
    /// In total.
    pub taken: u32,
    /// How often a thread had to wait for another holder.
    pub waited: u32,
}

#[derive(Clone, Debug, Default)]
struct LockQueue {
    holder: Option<Address>,
    waiting: VecDeque<Address>,
    /// The rank that panicked while holding the lock.
    panicked: Option<Rank>,
    counts: LockCounts,
}

/// All locks that one rank manages. They exist from the start, and are free.
#[derive(Clone, Debug)]
pub struct Locks {
    homes: Homes,
    me: Rank,
    count: u32,
    lines: Vec<LockQueue>,
}

impl Locks {
    /// Creates the locks with numbers below `count` that `me` manages.
    pub fn new(homes: Homes, me: Rank, count: u32) -> Self {
        Self { homes, me, count, lines: Vec::new() }
    }

    /// Takes a [`Message::Lock`] or [`Message::Unlock`] from a thread of `from`, and sends the replies.
    ///
    /// # Errors
    /// For a lock that is not managed here, or the release of one that the thread does not hold.
    pub fn step(&mut self, from: Rank, message: Message, send: &mut impl FnMut(Address, Message)) -> Result<(), Error> {
        match message {
            Message::Lock { lock, lane } => {
                let (line, by) = (self.line(from, lock)?, Address { rank: from, lane });
                match (line.holder, line.panicked) {
                    (_, Some(culprit)) => send(by, Message::Poisoned { lock, by: culprit }),
                    (None, _) => line.grant(lock, by, send),
                    (Some(holder), _) if holder == by => send(by, Message::Denied { lock }),
                    (Some(_), _) => {
                        line.counts.waited += 1;
                        line.waiting.push_back(by);
                    }
                }
            }
            Message::Unlock { lock, lane, panicked } => {
                let line = self.line(from, lock)?;
                if line.holder != Some(Address { rank: from, lane }) {
                    return garbled(from, "the release of a lock that its thread does not hold");
                }
                line.holder = None;
                if panicked {
                    line.panicked = Some(from);
                    line.waiting.drain(..).for_each(|waiter| send(waiter, Message::Poisoned { lock, by: from }));
                } else if let Some(next) = line.waiting.pop_front() {
                    line.grant(lock, next, send);
                }
            }
            _ => return garbled(from, "what is no message to a manager of locks"),
        }
        Ok(())
    }

    /// Returns the holder of a lock.
    pub fn holder(&self, lock: LockId) -> Option<Address> {
        self.lines.get(self.homes.place(lock.0)).and_then(|line| line.holder)
    }

    /// Returns how many threads wait for a lock.
    pub fn waiting(&self, lock: LockId) -> usize {
        self.lines.get(self.homes.place(lock.0)).map_or(0, |line| line.waiting.len())
    }

    /// Returns the locks that were taken, with their counts.
    pub fn counts(&self) -> impl Iterator<Item = (LockId, LockCounts)> {
        let id = |place| LockId(self.homes.number(self.me, place));
        self.lines.iter().enumerate().filter(|(_, line)| line.counts.taken > 0).map(move |(place, line)| (id(place), line.counts))
    }

    fn line(&mut self, from: Rank, lock: LockId) -> Result<&mut LockQueue, Error> {
        if lock.0 >= self.count || self.homes.of_lock(lock) != self.me {
            return garbled(from, "the number of a lock that is not managed here");
        }
        let place = self.homes.place(lock.0);
        if self.lines.len() <= place {
            self.lines.resize_with(place + 1, LockQueue::default);
        }
        Ok(&mut self.lines[place])
    }
}

impl LockQueue {
    fn grant(&mut self, lock: LockId, to: Address, send: &mut impl FnMut(Address, Message)) {
        self.holder = Some(to);
        self.counts.taken += 1;
        send(to, Message::Granted { lock });
    }
}

/// Later steps do not depend on the counts, so states that differ only in them are equal.
impl Hash for Locks {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.lines.iter().for_each(|line| (line.holder, &line.waiting, line.panicked).hash(state));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locks() -> Locks {
        Locks::new(Homes::spread(2).unwrap(), 1, 4)
    }

    fn step(locks: &mut Locks, from: Rank, message: Message) -> Result<Vec<(Rank, Message)>, Error> {
        let mut sent = Vec::new();
        locks.step(from, message, &mut |to: Address, message| sent.push((to.rank, message)))?;
        Ok(sent)
    }

    #[test]
    fn who_comes_first_is_served_first() {
        let mut locks = locks();
        let (lock, lane) = (LockId(3), 1);
        let (take, granted) = (Message::Lock { lock, lane }, Message::Granted { lock });
        let leave = Message::Unlock { lock, lane, panicked: false };
        assert_eq!(step(&mut locks, 1, take).unwrap(), [(1, granted)]);
        assert_eq!(step(&mut locks, 0, take).unwrap(), []);
        assert_eq!(step(&mut locks, 0, Message::Lock { lock, lane: 2 }).unwrap(), []);
        assert_eq!(step(&mut locks, 1, leave).unwrap(), [(0, granted)]);
        assert_eq!(locks.holder(lock), Some(Address { rank: 0, lane: 1 }));
        assert_eq!(
            (locks.waiting(lock), locks.counts().collect::<Vec<_>>()),
            (1, vec![(lock, LockCounts { taken: 2, waited: 2 })])
        );
    }

    #[test]
    fn no_thread_waits_for_itself_or_frees_what_another_holds() {
        let mut locks = locks();
        let (lock, lane) = (LockId(1), 1);
        step(&mut locks, 0, Message::Lock { lock, lane }).unwrap();
        assert_eq!(step(&mut locks, 0, Message::Lock { lock, lane }).unwrap(), [(0, Message::Denied { lock })]);
        assert!(
            step(&mut locks, 0, Message::Unlock { lock, lane: 2, panicked: false })
                .unwrap_err()
                .to_string()
                .contains("does not hold")
        );
        assert!(step(&mut locks, 0, Message::Lock { lock: LockId(0), lane }).is_err());
        assert!(step(&mut locks, 0, Message::Lock { lock: LockId(5), lane }).is_err());
    }

    #[test]
    fn a_lock_whose_holder_panicked_goes_to_nobody_and_says_who_it_was() {
        let mut locks = locks();
        let (lock, lane) = (LockId(3), 1);
        let (take, poisoned) = (Message::Lock { lock, lane }, Message::Poisoned { lock, by: 1 });
        step(&mut locks, 1, take).unwrap();
        step(&mut locks, 0, take).unwrap();
        step(&mut locks, 0, Message::Lock { lock, lane: 2 }).unwrap();
        assert_eq!(step(&mut locks, 1, Message::Unlock { lock, lane, panicked: true }).unwrap(), [(0, poisoned); 2]);
        assert_eq!((locks.holder(lock), locks.waiting(lock)), (None, 0));
        for rank in [0, 1] {
            assert_eq!(step(&mut locks, rank, take).unwrap(), [(rank, poisoned)]);
        }
        assert_eq!(
            step(&mut locks, 0, Message::Lock { lock: LockId(1), lane }).unwrap(),
            [(0, Message::Granted { lock: LockId(1) })]
        );
    }
}
