//! The manager's state of its minipages, and how it serves one request after another.
//!
//! A minipage is **busy** from the start of a request until the requester has acknowledged it. Every request
//! that could race with an install waits in its queue, so an invalidation never overtakes one.
use super::{Homes, Hosts, Message, Want, garbled, server_of};
use crate::{Access, Minipage};
use foregather_machine::{Address, Error, Rank, reached};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};

/// How the requests for one minipage were served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Read-only copies sent.
    pub reads: u32,
    /// Exclusive copies granted, including upgrades.
    pub writes: u32,
    /// Exclusive copies granted to ranks that already had a copy.
    pub upgrades: u32,
    /// Copies sent to ranks that did not request them.
    pub pushed: u32,
    /// Copies invalidated for other ranks, except the owner's, which is closed when its data is sent.
    pub invalidated: u32,
    /// Requests that had to queue because another rank's request was being served.
    pub competing: u32,
}

/// A minipage as its manager sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holding {
    /// The rank that is guaranteed to have the bytes.
    pub owner: Rank,
    /// The ranks that have a valid copy, including the owner.
    pub copies: Hosts,
    /// Whether it is freed.
    pub freed: bool,
    /// Whether a request is being served.
    pub busy: bool,
    /// How many requests wait in its queue.
    pub queued: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Request {
    want: Want,
    by: Address,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct DirectoryEntry {
    owner: Rank,
    copies: Hosts,
    freed: bool,
    serving: Option<Request>,
    /// The ranks whose acknowledgements are missing: closed copies for a write or free, opened ones for a
    /// push.
    awaited: Hosts,
    queue: VecDeque<Request>,
}

/// All minipages that one rank manages.
///
/// Initially the manager owns each of them: its bytes are the zeros of new memory, and no view is open
/// anywhere. So the first allocation of memory needs no message.
#[derive(Clone, Debug)]
pub struct Directory {
    homes: Homes,
    me: Rank,
    count: u32,
    entries: Vec<DirectoryEntry>,
    counts: Vec<Counts>,
}

/// The state that one call may change: an entry, with its counts.
struct MinipageQueue<'d, S> {
    minipage: Minipage,
    entry: &'d mut DirectoryEntry,
    counts: &'d mut Counts,
    home: Rank,
    send: S,
}

impl Directory {
    /// Creates the directory of the minipages with numbers below `count` that `me` manages.
    pub fn new(homes: Homes, me: Rank, count: u32) -> Self {
        Self { homes, me, count, entries: Vec::new(), counts: Vec::new() }
    }

    /// Takes a [`Message::Request`], [`Message::Invalidated`] or [`Message::Installed`] from `from`, and
    /// sends the resulting messages.
    ///
    /// # Errors
    /// For a minipage that is not managed here, or an unexpected reply.
    pub fn step(&mut self, from: Rank, message: Message, send: &mut impl FnMut(Address, Message)) -> Result<(), Error> {
        let ranks = Hosts::all(self.homes.hosts());
        match message {
            Message::Request { want: Want::Push(to), .. } if !to.without(ranks).is_empty() => {
                return garbled(from, "a push to ranks that are not there");
            }
            Message::Request { minipage, want, lane } => {
                self.desk(from, minipage, send)?.ask(Request { want, by: Address { rank: from, lane } });
            }
            Message::Invalidated { minipage } => self.desk(from, minipage, send)?.closed(from)?,
            Message::Installed { minipage } => self.desk(from, minipage, send)?.installed(from)?,
            _ => return garbled(from, "what is no message to a manager of minipages"),
        }
        Ok(())
    }

    /// Returns the state of a minipage that is managed here.
    pub fn holding(&self, minipage: Minipage) -> Holding {
        let entry = self.entries.get(self.homes.place(minipage.0));
        entry.map_or_else(|| DirectoryEntry::new(self.me).holding(), DirectoryEntry::holding)
    }

    /// Returns the minipages that were requested, with their counts.
    pub fn counts(&self) -> impl Iterator<Item = (Minipage, Counts)> {
        let id = |place| Minipage(self.homes.number(self.me, place));
        let asked = self.counts.iter().enumerate().filter(|(_, counts)| **counts != Counts::default());
        asked.map(move |(place, counts)| (id(place), *counts))
    }

    fn desk<S: FnMut(Address, Message)>(
        &mut self,
        from: Rank,
        minipage: Minipage,
        send: S,
    ) -> Result<MinipageQueue<'_, S>, Error> {
        if minipage.0 >= self.count || self.homes.of(minipage) != self.me {
            return garbled(from, "the number of a minipage that is not managed here");
        }
        let place = self.homes.place(minipage.0);
        if self.entries.len() <= place {
            self.entries.resize_with(place + 1, || DirectoryEntry::new(self.me));
            self.counts.resize_with(place + 1, Counts::default);
        }
        let (entry, counts) = (&mut self.entries[place], &mut self.counts[place]);
        Ok(MinipageQueue { minipage, entry, counts, home: self.me, send })
    }
}

/// Later steps do not depend on the counts, so states that differ only in them are equal.
impl Hash for Directory {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.entries.hash(state);
    }
}

