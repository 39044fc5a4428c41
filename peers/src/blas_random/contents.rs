//! What the arrays of a call contain. An element's value follows from the call's seed and its place in the
//! matrix alone, so it stays as it is when a call is made smaller.
//!
//! All other cells, between the elements and beside the array, contain one pattern, a NaN: a routine that
//! reads it spoils a result, and one that writes it is found out.
use super::call::{ArrayPlace, BlasCall, Contents};
use super::layout::{ArrayElement, OperandLayout};
use super::table::NumberType;
use foregather_machine::SplitMix;

/// Cells beside an array that belong to no operand.
const MARGIN: usize = 64;
const OUTSIDE_SINGLE: u32 = 0x7fc5_a5a5;
const OUTSIDE_DOUBLE: u64 = 0x7ff8_5a5a_a5a5_5a5a;

/// An array of a call and the cells beside it.
#[derive(Clone, Debug)]
pub(super) struct Operand {
    pub(super) layout: OperandLayout,
    pub(super) elements: Vec<ArrayElement>,
    /// The array's first byte among these.
    pub(super) first: usize,
    pub(super) bytes: Vec<u8>,
}

impl NumberType {
    pub(super) fn component_bytes(self) -> usize {
        if self.double { 8 } else { 4 }
    }

    pub(super) fn components(self) -> usize {
        if self.complex { 2 } else { 1 }
    }

    pub(super) fn bytes(self) -> usize {
        self.component_bytes() * self.components()
    }

    /// The distance from one to the next number.
    pub(super) fn epsilon(self) -> f64 {
        if self.double { f64::EPSILON } else { f64::from(f32::EPSILON) }
    }

    /// The least number above nought.
    pub(super) fn finest(self) -> f64 {
        self.least() * self.epsilon()
    }

    /// The greatest finite number.
    pub(super) fn most(self) -> f64 {
        if self.double { f64::MAX } else { f64::from(f32::MAX) }
    }

    fn least(self) -> f64 {
        if self.double { f64::MIN_POSITIVE } else { f64::from(f32::MIN_POSITIVE) }
    }

    /// The components of the number in these bytes.
    pub(super) fn read(self, bytes: &[u8]) -> [f64; 2] {
        let mut value = [0.0; 2];
        for (value, bytes) in value.iter_mut().zip(bytes.chunks_exact(self.component_bytes()).take(self.components())) {
            *value = if self.double {
                f64::from_bits(u64::from_ne_bytes(bytes.try_into().unwrap_or_default()))
            } else {
                f64::from(f32::from_bits(u32::from_ne_bytes(bytes.try_into().unwrap_or_default())))
            };
        }
        value
    }

    /// Writes a number into these bytes.
    pub(super) fn write(self, value: [f64; 2], bytes: &mut [u8]) {
        for (value, bytes) in value.iter().zip(bytes.chunks_exact_mut(self.component_bytes()).take(self.components())) {
            if self.double {
                bytes.copy_from_slice(&value.to_ne_bytes());
            } else {
                bytes.copy_from_slice(&(*value as f32).to_ne_bytes());
            }
        }
    }
}

impl Operand {
    /// An array whose elements have these values.
    pub(super) fn new(layout: OperandLayout, mut value: impl FnMut(&ArrayElement) -> [f64; 2]) -> Self {
        let (size, margin) = (layout.number.bytes(), MARGIN * layout.number.bytes());
        let len = layout.cells() * size;
        let mut bytes = if layout.number.double {
            OUTSIDE_DOUBLE.to_ne_bytes().repeat((len + margin) / 8)
        } else {
            OUTSIDE_SINGLE.to_ne_bytes().repeat((len + margin) / 4)
        };
        let first = if layout.place == ArrayPlace::Last { margin } else { 0 };
        let elements = layout.elements();
        for element in &elements {
            let at = first + element.cell * size;
            layout.number.write(value(element), &mut bytes[at..at + size]);
        }
        Self { layout, elements, first, bytes }
    }

    /// The bytes of an element.
    pub(super) fn span(&self, element: &ArrayElement) -> std::ops::Range<usize> {
        let (size, at) = (self.layout.number.bytes(), self.first);
        at + element.cell * size..at + (element.cell + 1) * size
    }

    /// The value of an element in these bytes, which may be those after a call.
    pub(super) fn value(&self, element: &ArrayElement, bytes: &[u8]) -> [f64; 2] {
        self.layout.number.read(&bytes[self.span(element)])
    }
}

impl BlasCall {
    /// The arrays of the call before it.
    pub(super) fn operands(&self) -> Vec<Operand> {
        self.layouts().into_iter().map(|layout| Operand::new(layout, |element| self.content(&layout, element))).collect()
    }

    fn content(&self, layout: &OperandLayout, element: &ArrayElement) -> [f64; 2] {
        let place = (layout.slot as u64) << 56 ^ (element.row as u64) << 28 ^ element.col as u64;
        let mut random = SplitMix(SplitMix::mix(self.seed ^ SplitMix::mix(place)));
        let mut value = [(); 2].map(|()| self.part(layout.number, &mut random));
        let name = &*self.signature.slots[layout.slot].name;
        match (self.signature.root, name) {
            // Off the diagonal little, so that the solution is no larger than the right side.
            ("trsv" | "tbsv" | "tpsv" | "trsm", "a") => {
                let order = layout.order();
                let scale = |value: f64| value / (4 * order) as f64;
                value = value.map(scale);
                if element.row == element.col {
                    value[0] = (1.0 + random.unit()).copysign(value[0]);
                }
            }
            ("rotm", "param") if element.row == 0 => value[0] = random.below(4) as f64 - 2.0,
            ("rotmg", "d1" | "d2") if self.contents != Contents::Special => value[0] = value[0].abs(),
            _ => {}
        }
        if self.contents == Contents::Unread {
            let is_diagonal = layout.is_triangle() && element.row == element.col && self.signature.is_hermitian();
            if self.is_unread(layout) {
                value = [f64::NAN; 2];
            } else if is_diagonal {
                value[1] = f64::NAN;
            }
        }
        value
    }

    /// Whether the standard forbids to read an array's elements, by the values of alpha and beta.
    fn is_unread(&self, layout: &OperandLayout) -> bool {
        let is_zero = |name: &str| self.signature.position(name).is_some() && self.scalar(name) == [0.0; 2];
        let has_beta = self.signature.position("beta").is_some();
        match self.signature.root {
            "axpby" | "scal" => false,
            "trmm" | "trsm" => is_zero("alpha"),
            _ if layout.written => has_beta && is_zero("beta"),
            _ => is_zero("alpha"),
        }
    }

    /// A component of an element.
    fn part(&self, number: NumberType, random: &mut SplitMix) -> f64 {
        let scaled = matches!(self.signature.root, "nrm2" | "amax" | "copy" | "swap");
        let plain = 2.0 * random.unit() - 1.0;
        match self.contents {
            Contents::Plain | Contents::Unread => plain,
            Contents::Whole => random.below(9) as f64 - 4.0,
            Contents::Wide => plain * (random.below(41) as f64 - 20.0).exp2(),
            Contents::Special if random.below(6) > 0 => plain,
            // Where the order of operations decides whether a sum overflows, no number that large is drawn.
            Contents::Special => match random.below(if scaled { 9 } else { 7 }) {
                0 => f64::NAN,
                1 => f64::INFINITY,
                2 => f64::NEG_INFINITY,
                3 => 0.0,
                4 => -0.0,
                5 => number.least(),
                6 => number.finest() * 3.0,
                7 => number.most(),
                _ => number.most().sqrt() * 4.0,
            },
        }
    }
}
