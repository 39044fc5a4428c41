//! Finds a crossover: calls of growing size, alone and on a team in turn, until the team wins twice in a row.
use super::{AWAKE_WAKES, CrossoverSizes, Level, Routine, cold_time};
use crate::kernels::matrix::{Matrix, MatrixMut};
use crate::kernels::vector::{Vector, VectorMut};
use crate::level1::parts::{Asum, Axpy, Copy, Dot, Iamax, Nrm2, Scal, Swap};
use crate::level2::{gemv::Gemv, ger::Ger, symv::Symv, triangle::Triangle};
use crate::level3::{gemm::Gemm, rank::Rank, symm::Symm, triangular::Triangular};
use crate::options::{Diag, Side, Trans, Uplo};
use crate::parts::Parts;
use crate::team::on;
use foregather_host::clock;
use foregather_machine::{Nanos, Placement};
use foregather_team::{Report, Team};
use foregather_thread::Thread;
use std::hint::black_box;

/// Pairs of calls at each size, after some uncounted ones.
const PAIRS: usize = 15;
const WARM_UP: usize = 3;
/// A team that wins by less than this may lose in another hour: hundredths.
const WINS_PERCENT: u64 = 110;
/// How often the ladder is climbed.
const TRIALS: usize = 3;
/// A new team's members are on their processors after this time.
const READY: Nanos = Nanos::from_ms(1);
/// No climb takes longer.
const LONGEST: Nanos = Nanos::from_ms(5);
/// If more than one of this many parts is late, other programs use the processors.
const LATE: u64 = 8;

/// The result of a measurement.
pub(super) struct CrossoverResult {
    /// `None` if time ran out before the team won.
    pub(super) sizes: Option<CrossoverSizes>,
    /// Whether no other program disturbed it.
    pub(super) calm: bool,
}

/// How long the members of a team stay awake after a call.
pub(super) fn awake() -> Nanos {
    Thread::current().costs().remote_wake * AWAKE_WAKES
}

/// The crossovers of a routine on a team of `members`, which is started for that: the middle ones of three.
pub(super) fn measure(routine: Routine, members: u32) -> CrossoverResult {
    let Ok(team) = Team::new(members) else { return CrossoverResult { sizes: None, calm: false } };
    let ladder = routine.ladder();
    let mut operands = Operands::new(routine, ladder[ladder.len() - 1]);
    let before = ready(&team);
    let mut found: Vec<CrossoverSizes> = (0..TRIALS).filter_map(|_| climb(routine, &mut operands, &team)).collect();
    found.sort_unstable_by_key(|sizes| sizes.warm);
    let after = team.report();
    let (late, regions) = (after.late - before.late, after.regions - before.regions);
    CrossoverResult { sizes: found.get(TRIALS / 2).copied(), calm: found.len() > TRIALS / 2 && late * LATE <= regions }
}

/// Climbs the ladder until the team wins twice in a row.
fn climb(routine: Routine, operands: &mut Operands, team: &Team) -> Option<CrossoverSizes> {
    let began = clock::now();
    let mut won: Option<(usize, Nanos)> = None;
    for &n in routine.ladder() {
        let (alone, together) = race(routine, n, operands, team);
        let wins = alone.0 * 100 >= together.0 * WINS_PERCENT;
        match won {
            Some(first) if wins => return Some(sizes_from(routine, first)),
            _ => won = wins.then_some((n, alone)),
        }
        if clock::now() - began > LONGEST {
            break;
        }
    }
    None
}

/// Starts the members and lets them come to their processors; returns the team's report then.
fn ready(team: &Team) -> Report {
    let began = clock::now();
    while clock::now() - began < READY {
        team.run(|_| ());
    }
    team.report()
}

/// The crossovers, given the order from which on the team wins and the time of such a call alone.
fn sizes_from(routine: Routine, (n, alone): (usize, Nanos)) -> CrossoverSizes {
    let warm = routine.size_of_order(n);
    let times = cold_time(Thread::current().costs().remote_wake).0 as f64 / alone.0.max(1) as f64;
    CrossoverSizes { warm, cold: (warm as f64 * times.max(1.0)) as u64 }
}

/// The quartiles of calls of that order, alone and on the team: a machine shared with other programs has few
/// quiet moments.
fn race(routine: Routine, n: usize, operands: &mut Operands, team: &Team) -> (Nanos, Nanos) {
    let mut time = |team: Option<&Team>| {
        // The other side has moved the operands to other caches.
        operands.call(routine, n, team);
        let began = clock::now();
        operands.call(routine, n, team);
        clock::now() - began
    };
    for _ in 0..WARM_UP {
        time(None);
        time(Some(team));
    }
    let mut times: [Vec<Nanos>; 2] = Default::default();
    for _ in 0..PAIRS {
        times[0].push(time(None));
        times[1].push(time(Some(team)));
    }
    let [alone, together] = times.map(|mut times| {
        times.sort_unstable();
        times[PAIRS / 4]
    });
    (alone, together)
}

/// Memory for the largest call. All of it is written, and calls leave no number in it that would slow down
/// the next.
struct Operands {
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
}

