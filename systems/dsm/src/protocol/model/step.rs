//! The possible steps of a state, and the states after them.
//!
//! A step is one action that other hosts can observe, together with the actions that can be merged with it
//! ([`go_together`]) and the message that caused it. A message can stay in transit for any time, so taking it
//! without acting on it would add no state.
use super::super::{Action, Begin, Message, Reaction, SERVER, Want, server_of};
use super::Setup;
use super::fault::{Fault, disorder, serve};
use super::host::{Doing, Op, Todo, lane_of};
use super::state::{GlobalState, InTransit, Wrong};
use crate::protocol::{FlagId, Hosts, LockId};
use crate::{Access, Minipage};
use foregather_machine::{Address, Rank};

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transition {
    /// The server takes the next message from that lane.
    Take(Rank, Address),
    /// The server continues with its actions.
    Serve(Rank),
    /// The thread continues.
    Go(Rank, usize),
    /// The thread releases its lock.
    Leave(Rank, usize),
    /// The thread posts a flag for which a thread waits or is about to wait.
    Post(Rank, usize, FlagId),
    /// The thread starts an operation. This step is not available in a job that is ending.
    Start(Rank, usize, Op),
}

impl GlobalState {
    /// Returns all steps that may lead to another state.
    pub(super) fn steps(&self, setup: &Setup) -> Vec<Transition> {
        let mut steps = Vec::new();
        for (rank, host) in (0..).zip(&self.hosts) {
            if host.todo.is_empty() {
                steps.extend(self.senders(server_of(rank)).map(|from| Transition::Take(rank, from)));
            } else {
                steps.push(Transition::Serve(rank));
            }
            for (at, thread) in host.threads.iter().enumerate() {
                match &thread.doing {
                    Doing::Idle => {
                        steps.extend(thread.held.map(|_| Transition::Leave(rank, at)));
                        let due = |&flag: &FlagId| self.takers(flag) > self.posts[flag.0 as usize];
                        steps.extend((0..setup.flags).map(FlagId).filter(due).map(|flag| Transition::Post(rank, at, flag)));
                        self.starts(setup, rank, at, &mut |op| steps.push(Transition::Start(rank, at, op)));
                    }
                    Doing::Asleep(_) => {}
                    Doing::Asked(_) => steps.extend(self.senders(lane_of(rank, at)).next().map(|_| Transition::Go(rank, at))),
                    _ => steps.push(Transition::Go(rank, at)),
                }
            }
        }
        steps
    }

    /// Calls `start` with each operation that a thread may start. Reading through an open view changes
    /// nothing, and is checked in every state.
    fn starts(&self, setup: &Setup, rank: Rank, at: usize, start: &mut impl FnMut(Op)) {
        let (host, hints) = (self.host(rank), self.hints());
        for minipage in (0..setup.minipages).map(Minipage) {
            let (view, word) = (host.view(minipage), host.word(minipage));
            if view < Access::Read {
                start(Op::Read(minipage));
            }
            start(Op::Write(minipage));
            if hints >= setup.at_once {
                continue;
            }
            for need in [Access::Read, Access::Write] {
                if host.prefetches < setup.prefetches && matches!(word.begin(need, true), Begin::Go(_)) {
                    start(Op::Prefetch(minipage, need));
                }
            }
            if setup.push && view == Access::Write && (setup.prefetches == 0 || host.prefetches < setup.prefetches) {
                start(Op::Push(minipage));
            }
            if setup.free && view != Access::None {
                start(Op::Free(minipage));
            }
        }
        if host.threads[at].held.is_none() {
            (0..setup.locks).for_each(|lock| start(Op::Lock(LockId(lock))));
        }
        // A thread must be left that can post.
        let takers: u32 = (0..setup.flags).map(|flag| self.takers(FlagId(flag))).sum();
        if takers + 1 < setup.homes.hosts() * setup.threads {
            (0..setup.flags).for_each(|flag| start(Op::Take(FlagId(flag))));
        }
    }

