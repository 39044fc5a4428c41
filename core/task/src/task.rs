//! One task: whose child it is, what it comes after, and what comes after it.
use crate::depend::{Depend, Dependences};
use crate::group::TaskGroup;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use foregather_machine::{Rank, VALUE_MASK, Words, reached};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Adding this takes 1 away.
const ONE_LESS: u32 = VALUE_MASK;
/// No member.
const NOBODY: Rank = Rank::MAX;

/// The weight of a task that computes for as long as it takes to wake a member that sleeps.
pub const WAKE_WEIGHT: u32 = 64;

/// What a program says of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// Tasks of higher priority come first.
    pub priority: u32,
    /// Whether the task is undeferred: the member that creates it runs it, after waiting until it may. No
    /// other member finds it.
    pub undeferred: bool,
    /// Whether the task is detached: it is complete only when its event has been fulfilled, too.
    pub detached: bool,
}

/// A task: a member's part of a region, or one that the program has made, with its body.
pub struct TeamTask<C: Words, B> {
    /// The address of the task that has made it; 0: none has.
    maker: usize,
    /// How many tasks are around it.
    depth: u32,
    /// The member that has made it, and the one that does it.
    pub(crate) made_by: Rank,
    done_by: AtomicU32,
    /// What the program says of it.
    pub traits: Traits,
    /// What it is worth to another member.
    pub(crate) weight: u32,
    /// The innermost group that it is in.
    pub group: Option<Arc<TaskGroup<C>>>,
    /// Its children that are not complete.
    pub(crate) children: C::Word,
    /// The tasks that it still has to wait for, and 1 while it is made.
    before: C::Word,
    state: Mutex<TaskState<C, B>>,
}

/// The children of a task by what they use.
type Children<C, B> = Dependences<Arc<TeamTask<C, B>>>;

/// What changes with a task's life.
struct TaskState<C: Words, B> {
    body: Option<B>,
    /// `None` when this task is over.
    parent: Option<Arc<TeamTask<C, B>>>,
    /// Tasks that wait for this one.
    after: Vec<Arc<TeamTask<C, B>>>,
    /// Its children by what they use, once one uses something.
    children: Option<Box<Children<C, B>>>,
    /// What completes it besides: the end of its body, and its event.
    open_ends: u8,
    is_complete: bool,
}

/// What a task leaves behind when it is complete.
pub(crate) struct CompletedTask<C: Words, B> {
    pub(crate) parent: Option<Arc<TeamTask<C, B>>>,
    pub(crate) after: Vec<Arc<TeamTask<C, B>>>,
}

impl<C: Words, B> TeamTask<C, B> {
    /// A task of `parent`, made by the member that [does](TeamTask::begins) that; or a member's part of a
    /// region. It does not run until [`TeamTask::is_made`] was called.
    pub fn new(parent: Option<&Arc<Self>>, group: Option<Arc<TaskGroup<C>>>, traits: Traits) -> Self {
        let state = TaskState {
            body: None,
            parent: parent.cloned(),
            after: Vec::new(),
            children: None,
            open_ends: 1 + u8::from(traits.detached),
            is_complete: false,
        };
        Self {
            maker: parent.map_or(0, address),
            depth: parent.map_or(0, |parent| parent.depth + 1),
            made_by: parent.map_or(NOBODY, |parent| parent.done_by.load(Relaxed)),
            done_by: AtomicU32::new(NOBODY),
            traits,
            weight: WAKE_WEIGHT,
            group,
            children: C::Word::default(),
            before: C::Word::default(),
            state: Mutex::new(state),
        }
    }

    /// Gives the task a weight: how long its body computes, in 64ths of a wake-up, as far as is known. One of
    /// which nothing is known weighs [a whole one](WAKE_WEIGHT).
    pub fn of_weight(self, weight: u32) -> Self {
        Self { weight: weight.min(WAKE_WEIGHT), ..self }
    }

    /// Member `rank` does the task from now on, and is the one that waits for its children.
    pub fn begins(&self, rank: Rank) {
        self.done_by.store(rank, Relaxed);
    }

