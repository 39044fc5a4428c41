//! Level 2 against the definitions, over shapes, options, ways of storage, increments and factors.
mod common;
use common::*;
use foregather_blas::*;
use proptest::prelude::*;

fn gemv_is<T: Number>(seed: u64, shape: (usize, usize)) {
    let random = &mut Random(seed);
    let (m, n) = shape;
    let trans = random.pick(&TRANS);
    let (xs, ys) = if trans == Trans::No { (n, m) } else { (m, n) };
    let order = random.pick(&ORDERS);
    let a = Table::<T>::new(random, m, n, order);
    let (ix, iy) = (random.increment(), random.increment());
    let (x, mut y) = (Line::<T>::new(random, xs, ix), Line::<T>::new(random, ys, iy));
    let (alpha, beta) = (random.factor::<T>(), random.factor::<T>());
    let old = y.wide();
    if beta == T::ZERO {
        y.fill(trap());
    }
    let expected = a.wide().op(trans).times(&x.wide()).combined(alpha.wide(), beta.wide(), &old);
    let mut band_y = y.clone();
    gemv(trans, alpha, a.view(), x.view(), beta, y.write()).unwrap();
    expected.explains::<T>(&y.wide(), xs, |_, _| true);
    y.gaps_are_untouched();

    let (kl, ku) = (random.below(m.max(1)), random.below(n.max(1)));
    let ld = kl + ku + 1 + random.below(2);
    let memory = banded(&a, order, kl, ku, ld);
    let band = Band::new(order, Vector::from(&memory[..]), [m, n], [kl, ku], ld).unwrap();
    gbmv(trans, alpha, band, x.view(), beta, band_y.write()).unwrap();
    let expected = cut(&a, kl, ku).op(trans).times(&x.wide()).combined(alpha.wide(), beta.wide(), &old);
    expected.explains::<T>(&band_y.wide(), xs, |_, _| true);
}

/// One random triangle in each of the three ways of storage, with what it is; `hermitian` if the matrix is
/// not triangular.
fn each_way<T: Number>(random: &mut Random, n: usize, mut work: impl FnMut(&mut Random, Triangle<'_, T>, Uplo, &Plain)) {
    let (order, uplo) = (random.pick(&ORDERS), random.pick(&UPLO));
    let mut table = Table::<T>::new(random, n, n, order);
    table.tame();
    work(random, full(&table, uplo), uplo, &table.wide());
    let memory = packed(&table, order, uplo);
    work(random, Triangle::packed(order, uplo, Vector::from(&memory[..]), n).unwrap(), uplo, &table.wide());
    let k = random.below(n + 2);
    let (kl, ku) = if uplo == Uplo::Upper { (0, k) } else { (k, 0) };
    let ld = k + 1 + random.below(2);
    let memory = banded(&table, order, kl, ku, ld);
    let band = Triangle::band(order, uplo, Vector::from(&memory[..]), n, k, ld).unwrap();
    work(random, band, uplo, &cut(&table, kl, ku));
}

fn symv_is<T: Number>(seed: u64, shape: (usize, usize)) {
    let random = &mut Random(seed);
    let n = shape.0;
    each_way::<T>(random, n, |random, triangle, uplo, stored| {
        let hermitian = random.below(2) == 0;
        let (ix, iy) = (random.increment(), random.increment());
        let (x, mut y) = (Line::<T>::new(random, n, ix), Line::<T>::new(random, n, iy));
        let (alpha, beta) = (random.factor::<T>(), random.factor::<T>());
        let product = stored.symmetric(uplo, hermitian).times(&x.wide());
        let expected = product.combined(alpha.wide(), beta.wide(), &y.wide());
        if beta == T::ZERO {
            y.fill(trap());
        }
        let routine = if hermitian { hemv } else { symv };
        routine(alpha, triangle, x.view(), beta, y.write()).unwrap();
        expected.explains::<T>(&y.wide(), n + 8, |_, _| true);
        y.gaps_are_untouched();
    });
}

fn triangular_is<T: Number>(seed: u64, shape: (usize, usize)) {
    let random = &mut Random(seed);
    let n = shape.0;
    each_way::<T>(random, n, |random, triangle, uplo, stored| {
        let (trans, diag) = (random.pick(&TRANS), random.pick(&DIAGS));
        let operator = stored.triangular(uplo, diag).op(trans);
        let inc = random.increment();
        let x = Line::<T>::new(random, n, inc);
        let mut product = x.clone();
        trmv(trans, diag, triangle, product.write()).unwrap();
        operator.times(&x.wide()).explains::<T>(&product.wide(), n, |_, _| true);
        product.gaps_are_untouched();
        let mut solution = x.clone();
        trsv(trans, diag, triangle, solution.write()).unwrap();
        let (mut wanted, got) = (x.wide(), operator.times(&solution.wide()));
        wanted.size.iter_mut().zip(&got.size).for_each(|(size, more)| *size += more);
        wanted.explains::<T>(&got, n, |_, _| true);
        solution.gaps_are_untouched();
    });
}

fn ger_is<T: Number>(seed: u64, shape: (usize, usize)) {
    let random = &mut Random(seed);
    let (m, n) = shape;
    let order = random.pick(&ORDERS);
    let mut a = Table::<T>::new(random, m, n, order);
    let (ix, iy) = (random.increment(), random.increment());
    let (x, y) = (Line::<T>::new(random, m, ix), Line::<T>::new(random, n, iy));
    let (alpha, conj) = (random.factor::<T>(), random.below(2) == 0);
    let row = y.wide().op(if conj { Trans::Conj } else { Trans::Yes });
    let expected = x.wide().times(&row).combined(alpha.wide(), c64::new(1.0, 0.0), &a.wide());
    let routine = if conj { gerc } else { geru };
    routine(alpha, x.view(), y.view(), a.write()).unwrap();
    expected.explains::<T>(&a.wide(), 4, |_, _| true);
}

fn rank_is<T: Number>(seed: u64, shape: (usize, usize)) {
    let random = &mut Random(seed);
    let (n, kind) = (shape.0, random.below(4));
    let hermitian = kind % 2 == 1;
    let (order, uplo) = (random.pick(&ORDERS), random.pick(&UPLO));
    let mut table = Table::<T>::new(random, n, n, order);
    let (ix, iy) = (random.increment(), random.increment());
    let (x, y) = (Line::<T>::new(random, n, ix), Line::<T>::new(random, n, iy));
    let alpha = random.factor::<T>();
    let real = T::real(alpha.re());
    let (mirror, turned) = if hermitian { (Trans::Conj, alpha.wide().conj()) } else { (Trans::Yes, alpha.wide()) };
    let one = c64::new(1.0, 0.0);
    let idle = if kind == 1 { real == T::ZERO } else { alpha == T::ZERO };
    let before = if hermitian && !idle { table.wide().symmetric(uplo, true) } else { table.wide() };
    let expected = match kind {
        0 => x.wide().times(&x.wide().op(mirror)).combined(alpha.wide(), one, &before),
        1 => x.wide().times(&x.wide().op(mirror)).combined(real.wide(), one, &before),
        _ => {
            let first = x.wide().times(&y.wide().op(mirror)).combined(alpha.wide(), one, &before);
            y.wide().times(&x.wide().op(mirror)).combined(turned, one, &first)
        }
    };
    let call = |a: TriangleMut<'_, T>| match kind {
        0 => syr(alpha, x.view(), a),
        1 => her(alpha.re(), x.view(), a),
        2 => syr2(alpha, x.view(), y.view(), a),
        _ => her2(alpha, x.view(), y.view(), a),
    };
    let mut memory = packed(&table, order, uplo);
    call(TriangleMut::packed(order, uplo, VectorMut::from(&mut memory[..]), n).unwrap()).unwrap();
    call(full_mut(&mut table, uplo)).unwrap();
    expected.explains::<T>(&table.wide(), 8, |row, col| stored(uplo, row, col) || idle);
    assert_eq!(
        packed(&table, order, uplo).into_iter().map(bits).collect::<Vec<_>>(),
        memory.into_iter().map(bits).collect::<Vec<_>>()
    );
    let real_diagonal = (0..n).all(|at| table.view().get(at, at).wide().im == 0.0);
    assert!(!hermitian || idle || real_diagonal, "the diagonal is not real");
}

