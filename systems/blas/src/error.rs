//! Errors about the arguments of a call, by their positions in the standard's argument list, so that the C
//! and Fortran faces can report a number without knowing the routine.
use std::fmt;

/// An argument that does not fit the others. Nothing was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error {
    /// The routine's name without the letter of its type, or the constructor of a view.
    pub routine: &'static str,
    /// The position of the argument in the Fortran argument list of the routine, or in that of the view's
    /// constructor, from 1.
    pub position: u32,
    /// The argument's name there.
    pub name: &'static str,
    /// What is wrong with it.
    pub cause: Cause,
}

/// What is wrong with an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It has another number of elements, rows or columns than the other arguments ask for.
    Extent {
        /// Its extent.
        given: usize,
        /// The extent that it must have.
        wanted: usize,
    },
    /// The slice is too short for the shape.
    Short {
        /// Elements in the slice.
        given: usize,
        /// Elements that the shape reaches.
        wanted: usize,
    },
    /// The leading dimension or increment is smaller than the standard allows.
    Stride {
        /// The stride given.
        given: usize,
        /// The least that is allowed.
        least: usize,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { routine, position, name, cause } = self;
        write!(f, "{routine}: argument {position} ({name}) {cause}")
    }
}

impl core::error::Error for Error {}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Extent { given, wanted } => write!(f, "has extent {given} where the other arguments ask for {wanted}"),
            Self::Short { given, wanted } => {
                write!(f, "has {given} elements, but its shape reaches {wanted}: pass a longer slice")
            }
            Self::Stride { given, least } => write!(f, "is {given}, but must be at least {least}"),
        }
    }
}

/// Fails unless the extents agree.
pub(crate) fn same(routine: &'static str, position: u32, name: &'static str, given: usize, wanted: usize) -> Result<(), Error> {
    if given == wanted { Ok(()) } else { Err(Error { routine, position, name, cause: Cause::Extent { given, wanted } }) }
}