    pub(crate) fn is_done_by(&self, rank: Rank) -> bool {
        self.done_by.load(Relaxed) == rank
    }

    fn state(&self) -> MutexGuard<'_, TaskState<C, B>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `child`, its next one, comes after those of its children that name the same addresses.
    pub fn order(&self, cpu: &C, child: &Arc<Self>, uses: &[Depend]) {
        if uses.is_empty() {
            return cpu.store(&child.before, 1);
        }
        let first = self.state().children.get_or_insert_default().add(child, uses, |task| task.is_complete());
        // Before any of them can take its part away again.
        cpu.store(&child.before, 1 + first.len() as u32);
        for task in first {
            if !task.is_followed_by(child) {
                reached("task:2");
                child.one_less_before(cpu);
            }
        }
    }

    /// Notes that `next` waits for this task. `false` if it is complete already.
    fn is_followed_by(&self, next: &Arc<Self>) -> bool {
        let mut state = self.state();
        if !state.is_complete {
            state.after.push(Arc::clone(next));
        }
        !state.is_complete
    }

    /// Stores the body of the task. Returns whether the task may run now.
    pub fn is_made(&self, cpu: &C, body: Option<B>) -> bool {
        self.state().body = body;
        self.one_less_before(cpu)
    }

    /// Removes one obstacle: a predecessor is complete, or the task itself has its body. Returns whether it
    /// may run now.
    pub(crate) fn one_less_before(&self, cpu: &C) -> bool {
        cpu.fetch_add(&self.before, ONE_LESS) == 1
    }

    /// Returns whether this task waits for no other task.
    pub fn may_run(&self, cpu: &C) -> bool {
        cpu.load(&self.before) == 0
    }

    /// Member `rank` takes its body to do it.
    pub fn take_body(&self, rank: Rank) -> Option<B> {
        self.begins(rank);
        self.state().body.take()
    }

    /// Its body has ended, or its event was fulfilled. Returns what it leaves behind if it is complete now.
    pub(crate) fn end(&self) -> Option<CompletedTask<C, B>> {
        let mut state = self.state();
        // A second fulfilment of one event is the program's mistake; the task is complete once all the same.
        state.open_ends = state.open_ends.saturating_sub(1);
        if state.open_ends > 0 || state.is_complete {
            return None;
        }
        state.is_complete = true;
        let (children, after) = (state.children.take(), core::mem::take(&mut state.after));
        let left = CompletedTask { parent: state.parent.take(), after };
        drop(state);
        drop(children);
        Some(left)
    }

    /// All its children are complete.
    pub fn forget_children(&self) {
        let mut state = self.state();
        let children = state.children.take();
        drop(state);
        drop(children);
    }

    /// Returns whether the body has returned and the event, if there is one, has been fulfilled.
    pub fn is_complete(&self) -> bool {
        self.state().is_complete
    }

    /// Returns whether this task is a child of `other` or of a descendant of `other` that is not complete.
    pub(crate) fn descends_from(&self, other: &Arc<Self>) -> bool {
        if self.maker == address(other) {
            return true;
        }
        let mut next = if self.depth > other.depth { self.state().parent.clone() } else { None };
        while let Some(task) = next.filter(|task| task.depth > other.depth) {
            if task.maker == address(other) {
                return true;
            }
            next = task.state().parent.clone();
        }
        false
    }

    /// Returns whether all children of this task are complete.
    pub fn has_no_children(&self, cpu: &C) -> bool {
        cpu.load(&self.children) == 0
    }

    pub(crate) fn one_child_less(&self, cpu: &C) -> bool {
        decrement_is_zero(cpu, &self.children)
    }
}

/// Decrements a count. Returns whether it is now zero.
pub(crate) fn decrement_is_zero<C: Words>(cpu: &C, count: &C::Word) -> bool {
    cpu.fetch_add(count, ONE_LESS) == 1
}

fn address<T>(task: &Arc<T>) -> usize {
    Arc::as_ptr(task).addr()
}