#[test]
fn zeros_of_a_vector_add_nothing_to_a_triangle() {
    let (x, y) = ([0.0, f64::NAN, 0.0], [0.0, 1.0, 0.0]);
    let vector = |x: &'static [f64; 3]| Vector::new(x, 3, 1).unwrap();
    let (x, y): (&'static [f64; 3], &'static [f64; 3]) = (Box::leak(Box::new(x)), Box::leak(Box::new(y)));
    for both in [false, true] {
        let mut memory = [1.0; 6];
        let a = TriangleMut::packed(Order::Columns, Uplo::Upper, VectorMut::from(&mut memory[..]), 3).unwrap();
        if both { syr2(1.0, vector(x), vector(y), a) } else { syr(1.0, vector(x), a) }.unwrap();
        assert_eq!([memory[0], memory[3], memory[4], memory[5]], [1.0; 4], "columns 1 and 3 of {memory:?}");
        assert!(memory[2].is_nan(), "{memory:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]
    #[test]
    fn a_matrix_times_a_vector_is_what_the_definition_says(seed: u64, shape in (0..80_usize, 0..80_usize)) {
        for_all!(gemv_is(seed, shape));
    }
    #[test]
    fn a_symmetric_matrix_times_a_vector_is_what_the_definition_says(seed: u64, shape in (0..80_usize, 0..1_usize)) {
        for_all!(symv_is(seed, shape));
    }
    #[test]
    fn a_triangle_times_a_vector_and_its_inverse_are_what_the_definitions_say(seed: u64, shape in (0..150_usize, 0..1_usize)) {
        for_all!(triangular_is(seed, shape));
    }
    #[test]
    fn a_rank_one_update_is_what_the_definition_says(seed: u64, shape in (0..60_usize, 0..60_usize)) {
        for_all!(ger_is(seed, shape));
    }
    #[test]
    fn updates_of_a_triangle_are_what_the_definitions_say(seed: u64, shape in (0..60_usize, 0..1_usize)) {
        for_all!(rank_is(seed, shape));
    }
}

#[test]
fn a_large_symmetric_matrix_is_split_and_still_right() {
    for_all!(symv_is(7, (530, 0)));
    for_all!(symv_is(8, (613, 0)));
}

#[test]
fn symmetric_matrices_of_every_small_order_are_what_the_definition_says() {
    for n in (0..=25).chain([31, 32, 33, 47, 48, 49, 64]) {
        for seed in 0..8 {
            for_all!(symv_is(seed, (n, 0)));
        }
    }
}
