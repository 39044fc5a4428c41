//! Level 1 against the definitions, over lengths and increments, and at the edges of the numbers.
mod common;
use common::*;
use foregather_blas::*;
use proptest::prelude::*;

fn updates_are<T: Number>(seed: u64, len: usize) {
    let random = &mut Random(seed);
    let (ix, iy) = (random.increment(), random.increment());
    let (x, y) = (Line::<T>::new(random, len, ix), Line::<T>::new(random, len, iy));
    let (alpha, beta) = (random.factor::<T>(), random.factor::<T>());
    let one = c64::new(1.0, 0.0);
    let zero = Plain::of(len, 1, |_, _| c64::new(0.0, 0.0));

    let mut sum = y.clone();
    axpy(alpha, x.view(), sum.write()).unwrap();
    x.wide().combined(alpha.wide(), one, &y.wide()).explains::<T>(&sum.wide(), 1, |_, _| true);
    sum.gaps_are_untouched();
    let mut sum = y.clone();
    axpby(alpha, x.view(), beta, sum.write()).unwrap();
    x.wide().combined(alpha.wide(), beta.wide(), &y.wide()).explains::<T>(&sum.wide(), 1, |_, _| true);

    let mut scaled = x.clone();
    scal(alpha, scaled.write());
    x.wide().combined(alpha.wide(), one, &zero).explains::<T>(&scaled.wide(), 1, |_, _| true);
    scaled.gaps_are_untouched();
    let mut scaled = x.clone();
    scal_real(alpha.re(), scaled.write());
    x.wide().combined(T::real(alpha.re()).wide(), one, &zero).explains::<T>(&scaled.wide(), 1, |_, _| true);

    let mut copied = y.clone();
    copy(x.view(), copied.write()).unwrap();
    assert_eq!(copied.wide().at, x.wide().at);
    copied.gaps_are_untouched();
    let (mut left, mut right) = (x.clone(), y.clone());
    swap(left.write(), right.write()).unwrap();
    assert_eq!((left.wide().at, right.wide().at), (y.wide().at, x.wide().at));

    let (c, s) = (random.real::<T::Real>(), random.real::<T::Real>());
    let (wc, ws) = (T::real(c).wide(), T::real(s).wide());
    let (mut left, mut right) = (x.clone(), y.clone());
    rot(left.write(), right.write(), c, s).unwrap();
    x.wide().combined(wc, ws, &y.wide()).explains::<T>(&left.wide(), 2, |_, _| true);
    y.wide().combined(wc, -ws, &x.wide()).explains::<T>(&right.wide(), 2, |_, _| true);
}

fn reductions_are<T: Number>(seed: u64, len: usize) {
    let random = &mut Random(seed);
    let (ix, iy) = (random.increment(), random.increment());
    let (x, y) = (Line::<T>::new(random, len, ix), Line::<T>::new(random, len, iy));
    let one = |value: T| Plain::of(1, 1, |_, _| value.wide());
    let product = x.wide().op(Trans::Yes).times(&y.wide());
    product.explains::<T>(&one(dotu(x.view(), y.view()).unwrap()), len, |_, _| true);
    let product = x.wide().op(Trans::Conj).times(&y.wide());
    product.explains::<T>(&one(dotc(x.view(), y.view()).unwrap()), len, |_, _| true);

    let sum: f64 = x.wide().size.iter().sum();
    let sum_of = Plain::of(1, 1, |_, _| c64::new(sum, 0.0));
    sum_of.explains::<T>(&one(T::real(asum(x.view()))), len, |_, _| true);
    let norm = x.wide().at.iter().map(|value| value.re * value.re + value.im * value.im).sum::<f64>().sqrt();
    let norm = Plain::of(1, 1, |_, _| c64::new(norm, 0.0));
    norm.explains::<T>(&one(T::real(nrm2(x.view()))), len, |_, _| true);

    let sizes: Vec<T::Real> = x.view().iter().map(|value| value.abs1()).collect();
    let first = (0..len).find(|&at| sizes.iter().all(|size| *size <= sizes[at]));
    assert_eq!(iamax(x.view()), first);
}

