//! Compares what our library leaves of a call with what the reference leaves.
use super::call::{BlasCall, Contents};
use super::contents::Operand;
use super::library::{AfterCall, Blas, CallMemory};
use super::reference::{ReferenceResult, bounds, expected};
use super::rotation::only_ours_turns;
use super::table::Returned;
use crate::peer_error::PeerError;

/// The libraries, and the memory of calls.
pub(super) struct JudgedLibraries {
    pub(super) ours: Blas,
    pub(super) reference: Blas,
    /// Those that are asked where the standard leaves the answer open.
    pub(super) others: Vec<Blas>,
    pub(super) memory: CallMemory,
    pub(super) others_memory: CallMemory,
}

/// What a comparison has come to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Judgement {
    Same,
    /// The standard leaves the answer open, or the reference is known to be wrong: the text has the answers.
    Open(String),
    Different(String),
}

/// A component of a result.
struct Component {
    what: String,
    theirs: f64,
    ours: f64,
    tolerance: f64,
    /// Whether the same routine on absolute values exceeds the greatest number: then one order of operations
    /// may overflow and another one not.
    may_overflow: bool,
    /// Whether ours is no greater than that result. Where it is, and the reference's is not finite, an
    /// intermediate number of the reference has overflowed: in a complex quotient, say.
    ours_is_bounded: bool,
    /// The numbers that it belongs to, and whether it is the imaginary part.
    theirs_whole: [f64; 2],
    ours_whole: [f64; 2],
    imaginary: bool,
    /// Index of the array and the element's number; of the result if there is none.
    at: Option<(usize, usize)>,
}

/// A number by what it is, where its size does not matter.
fn class(value: f64) -> i32 {
    if value.is_nan() {
        2
    } else if value.is_infinite() {
        if value > 0.0 { 1 } else { -1 }
    } else {
        0
    }
}

impl Component {
    fn agrees(&self) -> bool {
        let (theirs, ours) = (self.theirs, self.ours);
        if theirs.is_finite() && ours.is_finite() {
            // A bound that has overflowed says nothing.
            return !self.tolerance.is_finite() || (theirs - ours).abs() <= self.tolerance;
        }
        class(theirs) == class(ours)
    }
}

impl JudgedLibraries {
    /// Makes the call by both libraries.
    pub(super) fn judge(&mut self, call: &BlasCall) -> Result<Judgement, PeerError> {
        let operands = call.operands();
        let before: Vec<Vec<u8>> = operands.iter().map(|operand| operand.bytes.clone()).collect();
        let ours = self.ours.call(call, &operands, &before, &mut self.memory)?;
        let theirs = expected(&mut self.reference, call, &operands, &mut self.memory)?;
        if let Some(what) = reports(call, &theirs, &ours).or_else(|| outside(call, &operands, &ours)) {
            return Ok(Judgement::Different(what));
        }
        if theirs.position > 0 {
            let changed = operands.iter().zip(&ours.arrays).find(|(operand, after)| operand.bytes != **after);
            return Ok(
                changed.map_or(Judgement::Same, |_| Judgement::Different("an array changed by an illegal call".to_owned()))
            );
        }
        if let Some(what) = exact(call, &theirs.left, &ours) {
            return Ok(Judgement::Different(what));
        }
        let bounds = bounds(&mut self.reference, call, &operands, &theirs.left, &mut self.memory)?;
        let components = components(call, &operands, &theirs.left, &ours, &bounds);
        let disagreeing: Vec<_> = components.into_iter().filter(|component| !component.agrees()).collect();
        let Some(first) = disagreeing.first() else { return Ok(Judgement::Same) };
        let text =
            format!("{}: reference {:e}, ours {:e}, tolerance {:e}", first.what, first.theirs, first.ours, first.tolerance);
        // The numbers of a substitution grow from row to row.
        let solves = call.contents == Contents::Wide && matches!(call.signature.root, "trsv" | "tbsv" | "tpsv" | "trsm");
        let may_be_open = |c: &Component| call.contents == Contents::Special || c.may_overflow || solves;
        let is_open = disagreeing.iter().all(|c| may_be_open(c) && class(c.theirs) != class(c.ours));
        if call.signature.root == "gemmtr" && call.int("k") <= 0 {
            // No text says what an infinite factor of no products gives. The reference has no such routine,
            // and its `gemm` gives one result for each option.
            return Ok(if is_open { Judgement::Open(text) } else { Judgement::Different(text) });
        }
        if call.signature.root == "rotmg" && only_ours_turns(call, &operands, &ours.arrays, &theirs.left.arrays) {
            return Ok(Judgement::Open(text + ", which does not turn the vector"));
        }
        if is_open { self.open(call, &operands, &disagreeing, text) } else { Ok(Judgement::Different(text)) }
    }

