//! A call: a routine, the face that it goes through, and its arguments; and its description as one line,
//! which `--call` takes.
use super::table::{Dimension, Signature, SlotKind, signature};
use std::fmt;

/// How a routine is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Face {
    Fortran,
    /// The C interface with matrices by columns, and routines without matrices.
    Columns,
    Rows,
    /// With a number for the order of matrices that stands for none.
    Neither,
}

/// What the arrays contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Contents {
    /// Numbers between -1 and 1.
    Plain,
    /// Small whole numbers.
    Whole,
    /// Numbers of very different sizes.
    Wide,
    /// As plain, with NaN wherever the standard forbids to read.
    Unread,
    /// As plain, with NaN, infinities, noughts, the greatest and the least numbers among them.
    Special,
}

/// Where an array lies in its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArrayPlace {
    /// Its first byte is the first that can be read.
    First,
    /// Its last byte is the last that can be read.
    Last,
}

/// The value of an argument.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Argument {
    Option(u8),
    Int(i64),
    Scalar([f64; 2]),
    Array(ArrayPlace),
}

/// A call.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BlasCall {
    pub(super) signature: &'static Signature,
    pub(super) face: Face,
    /// One for each argument of the signature.
    pub(super) arguments: Vec<Argument>,
    pub(super) contents: Contents,
    /// Which numbers the arrays contain.
    pub(super) seed: u64,
}

impl PartialEq for Signature {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

const CONTENTS: [(Contents, &str); 5] = [
    (Contents::Plain, "plain"),
    (Contents::Whole, "whole"),
    (Contents::Wide, "wide"),
    (Contents::Unread, "unread"),
    (Contents::Special, "special"),
];
const FACES: [(Face, &str); 4] =
    [(Face::Fortran, "fortran"), (Face::Columns, "columns"), (Face::Rows, "rows"), (Face::Neither, "neither")];
const PLACES: [(ArrayPlace, &str); 2] = [(ArrayPlace::First, "first"), (ArrayPlace::Last, "last")];

fn word<T: PartialEq>(of: &[(T, &'static str)], value: &T) -> &'static str {
    of.iter().find(|(known, _)| known == value).map_or("", |(_, word)| word)
}

fn read<T: Copy>(of: &[(T, &'static str)], text: &str) -> Option<T> {
    of.iter().find(|(_, word)| *word == text).map(|(value, _)| *value)
}

impl BlasCall {
    /// The integer argument of that name, or 0.
    pub(super) fn int(&self, name: &str) -> i64 {
        match self.signature.position(name).map(|at| self.arguments[at]) {
            Some(Argument::Int(value)) => value,
            _ => 0,
        }
    }

    /// A size as it counts: none if it is negative.
    pub(super) fn size(&self, name: &str) -> usize {
        self.int(name).max(0).unsigned_abs() as usize
    }

    /// The option of that name in upper case, or a blank.
    pub(super) fn option(&self, name: &str) -> u8 {
        match self.signature.position(name).map(|at| self.arguments[at]) {
            Some(Argument::Option(letter)) => letter.to_ascii_uppercase(),
            _ => b' ',
        }
    }

    /// The number of that name, or one.
    pub(super) fn scalar(&self, name: &str) -> [f64; 2] {
        match self.signature.position(name).map(|at| self.arguments[at]) {
            Some(Argument::Scalar(value)) => value,
            _ => [1.0, 0.0],
        }
    }

    /// A dimension's value.
    pub(super) fn dimension(&self, dimension: &Dimension) -> usize {
        match dimension {
            Dimension::Fixed(value) => *value,
            Dimension::Size(name) => self.size(name),
            Dimension::By { option, yes, no } => {
                self.size(if matches!(self.option(option), b'T' | b'C' | b'R') { yes } else { no })
            }
        }
    }

    /// The symbol that is called.
    pub(super) fn symbol(&self) -> String {
        let name = &self.signature.name;
        match self.face {
            Face::Fortran => format!("{name}_"),
            _ if name.contains("dotu") || name.contains("dotc") => format!("cblas_{name}_sub"),
            _ => format!("cblas_{name}"),
        }
    }

    /// Reads a description.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let signature = signature(words.next()?)?;
        let face = read(&FACES, words.next()?)?;
        let mut arguments = Vec::new();
        for slot in &signature.slots {
            let (name, value) = words.next()?.split_once('=')?;
            if name != slot.name {
                return None;
            }
            arguments.push(match slot.kind {
                SlotKind::Option => Argument::Option(*value.as_bytes().first()?),
                SlotKind::Size | SlotKind::Increment | SlotKind::Leading => Argument::Int(value.parse().ok()?),
                SlotKind::Scalar { .. } => {
                    let (re, im) = value.split_once(',')?;
                    Argument::Scalar([re.parse().ok()?, im.parse().ok()?])
                }
                SlotKind::Array { .. } => Argument::Array(read(&PLACES, value)?),
            });
        }
        let contents = read(&CONTENTS, words.next()?.strip_prefix("contents=")?)?;
        let seed = words.next()?.strip_prefix("seed=")?.parse().ok()?;
        Some(Self { signature, face, arguments, contents, seed })
    }
}

impl fmt::Display for BlasCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.signature.name, word(&FACES, &self.face))?;
        for (slot, argument) in self.signature.slots.iter().zip(&self.arguments) {
            match argument {
                Argument::Option(letter) => write!(f, " {}={}", slot.name, char::from(*letter))?,
                Argument::Int(value) => write!(f, " {}={value}", slot.name)?,
                Argument::Scalar([re, im]) => write!(f, " {}={re:?},{im:?}", slot.name)?,
                Argument::Array(place) => write!(f, " {}={}", slot.name, word(&PLACES, place))?,
            }
        }
        write!(f, " contents={} seed={}", word(&CONTENTS, &self.contents), self.seed)
    }
}