proptest! {
    #[test]
    fn vectors_become_what_the_definitions_say(seed: u64, len in 0..200_usize) {
        for_all!(updates_are(seed, len));
    }
    #[test]
    fn sums_are_what_the_definitions_say(seed: u64, len in 0..200_usize, long in 0..5000_usize) {
        for_all!(reductions_are(seed, len));
        for_all!(reductions_are(seed, long));
    }
    #[test]
    fn a_rotation_takes_the_second_part_away(seed: u64, exponents in (-300..300_i32, -300..300_i32)) {
        for_all!(rotation_is(seed, exponents));
    }
    #[test]
    fn a_modified_rotation_takes_the_second_part_away(seed: u64, exponents in (-40..40_i32, -40..40_i32)) {
        modified_is::<f64>(seed, exponents);
        modified_is::<f32>(seed, (exponents.0 / 3, exponents.1 / 3));
    }
}

fn rotation_is<T: Number>(seed: u64, exponents: (i32, i32)) {
    let random = &mut Random(seed);
    let reach = if <T as Number>::EPSILON < 1e-10 { 1.0 } else { 0.12 };
    let power = |exponent: i32| 10_f64.powf(f64::from(exponent) * reach);
    let mut value = |exponent| T::narrow(random.number::<T>().wide() * power(exponent));
    let (a, b) = (value(exponents.0), value(exponents.1));
    let (mut r, mut z) = (a, b);
    let (c, s) = rotg(&mut r, &mut z);
    let (wc, ws) = (T::real(c).wide(), s.wide());
    // All numbers are scaled to about one, so that the check itself is safe.
    let unit = power(exponents.0.max(exponents.1));
    let (wa, wb, wr) = (a.wide() / unit, b.wide() / unit, r.wide() / unit);
    let near = |x: c64, y: c64| assert!((x - y).l1_norm() < 20.0 * <T as Number>::EPSILON, "{x} and {y}");
    near(wc * wa + ws * wb, wr);
    near(wc * wb - ws.conj() * wa, c64::new(0.0, 0.0));
    near(c64::new(wc.norm_sqr() + ws.norm_sqr(), 0.0), c64::new(1.0, 0.0));
}

fn modified_is<R: Real + Number>(seed: u64, exponents: (i32, i32)) {
    let random = &mut Random(seed);
    let mut value = |exponent: i32| R::from_f64(random.real::<f64>() * 2_f64.powi(exponent));
    let (d1, d2) = (value(exponents.0).abs(), value(exponents.1).abs());
    let (x1, y1) = (value(0), value(0));
    let (mut e1, mut e2, mut x) = (d1, d2, x1);
    let param = rotmg(&mut e1, &mut e2, &mut x, y1);
    let (mut xs, mut ys) = ([x1], [y1]);
    rotm(VectorMut::from(&mut xs[..]), VectorMut::from(&mut ys[..]), &param).unwrap();
    let wide = |value: R| value.wide().re;
    let weight = wide(d1) * wide(x1).powi(2) + wide(d2) * wide(y1).powi(2);
    let after = wide(e1) * wide(xs[0]).powi(2);
    assert!((weight - after).abs() <= 50.0 * <R as Number>::EPSILON * weight, "{weight} became {after}");
    let left = wide(e2) * wide(ys[0]).powi(2);
    assert!(left <= 50.0 * <R as Number>::EPSILON * weight, "{left} of {weight} is left");
    assert!((wide(xs[0]) - wide(x)).abs() <= 50.0 * <R as Number>::EPSILON * wide(x).abs());
}

#[test]
fn rotations_of_nought_are_the_standards() {
    let made = |a: f64, b: f64| {
        let (mut r, mut z) = (a, b);
        let (c, s) = rotg(&mut r, &mut z);
        [r, z, c, s]
    };
    assert_eq!(made(0.0, 0.0), [0.0, 0.0, 1.0, 0.0]);
    assert_eq!(made(3.0, 0.0), [3.0, 0.0, 1.0, 0.0]);
    assert_eq!(made(0.0, -2.0), [-2.0, 1.0, 0.0, 1.0]);
    assert_eq!(made(4.0, 3.0), [5.0, 0.6, 0.8, 0.6]);
    assert_eq!(made(-3.0, 4.0), [5.0, 1.0 / -0.6, -0.6, 0.8]);
}

