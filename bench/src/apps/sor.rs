//! SOR: red-black relaxation of a grid by the mean of the four neighbours, the simplest program with
//! neighbours: each thread has a block of rows, and needs from the others only the rows before and after it
//! (Itzkovitz & Schuster 1999, table 2).
//!
//! The problem is Laplace's with a known solution: the border holds `column / last column`, which is
//! harmonic, so the interior, 0 at first, tends to it. The factor of over-relaxation is 1: the plain mean.
//! Then the residual cannot be negative anywhere, and each update moves a quarter of a cell's residual to
//! each neighbour and over the border: its sum always falls.
use super::App;
use foregather_dsm::memory::{Array, Settings, SharedAllocator, Thread};
use foregather_dsm::views::{GRAIN, PAGE};
use foregather_machine::{Cause, Error, Fabric};
use std::ops::Range;

/// The grid, and how long it is relaxed.
///
/// A row is a minipage, and both colours of it are: while its owner writes one, the neighbour reads the
/// other. So in each half iteration a row beside a border between two ranks costs at most one read fault
/// there and one upgrade here: in a whole one at most 8 faults for each such border, however large the grid.
/// Barriers: two an iteration, and one before the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sor {
    /// Rows of the grid, with the two of the border; at least 3.
    pub rows: usize,
    /// Cells of a row, with the two of the border; at least 3. Of 4 bytes each.
    pub columns: usize,
    /// How often all cells within the border are relaxed.
    pub iterations: usize,
}

impl Sor {
    /// The paper's: 32768 rows of 256 bytes, 8 MiB in all. Its 21 barriers are those of 10 iterations.
    pub const fn paper() -> Self {
        Self { rows: 32_768, columns: 64, iterations: 10 }
    }

    /// For tests.
    pub const fn small() -> Self {
        Self { rows: 256, columns: 64, iterations: 10 }
    }

    /// A cell's first value: the solution on the border, 0 within.
    fn start(&self, row: usize, column: usize) -> f32 {
        let inside = row > 0 && row + 1 < self.rows && column > 0 && column + 1 < self.columns;
        if inside { 0.0 } else { column as f32 / (self.columns - 1) as f32 }
    }

    /// The first values, row by row.
    fn started(&self, rows: Range<usize>) -> Vec<f32> {
        rows.flat_map(|row| (0..self.columns).map(move |column| self.start(row, column))).collect()
    }

    /// The sequential program: the grid after all iterations, row by row, and the residual before the first
    /// and after each.
    pub fn sequential(&self) -> (Vec<f32>, Vec<f64>) {
        let mut grid = self.started(0..self.rows);
        let mut residuals = vec![self.residual(&grid)];
        let width = self.columns;
        for _ in 0..self.iterations {
            for colour in [0, 1] {
                for row in 1..self.rows - 1 {
                    for column in (1..width - 1).filter(|column| (row + column) % 2 == colour) {
                        let at = row * width + column;
                        grid[at] = 0.25 * ((grid[at - width] + grid[at + width]) + (grid[at - 1] + grid[at + 1]));
                    }
                }
            }
            residuals.push(self.residual(&grid));
        }
        (grid, residuals)
    }

    /// How far a grid is from the mean of its neighbours: the sum over all cells within the border.
    fn residual(&self, grid: &[f32]) -> f64 {
        let mut sum = 0.0;
        for rows in grid.windows(3 * self.columns).step_by(self.columns) {
            let (above, rest) = rows.split_at(self.columns);
            let (here, below) = rest.split_at(self.columns);
            for column in 1..self.columns - 1 {
                let beside = f64::from(here[column - 1]) + f64::from(here[column + 1]);
                let across = f64::from(above[column]) + f64::from(below[column]);
                sum += (beside + across - 4.0 * f64::from(here[column])).abs();
            }
        }
        sum
    }

    /// The number of even columns: their cells come first in a row of the shared grid, followed by those of
    /// the odd columns. So the cells that a half iteration reads lie together, and those it writes, and no
    /// cell is touched by two threads.
    const fn evens(&self) -> usize {
        self.columns.div_ceil(2)
    }

    /// The place of the cells of a row's even (0) or odd (1) columns.
    const fn half(&self, row: usize, parity: usize) -> Range<usize> {
        let (start, evens) = (row * self.columns, self.evens());
        if parity == 0 { start..start + evens } else { start + evens..start + self.columns }
    }

    /// Reorders cells from columns to the shared grid.
    fn split_by_parity(&self, rows: &[f32]) -> Vec<f32> {
        let row = |row: &[f32]| [0, 1].map(|parity| row.iter().skip(parity).step_by(2).copied().collect::<Vec<_>>()).concat();
        rows.chunks_exact(self.columns).flat_map(row).collect()
    }

