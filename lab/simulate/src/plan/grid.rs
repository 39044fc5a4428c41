//! All combinations of choices, or those that were drawn, by number: the last axis varies fastest.
use super::sweep::{AxisValue, SweptParameter};
use super::tree::{Located, Mistake, ParseResult};

/// The swept names of a point with its choices, in the order of the plan.
pub type Labels = Vec<(String, String)>;

/// How many combinations there are if axis `i` has `sizes[i]` choices.
pub(super) fn product(sizes: &[usize]) -> usize {
    sizes.iter().fold(1_usize, |product, size| product.saturating_mul(*size))
}

/// The choice on each axis in combination `number`.
pub(super) fn combination(sizes: &[usize], mut number: usize) -> Vec<usize> {
    let mut numbers: Vec<usize> = Vec::new();
    for size in sizes.iter().rev() {
        numbers.push(number % size);
        number /= size;
    }
    numbers.reverse();
    numbers
}

/// The axes of a sweep; without any there is one point.
pub(super) struct SweepGrid {
    pub(super) axes: Vec<SweptParameter>,
    /// The numbers of the combinations that were drawn, in their order; `None`: all are there.
    pub(super) drawn: Option<Vec<usize>>,
}

impl SweepGrid {
    /// How many points there are.
    pub(super) fn points(&self) -> usize {
        self.drawn.as_ref().map_or_else(|| product(&self.sizes()), Vec::len)
    }

    fn sizes(&self) -> Vec<usize> {
        self.axes.iter().map(|axis| axis.choices.len()).collect()
    }

    /// The number of the choice on each axis.
    fn numbers(&self, point: usize) -> Vec<usize> {
        combination(&self.sizes(), self.drawn.as_ref().map_or(point, |drawn| drawn[point]))
    }

    fn choices(&self, point: usize) -> impl Iterator<Item = (&SweptParameter, &AxisValue)> {
        self.axes.iter().zip(self.numbers(point)).map(|(axis, number)| (axis, &axis.choices[number]))
    }

    /// The point that differs from this one in its choice on `axis` only; of a draw, `axis` must be the one
    /// that is whole.
    pub(super) fn beside(&self, point: usize, axis: usize, choice: usize) -> usize {
        let mut numbers = self.numbers(point);
        numbers[axis] = choice;
        let of_all = numbers.iter().zip(&self.axes).fold(0, |point, (number, axis)| point * axis.choices.len() + number);
        self.drawn.as_ref().map_or(of_all, |drawn| drawn.partition_point(|&point| point < of_all))
    }

    /// The names of the choices at a point.
    pub(super) fn labels(&self, point: usize) -> Labels {
        self.choices(point).map(|(axis, choice)| (axis.name.clone(), choice.label.clone())).collect()
    }

    /// The names of the choices at a point, each choice called by its group if it has one.
    pub(super) fn group(&self, point: usize) -> Labels {
        let name = |choice: &AxisValue| choice.group.clone().unwrap_or_else(|| choice.label.clone());
        self.choices(point).map(|(axis, choice)| (axis.name.clone(), name(choice))).collect()
    }

    /// The plan with the choices of a point made.
    pub(super) fn at(&self, root: &Located, point: usize) -> ParseResult<Located> {
        let mut root = root.clone();
        self.choices(point).try_for_each(|(_, choice)| choice.put_into(&mut root))?;
        Ok(root)
    }

    /// Adds the point at which a mistake was met, unless that is the first one.
    pub(super) fn met_at(&self, point: usize, mistake: Mistake) -> Mistake {
        if point == 0 {
            return mistake;
        }
        let choices: Vec<_> = self.labels(point).into_iter().map(|(name, label)| format!("{name} = {label}")).collect();
        Mistake { what: format!("{} (at {})", mistake.what, choices.join(", ")), ..mistake }
    }
}
