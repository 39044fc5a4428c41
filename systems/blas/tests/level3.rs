//! Level 3 against the definitions, over shapes, options, orders of storage and factors.
mod common;
use common::*;
use foregather_blas::*;
use proptest::prelude::*;

fn sized(random: &mut Random, of: (usize, usize)) -> (usize, usize) {
    // Now and then a shape that is thin, or that needs several blocks.
    match random.below(4) {
        0 => (of.0 % 3 + 1, of.1 * 3),
        1 => (of.0 * 4, of.1 % 3 + 1),
        _ => of,
    }
}

fn gemm_is<T: Number>(seed: u64, shape: (usize, usize, usize)) {
    let random = &mut Random(seed);
    let (m, n) = sized(random, (shape.0, shape.1));
    let k = if random.below(6) == 0 { 520 + shape.2 } else { shape.2 };
    let (ta, tb) = (random.pick(&TRANS), random.pick(&TRANS));
    let turned = |trans, rows, cols| if trans == Trans::No { (rows, cols) } else { (cols, rows) };
    let ((am, an), (bm, bn)) = (turned(ta, m, k), turned(tb, k, n));
    let order = random.pick(&ORDERS);
    let (a, b) = (Table::<T>::new(random, am, an, order), Table::<T>::new(random, bm, bn, order));
    let mut c = Table::<T>::new(random, m, n, order);
    let (alpha, beta) = (random.factor::<T>(), random.factor::<T>());
    let expected = a.wide().op(ta).times(&b.wide().op(tb)).combined(alpha.wide(), beta.wide(), &c.wide());
    if beta == T::ZERO {
        c.change(|_, _, _| trap());
    }
    gemm(ta, tb, alpha, a.view(), b.view(), beta, c.write()).unwrap();
    expected.explains::<T>(&c.wide(), k, |_, _| true);
}

fn symm_is<T: Number>(seed: u64, shape: (usize, usize, usize)) {
    let random = &mut Random(seed);
    let (m, n) = sized(random, (shape.0, shape.1));
    let (side, uplo, order, hermitian) = (random.pick(&SIDES), random.pick(&UPLO), random.pick(&ORDERS), random.below(2) == 0);
    let size = if side == Side::Left { m } else { n };
    let mut a = Table::<T>::new(random, size, size, order);
    let b = Table::<T>::new(random, m, n, order);
    let mut c = Table::<T>::any(random, m, n);
    let (alpha, beta) = (random.factor::<T>(), random.factor::<T>());
    let full = a.wide().symmetric(uplo, hermitian);
    a.keep(uplo, Diag::Stored);
    let product = if side == Side::Left { full.times(&b.wide()) } else { b.wide().times(&full) };
    let expected = product.combined(alpha.wide(), beta.wide(), &c.wide());
    if beta == T::ZERO {
        c.change(|_, _, _| trap());
    }
    let routine = if hermitian { hemm } else { symm };
    routine(side, uplo, alpha, a.view(), b.view(), beta, c.write()).unwrap();
    expected.explains::<T>(&c.wide(), size, |_, _| true);
}

fn triangular_is<T: Number>(seed: u64, shape: (usize, usize, usize)) {
    let random = &mut Random(seed);
    let (m, n) = sized(random, (shape.0, shape.1));
    let (side, uplo, trans, diag) = (random.pick(&SIDES), random.pick(&UPLO), random.pick(&TRANS), random.pick(&DIAGS));
    let size = if side == Side::Left { m } else { n };
    let mut a = Table::<T>::any(random, size, size);
    a.tame();
    let plain = a.wide().triangular(uplo, diag).op(trans);
    a.keep(uplo, diag);
    let b = Table::<T>::any(random, m, n);
    let alpha = random.factor::<T>();
    let applied = |x: &Plain| if side == Side::Left { plain.times(x) } else { x.times(&plain) };
    let zero = Plain::of(m, n, |_, _| c64::new(0.0, 0.0));
    let scaled = |x: &Plain| x.combined(alpha.wide(), c64::new(0.0, 0.0), &zero);
    let mut product = b.clone();
    trmm(side, uplo, trans, diag, alpha, a.view(), product.write()).unwrap();
    scaled(&applied(&b.wide())).explains::<T>(&product.wide(), size, |_, _| true);
    let mut solution = b.clone();
    trsm(side, uplo, trans, diag, alpha, a.view(), solution.write()).unwrap();
    let mut wanted = scaled(&b.wide());
    let got = applied(&solution.wide());
    wanted.size.iter_mut().zip(&got.size).for_each(|(size, more)| *size += more);
    wanted.explains::<T>(&got, size, |_, _| true);
}