impl Operands {
    fn new(routine: Routine, most: usize) -> Self {
        let square = most * most;
        let [a, b, c] = match routine.level() {
            Level::One => [0, most, most],
            Level::Two => [square, most, most],
            Level::Three => [square, square, square],
        };
        let filled = |len: usize, value: f64| vec![value; len];
        Self { a: filled(a, 1e-6), b: filled(b, 0.5), c: filled(c, 0.25) }
    }

    /// One call with vectors of `n` or square matrices of order `n`.
    fn call(&mut self, routine: Routine, n: usize, team: Option<&Team>) {
        if routine.level() == Level::One {
            self.level1(routine, n, team);
        } else {
            self.matrices(routine, n, team);
        }
    }

    fn level1(&mut self, routine: Routine, n: usize, team: Option<&Team>) {
        let read = &self.b[..n];
        let (x, y): (Vector<'_, f64>, VectorMut<'_, f64>) = (read.into(), (&mut self.c[..n]).into());
        match routine {
            Routine::Axpy => run(team, Axpy::new(1e-9, x, y)),
            Routine::Copy => run(team, Copy::new(x, y)),
            Routine::Swap => run(team, Swap::new((&mut self.b[..n]).into(), y)),
            Routine::Scal => run(team, Ok::<_, ()>(Scal::new(-1.0, y))),
            Routine::Nrm2 => run(team, Ok::<_, ()>(Nrm2::new(x))),
            Routine::Asum => run(team, Ok::<_, ()>(Asum::new(x))),
            Routine::Iamax => run(team, Ok::<_, ()>(Iamax::new(x))),
            _ => run(team, Dot::new(false, x, y.view())),
        }
    }

    fn matrices(&mut self, routine: Routine, n: usize, team: Option<&Team>) {
        let fits = "the operands are as large as the largest call";
        let square = n * n;
        let a = Matrix::columns(&self.a[..square], n, n, n).expect(fits);
        let (no, left, lower) = (Trans::No, Side::Left, Uplo::Lower);
        if routine.level() == Level::Two {
            let (x, y): (Vector<'_, f64>, VectorMut<'_, f64>) = ((&self.b[..n]).into(), (&mut self.c[..n]).into());
            return match routine {
                Routine::GemvN => run(team, Gemv::new(no, 1.0, a, x, 0.0, y)),
                Routine::GemvT => run(team, Gemv::new(Trans::Yes, 1.0, a, x, 0.0, y)),
                Routine::Symv => {
                    run(team, Triangle::full(lower, a).and_then(|a| Symv::new(false, 1.0, a, x, 0.0, y)));
                }
                _ => {
                    let y = y.view();
                    let a = MatrixMut::columns(&mut self.a[..square], n, n, n).expect(fits);
                    run(team, Ger::new(false, 1e-12, x, y, a));
                }
            };
        }
        let b = Matrix::columns(&self.b[..square], n, n, n).expect(fits);
        let c = MatrixMut::columns(&mut self.c[..square], n, n, n).expect(fits);
        match routine {
            Routine::Gemm => run(team, Gemm::new(no, no, 1.0, a, b, 0.0, c)),
            Routine::Symm => run(team, Symm::new(false, left, lower, 1.0, a, b, 0.0, c)),
            Routine::Syrk => run(team, Rank::syrk(lower, no, 1.0, b, 0.0, c)),
            // Ones on the diagonal and next to nothing beside them: the numbers in `c` neither grow nor
            // vanish.
            Routine::Trmm => run(team, Triangular::trmm(left, lower, no, Diag::Unit, 1.0, a, c)),
            _ => run(team, Triangular::trsm(left, lower, no, Diag::Unit, 1.0, a, c)),
        }
    }
}

fn run<P: Parts, E>(team: Option<&Team>, call: Result<P, E>) {
    let Ok(call) = call else { return };
    match team {
        Some(team) => drop(black_box(on(team, call))),
        None => drop(black_box(call.whole())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_routine_can_be_raced_at_every_step() {
        let team = Team::new(2).unwrap();
        for routine in Routine::ALL {
            let ladder = routine.ladder();
            let mut operands = Operands::new(routine, ladder[ladder.len() - 1]);
            for &n in [ladder[0], ladder[ladder.len() - 1]].iter() {
                operands.call(routine, n, None);
                operands.call(routine, n, Some(&team));
            }
            assert!(team.report().regions > 0, "{}", routine.name());
            let all = [&operands.a, &operands.b, &operands.c];
            assert!(all.iter().all(|of| of.iter().all(|value| value.is_finite())), "{}", routine.name());
        }
    }

    #[test]
    fn a_call_after_a_pause_must_be_longer_by_the_wake_ups_it_waits_for() {
        let wake = Thread::current().costs().remote_wake;
        let sizes = sizes_from(Routine::Dot, (1_000, wake));
        assert_eq!(sizes, CrossoverSizes { warm: 8_000, cold: 64_000 });
        assert_eq!(sizes_from(Routine::Dot, (1_000, wake * 100)).cold, 8_000);
    }
}
