//! LU: factors a dense matrix into a lower and an upper triangle without pivoting. Blocks are contiguous in
//! memory and distributed to the threads in turn (Woo et al. 1995, SPLASH-2 §3; Itzkovitz & Schuster 1999,
//! table 2).
//!
//! For each diagonal block: its owner factors it. Then the blocks below it and to its right are divided by
//! it. Then every block below and right of it is reduced by the product of two of these: the one to its left,
//! in the column of the diagonal block, and the one above it, in the row of the diagonal block. Each element
//! sees the same operations in the same order as in elimination without blocks, so the result has the same
//! bits for any block size and number of threads.
use super::App;
use foregather_dsm::Access;
use foregather_dsm::memory::{Array, Settings, SharedAllocator, Thread};
use foregather_dsm::views::PAGE;
use foregather_machine::{Cause, Error, Fabric, SplitMix};
use std::ops::Range;

/// The matrix, and how it is divided.
///
/// A block is a minipage. Only its owner writes it, until it is final. Only then do others read it, once for
/// each rank. If all `t` threads are ranks and `t` divides the `n` blocks of a row, a thread has whole rows
/// of blocks. Then, for each diagonal block, the `m` blocks from it to the end of its row are read by all
/// other threads that have rows below, `min(t - 1, m - 1)` of them. In all, that is the sum of
/// `m min(t - 1, m - 1)` over `m` from 1 to `n` read faults, or as many prefetches, and no other fault.
/// Barriers: two for each diagonal block and one before the first, so 65 for the paper's input. (The paper
/// counts 577, which is 9 x 64 + 1.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lu {
    /// Rows and columns of the matrix, of 8 bytes an element: a multiple of `block`.
    pub order: usize,
    /// Rows and columns of a block.
    pub block: usize,
    /// Whether the blocks of the pivot's column and row are prefetched while another block is being reduced.
    pub prefetch: bool,
    /// The seed of the numbers in the matrix.
    pub seed: u64,
}

impl Lu {
    /// The paper's input: 1024 x 1024 in blocks of 32 x 32, 8 MiB in all, with its two prefetches. (The paper
    /// gives 4 KB for a block, but 8 KB follow from its total of 8 MB.)
    pub const fn paper() -> Self {
        Self { order: 1024, block: 32, prefetch: true, seed: 1 }
    }

    /// A small input for tests.
    pub const fn small() -> Self {
        Self { order: 128, block: 16, prefetch: true, seed: 1 }
    }

    /// Returns the number of blocks in a row; 0 if blocks are empty.
    fn blocks(&self) -> usize {
        self.order.checked_div(self.block).unwrap_or(0)
    }

    /// Returns the owner of a block, among `all` threads.
    fn owner(&self, row: usize, column: usize, all: usize) -> usize {
        (row + column * self.blocks()) % all
    }

    /// Returns where the elements of a block are in the array, which has block after block, each row by row.
    fn elements(&self, row: usize, column: usize) -> Range<usize> {
        let size = self.block * self.block;
        let nth = row * self.blocks() + column;
        nth * size..(nth + 1) * size
    }

    /// Returns an element of the matrix: at most 1 off the diagonal. A diagonal element is larger than the
    /// sum of all others in its row or column, so without pivoting no element grows to more than twice the
    /// largest (Wilkinson 1961).
    fn entry(&self, row: usize, column: usize) -> f64 {
        let mut numbers = SplitMix(SplitMix::mix(self.seed.wrapping_add((row * self.order + column) as u64)));
        if row == column { self.order as f64 } else { numbers.unit() }
    }

    /// Returns the matrix, row by row.
    fn matrix(&self) -> Vec<f64> {
        (0..self.order).flat_map(|row| (0..self.order).map(move |column| self.entry(row, column))).collect()
    }

