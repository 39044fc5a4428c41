//! Compares elements, rows and locked values with slices and mutexes: medians of rounds that take turns.
//!
//! With `FOREGATHER_SHARED=views` in the environment, the threads share memory in the same way as processes.
use foregather::engine::host::clock;
use foregather::{Error, Locked, shared};
use std::hint::black_box;
use std::sync::Mutex;

/// Rounds of all cells.
const ROUNDS: usize = 41;
/// Elements of an array, and of a row: 4 KiB.
const LEN: usize = 512;
/// Elements or values that a cell accesses in a round.
const TOUCHED: usize = 200 * LEN;
/// Locked changes of a rank in a round.
const CHANGES: usize = 10_000;

/// One line of the table: what is measured, how often a round does it, and the round itself.
type Cell<'a> = (&'static str, usize, Box<dyn FnMut() + 'a>);

/// Prints the table.
pub(crate) fn run() {
    println!("ns each, median of {ROUNDS} rounds (fastest, slowest)");
    alone().and_then(|()| two_at_once()).expect("ranks that are threads can share memory");
}

/// Measures one rank without others.
fn alone() -> Result<(), Error> {
    shared(1, |me| {
        let (array, rows, value, bins) = (me.array(LEN)?, me.rows(4, LEN)?, me.locked::<u64>()?, me.locked::<[u64; 12]>()?);
        let (mut slice, mut row, mut copy) = (vec![1_u64; LEN], vec![1_u64; LEN], vec![1_u64; LEN]);
        let mutex = Mutex::new(0_u64);
        let own = slice.clone();
        let all = || (0..TOUCHED).map(|at| at % LEN);
        table(vec![
            ("get of a slice", TOUCHED, Box::new(|| _ = black_box(all().fold(0, |sum: u64, at| sum ^ own[black_box(at)])))),
            ("Array::get", TOUCHED, Box::new(|| _ = black_box(all().fold(0, |sum: u64, at| sum ^ array.get(black_box(at)))))),
            ("set of a slice", TOUCHED, Box::new(|| all().for_each(|at| slice[black_box(at)] = 7))),
            ("Array::set", TOUCHED, Box::new(|| all().for_each(|at| array.set(black_box(at), 7)))),
            ("Rows::get", TOUCHED, Box::new(|| _ = black_box(all().fold(0, |sum: u64, at| sum ^ rows.get(1, black_box(at)))))),
            (
                "an element of a row copied",
                TOUCHED,
                Box::new(|| (0..200).for_each(|_| black_box(&mut row).copy_from_slice(black_box(&own)))),
            ),
            ("Rows::read, an element", TOUCHED, Box::new(|| (0..200).for_each(|_| rows.read(2, black_box(&mut copy))))),
            ("Rows::update, an element", TOUCHED, Box::new(|| (0..200).for_each(|_| rows.update(3, |row| _ = black_box(row))))),
            ("lock of a Mutex", CHANGES, Box::new(|| (0..CHANGES).for_each(|_| *black_box(&mutex).lock().unwrap() += 1))),
            ("Locked::with", CHANGES, Box::new(|| change(&value))),
            (
                "Locked::with, of 96 bytes",
                CHANGES,
                Box::new(|| (0..CHANGES).for_each(|at| bins.with(|bins| bins[at % 12] += 1).unwrap())),
            ),
        ]);
        Ok(())
    })
    .map(drop)
}

fn change(value: &Locked<'_, u64>) {
    (0..CHANGES).for_each(|_| value.with(|value| *value += 1).unwrap());
}

/// Measures two ranks that change one value, and then wait for each other.
fn two_at_once() -> Result<(), Error> {
    const FEW: usize = 200;
    let mutex = Mutex::new(0_u64);
    shared(2, |me| {
        let value = me.locked::<u64>()?;
        let round = |what: &dyn Fn()| {
            me.barrier().expect("both ranks come");
            what();
            me.barrier().expect("both ranks come");
        };
        let cells: Vec<Cell<'_>> = vec![
            ("lock of a Mutex, two at once", 2 * FEW, Box::new(|| round(&|| (0..FEW).for_each(|_| *mutex.lock().unwrap() += 1)))),
            (
                "Locked::with, two at once",
                2 * FEW,
                Box::new(|| round(&|| (0..FEW).for_each(|_| value.with(|value| *value += 1).unwrap()))),
            ),
            ("Shared::barrier, two ranks", FEW, Box::new(|| (0..FEW).for_each(|_| me.barrier().unwrap()))),
            ("Shared::sum, two ranks", FEW, Box::new(|| (0..FEW).for_each(|at| _ = me.sum(at as u64).unwrap()))),
        ];
        let lines = measured(cells);
        if me.rank() == 0 {
            lines.iter().for_each(|line| println!("{line}"));
        }
        Ok(())
    })
    .map(drop)
}

fn table(cells: Vec<Cell<'_>>) {
    measured(cells).iter().for_each(|line| println!("{line}"));
}

/// Returns a line for each cell.
fn measured(mut cells: Vec<Cell<'_>>) -> Vec<String> {
    let mut spans = vec![vec![]; cells.len()];
    for round in 0..=ROUNDS {
        for ((_, count, act), spans) in cells.iter_mut().zip(&mut spans) {
            let began = clock::now();
            act();
            let span = (clock::now() - began).0 as f64 / *count as f64;
            // The first round warms up.
            if round > 0 {
                spans.push(span);
            }
        }
    }
    let line = |((name, ..), spans): (&Cell<'_>, &mut Vec<f64>)| {
        spans.sort_by(f64::total_cmp);
        format!("{name:32} {:10.2} ({:.2}, {:.2})", spans[ROUNDS / 2], spans[0], spans[ROUNDS - 1])
    };
    cells.iter().zip(&mut spans).map(line).collect()
}
