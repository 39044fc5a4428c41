//! Judges modified rotations by what they do, where the reference's matrix is wrong.
//!
//! LAPACK 3.11's `?rotmg` sets h21 and h12 to -1 and 1 whenever it rescales a matrix that it has rescaled
//! before, so that this matrix no longer turns the vector.
use super::call::BlasCall;
use super::contents::Operand;

/// A modified rotation with a full matrix (flag -1), as a library left it.
struct Rotation {
    before: [f64; 2],
    x_after: f64,
    /// h11, h21, h12, h22.
    matrix: [f64; 4],
}

impl Rotation {
    /// Reads what a call of `?rotmg` left in its arrays; nothing if the matrix is not full.
    fn read(call: &BlasCall, operands: &[Operand], after: &[Vec<u8>]) -> Option<Self> {
        let array = |name: &str| operands.iter().position(|operand| call.signature.slots[operand.layout.slot].name == name);
        let value = |at: usize, bytes: &[u8], row: usize| operands[at].value(&operands[at].elements[row], bytes)[0];
        let (x1, param) = (array("x1")?, array("param")?);
        let matrix = [1, 2, 3, 4].map(|row| value(param, &after[param], row));
        let is_full = value(param, &after[param], 0) == -1.0;
        let before = [value(x1, &operands[x1].bytes, 0), call.scalar("y1")[0]];
        is_full.then(|| Self { before, x_after: value(x1, &after[x1], 0), matrix })
    }

    /// Returns whether the matrix turns the vector onto the first axis, to the length that was returned.
    fn turns(&self, epsilon: f64) -> bool {
        let ([x, y], [h11, h21, h12, h22]) = (self.before, self.matrix);
        let is_equal = |p: f64, q: f64, wanted: f64| (p + q - wanted).abs() <= 64.0 * epsilon * (p.abs() + q.abs());
        is_equal(h11 * x, h12 * y, self.x_after) && is_equal(h21 * x, h22 * y, 0.0)
    }
}

/// Returns whether our matrix turns the vector, and the reference's does not.
pub(super) fn only_ours_turns(call: &BlasCall, operands: &[Operand], ours: &[Vec<u8>], theirs: &[Vec<u8>]) -> bool {
    let epsilon = call.signature.number.epsilon();
    let [ours, theirs] = [ours, theirs].map(|after| Rotation::read(call, operands, after));
    ours.zip(theirs).is_some_and(|(ours, theirs)| ours.turns(epsilon) && !theirs.turns(epsilon))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The arrays after a rotation that keeps `d1` and `d2`.
    fn left(operands: &[Operand], x_after: f64, param: [f64; 5]) -> Vec<Vec<u8>> {
        let written = |operand: &Operand| {
            let mut bytes = operand.bytes.clone();
            for (row, element) in operand.elements.iter().enumerate() {
                let value = if operand.elements.len() == 5 { param[row] } else { x_after };
                bytes[operand.span(element)].copy_from_slice(&value.to_ne_bytes());
            }
            bytes
        };
        operands.iter().map(written).collect()
    }

    #[test]
    fn a_matrix_that_turns_the_vector_is_right_where_the_reference_has_another() {
        let text = "drotmg fortran d1=first d2=first x1=first y1=2.0,0.0 param=first contents=plain seed=3";
        let call = BlasCall::parse(text).unwrap();
        let operands = call.operands();
        let x = operands[2].value(&operands[2].elements[0], &operands[2].bytes)[0];
        let turning = |flag: f64| left(&operands, x + 8.0, [flag, 1.0, -2.0, 4.0, x]);
        let spoilt = left(&operands, x + 8.0, [-1.0, 1.0, -1.0, 1.0, x]);
        let short = left(&operands, x, [-1.0, 1.0, -2.0, 4.0, x]);
        assert!(only_ours_turns(&call, &operands, &turning(-1.0), &spoilt));
        assert!(!only_ours_turns(&call, &operands, &spoilt, &turning(-1.0)));
        assert!(!only_ours_turns(&call, &operands, &short, &spoilt));
        assert!(!only_ours_turns(&call, &operands, &turning(-1.0), &turning(-1.0)));
        assert!(!only_ours_turns(&call, &operands, &turning(0.0), &spoilt));
    }
}
