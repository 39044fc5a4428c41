//! SOR is the sequential program, whichever thread has which rows.

use crate::common::{backends, prove};
use foregather_bench::apps::App;
use foregather_bench::apps::sor::Sor;

#[test]
fn any_number_of_ranks_and_threads_gives_the_sequential_grid() {
    for backend in backends() {
        for (ranks, threads) in [(1, 1), (2, 1), (3, 1), (4, 1), (8, 1), (2, 2)] {
            let proved = prove(&Sor::small(), ranks, threads, backend);
            assert!(proved.is_ok(), "{backend:?}, {ranks} ranks of {threads} threads: {proved:?}");
        }
    }
}

#[test]
fn rows_of_odd_length_and_threads_without_rows_are_right_too() {
    for (rows, columns) in [(3, 3), (5, 1_101), (7, 11)] {
        let proved = prove(&Sor { rows, columns, iterations: 4 }, 8, 1, backends()[0]);
        assert!(proved.is_ok(), "{rows} x {columns}: {proved:?}");
    }
}

#[test]
fn a_grid_without_an_inside_is_refused() {
    let refused = std::panic::catch_unwind(|| prove(&Sor { rows: 2, ..Sor::small() }, 1, 1, backends()[0]));
    assert!(refused.is_err());
}

#[test]
fn many_iterations_reach_the_harmonic_solution() {
    let sor = Sor { rows: 20, columns: 16, iterations: 600 };
    let (grid, residuals) = sor.sequential();
    for (at, cell) in grid.iter().enumerate() {
        let solution = (at % 16) as f32 / 15.0;
        assert!((cell - solution).abs() < 1e-5, "cell {at}: {cell}, not {solution}");
    }
    assert!(residuals[600] < 1e-3 && residuals[0] > 1.0, "{residuals:?}");
    assert!(sor.validate(&[grid]).is_ok(), "at the floor of rounding the residual need not fall");
}

#[test]
fn a_stale_row_of_a_neighbour_is_refused() {
    let sor = Sor::small();
    let (before, _) = Sor { iterations: sor.iterations - 1, ..sor }.sequential();
    let (mut grid, _) = sor.sequential();
    let row = 100 * sor.columns..101 * sor.columns;
    grid[row.clone()].copy_from_slice(&before[row]);
    let why = sor.validate(&[grid]).unwrap_err();
    assert!(why.contains("row 100") && why.contains("sequential"), "{why}");
}

#[test]
fn one_wrong_bit_is_refused_and_so_is_a_residual_that_rises_and_a_missing_row() {
    let sor = Sor::small();
    let (right, _) = sor.sequential();
    assert!(sor.validate(&[right[..640].to_vec(), right[640..].to_vec()]).is_ok());

    let mut bit = right.clone();
    bit[70] = f32::from_bits(bit[70].to_bits() ^ 1);
    assert!(sor.validate(&[bit]).unwrap_err().contains("row 1, column 6"));

    let mut wild = right.clone();
    wild[70] = 1e6;
    assert!(sor.validate(&[wild]).unwrap_err().contains("the residual does not fall"));

    assert!(sor.validate(&[right[64..].to_vec()]).unwrap_err().contains("cells"));
}
