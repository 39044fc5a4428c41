//! The factorisation reproduces its matrix, whatever the shape; detects singular ones; and has the same bits
//! on any team.
mod common;
use common::*;
use foregather_blas::*;
use foregather_team::Team;

fn factored<T: Number>(a: &Table<T>, members: u32) -> (Table<T>, Lu) {
    let mut factors = a.clone();
    let found = lu_on(&Team::new(members).unwrap(), factors.write());
    (factors, found)
}

fn naive<T: Number>(a: &Table<T>) -> Vec<usize> {
    let (rows, cols) = (a.rows, a.cols);
    let mut of: Vec<Vec<T>> = (0..rows).map(|row| (0..cols).map(|col| a.view().get(row, col)).collect()).collect();
    (0..rows.min(cols))
        .map(|step| {
            let mut pivot = step;
            for row in step..rows {
                if of[row][step].abs1() > of[pivot][step].abs1() {
                    pivot = row;
                }
            }
            of.swap(step, pivot);
            let (above, below) = of.split_at_mut(step + 1);
            let pivot_row = &above[step];
            for row in below {
                let factor = row[step] / pivot_row[step];
                row.iter_mut().zip(pivot_row).skip(step).for_each(|(value, &off)| *value -= factor * off);
            }
            pivot
        })
        .collect()
}

fn shapes_are_factored<T: Number>(order: Order) {
    for (rows, cols) in
        [(0, 3), (1, 1), (2, 5), (9, 9), (40, 70), (70, 40), (64, 64), (65, 65), (66, 130), (129, 129), (200, 150)]
    {
        let random = &mut Random((rows * 1000 + cols) as u64);
        let a = Table::<T>::new(random, rows, cols, order);
        let (factors, found) = factored(&a, 2);
        let off = residual(a.view(), factors.view(), &found);
        assert!(off < <T::Real as Real>::from_f64(8.0), "{rows} x {cols}: residual {off:?}");
        assert_eq!(found.singular, None);
        assert!(found.pivots.iter().enumerate().all(|(step, &pivot)| step <= pivot && pivot < rows));
        if size_of::<T>() == 8 && !T::COMPLEX {
            assert_eq!(found.pivots, naive(&a), "{rows} x {cols}");
        }
        for members in [1, 3, 4, 7] {
            let (others, again) = factored(&a, members);
            assert!(again == found && others.bits() == factors.bits(), "{rows} x {cols} by {members} members");
        }
    }
}

#[test]
fn factors_stand_for_the_matrix_and_have_the_same_bits_on_any_team() {
    for order in ORDERS {
        for_all!(shapes_are_factored(order));
    }
}

#[test]
fn the_residual_does_not_grow_with_the_order() {
    for n in [50, 100, 200, 400] {
        let a = Table::<f64>::new(&mut Random(n as u64), n, n, Order::Columns);
        let (factors, found) = factored(&a, 2);
        let off = residual(a.view(), factors.view(), &found);
        assert!(off > 0.0 && off < 2.0, "{n}: {off}");
        let mut same = a.clone();
        assert!(lu(same.write()) == found && same.bits() == factors.bits(), "{n}: regardless of who decides what is shared");
    }
}

#[test]
fn a_wrong_factor_is_seen_in_the_residual() {
    let a = Table::<f64>::new(&mut Random(1), 90, 90, Order::Columns);
    let (mut factors, mut found) = factored(&a, 2);
    factors.change(|row, col, value| if (row, col) == (80, 70) { value + 1e-6 } else { value });
    assert!(residual(a.view(), factors.view(), &found) > 1e3);
    let (factors, _) = factored(&a, 2);
    found.pivots.swap(3, 40);
    assert!(residual(a.view(), factors.view(), &found) > 1e3, "other pivots");
}

#[test]
fn the_first_pivot_of_nought_is_told_and_the_rest_is_factored() {
    let mut a = Table::<f64>::new(&mut Random(3), 150, 150, Order::Columns);
    a.change(|_, col, value| if col == 100 { 0.0 } else { value });
    let (factors, found) = factored(&a, 3);
    assert_eq!(found.singular, Some(100));
    assert!(residual(a.view(), factors.view(), &found) < 8.0);
}

#[test]
fn tiny_pivots_neither_overflow_nor_spoil_the_factors() {
    let mut a = Table::<f64>::new(&mut Random(5), 30, 30, Order::Columns);
    a.change(|_, _, value| value * 1e-310);
    let (factors, found) = factored(&a, 2);
    assert!(factors.view().get(29, 0).is_finite() && found.singular.is_none());
}
