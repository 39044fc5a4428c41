//! The real team computes the bits of the serial call: given calls on given teams, and calls that are shared
//! by themselves.
mod common;
use common::*;
use foregather_blas::*;
use foregather_team::Team;

const TEAMS: [u32; 5] = [1, 2, 3, 4, 7];

/// Calls `work` for every size of team, and for a busy team, so that the caller does everything.
fn for_all_teams(work: impl Fn(&Team) + Sync) {
    for members in TEAMS {
        let team = Team::new(members).unwrap();
        work(&team);
        team.run(|member| {
            if member.rank() == 0 {
                work(&team);
            }
        });
    }
}

fn shapes_agree<T: Number>() {
    let random = &mut Random(9);
    let alpha: T = random.number();
    let shapes = [(1, 300, 5), (300, 1, 5), (3, 200, 40), (200, 3, 40), (96, 100, 33), (130, 65, 520)];
    let turns = [(Trans::No, Trans::No), (Trans::Yes, Trans::No), (Trans::No, Trans::Yes), (Trans::Conj, Trans::Yes)];
    for (at, (m, n, k)) in shapes.into_iter().enumerate() {
        // Each shape with two of the four, each of these with three shapes.
        for (ta, tb) in [turns[at % 4], turns[(at + 1) % 4]] {
            let turned = |trans, rows, cols| if trans == Trans::No { (rows, cols) } else { (cols, rows) };
            let ((am, an), (bm, bn)) = (turned(ta, m, k), turned(tb, k, n));
            let (a, b) = (Table::<T>::any(random, am, an), Table::<T>::any(random, bm, bn));
            let c = Table::<T>::any(random, m, n);
            let mut alone = c.clone();
            Gemm::new(ta, tb, alpha, a.view(), b.view(), T::ONE, alone.write()).unwrap().whole();
            for_all_teams(|team| {
                let mut shared = c.clone();
                on(team, Gemm::new(ta, tb, alpha, a.view(), b.view(), T::ONE, shared.write()).unwrap());
                assert!(shared.bits() == alone.bits(), "{m} x {n} x {k}");
            });
        }
    }
    let (x, y) = (Line::<T>::new(random, 20_000, 1), Line::<T>::new(random, 20_000, -2));
    let (sum, norm) = (Dot::new(true, x.view(), y.view()).unwrap().whole(), Nrm2::new(x.view()).whole());
    for_all_teams(|team| {
        assert_eq!(bits(on(team, Dot::new(true, x.view(), y.view()).unwrap())), bits(sum));
        assert!(on(team, Nrm2::new(x.view())) == norm);
    });
}

#[test]
fn a_call_on_a_team_has_the_bits_of_the_serial_call_for_all_sizes_of_teams() {
    for_all!(shapes_agree());
}

fn routines_agree<T: Number>() {
    let random = &mut Random(4);
    let n = 300;
    let (a, b, c) = (Table::<T>::any(random, n, n), Table::<T>::any(random, n, n), Table::<T>::any(random, n, n));
    let (alpha, beta) = (random.number::<T>(), random.number::<T>());
    let mut pair = [c.clone(), c.clone()];
    gemm(Trans::No, Trans::Yes, alpha, a.view(), b.view(), beta, pair[0].write()).unwrap();
    Gemm::new(Trans::No, Trans::Yes, alpha, a.view(), b.view(), beta, pair[1].write()).unwrap().whole();
    assert!(pair[0].bits() == pair[1].bits(), "gemm");
    syrk(Uplo::Lower, Trans::No, alpha, a.view(), beta, pair[0].write()).unwrap();
    Rank::syrk(Uplo::Lower, Trans::No, alpha, a.view(), beta, pair[1].write()).unwrap().whole();
    assert!(pair[0].bits() == pair[1].bits(), "syrk");
    symm(Side::Left, Uplo::Upper, alpha, a.view(), b.view(), beta, pair[0].write()).unwrap();
    Symm::new(false, Side::Left, Uplo::Upper, alpha, a.view(), b.view(), beta, pair[1].write()).unwrap().whole();
    assert!(pair[0].bits() == pair[1].bits(), "symm");
    let x = Line::<T>::new(random, n, 1);
    ger(alpha, x.view(), x.view(), pair[0].write()).unwrap();
    Ger::new(false, alpha, x.view(), x.view(), pair[1].write()).unwrap().whole();
    assert!(pair[0].bits() == pair[1].bits(), "ger");
    let long = Line::<T>::new(random, 100_001, 1);
    let mut lines = [Line::<T>::new(random, 100_001, 1), Line::<T>::new(random, 0, 1)];
    lines[1] = lines[0].clone();
    axpy(alpha, long.view(), lines[0].write()).unwrap();
    Axpy::new(alpha, long.view(), lines[1].write()).unwrap().whole();
    scal(alpha, lines[0].write());
    Scal::new(alpha, lines[1].write()).whole();
    assert!(lines[0].bits() == lines[1].bits(), "axpy and scal");
    assert_eq!(
        bits(dotu(long.view(), lines[0].view()).unwrap()),
        bits(Dot::new(false, long.view(), lines[0].view()).unwrap().whole())
    );
    assert!(asum(long.view()) == Asum::new(long.view()).whole());
    assert!(nrm2(long.view()) == Nrm2::new(long.view()).whole());
    assert_eq!(iamax(long.view()), Iamax::new(long.view()).whole());
    let mut moved = long.clone();
    copy(lines[0].view(), moved.write()).unwrap();
    let mut other = long.clone();
    swap(moved.write(), other.write()).unwrap();
    assert!(other.bits() == lines[0].bits() && moved.bits() == long.bits(), "copy and swap");
}

#[test]
fn routines_that_decide_for_themselves_have_the_bits_of_the_serial_call() {
    for_all!(routines_agree());
}

#[test]
fn many_threads_may_call_at_once() {
    let a: Vec<f64> = (0..200 * 200).map(|at| f64::from(at % 7)).collect();
    let view = || Matrix::columns(&a, 200, 200, 200).unwrap();
    let product = || {
        let mut c = vec![0.0; 200 * 200];
        gemm(Trans::No, Trans::No, 1.0, view(), view(), 0.0, MatrixMut::columns(&mut c, 200, 200, 200).unwrap()).unwrap();
        c
    };
    let alone = product();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..20).for_each(|_| assert!(product() == alone)));
        }
    });
}

#[test]
fn crossovers_are_all_known_once_asked_for_and_none_is_later_without_a_pause() {
    let (all, _) = crossovers();
    assert_eq!(all.len(), Routine::ALL.len());
    for crossover in all {
        if let (Some(warm), Some(cold)) = (crossover.warm, crossover.cold) {
            assert!(0 < warm && warm <= cold, "{crossover:?}");
        }
    }
}
