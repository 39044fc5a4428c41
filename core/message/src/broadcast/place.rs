//! The place of a reader: how far its holder has read, and which process holds it. A holder whose process has
//! died is followed by another one, and what the earlier one stores from then on counts no more.
use super::LEFT;
use foregather_machine::{Cpu, VALUE_MASK, WordLine};

/// The words of a place. Up to where its holder has read, for holders of even and of odd numbers; the number
/// of the holder, from 0 on; and the number of the one that the writer waits for.
const GENERATION: usize = 2;
const ADMITTED: usize = 3;

/// A place, by its line of words.
pub(super) struct ReaderPlace<'l, C: Cpu>(&'l WordLine<C::Word>);

impl<'l, C: Cpu> ReaderPlace<'l, C> {
    pub(super) fn over(line: &'l WordLine<C::Word>) -> Self {
        Self(line)
    }

    /// The number of its holder.
    pub(super) fn generation(&self, cpu: &C) -> u32 {
        cpu.load(&self.0[GENERATION])
    }

    /// Up to where the holder of that number has read. The one before it has another word, so what a process
    /// stores that was taken for dead does not count for its successor.
    pub(super) fn read(&self, generation: u32) -> &'l C::Word {
        &self.0[generation as usize % 2]
    }

    /// Returns whether that holder has its place still: no other one was put there, and it was not given up.
    pub(super) fn is_held(&self, cpu: &C, generation: u32) -> bool {
        self.generation(cpu) == generation && cpu.load(self.read(generation)) & LEFT == 0
    }

    /// That holder has read from one position up to another one. Returns whether that counts: if so, nothing
    /// before was written over.
    pub(super) fn advance(&self, cpu: &C, generation: u32, from: u32, to: u32) -> bool {
        self.generation(cpu) == generation && cpu.compare_exchange(self.read(generation), from, to).is_ok()
    }

    /// Gives the place to a new holder, for which the writer does not wait before it has admitted it. Returns
    /// its number; `None` if another one was faster.
    pub(super) fn succeed(&self, cpu: &C) -> Option<u32> {
        let before = self.generation(cpu);
        // The writer may sleep until the former holder has read on.
        self.give_up(cpu, before);
        let next = before.wrapping_add(1) & VALUE_MASK;
        cpu.compare_exchange(&self.0[GENERATION], before, next).ok().map(|_| next)
    }

    /// The writer waits no more for the holder of that number.
    pub(super) fn let_go(&self, cpu: &C, generation: u32) {
        self.give_up(cpu, generation);
        cpu.store(&self.0[ADMITTED], generation);
    }

    fn give_up(&self, cpu: &C, generation: u32) {
        let word = self.read(generation);
        cpu.publish(word, cpu.load(word) | LEFT);
    }

    /// Returns whether its holder has been admitted.
    pub(super) fn is_admitted(&self, cpu: &C, generation: u32) -> bool {
        cpu.load(&self.0[ADMITTED]) == generation
    }

    /// Returns the number of the holder for which the writer waits, and up to where that has read, if there
    /// is one: one that was admitted and has not left.
    pub(super) fn counts(&self, cpu: &C) -> Option<(u32, u32)> {
        let generation = self.generation(cpu);
        let read = cpu.load(self.read(generation));
        (self.is_admitted(cpu, generation) && read & LEFT == 0).then_some((generation, read))
    }

    /// Returns whether its last holder has left, and no new one waits to be admitted.
    pub(super) fn is_left(&self, cpu: &C) -> bool {
        let generation = self.generation(cpu);
        self.is_admitted(cpu, generation) && cpu.load(self.read(generation)) & LEFT != 0
    }

    /// The writer waits for a new holder from here on, if there is one.
    pub(super) fn admit(&self, cpu: &C, position: u32) -> bool {
        let generation = self.generation(cpu);
        let is_new = !self.is_admitted(cpu, generation);
        if is_new {
            cpu.store(self.read(generation), position);
            cpu.store(&self.0[ADMITTED], generation);
        }
        is_new
    }
}
