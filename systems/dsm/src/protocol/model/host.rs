//! One modelled host: the words, views and bytes of its minipages, its server, and its threads.
use super::super::{Action, Client, FlagId, LockId, Server, Word, server_of};
use super::Setup;
use crate::{Access, Minipage};
use foregather_machine::{Address, Rank};
use std::collections::VecDeque;

/// An operation of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Op {
    Read(Minipage),
    Write(Minipage),
    Prefetch(Minipage, Access),
    Push(Minipage),
    Free(Minipage),
    Lock(LockId),
    Take(FlagId),
}

impl Op {
    /// Returns the access of an operation that can fault.
    pub(super) fn need(self) -> Option<(Minipage, Access)> {
        match self {
            Self::Read(minipage) => Some((minipage, Access::Read)),
            Self::Write(minipage) => Some((minipage, Access::Write)),
            _ => None,
        }
    }
}

/// The state of a thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Doing {
    /// Running its own program.
    Idle,
    /// About to execute the instruction (again).
    Trying(Op),
    /// Asleep on the word.
    Asleep(Op),
    /// Waiting for the reply.
    Asked(Op),
    /// Performing the reply's actions; then the instruction again, if there is one.
    Settling(Todo, Option<Op>),
}

/// Actions to be performed, with the bytes that arrived with them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Todo {
    pub(super) actions: VecDeque<Action>,
    pub(super) fresh: bool,
}

impl Todo {
    pub(super) fn is_empty(&self) -> bool {
        self.actions.is_empty()
    }

    fn outdate(&mut self, minipage: Minipage) {
        self.fresh &= !self.actions.contains(&Action::Install { minipage });
    }
}

#[derive(Clone, Debug, Hash)]
pub(super) struct Thread {
    pub(super) client: Client,
    pub(super) doing: Doing,
    pub(super) held: Option<LockId>,
}

#[derive(Clone, Debug, Hash)]
struct Page {
    word: Word,
    view: Access,
    fresh: bool,
}

#[derive(Clone, Debug, Hash)]
pub(super) struct Host {
    pages: Vec<Page>,
    pub(super) server: Server,
    /// The actions that its server is performing.
    pub(super) todo: Todo,
    pub(super) threads: Vec<Thread>,
    /// Prefetches and pushes in flight.
    pub(super) prefetches: u32,
}

impl Host {
    pub(super) fn new(setup: &Setup, rank: Rank) -> Self {
        let homes = setup.homes;
        let page = |minipage| Page { word: Word::default(), view: Access::None, fresh: homes.of(Minipage(minipage)) == rank };
        let thread = |at| Thread { client: Client::new(lane_of(rank, at), homes), doing: Doing::Idle, held: None };
        Self {
            pages: (0..setup.minipages).map(page).collect(),
            server: Server::new(homes, rank, setup.minipages, setup.locks.max(setup.flags)),
            todo: Todo::default(),
            threads: (0..setup.threads as usize).map(thread).collect(),
            prefetches: 0,
        }
    }

    pub(super) fn word(&self, minipage: Minipage) -> Word {
        self.pages[minipage.0 as usize].word
    }

    pub(super) fn set_word(&mut self, minipage: Minipage, word: Word) {
        self.pages[minipage.0 as usize].word = word;
    }

    pub(super) fn view(&self, minipage: Minipage) -> Access {
        self.pages[minipage.0 as usize].view
    }

    pub(super) fn set_view(&mut self, minipage: Minipage, view: Access) {
        self.pages[minipage.0 as usize].view = view;
    }

    pub(super) fn is_fresh(&self, minipage: Minipage) -> bool {
        self.pages[minipage.0 as usize].fresh
    }

    pub(super) fn set_fresh(&mut self, minipage: Minipage, fresh: bool) {
        self.pages[minipage.0 as usize].fresh = fresh;
    }

    /// Forgets the bytes of a minipage that were sent away, or closed for a writer. Using them would be wrong
    /// even before the writer writes, so forgetting them leaves fewer states to distinguish. Does nothing for
    /// an injected mistake, which must be found by its effect.
    pub(super) fn forget(&mut self, setup: &Setup, minipage: Minipage) {
        if setup.fault.is_none() {
            self.set_fresh(minipage, false);
        }
    }

    /// Marks the bytes of that minipage as outdated: always those in transit to this host, and those in
    /// memory unless this host wrote them.
    pub(super) fn outdate(&mut self, minipage: Minipage, writer: bool) {
        self.set_fresh(minipage, writer);
        self.todo.outdate(minipage);
        for thread in &mut self.threads {
            if let Doing::Settling(todo, _) = &mut thread.doing {
                todo.outdate(minipage);
            }
        }
    }

    /// Makes threads that sleep on that word retry their instruction.
    pub(super) fn wake(&mut self, minipage: Minipage) {
        for thread in &mut self.threads {
            if let Doing::Asleep(op) = thread.doing
                && op.need().is_some_and(|(of, _)| of == minipage)
            {
                thread.doing = Doing::Trying(op);
            }
        }
    }
}

/// Returns the lane of thread `thread`, counted from 0.
pub(super) fn lane_of(rank: Rank, thread: usize) -> Address {
    Address { lane: thread as u32 + 1, ..server_of(rank) }
}
