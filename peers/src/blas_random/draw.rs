//! Draws calls: a call follows from the seed and its number alone.
use super::call::{Argument, ArrayPlace, BlasCall, Contents, Face};
use super::table::{Signature, SlotKind, signatures};
use foregather_machine::SplitMix;

/// How large the sizes of a call are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SizeClass {
    Small(u64),
    /// Large enough to be shared by a team.
    Shared,
}

/// The call of that number.
pub(super) fn drawn(seed: u64, number: u64) -> BlasCall {
    let mut random = SplitMix(SplitMix::mix(seed) ^ SplitMix::mix(number.wrapping_add(1)));
    let all = signatures();
    let signature = &all[random.below(all.len() as u64) as usize];
    let face = match random.below(10) {
        0..4 => Face::Fortran,
        4..7 if signature.ordered => Face::Rows,
        7 if signature.ordered && random.below(20) == 0 => Face::Neither,
        _ => Face::Columns,
    };
    let scale = match random.below(4000) {
        0 => SizeClass::Shared,
        1..40 => SizeClass::Small(40),
        40..500 => SizeClass::Small(17),
        _ => SizeClass::Small(6),
    };
    let contents = match random.below(12) {
        0 | 1 => Contents::Special,
        2 | 3 => Contents::Unread,
        4 => Contents::Wide,
        5 | 6 => Contents::Whole,
        _ => Contents::Plain,
    };
    // The first is judged by its definition, which says nothing of them; the reference's second never ends
    // with an infinite number.
    let has_none = matches!(signature.root, "axpby" | "rotmg");
    let contents = if has_none && contents == Contents::Special { Contents::Wide } else { contents };
    let mut call = BlasCall { signature, face, arguments: Vec::new(), contents, seed: random.next() };
    for slot in &signature.slots {
        let argument = match &slot.kind {
            SlotKind::Option => Argument::Option(option(signature, &slot.name, &mut random)),
            SlotKind::Size => Argument::Int(size(signature, &slot.name, scale, &mut random)),
            SlotKind::Increment | SlotKind::Leading => Argument::Int(1),
            SlotKind::Scalar { real } => Argument::Scalar(scalar(&call, &slot.name, *real, &mut random)),
            SlotKind::Array { .. } => Argument::Array(if random.below(2) == 0 { ArrayPlace::First } else { ArrayPlace::Last }),
        };
        call.arguments.push(argument);
    }
    if matches!(signature.root, "rot") {
        rotation(&mut call, &mut random);
    }
    // The reference's C interface never ends if it conjugates a vector without elements.
    if call.face == Face::Rows
        && signature.number.complex
        && ["m", "n"].iter().any(|size| signature.position(size).is_some() && call.int(size) == 0)
    {
        call.face = Face::Columns;
    }
    for at in 0..signature.slots.len() {
        match signature.slots[at].kind {
            SlotKind::Increment => call.arguments[at] = Argument::Int(increment(&call, at, &mut random)),
            SlotKind::Leading => {
                let most = if random.below(4) == 0 { 7 } else { 1 };
                let more = if columns(&call, at) <= 1 && random.below(200) == 0 { 1 << 24 } else { random.below(most) as i64 };
                call.arguments[at] = Argument::Int(call.least_leading(at) + more);
            }
            _ => {}
        }
    }
    // An illegal option leaves open how long a vector is, which must not take the machine's memory.
    if !call.reaches_far()
        && signature.ordered
        && scale != SizeClass::Shared
        && face != Face::Neither
        && !is_composed(signature)
        && random.below(12) == 0
    {
        spoil(&mut call, &mut random);
    }
    // The reference's C interface of this routine reports an illegal option for matrices by columns, but then
    // goes on with an option that it has not set.
    if signature.name == "sgemv" && call.face == Face::Columns && call.illegal().contains(&0) {
        call.face = Face::Fortran;
    }
    call
}

/// Whether the reference has no such routine, so that nothing says how it reports errors.
fn is_composed(signature: &Signature) -> bool {
    matches!(signature.root, "gemmtr" | "axpby")
}

/// The letters that an option of the routine may have, in upper case.
fn letters(signature: &Signature, name: &str) -> &'static [u8] {
    let rank = matches!(signature.root, "syrk" | "syr2k") && signature.number.complex;
    match name {
        "uplo" => b"UL",
        "diag" => b"NU",
        "side" => b"LR",
        "trans" if rank => b"NT",
        "trans" if matches!(signature.root, "herk" | "her2k") => b"NC",
        _ => b"NTC",
    }
}

fn option(signature: &Signature, name: &str, random: &mut SplitMix) -> u8 {
    let letters = letters(signature, name);
    let letter = letters[random.below(letters.len() as u64) as usize];
    if random.below(2) == 0 { letter } else { letter.to_ascii_lowercase() }
}

fn size(signature: &Signature, name: &str, scale: SizeClass, random: &mut SplitMix) -> i64 {
    let drawn = match scale {
        SizeClass::Small(most) => random.below(most + 1),
        SizeClass::Shared if !signature.ordered => 10_000 + random.below(60_000),
        SizeClass::Shared if signature.class.contains("vector") => 150 + random.below(350),
        SizeClass::Shared => 60 + random.below(140),
    };
    match name {
        "kl" | "ku" => random.below(4).min(drawn) as i64 + i64::from(random.below(8) == 0) * drawn as i64,
        // No elements, and by the standard as many as none.
        "n" if !signature.ordered && random.below(40) == 0 => -(drawn as i64),
        _ => drawn as i64,
    }
}