    /// Returns the state after `step`.
    pub(super) fn after(&self, setup: &Setup, step: Transition) -> Result<Self, Wrong> {
        let mut state = self.clone();
        match step {
            Transition::Take(rank, from) => state.take_in(setup, rank, from)?,
            Transition::Serve(rank) => {
                let todo = std::mem::take(&mut state.host_mut(rank).todo);
                state.host_mut(rank).todo = state.perform(setup, server_of(rank), todo)?;
            }
            Transition::Go(rank, at) => state.go(setup, rank, at)?,
            Transition::Leave(rank, at) => {
                let thread = &mut state.host_mut(rank).threads[at];
                if let Some(lock) = thread.held.take() {
                    let message = thread.client.unlock(lock, false);
                    state.post(rank, at, message);
                }
            }
            Transition::Post(rank, at, flag) => {
                state.posts[flag.0 as usize] += 1;
                let message = state.host(rank).threads[at].client.post(flag);
                state.post(rank, at, message);
            }
            Transition::Start(rank, at, op) => state.start(setup, rank, at, op)?,
        }
        Ok(state)
    }

    fn take_in(&mut self, setup: &Setup, rank: Rank, from: Address) -> Result<(), Wrong> {
        let Some(packet) = self.take(from, server_of(rank)) else { return Ok(()) };
        let server = &mut self.host_mut(rank).server;
        let actions = serve(setup.fault, &setup.homes, rank, server, &packet).map_err(|error| error.to_string())?;
        self.first_come(&packet, &actions)?;
        let todo = Todo { actions: actions.into(), fresh: packet.fresh };
        self.host_mut(rank).todo = self.perform(setup, server_of(rank), todo)?;
        Ok(())
    }

    /// Performs the next action and those merged with it; returns what is left.
    fn perform(&mut self, setup: &Setup, at: Address, mut todo: Todo) -> Result<Todo, Wrong> {
        while let Some(action) = todo.actions.pop_front() {
            self.act(setup, at, action, todo.fresh)?;
            if todo.actions.front().is_some_and(|&next| !go_together(action, next)) {
                return Ok(todo);
            }
        }
        Ok(Todo::default())
    }

    fn post(&mut self, rank: Rank, at: usize, (to, message): (Address, Message)) {
        self.send(to, InTransit { from: lane_of(rank, at), message, fresh: true });
    }

    fn start(&mut self, setup: &Setup, rank: Rank, at: usize, op: Op) -> Result<(), Wrong> {
        let others = Hosts::all(setup.homes.hosts());
        let host = self.host_mut(rank);
        let client = &mut host.threads[at].client;
        let message = match op {
            Op::Read(_) | Op::Write(_) => return self.attempt(rank, at, op),
            Op::Push(minipage) if setup.prefetches > 0 => {
                host.prefetches += u32::from(setup.fault != Some(Fault::HintsUncounted));
                client.prefetch(minipage, Want::Push(others))
            }
            Op::Prefetch(minipage, need) => {
                let Begin::Go(word) = host.word(minipage).begin(need, true) else { return Ok(()) };
                let want = if need == Access::Write { Want::Write } else { Want::Read };
                let message = host.threads[at].client.prefetch(minipage, want);
                host.set_word(minipage, word);
                host.prefetches += 1;
                message
            }
            Op::Push(minipage) => client.ask(minipage, Want::Push(others)),
            Op::Free(minipage) => client.ask(minipage, Want::Free),
            Op::Lock(lock) => client.lock(lock),
            Op::Take(flag) => client.take(flag),
        };
        let waits = !matches!(message.1, Message::Request { lane: SERVER, .. });
        self.set(rank, at, if waits { Doing::Asked(op) } else { Doing::Idle });
        self.post(rank, at, message);
        Ok(())
    }

    fn set(&mut self, rank: Rank, at: usize, doing: Doing) {
        self.host_mut(rank).threads[at].doing = doing;
    }

    /// Executes the instruction, or faults.
    fn attempt(&mut self, rank: Rank, at: usize, op: Op) -> Result<(), Wrong> {
        let Some((minipage, need)) = op.need() else { return Ok(()) };
        if self.host(rank).view(minipage) < need {
            self.fault(rank, at, op);
            return Ok(());
        }
        if need == Access::Write {
            if !self.host(rank).is_fresh(minipage) {
                return Err(format!("lost update: host {rank} writes {minipage:?} on top of an outdated version"));
            }
            self.outdate(minipage, rank);
        }
        self.set(rank, at, Doing::Idle);
        Ok(())
    }