fn rank_is<T: Number>(seed: u64, shape: (usize, usize, usize)) {
    let random = &mut Random(seed);
    let (n, k) = if random.below(3) == 0 { (shape.0 * 3, shape.1) } else { (shape.0, shape.1) };
    let (uplo, kind) = (random.pick(&UPLO), random.below(5));
    let hermitian = kind == 1 || kind == 3;
    let trans = if random.below(2) == 0 {
        Trans::No
    } else if hermitian {
        Trans::Conj
    } else {
        Trans::Yes
    };
    let (rows, cols) = if trans == Trans::No { (n, k) } else { (k, n) };
    let order = random.pick(&ORDERS);
    let (a, b) = (Table::<T>::new(random, rows, cols, order), Table::<T>::new(random, rows, cols, order));
    let mut c = Table::<T>::any(random, n, n);
    let (alpha, beta) = (random.factor::<T>(), random.factor::<T>());
    let (real_alpha, real_beta) = (alpha.re(), beta.re());
    let (pa, pb) = (a.wide().op(trans), b.wide().op(trans));
    let mirror = if hermitian { Trans::Conj } else { Trans::Yes };
    let turn = |x: c64| if hermitian { x.conj() } else { x };
    let before = if hermitian { c.wide().symmetric(uplo, true) } else { c.wide() };
    let (wa, wb) = if kind == 1 { (T::real(real_alpha).wide(), T::real(real_beta).wide()) } else { (alpha.wide(), beta.wide()) };
    let wb = if kind == 3 { T::real(real_beta).wide() } else { wb };
    let one = c64::new(1.0, 0.0);
    let expected = match kind {
        0 | 1 => pa.times(&pa.op(mirror)).combined(wa, wb, &before),
        2 | 3 => {
            let second = pb.times(&pa.op(mirror)).combined(turn(wa), wb, &before);
            pa.times(&pb.op(mirror)).combined(wa, one, &second)
        }
        _ => pa.times(&pb.op(Trans::Yes)).combined(wa, wb, &before),
    };
    let unread = if hermitian { real_beta == T::Real::ZERO } else { beta == T::ZERO };
    c.change(|row, col, value| if unread || !stored(uplo, row, col) { trap() } else { value });
    // The imaginary parts of its diagonal are zero by definition, and not read unless nothing changes.
    let is_idle = wb == one && (k == 0 || wa == c64::new(0.0, 0.0));
    if hermitian && T::COMPLEX && !unread && !is_idle {
        c.change(|row, col, value| if row == col { T::new(value.re(), T::Real::from_f64(f64::NAN)) } else { value });
    }
    match kind {
        0 => syrk(uplo, trans, alpha, a.view(), beta, c.write()),
        1 => herk(uplo, trans, real_alpha, a.view(), real_beta, c.write()),
        2 => syr2k(uplo, trans, alpha, a.view(), b.view(), beta, c.write()),
        3 => her2k(uplo, trans, alpha, a.view(), b.view(), real_beta, c.write()),
        _ => {
            let other = if trans == Trans::No { Trans::Yes } else { Trans::No };
            gemmtr(uplo, trans, other, alpha, a.view(), b.view(), beta, c.write())
        }
    }
    .unwrap();
    // A Hermitian matrix that is not changed may keep the diagonal that it had.
    let idle = is_idle;
    expected.explains::<T>(&c.wide(), 2 * k, |row, col| stored(uplo, row, col) && !(idle && row == col));
    let view = c.view();
    let untouched = |row, col| stored(uplo, row, col) || view.get(row, col).wide().re.is_nan();
    assert!((0..n).all(|col| (0..n).all(|row| untouched(row, col))), "the other triangle was written");
    assert!(!hermitian || idle || (0..n).all(|at| view.get(at, at).wide().im == 0.0), "the diagonal is not real");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]
    #[test]
    fn a_product_is_what_the_definition_says(seed: u64, shape in (0..48_usize, 0..48_usize, 0..48_usize)) {
        for_all!(gemm_is(seed, shape));
    }
    #[test]
    fn a_symmetric_product_is_what_the_definition_says(seed: u64, shape in (0..60_usize, 0..60_usize, 0..1_usize)) {
        for_all!(symm_is(seed, shape));
    }
    #[test]
    fn triangular_products_and_solutions_are_what_the_definitions_say(seed: u64, shape in (0..48_usize, 0..48_usize, 0..1_usize)) {
        for_all!(triangular_is(seed, shape));
    }
    #[test]
    fn updates_of_a_triangle_are_what_the_definitions_say(seed: u64, shape in (0..48_usize, 0..40_usize, 0..1_usize)) {
        for_all!(rank_is(seed, shape));
    }
}

