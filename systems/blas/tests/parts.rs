//! Teams of 1, 2, 3, 4 and 7 members get the bits of the serial call, whatever the routine, its options and
//! its shape.
mod common;
use common::*;
use foregather_blas::*;
use std::ops::Range;

const TEAMS: [usize; 5] = [1, 2, 3, 4, 7];

/// The cells of a member, as a static split has them.
fn share(cells: usize, member: usize, members: usize) -> Range<usize> {
    cells * member / members..cells * (member + 1) / members
}

/// Computes a call in parts, each member in a thread of its own.
fn together<P: Parts>(call: P, members: usize) -> P::Output {
    let cells = call.cells();
    std::thread::scope(|scope| {
        for member in 0..members {
            let call = &call;
            scope.spawn(move || call.part(share(cells, member, members)));
        }
    });
    call.finish()
}

/// Asserts that a call leaves the same bits in `memory` and returns the same, whichever members compute it.
fn same_bits<M: Clone, N: PartialEq + std::fmt::Debug>(
    memory: &M,
    whole: impl Fn(&mut M) -> N,
    parts: impl Fn(&mut M, usize) -> N,
    bits: impl Fn(&M) -> Vec<[u64; 2]>,
) {
    let mut alone = memory.clone();
    let returned = whole(&mut alone);
    for members in TEAMS {
        let mut shared = memory.clone();
        assert_eq!(parts(&mut shared, members), returned, "returned by {members} members");
        assert!(bits(&shared) == bits(&alone), "{members} members computed other bits");
    }
}

/// `same_bits`, given only how the call is made.
macro_rules! agree {
    ($memory:expr, |$name:ident| $call:expr, $bits:expr) => {
        same_bits(&$memory, |$name| Parts::whole($call), |$name, members| together($call, members), $bits)
    };
}

fn level1_agrees<T: Number>(len: usize, ix: isize, iy: isize) {
    let random = &mut Random(len as u64);
    let (x, y) = (Line::<T>::new(random, len, ix), Line::<T>::new(random, len, iy));
    let alpha: T = random.number();
    agree!(y, |y| Axpy::new(alpha, x.view(), y.write()).unwrap(), Line::bits);
    agree!(y, |y| Copy::new(x.view(), y.write()).unwrap(), Line::bits);
    agree!(y, |y| Scal::new(alpha, y.write()), Line::bits);
    let both = |(x, y): &(Line<T>, Line<T>)| [x.bits(), y.bits()].concat();
    agree!((x.clone(), y.clone()), |xy| Swap::new(xy.0.write(), xy.1.write()).unwrap(), both);
    let nothing = |_: &()| Vec::new();
    agree!((), |_m| Dot::new(false, x.view(), y.view()).unwrap(), nothing);
    agree!((), |_m| Dot::new(true, x.view(), y.view()).unwrap(), nothing);
    agree!((), |_m| Nrm2::new(x.view()), nothing);
    agree!((), |_m| Asum::new(x.view()), nothing);
    agree!((), |_m| Iamax::new(x.view()), nothing);
}

#[test]
fn a_team_computes_level_1_to_the_bits_of_the_serial_call() {
    for len in [0, 1, 100, 127, 1000, 1025, 4000, 20_001] {
        for_all!(level1_agrees(len, 1, 1));
        for_all!(level1_agrees(len, 2, -1));
    }
}

#[test]
fn a_team_finds_the_first_of_equal_greatest_elements_and_lost_squares() {
    let mut x = vec![1.0; 5000];
    x[0] = f64::NAN;
    agree!((), |_m| Iamax::new(Vector::from(&x[..])), |_| Vec::new());
    x[0] = 1.0;
    agree!((), |_m| Iamax::new(Vector::from(&x[..])), |_| Vec::new());
    let tiny = vec![1e-200; 5000];
    agree!((), |_m| Nrm2::new(Vector::from(&tiny[..])), |_| Vec::new());
    let norm: f64 = together(Nrm2::new(Vector::from(&tiny[..])), 3);
    assert!((norm / 5000_f64.sqrt() - 1e-200).abs() < 1e-210);
}