    /// Asks the others: where they are here, one of them has to agree with us whether a component is
    /// finite, unless only the reference's is not and ours is within its bound. Which of infinity and NaN
    /// it is else depends on the order of operations.
    fn open(
        &mut self,
        call: &BlasCall,
        operands: &[Operand],
        of: &[Component],
        mut text: String,
    ) -> Result<Judgement, PeerError> {
        // OpenBLAS's kernels read an array's next elements ahead, which with a huge increment is beyond all
        // memory.
        if self.others.is_empty() || call.reaches_far() {
            return Ok(Judgement::Open(text));
        }
        let before: Vec<Vec<u8>> = operands.iter().map(|operand| operand.bytes.clone()).collect();
        let is_finite = |value: [f64; 2]| value.iter().all(|part| part.is_finite());
        let is_as_good = |c: &Component| !is_finite(c.theirs_whole) && (!is_finite(c.ours_whole) || c.ours_is_bounded);
        let mut agreeing: Vec<bool> = of.iter().map(is_as_good).collect();
        for other in &mut self.others {
            let Ok(left) = other.call(call, operands, &before, &mut self.others_memory) else { continue };
            let answer = |component: &Component| match component.at {
                Some((array, element)) => operands[array].value(&operands[array].elements[element], &left.arrays[array]),
                None => left.returned,
            };
            for (agreeing, component) in agreeing.iter_mut().zip(of) {
                *agreeing |= is_finite(answer(component)) == is_finite(component.ours_whole);
            }
            let answer = of.first().map_or([0.0; 2], answer);
            text += &format!(", {} {:e}", other.name, answer[usize::from(of.first().is_some_and(|first| first.imaginary))]);
        }
        Ok(if agreeing.iter().all(|agrees| *agrees) { Judgement::Open(text) } else { Judgement::Different(text) })
    }

    /// Whether our library leaves other bits with one thread than with all of them.
    pub(super) fn differs_by_threads(&mut self, call: &BlasCall) -> Result<bool, PeerError> {
        let operands = call.operands();
        let before: Vec<Vec<u8>> = operands.iter().map(|operand| operand.bytes.clone()).collect();
        let shared = self.ours.call(call, &operands, &before, &mut self.memory)?;
        self.ours.set_threads(1)?;
        let alone = self.ours.call(call, &operands, &before, &mut self.memory);
        self.ours.set_threads(0)?;
        let alone = alone?;
        let arrays = operands.iter().zip(shared.arrays.iter().zip(&alone.arrays));
        let returned = shared.returned.iter().zip(&alone.returned);
        Ok(!returned.into_iter().all(|(a, b)| has_equal_bits(*a, *b))
            || arrays.into_iter().any(|(operand, (shared, alone))| !leaves_equal_bits(operand, shared, alone)))
    }
}

/// Whether two numbers have the same bits, or are both NaN: IEEE 754 leaves the sign of a NaN open.
fn has_equal_bits(a: f64, b: f64) -> bool {
    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan())
}

/// Whether two calls left the same bytes in an array, but for what its NaNs look like.
fn leaves_equal_bits(operand: &Operand, first: &[u8], second: &[u8]) -> bool {
    if first == second {
        return true;
    }
    let mut expected = first.to_vec();
    for element in &operand.elements {
        let values = [first, second].map(|bytes| operand.value(element, bytes));
        if !values[0].iter().zip(&values[1]).all(|(a, b)| has_equal_bits(*a, *b)) {
            return false;
        }
        let span = operand.span(element);
        expected[span.clone()].copy_from_slice(&second[span]);
    }
    expected == second
}

/// A difference in what was reported as illegal.
fn reports(call: &BlasCall, theirs: &ReferenceResult, ours: &AfterCall) -> Option<String> {
    let reported = if ours.report.calls > 0 { ours.report.position } else { 0 };
    if ours.report.calls > 1 {
        return Some(format!("{} reports of illegal arguments instead of one", ours.report.calls));
    }
    (reported != theirs.position).then(|| {
        let name = |position: i32| if position == 0 { "none".to_owned() } else { format!("number {position}") };
        format!("illegal argument of {}: reference {}, ours {}", call.symbol(), name(theirs.position), name(reported))
    })
}