    /// Runs the sequential program, without blocks. Returns both triangles in one matrix, row by row, without
    /// the lower one's diagonal of ones.
    pub fn sequential(&self) -> Vec<f64> {
        let (mut matrix, n) = (self.matrix(), self.order);
        for k in 0..n {
            let (above, below) = matrix.split_at_mut((k + 1) * n);
            let pivot = &above[k * n..];
            for row in below.chunks_exact_mut(n) {
                row[k] /= pivot[k];
                let factor = row[k];
                for (element, pivot) in row[k + 1..].iter_mut().zip(&pivot[k + 1..]) {
                    *element -= factor * pivot;
                }
            }
        }
        matrix
    }
}

/// The operations on a block of `n` rows of `n` elements.
mod kernel {
    /// Subtracts a multiple of one row of elements from another.
    fn subtract(from: &mut [f64], factor: f64, row: &[f64]) {
        for (element, other) in from.iter_mut().zip(row) {
            *element -= factor * other;
        }
    }

    /// Factors a block into its two triangles.
    pub(super) fn factor(n: usize, block: &mut [f64]) {
        for k in 0..n {
            let (above, below) = block.split_at_mut((k + 1) * n);
            let pivot = &above[k * n..];
            for row in below.chunks_exact_mut(n) {
                row[k] /= pivot[k];
                let factor = row[k];
                subtract(&mut row[k + 1..], factor, &pivot[k + 1..]);
            }
        }
    }

    /// Divides a block below the diagonal block by the upper triangle of the diagonal block.
    pub(super) fn divide_column(n: usize, block: &mut [f64], diagonal: &[f64]) {
        for row in block.chunks_exact_mut(n) {
            for k in 0..n {
                row[k] /= diagonal[k * n + k];
                let factor = row[k];
                subtract(&mut row[k + 1..], factor, &diagonal[k * n + k + 1..(k + 1) * n]);
            }
        }
    }

    /// Divides a block right of the diagonal block by the lower triangle of the diagonal block.
    pub(super) fn divide_row(n: usize, block: &mut [f64], diagonal: &[f64]) {
        for k in 0..n {
            let (above, below) = block.split_at_mut((k + 1) * n);
            for (row, at) in below.chunks_exact_mut(n).zip(k + 1..) {
                subtract(row, diagonal[at * n + k], &above[k * n..]);
            }
        }
    }

    /// Subtracts from a block the product of the block to its left, in the pivot's column, and the block
    /// above it, in the pivot's row.
    pub(super) fn reduce(n: usize, block: &mut [f64], left: &[f64], above: &[f64]) {
        for (row, factors) in block.chunks_exact_mut(n).zip(left.chunks_exact(n)) {
            for (factor, other) in factors.iter().zip(above.chunks_exact(n)) {
                subtract(row, *factor, other);
            }
        }
    }
}

/// A thread, and the matrix that it works on.
struct Work<'w, 'd, F: Fabric> {
    lu: &'w Lu,
    thread: &'w Thread<'d, F>,
    shared: &'w Array<f64>,
}

impl<F: Fabric> Work<'_, '_, F> {
    fn owns(&self, row: usize, column: usize) -> bool {
        self.lu.owner(row, column, self.thread.all() as usize) == self.thread.number() as usize
    }

    fn buffer(&self) -> Vec<f64> {
        vec![0.0; self.lu.block * self.lu.block]
    }

    fn load(&self, row: usize, column: usize, into: &mut [f64]) {
        self.shared.load(self.lu.elements(row, column).start, into);
    }

    /// Loads a block, changes it, and stores it.
    fn change(&self, row: usize, column: usize, buffer: &mut [f64], act: impl FnOnce(&mut [f64])) {
        self.load(row, column, buffer);
        act(buffer);
        self.shared.store(self.lu.elements(row, column).start, buffer);
    }

    fn fill(&self) {
        let (n, mut buffer) = (self.lu.block, self.buffer());
        for (row, column) in self.own() {
            for (at, element) in buffer.iter_mut().enumerate() {
                *element = self.lu.entry(row * n + at / n, column * n + at % n);
            }
            self.shared.store(self.lu.elements(row, column).start, &buffer);
        }
    }