fn level2_agrees<T: Number>(m: usize, n: usize, order: Order) {
    let random = &mut Random((m * 1000 + n) as u64);
    let a = Table::<T>::new(random, m, n, order);
    let (alpha, beta) = (random.number::<T>(), random.number::<T>());
    for trans in TRANS {
        let (xs, ys) = if trans == Trans::No { (n, m) } else { (m, n) };
        let (x, y) = (Line::<T>::new(random, xs, 1), Line::<T>::new(random, ys, -2));
        agree!(y, |y| Gemv::new(trans, alpha, a.view(), x.view(), beta, y.write()).unwrap(), Line::bits);
        let y = Line::<T>::new(random, ys, 1);
        agree!(y, |y| Gemv::new(trans, alpha, a.view(), x.view(), T::ZERO, y.write()).unwrap(), Line::bits);
    }
    let (x, y) = (Line::<T>::new(random, m, 1), Line::<T>::new(random, n, 2));
    agree!(a, |a| Ger::new(true, alpha, x.view(), y.view(), a.write()).unwrap(), Table::bits);
}

#[test]
fn a_team_computes_level_2_to_the_bits_of_the_serial_call() {
    for order in ORDERS {
        for (m, n) in [(0, 5), (5, 0), (1, 70), (70, 1), (33, 47), (130, 129), (300, 9), (9, 300), (257, 255)] {
            for_all!(level2_agrees(m, n, order));
        }
    }
}

fn symv_agrees<T: Number>(n: usize, order: Order, uplo: Uplo) {
    let random = &mut Random(n as u64);
    let (a, x, y) = (Table::<T>::new(random, n, n, order), Line::<T>::new(random, n, 1), Line::<T>::new(random, n, -1));
    let (alpha, beta) = (random.number::<T>(), random.number::<T>());
    for hermitian in [false, true] {
        agree!(y, |y| Symv::new(hermitian, alpha, full(&a, uplo), x.view(), beta, y.write()).unwrap(), Line::bits);
    }
}

#[test]
fn a_team_multiplies_symmetric_matrices_to_the_bits_of_the_serial_call() {
    for (n, order, uplo) in
        [(40, Order::Columns, Uplo::Upper), (520, Order::Columns, Uplo::Lower), (513, Order::Rows, Uplo::Lower)]
    {
        for_all!(symv_agrees(n, order, uplo));
    }
}

fn gemm_agrees<T: Number>((m, n, k): (usize, usize, usize), orders: (Order, Order)) {
    let random = &mut Random((m + 10 * n + 100 * k) as u64);
    let (alpha, beta) = (random.number::<T>(), random.pick(&[T::ZERO, T::ONE, T::ONE + T::ONE]));
    let c = Table::<T>::new(random, m, n, orders.1);
    for ta in TRANS {
        for tb in TRANS.into_iter().filter(|tb| T::COMPLEX || (ta != Trans::Conj && *tb != Trans::Conj)) {
            let turned = |trans, rows, cols| if trans == Trans::No { (rows, cols) } else { (cols, rows) };
            let ((am, an), (bm, bn)) = (turned(ta, m, k), turned(tb, k, n));
            let (a, b) = (Table::<T>::new(random, am, an, orders.0), Table::<T>::new(random, bm, bn, orders.0));
            agree!(c, |c| Gemm::new(ta, tb, alpha, a.view(), b.view(), beta, c.write()).unwrap(), Table::bits);
        }
    }
}

