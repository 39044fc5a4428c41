//! What the arguments of a call are: in C values, in Fortran addresses of them.
use crate::abi::{MpiConstants, constants};
use core::ffi::c_int;
use core::ptr::with_exposed_provenance;

/// The language of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binding {
    C,
    Fortran,
}

/// Marks handles of Fortran, whose numbers are others than those of C. No address has this bit.
const FORTRAN: usize = 1 << 63;

/// A handle, as a word by which two of one call's language are equal if they are the same.
pub(crate) type MpiHandle = usize;

/// The arguments of a call.
pub(crate) struct Arguments<'a> {
    language: Binding,
    values: &'a [usize],
    pub(crate) constants: &'static MpiConstants,
}

impl<'a> Arguments<'a> {
    #[inline]
    pub(crate) fn new(language: Binding, values: &'a [usize]) -> Self {
        Self { language, values, constants: constants() }
    }

    /// An integer.
    #[inline]
    pub(crate) fn integer(&self, at: usize) -> c_int {
        match self.language {
            Binding::C => self.values[at] as c_int,
            // SAFETY: the caller passes the address of an integer, which lives during the call.
            Binding::Fortran => unsafe { with_exposed_provenance::<c_int>(self.values[at]).read() },
        }
    }

    /// An integer that is passed by its address in both languages.
    pub(crate) fn integer_of(&self, at: usize) -> c_int {
        // SAFETY: the caller passes the address of an integer, which lives during the call.
        unsafe { with_exposed_provenance::<c_int>(self.values[at]).read() }
    }

    /// A handle that is passed by value in C.
    #[inline]
    pub(crate) fn handle(&self, at: usize) -> MpiHandle {
        match self.language {
            // Registers of an integer may have other bits above it.
            Binding::C if self.constants.handle_bytes == 4 => self.values[at] as u32 as usize,
            Binding::C => self.values[at],
            Binding::Fortran => self.handle_of(at, 0),
        }
    }

    /// A handle that is passed by its address, the first or a later one of an array.
    #[inline]
    pub(crate) fn handle_of(&self, at: usize, element: usize) -> MpiHandle {
        let address = self.values[at];
        // SAFETY: the caller passes an array of handles, which lives during the call and has that element.
        unsafe {
            match self.language {
                Binding::C if self.constants.handle_bytes == 8 => with_exposed_provenance::<usize>(address).add(element).read(),
                Binding::C => with_exposed_provenance::<u32>(address).add(element).read() as usize,
                Binding::Fortran => FORTRAN | with_exposed_provenance::<u32>(address).add(element).read() as usize,
            }
        }
    }

    /// The request that stands for none.
    #[inline]
    pub(crate) fn request_null(&self) -> MpiHandle {
        match self.language {
            Binding::C => self.constants.request_null,
            Binding::Fortran => FORTRAN | self.constants.fortran_request_null as usize,
        }
    }

    /// Returns whether the call has done what it should: C returns an error, Fortran stores it.
    pub(crate) fn succeeded(&self, result: usize) -> bool {
        let stored = || match self.values.last() {
            None | Some(0) => 0,
            // SAFETY: the last argument of Fortran is the address of an integer, if it is there.
            Some(&address) => unsafe { with_exposed_provenance::<c_int>(address).read() },
        };
        0 == match self.language {
            Binding::C => result as c_int,
            Binding::Fortran => stored(),
        }
    }
}

/// The number of Fortran's handle. `None` for one of C.
pub(crate) fn fortran_number(handle: MpiHandle) -> Option<u32> {
    (handle & FORTRAN != 0).then_some(handle as u32)
}