/// A change of bytes that belong to no written element.
fn outside(call: &BlasCall, operands: &[Operand], ours: &AfterCall) -> Option<String> {
    operands.iter().zip(&ours.arrays).find_map(|(operand, after)| {
        let name = &call.signature.slots[operand.layout.slot].name;
        if !operand.layout.written {
            return (operand.bytes != *after).then(|| format!("{name} changed, which is only read"));
        }
        let mut expected = operand.bytes.clone();
        for element in &operand.elements {
            let span = operand.span(element);
            expected[span.clone()].copy_from_slice(&after[span]);
        }
        let at = expected.iter().zip(after).position(|(expected, after)| expected != after)?;
        Some(format!("byte {} of {name} changed, which belongs to no element", at as i64 - operand.first as i64))
    })
}

/// A difference of bits where nothing rounds.
fn exact(call: &BlasCall, theirs: &AfterCall, ours: &AfterCall) -> Option<String> {
    let moves = matches!(call.signature.root, "copy" | "swap");
    let empty = call.signature.returned != Returned::Nothing && call.signature.root != "cabs1" && call.int("n") <= 0;
    if empty && theirs.returned.map(f64::to_bits) != ours.returned.map(f64::to_bits) && call.signature.root != "dsdot" {
        return Some(format!("the result of no elements: reference {:?}, ours {:?}", theirs.returned, ours.returned));
    }
    (moves && theirs.arrays != ours.arrays).then(|| "other bits than the reference's were moved".to_owned())
}

/// All components that have to agree.
fn components(
    call: &BlasCall,
    operands: &[Operand],
    theirs: &AfterCall,
    ours: &AfterCall,
    bounds: &[Vec<f64>],
) -> Vec<Component> {
    let number = call.signature.number;
    let unit = 4.0 * (call.dimension(&call.signature.terms) + 2) as f64;
    // Products of the least numbers lose more than their rounding.
    let lost = if call.contents == Contents::Special { number.finest() } else { 0.0 };
    let mut all = Vec::new();
    for (array, operand) in operands.iter().enumerate().filter(|(_, operand)| operand.layout.written) {
        let name = &call.signature.slots[operand.layout.slot].name;
        for (at, element) in operand.elements.iter().enumerate() {
            let [a, b] = [theirs, ours].map(|left| operand.value(element, &left.arrays[array]));
            for part in 0..operand.layout.number.components() {
                all.push(Component {
                    what: format!("{name}({},{})", element.row + 1, element.col + 1),
                    theirs: a[part],
                    ours: b[part],
                    tolerance: unit * (number.epsilon() * bounds[array][at] + lost),
                    may_overflow: bounds[array][at] >= number.most(),
                    ours_is_bounded: b[part].abs() <= bounds[array][at],
                    theirs_whole: a,
                    ours_whole: b,
                    imaginary: part == 1,
                    at: Some((array, at)),
                });
            }
        }
    }
    let epsilon = match call.signature.returned {
        Returned::Nothing => return all,
        Returned::Index => 0.0,
        Returned::Double => f64::EPSILON,
        _ => number.epsilon(),
    };
    let bound = bounds.last().and_then(|bound| bound.first()).copied().unwrap_or(0.0);
    all.extend([0, 1].map(|part| Component {
        what: "result".to_owned(),
        theirs: theirs.returned[part],
        ours: ours.returned[part],
        theirs_whole: theirs.returned,
        ours_whole: ours.returned,
        imaginary: part == 1,
        tolerance: unit * epsilon * bound,
        may_overflow: bound >= number.most(),
        ours_is_bounded: ours.returned[part].abs() <= bound,
        at: None,
    }));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_look_of_a_nan_may_depend_on_the_number_of_threads() {
        let call = BlasCall::parse("sscal fortran n=2 alpha=1.0,0.0 x=first incx=2 contents=plain seed=1").unwrap();
        let operands = call.operands();
        let operand = &operands[0];
        let written = |values: [f32; 2], gap: u8| {
            let mut bytes = vec![gap; operand.bytes.len()];
            for (element, value) in operand.elements.iter().zip(values) {
                bytes[operand.span(element)].copy_from_slice(&value.to_ne_bytes());
            }
            bytes
        };
        let before = written([f32::NAN, 0.0], 7);
        assert!(leaves_equal_bits(operand, &before, &written([-f32::NAN, 0.0], 7)));
        assert!(!leaves_equal_bits(operand, &before, &written([f32::NAN, -0.0], 7)));
        assert!(!leaves_equal_bits(operand, &before, &written([1.0, 0.0], 7)));
        assert!(!leaves_equal_bits(operand, &before, &written([f32::NAN, 0.0], 8)));
    }
}
