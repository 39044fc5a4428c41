//! Loops whose iterations wait for earlier ones, which other members may do (`ordered(n)` with `depend`).
//!
//! The program names an iteration by its numbers in the loop's dimensions, from the outermost on; only the
//! outermost is distributed over the members. A member posts an iteration when others may go on that wait for
//! it. One member does its chunk in order, so a word for each chunk is enough: the last iteration of it that
//! was posted.
use crate::here::{self, threads_in_regions};
use crate::iteration_space::IterationSpace;
use crate::ring::WordsFor;
use crate::worksharing;
use core::sync::atomic::{AtomicU64, Ordering::*};
use foregather_host::per_thread;
use std::rc::Rc;
use std::sync::Arc;

/// The dimensions of the loop that a thread is in, and what its members have posted.
struct Posts {
    /// Iterations in each dimension.
    counts: Vec<u64>,
    space: IterationSpace,
    /// For each chunk one more than the last iteration that was posted, counted over all dimensions.
    words: Arc<[AtomicU64]>,
}

per_thread! {
    /// Of the loop that the calling thread is in; `None` where it is alone.
    static POSTS: Option<Rc<Posts>> = None;
}

/// The calling thread meets a loop of `counts` iterations, one number a dimension; `space` is the outermost.
pub fn begin(space: IterationSpace, counts: &[u64]) {
    worksharing::begin(space);
    let posts = here::region_member().map(|member| {
        let words =
            member.state.words(here::loop_state().loops.wrapping_sub(1), WordsFor::Posts, space.parts(member.size()) as usize);
        Rc::new(Posts { counts: counts.to_vec(), space, words })
    });
    POSTS.with(|here| *here.borrow_mut() = posts);
}

/// The number of dimensions of the loop that the calling thread is in; 0 where it is alone.
pub fn dimensions() -> usize {
    posts().map_or(0, |posts| posts.counts.len())
}

/// The members may go on that wait for this iteration, or for one before it in the calling thread's chunk.
pub fn post(iteration: &[u64]) {
    if let (Some(posts), Some(member)) = (posts(), here::region_member()) {
        posts.word(iteration, member.size()).store(posts.number(iteration) + 1, Release);
        member.notify();
    }
}

/// Waits until this iteration is posted.
pub fn wait(iteration: &[u64]) {
    if let (Some(posts), Some(member)) = (posts(), here::region_member()) {
        let (word, number) = (posts.word(iteration, member.size()), posts.number(iteration));
        member.wait(threads_in_regions, "an iteration of another member", || word.load(Acquire) > number);
    }
}

fn posts() -> Option<Rc<Posts>> {
    POSTS.with(|posts| posts.read(Clone::clone))
}

impl Posts {
    /// The number of an iteration over all dimensions, in the order of the loop.
    fn number(&self, iteration: &[u64]) -> u64 {
        iteration.iter().zip(&self.counts).fold(0, |number, (&at, &count)| number.wrapping_mul(count).wrapping_add(at))
    }

    fn word(&self, iteration: &[u64], size: u32) -> &AtomicU64 {
        &self.words[self.space.part_of(iteration[0], size) as usize]
    }
}