    /// Returns its blocks, row by row.
    fn own(&self) -> impl Iterator<Item = (usize, usize)> {
        let all = 0..self.lu.blocks();
        all.clone()
            .flat_map(move |row| all.clone().map(move |column| (row, column)))
            .filter(|&(row, column)| self.owns(row, column))
    }

    /// Divides this thread's blocks below and right of diagonal block `k` by it.
    fn divide(&self, k: usize) {
        let (n, mut diagonal, mut buffer) = (self.lu.block, self.buffer(), self.buffer());
        let beyond = k + 1..self.lu.blocks();
        if beyond.clone().any(|at| self.owns(at, k) || self.owns(k, at)) {
            self.load(k, k, &mut diagonal);
        }
        for at in beyond {
            if self.owns(at, k) {
                self.change(at, k, &mut buffer, |block| kernel::divide_column(n, block, &diagonal));
            }
            if self.owns(k, at) {
                self.change(k, at, &mut buffer, |block| kernel::divide_row(n, block, &diagonal));
            }
        }
    }

    /// Reduces this thread's blocks below and right of diagonal block `k`. It goes column by column, so that
    /// each block of the pivot's row is loaded once.
    fn reduce(&self, k: usize) -> Result<(), Error> {
        let (mut left, mut above, mut buffer) = (self.buffer(), self.buffer(), self.buffer());
        let beyond = k + 1..self.lu.blocks();
        let mine = |column: usize| beyond.clone().filter(move |&row| self.owns(row, column)).peekable();
        let mut columns = beyond.clone().filter(|&column| mine(column).peek().is_some()).peekable();
        while let Some(column) = columns.next() {
            if let Some(&next) = columns.peek() {
                self.prefetch(k, next)?;
            }
            self.load(k, column, &mut above);
            let mut rows = mine(column);
            while let Some(row) = rows.next() {
                if let Some(&next) = rows.peek() {
                    self.prefetch(next, k)?;
                }
                self.load(row, k, &mut left);
                self.change(row, column, &mut buffer, |block| kernel::reduce(self.lu.block, block, &left, &above));
            }
        }
        Ok(())
    }

    fn prefetch(&self, row: usize, column: usize) -> Result<(), Error> {
        if self.lu.prefetch {
            self.thread.prefetch(self.shared, self.lu.elements(row, column), Access::Read)?;
        }
        Ok(())
    }
}

impl App for Lu {
    type Shared = Array<f64>;
    /// The blocks of a thread, row by row.
    type Output = Vec<f64>;

    const NAME: &'static str = "lu";

    fn settings(&self) -> Settings {
        let block = (self.block * self.block * size_of::<f64>()).next_multiple_of(PAGE);
        Settings { bytes: self.blocks() * self.blocks() * block + PAGE, views: 1, ..Settings::default() }
    }

    fn layout(&self, layout: &mut SharedAllocator) -> Result<Self::Shared, Error> {
        if self.block == 0 || self.order == 0 || !self.order.is_multiple_of(self.block) {
            return Err(
                Cause::Setting { what: "the matrix of LU", needs: "an order that is a multiple of that of a block" }.into()
            );
        }
        layout.array(self.order * self.order, self.block * self.block)
    }

    fn run<F: Fabric>(&self, thread: &Thread<'_, F>, shared: &Self::Shared) -> Result<Self::Output, Error> {
        let work = Work { lu: self, thread, shared };
        work.fill();
        thread.start_clock()?;
        let mut buffer = work.buffer();
        for k in 0..self.blocks() {
            if work.owns(k, k) {
                work.change(k, k, &mut buffer, |block| kernel::factor(self.block, block));
            }
            thread.barrier()?;
            work.divide(k);
            thread.barrier()?;
            // No barrier is needed after this: the thread that reduces a block also factors or divides it.
            work.reduce(k)?;
        }
        let mut output = Vec::new();
        for (row, column) in work.own() {
            work.load(row, column, &mut buffer);
            output.extend_from_slice(&buffer);
        }
        Ok(output)
    }