impl DirectoryEntry {
    fn new(home: Rank) -> Self {
        let copies = Hosts::one(home);
        Self { owner: home, copies, freed: false, serving: None, awaited: Hosts::NONE, queue: VecDeque::new() }
    }

    fn holding(&self) -> Holding {
        let (busy, queued) = (self.serving.is_some(), self.queue.len());
        Holding { owner: self.owner, copies: self.copies, freed: self.freed, busy, queued }
    }
}

impl<S: FnMut(Address, Message)> MinipageQueue<'_, S> {
    fn ask(&mut self, request: Request) {
        let ahead = self.entry.serving.iter().chain(&self.entry.queue);
        if ahead.into_iter().any(|other| other.by.rank != request.by.rank) {
            self.counts.competing += 1;
        }
        self.entry.queue.push_back(request);
        self.next();
    }

    /// Serves waiting requests until the minipage is busy or none is left.
    fn next(&mut self) {
        while self.entry.serving.is_none() {
            let Some(request) = self.entry.queue.pop_front() else { return };
            self.start(request);
        }
    }

    fn start(&mut self, request @ Request { want, by }: Request) {
        let (minipage, entry) = (self.minipage, &mut *self.entry);
        let mine = entry.copies.contains(by.rank);
        match want {
            Want::Allocate => {
                if entry.freed {
                    let queue = std::mem::take(&mut entry.queue);
                    *entry = DirectoryEntry { queue, ..DirectoryEntry::new(self.home) };
                }
                (self.send)(by, Message::Done { minipage });
            }
            _ if entry.freed => {
                reached("pages:9");
                (self.send)(by, Message::Refused { minipage, access: want.access() });
            }
            Want::Read => {
                self.counts.reads += 1;
                entry.serving = Some(request);
                self.supply(Access::Read, by);
            }
            Want::Write => {
                self.counts.writes += 1;
                self.counts.upgrades += u32::from(mine);
                // An owner that has to send its bytes closes its own copy.
                let kept = Hosts::one(if mine { by.rank } else { entry.owner });
                let others = entry.copies.without(kept);
                self.close(request, others);
            }
            Want::Push(to) => {
                entry.awaited = to.without(entry.copies);
                if entry.awaited.is_empty() {
                    return (self.send)(by, Message::Done { minipage });
                }
                self.counts.pushed += entry.awaited.len();
                entry.serving = Some(request);
                (self.send)(server_of(entry.owner), Message::Spread { minipage, to: entry.awaited });
            }
            Want::Free => {
                let all = entry.copies;
                self.close(request, all);
            }
        }
    }

    fn close(&mut self, request: Request, copies: Hosts) {
        self.counts.invalidated += copies.len();
        self.entry.serving = Some(request);
        self.entry.awaited = copies;
        for rank in copies.iter() {
            (self.send)(server_of(rank), Message::Invalidate { minipage: self.minipage });
        }
        if copies.is_empty() {
            self.supply(Access::Write, request.by);
        }
    }

    fn supply(&mut self, access: Access, by: Address) {
        let minipage = self.minipage;
        if self.entry.copies.contains(by.rank) {
            (self.send)(by, Message::Grant { minipage, access });
        } else {
            (self.send)(server_of(self.entry.owner), Message::Forward { minipage, access, by });
        }
    }

    fn closed(&mut self, from: Rank) -> Result<(), Error> {
        let entry = &mut *self.entry;
        let Some(request @ Request { want: Want::Write | Want::Free, by }) =
            entry.serving.filter(|_| entry.awaited.contains(from))
        else {
            return garbled(from, "that it closed a copy which nobody asked it to close");
        };
        entry.awaited = entry.awaited.without(Hosts::one(from));
        if !entry.awaited.is_empty() {
            return Ok(());
        }
        if request.want == Want::Write {
            self.supply(Access::Write, by);
            return Ok(());
        }
        (entry.freed, entry.copies, entry.serving) = (true, Hosts::NONE, None);
        (self.send)(by, Message::Done { minipage: self.minipage });
        self.next();
        Ok(())
    }

    fn installed(&mut self, from: Rank) -> Result<(), Error> {
        let entry = &mut *self.entry;
        match entry.serving {
            Some(Request { want: Want::Read, by }) if by.rank == from => {
                entry.copies = entry.copies.and(Hosts::one(from));
            }
            Some(Request { want: Want::Write, by }) if by.rank == from && entry.awaited.is_empty() => {
                (entry.owner, entry.copies) = (from, Hosts::one(from));
            }
            Some(Request { want: Want::Push(_), by }) if entry.awaited.contains(from) => {
                entry.copies = entry.copies.and(Hosts::one(from));
                entry.awaited = entry.awaited.without(Hosts::one(from));
                if !entry.awaited.is_empty() {
                    return Ok(());
                }
                (self.send)(by, Message::Done { minipage: self.minipage });
            }
            _ => return garbled(from, "that it opened a copy which nobody sent it"),
        }
        entry.serving = None;
        self.next();
        Ok(())
    }
}

#[cfg(test)]
mod tests;