#[test]
fn a_team_multiplies_matrices_to_the_bits_of_the_serial_call() {
    let shapes = [
        (1, 90, 7),
        (90, 1, 7),
        (2, 300, 3),
        (300, 2, 3),
        (5, 200, 1),
        (7, 130, 33),
        (17, 60, 40),
        (16, 17, 20),
        (2, 311, 3),
        (303, 2, 3),
        (3, 200, 7),
        (16, 16, 16),
        (16, 40, 16),
        (40, 16, 16),
        (49, 60, 5),
    ];
    let squarer = [(40, 40, 40), (64, 64, 600), (65, 100, 520), (97, 95, 2), (130, 131, 70), (500, 20, 30), (24, 25, 0)];
    let orders = [(Order::Columns, Order::Columns), (Order::Columns, Order::Rows), (Order::Rows, Order::Columns)];
    for (at, shape) in shapes.into_iter().chain(squarer).enumerate() {
        // The two shapes that end within a tile in either direction, in all orders; the others in one each.
        let all = shape.0 == 49 || shape.1 == 49;
        for orders in orders.into_iter().enumerate().filter(|(which, _)| all || at % 3 == *which).map(|(_, orders)| orders) {
            for_all!(gemm_agrees(shape, orders));
        }
    }
}

fn level3_agrees<T: Number>(m: usize, n: usize) {
    let random = &mut Random((m * 1000 + n) as u64);
    let (b, c) = (Table::<T>::any(random, m, n), Table::<T>::any(random, m, n));
    let (alpha, beta) = (random.number::<T>(), random.number::<T>());
    for side in SIDES {
        let size = if side == Side::Left { m } else { n };
        let mut a = Table::<T>::any(random, size, size);
        a.tame();
        let (uplo, trans, diag, hermitian) = (random.pick(&UPLO), random.pick(&TRANS), random.pick(&DIAGS), random.below(2) == 0);
        agree!(c, |c| Symm::new(hermitian, side, uplo, alpha, a.view(), b.view(), beta, c.write()).unwrap(), Table::bits);
        agree!(c, |c| Triangular::trmm(side, uplo, trans, diag, alpha, a.view(), c.write()).unwrap(), Table::bits);
        agree!(c, |c| Triangular::trsm(side, uplo, trans, diag, alpha, a.view(), c.write()).unwrap(), Table::bits);
    }
    let square = Table::<T>::any(random, m, m);
    for uplo in UPLO {
        for trans in [Trans::No, Trans::Yes] {
            let (rows, cols) = if trans == Trans::No { (m, n) } else { (n, m) };
            let (a, b) = (Table::<T>::any(random, rows, cols), Table::<T>::any(random, rows, cols));
            agree!(square, |c| Rank::syrk(uplo, trans, alpha, a.view(), beta, c.write()).unwrap(), Table::bits);
            agree!(square, |c| Rank::syr2k(uplo, trans, alpha, a.view(), b.view(), beta, c.write()).unwrap(), Table::bits);
            let adjoint = if trans == Trans::No { Trans::No } else { Trans::Conj };
            agree!(square, |c| Rank::herk(uplo, adjoint, alpha.re(), a.view(), beta.re(), c.write()).unwrap(), Table::bits);
            agree!(square, |c| Rank::her2k(uplo, adjoint, alpha, a.view(), b.view(), beta.re(), c.write()).unwrap(), Table::bits);
        }
    }
}

#[test]
fn a_team_computes_level_3_to_the_bits_of_the_serial_call() {
    for (m, n) in [(0, 4), (1, 80), (80, 1), (3, 150), (8, 90), (16, 16), (16, 70), (70, 16), (33, 65), (140, 50), (50, 130)] {
        for_all!(level3_agrees(m, n));
    }
}

/// Asserts that a call leaves the bits that all its parts do.
macro_rules! same_as_whole {
    ($memory:expr, $bits:expr, |$name:ident| $call:expr, $parts:expr) => {{
        let (mut one, mut other) = ($memory.clone(), $memory.clone());
        let $name = &mut one;
        $call.unwrap();
        let $name = &mut other;
        Parts::whole($parts.unwrap());
        assert!($bits(&one) == $bits(&other), "{}", stringify!($call));
    }};
}

