//! Where the elements of an array lie: the cells that a routine may use, of all those between its first and
//! its last.
use super::call::{Argument, ArrayPlace, BlasCall, Face};
use super::table::{ArrayShape, NumberType, SlotKind};

/// An array of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct OperandLayout {
    /// The position of its argument.
    pub(super) slot: usize,
    pub(super) written: bool,
    pub(super) number: NumberType,
    pub(super) place: ArrayPlace,
    shape: ArrayShape,
    /// Rows and columns as they lie in memory: by columns.
    rows: usize,
    cols: usize,
    /// Whether rows and columns in memory are the caller's columns and rows.
    turned: bool,
    upper: bool,
    unit: bool,
    below: usize,
    above: usize,
    step: i64,
    /// The least leading dimension.
    pub(super) least: i64,
}

/// An element of an array: its cell, counted from the lowest address, and its row and column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ArrayElement {
    pub(super) cell: usize,
    pub(super) row: usize,
    pub(super) col: usize,
}

impl BlasCall {
    /// The arrays of the call.
    pub(super) fn layouts(&self) -> Vec<OperandLayout> {
        self.signature.arrays().filter_map(|slot| self.layout(slot)).collect()
    }

    fn layout(&self, slot: usize) -> Option<OperandLayout> {
        let SlotKind::Array { shape, dimensions, written, real } = &self.signature.slots[slot].kind else { return None };
        let place = if let Argument::Array(place) = self.arguments[slot] { place } else { ArrayPlace::Last };
        let turned = self.face == Face::Rows;
        let rows = dimensions.first().map_or(0, |dimension| self.dimension(dimension));
        let cols = dimensions.get(1).map_or(rows, |dimension| self.dimension(dimension));
        let (rows, cols) = if turned { (cols, rows) } else { (rows, cols) };
        let (below, above) = match shape {
            ArrayShape::TriangleBand => (self.size("k"), self.size("k")),
            _ if turned => (self.size("ku"), self.size("kl")),
            _ => (self.size("kl"), self.size("ku")),
        };
        let next = self.signature.slots.get(slot + 1).map_or(0, |slot| self.int(&slot.name));
        let least = match shape {
            ArrayShape::General | ArrayShape::Triangle => rows.max(1),
            ArrayShape::Band => below + above + 1,
            ArrayShape::TriangleBand => below + 1,
            _ => 0,
        };
        let step = if least > 0 { next.max(least as i64) } else { next };
        let number = NumberType { complex: self.signature.number.complex && !real, ..self.signature.number };
        let upper = (self.option("uplo") == b'U') != turned;
        let unit = self.option("diag") == b'U';
        let (shape, written, least) = (*shape, *written, least as i64);
        Some(OperandLayout { slot, written, number, place, shape, rows, cols, turned, upper, unit, below, above, step, least })
    }
}

impl OperandLayout {
    /// The number of cells from the first to the last element.
    pub(super) fn cells(&self) -> usize {
        let Self { shape, rows, cols, step, .. } = *self;
        if rows == 0 || cols == 0 {
            return 0;
        }
        let lines = |length: usize| (cols - 1) * step as usize + length;
        match shape {
            ArrayShape::Vector => (rows - 1) * step.unsigned_abs() as usize + 1,
            ArrayShape::General | ArrayShape::Triangle => lines(rows),
            ArrayShape::Band => lines(self.below + self.above + 1),
            ArrayShape::TriangleBand => lines(self.below + 1),
            ArrayShape::Packed => rows * (rows + 1) / 2,
            ArrayShape::Few => rows,
        }
    }

    /// The elements that the routine may read or write.
    pub(super) fn elements(&self) -> Vec<ArrayElement> {
        let mut found = Vec::new();
        if matches!(self.shape, ArrayShape::Vector | ArrayShape::Few) {
            let step = if self.shape == ArrayShape::Few { 1 } else { self.step };
            let back = if step < 0 { (self.rows.saturating_sub(1)) as i64 * -step } else { 0 };
            found.extend((0..self.rows).map(|row| ArrayElement { cell: (back + row as i64 * step) as usize, row, col: 0 }));
            return found;
        }
        for col in 0..self.cols {
            let rows = match self.shape {
                ArrayShape::General => 0..self.rows,
                ArrayShape::Band => col.saturating_sub(self.above)..self.rows.min(col + self.below + 1),
                _ if self.upper => {
                    let from = if self.shape == ArrayShape::TriangleBand { col.saturating_sub(self.above) } else { 0 };
                    from..col + 1
                }
                ArrayShape::TriangleBand => col..self.rows.min(col + self.below + 1),
                _ => col..self.rows,
            };
            for row in rows.filter(|&row| !(self.unit && row == col && self.shape != ArrayShape::General)) {
                let (row_, col_) = if self.turned { (col, row) } else { (row, col) };
                found.push(ArrayElement { cell: self.cell(row, col), row: row_, col: col_ });
            }
        }
        found
    }

    fn cell(&self, row: usize, col: usize) -> usize {
        let line = || col * self.step as usize;
        match self.shape {
            ArrayShape::Band => self.above + row - col + line(),
            ArrayShape::TriangleBand if self.upper => self.above + row - col + line(),
            ArrayShape::TriangleBand => row - col + line(),
            ArrayShape::Packed if self.upper => row + col * (col + 1) / 2,
            ArrayShape::Packed => row + col * (2 * self.rows - col - 1) / 2,
            _ => row + line(),
        }
    }

    /// The number of elements of a vector, or of lines of a matrix.
    pub(super) fn lines(&self) -> usize {
        if self.shape == ArrayShape::Vector { self.rows } else { self.cols }
    }

    /// The order of a square matrix, one at least.
    pub(super) fn order(&self) -> usize {
        self.rows.max(1)
    }

    /// Whether it is one triangle of a matrix.
    pub(super) fn is_triangle(&self) -> bool {
        matches!(self.shape, ArrayShape::Triangle | ArrayShape::TriangleBand | ArrayShape::Packed)
    }
}
