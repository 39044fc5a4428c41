//! Compares `reduce` and `for_each` with a plain loop and rayon.
use crate::{compare, timed};
use foregather::{for_each, reduce};
use rayon::prelude::*;
use std::hint::black_box;

pub(crate) fn run() {
    for (len, calls, rounds) in [(100, 20_000, 15), (10_000, 500, 15), (1_000_000, 20, 15), (10_000_000, 4, 15)] {
        let numbers: Vec<f64> = (0..len).map(|n| f64::from(n).sqrt()).collect();
        let numbers = &numbers[..];
        let sum = |numbers: &[f64]| numbers.iter().sum::<f64>();
        let mut serial = || timed(calls, || (0..calls).for_each(|_| _ = black_box(sum(black_box(numbers)))));
        let mut door = || timed(calls, || (0..calls).for_each(|_| _ = black_box(reduce(black_box(numbers), sum, |a, b| a + b))));
        let mut with_rayon =
            || timed(calls, || (0..calls).for_each(|_| _ = black_box(black_box(numbers).par_iter().sum::<f64>())));
        compare(
            &format!("sum of {len}"),
            rounds,
            &mut [("loop", &mut serial), ("reduce", &mut door), ("rayon", &mut with_rayon)],
            2,
        );
    }
    let mut rows = vec![vec![2.0_f64; 1_000]; 1_000];
    let root = |row: &mut Vec<f64>| row.iter_mut().for_each(|x| *x = (*x + 1.0).sqrt());
    let rows = std::cell::RefCell::new(&mut rows);
    let mut serial = || timed(1, || rows.borrow_mut().iter_mut().for_each(root));
    let mut door = || timed(1, || for_each(&mut rows.borrow_mut(), root));
    let mut with_rayon = || timed(1, || rows.borrow_mut().par_iter_mut().for_each(root));
    compare("1000 rows of 1000 roots", 41, &mut [("loop", &mut serial), ("for_each", &mut door), ("rayon", &mut with_rayon)], 2);
}