fn small_calls_agree<T: Number>(m: usize, n: usize, order: Order) {
    let random = &mut Random((m * 1000 + n) as u64);
    let (alpha, beta) = (random.number::<T>(), random.pick(&[T::ZERO, T::ONE, T::ONE + T::ONE]));
    let (a, b, c) =
        (Table::<T>::new(random, m, m, order), Table::<T>::new(random, m, n, order), Table::<T>::new(random, m, n, order));
    let (x, y) = (Line::<T>::new(random, m, 1), Line::<T>::new(random, m, 1));
    let (uplo, trans, diag) = (random.pick(&UPLO), random.pick(&TRANS), random.pick(&DIAGS));
    let mut tame = a.clone();
    tame.tame();
    let (left, no) = (Side::Left, Trans::No);
    same_as_whole!(
        y,
        Line::bits,
        |y| gemv(trans, alpha, a.view(), x.view(), beta, y.write()),
        Gemv::new(trans, alpha, a.view(), x.view(), beta, y.write())
    );
    same_as_whole!(
        y,
        Line::bits,
        |y| symv(alpha, full(&a, uplo), x.view(), beta, y.write()),
        Symv::new(false, alpha, full(&a, uplo), x.view(), beta, y.write())
    );
    same_as_whole!(y, Line::bits, |y| axpy(alpha, x.view(), y.write()), Axpy::new(alpha, x.view(), y.write()));
    same_as_whole!(
        c,
        Table::bits,
        |c| gemm(trans, no, alpha, a.view(), b.view(), beta, c.write()),
        Gemm::new(trans, no, alpha, a.view(), b.view(), beta, c.write())
    );
    same_as_whole!(
        c,
        Table::bits,
        |c| symm(left, uplo, alpha, a.view(), b.view(), beta, c.write()),
        Symm::new(false, left, uplo, alpha, a.view(), b.view(), beta, c.write())
    );
    same_as_whole!(
        c,
        Table::bits,
        |c| trmm(left, uplo, trans, diag, alpha, a.view(), c.write()),
        Triangular::trmm(left, uplo, trans, diag, alpha, a.view(), c.write())
    );
    same_as_whole!(
        c,
        Table::bits,
        |c| trsm(left, uplo, trans, diag, alpha, tame.view(), c.write()),
        Triangular::trsm(left, uplo, trans, diag, alpha, tame.view(), c.write())
    );
    same_as_whole!(
        a,
        Table::bits,
        |a| syrk(uplo, no, alpha, b.view(), beta, a.write()),
        Rank::syrk(uplo, no, alpha, b.view(), beta, a.write())
    );
}

#[test]
fn a_small_call_has_the_bits_of_its_parts() {
    for order in ORDERS {
        for (m, n) in [(1, 1), (2, 2), (3, 40), (40, 3), (8, 8), (16, 17), (33, 33), (47, 48), (48, 9), (64, 64), (70, 5)] {
            for_all!(small_calls_agree(m, n, order));
        }
    }
}

#[test]
fn a_large_call_has_enough_cells_for_a_team() {
    let mut memory = vec![0.0; 40 * 40];
    let view = Matrix::columns(&[0.5; 40 * 40], 40, 40, 40).unwrap().t();
    let c = MatrixMut::columns(&mut memory, 40, 40, 40).unwrap();
    assert!(Gemm::new(Trans::No, Trans::No, 1.0, view, view, 0.0, c).unwrap().cells() >= 4);
    let (x, mut y) = (vec![1.0; 4000], vec![1.0; 4000]);
    assert!(Dot::new(false, Vector::from(&x[..]), Vector::from(&y[..])).unwrap().cells() >= 3);
    assert!(Axpy::new(1.0, Vector::from(&x[..]), VectorMut::from(&mut y[..])).unwrap().cells() >= 16);
}

#[test]
fn a_cell_is_not_given_out_twice() {
    let (x, mut y) = (vec![1.0; 1000], vec![1.0; 1000]);
    let call = Axpy::new(1.0, Vector::from(&x[..]), VectorMut::from(&mut y[..])).unwrap();
    call.part(0..2);
    let again = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| call.part(1..3)));
    assert!(again.is_err());
    let dot = Dot::new(false, Vector::from(&x[..]), Vector::from(&x[..])).unwrap();
    dot.part(0..1);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| dot.part(0..1))).is_err());
}