    /// Reorders cells from the shared grid to columns.
    fn joined_columns(&self, rows: &[f32]) -> Vec<f32> {
        let evens = self.evens();
        let cell = |row: &[f32], column: usize| row[column % 2 * evens + column / 2];
        rows.chunks_exact(self.columns).flat_map(|row| (0..self.columns).map(move |column| cell(row, column))).collect()
    }

    /// Relaxes the cells of one colour in a thread's rows. It reads cells of the other colour, which no
    /// thread writes now.
    fn relax(&self, grid: &Array<f32>, mine: &Range<usize>, colour: usize) {
        let evens = self.evens();
        let (mut above, mut beside) = (vec![0.0; evens], vec![0.0; evens]);
        let (mut below, mut cells) = (vec![0.0; evens], vec![0.0; evens]);
        for row in mine.start.max(1)..mine.end.min(self.rows - 1) {
            let parity = (row + colour) % 2;
            let (own, other) = (self.half(row, parity), self.half(row, 1 - parity));
            let (count, from) = (own.len(), own.start);
            grid.load(self.half(row - 1, parity).start, &mut above[..count]);
            grid.load(self.half(row + 1, parity).start, &mut below[..count]);
            grid.load(other.start, &mut beside[..other.len()]);
            // Column 2 i + parity has its neighbours at i - 1 + parity and i + parity of the other half. The
            // border stays.
            let within = 1 - parity..(self.columns - 1 - parity).div_ceil(2);
            for at in within.clone() {
                cells[at] = 0.25 * ((above[at] + below[at]) + (beside[at + parity - 1] + beside[at + parity]));
            }
            grid.store(from + within.start, &cells[within]);
        }
    }
}

impl App for Sor {
    type Shared = Array<f32>;
    /// Its rows, in order.
    type Output = Vec<f32>;

    const NAME: &'static str = "sor";

    fn settings(&self) -> Settings {
        let row = (self.columns.max(1) * size_of::<f32>()).next_multiple_of(GRAIN);
        let views = (PAGE / row).clamp(1, 32);
        let pages = self.rows.div_ceil(views) * row.div_ceil(PAGE) + 1;
        Settings { bytes: pages * PAGE, views: views as u32, ..Settings::default() }
    }

    fn layout(&self, layout: &mut SharedAllocator) -> Result<Self::Shared, Error> {
        if self.rows < 3 || self.columns < 3 {
            return Err(Cause::Setting {
                what: "the grid of SOR",
                needs: "at least 3 rows of 3 cells: a border, and one within",
            }
            .into());
        }
        layout.array(self.rows * self.columns, self.columns)
    }

    fn run<F: Fabric>(&self, thread: &Thread<'_, F>, grid: &Self::Shared) -> Result<Self::Output, Error> {
        let mine = thread.share(self.rows);
        grid.store(mine.start * self.columns, &self.split_by_parity(&self.started(mine.clone())));
        thread.barrier()?;
        for iteration in 0..self.iterations {
            self.relax(grid, &mine, 0);
            thread.barrier()?;
            self.relax(grid, &mine, 1);
            // The first iteration is not measured: it fetches the rows for the first time.
            if iteration == 0 { thread.start_clock()? } else { thread.barrier()? }
        }
        let mut rows = vec![0.0; mine.len() * self.columns];
        grid.load(mine.start * self.columns, &mut rows);
        Ok(self.joined_columns(&rows))
    }

    fn validate(&self, outputs: &[Self::Output]) -> Result<String, String> {
        let grid = outputs.concat();
        if grid.len() != self.rows * self.columns {
            return Err(format!("{} threads gave {} cells of {} x {}", outputs.len(), grid.len(), self.rows, self.columns));
        }
        let (right, mut residuals) = self.sequential();
        // The last residual is that of the computed grid, and not of the one expected.
        *residuals.last_mut().expect("there is one before the first iteration") = self.residual(&grid);
        // Where only rounding is left, it may go either way: by half a unit in the last place of five numbers
        // up to 1, in each cell.
        let floor = grid.len() as f64 * 4.0 * f64::from(f32::EPSILON);
        if let Some(at) = (1..residuals.len()).find(|&at| residuals[at] >= residuals[at - 1] && residuals[at] > floor) {
            return Err(format!("iteration {at}: the residual does not fall, {} after {}", residuals[at], residuals[at - 1]));
        }
        if let Some(at) = (0..grid.len()).find(|&at| grid[at].to_bits() != right[at].to_bits()) {
            let (row, column) = (at / self.columns, at % self.columns);
            return Err(format!("row {row}, column {column}: {:e}, and {:e} in the sequential program", grid[at], right[at]));
        }
        let (first, last) = (residuals[0], residuals[residuals.len() - 1]);
        Ok(format!(
            "all {} cells equal the sequential program's to the bit; the residual falls from {first:.4} to {last:.4}",
            grid.len()
        ))
    }
}
