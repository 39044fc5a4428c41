//! The reference's result of a call, and how far another library's result may be from it.
use super::call::{Argument, BlasCall, Face};
use super::contents::Operand;
use super::library::{AfterCall, Blas, CallMemory};
use super::table::{NumberType, Returned, signature};
use crate::peer_error::PeerError;

/// What a call of the reference leaves, and the position of the argument that it reports as illegal, or 0.
pub(super) struct ReferenceResult {
    pub(super) left: AfterCall,
    pub(super) position: i32,
}

/// Returns the reference's result of the call. For routines that it lacks, the result is computed from
/// others.
pub(super) fn expected(
    reference: &mut Blas,
    call: &BlasCall,
    operands: &[Operand],
    memory: &mut CallMemory,
) -> Result<ReferenceResult, PeerError> {
    let before: Vec<Vec<u8>> = operands.iter().map(|operand| operand.bytes.clone()).collect();
    let left = match call.signature.root {
        "gemmtr" => {
            let mut left = reference.call(&whole_product(call), operands, &before, memory)?;
            // `gemm` has written the whole matrix, of which `gemmtr` writes only the triangle.
            if let (Some(operand), Some(after)) = (operands.last(), left.arrays.last_mut()) {
                let mut kept = operand.bytes.clone();
                for element in &operand.elements {
                    kept[operand.span(element)].copy_from_slice(&after[operand.span(element)]);
                }
                *after = kept;
            }
            left
        }
        "axpby" => scaled_sum(call, operands),
        _ => reference.call(call, operands, &before, memory)?,
    };
    Ok(ReferenceResult { position: position(call, &left), left })
}

/// Returns the position, in the caller's list, of the argument that the reference reports. For row-major
/// matrices its C interface calls Fortran with some arguments exchanged, and reports that to its handler.
fn position(call: &BlasCall, left: &AfterCall) -> i32 {
    if left.report.calls == 0 {
        return 0;
    }
    let position = left.report.position;
    let root = call.signature.root;
    let pairs: &[[&str; 2]] = match root {
        _ if left.report.exchanged == 0 => &[],
        "gemm" => &[["m", "n"], ["lda", "ldb"]],
        "gemv" | "symm" | "hemm" | "trmm" | "trsm" => &[["m", "n"]],
        "gbmv" => &[["m", "n"], ["kl", "ku"]],
        "ger" | "geru" | "gerc" => &[["m", "n"], ["incx", "incy"]],
        "her2" | "hpr2" => &[["incx", "incy"]],
        _ => &[],
    };
    let slots = &call.signature.slots;
    let name = slots.get((position - 2).max(0) as usize).map_or("", |slot| &slot.name);
    let pair = pairs.iter().find(|pair| pair.contains(&name));
    let other = pair.and_then(|[one, other]| call.signature.position(if *one == name { other } else { one }));
    let position = other.map_or(position, |other| other as i32 + 2);
    // For some options with row-major matrices, the reference names the argument next to the illegal one.
    let illegal = call.illegal();
    let named = (position - 2).max(0) as usize;
    match (call.face, illegal.first()) {
        (Face::Rows, Some(first)) if position > 1 && !illegal.contains(&named) => *first as i32 + 2,
        _ => position,
    }
}

/// Returns the call of `gemm` whose product contains the triangle that `gemmtr` writes.
fn whole_product(call: &BlasCall) -> BlasCall {
    let prefix = call.signature.name.trim_end_matches("gemmtr");
    let signature = signature(&format!("{prefix}gemm")).unwrap_or(call.signature);
    renamed(call, signature, |name| if name == "m" { "n" } else { name })
}

/// Returns a call of another routine. Its argument `name` gets the value of the argument `from(name)`.
fn renamed(
    call: &BlasCall,
    signature: &'static super::table::Signature,
    from: impl Fn(&'static str) -> &'static str,
) -> BlasCall {
    let argument = |slot: &'static super::table::ArgumentSlot| {
        call.signature.position(from(&slot.name)).map_or(Argument::Int(1), |at| call.arguments[at])
    };
    let arguments = signature.slots.iter().map(argument).collect();
    BlasCall { signature, arguments, ..call.clone() }
}

/// Returns `alpha * x + beta * y`. A zero factor is no exception: zero times NaN is NaN.
fn scaled_sum(call: &BlasCall, operands: &[Operand]) -> AfterCall {
    let (alpha, beta) = (call.scalar("alpha"), call.scalar("beta"));
    let times = |a: [f64; 2], b: [f64; 2]| [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]];
    let mut arrays: Vec<Vec<u8>> = operands.iter().map(|operand| operand.bytes.clone()).collect();
    let (x, y) = (&operands[0], &operands[1]);
    for (from, to) in x.elements.iter().zip(&y.elements) {
        let (ax, by) = (times(alpha, x.value(from, &x.bytes)), times(beta, y.value(to, &y.bytes)));
        y.layout.number.write([ax[0] + by[0], ax[1] + by[1]], &mut arrays[1][y.span(to)]);
    }
    AfterCall { returned: [0.0; 2], arrays, report: super::library::ErrorReport::default() }
}

