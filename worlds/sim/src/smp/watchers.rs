//! The threads that watch a word: a list through the threads, in the order in which they began to wait.
use super::machine::{Machine, NOBODY};
use crate::word::SimWord;

impl Machine {
    /// Queues the thread up at the end of the word's watchers.
    pub(super) fn watch(&mut self, word: &SimWord, thread: u32) {
        let last = word.last_watcher.replace(thread);
        self.threads[thread as usize].previous_watcher = last;
        if last == NOBODY {
            word.first_watcher.set(thread);
        } else {
            self.threads[last as usize].next_watcher = thread;
        }
    }

    /// Takes the thread out of the word's watchers, if the word has not changed since.
    pub(super) fn unwatch(&mut self, word: &SimWord, thread: u32) {
        let it = &mut self.threads[thread as usize];
        let previous = std::mem::replace(&mut it.previous_watcher, NOBODY);
        if previous == NOBODY && word.first_watcher.get() != thread {
            return;
        }
        let next = std::mem::replace(&mut it.next_watcher, NOBODY);
        match previous {
            NOBODY => word.first_watcher.set(next),
            previous => self.threads[previous as usize].next_watcher = next,
        }
        match next {
            NOBODY => word.last_watcher.set(previous),
            next => self.threads[next as usize].previous_watcher = previous,
        }
    }
}