fn scalar(call: &BlasCall, name: &str, real: bool, random: &mut SplitMix) -> [f64; 2] {
    let often_zero = call.contents == Contents::Unread && matches!(name, "alpha" | "beta");
    let mut part = |zero: bool| match random.below(10) {
        0 | 1 => 0.0,
        _ if zero => 0.0,
        2 | 3 => 1.0,
        4 => -1.0,
        5 if call.contents == Contents::Special => [f64::NAN, f64::INFINITY, 1e-30][random.below(3) as usize],
        _ => 4.0 * random.unit() - 2.0,
    };
    let zero = often_zero && call.seed & if name == "alpha" { 1 } else { 2 } == 0;
    let re = part(zero);
    let im = if real || !call.signature.number.complex || zero { 0.0 } else { part(call.seed & 4 == 0) };
    // As the library gets it, so that a description says all of it.
    if call.signature.number.double { [re, im] } else { [re, im].map(|part| f64::from(part as f32)) }
}

/// Makes two numbers a rotation.
fn rotation(call: &mut BlasCall, random: &mut SplitMix) {
    let angle = [0.0, 90.0, 360.0 * random.unit(), 360.0 * random.unit()][random.below(4) as usize];
    let (s, c) = f64::to_radians(angle).sin_cos();
    for (name, value) in [("c", c), ("s", s)] {
        if let Some(at) = call.signature.position(name) {
            call.arguments[at] =
                Argument::Scalar([if call.signature.number.double { value } else { f64::from(value as f32) }, 0.0]);
        }
    }
}

fn increment(call: &BlasCall, at: usize, random: &mut SplitMix) -> i64 {
    let n = columns(call, at);
    let sign = if random.below(2) == 0 { 1 } else { -1 };
    match random.below(400) {
        0 if n <= 1 => sign * i64::from(i32::MAX),
        0 if n <= 3 => sign * (1 << 18),
        1..200 => 1,
        200..260 => -1,
        260..280 if !call.signature.ordered && call.signature.root != "axpby" => 0,
        _ => sign * (1 + random.below(4) as i64),
    }
}

/// The number of elements, or lines, of the array before that argument.
fn columns(call: &BlasCall, at: usize) -> usize {
    call.layouts().iter().find(|layout| layout.slot + 1 == at).map_or(0, super::layout::OperandLayout::lines)
}

/// Makes one or two arguments illegal.
fn spoil(call: &mut BlasCall, random: &mut SplitMix) {
    // For matrices by rows the reference checks another list, in which the first of two may be the second.
    let times = if call.face == Face::Rows { 1 } else { 1 + random.below(2) };
    for _ in 0..times {
        let at = random.below(call.arguments.len() as u64) as usize;
        let slot = &call.signature.slots[at];
        call.arguments[at] = match slot.kind {
            SlotKind::Option if call.face != Face::Rows && slot.name == "trans" && random.below(2) == 0 => {
                let letters = letters(call.signature, "trans");
                Argument::Option(*b"NTC".iter().find(|letter| !letters.contains(letter)).unwrap_or(&b'X'))
            }
            SlotKind::Option => Argument::Option(b"XQ 1"[random.below(4) as usize]),
            // The reference's C interface conjugates vectors before it looks at sizes and increments.
            SlotKind::Size | SlotKind::Increment if call.face == Face::Rows && call.signature.number.complex => continue,
            SlotKind::Size => Argument::Int(-1 - random.below(3) as i64),
            SlotKind::Leading => Argument::Int(call.least_leading(at) - 1 - random.below(2) as i64),
            SlotKind::Increment => Argument::Int(0),
            _ => continue,
        };
    }
}

impl BlasCall {
    /// Whether an increment or a leading dimension is far larger than the arrays.
    pub(super) fn reaches_far(&self) -> bool {
        let steps = self.signature.slots.iter().zip(&self.arguments);
        let mut steps = steps.filter(|(slot, _)| matches!(slot.kind, SlotKind::Increment | SlotKind::Leading));
        steps.any(|(_, argument)| matches!(argument, Argument::Int(step) if step.abs() > 1 << 12))
    }

    /// The least leading dimension that the argument may be.
    pub(super) fn least_leading(&self, at: usize) -> i64 {
        self.layouts().iter().find(|layout| layout.slot + 1 == at).map_or(1, |layout| layout.least)
    }

    /// The arguments that are illegal.
    pub(super) fn illegal(&self) -> Vec<usize> {
        let wrong = |&at: &usize| match (self.arguments[at], &self.signature.slots[at]) {
            (Argument::Option(letter), slot) => !letters(self.signature, &slot.name).contains(&letter.to_ascii_uppercase()),
            (Argument::Int(value), slot) => match slot.kind {
                SlotKind::Size => value < 0,
                SlotKind::Increment => value == 0,
                _ => value < self.least_leading(at),
            },
            _ => false,
        };
        (0..self.arguments.len()).filter(wrong).collect()
    }

    /// Whether the standard wants it to be reported.
    pub(super) fn is_illegal(&self) -> bool {
        self.signature.ordered && (self.face == Face::Neither || !self.illegal().is_empty())
    }
}

/// The first letter of an option, and whether the argument has it.
pub(super) fn plainest(call: &BlasCall, at: usize) -> u8 {
    letters(call.signature, &call.signature.slots[at].name)[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_makes_the_reference_go_on_with_an_option_that_it_has_not_set() {
        let calls = (0..100_000).map(|number| drawn(7, number)).filter(|call| call.signature.name == "sgemv");
        let illegal: Vec<BlasCall> = calls.filter(|call| call.illegal().contains(&0)).collect();
        assert!(illegal.iter().any(|call| call.face == Face::Rows) && illegal.iter().any(|call| call.face == Face::Fortran));
        assert_eq!(illegal.iter().find(|call| call.face == Face::Columns), None);
    }
}