    fn validate(&self, outputs: &[Self::Output]) -> Result<String, String> {
        let matrix = self.assembled(outputs)?;
        let solution = self.solved(&matrix);
        let off = solution.iter().map(|x| (x - 1.0).abs()).max_by(f64::total_cmp).unwrap_or(f64::NAN);
        // The bound of SPLASH-2. `total_cmp` puts a NaN above all numbers, so `off` is NaN if any element is.
        if off > 1e-5 || off.is_nan() {
            return Err(format!("the solution for the sums of the rows should be all ones, and is off by {off:e}"));
        }
        // Each element is rounded at most once for each row of the matrix, by at most half an epsilon
        // relative to its sum.
        let (error, most) = (self.backward_error(&matrix), self.order as f64 * f64::EPSILON);
        if error > most || error.is_nan() {
            return Err(format!("|A - LU| / |A| is {error:e}, more than {most:e}"));
        }
        let right = self.sequential();
        if let Some(at) = (0..matrix.len()).find(|&at| matrix[at].to_bits() != right[at].to_bits()) {
            let (row, column) = (at / self.order, at % self.order);
            return Err(format!("row {row}, column {column}: {:e}, and {:e} in the sequential program", matrix[at], right[at]));
        }
        let count = matrix.len();
        Ok(format!(
            "all {count} elements equal the sequential program's to the bit; |A - LU| / |A| is {error:.1e}; the solution is off by {off:.1e}"
        ))
    }
}

/// The steps of [`App::validate`].
impl Lu {
    /// Joins all threads' blocks into one matrix, row by row.
    fn assembled(&self, outputs: &[Vec<f64>]) -> Result<Vec<f64>, String> {
        let (n, size, blocks) = (self.block, self.block * self.block, self.blocks());
        let mut matrix = vec![0.0; self.order * self.order];
        let mut rest: Vec<_> = outputs.iter().map(|output| output.chunks(size)).collect();
        for nth in 0..blocks * blocks {
            let (row, column) = (nth / blocks, nth % blocks);
            let owner = self.owner(row, column, outputs.len());
            let block = rest[owner].next().filter(|block| block.len() == size);
            let block = block.ok_or_else(|| format!("thread {owner} did not give block {row}, {column}"))?;
            for (line, elements) in block.chunks(n).enumerate() {
                let at = (row * n + line) * self.order + column * n;
                matrix[at..at + n].copy_from_slice(elements);
            }
        }
        Ok(matrix)
    }

    /// Solves for the right-hand side of row sums. Without rounding, the solution would be all ones.
    fn solved(&self, triangles: &[f64]) -> Vec<f64> {
        let n = self.order;
        let mut x: Vec<f64> = (0..n).map(|row| (0..n).map(|column| self.entry(row, column)).sum()).collect();
        let times = |row: usize, range: Range<usize>, x: &[f64]| -> f64 { range.map(|at| triangles[row * n + at] * x[at]).sum() };
        for row in 0..n {
            x[row] -= times(row, 0..row, &x);
        }
        for row in (0..n).rev() {
            x[row] = (x[row] - times(row, row + 1..n, &x)) / triangles[row * n + row];
        }
        x
    }

    /// Returns the distance between the product of the triangles and the matrix, relative to the matrix, in
    /// the Frobenius norm.
    ///
    /// The product is summed from 0. Subtracting term by term from the matrix would repeat the roundings of
    /// the elimination, and hide the error.
    fn backward_error(&self, triangles: &[f64]) -> f64 {
        let n = self.order;
        let (mut off, mut all) = (0.0, 0.0);
        for row in 0..n {
            let mut product = vec![0.0; n];
            for at in 0..=row {
                let factor = if at == row { 1.0 } else { triangles[row * n + at] };
                let upper = &triangles[at * n..(at + 1) * n];
                for (element, other) in product[at..].iter_mut().zip(&upper[at..]) {
                    *element += factor * other;
                }
            }
            for (column, product) in product.iter().enumerate() {
                let element = self.entry(row, column);
                off += (element - product).powi(2);
                all += element.powi(2);
            }
        }
        (off / all).sqrt()
    }
}
