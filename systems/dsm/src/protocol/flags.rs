//! The manager's state of flags: how many posts no thread has consumed, or which threads wait in the queue.
use super::{Homes, LockId, Message, garbled};
use foregather_machine::{Address, Error, Rank};
use std::collections::VecDeque;

/// The number of a flag. Flags and locks have separate numbers in the same range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlagId(pub u32);

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Flag {
    posted: u32,
    waiting: VecDeque<Address>,
}

/// All flags that one rank manages. They exist from the start, without posts.
#[derive(Clone, Debug)]
pub struct Flags {
    homes: Homes,
    me: Rank,
    count: u32,
    flags: Vec<Flag>,
}

impl Flags {
    /// Creates the flags with numbers below `count` that `me` manages.
    pub fn new(homes: Homes, me: Rank, count: u32) -> Self {
        Self { homes, me, count, flags: Vec::new() }
    }

    /// Takes a [`Message::Post`] or [`Message::Take`] from a thread of `from`, and sends the reply, if any.
    ///
    /// # Errors
    /// For a flag that is not managed here.
    pub fn step(&mut self, from: Rank, message: Message, send: &mut impl FnMut(Address, Message)) -> Result<(), Error> {
        match message {
            Message::Post { flag } => {
                let state = self.flag(from, flag)?;
                match state.waiting.pop_front() {
                    Some(first) => send(first, Message::Taken { flag }),
                    None => state.posted += 1,
                }
            }
            Message::Take { flag, lane } => {
                let (state, by) = (self.flag(from, flag)?, Address { rank: from, lane });
                if state.posted > 0 {
                    state.posted -= 1;
                    send(by, Message::Taken { flag });
                } else {
                    state.waiting.push_back(by);
                }
            }
            _ => return garbled(from, "what is no message to a manager of flags"),
        }
        Ok(())
    }

    /// Returns how many threads wait for a flag.
    pub fn waiting(&self, flag: FlagId) -> usize {
        self.flags.get(self.homes.place(flag.0)).map_or(0, |flag| flag.waiting.len())
    }

    fn flag(&mut self, from: Rank, FlagId(number): FlagId) -> Result<&mut Flag, Error> {
        if number >= self.count || self.homes.of_lock(LockId(number)) != self.me {
            return garbled(from, "the number of a flag that is not managed here");
        }
        let place = self.homes.place(number);
        if self.flags.len() <= place {
            self.flags.resize_with(place + 1, Flag::default);
        }
        Ok(&mut self.flags[place])
    }
}

impl std::hash::Hash for Flags {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.flags.hash(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_post_is_taken_once_and_by_who_waited_longest() {
        let mut flags = Flags::new(Homes::spread(2).unwrap(), 1, 4);
        let flag = FlagId(3);
        let mut step = |from, message| {
            let mut sent = Vec::new();
            flags.step(from, message, &mut |to: Address, message| sent.push((to.rank, to.lane, message))).map(|()| sent)
        };
        let (post, taken) = (Message::Post { flag }, Message::Taken { flag });
        assert_eq!(step(0, post).unwrap(), []);
        assert_eq!(step(1, Message::Take { flag, lane: 1 }).unwrap(), [(1, 1, taken)]);
        assert_eq!(step(1, Message::Take { flag, lane: 2 }).unwrap(), []);
        assert_eq!(step(0, Message::Take { flag, lane: 1 }).unwrap(), []);
        assert_eq!(step(1, post).unwrap(), [(1, 2, taken)]);
        assert_eq!(step(1, post).unwrap(), [(0, 1, taken)]);
        for stranger in [FlagId(0), FlagId(5)] {
            assert!(step(0, Message::Post { flag: stranger }).unwrap_err().to_string().contains("a flag that is not managed"));
        }
    }
}