/// The magnitude of a number by which errors are measured: cheaper than the absolute value, and no less.
fn size(value: [f64; 2]) -> f64 {
    value[0].abs() + value[1].abs()
}

/// Returns the scale of rounding errors for each element of each array, and last for the returned value: the
/// result of the same routine on absolute values.
pub(super) fn bounds(
    reference: &mut Blas,
    call: &BlasCall,
    operands: &[Operand],
    left: &AfterCall,
    memory: &mut CallMemory,
) -> Result<Vec<Vec<f64>>, PeerError> {
    if call.signature.class == "rotations" || call.signature.root == "cabs1" {
        return Ok(by_magnitude(call, operands, left));
    }
    let root = match call.signature.root {
        "dotu" | "dotc" | "sdot" | "dsdot" => "dot",
        "geru" | "gerc" => "ger",
        "her" => "syr",
        "her2" => "syr2",
        "herk" => "syrk",
        "her2k" => "syr2k",
        "hemv" => "symv",
        "hemm" => "symm",
        "hbmv" => "sbmv",
        "hpmv" => "spmv",
        "hpr" => "spr",
        "hpr2" => "spr2",
        root => root,
    };
    if call.signature.returned == Returned::Index {
        return Ok(vec![vec![0.0]]);
    }
    let name = if root == "axpby" { "daxpby".to_owned() } else { format!("d{root}") };
    let signature = signature(&name).unwrap_or(call.signature);
    let mut sizes = renamed(call, signature, |name| name);
    for argument in &mut sizes.arguments {
        if let Argument::Scalar(value) = argument {
            *value = [size(*value), 0.0];
        }
    }
    let solves = call.signature.is_solve();
    let absolute = |operand: &Operand| {
        let mut layout = operand.layout;
        layout.number = NumberType { double: true, complex: false };
        let mut at = operand.elements.iter();
        Operand::new(layout, |element| {
            let mut value = at.next().map_or([0.0; 2], |element| operand.value(element, &operand.bytes));
            if layout.is_triangle() && call.signature.is_hermitian() && element.row == element.col {
                // Zero by definition, whatever the array contains.
                value[1] = 0.0;
            }
            let value = size(value);
            // With a negative off-diagonal part, no element of the inverse is less than the absolute value of
            // the same element of the original inverse.
            let negative = solves && layout.is_triangle() && element.row != element.col;
            [if negative { -value } else { value }, 0.0]
        })
    };
    let operands: Vec<Operand> = operands.iter().map(absolute).collect();
    let found = expected(reference, &sizes, &operands, memory)?.left;
    let of = |(operand, after): (&Operand, &Vec<u8>)| {
        operand.elements.iter().map(|element| operand.value(element, after)[0].abs()).collect()
    };
    let mut bounds: Vec<Vec<f64>> = operands.iter().zip(&found.arrays).map(of).collect();
    let added = call.signature.position("b").map_or(0.0, |_| size(call.scalar("b")));
    bounds.push(vec![found.returned[0].abs() + if root == "dot" { added } else { 0.0 }]);
    Ok(bounds)
}

/// Returns the bounds of rotations. For `rot` and `rotm` they follow from the largest number that is rotated,
/// and from how often it is. For routines that compute a rotation they follow from the result itself.
fn by_magnitude(call: &BlasCall, operands: &[Operand], left: &AfterCall) -> Vec<Vec<f64>> {
    let values =
        |at: usize, bytes: &[u8]| operands[at].elements.iter().map(|e| size(operands[at].value(e, bytes))).collect::<Vec<_>>();
    let turns = call.signature.root == "rot" || call.signature.root == "rotm";
    let all = (0..operands.len()).flat_map(|at| values(at, &operands[at].bytes)).fold(0.0, f64::max);
    let again = call.int("incx") == 0 || call.int("incy") == 0;
    let growth = if call.signature.root == "rotm" { 1.0 + 2.0 * all } else { 2.0 };
    let growth = if again { f64::powi(growth, call.size("n").min(1000) as i32) } else { growth };
    let mut bounds: Vec<Vec<f64>> = (0..operands.len())
        .map(|at| {
            let results = values(at, &left.arrays[at]);
            if turns { vec![all * growth; results.len()] } else { results.iter().map(|value| 4.0 * value).collect() }
        })
        .collect();
    bounds.push(vec![size(left.returned)]);
    bounds
}