#[test]
fn small_orders_are_what_the_definitions_say_one_by_one() {
    for n in 0..=17 {
        for seed in 0..24 {
            let (m, k) = ((n + seed as usize * 5) % 18, (n + seed as usize * 7) % 18);
            for_all!(gemm_is(seed, (n, n, n)));
            for_all!(gemm_is(seed, (m, n, k)));
            for_all!(symm_is(seed, (n, m, 0)));
            for_all!(triangular_is(seed, (n, m, 0)));
            for_all!(triangular_is(seed, (m, n, 0)));
            for_all!(rank_is(seed, (n, k, 0)));
        }
    }
}

/// The first unknown of a triangular system with that pivot on its diagonal, nought beside it and that value
/// on the right side.
fn quotient(n: usize, pivot: f64, value: f64) -> f64 {
    let mut a = vec![0.0; n * n];
    (0..n).for_each(|at| a[at * n + at] = pivot);
    let mut b = vec![value; n];
    let (view, rhs) = (Matrix::columns(&a, n, n, n).unwrap(), MatrixMut::columns(&mut b, n, 1, n).unwrap());
    trsm(Side::Left, Uplo::Lower, Trans::No, Diag::Stored, 1.0, view, rhs).unwrap();
    b[0]
}

#[test]
fn a_small_system_divides_by_pivots_that_have_no_good_inverse() {
    for n in [1, 4, 8, 16, 17, 32] {
        for pivot in [5e-324, 1e-310, 3e-308, 1e-293, 7e306, 1.7e308, -1.7e308] {
            assert_eq!(quotient(n, pivot, pivot), 1.0, "{pivot:e} of {n}");
        }
        assert_eq!(quotient(n, 0.0, 1.0), f64::INFINITY);
        assert!(quotient(n, 0.0, 0.0).is_nan() && quotient(n, f64::NAN, 1.0).is_nan());
        assert_eq!(quotient(n, f64::INFINITY, 1.0), 0.0);
        assert_eq!(quotient(n, 2.0, f64::NEG_INFINITY), f64::NEG_INFINITY);
    }
}

#[test]
fn what_is_not_finite_stays_in_rows_that_depend_on_it() {
    for (n, at, uplo, order) in [
        (3, 2, Uplo::Lower, Order::Columns),
        (13, 6, Uplo::Lower, Order::Columns),
        (13, 6, Uplo::Upper, Order::Columns),
        (13, 6, Uplo::Lower, Order::Rows),
        (60, 33, Uplo::Upper, Order::Rows),
    ] {
        let a = vec![1.0; n * n];
        let mut b = vec![1.0; n * n];
        let place = |row: usize, col: usize| if order == Order::Columns { row + col * n } else { row * n + col };
        b[place(at, 1)] = f64::INFINITY;
        let (view, product) = (Matrix::new(order, &a, n, n, n).unwrap(), MatrixMut::new(order, &mut b, n, n, n).unwrap());
        trmm(Side::Left, uplo, Trans::No, Diag::Stored, 1.0, view, product).unwrap();
        for (row, col) in (0..n).flat_map(|row| (0..n).map(move |col| (row, col))) {
            let terms = if uplo == Uplo::Lower { row + 1 } else { n - row };
            let depends = col == 1 && if uplo == Uplo::Lower { row >= at } else { row <= at };
            let wanted = if depends { f64::INFINITY } else { terms as f64 };
            assert_eq!(b[place(row, col)], wanted, "({row}, {col}) of {n}, {uplo:?}, {order:?}");
        }
    }
}

#[test]
fn a_product_of_nothing_adds_nothing_whatever_its_factor() {
    let nothing = || Matrix::new(Order::Columns, &[][..], 2, 0, 2).unwrap();
    for alpha in [f64::INFINITY, f64::NAN] {
        let mut c = [1.0, 2.0, 3.0, 4.0];
        syrk(Uplo::Upper, Trans::No, alpha, nothing(), 2.0, MatrixMut::new(Order::Columns, &mut c, 2, 2, 2).unwrap()).unwrap();
        syr2k(Uplo::Upper, Trans::No, alpha, nothing(), nothing(), 2.0, MatrixMut::new(Order::Columns, &mut c, 2, 2, 2).unwrap())
            .unwrap();
        assert_eq!(c, [4.0, 2.0, 12.0, 16.0]);
    }
}
