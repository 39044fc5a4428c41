//! A thread that follows its journal.
use super::sizes::Sizes;
use crate::journal::{Event, Journal, Operation};
use crate::node::{Node, Requester, Stats, WaitKind};
use crate::protocol::{FlagId, Hosts, LockId, Want};
use crate::{Access, Minipage};
use foregather_barrier::Algorithm as Barrier;
use foregather_machine::{Error, Fabric, Nanos};
use foregather_message::Messenger;

/// The only thread of a rank.
pub struct Player<'r, F: Fabric> {
    /// The state that it shares with its server.
    pub node: &'r Node<F::Cpu, Sizes>,
    /// Requests minipages.
    pub requester: Requester<F>,
    /// Carries the barriers' messages.
    pub messenger: &'r Messenger<F>,
    /// The barrier algorithm.
    pub barrier: Barrier,
    /// The maximum number of prefetches in flight; 0 omits prefetches.
    pub prefetches: u32,
    /// Whether it repeats the pushes.
    pub pushes: bool,
    /// How long it computes, in percent of the recorded time.
    pub pace_percent: u64,
}

/// How a thread's time was spent, from [`Operation::Start`] on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeSpent {
    /// The total time.
    pub span: Nanos,
    /// How long it would have computed on a processor of its own.
    pub computed: Nanos,
    /// What it waited for, including all costs of faults.
    pub waited: Stats,
    /// The number of prefetches and pushes that it requested.
    pub hints: u64,
    /// How long these took.
    pub hinted: Nanos,
}

impl<F: Fabric> Player<'_, F> {
    /// Replays the journal.
    ///
    /// # Errors
    /// If a rank is lost, or the journal belongs to another job.
    pub async fn run(&mut self, journal: &Journal) -> Result<TimeSpent, Error> {
        let mut played = TimeSpent::default();
        let mut began = self.requester.lane().now();
        for event in &journal.events {
            let computing = Nanos((event.computed().0 as u128 * u128::from(self.pace_percent) / 100) as u64);
            self.requester.lane().delay(computing).await;
            played.computed += computing;
            if event.what == Operation::Start {
                self.requester.forget();
                (played, began) = (TimeSpent::default(), self.requester.lane().now());
            }
            self.act(event, &mut played).await?;
        }
        played.span = self.requester.lane().now() - began;
        self.requester.detach(self.node).await?;
        Ok(played)
    }

    async fn act(&mut self, event: &Event, played: &mut TimeSpent) -> Result<(), Error> {
        let began = self.requester.lane().now();
        let kind = match event.what {
            Operation::Touch { minipage, access, .. } => self.touch(minipage, access).await?,
            Operation::Prefetch { minipage, access } if self.prefetches > 0 => {
                let asked = self.requester.prefetch(self.node, minipage, access, self.prefetches).await?;
                return self.hinted(u64::from(asked), began, played).await;
            }
            Operation::Push { minipage } if self.pushes => {
                let all = Want::Push(Hosts::all(self.node.homes().hosts()));
                self.requester.tell(self.node, minipage, all).await?;
                return self.hinted(1, began, played).await;
            }
            Operation::Lock(lock) => {
                self.requester.lock(self.node, LockId(lock)).await?;
                Some(WaitKind::Lock)
            }
            Operation::Unlock(lock) => {
                self.requester.unlock(self.node, LockId(lock), false).await?;
                None
            }
            Operation::Post(flag) => {
                self.requester.post(self.node, FlagId(flag)).await?;
                None
            }
            Operation::Wait(flag) => {
                self.requester.take(self.node, FlagId(flag)).await?;
                Some(WaitKind::Lock)
            }
            Operation::Barrier => {
                self.barrier.over(self.messenger).await?;
                Some(WaitKind::Barrier)
            }
            _ => None,
        };
        if let Some(kind) = kind {
            let span = self.paid(began).await;
            played.waited.add(kind, span);
        }
        Ok(())
    }

    /// Accesses a minipage; faults if the word grants less.
    async fn touch(&mut self, minipage: Minipage, access: Access) -> Result<Option<WaitKind>, Error> {
        if self.node.word(minipage).access() >= access {
            return Ok(None);
        }
        self.requester.lane().delay(self.node.copies().profile().before()).await;
        let before = *self.requester.stats();
        self.requester.need(self.node, minipage, access).await?;
        let after = self.requester.stats();
        Ok(WaitKind::ALL.into_iter().find(|&kind| after.count(kind) > before.count(kind)))
    }

    async fn hinted(&self, asked: u64, began: Nanos, played: &mut TimeSpent) -> Result<(), Error> {
        played.hints += asked;
        let span = self.paid(began).await;
        played.hinted += span;
        Ok(())
    }

    /// Returns the time since `began`, including outstanding costs.
    async fn paid(&self, began: Nanos) -> Nanos {
        let lane = self.requester.lane();
        lane.delay(Nanos::ZERO).await;
        lane.now() - began
    }
}
