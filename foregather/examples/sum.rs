//! Computes a sum, and changes all rows, on as many threads as are worthwhile. The sum has the same bits on
//! any machine, for the same numbers.
//!
//! `cargo add foregather`
use foregather::{for_each, reduce};

fn main() {
    let numbers: Vec<f64> = (1..=1_000_000).map(f64::from).map(f64::recip).collect();
    let sum = reduce(&numbers, |part| part.iter().sum::<f64>(), |a, b| a + b);
    println!("sum {sum} ({:#x})", sum.to_bits());

    let mut rows: Vec<Vec<f64>> = (0..500).map(|row| vec![f64::from(row); 1_000]).collect();
    for_each(&mut rows, |row| row.iter_mut().for_each(|x| *x = x.sqrt()));
    println!("last row {}", rows[499][0]);
}