fn edges_are<T: Number>() {
    let norm = |parts: &[T::Real]| {
        let values: Vec<T> = parts.iter().map(|&part| T::real(part)).collect();
        T::real(nrm2(Vector::from(&values[..]))).wide().re
    };
    let (most, least) = (T::Real::MAX, T::Real::MIN_POSITIVE);
    let wide = |value: T::Real| T::real(value).wide().re;
    let (zero, half) = (T::Real::ZERO, T::Real::from_f64(0.5));
    let (infinity, nan) = (T::Real::from_f64(f64::INFINITY), T::Real::from_f64(f64::NAN));
    let near = |got: f64, wanted: f64| assert!((got / wanted - 1.0).abs() < 8.0 * <T as Number>::EPSILON, "{got:e}, {wanted:e}");
    near(norm(&[most * half, most * half]), wide(most) * 0.5_f64.sqrt());
    near(norm(&[least, least, least, least]), wide(least) * 2.0);
    near(norm(&[least, most * half]), wide(most) * 0.5);
    let tiny = least * T::Real::EPSILON;
    assert_eq!(norm(&[tiny, zero]), wide(tiny));
    assert_eq!(norm(&[zero, zero]), 0.0);
    assert_eq!(norm(&[]), 0.0);
    assert_eq!(norm(&[T::Real::ONE, -infinity]), f64::INFINITY);
    assert!(norm(&[infinity, nan]).is_nan() && norm(&[nan, most, most]).is_nan());

    let alone = [T::real(T::Real::from_f64(3.0))];
    near(T::real(nrm2(Vector::new(&alone, 16, 0).unwrap())).wide().re, 12.0);
    let first = |values: &[T]| iamax(Vector::from(values));
    let nan = T::real(nan);
    assert_eq!(first(&[T::ONE, nan, -T::ONE - T::ONE, nan]), Some(2));
    assert_eq!(first(&[nan, T::ONE]), Some(0));
    assert_eq!(first(&[T::ONE, -T::ONE, T::ONE]), Some(0));
    assert_eq!(first(&[]), None);
}

#[test]
fn norms_and_greatest_elements_are_right_at_the_edges_of_the_numbers() {
    for_all!(edges_are());
}

#[test]
fn elements_in_one_place_are_worked_on_in_order() {
    let (x, mut y) = ([1.0, 2.0, 3.0], [10.0]);
    axpy(2.0, Vector::from(&x[..]), VectorMut::new(&mut y, 3, 0).unwrap()).unwrap();
    assert_eq!(y, [22.0]);
    copy(Vector::from(&x[..]), VectorMut::new(&mut y, 3, 0).unwrap()).unwrap();
    assert_eq!(y, [3.0]);
    assert_eq!(dot(Vector::new(&x, 4, 0).unwrap(), Vector::new(&y, 4, 0).unwrap()).unwrap(), 12.0);
}

#[test]
fn single_precision_can_be_summed_in_double() {
    // Single precision would keep nothing of it.
    let (x, y) = ([1e8_f32, 1.0, -1e8], [1.0_f32, 0.5, 1.0]);
    assert_eq!(dsdot(Vector::from(&x[..]), Vector::from(&y[..])).unwrap(), 0.5);
    assert_eq!(sdsdot(0.25, Vector::from(&x[..]), Vector::from(&y[..])).unwrap(), 0.75);
}

#[test]
fn what_is_not_a_number_stays_so_when_it_is_scaled() {
    let mut x = [f64::NAN, f64::INFINITY, 2.0];
    scal(0.0, VectorMut::from(&mut x[..]));
    assert!(x[0].is_nan() && x[1].is_nan() && x[2] == 0.0);
}