    /// Performs the only step of a thread in the middle of an operation.
    fn go(&mut self, setup: &Setup, rank: Rank, at: usize) -> Result<(), Wrong> {
        match self.host(rank).threads[at].doing.clone() {
            Doing::Trying(op) => self.attempt(rank, at, op)?,
            Doing::Asked(op) => self.hear(setup, rank, at, op)?,
            Doing::Settling(todo, then) => {
                let todo = self.perform(setup, lane_of(rank, at), todo)?;
                self.settling(rank, at, todo, then);
            }
            Doing::Idle | Doing::Asleep(_) => {}
        }
        Ok(())
    }

    /// Runs the fault handler up to its request. It reads the word at the time of the fault; a later read
    /// would be like a later fault.
    fn fault(&mut self, rank: Rank, at: usize, op: Op) {
        let Some((minipage, need)) = op.need() else { return };
        let host = self.host_mut(rank);
        match host.word(minipage).begin(need, false) {
            Begin::Already => self.set(rank, at, Doing::Trying(op)),
            Begin::Wait(word) => {
                host.set_word(minipage, word);
                self.set(rank, at, Doing::Asleep(op));
            }
            Begin::Go(word) => {
                host.set_word(minipage, word);
                let want = if need == Access::Write { Want::Write } else { Want::Read };
                let message = host.threads[at].client.ask(minipage, want);
                self.set(rank, at, Doing::Asked(op));
                self.post(rank, at, message);
            }
        }
    }

    /// Takes the reply.
    fn hear(&mut self, setup: &Setup, rank: Rank, at: usize, op: Op) -> Result<(), Wrong> {
        let here = lane_of(rank, at);
        let Some(packet) = self.senders(here).next().and_then(|from| self.peek(from, here)).copied() else { return Ok(()) };
        self.may_take(here, &packet.message)?;
        self.take(packet.from, here);
        let mut actions = Vec::new();
        let client = &mut self.host_mut(rank).threads[at].client;
        let answer = client.reply(packet.from.rank, &packet.message, &mut |action| actions.push(action));
        let answer = answer.map_err(|error| error.to_string())?;
        self.is_true(setup, rank, op, answer)?;
        disorder(setup.fault, &mut actions);
        let again = op.need().is_some() && answer == Reaction::Served;
        if let Op::Lock(lock) = op {
            self.host_mut(rank).threads[at].held = Some(lock);
        }
        if let Op::Take(FlagId(flag)) = op {
            self.posts[flag as usize] -= 1;
        }
        let todo = self.perform(setup, here, Todo { actions: actions.into(), fresh: packet.fresh })?;
        self.settling(rank, at, todo, again.then_some(op));
        Ok(())
    }

    fn settling(&mut self, rank: Rank, at: usize, todo: Todo, then: Option<Op>) {
        let doing = match then {
            _ if !todo.is_empty() => Doing::Settling(todo, then),
            Some(op) => Doing::Trying(op),
            None => Doing::Idle,
        };
        self.set(rank, at, doing);
    }
}

/// Returns whether two actions can be merged into one step, because any step between them could as well
/// happen before or after both. In this order only:
/// - no host observes when a message is sent, only when it is taken;
/// - a view that is closed or read-only does not change the bytes that are copied next;
/// - a closed view does not show the bytes that are written, so they may be written as late as it opens;
/// - a thread that finds the word pending while the view is already open sleeps and is woken, as if it had
///   not read the word.
fn go_together(action: Action, next: Action) -> bool {
    match (action, next) {
        (Action::Send { .. }, next) => matches!(next, Action::Send { .. }),
        (_, Action::Send { .. }) => true,
        (Action::Lower { .. } | Action::Copy { .. }, Action::Copy { .. }) => true,
        (Action::Install { .. }, Action::Open { .. }) => true,
        (Action::Open { .. }, Action::Publish { .. } | Action::Raise { .. }) => true,
        _ => false,
    }
}
